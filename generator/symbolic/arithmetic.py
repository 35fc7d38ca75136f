"""The arithmetic of the normal form: products with the relations of roots, reciprocals and exponentials applied."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction

from generator.spec.integer import IntExpr
from generator.symbolic.affine import Facts
from generator.symbolic.terms import (
    IDEMPOTENT,
    Atom,
    Budget,
    Exp,
    Mono,
    Poly,
    Table,
    UnsupportedError,
    constant,
    free_of,
    key_of,
    merge,
    number,
    order,
    scale,
    total,
)

__all__ = ["Arithmetic", "is_bound"]

_EXPAND = 16
_SPLITS = 6
_FAITHFUL = frozenset({"ld", "sym", "exp", "sum", "pow", "prime"})  # no relation between these is missing


def is_bound(name: str) -> bool:
    """Whether a name is that of an axis bound by a reduction."""
    return "#" in name or name.startswith("$")


class Arithmetic:
    """Arithmetic on polynomials. ``facts`` are what is known of integers, ``positives`` attributes known to be > 0,
    ``boundaries`` collects the polynomials whose zeros were left open, ``divisors`` what was assumed not to be 0."""

    def __init__(self, table: Table, facts: Facts, budget: Budget, positives: frozenset[str] = frozenset()) -> None:
        self.table = table
        self.facts = facts
        self.budget = budget
        self.positives = positives
        self.boundaries: dict[str, Poly] = {}
        self.divisors: dict[str, Poly] = {}
        self.rename: Callable[[Mono, dict[str, IntExpr]], Poly] = lambda m, env: {m: Fraction(1)}  # see ``sums``
        self._steps = 0

    # arithmetic -------------------------------------------------------------------------------------------------
    def atom(self, a: Atom, e: Exp = 1) -> Poly:
        """One atom as a polynomial."""
        return self.fix(((a, e),))

    def add(self, *parts: Poly) -> Poly:
        return total(parts)

    def sub(self, a: Poly, b: Poly) -> Poly:
        return total((a, scale(b, -1)))

    def mul(self, a: Poly, b: Poly) -> Poly:
        """The product in normal form."""
        if len(a) > len(b):
            a, b = b, a
        if not a:
            return {}
        if len(a) * len(b) > self.budget.terms:
            raise UnsupportedError("a product has too many terms")
        out: Poly = {}
        for m1, c1 in a.items():
            for m2, c2 in b.items():
                for m, c in self.fix(merge(m1, m2)).items():
                    s = out.get(m, 0) + c * c1 * c2
                    if s:
                        out[m] = Fraction(s)
                    else:
                        out.pop(m, None)
        return out

    def product(self, parts: Sequence[Poly]) -> Poly:
        out = number(1)
        for p in parts:
            out = self.mul(out, p)
        return out

    def fix(self, m: Mono) -> Poly:
        """A monomial with every relation applied."""
        if all(a.rank[0] > 2 and a.rank[0] < 6 and a.kind != "fn" for a, _ in m):
            return {m: Fraction(1)}
        self._steps += 1
        if self._steps % 256 == 0:
            self.budget.check()
        for at, (a, e) in enumerate(m):
            rest = (*m[:at], *m[at + 1 :])
            if a.kind in IDEMPOTENT and e != 1:
                if e < 0:
                    raise UnsupportedError("a division by a condition")
                return self.fix(merge(rest, ((a, 1),)))
            if a.kind == "pow" and e == int(e) and e > 0:
                return self.mul(self.fix(rest), self.expand(a.data, int(e)))
            if a.kind == "prime" and isinstance(a.data, int) and not 0 < e < 1:
                whole = e.__floor__()
                left = (*rest, (a, e - whole)) if e != whole else rest
                return scale(self.fix(tuple(sorted(left, key=lambda t: t[0].rank))), Fraction(a.data) ** whole)
            if a.kind == "fn" and a.data[0] == "cos" and e == int(e) and e >= 2:
                sin = self.fn("sin", a.data[1])
                return self.mul(self.fix((*m[:at], (a, e - 2), *m[at + 1 :]) if e > 2 else rest), self.sub(number(1), self.mul(sin, sin)))
        for at, (a, e) in enumerate(m):
            if a.kind == "pow" and e < 0:
                found = self.divide(m, at, a, e)
                if found is not None:
                    return found
        return self.indicators(m)

    def expand(self, p: Poly, e: int) -> Poly:
        """A natural power of a polynomial."""
        if e > _EXPAND or len(p) ** min(e, 3) > self.budget.terms:
            raise UnsupportedError("a power has too many terms")
        return self.product([p] * e)

    def divide(self, m: Mono, at: int, a: Atom, e: Exp) -> Poly | None:
        """The relation ``u f = 1`` used on a monomial that holds ``u = f**e`` and the leading monomial of f, or a
        negative power of f's only generator (partial fractions)."""
        lead, coefficient, rest = self.lead(a)
        have = dict(m)
        if all(have.get(b, 0) >= k for b, k in lead):
            left = merge(m, tuple((b, -k) for b, k in lead))
            raised = self.fix(merge(left, ((a, 1),)))
            lowered = self.mul(self.fix_rest(left), rest) if rest else {}
            return scale(self.sub(raised, lowered), 1 / coefficient)
        free = constant(rest)
        if free and len(lead) == 1 and have.get(lead[0][0], 0) < 0:
            up = self.fix(merge(m, ((a, 1),)))
            down = self.fix(merge(m, lead))
            return scale(self.sub(up, scale(down, coefficient)), 1 / free)
        return None

    def fix_rest(self, m: Mono) -> Poly:
        return {m: Fraction(1)}

    def lead(self, a: Atom) -> tuple[Mono, Fraction, Poly]:
        """The leading monomial of a ``pow`` atom's base, its coefficient, and the other terms."""
        if a.cache is None:
            top = min(a.data, key=order)
            a.cache = (top, a.data[top], {m: c for m, c in a.data.items() if m != top})
        found: tuple[Mono, Fraction, Poly] = a.cache
        return found

    # powers -----------------------------------------------------------------------------------------------------
    def positive(self, a: Atom, e: Exp = 1) -> bool:
        """Whether a power of an atom is known to be > 0."""
        if a.kind in ("exp", "prime"):
            return True
        if a.kind == "sym":
            return a.data in self.positives or self.facts.positive(a.data) if a.data not in self.table.reals else a.data in self.positives
        if a.kind == "pow":
            return e != int(e) or self.positive_poly(a.data)
        if a.kind == "sum":
            names, low, same, mono = a.data
            first = [x.substitute(dict.fromkeys(names, 0)) for x in low]
            return not same and self.positive_mono(mono) and all(self.facts.nonnegative(x, (), frozenset(names)) for x in first)
        if a.kind == "fn" and a.data[0] == "log":
            return constant(a.data[1]) is not None and (constant(a.data[1]) or 0) > 1
        return False

    def positive_mono(self, m: Mono) -> bool:
        return all(self.positive(a, e) for a, e in m)

    def positive_poly(self, p: Poly) -> bool:
        """Whether all terms are known to be positive."""
        return (
            bool(p)
            and all(c > 0 and all(self.positive(a, e) or e % 2 == 0 for a, e in m) for m, c in p.items())
            and any(self.positive_mono(m) for m in p)
        )

    def primitive(self, p: Poly, positive_only: bool) -> tuple[Fraction, Mono, Poly]:
        """``p = c * m * q``: the number, the monomial that all terms share, and the rest, leading coefficient 1 (or of
        absolute value 1, and only positive factors taken out, when ``positive_only``)."""
        while True:
            shared: dict[Atom, Exp] = {}
            for at, m in enumerate(p):
                powers = dict(m)
                if at == 0:
                    shared = dict(powers)
                else:
                    shared = {a: min(shared.get(a, 0), powers.get(a, 0)) for a in {*shared, *powers}}
                    shared = {a: e for a, e in shared.items() if e}
            mono = tuple(
                sorted(
                    ((a, e) for a, e in shared.items() if a.kind not in IDEMPOTENT and (not positive_only or self.positive(a, e))),
                    key=lambda t: t[0].rank,
                )
            )
            if not mono:
                c = p[min(p, key=order)]
                if positive_only:
                    c = abs(c)
                return c, (), scale(p, 1 / c)
            p = self.mul(p, {tuple((a, -e) for a, e in mono): Fraction(1)})
            c, m2, q = self.primitive(p, positive_only)
            return c, merge(mono, m2), q

    def power(self, p: Poly, e: Exp) -> Poly:
        """A rational power of a polynomial."""
        return self.split(p, lambda q: self._power(q, Fraction(e)))

    def _power(self, p: Poly, e: Fraction) -> Poly:
        if e == 0:
            return number(1)
        if not p:
            if e < 0:
                raise UnsupportedError("a division by zero")
            return {}
        natural = e.denominator == 1
        if natural and 0 < e <= _EXPAND and len(p) > 1:
            return self.expand(p, int(e))
        if abs(e) > 10**6:
            raise UnsupportedError("a huge exponent")
        if e < 0:
            self.divide_by(p)
        c, m, q = self.primitive(p, positive_only=not natural)
        out = self.mul(self.root(c, e), self.fix(tuple((a, k * e) for a, k in m)))
        if constant(q) == 1:
            return out
        if len(q) == 1 and (only := next(iter(q))) and q[only] == 1 and len(only) == 1 and only[0][1] == 1 and natural:
            return self.mul(out, self.fix(((only[0][0], int(e)),)))
        base = self.table.intern("pow", f"({key_of(q)})", lambda: (q, free_of(q)))
        return self.mul(out, self.fix(((base, int(e) if natural else e),)))

    def divide_by(self, p: Poly) -> None:
        """Note that a polynomial is assumed not to be zero."""
        if self.positive_poly(p):
            return
        self.divisors.setdefault(key_of(p), p)

    def root(self, c: Fraction, e: Fraction) -> Poly:
        """A rational power of a number."""
        if e.denominator == 1:
            if max(abs(c.numerator), c.denominator) != 1 and abs(e) > 4096:
                raise UnsupportedError("a huge power of a number")
            return number(c ** int(e))
        if c < 0:
            raise UnsupportedError("a root of a negative number")
        out = number(1)
        for part, sign in ((c.numerator, 1), (c.denominator, -1)):
            for prime, k in _factors(part):
                out = self.mul(out, self.fix(((self._prime(prime), e * k * sign),)))
        return out

    def _prime(self, n: int) -> Atom:
        return self.table.intern("prime", f"prime{n}", lambda: (n, frozenset()))

    # functions --------------------------------------------------------------------------------------------------
    def fn(self, name: str, *args: Poly) -> Poly:
        """An opaque function."""
        key = f"{name}({'; '.join(map(key_of, args))})"
        return self.atom(self.table.intern("fn", key, lambda: ((name, *args), frozenset().union(*map(free_of, args)))))

    def exp(self, p: Poly) -> Poly:
        """``exp`` as a product of one factor for each term."""
        return self.split(p, self._exp)

    def _exp(self, p: Poly) -> Poly:
        out = number(1)
        for m, c in p.items():
            if len(m) == 1 and m[0][0].kind == "ld" and m[0][0].data[0] == "inf#":
                if c > 0:
                    raise UnsupportedError("exp(inf)")
                return {}
            if len(m) == 1 and m[0][1] == 1 and m[0][0].kind == "fn" and m[0][0].data[0] == "log":
                out = self.mul(out, self.power(m[0][0].data[1], c))
                continue
            atom = self._exponential({m: Fraction(1)})
            out = self.mul(out, self.fix(((atom, int(c) if c.denominator == 1 else c),)))
        return out

    def _exponential(self, p: Poly) -> Atom:
        return self.table.intern("exp", f"exp({key_of(p)})", lambda: (p, free_of(p)))

    def log(self, p: Poly) -> Poly:
        """The natural logarithm, split over factors known to be positive."""
        return self.split(p, self._log)

    def _log(self, p: Poly) -> Poly:
        value = constant(p)
        if value is not None:
            if value <= 0:
                raise UnsupportedError("a logarithm of a number that is not positive")
            signed = ((value.numerator, 1), (value.denominator, -1))
            return self.add({}, *(scale(self.fn("log", number(q)), k * s) for x, s in signed for q, k in _factors(x)))
        c, m, q = self.primitive(p, positive_only=True)
        out = [self._log(number(c))] if c != 1 else []
        for a, e in m:
            out.append(scale(a.data, Fraction(e)) if a.kind == "exp" else scale(self._logs(self.atom(a)), Fraction(e)))
        if constant(q) != 1:
            out.append(self._logs(q))
        return self.add({}, *out)

    def _logs(self, q: Poly) -> Poly:
        """The logarithm of what has no positive factor: an odd power of one atom leaves its exponent outside."""
        if len(q) == 1:
            m, c = next(iter(q.items()))
            if len(m) == 1 and c == 1:
                a, e = m[0]
                base = a.data if a.kind == "pow" else {((a, 1),): Fraction(1)}
                if e != int(e) or e % 2 == 1 or (a.kind == "pow" and self.positive_poly(a.data)):
                    return scale(self.fn("log", base), Fraction(e))
        return self.fn("log", q)

    def indicators(self, m: Mono) -> Poly:
        """Products of indicators: what one implies of another is left out, what contradicts gives 0."""
        return {m: Fraction(1)}

    def split(self, p: Poly, then: Callable[[Poly], Poly]) -> Poly:
        """``then`` of a polynomial that may hold indicators."""
        return then(p)


def _factors(n: int) -> list[tuple[int, int]]:
    if n > 10**12:
        raise UnsupportedError("a root of a large number")
    out = []
    d = 2
    while d * d <= n:
        k = 0
        while n % d == 0:
            n //= d
            k += 1
        if k:
            out.append((d, k))
        d += 1
    return [*out, (n, 1)] if n > 1 else out
