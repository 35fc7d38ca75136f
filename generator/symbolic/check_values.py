"""The checker's values: sums of products of named parts, and their value in a field in which every part is independent."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final

from generator.spec.integer import IntExpr, Sym, const
from generator.symbolic.check_sizes import Sizes

__all__ = ["ZERO", "DoubtError", "Part", "Product", "Value", "Values", "one"]

PRIME: Final = 2**61 - 1
SWITCHES: Final = frozenset({"positive", "exactly", "zero", "atleast", "equals"})
_ROOT: Final = 5040
_LONGEST = 30_000
_POWER = 12


class DoubtError(Exception):
    """The checker cannot follow; the proof does not count."""


@dataclass(frozen=True, eq=False)
class Part:
    """One named factor. ``what`` is number, element, exp, base, call, the switches (1 or 0), total or other."""

    what: str
    name: str
    holds: Any
    names: frozenset[str]


Product = tuple[tuple[str, Fraction], ...]  # part names with exponents, sorted
Value = dict[Product, Fraction]
ZERO: Value = {}
_Tower = dict[tuple[tuple[str, Fraction], ...], int]  # a field element with roots adjoined


def one(c: Fraction | int = 1) -> Value:
    """A number."""
    return {(): Fraction(c)} if c else {}


class Values:
    """The parts that one check has met, and arithmetic on them."""

    def __init__(self, sizes: Sizes, positive: frozenset[str], seconds: float) -> None:
        self.sizes = sizes
        self.positive = positive
        self.parts: dict[str, Part] = {}
        self.integers: dict[str, str] = {}  # integer symbols that stand for elements of integer tensors -> part
        self.reals: set[str] = set()
        self.whole: set[str] = set()  # tensors of integers or booleans
        self.open: set[str] = set()  # where a switch of reals was left open
        self.until = time.process_time() + seconds
        self.count = 0

    # parts ------------------------------------------------------------------------------------------------------
    def part(self, what: str, name: str, holds: Any, names: Iterable[str]) -> Value:
        """The value of one part."""
        if name not in self.parts:
            self.parts[name] = Part(what, name, holds, frozenset(names))
        return {((name, Fraction(1)),): Fraction(1)}

    def names(self, v: Value) -> frozenset[str]:
        """The names a value depends on."""
        return frozenset().union(*(self.parts[p].names for m in v for p, _ in m))

    def names_of(self, e: IntExpr) -> frozenset[str]:
        """The names an integer expression depends on."""
        free = e.free()
        return free.union(*(self.parts[self.integers[n]].names for n in free if n in self.integers))

    def number(self, name: str) -> Value:
        """A size, an axis or an attribute."""
        if name in self.integers:
            return {((self.integers[name], Fraction(1)),): Fraction(1)}
        return self.part("number", name, name, (name,))

    def element(self, tensor: str, at: tuple[IntExpr, ...]) -> Value:
        """An element of a tensor."""
        names = frozenset({f"!{tensor}"}).union(*(self.names_of(i) for i in at))
        return self.part("element", f"{tensor}({', '.join(map(str, at))})", (tensor, at), names)

    def integer(self, e: IntExpr) -> Value:
        """An integer expression as a value."""
        out: Value = {}
        for m, c in e.terms:
            term = one(c)
            for a, p in m:
                if isinstance(a, Sym):
                    factor = self.number(a.name)
                else:
                    alone = IntExpr(((((a, 1),), 1),))
                    factor = self.part("other", f"integer {alone}", ("integer", alone), self.names_of(alone))
                term = self.times(term, self.power(factor, Fraction(p)))
            out = self.plus(out, term)
        return out

    # arithmetic -------------------------------------------------------------------------------------------------
    def plus(self, *vs: Value) -> Value:
        out: Value = {}
        for v in vs:
            for m, c in v.items():
                out[m] = out.get(m, Fraction(0)) + c
        return {m: c for m, c in out.items() if c}

    def minus(self, a: Value, b: Value) -> Value:
        return self.plus(a, {m: -c for m, c in b.items()})

    def scaled(self, v: Value, c: Fraction | int) -> Value:
        return {m: k * c for m, k in v.items()} if c else {}

    def times(self, a: Value, b: Value) -> Value:
        if len(a) * len(b) > _LONGEST:
            raise DoubtError("a product is too long")
        self.tick()
        out: Value = {}
        for m, c in a.items():
            for n, d in b.items():
                powers = dict(m)
                for p, e in n:
                    powers[p] = powers.get(p, Fraction(0)) + e
                for k, f in self.tidy(powers).items():
                    out[k] = out.get(k, Fraction(0)) + c * d * f
        return {m: c for m, c in out.items() if c}

    def all(self, vs: Iterable[Value]) -> Value:
        out = one()
        for v in vs:
            out = self.times(out, v)
        return out

    def tick(self) -> None:
        self.count += 1
        if self.count % 64 == 0 and time.process_time() > self.until:
            raise DoubtError("the check took too long")

    def tidy(self, powers: dict[str, Fraction]) -> Value:
        """A product with its powers in order: switches once, natural powers of sums written out, no redundant switch."""
        factor = Fraction(1)
        for p, e in list(powers.items()):
            part = self.parts[p]
            if e == 0:
                del powers[p]
            elif part.what in SWITCHES:
                if e < 0:
                    raise DoubtError("a division by a switch")
                powers[p] = Fraction(1)
            elif part.what == "base" and e.denominator == 1 and e > 0:
                del powers[p]
                if e > _POWER:
                    raise DoubtError("a high power of a sum")
                return self.times(self.tidy(powers), self.all([part.holds] * int(e)))
            elif part.what == "call" and part.holds[0] == "cos" and e.denominator == 1 and e > 1:
                powers[p] = e - 2
                sine = self.call("sin", part.holds[1])
                return self.times(self.tidy(powers), self.minus(one(), self.times(sine, sine)))
            elif part.what == "number" and p.startswith("root of ") and not 0 < e < 1:
                up = e.numerator // e.denominator
                factor *= Fraction(part.holds) ** up
                powers[p] = e - up
                if e == up:
                    del powers[p]
        if sum(self.parts[p].what in SWITCHES for p in powers) > 1:
            left = self.switches(powers)
            if left is None:
                return {}
            powers = left
        instead = self.instead(powers)
        if instead is not None:
            return instead
        return {tuple(sorted(powers.items())): factor}

    def instead(self, powers: dict[str, Fraction]) -> Value | None:
        """A product in which an element of an integer tensor is named as what a switch says it equals; None for none."""
        return None

    def switches(self, powers: dict[str, Fraction]) -> dict[str, Fraction] | None:
        """Leave out switches that others imply; None when two contradict each other."""
        found = [self.parts[p] for p in sorted(powers) if self.parts[p].what in SWITCHES]
        out = dict(powers)
        for s in found:
            rest = [x for x in found if x is not s and x.name in out]
            if s.what == "positive":
                if any(x.what == "positive" and self.surely(self.minus(s.holds, x.holds)) for x in rest):
                    del out[s.name]
                continue
            if s.what not in ("atleast", "equals"):
                continue
            integers = [x for x in rest if x.what in ("atleast", "equals")]
            given = [e for x in integers for e in ((x.holds,) if x.what == "atleast" else (x.holds, -x.holds))]
            below = self.sizes.implied(const(-1) - s.holds, given)
            if below or (s.what == "equals" and self.sizes.implied(s.holds - 1, given)):
                return None
            if s.what == "atleast" and self.sizes.implied(s.holds, given):
                del out[s.name]
        return out

    # signs ------------------------------------------------------------------------------------------------------
    def above_zero(self, p: str, e: Fraction = Fraction(1)) -> bool:
        """Whether a power of a part is > 0 everywhere."""
        part = self.parts[p]
        match part.what:
            case "exp":
                return True
            case "number":
                if p.startswith("root of ") or p == "pi" or p in self.positive:
                    return True
                return p not in self.reals and p not in self.integers and self.sizes.implied(Values._symbol(p) - 1)
            case "base":
                return e.denominator > 1 or self.surely(part.holds)
            case "total":
                names, low, same, body = part.holds
                if same or not all(self.above_zero(q, k) for q, k in body):
                    return False
                return all(self.sizes.implied(x.substitute(dict.fromkeys(names, 0)), (), names) for x in low)
            case "call":
                return part.holds[0] == "log" and len(part.holds[1]) == 1 and part.holds[1].get((), 0) > 1
        return False

    @staticmethod
    def _symbol(name: str) -> IntExpr:
        return IntExpr(((((Sym(name), 1),), 1),))

    def surely(self, v: Value) -> bool:
        """Whether all terms are > 0, or squares with one of them > 0."""

        def square(p: str, e: Fraction) -> bool:
            return self.above_zero(p, e) or (e.denominator == 1 and e % 2 == 0)

        return all(c > 0 and all(square(p, e) for p, e in m) for m, c in v.items()) and any(
            all(self.above_zero(p, e) for p, e in m) for m in v
        )

    # powers -----------------------------------------------------------------------------------------------------
    def cases(self, v: Value, f: Callable[[Value], Value], depth: int = 0) -> Value:
        """``f`` of a value with switches in it: for each of their positions."""
        found = sorted({p for m in v for p, _ in m if self.parts[p].what in SWITCHES})
        if not found:
            return f(v)
        if depth > 5:
            raise DoubtError("too many switches in a function")
        s = found[0]
        off = {m: c for m, c in v.items() if all(p != s for p, _ in m)}
        on = self.plus(off, self._without(v, s))
        switch: Value = {((s, Fraction(1)),): Fraction(1)}
        return self.plus(
            self.times(switch, self.cases(on, f, depth + 1)),
            self.times(self.minus(one(), switch), self.cases(off, f, depth + 1)),
        )

    def _without(self, v: Value, s: str) -> Value:
        out: Value = {}
        for m, c in v.items():
            if any(p == s for p, _ in m):
                k = tuple(t for t in m if t[0] != s)
                out[k] = out.get(k, Fraction(0)) + c
        return out

    def factors(self, v: Value, only_positive: bool) -> tuple[Fraction, Product, Value]:
        """A value as number * product * rest; the rest has first coefficient 1 (or -1 when ``only_positive``)."""
        taken: dict[str, Fraction] = {}
        for _ in range(8):
            common: dict[str, Fraction] | None = None
            for m in v:
                powers = dict(m)
                if common is None:
                    common = powers
                else:
                    common = {p: min(common.get(p, Fraction(0)), powers.get(p, Fraction(0))) for p in {*common, *powers}}
            use = {p: e for p, e in (common or {}).items() if e and self.parts[p].what not in SWITCHES}
            if only_positive:
                use = {p: e for p, e in use.items() if self.above_zero(p, e)}
            if not use:
                break
            for p, e in use.items():
                taken[p] = taken.get(p, Fraction(0)) + e
            v = self.times(v, {tuple(sorted((p, -e) for p, e in use.items())): Fraction(1)})
        c = v[self.first(v)]
        c = abs(c) if only_positive else c
        return c, tuple(sorted((p, e) for p, e in taken.items() if e)), self.scaled(v, 1 / c)

    @staticmethod
    def first(v: Value) -> Product:
        """The product by whose coefficient a value is scaled: not the constant, when there is another."""
        return min(v, key=lambda m: (not m, m))

    def power(self, v: Value, e: Fraction) -> Value:
        """A rational power."""
        return self.cases(v, lambda w: self._power(w, e))

    def _power(self, v: Value, e: Fraction) -> Value:
        if e == 0:
            return one()
        if not v:
            if e < 0:
                raise DoubtError("a division by zero")
            return {}
        if e.denominator == 1 and 0 < e <= _POWER and len(v) > 1:
            return self.all([v] * int(e))
        if abs(e) > 10**6:
            raise DoubtError("a huge exponent")
        c, m, rest = self.factors(v, e.denominator > 1)
        out = self.times(self.root(c, e), self.tidy({p: k * e for p, k in m}))
        if rest == one():
            return out
        key = self.text(rest)
        base = self.part("base", f"<{key}>", rest, self.names(rest))
        name = next(iter(base))[0][0]
        return self.times(out, self.tidy({name: e}))

    def root(self, c: Fraction, e: Fraction) -> Value:
        """A power of a number: its prime factors under the root."""
        if e.denominator == 1:
            if abs(e) > 4096:
                raise DoubtError("a huge power")
            return one(c ** int(e))
        if c < 0:
            raise DoubtError("a root of a negative number")
        out = one()
        for n, sign in ((c.numerator, 1), (c.denominator, -1)):
            d = 2
            if n > 10**12:
                raise DoubtError("a root of a long number")
            while n > 1:
                if d * d > n:
                    d = n
                if n % d == 0:
                    n //= d
                    name = next(iter(self.part("number", f"root of {d}", d, ())))[0][0]
                    out = self.times(out, self.tidy({name: e * sign}))
                else:
                    d += 1
        return out

    def text(self, v: Value) -> str:
        """A name for a value."""
        return " + ".join(f"{c} {self.product_text(m)}" for m, c in sorted(v.items())) or "0"

    def product_text(self, m: Product) -> str:
        return " ".join(p if e == 1 else f"{p}^{e}" for p, e in m)

    def call(self, fn: str, *args: Value) -> Value:
        """A function that the checker knows nothing of but what ``check_functions`` says."""
        name = f"{fn}({' ; '.join(map(self.text, args))})"
        return self.part("call", name, (fn, *args), frozenset().union(*map(self.names, args)))

    # the field --------------------------------------------------------------------------------------------------
    def vanishes(self, v: Value, rounds: int = 2) -> bool:
        """Whether a value is 0 where its parts are independent elements of a field, subject to what defines bases and
        roots; a wrong yes has probability below degree / 2**61 in each of the rounds."""
        return all(not _Field(self, f"{i}").value(v) for i in range(rounds))


class _Field:
    """One random point."""

    def __init__(self, values: Values, seed: str) -> None:
        self.values = values
        self.seed = seed
        self.memo: dict[str, _Tower] = {}

    def random(self, name: str) -> int:
        digest = hashlib.sha256(f"{self.seed}|{name}".encode()).digest()
        return int.from_bytes(digest[:16], "big") % (PRIME - 2) + 1

    def value(self, v: Value) -> _Tower:
        out: _Tower = {}
        for m, c in v.items():
            term: _Tower = {(): c.numerator * pow(c.denominator, -1, PRIME) % PRIME}
            for p, e in m:
                term = self.times(term, self.part(p, e))
            for k, x in term.items():
                out[k] = (out.get(k, 0) + x) % PRIME
        return {k: x for k, x in out.items() if x}

    def times(self, a: _Tower, b: _Tower) -> _Tower:
        out: _Tower = {}
        for m, x in a.items():
            for n, y in b.items():
                powers = dict(m)
                c = x * y % PRIME
                extra: _Tower = {(): 1}
                for r, e in n:
                    powers[r] = powers.get(r, Fraction(0)) + e
                    if powers[r] >= 1:
                        powers[r] -= 1
                        extra = self.times(extra, self.base(r))
                    if not powers[r]:
                        del powers[r]
                for k, z in self._shift(extra, tuple(sorted(powers.items())), c).items():
                    out[k] = (out.get(k, 0) + z) % PRIME
        return {k: x for k, x in out.items() if x}

    def _shift(self, t: _Tower, m: tuple[tuple[str, Fraction], ...], c: int) -> _Tower:
        if set(t) <= {()}:
            return {m: t.get((), 0) * c % PRIME}
        return self.times(t, {m: c})

    def base(self, p: str) -> _Tower:
        """What is under a root."""
        if p not in self.memo:
            part = self.values.parts[p]
            self.memo[p] = self.value(part.holds) if part.what == "base" else {(): part.holds % PRIME}
        return self.memo[p]

    def part(self, p: str, e: Fraction) -> _Tower:
        part = self.values.parts[p]
        if part.what == "base" or p.startswith("root of "):
            up = e.numerator // e.denominator
            root: _Tower = {((p, e - up),): 1} if e != up else {(): 1}
            return self.times(root, self.whole(p, up)) if up else root
        if (e * _ROOT).denominator != 1:
            raise DoubtError("an odd root")
        return {(): pow(self.random(p), int(e * _ROOT), PRIME)}

    def whole(self, p: str, e: int) -> _Tower:
        base = self.base(p)
        if e < 0:
            base, e = self.inverse(base), -e
        out: _Tower = {(): 1}
        for _ in range(e):
            out = self.times(out, base)
        return out

    def inverse(self, t: _Tower) -> _Tower:
        """The reciprocal; of two terms at most, one of them under a square root."""
        if set(t) == {()}:
            return {(): pow(t[()], -1, PRIME)}
        if not t:
            raise DoubtError("a division by zero in the field")
        other = {m: (x if m == () else -x % PRIME) for m, x in t.items()}
        norm = self.times(t, other)
        if set(norm) != {()}:
            raise DoubtError("a reciprocal of a sum of roots")
        return self.times(other, {(): pow(norm[()], -1, PRIME)})
