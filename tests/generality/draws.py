"""The drawn operators of a run: the strategy's examples for a seed, the same in every run."""

from __future__ import annotations

from hypothesis import HealthCheck, Phase, given, seed, settings

from tests.generality.strategy import Drawn, specs

__all__ = ["drawn_operators"]


def drawn_operators(count: int, number: int) -> list[Drawn]:
    """``count`` operators, all different, that the strategy draws under seed ``number``."""
    found: dict[str, Drawn] = {}

    @seed(number)
    @settings(max_examples=3 * count, database=None, phases=(Phase.generate,), deadline=None, suppress_health_check=list(HealthCheck))
    @given(specs())
    def collect(drawn: Drawn) -> None:
        if len(found) < count:
            found.setdefault(drawn.text, drawn)

    collect()
    return list(found.values())
