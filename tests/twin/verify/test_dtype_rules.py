"""Constraints that name dtypes: in cases, in violations, in the host's checks, and not where the formula has one dtype only."""

from __future__ import annotations

from pathlib import Path

import pytest

from generator.emit.conditions import call_checks, checks
from generator.emit.interface import interface
from generator.emit.numpy_printer import render_test
from generator.formula.checked import check
from generator.spec.errors import SpecError
from generator.twin.verify.cases import case_of, derive, objections
from generator.twin.verify.rules import Rules
from tests.twin.verify.toy_specs import TARGETS

TEXT = """\
name: Power
family: toy
summary: {en: a power, zh: 幂}
products: [Ascend910B]
dims:
  D: {}
params:
  - {symbol: x, name: x, aclnn: self, io: in, shape: [D], dtype: X, about: {en: x, zh: x}}
  - {symbol: n, name: n, aclnn: n, io: attr, type: int, default: 1, where: 1 <= n <= 3, about: {en: n, zh: n}}
  - {symbol: mode, name: mode, aclnn: mode, io: attr, type: int, default: 0, aclnn_only: true, about: {en: mode, zh: 模式}}
  - {symbol: y, name: y, aclnn: out, io: out, shape: [D], dtype: X, about: {en: y, zh: y}}
dtypes:
  - {X: float16}
  - {X: bfloat16}
  - {X: float32}
constraints:
  - that: n != 3 or dtype(x) == float32
  - that: mode != 2 or dtype(x) != bfloat16
formula: |
  y[i] = x[i] * n
tests:
  values: {n: [1, 2, 3]}
"""
SPEC = check(TEXT, Path("power.yaml"))


def test_only_legal_combinations_are_cases() -> None:
    cases = derive(SPEC, TARGETS[:1]).cases
    seen = {(dict(c.attrs)["n"], dict(c.dtypes)["X"]) for c in cases}
    assert {d for n, d in seen if n == 3} == {"float32"}
    assert {d for n, d in seen if n == 1} == {"float16", "bfloat16", "float32"}


def test_the_constraint_is_violated_once_by_another_dtype_or_value() -> None:
    found = [v for v in derive(SPEC, TARGETS[:1]).violations if "dtype(x)" in v.what]
    assert [v.what for v in found] == ["violates n != 3 or dtype(x) == float32"]
    (violation,) = found
    assert dict(violation.base.attrs)["n"] == 3
    assert Rules(SPEC).dtypes(violation.base.combination)["x"] != "float32"


def test_a_case_that_breaks_it_is_objected_to() -> None:
    wrong = case_of(SPEC, {"D": 4, "n": 3}, TARGETS[0], combination=1)
    assert objections(SPEC, wrong) == ["violates n != 3 or dtype(x) == float32"]
    assert objections(SPEC, case_of(SPEC, {"D": 4, "n": 3}, TARGETS[0], combination=2)) == []


def test_the_tiling_function_tests_the_number_of_the_combination() -> None:
    found = {c.message: c.test for c in checks(SPEC)}
    assert found["n != 3 or dtype(x) == float32 does not hold"] == "((s.n != 3) || ((combination == 2)))"
    assert not any("mode" in message for message in found)


def test_the_call_tests_the_tensor_and_names_it_in_its_message() -> None:
    (mode,) = [c for c in call_checks(SPEC) if "mode" in c.text]
    assert mode.text == "mode != 2 or dtype(self) != bfloat16"
    assert mode.test == "((s.mode != 2) || (!((p.x->GetDataType() == ge::DT_BF16))))"
    (said,) = [c.message for c in interface(SPEC).attributes if "mode" in c.message]
    assert '"self has dtype " + op::ToString(p.x->GetDataType()).GetString()' in said


def test_the_reference_computes_in_one_dtype_and_does_not_test_it() -> None:
    assert "dtype(x)" not in render_test(SPEC, None)


def test_a_parameter_that_may_be_null_has_no_dtype_to_test() -> None:
    text = TEXT.replace("shape: [D], dtype: X, about: {en: x", "shape: [D], dtype: X, optional: true, fill: 0, about: {en: x")
    other = "  - {symbol: z, name: z, aclnn: z, io: in, shape: [D], dtype: X, about: {en: z, zh: z}}\n"
    text = text.replace("  - {symbol: n,", other + "  - {symbol: n,")
    with pytest.raises(SpecError, match="a condition names the dtype of a parameter that may be null, 'x'") as caught:
        check(text.replace("x[i] * n", "(x[i] + z[i]) * n"), Path("power.yaml"))
    assert (caught.value.problems[0].line, caught.value.problems[0].column) == (18, 11)
