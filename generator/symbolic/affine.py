"""Integer inequalities: what follows from what is known of sizes and axes, by elimination over the rationals."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import reduce
from math import gcd

from generator.spec.integer import Func, IntExpr, Monomial, Sym, const, sym

__all__ = ["Facts", "content", "quotient", "reduced"]

_LIMIT = 240
_FRESH = re.compile(r"\w+#\d+")
_Key = frozenset[tuple[Monomial, int]]


def content(e: IntExpr) -> int:
    """The greatest common divisor of the coefficients of everything but the constant."""
    return reduce(gcd, (abs(c) for m, c in e.terms if m), 0)


def reduced(e: IntExpr) -> IntExpr:
    """``e >= 0`` with the common divisor taken out; the constant is rounded down, as integers allow."""
    g = content(e)
    if g <= 1:
        return e
    rest = sum(c for m, c in e.terms if not m)
    return IntExpr._make({**{m: c // g for m, c in e.terms if m}, (): rest // g})


def _key(e: IntExpr, extra: Sequence[IntExpr], without: frozenset[str]) -> str:
    """A name for a question; axes of which nothing is known are numbered, so that it does not depend on what they are called."""
    seen: dict[str, str] = {}

    def number(found: re.Match[str]) -> str:
        name = found.group()
        return seen.setdefault(name, f"_{len(seen)}") if name in without else name

    return _FRESH.sub(number, "|".join([e.key(), *(x.key() for x in extra)]))


def quotient(e: IntExpr, by: IntExpr) -> tuple[IntExpr, IntExpr]:
    """``q, r`` with ``e == q*by + r``: the multiples of ``by`` that stand in e, and the rest."""
    out, rest = const(0), const(0)
    for m, c in e.terms:
        one = IntExpr(((m, c),))
        part = _divided(one, by)
        if part is None:
            rest = rest + one
        else:
            out = out + part
    return out, rest


def _divided(one: IntExpr, by: IntExpr) -> IntExpr | None:
    """A single term divided by a constant or by a symbol that it holds."""
    ((m, c),) = one.terms
    if by.value:
        return IntExpr(((m, c // by.value),)) if c % by.value == 0 else None
    powers = dict(m)
    name = by.symbol
    if name is None or powers.get(Sym(name), 0) < 1:
        return None
    powers[Sym(name)] -= 1
    return IntExpr(((tuple((a, p) for a, p in powers.items() if p), c),))


class Facts:
    """Expressions known to be >= 0; asks are remembered."""

    def __init__(self, known: Sequence[IntExpr] = ()) -> None:
        self.known: set[IntExpr] = set()
        self._facts: list[tuple[IntExpr, frozenset[str]]] = []
        self._index: dict[str, list[int]] = {}
        self.memo: dict[str, bool] = {}
        for e in known:
            self.add(e)

    def add(self, e: IntExpr) -> None:
        """Learn ``e >= 0``."""
        if e.value is None and e not in self.known:
            self.known.add(e)
            free = e.free()
            for name in free:
                self._index.setdefault(name, []).append(len(self._facts))
            self._facts.append((e, free))
            if not any("#" in n for n in free):
                self.memo.clear()

    def nonnegative(self, e: IntExpr, extra: Sequence[IntExpr] = (), without: frozenset[str] = frozenset()) -> bool:
        """Whether ``e >= 0`` follows from ``extra`` and the facts that name nothing of ``without``; False means not shown."""
        e = reduced(e)
        if e.value is not None:
            return e.value >= 0
        for x in extra:
            gap = (e - x).value
            if gap is not None and gap >= 0:
                return True
        key = _key(e, extra, without)
        found = self.memo.get(key)
        if found is None:
            found = self.memo[key] = self._refute(e, extra, without)
        return found

    def _refute(self, e: IntExpr, extra: Sequence[IntExpr], without: frozenset[str]) -> bool:
        denied = const(-1) - e
        pool = [reduced(x) for x in (*extra, *self._near(e, extra, without))]
        pool += _products(denied, pool)
        return _infeasible([denied, *pool])

    def deeply(self, e: IntExpr, extra: Sequence[IntExpr], without: frozenset[str]) -> bool:
        """As :meth:`nonnegative`, with the question and ``extra`` also multiplied by the sizes that multiply something there."""
        if self.nonnegative(e, extra, without):
            return True
        denied = const(-1) - reduced(e)
        rows = [denied, *(reduced(x) for x in extra)]
        sizes = {a for x in rows for m, _ in x.terms if sum(p for _, p in m) > 1 for a, _ in m if isinstance(a, Sym)}
        known = sorted(a.name for a in sizes if self.positive(a.name))
        return _infeasible([*rows, *self._near(e, extra, without), *(x * sym(n) for n in known for x in rows)])

    def _near(self, e: IntExpr, extra: Sequence[IntExpr], without: frozenset[str]) -> list[IntExpr]:
        """The facts that share symbols with the question, directly or through others; of axes only those it names."""
        names = set(e.free()).union(*(x.free() for x in extra))
        out: list[IntExpr] = []
        taken: set[int] = set()
        work = sorted(names)
        while work:
            for at in self._index.get(work.pop(), ()):
                fact, free = self._facts[at]
                if at in taken or free & without or not {n for n in free if "#" in n or "@" in n} <= names:
                    continue
                taken.add(at)
                out.append(fact)
                work += sorted(free - names)
                names |= free
        return out

    def plain(self, e: IntExpr) -> IntExpr:
        """``e >= 0`` without the quotient that it holds alone: ``a//b >= c`` is ``a >= b*c``."""
        for m, c in e.terms:
            f = m[0][0] if len(m) == 1 and m[0][1] == 1 else None
            if not isinstance(f, Func) or f.op != "floordiv" or c not in (1, -1) or not self.nonnegative(f.b - 1):
                continue
            rest = e - IntExpr(((m, c),))
            if f in rest.atoms():
                continue
            return self.plain(f.a + rest * f.b if c == 1 else rest * f.b + f.b - 1 - f.a)
        return self._unscaled(e)

    def _unscaled(self, e: IntExpr) -> IntExpr:
        """``e >= 0`` divided by a size that all its terms hold: ``s*x >= 1`` is ``x >= 1``."""
        free = sum(c for m, c in e.terms if not m)
        held = [{a.name for a, _ in m if isinstance(a, Sym)} for m, _ in e.terms if m]
        if free not in (0, -1) or not held:
            return e
        for name in sorted(set.intersection(*held)):
            if self.positive(name):
                parts = [_divided(IntExpr(((m, c),)), sym(name)) for m, c in e.terms if m]
                return self.plain(sum((p for p in parts if p is not None), const(free)))
        return e

    def positive(self, name: str) -> bool:
        """Whether a symbol is known to be at least 1."""
        return self.nonnegative(sym(name) - 1)


def _products(goal: IntExpr, pool: Sequence[IntExpr]) -> list[IntExpr]:
    """Facts times a size that multiplies something in the goal, where the size is known not to be negative."""
    sizes = {a for m, _ in goal.terms if sum(p for _, p in m) > 1 for a, _ in m if isinstance(a, Sym)}
    plain = {x.symbol for x in pool} | {(x + 1).symbol for x in pool}
    out = []
    for size in sorted(sizes, key=lambda a: a.name):
        if size.name in plain:
            out += [x * sym(size.name) for x in pool if size.name not in x.free() or x.free() - {size.name}]
    return out


def _infeasible(constraints: Sequence[IntExpr]) -> bool:
    """Whether no integer point satisfies all of them, by elimination (Fourier and Motzkin), bounded; False means not shown."""
    rows: dict[_Key, int] = {}
    for e in constraints:
        if not _keep(rows, {m: c for m, c in e.terms if m}, sum(c for m, c in e.terms if not m)):
            return True
    while rows:
        counts: dict[Monomial, list[int]] = {}
        for row in rows:
            for m, v in row:
                counts.setdefault(m, [0, 0])[v < 0] += 1
        pick = min(counts, key=lambda m: counts[m][0] * counts[m][1] - counts[m][0] - counts[m][1])
        if counts[pick][0] * counts[pick][1] + len(rows) > _LIMIT:
            return False
        ups, downs, left = [], [], {}
        for row, c in rows.items():
            v = dict(row).get(pick, 0)
            if v > 0:
                ups.append((dict(row), c))
            elif v < 0:
                downs.append((dict(row), c))
            else:
                left[row] = c
        for u, cu in ups:
            for d, cd in downs:
                x, y = -d[pick], u[pick]
                both = {m: x * v for m, v in u.items()}
                for m, v in d.items():
                    both[m] = both.get(m, 0) + y * v
                if not _keep(left, {m: v for m, v in both.items() if v}, x * cu + y * cd):
                    return True
        rows = left
    return False


def _keep(rows: dict[_Key, int], row: dict[Monomial, int], c: int) -> bool:
    """Add a row, reduced as integers allow, unless a stricter one is there; False when no point satisfies it."""
    if not row:
        return c >= 0
    g = reduce(gcd, row.values(), 0)
    key = frozenset((m, v // g) for m, v in row.items())
    rows[key] = min(rows.get(key, c // g), c // g)
    return True
