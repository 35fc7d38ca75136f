"""Every operator that names its forward is that forward's gradient: its outputs agree with central differences."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from generator.formula.checked import CheckedSpec
from generator.formula.link import relation
from generator.formula.ranges import conditions_of
from generator.reference.differences import batched, gradient, mapped
from generator.reference.evaluate import run
from generator.spec.conditions import evaluate as holds
from generator.spec.integer import Numel
from tests.reference.build import layout, program
from tests.reference.specs import BACKWARDS, every, forward_of

LARGEST = 20
RNG = np.random.default_rng(5)


def sizes_of(checked: CheckedSpec) -> Iterator[dict[str, int]]:
    """Small sizes that the spec allows, every listed value of every dim among them."""
    computed = {n: e for n, e in checked.derived if not any(isinstance(a, Numel) for a in e.atoms())}
    names = [n for n in (*checked.program.dims, *checked.program.int_attrs) if n not in computed]
    choices = {n: [v for v in checked.spec.tests.values.get(n, []) if v <= LARGEST] or [3, 2, 4] for n in names}
    for turn in range(max(map(len, choices.values()), default=1)):
        case = {n: values[turn % len(values)] for n, values in choices.items()}
        case.update({n: e.evaluate(case) for n, e in computed.items()})
        if all(holds(c, case) for c in conditions_of(checked.spec) if not _needs_more(c, case)):
            yield case


def _needs_more(condition: Any, case: dict[str, int]) -> bool:
    try:
        holds(condition, case)
    except KeyError:
        return True
    return False


def attributes_of(checked: CheckedSpec) -> list[dict[str, float]]:
    """Every listed value of the forward's float attributes; the defaults alone would hide wrong formulas."""
    params = [p for p in checked.spec.params if p.io == "attr" and p.type in ("float", "double")]
    values = [[float(v) for v in checked.spec.tests.attrs.get(p.symbol, [p.default or 0.5])] for p in params]  # type: ignore[arg-type]
    return [dict(zip([p.symbol for p in params], v, strict=True)) for v in itertools.product(*values)]


def cases() -> Iterator[Any]:
    for name in BACKWARDS:
        backward = every()[name]
        forward = forward_of(backward)
        assert forward is not None
        for sizes in sizes_of(backward):
            for attrs in attributes_of(forward):
                label = ",".join(f"{k}={v}" for k, v in {**sizes, **attrs}.items())
                yield pytest.param(name, sizes, attrs, id=f"{name}-{label}")


def random(checked: CheckedSpec, symbol: str, sizes: dict[str, int]) -> np.ndarray[Any, Any]:
    tensor = checked.program.tensors[symbol]
    low, high = checked.spec.tests.inputs.get(symbol, [-2.0, 2.0])
    shape = [e.evaluate(sizes) for e in ((tensor.flat.size,) if tensor.flat else tensor.shape)]
    return RNG.uniform(low, high, shape)


@pytest.mark.parametrize(("name", "sizes", "attrs"), list(cases()))
def test_a_backward_agrees_with_central_differences_of_its_forward(name: str, sizes: dict[str, int], attrs: dict[str, float]) -> None:
    backward = every()[name]
    forward = forward_of(backward)
    assert forward is not None
    program, mine, roles = forward.program, backward.program, relation(backward, forward)
    theirs = {n: e.evaluate(sizes) for n, e in roles.sizes.items()}
    start = {t.name: random(forward, t.name, theirs) for t in program.inputs}
    values = run(program, start, theirs, attrs)
    inputs = {ours: start[name] for ours, name in roles.same.items()}
    inputs |= {ours: values[name] for ours, name in roles.saved.items()}
    passed = {name: RNG.standard_normal(start[name].shape) for name in roles.passed.values()}
    inputs |= {ours: passed[name] for ours, name in roles.passed.items()}
    cotangents = {name: RNG.standard_normal(values[name].shape) for name in roles.cotangents.values()}
    inputs |= {ours: cotangents[name] for ours, name in roles.cotangents.items()}
    gradients = run(mine, inputs, sizes, attrs)
    for output in mine.outputs:
        name = roles.gradients[output.name]
        want = gradient(program, name, start, theirs, attrs, cotangents) + passed.get(name, 0.0)
        got = mapped(mine, output.name, gradients[output.name], sizes)
        assert np.max(np.abs(got - want)) <= 1e-6 * np.max(np.abs(got))


def test_differences_of_order_eight_find_a_known_gradient() -> None:
    p = program("y[i] = exp(x[i]) * sum[i](x[i] * w[i])", {"i": "n"}, x="in n", w="in n", y="out n")
    x, w, cotangent = RNG.normal(size=5), RNG.normal(size=5), RNG.normal(size=5)
    want = cotangent * np.exp(x) * (x @ w) + w * np.sum(cotangent * np.exp(x))
    got = gradient(p, "x", {"x": x, "w": w}, {"n": 5}, {}, {"y": cotangent})
    np.testing.assert_allclose(got, want, rtol=0, atol=1e-12 * np.max(np.abs(want)))


def test_differences_run_through_flat_buffers_and_guarded_windows() -> None:
    order = layout({"r": "2", "t": "n"}, "tr", "5*n")
    p = program("y[t] = sum[k: 3](x[0, t + k - 1]**2) + x[1, t]", {"t": "n"}, outside={"x": 0.0}, flat={"x": order}, x="in", y="out n")
    x, cotangent = np.full(20, np.nan), RNG.normal(size=4)
    x[:8] = RNG.normal(size=8)
    rows = x[:8].reshape(4, 2).T
    window = np.convolve(cotangent, np.ones(3), "same")
    got = gradient(p, "x", {"x": x}, {"n": 4}, {}, {"y": cotangent})
    np.testing.assert_allclose(got, [2 * rows[0] * window, cotangent], rtol=0, atol=1e-12)


def test_copies_of_a_program_are_independent() -> None:
    p = batched(program("y[t] = x[t] / sum[t](x[t])", {"t": "n"}, x="in n", y="out n"))
    x = RNG.uniform(1, 2, (3, 4))
    np.testing.assert_allclose(run(p, {"x": x}, {"n": 4, "copies": 3}, {})["y"], x / x.sum(axis=1, keepdims=True), rtol=1e-15)
