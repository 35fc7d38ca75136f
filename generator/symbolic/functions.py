"""The elementary functions in terms of the generators of the normal form: exp, log, powers, steps."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Final

from generator.symbolic.ring import Ring
from generator.symbolic.terms import Poly, UnsupportedError, constant, number, order, scale

__all__ = ["NAMED", "call", "decimal", "pi"]


def decimal(value: float | int) -> Fraction:
    """The number a literal means: its shortest decimal, exactly."""
    return Fraction(value) if isinstance(value, int) else Fraction(repr(value))


def pi(r: Ring) -> Poly:
    """The constant pi, a positive generator."""
    return r.atom(r.table.intern("prime", "pi", lambda: ("pi", frozenset())))


def call(r: Ring, name: str, args: Sequence[Poly]) -> Poly:
    """The function ``name`` of polynomials."""
    if name in _RULES:
        return _RULES[name](r, *args)
    if name in _ODD:
        return r.split(args[0], lambda q: _odd(r, name, q))
    if name == "cos":
        return r.split(args[0], lambda q: r.fn("cos", _upright(q)) if q else number(1))
    if name in ("atan", "asin", "floor", "ceil", "round", "trunc", "isnan", "isinf", "isfinite"):
        return r.split(args[0], lambda q: r.fn(name, q))
    raise UnsupportedError(f"the function {name}")


def _upright(p: Poly) -> Poly:
    return scale(p, -1) if p and p[min(p, key=order)] < 0 else p


def _odd(r: Ring, name: str, p: Poly) -> Poly:
    if not p:
        return {}
    up = _upright(p)
    return r.fn(name, up) if up == p else scale(r.fn(name, up), -1)


def _sigmoid(r: Ring, x: Poly) -> Poly:
    return r.power(r.add(number(1), r.exp(scale(x, -1))), -1)


def _softplus(r: Ring, x: Poly) -> Poly:
    return r.log(r.add(number(1), r.exp(x)))


def _tanh(r: Ring, x: Poly) -> Poly:
    e = r.exp(scale(x, 2))
    return r.mul(r.sub(e, number(1)), r.power(r.add(e, number(1)), -1))


def _hyperbolic(r: Ring, x: Poly, sign: int) -> Poly:
    return scale(r.add(r.exp(x), scale(r.exp(scale(x, -1)), sign)), Fraction(1, 2))


def _maximum(r: Ring, a: Poly, b: Poly, sign: int = 1) -> Poly:
    d = r.sub(a, b)
    h = r.above(scale(d, sign), True)
    return r.add(b, r.mul(h, d))


def _abs(r: Ring, x: Poly) -> Poly:
    return r.split(x, lambda q: r.mul(_sign(r, q), q))


def _sign(r: Ring, x: Poly) -> Poly:
    return r.sub(r.above(x, True), r.above(scale(x, -1), True))


def _pow(r: Ring, a: Poly, b: Poly) -> Poly:
    e = constant(b)
    return r.power(a, e) if e is not None else r.exp(r.mul(b, r.log(a)))


def _ln(r: Ring, base: int) -> Poly:
    return r.log(number(base))


def _gelu(r: Ring, x: Poly) -> Poly:
    inner = call(r, "erf", [r.mul(x, r.power(number(2), Fraction(-1, 2)))])
    return scale(r.mul(x, r.add(number(1), inner)), Fraction(1, 2))


def _gelu_tanh(r: Ring, x: Poly) -> Poly:
    root = r.mul(r.power(number(2), Fraction(1, 2)), r.power(pi(r), Fraction(-1, 2)))
    inner = r.mul(root, r.add(x, scale(r.power(x, 3), Fraction(44715, 1000000))))
    return scale(r.mul(x, r.add(number(1), _tanh(r, inner))), Fraction(1, 2))


def _tan(r: Ring, x: Poly) -> Poly:
    return r.mul(call(r, "sin", [x]), r.power(call(r, "cos", [x]), -1))


def _roots(two: int, by_pi: int) -> Callable[[Ring], Poly]:
    return lambda r: r.mul(r.power(number(2), Fraction(two, 2)), r.power(pi(r), Fraction(by_pi, 2)))


NAMED: Final[dict[str, Callable[[Ring], Poly]]] = {
    "sqrt(2/pi)": _roots(1, -1),
    "sqrt(2)": _roots(1, 0),
    "pi": pi,
    "1/pi": _roots(0, -2),
    "1/sqrt(pi)": _roots(0, -1),
    "sqrt(pi)": _roots(0, 1),
    "sqrt(2*pi)": _roots(1, 1),
    "log(2)": lambda r: _ln(r, 2),
    "log(10)": lambda r: _ln(r, 10),
    "1/log(2)": lambda r: r.power(_ln(r, 2), -1),
    "1/log(10)": lambda r: r.power(_ln(r, 10), -1),
}
_ODD: Final = ("sin", "erf")
_RULES: Final[dict[str, Callable[..., Poly]]] = {
    "exp": lambda r, x: r.exp(x),
    "exp2": lambda r, x: r.exp(r.mul(x, _ln(r, 2))),
    "expm1": lambda r, x: r.sub(r.exp(x), number(1)),
    "log": lambda r, x: r.log(x),
    "log2": lambda r, x: r.mul(r.log(x), r.power(_ln(r, 2), -1)),
    "log10": lambda r, x: r.mul(r.log(x), r.power(_ln(r, 10), -1)),
    "log1p": lambda r, x: r.log(r.add(x, number(1))),
    "sqrt": lambda r, x: r.power(x, Fraction(1, 2)),
    "rsqrt": lambda r, x: r.power(x, Fraction(-1, 2)),
    "reciprocal": lambda r, x: r.power(x, -1),
    "square": lambda r, x: r.mul(x, x),
    "abs": _abs,
    "sign": _sign,
    "maximum": _maximum,
    "minimum": lambda r, a, b: _maximum(r, a, b, -1),
    "pow": _pow,
    "tan": _tan,
    "acos": lambda r, x: r.sub(scale(pi(r), Fraction(1, 2)), call(r, "asin", [x])),
    "sinh": lambda r, x: _hyperbolic(r, x, -1),
    "cosh": lambda r, x: _hyperbolic(r, x, 1),
    "tanh": _tanh,
    "erfc": lambda r, x: r.sub(number(1), call(r, "erf", [x])),
    "sigmoid": _sigmoid,
    "softplus": _softplus,
    "logsigmoid": lambda r, x: r.sub(x, _softplus(r, x)),
    "relu": lambda r, x: r.split(x, lambda q: r.mul(r.above(q, True), q)),
    "silu": lambda r, x: r.mul(x, _sigmoid(r, x)),
    "gelu": _gelu,
    "gelu_tanh": _gelu_tanh,
}
