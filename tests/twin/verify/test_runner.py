"""The runner's verdicts, with a stand-in for the twin that computes what each test wants."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from generator.twin.build import Tiling
from generator.twin.verify.calls import Subject
from generator.twin.verify.case import Case, Violation
from generator.twin.verify.cases import case_of
from generator.twin.verify.drawing import poison
from generator.twin.verify.inputs import make
from generator.twin.verify.runner import _settled, run_case, run_empty, run_violation
from tests.twin.verify.toy_specs import CUMULATIVE, CUMULATIVE_BACKWARD, SCALE_ROWS, TARGETS, spec

CUMULATIVE_CASE = case_of(spec(CUMULATIVE), {"T": 5, "steps": 3}, TARGETS[0])


@dataclass
class StandIn:
    """Answers every tiling call with ``status`` and computes outputs with ``kernel`` (inputs then outputs)."""

    kernel: Callable[..., None]
    status: int = 0
    breaches: Sequence[Any] = ()
    asked: list[Any] = field(default_factory=list)

    def tile(self, inputs: Any, outputs: Any, attrs: Any, cores: int) -> Any:
        self.asked.append((inputs, outputs, attrs, cores))
        if self.status:
            os.write(2, b"op: the shape is wrong\n")
        return Tiling(self.status, 1, 4, 0, b"", 0, "0xffffffff" if self.status else "")

    def run(self, tiling: Any, arrays: Any, laws_off: Any, cores: int, seconds: int = 600) -> Any:
        self.kernel(*arrays)
        moved = [SimpleNamespace(read=32, written=0) for _ in arrays]
        return SimpleNamespace(breaches=self.breaches, per_argument=moved)


def subject(text: str, stand_in: StandIn, forward: str | None = None) -> Subject:
    return Subject(spec(text), stand_in, Path("nowhere"), (lambda: spec(forward)) if forward else None)  # type: ignore[arg-type]


def powers_kernel(x: np.ndarray, powers: np.ndarray, y: np.ndarray) -> None:
    for r in range(3):
        powers[5 * r : 5 * r + 5] = x ** (r + 1)
    y[:] = x**3


def test_a_right_kernel_passes_and_its_compulsory_bytes_are_counted() -> None:
    result = run_case(subject(CUMULATIVE, StandIn(powers_kernel)), CUMULATIVE_CASE)
    assert result.passed, result.why()
    assert [o.name for o in result.outputs] == ["powers", "y"]
    assert [(a.name, a.compulsory) for a in result.traffic] == [("x", 20), ("powers", 60), ("y", 20)]
    assert result.bytes_compulsory == 100


def test_a_wrong_element_fails_with_its_place() -> None:
    def kernel(x: np.ndarray, powers: np.ndarray, y: np.ndarray) -> None:
        powers_kernel(x, powers, y)
        y[2] += 1

    result = run_case(subject(CUMULATIVE, StandIn(kernel)), CUMULATIVE_CASE)
    assert not result.passed
    assert "y (float32): at [2]" in result.why()


def test_an_output_that_is_not_written_fails() -> None:
    result = run_case(subject(CUMULATIVE, StandIn(lambda *_: None)), CUMULATIVE_CASE)
    assert not any(o.passed for o in result.outputs)


def test_writing_what_the_formula_leaves_undefined_fails() -> None:
    def kernel(x: np.ndarray, powers: np.ndarray, y: np.ndarray) -> None:
        powers_kernel(x, powers, y)
        powers[17] = 0

    result = run_case(subject(CUMULATIVE, StandIn(kernel)), CUMULATIVE_CASE)
    assert result.outputs[0].overwritten == 1
    assert "1 elements changed that the formula does not define" in result.why()


def test_a_breach_of_law_fails_the_case() -> None:
    breach = SimpleNamespace(rule="alignment", message="offset 4", file="op.cpp", line=7, core=0)
    result = run_case(subject(CUMULATIVE, StandIn(powers_kernel, breaches=[breach])), CUMULATIVE_CASE)
    assert not result.passed
    assert "law alignment: offset 4 (op.cpp:7, core 0)" in result.why()


def test_a_refused_legal_case_fails() -> None:
    result = run_case(subject(CUMULATIVE, StandIn(powers_kernel, status=1)), CUMULATIVE_CASE)
    assert "refused a legal call" in result.why()


def test_absent_outputs_are_null_to_tiling_and_kernel() -> None:
    seen: list[Any] = []

    def kernel(x: np.ndarray, w: np.ndarray, y: np.ndarray, total: Any) -> None:
        seen.append(total)
        y[:] = x * (w + np.float32(0.5))

    stand_in = StandIn(kernel)
    case = case_of(spec(SCALE_ROWS), {"R": 3, "D": 16, "eps": 0.5}, TARGETS[0], combination=1, absent=("total",))
    assert run_case(subject(SCALE_ROWS, stand_in), case).passed
    assert seen == [None]
    inputs, outputs, attrs, cores = stand_in.asked[0]
    assert [a.shape for a in inputs] == [(3, 16), (16,)]
    assert outputs[1] is None
    assert attrs == [0.5]
    assert cores == 40


def test_a_violation_must_be_refused() -> None:
    case = case_of(spec(SCALE_ROWS), {"R": 3, "D": 16}, TARGETS[0])
    violation = Violation("x has extent 4", case, shapes=(("x", (4, 16)),))
    accepted, refusing = StandIn(powers_kernel), StandIn(powers_kernel, status=1)
    assert not run_violation(subject(SCALE_ROWS, accepted), violation).passed
    assert run_violation(subject(SCALE_ROWS, refusing), violation).passed
    assert run_violation(subject(SCALE_ROWS, refusing), violation).message == "op: the shape is wrong"
    assert accepted.asked[0][0][0].shape == (4, 16)


def test_an_empty_case_may_not_be_refused_where_the_policy_is_success() -> None:
    case = case_of(spec(SCALE_ROWS), {"R": 0, "D": 16}, TARGETS[0])
    assert not run_empty(subject(SCALE_ROWS, StandIn(lambda *_: None, status=1)), case).passed
    assert run_empty(subject(SCALE_ROWS, StandIn(lambda *_: None)), case).passed


def backward_case(**dims: int) -> Case:
    return case_of(spec(CUMULATIVE_BACKWARD), dims, TARGETS[0])


def test_inputs_from_the_forward_are_its_results_on_the_same_random_inputs() -> None:
    made = make(spec(CUMULATIVE_BACKWARD), backward_case(T=5, steps=3), lambda: spec(CUMULATIVE))
    x, powers = made.storage["x"], made.storage["powers"]
    assert x is not None
    assert powers is not None
    assert np.allclose(powers[10:15], x.astype(np.float64) ** 3, rtol=1e-6)


def test_elements_the_formula_does_not_read_are_poison() -> None:
    powers = make(spec(CUMULATIVE_BACKWARD), backward_case(T=5, steps=3), lambda: spec(CUMULATIVE)).storage["powers"]
    assert powers is not None
    assert np.isnan(powers[:10]).all()
    assert np.isnan(powers[15:]).all()
    assert np.isfinite(powers[10:15]).all()


def test_the_same_seed_makes_the_same_inputs_and_another_seed_others() -> None:
    checked = spec(SCALE_ROWS)
    first, again, other = (make(checked, case_of(checked, {"R": 3, "D": 16}, TARGETS[0], seed=s)).storage["x"] for s in (1, 1, 2))
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32"])
def test_poison_is_not_a_number(dtype: str) -> None:
    from generator.reference.dtypes import decode

    assert np.isnan(decode(poison(3, dtype), dtype)).all()


@pytest.mark.parametrize("cube", [True, False])
def test_nan_and_infinity_stand_for_each_other_only_beside_a_special_value_and_sums_the_cube_exchanges(cube: bool) -> None:
    expected = np.array([np.inf, np.nan, -np.inf, 1.0, np.nan, np.inf])
    got = np.array([np.nan, -np.inf, np.nan, np.nan, 1.0, 2.0], np.float32)
    prepared = SimpleNamespace(case=SimpleNamespace(special="x=inf"), subject=SimpleNamespace(eager=object() if cube else None), loose={})
    settled = _settled(prepared, "y", "float32", got, expected)  # type: ignore[arg-type]
    changed = [0, 1, 2] if cube else []
    wanted = expected.copy()
    wanted[changed] = got[changed]
    np.testing.assert_array_equal(settled, wanted)
    prepared.case.special = ""
    np.testing.assert_array_equal(_settled(prepared, "y", "float32", got, expected), expected)  # type: ignore[arg-type]
