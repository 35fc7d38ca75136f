"""``opwright test``: every derived case of every operator on the twin against the reference, as a table."""
# ruff: noqa: PT028 - the function named test is a command, not a test of pytest's

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from generator.twin.verify.session import OperatorReport

__all__ = ["test"]

_SHOWN = 5  # failures described in full for each operator


def _progress() -> Callable[[str, int, int], None]:
    """A line on a terminal, redrawn, for work longer than a second; nothing in a pipe."""
    started = time.monotonic()

    def show(name: str, done: int, of: int) -> None:
        if sys.stderr.isatty() and time.monotonic() - started > 1:
            end = "\r\x1b[2K" if done == of else ""
            print(f"\r\x1b[2K{done}/{of} {name}{end}", end="", file=sys.stderr, flush=True)

    return show


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
    """Failures in words, each with the command that repeats it."""
    bad = [r for r in report.results if not r.passed]
    out = [f"{report.operator.name}: {r.case.label()}\n{r.why()}\n  repeat: {r.case.command()}" for r in bad[:_SHOWN]]
    if len(bad) > _SHOWN:
        out.append(f"{report.operator.name}: {len(bad) - _SHOWN} more cases failed")
    for f in report.refusals:
        if not f.passed:
            said = f"crashed: {f.message}" if f.crashed else "was accepted"
            out.append(f"{report.operator.name}: {f.violation.what}: {said}\n  legal neighbour: {f.violation.base.command()}")
    return out


def _budget(reports: list[OperatorReport], seconds: float, jobs: int) -> str:
    from generator.twin.verify.cases import BUDGET

    cases = sum(len(r.results) for r in reports)
    large = sum(r.case.large for rep in reports for r in rep.results)
    violations = sum(len(r.refusals) for r in reports)
    return (
        f"budget: {BUDGET:.0e} evaluation points a case; {cases} cases ({large} beyond it, asked for by specs) and "
        f"{violations} violations in {seconds:.1f} s with {jobs} jobs"
    )


def test(
    op: Annotated[list[str] | None, typer.Argument(help="Operators, by name; all otherwise.")] = None,
    product: Annotated[str | None, typer.Option(help="One product; all that the spec names otherwise.")] = None,
    cores: Annotated[int | None, typer.Option(min=1, help="Vector cores; the products' own otherwise.")] = None,
    jobs: Annotated[int, typer.Option(min=1, help="Processes.")] = min(8, os.cpu_count() or 1),
    specs: Annotated[Path, typer.Option(help="Folder of specs.")] = Path("specs"),
    out: Annotated[Path, typer.Option(help="Folder of generated operators.")] = Path("generated"),
    json_: Annotated[bool, typer.Option("--json", help="One JSON document on stdout.")] = False,
) -> None:
    """Derive cases from each spec, run them on the twin, judge them against the reference."""
    from generator.emit.names import snake
    from generator.spec.errors import SpecError
    from generator.twin.verify.session import operators, run, targets

    started = time.monotonic()
    try:
        chosen = operators(specs, out, snake, op or [])
        if not chosen:
            print(f"no specs under {specs}", file=sys.stderr)
            raise typer.Exit(2)
        reports = run(chosen, lambda checked: targets(checked, product, cores), jobs=jobs, progress=_progress())
    except KeyError as error:
        print(f"unknown operator or product {error.args[0]!r} (specs are read from {specs})", file=sys.stderr)
        raise typer.Exit(2) from error
    except SpecError as error:
        print(error, file=sys.stderr)
        raise typer.Exit(2) from error
    seconds = time.monotonic() - started
    passed = all(r.passed for r in reports)
    if json_:
        document = {
            "passed": passed,
            "seconds": round(seconds, 2),
            "operators": [
                {**_row(r), "results": [c.document() for c in r.results], "refusals": [v.document() for v in r.refusals]} for r in reports
            ],
        }
        print(json.dumps(document, indent=2))
    else:
        _table(reports)
        print(_budget(reports, seconds, jobs))
        for finding in (f for r in reports for f in _findings(r)):
            print(finding, file=sys.stderr)
    raise typer.Exit(0 if passed else 1)
