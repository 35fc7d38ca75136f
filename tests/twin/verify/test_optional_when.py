"""Parameters that may be missing only under a condition, and absent outputs before given ones."""

from __future__ import annotations

from pathlib import Path

from generator.emit.conditions import checks
from generator.formula.checked import check
from generator.twin.verify.cases import case_of, derive, objections
from tests.twin.verify.toy_specs import TARGETS

TEXT = """\
name: Halves
family: toy
summary: {en: a sum and a product, zh: 和与积}
products: [Ascend910B]
dims:
  A: {where: "A in {1, 2}"}
  R: {value: A - 1}
  D: {}
params:
  - {symbol: x, name: x, aclnn: x, io: in, shape: [A, D], dtype: float32, about: {en: x, zh: x}}
  - {symbol: p, name: p, aclnn: p, io: out, shape: [R, D], dtype: float32, optional: true, optional_when: A == 1, about: {en: p, zh: p}}
  - {symbol: s, name: s, aclnn: s, io: out, shape: [D], dtype: float32, about: {en: s, zh: s}}
formula: |
  p[r, d] = x[r, d] * x[r + 1, d]
  s[d] = sum[a](x[a, d])
"""
SPEC = check(TEXT, Path("halves.yaml"))


def test_no_case_leaves_out_what_must_be_given() -> None:
    found = derive(SPEC, TARGETS[:1])
    absent = [dict(c.dims)["A"] for c in found.cases if "p" in c.absent]
    assert absent
    assert set(absent) == {1}


def test_leaving_it_out_is_tried_as_a_violation() -> None:
    found = derive(SPEC, TARGETS[:1])
    assert [v.absent for v in found.violations if "missing without" in v.what] == [("p",)]


def test_a_case_asked_for_without_it_is_refused_with_the_reason() -> None:
    case = case_of(SPEC, {"A": 2, "D": 3}, TARGETS[0], absent=["p"])
    assert objections(SPEC, case) == ["p is absent, which takes A == 1"]


def test_the_tiling_function_tests_the_condition() -> None:
    assert ("has_p || s.A == 1", "p is missing, and A == 1 does not hold") in [(a.test, a.message) for a in checks(SPEC)]
