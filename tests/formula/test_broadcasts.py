"""Broadcast packs: how they are read, what they stand for, how they are written again, and what is refused where."""

from __future__ import annotations

import pytest

from generator.formula.broadcasts import broadcasts_of, contracted, expanded
from generator.formula.checked import check
from generator.formula.latex import latex
from generator.formula.parse import parse
from generator.formula.printer import text
from generator.plan import plan
from generator.plan.tiles import Refusal
from generator.spec.errors import SpecError
from tests.formula.specs import checked, complaints, spec, tensor

XWY = [tensor("x", "in", '["*b", D]'), tensor("w", "in", '["*b", D]'), tensor("y", "out", '["*b", D]')]
BACK = [
    tensor("dy", "in", '["*b", D]'),
    tensor("x", "in", '["*b", D]'),
    tensor("w", "in", '["*b", D]'),
    tensor("dx", "out", '["*b & x", D]'),
]
LIST = "broadcast: [b]"
NAMED = "broadcast: {b: [x, w]}"
GOOD = "y[*b, j] = x[*b, j] * w[*b, j]"


def test_a_pack_stands_for_groups_of_axes_by_the_inputs_that_have_them() -> None:
    p = checked(GOOD, XWY, "D", LIST).program
    shapes = {n: [str(e) for e in t.shape] for n, t in p.tensors.items()}
    assert shapes["x"] == ["numel_b_x", "numel_b_w_x", "D"]
    assert shapes["w"] == ["numel_b_w", "numel_b_w_x", "D"]
    assert shapes["y"] == ["numel_b_w", "numel_b_x", "numel_b_w_x", "D"]


def test_the_order_in_which_inputs_are_named_does_not_matter() -> None:
    other = checked(GOOD, XWY, "D", "broadcast: {b: [w, x]}")
    assert other.program == checked(GOOD, XWY, "D", NAMED).program == checked(GOOD, XWY, "D", LIST).program


def test_an_input_that_is_not_named_has_all_axes() -> None:
    p = checked("dx[*b, j] = sum[*b - x](dy[*b, j] * w[*b, j])", BACK, "D", NAMED).program
    assert p.tensors["dy"].shape == checked(GOOD, XWY, "D", LIST).program.tensors["y"].shape
    assert p.tensors["dx"].shape == p.tensors["x"].shape


def test_an_intermediate_has_all_axes_or_those_it_says() -> None:
    own = checked("r[*b & x] = sum[j](x[*b, j])\ny[*b, j] = r[*b] + w[*b, j]", XWY, "D", LIST).program
    every = checked("r[*b] = sum[j](x[*b, j])\ny[*b, j] = r[*b] + w[*b, j]", XWY, "D", LIST).program
    assert [str(e) for e in own.tensors["r"].shape] == ["numel_b_x", "numel_b_w_x"]
    assert [str(e) for e in every.tensors["r"].shape] == ["numel_b_w", "numel_b_x", "numel_b_w_x"]


@pytest.mark.parametrize(
    ("said", "packs"),
    [
        ("b", ["b_w", "b_x", "b_w_x"]),
        ("b & x", ["b_x", "b_w_x"]),
        ("b - x", ["b_w"]),
        ("b & x & w", ["b_w_x"]),
        ("b & x - w", ["b_x"]),
        ("b - x - w", []),
        ("(b - x) | (b - w)", ["b_w", "b_x"]),
    ],
)
def test_expressions_name_sets_of_axes(said: str, packs: list[str]) -> None:
    (b,) = broadcasts_of(checked(GOOD, XWY, "D", LIST).spec)
    assert list(b.named(said)) == packs


@pytest.mark.parametrize(
    "formula",
    [
        GOOD,
        "y[*b, j] = sum[*b](x[*b, j] * w[*b, j])",
        "r[*b & x, j] = sum[*b - x](w[*b, j] * x[*b, j])\ny[*b, j] = r[*b & x, j] + w[*b, j]",
        "r[*b & x & w] = sum[*b & x - w, j](x[*b, j])\ny[*b, j] = r[*b & w & x] * w[*b, j]",
        "for i in range(0, D, 1):\n    t[*b, i] = max[*b - w](x[*b, i])",
    ],
)
def test_what_is_written_again_is_what_was_read(formula: str) -> None:
    broadcasts = broadcasts_of(checked(GOOD, XWY, "D", LIST).spec)
    once, said = expanded(parse(formula), broadcasts, strict=False)
    again, _ = expanded(contracted(once, broadcasts), broadcasts, strict=False)
    assert said == []
    assert "*b" in text(contracted(once, broadcasts))
    assert "b_w" not in text(contracted(once, broadcasts))
    assert text(again) == text(once)


def test_three_inputs_have_seven_groups_and_five_are_refused() -> None:
    names = ["u", "v", "w", "x", "z"]
    params = [tensor(n, "in", '["*b", D]') for n in names] + [tensor("y", "out", '["*b", D]')]
    p = checked("y[*b, j] = u[*b, j] * v[*b, j] + w[*b, j]", [*params[:3], params[-1]], "D", LIST).program
    assert len(p.tensors["y"].shape) == 8
    assert len(p.tensors["u"].shape) == 5
    (said,) = complaints("y[*b, j] = u[*b, j] + v[*b, j]", params, "D", LIST)
    assert said == "too many inputs, or none, are broadcast together: 5 for '*b': 1 to 4"


def test_latex_says_over_which_axes() -> None:
    (stmt,) = parse("dx[*b] = sum[*b - x](dy[*b])")
    assert r"\sum_{\mathbf{b \setminus x}}" in latex([stmt])


@pytest.mark.parametrize(
    ("formula", "what", "column"),
    [
        ("dx[*b, j] = dy[*b, j]", "not every axis of '*b' of 'dy' is bound here", 15),
        ("dx[*b, j] = sum[*b - q](dy[*b, j])", "no input of '*b' has this name: 'q'", 15),
        ("dx[*b, j] = sum[*c - x](dy[*b, j])", "no broadcast pack has this name: '*c - x'", 15),
        ("dx[*b, j] = argmax[*b - x](dy[*b, j])", "'argmax' over a broadcast pack has no order", 15),
        ("dx[*b, j] = sum[*b - x](dy[(*b, j)])", "a broadcast pack is not part of a product", 30),
        ("dx[*b, j] = sum[*(b + x)](dy[*b, j])", "this is no pack of axes: '*(b + x)'", 19),
    ],
)
def test_a_wrong_use_is_refused_at_its_place(formula: str, what: str, column: int) -> None:
    with pytest.raises(SpecError) as caught:
        check(spec(formula, BACK, "D", NAMED), "case.yaml")
    first = caught.value.problems[0]
    assert f"{first.what}: {first.value}".startswith(what)
    line = spec(formula, BACK, "D", NAMED).split("\n").index("formula: |") + 2
    assert (first.line, first.column) == (line, column)
    assert first.right


@pytest.mark.parametrize(
    ("params", "sections", "what"),
    [
        (XWY, "broadcast: [c]", "no tensor has this pack of axes: 'c'"),
        (XWY, "broadcast: {b: [x, v]}", "no input with '*b' has this name: 'v'"),
        (XWY, "broadcast: {b: [x, y]}", "no input with '*b' has this name: 'y'"),
        (XWY, "broadcast: {b: []}", "too many inputs, or none, are broadcast together: 0 for '*b'"),
        ([*XWY[:2], tensor("y", "out", '["*b & v", D]')], LIST, "no input of '*b' has this name: 'v'"),
        ([*XWY[:2], tensor("y", "out", '["*b & x", D]')], "", "the pack is not a broadcast pack: '*b & x'"),
        ([XWY[0], tensor("w", "in", '["*b & x", D]'), XWY[2]], LIST, "some axes of a broadcast pack are for outputs: '*b & x'"),
        ([*XWY[:2], tensor("y", "inout", '["*b", D]')], LIST, "an in-place tensor is not broadcast: 'y' has '*b'"),
    ],
)
def test_a_wrong_declaration_is_refused(params: list[str], sections: str, what: str) -> None:
    assert any(c.startswith(what) for c in complaints(GOOD, params, "D", sections)), complaints(GOOD, params, "D", sections)


def test_kernels_of_broadcast_tensors_are_refused_where_the_first_stands() -> None:
    with pytest.raises(Refusal, match=r"'\*b' is broadcast") as caught:
        plan(checked(GOOD, XWY, "D", LIST))
    assert caught.value.span is not None
    assert caught.value.span.column == 14
