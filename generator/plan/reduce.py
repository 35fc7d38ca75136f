"""Reductions of tiles: over row dims by accumulating rows, over the last dim by folding lanes and blocks.

The last dim of R rows is folded to 64 lanes a row (masked accumulation into a buffer that starts at the identity),
then to 8 by BlockReduce over blocks, then to 1 by a second BlockReduce; both run at full rate (facts.md E.1). The
order of additions is fixed by the shape, so results are the same in every run.
"""

from __future__ import annotations

import math
from typing import Final

from generator.plan.elementwise import BLOCK, LANES, REPEATS, binary, few, fill, fold_rows, scalar_op
from generator.plan.tiles import Context, Dim, Tile, View
from generator.plan.tree import Access, Cond, FloatConst, Int, Struct
from generator.spec.integer import IntExpr, const, floor_div, min_of, round_up, sym

__all__ = ["COMBINE", "IDENTITY", "reduce_last", "reduce_rows"]

COMBINE: Final = {"sum": "Add", "max": "Max", "min": "Min", "prod": "Mul"}
IDENTITY: Final = {"sum": 0.0, "max": -math.inf, "min": math.inf, "prod": 1.0}
_FOLD: Final = {"sum": "BlockReduceSum", "max": "BlockReduceMax", "min": "BlockReduceMin"}


def reduce_rows(ctx: Context, op: str, src: View, axis: Dim, dst: Tile) -> None:
    """``dst = op over axis of src``; ``dst`` has src's axes without ``axis``, which is a row index of src."""

    def at(k: IntExpr | int) -> View:
        return View(src.tile, tuple(i.substitute({axis.key: k}) for i in src.index))

    def row_by_row() -> None:
        with ctx.loop(axis.key, first, axis.cur):
            binary(ctx, COMBINE[op], dst.view(), dst.view(), src)

    if axis.least >= 2:
        binary(ctx, COMBINE[op], dst.view(), at(0), at(1))
        first = 2
    else:
        scalar_op(ctx, "Muls", dst.view(), at(0), FloatConst(1.0))
        first = 1
    rest = View(src.tile, tuple(i.substitute({axis.key: sym(axis.key) + first}) for i in src.index))
    if dst.last == src.tile.last and not few(axis.most):
        fold_rows(ctx, COMBINE[op], dst.view(), rest, axis.key, axis.cur - first, row_by_row)
    else:
        row_by_row()


def reduce_last(ctx: Context, op: str, src: Tile, dst: Tile) -> None:
    """``dst = op over src's last dim``; ``dst`` has src's row dims (its last one padded), or none."""
    rows = src.rows
    inner = rows[-1] if rows else None
    outer = rows[:-1]
    count = inner.cur if inner is not None else const(1)
    cap = inner.cap if inner is not None else const(1)
    lanes = Dim("lanes", const(LANES), const(LANES))
    strip = Dim("strip", round_up(count, BLOCK), round_up(cap, BLOCK))
    acc = ctx.tile("acc", (strip, lanes), align=LANES)
    part = ctx.tile("part", (strip, Dim("block", const(BLOCK), const(BLOCK))), align=BLOCK)

    def nest(k: int) -> None:
        if k < len(outer):
            with ctx.loop(outer[k].key, 0, outer[k].cur):
                nest(k + 1)
            return
        _fold(ctx, op, src, dst, acc, part, count)

    nest(0)
    ctx.release(acc)
    ctx.release(part)


def _fold(ctx: Context, op: str, src: Tile, dst: Tile, acc: Tile, part: Tile, count: IntExpr) -> None:
    width = src.dims[-1].cur
    fill(ctx, acc.view(), FloatConst(IDENTITY[op]))
    base = const(0)
    index: list[IntExpr | None] = []
    for k, d in enumerate(src.rows[:-1]):
        base = base + sym(d.key) * src.stride(k)
        index.append(sym(d.key))
    row = src.stride(len(src.rows) - 1) if src.rows else src.pitch
    read = src.access([*index, None]) if src.rows else src.access()
    with ctx.collect() as columns:
        _accumulate_columns(ctx, op, src, acc, base, row, count, width, read)
    with ctx.collect() as across:
        _accumulate_rows(ctx, op, src, acc, base, row, count, width, read)
    # src0RepStride is uint8 in blocks (facts.md B.2)
    ctx.branch((Cond("<=", src.pitch, const(REPEATS * BLOCK)),), columns, across)
    _blocks(ctx, op, acc, part, dst, count)


def _params(*values: IntExpr | int) -> Struct:
    return Struct("BinaryRepeatParams", tuple((v if isinstance(v, IntExpr) else const(v), "uint8_t") for v in values))


def _accumulate_columns(
    ctx: Context, op: str, src: Tile, acc: Tile, base: IntExpr, row: IntExpr, count: IntExpr, width: IntExpr, read: Access
) -> None:
    """64 columns of up to 255 rows an instruction: acc[r, :] = op(src[r, col:col+64], acc[r, :])."""
    col, first = sym(ctx.fresh("col")), sym(ctx.fresh("first"))
    with ctx.loop(str(col), 0, width, LANES), ctx.loop(str(first), 0, count, REPEATS):
        touched = acc.access([first])
        args = (
            acc.at(first * LANES),
            src.at(base + first * row + col),
            acc.at(first * LANES),
            Int(min_of(const(LANES), width - col), "uint64_t"),
            Int(min_of(const(REPEATS), count - first), "uint8_t"),
            _params(1, 1, 1, BLOCK, floor_div(row, BLOCK), BLOCK),
        )
        ctx.call(COMBINE[op], args, (read, touched), (touched,))


def _accumulate_rows(
    ctx: Context, op: str, src: Tile, acc: Tile, base: IntExpr, row: IntExpr, count: IntExpr, width: IntExpr, read: Access
) -> None:
    """One row an instruction: up to 255 repeats of 64 columns into the same 64 lanes (dst == src1, repeat stride 0)."""
    r, start = sym(ctx.fresh("row")), sym(ctx.fresh("start"))
    whole = floor_div(width, LANES)
    with ctx.loop(str(r), 0, count):
        touched = acc.access([r])
        with ctx.loop(str(start), 0, whole, REPEATS):
            args = (
                acc.at(r * LANES),
                src.at(base + r * row + start * LANES),
                acc.at(r * LANES),
                Int(const(LANES), "uint64_t"),
                Int(min_of(const(REPEATS), whole - start), "uint8_t"),
                _params(1, 1, 1, 0, BLOCK, 0),
            )
            ctx.call(COMBINE[op], args, (read, touched), (touched,))
        tail = width - whole * LANES
        with ctx.collect() as rest:
            args = (
                acc.at(r * LANES),
                src.at(base + r * row + whole * LANES),
                acc.at(r * LANES),
                Int(tail, "uint64_t"),
                Int(const(1), "uint8_t"),
                _params(1, 1, 1, BLOCK, BLOCK, BLOCK),
            )
            ctx.call(COMBINE[op], args, (read, touched), (touched,))
        ctx.branch((Cond(">", tail, const(0)),), rest, [])


def _blocks(ctx: Context, op: str, acc: Tile, part: Tile, dst: Tile, count: IntExpr) -> None:
    """64 lanes to 8 to 1, rows rounded up to a whole block of results."""
    padded = round_up(count, BLOCK)
    start = sym(ctx.fresh("strip"))
    step = const(REPEATS // BLOCK * BLOCK)
    into = const(0)
    index: list[IntExpr | None] = []
    for k, d in enumerate(dst.rows):
        into = into + sym(d.key) * dst.stride(k)
        index.append(sym(d.key))
    with ctx.loop(str(start), 0, padded, step):
        n = min_of(step, padded - start)
        args = (part.at(start * BLOCK), acc.at(start * LANES), Int(n, "int32_t"), Int(const(LANES), "int32_t"), *_reduce_strides())
        ctx.call(_FOLD[op], args, (acc.access([start]),), (part.access([start]),), ("float",))
    start2 = sym(ctx.fresh("strip"))
    with ctx.loop(str(start2), 0, floor_div(padded, BLOCK), REPEATS):
        n = min_of(const(REPEATS), floor_div(padded, BLOCK) - start2)
        args = (dst.at(into + start2 * BLOCK), part.at(start2 * LANES), Int(n, "int32_t"), Int(const(LANES), "int32_t"), *_reduce_strides())
        whole = dst.access(index)
        write = Access(whole.tensor, whole.layout, (*whole.index[:-2], start2, None))
        ctx.call(_FOLD[op], args, (part.access(),), (write,), ("float",))


def _reduce_strides() -> tuple[Int, Int, Int]:
    """dstRepStride, srcBlkStride, srcRepStride: contiguous results, blocks and repeats."""
    return Int(const(1), "int32_t"), Int(const(1), "int32_t"), Int(const(BLOCK), "int32_t")
