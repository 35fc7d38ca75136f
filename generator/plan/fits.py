"""Whether stages fit the unified buffer of every product at every size the spec allows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from generator.plan.bounds import Bounds
from generator.plan.tree import Alternative, Buffer, TileParam
from generator.spec.integer import round_up

__all__ = ["fits_every_size", "serves_every_size"]

UB_LEAST: Final = 196608 - 256 - 8192  # the smallest unified buffer of all products, less what may be reserved (facts.md C.1, D)


def serves_every_size(a: Alternative, bounds: Bounds) -> bool:
    """Every stage fits with its tiles at their smallest and every size at its largest."""
    return all(fits_every_size(s.buffers, s.tiles, bounds) for s in a.stages)


def fits_every_size(buffers: Sequence[Buffer], tiles: Sequence[TileParam], bounds: Bounds) -> bool:
    """The same of one stage's buffers; sizes without a limit fit nowhere."""
    env = {name: high for name, (_, high) in bounds.known.items() if high is not None} | {t.name: t.align for t in tiles}
    if not all(b.bytes.free() <= env.keys() for b in buffers):
        return False
    return sum(round_up(b.bytes, 32).evaluate(env) * b.copies for b in buffers) <= UB_LEAST
