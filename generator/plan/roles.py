"""The part each axis of a stage plays: core and tile axes, lane, rows, and axes walked one step at a time.

The lane is the axis that is contiguous where most bytes move (design.md, section 5). *Full* keeps every axis that is
not in the grid whole in UB; *passes* walks reduced axes step by step, the lane, or beside a short lane one more axis, in
chunks, keeping accumulators.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from generator.formula.ir import Bound, Gather
from generator.formula.walk import loads, symbols
from generator.plan.axes import all_axes, extents_of, flat, tensor_axes
from generator.plan.bounds import Bounds
from generator.plan.memory import GmRef
from generator.plan.normal import NFor, NStmt, Red
from generator.plan.schedule import Group, scalar_axes
from generator.plan.tiles import Refusal
from generator.spec.integer import IntExpr, const

__all__ = ["Roles", "assign_roles", "roles_key"]

SHORT = 128  # lanes: beside no more of them, a walked axis is taken in chunks of rows
UNKNOWN = 1024  # assumed extent of an unbounded axis when weighing layouts; any large number serves


@dataclass(frozen=True, slots=True)
class Roles:
    """``outer``: one at a time, spread over cores. ``row``: a grid axis tiled as rows. ``lane``: the last dim of tiles;
    ``lane_mode`` says whether it is tiled over the grid, held whole, or walked in chunks. ``full``: other axes held
    whole. ``inner``: small grid axes looped over inside a tile, so that what does not move along them is loaded once.
    ``seq``: axes walked one step at a time inside a tile, but ``strip`` of them in chunks of rows. ``split``: a reduced axis
    divided over cores."""

    outer: tuple[Bound, ...]
    row: Bound | None
    lane: Bound | None
    lane_mode: Literal["tile", "full", "chunk"]
    full: tuple[Bound, ...]
    seq: tuple[Bound, ...]
    inner: tuple[Bound, ...] = ()
    strip: str | None = None
    split: str | None = None
    ranges: Mapping[str, tuple[IntExpr, IntExpr]] = field(default_factory=dict)

    @property
    def walked(self) -> tuple[str, ...]:
        """Axes of the pass loops, lane included when it is chunked."""
        lane = (self.lane.name,) if self.lane is not None and self.lane_mode == "chunk" else ()
        return (*(b.name for b in self.seq), *lane)


def roles_key(r: Roles) -> tuple[object, ...]:
    """Equal for equal roles, hashable."""
    return (r.outer, r.row, r.lane, r.lane_mode, r.full, r.inner, r.seq, r.strip, r.split, tuple(r.ranges.items()))


def _trips(loop: NFor, bounds: Bounds) -> int:
    high = bounds.upper(loop.stop - loop.start if loop.step > 0 else loop.start - loop.stop)
    return max(1, min(high if high is not None else UNKNOWN, UNKNOWN))


def _weights(body: Sequence[NStmt], gms: Mapping[str, GmRef], bounds: Bounds, times: int = 1) -> dict[str, float]:
    """Bytes (relative) moved with each axis contiguous in memory."""
    out: dict[str, float] = {}
    for s in body:
        if isinstance(s, NFor):
            for a, w in _weights(s.body, gms, bounds, times * _trips(s, bounds)).items():
                out[a] = out.get(a, 0.0) + w
            continue
        extents = {b.name: b.extent for b in all_axes(s)}
        accesses = [(ld.tensor, ld.indices) for ld in loads(s.value)] + [(s.target, s.index)]
        for tensor, index in accesses:
            if tensor not in gms or any(isinstance(i, Gather) for i in index):
                continue
            offset = const(0)
            for i, stride in zip(index, gms[tensor].tensor.strides(), strict=True):
                offset = offset + i * stride  # type: ignore[operator]
            used = [a for a in extents if a in offset.free()]
            volume = float(times)
            for a in used:
                volume *= _estimate(extents[a], bounds)
            for a in used:
                if offset.coefficient(a).value == 1:
                    out[a] = out.get(a, 0.0) + volume
    return out


def _estimate(e: IntExpr | None, bounds: Bounds) -> int:
    high = bounds.upper(e) if e is not None else None
    return UNKNOWN if high is None else max(1, min(high, UNKNOWN))


def row_only(body: Sequence[NStmt]) -> set[str]:
    """Axes that some access of a tensor made in the stage moves along other than plainly."""
    made = {s.target for s in flat(body)} & {ld.tensor for s in flat(body) for ld in loads(s.value)}
    axes = tensor_axes(body, made)
    out: set[str] = set()
    for s in flat(body):
        names = {b.name for b in all_axes(s)}
        for tensor, index in [(ld.tensor, ld.indices) for ld in loads(s.value)] + [(s.target, s.index)]:
            if tensor in made:
                for i, axis in zip(index, axes[tensor], strict=True):
                    if isinstance(i, IntExpr) and (i.symbol is None or i.symbol != axis):
                        out |= names & i.free()
                        if axis is not None:
                            out.add(axis)
    return out


def _ordered_reductions(body: Sequence[NStmt]) -> set[str]:
    """Axes reduced by an operation without a lane instruction (prod, argmax, argmin)."""
    return {b.name for s in flat(body) if isinstance(s, Red) and s.op in ("prod", "argmax", "argmin") for b in s.reduced}


def _pick_lane(group: Group, mode: str, gms: Mapping[str, GmRef], bounds: Bounds) -> str | None:
    extents = extents_of(group.statements)
    barred = scalar_axes(group.statements) | row_only(group.statements)
    if mode == "passes" or not fits_whole(_ordered_reductions(group.statements), extents, bounds):
        barred |= _ordered_reductions(group.statements)
    weights = _weights(group.statements, gms, bounds)
    best, score = None, -1.0
    for a, e in extents.items():
        if a in barred:
            continue
        s = (weights.get(a, 0.0) + 1e-6) * min(_estimate(e, bounds), 64) / 64
        if s > score:
            best, score = a, s
    return best


def fits_whole(axes: set[str], extents: Mapping[str, IntExpr], bounds: Bounds) -> bool:
    """Every one of ``axes`` is proved small."""
    return all(bounds.small(extents[a]) for a in axes if a in extents)


def assign_roles(group: Group, mode: Literal["full", "passes"], gms: Mapping[str, GmRef], bounds: Bounds) -> Roles:
    """Roles for one stage; Refusal when the mode does not apply to the group."""
    extents = extents_of(group.statements)
    barred = scalar_axes(group.statements)
    lane = _pick_lane(group, mode, gms, bounds)
    grid = list(group.grid)
    held = [a for a in extents if a not in grid and a != lane]
    if mode == "full" and barred & set(held):
        raise Refusal(f"axis {sorted(barred & set(held))[0]} indexes a gathered load, so it is walked one step at a time")
    still = _standing(group.statements, gms, bounds)
    whole = _kept_whole(grid, lane, barred, still, extents, bounds)
    row_axis = _row(grid, {lane, *whole, *barred}, still, extents, bounds)
    outer = tuple(Bound(a, extents[a]) for a in grid if a not in (lane, row_axis, *whole))
    row = Bound(row_axis, extents[row_axis]) if row_axis is not None else None
    bound_lane = Bound(lane, extents[lane]) if lane is not None else None
    if mode == "full":
        kind: Literal["tile", "full", "chunk"] = "tile" if lane in grid else "full"
        full = tuple(Bound(a, extents[a]) for a in held)
        return Roles(outer, row, bound_lane, kind, full, (), tuple(Bound(a, extents[a]) for a in whole))
    single = len(group.statements) == 1
    held += whole
    small = {a for a in held if bounds.small(extents[a])} if not single else set(whole)
    seq = tuple(Bound(a, extents[a]) for a in held if a not in small)
    chunked: Literal["tile", "full", "chunk"] = "tile" if lane in grid else "chunk"
    if lane is not None and lane not in grid and not single and bounds.small(extents[lane]):
        chunked = "full"
    full = tuple(Bound(a, extents[a]) for a in held if a in small)
    short = lane is None or ((high := bounds.upper(extents[lane])) is not None and high <= SHORT)
    short |= lane in grid and all(isinstance(s, Red) for s in group.statements)  # the host chooses, lanes first
    steady = [b.name for b in seq if bounds.long(extents[b.name]) and b.name not in barred | _ordered_reductions(group.statements)]
    roles = Roles(outer, row, bound_lane, chunked, full, seq, strip=steady[-1] if short and steady else None)
    check_passes(group, roles)
    return roles


def _standing(body: Sequence[NStmt], gms: Mapping[str, GmRef], bounds: Bounds) -> dict[str, float]:
    """Per axis, elements (relative) that loads would read again for each of its values, because they do not move along it."""
    out: dict[str, float] = {}
    for s in flat(body):
        extents = {b.name: b.extent for b in all_axes(s)}
        for ld in dict.fromkeys(loads(s.value)):
            if ld.tensor not in gms:
                continue
            used = symbols(ld)
            volume = float(math.prod(_estimate(e, bounds) for a, e in extents.items() if a in used))
            for a, e in extents.items():
                if a not in used:
                    out[a] = out.get(a, 0.0) + volume * _estimate(e, bounds)
    return out


def _kept_whole(
    grid: Sequence[str], lane: str | None, barred: set[str], still: Mapping[str, float], extents: Mapping[str, IntExpr], bounds: Bounds
) -> list[str]:
    """Small grid axes that a tile covers whole, so that what does not move along them is read once. Beside a lane that is whole
    itself they would multiply what must fit UB."""
    if lane is None or not (lane in grid or bounds.small(extents[lane])):
        return []
    rest = [a for a in grid if a != lane and a not in barred]
    unbounded = [a for a in rest if bounds.upper(extents[a]) is None]
    return [a for a in rest if unbounded and bounds.small(extents[a]) and still.get(a, 0.0) > 0.0]


def _row(
    grid: Sequence[str], barred: set[str | None], still: Mapping[str, float], extents: Mapping[str, IntExpr], bounds: Bounds
) -> str | None:
    """The grid axis tiled as rows: where most is read once a tile instead of once a row, then the longest, then the innermost."""
    candidates = [a for a in grid if a not in barred]
    return max(candidates, key=lambda a: (still.get(a, 0.0), _estimate(extents[a], bounds), grid.index(a)), default=None)


def check_passes(group: Group, roles: Roles) -> None:
    """The rules under which one set of pass loops serves every statement of the group."""
    walked = set(roles.walked)
    made: dict[str, int] = {}
    bent = row_only(group.statements) & walked
    if bent:
        raise Refusal(f"a tensor is read at another element of '{sorted(bent)[0]}' than the one where it is made")
    for s in group.statements:
        if isinstance(s, NFor):
            if any(walked & {b.name for b in all_axes(c)} for c in flat(s.body)):
                raise Refusal("a loop over a carried tensor moves along an axis that does not fit UB")
            continue
        over = {b.name for b in s.reduced} & walked if isinstance(s, Red) else set()
        free = {b.name for b in s.axes} & walked
        if over and (over != walked or free):
            raise Refusal("reductions of one stage run over different sets of axes that do not fit UB")
        if free:
            made[s.target] = made.get(s.target, 0) + 1
            if made[s.target] > 1:
                raise Refusal(f"{s.target} is assigned more than once along an axis that does not fit UB")
            if s.target in gm_only(group) and free != walked:
                raise Refusal(f"{s.target} moves along some, not all, of the axes that do not fit UB")


def gm_only(group: Group) -> set[str]:
    """Targets nothing in the group reads: outputs and workspace."""
    return {s.target for s in flat(group.statements)} - {ld.tensor for s in flat(group.statements) for ld in loads(s.value)}
