"""The checker's own account of the elementary functions: each in exp, log, powers, switches and a few opaque ones."""

from __future__ import annotations

from fractions import Fraction
from math import gcd

from generator.spec.integer import IntExpr
from generator.symbolic.check_values import ZERO, DoubtError, Product, Value, Values, one

__all__ = ["Functions"]

HALF = Fraction(1, 2)


class Functions(Values):
    """Functions of values."""

    # exp and log ------------------------------------------------------------------------------------------------
    def exp(self, v: Value) -> Value:
        return self.cases(v, self._exp)

    def _exp(self, v: Value) -> Value:
        out = one()
        for m, c in v.items():
            last = self.parts[m[0][0]] if len(m) == 1 and m[0][1] == 1 else None
            if last is not None and last.what == "element" and last.holds[0] == "infinity":
                if c < 0:
                    return ZERO
                raise DoubtError("exp of infinity")
            if last is not None and last.what == "call" and last.holds[0] == "log":
                out = self.times(out, self.power(last.holds[1], c))
            else:
                unit: Value = {m: Fraction(1)}
                part = self.part("exp", f"exp({self.product_text(m)})", unit, self.names(unit))
                out = self.times(out, self.tidy({next(iter(part))[0][0]: c}))
        return out

    def log(self, v: Value) -> Value:
        return self.cases(v, self._log)

    def _log(self, v: Value) -> Value:
        if not v:
            raise DoubtError("log of zero")
        if set(v) == {()}:
            return self._log_number(v[()])
        c, m, rest = self.factors(v, True)
        out = self._log_number(c)
        for p, e in m:
            part = self.parts[p]
            inside = part.holds if part.what == "exp" else self._log_one(p)
            out = self.plus(out, self.scaled(inside, e))
        return out if rest == one() else self.plus(out, self._log_rest(rest))

    def _log_one(self, p: str) -> Value:
        part = self.parts[p]
        return self.call("log", part.holds if part.what == "base" else {((p, Fraction(1)),): Fraction(1)})

    def _log_rest(self, v: Value) -> Value:
        if len(v) == 1:
            ((m, c),) = v.items()
            if c == 1 and len(m) == 1 and (m[0][1].denominator > 1 or m[0][1] % 2 == 1):
                return self.scaled(self._log_one(m[0][0]), m[0][1])
        return self.call("log", v)

    def _log_number(self, c: Fraction) -> Value:
        if c <= 0:
            raise DoubtError("log of a number that is not positive")
        out: Value = {}
        for n, sign in ((c.numerator, 1), (c.denominator, -1)):
            if n > 10**12:
                raise DoubtError("log of a long number")
            d = 2
            while n > 1:
                d = n if d * d > n else d
                if n % d == 0:
                    n //= d
                    out = self.plus(out, self.scaled(self.call("log", one(d)), sign))
                else:
                    d += 1
        return out

    # switches ---------------------------------------------------------------------------------------------------
    def at_least(self, e: IntExpr) -> Value:
        """1 where an integer expression is >= 0."""
        e = self.sizes.cleared(e)
        if self.sizes.implied(e):
            return one()
        if self.sizes.implied(-e - 1):
            return ZERO
        if self.sizes.implied(-e):
            return self.equals(e)
        if not any("'" in n for n in self.names_of(e)) and e.terms[0][1] < 0:
            return self.minus(one(), self.at_least(-e - 1))
        return self.part("atleast", f"({e} at least 0)", e, self.names_of(e))

    def equals(self, e: IntExpr) -> Value:
        """1 where an integer expression is 0."""
        if e.value is not None:
            return one(int(e.value == 0))
        g, free = gcd(*(c for m, c in e.terms if m)), sum(c for m, c in e.terms if not m)
        if free % g:
            return ZERO
        e = IntExpr(tuple((m, c // g) for m, c in e.terms))
        if self.sizes.implied(e - 1) or self.sizes.implied(-e - 1):
            return ZERO
        if self.sizes.implied(e) and self.sizes.implied(-e):
            return one()
        e = -e if e.terms[0][1] < 0 else e
        return self.part("equals", f"({e} equals 0)", e, self.names_of(e))

    def positive_part(self, v: Value, strict: bool) -> Value:
        """1 where a value is > 0 (>= 0 unless ``strict``)."""
        return self.cases(v, lambda w: self._positive(w, strict))

    def _positive(self, v: Value, strict: bool) -> Value:
        if not v or set(v) == {()}:
            c = v.get((), Fraction(0))
            return one(int(c > 0 or (c == 0 and not strict)))
        if self.infinite(v):
            raise DoubtError("a comparison with infinity")
        _, _, rest = self.factors(v, True)
        if self.surely(rest):
            return one()
        if self.surely(self.scaled(rest, -1)):
            return ZERO
        if not self.generic(rest):
            if not strict:
                return self.minus(one(), self._positive(self.scaled(v, -1), True))
            return self.part("exactly", f"({self.text(rest)} > 0)", rest, self.names(rest))
        c, m, rest = self.factors(rest, False)
        sign = one(1 if c > 0 else -1)
        wanted: list[Value] = [
            self.parts[p].holds if self.parts[p].what == "base" else {((p, Fraction(1)),): Fraction(1)} for p, e in m if e % 2 == 1
        ]
        for w in [*wanted, *([rest] if set(rest) != {()} else [])]:
            sign = self.times(sign, self.minus(self.scaled(self._step(w), 2), one()))
        return self.scaled(self.plus(sign, one()), HALF)

    def _step(self, v: Value) -> Value:
        if self.surely(v):
            return one()
        while len(v) == 2 and len({c > 0 for c in v.values()}) == 2 and self._exponential(v):
            v = self.plus(*(self.scaled(self.log({m: abs(c)}), 1 if c > 0 else -1) for m, c in v.items()))
            if not v:
                raise DoubtError("a comparison of equals")
            v = self.factors(v, True)[2]
        v = self.factors(v, True)[2]
        flip = v[self.first(v)] < 0
        v = self.scaled(v, -1) if flip else v
        self.open.add(self.text(v))
        s = self.part("positive", f"step({self.text(v)})", v, self.names(v))
        return self.minus(one(), s) if flip else s

    def _exponential(self, v: Value) -> bool:
        return all(self.above_zero(p, e) for m in v for p, e in m) and any(self.parts[p].what == "exp" for m in v for p, _ in m)

    def zero(self, v: Value) -> Value:
        """1 where a value is 0."""
        return self.cases(v, self._zero)

    def _zero(self, v: Value) -> Value:
        if not v or set(v) == {()}:
            return one(int(not v))
        if self.infinite(v):
            raise DoubtError("a comparison with infinity")
        v = self.factors(v, True)[2]
        if self.generic(v):
            self.open.add(self.text(v))
            return ZERO
        v = self.scaled(v, -1) if v[self.first(v)] < 0 else v
        return self.part("zero", f"({self.text(v)} = 0)", v, self.names(v))

    def generic(self, v: Value) -> bool:
        """Whether a value that is not 0 is 0 only on a set of inputs of measure zero, whatever the sizes."""
        bare: set[Product] = set()
        for m in v:
            sizes = {p for p, _ in m if self.parts[p].what == "number" and p not in self.reals}
            bare.add(tuple(t for t in m if t[0] not in sizes))
            for p, e in m:
                if not (self.above_zero(p, e) if p in sizes else self._generic(p, e)):
                    return False
        return len(bare) == len(v) and any(self._reads(p) for m in v for p, _ in m)

    def _generic(self, p: str, e: Fraction) -> bool:
        part = self.parts[p]
        match part.what:
            case "element":
                return part.holds[0] not in self.whole
            case "exp":
                return self.generic(part.holds)
            case "base":
                return e.denominator == 1 and self.generic(part.holds)
            case "total":
                return all(self._generic(q, k) for q, k in part.holds[3])
            case "number":
                return True
        return False

    def _reads(self, p: str) -> bool:
        part = self.parts[p]
        if part.what == "element":
            return True
        if part.what == "total":
            return any(self._reads(q) for q, _ in part.holds[3])
        return part.what in ("exp", "base") and any(self._reads(q) for m in part.holds for q, _ in m)

    def infinite(self, v: Value) -> bool:
        """Whether an infinity stands in a value."""
        return any(self.parts[p].what == "element" and self.parts[p].holds[0] == "infinity" for m in v for p, _ in m)

    # named functions --------------------------------------------------------------------------------------------
    def named(self, fn: str, args: list[Value]) -> Value:
        """A function of the language."""
        x = args[0]
        if fn != "exp" and any(map(self.infinite, args)):
            raise DoubtError(f"{fn} of infinity")
        simple = self._exponentials(fn, x)
        if simple is None:
            simple = self._powers(fn, args)
        if simple is not None:
            return simple
        match fn:
            case "relu":
                return self.cases(x, lambda w: self.times(w, self.positive_part(w, True)))
            case "abs":
                return self.cases(x, lambda w: self.times(w, self.named("sign", [w])))
            case "sign":
                return self.minus(self.positive_part(x, True), self.positive_part(self.scaled(x, -1), True))
            case "maximum" | "minimum":
                s = self.positive_part(self.scaled(self.minus(x, args[1]), 1 if fn == "maximum" else -1), True)
                return self.plus(self.times(s, x), self.times(self.minus(one(), s), args[1]))
            case "sin" | "erf":
                return self.cases(x, lambda w: self._odd(fn, w))
            case "cos":
                return self.cases(x, lambda w: one() if not w else self.call("cos", self.scaled(w, -1 if w[min(w)] < 0 else 1)))
            case "tan":
                return self.times(self.named("sin", [x]), self.power(self.named("cos", [x]), Fraction(-1)))
            case "acos":
                return self.minus(self.scaled(self.pi(), HALF), self.named("asin", [x]))
            case "erfc":
                return self.minus(one(), self.named("erf", [x]))
            case "asin" | "atan" | "floor" | "ceil" | "round" | "trunc" | "isnan" | "isinf" | "isfinite":
                return self.cases(x, lambda w: self.call(fn, w))
        raise DoubtError(f"the function {fn}")

    def pi(self) -> Value:
        return self.part("number", "pi", "pi", ())

    def _odd(self, fn: str, v: Value) -> Value:
        if not v:
            return ZERO
        return self.scaled(self.call(fn, self.scaled(v, -1)), -1) if v[min(v)] < 0 else self.call(fn, v)

    def _exponentials(self, fn: str, x: Value) -> Value | None:
        def e(k: Fraction | int) -> Value:
            return self.exp(self.scaled(x, k))

        def logistic(v: Value) -> Value:
            return self.power(self.plus(one(), self.exp(self.scaled(v, -1))), Fraction(-1))

        match fn:
            case "exp":
                return e(1)
            case "exp2":
                return self.exp(self.times(x, self._log_number(Fraction(2))))
            case "expm1":
                return self.minus(e(1), one())
            case "sigmoid":
                return logistic(x)
            case "silu":
                return self.times(x, logistic(x))
            case "softplus":
                return self.log(self.plus(one(), e(1)))
            case "logsigmoid":
                return self.scaled(self.log(self.plus(one(), e(-1))), -1)
            case "tanh":
                return self.minus(self.scaled(logistic(self.scaled(x, 2)), 2), one())
            case "sinh":
                return self.scaled(self.minus(e(1), e(-1)), HALF)
            case "cosh":
                return self.scaled(self.plus(e(1), e(-1)), HALF)
            case "gelu":
                inner = self.times(x, self.root(Fraction(1, 2), HALF))
                return self.scaled(self.times(x, self.plus(one(), self.named("erf", [inner]))), HALF)
            case "gelu_tanh":
                cube = self.plus(x, self.scaled(self.all([x, x, x]), Fraction("0.044715")))
                c = self.times(self.root(Fraction(2), HALF), self.power(self.pi(), -HALF))
                return self.times(x, logistic(self.scaled(self.times(c, cube), 2)))
        return None

    def _powers(self, fn: str, args: list[Value]) -> Value | None:
        x = args[0]
        match fn:
            case "log":
                return self.log(x)
            case "log1p":
                return self.log(self.plus(x, one()))
            case "log2" | "log10":
                base = self._log_number(Fraction(2 if fn == "log2" else 10))
                return self.times(self.log(x), self.power(base, Fraction(-1)))
            case "sqrt":
                return self.power(x, HALF)
            case "rsqrt":
                return self.power(x, -HALF)
            case "reciprocal":
                return self.power(x, Fraction(-1))
            case "square":
                return self.times(x, x)
            case "pow":
                if set(args[1]) <= {()}:
                    return self.power(x, args[1].get((), Fraction(0)))
                return self.exp(self.times(args[1], self.log(x)))
        return None
