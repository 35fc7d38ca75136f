"""Normal form: what absent optional inputs stand for."""

from __future__ import annotations

from pathlib import Path

import pytest

from generator.formula.checked import check
from generator.formula.ir import Num, Where
from generator.formula.walk import loads, walk
from generator.plan.axes import flat
from generator.plan.normal import normalise

SPEC = """\
name: Probe
family: probe
summary: {{en: probe, zh: probe}}
dims: {{A: {{}}}}
params:
  - {{symbol: x, name: x, aclnn: x, io: in, shape: [A], dtype: float32, optional: true, fill: {fill}, about: {{en: t, zh: t}}}}
  - {{symbol: w, name: w, aclnn: w, io: in, shape: [A], dtype: float32, about: {{en: t, zh: t}}}}
  - {{symbol: y, name: y, aclnn: y, io: out, shape: [A], dtype: float32, about: {{en: t, zh: t}}}}
formula: |
  y[a] = {op}[k: 3](x[a + k - 1]) * w[a]
"""


@pytest.mark.parametrize(("fill", "op", "outside"), [("2.5", "sum", 0.0), ("0.0", "max", float("-inf")), ("2.5", "prod", 1.0)])
def test_an_absent_input_is_its_fill_inside_and_what_stands_outside_elsewhere(fill: str, op: str, outside: float) -> None:
    checked = check(SPEC.format(fill=fill, op=op), Path("probe.yaml"))
    body = list(flat(normalise(checked.program, frozenset()).body))
    assert all(ld.tensor != "x" for s in body for ld in loads(s.value))
    (where,) = [e for s in body for e in walk(s.value) if isinstance(e, Where)]
    assert (where.a, where.b) == (Num(float(fill)), Num(outside))


def test_a_fill_that_is_what_stands_outside_needs_no_condition() -> None:
    checked = check(SPEC.format(fill="0.0", op="sum"), Path("probe.yaml"))
    assert not [e for s in flat(normalise(checked.program, frozenset()).body) for e in walk(s.value) if isinstance(e, Where)]
