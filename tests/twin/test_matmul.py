"""Matmul computes the product it is asked for: shapes, tails, views, dtypes, accumulation, where results go, what is counted."""

from __future__ import annotations

import resource

import numpy as np
import pytest

from generator.reference.dtypes import to_hf32
from generator.twin.build import reserve
from generator.twin.report import Report, laws
from generator.twin.tiling import Tiling
from tests.twin.matmul_helpers import fields, tiled
from tests.twin.vector_helpers import CTYPES, bf16_bits, bf16_values, built

A2, A5 = "Ascend910B1", "Ascend950"


def stored(values: np.ndarray, dtype: str) -> np.ndarray:
    """Values in storage of that dtype (bfloat16 as uint16), rounded half to even."""
    return bf16_bits(values.astype(np.float32)) if dtype == "bfloat16" else values.astype(dtype)


def loaded(array: np.ndarray, dtype: str) -> np.ndarray:
    return bf16_values(array) if dtype == "bfloat16" else array


def blank(m: int, n: int, dtype: str = "float32") -> np.ndarray:
    """An output nobody wrote."""
    return np.full((m, n), 0x5A, np.uint16 if dtype == "bfloat16" else dtype)


def operands(m: int, n: int, k: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """A, B and a bias of small integers, whose sums of products are exact in float32."""
    rng = np.random.default_rng(seed)
    return rng.integers(-4, 5, (m, k)), rng.integers(-4, 5, (k, n)), rng.integers(-8, 9, n)


class Setup:
    """The test kernel for types and transposes. Memory is float16, float16, float32 and float32 unless told otherwise."""

    def __init__(self, chip: str = A2, a: str = "float16", c: str = "float32", bias: str = "float32", **defines: str) -> None:
        self.a, self.c, self.bias = a, c, bias
        self.kernel = built("matmul_calls", chip, A_T=CTYPES[a], C_T=CTYPES[c], BIAS_T=CTYPES[bias], **defines)

    def run(self, t: dict[str, int], a: np.ndarray, b: np.ndarray, row: np.ndarray, out: np.ndarray, key: int = 1, **others: int) -> Report:
        arrays = [np.ascontiguousarray(x) for x in (stored(a, self.a), stored(b, self.a), stored(row, self.bias))]
        report = self.kernel.run(tiled(t, key=key, **others), [*arrays, out])
        assert not report.breaches, "\n".join(map(str, report.breaches))
        return report


@pytest.mark.parametrize("chip", [A2, A5])
@pytest.mark.parametrize(("m", "n", "k"), [(1, 1, 1), (16, 16, 16), (7, 33, 5), (130, 257, 100), (300, 20, 530)])
def test_the_whole_product_goes_to_global_memory(m: int, n: int, k: int, chip: str) -> None:
    a, b, bias = operands(m, n, k)
    out = blank(m, n)
    report = Setup(chip).run(fields(m, n, k), a, b, bias, out)
    np.testing.assert_array_equal(out, a @ b)
    assert report.cube.multiply_adds == m * n * k


@pytest.mark.parametrize(("single_m", "single_n"), [(64, 96), (50, 100), (200, 33)])
@pytest.mark.parametrize("bias", [0, 1])
def test_cores_compute_their_blocks_with_tails(single_m: int, single_n: int, bias: int) -> None:
    m, n, k = 130, 170, 70
    a, b, row = operands(m, n, k)
    out = blank(m, n)
    Setup().run(fields(m, n, k, singleCoreM=single_m, singleCoreN=single_n, isBias=bias), a, b, row, out, bias=bias)
    np.testing.assert_array_equal(out, a @ b + row * bias)


DTYPES = [
    ("float16", "float32", "float32"),
    ("float16", "float32", "float16"),
    ("float16", "float32", "bfloat16"),
    ("float16", "float16", "float16"),
    ("bfloat16", "float32", "float32"),
    ("bfloat16", "float32", "bfloat16"),
    ("float32", "float32", "float32"),
    ("int8", "int32", "int32"),
]


@pytest.mark.parametrize(("dtype", "bias", "result"), DTYPES)
def test_every_combination_of_dtypes_rounds_once(dtype: str, bias: str, result: str) -> None:
    m, n, k = 33, 50, 300
    rng = np.random.default_rng(5)
    a, b = rng.integers(-30, 31, (m, k)), rng.integers(-30, 31, (k, n))
    row = rng.integers(-8, 9, n)
    out = blank(m, n, result)
    size = {"int8": 1, "float32": 4}.get(dtype, 2)
    t = fields(m, n, k, size=size, isBias=1, baseK=32)
    Setup(a=dtype, c=result, bias=bias).run(t, a, b, row, out, bias=1)
    np.testing.assert_array_equal(out, stored(a @ b + row, result))


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32"])
@pytest.mark.parametrize(("trans_a", "trans_b"), [(True, False), (False, True), (True, True)])
def test_transposed_operands_are_read_as_stored(dtype: str, trans_a: bool, trans_b: bool) -> None:
    m, n, k = 70, 90, 50
    a, b, bias = operands(m, n, k)
    out = blank(m, n)
    setup = Setup(a=dtype, TRANS_A=str(trans_a).lower(), TRANS_B=str(trans_b).lower())
    t = fields(m, n, k, size=4 if dtype == "float32" else 2, singleCoreM=40, singleCoreN=50)
    setup.run(t, a.T if trans_a else a, b.T if trans_b else b, bias, out)
    np.testing.assert_array_equal(out, a @ b)


def test_float_infinities_and_nan_stay_where_they_belong() -> None:
    m, n, k = 20, 24, 40
    rng = np.random.default_rng(2)
    a, b = rng.standard_normal((m, k)).astype(np.float32), rng.standard_normal((k, n)).astype(np.float32)
    a[3, 5], b[7, 11] = np.inf, np.nan
    out = blank(m, n)
    Setup(a="float32").run(fields(m, n, k, size=4), a, b, np.zeros(n), out)
    with np.errstate(invalid="ignore"):
        expected = a.astype(np.float64) @ b.astype(np.float64)
    np.testing.assert_array_equal(np.isnan(out), np.isnan(expected))
    np.testing.assert_array_equal(np.isinf(out), np.isinf(expected))


def blocks_in_order(a: np.ndarray, b: np.ndarray, base_k: int) -> np.ndarray:
    """The product in float32: the sums of blocks of k, each in order of k, added in order."""
    total = np.zeros((a.shape[0], b.shape[1]), np.float32)
    for start in range(0, a.shape[1], base_k):
        block = np.zeros_like(total)
        for k in range(start, min(start + base_k, a.shape[1])):
            block = block + a[:, k : k + 1] * b[k : k + 1]
        total = total + block
    return total


@pytest.mark.parametrize(("k", "base_k"), [(40, 16), (1000, 32), (1300, 48)])
def test_sums_are_rounded_in_blocks_of_base_k_in_order(k: int, base_k: int) -> None:
    m, n = 21, 37
    rng = np.random.default_rng(k)
    a, b = rng.standard_normal((m, k)).astype(np.float32), rng.standard_normal((k, n)).astype(np.float32)
    out = blank(m, n)
    Setup(a="float32").run(fields(m, n, k, size=4, baseK=base_k), a, b, np.zeros(n), out)
    np.testing.assert_array_equal(out, blocks_in_order(a, b, base_k))


@pytest.mark.parametrize("away", [0, 1])
def test_hf32_rounds_operands_to_ten_bits(away: int) -> None:
    m, n, k = 8, 16, 1
    rng = np.random.default_rng(9)
    a, b = (rng.integers(1, 1 << 13, shape).astype(np.float32) for shape in ((m, k), (k, n)))

    def rounded(x: np.ndarray) -> np.ndarray:
        mantissa, exponent = np.frexp(x.astype(np.float64))
        steps = mantissa * 2.0**11
        whole = np.floor(steps + 0.5) if away else np.rint(steps)
        return np.ldexp(whole / 2.0**11, exponent)

    assert not np.array_equal(rounded(a), a)
    if not away:
        np.testing.assert_array_equal(rounded(a), to_hf32(a))  # the reference's
    out = blank(m, n)
    tiling = tiled(fields(m, n, k, size=4), key=5, taps=away)
    arrays = [np.ascontiguousarray(x) for x in (a, b, np.zeros(n, np.float32))]
    report = Setup(a="float32").kernel.run(tiling, [*arrays, out], laws_off=("matmul-hf32",))  # not a cube-only kernel
    assert report.breaches == ()
    np.testing.assert_array_equal(out, (rounded(a) @ rounded(b)).astype(np.float32))


def test_views_have_pitches_of_their_own() -> None:
    m, n, k = 40, 50, 30
    a, b, bias = operands(90, 80, 100)
    out = blank(100, 77)
    orgs = {"orgM": 90, "orgN": 80, "orgKa": 200, "orgKb": 100, "orgKc": 77}  # every second row of A
    wide = np.concatenate([a[::2], a[1::2]], 1)
    Setup().run(fields(m, n, k), a, b, bias, out, offsetA=7, offsetB=3 * 80 + 5, offsetC=4 * 77 + 6, **orgs)
    assert wide.shape == (45, 200)
    expected = blank(100, 77)
    expected[4 : 4 + m, 6 : 6 + n] = a[::2][:m, 7 : 7 + k] @ b[3 : 3 + k, 5 : 5 + n]
    np.testing.assert_array_equal(out, expected)


def fractal(x: np.ndarray, c0: int = 16) -> np.ndarray:
    """[rows, columns] as [columns / c0][rows][c0]."""
    return np.ascontiguousarray(x.reshape(x.shape[0], -1, c0).transpose(1, 0, 2))


@pytest.mark.parametrize("trans", [False, True])
def test_fractal_operands_are_read_in_their_order(trans: bool) -> None:
    m, n, k = 48, 32, 64
    a, b, bias = operands(m, n, k)
    out = blank(m, n)
    flag = str(trans).lower()
    setup = Setup(A_FORMAT="NZ", B_FORMAT="NZ", TRANS_A=flag, TRANS_B=flag)
    setup.run(fields(m, n, k), fractal(a.T if trans else a), fractal(b.T if trans else b), bias, out)
    np.testing.assert_array_equal(out, a @ b)


@pytest.mark.parametrize("order", [0, 1])
@pytest.mark.parametrize("sequential", [0, 1])
def test_tiles_come_in_order_and_lie_where_asked(order: int, sequential: int) -> None:
    m, n, k = 100, 150, 40
    a, b, bias = operands(m, n, k)
    out = blank(m, n)
    t = fields(m, n, k, baseM=48, baseN=64, iterateOrder=order)
    Setup().run(t, a, b, bias, out, key=2, sequential=sequential)
    product = a @ b
    if sequential:
        rows, columns = range(0, m, 48), range(0, n, 64)
        starts = [(r, c) for c in columns for r in rows] if order == 0 else [(r, c) for r in rows for c in columns]
        np.testing.assert_array_equal(out.reshape(-1), np.concatenate([product[r : r + 48, c : c + 64].reshape(-1) for r, c in starts]))
    else:
        np.testing.assert_array_equal(out, product)


@pytest.mark.parametrize(("trans", "bias"), [("false", 0), ("false", 1), ("true", 0)])
def test_parts_of_k_add_up_in_one_tile(trans: str, bias: int) -> None:
    m, n, k, taps = 70, 100, 96, 3
    a, b, row = operands(m, n, k)
    out = blank(m, n)
    setup = Setup(TRANS_A=trans, TRANS_B=trans)
    t = fields(m, n, k, baseM=32, baseN=48, isBias=bias)
    setup.run(t, a.T if trans == "true" else a, b.T if trans == "true" else b, row, out, key=3, taps=taps, bias=bias)
    np.testing.assert_array_equal(out, a @ b + row * bias)


@pytest.mark.parametrize(("atomic", "combine"), [(1, np.add), (2, np.maximum), (3, np.minimum)])
@pytest.mark.parametrize("result", ["float32", "float16"])
def test_atomic_results_combine_with_what_is_there(atomic: int, combine: np.ufunc, result: str) -> None:
    m, n, k = 30, 40, 24
    a, b, bias = operands(m, n, k)
    held = np.random.default_rng(8).integers(-50, 50, (m, n)).astype(result)
    out = held.copy()
    tiling = tiled(fields(m, n, k, singleCoreM=16), atomic=atomic)
    kernel = Setup(c=result).kernel
    arrays = [a.astype(np.float16), b.astype(np.float16), bias.astype(np.float32), out]
    report = kernel.run(tiling, arrays)
    assert {breach.rule for breach in report.breaches} == {"workspace-uninitialised"}
    assert kernel.run(tiling, arrays, laws_off=("workspace-uninitialised",)).breaches == ()
    np.testing.assert_array_equal(out, combine(combine(held, (a @ b).astype(result)), (a @ b).astype(result)))


def test_an_asynchronous_product_is_there_after_the_wait() -> None:
    a, b, bias = operands(50, 60, 70)
    out = blank(50, 60)
    Setup().run(fields(50, 60, 70), a, b, bias, out, key=4)
    np.testing.assert_array_equal(out, a @ b)


@pytest.mark.parametrize(("chip", "form", "n"), [(A2, "ND", 72), (A5, "ND", 72), (A2, "ND_ALIGN", 70), (A5, "ND_ALIGN", 70)])
def test_tiles_pass_the_unified_buffer(chip: str, form: str, n: int) -> None:
    m, k = 60, 48
    a, b, _ = operands(m, n, k)
    out = blank(m, n)
    t = fields(m, n, k, baseM=32, baseN=64)
    tiling = tiled(t, key=1, blocks=1, inputs=2)
    report = built("matmul_local", chip, C_FORMAT=form).run(tiling, [a.astype(np.float16), b.astype(np.float16), out])
    assert not report.breaches, "\n".join(map(str, report.breaches))
    np.testing.assert_array_equal(out, a @ b + 1)
    result, left = 2 * m * (-(-n // 8) * 8) * 4, 2 * m * k * 2  # the kernel does it twice
    read, written = report.cube.system.read, report.cube.system.written
    assert (read, written) == ((result + 2 * left, result + left) if chip == A2 else (0, 0))


@pytest.mark.parametrize("key", [2, 3])
@pytest.mark.parametrize("chip", [A2, A5])
def test_asynchronous_tiles_wait_in_the_workspace(chip: str, key: int) -> None:
    m, n, k = 60, 72, 48
    a, b, _ = operands(m, n, k)
    out = blank(m, n)
    floats = 4 * 32 * 64
    tiling = tiled(fields(m, n, k, baseM=32, baseN=64), key=key, blocks=1, inputs=2, workspace=4 * floats, taps=floats)
    report = built("matmul_local", chip).run(tiling, [a.astype(np.float16), b.astype(np.float16), out])
    assert not report.breaches, "\n".join(map(str, report.breaches))
    np.testing.assert_array_equal(out, a @ b + 1)
    assert (report.cube.per_argument[3].written, report.per_argument[3].read) == (2 * m * n * 4, 2 * m * n * 4)


def test_every_asynchronous_tile_is_fetched() -> None:
    a, b, _ = operands(60, 72, 48)
    floats = 4 * 32 * 64
    tiling = tiled(fields(60, 72, 48, baseM=32, baseN=64), key=4, blocks=1, inputs=2, workspace=4 * floats, taps=floats)
    report = built("matmul_local", A2).run(tiling, [a.astype(np.float16), b.astype(np.float16), blank(60, 72)])
    assert {breach.rule for breach in report.breaches} == {"matmul-order"}


# What is counted: A is read again for every column of tiles, unless L1 holds all its rows; B again for every row of tiles, unless L1
# holds its columns' whole K (iterateOrder 0); with iterateOrder 1 the other way round.
@pytest.mark.parametrize(
    ("changed", "times_a", "times_b"),
    [
        ({"stepKa": 4, "stepKb": 4}, 3, 2),
        ({"stepKa": 8, "stepKb": 4}, 3, 2),
        ({"stepKa": 4, "stepKb": 8}, 3, 1),
        ({"stepKa": 8, "stepKb": 4, "stepM": 2, "depthA1": 16}, 1, 2),
        ({"stepKa": 4, "stepKb": 8, "iterateOrder": 1}, 3, 2),
        ({"stepKa": 8, "stepKb": 4, "iterateOrder": 1}, 1, 2),
        ({"stepKa": 4, "stepKb": 8, "stepN": 3, "depthB1": 24, "iterateOrder": 1}, 3, 1),
    ],
)
def test_loads_repeat_as_l1_has_room(changed: dict[str, int], times_a: int, times_b: int) -> None:
    m, n, k = 96, 144, 128
    a, b, bias = operands(m, n, k)
    out = blank(m, n)
    report = Setup().run(fields(m, n, k, baseM=48, baseN=48, baseK=16, **changed), a, b, bias, out)
    np.testing.assert_array_equal(out, a @ b)
    first, second, third, result, workspace = report.cube.per_argument
    assert (first.read, second.read, third.read) == (m * k * 2 * times_a, k * n * 2 * times_b, 0)
    assert (result.read, result.written, workspace.read) == (0, m * n * 4, 0)
    assert report.bytes_read == report.cube.bytes_read == m * k * 2 * times_a + k * n * 2 * times_b
    assert report.bytes_written == report.cube.bytes_written == m * n * 4


@pytest.mark.parametrize(("config", "pieces"), [("CFG_NORM", [32, 32, 32, 32 * 1]), ("CFG_MDL", [64, 64])])
def test_each_piece_of_a_row_is_rounded_up_to_32_bytes(config: str, pieces: list[int]) -> None:
    m, n, k = 16, 17, 50  # rows of A: pieces of 16, 16, 16, 2 elements, or of 32, 18
    a, b, bias = operands(m, n, k)
    out = blank(m, n)
    t = fields(m, n, k, baseK=16, stepKa=2, stepKb=4, isBias=1)
    report = Setup(CONFIG=config).run(t, a, b, bias, out, bias=1)
    np.testing.assert_array_equal(out, a @ b + bias)
    first, second, third, result, _ = report.cube.per_argument
    assert first.read == m * sum(pieces)
    assert second.read == k * 64
    assert third.read == 96
    assert result.written == m * 96


def test_results_are_the_same_bits_whatever_the_interleaving() -> None:
    m, n, k = 100, 90, 200
    rng = np.random.default_rng(4)
    a, b = rng.standard_normal((m, k)), rng.standard_normal((k, n))
    first = None
    for _ in range(5):
        out = np.zeros((m, n), np.float32)
        tiling = tiled(fields(m, n, k, singleCoreM=32, singleCoreN=32), atomic=1)
        arrays = [a.astype(np.float16), b.astype(np.float16), np.zeros(n, np.float32), out]
        assert Setup().kernel.run(tiling, arrays, laws_off=("workspace-uninitialised",)).breaches == ()
        first = out if first is None else first
        assert out.tobytes() == first.tobytes()


@pytest.mark.parametrize(("key", "dtype"), [(1, "float32"), (2, "int32"), (3, "float32")])
def test_every_instruction_set_gives_the_same_bits(key: int, dtype: str) -> None:
    m, n, k, base = 29, 70, 150, 48
    rng = np.random.default_rng(6)
    a, b = ((rng.standard_normal(s) * 100).astype(dtype) for s in ((m, k), (k, n)))
    outs = [np.zeros((m, n), dtype) for _ in range(3)]
    tiling = Tiling(0, key, 1, 0, b"", 0, "", 2, 3)
    report = built("cube_backends", A2).run(tiling, [np.ascontiguousarray(a.T if key == 3 else a), b, *outs], laws_off=tuple(laws()))
    assert report.breaches == ()
    expected = a @ b if dtype == "int32" else blocks_in_order(a, b, base)
    for out in outs:
        np.testing.assert_array_equal(out, expected)


def test_operands_of_gibibytes_are_touched_only_where_they_are_used() -> None:
    m, n, k = 40, 32, 24
    a, b, _ = operands(m, n, k)
    left, out = reserve((1 << 31,), np.float16), reserve((1 << 31,), np.float32)
    last_a, last_c = left.size - m * k, out.size - m * n
    left[last_a:] = a.reshape(-1)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    tiling = tiled(fields(m, n, k, singleCoreM=16), offsetA=last_a, offsetC=last_c, workspace=1 << 34)
    report = Setup().kernel.run(tiling, [left, b.astype(np.float16), np.zeros(n, np.float32), out])
    assert report.breaches == ()
    np.testing.assert_array_equal(out[last_c:].reshape(m, n), a @ b)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 64 * 1024
