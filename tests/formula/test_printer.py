"""The printer's text reads back as the tree it was printed from."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from generator.formula.functions import FUNCTIONS
from generator.formula.ir import (
    Assign,
    Attr,
    Binary,
    Bound,
    Call,
    Cast,
    Compare,
    Expr,
    For,
    Gather,
    Index,
    Load,
    Logic,
    Neg,
    Not,
    Num,
    Pack,
    Product,
    Reduce,
    Segment,
    Stmt,
    Where,
)
from generator.formula.parse import parse
from generator.formula.printer import expression, text
from generator.spec.integer import IntExpr, const, floor_div, min_of, mod, sym

NAMES = st.sampled_from(["a", "b", "grad_x", "sum", "max", "T", "x1"])
AXES = st.sampled_from(["i", "j", "t", "k"])


def integers() -> st.SearchStrategy[IntExpr]:
    leaf = st.one_of(st.integers(0, 9).map(const), st.sampled_from(["i", "j", "n", "r"]).map(sym))
    return st.recursive(
        leaf,
        lambda inner: st.one_of(
            st.builds(lambda a, b: a + b, inner, inner),
            st.builds(lambda a, b: a - b, inner, inner),
            st.builds(lambda a, b: a * b, inner, inner),
            st.builds(floor_div, inner, st.integers(2, 5)),
            st.builds(mod, inner, st.integers(2, 5)),
            st.builds(min_of, inner, inner),
        ),
        max_leaves=5,
    )


def indices() -> st.SearchStrategy[Index]:
    flat = st.one_of(integers(), st.builds(Pack, AXES))
    nested = st.one_of(
        integers(),
        st.builds(lambda p: Product(tuple(p)), st.lists(integers(), min_size=2, max_size=3)),
        st.builds(lambda n, p: Segment(n, tuple(p)), st.sampled_from(["pre", "res"]), st.lists(integers(), max_size=2)),
        st.builds(lambda t, i: Gather(Load(t, tuple(i))), NAMES, st.lists(flat, min_size=1, max_size=2)),
    )
    return st.one_of(flat, nested)


def loads() -> st.SearchStrategy[Expr]:
    return st.builds(lambda t, i: Load(t, tuple(i)), NAMES, st.lists(indices(), min_size=1, max_size=3))


def bounds() -> st.SearchStrategy[tuple[Bound, ...]]:
    one = st.builds(Bound, AXES, st.one_of(st.none(), integers()))
    return st.lists(one, min_size=1, max_size=3, unique_by=lambda b: b.name).map(tuple)


def extend(inner: st.SearchStrategy[Expr]) -> st.SearchStrategy[Expr]:
    def call(name: str, args: list[Expr]) -> Expr:
        return Call(name, tuple(args[: FUNCTIONS[name].arity]))

    reductions = st.sampled_from(["sum", "prod", "max", "min", "mean", "any", "all", "argmax", "argmin"])
    return st.one_of(
        st.builds(Neg, inner),
        st.builds(Not, inner),
        st.builds(Binary, st.sampled_from(["add", "sub", "mul", "div", "pow", "floordiv", "mod"]), inner, inner),
        st.builds(Compare, st.sampled_from(["lt", "le", "gt", "ge", "eq", "ne"]), inner, inner),
        st.builds(Logic, st.sampled_from(["and", "or"]), inner, inner),
        st.builds(Where, inner, inner, inner),
        st.builds(Cast, st.sampled_from(["float16", "bfloat16", "int32"]), inner),
        st.builds(call, st.sampled_from(sorted(FUNCTIONS)), st.lists(inner, min_size=2, max_size=2)),
        st.builds(Reduce, reductions, bounds(), inner),
        st.builds(lambda b, x, d: Reduce("mean", b, x, d), bounds(), inner, inner),
    )


def expressions() -> st.SearchStrategy[Expr]:
    numbers = st.one_of(st.integers(0, 1000), st.floats(0, 1e30, allow_nan=False)).map(Num)
    return st.recursive(st.one_of(numbers, st.builds(Attr, st.sampled_from(["eps", "scale", "t"])), loads()), extend, max_leaves=12)


def statements() -> st.SearchStrategy[Stmt]:
    assign = st.builds(lambda t, i, e: Assign(t, tuple(i), e), NAMES, st.lists(indices(), max_size=3), expressions())
    loop = st.builds(
        lambda v, a, b, s, body: For(v, a, b, s, tuple(body)),
        st.sampled_from(["r", "q"]),
        integers(),
        integers(),
        st.sampled_from([1, -1, 2, -3]),
        st.lists(assign, min_size=1, max_size=2),
    )
    return st.one_of(assign, loop)


@settings(max_examples=300, deadline=None)
@given(st.lists(statements(), min_size=1, max_size=3).map(tuple))
def test_text_of_a_surface_program_parses_to_the_same_program(body: tuple[Stmt, ...]) -> None:
    assert parse(text(body)) == body


@settings(max_examples=100, deadline=None)
@given(st.lists(statements(), min_size=1, max_size=2).map(tuple))
def test_printing_is_stable(body: tuple[Stmt, ...]) -> None:
    once = text(body)
    assert text(parse(once)) == once


def test_only_needed_parentheses_are_printed() -> None:
    for said in (
        "a[t] - (b[t] - c[t])",
        "(a[t] + b[t]) * c[t]",
        "-a[t] ** 2",
        "(-a[t]) ** 2",
        "not (p[t] and q[t]) or r[t]",
        "a[t] / (b[t] * c[t])",
        "x[(i, d)]",
    ):
        (stmt,) = parse(f"y[t] = {said}")
        assert isinstance(stmt, Assign)
        assert expression(stmt.value) == said


def test_a_number_keeps_the_author_s_spelling() -> None:
    assert text(parse("y[t] = 1.0e-6 * x[t]")) == "y[t] = 1.0e-6 * x[t]\n"
