"""What runs at the same time: cube stages beside the vector stages that have nothing to do with them.

Both core types run the kernel, each its own stages in order, and meet at barriers. A cube stage that stands before
unconcerned vector stages starts with them, behind one barrier.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from generator.plan.cost import arithmetic
from generator.plan.normal import NStmt
from generator.plan.schedule import GM, Group, Item, LoopItem, groups_of, reads_of, writes_of
from generator.spec.integer import IntExpr, ceil_div, sym

__all__ = ["Overlap"]


@dataclass(frozen=True)
class Overlap:
    """``zeros``: per product, the tensor of zeros that its stage reads beside its factors, if any."""

    zeros: Mapping[str, str]

    def accesses(self, i: Item) -> tuple[set[str], set[str]]:
        """What an item reads and what it writes."""
        groups = list(groups_of((i,)))
        writes = {t for g in groups for t in writes_of(g)}
        zeros = (self.zeros.get(t.removesuffix(GM)) for t in writes)
        return {t for g in groups for t in reads_of(g)} | {z + GM for z in zeros if z}, writes

    def meet(self, a: Item, b: Item) -> bool:
        """One writes what the other touches."""
        (ra, wa), (rb, wb) = self.accesses(a), self.accesses(b)
        return bool(wa & (rb | wb) or wb & ra)

    def waits(self, items: Sequence[Item], at: int, before: int) -> bool:
        """The item at ``at`` meets a cube stage that stands before ``before``."""
        return any(_on_cube(x) and self.meet(items[at], x) for x in items[:before])

    def cubes_early(self, items: Iterable[Item]) -> tuple[Item, ...]:
        """Cube stages before the vector stages that they do not meet; but not before one that waits for another cube stage already."""
        out: list[Item] = []
        for i in items:
            at = len(out)
            if isinstance(i, LoopItem):
                i = replace(i, items=self.cubes_early(i.items))
            elif i.cube:
                while at and _on_vector(out[at - 1]) and not self.meet(out[at - 1], i) and not self.waits(out, at - 1, at - 1):
                    at -= 1
            out.insert(at, i)
        return tuple(out)

    def beside(self, items: Sequence[Item], at: int) -> IntExpr | None:
        """The least cycles that the vector cores work while the cube stage at this place does; None where they need not work at all.

        A vector stage before it counts when it waits for an earlier cube stage, behind the same barrier of all cores, and one after
        it when no such barrier comes between."""
        body: list[NStmt] = []
        for k in reversed(range(at)):
            if not _on_vector(items[k]) or not self.waits(items, k, k):
                break
            if self.meet(items[k], items[at]):
                body.clear()
                break
            body += _statements(items[k])
        for k in range(at + 1, len(items)):
            if not _on_vector(items[k]) or self.waits(items, k, at + 1):
                break
            body += _statements(items[k])
        return ceil_div(arithmetic(body), sym("coreNum")) if body else None


def _on_cube(i: Item) -> bool:
    return isinstance(i, Group) and i.cube


def _on_vector(i: Item) -> bool:
    return isinstance(i, Group) and not i.cube


def _statements(i: Item) -> tuple[NStmt, ...]:
    return i.statements if isinstance(i, Group) else ()
