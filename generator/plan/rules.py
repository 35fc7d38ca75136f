"""Elementary functions as expressions of what the vector unit has: exp, log, sqrt, abs, rounding, max, min, select.

Each rule takes the operand expressions and returns an equal expression in primitives. Error bounds are for float32
evaluation; sources stand beside the constants.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Final

from generator.formula.ir import Binary, BinOp, Call, CmpOp, Compare, Expr, Logic, Neg, Not, Num, Where

__all__ = ["PRIMITIVES", "expand", "needs_compare"]

# Functions with an instruction of their own (floor..trunc are float-to-float Casts).
PRIMITIVES: Final = frozenset({"exp", "log", "sqrt", "abs", "floor", "ceil", "round", "trunc", "maximum", "minimum", "relu"})

Rule = Callable[..., Expr]


def _bin(op: BinOp) -> Callable[[Expr | float, Expr | float], Expr]:
    return lambda a, b: Binary(op, _lift(a), _lift(b))


def _cmp(op: CmpOp) -> Callable[[Expr, Expr | float], Expr]:
    return lambda a, b: Compare(op, a, _lift(b))


def _lift(x: Expr | float) -> Expr:
    return Num(float(x)) if isinstance(x, (int, float)) else x


add, sub, mul, div = _bin("add"), _bin("sub"), _bin("mul"), _bin("div")
lt, gt, eq, ne = _cmp("lt"), _cmp("gt"), _cmp("eq"), _cmp("ne")


def _fn(name: str) -> Callable[[Expr], Expr]:
    return lambda x: Call(name, (x,))


exp, log, sqrt, absolute, floor, rounded = _fn("exp"), _fn("log"), _fn("sqrt"), _fn("abs"), _fn("floor"), _fn("round")


def _horner(x: Expr, coefficients: list[float]) -> Expr:
    """c0 + x*(c1 + x*(c2 + ...))."""
    out: Expr = Num(coefficients[-1])
    for c in reversed(coefficients[:-1]):
        out = add(mul(out, x), c)
    return out


def _sigmoid(x: Expr) -> Expr:
    return div(1.0, add(exp(Neg(x)), 1.0))


def _tanh(x: Expr) -> Expr:
    # Taylor below 1/2 (relative error < 3e-6), else 1 - 2/(e^2x + 1).
    series = [1.0, -1 / 3, 2 / 15, -17 / 315, 62 / 2835, -1382 / 155925]
    near = mul(x, _horner(mul(x, x), series))
    far = sub(1.0, div(2.0, add(exp(mul(x, 2.0)), 1.0)))
    return Where(lt(absolute(x), 0.5), near, far)


def _log1p(x: Expr) -> Expr:
    # Goldberg, "What every computer scientist should know about floating-point arithmetic", theorem 4.
    u = add(x, 1.0)
    near = Where(eq(u, 1.0), x, mul(log(u), div(x, sub(u, 1.0))))
    return Where(gt(x, 0.5), log(u), near)


def _expm1(x: Expr) -> Expr:
    near = mul(x, _horner(x, [1 / math.factorial(k) for k in range(1, 10)]))
    return Where(lt(absolute(x), 0.5), near, sub(exp(x), 1.0))


# Press et al., Numerical Recipes, 2nd ed., section 6.2 (erfcc): fractional error below 1.2e-7 everywhere.
_ERFC: Final = [-1.26551223, 1.00002368, 0.37409196, 0.09678418, -0.18628806, 0.27886807, -1.13520398, 1.48851587, -0.82215223, 0.17087277]


def _erfc(x: Expr) -> Expr:
    z = absolute(x)
    t = div(1.0, add(mul(z, 0.5), 1.0))
    tail = mul(t, exp(sub(_horner(t, _ERFC), mul(z, z))))
    return Where(lt(x, 0.0), sub(2.0, tail), tail)


def _erf(x: Expr) -> Expr:
    series = [2 / math.sqrt(math.pi) * (-1) ** n / (math.factorial(n) * (2 * n + 1)) for n in range(8)]
    return Where(lt(absolute(x), 0.75), mul(x, _horner(mul(x, x), series)), sub(1.0, _erfc(x)))


def _gelu(x: Expr) -> Expr:
    return mul(mul(x, 0.5), _erfc(mul(x, -math.sqrt(0.5))))


def _gelu_tanh(x: Expr) -> Expr:
    # 0.5 x (1 + tanh(u)) = x sigmoid(2u), u = sqrt(2/pi) (x + 0.044715 x^3)
    u2 = mul(mul(x, add(mul(mul(x, x), 0.044715), 1.0)), 2 * math.sqrt(2 / math.pi))
    return mul(x, _sigmoid(u2))


def _softplus(x: Expr) -> Expr:
    return add(Call("relu", (x,)), _log1p(exp(Neg(absolute(x)))))


# pi in three parts with few bits each, four times DP1..DP3 of Moshier's Cephes (sinf.c).
_PI: Final = (3.140625, 9.67502593994140625e-4, 1.509957990978376432e-7)


def _reduce_pi(x: Expr, k: Expr) -> Expr:
    for part in _PI:
        x = sub(x, mul(k, part))
    return x


def _sin_poly(r: Expr) -> Expr:
    return mul(r, _horner(mul(r, r), [(-1) ** n / math.factorial(2 * n + 1) for n in range(7)]))


def _parity_sign(k: Expr) -> Expr:
    """1 for even, -1 for odd integers k."""
    return sub(1.0, mul(sub(k, mul(floor(mul(k, 0.5)), 2.0)), 2.0))


def _sin(x: Expr) -> Expr:
    k = rounded(mul(x, 1 / math.pi))
    return mul(_parity_sign(k), _sin_poly(_reduce_pi(x, k)))


def _cos(x: Expr) -> Expr:
    k = rounded(sub(mul(x, 1 / math.pi), 0.5))
    half = add(k, 0.5)
    return mul(_parity_sign(k), Neg(_sin_poly(_reduce_pi(x, half))))


def _sign(x: Expr) -> Expr:
    return Where(gt(x, 0.0), Num(1.0), Where(lt(x, 0.0), Num(-1.0), x))


def _power_int(x: Expr, n: int) -> Expr:
    if n < 0:
        return div(1.0, _power_int(x, -n))
    out: Expr | None = None
    square = x
    while n:
        if n & 1:
            out = square if out is None else mul(out, square)
        n >>= 1
        if n:
            square = mul(square, square)
    return Num(1.0) if out is None else out


def _pow(x: Expr, y: Expr) -> Expr:
    if isinstance(y, Neg) and isinstance(y.x, Num):
        y = Num(-y.x.value)
    if isinstance(y, Num):
        if float(y.value).is_integer() and abs(y.value) <= 64:
            return _power_int(x, int(y.value))
        if y.value == 0.5:
            return sqrt(x)
        if y.value == -0.5:
            return div(1.0, sqrt(x))
    size = exp(mul(y, log(absolute(x))))
    odd = ne(floor(mul(y, 0.5)), mul(y, 0.5))
    signed = Where(eq(floor(y), y), Where(odd, Neg(size), size), Num(math.nan))
    return Where(eq(y, 0.0), Num(1.0), Where(lt(x, 0.0), signed, size))


# Coefficients and the two thresholds tan(pi/8), tan(3 pi/8) of Moshier's Cephes (atanf.c).
_ATAN: Final = [-3.33329491539e-1, 1.99777106478e-1, -1.38776856032e-1, 8.05374449538e-2]


def _atan(x: Expr) -> Expr:
    size = absolute(x)
    large, middle = gt(size, 2.414213562373095), gt(size, 0.4142135623730950)
    offset = Where(large, Num(math.pi / 2), Where(middle, Num(math.pi / 4), Num(0.0)))
    reduced = Where(large, div(-1.0, size), Where(middle, div(sub(size, 1.0), add(size, 1.0)), size))
    z = mul(reduced, reduced)
    return mul(_sign(x), add(offset, add(reduced, mul(mul(reduced, z), _horner(z, _ATAN)))))


def _asin(x: Expr) -> Expr:
    return _atan(div(x, sqrt(sub(1.0, mul(x, x)))))


_RULES: Final[Mapping[str, Rule]] = {
    "sigmoid": _sigmoid,
    "silu": lambda x: div(x, add(exp(Neg(x)), 1.0)),
    "tanh": _tanh,
    "log1p": _log1p,
    "expm1": _expm1,
    "erf": _erf,
    "erfc": _erfc,
    "gelu": _gelu,
    "gelu_tanh": _gelu_tanh,
    "softplus": _softplus,
    "sin": _sin,
    "cos": _cos,
    "atan": _atan,
    "asin": _asin,
    "acos": lambda x: sub(math.pi / 2, _asin(x)),
    "logsigmoid": lambda x: Neg(_softplus(Neg(x))),
    "log10": lambda x: mul(log(x), 1 / math.log(10)),
    "tan": lambda x: div(_sin(x), _cos(x)),
    "sign": _sign,
    "pow": _pow,
    "rsqrt": lambda x: div(1.0, sqrt(x)),
    "reciprocal": lambda x: div(1.0, x),
    "square": lambda x: mul(x, x),
    "log2": lambda x: mul(log(x), 1 / math.log(2)),
    "exp2": lambda x: exp(mul(x, math.log(2))),
    "sinh": lambda x: mul(sub(_expm1(x), _expm1(Neg(x))), 0.5),
    "cosh": lambda x: mul(add(exp(x), exp(Neg(x))), 0.5),
    "isnan": lambda x: ne(x, x),
    "isinf": lambda x: eq(absolute(x), math.inf),
    "isfinite": lambda x: lt(absolute(x), math.inf),
    "floordiv": lambda a, b: floor(div(a, b)),
    "mod": lambda a, b: sub(a, mul(b, floor(div(a, b)))),
}


def expand(name: str, args: tuple[Expr, ...]) -> Expr | None:
    """The rule's expression for ``name(args)``, or None when the planner knows no such function."""
    rule = _RULES.get(name)
    return None if rule is None else rule(*args)


def needs_compare(name: str) -> bool:
    """Whether evaluating ``name`` uses Compare and Select."""
    rule = _RULES.get(name)
    if rule is None:
        return False
    arity = 2 if name in ("pow", "floordiv", "mod") else 1
    probe = rule(*(Call("exp", (Num(float(i)),)) for i in range(arity)))
    return _has_compare(probe)


def _has_compare(e: Expr) -> bool:
    match e:
        case Where() | Compare() | Logic() | Not():
            return True
        case Binary(a=a, b=b):
            return _has_compare(a) or _has_compare(b)
        case Neg(x=x):
            return _has_compare(x)
        case Call(fn=fn, args=args):
            return any(_has_compare(a) for a in args) or needs_compare(fn)
        case _:
            return False
