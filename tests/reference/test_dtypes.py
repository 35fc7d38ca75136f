"""Rounding into storage: nearest even in one step, overflow to infinity, saturating integers."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from generator.reference.dtypes import STORAGE, decode, encode, round_to, to_hf32, truncate_to

FORMATS = {"float16": (11, -24, 65504.0), "bfloat16": (8, -133, 2.0**127 * (2 - 2.0**-7)), "float32": (24, -149, 2.0**127 * (2 - 2.0**-23))}


def nearest(x: float, dtype: str) -> float:
    """IEEE 754 rounding in exact rationals: precision bits, exponent of the smallest subnormal, largest finite value."""
    bits, least, largest = FORMATS[dtype]
    if x == 0:
        return x
    exponent = max(int(np.frexp(x)[1]) - bits, least)
    unit = Fraction(2) ** exponent
    rounded = round(Fraction(x) / unit) * unit  # Fraction rounds ties to even
    return float(np.copysign(np.inf, x)) if abs(rounded) > Fraction(largest) else float(np.copysign(float(rounded), x))


@pytest.mark.parametrize("dtype", sorted(FORMATS))
@given(x=st.floats(allow_nan=False, allow_infinity=False) | st.floats(-1e5, 1e5) | st.floats(-1e-38, 1e-38))
def test_floats_round_to_nearest_even_in_one_step(dtype: str, x: float) -> None:
    got = float(decode(encode(np.array([x]), dtype), dtype)[0])
    assert got == nearest(x, dtype)
    assert np.signbit(got) == np.signbit(x)


def test_a_value_just_above_a_tie_is_not_rounded_twice() -> None:
    above = 1 + 2.0**-8 + 2.0**-40  # float32 rounds it onto the tie, which would then go to even, down
    assert round_to(np.array([above]), "bfloat16")[0] == 1 + 2.0**-7


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
def test_nan_infinity_and_signed_zero_survive(dtype: str) -> None:
    out = round_to(np.array([np.nan, np.inf, -np.inf, 0.0, -0.0]), dtype)
    np.testing.assert_array_equal(out, [np.nan, np.inf, -np.inf, 0.0, 0.0])
    assert np.signbit(out[4])
    assert not np.signbit(out[3])


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "int32", "int64"])
def test_integers_saturate_round_to_even_and_take_zero_for_nan(dtype: str) -> None:
    info = np.iinfo(STORAGE[dtype])
    out = encode(np.array([-np.inf, np.inf, 1e30, -1e30, 2.5, 3.5, np.nan]), dtype)
    assert out.tolist() == [info.min, info.max, info.max, info.min, 2, 4, 0]
    assert truncate_to(np.array([2.9, 1e30]), dtype).tolist() == [2, info.max]


def test_every_16_bit_pattern_reads_back_to_itself() -> None:
    bits = np.arange(1 << 16, dtype=np.uint16)
    values = decode(bits, "bfloat16")
    finite = ~np.isnan(values)
    np.testing.assert_array_equal(encode(values, "bfloat16")[finite], bits[finite])
    halves = decode(bits.view(np.float16), "float16")
    np.testing.assert_array_equal(encode(halves, "float16").view(np.uint16)[finite & ~np.isnan(halves)], bits[finite & ~np.isnan(halves)])


def test_storage_of_another_type_is_refused() -> None:
    with pytest.raises(TypeError, match="storage of bfloat16 is uint16, got float32"):
        decode(np.zeros(1, np.float32), "bfloat16")


def test_hf32_keeps_ten_bits_of_mantissa_ties_to_even() -> None:
    unit = 2.0**-10
    values = [1 + unit / 2, 1 + 3 * unit / 2, 1 + unit * 0.51, -(2 - unit / 2), 2.0**-137, 3 * 2.0**-137, np.inf, -np.inf, 3.4028235e38]
    rounded = [1, 1 + 2 * unit, 1 + unit, -2, 0, 2.0**-135, np.inf, -np.inf, np.inf]  # subnormals are 2^-136 apart
    np.testing.assert_array_equal(to_hf32(np.array(values, np.float32)), np.array(rounded, np.float32))
    assert np.isnan(to_hf32(np.array([np.nan], np.float32))).all()
    half = np.random.default_rng(0).standard_normal(1000).astype(np.float16).astype(np.float32)
    np.testing.assert_array_equal(to_hf32(half), half)  # float16's mantissa fits
