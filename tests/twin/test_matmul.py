"""Matmul computes the product it is asked for: shapes, tails, views, dtypes, accumulation, where results go, what is counted."""

from __future__ import annotations

import numpy as np
import pytest

from generator.twin.report import Report
from tests.twin.matmul_helpers import fields, tiled
from tests.twin.vector_helpers import built

A2, A5 = "Ascend910B1", "Ascend950"


def operands(m: int, n: int, k: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """A, B and a bias of small integers, whose products are exact in float32 and float16's results exact in float64."""
    rng = np.random.default_rng(seed)
    a, b = rng.integers(-4, 5, (m, k)), rng.integers(-4, 5, (k, n))
    return a.astype(np.float16), b.astype(np.float16), rng.integers(-8, 9, n).astype(np.float32)


def product(a: np.ndarray, b: np.ndarray, bias: np.ndarray | None = None) -> np.ndarray:
    out: np.ndarray = a.astype(np.float64) @ b.astype(np.float64)
    return out if bias is None else out + bias.astype(np.float64)


def run(
    t: dict[str, int], a: np.ndarray, b: np.ndarray, bias: np.ndarray, out: np.ndarray, chip: str = A2, key: int = 1, **others: int
) -> Report:
    report = built("matmul_calls", chip).run(tiled(t, key=key, **others), [a, b, bias, out])
    assert not report.breaches, "\n".join(map(str, report.breaches))
    return report


@pytest.mark.parametrize("chip", [A2, A5])
@pytest.mark.parametrize(("m", "n", "k"), [(1, 1, 1), (16, 16, 16), (7, 33, 5), (130, 257, 100), (300, 20, 530)])
def test_the_whole_product_goes_to_global_memory(m: int, n: int, k: int, chip: str) -> None:
    a, b, bias = operands(m, n, k)
    out = np.full((m, n), np.nan, np.float32)
    report = run(fields(m, n, k), a, b, bias, out, chip)
    np.testing.assert_array_equal(out, product(a, b))
    assert report.cube.multiply_adds == m * n * k


@pytest.mark.parametrize(("single_m", "single_n"), [(64, 96), (50, 100), (200, 33)])
def test_cores_compute_their_blocks_with_tails(single_m: int, single_n: int) -> None:
    m, n, k = 130, 170, 70
    a, b, bias = operands(m, n, k)
    out = np.full((m, n), np.nan, np.float32)
    run(fields(m, n, k, singleCoreM=single_m, singleCoreN=single_n), a, b, bias, out)
    np.testing.assert_array_equal(out, product(a, b))
