"""Formulas printed as scalar C++ compute what the NumPy reference computes: every operator's, and every form of the language."""

from __future__ import annotations

import ctypes
import re
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from generator.emit.example import example
from generator.emit.numpy_cases import cases
from generator.emit.render import scalar_prelude
from generator.emit.scalar_cpp import CppNames, elements, print_function
from generator.formula import ir
from generator.formula.checked import CheckedSpec, check
from generator.formula.ranges import names_of
from generator.formula.symbols import PACK_PREFIX
from generator.reference.evaluate import run
from generator.spec.conditions import evaluate, parse
from tests.reference.build import layout, program
from tests.reference.specs import NAMES, every, forward_of

PRELUDE = """
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <vector>
enum aclDataType { ACL_FLOAT = 0, ACL_FLOAT16 = 1, ACL_BF16 = 27 };
using aclFloat16 = uint16_t;
float aclFloat16ToFloat(aclFloat16) { return 0.0f; }
aclFloat16 aclFloatToFloat16(float) { return 0; }
"""
FORMS = [
    ("y[t, o] = b[o] + sum[k: K, c](x[t + k - 1, c] * w[k, c, o])", {"x": "H,C", "w": "K,C,O", "b": "O"}, "H,O", {"x": 0.0}),
    ("y[t, k] = sum[c](x[t, c] * w[k, c]) * 2 - max[c](w[k, c])", {"x": "H,C", "w": "K,C"}, "H,K", {}),
    ("y[t] = x[t, t] + x[H - 1 - t, 0] + t // 2 - t % 3", {"x": "H,H"}, "H", {}),
    ("y[t, c] = z[t*C + c] * gelu(x[t, c]) + silu(x[t, c]) - erf(z[c])", {"x": "H,C", "z": "H*C"}, "H,C", {}),
    ("y[t] = prod[c, k](x[t, c] + w[k, c]) - mean[c](x[t, c])", {"x": "H,C", "w": "K,C"}, "H", {}),
    ("y[t] = max[k: K](x[2*t + k - 1, 0])", {"x": "H,C"}, "H", {"x": -np.inf}),
    ("y[t] = cast(argmax[c](x[t, c]), float32) + cast(argmin[c](x[t, c]), float32) + cast(x[t, 0], bfloat16)", {"x": "H,C"}, "H", {}),
    ("y[t] = sum[k: K](x[t, 0]) + min[c](x[t, c]) / 3", {"x": "H,C"}, "H", {}),
    ("y[t] = mean[c](x[t, c] * b[c], divisor=K)", {"x": "H,C", "b": "C"}, "H", {}),
    ("y[c, t] = maximum(x[t, c], 0) / (t + 1) + c - minimum(x[t, c], b[c])", {"x": "H,C", "b": "C"}, "C,H", {}),
    ("y[t] = where(x[t, 0] > 0 and not (x[t, 1] < 0), exp(x[t, 1]), -(x[t, 1] - 1) ** 2)", {"x": "H,C"}, "H", {}),
    ("y[t] = where(any[c](x[t, c] > 1) or all[c](x[t, c] < 1), 1, 0)", {"x": "H,C"}, "H", {}),
    ("y[t] = sigmoid(x[t, 0]) + logsigmoid(x[t, 1]) + softplus(x[t, 2]) + relu(x[t, 0]) + gelu_tanh(x[t, 1])", {"x": "H,C"}, "H", {}),
    ("y[t] = rsqrt(square(x[t, 0]) + 1) + reciprocal(x[t, 1]) + sign(x[t, 2]) + pow(abs(x[t, 1]), 1.5)", {"x": "H,C"}, "H", {}),
    ("y[t] = sum[c](x[t, c] / sum[c](abs(x[t, c])))", {"x": "H,C"}, "H", {}),
    ("y[t] = sum[k: K](sum[c](x[t, c] * k) - b[k])", {"x": "H,C", "b": "C"}, "H", {}),
]  # fmt: skip


@dataclass
class Probe:
    """One program with values for everything it reads."""

    name: str
    program: ir.Program
    dims: dict[str, int]
    attrs: dict[str, float]
    inputs: dict[str, Any]

    @property
    def sizes(self) -> dict[str, int]:
        return {**self.dims, **{n: int(self.attrs[n]) for n in self.program.int_attrs}}


def operators() -> list[Probe]:
    out = []
    for name in NAMES:
        checked = every()[name]
        p = checked.program
        case = max(cases(checked, forward_of(checked)), key=lambda c: sum(v for v in c.values() if isinstance(v, int)))
        dims = {d: int(np.prod(case[d.removeprefix(PACK_PREFIX)], dtype=int)) for d in p.dims}
        attrs: dict[str, Any] = {a: case[a] for a in (*p.int_attrs, *p.float_attrs, *p.bool_attrs)}
        rng = np.random.default_rng(len(name))
        env = {**dims, **{a: attrs[a] for a in p.int_attrs}}
        shapes = {t.name: [e.evaluate(env) for e in ((t.flat.size,) if t.flat else t.shape)] for t in p.inputs}
        out.append(Probe(name, p, dims, attrs, {n: rng.uniform(0.5, 2.0, s) for n, s in shapes.items()}))
    return out


def forms() -> list[Probe]:
    out = []
    dims = {"H": 5, "C": 3, "O": 4}
    rng = np.random.default_rng(5)
    axes = {"t": "H", "c": "C", "o": "O", "k": "K"}
    for k, (text, tensors, shape, outside) in enumerate(FORMS):
        declared = {n: f"in {s}" for n, s in tensors.items()}
        p = program(text, axes, ints=("K",), outside=outside, y=f"out {shape}", **declared)
        env = {**dims, "K": 2}
        inputs = {t.name: rng.normal(size=[e.evaluate(env) for e in t.shape]) for t in p.inputs}
        out.append(Probe(f"form{k}", p, {d: dims[d] for d in p.dims}, {"K": 2}, inputs))
    gathered = program("y[t, c] = x[idx[t], c] + 1", {"t": "T", "c": "C"}, kinds={"idx": "int"}, x="in V,C", idx="in T", y="out T,C")
    out.append(Probe("gather", gathered, {"T": 3, "C": 2, "V": 5}, {}, {"x": rng.normal(size=(5, 2)), "idx": np.array([4, 0, 4])}))
    order = layout({"r": "2", "t": "n"}, "tr", "5*n")
    flat = program("c[r, t] = x[t] * (r + 1)", {"t": "n", "r": "2"}, flat={"c": order}, x="in n", c="out")
    out.append(Probe("flat", flat, {"n": 4}, {}, {"x": rng.normal(size=4)}))
    shift = "a[i] = x[i]\nfor r in range(2, 0, -1):\n    a[i] = a[n - 1 - i] + x[r] * sum[i](a[i])\ny[i] = a[i]"
    carried = program(shift, {"i": "n"}, x="in n", a="local n", y="out n")
    out.append(Probe("carried", carried, {"n": 4}, {}, {"x": rng.normal(size=4)}))
    scalar = program("s = sum[i](x[i]) + sum[i](x[i] * x[i])\nq = sum[i](x[i] - x[0])", {"i": "n"}, x="in n", s="out", q="out")
    out.append(Probe("scalar", scalar, {"n": 4}, {}, {"x": rng.normal(size=4)}))
    awkward = program("double_[i] = sum[i](sum[i] * int[i])", {"i": "n"}, sum="in n", int="in n", double_="out n")
    out.append(Probe("awkward", awkward, {"n": 3}, {}, {"sum": rng.normal(size=3), "int": rng.normal(size=3)}))
    return out


PROBES = {p.name: p for p in (*operators(), *forms())}


def wrapper(probe: Probe, helpers: set[str]) -> str:
    """The printed function and a C entry that takes its sizes, attributes and arrays as pointers."""
    p = probe.program
    names = CppNames()
    checked = CheckedSpec(Path("specs/p/p.yaml"), every()[NAMES[0]].spec, p, ())
    lines = [f"namespace {probe.name} {{", print_function(checked, "Reference", helpers), "}", f'extern "C" void {probe.name}_run(']
    lines += ["const int64_t *ints, const double *floats, void **arrays) {"]
    lines += [f"const int64_t {names(n)} = ints[{k}];" for k, n in enumerate((*p.dims, *p.int_attrs))]
    lines += [f"const double {names(n)} = floats[{k}];" for k, n in enumerate(p.float_attrs)]
    for k, t in enumerate((*p.inputs, *p.outputs)):
        kind = "int64_t" if t.kind == "int" else "double"
        lines += [f"Array<{kind}> {names(t.name)}({elements(t, names)});", f"{kind} *p{k} = static_cast<{kind} *>(arrays[{k}]);"]
        lines += [f"std::copy(p{k}, p{k} + {names(t.name)}.data.size(), {names(t.name)}.data.begin());"]
    given = [names(n) for n in (*p.dims, *p.int_attrs, *p.float_attrs, *(t.name for t in (*p.inputs, *p.outputs)))]
    lines += [f"{probe.name}::Reference({', '.join(given)});"]
    for k, t in enumerate(p.outputs, len(p.inputs)):
        lines += [f"std::copy({names(t.name)}.data.begin(), {names(t.name)}.data.end(), p{k});"]
    return "\n".join([*lines, "}"])


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    folder = tmp_path_factory.mktemp("scalar")
    helpers: set[str] = set()
    texts = [wrapper(p, helpers) for p in PROBES.values()]
    helpers |= {"erf", "softplus"}
    source = folder / "scalar.cpp"
    source.write_text(PRELUDE + scalar_prelude(helpers) + "\n".join(texts))
    built = folder / "scalar.so"
    command = ["g++", "-std=c++17", "-O1", "-Wall", "-Wno-unused-function", "-Werror", "-shared", "-fPIC", "-o", str(built), str(source)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return ctypes.CDLL(str(built))


def computed(library: ctypes.CDLL, probe: Probe) -> Mapping[str, Any]:
    p = probe.program
    env = probe.sizes
    outputs = {t.name: np.full(t.flat.size.evaluate(env) if t.flat else [e.evaluate(env) for e in t.shape], np.nan) for t in p.outputs}
    arrays = [np.ascontiguousarray(probe.inputs[t.name], np.int64 if t.kind == "int" else np.float64) for t in p.inputs]
    arrays += list(outputs.values())
    ints = (ctypes.c_int64 * 16)(*(env[n] for n in (*p.dims, *p.int_attrs)))
    floats = (ctypes.c_double * 16)(*(probe.attrs[n] for n in p.float_attrs))
    pointers = (ctypes.c_void_p * len(arrays))(*(a.ctypes.data for a in arrays))
    getattr(library, f"{probe.name}_run")(ints, floats, pointers)
    return outputs


@pytest.mark.parametrize("name", PROBES)
def test_the_printed_loops_compute_what_the_reference_computes(library: ctypes.CDLL, name: str) -> None:
    probe = PROBES[name]
    want = run(probe.program, probe.inputs, probe.dims, probe.attrs)
    got = computed(library, probe)
    assert set(got) == set(want)
    for output, value in want.items():
        np.testing.assert_array_equal(np.isnan(got[output]), np.isnan(value))
        scale = np.max(np.abs(value), initial=1e-30, where=np.isfinite(value))
        np.testing.assert_allclose(got[output], value, rtol=1e-12, atol=1e-12 * scale)


@pytest.mark.parametrize("limits", ["A in {4, 6, 8} B in {2, 3, 5}", "A >= 1000 B in {1}", "A % 48 == 0 B >= 2"])
def test_an_example_has_sizes_that_meet_narrow_limits(limits: str) -> None:
    a, b = re.findall(r"([AB] .*?)(?=$| B )", limits)
    text = f"""
name: Probe
family: demo
summary: {{en: probe, zh: 测试}}
dims: {{A: {{where: "{a}"}}, B: {{where: "{b}"}}, C: {{}}}}
params:
  - {{symbol: x, name: x, aclnn: x, io: in, shape: [A, B, C], dtype: float32, about: {{en: x, zh: 输入}}}}
  - {{symbol: y, name: y, aclnn: y, io: out, shape: [A, B], dtype: float32, about: {{en: y, zh: 输出}}}}
formula: |
  y[a, b] = sum[c](x[a, b, c])
"""
    checked = check(text, "specs/demo/probe.yaml")
    sizes = {v.name: int(v.text) for v in example(checked, None).values}
    assert all(evaluate(parse(c, names_of(checked.spec)), sizes) for c in (a, b))
