"""Cases judged at sampled elements: a right kernel passes, and one that is wrong or incomplete anywhere much does not."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from generator.reference.dtypes import decode, encode
from generator.twin.verify.case import Case
from generator.twin.verify.cases import case_of, whole
from generator.twin.verify.drawing import draw, is_poison, poison
from generator.twin.verify.inputs import make
from generator.twin.verify.runner import run_case
from generator.twin.verify.sampling import chosen
from tests.twin.verify.test_runner import StandIn, powers_kernel, subject
from tests.twin.verify.toy_specs import CUMULATIVE, SCALE_ROWS, TARGETS, spec


def rows(**more: Any) -> Case:
    case = case_of(spec(SCALE_ROWS), {"R": 40, "D": 640, "eps": 0.5}, TARGETS[0], absent=("total",), **more)
    return replace(case, sampled=True)


def scaled(change: Callable[[np.ndarray], None]) -> StandIn:
    def kernel(x: np.ndarray, w: np.ndarray, y: np.ndarray, total: Any) -> None:
        y[:] = x * (w + np.float32(0.5))
        change(y)

    return StandIn(kernel)


def test_a_right_kernel_passes_at_some_thousand_elements() -> None:
    result = run_case(subject(SCALE_ROWS, scaled(lambda y: None)), rows())
    assert result.passed, result.why()
    (output,) = result.outputs
    assert 3000 < output.sampled <= 4096 + 4


def test_a_wrong_row_is_found_and_its_place_is_given() -> None:
    def change(y: np.ndarray) -> None:
        y[17] *= 1.5

    result = run_case(subject(SCALE_ROWS, scaled(change)), rows())
    assert not result.passed
    assert "y (float16): at [17, " in result.why()


@pytest.mark.parametrize("corner", [(0, 0), (0, -1), (-1, 0), (-1, -1)])
def test_a_wrong_corner_is_found(corner: tuple[int, int]) -> None:
    def change(y: np.ndarray) -> None:
        y[corner] += 1

    assert not run_case(subject(SCALE_ROWS, scaled(change)), rows()).passed


def test_one_element_that_is_not_written_is_found_wherever_it_is() -> None:
    def change(y: np.ndarray) -> None:
        y[23, 456] = poison(1, "float16")[0]

    result = run_case(subject(SCALE_ROWS, scaled(change)), rows())
    assert result.outputs[0].unwritten == 1
    assert "1 elements were not written" in result.why()


def test_writing_what_the_formula_leaves_undefined_is_found() -> None:
    def kernel(x: np.ndarray, powers: np.ndarray, y: np.ndarray) -> None:
        powers_kernel(x, powers, y)
        powers[17] = 0

    case = replace(case_of(spec(CUMULATIVE), {"T": 5, "steps": 3}, TARGETS[0]), sampled=True)
    assert run_case(subject(CUMULATIVE, StandIn(powers_kernel)), case).passed
    assert run_case(subject(CUMULATIVE, StandIn(kernel)), case).outputs[0].overwritten == 1


def test_a_case_is_sampled_beyond_the_evaluation_budget_alone() -> None:
    checked = spec(SCALE_ROWS)
    few = int(whole(checked)) // 4000
    assert not case_of(checked, {"R": 1, "D": 16}, TARGETS[0]).sampled
    assert case_of(checked, {"R": few, "D": 4000}, TARGETS[0]).sampled


def test_positions_are_those_of_the_formulas_elements() -> None:
    tensor = spec(CUMULATIVE).program.tensors["powers"]
    found = chosen(tensor, {"T": 5, "steps": 3}, 500, np.random.default_rng(1))
    assert found.tolist() == list(range(15))


def test_inputs_of_a_sampled_case_are_read_in_storage() -> None:
    whole, sampled = (make(spec(SCALE_ROWS), replace(rows(combination=1), sampled=s)) for s in (False, True))
    assert sampled.stored
    for name, dtype in sampled.stored.items():
        np.testing.assert_array_equal(decode(sampled.values[name], dtype), whole.values[name])


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32"])
def test_large_draws_fill_their_range(dtype: str) -> None:
    checked = spec(SCALE_ROWS)
    param = next(p for p in checked.spec.params if p.symbol == "x")
    values = decode(draw(checked, param, (5, 1 << 20), rows(), np.random.default_rng(2), dtype), dtype)
    assert -2.0 <= values.min() < -1.99
    assert 1.99 < values.max() <= 2.0
    assert abs(values.mean()) < 0.01


def test_poison_is_told_from_what_kernels_compute() -> None:
    for dtype in ("float16", "bfloat16", "float32"):
        storage = np.concatenate([poison(2, dtype), encode(np.array([np.nan, 1.0]), dtype)])
        left = is_poison(storage, dtype)
        assert left is not None
        assert left.tolist() == [True, True, False, False]
    assert is_poison(np.zeros(3, np.bool_), "bool") is None
