"""Conditions and sizes: read, evaluated, bounded and printed."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from generator.formula.prove import Facts, Range
from generator.spec.conditions import Condition, Names, bounds, evaluate, facts, free, parse, text, typed
from generator.spec.errors import TextError
from generator.spec.integer import const, floor_div, mod, numel, sym
from generator.spec.sizes import parse_size

NAMES = Names(ints=["n", "D", "T", "k"], floats=["eps"], bools=["flag"], strings=["mode"], tensors=["x"])


def read(said: str) -> Condition:
    return parse(said, NAMES)


@pytest.mark.parametrize(
    ("said", "env", "holds"),
    [
        ("n in {4, 6, 8}", {"n": 6}, True),
        ("n in {4, 6, 8}", {"n": 5}, False),
        ("1 <= k <= 100", {"k": 100}, True),
        ("1 <= k <= 100", {"k": 0}, False),
        ("D % 16 == 0", {"D": 48}, True),
        ("D % 16 == 0", {"D": 40}, False),
        ("eps >= 0", {"eps": 0.0}, True),
        ("0 < eps < 1.5", {"eps": 1.5}, False),
        ("eps >= -1.5", {"eps": -1.0}, True),
        ("not flag or n == 4", {"flag": True, "n": 4}, True),
        ("not (flag and n == 4)", {"flag": True, "n": 4}, False),
        ("mode in {'none', 'mean'}", {"mode": "sum"}, False),
        ("mode == 'mean'", {"mode": "mean"}, True),
        ("T // 3 == 2 and min(T, k) > 1", {"T": 8, "k": 2}, True),
    ],
)
def test_a_condition_means_what_it_says(said: str, env: dict[str, int | float | bool | str], holds: bool) -> None:
    cond = read(said)
    assert evaluate(cond, env) is holds
    assert evaluate(read(text(cond)), env) is holds
    assert free(cond) == set(env)


def test_element_counts_are_counted() -> None:
    cond = read("numel(x) == 2 * T")
    assert evaluate(cond, {"T": 3}, {"x": 6})
    assert not evaluate(cond, {"T": 3}, {"x": 5})
    assert free(cond) == {"T"}


@pytest.mark.parametrize(
    ("said", "legal"),
    [
        ("dtype(x) == bfloat16", {"bfloat16"}),
        ("dtype(x) != bfloat16", {"float16", "float32"}),
        ("dtype(x) in {float16, float32}", {"float16", "float32"}),
        ("dtype(x) not in {float16, float32}", {"bfloat16"}),
        ("k != 2 or dtype(x) != bfloat16", {"float16", "float32"}),
        ("not (k == 2 and dtype(x) in {float16, bfloat16})", {"float32"}),
    ],
)
def test_a_condition_may_name_the_dtype_of_a_tensor(said: str, legal: set[str]) -> None:
    cond = read(said)
    for back in (cond, read(text(cond))):
        assert {d for d in ("float16", "bfloat16", "float32") if evaluate(back, {"k": 2}, None, {"x": d})} == legal
    assert typed(cond) == {"x"}
    assert free(cond) <= {"k"}
    with pytest.raises(KeyError, match="x"):
        evaluate(cond, {"k": 2})


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ("n in {4, 6, 8}", (4, 8)),
        ("1 <= n <= 100", (1, 100)),
        ("n > 3", (4, None)),
        ("2*n < 9", (None, 4)),
        ("n == 5", (5, 5)),
        ("D % 16 == 0", (None, None)),
        ("n <= D", (None, None)),
    ],
)
def test_bounds_of_one_name(said: str, expected: tuple[int | None, int | None]) -> None:
    assert bounds(read(said), "n") == expected


def test_facts_are_differences_that_are_never_negative() -> None:
    assert facts(read("n < D")) == [sym("D") - sym("n") - 1]


@pytest.mark.parametrize(
    ("said", "column", "words"),
    [
        ("n + q == 1", 5, "not defined"),
        ("n", 1, "not a condition"),
        ("n in D", 6, "set of integers"),
        ("n / 2 == 1", 1, "'/'"),
        ("numel(q) == 1", 1, "numel"),
        ("eps + 1 > 0", 1, "as it is"),
        ("dtype(q) == float16", 1, "dtype takes one tensor"),
        ("dtype(x) == float17", 13, "no such dtype"),
        ("dtype(x) < float16", 1, "compared with dtypes"),
        ("dtype(x) == 16", 13, "no such dtype"),
    ],
)
def test_a_bad_condition_says_where(said: str, column: int, words: str) -> None:
    with pytest.raises(TextError) as caught:
        read(said)
    assert caught.value.column == column
    assert words in caught.value.what


def test_conditions_print_as_cpp() -> None:
    assert text(read("1 <= k <= 100 and n in {4, 6}"), "c") == "1 <= k && k <= 100 && (n == 4 || n == 6)"
    assert text(read("not (D % 16 == 0)"), "c", lambda s: "dims." + s).startswith("!(")


def test_sizes_are_polynomials() -> None:
    assert parse_size("2*n*(T + 1)") == sym("n") * sym("T") * 2 + sym("n") * 2
    assert parse_size("numel(x) // (2*T)") == floor_div(numel("x"), sym("T") * 2)
    assert parse_size("n**2 - n*n") == const(0)
    for bad in ("n / 2", "n if T else 1", "2.5", "f(n)", "n // 0", "__import__('os')", ""):
        with pytest.raises(TextError):
            parse_size(bad)


# --- proofs --------------------------------------------------------------------------------------------------------

N, T, AT, K = sym("n"), sym("T"), sym("i"), sym("k")
KNOWN = Facts({"n": (4, 8), "T": (1, None), "s": (1, None)}, (Range("i", const(0), N - 1), Range("k", const(0), AT)))


@pytest.mark.parametrize(
    "e", [N - 4, N * T - N, N - 1 - AT, AT - K, N - 1 - K, N * T - (AT * T + T - 1) - 1, 8 * T - N * T, T - 1 - mod(K, T)]
)
def test_what_follows_from_the_ranges_is_proved(e: object) -> None:
    assert KNOWN.nonnegative(e)  # type: ignore[arg-type]


@pytest.mark.parametrize("e", [N - 5, T - 2, N - 2 - AT, K - AT, AT - 1, T - N, 7 * T - N * T])
def test_what_does_not_follow_is_not(e: object) -> None:
    assert not KNOWN.nonnegative(e)  # type: ignore[arg-type]


@given(st.lists(st.tuples(st.integers(-6, 6), st.integers(0, 2), st.integers(0, 2), st.integers(0, 1)), min_size=1, max_size=4))
def test_a_proof_is_never_wrong(terms: list[tuple[int, int, int, int]]) -> None:
    e = const(0)
    for c, pn, pi, pk in terms:
        term = const(c)
        for atom, power in ((N, pn), (AT, pi), (K, pk)):
            for _ in range(power):
                term = term * atom
        e = e + term
    if KNOWN.nonnegative(e):
        for n in range(4, 9):
            for i in range(n):
                for k in range(i + 1):
                    assert e.evaluate({"n": n, "i": i, "k": k}) >= 0
