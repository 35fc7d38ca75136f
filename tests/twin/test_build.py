"""An operator's folder is built, tiled and launched; builds are cached by content; errors are typed."""

from __future__ import annotations

import shutil
import struct
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from generator.twin import compile as compiling
from generator.twin.build import Built, TensorArg, TwinError, build
from generator.twin.products import PRODUCTS
from generator.twin.source_check import check

OPERATOR = Path(__file__).parent / "operators" / "add_one"
F32 = "float32"

pytestmark = pytest.mark.skipif(shutil.which("g++") is None, reason="needs g++")


@pytest.fixture(scope="module")
def add_one() -> Built:
    return build(OPERATOR, "Ascend910B")


@pytest.mark.parametrize("count", [1, 7, 8, 257, 100_003])
@pytest.mark.parametrize("bias", [False, True])
def test_an_operator_is_tiled_and_launched(add_one: Built, count: int, bias: bool) -> None:
    rng = np.random.default_rng(count)
    x, b = (rng.standard_normal(count).astype(np.float32) for _ in range(2))
    y = np.full(count, np.nan, np.float32)
    arg = TensorArg((count,), F32)
    tiling = add_one.tile([arg, arg if bias else None], [arg], [2.5, 0, False])
    report = add_one.run(tiling, [x, b if bias else None, y])
    assert report.breaches == ()
    expected = x + np.float32(2.5)
    np.testing.assert_array_equal(y, expected + b if bias else expected)
    tensor = sum(-(-run * 4 // 32) * 32 for run in _runs(count, tiling.block_dim))
    assert report.bytes_read == tensor * (2 if bias else 1)
    assert report.bytes_written == tensor


def test_one_block_of_a_launch_runs_alone_on_what_is_its_own(add_one: Built) -> None:
    x = np.arange(1000, dtype=np.float32)
    y = np.full(1000, np.nan, np.float32)
    arg = TensorArg((1000,), F32)
    tiling = add_one.tile([arg, None], [arg], [2.5, 0, False], cores=300)
    assert tiling.block_dim == 250
    report = add_one.run(tiling, [x, None, y], cores=300, only=249)
    assert report.breaches == ()
    np.testing.assert_array_equal(np.flatnonzero(~np.isnan(y)), range(996, 1000))
    np.testing.assert_array_equal(y[996:], x[996:] + np.float32(2.5))
    assert report.bytes_written == 32
    with pytest.raises(TwinError, match="block 250 is asked for, the launch has 250"):
        add_one.run(tiling, [x, None, y], cores=300, only=250)


def _runs(count: int, blocks: int, tile: int = 256) -> list[int]:
    per = -(-count // 48)
    sizes = [min(per, count - core * per) for core in range(blocks)]
    return [min(tile, size - start) for size in sizes for start in range(0, size, tile)]


def test_a_tiling_carries_what_the_function_decided(add_one: Built) -> None:
    arg = TensorArg((4, 25), F32)
    tiling = add_one.tile([arg, None], [arg], [1.5, 10, True])
    assert (tiling.status, tiling.key, tiling.block_dim, tiling.schedule_mode, tiling.message) == (0, 7, 10, 1, "")
    assert tiling.workspace_bytes == 16 * 1024 * 1024
    assert struct.unpack("qqfi", tiling.data) == (100, 10, -1.5, 0)


def test_the_number_of_cores_follows_the_product(add_one: Built) -> None:
    arg = TensorArg((10**6,), F32)
    per_core = {}
    for soc in ("Ascend910B1", "Ascend910B3", "Ascend950"):
        per_core[soc] = add_one.tile([arg, None], [arg], [0.0, 0, False], soc=soc).block_dim
    assert per_core == {"Ascend910B1": 48, "Ascend910B3": 40, "Ascend950": 64}
    assert add_one.tile([arg, None], [arg], [0.0, 0, False], cores=2).block_dim == 2


def test_a_tiling_function_that_refuses_is_no_launch(add_one: Built) -> None:
    arg = TensorArg((8,), "float16")
    tiling = add_one.tile([arg, None], [arg], [0.0, 0, False])
    assert tiling.status == 50331649
    with pytest.raises(TwinError, match="0x3000001"):
        add_one.run(tiling, [np.zeros(8, np.float16), None, np.zeros(8, np.float16)])


def test_an_array_given_twice_is_one_memory(add_one: Built) -> None:
    x = np.arange(64, dtype=np.float32)
    arg = TensorArg((64,), F32)
    tiling = add_one.tile([arg, None], [arg], [1.0, 1, False])
    report = add_one.run(tiling, [x, None, x])
    assert report.breaches == ()
    np.testing.assert_array_equal(x, np.arange(64) + 1)


def test_a_second_build_compiles_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "add_one"
    shutil.copytree(OPERATOR, folder)
    cache = tmp_path / "cache"
    source = folder / "op_host" / "add_one_tiling.cpp"
    include = [folder / "op_host", folder / "op_kernel"]
    with ThreadPoolExecutor(2) as pool:  # concurrent builders agree on one library
        paths = {*pool.map(lambda _: compiling.host_library(source, include, cache), range(2))}
    assert len(paths) == 1
    assert [path.suffix for path in cache.iterdir()] == [".so"]
    monkeypatch.setattr(compiling.subprocess, "run", None)
    assert compiling.host_library(source, include, cache) in paths


def test_a_changed_header_is_another_library(tmp_path: Path) -> None:
    header, source = tmp_path / "a.h", tmp_path / "a.cpp"
    header.write_text("constexpr int kA = 1;\n", encoding="utf-8")
    source.write_text('#include "a.h"\n', encoding="utf-8")
    assert header in compiling.sources_of([source], [])
    before = compiling._digest([], compiling.sources_of([source], []))
    header.write_text("constexpr int kA = 2;\n", encoding="utf-8")
    assert compiling._digest([], compiling.sources_of([source], [])) != before


def test_a_source_that_does_not_compile_is_a_typed_error(tmp_path: Path) -> None:
    source = tmp_path / "bad_tiling.cpp"
    source.write_text("int x = nothing;\n", encoding="utf-8")
    with pytest.raises(TwinError, match=r"bad_tiling\.cpp: does not compile against the twin: .*nothing") as caught:
        compiling.host_library(source, [], tmp_path / "cache")
    assert "bad_tiling.cpp:1" in caught.value.detail


def test_without_a_compiler_there_is_a_message(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiling.shutil, "which", lambda _: None)
    compiling.compiler.cache_clear()
    try:
        with pytest.raises(TwinError, match="no C\\+\\+ compiler found"):
            compiling.compiler()
    finally:
        compiling.compiler.cache_clear()


def test_missing_files_and_unknown_products_are_typed_errors(tmp_path: Path) -> None:
    with pytest.raises(TwinError, match="no such file"):
        build(tmp_path / "none", "Ascend910B")
    with pytest.raises(TwinError, match="unknown product 'Ascend1', known are"):
        build(OPERATOR, "Ascend1")


def test_the_products_carry_the_platform_files_figures() -> None:
    figures = {name: (p.arch, p.ub, p.aiv) for name, p in PRODUCTS.items()}
    assert figures["Ascend910B1"] == (2201, 196608, 48)
    assert figures["Ascend910B3"] == (2201, 196608, 40)
    assert figures["Ascend950"] == (3510, 253952, 64)


def test_the_operator_of_these_tests_passes_the_source_check() -> None:
    assert check(OPERATOR / "op_kernel") == []
