"""The precision standard, rule by rule, on errors made by hand."""

from __future__ import annotations

import numpy as np
import pytest

from generator.reference.dtypes import decode, encode
from generator.reference.precision import Verdict, judge, threshold

GOLDEN = np.linspace(1, 2, 101)


def verdict(out: object, golden: object, ref: object, dtype: str = "float32", **options: bool) -> Verdict:
    return judge(encode(np.asarray(out, np.float64), dtype), np.asarray(golden, np.float64), np.asarray(ref, np.float64), dtype, **options)


def test_thresholds_are_those_of_the_standard() -> None:
    assert [threshold(d) for d in ("float16", "bfloat16", "float32")] == [2**-10, 2**-7, 2**-13]
    assert threshold("float32", low_precision=True) == 2**-10


@pytest.mark.parametrize(("dtype", "thr"), [("float32", 2.0**-13), ("float16", 2.0**-10), ("bfloat16", 2.0**-7)])
def test_rule_a_bounds_the_mean_and_the_largest_relative_error(dtype: str, thr: float) -> None:
    exact = decode(encode(GOLDEN, dtype), dtype)
    assert judge(encode(GOLDEN, dtype), exact, exact, dtype).rule == "a"
    one = GOLDEN * (1 + np.where(np.arange(101) == 50, 12 * thr, 0))
    failed = judge(encode(one, dtype), exact, exact, dtype)
    assert not failed.passed
    assert failed.first_bad_index == (50,)
    assert not judge(encode(GOLDEN * (1 + 2.5 * thr), dtype), exact, exact, dtype).passed


def test_rule_b_accepts_what_the_compute_dtype_itself_cannot_do_better() -> None:
    golden = np.full(100, 1e-6)
    ref, out = golden + 1e-4, golden - 1.9e-4
    good = verdict(out, golden, ref)
    assert (good.passed, good.rule) == (True, "b")
    assert good.ratio_rms == pytest.approx(1.9, rel=1e-3)
    assert not verdict(golden - 2.1e-4, golden, ref).passed
    spike = golden.copy()
    spike[7] += 4.2e-4
    bad = verdict(spike, golden, ref)
    assert not bad.passed
    assert bad.first_bad_index == (7,)


def test_an_exact_reference_leaves_no_room_under_rule_b() -> None:
    assert not verdict([1.1], [1.0], [1.0]).passed


@pytest.mark.parametrize("special", [np.nan, np.inf, -np.inf])
def test_nan_and_infinity_stand_exactly_where_the_reference_has_them(special: float) -> None:
    golden = np.array([1.0, special, 3.0])
    assert verdict(golden, golden, golden).passed
    missing = verdict([1.0, 2.0, 3.0], golden, golden)
    assert missing.first_bad_index == (1,)
    assert verdict([special, special, 3.0], golden, golden).first_bad_index == (0,)
    assert not verdict([1.0, -special, 3.0], golden, golden).passed or np.isnan(special)


def test_a_golden_that_overflows_the_output_dtype_is_infinite_there() -> None:
    assert verdict([np.inf, 1.0], [1e6, 1.0], [1e6, 1.0], "float16").passed
    assert not verdict([65504.0, 1.0], [1e6, 1.0], [1e6, 1.0], "float16").passed


def test_integers_are_exact_and_quantised_outputs_within_one_unit() -> None:
    golden = np.array([[1, 2], [3, 4]])
    assert judge(golden.astype(np.int8), golden, golden, "int8").rule == "exact"
    off = judge(np.array([[1, 2], [3, 5]], np.int8), golden, golden, "int8")
    assert (off.passed, off.first_bad_index) == (False, (1, 1))
    assert judge(np.array([[1, 2], [3, 5]], np.int8), golden, golden, "int8", quantised=True).passed
    assert not judge(np.array([[1, 2], [3, 6]], np.int8), golden, golden, "int8", quantised=True).passed


def test_nothing_at_all_passes() -> None:
    assert verdict([], [], []).passed


def test_shapes_must_agree() -> None:
    with pytest.raises(ValueError, match="shapes differ"):
        verdict([1.0], [1.0, 2.0], [1.0, 2.0])
