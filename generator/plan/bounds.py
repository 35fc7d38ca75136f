"""Proved bounds of integer expressions from the spec's constraints."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from generator.spec.integer import IntExpr, Sym

__all__ = ["Bounds"]

SMALL = 16  # a size proved to be at most this is held whole in a tile
LONG = 1024  # a size that may be more is not held whole for the sake of a statement that does not move along it


@dataclass(frozen=True)
class Bounds:
    """Lower and upper bounds of dims and int attributes (None: unbounded)."""

    known: Mapping[str, tuple[int, int | None]]

    def upper(self, e: IntExpr) -> int | None:
        total = 0
        for mono, coef in e.terms:
            if coef < 0:
                low = self._product(mono, 0)
                total += coef * (0 if low is None else low)
                continue
            high = self._product(mono, 1)
            if high is None:
                return None
            total += coef * high
        return total

    def lower(self, e: IntExpr) -> int:
        total = 0
        for mono, coef in e.terms:
            bound = self._product(mono, 0 if coef > 0 else 1)
            if bound is None:
                return 1
            total += coef * bound
        return max(total, 1)  # kernels never run on empty extents

    def _product(self, mono: tuple[tuple[object, int], ...], side: int) -> int | None:
        out = 1
        for atom, power in mono:
            if not isinstance(atom, Sym) or atom.name not in self.known:
                return None if side else 0
            bound = self.known[atom.name][side]
            if bound is None:
                return None
            out *= int(bound) ** power
        return out

    def small(self, e: IntExpr) -> bool:
        """Proved to be at most 16."""
        high = self.upper(e)
        return high is not None and high <= SMALL

    def long(self, e: IntExpr) -> bool:
        """Not proved to be at most 1024."""
        high = self.upper(e)
        return high is None or high > LONG
