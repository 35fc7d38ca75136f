"""A sample of the mutants over every kind, and the mutators themselves; ``python -m tests.mutation`` runs all."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

import pytest

from generator.twin.compile import default_cache
from tests.mutation.campaign import Place, campaign, mutants_of
from tests.mutation.explained import RULES, explain
from tests.mutation.mutators import Mutant, mutants
from tests.mutation.source import Source
from tests.mutation.weave import woven

ROOT = Path(__file__).resolve().parents[2]
TEXT = """class Stage
{
    void Init()
    {
        pipe->InitBuffer(in0Queue_, 2, n_ * 32);
    }
    void Process()
    {
        for (int64_t t = 0; t < n_; ++t) {
            AscendC::LocalTensor<float> x = in0Queue_.AllocTensor<float>();
            AscendC::DataCopyPad(x, gm_[t * 8], AscendC::DataCopyExtParams(1, n_ * 4, 0, 0, 0), pad);
            in0Queue_.EnQue(x);
            x = in0Queue_.DeQue<float>();
            VectorBarrier();  // not VectorBarrier();
            AscendC::Adds(x, x, 0.5f, n_);
            in0Queue_.FreeTensor(x);
        }
    }
    AscendC::GlobalTensor<float> gm_;
};
"""


@pytest.fixture(scope="module")
def made() -> list[Mutant]:
    return mutants(Source("stage.h", TEXT))


def alone(mutant: Mutant) -> str:
    """The line or lines a mutant changes, with its switch numbered 7."""
    before, after = TEXT.splitlines(), woven(TEXT, [(7, mutant)]).splitlines()
    assert len(before) == len(after)
    return "\n".join(b.strip() for a, b in zip(before, after, strict=True) if a != b)


def test_each_kind_of_fault_is_planted_where_it_can_be(made: list[Mutant]) -> None:
    found: dict[str, list[str]] = defaultdict(list)
    for mutant in made:
        found[mutant.kind].append(alone(mutant))
    assert found["barrier"] == ["if (!mutation::Is(7)) VectorBarrier();  // not VectorBarrier();"]
    assert found["buffer"] == ["pipe->InitBuffer(in0Queue_, 2, mutation::Plus(7, n_ * 32, -32));"]
    assert found["EnQue/DeQue pair"] == ["if (!mutation::Is(7)) in0Queue_.EnQue(x);\nif (!mutation::Is(7)) x = in0Queue_.DeQue<float>();"]
    assert found["FreeTensor"] == [
        "in0Queue_.FreeTensor(x); if (mutation::Is(7)) in0Queue_.FreeTensor(x);",
        "if (!mutation::Is(7)) in0Queue_.FreeTensor(x);",
    ]
    assert "for (int64_t t = 0; t < mutation::Plus(7, n_, -1); ++t) {" in found["loop"]
    assert "AscendC::Adds(x, x, 0.5f, mutation::Plus(7, n_, 1));" in found["count"]
    assert "AscendC::Adds(x, x, mutation::Plus(7, 0.5f, 1), n_);" in found["scalar"]
    assert len(found["field"]) == 10
    assert any("gm_[mutation::Plus(7, t * 8, -1)]" in text for text in found["offset"])
    assert len(found["dropped call"]) == 2


def test_all_mutants_of_a_text_fit_into_it_together(made: list[Mutant]) -> None:
    text = woven(TEXT, list(enumerate(made)))
    assert text.count("(") == text.count(")")
    assert all(f"mutation::Is({n})" in text or f"mutation::Plus({n}, " in text for n in range(len(made)))


def test_every_reason_is_given_once() -> None:
    assert len({rule.pattern for rule in RULES}) == len(RULES)


def sample(place: Place, name: str, count: int) -> list[int]:
    """``count`` mutants that no rule explains, spread over the kinds and, within a kind, over the text."""
    kinds: dict[str, list[int]] = defaultdict(list)
    for number, mutant in enumerate(mutants_of(place, name)):
        if explain(name, mutant) is None:
            kinds[mutant.kind].append(number)
    spread = [sorted(numbers, key=lambda n: n * 7919 % 1009) for _, numbers in sorted(kinds.items())]
    ranked = sorted((rank, kind, number) for kind, numbers in enumerate(spread) for rank, number in enumerate(numbers))
    return sorted(number for _, _, number in ranked[:count])


@pytest.mark.parametrize(("name", "count"), [("MhcSinkhornBackward", 40), ("RmsNorm", 40)])
def test_a_planted_fault_is_reported_by_a_law_or_fails_the_comparison(name: str, count: int) -> None:
    place = Place(ROOT / "specs", ROOT / "generated", default_cache() / "woven")
    fates = campaign(place, name, sample(place, name, count))
    assert len(fates) == count
    assert [str(f.mutant) for f in fates if not f.killed] == []
