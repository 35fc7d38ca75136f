"""The checker's own reasoning on sizes: whether integer inequalities imply another, by combining them until one is absurd."""

from __future__ import annotations

import re
from collections.abc import Iterable
from math import gcd

from generator.spec.integer import Func, IntExpr, Sym, const, sym

__all__ = ["Sizes"]

_MOST = 200
_QUOTED = re.compile(r"'\d+(?:'\d+)?")
_Left = tuple[tuple[str, int], ...]  # coefficients of monomials; with a constant, >= 0


def _question(e: IntExpr, given: list[IntExpr], hidden: frozenset[str]) -> str:
    """The question with hidden names numbered in the order in which they stand."""
    text = " ".join([e.key(), *(g.key() for g in given)])
    order: dict[str, int] = {}
    for name in _QUOTED.findall(text):
        if name in hidden:
            order.setdefault(name, len(order))
    return _QUOTED.sub(lambda m: f"?{order[m.group()]}" if m.group() in order else m.group(), text)


class Sizes:
    """What is known of integers, as expressions >= 0."""

    def __init__(self) -> None:
        self.known: list[tuple[IntExpr, frozenset[str]]] = []
        self.answers: dict[str, bool] = {}

    def learn(self, e: IntExpr) -> None:
        """``e >= 0`` from now on."""
        if e.value is None and all(e != k for k, _ in self.known):
            self.known.append((e, e.free()))
            if all(n.isidentifier() for n in e.free()):
                self.answers.clear()

    def implied(self, e: IntExpr, given: Iterable[IntExpr] = (), hidden: Iterable[str] = ()) -> bool:
        """Whether ``e >= 0`` follows from ``given`` and from what is known of names that are not ``hidden``."""
        if e.value is not None:
            return e.value >= 0
        given = list(given)
        if any(((e - g).value or 0) >= 0 and (e - g).value is not None for g in given):
            return True
        key = _question(e, given, frozenset(hidden))
        if key not in self.answers:
            self.answers[key] = self._decide(e, given, frozenset(hidden))
        return self.answers[key]

    def implied_by_products(self, e: IntExpr, given: Iterable[IntExpr], hidden: Iterable[str]) -> bool:
        """As :meth:`implied`, with the rows multiplied by the positive sizes that already multiply something in them."""
        given, hidden = list(given), frozenset(hidden)
        if self.implied(e, given, hidden):
            return True
        rows = [-e - 1, *given]
        sizes = {a.name for r in rows for m, _ in r.terms if sum(p for _, p in m) > 1 for a, _ in m if isinstance(a, Sym)}
        more = [r * sym(s) for s in sorted(sizes - hidden) if self.implied(sym(s) - 1) for r in rows]
        return _absurd([_integers(r) for r in (*rows, *more)])

    def cleared(self, e: IntExpr) -> IntExpr:
        """An inequality in which a quotient stands alone, without it: ``c <= a//b`` says ``c*b <= a``."""
        for f in sorted((a for a in e.atoms() if isinstance(a, Func) and a.op == "floordiv"), key=lambda a: a.key()):
            alone = IntExpr(((((f, 1),), 1),))
            for sign in (1, -1):
                rest = e - sign * alone
                if f not in rest.atoms() and self.implied(f.b - 1):
                    return self.cleared(f.a + rest * f.b if sign == 1 else rest * f.b + f.b - 1 - f.a)
        free = sum(c for m, c in e.terms if not m)
        rest_terms = [(dict(m), c) for m, c in e.terms if m]
        if not rest_terms:
            return e
        g = gcd(*(c for _, c in rest_terms))
        if g > 1:
            return self.cleared(IntExpr(tuple((m, c // g) for m, c in e.terms if m)) + free // g)
        shared = set.intersection(*({a for a in m if isinstance(a, Sym)} for m, _ in rest_terms))
        for s in sorted(shared, key=lambda a: a.name):
            if free in (0, -1) and self.implied(sym(s.name) - 1):  # s*x >= 1 says x >= 1
                out = const(free)
                for m, c in rest_terms:
                    left = tuple(sorted(((a, p - (a == s)) for a, p in m.items() if p - (a == s)), key=lambda t: t[0].key()))
                    out = out + IntExpr(((left, c),))
                return self.cleared(out)
        return e

    def _decide(self, e: IntExpr, given: list[IntExpr], hidden: frozenset[str]) -> bool:
        names = e.free().union(*(g.free() for g in given))
        local = {n for n in names if not n.isidentifier()}
        usable = [k for k, free in self.known if not free & hidden and all(n.isidentifier() or n in local for n in free)]
        usable = _related(usable, names)
        rows = [const(-1) - e, *given, *usable]
        sizes = {a.name for m, _ in e.terms if sum(p for _, p in m) > 1 for a, _ in m if isinstance(a, Sym)}
        for s in sorted(sizes):
            if any(k in (sym(s), sym(s) - 1) for k in usable):
                rows += [k * sym(s) for k in (*given, *usable) if k.free() - {s}]
        return _absurd([_integers(r) for r in rows])


def _integers(e: IntExpr) -> tuple[dict[str, int], int]:
    parts = {"*".join(f"{a.key()}^{p}" for a, p in m): c for m, c in e.terms if m}
    return parts, sum(c for m, c in e.terms if not m)


def _related(known: list[IntExpr], names: frozenset[str]) -> list[IntExpr]:
    """What shares names with the question, directly or through something else that does."""
    reach = set(names)
    out: list[IntExpr] = []
    left = list(known)
    while True:
        more = [k for k in left if k.free() & reach]
        if not more:
            return out
        out += more
        left = [k for k in left if not k.free() & reach]
        for k in more:
            reach |= k.free()


def _absurd(rows: list[tuple[dict[str, int], int]]) -> bool:
    """Whether the rows have no common integer point: unknowns are eliminated one by one."""
    while True:
        strictest: dict[_Left, int] = {}
        for parts, free in rows:
            if not parts:
                if free < 0:
                    return True
                continue
            g = gcd(*parts.values())
            left = tuple(sorted((m, c // g) for m, c in parts.items()))
            strictest[left] = min(strictest.get(left, free // g), free // g)
        work = [(dict(left), free) for left, free in strictest.items()]
        if not work:
            return False
        high: dict[str, int] = {}
        low: dict[str, int] = {}
        for parts, _ in work:
            for m, c in parts.items():
                side = high if c > 0 else low
                side[m] = side.get(m, 0) + 1
        n = min({*high, *low}, key=lambda x: (high.get(x, 0) * low.get(x, 0), x))
        if high.get(n, 0) * low.get(n, 0) + len(work) > _MOST:
            return False
        rows = [(p, f) for p, f in work if n not in p]
        for p, f in work:
            if p.get(n, 0) > 0:
                for q, g in work:
                    if q.get(n, 0) < 0:
                        x, y = -q[n], p[n]
                        both = {m: x * p.get(m, 0) + y * q.get(m, 0) for m in {*p, *q}}
                        rows.append(({m: c for m, c in both.items() if c}, x * f + y * g))
