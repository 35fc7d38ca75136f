"""Derived gradients are as short as what a person writes: as text, and in operations against the corpus."""

from __future__ import annotations

import pytest

from generator.formula.ir import Program
from generator.formula.printer import text
from generator.symbolic.build import loads
from generator.symbolic.derive import derive
from generator.symbolic.keys import cost
from generator.symbolic.notation import Notation
from generator.symbolic.save import formula_of
from generator.symbolic.versions import assigned
from tests.audit.corpus import Case, cases, forward_of, gradient_of, texts
from tests.reference.specs import every
from tests.symbolic.forwards import FORWARDS
from tests.symbolic.test_derive import of

# cases in which a person knows something that derivation does not
KNOWN = {
    "celu": "a maximum and a minimum that are never both active",
    "circular_shift": "an index modulo the size, inverted",
    "conv_transpose": "a condition solved for a summed axis",
    "focal_loss": "a power with its exponent less one as a common factor",
    "hardsigmoid": "a clamp's bounds solved for the input",
    "huber": "a clamp that says both branches",
    "max_reduce": "ties shared in place of the first",
    "power_law": "a power from the output, undefined at 0",
    "product_reduce": "a product divided by a factor, undefined at 0",
    "rope_halves": "two halves as one formula",
    "segment_softmax": "labels trusted to be in range",
    "segment_mean_given_counts": "labels trusted to be in range",
    "segment_sum": "labels trusted to be in range",
    "softmax_entropy": "the output's definition substituted twice",
    "softsign": "x * sign(x) = abs(x)",
    "squared_relu": "relu(x) where x > 0 is relu(x)",
    "sum_pool": "a condition on residues",
    "upsample_linear_by_two": "four one-element windows as two",
}


def count(p: Program) -> int:
    """Operations of what the outputs need, per element, a reduction's body counted once."""
    wanted = {t.name for t in p.outputs}
    while True:
        size = len(wanted)
        for s, _ in assigned(p.body):
            wanted |= {x.tensor for x in loads(s.value)} if s.tensor in wanted else set()
        if len(wanted) == size:
            return sum(cost(s.value) for s, _ in assigned(p.body) if s.tensor in wanted)


def best(case: Case) -> int:
    return min(count(gradient_of(t)) for t in texts(case) if t.role in ("right", "rewrite"))


def mine(case: Case) -> int:
    f = forward_of(case)
    read = {x.name for t in texts(case) if t.role in ("right", "rewrite") for x in gradient_of(t).inputs}
    saved = {n: n for n in read if n in f.tensors and f.tensors[n].role != "input"}
    saved |= {f_: n for n, f_ in case.data.get("saved", {}).items()}
    cotangents = {y: n for n, y in case.data["cotangents"].items()}
    return count(derive(f, list(dict.fromkeys(case.data["gradients"].values())), cotangents, saved).program)


RIGHT = [c for c in cases() if not c.trap and c.right is None]


@pytest.mark.parametrize("case", [c for c in RIGHT if c.name not in KNOWN], ids=lambda c: c.name)
def test_a_derived_gradient_has_at_most_a_third_more_operations_than_the_best_known_formula(case: Case) -> None:
    assert mine(case) <= 1.3 * max(best(case), 1)


def formula(name: str) -> str:
    f = next(f for f in FORWARDS if f.name == name)
    return text(of(f.checked, f.saved).program, extents=False)


@pytest.mark.parametrize(
    ("name", "want"),
    [
        ("softmax", "grad_x[t, j] = y[t, j] * (grad_y[t, j] - sum[j](grad_y[t, j] * y[t, j]))\n"),
        ("log softmax", "grad_x[t, j] = grad_y[t, j] - exp(y[t, j]) * sum[j](grad_y[t, j])\n"),
        ("a log sum of exponentials", "grad_x[t, j] = grad_y[t] * exp(x[t, j] - y[t])\n"),
        (
            "a strided convolution",
            "grad_x[t] = sum[t1](grad_y[t1] * w[pad + t - s*t1])\ngrad_w[k] = sum[t](grad_y[t] * x[s*t + k - pad])\n",
        ),
        ("matmul", "grad_a[i, k] = sum[j](grad_y[i, j] * b[k, j])\ngrad_b[k, j] = sum[i](grad_y[i, j] * a[i, k])\n"),
        ("sigmoid", "y[t] = sigmoid(x[t])\ngrad_x[t] = grad_y[t] * y[t] * (1 - y[t])\n"),
    ],
)
def test_a_gradient_reads_as_a_person_writes_it(name: str, want: str) -> None:
    assert formula(name) == want


def test_the_gradient_of_an_alternating_normalisation_is_its_loop_in_reverse_on_what_it_saves() -> None:
    name = next(n for n, c in every().items() if c.spec.forward is None and "norm[0, t, i, j]" in c.spec.formula)
    checked = every()[name]
    d = of(checked, ("norm", "sums"))
    said = formula_of(d.program, Notation.of(checked)).splitlines()
    assert [line for line in said if "grad_norm" not in line and "grad_sums" not in line]
    assert "exp" not in "".join(said)
    assert "max" not in "".join(said)
