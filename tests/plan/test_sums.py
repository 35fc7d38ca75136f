"""Sums whose products are added in place: which instructions they become, and that no value is lost to a tile used again."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from generator.plan.tree import Alternative, Loop, Node
from tests.plan.on_twin import assert_right
from tests.plan.test_reuse import calls
from tests.plan.test_schedule import alternatives, spec

needs_compiler = pytest.mark.skipif(shutil.which("g++") is None, reason="no C++ compiler")
CHAIN = {n: ("in", s) for n, s in {"x": "A, n, B", "h": "A, n", "q": "A, B", "w": "n, B", "z": "A, n"}.items()}
CHAINED = "y[a, i, b] = q[a, b] * h[a, i] + x[a, i, b] * w[i, b] - z[a, i] * x[a, i, b] + x[a, i, b]"


def blocks(nodes: tuple[Node, ...]) -> Iterator[Node]:
    """Every node inside loops too."""
    for n in nodes:
        yield n
        if isinstance(n, Loop):
            yield from blocks(n.body)


def apis(a: Alternative) -> list[str]:
    return [c.api for s in a.stages for c in calls(s.body)]


def test_products_are_added_to_a_sum_without_a_tile_between() -> None:
    names = {"x": ("in", "A, B"), "w": ("in", "B"), "u": ("in", "A, B"), "y": ("out", "A, B")}
    made = alternatives(names, "y[a, b] = x[a, b] * w[b] + u[a, b] * x[a, b]")["full"]
    assert "Add" not in apis(made)
    assert "MulAddDst" in apis(made)
    assert not [b for b in made.stages[0].buffers if b.kind == "calc"]  # the sum grows in the buffer it leaves from


def test_what_is_subtracted_is_negated_where_it_is_small_and_once() -> None:
    made = alternatives({**CHAIN, "y": ("out", "A, n, B")}, CHAINED)["full"]
    assert "Sub" not in apis(made)
    (stage,) = made.stages
    (inner,) = [n for n in blocks(stage.body) if isinstance(n, Loop) and n.var == "i"]
    assert "Muls" in apis(made)
    assert not {"Muls", "Brcb"} & {c.api for c in calls(inner.body)}  # not again for every value of i


def test_a_difference_of_whole_tiles_keeps_its_subtraction() -> None:
    names = {"x": ("in", "A, B"), "u": ("in", "A, B"), "y": ("out", "A, B")}
    made = alternatives(names, "y[a, b] = exp(x[a, b]) - u[a, b] * x[a, b]")["full"]
    assert "Sub" in apis(made)


def test_elements_that_are_spread_one_by_one_are_loaded_without_padding() -> None:
    names = {"m": ("in", "A, n"), "p": ("in", "n, B"), "y": ("out", "A, B")}
    (stage,) = alternatives(names, "y[a, b] = sum[k](m[a, k] * p[k, b])")["full"].stages
    (held,) = [b for b in stage.buffers if b.holds == "mIn"]
    (rows,) = [t.name for t in stage.tiles if t.name.endswith("ATile")]
    assert held.bytes.evaluate({rows: 64, "n": 6}) == 64 * 6 * 4


@needs_compiler
def test_sums_in_place_are_right(tmp_path: Path) -> None:
    params = {
        **CHAIN,
        "v": ("in", "A, B"),
        **{f"y{k}": ("out", s) for k, s in enumerate(("A, n, B", "A, B", "A, B", "A, B", "A, B"))},
    }
    checked = spec(
        params,
        f"""
{CHAINED.replace("y[", "y0[")}
y1[a, b] = v[a, b] - v[a, b] * (v[a, b] * 3.0) + q[a, b]
u[a, b] = exp(-abs(v[a, b])) * q[a, b]
y2[a, b] = u[a, b] * v[a, b] - u[a, b] + q[a, b] * u[a, b]
g[a, b] = v[a, b] * 0.5
for r in range(0, 3):
    g[a, b] = g[a, b] * q[a, b] - g[a, b] * v[a, b] + v[a, b]
y3[a, b] = g[a, b]
c[a, b] = maximum(v[a, b], 0.0)
y4[a, b] = q[a, b] - c[a, b] * sum[i](h[a, i] * w[i, b]) + sum[i](z[a, i] * w[i, b]) * v[a, b]
""",
    )
    assert_right(checked, tmp_path, ("Ascend910B", 5), {"A": 1, "B": 1, "n": 4}, {"A": 131, "B": 77, "n": 6}, {"A": 17, "B": 1031, "n": 4})
