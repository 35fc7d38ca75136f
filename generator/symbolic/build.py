"""Building blocks for rewriting resolved expressions: constructors that fold, traversal, substitution, fresh axis names.

Axis names made here end in ``~`` and a number, so that no two axes of a derivation share a name and substitution never
captures; ``naming.prettify`` gives them back readable names.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace

from generator.formula.infer import children
from generator.formula.ir import (
    Binary,
    BinOp,
    Bound,
    Call,
    Cast,
    Compare,
    Expr,
    Gather,
    Index,
    IntVal,
    Load,
    Logic,
    Neg,
    Not,
    Num,
    Reduce,
    Where,
)
from generator.spec.integer import IntExpr, sym

__all__ = [
    "ONE",
    "ZERO",
    "Fresh",
    "add",
    "all_of",
    "div",
    "free",
    "index_free",
    "is_num",
    "loads",
    "mul",
    "neg",
    "num",
    "number_of",
    "rebuild",
    "sub",
    "substitute",
    "substitute_index",
    "where",
]

ZERO = Num(0, "0")
ONE = Num(1, "1")


class Fresh:
    """A supply of axis names: ``name("j")`` is ``j~1``, then ``j~2``."""

    def __init__(self) -> None:
        self._count = itertools.count(1)

    def name(self, base: str) -> str:
        """A name nobody has, said after ``base``."""
        return f"{base.partition('~')[0]}~{next(self._count)}"


def num(value: float | int) -> Num:
    """A literal; whole numbers print without a point."""
    whole = float(value).is_integer() and abs(value) < 1e15
    return Num(int(value), str(int(value))) if whole else Num(float(value), repr(float(value)))


def is_num(e: Expr, value: float) -> bool:
    """Whether ``e`` is the constant ``value``."""
    return number_of(e) == value


def number_of(e: Expr) -> float | None:
    """The value of a constant expression node, else None."""
    if isinstance(e, Num):
        return float(e.value)
    if isinstance(e, IntVal) and e.value.value is not None:
        return float(e.value.value)
    if isinstance(e, Neg):
        inner = number_of(e.x)
        return None if inner is None else -inner
    return None


def neg(x: Expr) -> Expr:
    """``-x``."""
    if isinstance(x, Neg):
        return x.x
    if isinstance(x, Num):
        return x if x.value == 0 else num(-x.value)
    if isinstance(x, IntVal) and x.value.value is not None:
        return IntVal(-x.value)
    return Neg(x)


def add(a: Expr, b: Expr) -> Expr:
    """``a + b``."""
    if is_num(a, 0):
        return b
    if is_num(b, 0):
        return a
    if isinstance(b, Neg):
        return Binary("sub", a, b.x)
    if isinstance(b, Num) and b.value < 0:
        return Binary("sub", a, neg(b))
    return Binary("add", a, b)


def sub(a: Expr, b: Expr) -> Expr:
    """``a - b``."""
    return add(a, neg(b))


def mul(a: Expr, b: Expr) -> Expr:
    """``a * b``; a choice between 1 and 0 chooses the other factor instead."""
    if is_num(a, 0) or is_num(b, 0):
        return ZERO
    if is_num(a, 1):
        return b
    if is_num(b, 1):
        return a
    for x, y in ((a, b), (b, a)):
        if isinstance(x, Where) and (is_num(x.a, 0) or is_num(x.b, 0)):
            return where(x.cond, mul(y, x.a), mul(y, x.b))
        if isinstance(x, Neg):
            return neg(mul(x.x, y) if x is a else mul(y, x.x))
        if is_num(x, -1):
            return neg(y)
    return Binary("mul", a, b)


def div(a: Expr, b: Expr) -> Expr:
    """``a / b``."""
    if is_num(a, 0):
        return ZERO
    if is_num(b, 1):
        return a
    if isinstance(a, Neg):
        return neg(div(a.x, b))
    return Binary("div", a, b)


def where(cond: Expr, a: Expr, b: Expr) -> Expr:
    """``where(cond, a, b)``; equal branches need no choice."""
    return a if a == b else Where(cond, a, b)


def all_of(conds: list[Expr]) -> Expr:
    """The conjunction of at least one condition."""
    out = conds[0]
    for c in conds[1:]:
        out = Logic("and", out, c)
    return out


def compare(op: str, a: IntExpr, b: IntExpr) -> Expr:
    """A comparison of integers."""
    return Compare(op, IntVal(a), IntVal(b))  # type: ignore[arg-type]


def binary(op: BinOp, a: Expr, b: Expr) -> Expr:
    """Arithmetic, folded."""
    if op == "add":
        return add(a, b)
    if op == "sub":
        return sub(a, b)
    if op == "mul":
        return mul(a, b)
    return div(a, b) if op == "div" else Binary(op, a, b)


def rebuild(e: Expr, go: Callable[[Expr], Expr]) -> Expr:
    """``e`` with ``go`` applied to its direct subexpressions (not to loads inside indices)."""
    match e:
        case Neg(x=x) | Not(x=x) | Cast(x=x):
            new = go(x)
            return e if new is x else replace(e, x=new)
        case Binary(a=a, b=b) | Compare(a=a, b=b) | Logic(a=a, b=b):
            p, q = go(a), go(b)
            return e if p is a and q is b else replace(e, a=p, b=q)
        case Where(cond=c, a=a, b=b):
            return replace(e, cond=go(c), a=go(a), b=go(b))
        case Call(args=args):
            return replace(e, args=tuple(go(a) for a in args))
        case Reduce(body=body, divisor=divisor):
            return replace(e, body=go(body), divisor=None if divisor is None else go(divisor))
    return e


def loads(e: Expr) -> Iterator[Load]:
    """Every load in ``e``, those of gathers included."""
    if isinstance(e, Load):
        yield e
        for i in e.indices:
            if isinstance(i, Gather):
                yield from loads(i.load)
    for child in children(e):
        yield from loads(child)


def index_free(i: Index) -> frozenset[str]:
    """The symbols an index depends on."""
    if isinstance(i, IntExpr):
        return i.free()
    if isinstance(i, Gather):
        return free(i.load)
    return frozenset()


def free(e: Expr) -> frozenset[str]:
    """The integer symbols (axes, loop variables, sizes) that ``e`` depends on, without those it binds."""
    match e:
        case IntVal(value=value):
            return value.free()
        case Load(indices=indices):
            out: frozenset[str] = frozenset()
            for i in indices:
                out |= index_free(i)
            return out
        case Reduce(axes=axes, body=body, divisor=divisor):
            inner = free(body) - {a.name for a in axes}
            for a in axes:
                inner |= a.extent.free() if a.extent is not None else frozenset()
            return inner | (free(divisor) if divisor is not None else frozenset())
    out = frozenset()
    for child in children(e):
        out |= free(child)
    return out


def substitute_index(i: Index, env: Mapping[str, IntExpr]) -> Index:
    """An index with symbols replaced."""
    if isinstance(i, IntExpr):
        name = i.symbol
        if name is not None:
            return env.get(name, i)
        return i.substitute(env) if i.free() & env.keys() else i
    if isinstance(i, Gather):
        return Gather(substitute(i.load, env), span=i.span)  # type: ignore[arg-type]
    return i


def substitute(e: Expr, env: Mapping[str, IntExpr]) -> Expr:
    """``e`` with integer symbols replaced; bound axes must have names of their own."""
    if not env:
        return e
    match e:
        case IntVal(value=value):
            return replace(e, value=value.substitute(env)) if value.free() & env.keys() else e
        case Load():
            return replace(e, indices=tuple(substitute_index(i, env) for i in e.indices))
        case Reduce():
            inner = {k: v for k, v in env.items() if k not in {a.name for a in e.axes}}
            axes = tuple(Bound(a.name, a.extent.substitute(env) if a.extent is not None else None) for a in e.axes)
            divisor = None if e.divisor is None else substitute(e.divisor, env)
            return replace(e, axes=axes, body=substitute(e.body, inner), divisor=divisor)
    return rebuild(e, lambda x: substitute(x, env))


def rename_bound(e: Expr, fresh: Fresh) -> Expr:
    """``e`` with every axis it binds given a fresh name."""
    if isinstance(e, Reduce):
        names = {a.name: fresh.name(a.name) for a in e.axes}
        axes = tuple(Bound(names[a.name], a.extent) for a in e.axes)
        body = rename_bound(substitute(e.body, {old: sym(new) for old, new in names.items()}), fresh)
        return replace(e, axes=axes, body=body, divisor=None if e.divisor is None else rename_bound(e.divisor, fresh))
    return rebuild(e, lambda x: rename_bound(x, fresh))


def replace_loads(e: Expr, f: Callable[[Load], Expr | None]) -> Expr:
    """``e`` with loads (not those inside indices) replaced where ``f`` says by what."""
    if isinstance(e, Load):
        new = f(e)
        return e if new is None else new
    return rebuild(e, lambda x: replace_loads(x, f))
