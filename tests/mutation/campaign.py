"""Running mutants: every one is launched at the settings that reach it, until a law or the comparison reports it."""

from __future__ import annotations

import multiprocessing
from collections.abc import Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from generator.emit.names import snake
from generator.twin.verify.calls import Subject
from generator.twin.verify.runner import Prepared, launch
from generator.twin.verify.session import operators, subject
from tests.mutation.mutators import Mutant
from tests.mutation.settings import OTHER, PRODUCT, SETTINGS, ready
from tests.mutation.weave import Woven, all_mutants, weave

__all__ = ["Fate", "Place", "campaign", "mutants_of"]

SECONDS = 5  # a mutant that runs longer does not end
CHUNK = 60


@dataclass(frozen=True, slots=True)
class Place:
    """Where specs and generated operators are, and where woven kernels may be put."""

    specs: Path
    generated: Path
    woven: Path


@dataclass(frozen=True, slots=True)
class Fate:
    """What became of a mutant: ``by`` is the law that reported it, ``comparison``, or how it lived on."""

    operator: str
    mutant: Mutant
    by: str
    detail: str = ""

    @property
    def killed(self) -> bool:
        return self.by not in ("survived", "not reached", "crash")


@lru_cache(maxsize=8)
def _subject(place: Place, product: str, name: str) -> Subject:
    (operator,) = operators(place.specs, place.generated, snake, [name])
    return subject(operator, product)


@lru_cache(maxsize=8)
def _prepared(place: Place, product: str, name: str) -> tuple[Prepared, ...]:
    return tuple(ready(_subject(place, product, name), setting, product) for setting in SETTINGS[name])


@lru_cache(maxsize=8)
def mutants_of(place: Place, name: str) -> tuple[Mutant, ...]:
    """Every mutant of a generated operator."""
    (operator,) = operators(place.specs, place.generated, snake, [name])
    return tuple(all_mutants(operator.folder))


@lru_cache(maxsize=8)
def _woven(place: Place, product: str, name: str, numbers: tuple[int, ...]) -> Woven:
    found = mutants_of(place, name)
    (operator,) = operators(place.specs, place.generated, snake, [name])
    return weave(operator.folder, [found[n] for n in numbers], product, place.woven)


@lru_cache(maxsize=8)
def _reach(place: Place, product: str, name: str, numbers: tuple[int, ...]) -> tuple[frozenset[int], ...]:
    """For each setting, which mutants the unchanged kernel reaches. The kernel must pass everywhere."""
    woven = _woven(place, product, name, numbers)
    out = []
    for prepared in _prepared(place, product, name):
        _unchanged(woven, prepared)
        out.append(frozenset(woven.reached()))
    return tuple(out)


def _unchanged(woven: Woven, prepared: Prepared) -> None:
    woven.choose(None)
    woven.reached()
    result = launch(prepared, woven.built, seconds=60)
    if not result.passed:
        raise RuntimeError(f"{prepared.case.label()}: the kernel without a mutant fails: {result.why()}")


def _one(place: Place, product: str, name: str, numbers: tuple[int, ...], position: int) -> Fate:
    mutant = mutants_of(place, name)[numbers[position]]
    woven = _woven(place, product, name, numbers)
    met = [p for p, seen in zip(_prepared(place, product, name), _reach(place, product, name, numbers), strict=True) if position in seen]
    for prepared in met:
        woven.choose(position)
        result = launch(prepared, woven.built, seconds=SECONDS)
        if not result.passed:
            by = result.breaches[0].rule if result.breaches else "comparison"
            return Fate(name, mutant, by, f"{prepared.case.label()}: {result.why().splitlines()[0]}")
    return Fate(name, mutant, "survived" if met else "not reached")


def _chunk(place: Place, product: str, name: str, numbers: tuple[int, ...], positions: Sequence[int]) -> list[Fate]:
    """Some mutants in one process; at the end the unchanged kernel must still pass."""
    out = [_one(place, product, name, numbers, p) for p in positions]
    woven = _woven(place, product, name, numbers)
    for prepared in _prepared(place, product, name)[:2]:
        _unchanged(woven, prepared)
    return out


def _fates(place: Place, product: str, name: str, chosen: tuple[int, ...], jobs: int) -> list[Fate]:
    """The fates of mutants on one product. A mutant whose process dies is a ``crash``."""
    _woven(place, product, name, chosen)
    spawn = multiprocessing.get_context("spawn")
    size = max(1, min(CHUNK, -(-len(chosen) // jobs)))
    chunks = [range(k, min(k + size, len(chosen))) for k in range(0, len(chosen), size)]
    fates: dict[int, Fate] = {}
    todo: list[Sequence[int]] = []
    with ProcessPoolExecutor(max_workers=max(1, min(jobs, len(chunks))), mp_context=spawn) as pool:
        waiting = {pool.submit(_chunk, place, product, name, chosen, part): part for part in chunks}
        for done in as_completed(waiting):
            try:
                fates.update(zip(waiting[done], done.result(), strict=True))
            except BrokenProcessPool:
                todo.append(waiting[done])
    while todo:  # halve what a dead process had until the mutant that kills it is alone
        part = todo.pop()
        with ProcessPoolExecutor(max_workers=1, mp_context=spawn) as pool:
            try:
                fates.update(zip(part, pool.submit(_chunk, place, product, name, chosen, part).result(), strict=True))
            except BrokenProcessPool:
                if len(part) == 1:
                    fates[part[0]] = Fate(name, mutants_of(place, name)[chosen[part[0]]], "crash")
                else:
                    todo += [part[: len(part) // 2], part[len(part) // 2 :]]
    return [fates[p] for p in range(len(chosen))]


def campaign(place: Place, name: str, numbers: Iterable[int] | None = None, jobs: int = 2) -> list[Fate]:
    """The fates of an operator's mutants (all, or those numbered), in order. What lives on one product tries another."""
    chosen = tuple(range(len(mutants_of(place, name))) if numbers is None else numbers)
    fates = dict(zip(chosen, _fates(place, PRODUCT, name, chosen, jobs), strict=True))
    living = tuple(n for n in chosen if fates[n].by == "survived")
    if living:
        again = zip(living, _fates(place, OTHER, name, living, jobs), strict=True)
        fates.update((n, fate) for n, fate in again if fate.killed)
    return [fates[n] for n in chosen]
