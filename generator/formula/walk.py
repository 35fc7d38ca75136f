"""Walking expressions (direct subexpressions, rebuilding, every node, load, symbol) and statements (first uses, loop variables)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace

from generator.formula.ir import (
    Binary,
    Call,
    Cast,
    Compare,
    Expr,
    For,
    Gather,
    Index,
    IntVal,
    Load,
    Logic,
    Neg,
    Not,
    Reduce,
    Span,
    Stmt,
    Where,
)
from generator.spec.integer import IntExpr

__all__ = ["children", "first_span", "first_use", "loads", "loop_variables", "rebuild", "symbols", "walk"]


def children(e: Expr) -> tuple[Expr, ...]:
    """Direct subexpressions; the loads inside gather indices count as subexpressions of their load."""
    match e:
        case Load():
            return tuple(i.load for i in e.indices if isinstance(i, Gather))
        case Neg(x=x) | Not(x=x) | Cast(x=x):
            return (x,)
        case Binary(a=a, b=b) | Compare(a=a, b=b) | Logic(a=a, b=b):
            return (a, b)
        case Call(args=args):
            return args
        case Where(cond=c, a=a, b=b):
            return (c, a, b)
        case Reduce(body=b, divisor=d):
            return (b,) if d is None else (b, d)
        case _:
            return ()


def rebuild(e: Expr, f: Callable[[Expr], Expr]) -> Expr:
    """``e`` with ``f`` applied to each direct subexpression."""
    match e:
        case Load():
            if not any(isinstance(i, Gather) for i in e.indices):
                return e
            new: list[Index] = []
            for i in e.indices:
                if isinstance(i, Gather):
                    inner = f(i.load)
                    assert isinstance(inner, Load)
                    new.append(replace(i, load=inner))
                else:
                    new.append(i)
            return replace(e, indices=tuple(new))
        case Neg(x=x) | Not(x=x) | Cast(x=x):
            return replace(e, x=f(x))
        case Binary(a=a, b=b) | Compare(a=a, b=b) | Logic(a=a, b=b):
            return replace(e, a=f(a), b=f(b))
        case Call(args=args):
            return replace(e, args=tuple(f(a) for a in args))
        case Where(cond=c, a=a, b=b):
            return replace(e, cond=f(c), a=f(a), b=f(b))
        case Reduce(body=b, divisor=d):
            return replace(e, body=f(b), divisor=None if d is None else f(d))
        case _:
            return e


def walk(e: Expr) -> Iterator[Expr]:
    """Every node, root first."""
    yield e
    for c in children(e):
        yield from walk(c)


def loads(e: Expr) -> Iterator[Load]:
    """Every load, gather indices included."""
    return (n for n in walk(e) if isinstance(n, Load))


def symbols(e: Expr) -> set[str]:
    """Names of integer symbols an expression without reductions depends on."""
    out: set[str] = set()
    for n in walk(e):
        if isinstance(n, IntVal):
            out |= n.value.free()
        elif isinstance(n, Load):
            for i in n.indices:
                if isinstance(i, IntExpr):
                    out |= i.free()
    return out


def first_use(body: Iterable[Stmt], tensor: str) -> Span | None:
    """Where a statement first reads or writes a tensor; where the statements begin when none does."""
    for s in body:
        if isinstance(s, For):
            found = first_use(s.body, tensor)
        else:
            read = next((ld.span for ld in loads(s.value) if ld.tensor == tensor), None)
            found = s.span if s.tensor == tensor else read
        if found is not None:
            return found
    return first_span(body)


def first_span(body: Iterable[Stmt]) -> Span | None:
    """Where the first statement stands."""
    return next((s.span for s in body if s.span is not None), None)


def loop_variables(body: Iterable[Stmt]) -> list[str]:
    """The variables of all loops, outer ones first."""
    return [v for s in body if isinstance(s, For) for v in (s.var, *loop_variables(s.body))]
