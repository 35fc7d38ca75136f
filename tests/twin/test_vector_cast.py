"""Cast: every pair and rounding mode of both chips against exact arithmetic, and every pair they lack."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from generator.twin.build import Built
from tests.twin.vector_helpers import BYTES, OLD, bf16_bits, bf16_values, built, lawful, rules

DTYPES = ["float32", "float16", "bfloat16", "int8", "uint8", "int16", "int32", "int64"]
NONE, RINT, FLOOR, CEIL, ROUND, TRUNC, ODD = range(7)
R_TO_T = {RINT, FLOOR, CEIL, ROUND, TRUNC}
ANY = {NONE, *R_TO_T}
A2, A5 = "Ascend910B", "Ascend950"

# facts.md B.3: the conversions of 220, (from, to): modes.
PAIRS: dict[tuple[str, str], set[int]] = {
    ("int8", "float16"): {NONE},
    ("uint8", "float16"): {NONE},
    ("int16", "float16"): ANY,
    ("int16", "float32"): {NONE},
    ("float16", "int8"): ANY,
    ("float16", "uint8"): ANY,
    ("float16", "int16"): R_TO_T,
    ("float16", "int32"): R_TO_T,
    ("float16", "float32"): {NONE},
    ("bfloat16", "float32"): {NONE},
    ("bfloat16", "int32"): R_TO_T,
    ("int32", "int16"): {NONE},
    ("int32", "float32"): ANY,
    ("int32", "int64"): {NONE},
    ("float32", "int16"): R_TO_T,
    ("float32", "int32"): R_TO_T,
    ("float32", "int64"): R_TO_T,
    ("float32", "bfloat16"): R_TO_T,
    ("float32", "float16"): {*ANY, ODD},
    ("float32", "float32"): R_TO_T,
    ("int64", "int32"): {NONE},
    ("int64", "float32"): R_TO_T,
}

SIZES = {"float32": 4, "float16": 2, "bfloat16": 2, "int8": 1, "uint8": 1, "int16": 2, "int32": 4, "int64": 8}
STORAGE = {name: np.dtype("uint16" if name == "bfloat16" else name) for name in DTYPES}
MANTISSA = {"float32": (24, -149, 128), "float16": (11, -24, 16), "bfloat16": (8, -133, 128)}


def kernel(product: str = A2) -> Built:
    return built("vector_cast", product)


def call(dst: str, src: str, mode: int, *rest: int) -> list[int]:
    return [DTYPES.index(dst), DTYPES.index(src), mode, *rest]


def round_fraction(value: Fraction, mode: int) -> int:
    """An integer for a rational number in a rounding mode; NONE rounds half to even."""
    floor = value.numerator // value.denominator
    rest = value - floor
    if rest == 0:
        return floor
    if mode == FLOOR:
        return floor
    if mode == CEIL:
        return floor + 1
    if mode == TRUNC:
        return floor if value > 0 else floor + 1
    if mode == ODD:
        return floor if floor % 2 else floor + 1
    if rest != Fraction(1, 2):
        return floor if rest < Fraction(1, 2) else floor + 1
    if mode == ROUND:
        return floor + 1 if value > 0 else floor
    return floor if floor % 2 == 0 else floor + 1


def to_float(value: Fraction, dst: str, mode: int) -> float:
    """A finite number of a float format for a rational number, infinity beyond it."""
    digits, lowest, top = MANTISSA[dst]
    if value == 0:
        return 0.0
    exponent = abs(value).numerator.bit_length() - abs(value).denominator.bit_length()
    if abs(value) < Fraction(2) ** exponent:
        exponent -= 1
    step = Fraction(2) ** max(exponent - digits + 1, lowest)
    rounded = round_fraction(value / step, mode) * step
    if abs(rounded) >= Fraction(2) ** top:
        return float("inf") if rounded > 0 else float("-inf")
    return float(rounded)


def expected(values: np.ndarray, src: str, dst: str, mode: int) -> np.ndarray:
    """One exact conversion per element, from Fraction arithmetic."""
    if src == "bfloat16":
        values = bf16_values(values)
    results: list[float | int] = []
    for value in values.tolist():
        special = isinstance(value, float) and not np.isfinite(value)
        if dst in MANTISSA:
            if special:
                results.append(value)
            elif src == dst == "float32":
                results.append(float(round_fraction(Fraction(value), mode)))
            else:
                results.append(to_float(Fraction(value), dst, mode))
            continue
        info = np.iinfo(dst)
        if special:
            results.append(0 if np.isnan(value) else (info.max if value > 0 else info.min))
        else:
            results.append(min(max(round_fraction(Fraction(value), mode), info.min), info.max))
    if dst == "bfloat16":
        return bf16_bits(np.array(results, np.float32))
    with np.errstate(over="ignore"):
        return np.array(results, dtype=dst)


def sources(src: str, dst: str) -> np.ndarray:
    """Values around every rounding and saturation boundary of the pair."""
    rng = np.random.default_rng(7)
    if src not in MANTISSA:
        info = np.iinfo(src)
        near = [info.min, info.min + 1, -1, 0, 1, info.max - 1, info.max] if info.min < 0 else [0, 1, 127, 128, 255]
        spread = [((1 << k) + d) * s for k in range(0, 63, 3) for d in (-1, 0, 1, 3) for s in (1, -1)]
        values = near + [value for value in spread if info.min <= value <= info.max] + rng.integers(info.min, info.max, 40).tolist()
        return np.array(values, src)
    with np.errstate(over="ignore", invalid="ignore"):
        halves = np.arange(-6, 6.5, 0.25)
        limits = [127.5, 128, 255.5, 256, -128.5, -129, 32767.5, 32768, -32769, 2.0**31, -(2.0**31), 2.0**63, 2.0**40 + 0.5]
        limits += [65504, 65519, 65520, 1e6, -1e6]
        tiny = [2.0**-24, 2.0**-25, 3 * 2.0**-25, 2.0**-26, -(2.0**-25), 2.0**-14 - 2.0**-25, 1e-39]
        ties = [1 + 2.0**-11, 1 + 3 * 2.0**-11, -1 - 2.0**-11, 1 + 2.0**-8, 1 + 3 * 2.0**-8, -1 - 2.0**-8, 1 + 2.0**-9]
        noise = rng.normal(0, 100, 40)
        numbers = np.concatenate([halves, limits, tiny, ties, noise, [np.inf, -np.inf, np.nan]])
        values = numbers.astype(np.float32)
        if src == "bfloat16":
            return bf16_bits(values)
        return values.astype(src)


@pytest.mark.parametrize(("src", "dst"), list(PAIRS))
def test_every_pair_and_mode_of_220_is_exact(src: str, dst: str) -> None:
    values = sources(src, dst)
    for mode in sorted(PAIRS[src, dst]):
        out = lawful(kernel(), call(dst, src, mode, 0, values.size), values)
        actual = out[: values.size * SIZES[dst]].view(STORAGE[dst])
        wanted = expected(values, src, dst, mode)
        if dst == "bfloat16":
            nan = np.isnan(bf16_values(wanted))
            assert np.isnan(bf16_values(actual)[nan]).all()
            actual, wanted = actual[~nan], wanted[~nan]
        np.testing.assert_array_equal(actual, wanted, err_msg=f"{src} to {dst}, mode {mode}")
        assert (out[values.size * SIZES[dst] :] == OLD).all()


@pytest.mark.parametrize("src", DTYPES)
def test_every_other_pair_and_mode_is_a_breach_on_220(src: str) -> None:
    for dst in DTYPES:
        for mode in range(7):
            if mode in PAIRS.get((src, dst), set()):
                continue
            assert rules(kernel(), call(dst, src, mode, 0, 16)) == {"unsupported"}, (src, dst, mode)


def test_3510_adds_pairs_that_220_lacks() -> None:
    bytes_ = np.array([-128, -1, 0, 127], np.int8)
    out = lawful(kernel(A5), call("int32", "int8", NONE, 0, 4), bytes_)[:16].view(np.int32)
    assert out.tolist() == [-128, -1, 0, 127]
    halves = np.array([1.00390625, 2.5, -0.1], np.float16)
    out = lawful(kernel(A5), call("bfloat16", "float16", RINT, 0, 3), halves)[:6].view(np.uint16)
    np.testing.assert_array_equal(out, bf16_bits(halves.astype(np.float32)))
    words = np.array([70000, -5, 255], np.int32)
    assert lawful(kernel(A5), call("uint8", "int32", NONE, 0, 3), words)[:3].tolist() == [255, 0, 255]


def test_a_sliced_cast_counts_lanes_in_the_wider_type() -> None:
    h = np.random.default_rng(0).normal(0, 1, 512).astype(np.float16)
    out = lawful(kernel(), call("float32", "float16", NONE, 1, 64, 0, 3, 1, 1, 8, 4), h)[:768].view(np.float32)
    np.testing.assert_array_equal(out, h[:192].astype(np.float32))
    f = np.random.default_rng(0).normal(0, 1, 256).astype(np.float32)
    # The lowest 3 lanes of each repeat; the destination's repeats 8 blocks (128 halves) apart.
    out = lawful(kernel(), call("float16", "float32", RINT, 2, 0b111, 0, 2, 1, 1, 8, 8), f).view(np.float16)
    np.testing.assert_array_equal(out[[0, 1, 2, 128, 129, 130]], f[[0, 1, 2, 64, 65, 66]].astype(np.float16))
    assert (out.view(np.uint8)[6:256] == OLD).all()


def test_a_float_source_steps_two_blocks_for_each_block_of_halves() -> None:
    f = np.random.default_rng(0).normal(0, 1, 256).astype(np.float32)
    # Source blocks 2 apart: lanes 0-7 from block 0, 8-15 from block 2, and so on; the halves stay dense.
    out = lawful(kernel(), call("float16", "float32", RINT, 1, 64, 0, 1, 1, 2, 4, 8), f)[:128].view(np.float16)
    np.testing.assert_array_equal(out, f.reshape(-1, 8)[0:16:2].ravel().astype(np.float16))


def test_widening_in_place_is_a_breach_and_narrowing_in_place_is_not() -> None:
    f = np.random.default_rng(0).normal(0, 1, BYTES // 4).astype(np.float32)
    out = lawful(kernel(), call("float16", "float32", RINT, 0, 1000, 0, 0, 1, 1, 4, 8, 1, 0), old=f)
    np.testing.assert_array_equal(out[:2000].view(np.float16), f[:1000].astype(np.float16))
    assert rules(kernel(), call("float32", "float16", NONE, 0, 1000, 0, 0, 1, 1, 8, 4, 1, 0), old=f) == {"overlap"}
    assert rules(kernel(), call("float16", "float32", RINT, 0, 1000, 0, 0, 1, 1, 4, 8, 1, 8), old=f) == {"overlap"}


def test_cast_checks_count_and_extent() -> None:
    assert rules(kernel(), call("float32", "float16", NONE, 0, -1)) == {"range"}
    assert rules(kernel(), call("float32", "float16", NONE, 0, 4097)) == {"local-bounds"}
    assert rules(kernel(), call("float32", "float16", NONE, 1, 65, 0, 1, 1, 1, 8, 4)) == {"range"}
