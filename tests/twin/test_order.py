"""Queues, flags, barriers, cores and atomics order what they should, and nothing is reported that is in order."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from generator.twin.build import Built
from generator.twin.report import Report
from generator.twin.tiling import Tiling

X = np.random.default_rng(7).standard_normal(1024).astype(np.float32)
Go = Callable[..., tuple[np.ndarray, Report]]


@pytest.fixture(params=["Ascend910B1", "Ascend950"])
def go(request: pytest.FixtureRequest, kernel: Callable[..., Built], tiled: Callable[..., Tiling]) -> Go:
    built = kernel("order", request.param)

    def run(key: int, blocks: int = 1, seconds: int = 60) -> tuple[np.ndarray, Report]:
        y = np.full(1024, np.nan, np.float32)
        report = built.run(tiled(key, blocks=blocks, workspace=1 << 16), [X, y], seconds=seconds)
        return y, report

    return run


@pytest.mark.parametrize(("key", "plus"), [(1, 1), (2, 1), (3, 0), (4, 1)])
def test_tiles_pass_through_queues_bound_queues_and_flags(go: Go, key: int, plus: int) -> None:
    y, report = go(key)
    assert report.breaches == ()
    np.testing.assert_array_equal(y, X + np.float32(plus))
    assert (report.copies_in, report.copies_out) == (16, 16)


def test_scalars_reach_local_memory_in_order(go: Go) -> None:
    y, report = go(5)
    assert report.breaches == ()
    np.testing.assert_array_equal(y[:8], np.full(8, X[3]))


def test_cleaned_scalar_writes_reach_global_memory(go: Go) -> None:
    y, report = go(6, blocks=3)
    assert report.breaches == ()
    np.testing.assert_array_equal(y[0:48:16], X[:3] * 2)


@pytest.mark.parametrize("blocks", [1, 2, 5, 40])
def test_all_cores_see_what_others_wrote_before_sync_all(go: Go, blocks: int) -> None:
    y, report = go(7, blocks=blocks)
    assert report.breaches == ()
    assert report.sync_alls == 3 * blocks
    tiles = X[: blocks * 8].reshape(blocks, 8)
    np.testing.assert_array_equal(y[: blocks * 8].reshape(blocks, 8), np.roll(tiles, -2, axis=0))


def test_atomic_sums_do_not_depend_on_the_interleaving(go: Go) -> None:
    expected = np.zeros(8, np.float32)
    for core in range(40):
        expected = expected + X[core * 8 : core * 8 + 8]
    for _ in range(5):
        y, report = go(8, blocks=40)
        assert report.breaches == ()
        np.testing.assert_array_equal(y[:8], expected)


def test_a_kernel_that_does_not_end_is_abandoned_and_reported(go: Go) -> None:
    _, report = go(9, seconds=1)
    assert [breach.rule for breach in report.breaches] == ["fault"]
    assert "did not end within 1 s" in report.breaches[0].message
