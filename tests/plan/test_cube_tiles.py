"""Cube tiles at any sizes: within the capacities, together the whole result, wide where rows are few."""

from __future__ import annotations

from functools import cache

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from generator.emit.solve import solve
from generator.plan import plan
from generator.plan.tree import Alternative
from tests.plan.test_products import spec
from tests.plan.test_schedule import controls

UB = {"Ascend910B": 196608, "Ascend950": 253952}
L0C = {"Ascend910B": 131072, "Ascend950": 262144}  # bytes (facts.md C.1)
L0A = L0B = 65536
L1 = 524288 - 1024
WIDTH = {"float32": 4, "bfloat16": 2}


@cache
def product(dtype: str) -> Alternative:
    checked = spec({"p": ("M, K", dtype), "q": ("K, N", dtype), "y": ("M, N", "float32")}, "y[m, n] = sum[k](p[m, k] * q[k, n])")
    return next(a for a in plan(checked).kernels[0].alternatives if a.mixed)


def tiled(dtype: str, product_name: str, cores: int, m: int, n: int, k: int) -> dict[str, int] | None:
    """The stage's tiling fields without its name; None where the cube does not pay."""
    found = solve(product(dtype), {"M": m, "N": n, "K": k}, cores, UB[product_name])
    if isinstance(found, str):
        assert "does not hold" in found
        return None
    name = product(dtype).stages[0].name
    return {f.removeprefix(name): v for f, v in found.fields.items() if f.startswith(name)}


SIZE = st.one_of(st.integers(64, 700), st.sampled_from([1024, 4096, 10240, 9999, 65536]))


@settings(max_examples=300, deadline=None)
@given(st.sampled_from(sorted(WIDTH)), st.sampled_from(sorted(UB)), st.sampled_from([2, 40, 48, 64]), SIZE, SIZE, SIZE)
def test_tiles_fit_and_cover_the_result(dtype: str, name: str, cores: int, m: int, n: int, k: int) -> None:
    f = tiled(dtype, name, cores, m, n, k)
    if f is None:
        return
    width = WIDTH[dtype]
    for base in (f["BaseM"], f["BaseN"], f["BaseK"]):
        assert base % 16 == 0
        assert base > 0
    assert f["BaseM"] * f["BaseN"] * 4 <= L0C[name]
    assert f["BaseM"] * f["BaseK"] * width * 2 <= L0A
    assert f["BaseN"] * f["BaseK"] * width * 2 <= L0B
    assert f["L1"] <= L1
    assert (f["Panels"] - 1) * f["BaseN"] < n <= f["Panels"] * f["BaseN"]
    assert (f["RowTiles"] - 1) * f["BaseM"] < m <= f["RowTiles"] * f["BaseM"]
    assert f["Work"] == f["Panels"] * f["RowTiles"]


def test_few_rows_make_wide_tiles_and_keep_the_right_operand_read_once() -> None:
    f = tiled("bfloat16", "Ascend910B", 48, 72, 10240, 4096)
    assert f is not None
    assert f["RowTiles"] == 1
    assert f["BaseN"] > 256


@pytest.mark.parametrize(("m", "n"), [(16384, 128), (128, 16384)])
def test_a_long_side_is_divided_among_the_cores(m: int, n: int) -> None:
    f = tiled("bfloat16", "Ascend910B", 48, m, n, 4096)
    assert f is not None
    assert f["Work"] >= 18  # three quarters of 24 cube cores


# --- beside vector stages -------------------------------------------------------------------------------------------------


BESIDE = {"p": ("T, K", "bfloat16"), "q": ("T, N", "bfloat16"), "e": ("T, M", "float32"), "yp": ("K, N", "float32")}


@cache
def beside(steps: int) -> Alternative:
    """A product with few rows, and a vector stage of that many exponentials an element that has nothing to do with it."""
    nested = "e[t, m]"
    for _ in range(steps):
        nested = f"exp(-{nested})"
    tensors = {**BESIDE, **({"yv": ("T, M", "float32")} if steps else {})}
    lines = [f"yv[t, m] = {nested}"] if steps else []
    checked = spec(tensors, "\n".join([*lines, "yp[k, n] = sum[t](p[t, k] * q[t, n])"]))
    return next(a for a in plan(checked).kernels[0].alternatives if a.mixed)


def panels(steps: int, m: int, cores: int = 64) -> int:
    made = beside(steps)
    found = solve(made, {"T": 4096, "K": 72, "N": 10240, "M": m}, cores, UB["Ascend950"])
    assert not isinstance(found, str), found
    return found.fields["ypPanels"]


def test_a_cube_stage_runs_while_vector_stages_it_does_not_need_run() -> None:
    made = beside(1)
    first = made.stages.index(next(s for s in made.stages if s.matmul is not None))
    order = controls(made.body)
    assert order.index(first) < order.index(1 - first)
    assert "sync" not in order[order.index(first) : order.index(1 - first)]


def test_cores_are_spared_only_where_the_vector_cores_take_longer_anyhow() -> None:
    alone = panels(0, 1)
    assert alone == panels(1, 1)  # a vector stage of next to nothing
    assert panels(4, 65536) < alone


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 5), st.sampled_from([16, 4096, 30000, 65536, 200000]), st.sampled_from([8, 48, 64]))
def test_the_cube_stage_ends_before_them(steps: int, m: int, cores: int) -> None:
    count = panels(steps, m, cores)
    if count >= -(-cores * 3 // 8):
        return  # all the cores it would have taken alone
    vector = steps * 4096 * m / 64 / cores  # cycles of a core at 64 lanes a cycle, the least they can be
    columns = -(-10240 // count) + 16
    assert (columns + 72) * 4096 * 2 / 31 <= vector * 1.25  # bytes a cycle of one cube core (facts.md D)
