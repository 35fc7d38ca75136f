"""Evaluation at chosen elements: the values the whole evaluation gives there, whatever the formula's form."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from generator.formula.checked import check
from generator.formula.ir import Program
from generator.reference.evaluate import run
from generator.reference.points import Points, TooMuchError
from generator.spec.errors import SpecError
from generator.twin.verify.calls import reference_attrs
from generator.twin.verify.case import Target
from generator.twin.verify.cases import case_of, derive
from generator.twin.verify.inputs import make
from generator.twin.verify.session import targets
from generator.twin.verify.shapes import tensor_params
from generator.twin.verify.work import cost
from tests.generality.strategy import draw
from tests.reference.build import layout, program
from tests.reference.specs import NAMES, every, forward_of

RNG = np.random.default_rng(17)


def some(whole: dict[str, Any], share: float) -> dict[str, Any]:
    """Positions of a random share of every output, the first and the last among them."""
    out = {}
    for name, values in whole.items():
        chosen = RNG.random(values.size) < share
        chosen[:1] = chosen[-1:] = True
        out[name] = np.flatnonzero(chosen)
    return out


def same(p: Program, inputs: Any, dims: Any, attrs: Any, present: set[str] | None = None, share: float = 0.2) -> None:
    for precision in ("float64", "float32"):
        whole = run(p, inputs, dims, attrs, precision=precision, present=present)  # type: ignore[arg-type]
        wanted = some(whole, share)
        got = Points(p, inputs, dims, attrs, wanted, present=present).evaluate(precision)  # type: ignore[arg-type]
        for name, positions in wanted.items():
            want = whole[name].reshape(-1)[positions]
            assert got[name].dtype == want.dtype
            scale = np.max(np.abs(want.astype(float)), initial=0.0, where=np.isfinite(want.astype(float)))
            np.testing.assert_allclose(got[name], want, rtol=1e-12 if precision == "float64" else 1e-5, atol=1e-12 * scale)


@pytest.mark.parametrize("name", NAMES)
def test_every_operator_has_the_same_values_at_points(name: str) -> None:
    checked = every()[name]
    forward = forward_of(checked)
    cases = sorted(derive(checked, targets(checked)).cases, key=lambda c: (cost(checked.program, c.integers), c.label()))
    for case in cases[:: max(1, len(cases) // 6)][:5]:
        inputs = make(checked, case, (lambda: forward) if forward else None).values
        given = {p.symbol for p in tensor_params(checked.spec) if p.optional and p.symbol not in case.absent}
        same(checked.program, inputs, dict(case.dims), reference_attrs(checked, case), given)


def test_drawn_formulas_have_the_same_values_at_points() -> None:
    tried = 0
    for seed in range(40):
        rng = random.Random(seed)
        drawn = draw(rng, rng.randint(1, 6), rng.randint(1, 4))
        try:
            checked = check(drawn.text, Path("specs/drawn.yaml"))
        except SpecError:
            continue
        for env in drawn.environments(1):
            case = case_of(checked, env, Target("Ascend910B", 40))
            if cost(checked.program, case.integers) > 1e6:
                continue
            tried += 1
            same(checked.program, make(checked, case).values, dict(case.dims), reference_attrs(checked, case), share=0.5)
    assert tried >= 20


def test_flat_buffers_loops_and_guards() -> None:
    order = layout({"r": "2", "t": "n"}, "tr", "5*n")
    p = program("y[t] = sum[k: 3](x[0, t + k - 1]**2) + x[1, t]", {"t": "n"}, outside={"x": 0.0}, flat={"x": order}, x="in", y="out n")
    same(p, {"x": RNG.normal(size=20)}, {"n": 4}, {})
    loop = "for r in range(3, 0, -1):\n    s[r, t] = g[t] * 3\n    g[t] = g[t] + sum[k: n](s[r, k])"
    text = f"g[t] = x[t]\n{loop}\ny[t] = g[t] + s[1, t] + s[3, t]"
    p = program(text, {"t": "n"}, x="in n", g="local n", s="local 4,n", y="out n")
    same(p, {"x": RNG.normal(size=7)}, {"n": 7}, {}, share=0.1)


def test_gathers_from_inputs_and_from_computed_tensors() -> None:
    p = program(
        "s[v, d] = w[v, d] * 2\ny[t, d] = s[i[t], d] + w[i[t], d]",
        {"t": "n", "d": "D", "v": "V"},
        kinds={"i": "int"},
        w="in V,D",
        i="in n",
        s="local V,D",
        y="out n,D",
    )
    same(p, {"w": RNG.normal(size=(5, 6)), "i": RNG.integers(0, 5, 9)}, {"n": 9, "D": 6, "V": 5}, {})


def test_what_the_wanted_elements_do_not_need_is_not_computed() -> None:
    p = program("s[t] = sum[d](x[t, d])\ny[t] = s[t] * 2", {"t": "n", "d": "D"}, x="in n,D", s="local n", y="out n")
    inputs, dims = {"x": RNG.normal(size=(50, 30))}, {"n": 50, "D": 30}
    points = Points(p, inputs, dims, {}, {"y": np.array([3, 7])})
    assert points.cost == 2 + 2 + 2 * 30
    assert points.demand.masks["s"].sum() == 2
    with pytest.raises(TooMuchError):
        Points(p, inputs, dims, {}, {"y": np.arange(50)}, limit=1000)


def test_inputs_may_stand_in_storage() -> None:
    p = program("y[t] = max[k: 3](x[t + k - 1])", {"t": "n"}, outside={"x": -np.inf}, x="in n", y="out n")
    stored = np.array([0xBF80, 0xC000, 0xC040], np.uint16)  # bfloat16 -1, -2, -3
    got = Points(p, {"x": stored}, {"n": 3}, {}, {"y": np.arange(3)}, dtypes={"x": "bfloat16"}).evaluate()
    np.testing.assert_array_equal(got["y"], [-1, -1, -2])
