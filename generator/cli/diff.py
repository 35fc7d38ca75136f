"""``opwright diff``: what gen would change."""

from __future__ import annotations

import time
from pathlib import Path

import typer

from generator.cli.common import Json, Operators, Out, Specs, need_specs, patch, progress, reported, show
from generator.emit.pipeline import compare

__all__ = ["diff"]


def diff(operators: Operators = None, specs: Specs = Path("specs"), out: Out = Path("generated"), json_: Json = False) -> None:
    """Show what gen would change, as a unified diff; exit 1 when there is something."""
    started = time.monotonic()
    need_specs("diff", json_, specs)
    with reported("diff", json_):
        found = compare(specs, out, operators or (), progress())
    if json_:
        changes = [{"path": c.path, "kind": c.kind, "edited_by_hand": c.edited, "diff": patch(c)} for c in found]
        show({"command": "diff", "changes": changes, "seconds": round(time.monotonic() - started, 3)})
    else:
        for c in found:
            print(patch(c), end="")
    raise typer.Exit(1 if found else 0)
