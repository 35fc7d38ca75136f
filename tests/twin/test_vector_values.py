"""Duplicate, CreateVecIndex, Brcb, Copy, Compare and Select against their definitions."""

from __future__ import annotations

import numpy as np
import pytest

from generator.twin.build import Built
from tests.twin.vector_helpers import BYTES, OLD, built, lawful, rules

DUPLICATE, INDEX, BRCB, COPY = range(1, 5)
COMPARE, COMPARE_SCALAR, COMPARE_REGISTER = range(10, 13)
SELECT, SELECT_SCALAR, SELECT_REGISTER = range(20, 23)
COUNT, MASK, BITS = range(3)
DTYPES = ["float32", "float16", "int32", "bfloat16", "int16"]
MODES = {0: np.less, 1: np.greater, 2: np.equal, 3: np.less_equal, 4: np.greater_equal, 5: np.not_equal}
LT, EQ = 0, 2
SPR, SCALAR, TENSOR = range(3)
A2, A5 = "Ascend910B", "Ascend950"


def kernel(product: str = A2) -> Built:
    return built("vector_values", product)


def params(call: int, form: int, dtype: str, low: int = 0, high: int = 0, repeat: int = 0, *rest: int) -> list[int]:
    return [call, form, DTYPES.index(dtype), low, high, repeat, *rest]


def draw(dtype: str, n: int, seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return rng.integers(-3, 4, n).astype(dtype)


@pytest.mark.parametrize("dtype", ["float32", "float16", "int32", "int16"])
def test_duplicate_fills_exactly_count_elements(dtype: str) -> None:
    out = lawful(kernel(), params(DUPLICATE, COUNT, dtype, 77, 0, 0, 0, 0, 0, 12))
    size = np.dtype(dtype).itemsize
    assert (out[: 77 * size].view(dtype) == 3).all()
    assert (out[77 * size :] == OLD).all()


def test_duplicate_fills_bfloat16() -> None:
    out = lawful(kernel(), params(DUPLICATE, COUNT, "bfloat16", 10, 0, 0, 0, 0, 0, 6))
    assert (out[:20].view(np.uint16) == 0x3FC0).all()  # 1.5


def test_sliced_duplicate_touches_only_its_lanes() -> None:
    out = lawful(kernel(), params(DUPLICATE, BITS, "float32", 0b101, 0, 3, 1, 2, 0, 8)).view(np.float32)
    written = np.flatnonzero(out.view(np.uint32) != np.frombuffer(bytes([OLD]) * 4, np.uint32)[0])
    assert written.tolist() == [0, 2, 16, 18, 32, 34]
    assert (out[written] == 2).all()
    out = lawful(kernel(), params(DUPLICATE, MASK, "float16", 128, 0, 2, 2, 16, 0, 8))
    assert (out.reshape(-1, 32)[0:32:2].view(np.float16) == 2).all()
    assert (out.reshape(-1, 32)[1:32:2] == OLD).all()


@pytest.mark.parametrize("dtype", ["float32", "float16", "int32", "int16"])
def test_create_vec_index_counts_upwards(dtype: str) -> None:
    out = lawful(kernel(), params(INDEX, COUNT, dtype, 150, 0, 0, 0, 0, 0, 20))
    np.testing.assert_array_equal(out[: 150 * np.dtype(dtype).itemsize].view(dtype), np.arange(5, 155))
    old = np.zeros(BYTES, np.uint8)
    out = lawful(kernel(), params(INDEX, MASK, "int32", 3, 0, 2, 1, 8, 0, 0), old=old).view(np.int32)
    assert out[[0, 1, 2, 3, 64, 65, 66, 67]].tolist() == [0, 1, 2, 0, 64, 65, 66, 0]


@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_brcb_spreads_eight_elements_over_eight_blocks(dtype: str) -> None:
    a = draw(dtype, 16, 1)
    per_block = 32 // a.itemsize
    out = lawful(kernel(), params(BRCB, COUNT, dtype, 0, 0, 2, 1, 8), a)[: 16 * 32].view(dtype)
    np.testing.assert_array_equal(out, np.repeat(a, per_block))
    out = lawful(kernel(), params(BRCB, COUNT, dtype, 0, 0, 2, 2, 16), a).reshape(-1, 32)
    np.testing.assert_array_equal(np.ascontiguousarray(out[0:32:2]).view(dtype).ravel(), np.repeat(a, per_block))
    assert (out[1:32:2] == OLD).all()


def test_brcb_refuses_overlap_and_bad_ranges() -> None:
    assert rules(kernel(), params(BRCB, COUNT, "float32", 0, 0, 2, 1, 8, 0, 0, 0, 64, 1)) == {"overlap"}
    assert rules(kernel(), params(BRCB, COUNT, "float32", 0, 0, 256, 1, 8)) == {"range"}
    assert rules(kernel(), params(BRCB, COUNT, "float32", 0, 0, 100, 1, 8)) == {"local-bounds"}


def test_copy_moves_masked_lanes_between_strided_blocks() -> None:
    a = draw("float32", 512, 1)
    # dst stride 2 blocks and 16 per repeat, src contiguous.
    out = lawful(kernel(), params(COPY, MASK, "float32", 64, 0, 2, 2, 16, 0, 0, 0, 0, 0, 1, 8), a).view(np.float32).reshape(-1, 8)
    np.testing.assert_array_equal(out[0:32:2].ravel(), a[:128])
    out = lawful(kernel(), params(COPY, BITS, "float32", 0b11, 0, 1, 1, 8, 0, 0, 0, 0, 0, 1, 8), a)
    np.testing.assert_array_equal(out[:8].view(np.float32), a[:2])
    assert (out[8:] == OLD).all()


def test_copy_checks_its_repeat_sizes() -> None:
    assert rules(kernel(), params(COPY, MASK, "float32", 64, 0, 1, 1, 4096, 0, 0, 0, 0, 0, 1, 8)) == {"range"}


def bits_of(out: np.ndarray, n: int) -> np.ndarray:
    return np.unpackbits(out[: n // 8], bitorder="little").astype(bool)


@pytest.mark.parametrize("dtype", ["float32", "float16"])
@pytest.mark.parametrize("mode", list(MODES))
def test_compare_sets_bit_i_for_element_i(dtype: str, mode: int) -> None:
    n = 3 * 256 // np.dtype(dtype).itemsize
    a, b = draw(dtype, n, 1), draw(dtype, n, 2)
    a[5] = b[6] = np.nan
    out = lawful(kernel(), params(COMPARE, COUNT, dtype, n, 0, 0, 0, 0, mode), a, b)
    np.testing.assert_array_equal(bits_of(out, n), MODES[mode](a, b))
    assert (out[n // 8 :] == OLD).all()
    for form in (COUNT, 3):
        out = lawful(kernel(), params(COMPARE_SCALAR, form, dtype, n, 0, 0, 0, 0, mode, 4), a)
        np.testing.assert_array_equal(bits_of(out, n), MODES[mode](a, np.dtype(dtype).type(1)))


def test_sliced_compare_packs_its_repeats_without_gaps() -> None:
    a, b = draw("float32", 512, 1), draw("float32", 512, 2)
    for form, low in ((MASK, 64), (BITS, -1)):
        out = lawful(kernel(), params(COMPARE, form, "float32", low, 0, 3, 8, 0, LT), a, b)
        expected = np.concatenate([a[r * 64 : r * 64 + 64] < b[:64] for r in range(3)])
        np.testing.assert_array_equal(bits_of(out, 192), expected)
        out = lawful(kernel(), params(COMPARE_SCALAR, form, "float32", low, 0, 3, 8, 0, LT, 0), a)
        np.testing.assert_array_equal(bits_of(out, 192), a[:192] < 0)


def test_compare_computes_whole_repeats_only() -> None:
    assert rules(kernel(), params(COMPARE, COUNT, "float32", 100, 0, 0, 0, 0, LT)) == {"count"}
    assert rules(kernel(), params(COMPARE, COUNT, "float16", 64, 0, 0, 0, 0, LT)) == {"count"}
    out = lawful(kernel(), params(COMPARE, COUNT, "float32", 100, 0, 0, 0, 0, EQ), laws_off=("count",))
    assert (out[:8] == 0xFF).all()
    assert (out[8:] == OLD).all()


def test_int32_compares_only_for_equality_on_220() -> None:
    a, b = draw("int32", 64, 1), draw("int32", 64, 2)
    np.testing.assert_array_equal(bits_of(lawful(kernel(), params(COMPARE, COUNT, "int32", 64, 0, 0, 0, 0, EQ), a, b), 64), a == b)
    assert rules(kernel(), params(COMPARE, COUNT, "int32", 64, 0, 0, 0, 0, LT)) == {"unsupported"}
    np.testing.assert_array_equal(bits_of(lawful(kernel(A5), params(COMPARE, COUNT, "int32", 64, 0, 0, 0, 0, LT), a, b), 64), a < b)


def test_compare_into_the_register_and_back() -> None:
    a, b = draw("float32", 64, 1), draw("float32", 64, 2)
    out = lawful(kernel(), params(COMPARE_REGISTER, COUNT, "float32", 64, 0, 1, 8, 8, LT), a, b)
    np.testing.assert_array_equal(bits_of(out, 64), a < b)


@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_select_takes_the_first_source_where_the_bit_is_one(dtype: str) -> None:
    n = 300
    a, b = draw(dtype, n, 1), draw(dtype, n, 2)
    mask = np.random.default_rng(3).integers(0, 256, 64, dtype=np.uint8)
    bits = np.unpackbits(mask, bitorder="little").astype(bool)
    size = a.itemsize
    out = lawful(kernel(), params(SELECT, COUNT, dtype, n, 0, 0, 8, 8, TENSOR), a, b, mask)
    np.testing.assert_array_equal(out[: n * size].view(dtype), np.where(bits[:n], a, b))
    assert (out[n * size :] == OLD).all()
    out = lawful(kernel(), params(SELECT_SCALAR, COUNT, dtype, n, 0, 0, 8, 8, SCALAR, 40), a, None, mask)
    np.testing.assert_array_equal(out[: n * size].view(dtype), np.where(bits[:n], a, np.dtype(dtype).type(10)))
    width = 256 // size
    out = lawful(kernel(), params(SELECT, COUNT, dtype, n, 0, 0, 8, 8, SPR), a, b, mask)
    repeated = np.resize(bits[:width], n)
    np.testing.assert_array_equal(out[: n * size].view(dtype), np.where(repeated, a, b))


def test_sliced_select_uses_the_masks_bits_repeat_after_repeat() -> None:
    a, b = draw("float32", 512, 1), draw("float32", 512, 2)
    mask = np.random.default_rng(3).integers(0, 256, 64, dtype=np.uint8)
    bits = np.unpackbits(mask, bitorder="little").astype(bool)[:192]
    for form, low in ((MASK, 64), (BITS, -1)):
        out = lawful(kernel(), params(SELECT, form, "float32", low, 0, 3, 8, 0, TENSOR), a, b, mask)[:768].view(np.float32)
        np.testing.assert_array_equal(out, np.where(bits, a[:192], np.tile(b[:64], 3)))
        out = lawful(kernel(), params(SELECT_SCALAR, form, "float32", low, 0, 3, 8, 0, SCALAR, 40), a, None, mask)[:768].view(np.float32)
        np.testing.assert_array_equal(out, np.where(bits, a[:192], np.float32(10)))


def test_select_by_the_compare_register_repeats_its_bits() -> None:
    a, b = draw("float32", 512, 1), draw("float32", 512, 2)
    mask = np.random.default_rng(3).integers(0, 256, 64, dtype=np.uint8)
    bits = np.tile(np.unpackbits(mask, bitorder="little").astype(bool)[:64], 2)
    out = lawful(kernel(), params(SELECT_REGISTER, COUNT, "float32", 64, 0, 2, 8, 8), a, b, mask)[:512].view(np.float32)
    np.testing.assert_array_equal(out, np.where(bits, a[:128], b[:128]))


def test_select_checks_mode_overlap_and_dtype() -> None:
    assert rules(kernel(), params(SELECT, COUNT, "float32", 64, 0, 0, 8, 8, SCALAR)) == {"unsupported"}
    assert rules(kernel(), params(SELECT_SCALAR, COUNT, "float32", 64, 0, 0, 8, 8, TENSOR)) == {"unsupported"}
    assert rules(kernel(), params(SELECT, COUNT, "float32", 64, 0, 0, 8, 8, TENSOR, 0, 0, 0, 1)) == {"overlap"}
    assert rules(kernel(), params(SELECT, COUNT, "int32", 64, 0, 0, 8, 8, TENSOR)) == {"unsupported"}


def test_select_needs_the_last_8_kilobytes_of_220_free() -> None:
    whole, frame = 196608 - 8192, 4 * BYTES
    fits = params(SELECT, COUNT, "float32", 64, 0, 0, 8, 8, TENSOR, 0, 0, 0, 0, whole - frame)
    full = params(SELECT, COUNT, "float32", 64, 0, 0, 8, 8, TENSOR, 0, 0, 0, 0, whole - frame + 32)
    assert rules(kernel(), fits) == set()
    assert rules(kernel(), full) == {"ub-capacity"}
    assert rules(kernel(A5), full) == set()


def test_a_switched_off_law_lets_an_unsupported_call_compute() -> None:
    a, b, mask = draw("int32", 64, 1), draw("int32", 64, 2), np.full(8, 0x0F, np.uint8)
    bits = np.unpackbits(mask, bitorder="little").astype(bool)
    out = lawful(kernel(), params(SELECT, COUNT, "int32", 64, 0, 0, 8, 8, TENSOR), a, b, mask, laws_off=("unsupported",))
    np.testing.assert_array_equal(out[:256].view(np.int32), np.where(bits, a, b))
