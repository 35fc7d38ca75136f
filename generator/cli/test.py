"""``opwright test``: every derived case of every operator on the twin against the reference, as a table."""
# ruff: noqa: PT028 - the function named test is a command, not a test of pytest's

from __future__ import annotations

import os
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from generator.cli.common import Json, Operators, Out, Specs, fail, need_specs, progress, reported, show

if TYPE_CHECKING:
    from generator.twin.verify.session import OperatorReport

__all__ = ["test"]

_SHOWN = 8  # kinds of failure described for each operator


def _row(report: OperatorReport) -> dict[str, Any]:
    """One operator's line of the table."""
    from generator.twin.verify.outcome import worst

    error, rules = worst(report.results)
    return {
        "operator": report.operator.name,
        "passed": report.passed,
        "cases": len(report.results),
        "failed": sum(not r.passed for r in report.results) + sum(not r.passed for r in report.refusals),
        "pairs": report.cases.pairs,
        "pairs_covered": report.cases.array.covered,
        "pairs_legal": report.cases.array.pairs,
        "pairs_beyond_budget": report.cases.array.dear,
        "refused": sum(r.passed for r in report.refusals),
        "violations": len(report.refusals),
        "worst_error": error,
        "rules": rules,
        "launches": sum(r.launches for r in report.results),
        "breaches": sum(len(r.breaches) for r in report.results),
        "bytes": sum(r.bytes_moved for r in report.results),
        "seconds": round(report.seconds, 2),
    }


def _table(reports: list[OperatorReport]) -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table(title=None)
    for head in ("operator", "cases", "pairs covered", "violations refused", "worst error", "rule", "launches", "breaches", "seconds", ""):
        table.add_column(head, justify="left" if head in ("operator", "rule", "") else "right")
    for row in map(_row, reports):
        table.add_row(
            row["operator"],
            str(row["cases"]),
            row["pairs"],
            f"{row['refused']}/{row['violations']}",
            f"{row['worst_error']:.2e}",
            row["rules"],
            str(row["launches"]),
            str(row["breaches"]),
            f"{row['seconds']:.1f}",
            "passed" if row["passed"] else f"{row['failed']} FAILED",
        )
    Console(width=None if sys.stdout.isatty() else 140).print(table)


def _findings(report: OperatorReport) -> list[str]:
    """Failures in words, the same one once, each with the command that repeats it."""
    said: dict[str, list[str]] = {}
    words: dict[str, str] = {}
    for r in report.results:
        if not r.passed:
            words.setdefault(r.kind(), r.why())
            said.setdefault(r.kind(), []).append(f"{r.case.label()}\n  repeat: {r.case.command()}")
    for f in report.refusals:
        if not f.passed:
            why = f.message if f.crashed else f"accepted although {f.violation.what}"
            said.setdefault(why, []).append(f"{f.violation.what}\n  legal neighbour: {f.violation.base.command()}")
    out = []
    for kind, where in list(said.items())[:_SHOWN]:
        why = words.get(kind, kind)
        more = f"\n  and {len(where) - 1} more like it" if len(where) > 1 else ""
        out.append(f"{report.operator.name}: {why}\n  case: {where[0]}{more}")
    if len(said) > _SHOWN:
        out.append(f"{report.operator.name}: {len(said) - _SHOWN} more kinds of failure; --json has them all")
    return out


def _budget(reports: list[OperatorReport], seconds: float, jobs: int) -> str:
    from generator.twin.verify.cases import BUDGET

    cases = sum(len(r.results) for r in reports)
    large = sum(r.case.large for rep in reports for r in rep.results)
    left = sum(c.huge for rep in reports for c in rep.cases.cases) - sum(r.case.huge for rep in reports for r in rep.results)
    shown = sum(r.case.sampled for rep in reports for r in rep.results)
    violations = sum(len(r.refusals) for r in reports)
    dear = sum(r.cases.array.dear for r in reports)
    return (
        f"budget: {BUDGET:.0e} evaluation points and elements a case; {cases} cases ({large} beyond it, asked for by specs), "
        f"{dear} pairs of derived values left out beyond it; "
        + (f"{shown} judged at sampled elements; " if shown else "")
        + (f"{left} left to --large; " if left else "")
        + f"{violations} violations; all in {seconds:.1f} s with {jobs} jobs"
    )


def test(
    op: Operators = None,
    product: Annotated[str | None, typer.Option(help="One product; all that the spec names otherwise.")] = None,
    cores: Annotated[int | None, typer.Option(min=1, help="Vector cores; the products' own otherwise.")] = None,
    jobs: Annotated[int, typer.Option(min=1, help="Processes.")] = min(8, os.cpu_count() or 1),
    large: Annotated[bool, typer.Option("--large", help="Also cases too large to be judged whole: at elements drawn at random.")] = False,
    specs: Specs = Path("specs"),
    out: Out = Path("generated"),
    json_: Json = False,
) -> None:
    """Derive cases from each spec, run them on the twin, judge them against the reference."""
    from generator.emit.names import snake
    from generator.twin.verify.session import UnknownNameError, operators, run, targets

    started = time.monotonic()
    need_specs("test", json_, specs)
    try:
        with reported("test", json_):
            chosen = operators(specs, out, snake, op or [])
            if not chosen:
                raise fail("test", json_, [f"{specs}: no specs"])
            absent = [f"{o.folder}: not generated; run `opwright gen`" for o in chosen if not o.folder.is_dir()]
            if absent:
                raise fail("test", json_, absent)
            reports = run(chosen, lambda checked: targets(checked, product, cores), jobs=jobs, large=large, progress=progress())
    except UnknownNameError as error:
        raise fail("test", json_, [str(error)]) from error
    seconds = time.monotonic() - started
    passed = all(r.passed for r in reports)
    if json_:
        document = {
            "command": "test",
            "passed": passed,
            "seconds": round(seconds, 2),
            "operators": [
                {**_row(r), "results": [c.document() for c in r.results], "refusals": [v.document() for v in r.refusals]} for r in reports
            ],
        }
        show(document)
    else:
        _table(reports)
        print(_budget(reports, seconds, jobs))
        for finding in (f for r in reports for f in _findings(r)):
            print(finding, file=sys.stderr)
    raise typer.Exit(0 if passed else 1)
