"""The elementary functions of the language: names, arities, meanings and domains.

The meaning of each is that of the NumPy expression given, in float64; NaN arguments give NaN unless said otherwise.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

__all__ = ["CONSTANTS", "FUNCTIONS", "REDUCTIONS", "Function"]

FnKind = Literal["float", "bool", "same"]


@dataclass(frozen=True, slots=True)
class Function:
    """One function. ``gives`` is the kind of the result: ``same`` keeps integers integers. ``domain`` is where it is
    defined and differentiable formulas may use it; ``kinks`` are points without a derivative; ``numpy`` is its meaning."""

    name: str
    arity: int
    numpy: str
    domain: str = "all reals"
    gives: FnKind = "float"
    latex: str = ""
    kinks: tuple[float, ...] = ()


def _f(
    name: str, arity: int, numpy: str, domain: str = "all reals", gives: FnKind = "float", latex: str = "", kinks: tuple[float, ...] = ()
) -> Function:
    return Function(name, arity, numpy, domain, gives, latex or rf"\operatorname{{{name.replace('_', ' ')}}}", kinks)


_TABLE: Final = (
    _f("exp", 1, "np.exp(x)", latex=r"\exp"),
    _f("exp2", 1, "np.exp2(x)"),
    _f("expm1", 1, "np.expm1(x)"),
    _f("log", 1, "np.log(x)", "x > 0", latex=r"\ln"),
    _f("log2", 1, "np.log2(x)", "x > 0"),
    _f("log10", 1, "np.log10(x)", "x > 0"),
    _f("log1p", 1, "np.log1p(x)", "x > -1"),
    _f("sqrt", 1, "np.sqrt(x)", "x >= 0"),
    _f("rsqrt", 1, "1 / np.sqrt(x)", "x > 0"),
    _f("reciprocal", 1, "1 / x", "x != 0"),
    _f("square", 1, "x * x", gives="same"),
    _f("abs", 1, "np.abs(x)", gives="same", kinks=(0.0,)),
    _f("sign", 1, "np.sign(x)", gives="same", kinks=(0.0,)),
    _f("floor", 1, "np.floor(x)"),
    _f("ceil", 1, "np.ceil(x)"),
    _f("round", 1, "np.rint(x): half to even"),
    _f("trunc", 1, "np.trunc(x)"),
    _f("maximum", 2, "np.maximum(x, y)", gives="same", latex=r"\max"),
    _f("minimum", 2, "np.minimum(x, y)", gives="same", latex=r"\min"),
    _f("pow", 2, "np.power(x, y)", "x > 0, or y an integer"),
    _f("sin", 1, "np.sin(x)", latex=r"\sin"),
    _f("cos", 1, "np.cos(x)", latex=r"\cos"),
    _f("tan", 1, "np.tan(x)", "cos(x) != 0", latex=r"\tan"),
    _f("asin", 1, "np.arcsin(x)", "-1 <= x <= 1"),
    _f("acos", 1, "np.arccos(x)", "-1 <= x <= 1"),
    _f("atan", 1, "np.arctan(x)"),
    _f("sinh", 1, "np.sinh(x)", latex=r"\sinh"),
    _f("cosh", 1, "np.cosh(x)", latex=r"\cosh"),
    _f("tanh", 1, "np.tanh(x)", latex=r"\tanh"),
    _f("erf", 1, "2 / sqrt(pi) times the integral of exp(-t**2) over 0..x"),
    _f("erfc", 1, "1 - erf(x)"),
    _f("sigmoid", 1, "1 / (1 + np.exp(-x))"),
    _f("logsigmoid", 1, "-np.logaddexp(0, -x)"),
    _f("softplus", 1, "np.logaddexp(0, x)"),
    _f("relu", 1, "np.maximum(x, 0)", kinks=(0.0,)),
    _f("silu", 1, "x / (1 + np.exp(-x))"),
    _f("gelu", 1, "x * (1 + erf(x / sqrt(2))) / 2"),
    _f("gelu_tanh", 1, "x * (1 + np.tanh(sqrt(2 / pi) * (x + 0.044715 * x**3))) / 2"),
    _f("isnan", 1, "np.isnan(x)", gives="bool"),
    _f("isinf", 1, "np.isinf(x)", gives="bool"),
    _f("isfinite", 1, "np.isfinite(x)", gives="bool"),
)

FUNCTIONS: Final[dict[str, Function]] = {f.name: f for f in _TABLE}

REDUCTIONS: Final = ("sum", "prod", "max", "min", "mean", "any", "all", "argmax", "argmin")

CONSTANTS: Final[dict[str, float]] = {"inf": float("inf"), "nan": float("nan"), "pi": 3.141592653589793}
