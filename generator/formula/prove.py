"""Proofs that an integer expression is never negative, from ranges of its symbols; incomplete, never wrong."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from generator.spec.integer import Func, IntExpr, Numel, Sym, sym

__all__ = ["Facts", "Range"]

_DEPTH = 3
_FEW = 16  # values of a symbol that are tried one by one


@dataclass(frozen=True, slots=True)
class Range:
    """``low <= name <= high``, both inclusive; the bounds may name symbols introduced earlier."""

    name: str
    low: IntExpr
    high: IntExpr


@dataclass(frozen=True)
class Facts:
    """What is known: ``sizes`` bounds dims and attributes by constants, ``ranges`` axes and loop variables (inner ones
    last), ``known`` are expressions that are >= 0."""

    sizes: Mapping[str, tuple[int, int | None]]
    ranges: tuple[Range, ...] = ()
    known: tuple[IntExpr, ...] = ()
    _memo: dict[IntExpr, bool] = field(default_factory=dict, compare=False, repr=False)

    def with_ranges(self, ranges: Iterable[Range]) -> Facts:
        """These facts and more ranges; a name given again hides the earlier one."""
        new = tuple(ranges)
        hidden = {r.name for r in new}
        kept = tuple(r for r in self.ranges if r.name not in hidden and not (hidden & (r.low.free() | r.high.free())))
        known = tuple(k for k in self.known if not hidden & k.free())
        return replace(self, ranges=kept + new, known=known, _memo={})

    def with_known(self, known: Iterable[IntExpr]) -> Facts:
        """These facts and more expressions that are >= 0."""
        new = tuple(k for k in known if k not in self.known)
        return replace(self, known=self.known + new, _memo={}) if new else self

    def nonnegative(self, e: IntExpr) -> bool:
        """True when ``e >= 0`` is proved."""
        if e.value is not None:
            return e.value >= 0
        if e not in self._memo:
            self._memo[e] = False  # a proof may not rest on itself
            self._memo[e] = self._search(e, _DEPTH - 1)
        return self._memo[e]

    def at_most(self, a: IntExpr, b: IntExpr) -> bool:
        """True when ``a <= b`` is proved."""
        return self.nonnegative(b - a)

    def less(self, a: IntExpr, b: IntExpr) -> bool:
        """True when ``a < b`` is proved."""
        return self.nonnegative(b - a - 1)

    def lowest(self, e: IntExpr) -> IntExpr | None:
        """A lower bound of ``e`` in dims and attributes only (reached when ``e`` is affine in each range), or None."""
        return self._extreme(e, low=True)

    def highest(self, e: IntExpr) -> IntExpr | None:
        """An upper bound of ``e`` in dims and attributes only, or None."""
        return self._extreme(e, low=False)

    # search -----------------------------------------------------------------------------------------------------
    def _search(self, e: IntExpr, depth: int) -> bool:
        if self._eliminate(e, 6):
            return True
        if depth <= 0:
            return False
        for fact in (*self.known, *self._of_functions(e)):
            for k in _multiples(e, fact):
                rest = e - fact * k
                if rest.value is not None:
                    if rest.value >= 0:
                        return True
                elif len(rest.terms) <= len(e.terms) + 2 and self._search(rest, depth - 1):
                    return True
        return False

    def _eliminate(self, e: IntExpr, budget: int) -> bool:
        """Replace ranged symbols by the ends of their ranges, inner ones first, then look at the sizes."""
        for at in range(len(self.ranges) - 1, -1, -1):
            r = self.ranges[at]
            if r.name not in e.free():
                continue
            if not e.is_affine_in([r.name]) or budget <= 0:
                return False
            c = e.coefficient(r.name)
            rest = e.substitute({r.name: 0})
            rising = self._sign(c)
            ends = [r.low] if rising > 0 else [r.high] if rising < 0 else [r.low, r.high]
            return all(self._eliminate(rest + c * end, budget - 1) for end in ends)
        return self._sizes(e, 3) or self._rest_by_facts(e)

    def _rest_by_facts(self, e: IntExpr) -> bool:
        """``e`` without ranged symbols, less one fact about sizes or about a function in it."""
        ranged = {r.name for r in self.ranges}
        for fact in (*self._of_functions(e), *(k for k in self.known if not ranged & k.free())):
            if any(self._sizes(e - fact * k, 2) for k in _multiples(e, fact)):
                return True
        return False

    def _sign(self, c: IntExpr) -> int:
        if c.value is not None:
            return 1 if c.value >= 0 else -1
        if self._sizes(c, 1):
            return 1
        return -1 if self._sizes(-c, 1) else 0

    def _sizes(self, e: IntExpr, depth: int) -> bool:
        """``e`` has only sizes and functions left: shift each symbol by its lower bound and look at the signs."""
        if e.value is not None:
            return e.value >= 0
        shifted = e.substitute({n: sym(n) + self._low(n) for n in e.free() if self._low(n)})
        if self._all_positive(shifted):
            return True
        if depth <= 0:
            return False
        for name in sorted(e.free()):
            low, high = self.sizes.get(name, (0, None))
            if high is None:
                continue
            if e.is_affine_in([name]):
                return all(self._sizes(e.substitute({name: end}), depth - 1) for end in (low, high))
            if high - low <= _FEW:
                return all(self._sizes(e.substitute({name: value}), depth - 1) for value in range(low, high + 1))
        return False

    def _low(self, name: str) -> int:
        return self.sizes.get(name, (0, None))[0]

    def _all_positive(self, e: IntExpr) -> bool:
        return all(c > 0 and all(self._atom_positive(a) for a, _ in m) for m, c in e.terms)

    def _atom_positive(self, a: Sym | Numel | Func) -> bool:
        if not isinstance(a, Func):
            return True
        if a.op == "mod":
            return self._sizes(a.b - 1, 1)
        if a.op == "floordiv":
            return self._sizes(a.a, 1) and self._sizes(a.b - 1, 1)
        both = self._sizes(a.a, 1), self._sizes(a.b, 1)
        return all(both) if a.op == "min" else any(both)

    def _of_functions(self, e: IntExpr) -> list[IntExpr]:
        """Facts about the functions in ``e`` (``b*(a//b) <= a`` and the like)."""
        out: list[IntExpr] = []
        for a in sorted((x for x in e.atoms() if isinstance(x, Func)), key=lambda x: x.key()):
            it = IntExpr(((((a, 1),), 1),))
            if a.op == "floordiv" and self._sizes(a.b - 1, 1):
                out += [a.a - a.b * it, a.b * it - a.a + a.b - 1]
            elif a.op == "mod" and self._sizes(a.b - 1, 1):
                out += [it, a.b - 1 - it]
            elif a.op == "min":
                out += [a.a - it, a.b - it]
            elif a.op == "max":
                out += [it - a.a, it - a.b]
        return out

    def _extreme(self, e: IntExpr, *, low: bool) -> IntExpr | None:
        for r in reversed(self.ranges):
            if r.name not in e.free():
                continue
            if not e.is_affine_in([r.name]):
                return None
            c = e.coefficient(r.name)
            sign = self._sign(c)
            if sign == 0:
                return None
            e = e.substitute({r.name: 0}) + c * (r.low if (sign > 0) == low else r.high)
        return e


def _multiples(e: IntExpr, fact: IntExpr) -> list[int | IntExpr]:
    """By what ``fact`` may be multiplied so that subtracting it cancels a term of ``e``."""
    mine = dict(e.terms)
    out: list[int | IntExpr] = []
    for m, c in fact.terms:
        if m and m in mine and mine[m] % c == 0 and mine[m] // c > 0 and mine[m] // c not in out:
            out.append(mine[m] // c)
    return out
