"""The emitted Python references: they pass their own tests, run alone, and agree with the evaluator."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from generator.emit.numpy_printer import print_function, render_test
from generator.formula.checked import CheckedSpec
from generator.formula.symbols import PACK_PREFIX
from generator.reference.evaluate import run
from tests.reference.build import layout, program
from tests.reference.specs import NAMES, every, forward_of

RNG = np.random.default_rng(3)


def emitted(name: str) -> str:
    checked = every()[name]
    return render_test(checked, forward_of(checked))


def imported(text: str) -> Any:
    module = ModuleType("emitted")
    exec(compile(text, "emitted.py", "exec"), module.__dict__)
    return module


def sizes_in(checked: CheckedSpec, case: dict[str, Any]) -> dict[str, int]:
    """The dims of a case; a pack's are its axes' extents."""
    dims = checked.program.dims
    return {d: int(np.prod(case[d.removeprefix(PACK_PREFIX)], dtype=int)) if d.startswith(PACK_PREFIX) else case[d] for d in dims}


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(("dtype", "tolerance"), [(np.float64, 1e-12), (np.float32, 2e-5)])
def test_the_emitted_reference_agrees_with_the_evaluator(name: str, dtype: Any, tolerance: float) -> None:
    checked = every()[name]
    module = imported(emitted(name))
    for case in module.CASES:
        args = module.arguments(case)
        dims = sizes_in(checked, case)
        attrs = {a: case[a] for a in (*checked.program.int_attrs, *checked.program.float_attrs)}
        inputs = {}
        for t in checked.program.inputs:
            shape = [e.evaluate(dims) for e in t.shape]
            inputs[t.name] = args[t.name] if t.flat else args[t.name].reshape(shape)
        want = run(checked.program, inputs, dims, attrs, precision=np.dtype(dtype).name)  # type: ignore[arg-type]
        got = module.reference(**args, dtype=dtype)
        assert set(got) == set(want)
        for output, value in want.items():
            scale = np.max(np.abs(value), initial=1e-30, where=np.isfinite(value))
            np.testing.assert_allclose(got[output].reshape(value.shape), value, rtol=tolerance, atol=tolerance * scale)


@pytest.mark.parametrize("name", NAMES)
def test_the_emitted_file_runs_alone_and_passes(name: str, tmp_path: Path) -> None:
    (tmp_path / "test_op.py").write_text(emitted(name))
    command = [sys.executable, "-W", "error", "-m", "pytest", "-q", "-p", "no:cacheprovider", "--rootdir", str(tmp_path), str(tmp_path)]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize("name", NAMES)
def test_the_emitted_file_is_deterministic_and_imports_only_numpy_and_pytest(name: str) -> None:
    text = emitted(name)
    assert text == emitted(name)
    tree = ast.parse(text)
    modules = {a.name for n in ast.walk(tree) if isinstance(n, ast.Import) for a in n.names}
    assert modules <= {"math", "numpy", "pytest"}
    assert not any(isinstance(n, ast.ImportFrom) for n in ast.walk(tree))


@pytest.mark.parametrize("name", NAMES)
def test_descriptions_do_not_reach_the_emitted_file(name: str) -> None:
    checked = every()[name]
    words = [checked.spec.summary.en, *(p.about.en for p in checked.spec.params)]
    assert not [w for w in words if w in emitted(name) and len(w) > 12]


def test_alternative_ranks_flatten_to_the_canonical_one() -> None:
    checks = 0
    for name in NAMES:
        checked, module = every()[name], imported(emitted(name))
        ranked = [p for p in checked.spec.params if p.io == "in" and p.ranks]
        if not ranked:
            continue
        args = module.arguments(module.CASES[1])
        split = {p.symbol: args[p.symbol].reshape(1, *args[p.symbol].shape) for p in ranked}
        for output, value in module.reference(**args).items():
            np.testing.assert_array_equal(module.reference(**{**args, **split})[output], value)
        checks += 1
    assert checks


LANGUAGE = [
    ("y[t, o] = b[o] + sum[k: K, c](x[t + k - 1, c] * w[k, c, o])", {"x": "H,C", "w": "K,C,O", "b": "O"}, "H,O", {"x": 0.0}),
    ("y[t, k] = sum[c](x[t, c] * w[k, c]) * 2 - max[c](w[k, c])", {"x": "H,C", "w": "K,C"}, "H,K", {}),
    (
        "y[k, t] = mean[c](x[t, c]) + where(x[t, 0] > 0 and not (w[k, 0] < 0), exp(x[t, 1]), -w[k, 1] ** 2)",
        {"x": "H,C", "w": "K,C"},
        "K,H",
        {},
    ),
    ("y[t] = x[t, t] + x[H - 1 - t, 0] + t", {"x": "H,H"}, "H", {}),
    ("y[t, c] = z[t*C + c] * gelu(x[t, c]) + silu(x[t, c]) - erf(z[c])", {"x": "H,C", "z": "H*C"}, "H,C", {}),
    ("y[t] = prod[c, k](x[t, c] + w[k, c])", {"x": "H,C", "w": "K,C"}, "H", {}),
    ("y[t] = max[k: K](x[2*t + k - 1, 0])", {"x": "H,C"}, "H", {"x": -np.inf}),
    ("y[t] = cast(argmax[c](x[t, c]), float32) + cast(x[t, 0], bfloat16)", {"x": "H,C"}, "H", {}),
    ("y[t] = sum[k: K](x[t, 0])", {"x": "H,C"}, "H", {}),
    ("y[t] = mean[c](x[t, c] * b[c], divisor=K)", {"x": "H,C", "b": "C"}, "H", {}),
    ("y[c, t] = maximum(x[t, c], 0) / (t + 1) + c", {"x": "H,C"}, "C,H", {}),
]


@pytest.mark.parametrize(("text", "tensors", "shape", "outside"), LANGUAGE)
def test_every_form_of_index_and_reduction_prints_to_what_the_evaluator_computes(text: str, tensors: Any, shape: str, outside: Any) -> None:
    axes = {"t": "H", "c": "C", "o": "O", "k": "K", "H": "H"}
    declared = {n: f"in {s}" for n, s in tensors.items()}
    p = program(text, {a: e for a, e in axes.items() if a != "H"}, ints=("K",), outside=outside, y=f"out {shape}", **declared)
    dims = {"H": 5, "C": 3, "K": 2, "O": 4}
    inputs = {t.name: RNG.normal(size=[e.evaluate(dims) for e in t.shape]) for t in p.inputs}
    params = [
        {"symbol": n, "name": n, "aclnn": n, "io": "in", "shape": s.split(","), "about": {"en": "", "zh": ""}} for n, s in tensors.items()
    ]
    params += [{"symbol": n, "name": n, "aclnn": n, "io": "attr", "type": "int", "about": {"en": "", "zh": ""}} for n in ("K",)]
    params += [{"symbol": "y", "name": "y", "aclnn": "y", "io": "out", "shape": shape.split(","), "about": {"en": "", "zh": ""}}]
    spec = {"name": "Probe", "family": "probe", "summary": {"en": "", "zh": ""}, "params": params, "formula": text}
    spec["dims"] = {d: {} for d in "HCO"}
    checked = CheckedSpec(Path("specs/probe/probe.yaml"), every()[NAMES[0]].spec.model_validate(spec), p, ())
    module = imported(render_test(checked, None))
    for dtype, tolerance in ((np.float64, 1e-13), (np.float32, 1e-5)):
        want = run(p, inputs, {d: dims[d] for d in "HCO"}, {"K": 2}, precision=np.dtype(dtype).name)["y"]  # type: ignore[arg-type]
        got = module.reference(**inputs, K=2, dtype=dtype)["y"]
        assert got.dtype == dtype
        np.testing.assert_allclose(got, want, rtol=tolerance, atol=tolerance)


def test_gathers_print_as_indexing_by_arrays() -> None:
    p = program("y[t, c] = x[idx[t], c] + 1", {"t": "T", "c": "C"}, kinds={"idx": "int"}, x="in V,C", idx="in T", y="out T,C")
    about = {"en": "", "zh": ""}
    shapes = {"x": ["V", "C"], "idx": ["T"], "y": ["T", "C"]}
    params = [
        {"symbol": s, "name": s, "aclnn": s, "io": "out" if s == "y" else "in", "shape": e, "about": about} for s, e in shapes.items()
    ]
    spec = {"name": "Probe", "family": "probe", "summary": about, "params": params, "formula": "", "dims": {d: {} for d in "TCV"}}
    checked = CheckedSpec(Path("specs/probe/probe.yaml"), every()[NAMES[0]].spec.model_validate(spec), p, ())
    x, idx = RNG.normal(size=(5, 2)), np.array([4, 0, 4])
    np.testing.assert_array_equal(imported(render_test(checked, None)).reference(x, idx)["y"], x[idx] + 1)


def test_names_that_python_needs_are_renamed() -> None:
    p = program("lambda_ = sum[i](sum[i] * range[i])", {"i": "n"}, sum="in n", range="in n", lambda_="out")
    spec = every()[NAMES[0]].spec.model_copy(update={"params": [], "dims": {}, "constraints": []})
    helpers: set[str] = set()
    text = print_function(CheckedSpec(Path("specs/p/p.yaml"), spec, p, ()), "reference", helpers)
    assert "(sum_ * range_).sum(axis=0)" in text


def test_a_flat_buffer_prints_as_a_view_in_its_order() -> None:
    order = layout({"r": "2", "t": "n"}, "tr", "5*n")
    p = program("c[r, t] = x[t] * (r + 1)", {"t": "n", "r": "2"}, flat={"c": order}, x="in n", c="out")
    spec = every()[NAMES[0]].spec.model_copy(update={"params": [], "dims": {}, "constraints": []})
    text = print_function(CheckedSpec(Path("specs/p/p.yaml"), spec, p, ()), "reference", set())
    assert "c = c_flat[: 2*n].reshape(n, 2).transpose(1, 0)  # [r, t]" in text.replace("transpose(1, 0)", "transpose(1, 0)")
