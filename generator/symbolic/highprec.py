"""Numbers of 50 digits with one directional derivative: what a refutation is confirmed with."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any, Final

import mpmath  # type: ignore[import-untyped]

from generator.symbolic.exact import Dyadic, KinkError, UndefinedError

__all__ = ["DIGITS", "PARTIAL", "Dual", "Precise", "fine"]

DIGITS: Final = 50
_mp: Final[Any] = mpmath.mp.clone()
_FINE: Final = 110
_mp.dps = _FINE + 20  # for the constants of this module
_PI: Final = +_mp.pi


def fine() -> Any:
    """A context in which results have 110 digits: what is a difference stays one, what was rounding goes."""
    return _mp.workdps(_FINE)


class Dual:
    """A value and its directional derivative."""

    __slots__ = ("d", "v")

    def __init__(self, v: Any, d: Any = 0) -> None:
        self.v = v
        self.d = d


class Precise:
    """The arithmetic. Every method takes and gives :class:`Dual`. ``total``: a function of a value inside its complement's interior (the
    logarithm of a negative number, say) is NaN, as on a machine, and not an error."""

    name = "50 digits"

    def __init__(self, total: bool = False) -> None:
        self.total = total
        self.pi = Dual(_PI)
        self.one = Dual(_mp.mpf(1))

    def const(self, value: int | Fraction) -> Dual:
        x = Fraction(value)
        return Dual(_mp.mpf(x.numerator) / x.denominator)

    def infinite(self, sign: int) -> Dual:
        return Dual(_mp.mpf("inf") * sign)

    def point(self, value: Dyadic | Fraction, slope: int = 0) -> Dual:
        """An input's value, moving with ``slope``."""
        if isinstance(value, Dyadic):
            return Dual(_mp.ldexp(_mp.mpf(value.n), -Dyadic.SHIFT), slope)
        return Dual(self.const(value).v, slope)

    def known(self, x: Dual) -> float:
        if not _mp.isfinite(x.v):
            raise UndefinedError("the value overflows")
        return float(x.v)

    def add(self, a: Dual, b: Dual) -> Dual:
        return Dual(a.v + b.v, a.d + b.d)

    def sub(self, a: Dual, b: Dual) -> Dual:
        return Dual(a.v - b.v, a.d - b.d)

    def neg(self, a: Dual) -> Dual:
        return Dual(-a.v, -a.d)

    def mul(self, a: Dual, b: Dual) -> Dual:
        return Dual(a.v * b.v, a.d * b.v + a.v * b.d if a.d or b.d else 0)

    def div(self, a: Dual, b: Dual) -> Dual:
        if b.v == 0:
            raise UndefinedError("division by zero")
        v = a.v / b.v
        return Dual(v, (a.d - v * b.d) / b.v if a.d or b.d else 0)

    def less(self, a: Dual, b: Dual) -> bool:
        if a.v != a.v or b.v != b.v:
            raise UndefinedError("a comparison with an undefined value")
        return bool(a.v < b.v)

    def equal(self, a: Dual, b: Dual) -> bool:
        return bool(a.v == b.v)

    def larger(self, a: Dual, b: Dual) -> Dual:
        """The larger of two; where they are equal they must move alike."""
        if a.v == b.v:
            if a.d != b.d:
                raise KinkError("two largest values")
            return a
        return b if self.less(a, b) else a

    def power(self, a: Dual, n: int) -> Dual:
        if abs(n) > 10_000:
            raise UndefinedError("the exponent is too large")
        if n == 0:
            return self.one
        if a.v == 0 and n < 0:
            raise UndefinedError("division by zero")
        below = a.v ** (n - 1)
        return Dual(below * a.v, n * below * a.d)

    def pow(self, a: Dual, b: Dual) -> Dual:
        if not b.d and _mp.isint(b.v) and abs(b.v) <= 10_000:
            return self.power(a, int(b.v))
        if not a.v > 0:
            return self.outside(a.v, "a power of a value that is not positive")
        if abs(b.v * _mp.log(a.v)) > 1_000_000:
            raise UndefinedError("the power overflows")
        v = a.v**b.v
        return Dual(v, v * (b.d * _mp.log(a.v) + b.v * a.d / a.v))

    def outside(self, x: Any, why: str) -> Dual:
        """The value of a function where it has none."""
        if not self.total or x == 0 or abs(x) == 1:
            raise UndefinedError(why)
        return Dual(_mp.nan)

    def abs(self, a: Dual) -> Dual:
        if a.v == 0 and a.d:
            raise KinkError("the absolute value of zero")
        return self.neg(a) if a.v < 0 else a

    def call(self, fn: str, args: list[Dual]) -> Dual:
        x = args[0]
        if fn in _TWO:
            return _TWO[fn](self, x, args[1])
        if fn in _STEPS:
            self.known(x)
            return Dual(_STEPS[fn](x.v))
        if fn == "abs":
            return self.abs(x)
        if fn == "relu":
            return self.larger(x, self.const(0))
        low, value, slope = _SMOOTH[fn]
        if low is not None and not low(x.v):
            return self.outside(x.v, f"{fn} outside its domain")
        if abs(x.v) > 1_000_000:
            raise UndefinedError(f"{fn} of a value too large")
        v = value(x.v)
        if not x.d:
            return Dual(v)
        s = slope(x.v, v)
        if not _mp.isfinite(s):
            raise KinkError(f"{fn} has no derivative here")
        return Dual(v, s * x.d)


_TWO: Final[dict[str, Callable[[Precise, Dual, Dual], Dual]]] = {
    "maximum": lambda p, a, b: p.larger(a, b),
    "minimum": lambda p, a, b: p.neg(p.larger(p.neg(a), p.neg(b))),
    "pow": lambda p, a, b: p.pow(a, b),
}
_STEPS: Final[dict[str, Callable[[Any], Any]]] = {
    "sign": _mp.sign,
    "floor": _mp.floor,
    "ceil": _mp.ceil,
    "round": _mp.nint,
    "trunc": lambda x: _mp.floor(x) if x >= 0 else _mp.ceil(x),
}
_POSITIVE: Final = lambda x: x > 0  # noqa: E731
_ROOT2: Final = _mp.sqrt(2)
_TANH_SCALE: Final = _mp.sqrt(2 / _mp.pi)
_CUBE: Final = _mp.mpf("0.044715")


def _sigmoid(x: Any) -> Any:
    return 1 / (1 + _mp.exp(-x))


def _bell(x: Any) -> Any:
    return 2 / _mp.sqrt(_mp.pi) * _mp.exp(-x * x)


def _cdf(x: Any) -> Any:
    return (1 + _mp.erf(x / _ROOT2)) / 2


def _gelu_tanh_slope(x: Any, _v: Any) -> Any:
    t = _mp.tanh(_TANH_SCALE * (x + _CUBE * x**3))
    return (1 + t) / 2 + x * (1 - t * t) * _TANH_SCALE * (1 + 3 * _CUBE * x * x) / 2


# domain, value, derivative from argument and value
_SMOOTH: Final[dict[str, tuple[Callable[[Any], bool] | None, Callable[[Any], Any], Callable[[Any, Any], Any]]]] = {
    "exp": (None, _mp.exp, lambda x, v: v),
    "exp2": (None, lambda x: _mp.mpf(2) ** x, lambda x, v: v * _mp.log(2)),
    "expm1": (None, _mp.expm1, lambda x, v: v + 1),
    "log": (_POSITIVE, _mp.log, lambda x, v: 1 / x),
    "log2": (_POSITIVE, lambda x: _mp.log(x, 2), lambda x, v: 1 / (x * _mp.log(2))),
    "log10": (_POSITIVE, _mp.log10, lambda x, v: 1 / (x * _mp.log(10))),
    "log1p": (lambda x: x > -1, lambda x: _mp.log(1 + x), lambda x, v: 1 / (1 + x)),
    "sqrt": (lambda x: x >= 0, _mp.sqrt, lambda x, v: 1 / (2 * v) if v else _mp.inf),
    "rsqrt": (_POSITIVE, lambda x: 1 / _mp.sqrt(x), lambda x, v: -v / (2 * x)),
    "reciprocal": (lambda x: x != 0, lambda x: 1 / x, lambda x, v: -v * v),
    "square": (None, lambda x: x * x, lambda x, v: 2 * x),
    "sin": (None, _mp.sin, lambda x, v: _mp.cos(x)),
    "cos": (None, _mp.cos, lambda x, v: -_mp.sin(x)),
    "tan": (None, _mp.tan, lambda x, v: 1 + v * v),
    "asin": (lambda x: abs(x) < 1, _mp.asin, lambda x, v: 1 / _mp.sqrt(1 - x * x)),
    "acos": (lambda x: abs(x) < 1, _mp.acos, lambda x, v: -1 / _mp.sqrt(1 - x * x)),
    "atan": (None, _mp.atan, lambda x, v: 1 / (1 + x * x)),
    "sinh": (None, _mp.sinh, lambda x, v: _mp.cosh(x)),
    "cosh": (None, _mp.cosh, lambda x, v: _mp.sinh(x)),
    "tanh": (None, _mp.tanh, lambda x, v: 1 - v * v),
    "erf": (None, _mp.erf, lambda x, v: _bell(x)),
    "erfc": (None, _mp.erfc, lambda x, v: -_bell(x)),
    "sigmoid": (None, _sigmoid, lambda x, v: v * (1 - v)),
    "logsigmoid": (None, lambda x: -_mp.log(1 + _mp.exp(-x)), lambda x, v: _sigmoid(-x)),
    "softplus": (None, lambda x: _mp.log(1 + _mp.exp(x)), lambda x, v: _sigmoid(x)),
    "silu": (None, lambda x: x * _sigmoid(x), lambda x, v: _sigmoid(x) * (1 + x * _sigmoid(-x))),
    "gelu": (None, lambda x: x * _cdf(x), lambda x, v: _cdf(x) + x * _bell(x / _ROOT2) / (2 * _ROOT2)),
    "gelu_tanh": (None, lambda x: x * (1 + _mp.tanh(_TANH_SCALE * (x + _CUBE * x**3))) / 2, _gelu_tanh_slope),
}

PARTIAL: Final = frozenset({"pow", *(fn for fn, (low, _, _) in _SMOOTH.items() if low is not None and fn != "reciprocal")})
"""Functions that have no value on a whole interval."""

_mp.dps = DIGITS
