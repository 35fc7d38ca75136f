"""The planner's expansions of elementary functions, evaluated in float32 as the vector unit would, against float64."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest

from generator.formula.functions import FUNCTIONS
from generator.formula.ir import Binary, Call, Compare, Expr, Load, Neg, Num, Where
from generator.plan.rules import PRIMITIVES, expand, needs_compare

F = np.float32
BINARY: dict[str, Callable[[np.ndarray, np.ndarray], np.ndarray]] = {
    "add": np.add, "sub": np.subtract, "mul": np.multiply, "div": np.divide,
    "lt": np.less, "gt": np.greater, "eq": np.equal, "ne": np.not_equal,
}  # fmt: skip
UNARY: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "exp": np.exp, "log": np.log, "sqrt": np.sqrt, "abs": np.abs, "floor": np.floor, "round": np.rint,
    "relu": lambda x: np.maximum(x, F(0)),
}  # fmt: skip


def evaluate(e: Expr, args: tuple[np.ndarray, ...]) -> np.ndarray:
    match e:
        case Num(value=v):
            return np.full_like(args[0], F(v))
        case Load(tensor=t):
            return args[int(t)]
        case Neg(x=x):
            return -evaluate(x, args)
        case Binary(op=op, a=a, b=b) | Compare(op=op, a=a, b=b):
            return BINARY[op](evaluate(a, args), evaluate(b, args))
        case Where(cond=c, a=a, b=b):
            return np.where(evaluate(c, args), evaluate(a, args), evaluate(b, args))
        case Call(fn=fn, args=operands) if fn in UNARY:
            return UNARY[fn](evaluate(operands[0], args))
        case Call(fn=fn, args=operands):
            inner = expand(fn, operands)
            assert inner is not None, fn
            return evaluate(inner, args)
        case _:
            raise AssertionError(e)


def run(fn: str, *args: np.ndarray) -> np.ndarray:
    expr = expand(fn, tuple(Load(str(k), ()) for k in range(len(args))))
    assert expr is not None
    with np.errstate(all="ignore"):
        return evaluate(expr, tuple(a.astype(F) for a in args))


vector = np.vectorize
CASES: list[tuple[str, float, float, Callable[[np.ndarray], np.ndarray]]] = [
    ("sigmoid", -30, 30, lambda x: 1 / (1 + np.exp(-x))),
    ("silu", -30, 30, lambda x: x / (1 + np.exp(-x))),
    ("tanh", -12, 12, np.tanh),
    ("log1p", -0.999, 50, np.log1p),
    ("expm1", -20, 20, np.expm1),
    ("erf", -6, 6, vector(math.erf)),
    ("erfc", -6, 6, vector(math.erfc)),
    ("gelu", -5, 9, vector(lambda x: 0.5 * x * math.erfc(-x / math.sqrt(2)))),
    ("gelu_tanh", -5, 9, lambda x: 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))),
    ("softplus", -40, 40, lambda x: np.logaddexp(0, x)),
    ("logsigmoid", -40, 40, lambda x: -np.logaddexp(0, -x)),
    ("rsqrt", 1e-6, 1e6, lambda x: 1 / np.sqrt(x)),
    ("reciprocal", 0.01, 100, lambda x: 1 / x),
    ("square", -9, 9, lambda x: x * x),
    ("log2", 0.01, 0.9, np.log2),
    ("log10", 1.1, 100, np.log10),
    ("exp2", -20, 20, np.exp2),
    ("sinh", -9, 9, np.sinh),
    ("cosh", -9, 9, np.cosh),
    ("atan", -40, 40, np.arctan),
    ("asin", -0.99, 0.99, np.arcsin),
    ("acos", -0.99, 0.9, np.arccos),
]


@pytest.mark.parametrize(("fn", "low", "high", "truth"), CASES, ids=[c[0] for c in CASES])
def test_an_expansion_is_right_to_a_tenth_of_the_standard(
    fn: str, low: float, high: float, truth: Callable[[np.ndarray], np.ndarray]
) -> None:
    x = np.random.default_rng(7).uniform(low, high, 20001).astype(F)
    want = truth(x.astype(np.float64))
    got = run(fn, x).astype(np.float64)
    relative = np.abs(got - want) / (np.abs(want) + 1e-7)
    assert relative.mean() < 2**-13 / 10
    assert relative.max() < 2**-13 * 3


@pytest.mark.parametrize(("fn", "truth"), [("sin", np.sin), ("cos", np.cos)])
def test_sine_and_cosine_keep_their_absolute_error_over_many_periods(fn: str, truth: Callable[[np.ndarray], np.ndarray]) -> None:
    x = np.random.default_rng(7).uniform(-300, 300, 20001).astype(F)
    assert np.abs(run(fn, x).astype(np.float64) - truth(x.astype(np.float64))).max() < 1e-6


@pytest.mark.parametrize("exponent", [-3.0, -1.0, -0.5, 0.0, 0.5, 1.0, 2.0, 3.0, 7.0])
def test_powers_with_a_literal_exponent_are_products_and_roots(exponent: float) -> None:
    x = np.random.default_rng(7).uniform(0.1, 4, 999).astype(F)
    expr = expand("pow", (Load("0", ()), Num(exponent)))
    assert expr is not None
    got = evaluate(expr, (x,))
    assert np.allclose(got, x.astype(np.float64) ** exponent, rtol=2e-6)


def test_powers_follow_the_sign_rules_of_real_powers() -> None:
    x = np.array([-2.0, -2.0, -2.0, 0.0, 0.0, 3.0], F)
    y = np.array([3.0, 2.0, 0.5, 0.0, 2.0, -1.5], F)
    with np.errstate(all="ignore"):
        assert np.allclose(run("pow", x, y), np.power(x, y), rtol=1e-6, equal_nan=True)


@pytest.mark.parametrize(
    ("fn", "want"), [("sigmoid", [0, 1, np.nan]), ("tanh", [-1, 1, np.nan]), ("erf", [-1, 1, np.nan]), ("sign", [-1, 1, np.nan])]
)
def test_infinities_and_nan_come_out_as_the_function_has_them(fn: str, want: list[float]) -> None:
    got = run(fn, np.array([-np.inf, np.inf, np.nan]))
    assert np.array_equal(got, np.array(want, F), equal_nan=True)


def test_every_function_of_the_language_has_an_instruction_or_a_rule() -> None:
    for f in FUNCTIONS.values():
        args = tuple(Load(str(k), ()) for k in range(f.arity))
        assert f.name in PRIMITIVES or expand(f.name, args) is not None, f.name


def test_functions_without_branches_ask_for_no_compare() -> None:
    assert not needs_compare("sigmoid")
    assert not needs_compare("silu")
    assert needs_compare("tanh")
    assert needs_compare("gelu")
