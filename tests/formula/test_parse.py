"""The parser takes the subset and nothing else, and says where."""

from __future__ import annotations

import pytest

from generator.formula.ir import Assign, Attr, Binary, Bound, For, Load, Logic, Pack, Product, Reduce, Segment, Span
from generator.formula.parse import UNSTATED, FormulaError, parse
from generator.spec.integer import const, sym


def value(text: str) -> object:
    (stmt,) = parse(f"y = {text}")
    assert isinstance(stmt, Assign)
    return stmt.value


def test_every_node_knows_its_line_and_column() -> None:
    first, second = parse("y[t] = x[t]\nz[t] = y[t] + x[t]")
    assert isinstance(first, Assign)
    assert isinstance(second, Assign)
    assert (first.span, second.span) == (Span(1, 1), Span(2, 1))
    assert isinstance(second.value, Binary)
    assert second.value.b.span == Span(2, 15)


def test_columns_count_characters_not_bytes() -> None:
    with pytest.raises(FormulaError) as caught:
        parse("y[t] = é[t] + lambda_(x[t])")
    assert caught.value.findings[0].column == 15


def test_a_reduction_is_known_by_its_call_position() -> None:
    assert value("sum[k](x[k])") == Reduce("sum", (Bound("k"),), Load("x", (sym("k"),)))
    assert value("sum[k]") == Load("sum", (sym("k"),))


def test_an_axis_may_state_its_extent() -> None:
    assert value("max[k: 2*K, j](x[k, j])") == Reduce("max", (Bound("k", sym("K") * 2), Bound("j")), Load("x", (sym("k"), sym("j"))))


def test_products_segments_and_packs_are_indices() -> None:
    assert value("x[(i, d)]") == Load("x", (Product((sym("i"), sym("d"))),))
    assert value("x[(i), (d)]") == Load("x", (sym("i"), sym("d")))
    assert value("x[res(i, j), *b]") == Load("x", (Segment("res", (sym("i"), sym("j"))), Pack("b")))


def test_a_chained_comparison_is_a_conjunction() -> None:
    assert isinstance(value("0 <= a < 1"), Logic)


def test_a_bare_name_is_left_to_resolution() -> None:
    assert value("eps") == Attr("eps")


def test_a_range_has_one_to_three_bounds() -> None:
    (loop,) = parse("for r in range(n):\n    y[r] = 1")
    assert isinstance(loop, For)
    assert (loop.start, loop.stop, loop.step) == (const(0), sym("n"), 1)
    (loop,) = parse("for r in range(n - 1, 0, -2):\n    y[r] = 1")
    assert isinstance(loop, For)
    assert loop.step == -2


def test_all_faults_of_a_text_are_found_at_once() -> None:
    with pytest.raises(FormulaError) as caught:
        parse("y[t] = lambda: 1\nz[t] = (x[t]\nw[t] = x[t] @ x[t]\nv[t] = sqrrt(x[t])")
    assert [f.line for f in caught.value.findings] == [1, 2, 3, 4]


def test_relaxed_reading_returns_what_it_could_read() -> None:
    parsed = parse("y[t] = x[t]\ny[t] = x[t]\nq = lambda: 1", relaxed=True)
    assert len(parsed.body) == 2
    assert [f.line for f in parsed.findings] == [3]
    assert parse("what is this?", relaxed=True).body == ()


@pytest.mark.parametrize(
    "text", ["", "# nothing", "x", "y[t] = x[t] = 1", "import os", "y[t] = __import__('os')", "del y", "y[t] = {1: 2}", "y[t] = True"]
)
def test_other_python_is_refused(text: str) -> None:
    with pytest.raises(FormulaError):
        parse(text)


def test_deep_nesting_is_refused_not_a_crash() -> None:
    with pytest.raises(FormulaError):
        parse("y[t] = " + "(" * 90 + "x[t]" + " + 1)" * 90 + " + 1" * 500)
    with pytest.raises(FormulaError):
        parse("y[t] = " + "-" * 5000 + "x[t]")


def test_a_published_loop_may_leave_its_range_open() -> None:
    text = "for r in range(...):\n    a[t] = a[t] * x[r, t]"
    found = parse(text, relaxed=True)
    loop = found.body[0]
    assert isinstance(loop, For)
    assert (loop.start.symbol, loop.stop.symbol, len(loop.body)) == (UNSTATED, UNSTATED, 1)
    assert [f.what for f in found.findings] == ["the loop gives neither range nor direction"]
    with pytest.raises(FormulaError):
        parse(text)
