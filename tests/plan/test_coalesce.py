"""Axes that move together become one, where every access of their tensors agrees, and only then."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from generator.formula.ranges import bounds_of
from generator.plan.bounds import Bounds
from generator.plan.coalesce import coalesced
from generator.plan.normal import Normal, Red, normalise
from tests.plan.on_twin import assert_right
from tests.plan.test_schedule import spec

Params = dict[str, tuple[str, str]]


def merged(params: Params, formula: str) -> Normal:
    checked = spec(params, formula)
    return coalesced(normalise(checked.program, frozenset()), Bounds(bounds_of(checked)))


def axes(normal: Normal) -> list[list[str]]:
    """Per statement, the extents of its free and its reduced axes."""
    return [[str(b.extent) for b in (*s.axes, *(s.reduced if isinstance(s, Red) else ()))] for s in normal.body]  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("params", "formula", "expected"),
    [
        ({"x": ("in", "A, n"), "y": ("out", "A, n")}, "y[a, i] = x[a, i] * 2.0", [["A*n"]]),
        ({"x": ("in", "A, n, n"), "y": ("out", "A, n, n")}, "y[a, i, j] = exp(x[a, i, j])", [["A*n*n"]]),
        ({"x": ("in", "A, n, n"), "z": ("in", "A, n*n"), "y": ("out", "A, n, n")}, "y[a, i, j] = x[a, i, j] + z[a, (i, j)]", [["A*n*n"]]),
        ({"x": ("in", "A, n, n"), "w": ("in", "A"), "y": ("out", "A, n, n")}, "y[a, i, j] = x[a, i, j] * w[a]", [["A", "n*n"]]),
        ({"x": ("in", "A, n, n"), "y": ("out", "A")}, "y[a] = sum[i, j](x[a, i, j])", [["A", "n*n"], ["A"]]),
    ],
)
def test_what_moves_together_is_one_axis(params: Params, formula: str, expected: list[list[str]]) -> None:
    assert axes(merged(params, formula)) == expected


@pytest.mark.parametrize(
    ("params", "formula"),
    [
        ({"x": ("in", "A, n, n"), "y": ("out", "A, n, n")}, "y[a, i, j] = x[a, j, i]"),  # in another order
        ({"x": ("in", "A, n"), "y": ("out", "A, n")}, "y[a, i] = x[a, i] * i"),  # the index is a value
        ({"x": ("in", "A, n"), "w": ("in", "n"), "y": ("out", "A, n")}, "y[a, i] = x[a, i] * w[i]"),  # one alone
        ({"x": ("in", "A, B"), "y": ("out", "A, B")}, "y[a, b] = x[a, b] * 2.0"),  # long rows need it not
        ({"x": ("in", "A, n + 1"), "w": ("in", "n"), "y": ("out", "A, n")}, "y[a, i] = x[a, i] + w[0]"),  # rows not filled
        ({"x": ("in", "A, n"), "y": ("out", "A, n"), "z": ("out", "A, n")}, "y[a, i] = x[a, i]\nz[a, i] = x[a, i] + x[a, 0]"),
    ],
)
def test_what_moves_apart_stays(params: Params, formula: str) -> None:
    checked = spec(params, formula)
    before = normalise(checked.program, frozenset())
    assert axes(coalesced(before, Bounds(bounds_of(checked)))) == axes(before)


def test_a_position_along_an_axis_keeps_the_axis() -> None:
    formula = "k[a, i] = argmax[j](x[a, i, j])\ny[a, i] = where(k[a, i] == 1, 1.0, 0.0)"
    made = merged({"x": ("in", "A, n, n"), "y": ("out", "A, n")}, formula)
    assert ["A*n", "n"] in axes(made)


def test_the_memory_is_the_same() -> None:
    made = merged({"x": ("in", "A, n, n"), "w": ("in", "A"), "y": ("out", "A, n, n")}, "y[a, i, j] = x[a, i, j] * w[a]")
    assert [str(e) for e in made.tensors["x"].shape] == ["A", "n*n"]
    assert [str(e) for e in made.tensors["w"].shape] == ["A"]


@pytest.mark.skipif(shutil.which("g++") is None, reason="no C++ compiler")
def test_merged_axes_give_the_same_results(tmp_path: Path) -> None:
    checked = spec(
        {
            **{n: ("in", s) for n, s in {"x": "A, n, n", "z": "A, n*n", "h": "A, n", "w": "n, B", "v": "A, B, n"}.items()},
            **{f"y{k}": ("out", s) for k, s in enumerate(("A, n, n", "A, n*n", "A", "A, n", "A, B, n", "A, n, B"))},
        },
        """
y0[a, i, j] = x[a, i, j] * 2.0 - z[a, (i, j)]
y1[a, (i, j)] = x[a, i, j] + h[a, i]
y2[a] = max[i, j](x[a, i, j]) + sum[i, j](x[a, i, j] * z[a, (i, j)])
y3[a, i] = h[a, i] * h[a, i] + 1.0
y4[a, b, i] = maximum(v[a, b, i], 0.5)
y5[a, i, b] = h[a, i] * w[i, b] + v[a, b, i]
""",
    )
    assert_right(checked, tmp_path, ("Ascend950", 3), {"A": 1, "B": 1, "n": 4}, {"A": 67, "B": 13, "n": 6}, {"A": 2053, "B": 3, "n": 4})
