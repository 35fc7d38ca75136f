"""The covering array: complete, lawful, within budget, repeatable."""

from __future__ import annotations

import itertools
from math import prod

from hypothesis import given, settings
from hypothesis import strategies as st

from generator.twin.verify.covering import Factor, Row, cover, pairs_of


def anything(_: Row) -> bool:
    return True


def free(_: Row) -> float:
    return 0.0


def every_legal_pair(factors: list[Factor], allowed) -> int:
    """Pairs of values that stand together in some legal full row, by enumeration."""
    rows = [dict(zip([f.name for f in factors], values, strict=True)) for values in itertools.product(*(f.values for f in factors))]
    return len(pairs_of(factors, [r for r in rows if allowed(r)]))


def test_every_pair_of_values_stands_in_some_row() -> None:
    factors = [Factor("a", (1, 2, 3)), Factor("b", ("x", "y")), Factor("c", (True, False)), Factor("d", (5, 6, 7, 8))]
    array = cover(factors, anything, free, 1, seed=1)
    assert array.pairs == array.covered == 3 * 2 + 3 * 2 + 3 * 4 + 2 * 2 + 2 * 4 + 2 * 4
    assert len(pairs_of(factors, array.rows)) == array.pairs


def test_far_fewer_rows_than_combinations_are_needed() -> None:
    factors = [Factor(str(k), tuple(range(4))) for k in range(8)]
    array = cover(factors, anything, free, 1, seed=1)
    assert array.covered == array.pairs
    assert 16 <= len(array.rows) <= 40  # 65536 combinations; 16 rows is the least possible


def test_the_same_seed_gives_the_same_rows() -> None:
    factors = [Factor("a", (1, 2, 3)), Factor("b", (1, 2, 3)), Factor("c", (1, 2))]
    assert cover(factors, anything, free, 1, seed=7).rows == cover(factors, anything, free, 1, seed=7).rows


def test_no_row_breaks_a_constraint_and_impossible_pairs_are_counted() -> None:
    factors = [Factor("a", (1, 2, 3)), Factor("b", (1, 2, 3)), Factor("c", (0, 1))]

    def allowed(row: Row) -> bool:
        return "a" not in row or "b" not in row or row["a"] != row["b"]

    array = cover(factors, allowed, free, 1, seed=3)
    assert all(r["a"] != r["b"] for r in array.rows)
    assert array.impossible == 3
    assert array.covered == array.pairs == 3 * 3 - 3 + 3 * 2 + 3 * 2


def test_a_constraint_that_only_a_third_factor_makes_impossible_is_found() -> None:
    factors = [Factor("a", (0, 1)), Factor("b", (0, 1)), Factor("c", (0, 1))]

    def allowed(row: Row) -> bool:  # a and b together leave no value for c
        return not (row.get("a") == 1 and row.get("b") == 1 and "c" in row)

    array = cover(factors, allowed, free, 1, seed=3)
    assert array.impossible == 1
    assert array.covered == array.pairs == 11


def test_pairs_beyond_the_budget_are_left_out_and_counted() -> None:
    factors = [Factor("rows", (1, 10, 100)), Factor("columns", (1, 10, 100)), Factor("k", (0, 1))]

    def cost(row: Row) -> float:
        return float(prod(int(str(row.get(n, 1))) for n in ("rows", "columns")))

    array = cover(factors, anything, cost, 1000, seed=1)
    assert array.dear == 1
    assert array.covered == array.pairs == 9 - 1 + 6 + 6
    assert all(cost(r) <= 1000 for r in array.rows)
    assert not array.over_budget


def test_listed_pairs_get_a_row_even_beyond_the_budget_as_cheap_as_can_be() -> None:
    factors = [Factor("rows", (1, 100), listed=True), Factor("columns", (1, 100), listed=True), Factor("depth", (1, 2, 50))]

    def cost(row: Row) -> float:
        return float(prod(int(str(row.get(n, 1))) for n in ("rows", "columns", "depth")))

    array = cover(factors, anything, cost, 5000, seed=1)
    (over,) = array.over_budget
    assert array.rows[over] == {"rows": 100, "columns": 100, "depth": 1}
    assert array.dear == 0
    assert array.covered == array.pairs


def test_one_factor_alone_gives_one_row_for_each_legal_value() -> None:
    array = cover([Factor("a", (1, 2, 3))], lambda r: r["a"] != 2, free, 1, seed=1)
    assert [r["a"] for r in array.rows] == [1, 3]


@settings(max_examples=30, deadline=None)
@given(st.lists(st.integers(1, 4), min_size=2, max_size=5), st.sets(st.tuples(st.integers(0, 3), st.integers(0, 3)), max_size=4))
def test_coverage_equals_what_enumeration_says_is_legal(sizes: list[int], forbidden: set[tuple[int, int]]) -> None:
    factors = [Factor(f"f{k}", tuple(range(n))) for k, n in enumerate(sizes)]

    def allowed(row: Row) -> bool:
        return (row.get("f0", -1), row.get("f1", -1)) not in forbidden

    array = cover(factors, allowed, free, 1, seed=5)
    assert array.covered == array.pairs == every_legal_pair(factors, allowed)
    assert all(allowed(r) for r in array.rows)
