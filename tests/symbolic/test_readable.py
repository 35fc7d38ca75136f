"""What a proof leaves open or assumes is said in the author's names."""

from __future__ import annotations

import pytest

from generator.symbolic.proving import prover
from generator.symbolic.readable import readable
from tests.audit.corpus import cases, gradient_of, texts
from tests.symbolic.audits import verdicts


@pytest.mark.parametrize(
    ("key", "said"),
    [
        ("1*w[@0]+-1*x[$0.0,@0]", "w[i] - x[j,i]"),
        ("-1*x[@0]", "-x[i]"),
        ("2*x[@0]^2+-1/2*", "2*x[i]**2 - 1/2"),
        ("1*fwd_c[$0.0]+1*", "c[j] + 1"),
        ("1*", "1"),
    ],
)
def test_a_key_reads_as_a_formula(key: str, said: str) -> None:
    (text, *_) = texts(next(c for c in cases("activations") if c.name == "sigmoid"))
    assert readable(key, gradient_of(text), "dx") == said


def test_a_boundary_of_a_proof_names_the_axes_of_the_text() -> None:
    forward = """
    dims: {N: , M: }
    tensors: {x: [N, M], w: [M], y: [N, M]}
    forward: |
      y[i, j] = maximum(x[i, j], w[j])
"""
    v = verdicts(forward, "dw[c] = sum[i](where(x[i, c] >= w[c], 0, dy[i, c]))", prover=prover())["dw"]
    assert v.level == "PROVED"
    assert ("w[c] - x[i,c] = 0", "left open: the sides are equal off it") in v.boundary
