"""``opwright watch``: regenerate on save."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Annotated

import typer

from generator.cli.common import Json, Out, Specs, need_specs, say, show
from generator.emit.pipeline import current, generate
from generator.emit.stamp import spec_hashes

__all__ = ["watch"]


def watch(
    specs: Specs = Path("specs"),
    out: Out = Path("generated"),
    every: Annotated[float, typer.Option(min=0.05, help="Seconds between looks.")] = 0.5,
    once: Annotated[bool, typer.Option("--once", help="Look once and end; for scripts.")] = False,
    json_: Json = False,
) -> None:
    """Regenerate whenever a spec is saved; problems are shown and the watch goes on. Ends with Ctrl-C."""
    need_specs("watch", json_, specs)
    seen: dict[str, str] | None = None
    failed = False
    try:
        while True:
            now = spec_hashes(specs)
            if now != seen:
                seen = now
                failed = not current(specs, out) and not _generate(specs, out, json_)
            if once:
                raise typer.Exit(1 if failed else 0)
            time.sleep(every)
    except KeyboardInterrupt:
        raise typer.Exit(0) from None


def _generate(specs: Path, out: Path, json_: bool) -> bool:
    from generator.emit.errors import EmitError
    from generator.spec.errors import SpecError

    try:
        result = generate(specs, out)
    except (SpecError, EmitError) as e:
        print(e, file=sys.stderr)
        if json_:
            show({"command": "watch", "errors": str(e).splitlines()})
        return False
    if json_:
        show({"command": "watch", "changes": [{"path": c.path, "kind": c.kind} for c in result.changes], "edited_by_hand": result.edited})
    else:
        for c in result.changes:
            say(f"{c.kind} {c.path}")
    for path in result.edited:
        print(f"{path}: edited by hand; not written", file=sys.stderr)
    return not result.edited
