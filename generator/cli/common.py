"""What commands share: options, located errors instead of tracebacks, one JSON document, progress on a terminal."""

from __future__ import annotations

import difflib
import json
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from generator.emit.writer import Change

__all__ = ["Json", "Operators", "Out", "Specs", "fail", "need_specs", "patch", "progress", "reported", "say", "show"]

Specs = Annotated[Path, typer.Option("--specs", help="Folder of specs.")]
Out = Annotated[Path, typer.Option("--out", help="Folder of generated operators.")]
Json = Annotated[bool, typer.Option("--json", help="One JSON document on stdout.")]
Operators = Annotated[list[str] | None, typer.Argument(help="Operators, by name; all otherwise.")]


def show(document: dict[str, Any]) -> None:
    """The one JSON document of a ``--json`` run."""
    print(json.dumps(document, indent=2, ensure_ascii=False))


def say(text: str) -> None:
    """A line for the user."""
    print(text)


def fail(command: str, json_: bool, errors: list[str], code: int = 2) -> typer.Exit:
    """Report errors and make the exit: 2 for usage and spec errors."""
    if json_:
        show({"command": command, "errors": errors})
    for e in errors:
        print(e, file=sys.stderr)
    return typer.Exit(code)


@contextmanager
def reported(command: str, json_: bool) -> Iterator[None]:
    """Turn every foreseen failure into messages and exit 2."""
    from generator.emit.errors import EmitError
    from generator.emit.manifest import ManifestError
    from generator.emit.pipeline import UnknownOperatorError
    from generator.spec.errors import SpecError

    try:
        yield
    except SpecError as e:
        raise fail(command, json_, [str(p) for p in e.problems]) from e
    except (EmitError, ManifestError, UnknownOperatorError) as e:
        raise fail(command, json_, [str(e)]) from e
    except OSError as e:
        raise fail(command, json_, [f"{e.filename}: {e.strerror}" if e.filename else str(e)]) from e


def need_specs(command: str, json_: bool, specs: Path) -> None:
    """Exit 2 unless there is a folder of specs."""
    if not specs.is_dir():
        raise fail(command, json_, [f"{specs}: no such folder of specs; name one with --specs"])


def progress() -> Callable[[str, int, int], None]:
    """A line on a terminal, redrawn, once work has taken a second; nothing in a pipe."""
    started = time.monotonic()

    def line(name: str, done: int, of: int) -> None:
        if sys.stderr.isatty() and time.monotonic() - started > 1:
            text = "" if done == of else f"{done + 1}/{of} {name}"
            print(f"\r\x1b[2K{text}", end="", file=sys.stderr, flush=True)

    return line


def patch(change: Change) -> str:
    """A unified diff from what is on disk to what should be; bytes that are no text are shown escaped."""

    def lines(text: str | None) -> list[str]:
        plain = (text or "").encode("utf-8", errors="surrogateescape").decode("utf-8", errors="backslashreplace")
        return plain.splitlines(keepends=True)

    old, new = f"a/{change.path}", f"b/{change.path}"
    found = difflib.unified_diff(
        lines(change.old), lines(change.new), "/dev/null" if change.old is None else old, "/dev/null" if change.new is None else new
    )
    return "".join(x if x.endswith("\n") else x + "\n\\ No newline at end of file\n" for x in found)
