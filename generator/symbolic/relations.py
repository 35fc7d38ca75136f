"""Names for values: what a gradient already has (saved, or computed before) instead of computing it again.

A :class:`Relation` says that an expression in some axes is an element of a tensor. It is found in other expressions by
matching one of its loads, which gives the axes, and comparing the whole.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product as pairs

from generator.formula.infer import children
from generator.formula.ir import Assign, Attr, Binary, Bound, Call, Expr, IntVal, Load, Neg, Num, Reduce
from generator.spec.integer import IntExpr, sym
from generator.symbolic.build import div, free, loads, rebuild, sub, substitute
from generator.symbolic.keys import cost, key

__all__ = ["Relation", "from_definition", "named"]

_TRIES = 24


@dataclass(frozen=True)
class Relation:
    """``pattern``, at every value of ``axes``, is ``name``."""

    pattern: Expr
    name: Expr
    axes: tuple[Bound, ...]

    def instances(self, inside: Sequence[Expr]) -> Iterator[tuple[Expr, Expr]]:
        """The pattern and the name at axes that loads in ``inside`` suggest."""
        anchors = self.anchors()
        if anchors is None:
            return
        there = [[x for e in inside for x in _loads_in(e, frozenset()) if x[0].tensor == a.tensor] for a in anchors]
        seen: set[tuple[str, ...]] = set()
        for at, choice in enumerate(pairs(*there)):
            if at >= _TRIES:
                return
            env = self.bind(anchors, choice)
            if env is None:
                continue
            mark = tuple(env[a.name].key() for a in self.axes)
            if mark not in seen:
                seen.add(mark)
                yield substitute(self.pattern, env), substitute(self.name, env)

    def anchors(self) -> list[Load] | None:
        """Loads of the pattern whose indices give all axes; None when there are none such."""
        wanted = {a.name for a in self.axes}
        out: list[Load] = []
        have: set[str] = set()
        for x in sorted(loads(self.pattern), key=lambda x: -len(_given(x, wanted))):
            mine = _given(x, wanted)
            if mine - have:
                out.append(x)
                have |= mine
            if wanted <= have:
                return out or [x]
        return None

    def bind(self, anchors: Sequence[Load], found: Sequence[tuple[Load, frozenset[str]]]) -> dict[str, IntExpr] | None:
        env: dict[str, IntExpr] = {}
        wanted = {a.name for a in self.axes}
        for a, (b, bound) in zip(anchors, found, strict=True):
            for i, j in zip(a.indices, b.indices, strict=True):
                name = _moved(i, wanted)
                if name is None or not isinstance(i, IntExpr):
                    continue
                if not isinstance(j, IntExpr) or j.free() & bound:
                    return None
                value = j - (i - sym(name))
                if env.get(name, value) != value:
                    return None
                env[name] = value
        return env if wanted <= env.keys() else None


def _moved(i: object, wanted: set[str]) -> str | None:
    """The one axis of ``wanted`` in an index, when it stands there with coefficient 1."""
    if not isinstance(i, IntExpr):
        return None
    names = i.free() & wanted
    name = next(iter(names)) if len(names) == 1 else None
    return name if name is not None and i.is_affine_in([name]) and i.coefficient(name).value == 1 else None


def _given(x: Load, wanted: set[str]) -> set[str]:
    return {n for n in (_moved(i, wanted) for i in x.indices) if n is not None}


def _loads_in(e: Expr, bound: frozenset[str]) -> Iterable[tuple[Load, frozenset[str]]]:
    """Loads, each with the names that ``e`` binds around it."""
    if isinstance(e, Load):
        yield e, bound
        return
    inner = bound | {a.name for a in e.axes} if isinstance(e, Reduce) else bound
    for c in children(e):
        yield from _loads_in(c, inner)


def named(e: Expr, relations: Sequence[Relation]) -> Expr:
    """``e`` with subexpressions that have a name replaced by it."""
    for r in relations:
        if type(r.pattern) is type(e) and cost(r.pattern) == cost(e):
            mine = key(e)
            for pattern, name in r.instances([e]):
                if key(pattern) == mine:
                    return name
    return rebuild(e, lambda x: named(x, relations))


def from_definition(stmt: Assign, name: Load, *, saved: bool) -> list[Relation]:
    """What ``stmt`` lets be said by ``name``, an element of a tensor that holds what it defines.

    The right side itself; and when the tensor is ``saved``, a function in it that the right side is affine in (``s`` in
    ``y = 2*s + c``), and ``exp`` of the right side as the product it is, when that has a logarithm in it."""
    value = stmt.value
    if isinstance(value, Load | Num | Attr | IntVal):
        return []
    out = [Relation(value, name, stmt.axes)]
    if not saved:
        return out
    calls = [x for x in _walk(value) if isinstance(x, Call) and x.fn not in ("square", "reciprocal", "sqrt", "rsqrt")]
    if len(calls) == 1 and value is not calls[0]:
        solved = _solve(value, calls[0], name)
        if solved is not None and free(calls[0]) >= {a.name for a in stmt.axes}:
            out.append(Relation(calls[0], solved, stmt.axes))
    exponential = _exponential(value)
    if exponential is not None:
        out.append(Relation(exponential, Call("exp", (name,)), stmt.axes))
    out += _sums(value, name, stmt.axes)
    return out


def _sums(e: Expr, name: Load, axes: tuple[Bound, ...]) -> list[Relation]:
    """The argument of a logarithm in ``e``, as the exponential of what is left of ``name`` without the other terms."""
    terms = _terms(e, 1)
    logs = [x for sign, x in terms if isinstance(x, Call) and x.fn == "log" and sign > 0]
    if len(logs) != 1 or not isinstance(logs[0], Call):
        return []
    left: Expr = name
    for sign, x in terms:
        if x is not logs[0]:
            left = Binary("sub" if sign > 0 else "add", left, x)
    return [Relation(logs[0].args[0], Call("exp", (left,)), axes)]


def _walk(e: Expr) -> Iterable[Expr]:
    yield e
    for c in children(e):
        yield from _walk(c)


def _solve(e: Expr, target: Expr, value: Expr) -> Expr | None:
    """``target`` from ``e == value``, through sums and constant factors."""
    if e is target:
        return value
    if isinstance(e, Neg):
        return _solve(e.x, target, Neg(value))
    if not isinstance(e, Binary) or e.op not in ("add", "sub", "mul", "div"):
        return None
    left = any(x is target for x in _walk(e.a))
    mine, other = (e.a, e.b) if left else (e.b, e.a)
    if not isinstance(other, Num | Attr):
        return None
    match e.op:
        case "add":
            return _solve(mine, target, sub(value, other))
        case "sub":
            return _solve(mine, target, Binary("add", value, other) if left else sub(other, value))
        case "mul":
            return _solve(mine, target, div(value, other))
    return _solve(mine, target, Binary("mul", value, other)) if left else None


def _exponential(e: Expr) -> Expr | None:
    """``exp(e)`` without the logarithms among the terms of ``e``; None when there are none."""
    rest: Expr | None = None
    over: list[Expr] = []
    under: list[Expr] = []
    for sign, x in _terms(e, 1):
        if isinstance(x, Call) and x.fn == "log":
            (over if sign > 0 else under).append(x.args[0])
        elif rest is None:
            rest = x if sign > 0 else Neg(x)
        else:
            rest = Binary("add" if sign > 0 else "sub", rest, x)
    if rest is None or not over + under:
        return None
    out: Expr = Call("exp", (rest,))
    for x in over:
        out = Binary("mul", out, x)
    for x in under:
        out = Binary("div", out, x)
    return out


def _terms(e: Expr, sign: int) -> list[tuple[int, Expr]]:
    if isinstance(e, Binary) and e.op in ("add", "sub"):
        return _terms(e.a, sign) + _terms(e.b, sign if e.op == "add" else -sign)
    if isinstance(e, Neg):
        return _terms(e.x, -sign)
    return [(sign, e)]
