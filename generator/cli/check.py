"""``opwright check``: exit 1 when the output has drifted from the specs."""

from __future__ import annotations

import sys
import time
from pathlib import Path

import typer

from generator.cli.common import Json, Out, Specs, need_specs, patch, progress, reported, say, show
from generator.emit.pipeline import compare

__all__ = ["check"]


def check(specs: Specs = Path("specs"), out: Out = Path("generated"), json_: Json = False) -> None:
    """Compare every byte of the output with what the specs generate; exit 1 and show the difference when they differ."""
    started = time.monotonic()
    need_specs("check", json_, specs)
    with reported("check", json_):
        drift = compare(specs, out, progress=progress(), stamp=True)
    if json_:
        changes = [{"path": c.path, "kind": c.kind, "diff": patch(c)} for c in drift]
        show({"command": "check", "drift": changes, "seconds": round(time.monotonic() - started, 3)})
    else:
        for c in drift:
            print(patch(c), end="")
        say(f"files that differ from what the specs generate: {len(drift)}" if drift else "no drift")
    if drift:
        print("drift: run 'opwright gen', or undo the edits", file=sys.stderr)
    raise typer.Exit(1 if drift else 0)
