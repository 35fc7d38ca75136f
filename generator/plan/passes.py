"""Passes over axes that do not fit UB: each pass walks them once and completes the reductions of one level.

A value that depends on no reduction over walked axes has level 0; a reduction of a level-p value is known after pass
p and has level p + 1. Pass p recomputes what it needs from global memory, accumulates its reductions, and stores the
outputs of level p. Softmax of a long row: maximum, then sum of exponentials, then the quotients.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from generator.formula.ir import Bound
from generator.formula.walk import loads
from generator.plan import elementwise as ew
from generator.plan.axes import flat
from generator.plan.normal import Map, NFor, NStmt, Red
from generator.plan.stores import store
from generator.plan.tiles import ROW_LIMIT, Dim, Refusal, Tile
from generator.plan.tree import FloatConst, FloatOfInt
from generator.spec.integer import IntExpr, const, min_of, product, sym

if TYPE_CHECKING:
    from generator.plan.body import Body

__all__ = ["run_passes"]


def _walks(s: NStmt, walked: set[str]) -> bool:
    return isinstance(s, Red) and bool(walked & {b.name for b in s.reduced})


def _varies(s: NStmt, walked: set[str]) -> bool:
    return any(walked & {b.name for b in c.axes} for c in flat((s,)))


def levels(statements: Sequence[NStmt], walked: set[str]) -> dict[int, int]:
    """Level of each statement, by position."""
    known: dict[str, int] = {}
    out: dict[int, int] = {}
    for k, s in enumerate(statements):
        level = max((known.get(ld.tensor, 0) for c in flat((s,)) for ld in loads(c.value)), default=0)
        out[k] = level
        for c in flat((s,)):
            known[c.target] = max(known.get(c.target, 0), level + (1 if _walks(s, walked) else 0))
    return out


def _closure(statements: Sequence[NStmt], chosen: set[int], walked: set[str]) -> list[int]:
    """The chosen statements and the walked maps they need, in order."""
    needed: set[str] = set()
    kept: set[int] = set(chosen)
    for k in range(len(statements) - 1, -1, -1):
        s = statements[k]
        if k not in kept and not isinstance(s, NFor) and _varies(s, walked) and not _walks(s, walked) and s.target in needed:
            kept.add(k)
        if k in kept:
            needed |= {ld.tensor for c in flat((s,)) for ld in loads(c.value)}
    return sorted(kept)


def run_passes(b: Body) -> None:
    """The statements of a stage with walked axes, at tile scope."""
    statements = b.group.statements
    walked = set(b.roles.walked)
    level = levels(statements, walked)
    names = {c.target for c in flat(statements)}
    for p in range(max(level.values()) + 1):
        plain = [s for k, s in enumerate(statements) if level[k] == p and not _varies(s, walked) and not _walks(s, walked)]
        b.block(plain, names)
        reds = {k for k, s in enumerate(statements) if level[k] == p and _walks(s, walked)}
        outs = {k for k, s in enumerate(statements) if level[k] == p and isinstance(s, Map) and s.target in b.gms and _varies(s, walked)}
        if reds or outs:
            _one_pass(b, [statements[k] for k in _closure(statements, reds | outs, walked)], [statements[k] for k in sorted(reds)])
    b.free_loads(b.scopes[-1])
    for t in [t for t in b.env if t in names]:
        b.ctx.release(b.env.pop(t))


def _one_pass(b: Body, body: list[NStmt], reds: list[NStmt]) -> None:
    b.load_needed(body)
    accs: dict[str, Tile] = {}
    for s in reds:
        assert isinstance(s, Red)
        acc = Accumulator(b, s)
        b.accumulators[s.target] = acc
        accs[s.target] = acc.tile
        b.env[s.target] = acc.tile

    def innermost() -> None:
        b.block(body, set(b.env))
        b.free_loads(b.scopes[-1])

    _walk_axes(b, innermost)
    for s in reds:
        assert isinstance(s, Red)
        result = b.accumulators.pop(s.target).finish()
        del b.env[s.target]
        if s.target in b.gms:
            store(b.ctx, b.gms[s.target], s.index, result)
            b.ctx.release(result)
        else:
            b.env[s.target] = result


def _walk_axes(b: Body, innermost: Callable[[], None]) -> None:
    """Loops over the sequential axes, then over chunks of the lane when it is walked."""
    r = b.roles
    ctx = b.ctx

    def bounds(name: str, extent: IntExpr) -> tuple[IntExpr, IntExpr]:
        return r.ranges.get(name, (const(0), extent))

    def chunks(axis: Bound, tile: IntExpr, held: Callable[[Dim], Dim], rest: Callable[[set[str]], None]) -> None:
        """Loop over the axis in tiles; ``rest`` gets the names that a tile introduces."""
        assert axis.extent is not None
        start, stop = bounds(axis.name, axis.extent)
        first = ctx.fresh(f"{axis.name}Start")
        with ctx.loop(first, start, stop, tile):
            cur = b.local(f"{axis.name}Count", min_of(tile, stop - sym(first)))
            ctx.starts[axis.name] = sym(first)
            dim = held(Dim(axis.name, cur, tile, None, 1, axis.extent))
            ctx.axis[axis.name] = dim
            rest({axis.name, first, *cur.free(), *dim.pitch(ctx.align).free()})
            del ctx.axis[axis.name], ctx.starts[axis.name]

    def nest(k: int, names: set[str]) -> None:
        if k < len(r.seq) and r.seq[k].name == r.strip:
            chunks(r.seq[k], sym(b.strip_tile), lambda d: replace(d, most=ROW_LIMIT), lambda more: nest(k + 1, names | more))
        elif k < len(r.seq):
            axis = r.seq[k]
            assert axis.extent is not None
            start, stop = bounds(axis.name, axis.extent)
            with ctx.loop(axis.name, start, stop):
                nest(k + 1, names | {axis.name})
        elif r.lane is None or r.lane_mode != "chunk":
            scoped(names)
        else:
            chunks(r.lane, sym(b.tiles[0].name), b.lane_dim, lambda more: scoped(names | more))

    def scoped(names: set[str]) -> None:
        with b.scope(names):
            innermost()

    nest(0, set())


class Accumulator:
    """The running value of one reduction: combined chunk by chunk, or the best so far with its position."""

    def __init__(self, b: Body, s: Red) -> None:
        self.b, self.s = b, s
        ctx = b.ctx
        dims = ctx.dims_of(x.name for x in s.axes)
        self.place: Tile | None = None
        if s.op in ("argmax", "argmin"):
            self.tile = ctx.tile("best", dims, temporary=False)
            ew.fill(ctx, self.tile.view(), FloatConst(float("-inf") if s.op == "argmax" else float("inf")))
            self.place = ctx.tile("bestAt", dims, temporary=False)
            ew.fill(ctx, self.place.view(), FloatConst(0.0))
        else:
            self.tile = b.accumulator(s)

    def add(self) -> None:
        """Take in the current tile's part."""
        if self.place is None:
            self.b.accumulate(self.s, self.tile)
            return
        ctx, s = self.b.ctx, self.s
        if {x.name for x in s.reduced} & set(ctx.axis):
            raise Refusal(f"{s.op} over an axis held in a tile")
        low = self.b.lowering()
        value = low.tile(s.value, self.tile.dims)
        keeps = ew.compare(ctx, "LE" if s.op == "argmax" else "GE", value.view(), self.tile.view())
        number = ew.compare(ctx, "EQ", self.tile.view(), self.tile.view())  # the first NaN is the result
        position = const(0)
        for k, x in enumerate(s.reduced):
            position = position + sym(x.name) * product(y.extent for y in s.reduced[k + 1 :] if y.extent is not None)
        here = ctx.tile("here", self.tile.dims)
        ew.fill(ctx, here.view(), FloatOfInt(position))
        better = ctx.tile("better", self.tile.dims)
        for held, new in ((self.tile, value), (self.place, here)):
            ew.select(ctx, better, keeps, held, new)
            ew.select(ctx, held, number, better, held)
        ctx.release(keeps)
        ctx.release(number)
        ctx.drop(better, here, value)

    def finish(self) -> Tile:
        """The reduction's value."""
        if self.place is None:
            return self.tile
        self.b.ctx.release(self.tile)
        return self.place


