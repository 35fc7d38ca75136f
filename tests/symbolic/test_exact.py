"""Numbers modulo a prime obey the functional equations of the functions they stand for."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest

from generator.symbolic.constants import recognised
from generator.symbolic.exact import KinkError, Mod, Modular, P, Q, UndefinedError
from generator.symbolic.highprec import Precise


def point(a: Modular, value: str, slope: int = 1) -> Mod:
    return a.point(Fraction(value), slope)


def test_the_modulus_is_a_safe_prime() -> None:
    from sympy import isprime

    assert isprime(P)
    assert isprime(Q)
    assert P == 2 * Q + 1


def test_exponentials_of_sums_are_products() -> None:
    a = Modular()
    x, y = point(a, "7/3"), point(a, "-5/8")
    assert a.exp(a.add(x, y)).r == a.mul(a.exp(x), a.exp(y)).r


def test_the_exponential_of_a_logarithm_is_its_argument() -> None:
    a = Modular()
    x, y = point(a, "7/3"), point(a, "5/8")
    assert a.exp(a.sub(a.log(x), a.log(y))).r == a.div(x, y).r


@pytest.mark.parametrize("number", [2, 3, 5, 7, 11, 13])
def test_roots_of_small_integers_square_to_them(number: int) -> None:
    a = Modular()
    root = a.sqrt(a.const(number))
    assert a.mul(root, root).r == number
    assert root.q * root.q % Q == number


def test_roots_are_multiplicative() -> None:
    a = Modular()
    assert a.mul(a.sqrt(a.const(2)), a.sqrt(a.const(3))).r == a.sqrt(a.const(6)).r


def test_sine_and_cosine_lie_on_the_circle_and_have_their_parity() -> None:
    a = Modular()
    x = point(a, "4/7")
    s, c = a.call("sin", [x]), a.call("cos", [x])
    assert a.add(a.mul(s, s), a.mul(c, c)).r == 1
    assert a.call("sin", [a.neg(x)]).r == a.neg(s).r
    assert a.call("cos", [a.neg(x)]).r == c.r


@pytest.mark.parametrize(
    ("fn", "slope"),
    [
        ("tanh", lambda a, y: a.sub(a.const(1), a.mul(y, y))),
        ("sigmoid", lambda a, y: a.mul(y, a.sub(a.const(1), y))),
        ("exp", lambda a, y: y),
        ("expm1", lambda a, y: a.add(y, a.const(1))),
    ],
)
def test_derivatives_satisfy_the_differential_equation_of_the_function(fn: str, slope: object) -> None:
    a = Modular()
    x = point(a, "11/13", slope=1)
    y = a.call(fn, [x])
    assert y.d == slope(a, y).r  # type: ignore[operator]


def test_a_quotient_has_the_quotient_rules_derivative() -> None:
    a = Modular()
    x = point(a, "3/2", slope=1)
    y = a.div(a.const(1), x)  # -1/x^2 = -4/9
    assert y.d == a.const(Fraction(-4, 9)).r


def test_half_powers_are_roots() -> None:
    a = Modular()
    x = a.const(Fraction(9, 4))
    assert a.pow(x, a.const(Fraction(3, 2))).r == a.const(Fraction(27, 8)).r or a.pow(x, a.const(Fraction(3, 2))).r == (
        a.neg(a.const(Fraction(27, 8))).r
    )


def test_division_by_zero_and_roots_of_negatives_are_outside_the_domain() -> None:
    a = Modular()
    with pytest.raises(UndefinedError):
        a.div(a.const(1), a.const(0))
    with pytest.raises(UndefinedError):
        a.sqrt(a.const(-1))


def test_the_kink_of_relu_is_no_point_of_a_derivative() -> None:
    a, p = Modular(), Precise()
    with pytest.raises(KinkError):
        a.call("relu", [a.point(Fraction(0), 1)])
    with pytest.raises(KinkError):
        p.call("relu", [p.point(Fraction(0), 1)])


@pytest.mark.parametrize(
    ("fn", "x"),
    [
        *(("erf", 0.3), ("gelu", -0.7), ("gelu_tanh", 1.1), ("silu", 0.4), ("softplus", -2.0), ("logsigmoid", 0.9), ("atan", 1.7)),
        *(("asin", 0.4), ("acos", -0.2), ("log1p", 0.5), ("log10", 3.0), ("exp2", 1.5), ("rsqrt", 2.5), ("tan", 0.6), ("cosh", 0.8)),
        ("erfc", 0.2),
    ],
)
def test_fifty_digit_derivatives_agree_with_central_differences(fn: str, x: float) -> None:
    p = Precise()
    h = Fraction(1, 1 << 40)
    at = Fraction(x)
    slope = float(p.call(fn, [p.point(at, 1)]).d)
    difference = (p.call(fn, [p.point(at + h)]).v - p.call(fn, [p.point(at - h)]).v) / (2 * p.const(h).v)
    assert math.isclose(slope, float(difference), rel_tol=1e-12)


@pytest.mark.parametrize(
    ("text", "ratio", "name"),
    [
        ("0.7978845608028654", Fraction(1), "sqrt(2/pi)"),
        ("0.3989422804014327", Fraction(1, 2), "sqrt(2/pi)"),
        ("0.7071067811865476", Fraction(1, 2), "sqrt(2)"),
        ("1.4426950408889634", Fraction(1), "1/log(2)"),
        ("0.10703222440890037", Fraction("0.134145"), "sqrt(2/pi)"),
    ],
)
def test_rounded_constants_are_known(text: str, ratio: Fraction, name: str) -> None:
    assert recognised(text) == (ratio, name)


@pytest.mark.parametrize("text", ["0.044715", "1.702", "0.5", "1e-6", "0.1070322242944499", "0.79788"])
def test_other_literals_are_what_they_say(text: str) -> None:
    assert recognised(text) is None
