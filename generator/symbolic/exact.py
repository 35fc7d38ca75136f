"""Numbers modulo a prime with one directional derivative, so that an identity of formulas is decided at a point without rounding.

A number is a point's value three times over: its residue modulo ``P``, its residue modulo ``Q`` (the order of the group in which
exponentials live: ``P = 2 Q + 1``, both prime), and a float that only decides comparisons. Equal formulas have equal residues;
different rational functions differ at a random point except with probability ``degree / 2**58``.

``exp`` is a homomorphism from residues modulo Q to squares modulo P, so ``exp(a + b) = exp(a) exp(b)`` holds exactly. Every square has
one root that is itself a square: ``sqrt`` is multiplicative; a point where a radicand is no square is drawn again. Logarithms and the
error function are independent random values, odd where the function is; ``exp`` of integer multiples of logarithms is a power. A
relation between functions beyond these is not seen: unequal residues alone refute nothing (see ``numeric``).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache
from hashlib import blake2b
from typing import Any, Final

__all__ = ["Dyadic", "KinkError", "Mod", "Modular", "UndefinedError", "UnwrittenError"]

P: Final = 577795260816597599  # a safe prime; -1 is no square modulo P or Q, and 2, 3, 5, 7, 11, 13 are squares modulo both
Q: Final = (P - 1) // 2
G: Final = 4  # generates the squares
_ROOT: Final = (P + 1) // 4
_ROOT_Q: Final = (Q + 1) // 4
_MOST: Final = 10_000  # the largest exponent of a power that is multiplied out


class UndefinedError(Exception):
    """The point is outside the domain of a formula (or of this method): another point must be drawn."""


class KinkError(UndefinedError):
    """The point is one where a formula has no derivative."""


class UnwrittenError(Exception):
    """A formula reads an element that it has not written."""


def _hash(kind: str, value: int, modulus: int) -> int:
    return int.from_bytes(blake2b(f"{kind}:{value}".encode(), digest_size=16).digest(), "little") % modulus


class Dyadic:
    """The number ``n / 2**SHIFT``: an input's drawn value, cheaper to draw than a Fraction."""

    __slots__ = ("n",)
    SHIFT: Final = 128

    def __init__(self, n: int) -> None:
        self.n = n

    def __float__(self) -> float:
        return self.n / (1 << Dyadic.SHIFT)


class Mod:
    """A value: residues ``r`` mod P and ``q`` mod Q, float ``f``, directional derivative ``d`` mod P. ``logs`` are the logarithms it is
    a sum of: (residue of the argument, integer coefficient)."""

    __slots__ = ("d", "f", "logs", "q", "r")

    def __init__(self, r: int, q: int, f: float, d: int = 0, logs: tuple[tuple[int, int], ...] = ()) -> None:
        self.r = r
        self.q = q
        self.f = f
        self.d = d
        self.logs = logs


def _merge(a: tuple[tuple[int, int], ...], b: tuple[tuple[int, int], ...], sign: int) -> tuple[tuple[int, int], ...]:
    if not b:
        return a
    out = dict(a)
    for u, c in b:
        out[u] = out.get(u, 0) + sign * c
    return tuple((u, c) for u, c in out.items() if c)


def _whole(x: Mod) -> int | None:
    """The small integer that ``x`` is a constant of, if it is one."""
    if x.d or not math.isfinite(x.f) or x.f != int(x.f) or abs(x.f) > _MOST:
        return None
    n = int(x.f)
    return n if x.r == n % P and x.q == n % Q else None


@lru_cache(maxsize=4096)
def _inverse(r: int, modulus: int) -> int:
    return pow(r, -1, modulus)


def _apply(f: Callable[[float], float], x: float) -> float:
    try:
        return f(x)
    except OverflowError:
        return math.inf
    except ValueError:
        return math.nan


_UNIT_P: Final = pow(2, -Dyadic.SHIFT, P)
_UNIT_Q: Final = pow(2, -Dyadic.SHIFT, Q)


class Modular:
    """The arithmetic. Every method takes and gives :class:`Mod`."""

    name = "exact"

    def __init__(self) -> None:
        self.constants: dict[Fraction, Mod] = {}
        root = pow(_hash("pi", 0, P), 2, P)
        self.pi = Mod(pow(root, 2, P), pow(_hash("pi", 1, Q), 2, Q), math.pi)
        self.lossy = False  # whether a root inside an exponential was not kept as a root
        self.table: dict[str, Callable[..., Mod]] = {
            "exp": self.exp,
            "log": self.log,
            "sqrt": self.sqrt,
            "abs": self.abs,
            "sign": lambda x: self.const(0 if x.f == 0 else int(math.copysign(1, self.known(x)))),
            "floor": lambda x: self.const(math.floor(self.known(x))),
            "ceil": lambda x: self.const(math.ceil(self.known(x))),
            "round": lambda x: self.const(round(self.known(x))),
            "trunc": lambda x: self.const(math.trunc(self.known(x))),
            "square": lambda x: self.mul(x, x),
            "reciprocal": lambda x: self.div(self.const(1), x),
            "maximum": self.maximum,
            "minimum": lambda x, y: self.neg(self.maximum(self.neg(x), self.neg(y))),
            "pow": self.pow,
            "sin": lambda x: self.circle(x)[0],
            "cos": lambda x: self.circle(x)[1],
            "asin": lambda x: self.arc("asin", x, lambda y: self.sqrt(self.sub(self.const(1), self.mul(y, y))), math.asin),
            "atan": lambda x: self.arc("atan", x, lambda y: self.add(self.const(1), self.mul(y, y)), math.atan),
            "erf": self.erf,
        }

    # values -----------------------------------------------------------------------------------------------------
    def const(self, value: int | Fraction) -> Mod:
        x = Fraction(value)
        found = self.constants.get(x)
        if found is None:
            n, d = x.numerator, x.denominator
            if d % P == 0 or d % Q == 0:
                raise UndefinedError(f"the denominator {d}")
            try:
                as_float = float(x)
            except OverflowError:
                as_float = math.inf if x > 0 else -math.inf
            found = Mod(n * _inverse(d % P, P) % P, n * _inverse(d % Q, Q) % Q, as_float)
            self.constants[x] = found
        return found

    def infinite(self, sign: int) -> Mod:
        return Mod(_hash("inf", sign, P), _hash("inf", sign, Q), sign * math.inf)

    def point(self, value: Dyadic | Fraction, slope: int = 0) -> Mod:
        """An input's value, moving with ``slope``."""
        if isinstance(value, Dyadic):
            return Mod(value.n * _UNIT_P % P, value.n * _UNIT_Q % Q, float(value), slope % P)
        x = self.const(value)
        return Mod(x.r, x.q, x.f, slope % P)

    @staticmethod
    def known(x: Mod) -> float:
        if not math.isfinite(x.f):
            raise UndefinedError("the value overflows")
        return x.f

    # arithmetic -------------------------------------------------------------------------------------------------
    def add(self, a: Mod, b: Mod) -> Mod:
        return Mod((a.r + b.r) % P, (a.q + b.q) % Q, a.f + b.f, (a.d + b.d) % P, _merge(a.logs, b.logs, 1) if b.logs else a.logs)

    def sub(self, a: Mod, b: Mod) -> Mod:
        return Mod((a.r - b.r) % P, (a.q - b.q) % Q, a.f - b.f, (a.d - b.d) % P, _merge(a.logs, b.logs, -1) if b.logs else a.logs)

    def neg(self, a: Mod) -> Mod:
        return Mod(-a.r % P, -a.q % Q, -a.f, -a.d % P, tuple((u, -c) for u, c in a.logs))

    def mul(self, a: Mod, b: Mod) -> Mod:
        d = (a.d * b.r + a.r * b.d) % P if a.d or b.d else 0
        logs: tuple[tuple[int, int], ...] = ()
        if a.logs or b.logs:
            many, one = (a, b) if a.logs else (b, a)
            n = _whole(one)
            logs = tuple((u, c * n) for u, c in many.logs) if n else ()
        return Mod(a.r * b.r % P, a.q * b.q % Q, a.f * b.f, d, logs)

    def div(self, a: Mod, b: Mod) -> Mod:
        if b.r == 0 or b.q == 0 or b.f == 0:
            raise UndefinedError("division by zero")
        i = _inverse(b.r, P)
        r = a.r * i % P
        d = (a.d - r * b.d) * i % P if a.d or b.d else 0
        return Mod(r, a.q * _inverse(b.q, Q) % Q, a.f / b.f, d)

    def less(self, a: Mod, b: Mod) -> bool:
        if a.r == b.r or a.f == b.f:
            return False
        if math.isnan(a.f) or math.isnan(b.f):
            raise UndefinedError("a comparison with an undefined value")
        return a.f < b.f

    def equal(self, a: Mod, b: Mod) -> bool:
        return a.r == b.r

    def larger(self, a: Mod, b: Mod) -> Mod:
        """The larger of two; where they are equal they must move alike."""
        if a.r == b.r or a.f == b.f:
            if a.d != b.d:
                raise KinkError("two largest values")
            return a
        return b if self.less(a, b) else a

    def maximum(self, a: Mod, b: Mod) -> Mod:
        return self.larger(a, b)

    def power(self, a: Mod, n: int) -> Mod:
        if abs(n) > _MOST:
            raise UndefinedError("the exponent is too large")
        if n == 0:
            return self.const(1)
        if (a.r == 0 or a.q == 0) and n < 0:
            raise UndefinedError("division by zero")
        below = pow(a.r, n - 1, P) if a.r or n > 1 else (1 if n == 1 else 0)
        try:
            f = a.f**n
        except OverflowError:
            f = math.inf
        except ZeroDivisionError as error:
            raise UndefinedError("division by zero") from error
        return Mod(below * a.r % P, pow(a.q, n, Q), f, n * below * a.d % P)

    # functions --------------------------------------------------------------------------------------------------
    def call(self, fn: str, args: list[Mod]) -> Mod:
        found = self.table.get(fn)
        if found is not None:
            return found(*args)
        made = getattr(self, "fn_" + fn)(*args)
        real = _REAL.get(fn)
        if real is not None:
            made.f = _apply(real, args[0].f)
        return made  # type: ignore[no-any-return]

    def exp(self, a: Mod) -> Mod:
        power, r = a.q, 1
        for u, c in a.logs:
            power -= c * _hash("log", u, Q)
            r = r * pow(u, c, P) % P
        r = r * pow(G, power % Q, P) % P
        return Mod(r, _hash("alg", r, Q), _apply(math.exp, a.f), r * a.d % P)

    def log(self, a: Mod) -> Mod:
        if not a.f > 0 or a.r == 0:
            raise UndefinedError("the logarithm of a value that is not positive")
        i = _inverse(a.r, P)
        u, sign = (a.r, 1) if a.r <= i else (i, -1)
        f = math.log(a.f) if math.isfinite(a.f) else a.f
        if u == 1:
            return Mod(0, 0, f, a.d * i % P)
        return Mod(sign * _hash("log", u, P) % P, sign * _hash("log", u, Q) % Q, f, a.d * i % P, ((u, sign),))

    def sqrt(self, a: Mod) -> Mod:
        if not a.f >= 0:
            raise UndefinedError("the root of a negative value")
        if a.r == 0 or a.f == 0:
            if a.d or a.r:
                raise KinkError("the root of zero")
            return a
        s = pow(a.r, _ROOT, P)
        if s * s % P != a.r:
            raise UndefinedError("not a square")
        q = pow(a.q, _ROOT_Q, Q)
        if q * q % Q != a.q:
            q, self.lossy = _hash("alg", s, Q), True
        return Mod(s, q, math.sqrt(a.f), a.d * _inverse(2 * s % P, P) % P)

    def abs(self, a: Mod) -> Mod:
        if a.r == 0 and a.d:
            raise KinkError("the absolute value of zero")
        return self.neg(a) if self.less(a, self.const(0)) else a

    def pow(self, a: Mod, b: Mod) -> Mod:
        n = _whole(b)
        if n is not None:
            return self.power(a, n)
        if not a.f > 0 or a.r == 0:
            raise UndefinedError("a power of a value that is not positive")
        whole = math.floor(self.known(b))
        rest = b.f - whole
        if min(rest, 1 - rest) < 1e-9:
            raise UndefinedError("an exponent too near an integer")
        if abs(whole) > _MOST:
            raise UndefinedError("the exponent is too large")
        if not b.d and 2 * b.f == int(2 * b.f) and b.r == self.const(Fraction(b.f)).r:
            return self.mul(self.power(a, whole), self.sqrt(a))
        log = self.log(a)
        r = pow(a.r, whole, P) * pow(G, (b.q - whole) * log.q % Q, P) % P
        d = r * (b.d * log.r + b.r * log.d) % P
        return Mod(r, _hash("alg", r, Q), _apply(lambda x: x**b.f, a.f), d)

    def odd(self, kind: str, a: Mod) -> tuple[int, int]:
        """Residues of an odd function of which nothing else is known."""
        u, sign = (a.r, 1) if 2 * a.r <= P else (P - a.r, -1)
        return (sign * _hash(kind, u, P) % P, sign * _hash(kind, u, Q) % Q) if u else (0, 0)

    def circle(self, a: Mod) -> tuple[Mod, Mod]:
        """Sine and cosine: a point of the circle."""
        t, _ = self.odd("circle", a)
        i = _inverse((1 + t * t) % P, P)
        s, c = 2 * t * i % P, (1 - t * t) * i % P
        x = self.known(a)
        sign, canonical = (1, s) if 2 * a.r <= P else (-1, P - s)
        q = sign * _hash("alg", canonical % P, Q) % Q if a.r else 0
        return Mod(s, q, math.sin(x), c * a.d % P), Mod(c, _hash("alg", c, Q), math.cos(x), -s * a.d % P)

    def arc(self, kind: str, a: Mod, slope: Callable[[Mod], Mod], real: Callable[[float], float]) -> Mod:
        r, q = self.odd(kind, a)
        below = slope(Mod(a.r, a.q, a.f)).r
        if below == 0:
            raise UndefinedError("the edge of a domain")
        return Mod(r, q, _apply(real, a.f), a.d * _inverse(below, P) % P)

    def erf(self, a: Mod) -> Mod:
        r, q = self.odd("erf", a)
        still = Mod(a.r, a.q, a.f)
        slope = self.div(self.mul(self.const(2), self.exp(self.neg(self.mul(still, still)))), self.sqrt(self.pi))
        return Mod(r, q, _apply(math.erf, a.f), slope.r * a.d % P)

    # functions made of others -----------------------------------------------------------------------------------
    def fn_exp2(self, x: Mod) -> Mod:
        return self.exp(self.mul(x, self.log(self.const(2))))

    def fn_expm1(self, x: Mod) -> Mod:
        return self.sub(self.exp(x), self.const(1))

    def fn_log2(self, x: Mod) -> Mod:
        return self.div(self.log(x), self.log(self.const(2)))

    def fn_log10(self, x: Mod) -> Mod:
        return self.div(self.log(x), self.log(self.const(10)))

    def fn_log1p(self, x: Mod) -> Mod:
        return self.log(self.add(self.const(1), x))

    def fn_rsqrt(self, x: Mod) -> Mod:
        return self.div(self.const(1), self.sqrt(x))

    def fn_tan(self, x: Mod) -> Mod:
        s, c = self.circle(x)
        return self.div(s, c)

    def fn_acos(self, x: Mod) -> Mod:
        return self.sub(self.div(self.pi, self.const(2)), self.table["asin"](x))

    def fn_sinh(self, x: Mod) -> Mod:
        return self.div(self.sub(self.exp(x), self.exp(self.neg(x))), self.const(2))

    def fn_cosh(self, x: Mod) -> Mod:
        return self.div(self.add(self.exp(x), self.exp(self.neg(x))), self.const(2))

    def fn_tanh(self, x: Mod) -> Mod:
        e = self.exp(self.mul(self.const(2), x))
        return self._ratio(self.sub(e, self.const(1)), self.add(e, self.const(1)))

    def fn_erfc(self, x: Mod) -> Mod:
        return self.sub(self.const(1), self.erf(x))

    def fn_sigmoid(self, x: Mod) -> Mod:
        return self._ratio(self.const(1), self.add(self.const(1), self.exp(self.neg(x))))

    def fn_logsigmoid(self, x: Mod) -> Mod:
        return self.neg(self._log(self.add(self.const(1), self.exp(self.neg(x)))))

    def fn_softplus(self, x: Mod) -> Mod:
        return self._log(self.add(self.const(1), self.exp(x)))

    def fn_relu(self, x: Mod) -> Mod:
        return self.larger(x, self.const(0))

    def fn_silu(self, x: Mod) -> Mod:
        return self.mul(x, self.fn_sigmoid(x))

    def fn_gelu(self, x: Mod) -> Mod:
        inner = self.erf(self.div(x, self.sqrt(self.const(2))))
        return self.div(self.mul(x, self.add(self.const(1), inner)), self.const(2))

    def fn_gelu_tanh(self, x: Mod) -> Mod:
        cube = self.mul(self.const(Fraction("0.044715")), self.power(x, 3))
        inner = self.mul(self.sqrt(self.div(self.const(2), self.pi)), self.add(x, cube))
        return self.div(self.mul(x, self.add(self.const(1), self.fn_tanh(inner))), self.const(2))

    def _ratio(self, a: Mod, b: Mod) -> Mod:
        """A quotient whose float may overflow on the way."""
        top, low = Mod(a.r, a.q, 1.0, a.d), Mod(b.r, b.q, 1.0, b.d)
        return self.div(top, low)

    def _log(self, a: Mod) -> Mod:
        return self.log(Mod(a.r, a.q, 1.0, a.d))


def _sigmoid(x: float) -> float:
    return 1 / (1 + math.exp(-x)) if x >= 0 else math.exp(x) / (1 + math.exp(x))


def _softplus(x: float) -> float:
    return max(x, 0.0) + math.log1p(math.exp(-abs(x)))


_REAL: Final[dict[str, Callable[[float], Any]]] = {
    "exp2": lambda x: 2.0**x,
    "expm1": math.expm1,
    "log1p": math.log1p,
    "tanh": math.tanh,
    "sinh": math.sinh,
    "cosh": math.cosh,
    "erfc": math.erfc,
    "sigmoid": _sigmoid,
    "logsigmoid": lambda x: -_softplus(-x),
    "softplus": _softplus,
    "silu": lambda x: x * _sigmoid(x),
    "gelu_tanh": lambda x: x * (1 + math.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))) / 2,
}
