"""Every operator in specs/: the cases that its spec implies, run on the twin and judged against the reference."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path

import pytest

from generator.emit.names import snake
from generator.twin.verify.case import Case, Violation
from generator.twin.verify.cases import CaseSet, derive
from generator.twin.verify.runner import run_case, run_empty, run_violation
from generator.twin.verify.session import Operator, load, operators, subject, targets

ROOT = Path(__file__).resolve().parents[2]
OPERATORS = {op.name: op for op in operators(ROOT / "specs", ROOT / "generated", snake)}


@lru_cache
def case_set(name: str) -> CaseSet:
    checked = load(OPERATORS[name].spec)
    return derive(checked, targets(checked))


def cases() -> Iterator[object]:
    for name in OPERATORS:
        for case in case_set(name).cases:
            marks = [pytest.mark.huge] if case.huge else [pytest.mark.large] if case.large else []
            yield pytest.param(OPERATORS[name], case, id=f"{name}-{case.label()}", marks=marks)


def empties() -> Iterator[object]:
    for name in OPERATORS:
        for case in case_set(name).empty:
            yield pytest.param(OPERATORS[name], case, id=f"{name}-{case.label()}")


def violations() -> Iterator[object]:
    for name in OPERATORS:
        for violation in case_set(name).violations:
            yield pytest.param(OPERATORS[name], violation, id=f"{name}-{violation.what}")


@pytest.mark.parametrize(("operator", "case"), list(cases()))
def test_a_case_runs_lawfully_and_agrees_with_the_reference(operator: Operator, case: Case) -> None:
    result = run_case(subject(operator, case.target.product), case)
    assert result.passed, f"{result.why()}\nrepeat: {case.command()}"


@pytest.mark.parametrize(("operator", "case"), list(empties()))
def test_a_case_without_elements_follows_the_policy(operator: Operator, case: Case) -> None:
    result = run_empty(subject(operator, case.target.product), case)
    assert result.passed, f"{result.why()}\nrepeat: {case.command()}"


@pytest.mark.parametrize(("operator", "violation"), list(violations()))
def test_a_call_that_breaks_one_rule_is_refused(operator: Operator, violation: Violation) -> None:
    refusal = run_violation(subject(operator, violation.base.target.product), violation)
    assert refusal.passed, f"{violation.what} was accepted; legal neighbour: {violation.base.command()}"


@pytest.mark.parametrize("name", list(OPERATORS))
def test_every_legal_pair_of_values_within_the_budget_is_covered(name: str) -> None:
    array = case_set(name).array
    assert array.covered == array.pairs > 0
