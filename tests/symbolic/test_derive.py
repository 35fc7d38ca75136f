"""Derived gradients agree with central differences of high order, at random everything."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from generator.formula.checked import CheckedSpec, check
from generator.formula.ir import Program
from generator.reference.differences import gradient, mapped
from generator.reference.evaluate import run
from generator.symbolic.derive import Derived, DeriveError, derive, spec_facts
from generator.symbolic.save import spec_text
from generator.twin.verify.rules import Rules
from tests.reference.specs import every
from tests.symbolic.forwards import FORWARDS, Forward

Array = np.ndarray[Any, Any]
OPERATORS = sorted(name for name, c in every().items() if c.spec.forward is None)


def of(checked: CheckedSpec, saved: tuple[str, ...], **options: Any) -> Derived:
    p = checked.program
    wrt = [t.name for t in p.inputs if t.kind == "float"]
    cotangents = {t.name: f"grad_{t.name}" for t in p.outputs if t.flat is None}
    return derive(p, wrt, cotangents, {s: s for s in saved}, facts=spec_facts(checked), **options)


def draw(f: Forward, rng: np.random.Generator) -> dict[str, Array]:
    out: dict[str, Array] = {}
    for t in f.checked.program.inputs:
        shape = [e.evaluate(f.sizes) for e in t.shape]
        if t.kind == "int":
            out[t.name] = rng.integers(0, min([f.sizes[n] for n in ("V", "D") if n in f.sizes] or [2]), shape)
        else:
            out[t.name] = rng.uniform(0.4, 1.9, shape) if t.name in f.positive else rng.uniform(-1.5, 1.5, shape)
    return out


def agree(
    p: Program,
    d: Derived,
    gradients: Program,
    inputs: dict[str, Array],
    dims: dict[str, int],
    attrs: dict[str, Any],
    rng: np.random.Generator,
    step: float = 2.0**-6,
) -> None:
    """``gradients`` (a program with the outputs of ``d``) agrees with differences of ``p`` within 1e-6 of the largest."""
    values = run(p, inputs, dims, attrs)
    cotangents = {name: rng.standard_normal(v.shape) for name, v in values.items() if p.tensors[name].flat is None}
    given = {**inputs, **{name: values[f] for f, name in d.saved.items() if f in values}}
    given |= {f"grad_{y}": g for y, g in cotangents.items()}
    needed = {t.name for t in gradients.inputs}
    got = run(gradients, {k: v for k, v in given.items() if k in needed}, dims, attrs)
    for x, name in d.gradients.items():
        want = gradient(p, x, inputs, dims, attrs, cotangents, step=step)
        mine = mapped(gradients, name, got[name], {**dims, **attrs})
        assert np.max(np.abs(mine - want), initial=0.0) <= 1e-6 * np.max(np.abs(want), initial=1e-3), f"{x}:\n{mine}\n{want}"


def agrees(f: Forward, d: Derived, program: Program) -> None:
    p, rng = f.checked.program, np.random.default_rng(zlib.crc32(f.name.encode()))
    ints = {k: v for k, v in f.sizes.items() if k in p.int_attrs}
    dims = {k: v for k, v in f.sizes.items() if k not in ints}
    agree(p, d, program, draw(f, rng), dims, {**f.attrs, **ints}, rng, f.step)


@pytest.mark.parametrize("f", FORWARDS, ids=lambda f: f.name)
def test_a_derived_gradient_agrees_with_central_differences(f: Forward) -> None:
    d = of(f.checked, f.saved)
    agrees(f, d, d.program)


@pytest.mark.parametrize("f", FORWARDS, ids=lambda f: f.name)
def test_a_gradient_that_is_not_simplified_agrees_too(f: Forward) -> None:
    d = of(f.checked, (), short=False, forms=False)
    agrees(f, d, d.program)


@pytest.mark.parametrize("f", FORWARDS[::3], ids=lambda f: f.name)
def test_a_gradient_saved_as_a_spec_is_read_back_as_the_same_formula(f: Forward) -> None:
    d = of(f.checked, f.saved, forms=False)
    text = spec_text(f.checked, d, {t.name: f"grad_{t.name}" for t in f.checked.program.outputs})
    agrees(f, d, check(text, "gradient.yaml").program)


def rows_of(checked: CheckedSpec) -> Iterator[tuple[dict[str, int], dict[str, float]]]:
    """Small legal sizes, every listed value of every dim among them, with listed attributes: the defaults alone hide wrong formulas."""
    rules = Rules(checked)
    ints = [p.symbol for p in checked.spec.params if p.io == "attr" and p.type == "int"]
    listed = checked.spec.tests
    choices = {n: [v for v in listed.values.get(n, []) if 0 < v <= 33] or [3, 2, 4] for n in (*rules.free, *ints)}
    floats = {p.symbol: p for p in checked.spec.params if p.io == "attr" and p.type in ("float", "double")}
    attrs = {n: [float(v) for v in listed.attrs.get(n, [p.default or 0.5])] for n, p in floats.items()}  # type: ignore[arg-type]
    for turn in range(max(map(len, choices.values()), default=1)):
        case = {n: values[turn % len(values)] for n, values in choices.items()}
        full = rules.completed(case) if rules.allowed(case) else None
        if full is not None:
            yield {n: int(v) for n, v in full.items()}, {n: v[turn % len(v)] for n, v in attrs.items()}


@pytest.mark.parametrize("name", OPERATORS)
def test_the_derived_gradient_of_every_operator_agrees_with_central_differences(name: str) -> None:
    checked = every()[name]
    p, rng = checked.program, np.random.default_rng(zlib.crc32(name.encode()))
    d = of(checked, tuple(t.name for t in p.outputs))
    rows = list(rows_of(checked))[:2]
    assert rows
    for sizes, attrs in rows:
        inputs = {}
        for t in p.inputs:
            low, high = checked.spec.tests.inputs.get(t.name, [-2.0, 2.0])
            inputs[t.name] = rng.uniform(low / 4, high / 4, [e.evaluate(sizes) for e in t.shape])
        if sum(a.size for a in inputs.values()) > 4000:
            continue
        ints = {k: v for k, v in sizes.items() if k in p.int_attrs}
        agree(p, d, d.program, inputs, {k: v for k, v in sizes.items() if k not in ints}, {**attrs, **ints}, rng, 2.0**-9)


# conventions --------------------------------------------------------------------------------------------------------


def at(formula: str, x: list[float], **boundary: str) -> list[float]:
    """The gradient of the sum of ``y`` in ``x``."""
    f = Forward("ties", formula, ("x: in [T]", "y: out [1]"), "T", {"T": len(x)})
    d = derive(f.checked.program, ["x"], {"y": "g"}, boundary=boundary)
    out = run(d.program, {"x": np.array(x, float), "g": np.ones(1)}, {"T": len(x)}, {})
    return [float(v) for v in out["grad_x"]]


def test_of_equal_maxima_the_first_takes_all_or_all_share_or_each_takes_all() -> None:
    text = "y[0] = max[t](x[t])"
    assert at(text, [1, 3, 3]) == [0, 1, 0]
    assert at(text, [1, 3, 3], max="split") == [0, 0.5, 0.5]
    assert at(text, [1, 3, 3], max="all") == [0, 1, 1]


def test_equal_arguments_of_a_maximum_follow_the_declared_convention() -> None:
    text = "y[0] = sum[t](maximum(2 * x[t], 3 * x[t]))"
    assert at(text, [0, 1]) == [2, 3]
    assert at(text, [0, 1], maximum="second") == [3, 3]
    assert at(text, [0, 1], maximum="split") == [2.5, 3]


def test_a_relu_has_the_declared_slope_at_zero() -> None:
    assert at("y[0] = sum[t](relu(x[t]))", [-1, 0, 1]) == [0, 0, 1]
    assert at("y[0] = sum[t](relu(x[t]))", [-1, 0, 1], relu="1") == [0, 1, 1]


def test_the_gradient_of_a_product_is_right_where_factors_are_zero() -> None:
    assert at("y[0] = prod[t](x[t])", [0, 2, 3]) == [6, 0, 0]
    assert at("y[0] = prod[t](x[t])", [0, 0, 3]) == [0, 0, 0]


def test_a_convention_that_was_used_is_in_the_notes() -> None:
    f = Forward("ties", "y[0] = max[t](x[t])", ("x: in [T]", "y: out [1]"), "T", {"T": 3})
    notes = derive(f.checked.program, ["x"], {"y": "g"}, boundary={"max": "all"}).notes
    assert "at ties and kinks of max: 'all'" in notes


# requests that cannot be met ----------------------------------------------------------------------------------------


def test_asking_for_what_the_forward_does_not_have_says_what_it_has() -> None:
    p = FORWARDS[0].checked.program
    with pytest.raises(DeriveError, match="'z' is no input of the forward; inputs are x"):
        derive(p, ["z"], {"y": "g"})
    with pytest.raises(DeriveError, match="'x' is no output of the forward; outputs are y"):
        derive(p, ["x"], {"x": "g"})
    with pytest.raises(DeriveError, match="'q' is no tensor of the forward"):
        derive(p, ["x"], {"y": "g"}, {"q": "q"})


def test_what_a_loop_must_remember_is_reported() -> None:
    f = next(f for f in FORWARDS if f.name == "a linear recurrence")
    assert of(f.checked, ()).remembered == ("h_before",)
    assert of(f.checked, ("y",)).remembered == ()
