"""``opwright audit``: verdicts on gradient formulas, those of specs, published ones and those of audit files."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from generator.cli.common import Json, Specs, fail, progress, reported, say, show

if TYPE_CHECKING:
    from generator.symbolic.auditing import Audited
    from generator.symbolic.work import Task

__all__ = ["audit"]

What = Annotated[list[str] | None, typer.Argument(help="Operators by name and audit files by path; every spec otherwise.")]


def audit(
    what: What = None,
    specs: Specs = Path("specs"),
    budget: Annotated[float, typer.Option("--budget", min=0.01, help="Seconds for each gradient; UNDECIDED when they are spent.")] = 20.0,
    seed: Annotated[int, typer.Option("--seed", help="Moves the random points; no verdict depends on it.")] = 0,
    markdown: Annotated[Path | None, typer.Option("--markdown", help="Write a Markdown report here.")] = None,
    html: Annotated[Path | None, typer.Option("--html", help="Write an HTML report here.")] = None,
    json_: Json = False,
) -> None:
    """Say of every gradient whether it is the derivative of its forward formula; exit 1 unless all are."""
    from generator.symbolic.report.document import document
    from generator.symbolic.work import UnknownNameError, tasks

    started = time.monotonic()
    try:
        with reported("audit", json_):
            todo = list(tasks(what or [], specs))
            done = list(_run(todo, budget, seed))
    except UnknownNameError as error:
        raise fail("audit", json_, [str(error)]) from error
    seconds = time.monotonic() - started
    with reported("audit", json_):
        _write(markdown, html, done, seconds)
    if json_:
        show(document(done, seconds))
    else:
        from generator.symbolic.report.terminal import lines

        for line in lines(done, seconds):
            say(line)
    raise typer.Exit(0 if all(a.passed for a in done) else 1)


def _run(todo: list[Task], budget: float, seed: int) -> Iterator[Audited]:
    from generator.emit.forked import forked

    line = progress()
    for at, done in enumerate(forked([partial(task.run, budget, seed) for task in todo])):
        line(todo[at].name, at, len(todo))
        yield done
    line("", len(todo), len(todo))


def _write(markdown: Path | None, html: Path | None, done: list[Audited], seconds: float) -> None:
    if markdown is not None:
        from generator.symbolic.report.markdown import report

        markdown.write_text(report(done, seconds), encoding="utf-8")
        print(f"{markdown}: written", file=sys.stderr)
    if html is not None:
        from generator.symbolic.report.html import page

        html.write_text(page(done, seconds), encoding="utf-8")
        print(f"{html}: written", file=sys.stderr)
