"""Which elements statements take: diagonals of what a stage makes, and the place of the largest element, NaN included."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.plan.on_twin import assert_right
from tests.plan.test_schedule import alternatives, spec

needs_compiler = pytest.mark.skipif(shutil.which("g++") is None, reason="no C++ compiler")
TARGET = ("Ascend910B", 5)
PAIR = {"p": ("in", "A, n, n"), "q": ("in", "A, n, n")}
DIAGONAL = "c[a, i, j] = sum[k](p[a, i, k] * q[a, k, j])\n"


def test_a_diagonal_of_what_a_stage_makes_is_read_in_another_stage() -> None:
    made = alternatives({**PAIR, "y": ("out", "A, n")}, DIAGONAL + "y[a, i] = c[a, i, i] + 1.0")
    assert "full" not in made
    assert all(len(a.stages) > 1 for a in made.values())


@needs_compiler
def test_diagonals_and_places_are_right(tmp_path: Path) -> None:
    params = {**PAIR, "x": ("in", "A, B"), **{f"y{k}": ("out", s) for k, s in enumerate(("A, n", "A", "A, B", "A", "A"))}}
    text = DIAGONAL + """
y0[a, i] = c[a, i, i] + 1.0
y1[a] = sum[i](c[a, i, i])
most[a] = argmax[b](x[a, b])
least[a] = argmin[b](x[a, b] * x[a, b] - x[a, b])
y2[a, b] = where(b == most[a], 1.0, 0.0) + where(b == least[a], 2.0, 0.0)
y3[a] = x[a, most[a]]
y4[a] = max[b](x[a, b])
"""
    checked = spec(params, text)
    sizes = [{"A": 1, "B": 1, "n": 4}, {"A": 37, "B": 131, "n": 6}]
    assert_right(checked, tmp_path, TARGET, *sizes)
    for value in ("nan", "inf", "-inf"):
        assert_right(checked, tmp_path, TARGET, sizes[1], special=("x", value))
