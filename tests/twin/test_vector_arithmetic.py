"""Element-wise instructions: results against NumPy, masks and strides, laws, the deterministic error of Exp, Ln, Sqrt and Div."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from generator.twin.build import Built
from tests.twin.vector_helpers import BYTES, CTYPES, OLD, bf16_bits, bf16_values, built, lawful, rules, run, ulps

ADD, SUB, MUL, DIV, MAX, MIN, AND, OR = range(1, 9)
ABS, RELU, RECIPROCAL, EXP, LN, SQRT, RSQRT, NOT = range(10, 18)
ADDS, MULS, MAXS, MINS, LEAKY, SHIFT_LEFT, SHIFT_RIGHT = range(20, 27)
MUL_ADD, FUSED, AXPY, AXPY_MIXED, MUL_ADD_MIXED = range(30, 35)
COUNT, MASK, BITS, REGISTER = range(4)
DEFAULT = [1, 1, 1, 8, 8, 8]

A2, A5 = "Ascend910B", "Ascend950"


def kernel(dtype: str, product: str = A2) -> Built:
    defines = {"DTYPE": CTYPES[dtype]}
    if dtype in ("float32", "float16"):
        defines["FLOATING"] = "1"
    if product != A2 or dtype not in ("float32", "float16"):
        defines["COUNT_ONLY"] = "1"
    return built("vector_arithmetic", product, **defines)


def some(dtype: str, n: int, seed: int = 0, span: float = 4.0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    if dtype.startswith(("int", "uint")):
        info = np.iinfo(dtype)
        return rng.integers(info.min, info.max, n, dtype=dtype, endpoint=True)
    return rng.normal(0, span, n).astype(dtype)


def count_form(
    dtype: str, call: int, n: int, *sources: np.ndarray, scalar: float = 0.0, product: str = A2, old: np.ndarray | None = None
) -> np.ndarray:
    params = [call, COUNT, n, 0, 0, *DEFAULT, int(scalar * 16)]
    out = lawful(kernel(dtype, product), params, *sources, old=old)
    size = np.dtype(dtype).itemsize
    if old is None:
        assert (out[n * size :] == OLD).all(), "elements beyond the count were written"
    return out[: n * size].view(dtype)


EXACT: dict[int, Callable[[np.ndarray, np.ndarray], np.ndarray]] = {
    ADD: lambda a, b: a + b,
    SUB: lambda a, b: a - b,
    MUL: lambda a, b: a * b,
    MAX: np.maximum,
    MIN: np.minimum,
}


@pytest.mark.parametrize("dtype", ["float32", "float16", "int16", "int32"])
@pytest.mark.parametrize("n", [1, 67, 1000])
def test_sum_difference_product_maximum_and_minimum_are_exact(dtype: str, n: int) -> None:
    a, b = some(dtype, n, 1), some(dtype, n, 2)
    for call, function in EXACT.items():
        with np.errstate(over="ignore"):
            expected = function(a, b)
        np.testing.assert_array_equal(count_form(dtype, call, n, a, b), expected, err_msg=str(call))


@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_infinities_nan_overflow_and_denormals_follow_ieee(dtype: str) -> None:
    info = np.finfo(dtype)
    special = np.array([0, -0.0, np.inf, -np.inf, np.nan, info.max, info.tiny, info.smallest_subnormal, 1], dtype)
    a, b = (grid.ravel().copy() for grid in np.meshgrid(special, special))
    for call in (ADD, SUB, MUL):
        with np.errstate(all="ignore"):
            expected = EXACT[call](a, b)
        np.testing.assert_array_equal(count_form(dtype, call, a.size, a, b), expected)
    for call in (MAX, MIN):
        actual = count_form(dtype, call, a.size, a, b)
        either = np.isnan(a) | np.isnan(b)
        assert np.isnan(actual[either]).all()
        np.testing.assert_array_equal(actual[~either], EXACT[call](a, b)[~either])


@pytest.mark.parametrize("dtype", ["bfloat16", "int64"])
def test_the_dtypes_that_only_3510_has_compute_there(dtype: str) -> None:
    if dtype == "bfloat16":
        a, b = (bf16_bits(some("float32", 100, seed)) for seed in (1, 2))
        out = lawful(kernel(dtype, A5), [ADD, COUNT, 100], a, b)[:200].view(np.uint16)
        np.testing.assert_array_equal(out, bf16_bits(bf16_values(a) + bf16_values(b)))
        return
    a, b = some(dtype, 100, 1), some(dtype, 100, 2)
    np.testing.assert_array_equal(count_form(dtype, ADD, 100, a, b, product=A5), a + b)


def test_division_of_integers_truncates_on_3510_and_is_a_breach_on_220() -> None:
    a, b = np.array([7, -7, 9, -9], np.int32), np.array([2, 2, -4, -4], np.int32)
    np.testing.assert_array_equal(count_form("int32", DIV, 4, a, b, product=A5), [3, -3, -2, 2])
    assert rules(kernel("int32"), [DIV, COUNT, 4]) == {"unsupported"}


@pytest.mark.parametrize("dtype", ["int16"])
def test_logic_and_shifts_work_on_bits(dtype: str) -> None:
    a, b = some(dtype, 100, 1), some(dtype, 100, 2)
    np.testing.assert_array_equal(count_form(dtype, AND, 100, a, b), a & b)
    np.testing.assert_array_equal(count_form(dtype, OR, 100, a, b), a | b)
    np.testing.assert_array_equal(count_form(dtype, NOT, 100, a), ~a)
    np.testing.assert_array_equal(count_form(dtype, SHIFT_LEFT, 100, a, scalar=3), a << 3)
    np.testing.assert_array_equal(count_form(dtype, SHIFT_RIGHT, 100, a, scalar=3), a >> 3)


def test_logic_takes_only_two_byte_integers_on_220() -> None:
    for call in (AND, OR, NOT):
        assert rules(kernel("int32"), [call, COUNT, 16]) == {"unsupported"}


def test_a_shift_beyond_the_width_is_out_of_range() -> None:
    assert rules(kernel("int16"), [SHIFT_LEFT, COUNT, 16, 0, 0, *DEFAULT, 17 * 16]) == {"range"}


@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_absolute_value_relu_and_leaky_relu(dtype: str) -> None:
    a = np.concatenate([some(dtype, 60), np.array([0, -0.0, np.inf, -np.inf, np.nan], dtype)])
    np.testing.assert_array_equal(count_form(dtype, ABS, a.size, a), np.abs(a))
    np.testing.assert_array_equal(count_form(dtype, RELU, a.size, a), np.where(a < 0, 0, a).astype(dtype))
    scaled = (a.astype(np.float32) * np.float32(0.25)).astype(dtype)
    np.testing.assert_array_equal(count_form(dtype, LEAKY, a.size, a, scalar=0.25), np.where(a >= 0, a, scaled))


@pytest.mark.parametrize("dtype", ["float32", "float16", "int32"])
def test_a_scalar_operand_is_the_same_for_every_lane(dtype: str) -> None:
    a, two = some(dtype, 130), np.dtype(dtype).type(2)
    for call, function in ((ADDS, ADD), (MULS, MUL), (MAXS, MAX), (MINS, MIN)):
        with np.errstate(over="ignore"):
            np.testing.assert_array_equal(count_form(dtype, call, a.size, a, scalar=2), EXACT[function](a, two))


def test_multiply_adds_round_as_documented() -> None:
    a, b, d = (some("float32", 100, seed) for seed in (1, 2, 3))
    np.testing.assert_array_equal(count_form("float32", MUL_ADD, 100, a, b, old=d), d + a * b)
    fused = (a.astype(np.float64) * d.astype(np.float64) + b).astype(np.float32)
    np.testing.assert_array_equal(count_form("float32", FUSED, 100, a, b, old=d), fused)
    np.testing.assert_array_equal(count_form("float32", AXPY, 100, a, scalar=1.5, old=d), d + np.float32(1.5) * a)
    h, k, e = (some("float16", 100, seed) for seed in (4, 5, 6))
    once = (e.astype(np.float32) + h.astype(np.float32) * k.astype(np.float32)).astype(np.float16)
    np.testing.assert_array_equal(count_form("float16", MUL_ADD, 100, h, k, old=e), once)


def test_multiply_adds_take_half_sources_into_float() -> None:
    h, k, d = some("float16", 100, 1), some("float16", 100, 2), some("float32", 100, 3)
    wide = h.astype(np.float32)
    np.testing.assert_array_equal(count_form("float32", AXPY_MIXED, 100, h, scalar=0.5, old=d), d + wide * np.float32(0.5))
    np.testing.assert_array_equal(count_form("float32", MUL_ADD_MIXED, 100, h, k, old=d), d + wide * k.astype(np.float32))
    # Sliced: half a block of half per block of float, so a source step of 4 blocks is one repeat.
    params = [AXPY_MIXED, MASK, 64, 0, 2, 1, 1, 1, 8, 4, 0, 8]
    h2, d2 = some("float16", 128, 4), some("float32", 128, 5)
    out = lawful(kernel("float32"), params, h2, old=d2)[:512].view(np.float32)
    np.testing.assert_array_equal(out, d2 + h2.astype(np.float32) * np.float32(0.5))


INACCURATE = {
    EXP: (np.exp, lambda rng, n: rng.uniform(-8, 8, n)),
    LN: (np.log, lambda rng, n: rng.uniform(0.01, 100, n)),
    SQRT: (np.sqrt, lambda rng, n: rng.uniform(0, 100, n)),
}


@pytest.mark.parametrize("dtype", ["float32", "float16"])
@pytest.mark.parametrize("call", list(INACCURATE))
def test_exp_ln_and_sqrt_err_by_less_than_one_ulp_but_do_err(dtype: str, call: int) -> None:
    function, draw = INACCURATE[call]
    a = draw(np.random.default_rng(call), 4000).astype(dtype)
    actual = count_form(dtype, call, a.size, a)
    exact = function(a.astype(np.float64))
    error = ulps(actual, exact)
    assert error.max() <= 1.0
    wrong = actual != exact.astype(dtype)
    assert 0.05 < wrong.mean() < 0.6
    assert ((actual > exact) & wrong).any()
    assert ((actual < exact) & wrong).any()


@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_division_errs_by_less_than_one_ulp_but_does_err(dtype: str) -> None:
    a, b = some(dtype, 4000, 1), some(dtype, 4000, 2)
    b[b == 0] = 1
    actual = count_form(dtype, DIV, a.size, a, b)
    exact = a.astype(np.float64) / b.astype(np.float64)
    assert ulps(actual, exact).max() <= 1.0
    assert (actual != exact.astype(dtype)).mean() > 0.05


def test_the_error_is_the_same_for_the_same_operand_anywhere() -> None:
    a = np.repeat(some("float32", 10, 3), 20)
    out = count_form("float32", EXP, 200, a).reshape(10, 20)
    assert (out == out[:, :1]).all()


def test_exact_cases_of_the_inexact_instructions_stay_exact() -> None:
    x = np.concatenate([some("float32", 200, 5), np.float32(2.0) ** np.arange(-20, 20, dtype=np.float32)])
    ones = np.ones_like(x)
    np.testing.assert_array_equal(count_form("float32", DIV, x.size, x, ones), x)
    np.testing.assert_array_equal(count_form("float32", DIV, x.size, x, x), ones)
    squares = np.arange(300, dtype=np.float32)
    np.testing.assert_array_equal(count_form("float32", SQRT, 300, squares * squares), squares)
    assert count_form("float32", EXP, 2, np.array([0, -np.inf], np.float32)).tolist() == [1.0, 0.0]


@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_special_operands_give_the_documented_values(dtype: str) -> None:
    x = np.array([0, -1, np.inf, 1, np.nan], dtype)
    np.testing.assert_array_equal(count_form(dtype, LN, 5, x), np.array([-np.inf, np.nan, np.inf, 0, np.nan], dtype))
    np.testing.assert_array_equal(count_form(dtype, SQRT, 5, x), np.array([0, np.nan, np.inf, 1, np.nan], dtype))
    assert count_form(dtype, EXP, 5, x)[2] == np.inf
    assert count_form(dtype, RSQRT, 2, x)[0] == np.inf
    assert np.isnan(count_form(dtype, RSQRT, 2, x)[1])
    assert count_form(dtype, RECIPROCAL, 2, np.array([0, -0.0], dtype)).tolist() == [np.inf, -np.inf]
    assert count_form(dtype, EXP, 2, np.array([-200, 200], dtype)).tolist() == [0, np.inf]


@pytest.mark.parametrize(("dtype", "bound"), [("float32", 2e-4), ("float16", 2e-3)])
def test_rsqrt_and_reciprocal_are_only_as_accurate_as_documented(dtype: str, bound: float) -> None:
    a = np.random.default_rng(0).uniform(0.1, 100, 4000).astype(dtype)
    wide = a.astype(np.float64)
    for call, exact in ((RSQRT, 1 / np.sqrt(wide)), (RECIPROCAL, 1 / wide)):
        error = count_form(dtype, call, a.size, a).astype(np.float64) / exact - 1
        assert np.abs(error).max() <= bound
        assert np.abs(error).max() > bound / 2
        assert error.min() < 0 < error.max()


def sliced_expected(
    function: Callable[[np.ndarray, np.ndarray], np.ndarray],
    sources: tuple[np.ndarray, np.ndarray],
    old: np.ndarray,
    lanes: list[int],
    repeat: int,
    strides: list[int],
) -> np.ndarray:
    """What a sliced instruction does, element by element, from the definition of strides in blocks of 32 bytes."""
    result = old.copy()
    per_block = 32 // old.itemsize
    dst_blk, blk0, blk1, dst_rep, rep0, rep1 = strides
    for r in range(repeat):
        for lane in lanes:
            block, inside = divmod(lane, per_block)
            at = (r * dst_rep + block * dst_blk) * per_block + inside
            x = sources[0][(r * rep0 + block * blk0) * per_block + inside]
            y = sources[1][(r * rep1 + block * blk1) * per_block + inside]
            result[at] = function(x, y)
    return result


@pytest.mark.parametrize("dtype", ["float32", "float16"])
@pytest.mark.parametrize(
    ("form", "repeat", "strides"),
    [
        (MASK, 3, DEFAULT),
        (MASK, 5, [1, 1, 0, 8, 8, 1]),
        (BITS, 4, [1, 1, 1, 8, 8, 0]),
        (BITS, 2, [2, 1, 3, 16, 8, 24]),
        (MASK, 6, [1, 0, 1, 9, 1, 8]),
    ],
)
def test_a_sliced_instruction_walks_its_strides_and_keeps_unmasked_lanes(dtype: str, form: int, repeat: int, strides: list[int]) -> None:
    n = BYTES // np.dtype(dtype).itemsize
    width = 256 // np.dtype(dtype).itemsize
    a, b, old = some(dtype, n, 1), some(dtype, n, 2), some(dtype, n, 3)
    if form == MASK:
        lanes, low, high = list(range(width - 5)), width - 5, 0
    else:
        low, high = 0xF0F0_1234_8000_0001, 0x8000_0000_0000_0F01
        lanes = [lane for lane in range(width) if ((low if lane < 64 else high) >> (lane % 64)) & 1]
    signed = [value - (1 << 64) if value >= 1 << 63 else value for value in (low, high)]
    out = lawful(kernel(dtype), [SUB, form, *signed, repeat, *strides], a, b, old=old).view(dtype)
    np.testing.assert_array_equal(out, sliced_expected(lambda x, y: x - y, (a, b), old, lanes, repeat, strides))


def test_every_form_of_every_family_uses_the_same_lanes() -> None:
    a, b, old = (some("float32", 512, seed) for seed in (1, 2, 3))
    wanted = {
        MUL: lambda x, y: x * y,
        ABS: lambda x, y: np.abs(x),
        MAXS: lambda x, y: np.maximum(x, np.float32(0.5)),
        MUL_ADD: None,
        AXPY: None,
    }
    for call, function in wanted.items():
        for form, low in ((MASK, 40), (BITS, (1 << 40) - 1)):
            out = lawful(kernel("float32"), [call, form, low, 0, 4, *DEFAULT, 8], a, b, old=old)[:2048].view(np.float32)
            if function is not None:
                full = function(a, b)
            else:
                full = old + (a * b if call == MUL_ADD else np.float32(0.5) * a)
            active = np.arange(512) % 64 < 40
            active[256:] = False
            np.testing.assert_array_equal(out, np.where(active, full, old))


@pytest.mark.parametrize(("mode", "low", "high", "active"), [(0, 0b1011, 0, [0, 1, 3]), (2, 5, 0, [0, 1, 2, 3, 4])])
def test_without_set_mask_the_lanes_come_from_the_mask_register(mode: int, low: int, high: int, active: list[int]) -> None:
    a, b, old = (some("float32", 512, seed) for seed in (1, 2, 3))
    params = [ADD, REGISTER, low, high, 2, *DEFAULT, 0, 0, 0, 0, mode]
    out = lawful(kernel("float32"), params, a, b, old=old)[:2048].view(np.float32)
    lanes = [r * 64 + lane for r in range(2) for lane in active]
    expected = old.copy()
    expected[lanes] = (a + b)[lanes]
    np.testing.assert_array_equal(out, expected)


def test_in_counter_mode_the_mask_register_is_a_number_of_elements() -> None:
    a, b, old = (some("float32", 512, seed) for seed in (1, 2, 3))
    out = lawful(kernel("float32"), [ADD, REGISTER, 150, 0, 1, *DEFAULT, 0, 0, 0, 0, 1], a, b, old=old)[:2048].view(np.float32)
    np.testing.assert_array_equal(out, np.where(np.arange(512) < 150, a + b, old))


def test_rows_accumulate_in_place_with_a_repeat_stride_of_zero() -> None:
    a, old = some("float32", 64 * 8, 1), some("float32", 64, 2)
    params = [ADD, MASK, 64, 0, 8, 1, 1, 1, 0, 8, 0, 0, 2]
    out = lawful(kernel("float32"), params, a, old=old)[:256].view(np.float32)
    expected = old.copy()
    for row in a.reshape(8, 64):
        expected = row + expected
    np.testing.assert_array_equal(out, expected)


def test_division_may_not_accumulate_in_place() -> None:
    params = [DIV, MASK, 64, 0, 8, 1, 1, 1, 0, 8, 0, 0, 2]
    assert rules(kernel("float32"), params, np.ones(512, np.float32), old=np.ones(64, np.float32)) == {"overlap"}


def test_source_and_destination_may_be_the_same_but_not_shifted() -> None:
    x = some("float32", 256)
    same = [MUL, COUNT, 128, 0, 0, *DEFAULT, 0, 3, 0]
    out = lawful(kernel("float32"), same, old=x)[:512].view(np.float32)
    np.testing.assert_array_equal(out, (x * x)[:128])
    assert rules(kernel("float32"), [MUL, COUNT, 128, 0, 0, *DEFAULT, 0, 1, 8], old=x) == {"overlap"}
    assert rules(kernel("float32"), [MUL, COUNT, 128, 0, 0, *DEFAULT, 0, 1, 0, 8], old=x) == {"overlap"}


def test_what_one_repeat_writes_the_next_may_not_read() -> None:
    ahead = [SUB, MASK, 64, 0, 3, *DEFAULT, 0, 1, 0, 64]
    behind = [SUB, MASK, 64, 0, 3, *DEFAULT, 0, 1, 64, 0]
    x = some("float32", 1024)
    assert rules(kernel("float32"), ahead, old=x) == {"overlap"}
    assert rules(kernel("float32"), behind, old=x) == set()


@pytest.mark.parametrize(
    ("params", "rule"),
    [
        ([ADD, COUNT, -1], "range"),
        ([ADD, COUNT, 1 << 31], "range"),
        ([ADD, MASK, 65, 0, 1, *DEFAULT], "range"),
        ([ADD, MASK, -1, 0, 1, *DEFAULT], "range"),
        ([ADD, MASK, 64, 0, 256, *DEFAULT], "range"),
        ([ADD, MASK, 64, 0, 1, 256, 1, 1, 8, 8, 8], "range"),
        ([ADD, MASK, 64, 0, 1, 1, 1, 1, 8, 256, 8], "range"),
        ([ADD, MASK, 64, 0, 2, 1, 1, 1, 8, 8, -1], "range"),
        ([ADD, MASK, 64, 0, 1, 0, 1, 1, 8, 8, 8], "range"),
        ([ABS, MASK, 64, 0, 1, 1, 65536, 1, 8, 8, 8], "range"),
        ([ADD, COUNT, 64, 0, 0, *DEFAULT, 0, 0, 0, 1], "alignment"),
        ([ADD, COUNT, 64, 0, 0, *DEFAULT, 0, 1, 4, 64], "alignment"),
        ([ADD, COUNT, 4097], "local-bounds"),
        ([ADD, MASK, 64, 0, 255, *DEFAULT], "local-bounds"),
        ([ADD, COUNT, 64, 0, 0, *DEFAULT, 0, 0, 0, 4040], "local-bounds"),
    ],
)
def test_a_value_outside_its_documented_range_is_a_breach(params: list[int], rule: str) -> None:
    found = rules(kernel("float32"), params)
    assert found == {rule}


def test_a_count_of_zero_is_nothing_on_220_and_a_breach_on_3510() -> None:
    out = lawful(kernel("float32"), [ADD, COUNT, 0])
    assert (out == OLD).all()
    out = lawful(kernel("float32"), [ADD, MASK, 64, 0, 0, *DEFAULT])
    assert (out == OLD).all()
    assert rules(kernel("int32", A5), [ADD, COUNT, 0]) == {"nop-count"}


def test_a_breach_names_the_call_its_line_and_the_value() -> None:
    _, breaches = run(kernel("float32"), [ADD, MASK, 64, 0, 300, *DEFAULT])
    (breach,) = breaches
    assert breach.file.endswith("vector_arithmetic.cpp")
    assert breach.line > 0
    assert "repeatTime is 300, allowed are 0 to 255" in breach.message


def test_a_switched_off_range_law_computes_what_the_hardware_field_keeps() -> None:
    a, b = some("float32", 512, 1), some("float32", 512, 2)
    out, breaches = run(kernel("float32"), [ADD, MASK, 64, 0, 256 + 2, *DEFAULT], a, b, laws_off=("range",))
    assert not breaches
    np.testing.assert_array_equal(out[:512].view(np.float32), (a + b)[:128])
    assert (out[512:] == OLD).all()
