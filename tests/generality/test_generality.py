"""Operators nobody wrote: each drawn spec runs lawfully and right on the twin, or is refused with a place."""

from __future__ import annotations

import math
import shutil
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings

from generator.formula.checked import check
from generator.spec.errors import SpecError
from tests.generality.draws import drawn_operators
from tests.generality.strategy import Drawn, specs
from tests.generality.trial import Outcome, trials
from tests.generality.values import Value, add, constant, divide, fit, multiply, steady, subtract

COUNT = 40
needs_compiler = pytest.mark.skipif(shutil.which("g++") is None, reason="no C++ compiler")


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory: pytest.TempPathFactory) -> list[Outcome]:
    """What became of the drawn operators, two at a time."""
    return list(trials(drawn_operators(COUNT, 1), tmp_path_factory.mktemp("generality"), jobs=2, count=2))


@needs_compiler
def test_no_drawn_operator_fails(outcomes: list[Outcome]) -> None:
    failed = [o for o in outcomes if o.kind == "failed"]
    assert len(outcomes) == COUNT
    assert not failed, "\n\n".join("\n".join((o.why, o.drawn.text, *o.commands)) for o in failed)


@needs_compiler
def test_at_most_one_in_twenty_is_refused_and_always_with_a_place(outcomes: list[Outcome]) -> None:
    refused = [o for o in outcomes if o.kind == "refused"]
    assert all(o.located for o in refused), [o.why for o in refused]
    assert len(refused) <= 0.05 * COUNT, [o.why for o in refused]


@needs_compiler
def test_drawn_operators_run_on_both_architectures_and_in_later_alternatives(outcomes: list[Outcome]) -> None:
    assert {o.drawn.target[0] for o in outcomes if o.kind == "passed"} == {"Ascend910B", "Ascend950"}
    assert any(key % 100 for o in outcomes for key in o.keys)


@settings(max_examples=60, deadline=None, derandomize=True, database=None, suppress_health_check=list(HealthCheck))
@given(specs())
def test_a_drawn_spec_is_legal_or_refused_with_a_place(drawn: Drawn) -> None:
    try:
        checked = check(drawn.text, Path("specs/drawn.yaml"))
    except SpecError as error:
        refused = error.problems
    else:
        refused = []
    assert all(p.line > 1 and p.what for p in refused)
    if refused:
        return
    assert checked.spec.name == drawn.name
    assert 1 <= len(checked.program.outputs) <= 2
    for env in drawn.environments(3):
        assert set(env) <= {*checked.program.dims, *checked.program.int_attrs}


def _value(low: float, high: float, relative: bool = False) -> Value:
    return Value("x[a]", low, high, frozenset("a"), frozenset("a"), False, relative)


def test_intervals_hold_what_arithmetic_makes_of_them() -> None:
    a, b = _value(-1.0, 2.0), _value(0.5, 4.0)
    assert (add(a, b).low, add(a, b).high) == (-0.5, 6.0)
    assert (subtract(a, b).low, subtract(a, b).high) == (-5.0, 1.5)
    assert (multiply(a, b).low, multiply(a, b).high) == (-4.0, 8.0)
    assert (divide(a, b).low, divide(a, b).high) == (-2.0, 4.0)


def test_a_value_is_moved_into_the_interval_asked_for() -> None:
    for low, high in ((-8.0, 3.0), (0.2, math.inf), (-0.9, 0.9), (0.9, 1.1)):
        for x in (_value(-3.0, 50.0), _value(0.0, math.inf), _value(-math.inf, math.inf), constant(7.5)):
            fitted = fit(x, low, high)
            assert low <= fitted.low <= fitted.high <= high, fitted


def test_an_output_that_is_not_relatively_exact_is_kept_from_zero() -> None:
    assert steady(_value(-1.0, 1.0)).low > 0
    assert steady(_value(-1.0, 1.0, relative=True)).text == "x[a]"
