"""Broadcast formulas on arrays of NumPy's shapes: the evaluator gives what NumPy gives, derived gradients what differences give."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from generator.emit.numpy_printer import render_test
from generator.formula.checked import CheckedSpec, check
from generator.reference.broadcasting import Grouping, grouping
from generator.reference.differences import gradient
from generator.reference.errors import ShapeError
from generator.reference.evaluate import run
from generator.symbolic.derive import derive, spec_facts
from generator.symbolic.save import spec_text
from tests.formula.specs import checked, tensor

Array = np.ndarray[Any, Any]
PARAMS = [tensor("x", "in", '["*b", D]'), tensor("w", "in", '["*b", D]'), tensor("y", "out", '["*b", D]')]
OPERATION = checked("y[*b, j] = x[*b, j] * exp(w[*b, j]) + w[*b, j]", PARAMS, "D", "broadcast: [b]")
SHAPES = [
    ((3,), (3,)),
    ((2, 3), (3,)),
    ((2, 1, 3), (4, 3)),
    ((3,), (5, 4, 3)),
    ((1, 4, 1, 3), (2, 1, 5, 3)),
    ((1, 1, 3), (1, 3)),
    ((2, 4, 3), (2, 1, 3)),
    ((2, 1, 4, 3), (1, 3, 1, 3)),
    ((0, 3), (1, 3)),
]


def grouped(spec: CheckedSpec, arrays: dict[str, Array]) -> tuple[Grouping, dict[str, Array], dict[str, int]]:
    (b,) = spec.broadcasts
    g = grouping(spec, b, {n: a.shape for n, a in arrays.items()})
    return g, {n: g.grouped(n, a) for n, a in arrays.items()}, {**g.dims, "D": 3}


def draw(shapes: tuple[tuple[int, ...], ...]) -> dict[str, Array]:
    rng = np.random.default_rng(len(shapes[0]) + 10 * len(shapes[1]))
    return {n: rng.uniform(-1, 1, s) for n, s in zip("xw", shapes, strict=True)}


@pytest.mark.parametrize("shapes", SHAPES, ids=str)
def test_the_reference_broadcasts_as_numpy_does(shapes: tuple[tuple[int, ...], ...]) -> None:
    arrays = draw(shapes)
    g, inputs, dims = grouped(OPERATION, arrays)
    out = g.ungrouped("y", run(OPERATION.program, inputs, dims, {})["y"])
    want = arrays["x"] * np.exp(arrays["w"]) + arrays["w"]
    assert out.shape == want.shape
    np.testing.assert_allclose(out, want, rtol=1e-14)


@pytest.mark.parametrize("shapes", SHAPES, ids=str)
def test_grouping_is_undone(shapes: tuple[tuple[int, ...], ...]) -> None:
    arrays = draw(shapes)
    (b,) = OPERATION.broadcasts
    g = grouping(OPERATION, b, {n: a.shape for n, a in arrays.items()})
    for n, a in arrays.items():
        assert np.array_equal(g.ungrouped(n, g.grouped(n, a), a.shape[:-1]), a)


@pytest.mark.parametrize("shapes", SHAPES[:-1], ids=str)
def test_the_saved_gradient_is_what_differences_give_and_has_the_inputs_shapes(shapes: tuple[tuple[int, ...], ...]) -> None:
    p = OPERATION.program
    derived = derive(p, ["x", "w"], {"y": "grad_y"}, {"y": "y"}, facts=spec_facts(OPERATION))
    saved = check(spec_text(OPERATION, derived, {"y": "grad_y"}), "gradient.yaml")
    arrays = draw(shapes)
    g, inputs, dims = grouped(OPERATION, arrays)
    y = run(p, inputs, dims, {})["y"]
    cotangent = np.random.default_rng(7).standard_normal(y.shape)
    given = {n: a for n, a in {**inputs, "y": y, "grad_y": cotangent}.items() if n in {t.name for t in saved.program.inputs}}
    got = run(saved.program, given, dims, {})
    (b,) = saved.broadcasts
    ours = grouping(saved, b, {n: a.shape for n, a in arrays.items()})
    for x in ("x", "w"):
        want = gradient(p, x, inputs, dims, {}, {"y": cotangent}, step=2.0**-7)
        assert np.max(np.abs(got[f"grad_{x}"] - want)) <= 1e-6 * np.max(np.abs(want))
        assert ours.ungrouped(f"grad_{x}", got[f"grad_{x}"], arrays[x].shape[:-1]).shape == arrays[x].shape
        whole = g.ungrouped("y", cotangent) * (np.exp(arrays["w"]) if x == "x" else arrays["x"] * np.exp(arrays["w"]) + 1)
        summed = unbroadcast(whole, arrays[x].shape)
        np.testing.assert_allclose(ours.ungrouped(f"grad_{x}", got[f"grad_{x}"], arrays[x].shape[:-1]), summed, rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("which", ["forward", "backward"])
def test_the_emitted_reference_passes_its_own_tests(which: str, tmp_path: Path) -> None:
    derived = derive(OPERATION.program, ["x", "w"], {"y": "grad_y"}, {"y": "y"}, facts=spec_facts(OPERATION))
    saved = check(spec_text(OPERATION, derived, {"y": "grad_y"}), "gradient.yaml")
    text = render_test(OPERATION, None) if which == "forward" else render_test(saved, OPERATION)
    (tmp_path / "test_op.py").write_text(text)
    command = [sys.executable, "-W", "error", "-m", "pytest", "-q", "-p", "no:cacheprovider", "--rootdir", str(tmp_path), str(tmp_path)]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
    assert ("central_differences" in text) == (which == "backward")


@pytest.mark.parametrize("shapes", SHAPES, ids=str)
def test_the_emitted_reference_broadcasts_as_numpy_does(shapes: tuple[tuple[int, ...], ...]) -> None:
    module = ModuleType("emitted")
    exec(compile(render_test(OPERATION, None), "emitted.py", "exec"), module.__dict__)
    arrays = draw(shapes)
    want = arrays["x"] * np.exp(arrays["w"]) + arrays["w"]
    np.testing.assert_allclose(module.__dict__["reference"](**arrays)["y"], want, rtol=1e-14, strict=True)


def unbroadcast(a: Array, shape: tuple[int, ...]) -> Array:
    """The sum of ``a`` over the axes that ``shape`` lacks."""
    a = a.sum(axis=tuple(range(a.ndim - len(shape))))
    return a.sum(axis=tuple(k for k, n in enumerate(shape) if n == 1 and a.shape[k] != 1), keepdims=True)


def test_shapes_that_do_not_broadcast_are_refused() -> None:
    (b,) = OPERATION.broadcasts
    with pytest.raises(ShapeError, match=r"the axes of '\*b' do not broadcast: w \(4,\), x \(3,\)"):
        grouping(OPERATION, b, {"x": (3, 3), "w": (4, 3)})
