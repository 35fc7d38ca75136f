"""A gradient text must have a value wherever the forward has one."""

from __future__ import annotations

import math

import pytest

from generator.symbolic.model import Verdict
from generator.symbolic.proving import prover
from tests.symbolic.audits import verdicts


def verdict(forward: str, gradient: str) -> Verdict:
    case = f"""
    dims: {{N: }}
    tensors: {{x: [N], y: [N]}}
    forward: |
      {forward}
"""
    return verdicts(case, gradient, prover=prover())["dx"]


@pytest.mark.parametrize(
    ("forward", "gradient"),
    [
        ("y[i] = x[i]**2", "dx[i] = 2 * dy[i] * exp(log(x[i]))"),
        ("y[i] = x[i]**2 + 2000*x[i]", "dx[i] = 2 * dy[i] * exp(log(x[i] + 1000))"),
        ("y[i] = x[i]**2", "dx[i] = 2 * dy[i] * pow(x[i], 0.5)**2"),
        ("y[i] = log(abs(x[i]))", "dx[i] = dy[i] * rsqrt(x[i])**2"),
        ("y[i] = log(x[i]**2)", "dx[i] = 2 * dy[i] * exp(-log(x[i]))"),
    ],
)
def test_a_text_without_a_value_where_the_forward_has_one_is_refuted(forward: str, gradient: str) -> None:
    v = verdict(forward, gradient)
    assert (v.level, v.classification) == ("REFUTED", "undefined where the forward is defined")
    assert v.counterexample is not None
    assert math.isnan(v.counterexample.claimed)
    assert math.isfinite(v.counterexample.derived)
    assert v.right_formula


@pytest.mark.parametrize(
    ("forward", "gradient"),
    [
        ("y[i] = log(x[i])**2", "dx[i] = 2 * dy[i] * log(x[i]) * exp(-log(x[i]))"),
        ("y[i] = where(x[i] > 0, x[i] * log(x[i]), x[i])", "l[i] = log(x[i])\ndx[i] = dy[i] * where(x[i] > 0, l[i] + 1, 1)"),
        ("y[i] = sqrt(x[i]**2 + 1)", "dx[i] = dy[i] * x[i] * rsqrt(x[i]**2 + 1)"),
        ("y[i] = exp(x[i])", "dx[i] = dy[i] * sqrt(y[i])**2"),
    ],
)
def test_a_text_whose_domain_is_no_smaller_is_proved(forward: str, gradient: str) -> None:
    assert verdict(forward, gradient).level == "PROVED"
