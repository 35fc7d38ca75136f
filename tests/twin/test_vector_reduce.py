"""Reductions: the order of additions, where results go, indices, alignment of destinations, and what lanes without mask bit do."""

from __future__ import annotations

import numpy as np
import pytest

from generator.twin.build import Built
from tests.twin.vector_helpers import BYTES, OLD, built, lawful, rules

WHOLE_SUM, WHOLE_MAX, WHOLE_MIN, BLOCK_SUM, BLOCK_MAX, BLOCK_MIN, PAIR_SUM, REPEAT_SUM = range(1, 9)
SUM, MAX, MIN, SUM_USED, MAX_REGISTERS = range(10, 15)
COUNT, MASK, BITS = range(3)
VALUE_INDEX, INDEX_VALUE, ONLY_VALUE, ONLY_INDEX = range(4)
DTYPES = ["float32", "float16", "int32"]
A2, A5 = "Ascend910B", "Ascend950"


def kernel(product: str = A2) -> Built:
    return built("vector_reduce", product)


def params(call: int, form: int, dtype: str, low: int = 0, high: int = 0, repeat: int = 0, *rest: int) -> list[int]:
    return [call, form, DTYPES.index(dtype), low, high, repeat, *rest]


def draw(dtype: str, n: int, seed: int = 0) -> np.ndarray:
    """Values whose sum depends on the order of additions."""
    rng = np.random.default_rng(seed)
    return (rng.normal(0, 1, n) * 2.0 ** rng.integers(-6, 7, n)).astype(dtype)


def tree(values: np.ndarray) -> np.generic:
    """(0+1), (2+3), ..., then pairs of pairs, each addition in the array's dtype; zeros fill up to a power of two."""
    size = 1 << max(values.size - 1, 0).bit_length()
    level = np.zeros(size, values.dtype)
    level[: values.size] = values
    while level.size > 1:
        level = level[0::2] + level[1::2]
    return level[0]


def per_repeat(dtype: str) -> int:
    return 256 // np.dtype(dtype).itemsize


@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_whole_reduce_sum_adds_neighbours_in_a_tree(dtype: str) -> None:
    width = per_repeat(dtype)
    a = draw(dtype, 4 * width)
    rows = a.reshape(4, width)
    size = a.itemsize
    assert any(tree(row) != np.cumsum(row, dtype=dtype)[-1] for row in rows), "the draw must tell orders apart"
    out = lawful(kernel(), params(WHOLE_SUM, MASK, dtype, width, 0, 4, 1, 1, 8), a)
    np.testing.assert_array_equal(out[: 4 * size].view(dtype), [tree(row) for row in rows])
    assert (out[4 * size :] == OLD).all()
    out = lawful(kernel(), params(WHOLE_SUM, MASK, dtype, 21, 0, 4, 3, 1, 8), a).view(dtype)
    np.testing.assert_array_equal(out[[0, 3, 6, 9]], [tree(row[:21]) for row in rows])
    low = 0x5A5A_0000_FFFF_0001
    active = np.array([(low >> k) & 1 for k in range(64)], bool)
    out = lawful(kernel(), params(WHOLE_SUM, BITS, dtype, low, 0, 2, 1, 1, 8), a).view(dtype)
    np.testing.assert_array_equal(out[:2], [tree(np.where(active, row[:64], 0).astype(dtype)) for row in rows[:2]])
    out = lawful(kernel(), params(REPEAT_SUM, MASK, dtype, width, 0, 4, 2, 1, 8), a).view(dtype)
    np.testing.assert_array_equal(out[[0, 2, 4, 6]], [tree(row) for row in rows])


def test_whole_reduce_follows_source_strides() -> None:
    a = draw("float32", 1024)
    blocks = a.reshape(-1, 8)
    out = lawful(kernel(), params(WHOLE_SUM, MASK, "float32", 64, 0, 3, 1, 2, 5), a)[:12].view(np.float32)
    np.testing.assert_array_equal(out, [tree(blocks[5 * r : 5 * r + 16 : 2].ravel()) for r in range(3)])


@pytest.mark.parametrize("dtype", ["float32", "float16"])
@pytest.mark.parametrize(("call", "function", "position"), [(WHOLE_MAX, np.max, np.argmax), (WHOLE_MIN, np.min, np.argmin)])
def test_whole_reduce_extremes_store_value_and_index(dtype: str, call: int, function: object, position: object) -> None:
    width, index_type = per_repeat(dtype), np.uint32 if dtype == "float32" else np.uint16
    a = np.random.default_rng(2).integers(-40, 40, 3 * width).astype(dtype)  # many ties: the smallest index counts
    rows = a.reshape(3, width)
    values = [function(row) for row in rows]  # type: ignore[operator]
    indices = [position(row) for row in rows]  # type: ignore[operator]

    def result(order: int, step: int = 1) -> np.ndarray:
        return lawful(kernel(), params(call, MASK, dtype, width, 0, 3, step, 1, 8, order), a)

    pairs = result(VALUE_INDEX)[: 6 * a.itemsize].reshape(3, -1)
    np.testing.assert_array_equal(np.ascontiguousarray(pairs[:, : a.itemsize]).view(dtype).ravel(), values)
    np.testing.assert_array_equal(np.ascontiguousarray(pairs[:, a.itemsize :]).view(index_type).ravel(), indices)
    swapped = result(INDEX_VALUE, 2)[: 12 * a.itemsize].reshape(6, -1)[::2]
    np.testing.assert_array_equal(np.ascontiguousarray(swapped[:, : a.itemsize]).view(index_type).ravel(), indices)
    np.testing.assert_array_equal(np.ascontiguousarray(swapped[:, a.itemsize :]).view(dtype).ravel(), values)
    np.testing.assert_array_equal(result(ONLY_VALUE)[: 3 * a.itemsize].view(dtype), values)
    np.testing.assert_array_equal(result(ONLY_INDEX)[:12].view(np.uint32), indices)


def test_an_inactive_lane_cannot_be_the_extreme() -> None:
    a = np.zeros(64, np.float32)
    a[[3, 40]] = 9, 100
    out = lawful(kernel(), params(WHOLE_MAX, MASK, "float32", 20, 0, 1, 1, 1, 8), a)
    assert (out[:4].view(np.float32)[0], out[4:8].view(np.uint32)[0]) == (9, 3)
    out = lawful(kernel(), params(WHOLE_MAX, BITS, "float32", 0b110001, 0, 1, 1, 1, 8), -1 - np.arange(64, dtype=np.float32))
    assert (out[:4].view(np.float32)[0], out[4:8].view(np.uint32)[0]) == (-1, 0)


def test_a_nan_is_the_extreme() -> None:
    a = np.arange(64, dtype=np.float32)
    a[[7, 9]] = np.nan
    for call in (WHOLE_MAX, WHOLE_MIN):
        out = lawful(kernel(), params(call, MASK, "float32", 64, 0, 1, 1, 1, 8), a)
        assert np.isnan(out[:4].view(np.float32)[0])
        assert out[4:8].view(np.uint32)[0] == 7


@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_block_reduce_gives_one_result_per_block(dtype: str) -> None:
    width = per_repeat(dtype)
    a = draw(dtype, 3 * width)
    size = a.itemsize
    blocks = a.reshape(24, -1)
    for call, function in ((BLOCK_SUM, tree), (BLOCK_MAX, np.max), (BLOCK_MIN, np.min)):
        wanted = np.array([function(block) for block in blocks], dtype)  # type: ignore[operator]
        out = lawful(kernel(), params(call, MASK, dtype, width, 0, 3, 1, 1, 8), a)
        np.testing.assert_array_equal(out[: 24 * size].view(dtype), wanted)
        assert (out[24 * size :] == OLD).all()
        out = lawful(kernel(), params(call, MASK, dtype, width, 0, 3, 2, 1, 8), a)[: 48 * size].view(dtype).reshape(6, 8)
        np.testing.assert_array_equal(out[::2].ravel(), wanted)


@pytest.mark.parametrize(("call", "fill"), [(BLOCK_SUM, 0.0), (BLOCK_MAX, -np.inf), (BLOCK_MIN, np.inf)])
def test_a_block_without_active_lane_is_kept_on_220_and_filled_on_3510(call: int, fill: float) -> None:
    a = np.full(64, 5, np.float32)
    old = np.full(8, 7, np.float32)
    bits = 0xFF00_FF  # lanes 0..7 and 16..23
    total = 40.0 if call == BLOCK_SUM else 5.0
    out = lawful(kernel(), params(call, BITS, "float32", bits, 0, 1, 1, 1, 8), a, old=old)[:32].view(np.float32)
    assert out.tolist() == [total, 7, total, 7, 7, 7, 7, 7]
    out = lawful(kernel(A5), params(call, BITS, "float32", bits, 0, 1, 1, 1, 8), a, old=old)[:32].view(np.float32)
    assert out.tolist() == [total, fill, total, fill, fill, fill, fill, fill]


@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_pair_reduce_adds_neighbours(dtype: str) -> None:
    width = per_repeat(dtype)
    a = draw(dtype, 2 * width)
    out = lawful(kernel(), params(PAIR_SUM, MASK, dtype, width, 0, 2, 1, 1, 8), a)[:256].view(dtype)
    np.testing.assert_array_equal(out, a[0::2] + a[1::2])
    out = lawful(kernel(), params(PAIR_SUM, BITS, dtype, 0b1101, 0, 1, 1, 1, 8), a)
    wanted = np.array([a[0], a[2] + a[3]], dtype)
    np.testing.assert_array_equal(out[: 2 * a.itemsize].view(dtype), wanted)
    assert (out[2 * a.itemsize :] == OLD).all()


@pytest.mark.parametrize("dtype", ["float32", "float16"])
@pytest.mark.parametrize("n", [1, 50, 64, 200, 1500])
def test_reduce_sum_on_220_adds_the_trees_of_the_repeats_in_sequence(dtype: str, n: int) -> None:
    a = draw(dtype, n, 3)
    width = per_repeat(dtype)
    total = np.dtype(dtype).type(0)
    for start in range(0, n, width):
        part = tree(np.concatenate([a[start : start + width], np.zeros(max(0, start + width - n), dtype)]))
        total = part if start == 0 else total + part
    out = lawful(kernel(), params(SUM, COUNT, dtype, n), a)
    assert out[: a.itemsize].view(dtype)[0] == total
    assert (out[a.itemsize :] == OLD).all()


@pytest.mark.parametrize("n", [50, 200, 256, 1500])
def test_reduce_sum_on_3510_uses_trees_and_adds_short_counts_lane_by_lane(n: int) -> None:
    a = draw("float32", n, 3)
    rows = np.zeros((-(-n // 64), 64), np.float32)
    rows.ravel()[:n] = a
    if n * 4 <= 1024:
        lanes = rows[0].copy()
        for row in rows[1:]:
            lanes = lanes + row
        wanted = tree(lanes)
    else:
        wanted = tree(np.array([tree(row) for row in rows], np.float32))
    assert lawful(kernel(A5), params(SUM, COUNT, "float32", n), a)[:4].view(np.float32)[0] == wanted


def test_reduce_sum_adds_integers_on_3510_only() -> None:
    a = np.arange(100, dtype=np.int32)
    assert lawful(kernel(A5), params(SUM, COUNT, "int32", 100), a)[:4].view(np.int32)[0] == 4950
    assert rules(kernel(), params(SUM, COUNT, "int32", 100)) == {"unsupported"}


def test_sliced_reduce_sum_is_a_tree_of_trees() -> None:
    a = draw("float32", 70 * 8 + 64, 4)
    blocks = a.reshape(-1, 8)
    sums = np.array([tree(blocks[r : r + 8].ravel()[:40]) for r in range(70)], np.float32)
    rounds = np.array([tree(sums[:64]), tree(np.concatenate([sums[64:], np.zeros(58, np.float32)]))])
    for form, low in ((MASK, 40), (BITS, (1 << 40) - 1)):
        out = lawful(kernel(), params(SUM, form, "float32", low, 0, 70, 0, 1, 1), a)
        assert out[:4].view(np.float32)[0] == tree(rounds)


def test_reduce_sum_orders_its_result_before_the_scalar_and_the_vector_unit() -> None:
    a = np.arange(10, dtype=np.float32)
    out = lawful(kernel(), params(SUM_USED, COUNT, "float32", 10), a)[:68].view(np.float32)
    assert out[0] == 45
    assert (out[8:16] == 45).all()
    assert out[16] == 45


@pytest.mark.parametrize("dtype", ["float32", "float16"])
@pytest.mark.parametrize(("call", "function", "position"), [(MAX, np.max, np.argmax), (MIN, np.min, np.argmin)])
@pytest.mark.parametrize("n", [1, 60, 1000])
def test_reduce_extremes_find_value_and_first_index(dtype: str, call: int, function: object, position: object, n: int) -> None:
    a = np.random.default_rng(n).integers(-50, 50, n).astype(dtype)
    index_type = np.uint32 if dtype == "float32" else np.uint16
    for product in (A2, A5):
        out = lawful(kernel(product), params(call, COUNT, dtype, n, 0, 0, 0, 0, 0, 1), a)
        assert out[: a.itemsize].view(dtype)[0] == function(a)  # type: ignore[operator]
        assert out[a.itemsize : 2 * a.itemsize].view(index_type)[0] == position(a)  # type: ignore[operator]
    out = lawful(kernel(), params(call, COUNT, dtype, n), a)
    assert out[: a.itemsize].view(dtype)[0] == function(a)  # type: ignore[operator]
    assert (out[a.itemsize :] == OLD).all()


def test_sliced_reduce_max_counts_lanes_of_all_repeats() -> None:
    a = np.zeros(512, np.float32)
    a[64 * 3 + 5] = 2
    a[64 * 3 + 50] = 9
    for form, low in ((MASK, 40), (BITS, (1 << 40) - 1)):
        out = lawful(kernel(), params(MAX, form, "float32", low, 0, 5, 0, 1, 8, 1), a)
        assert (out[:4].view(np.float32)[0], out[4:8].view(np.uint32)[0]) == (2, 64 * 3 + 5)


def test_the_registers_hold_the_last_extreme() -> None:
    a = np.array([1, 8, 3], np.float32)
    out = lawful(kernel(), params(MAX_REGISTERS, COUNT, "float32", 3), a)[:44].view(np.float32)
    assert (out[8], out.view(np.uint32)[9], out[10]) == (8, 1, 8)


@pytest.mark.parametrize(
    ("call", "dtype", "offset", "legal"),
    [
        (WHOLE_SUM, "float32", 1, True),
        (WHOLE_SUM, "float16", 1, True),
        (WHOLE_MAX, "float32", 1, False),
        (WHOLE_MAX, "float32", 2, True),
        (WHOLE_MAX, "float16", 1, False),
        (BLOCK_SUM, "float32", 4, False),
        (BLOCK_SUM, "float16", 8, True),
        (BLOCK_SUM, "float16", 4, False),
    ],
)
def test_a_reductions_destination_has_its_own_alignment(call: int, dtype: str, offset: int, legal: bool) -> None:
    found = rules(kernel(), params(call, MASK, dtype, 32, 0, 1, 1, 1, 8, 0, offset))
    assert found == (set() if legal else {"alignment"})


def test_reduce_sum_may_store_at_any_element_but_reduce_max_needs_two() -> None:
    assert rules(kernel(), params(SUM, COUNT, "float32", 32, 0, 0, 0, 0, 0, 0, 3)) == set()
    assert rules(kernel(), params(MAX, COUNT, "float32", 32, 0, 0, 0, 0, 0, 1, 3)) == {"alignment"}


def test_the_temporary_tensor_must_be_large_enough_on_220_and_is_not_used_on_3510() -> None:
    n = 2048  # 32 repeats: 64 elements of value and index
    edge = BYTES // 4
    enough = params(MAX, COUNT, "float32", n, 0, 0, 0, 0, 0, 0, 0, 0, 0, edge - 64)
    short = params(MAX, COUNT, "float32", n, 0, 0, 0, 0, 0, 0, 0, 0, 0, edge - 56)
    assert rules(kernel(), enough) == set()
    assert rules(kernel(), short) == {"local-bounds"}
    assert rules(kernel(A5), short) == set()


def test_a_source_under_the_result_is_a_breach() -> None:
    assert rules(kernel(), params(WHOLE_SUM, MASK, "float32", 64, 0, 2, 1, 1, 8, 0, 0, 0, 1)) == {"overlap"}
    assert rules(kernel(), params(WHOLE_SUM, MASK, "float32", 64, 0, 2, 1, 1, 8, 0, 0, 8, 1)) == set()
    assert rules(kernel(), params(BLOCK_SUM, MASK, "float32", 64, 0, 2, 1, 1, 8, 0, 0, 0, 1)) == {"overlap"}


@pytest.mark.parametrize(
    "changed",
    [{3: 65}, {5: 256}, {5: -1}, {6: 65536}, {7: 65536}, {8: -1}],
)
def test_reductions_check_their_ranges(changed: dict[int, int]) -> None:
    numbers = params(WHOLE_SUM, MASK, "float32", 64, 0, 2, 1, 1, 8)
    for place, value in changed.items():
        numbers[place] = value
    assert rules(kernel(), numbers) == {"range"}
