"""Every law has a kernel that breaks it alone, and that runs clean with the law switched off."""

from __future__ import annotations

import struct
from collections.abc import Callable

import numpy as np
import pytest

from generator.twin.build import Built
from generator.twin.errors import TwinError
from generator.twin.report import Report, laws
from generator.twin.tiling import Tiling
from tests.twin.test_matmul_laws import CASES as MATMUL_CASES

A2, A5 = "Ascend910B1", "Ascend950"

# (law, tiling key, blocks, product)
CASES = [
    ("alignment", 1, 1, A2),
    ("range", 2, 1, A2),
    ("ub-capacity", 3, 1, A2),
    ("ub-capacity", 3, 1, A5),
    ("buffer-count", 4, 1, A2),
    ("buffer-count", 5, 1, A2),
    ("uninitialised", 6, 1, A2),
    ("local-bounds", 7, 1, A2),
    ("gm-bounds", 8, 1, A2),
    ("gm-bounds", 9, 1, A2),
    ("missing-sync", 10, 1, A2),
    ("missing-sync", 11, 1, A2),
    ("missing-sync", 12, 1, A2),
    ("missing-sync", 13, 1, A2),
    ("missing-sync", 13, 1, A5),
    ("missing-sync", 14, 1, A2),
    ("vector-dependence", 15, 1, A2),
    ("overlap", 16, 1, A2),
    ("pipe-type", 17, 1, A2),
    ("pipe-type", 18, 1, A2),
    ("unsupported", 19, 1, A2),
    ("nop-count", 20, 1, A5),
    ("count", 21, 1, A2),
    ("atomic", 22, 1, A2),
    ("single-pipe", 23, 1, A2),
    ("queue", 40, 1, A2),
    ("queue", 41, 1, A2),
    ("queue", 42, 1, A2),
    ("queue", 43, 1, A2),
    ("queue", 44, 1, A2),
    ("queue", 45, 1, A2),
    ("queue", 46, 1, A2),
    ("queue", 47, 1, A2),
    ("sync-count", 48, 1, A2),
    ("sync-count", 49, 1, A2),
    ("workspace-uninitialised", 60, 1, A2),
    ("workspace-uninitialised", 61, 1, A2),
    ("workspace-uninitialised", 60, 2, A2),
    ("core-race", 62, 2, A2),
    ("core-race", 63, 2, A2),
    ("core-race", 64, 2, A2),
    ("data-cache", 65, 1, A2),
    ("sync-count", 66, 2, A2),
    ("syncall-type", 67, 2, A2),
    ("syncall-type", 68, 49, A2),
    ("sync-count", 69, 1, A2),
    ("sync-count", 70, 1, A2),
    ("sync-count", 71, 1, A2),
    ("range", 72, 1, A2),
    ("queue", 73, 1, A2),
    ("range", 74, 1, A2),
    ("tiling-data", 90, 1, A2),
    ("fault", 91, 1, A2),
]


def launch(built: Built, tiling: Tiling, off: tuple[str, ...] = ()) -> Report:
    x = np.arange(1024, dtype=np.float32)
    y = np.full(1024, np.nan, dtype=np.float32)
    return built.run(tiling, [x, y], laws_off=off, seconds=20)


@pytest.mark.parametrize(("law", "key", "blocks", "product"), CASES)
def test_a_kernel_that_breaks_one_law_is_reported_by_that_law_alone(
    kernel: Callable[..., Built], tiled: Callable[..., Tiling], law: str, key: int, blocks: int, product: str
) -> None:
    tiling = tiled(key, blocks=blocks, workspace=4096, data=struct.pack("q", 0))
    report = launch(kernel("laws", product), tiling)
    assert {breach.rule for breach in report.breaches} == {law}, [str(b) for b in report.breaches]
    if law != "fault":
        assert all(breach.file.endswith("laws.cpp") and breach.line > 0 for breach in report.breaches)


@pytest.mark.parametrize(("law", "key", "blocks", "product"), CASES)
def test_the_same_kernel_runs_clean_with_the_law_off(
    kernel: Callable[..., Built], tiled: Callable[..., Tiling], law: str, key: int, blocks: int, product: str
) -> None:
    tiling = tiled(key, blocks=blocks, workspace=4096, data=struct.pack("q", 0))
    assert launch(kernel("laws", product), tiling, (law,)).breaches == ()


def test_every_law_has_a_case() -> None:
    assert {case[0] for case in [*CASES, *MATMUL_CASES]} == set(laws())


def test_a_lawful_kernel_has_no_breaches(kernel: Callable[..., Built], tiled: Callable[..., Tiling]) -> None:
    for product in (A2, A5):
        assert launch(kernel("laws", product), tiled(92, data=struct.pack("q", 0))).breaches == ()


def test_hardware_orders_vector_instructions_on_3510(kernel: Callable[..., Built], tiled: Callable[..., Tiling]) -> None:
    assert launch(kernel("laws", A5), tiled(15, data=struct.pack("q", 0))).breaches == ()


def test_a_count_of_zero_is_ignored_on_220(kernel: Callable[..., Built], tiled: Callable[..., Tiling]) -> None:
    assert launch(kernel("laws", A2), tiled(20, data=struct.pack("q", 0))).breaches == ()


def test_the_report_names_both_pipes_and_the_remedy(kernel: Callable[..., Built], tiled: Callable[..., Tiling]) -> None:
    (breach,) = launch(kernel("laws"), tiled(10, data=struct.pack("q", 0))).breaches
    assert "pipe V reads" in breach.message
    assert "pipe MTE2 writes" in breach.message
    assert "MTE2_V" in breach.message


def test_an_unknown_law_cannot_be_switched_off(kernel: Callable[..., Built], tiled: Callable[..., Tiling]) -> None:
    with pytest.raises(TwinError, match="no law is called 'gravity'"):
        launch(kernel("laws"), tiled(92, data=struct.pack("q", 0)), ("gravity",))


def test_a_wrong_number_of_arrays_is_refused(kernel: Callable[..., Built], tiled: Callable[..., Tiling]) -> None:
    with pytest.raises(TwinError, match="takes 2 tensors, 1 were given"):
        kernel("laws").run(tiled(92), [np.zeros(4, np.float32)])


def test_a_core_may_be_stopped_by_what_is_found_when_its_pipe_ends(kernel: Callable[..., Built], tiled: Callable[..., Tiling]) -> None:
    report = launch(kernel("laws", A2), tiled(75, data=struct.pack("q", 0)))
    assert [breach.rule for breach in report.breaches].count("range") == 49
    assert {breach.rule for breach in report.breaches} == {"range", "queue"}
