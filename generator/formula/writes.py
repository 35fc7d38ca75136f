"""Writes to a tensor: proved disjoint, and complete.

A written index is affine in axes and loop variables. In each dim it becomes a *progression*: the values
``base + stride * k`` for ``0 <= k < count``, when the variables in it form a mixed radix (``i*D + d``), and a progression
with stride 1 that starts at 0 and has the dim's extent is *full*. Completeness of a tensor is that of its dims: dims in
which every write is full are done; in another dim the progressions must tile the extent, piece by piece.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import gcd

from generator.formula.ir import Span
from generator.formula.prove import Facts, Range
from generator.spec.integer import IntExpr, Sym, const, floor_div, sym

__all__ = ["Progression", "Write", "complete", "never_zero_modulo", "overlap", "overlaps_itself", "progression"]


@dataclass(frozen=True, slots=True)
class Progression:
    """``base + stride * k`` for ``0 <= k < count``."""

    base: IntExpr
    stride: int
    count: IntExpr


@dataclass(frozen=True, slots=True)
class Write:
    """One store: its indices, and the ranges of the variables in them, loop variables first. ``steps`` are the steps of
    the loop variables."""

    indices: tuple[IntExpr, ...]
    loops: tuple[Range, ...]
    axes: tuple[Range, ...]
    steps: dict[str, int]
    span: Span | None = None

    @property
    def ranges(self) -> tuple[Range, ...]:
        return self.loops + self.axes


def progression(index: IntExpr, write: Write) -> Progression | None:
    """The values ``index`` takes over the write's variables, or None when they are no progression."""
    base = index
    parts: list[tuple[IntExpr, IntExpr]] = []  # coefficient, count
    for r in write.ranges:
        if r.name not in index.free():
            continue
        if not index.is_affine_in([r.name]):
            return None
        step = write.steps.get(r.name, 1)
        c = index.coefficient(r.name) * abs(step)
        if c.value is not None and c.value < 0:
            base = base.substitute({r.name: r.high}) if abs(step) == 1 else base.substitute({r.name: r.low})
            if abs(step) != 1:
                return None
            c = -c
        else:
            start = r.low if step > 0 else r.high if abs(step) != 1 else r.low
            if step < -1:
                return None
            base = base.substitute({r.name: start})
        parts.append((c, floor_div(r.high - r.low, abs(step)) + 1))
    if any(r.name in base.free() for r in write.ranges):
        return None
    if not parts:
        return Progression(base, 1, const(1))
    return _mixed_radix(base, parts)


def _mixed_radix(base: IntExpr, parts: list[tuple[IntExpr, IntExpr]]) -> Progression | None:
    constants = [c.value for c, _ in parts if c.value is not None]
    if not constants:
        return None
    stride = min(constants)
    if stride <= 0:
        return None
    length, left = const(1), list(parts)
    while left:
        match = next((p for p in left if p[0] == length * stride), None)
        if match is None:
            return None
        left.remove(match)
        length = length * match[1]
    return Progression(base, stride, length)


def overlap(a: Write, b: Write, facts: Facts) -> bool:
    """Whether two stores may touch one element: False only when they are proved disjoint."""
    renamed = {r.name: r.name + "'" for r in b.ranges}
    other = {old: sym(new) for old, new in renamed.items()}
    ranges = [*a.ranges, *(Range(renamed[r.name], r.low.substitute(other), r.high.substitute(other)) for r in b.ranges)]
    known = facts.with_ranges(ranges)
    return not any(_apart(x, y.substitute(other), known) for x, y in zip(a.indices, b.indices, strict=False))


def _apart(x: IntExpr, y: IntExpr, facts: Facts) -> bool:
    gap = x - y
    return facts.nonnegative(gap - 1) or facts.nonnegative(-gap - 1) or never_zero_modulo(gap)


def never_zero_modulo(gap: IntExpr) -> bool:
    """Whether the constant term is not a multiple of what divides every other term."""
    divisor, constant = 0, 0
    for m, c in gap.terms:
        if m:
            divisor = gcd(divisor, c)
        else:
            constant = c
    return divisor > 1 and constant % divisor != 0


def overlaps_itself(w: Write, facts: Facts) -> str | None:
    """Two rounds of the loops, or two values of the axes, that may store to one element: the variable's name, else None."""
    fixed: set[str] = set()
    for index in w.indices:
        if progression(index, w) is not None:
            fixed |= {r.name for r in w.ranges if r.name in index.free()}
    for r in w.ranges:
        if r.name in fixed:
            continue
        if not any(_injective(index, r, w, facts) for index in w.indices):
            return r.name
    return None


def _injective(index: IntExpr, r: Range, w: Write, facts: Facts) -> bool:
    """Whether different values of ``r`` give different indices whatever the other variables of the index are."""
    if r.name not in index.free() or not index.is_affine_in([r.name]):
        return False
    c = index.coefficient(r.name)
    rest = index - c * sym(r.name)
    others = [o for o in w.ranges if o.name in rest.free()]
    low = facts.with_ranges(w.ranges).lowest(rest)
    high = facts.with_ranges(w.ranges).highest(rest)
    if others and (low is None or high is None):
        return False
    spread = (high - low) if low is not None and high is not None else const(0)
    if c.free() & {x.name for x in w.ranges}:
        return False
    return facts.less(spread, c) or facts.less(spread, -c)


def complete(writes: Sequence[Write], shape: Sequence[IntExpr], facts: Facts) -> str | None:
    """None when the stores are proved to write every element of a tensor of ``shape``; else what is missing."""
    if not shape:
        return None if writes else "nothing is written"
    pieces: list[list[Progression | None]] = []
    for w in writes:
        shared = _in_several_dims(w)
        pieces.append([None if shared & i.free() else progression(i, w) for i in w.indices])
    return _cover(pieces, list(range(len(shape))), shape, facts)


def _in_several_dims(w: Write) -> set[str]:
    """Variables that tie dims together (diagonals): such a store is no box."""
    seen: set[str] = set()
    twice: set[str] = set()
    for index in w.indices:
        names = index.free() & {r.name for r in w.ranges}
        twice |= seen & names
        seen |= names
    return twice


def _full(p: Progression | None, extent: IntExpr) -> bool:
    return p is not None and p.stride == 1 and p.base == const(0) and p.count == extent


def _cover(pieces: list[list[Progression | None]], dims: list[int], shape: Sequence[IntExpr], facts: Facts) -> str | None:
    open_dims = [d for d in dims if not all(_full(p[d], shape[d]) for p in pieces)]
    if not pieces:
        return "nothing is written"
    if not open_dims:
        return None
    if any(all(_full(p[d], shape[d]) for d in open_dims) for p in pieces):
        return None
    missing = f"dim {open_dims[0]} of {shape[open_dims[0]]} elements"
    for d in open_dims:
        if any(p[d] is None for p in pieces):
            continue
        distinct = list(dict.fromkeys(p[d] for p in pieces if not _full(p[d], shape[d])))
        rest = [x for x in open_dims if x != d]
        good = [
            q
            for q in distinct
            if q is not None and _cover([p for p in pieces if p[d] == q or _full(p[d], shape[d])], rest, shape, facts) is None
        ]
        if _tiles(good, shape[d], facts):
            return None
        missing = f"dim {d} of {shape[d]} elements, of which only {_said(good)} are written" if good else missing
    return missing


def _said(good: Sequence[Progression]) -> str:
    words = []
    for q in sorted(good, key=lambda q: str(q.base)):
        last = q.base + (q.count - 1) * q.stride
        words.append(f"{q.base}" if q.count == const(1) else f"{q.base}..{last}" + (f" in steps of {q.stride}" if q.stride != 1 else ""))
    return ", ".join(words)


def _tiles(pieces: Sequence[Progression], extent: IntExpr, facts: Facts) -> bool:
    """Whether the progressions together hold every value in ``0 .. extent - 1``."""
    intervals = [(p.base, p.base + p.count) for p in pieces if p.stride == 1]
    strided = [p for p in pieces if p.stride > 1]
    while strided:
        first = strided.pop(0)
        row = [first]
        for k in range(1, first.stride):
            match = next(
                (p for p in strided if p.stride == first.stride and p.count == first.count and (p.base - first.base - k).value == 0), None
            )
            if match is None:
                match = next(
                    (p for p in strided if p.stride == first.stride and p.count == first.count and (p.base - first.base + k).value == 0),
                    None,
                )
            if match is None:
                break
            strided.remove(match)
            row.append(match)
        if len(row) == first.stride:
            low = min(row, key=lambda p: (p.base - first.base).value or 0).base
            intervals.append((low, low + first.count * first.stride))
    reached = const(0)
    left = list(intervals)
    while not facts.at_most(extent, reached):
        step = next((i for i in left if facts.at_most(i[0], reached) and i[1] != reached), None)
        if step is None:
            return False
        left.remove(step)
        if not facts.at_most(step[1], reached):
            reached = step[1]
    return True


def uses(index: IntExpr, name: str) -> bool:
    """Whether ``name`` occurs in ``index``."""
    return Sym(name) in index.atoms()
