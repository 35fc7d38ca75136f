"""How an adjoint is stored: one statement for each way its tensor is indexed, when these tile it; else one for all elements."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from generator.formula.ir import Bound, Gather, Tensor
from generator.formula.prove import Facts, Range
from generator.formula.writes import Write, complete, overlap, overlaps_itself
from generator.spec.integer import IntExpr, sym
from generator.symbolic.build import Fresh
from generator.symbolic.rules import Contribution

__all__ = ["Pattern", "patterns", "whole"]


@dataclass(frozen=True)
class Pattern:
    """A left side: ``indices`` in terms of ``axes`` (and loop variables)."""

    indices: tuple[IntExpr, ...]
    axes: tuple[Bound, ...]

    def write(self, loops: Sequence[Range], steps: Mapping[str, int]) -> Write:
        ranges = tuple(Range(a.name, IntExpr(()), a.extent - 1) for a in self.axes if a.extent is not None)
        return Write(self.indices, tuple(loops), ranges, dict(steps))


def whole(tensor: Tensor, names: Sequence[str], fresh: Fresh) -> Pattern:
    """Every element, by an axis for each dim; ``names`` are what to call them."""
    axes = tuple(Bound(fresh.name(names[d]), e) for d, e in enumerate(tensor.shape))
    return Pattern(tuple(sym(a.name) for a in axes), axes)


def patterns(
    cs: Sequence[Contribution],
    tensor: Tensor,
    names: Sequence[str],
    fresh: Fresh,
    facts: Facts,
    loops: Sequence[Range] = (),
    steps: Mapping[str, int] | None = None,
    *,
    covered: bool = True,
) -> list[Pattern] | None:
    """The ways in which ``cs`` index ``tensor``, when writes of those forms are disjoint and cover it; None otherwise.

    ``loops`` are those around the statement; facts hold inside them. ``covered=False`` asks for disjointness only."""
    found: dict[tuple[str, ...], Pattern] = {}
    for c in cs:
        if any(isinstance(i, Gather) for i in c.indices):
            continue
        p = _pattern(c, tensor, names, fresh)
        if p is not None:
            found.setdefault(_key(p), p)
    if not found:
        return None
    made = list(found.values())
    writes = [p.write(loops, steps or {}) for p in made]
    if any(overlaps_itself(w, facts) is not None for w in writes):
        return None
    if any(overlap(a, b, facts) for at, a in enumerate(writes) for b in writes[:at]):
        return None
    return made if not covered or complete(writes, tensor.shape, facts) is None else None


def plain_axis(c: Contribution, d: int, tensor: Tensor) -> str | None:
    """The axis that indexes dim ``d`` alone, wholly, and no other dim."""
    i = c.indices[d]
    name = i.symbol if isinstance(i, IntExpr) else None
    if name is None or not any(a.name == name and a.extent == tensor.shape[d] for a in c.axes):
        return None
    others = [j for k, j in enumerate(c.indices) if k != d and isinstance(j, IntExpr) and name in j.free()]
    return None if others else name


def _pattern(c: Contribution, tensor: Tensor, names: Sequence[str], fresh: Fresh) -> Pattern | None:
    """The form of ``c``'s indices in names of its own; None when it is that of every element."""
    if all(plain_axis(c, d, tensor) is not None for d in range(len(tensor.shape))):
        return None
    env: dict[str, IntExpr] = {}
    axes: list[Bound] = []
    for d, i in enumerate(c.indices):
        assert isinstance(i, IntExpr)
        for a in c.axes:
            if a.name in i.free() and a.name not in env:
                alone = plain_axis(c, d, tensor) is not None
                name = fresh.name(names[d] if alone else a.name)
                env[a.name] = sym(name)
                axes.append(Bound(name, a.extent))
    return Pattern(tuple(i.substitute(env) for i in c.indices if isinstance(i, IntExpr)), tuple(axes))


def _key(p: Pattern) -> tuple[str, ...]:
    """Equal for patterns that differ in the names of axes only."""
    env = {a.name: sym(f"#{k}") for k, a in enumerate(p.axes)}
    return (*(i.substitute(env).key() for i in p.indices), *(a.extent.key() for a in p.axes if a.extent is not None))
