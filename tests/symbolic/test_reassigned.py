"""Names that a text assigns more than once: what counts as assigning them again."""

from __future__ import annotations

import pytest

from generator.formula.parse import parse
from generator.symbolic.reassigned import in_order


@pytest.mark.parametrize(
    "text",
    [
        "z[t, pre(i)] = x[t, i]\nz[t, post(i)] = y[t, i]\nout[t, k] = z[t, k]",
        "z[0] = x[0]\nz[1] = x[1]\nout[k] = z[k]",
        "z[2*k] = x[k]\nz[2*k + 1] = y[k]\nout[j] = z[j]",
    ],
)
def test_parts_of_one_tensor_are_not_assignments_again(text: str) -> None:
    body = parse(text)
    ordered, said, other = in_order(body, "out")
    assert ordered == body
    assert said == []
    assert other is None


def test_a_product_of_axes_is_the_whole_dim() -> None:
    _, said, _ = in_order(parse("z[k, (i, d)] = x[k, i, d]\nz[k, (i, d)] = z[k, (i, d)] + y[i, d]\nout[k, c] = z[k, c]"), "out")
    assert [f.kind for f in said] == ["overloaded name"]
