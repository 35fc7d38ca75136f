"""The checker's equality: whether two values are equal for all values of their parts, sums over one range taken together."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

from generator.spec.integer import const, sym
from generator.symbolic.check_sums import Totals
from generator.symbolic.check_values import Value

__all__ = ["Equality"]


class Equality(Totals):
    """Compares values."""

    # equality ---------------------------------------------------------------------------------------------------
    def same_value(self, a: Value, b: Value) -> bool:
        """Whether two values are equal for all values of their parts."""
        return self.nothing(self.minus(a, b), 0)

    def nothing(self, v: Value, depth: int) -> bool:
        """Whether a value is 0: as parts are, or with sums over one range as one sum, or with ranges taken apart."""
        if not v or self.vanishes(v):
            return True
        if depth > 4:
            return False
        split = self.rearranged(v)
        if split is not None:
            return self.nothing(split, depth + 1)
        ranges: dict[tuple[object, ...], set[str]] = {}
        for m in v:
            for p, _ in m:
                if self.parts[p].what == "total":
                    ranges.setdefault(self.parts[p].holds[:3], set()).add(p)
        for (names, _, _), group in sorted(ranges.items(), key=str):
            held = {m: [t for t in m if t[0] in group] for m in v}
            if len(group) < 2 or any(len(h) > 1 or any(e != 1 for _, e in h) for h in held.values()):
                continue
            env = {n: sym(self.new()) for n in names}  # type: ignore[attr-defined]
            inside: Value = {}
            for m, c in v.items():
                if held[m]:
                    p = held[m][0][0]
                    rest: Value = {tuple(t for t in m if t[0] != p): c}
                    inside = self.plus(inside, self.times(rest, self.moved_product(self.parts[p].holds[3], env)))
            if self.nothing(inside, depth + 1) and self.nothing({m: c for m, c in v.items() if not held[m]}, depth + 1):
                return True
        return False

    def rearranged(self, v: Value) -> Value | None:
        """One sum written by another of the same body over a part of its range, and the rest of it."""
        sums = sorted({p for m in v for p, _ in m if self.parts[p].what == "total"})
        for p in sums:
            for q in sums:
                a, b = self.parts[p].holds, self.parts[q].holds
                if p != q and (a[0], a[2], a[3]) == (b[0], b[2], b[3]):
                    new = self._by_other(p, q)
                    if new is not None:
                        return self._replaced(v, p, new)
        return None

    def _by_other(self, p: str, q: str) -> Value | None:
        names, low, same, body = self.parts[p].holds
        other = self.parts[q].holds[1]
        here: Value = {((q, Fraction(1)),): Fraction(1)}
        if (
            p < q
            and all(self.sizes.implied_by_products(e, low, names) for e in other)
            and all(self.sizes.implied_by_products(e, other, names) for e in low)
        ):
            return here
        for g, h in product(low, other):
            rest = [e for e in (*low, *other) if e not in (g, h)]
            if not all(self.sizes.implied(e, low, names) and self.sizes.implied(e, other, names) for e in rest):
                continue
            env = {n: sym(self.new()) for n in names}
            fresh = list(map(str, env.values()))
            inner = self.moved_product(body, env)
            rows, zeros = [self.moved_int(e, env) for e in rest], [self.moved_int(e, env) for e in same]
            if h == const(-1) - g and p < q:
                return self.minus(self.total(fresh, rows, zeros, inner), here)
            gap = (g - h).value
            if gap is not None and 0 < gap <= 4:
                ends = [self.total(fresh, rows, [*zeros, self.moved_int(g - c, env)], inner) for c in range(gap)]
                return self.plus(here, *ends)
        return None

    def _replaced(self, v: Value, p: str, by: Value) -> Value:
        out: Value = {}
        for m, c in v.items():
            e = dict(m).get(p, Fraction(0))
            rest: Value = {tuple(t for t in m if t[0] != p): c}
            out = self.plus(out, self.times(rest, self.power(by, e)) if e else rest)
        return out
