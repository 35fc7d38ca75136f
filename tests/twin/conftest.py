"""Shared by the twin's tests: kernels built once, tilings made by hand."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from generator.twin.build import Built, build_kernel
from generator.twin.products import LIB_API_WORKSPACE
from generator.twin.tiling import Tiling

KERNELS = Path(__file__).parent / "kernels"


@pytest.fixture(scope="session")
def kernel() -> Callable[..., Built]:
    """Builds ``kernels/<name>.cpp`` for a product; needs a C++ compiler."""
    if shutil.which("g++") is None:
        pytest.skip("needs g++")

    def make(name: str, product: str = "Ascend910B1") -> Built:
        return build_kernel(KERNELS / f"{name}.cpp", product)

    return make


@pytest.fixture(scope="session")
def tiled() -> Callable[..., Tiling]:
    """A tiling made by hand: key, block dim, user workspace bytes, tiling data, numbers of inputs and outputs."""

    def make(key: int, *, blocks: int = 1, workspace: int = 0, data: bytes = b"", inputs: int = 1, outputs: int = 1) -> Tiling:
        return Tiling(0, key, blocks, LIB_API_WORKSPACE + workspace, data, 0, "", inputs, outputs)

    return make
