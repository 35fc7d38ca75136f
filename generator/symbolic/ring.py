"""The ring of the normal form: the arithmetic with indicators of integers and of reals, and what they imply of each other."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction

from generator.spec.integer import IntExpr, const, sym
from generator.symbolic.affine import content, reduced
from generator.symbolic.arithmetic import Arithmetic, is_bound
from generator.symbolic.terms import IDEMPOTENT, Atom, Exp, Mono, Poly, UnsupportedError, constant, free_of, key_of, number, order, scale

__all__ = ["Ring"]

_SPLITS = 6


class Ring(Arithmetic):
    """The arithmetic with indicators."""

    # indicators -------------------------------------------------------------------------------------------------
    def indicators(self, m: Mono) -> Poly:
        """Products of indicators: what one implies of another is left out, what contradicts gives 0."""
        steps = [a for a, _ in m if a.kind == "step"]
        for a in steps:
            for b in steps:
                if a is not b and self.positive_poly(self.sub(a.data, b.data)):  # b > 0 implies a > 0
                    m = tuple(t for t in m if t[0] is not a)
        guards = [a for a, _ in m if a.kind in ("ge", "ieq")]
        if len(guards) < 2 and not any(a.kind == "ieq" for a in guards):
            return {m: Fraction(1)}
        return self.guards(m, guards)

    def guards(self, m: Mono, guards: Sequence[Atom]) -> Poly:
        for a in guards:
            others = [x for b in guards if b is not a for x in ([b.data] if b.kind == "ge" else [b.data, -b.data])]
            if a.kind == "ge":
                if self.facts.nonnegative(a.data, others):
                    return self.fix(tuple(t for t in m if t[0] is not a))
                if self.facts.nonnegative(const(-1) - a.data, others):
                    return {}
            elif self.put(m, a) is not None:
                return self.put(m, a) or {}
            elif others and (self.facts.nonnegative(a.data - 1, others) or self.facts.nonnegative(const(-1) - a.data, others)):
                return {}
        return {m: Fraction(1)}

    def put(self, m: Mono, a: Atom) -> Poly | None:
        """Where an element of an integer tensor equals something, the other factors may name that instead."""
        for name in sorted(n for n in a.data.free() if n in self.table.gathers):
            try:
                c = a.data.coefficient(name).value
            except ValueError:
                continue
            if c not in (1, -1) or not any(name in b.free for b, _ in m if b is not a):
                continue
            value = (a.data - sym(name) * c) * -c
            rest = self.rename(tuple(t for t in m if t[0] is not a), {name: value})
            return self.mul(rest, {((a, 1),): Fraction(1)})
        return None

    def ge(self, e: IntExpr) -> Poly:
        """The indicator of ``e >= 0``."""
        e = reduced(self.facts.plain(e))
        if self.facts.nonnegative(e):
            return number(1)
        if self.facts.nonnegative(const(-1) - e):
            return {}
        if self.facts.nonnegative(-e):
            return self.ieq(e)
        if not any(is_bound(n) for n in self.table.free_int(e)) and e.terms[0][1] < 0:
            return self.sub(number(1), self.ge(const(-1) - e))
        return self.fix(((self.table.intern("ge", f"[{e} >= 0]", lambda: (e, self.table.free_int(e))), 1),))

    def ieq(self, e: IntExpr) -> Poly:
        """The indicator of ``e == 0``."""
        g = content(e)
        value = e.value
        if value is not None:
            return number(1) if value == 0 else {}
        rest = sum(c for m, c in e.terms if not m)
        if g > 1:
            if rest % g:
                return {}
            e = IntExpr._make({m: c // g for m, c in e.terms})
        if e.terms[0][1] < 0:
            e = -e
        if self.facts.nonnegative(e - 1) or self.facts.nonnegative(const(-1) - e):
            return {}
        if self.facts.nonnegative(e) and self.facts.nonnegative(-e):
            return number(1)
        return self.fix(((self.table.intern("ieq", f"[{e} == 0]", lambda: (e, self.table.free_int(e))), 1),))

    def split(self, p: Poly, then: Callable[[Poly], Poly]) -> Poly:
        """``then`` of a polynomial that may hold indicators: applied where each is 1 and where it is 0."""
        return self._split(p, then, 0)

    def _split(self, p: Poly, then: Callable[[Poly], Poly], depth: int) -> Poly:
        found = min((a for m in p for a, _ in m if a.kind in IDEMPOTENT), default=None)
        if found is None:
            return then(p)
        if depth >= _SPLITS:
            raise UnsupportedError("too many conditions inside a function")
        on, off = self.assign(p, found, True), self.assign(p, found, False)
        h = self.atom(found)
        return self.add(self.mul(h, self._split(on, then, depth + 1)), self.mul(self.sub(number(1), h), self._split(off, then, depth + 1)))

    def assign(self, p: Poly, a: Atom, value: bool) -> Poly:
        """A polynomial with an indicator set."""
        out: Poly = {}
        for m, c in p.items():
            if any(b is a for b, _ in m):
                if not value:
                    continue
                m = tuple(t for t in m if t[0] is not a)
            s = out.get(m, 0) + c
            out[m] = Fraction(s)
        return {m: c for m, c in out.items() if c}

    def above(self, p: Poly, strict: bool) -> Poly:
        """The indicator of ``p > 0`` (or ``>= 0``): one generator for both where they differ on a boundary only."""
        return self.split(p, lambda q: self._above(q, strict))

    def _above(self, p: Poly, strict: bool) -> Poly:
        value = constant(p)
        if value is not None:
            return number(1) if value > 0 or (value == 0 and not strict) else {}
        p = self.primitive(p, positive_only=True)[2]
        if len(p) == 1 and self.positive_mono(next(iter(p))):
            return number(1 if next(iter(p.values())) > 0 else 0)
        if not self.faithful(p):
            if not strict:
                return self.sub(number(1), self._above(scale(p, -1), True))
            key = f"[{key_of(p)} > 0]"
            return self.atom(self.table.intern("gt", key, lambda: (p, free_of(p))))
        return self.sign(p)

    def sign(self, p: Poly) -> Poly:
        """The indicator that a product is positive, from the signs of its factors."""
        c, m, q = self.primitive(p, positive_only=False)
        odd = [a for a, e in m if e % 2 == 1 and not self.positive(a, e)]
        factors: list[Poly] = [a.data if a.kind == "pow" else {((a, 1),): Fraction(1)} for a in odd]
        factors += [] if constant(q) is not None else [q]
        out = number(c if constant(q) is None else c * (constant(q) or 0))
        out = number(1 if out[()] > 0 else -1)
        for f in factors:
            out = self.mul(out, self.add(scale(self._positive(f), 2), number(-1)))
        return scale(self.add(out, number(1)), Fraction(1, 2))

    def _positive(self, p: Poly) -> Poly:
        """The indicator that a polynomial without factors is positive: a step, oriented."""
        if self.positive_poly(p):
            return number(1)
        p = self.logarithmic(p)
        flip = p[min(p, key=order)] < 0
        p = self.primitive(p, positive_only=True)[2]
        if flip:
            p = scale(p, -1)
        self.boundaries.setdefault(key_of(p), p)
        h = self.atom(self.table.intern("step", f"step({key_of(p)})", lambda: (p, free_of(p))))
        return self.sub(number(1), h) if flip else h

    def logarithmic(self, p: Poly) -> Poly:
        """A difference of two positive monomials has the sign of the difference of their logarithms."""
        if (
            len(p) == 2
            and all(self.positive_mono(m) for m in p)
            and len({c > 0 for c in p.values()}) == 2
            and any(a.kind == "exp" for m in p for a, _ in m)
        ):
            parts = [scale(self.log({m: abs(c)}), 1 if c > 0 else -1) for m, c in p.items()]
            out = self.add(*parts)
            return self.logarithmic(self.primitive(out, positive_only=True)[2]) if out else p
        return p

    def faithful(self, p: Poly) -> bool:
        """Whether a polynomial that is not zero vanishes, at any sizes, on a set of inputs of measure zero only."""
        bare: set[Mono] = set()
        for m in p:
            bare.add(tuple(t for t in m if not self._size(t[0])))
            if not all(self.positive(a, e) if self._size(a) else self._faithful(a, e) for a, e in m):
                return False
        return len(bare) == len(p) and any(self._reads(a) for m in p for a, _ in m)

    def _size(self, a: Atom) -> bool:
        return a.kind == "sym" and a.data not in self.table.reals

    def _reads(self, a: Atom) -> bool:
        if a.kind == "ld":
            return True
        inner = a.data[3] if a.kind == "sum" else [t for m in a.data for t in m] if a.kind in ("exp", "pow") else ()
        return any(self._reads(b) for b, _ in inner)

    def _faithful(self, a: Atom, e: Exp) -> bool:
        if a.kind == "ld":
            return a.data[0] not in self.table.discrete
        if a.kind == "exp":
            return self.faithful(a.data)
        if a.kind == "sum":
            return all(self._faithful(b, k) for b, k in a.data[3])
        if a.kind == "pow":
            return e == int(e) and self.faithful(a.data)
        if a.kind == "sym":
            return True
        return a.kind == "prime"

    def equal(self, p: Poly) -> Poly:
        """The indicator of ``p == 0``."""
        return self.split(p, self._equal)

    def _equal(self, p: Poly) -> Poly:
        value = constant(p)
        if value is not None:
            return number(0 if value else 1)
        p = self.primitive(p, positive_only=True)[2]
        if self.faithful(p):
            self.boundaries.setdefault(key_of(p), p)
            return {}
        if p[min(p, key=order)] < 0:
            p = scale(p, -1)
        return self.atom(self.table.intern("eq", f"[{key_of(p)} == 0]", lambda: (p, free_of(p))))
