"""What a case costs: evaluation points of the formula and elements of its tensors."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping

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
    IntVal,
    Load,
    Logic,
    Neg,
    Not,
    Num,
    Program,
    Reduce,
    Stmt,
    Where,
)
from generator.spec.integer import IntExpr
from generator.twin.verify.shapes import numel_of

__all__ = ["children", "cost", "elements", "points", "walk"]


def children(expr: Expr) -> tuple[Expr, ...]:
    """The direct subexpressions, gathered indices included."""
    match expr:
        case Num() | Attr() | IntVal():
            return ()
        case Load(indices=indices):
            return tuple(i.load for i in indices if isinstance(i, Gather))
        case Neg(x=x) | Not(x=x) | Cast(x=x):
            return (x,)
        case Binary(a=a, b=b) | Compare(a=a, b=b) | Logic(a=a, b=b):
            return (a, b)
        case Call(args=args):
            return args
        case Where(cond=cond, a=a, b=b):
            return (cond, a, b)
        case Reduce(body=body, divisor=divisor):
            return (body,) if divisor is None else (body, divisor)


def walk(expr: Expr) -> Iterator[Expr]:
    """The expression and everything inside it."""
    yield expr
    for child in children(expr):
        yield from walk(child)


def _bound(axes: Mapping[str, int], bounds: tuple[Bound, ...], env: Mapping[str, int]) -> dict[str, int]:
    return {**axes, **{b.name: b.extent.evaluate(env) for b in bounds if b.extent is not None}}


def _names(expr: Expr) -> frozenset[str]:
    """Names of axes, sizes and loop variables that the value of ``expr`` depends on."""
    own: frozenset[str] = frozenset()
    if isinstance(expr, Load):
        own = frozenset().union(*(i.free() for i in expr.indices if isinstance(i, IntExpr)))
    elif isinstance(expr, IntVal):
        own = expr.value.free()
    inner = own.union(*map(_names, children(expr)))
    return inner - {b.name for b in expr.axes} if isinstance(expr, Reduce) else inner


def _reductions(expr: Expr, axes: Mapping[str, int], env: Mapping[str, int]) -> int:
    """Points of all reductions inside ``expr``: each runs over its own axes and the outer ones that its body uses."""
    total = 0
    if isinstance(expr, Reduce):
        axes = _bound(axes, expr.axes, env)
        used = _names(expr.body) | {b.name for b in expr.axes}
        total = math.prod(extent for name, extent in axes.items() if name in used)
    return total + sum(_reductions(c, axes, env) for c in children(expr))


def _statement_points(body: tuple[Stmt, ...], env: Mapping[str, int]) -> int:
    total = 0
    for stmt in body:
        if isinstance(stmt, For):
            start, stop = stmt.start.evaluate(env), stmt.stop.evaluate(env)
            trips = max(0, -((start - stop) // stmt.step))
            total += trips * max(_statement_points(stmt.body, {**env, stmt.var: v}) for v in (start, stop - stmt.step))
        elif isinstance(stmt, Assign):
            axes = _bound({}, stmt.axes, env)
            total += math.prod(axes.values()) + _reductions(stmt.value, axes, env)
    return total


def points(program: Program, env: Mapping[str, int]) -> int:
    """Evaluation points of the formula: those of every statement's axes and of its reductions, over all trips of loops."""
    return _statement_points(program.body, env)


def elements(program: Program, env: Mapping[str, int]) -> int:
    """Elements of all inputs and outputs."""
    return sum(numel_of(t, env) for t in (*program.inputs, *program.outputs))


def cost(program: Program, env: Mapping[str, int]) -> int:
    """What running and judging a case takes: evaluation points, and elements made, moved and compared."""
    return points(program, env) + elements(program, env)
