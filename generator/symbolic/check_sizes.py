"""The checker's own reasoning on sizes: whether integer inequalities imply another, by combining them until one is absurd."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from math import floor

from generator.spec.integer import IntExpr, Sym, const, sym

__all__ = ["Sizes"]

_MOST = 200
_Form = tuple[tuple[tuple[str, Fraction], ...], Fraction]  # sum of coefficient * monomial, plus a constant, >= 0


def _form(e: IntExpr) -> _Form:
    parts: dict[str, Fraction] = {}
    free = Fraction(0)
    for m, c in e.terms:
        if m:
            parts["*".join(f"{a.key()}^{p}" for a, p in m)] = Fraction(c)
        else:
            free = Fraction(c)
    return _scaled(parts, free)


def _scaled(parts: dict[str, Fraction], free: Fraction) -> _Form:
    parts = {m: c for m, c in parts.items() if c}
    if not parts:
        return (), free
    by = max(abs(c) for c in parts.values())
    return tuple(sorted((m, c / by) for m, c in parts.items())), free / by


class Sizes:
    """What is known of integers, as expressions >= 0."""

    def __init__(self) -> None:
        self.known: list[tuple[IntExpr, frozenset[str]]] = []
        self.answers: dict[tuple[str, frozenset[str], frozenset[str]], bool] = {}

    def learn(self, e: IntExpr) -> None:
        """``e >= 0`` from now on."""
        if e.value is None and all(e != k for k, _ in self.known):
            self.known.append((e, e.free()))

    def implied(self, e: IntExpr, given: Iterable[IntExpr] = (), hidden: Iterable[str] = ()) -> bool:
        """Whether ``e >= 0`` follows from ``given`` and from what is known of names that are not ``hidden``."""
        if e.value is not None:
            return e.value >= 0
        given = list(given)
        key = (e.key(), frozenset(g.key() for g in given), frozenset(hidden))
        if key not in self.answers or not self.answers[key]:
            self.answers[key] = self._decide(e, given, frozenset(hidden))
        return self.answers[key]

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
        return _absurd({_form(_whole(r)) for r in rows})


def _whole(e: IntExpr) -> IntExpr:
    """An inequality of integers, its constant rounded down after the common divisor of the rest."""
    from math import gcd

    g = 0
    for m, c in e.terms:
        if m:
            g = gcd(g, abs(c))
    if g < 2:
        return e
    free = sum(c for m, c in e.terms if not m)
    rest = e - free
    return IntExpr(tuple((m, c // g) for m, c in rest.terms)) + floor(Fraction(free, g))


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


def _absurd(rows: set[_Form]) -> bool:
    while True:
        if any(not parts and free < 0 for parts, free in rows):
            return True
        best: dict[tuple[tuple[str, Fraction], ...], Fraction] = {}
        for parts, free in rows:  # of rows with one left side the lowest constant says most
            if parts:
                best[parts] = min(best.get(parts, free), free)
        work = [(dict(parts), free) for parts, free in best.items()]
        if not work:
            return False
        names = sorted({m for parts, _ in work for m in parts})
        cost = {n: (sum(r[0].get(n, 0) > 0 for r in work), sum(r[0].get(n, 0) < 0 for r in work)) for n in names}
        n = min(names, key=lambda x: (cost[x][0] * cost[x][1], x))
        if cost[n][0] * cost[n][1] + len(work) > _MOST:
            return False
        rows = {_scaled(p, f) for p, f in work if n not in p}
        for p, f in work:
            for q, g in work:
                if p.get(n, 0) > 0 > q.get(n, 0):
                    both = {m: p.get(m, Fraction(0)) * -q[n] + q.get(m, Fraction(0)) * p[n] for m in {*p, *q}}
                    rows.add(_scaled(both, f * -q[n] + g * p[n]))
