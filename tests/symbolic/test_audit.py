"""What an audit says of right, wrong and open gradients, and how much it claims."""

from __future__ import annotations

import numpy as np
import pytest

from generator.formula.parse import parse
from generator.spec.errors import SpecError
from generator.symbolic.proving import prover
from tests.symbolic.audits import RMS, SCALE, audit_of, verdicts

RIGHT_RMS = """
s[t] = sum[d](dy[t, d] * w[d] * x[t, d])
dx[t, d] = r[t] * (dy[t, d] * w[d] - x[t, d] * r[t] ** 2 * s[t] / D)
"""


def test_a_right_gradient_is_exact_without_a_prover_and_says_at_which_sizes() -> None:
    v = verdicts(RMS, RIGHT_RMS)["dx"]
    assert v.level == "EXACT"
    assert len(v.sizes) >= 8
    assert any(s["T"] != s["D"] for s in v.sizes)
    assert v.error_bound is not None
    assert v.error_bound < 1e-9


def test_a_right_gradient_is_proved_with_a_certificate() -> None:
    v = verdicts(RMS, RIGHT_RMS, prover=prover())["dx"]
    assert v.level == "PROVED"
    assert v.certificate is not None


def test_a_counterexample_is_one() -> None:
    """A missing w in the inner sum: NumPy's own finite differences say what the derivative is."""
    v = verdicts(RMS, RIGHT_RMS.replace("dy[t, d] * w[d] * x[t, d])", "dy[t, d] * x[t, d])"))["dx"]
    assert v.level == "REFUTED"
    c = v.counterexample
    assert c is not None
    assert c.sizes == {"T": 1, "D": 1}
    x, w, dy = (np.array(c.inputs[n]) for n in ("x", "w", "dy"))

    def loss(a: np.ndarray) -> float:
        y = a / np.sqrt((a**2).mean(axis=1, keepdims=True) + c.attrs["eps"]) * w
        return float((y * dy).sum())

    h = 1e-5
    step = np.zeros_like(x)
    step[c.element] = h
    assert c.derived == pytest.approx((loss(x + step) - loss(x - step)) / (2 * h), rel=1e-6)
    r = 1 / np.sqrt(x[0, 0] ** 2 + c.attrs["eps"])
    assert c.claimed == pytest.approx(r * (dy[0, 0] * w[0] - x[0, 0] * r**2 * dy[0, 0] * x[0, 0]))


@pytest.mark.parametrize(
    ("wrong", "kind"),
    [
        ("dw[d] = -sum[t](dy[t, d] * x[t, d])", "sign"),
        ("dw[d] = sum[t](dy[t, d])", "missing factor"),
        ("dw[d] = mean[t](dy[t, d] * x[t, d])", "a mean's divisor"),
        ("dw[d] = sum[t](dy[t, d] * y[t, d])", "input for output"),
        ("dw[d] = sum[t](x[t, d])", "upstream gradient dropped"),
    ],
)
def test_a_mistake_is_named_and_the_right_formula_is_given_in_the_authors_names(wrong: str, kind: str) -> None:
    v = verdicts(SCALE, wrong)["dw"]
    assert v.level == "REFUTED"
    if kind == "input for output":  # which of the two was written is said
        assert v.classification in ("input for output", "output for input")
    else:
        assert v.classification == kind
    assert verdicts(SCALE, v.right_formula)["dw"].level == "EXACT"
    assert {"dw"} <= {s.tensor for s in parse(v.right_formula) if hasattr(s, "tensor")}
    assert v.differing


def test_the_gradient_of_another_input_is_recognised() -> None:
    forward = """
    dims: {N: }
    tensors: {a: [N], b: [N], y: [N]}
    forward: |
      y[i] = a[i] * b[i] ** 2
"""
    v = verdicts(forward, "da[i] = dy[i] * 2 * a[i] * b[i]")["da"]
    assert v.level == "REFUTED"
    assert v.classification == "wrong variable: this is the gradient of b"


def test_a_dropped_path_is_named() -> None:
    forward = """
    dims: {T: , D: }
    tensors: {x: [T, D], y: [T, D]}
    forward: |
      m[t] = mean[d](x[t, d])
      y[t, d] = (x[t, d] - m[t]) * x[t, d]
"""
    v = verdicts(forward, "dx[t, d] = dy[t, d] * (2 * x[t, d] - m[t])")["dx"]
    assert v.level == "REFUTED"
    assert v.classification == "dropped path: through x in m"


@pytest.mark.parametrize(
    ("text", "right"),
    [
        ("dw[d] = sum(dy[t, d] * x[t, d])", "sum over t"),
        ("dw[d] = dy[t, d] * x[t, d]", "a sum over t is meant"),
        ("dw[d] = sum[t](dy[t, d] * x_in[t, d])", "x_in is x"),
        ("dw = sum(dy * x)", "sum over"),
    ],
)
def test_a_text_that_leaves_something_open_is_ambiguous_and_the_right_reading_is_named(text: str, right: str) -> None:
    v = verdicts(SCALE, text)["dw"]
    assert v.level == "AMBIGUOUS"
    good = [what for what, level in v.readings if level == "EXACT"]
    bad = [what for what, level in v.readings if level == "REFUTED"]
    assert bad
    assert any(right in what for what in good)
    assert right in v.method


def test_an_open_text_without_a_right_reading_is_refuted() -> None:
    v = verdicts(SCALE, "dw[d] = -sum(dy[t, d] * x[t, d])")["dw"]
    assert v.level == "REFUTED"
    assert len(v.readings) == 2
    assert "none of 2 readings" in v.method


def test_a_name_assigned_twice_means_its_latest_value_and_is_a_finding() -> None:
    a = audit_of(SCALE, "dx[t, d] = dy[t, d]\ndx[t, d] = dx[t, d] * w[d]")
    assert [v.level for v in a.verdicts] == ["EXACT"]
    assert any("assigned 2 times" in f.what for f in a.findings)
    assert a.findings[0].span is not None


def test_findings_of_form_have_their_place_in_the_file() -> None:
    a = audit_of(SCALE, "dw[d] = sum[t](dy[t, d] * q[t, d])")
    spot = next(f for f in a.findings if "'q'" in f.what).span
    assert spot is not None
    lines = "cases:\n  - name: case" + SCALE.rstrip() + "\n    gradient: |\n      dw[d] = sum[t](dy[t, d] * q[t, d])\n"
    assert lines.split("\n")[spot.line - 1][spot.column - 1 :].startswith("q[t, d]")


def test_a_reviewers_open_name_is_tried_as_everything_it_may_mean() -> None:
    forward = SCALE + "    open: {v: [x, w]}\n"
    v = verdicts(forward, "dx[t, d] = dy[t, d] * v[d]")["dx"]
    assert v.level in ("EXACT", "AMBIGUOUS")
    assert any(what == "v is w" and level == "EXACT" for what, level in v.readings) or v.level == "EXACT"


def test_a_text_that_assigns_no_gradient_is_a_located_error() -> None:
    with pytest.raises(SpecError, match=r"case.yaml:7:15: nothing says which tensor is a gradient"):
        audit_of(SCALE, "q[d] = sum[t](dy[t, d])")


def test_a_gradient_whose_line_cannot_be_read_is_undecided_with_a_finding() -> None:
    a = audit_of(SCALE, "dx[t, d] = dy[t, d] * w[d]\ndw[d] = sum_t x y")
    assert {v.output: v.level for v in a.verdicts} == {"dx": "EXACT", "dw": "UNDECIDED"}
    assert any("not valid syntax" in f.what for f in a.findings)


def test_a_spent_budget_is_undecided() -> None:
    v = verdicts(RMS, RIGHT_RMS, budget=1e-9)["dx"]
    assert v.level == "UNDECIDED"
    assert "budget" in v.method


@pytest.mark.parametrize("seed", range(5))
def test_no_verdict_depends_on_the_seed(seed: int) -> None:
    hard = """
    dims: {N: }
    tensors: {x: [N], y: [N]}
    forward: |
      y[i] = where(x[i] > 2, x[i] ** 2, 4 * x[i] - 4)
"""
    assert verdicts(hard, "dx[i] = dy[i] * where(x[i] > 2, 2 * x[i], 4)", seed=seed)["dx"].level == "EXACT"
    assert verdicts(hard, "dx[i] = dy[i] * where(x[i] > 2.5, 2 * x[i], 4)", seed=seed)["dx"].level == "REFUTED"


@pytest.mark.parametrize(
    ("default", "forward", "gradient"),
    [
        ("scale 1", "y[i] = s * x[i]", "dx[i] = dy[i]"),
        ("eps 0", "y[i] = x[i] / (x[i] ** 2 + s)", "dx[i] = -dy[i] / x[i] ** 2"),
    ],
)
def test_formulas_right_only_at_defaults_are_refuted(default: str, forward: str, gradient: str) -> None:
    case = f"""
    dims: {{N: }}
    attrs: {{s: {{type: float, where: "s > 0"}}}}
    tensors: {{x: [N], y: [N]}}
    forward: |
      {forward}
"""
    assert verdicts(case, gradient)["dx"].level == "REFUTED", default


def test_what_is_right_at_small_sizes_only_is_never_more_than_exact() -> None:
    factor = " * ".join(f"({k} - N)" for k in range(1, 9))
    case = """
    dims: {N: }
    tensors: {x: [N], y: [N]}
    forward: |
      y[i] = x[i] ** 2
"""
    v = verdicts(case, f"dx[i] = dy[i] * x[i] * (2 + {factor})", prover=prover())["dx"]
    assert v.level in ("EXACT", "REFUTED")
    if v.level == "EXACT":
        assert max(s["N"] for s in v.sizes) <= 8


def test_boundary_points_are_compared_with_the_declared_convention() -> None:
    case = """
    dims: {N: }
    boundary: {relu: "0"}
    tensors: {x: [N], y: [N]}
    forward: |
      y[i] = relu(x[i])
"""
    wrong = dict(verdicts(case, "dx[i] = where(x[i] >= 0, dy[i], 0)")["dx"].boundary)
    right = dict(verdicts(case, "dx[i] = where(x[i] > 0, dy[i], 0)")["dx"].boundary)
    assert "CONTRADICTS" in wrong["x = 0"]
    assert "CONTRADICTS" not in right["x = 0"]


def test_an_expression_that_cancels_is_not_taken_for_a_difference() -> None:
    """A softmax over one element is 1: both sides are 0 up to rounding, whatever the inputs."""
    case = """
    dims: {T: , N: {where: "N == 1"}}
    inputs: {x: [-60, 60]}
    tensors: {x: [T, N], y: [T, N]}
    forward: |
      y[t, i] = exp(x[t, i]) / sum[j](exp(x[t, j]))
"""
    assert verdicts(case, "dx[t, i] = 0 * dy[t, i]")["dx"].level in ("EXACT", "NUMERIC")
