"""Every operator that names its forward is that forward's gradient: its outputs agree with central differences."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from generator.formula.checked import CheckedSpec
from generator.formula.link import relation
from generator.reference.differences import batched, gradient, mapped
from generator.reference.evaluate import run
from generator.twin.verify.cases import seed_of
from generator.twin.verify.covering import Factor, cover
from generator.twin.verify.factors import absences
from generator.twin.verify.rules import Rules
from generator.twin.verify.shapes import attributes
from generator.twin.verify.work import cost
from tests.reference.build import layout, program
from tests.reference.specs import BACKWARDS, every, forward_of

LARGEST = 33
PLACES = 120  # elements of one gradient that are compared, at most
COST = 3e6  # forward evaluation points of one case, times the copies of 40 of these elements
Sizes = dict[str, int]


def choices_of(checked: CheckedSpec, forward: CheckedSpec) -> tuple[list[Factor], Rules]:
    """Small listed values of every size, every listed value of every float attribute of both, every set of absent parameters."""
    rules = Rules(checked)
    factors = [Factor("<absent>", absences(checked))]
    ints = [p.symbol for p in attributes(checked.spec) if p.type == "int"]
    for name in (*rules.free, *ints):
        listed = [v for v in checked.spec.tests.values.get(name, []) if 0 <= v <= LARGEST and (v or name in ints)]
        factors.append(Factor(name, tuple(listed or [3, 2, 4])))
    for owner in (forward, checked):
        for p in attributes(owner.spec):
            if p.type in ("float", "double") and p.symbol not in [f.name for f in factors]:
                factors.append(Factor(p.symbol, tuple(float(v) for v in owner.spec.tests.attrs.get(p.symbol, [p.default or 0.5]))))  # type: ignore[arg-type]
    return factors, rules


def rows_of(checked: CheckedSpec, forward: CheckedSpec) -> Iterator[tuple[Sizes, dict[str, float], tuple[str, ...]]]:
    """Pairwise: every two choices meet in some row, as far as a row stays cheap."""
    factors, rules = choices_of(checked, forward)
    floats = sorted(f.name for f in factors if f.name != "<absent>" and isinstance(f.values[0], float))
    smallest = {f.name: min(f.values) for f in factors if f.name not in (*floats, "<absent>")}  # type: ignore[type-var]

    def sizes(row: Any) -> Sizes:
        return {n: v for n, v in row.items() if n != "<absent>" and n not in floats}

    def price(row: Any) -> float:
        full = rules.completed({**smallest, **sizes(row)})
        theirs = {n: e.evaluate(full) for n, e in relation(checked, forward).sizes.items()} if full else {}
        return 40.0 * cost(forward.program, theirs) if full else 0.0

    def allowed(row: Any) -> bool:
        return rules.allowed(sizes(row))

    for row in cover(factors, allowed, price, COST * 40, seed_of(checked.spec.name)).rows:
        full = rules.completed(sizes(row))
        assert full is not None
        yield {n: int(v) for n, v in full.items()}, {n: row[n] for n in floats}, row["<absent>"]  # type: ignore[misc]


def cases() -> Iterator[Any]:
    for name in BACKWARDS:
        backward = every()[name]
        forward = forward_of(backward)
        assert forward is not None
        for sizes, attrs, absent in rows_of(backward, forward):
            label = ",".join([*(f"{k}={v}" for k, v in {**sizes, **attrs}.items()), *(f"no {n}" for n in absent)])
            yield pytest.param(name, sizes, attrs, absent, id=f"{name}-{label}")


def random(checked: CheckedSpec, symbol: str, sizes: Sizes, rng: np.random.Generator) -> np.ndarray[Any, Any]:
    tensor = checked.program.tensors[symbol]
    low, high = checked.spec.tests.inputs.get(symbol, [-2.0, 2.0])
    shape = [e.evaluate(sizes) for e in ((tensor.flat.size,) if tensor.flat else tensor.shape)]
    return rng.uniform(low, high, shape)


@pytest.mark.parametrize(("name", "sizes", "attrs", "absent"), list(cases()))
def test_a_backward_agrees_with_central_differences_of_its_forward(
    name: str, sizes: Sizes, attrs: dict[str, float], absent: tuple[str, ...]
) -> None:
    backward = every()[name]
    forward = forward_of(backward)
    assert forward is not None
    rng = np.random.default_rng(seed_of(name, sizes, attrs, absent))
    program, mine, roles = forward.program, backward.program, relation(backward, forward)
    theirs = {n: e.evaluate(sizes) for n, e in roles.sizes.items()}
    gone = {roles.same.get(n) for n in absent}
    start = {t.name: random(forward, t.name, theirs, rng) for t in program.inputs if t.name not in gone}
    values = run(program, start, theirs, attrs)
    inputs = {ours: start[name] for ours, name in roles.same.items() if ours not in absent}
    inputs |= {ours: values[name] for ours, name in roles.saved.items()}
    passed = {name: rng.standard_normal(start[name].shape) for ours, name in roles.passed.items() if ours not in absent}
    inputs |= {ours: passed[name] for ours, name in roles.passed.items() if ours not in absent}
    cotangents = {name: rng.standard_normal(values[name].shape) for name in roles.cotangents.values()}
    inputs |= {ours: cotangents[name] for ours, name in roles.cotangents.items()}
    given = {p.symbol for p in backward.spec.params if p.optional and p.symbol not in absent}
    gradients = run(mine, inputs, sizes, attrs, present=given)
    assert set(gradients) == {t.name for t in mine.outputs} - set(absent)
    for output in gradients:
        name = roles.gradients[output]
        got = mapped(mine, output, gradients[output], sizes)
        at = np.unique(rng.integers(0, got.size, PLACES)) if got.size > PLACES else np.arange(got.size)
        want = gradient(program, name, start, theirs, attrs, cotangents, step=2.0**-8, at=at)
        want += passed[name].reshape(-1)[at] if name in passed else 0.0
        assert np.max(np.abs(got.reshape(-1)[at] - want)) <= 1e-6 * np.max(np.abs(got))


def test_the_rows_hold_what_hides_wrong_gradients() -> None:
    def rows(name: str) -> list[tuple[Sizes, dict[str, float], tuple[str, ...]]]:
        forward = forward_of(every()[name])
        assert forward is not None
        return list(rows_of(every()[name], forward))

    mixed = rows("MhcPreBackward")
    assert {("gamma" in a, "grad_x_post" in a) for _, _, a in mixed} == set(itertools.product((True, False), repeat=2))
    assert {(attrs["hc_eps"], "gamma" in a) for _, attrs, a in mixed} == set(itertools.product((0.0, 1e-6, 1e-3), (True, False)))
    windows = [sizes for sizes, _, _ in rows("ConvTbcBackward")]
    assert {s["pad"] for s in windows} >= {0, 1, 3}
    assert any(s["pad"] == s["K"] - 1 > 0 for s in windows)
    assert any(s["K"] > s["H_in"] for s in windows)
    assert any(s["N"] == 1 for s in windows)
    assert any(s["H_out"] == 1 for s in windows)


RNG = np.random.default_rng(5)


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


def test_chosen_elements_of_a_gradient_are_those_of_the_whole() -> None:
    p = program("y[t] = exp(x[t]) * sum[t](x[t])", {"t": "n"}, x="in n", y="out n")
    x, cotangent = RNG.normal(size=6), RNG.normal(size=6)
    whole = gradient(p, "x", {"x": x}, {"n": 6}, {}, {"y": cotangent})
    some = gradient(p, "x", {"x": x}, {"n": 6}, {}, {"y": cotangent}, at=np.array([1, 5]))
    np.testing.assert_allclose(some, whole[[1, 5]], rtol=1e-13)
