"""Gather, Gatherb, GatherMask and the transposes against their definitions."""

from __future__ import annotations

import numpy as np
import pytest

from generator.twin.build import Built
from tests.twin.vector_helpers import BYTES, OLD, built, lawful, rules, run

GATHER, GATHERB, GATHER_MASK, TRANS_5HD, TRANSPOSE = range(1, 6)
COUNT, MASK, BITS = range(3)
PATTERN, TENSOR = range(2)
DTYPES = ["float32", "float16", "uint8"]


def kernel() -> Built:
    return built("vector_gather", "Ascend910B")


def params(call: int, form: int, dtype: str, low: int = 0, high: int = 0, repeat: int = 0, *rest: int) -> list[int]:
    return [call, form, DTYPES.index(dtype), low, high, repeat, *rest]


def draw(dtype: str, n: int) -> np.ndarray:
    rng = np.random.default_rng(n)
    return rng.integers(0, 256, n, np.uint8) if dtype == "uint8" else rng.normal(0, 1, n).astype(dtype)


@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_gather_takes_elements_by_byte_offset(dtype: str) -> None:
    a = draw(dtype, 1000)
    size = a.itemsize
    index = np.random.default_rng(0).integers(0, 900, 300).astype(np.uint32)
    out = lawful(kernel(), params(GATHER, COUNT, dtype, 300, 0, 0, 0), a, index * size)
    np.testing.assert_array_equal(out[: 300 * size].view(dtype), a[index])
    assert (out[300 * size :] == OLD).all()
    out = lawful(kernel(), params(GATHER, COUNT, dtype, 300, 0, 0, 64 * size), a, index * size)
    np.testing.assert_array_equal(out[: 300 * size].view(dtype), a[index + 64])


def test_sliced_gather_writes_its_lanes_of_each_repeat() -> None:
    a = draw("float32", 1000)
    index = np.random.default_rng(0).integers(0, 900, 128).astype(np.uint32)
    out = lawful(kernel(), params(GATHER, MASK, "float32", 10, 0, 2, 0, 16), a, index * 4).view(np.float32)
    np.testing.assert_array_equal(out[:10], a[index[:10]])
    np.testing.assert_array_equal(out[128:138], a[index[64:74]])
    assert (out.view(np.uint8)[40:512] == OLD).all()
    out = lawful(kernel(), params(GATHER, BITS, "float32", 0b1010, 0, 1, 0, 8), a, index * 4).view(np.float32)
    np.testing.assert_array_equal(out[[1, 3]], a[index[[1, 3]]])


@pytest.mark.parametrize(
    ("offset", "rule"),
    [(6, "alignment"), (BYTES, "local-bounds"), (BYTES - 4, None), (2**32 - 4, "local-bounds")],
)
def test_gather_offsets_are_whole_elements_inside_the_source(offset: int, rule: str | None) -> None:
    index = np.array([0, 4, offset, 8, 0, 0, 0, 0], np.uint32)
    assert rules(kernel(), params(GATHER, COUNT, "float32", 8), draw("float32", 100), index) == ({rule} if rule else set())


def test_gather_names_the_offending_element() -> None:
    _, breaches = run(kernel(), params(GATHER, COUNT, "float32", 8), None, np.array([0, 6], np.uint32))
    assert "offset 6 of element 1 is not a multiple of 4 bytes" in breaches[0].message


def test_gather_may_not_write_its_source() -> None:
    index = np.zeros(8, np.uint32)
    assert rules(kernel(), params(GATHER, COUNT, "float32", 8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1), None, index) == {"overlap"}


def test_gatherb_copies_blocks() -> None:
    a = draw("float32", 1024)
    blocks = np.random.default_rng(0).permutation(100)[:16].astype(np.uint32)
    out = lawful(kernel(), params(GATHERB, COUNT, "float32", 0, 0, 2, 2, 16), a, blocks * 32).view(np.float32).reshape(-1, 8)
    np.testing.assert_array_equal(out[0:32:2], a.reshape(-1, 8)[blocks])
    assert (out[1:32:2].view(np.uint8) == OLD).all()
    assert rules(kernel(), params(GATHERB, COUNT, "float32", 0, 0, 1, 1, 8), a, np.array([16], np.uint32)) == {"alignment"}
    assert rules(kernel(), params(GATHERB, COUNT, "float32", 0, 0, 1, 1, 8), a, np.array([BYTES], np.uint32)) == {"local-bounds"}


def kept(out: np.ndarray) -> list[int]:
    return out[BYTES - 32 : BYTES - 16].view(np.int64).tolist()


@pytest.mark.parametrize("dtype", ["float32", "float16"])
@pytest.mark.parametrize("pattern", range(1, 8))
def test_gather_mask_compacts_by_a_built_in_pattern(dtype: str, pattern: int) -> None:
    n = 2 * 256 // np.dtype(dtype).itemsize
    a = draw(dtype, n)
    steps = {1: (0, 2), 2: (1, 2), 3: (0, 4), 4: (1, 4), 5: (2, 4), 6: (3, 4), 7: (0, 1)}
    first, step = steps[pattern]
    wanted = a[first::step]
    out = lawful(kernel(), params(GATHER_MASK, PATTERN, dtype, 0, 0, 2, pattern, 0, 1, 8, 0), a)
    np.testing.assert_array_equal(out[: wanted.nbytes].view(dtype), wanted)
    assert (out[wanted.nbytes : BYTES - 32] == OLD).all()
    assert kept(out) == [wanted.size, wanted.size]


def test_gather_mask_in_reduce_mode_takes_the_first_elements_of_each_repeat() -> None:
    a = draw("float32", 1024)
    out = lawful(kernel(), params(GATHER_MASK, PATTERN, "float32", 100, 0, 3, 1, 1, 1, 16, 0), a)
    wanted = np.concatenate([a[128 * r : 128 * r + 100 : 2] for r in range(3)])
    np.testing.assert_array_equal(out[: wanted.nbytes].view(np.float32), wanted)
    assert kept(out)[0] == 150


@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_gather_mask_compacts_by_bits_of_a_tensor(dtype: str) -> None:
    width = 256 // np.dtype(dtype).itemsize
    a = draw(dtype, 2 * width)
    pattern = np.random.default_rng(1).integers(0, 256, 64, dtype=np.uint8)
    once = np.unpackbits(pattern[: width // 8], bitorder="little").astype(bool)
    second = np.unpackbits(pattern[32 : 32 + width // 8], bitorder="little").astype(bool)
    out = lawful(kernel(), params(GATHER_MASK, TENSOR, dtype, 0, 0, 2, 0, 0, 1, 8, 0), a, pattern)
    wanted = a[np.concatenate([once, once])]
    np.testing.assert_array_equal(out[: wanted.nbytes].view(dtype), wanted)
    out = lawful(kernel(), params(GATHER_MASK, TENSOR, dtype, 0, 0, 2, 0, 0, 1, 8, 1), a, pattern)
    wanted = a[np.concatenate([once, second])]
    np.testing.assert_array_equal(out[: wanted.nbytes].view(dtype), wanted)
    assert kept(out)[0] == wanted.size


@pytest.mark.parametrize(("place", "value"), [(6, 0), (6, 8), (8, 256), (9, 65536), (10, 256), (5, 65536)])
def test_gather_mask_checks_its_ranges(place: int, value: int) -> None:
    numbers = params(GATHER_MASK, PATTERN, "float32", 0, 0, 1, 1, 0, 1, 8, 0)
    numbers[place] = value
    assert rules(kernel(), numbers) == {"range"}


def test_gather_mask_may_not_write_its_source() -> None:
    assert rules(kernel(), params(GATHER_MASK, PATTERN, "float32", 0, 0, 1, 1, 0, 1, 8, 0, 0, 0, 0, 1)) == {"overlap"}


@pytest.mark.parametrize("form", [0, 1])
def test_trans_data_transposes_sixteen_rows(form: int) -> None:
    a = draw("float16", 256).reshape(16, 16)
    out = lawful(kernel(), params(TRANS_5HD, form, "float16", 0, 0, 1, 0, 0, 0, 0), a)[:512].view(np.float16).reshape(16, 16)
    np.testing.assert_array_equal(out, a.T)
    f = draw("float32", 128).reshape(16, 8)
    out = lawful(kernel(), params(TRANS_5HD, form, "float32", 0, 0, 1, 0, 0, 0, 0), f)[:512].view(np.float32).reshape(8, 16)
    np.testing.assert_array_equal(out, f.T)


def test_trans_data_repeats_step_by_blocks() -> None:
    a = draw("float16", 512).reshape(2, 16, 16)
    out = lawful(kernel(), params(TRANS_5HD, 0, "float16", 0, 0, 2, 0, 0, 16, 16), a)[:1024].view(np.float16).reshape(2, 16, 16)
    np.testing.assert_array_equal(out, a.transpose(0, 2, 1))


@pytest.mark.parametrize(("dst_high", "src_high"), [(0, 0), (0, 1), (1, 0), (1, 1)])
def test_trans_data_of_bytes_uses_half_rows(dst_high: int, src_high: int) -> None:
    a = draw("uint8", 512).reshape(16, 32)
    out = lawful(kernel(), params(TRANS_5HD, 0, "uint8", 0, 0, 1, dst_high, src_high, 0, 0), a)[:512].reshape(16, 32)
    wanted = np.full((16, 32), OLD, np.uint8)
    wanted[:, 16 * dst_high : 16 * dst_high + 16] = a[:, 16 * src_high : 16 * src_high + 16].T
    np.testing.assert_array_equal(out, wanted)


def test_trans_data_rows_start_at_blocks() -> None:
    assert rules(kernel(), params(TRANS_5HD, 0, "float16", 0, 0, 1, 0, 0, 0, 0, 4)) == {"alignment"}
    assert rules(kernel(), params(TRANS_5HD, 1, "float16", 0, 0, 1, 0, 0, 0, 0, 4)) == {"alignment"}
    assert rules(kernel(), params(TRANS_5HD, 0, "float16", 0, 0, 256, 0, 0, 1, 1)) == {"range"}


def test_transpose_is_for_sixteen_by_sixteen_two_byte_elements() -> None:
    a = draw("float16", 256).reshape(16, 16)
    out = lawful(kernel(), params(TRANSPOSE, 0, "float16"), a)[:512].view(np.float16).reshape(16, 16)
    np.testing.assert_array_equal(out, a.T)
    assert rules(kernel(), params(TRANSPOSE, 0, "float32")) == {"unsupported"}
