"""Every law of Matmul has a kernel that breaks it alone, and that runs clean with the law switched off."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from generator.twin.build import Built
from generator.twin.errors import TwinError
from generator.twin.report import Report
from tests.twin.matmul_helpers import fields, tiled
from tests.twin.vector_helpers import built

A2, A5 = "Ascend910B1", "Ascend950"

# (law, tiling key, changed fields of the tiling)
CASES: list[tuple[str, int, dict[str, int]]] = [
    ("cube-core", 1, {}),
    *(("matmul-registration", key, {}) for key in (2, 3, 4, 5, 6)),
    ("matmul-tiling", 0, {"usedCoreNum": 65}),
    ("matmul-tiling", 0, {"baseM": 24}),
    ("matmul-tiling", 0, {"baseN": 40}),
    ("matmul-tiling", 0, {"baseK": 24}),
    ("matmul-tiling", 0, {"depthA1": 3}),
    ("matmul-tiling", 0, {"depthB1": 3}),
    ("matmul-tiling", 0, {"stepM": 2, "depthA1": 1}),
    ("matmul-tiling", 0, {"dbL0A": 0}),
    ("matmul-tiling", 0, {"iterateOrder": 2}),
    ("matmul-tiling", 0, {"shareL1Size": 1024}),
    ("matmul-tiling", 0, {"shareL0CSize": 1024}),
    ("matmul-tiling", 0, {"shareMode": 1}),
    ("matmul-capacity", 0, {"baseM": 256, "baseK": 128}),
    ("matmul-capacity", 0, {"baseN": 256, "baseK": 128}),
    ("matmul-capacity", 0, {"baseM": 256, "baseN": 256, "baseK": 16, "dbL0C": 2}),
    ("matmul-capacity", 0, {"stepKa": 64, "depthA1": 128, "baseM": 128}),
    ("matmul-capacity", 36, {"baseM": 16, "baseN": 1040, "baseK": 16, "dbL0B": 1, "isBias": 1}),
    ("matmul-transpose", 10, {}),
    ("matmul-transpose", 11, {"shareL1Size": 200000}),
    *(("matmul-shape", key, {}) for key in (12, 13, 14)),
    *(("matmul-order", key, {}) for key in (7, 20, 21, 22, 23, 24, 25, 26, 27, 28)),
    ("matmul-partial-sum", 30, {}),
    ("matmul-partial-sum", 31, {}),
    ("matmul-partial-sum", 32, {"baseM": 16}),
    ("matmul-bias", 33, {}),
    ("matmul-bias", 34, {"isBias": 1}),
    ("matmul-bias", 35, {"isBias": 1}),
    ("matmul-hf32", 37, {}),
    ("cross-core-flag", 19, {}),
    ("gm-bounds", 16, {}),
    ("gm-bounds", 17, {}),
    ("range", 18, {}),
    ("range", 62, {}),
    ("workspace-uninitialised", 40, {}),
    ("workspace-uninitialised", 41, {}),
    *(("missing-sync", key, {}) for key in (42, 44, 45, 60)),
    ("data-cache", 46, {}),
    ("core-race", 50, {}),
    ("core-race", 51, {}),
    ("syncall-type", 53, {}),
]
ONLY_220: list[tuple[str, int, dict[str, int]]] = [
    ("matmul-shape", 15, {}),
    ("unsupported", 8, {}),
    ("local-bounds", 61, {}),
]
LAWFUL: list[tuple[int, dict[str, int]]] = [(0, {}), (36, {"isBias": 1}), (43, {}), (52, {})]


def kernel(product: str) -> Built:
    return built("matmul_laws", product)


def launch(key: int, changed: dict[str, int], product: str = A2, off: tuple[str, ...] = (), c: np.ndarray | None = None) -> Report:
    rng = np.random.default_rng(1)
    a, b = (rng.integers(-4, 5, 4096).astype(np.float16) for _ in range(2))
    c = np.full(4096, np.nan, np.float32) if c is None else c
    tiling = tiled(fields(32, 48, 40, **changed), key=key, blocks=1, inputs=2, workspace=65536)
    return kernel(product).run(tiling, [a, b, c], laws_off=off, seconds=20)


@pytest.mark.parametrize(
    ("law", "key", "changed", "product"), [*((*case, chip) for case in CASES for chip in (A2, A5)), *((*case, A2) for case in ONLY_220)]
)
def test_a_kernel_that_breaks_one_law_is_reported_by_that_law_alone(law: str, key: int, changed: dict[str, int], product: str) -> None:
    report = launch(key, changed, product)
    assert {breach.rule for breach in report.breaches} == {law}, [str(b) for b in report.breaches]
    assert all(breach.file.endswith("matmul_laws.cpp") and breach.line > 0 for breach in report.breaches)


@pytest.mark.parametrize(("law", "key", "changed"), [*CASES, *ONLY_220])
def test_the_same_kernel_runs_clean_with_the_law_off(law: str, key: int, changed: dict[str, int]) -> None:
    assert launch(key, changed, off=(law,)).breaches == ()


@pytest.mark.parametrize("product", [A2, A5])
@pytest.mark.parametrize(("key", "changed"), LAWFUL)
def test_a_lawful_kernel_has_no_breaches(key: int, changed: dict[str, int], product: str) -> None:
    assert launch(key, changed, product).breaches == ()


@pytest.mark.parametrize(("law", "key", "changed"), [case for case in ONLY_220 if case[0] != "local-bounds"])
def test_what_only_220_forbids_is_lawful_on_3510(law: str, key: int, changed: dict[str, int]) -> None:
    assert launch(key, changed, A5).breaches == ()


def test_an_operand_that_changed_is_read_again() -> None:
    c = np.full(4096, np.nan, np.float32)
    assert launch(47, {}, c=c).breaches == ()
    a = np.random.default_rng(1).integers(-4, 5, 4096)[: 32 * 40].reshape(32, 40)
    np.testing.assert_array_equal(c[: 32 * 48].reshape(32, 48), np.repeat(2.0 * a.sum(1, keepdims=True), 48, 1))


def test_the_host_must_ask_for_the_systems_workspace() -> None:
    tiling = replace(tiled(fields(32, 48, 40), key=0, blocks=1, inputs=2), workspace_bytes=4096)
    arrays = [np.zeros(4096, np.float16), np.zeros(4096, np.float16), np.zeros(4096, np.float32)]
    (breach,) = kernel(A2).run(tiling, arrays).breaches
    assert breach.rule == "matmul-registration"
    assert "GetLibApiWorkSpaceSize" in breach.message


def test_a_launch_has_no_more_vector_cores_than_the_twin() -> None:
    arrays = [np.zeros(4096, np.float16), np.zeros(4096, np.float16), np.zeros(4096, np.float32)]
    with pytest.raises(TwinError, match="block dim is 33, the twin runs 1 to 32"):
        kernel(A2).run(tiled(fields(32, 48, 40), key=0, blocks=33, inputs=2), arrays)
