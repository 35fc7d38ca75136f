"""What the spec's bounds decide is not printed: branches never taken, loops of one round, minima with one smaller side.

Input: a stage's tree before barriers, and intervals of the dims and integer attributes. Output: the same computation
for every legal call. Sizes proved small (a matrix of 4, 6 or 8 rows) lose the loops and branches that sizes without a
bound need, and with them code that no test could reach.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Any

from generator.plan.tree import Alloc, Block, Cond, DeQue, Get, GetValue, If, Let, Loop, Node, Var
from generator.spec.integer import Atom, Func, IntExpr, Sym, const

__all__ = ["Interval", "interval", "prune"]

Interval = tuple[int | None, int | None]
_ANY: Interval = (None, None)


@dataclass(frozen=True, slots=True)
class _Scope:
    """Intervals of what is known, and values that stand for the variables of loops that were left out."""

    known: Mapping[str, Interval]
    values: Mapping[str, IntExpr]

    def bind(self, name: str, within: Interval) -> _Scope:
        return _Scope({**self.known, name: within}, {n: v for n, v in self.values.items() if n != name})

    def stand(self, name: str, value: IntExpr) -> _Scope:
        return _Scope({n: v for n, v in self.known.items() if n != name}, {**self.values, name: value})

    def tidy(self, e: IntExpr) -> IntExpr:
        """``e`` with values put in and what the intervals decide decided."""
        return e.substitute(self.values).map_atoms(self._decided)

    def _decided(self, a: Atom) -> IntExpr | None:
        if not isinstance(a, Func):
            return None
        left, right = a.a.map_atoms(self._decided), a.b.map_atoms(self._decided)
        if a.op in ("min", "max"):
            low, high = interval(left - right, self.known)
            if high is not None and high <= 0:
                return left if a.op == "min" else right
            if low is not None and low >= 0:
                return right if a.op == "min" else left
        if a.op == "floordiv" and right.value:
            low, high = _atom(Func("floordiv", left, right), self.known)
            if low is not None and low == high:
                return const(low)
        return None


def interval(e: IntExpr, known: Mapping[str, Interval]) -> Interval:
    """Lowest and highest value of ``e`` (None: not known)."""
    low: int | None = 0
    high: int | None = 0
    for mono, coef in e.terms:
        below, above = _product(mono, known)
        if coef < 0:
            below, above = above, below
        low = None if low is None or below is None else low + coef * below
        high = None if high is None or above is None else high + coef * above
    return low, high


def _product(mono: tuple[tuple[Atom, int], ...], known: Mapping[str, Interval]) -> Interval:
    """Bounds of a product of atoms that are not negative; nothing is said about others."""
    low, high = 1, 1
    open_ended = False
    for atom, power in mono:
        below, above = _atom(atom, known)
        if below is None or below < 0:
            return (below, above) if len(mono) == 1 and power == 1 else _ANY
        low *= below**power
        if above is None:
            open_ended = True
        else:
            high *= above**power
    return low, None if open_ended else high


def _atom(a: Atom, known: Mapping[str, Interval]) -> Interval:
    if isinstance(a, Sym):
        return known.get(a.name, _ANY)
    if not isinstance(a, Func):
        return 0, None
    (alow, ahigh), (blow, bhigh) = interval(a.a, known), interval(a.b, known)
    both = [x for x in (alow, blow) if x is not None]
    tops = [x for x in (ahigh, bhigh) if x is not None]
    match a.op:
        case "min":
            return (min(both) if len(both) == 2 else None), (min(tops) if tops else None)
        case "max":
            return (max(both) if both else None), (max(tops) if len(tops) == 2 else None)
        case "floordiv" if blow is not None and blow == bhigh and blow > 0:
            return (None if alow is None else alow // blow), (None if ahigh is None else ahigh // blow)
        case "mod" if blow is not None and blow == bhigh and blow > 0:
            return 0, blow - 1
        case _:
            return _ANY


def _holds(c: Cond, known: Mapping[str, Interval]) -> bool | None:
    """Whether a condition always or never holds; None when it depends."""
    low, high = interval(c.a - c.b, known)
    always = {
        "<": high is not None and high < 0,
        "<=": high is not None and high <= 0,
        ">": low is not None and low > 0,
        ">=": low is not None and low >= 0,
        "==": low == high == 0,
        "!=": (low is not None and low > 0) or (high is not None and high < 0),
    }
    opposite = {"<": ">=", ">=": "<", "<=": ">", ">": "<=", "==": "!=", "!=": "=="}
    if always[c.op]:
        return True
    return False if always[opposite[c.op]] else None


def prune(nodes: tuple[Node, ...], known: Mapping[str, tuple[int, int | None]]) -> tuple[Node, ...]:
    """The tree without what ``known`` (intervals of dims and integer attributes) decides."""
    return _block(nodes, _Scope(dict(known), {}))


def _block(nodes: tuple[Node, ...], scope: _Scope) -> tuple[Node, ...]:
    out: list[Node] = []
    for n in nodes:
        match n:
            case Loop():
                out += _loop(n, scope)
            case If():
                out += _branch(n, scope)
            case Block(body=body):
                out.append(replace(n, body=_block(body, scope)))
            case Let(name=name, value=value):
                value = scope.tidy(value)
                out.append(Let(name, value))
                scope = scope.bind(name, interval(value, scope.known))
            case Var(name=name):
                out.append(_rewritten(n, scope))
                scope = scope.bind(name, _ANY)
            case GetValue(name=name):
                out.append(_rewritten(n, scope))
                scope = scope.bind(name, _ANY)
            case _:
                out.append(_rewritten(n, scope))
    return tuple(out)


def _loop(n: Loop, scope: _Scope) -> tuple[Node, ...]:
    start, stop, step = scope.tidy(n.start), scope.tidy(n.stop), scope.tidy(n.step)
    size = step.value or 0
    low, high = interval(stop - start, scope.known)
    if size > 0 and low is not None and low >= 1 and high is not None and high <= size and _instructions(n.body):
        return _block(n.body, scope.stand(n.var, start))
    first, last = interval(start, scope.known), interval(stop - 1, scope.known)
    within = (first[0], last[1]) if size > 0 else _ANY
    return (replace(n, start=start, stop=stop, step=step, body=_block(n.body, scope.bind(n.var, within))),)


def _instructions(nodes: tuple[Node, ...]) -> bool:
    """Nothing inside declares a name that could meet another of its kind outside."""
    for n in nodes:
        if isinstance(n, Alloc | DeQue | Get | GetValue | Let | Var):
            return False
        if isinstance(n, Loop | Block) and not _instructions(n.body):
            return False
        if isinstance(n, If) and not (_instructions(n.then) and _instructions(n.orelse)):
            return False
    return True


def _branch(n: If, scope: _Scope) -> tuple[Node, ...]:
    conds = [_rewritten(c, scope) for c in n.conds]
    answers = [_holds(c, scope.known) for c in conds]
    then, orelse = _block(n.then, scope), _block(n.orelse, scope)
    if False in answers and _instructions(n.orelse):
        return orelse
    open_conds = tuple(c for c, a in zip(conds, answers, strict=True) if a is not True)
    if not open_conds and _instructions(n.then):
        return then
    return (If(open_conds or tuple(conds), then, orelse),)


def _rewritten(value: Any, scope: _Scope) -> Any:
    """Any part of the tree with its integer expressions tidied."""
    if isinstance(value, IntExpr):
        return scope.tidy(value)
    if isinstance(value, tuple):
        return tuple(_rewritten(v, scope) for v in value)
    if is_dataclass(value) and not isinstance(value, type):
        return replace(value, **{f.name: _rewritten(getattr(value, f.name), scope) for f in fields(value)})
    return value
