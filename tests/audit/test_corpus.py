"""The corpus and the audit of it: what is right is proved, what is wrong is refuted by a point that central differences confirm."""

from __future__ import annotations

import zlib
from collections import Counter

import pytest

from tests.audit.campaign import judged
from tests.audit.corpus import Case, Text, cases, texts
from tests.audit.truth import wrong

CASES = [pytest.param(c, id=c.name) for c in cases() if not c.trap and c.right is None]
TRAPS = [c for c in cases() if c.trap]
OPEN = [pytest.param(c, id=c.name) for c in cases() if c.right is not None]
SEEDS = (0, 1)


def some(case: Case, seed: int) -> list[Text]:
    """The texts of ``case`` audited with ``seed``: a mutant with each, all right ones with the first, one right one of every
    fourth case with the second; the script takes all."""
    every = list(texts(case))
    sound = [t for t in every if t.role != "mutant"]
    mutants = [t for t in every if t.role == "mutant"]
    start = zlib.crc32(case.name.encode())
    again = sound[:1] if start % 4 == 0 else []
    return [*(again if seed else sound), mutants[(start + seed) % len(mutants)]]


def test_the_corpus_is_as_wide_as_it_should_be() -> None:
    sound = [c for c in cases() if not c.trap and c.right is None]
    assert sum(len(c.data["gradients"]) for c in sound) >= 60
    assert sum(bool(c.rewrites) for c in sound) >= 20
    assert sum("wrong" not in c.trap for c in TRAPS) >= 20
    assert sum("wrong" in c.trap for c in TRAPS) >= 20
    assert sum(c.right is not None for c in cases()) >= 15


@pytest.mark.parametrize("case", CASES)
def test_right_gradients_and_rewrites_agree_with_central_differences(case: Case) -> None:
    for text in texts(case):
        if text.role != "mutant":
            assert wrong(text, count=2, above=1e-6) == {}, text.name


@pytest.mark.parametrize("case", CASES)
def test_every_mutant_is_wrong_by_central_differences_and_every_gradient_has_three(case: Case) -> None:
    found: Counter[str] = Counter()
    for text in texts(case):
        if text.role == "mutant":
            bad = wrong(text, count=2)
            assert bad, f"{text.name} is right"
            found.update(bad.keys())
    assert {n: found[n] for n in case.data["gradients"] if found[n] < 3} == {}


@pytest.mark.parametrize("case", [pytest.param(c, id=c.name) for c in TRAPS])
def test_a_trap_is_right_where_it_says_and_wrong_elsewhere(case: Case) -> None:
    (text,) = texts(case)
    assert wrong(text, count=1, above=1e-6, fixed=case.trap.get("right")) == {}
    assert wrong(text, count=2, fixed=case.trap.get("wrong")) != {}


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("case", CASES)
def test_what_is_right_is_shown_and_what_is_wrong_refuted(case: Case, seed: int) -> None:
    assert [f"{o.name}: {o.fault}" for text in some(case, seed) for o in judged(text, seed=seed) if o.fault] == []


@pytest.mark.parametrize("case", [pytest.param(c, id=c.name) for c in TRAPS])
def test_a_trap_is_never_proved(case: Case) -> None:
    assert [f"{o.name}: {o.fault}" for text in texts(case) for o in judged(text) if o.fault] == []


@pytest.mark.parametrize("case", OPEN)
def test_a_text_that_leaves_something_open_is_ambiguous_and_the_right_reading_is_named(case: Case) -> None:
    assert [f"{o.name}: {o.fault}" for text in texts(case) for o in judged(text) if o.fault] == []
