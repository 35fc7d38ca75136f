"""Pruning: what a spec's bounds decide is decided before printing, and nothing else is."""

from __future__ import annotations

from generator.plan.prune import interval, prune
from generator.plan.tree import Call, Cond, If, Int, Let, Loop
from generator.spec.integer import IntExpr, ceil_div, const, floor_div, max_of, min_of, mod, sym

BOUNDS = {"n": (4, 8), "T": (0, None)}
N, T = sym("n"), sym("T")


def call(count: IntExpr) -> Call:
    return Call("Add", (Int(count),), "V")


def test_an_interval_is_computed_through_sums_products_and_functions() -> None:
    assert interval(N * 3 - 2, BOUNDS) == (10, 22)
    assert interval(const(5) - N, BOUNDS) == (-3, 1)
    assert interval(N * T, BOUNDS) == (0, None)
    assert interval(ceil_div(N, 8), BOUNDS) == (1, 1)
    assert interval(floor_div(N, 3), BOUNDS) == (1, 2)
    assert interval(mod(T, 7), BOUNDS) == (0, 6)
    assert interval(min_of(N, T), BOUNDS) == (0, 8)
    assert interval(max_of(N, T), BOUNDS) == (4, None)
    assert interval(sym("unknown"), BOUNDS) == (None, None)


def test_a_loop_of_one_round_becomes_its_body_at_the_first_value() -> None:
    col = sym("col")
    loop = Loop("col", const(0), N, const(64), (call(min_of(const(64), N - col) + col),))
    assert prune((loop,), BOUNDS) == (call(N),)


def test_a_loop_that_may_run_twice_or_never_stays() -> None:
    twice = Loop("col", const(0), N, const(7), (call(sym("col")),))
    never = Loop("col", const(0), T, const(64), (call(sym("col")),))
    assert prune((twice, never), BOUNDS) == (twice, never)


def test_a_loop_of_one_round_stays_when_its_body_declares_a_name() -> None:
    loop = Loop("col", const(0), N, const(64), (Let("width", N - sym("col")),))
    assert prune((loop,), BOUNDS) == (loop,)


def test_a_branch_that_is_decided_leaves_the_side_taken() -> None:
    small, large = call(const(1)), call(const(2))
    assert prune((If((Cond("<=", ceil_div(N, 8) * 8, const(2040)),), (small,), (large,)),), BOUNDS) == (small,)
    assert prune((If((Cond(">", N, const(8)),), (small,), (large,)),), BOUNDS) == (large,)


def test_a_branch_that_depends_stays() -> None:
    branch = If((Cond(">", N, const(4)),), (call(const(1)),), (call(const(2)),))
    assert prune((branch,), BOUNDS) == (branch,)


def test_a_loop_variable_hides_a_dim_of_the_same_name() -> None:
    inner = If((Cond("<=", sym("n"), const(8)),), (call(const(1)),), (call(const(2)),))
    loop = Loop("n", const(0), T, const(1), (inner,))
    assert prune((loop,), BOUNDS) == (loop,)
