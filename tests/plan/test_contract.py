"""Which sums of products are matrix products on views, from index notation alone."""

from __future__ import annotations

from pathlib import Path

import pytest

from generator.formula.checked import check
from generator.plan.assemble import presence_sets
from generator.plan.axes import flat, unify
from generator.plan.contract import Contraction, contraction, factors
from generator.plan.normal import Red, normalise
from generator.spec.integer import const, sym

HEAD = """\
name: Probe
family: probe
summary: {en: probe, zh: probe}
"""


def found(dims: str, tensors: dict[str, str], formula: str) -> Contraction | str:
    """What the formula's one sum is; every tensor but the last is an input."""
    lines = [HEAD, "dims:\n", *(f"  {d}: {{}}\n" for d in dims.split() if d != "s"), "params:\n"]
    for k, (name, shape) in enumerate(tensors.items()):
        io = "out" if k == len(tensors) - 1 else "in"
        lines.append(
            f"  - {{symbol: {name}, name: {name}, aclnn: {name}, io: {io}, shape: [{shape}], dtype: float32, about: {{en: t, zh: t}}}}\n"
        )
    if "s" in dims.split():
        lines.append("  - {symbol: s, name: s, aclnn: s, io: attr, type: int, default: 0, where: s >= 0, about: {en: t, zh: t}}\n")
    lines.append("formula: |\n" + "".join(f"  {line}\n" for line in formula.strip().splitlines()))
    checked = check("".join(lines), Path("probe.yaml"))
    program = checked.program
    taken = [*program.dims, *program.int_attrs, *program.tensors]
    normal = unify(normalise(program, presence_sets(checked)[0]), taken)
    (red,) = [x for x in flat(normal.body) if isinstance(x, Red)]
    return contraction(red, normal.tensors)


def product_of(dims: str, tensors: dict[str, str], formula: str) -> Contraction:
    c = found(dims, tensors, formula)
    assert isinstance(c, Contraction), c
    return c


@pytest.mark.parametrize(
    ("a", "b", "load_a", "load_b", "transposed"),
    [
        ("M, K", "K, N", "a[m, k]", "b[k, n]", (False, False)),
        ("K, M", "K, N", "a[k, m]", "b[k, n]", (True, False)),
        ("M, K", "N, K", "a[m, k]", "b[n, k]", (False, True)),
        ("K, M", "N, K", "a[k, m]", "b[n, k]", (True, True)),
    ],
)
def test_either_operand_may_be_stored_transposed(a: str, b: str, load_a: str, load_b: str, transposed: tuple[bool, bool]) -> None:
    c = product_of("M N K", {"a": a, "b": b, "y": "M, N"}, f"y[m, n] = sum[k]({load_a} * {load_b})")
    assert (c.a.transposed, c.b.transposed) == transposed
    assert (c.rows.extent, c.columns.extent, c.inner.extent) == (sym("M"), sym("N"), sym("K"))
    assert c.pitch == sym("N")
    assert not c.items
    assert not c.taps


def test_the_factor_with_the_contiguous_axis_of_the_result_is_the_right_one() -> None:
    c = product_of("M N K", {"a": "M, K", "b": "K, N", "y": "N, M"}, "y[n, m] = sum[k](a[m, k] * b[k, n])")
    assert (c.a.tensor, c.b.tensor) == ("b", "a")
    assert (c.rows.extent, c.columns.extent) == (sym("N"), sym("M"))


def test_axes_of_both_factors_and_the_result_are_a_batch() -> None:
    c = product_of("B M N K", {"p": "B, M, K", "q": "B, K, N", "y": "B, M, N"}, "y[b, m, n] = sum[k](p[b, m, k] * q[b, k, n])")
    assert [x.name for x in c.items] == ["b"]
    assert c.batch == sym("B")


def test_rows_that_lie_one_after_another_count_as_one_axis() -> None:
    c = product_of("B M N K", {"p": "B, M, K", "q": "K, N", "y": "B, M, N"}, "y[b, m, n] = sum[k](p[b, m, k] * q[k, n])")
    assert [x.name for x in c.rows.axes] == ["b", "m"]
    assert c.rows.extent == sym("B") * sym("M")
    assert not c.items


def test_reduced_axes_that_lie_one_after_another_in_both_factors_count_as_one() -> None:
    c = product_of("T B M N", {"a": "T, B, M", "b": "T, B, N", "y": "M, N"}, "y[m, n] = sum[t, b](a[t, b, m] * b[t, b, n])")
    assert c.inner.extent == sym("T") * sym("B")
    assert c.a.transposed


def test_a_window_is_one_shifted_product_a_tap() -> None:
    c = product_of(
        "T N C O K s",
        {"x": "T, N, C", "w": "K, C, O", "y": "T, N, O"},
        "y[t, b, o] = sum[k, c](x[t + k - s, b, c] * w[k, c, o])",
    )
    assert [x.name for x in c.taps] == ["k"]
    assert [x.name for x in c.rows.axes] == ["t", "b"]
    assert c.inner.extent == sym("C")
    assert [g.index for g in c.a.guards] == [sym("t") + sym("k") - sym("s")]
    assert not c.b.guards


def test_a_window_over_a_stride_keeps_its_rows_apart() -> None:
    c = product_of(
        "T N C O K",
        {"x": "2*T + K, N, C", "w": "K, C, O", "y": "T, N, O"},
        "y[t, b, o] = sum[k, c](x[2*t + k, b, c] * w[k, c, o])",
    )
    assert len(c.rows.axes) == 1  # (t, b) do not follow each other in x
    assert {x.name for x in c.items} | {x.name for x in c.rows.axes} == {"t", "b"}


def test_a_guarded_reduced_axis_is_the_outermost_of_the_inner_one() -> None:
    c = product_of(
        "T H N C O s",
        {"x": "H, N, C", "g": "T, N, O", "y": "3, C, O"},
        "y[k: 3, c, o] = sum[t, b](x[t + k - s, b, c] * g[t, b, o])",
    )
    assert [x.name for x in c.inner.axes] == ["t", "b"]
    assert [x.name for x in c.items] == ["k"]


def test_a_vector_is_a_matrix_of_one_row() -> None:
    c = product_of("N K", {"a": "K", "b": "K, N", "y": "N"}, "y[n] = sum[k](a[k] * b[k, n])")
    assert c.rows.extent == const(1)
    assert c.columns.extent == sym("N")


@pytest.mark.parametrize(
    ("dims", "tensors", "formula", "why"),
    [
        ("M K", {"a": "M, K", "y": "M"}, "y[m] = sum[k](a[m, k])", "two tensors"),
        ("M N K", {"a": "M, K", "b": "N", "y": "M, N"}, "y[m, n] = sum[k](a[m, k] * b[n] * b[n])", "two tensors"),
        ("M N K L", {"a": "M, K, L", "b": "K, N", "y": "M, N"}, "y[m, n] = sum[k, l](a[m, k, l] * b[k, n])", "one factor only"),
        ("M N K", {"a": "M, K, 2", "b": "K, 2, N, 2", "y": "M, N"}, "y[m, n] = sum[k](a[m, k, 0] * b[k, 0, n, 0])", "contiguous"),
        ("B M N K", {"p": "B, M, K", "q": "B, K, N", "y": "M, N, B"}, "y[m, n, b] = sum[k](p[b, m, k] * q[b, k, n])", "contiguous"),
    ],
)
def test_other_sums_say_why_they_are_none(dims: str, tensors: dict[str, str], formula: str, why: str) -> None:
    c = found(dims, tensors, formula)
    assert isinstance(c, str)
    assert why in c or "no operand order" in c


def test_factors_are_listed_left_to_right() -> None:
    from generator.formula.ir import Binary, Num

    x, y, z = Num(1.0), Num(2.0), Num(3.0)
    assert factors(Binary("mul", Binary("mul", x, y), z)) == (x, y, z)
    assert factors(Binary("add", x, y)) == (Binary("add", x, y),)
