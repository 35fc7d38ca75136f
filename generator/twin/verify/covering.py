"""Pairwise covering arrays under constraints and a cost budget: every legal pair of values in some row.

The construction is greedy in the manner of AETG (Cohen, Dalal, Fredman, Patton 1997): a row is seeded with the
dearest pair that no row holds yet and completed, factor by factor, by the value that covers most new pairs and, among
equals, costs least; backtracking makes the row legal. Several factor orders are tried for each row.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

__all__ = ["Array", "Factor", "Row", "cover", "pairs_of"]

Value = object
Row = Mapping[str, Value]
Setting = tuple[int, int]  # factor number, value number
Pair = tuple[Setting, Setting]

_ORDERS = 6  # factor orders tried for each row
_NODES = 20_000  # backtracking steps after which a pair counts as impossible


@dataclass(frozen=True)
class Factor:
    """One thing that varies. ``listed`` values were asked for by the author: a pair of two listed values gets its row
    even when no row within the budget holds it."""

    name: str
    values: tuple[Value, ...]
    listed: bool = False


@dataclass(frozen=True)
class Array:
    """The rows, and what became of every pair: ``pairs`` are legal and within reach, all of them covered.

    ``impossible`` pairs violate a constraint; ``dear`` pairs fit no row within the budget and were not asked for.
    ``over_budget`` numbers the rows that exceed the budget for the sake of a listed pair.
    """

    rows: tuple[Row, ...]
    pairs: int
    covered: int
    impossible: int
    dear: int
    over_budget: frozenset[int]


def pairs_of(factors: Sequence[Factor], rows: Sequence[Row]) -> set[Pair]:
    """Every pair of settings that some row holds."""
    found: set[Pair] = set()
    for row in rows:
        settings = [(i, f.values.index(row[f.name])) for i, f in enumerate(factors)]
        found.update(itertools.combinations(settings, 2))
    return found


class _Builder:
    """The greedy construction over value numbers."""

    def __init__(
        self,
        factors: Sequence[Factor],
        allowed: Callable[[Row], bool],
        cost: Callable[[Row], float],
        seed: int,
    ) -> None:
        self.factors = factors
        self.allowed = allowed
        self.cost = cost
        self.random = random.Random(seed)
        everything = [[(i, v) for v in range(len(f.values))] for i, f in enumerate(factors)]
        self.uncovered: set[Pair] = {
            pair for a, b in itertools.combinations(range(len(factors)), 2) for pair in itertools.product(everything[a], everything[b])
        }

    def row(self, chosen: Mapping[int, int]) -> dict[str, Value]:
        return {self.factors[i].name: self.factors[i].values[v] for i, v in chosen.items()}

    def fresh(self, chosen: Mapping[int, int], factor: int, value: int) -> int:
        """How many uncovered pairs the setting makes with those already chosen."""
        mine = (factor, value)
        return sum(1 for other in chosen.items() if ((other, mine) if other < mine else (mine, other)) in self.uncovered)

    def complete(self, seed: Mapping[int, int], order: Sequence[int], budget: float) -> dict[int, int] | None:
        """A full legal row within the budget that holds ``seed``, or None."""
        steps = 0

        def extend(chosen: dict[int, int], position: int) -> dict[int, int] | None:
            nonlocal steps
            if position == len(order):
                return chosen
            factor = order[position]
            ranked = []
            for value in range(len(self.factors[factor].values)):
                trial = {**chosen, factor: value}
                row = self.row(trial)
                price = self.cost(row)
                if price <= budget and self.allowed(row):
                    ranked.append((-self.fresh(chosen, factor, value), price, self.random.random(), trial))
            for _, _, _, trial in sorted(ranked, key=lambda item: item[:3]):
                steps += 1
                if steps > _NODES:
                    return None
                done = extend(trial, position + 1)
                if done is not None:
                    return done
            return None

        start = self.row(seed)
        if not self.allowed(start) or self.cost(start) > budget:
            return None
        return extend(dict(seed), 0)

    def best(self, pair: Pair, budget: float) -> dict[int, int] | None:
        """The row that covers most of what is uncovered, among several factor orders; None when there is none."""
        seed = dict(pair)
        rest = [i for i in range(len(self.factors)) if i not in seed]
        best: tuple[int, float, dict[int, int]] | None = None
        for _ in range(_ORDERS):
            self.random.shuffle(rest)
            chosen = self.complete(seed, tuple(rest), budget)
            if chosen is None:
                return None
            score = (-len(self.newly(chosen)), self.cost(self.row(chosen)))
            if best is None or score < best[:2]:
                best = (*score, chosen)
        return best[2] if best else None

    def newly(self, chosen: Mapping[int, int]) -> set[Pair]:
        return self.uncovered & set(itertools.combinations(sorted(chosen.items()), 2))


def cover(
    factors: Sequence[Factor],
    allowed: Callable[[Row], bool],
    cost: Callable[[Row], float],
    budget: float,
    seed: int,
) -> Array:
    """Rows in which every legal pair of values of two factors stands together at least once.

    ``allowed`` and ``cost`` are asked about partial rows too: ``allowed`` may answer False only when no completion is
    legal, and ``cost`` must not fall as a row is completed. The same arguments give the same rows.
    """
    if not factors or any(not f.values for f in factors):
        return Array((), 0, 0, 0, 0, frozenset())
    if len(factors) == 1:
        rows = tuple(r for v in factors[0].values if allowed(r := {factors[0].name: v}) and cost(r) <= budget)
        return Array(rows, 0, 0, 0, 0, frozenset())
    build = _Builder(factors, allowed, cost, seed)
    reachable = set(build.uncovered)
    waiting = sorted(build.uncovered, key=lambda p: (-cost(build.row(dict(p))), p))
    rows_found: list[dict[int, int]] = []
    over: set[int] = set()
    impossible = dear = 0
    for pair in waiting:
        if pair not in build.uncovered:
            continue
        chosen = build.best(pair, budget)
        if chosen is None:
            chosen = build.complete(dict(pair), [i for i in range(len(factors)) if i not in dict(pair)], float("inf"))
            if chosen is None or not all(factors[i].listed for i, _ in pair):
                impossible += chosen is None
                dear += chosen is not None
                build.uncovered.discard(pair)
                reachable.discard(pair)
                continue
            chosen = _cheapest(build, pair)
            over.add(len(rows_found))
        rows_found.append(chosen)
        build.uncovered -= build.newly(chosen)
    rows_out = tuple(dict(sorted(build.row(r).items())) for r in rows_found)
    held = pairs_of(factors, rows_out) & reachable
    return Array(rows_out, len(reachable), len(held), impossible, dear, frozenset(over))


def _cheapest(build: _Builder, pair: Pair) -> dict[int, int]:
    """A legal row that holds ``pair`` at the least cost that doubling from the pair's own cost finds."""
    seed = dict(pair)
    rest = [i for i in range(len(build.factors)) if i not in seed]
    limit = build.cost(build.row(seed))
    while True:
        chosen = build.complete(seed, rest, limit)
        if chosen is not None:
            return chosen
        limit = limit * 2 + 1
