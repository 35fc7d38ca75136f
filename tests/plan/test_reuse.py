"""What a stage loads again and what it loads once: rows, strips, small axes looped inside a tile, sums added up in place."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, is_dataclass

import pytest

from generator.emit.solve import choose, solve
from generator.emit.timing import stage_times
from generator.plan import tree as t
from tests.plan.test_schedule import alternatives

UB = {"Ascend910B": 196608, "Ascend950": 253952}
Params = dict[str, tuple[str, str]]


def moved(params: Params, formula: str, sizes: dict[str, int], cores: int = 40) -> float:
    """Modelled bytes of all stages on all cores."""
    made = list(alternatives(params, formula).values())
    solved, reasons = choose(made, sizes, cores, UB["Ascend910B"])
    assert solved is not None, reasons
    return sum(s.bytes for s in stage_times(made[solved.index], solved, sizes, cores, UB["Ascend910B"]))


def test_what_lacks_the_rows_is_loaded_once_a_strip() -> None:
    a, b, cores = 4096, 512, 40
    got = moved({"x": ("in", "A, B"), "g": ("in", "B"), "y": ("out", "A, B")}, "y[a, b] = x[a, b] * g[b]", {"A": a, "B": b}, cores)
    assert 4 * (2 * a * b + b) < got <= 4 * (2 * a * b + 2 * cores * b)  # a core's share is of one strip, or ends in a second


@pytest.mark.parametrize("n", [4, 6])
def test_what_lacks_a_small_axis_is_loaded_once_for_all_of_it(n: int) -> None:
    params = {"x": ("in", "A, n, B"), "h": ("in", "A, B"), "w": ("in", "n, B"), "y": ("out", "A, n, B")}
    a, b, cores = 2048, 512, 40
    got = moved(params, "y[a, i, b] = x[a, i, b] * w[i, b] + h[a, b]", {"A": a, "B": b, "n": n}, cores)
    assert got <= 4 * (2 * a * n * b + a * b + 2 * cores * n * b)


def calls(value: object) -> Iterator[t.Call]:
    if isinstance(value, t.Call):
        yield value
    elif isinstance(value, tuple):
        for v in value:
            yield from calls(v)
    elif is_dataclass(value):
        for f in fields(value):
            yield from calls(getattr(value, f.name))


SUM: Params = {"p": ("in", "A, n"), "q": ("in", "n, B"), "y": ("out", "A, B")}


def test_a_short_sum_of_products_is_added_up_without_a_tile_of_its_products() -> None:
    made = alternatives(SUM, "y[a, b] = sum[i](p[a, i] * q[i, b])")["full"]
    (stage,) = made.stages
    apis = {c.api for c in calls(stage.body)}
    assert "MulAddDst" in apis
    assert not apis & {"Mul", "Add"}
    solved = solve(made, {"A": 4096, "B": 512, "n": 6}, 40, UB["Ascend910B"])
    assert not isinstance(solved, str), solved
    tiles = solved.stages[0].tiles
    most = max(size for name, size, _ in solved.stages[0].buffers if name.startswith("calc"))
    rows, lanes = tiles[f"{stage.name}ATile"], tiles[f"{stage.name}BTile"]
    assert most <= 4 * rows * max(lanes, 8 * 8)  # a tile of results, or of factors spread over blocks; not of rows x n x lanes


def test_a_sum_along_the_lanes_or_of_one_factor_is_reduced_as_before() -> None:
    made = alternatives({"x": ("in", "A, B"), "g": ("in", "B"), "y": ("out", "A")}, "y[a] = sum[b](x[a, b] * g[b])")
    assert all(c.api != "MulAddDst" for a in made.values() for s in a.stages for c in calls(s.body))


def test_rows_of_such_a_sum_are_the_repeats_of_its_instructions() -> None:
    made = alternatives(SUM, "y[a, b] = sum[i](p[a, i] * q[i, b])")["full"]
    solved = solve(made, {"A": 4096, "B": 4096, "n": 6}, 40, UB["Ascend910B"])
    assert not isinstance(solved, str), solved
    (tiles,) = [s.tiles for s in solved.stages]
    name = made.stages[0].name
    assert tiles[f"{name}BTile"] == 128
    assert tiles[f"{name}ATile"] > 64


@pytest.mark.parametrize("b", [65, 1000, 2560, 5001, 10240])
def test_tiles_are_of_like_length(b: int) -> None:
    made = alternatives({"x": ("in", "A, B"), "y": ("out", "A, B")}, "y[a, b] = exp(x[a, b])")["full"]
    solved = solve(made, {"A": 1, "B": b}, 1, 16384)
    assert not isinstance(solved, str), solved
    tile = solved.stages[0].tiles[f"{made.stages[0].name}BTile"]
    number = -(-b // tile)
    assert tile - 8 < -(-b // number) <= tile


def test_a_long_axis_beside_short_lanes_is_walked_many_rows_at_a_time() -> None:
    made = list(alternatives({"x": ("in", "A, n"), "y": ("out", "n")}, "y[i] = sum[a](x[a, i])").values())
    sizes = {"A": 65536, "n": 6}
    solved, reasons = choose(made, sizes, 40, UB["Ascend910B"])
    assert solved is not None, reasons
    times = stage_times(made[solved.index], solved, sizes, 40, UB["Ascend910B"])
    one_by_one = -(-65536 // 40) * 26  # an instruction for each row of a core starts so many times
    assert max(s.vector for s in times) < one_by_one / 8


@pytest.mark.parametrize(("b", "rows"), [(80, 64), (4096, 2)])
def test_rows_of_a_column_sum_come_in_chunks_whatever_their_length(b: int, rows: int) -> None:
    made = alternatives({"x": ("in", "A, B"), "y": ("out", "B")}, "y[b] = sum[a](x[a, b])")["walked"]
    solved = solve(made, {"A": 65536, "B": b}, 40, UB["Ascend910B"])
    assert not isinstance(solved, str), solved
    part = next(s for s in solved.stages if s.name.endswith("Part"))
    (lanes, chunk) = part.tiles.values()
    assert lanes == b
    assert chunk >= rows


CAUSAL = "y[a, b] = sum[k: n](x[a, b + k - n + 1] * w[a, k])"


def test_a_window_that_leaves_its_tensor_is_loaded_by_copies_that_pad() -> None:
    made = alternatives({"x": ("in", "A, B"), "w": ("in", "A, n"), "y": ("out", "A, B")}, CAUSAL)["full"]
    apis = [c.api for s in made.stages for c in calls(s.body)]
    assert "Gather" not in apis
    assert "CreateVecIndex" not in apis


def test_few_rows_leave_the_lanes_long() -> None:
    made = alternatives({"x": ("in", "A, B"), "g": ("in", "A"), "y": ("out", "A, B")}, "y[a, b] = x[a, b] * g[a]")["full"]
    found = {}
    for rows in (1, 2, 4096):
        solved = solve(made, {"A": rows, "B": 4096}, 1, UB["Ascend910B"])
        assert not isinstance(solved, str), solved
        found[rows] = next(v for k, v in solved.stages[0].tiles.items() if k.endswith("BTile"))
    assert found == {1: 4096, 2: 4096, 4096: 128}


@pytest.mark.parametrize("a", [4096, 8192, 10000, 16384])
def test_every_core_has_as_many_row_tiles(a: int) -> None:
    params = {"x": ("in", "A, B"), "w": ("in", "A"), "y": ("out", "A, B")}
    made = alternatives(params, "y[a, b] = exp(x[a, b]) * w[a]")["full"]
    solved = solve(made, {"A": a, "B": 128}, 48, UB["Ascend910B"])
    assert not isinstance(solved, str), solved
    name = made.stages[0].name
    rows = solved.stages[0].tiles[f"{name}ATile"]
    assert solved.fields[f"{name}Per"] * rows <= 1.15 * a / 48
