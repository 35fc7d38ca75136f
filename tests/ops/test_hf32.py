"""An attribute that allows HF32: what the kernel then computes, by which standard it is judged, and that the standard tells."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from generator.symbolic.specs import published_setting
from generator.twin.verify.calls import Subject, tile
from generator.twin.verify.case import Target
from generator.twin.verify.cases import case_of
from generator.twin.verify.fields import fields_of
from generator.twin.verify.runner import Prepared, launch, prepare, raw
from generator.twin.verify.session import load, subject
from tests.ops.test_ops import OPERATORS

SIZES = {"H_in": 9, "N": 2, "C_in": 64, "K": 3, "C_out": 40, "pad": 1}
OPS = ["ConvTbc", "ConvTbcBackward"]
ALLOWED, FORBIDDEN = (1, 3), (0, 2)


@cache
def prepared(name: str, value: int, combination: int = 0) -> Prepared:
    """The operator on the cube with cubeMathType ``value``; the same inputs for every value. Combination 0 is float32."""
    operator = OPERATORS[name]
    case = case_of(load(operator.spec), {**SIZES, "cubeMathType": value}, Target("Ascend910B", 40), combination=combination, seed=5)
    of: Subject = subject(operator, "Ascend910B")
    assert of.eager is not None
    done = prepare(of, case)
    assert isinstance(done, Prepared)
    return replace(done, tiling=tile(of, case, built=of.eager))


@pytest.mark.parametrize("name", OPS)
def test_results_are_those_of_hf32_exactly_where_it_is_allowed(name: str) -> None:
    for value in (*ALLOWED, *FORBIDDEN):
        p = prepared(name, value)
        assert dict(fields_of(p.subject.folder, p.tiling.data))["inHf32"] == (value in ALLOWED)
        result = launch(p)
        assert result.passed, result.why()
        assert all(("limit 0.000977" if value in ALLOWED else "limit 0.000122") in o.verdict.message for o in result.outputs)
    plain, hf32 = raw(prepared(name, 0))[0], raw(prepared(name, 1))[0]
    for value, same in ((2, plain), (3, hf32)):
        got = raw(prepared(name, value))[0]
        for output in got:
            np.testing.assert_array_equal(got[output], same[output])
    changed = {o for o in plain if not np.array_equal(plain[o], hf32[o])}  # type: ignore[arg-type]
    assert changed == set(plain) - {"grad_bias"}, "a sum without products is not touched"


@pytest.mark.parametrize("name", OPS)
def test_a_kernel_that_uses_hf32_although_it_is_forbidden_fails(name: str) -> None:
    result = launch(replace(prepared(name, 0), tiling=prepared(name, 1).tiling))
    assert not result.breaches
    assert {o.name for o in result.outputs if not o.passed} == {o.name for o in result.outputs} - {"grad_bias"}


@pytest.mark.parametrize("value", ALLOWED)
def test_a_kernel_that_computes_in_float32_although_hf32_is_allowed_passes(value: int) -> None:
    assert launch(replace(prepared("ConvTbc", value), tiling=prepared("ConvTbc", 0).tiling)).passed


def test_operands_of_other_types_are_taken_as_they_are() -> None:
    float16 = 4  # the combination's number
    plain, allowed = raw(prepared("ConvTbc", 0, float16))[0]["y"], raw(prepared("ConvTbc", 1, float16))[0]["y"]
    assert dict(prepared("ConvTbc", 0, float16).case.dtypes)["X"] == "float16"
    np.testing.assert_array_equal(plain, allowed)


def test_neither_formula_nor_audit_knows_the_attribute() -> None:
    gradient, forward = (load(OPERATORS[name].spec) for name in reversed(OPS))
    for checked in (gradient, forward):
        assert "cubeMathType" not in checked.program.int_attrs
    assert "cubeMathType" not in {p.symbol for p in published_setting(gradient, forward, 0).base.params}
