"""``opwright gen``: regenerate what changed."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Annotated

import typer

from generator.cli.common import Json, Operators, Out, Specs, need_specs, progress, reported, say, show
from generator.emit.pipeline import Outcome, generate
from generator.emit.writer import OnEdit

__all__ = ["gen"]


def gen(
    operators: Operators = None,
    force: Annotated[bool, typer.Option("--force", help="Overwrite files edited by hand.")] = False,
    merge: Annotated[bool, typer.Option("--merge", help="Merge hand edits with the new text, three-way.")] = False,
    specs: Specs = Path("specs"),
    out: Out = Path("generated"),
    json_: Json = False,
) -> None:
    """Regenerate what changed."""
    if force and merge:
        raise typer.BadParameter("--force and --merge exclude each other")
    started = time.monotonic()
    need_specs("gen", json_, specs)
    on_edit: OnEdit = "force" if force else "merge" if merge else "stop"
    with reported("gen", json_):
        result = generate(specs, out, operators or (), on_edit, progress())
    if json_:
        show(
            {
                "command": "gen",
                "changes": [{"path": c.path, "kind": c.kind} for c in result.changes],
                "rendered": result.rendered,
                "edited_by_hand": result.edited,
                "conflicts": result.conflicts,
                "seconds": round(time.monotonic() - started, 3),
            }
        )
    else:
        _tell(result, out)
    _complain(result)
    raise typer.Exit(1 if result.edited or result.conflicts else 0)


def _tell(result: Outcome, out: Path) -> None:
    words = {"add": "added", "update": "updated", "remove": "removed"}
    for c in result.changes:
        say(f"{words[c.kind]} {(out / c.path).as_posix()}")
    if not result.changes and not result.edited:
        say("nothing to do")


def _complain(result: Outcome) -> None:
    for path in result.edited:
        print(f"{path}: edited by hand since it was generated; its operator was not written", file=sys.stderr)
    for reason in result.reasons:
        print(f"no merge: {reason}", file=sys.stderr)
    if result.edited:
        print("use --force to overwrite, or --merge to merge (a merge stays a drift until the spec says the same)", file=sys.stderr)
    for path in result.conflicts:
        print(f"{path}: merged with conflicts; look for <<<<<<<", file=sys.stderr)
