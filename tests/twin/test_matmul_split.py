"""Kernels that split their work between vector and cube cores themselves: order between them, races, hangs."""

from __future__ import annotations

import numpy as np
import pytest

from generator.twin.report import Report
from tests.twin.matmul_helpers import fields, tiled
from tests.twin.vector_helpers import built

A2, A5 = "Ascend910B1", "Ascend950"
M, N, K = 90, 48, 64


def launch(key: int, chip: str = A2, *, blocks: int = 3, taps: int = 2, off: tuple[str, ...] = ()) -> tuple[np.ndarray, np.ndarray, Report]:
    rng = np.random.default_rng(3)
    a, b = (rng.integers(-4, 5, shape).astype(np.float16) for shape in ((M, K), (K, N)))
    c = np.full((M, N), np.nan, np.float32)
    t = fields(M, N, K, usedCoreNum=3, singleCoreM=16)
    report = built("matmul_split", chip).run(
        tiled(t, key=key, blocks=blocks, inputs=2, workspace=1 << 17, taps=taps), [a, b, c], laws_off=off, seconds=20
    )
    return c, a.astype(np.float64) @ b.astype(np.float64), report


@pytest.mark.parametrize("chip", [A2, A5])
@pytest.mark.parametrize(("blocks", "taps"), [(1, 1), (3, 2), (24, 4)])
def test_vector_cube_and_vector_work_meet_at_sync_all(chip: str, blocks: int, taps: int) -> None:
    c, product, report = launch(1, chip, blocks=blocks, taps=taps)
    assert report.breaches == ()
    np.testing.assert_array_equal(c, 2 * product + 1)
    assert report.cube.multiply_adds == M * N * K
    assert report.sync_alls == 6 * blocks
    written = report.cube.per_argument[3].written
    assert (written, report.per_argument[3].written) == (M * N * 4, M * N * 4 + M * K * 2)


def test_cube_cores_alone_run_a_kernel() -> None:
    c, product, report = launch(7)
    assert report.breaches == ()
    np.testing.assert_array_equal(c, product)


def test_cube_cores_may_take_operands_in_hf32_with_a_rounding_it_has() -> None:
    c, product, report = launch(10)
    assert report.breaches == ()
    np.testing.assert_array_equal(c, product)  # float16 fits HF32
    _, _, report = launch(11, blocks=1)
    assert {breach.rule for breach in report.breaches} == {"matmul-hf32"}
    assert "transMode is 2" in report.breaches[0].message
    assert launch(11, blocks=1, off=("matmul-hf32",))[2].breaches == ()


def test_a_cube_core_waits_before_it_reads_its_own_result() -> None:
    _, _, report = launch(9, blocks=1)
    assert {breach.rule for breach in report.breaches} == {"missing-sync"}
    assert "PipeBarrier<PIPE_ALL>" in report.breaches[0].message
    assert launch(9, blocks=1, off=("missing-sync",))[2].breaches == ()


@pytest.mark.parametrize("chip", [A2, A5])
@pytest.mark.parametrize(
    ("key", "law", "said"),
    [
        (2, "core-race", "cube core"),
        (3, "core-race", "cube core"),
        (4, "core-race", "SyncAll<false>"),
        (8, "core-race", "SyncAll<false>"),
        (5, "sync-count", "the device would hang"),
        (6, "cube-core", "guard it with if ASCEND_IS_AIC"),
    ],
)
def test_what_orders_too_little_is_reported(key: int, law: str, said: str, chip: str) -> None:
    _, _, report = launch(key, chip)
    assert {breach.rule for breach in report.breaches} == {law}, [str(b) for b in report.breaches]
    assert said in report.breaches[0].message


def test_results_do_not_depend_on_the_interleaving() -> None:
    first, _, _ = launch(1, blocks=5)
    for _ in range(4):
        again, _, _ = launch(1, blocks=5)
        assert again.tobytes() == first.tobytes()
