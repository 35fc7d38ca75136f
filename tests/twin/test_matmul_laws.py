"""Every law of Matmul has a kernel that breaks it alone, and that runs clean with the law switched off."""

from __future__ import annotations

import numpy as np
import pytest

from generator.twin.build import Built
from generator.twin.report import Report
from tests.twin.matmul_helpers import fields, tiled
from tests.twin.vector_helpers import built

A2, A5 = "Ascend910B1", "Ascend950"

# (law, tiling key, changed fields of the tiling)
CASES: list[tuple[str, int, dict[str, int]]] = [
    ("cube-core", 1, {}),
    ("matmul-registration", 2, {}),
    ("matmul-registration", 3, {}),
    ("matmul-registration", 4, {}),
    ("matmul-registration", 5, {}),
    ("matmul-registration", 6, {}),
]


def kernel(product: str) -> Built:
    return built("matmul_laws", product)


def launch(key: int, changed: dict[str, int], product: str = A2, off: tuple[str, ...] = ()) -> Report:
    rng = np.random.default_rng(1)
    a, b = (rng.standard_normal(4096).astype(np.float16) for _ in range(2))
    c = np.full(4096, np.nan, np.float32)
    tiling = tiled(fields(32, 48, 40, **changed), key=key, blocks=1, inputs=2, workspace=65536)
    return kernel(product).run(tiling, [a, b, c], laws_off=off, seconds=20)


@pytest.mark.parametrize("product", [A2, A5])
@pytest.mark.parametrize(("law", "key", "changed"), CASES)
def test_a_kernel_that_breaks_one_law_is_reported_by_that_law_alone(law: str, key: int, changed: dict[str, int], product: str) -> None:
    report = launch(key, changed, product)
    assert {breach.rule for breach in report.breaches} == {law}, [str(b) for b in report.breaches]
    assert all(breach.file.endswith("matmul_laws.cpp") and breach.line > 0 for breach in report.breaches)


@pytest.mark.parametrize(("law", "key", "changed"), CASES)
def test_the_same_kernel_runs_clean_with_the_law_off(law: str, key: int, changed: dict[str, int]) -> None:
    assert launch(key, changed, off=(law,)).breaches == ()


@pytest.mark.parametrize("product", [A2, A5])
def test_a_lawful_product_has_no_breaches(product: str) -> None:
    assert launch(0, {}, product).breaches == ()
