"""What a case costs: evaluation points of the formula and elements of its tensors."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping

from generator.formula.ir import (
    Assign,
    Attr,
    Binary,
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
from generator.twin.verify.shapes import numel_of

__all__ = ["children", "elements", "points", "walk"]


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


def _expression_points(expr: Expr, env: Mapping[str, int]) -> int:
    """Points of the largest reduction inside ``expr``, the outermost axes not counted."""
    inner = max((_expression_points(c, env) for c in children(expr)), default=1)
    if isinstance(expr, Reduce):
        inner *= math.prod(b.extent.evaluate(env) for b in expr.axes if b.extent is not None)
    return inner


def _statement_points(body: tuple[Stmt, ...], env: Mapping[str, int]) -> int:
    total = 0
    for stmt in body:
        if isinstance(stmt, For):
            start, stop = stmt.start.evaluate(env), stmt.stop.evaluate(env)
            trips = max(0, -((start - stop) // stmt.step))
            total += trips * max(_statement_points(stmt.body, {**env, stmt.var: v}) for v in (start, stop - stmt.step))
        elif isinstance(stmt, Assign):
            outer = math.prod(b.extent.evaluate(env) for b in stmt.axes if b.extent is not None)
            total += outer * _expression_points(stmt.value, env)
    return total


def points(program: Program, env: Mapping[str, int]) -> int:
    """Evaluation points of the formula: every statement's axes times its largest reduction, over all trips of loops."""
    return _statement_points(program.body, env)


def elements(program: Program, env: Mapping[str, int]) -> int:
    """Elements of all inputs and outputs."""
    return sum(numel_of(t, env) for t in (*program.inputs, *program.outputs))
