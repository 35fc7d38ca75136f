"""The NumPy meaning of every elementary function of the formula language, in float64 and in narrower types.

Each works on arrays of any shape and keeps their floating type. ``erf`` and ``erfc`` are exact to a few units in the
last place of float64; the rest is NumPy's own accuracy. Integers pass through the functions that have an integer
meaning (``abs``, ``sign``, ``minimum``, ``maximum``, ``square``) unchanged in type.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

__all__ = ["FUNCTIONS", "KEEP_INTEGERS", "erf", "erfc"]

Array = NDArray[Any]

_STEP: Final = 32  # nodes of the erfc table per unit
_LAST: Final = 27.5  # erfc underflows to 0 before
_TERMS: Final = 18
_SERIES: Final = tuple(2 / math.sqrt(math.pi) * (-1) ** k / (math.factorial(k) * (2 * k + 1)) for k in range(16))


@cache
def _erfc_table() -> NDArray[np.float64]:
    """Taylor coefficients of erfc at 0, 1/32, 2/32, ...: (nodes, terms). The derivatives are Hermite polynomials:
    d^(m+1)/dx^(m+1) erfc(x) = -2/sqrt(pi) (-1)^m H_m(x) exp(-x^2) (Abramowitz and Stegun 7.1.19)."""
    nodes = np.arange(int(_LAST * _STEP) + 1) / _STEP
    table = np.empty((nodes.size, _TERMS))
    table[:, 0] = [math.erfc(float(c)) for c in nodes]
    slope = -2 / math.sqrt(math.pi) * np.exp(-nodes * nodes)
    previous, current = np.zeros_like(nodes), np.ones_like(nodes)
    for m in range(_TERMS - 1):
        table[:, m + 1] = slope * (-1) ** m * current / math.factorial(m + 1)
        previous, current = current, 2 * nodes * current - 2 * m * previous
    return table


def _erfc_positive(x: NDArray[np.float64]) -> NDArray[np.float64]:
    """erfc for x >= 0."""
    table = _erfc_table()
    inside = np.minimum(x, _LAST - 0.5)
    node = np.rint(inside * _STEP).astype(np.int64)
    delta = inside - node / _STEP
    out = table[node, _TERMS - 1]
    for m in range(_TERMS - 2, -1, -1):
        out = out * delta + table[node, m]
    return np.where(x > _LAST - 0.5, 0.0, out)


def _small_erf(x: NDArray[np.float64]) -> NDArray[np.float64]:
    """erf for |x| <= 1/2, by its power series."""
    squared = x * x
    out = np.full_like(x, _SERIES[-1])
    for c in reversed(_SERIES[:-1]):
        out = out * squared + c
    return out * x


def _in_float64(f: Callable[[NDArray[np.float64]], NDArray[np.float64]], x: Array) -> Array:
    values = np.asarray(x)
    wide = np.where(np.isnan(values), 0.0, values).astype(np.float64)
    out = np.where(np.isnan(values), np.nan, f(wide))
    return out.astype(values.dtype if values.dtype.kind == "f" else np.float64)


def erf(x: Array) -> Array:
    """The error function."""

    def f(v: NDArray[np.float64]) -> NDArray[np.float64]:
        size = np.abs(v)
        return np.where(size <= 0.5, _small_erf(np.clip(v, -0.5, 0.5)), np.copysign(1 - _erfc_positive(size), v))

    return _in_float64(f, x)


def erfc(x: Array) -> Array:
    """1 - erf(x), without cancellation for large x."""

    def f(v: NDArray[np.float64]) -> NDArray[np.float64]:
        tail = _erfc_positive(np.abs(v))
        return np.where(np.abs(v) <= 0.5, 1 - _small_erf(np.clip(v, -0.5, 0.5)), np.where(v < 0, 2 - tail, tail))

    return _in_float64(f, x)


def _one(x: Any) -> Any:
    return np.asarray(x).dtype.type(1)


def _sigmoid(x: Any) -> Any:
    return _one(x) / (_one(x) + np.exp(-x))


def _silu(x: Any) -> Any:
    return x / (_one(x) + np.exp(-x))


def _gelu(x: Any) -> Any:
    """x times the normal distribution function: x/2 * erfc(-x/sqrt(2))."""
    kind = np.asarray(x).dtype.type
    return kind(0.5) * x * erfc(x * kind(-math.sqrt(0.5)))


def _gelu_tanh(x: Any) -> Any:
    kind = np.asarray(x).dtype.type
    inner = kind(math.sqrt(2 / math.pi)) * (x + kind(0.044715) * x * x * x)
    return kind(0.5) * x * (_one(x) + np.tanh(inner))


def _softplus(x: Any) -> Any:
    return np.maximum(x, 0) + np.log1p(np.exp(-np.abs(x)))


def _rsqrt(x: Any) -> Any:
    return _one(x) / np.sqrt(x)


def _reciprocal(x: Any) -> Any:
    return _one(x) / x


FUNCTIONS: Final[Mapping[str, Callable[..., Any]]] = {
    "abs": np.abs,
    "acos": np.arccos,
    "asin": np.arcsin,
    "atan": np.arctan,
    "ceil": np.ceil,
    "cos": np.cos,
    "cosh": np.cosh,
    "erf": erf,
    "erfc": erfc,
    "exp": np.exp,
    "exp2": np.exp2,
    "expm1": np.expm1,
    "floor": np.floor,
    "gelu": _gelu,
    "gelu_tanh": _gelu_tanh,
    "isfinite": np.isfinite,
    "isinf": np.isinf,
    "isnan": np.isnan,
    "log": np.log,
    "log10": np.log10,
    "log1p": np.log1p,
    "log2": np.log2,
    "logsigmoid": lambda x: -_softplus(-x),
    "maximum": np.maximum,
    "minimum": np.minimum,
    "pow": np.power,
    "reciprocal": _reciprocal,
    "relu": lambda x: np.maximum(x, 0),
    "round": np.rint,
    "rsqrt": _rsqrt,
    "sigmoid": _sigmoid,
    "sign": np.sign,
    "silu": _silu,
    "sin": np.sin,
    "sinh": np.sinh,
    "softplus": _softplus,
    "sqrt": np.sqrt,
    "square": np.square,
    "tan": np.tan,
    "tanh": np.tanh,
    "trunc": np.trunc,
}
KEEP_INTEGERS: Final = frozenset({"abs", "sign", "minimum", "maximum", "square"})
