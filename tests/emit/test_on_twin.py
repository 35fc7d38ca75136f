"""A hand-made plan, emitted, compiled and run on the twin: the printed kernel and tiling work together."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from generator.emit.kernels import kernel_files
from generator.emit.render import render_sources
from generator.spec.model import OpSpec
from generator.twin.build import Built, TensorArg, build
from generator.twin.source_check import check
from tests.emit import handmade

pytestmark = pytest.mark.skipif(shutil.which("g++") is None, reason="no C++ compiler")


@pytest.fixture(scope="module", params=["Ascend910B", "Ascend950"])
def built(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Built:
    root = tmp_path_factory.mktemp("emitted")
    for name, text in render_sources(handmade.checked(), handmade.plan()).items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return build(Path(root / "demo" / "scaled_exp"), request.param, root / "cache")


@pytest.mark.parametrize("shape", [(1,), (7,), (3, 1000), (48 * 20000 + 13,)])
@pytest.mark.parametrize("dtype", ["float16", "float32"])
def test_the_printed_kernel_is_lawful_and_right(built: Built, shape: tuple[int, ...], dtype: str) -> None:
    x = np.random.default_rng(1).uniform(-2, 2, shape).astype(dtype)
    tiling = built.tile([TensorArg(shape, dtype)], [TensorArg(shape, dtype)], [0.75])
    assert tiling.status == 0
    y = np.full_like(x, np.nan)
    report = built.run(tiling, [x, y])
    assert [b.rule for b in report.breaches] == []
    wide = np.exp(x.astype(np.float64)) * 0.75
    assert np.max(np.abs(y - wide) / wide) < {"float16": 2.0**-10, "float32": 2.0**-21}[dtype]


def test_an_empty_tensor_succeeds_without_workspace_and_touches_nothing(built: Built) -> None:
    tiling = built.tile([TensorArg((0, 4), "float32")], [TensorArg((0, 4), "float32")], [1.0])
    assert (tiling.status, tiling.key, tiling.block_dim) == (0, 1, 1)


@pytest.mark.parametrize(
    ("x", "y"),
    [
        (TensorArg((4,), "float32"), TensorArg((5,), "float32")),
        (TensorArg((2, 6), "float32"), TensorArg((3, 4), "float32")),
        (TensorArg((12,), "float32"), TensorArg((3, 4), "float32")),
        (TensorArg((1, 2, 3), "float32"), TensorArg((1, 2, 3), "float32")),
        (TensorArg((4,), "float32"), TensorArg((4,), "float16")),
        (TensorArg((4,), "int32"), TensorArg((4,), "int32")),
        (TensorArg((-1,), "float32"), TensorArg((-1,), "float32")),
    ],
)
def test_a_call_that_breaks_the_spec_is_refused(built: Built, x: TensorArg, y: TensorArg) -> None:
    assert built.tile([x], [y], [1.0]).status != 0


def test_the_printed_kernel_passes_the_source_check(tmp_path: Path) -> None:
    for name, text in render_sources(handmade.checked(), handmade.plan()).items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    assert [str(f) for f in check(tmp_path / "demo" / "scaled_exp" / "op_kernel")] == []


def test_attributes_the_kernel_does_not_read_are_still_checked(tmp_path: Path) -> None:
    about = {"en": "a", "zh": "a"}
    body = handmade.spec().model_dump()
    axis = {"symbol": "axis", "name": "axis", "aclnn": "axis", "io": "attr", "type": "int", "default": 0, "where": "-1 <= axis <= 1"}
    flag = {"symbol": "flag", "name": "flag", "aclnn": "flag", "io": "attr", "type": "bool", "default": False}
    body["params"][2:2] = [{**axis, "about": about}, {**flag, "about": about}]
    body["constraints"] = [{"that": "axis == 0 or not flag"}, {"that": "numel(x) <= 1000"}]
    checked = replace(handmade.checked(), spec=OpSpec.model_validate(body))
    for name, text in render_sources(checked, handmade.plan()).items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    made = build(tmp_path / "demo" / "scaled_exp", "Ascend910B", tmp_path / "cache")

    def status(attrs: list[float | int | bool], n: int = 8) -> bool:
        return made.tile([TensorArg((n,), "float32")], [TensorArg((n,), "float32")], attrs).status == 0

    assert status([1.0, 0, True])
    assert status([1.0, 1, False])
    assert status([1.0, 0, False], 1000)
    assert not status([1.0, 0, False], 1001)
    assert not status([1.0, 2, False])
    assert not status([1.0, 1, True])


def test_tiling_data_beyond_the_default_is_registered_with_its_size() -> None:
    files = kernel_files(handmade.plan())
    assert not files.large_tiling
    assert replace(files, int_fields=tuple(f"f{k}" for k in range(256))).large_tiling
    assert not replace(files, int_fields=tuple(f"f{k}" for k in range(50)), float_fields=()).large_tiling
    assert replace(files, int_fields=tuple(f"f{k}" for k in range(160)), cube_tilings=("mm0", "mm1", "mm2", "mm3")).large_tiling
