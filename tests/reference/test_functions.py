"""The elementary functions against Python's math module and the identities that define them."""

from __future__ import annotations

import math

import numpy as np
import pytest

from generator.formula.functions import FUNCTIONS as TABLE
from generator.reference.functions import FUNCTIONS, erf, erfc

POINTS = np.concatenate([np.linspace(-8, 8, 4001), np.linspace(-30, 30, 601), [0.0, 1e-300, -1e-9, 0.5, -0.5, 26.9, 27.4]])


def test_every_function_of_the_language_has_a_numpy_meaning() -> None:
    assert set(FUNCTIONS) == set(TABLE)


@pytest.mark.parametrize(("ours", "exact"), [(erf, math.erf), (erfc, math.erfc)])
def test_erf_and_erfc_are_those_of_the_c_library_to_relative_accuracy(ours: object, exact: object) -> None:
    want = np.array([exact(float(x)) for x in POINTS])  # type: ignore[operator]
    got = ours(POINTS)  # type: ignore[operator]
    normal = np.abs(want) > 1e-300
    assert np.max(np.abs(got - want)[normal] / np.abs(want)[normal]) < 2e-14
    assert np.max(np.abs(got - want)) < 1e-15
    assert np.isnan(ours(np.array([np.nan]))).all()  # type: ignore[operator]


def test_limits_at_infinity() -> None:
    ends = np.array([-np.inf, np.inf])
    np.testing.assert_array_equal(erf(ends), [-1, 1])
    np.testing.assert_array_equal(erfc(ends), [2, 0])
    with np.errstate(over="ignore"):
        np.testing.assert_array_equal(FUNCTIONS["sigmoid"](ends), [0, 1])
    np.testing.assert_array_equal(FUNCTIONS["softplus"](ends), [0, np.inf])


@pytest.mark.parametrize(
    ("name", "exact"),
    [
        ("sigmoid", lambda x: 1 / (1 + math.exp(-x))),
        ("silu", lambda x: x / (1 + math.exp(-x))),
        ("softplus", lambda x: math.log1p(math.exp(x)) if x < 20 else x + math.exp(-x)),
        ("gelu", lambda x: x * math.erfc(-x / math.sqrt(2)) / 2),
        ("gelu_tanh", lambda x: x / (1 + math.exp(-2 * math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))),
        ("round", lambda x: float(round(x))),
        ("relu", lambda x: max(x, 0.0)),
        ("square", lambda x: x * x),
    ],
)
def test_composite_functions_have_their_defining_values(name: str, exact: object) -> None:
    points = np.linspace(-4, 4, 257)
    want = [exact(float(x)) for x in points]  # type: ignore[operator]
    np.testing.assert_allclose(FUNCTIONS[name](points), want, rtol=1e-12, atol=1e-15)
    assert FUNCTIONS[name](points.astype(np.float32)).dtype == np.float32
