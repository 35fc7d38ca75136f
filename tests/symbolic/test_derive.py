"""Derived gradients agree with central differences of high order, at random everything."""

from __future__ import annotations

import zlib
from typing import Any

import numpy as np
import pytest

from generator.formula.ir import Program
from generator.reference.differences import gradient, mapped
from generator.reference.evaluate import run
from generator.symbolic.derive import Derived, derive, spec_facts
from tests.symbolic.forwards import FORWARDS, Forward

Array = np.ndarray[Any, Any]


def derived(f: Forward, *, short: bool = True) -> Derived:
    p = f.checked.program
    wrt = [t.name for t in p.inputs if t.kind == "float"]
    saved = {s: s for s in f.saved}
    return derive(p, wrt, {t.name: f"grad_{t.name}" for t in p.outputs}, saved, facts=spec_facts(f.checked), short=short)


def draw(f: Forward, rng: np.random.Generator) -> dict[str, Array]:
    p = f.checked.program
    out: dict[str, Array] = {}
    for t in p.inputs:
        shape = [e.evaluate(f.sizes) for e in t.shape]
        if t.kind == "int":
            out[t.name] = rng.integers(0, min([f.sizes[n] for n in ("V", "D") if n in f.sizes] or [2]), shape)
        else:
            out[t.name] = rng.uniform(0.4, 1.9, shape) if t.name in f.positive else rng.uniform(-1.5, 1.5, shape)
    return out


def agree(f: Forward, d: Derived) -> None:
    rng = np.random.default_rng(zlib.crc32(f.name.encode()))
    p: Program = f.checked.program
    inputs = draw(f, rng)
    ints = {k: v for k, v in f.sizes.items() if k in p.int_attrs}
    attrs = {**f.attrs, **ints}
    dims = {k: v for k, v in f.sizes.items() if k not in ints}
    values = run(p, inputs, dims, attrs)
    cotangents = {name: rng.standard_normal(v.shape) for name, v in values.items()}
    given = {**inputs, **{f"grad_{y}": g for y, g in cotangents.items()}, **{s: values[s] for s in f.saved}}
    needed = {t.name for t in d.program.inputs}
    got = run(d.program, {k: v for k, v in given.items() if k in needed}, dims, attrs)
    for x, name in d.gradients.items():
        want = gradient(p, x, inputs, dims, attrs, cotangents, step=f.step)
        mine = mapped(d.program, name, got[name], {**dims, **ints})
        assert np.max(np.abs(mine - want)) <= 1e-6 * max(1e-3, np.max(np.abs(want))), f"{x} of {f.name}:\n{mine}\n{want}"


@pytest.mark.parametrize("f", FORWARDS, ids=lambda f: f.name)
def test_a_derived_gradient_agrees_with_central_differences(f: Forward) -> None:
    agree(f, derived(f))


@pytest.mark.parametrize("f", FORWARDS, ids=lambda f: f.name)
def test_a_gradient_that_is_not_simplified_agrees_too(f: Forward) -> None:
    agree(f, derived(f, short=False))
