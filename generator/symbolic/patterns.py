"""How an adjoint is stored: one statement for each way its tensor is indexed, when these tile it; else one for all elements."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from generator.formula.ir import Bound, Gather, Tensor
from generator.formula.prove import Facts, Range
from generator.formula.writes import Write, complete, overlap, overlaps_itself, progression
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
    if not covered or complete(writes, tensor.shape, facts) is None:
        return made
    if loops or (len(found) < len([c for c in cs if c.indices]) and _any_plain(cs, tensor)):
        return None
    gaps = _gaps(made, tensor, names, fresh, facts)
    if any(len(p.axes) == len(tensor.shape) for p in gaps):
        return None  # an interval has no way to say its extent on a left side
    made += gaps
    return made if complete([p.write((), {}) for p in made], tensor.shape, facts) is None else None


def _any_plain(cs: Sequence[Contribution], tensor: Tensor) -> bool:
    return any(all(plain_axis(c, d, tensor) is not None for d in range(len(tensor.shape))) for c in cs)


def _gaps(made: Sequence[Pattern], tensor: Tensor, names: Sequence[str], fresh: Fresh, facts: Facts) -> list[Pattern]:
    """What writes that are intervals of one dim leave out of it."""
    loose = [d for d in range(len(tensor.shape)) if any(p.indices[d].symbol is None or not p.axes for p in made)]
    if len(loose) != 1:
        return []
    d = loose[0]
    runs = [progression(p.indices[d], p.write((), {})) for p in made]
    left = [r for r in runs if r is not None and r.stride == 1]
    if len(left) != len(runs):
        return []
    out: list[Pattern] = []
    reached = IntExpr(())
    while left:
        first = next((r for r in left if all(facts.at_most(r.base, o.base) for o in left)), None)
        if first is None or not facts.at_most(reached, first.base):
            return []
        out += [] if first.base == reached else [_interval(tensor, d, reached, first.base - reached, names, fresh)]
        left.remove(first)
        reached = first.base + first.count
    extent = tensor.shape[d]
    return out if extent == reached else [*out, _interval(tensor, d, reached, extent - reached, names, fresh)]


def _interval(tensor: Tensor, d: int, start: IntExpr, count: IntExpr, names: Sequence[str], fresh: Fresh) -> Pattern:
    p = whole(tensor, names, fresh)
    if count.value == 1:
        return Pattern((*p.indices[:d], start, *p.indices[d + 1 :]), (*p.axes[:d], *p.axes[d + 1 :]))
    indices = tuple(i + start if k == d else i for k, i in enumerate(p.indices))
    return Pattern(indices, tuple(Bound(a.name, count if k == d else a.extent) for k, a in enumerate(p.axes)))


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
