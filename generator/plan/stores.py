"""Stores: from tiles to global memory, rounded once to the tensor's type.

The same three shapes as loads: rows that are contiguous in memory go out as blocks of one DataCopyPad; a tile whose
fastest memory axis is not its lane is permuted by Gather first; single elements leave one 32-byte block each (Brcb).
"""

from __future__ import annotations

from typing import Final

from generator.plan.elementwise import REPEATS
from generator.plan.memory import Footprint, GmRef, contiguous_run, footprint, strided_rows
from generator.plan.moves import again, gather, grain
from generator.plan.tiles import BLOCK_COUNT, SIZES, Context, Dim, Tile, capacity
from generator.plan.tree import Access, Call, CType, Enum, Float, FloatConst, FloatOfInt, FloatOp, Global, Int, Struct
from generator.spec.integer import IntExpr, const, floor_div, min_of, product, round_up, sym

__all__ = ["out_tile", "store", "stores_directly"]

_NARROW: Final[dict[CType, str]] = {
    "half": "CAST_RINT", "bfloat16_t": "CAST_RINT", "int16_t": "CAST_RINT", "int32_t": "CAST_RINT", "int64_t": "CAST_RINT",
}  # fmt: skip


def stores_directly(ctx: Context, gm: GmRef, index: tuple[IntExpr, ...], dims: tuple[Dim, ...]) -> bool:
    """Whether a float result may be computed straight into the outgoing buffer: float, and rows contiguous in memory."""
    fp = footprint(ctx, gm, index)
    return gm.ctype == "float" and (not dims or fp.steps[dims[-1].key].value == 1)


def out_tile(ctx: Context, gm: GmRef, dims: tuple[Dim, ...], align: int) -> Tile:
    """An allocated outgoing buffer of the tensor's type over ``dims``."""
    return ctx.alloc("vecout", f"{gm.name}Out", dims, gm.ctype, capacity(dims, align, gm.ctype), align)


def store(ctx: Context, gm: GmRef, index: tuple[IntExpr, ...], value: Tile) -> None:
    """``gm[index] = value`` over the value's dims. ``value`` may be an outgoing buffer already filled."""
    fp = footprint(ctx, gm, index)
    if value.slot is None and value.ctype == gm.ctype and value.name.startswith(f"{gm.name}Out"):
        ctx.hand_over(value)
        _copy_out(ctx, gm, fp, value, value.dims[-1].cur if value.dims else const(1), _extent(value))
        ctx.free(value)
    elif not value.dims or fp.steps[value.dims[-1].key].value == 1:
        out = out_tile(ctx, gm, value.dims, value.align)
        _narrow(ctx, out, value)
        store(ctx, gm, index, out)
    elif contiguous_run(fp, ctx.axis):
        _permuted(ctx, gm, fp, value)
    else:
        _scattered(ctx, gm, fp, value)


def _extent(t: Tile) -> IntExpr:
    return t.dims[-1].extent if t.dims else const(1)


def _narrow(ctx: Context, dst: Tile, src: Tile) -> None:
    """``dst = src`` rounded to dst's type; whole tiles of one pitch."""
    if dst.ctype in ("int8_t", "uint8_t"):
        half = ctx.tile("narrow", src.dims, ctype="half", align=src.align)
        _cast(ctx, half, src, "CAST_RINT")
        _cast(ctx, dst, half, "CAST_RINT")
        ctx.release(half)
    elif dst.ctype == "float":
        args = (dst.at(), src.at(), Float(FloatConst(1.0)), Int(src.count))
        ctx.call("Muls", args, (src.access(),), (dst.access(),))
    else:
        _cast(ctx, dst, src, _NARROW[dst.ctype])


def _cast(ctx: Context, dst: Tile, src: Tile, mode: str) -> None:
    args = (dst.at(), src.at(), Enum(f"RoundMode::{mode}"), Int(src.count, "uint32_t"))
    ctx.call("Cast", args, (src.access(),), (dst.access(),))


def _copy_out(ctx: Context, gm: GmRef, fp: Footprint, out: Tile, width: IntExpr, extent: IntExpr) -> None:
    """Blocks of ``width`` elements, one a row; what lies between in UB and in memory is stepped over."""
    size = SIZES[gm.ctype]
    rows = out.rows
    inner = strided_rows(rows, fp.steps, extent)
    outer = rows[: len(rows) - inner.depth] if inner is not None else rows
    skipped = floor_div(out.pitch * size - round_up(width * size, 32), 32)

    def block(count: IntExpr, first: IntExpr | int) -> None:
        dst, src = fp.base, const(0)
        for k, d in enumerate(outer):
            dst = dst + sym(d.key) * fp.steps[d.key]
            src = src + sym(d.key) * out.stride(k)
        gap = const(0)
        if inner is not None:
            gap = (inner.step - width) * size
            dst = dst + inner.step * first
            src = src + out.stride(len(rows) - 1) * first
        data_out(ctx, gm, dst, out, src, count, width * size, skipped, gap)

    def nest(k: int) -> None:
        if k < len(outer):
            with ctx.loop(outer[k].key, 0, outer[k].cur):
                nest(k + 1)
        elif inner is None:
            block(const(1), 0)
        elif inner.most is not None and inner.most <= BLOCK_COUNT:
            block(inner.count, 0)
        else:
            first = sym(ctx.fresh("first"))
            with ctx.loop(str(first), 0, inner.count, BLOCK_COUNT):
                block(min_of(const(BLOCK_COUNT), inner.count - first), first)

    nest(0)


def data_out(
    ctx: Context, gm: GmRef, dst: IntExpr, out: Tile, src: IntExpr, blocks: IntExpr, length: IntExpr, skipped: IntExpr, gap: IntExpr
) -> None:
    """One DataCopyPad to global memory: length and memory gap in bytes, UB gap in 32-byte blocks."""
    sizes = ((blocks, "uint16_t"), (length, "uint32_t"), (skipped, "uint32_t"), (gap, "uint32_t"), (const(0), "uint32_t"))
    ext = Struct("DataCopyExtParams", sizes)
    ctx.emit(Call("DataCopyPad", (Global(gm.name, dst), out.at(src), ext), "MTE3"))


# --- permuted ----------------------------------------------------------------------------------------------------------


def _permuted(ctx: Context, gm: GmRef, fp: Footprint, value: Tile) -> None:
    run = contiguous_run(fp, ctx.axis)
    outer = tuple(ctx.axis[a] for a in fp.order if a not in run)
    length = product(ctx.axis[a].cur for a in run)
    block = Dim("block", length, product(ctx.axis[a].cap for a in run), quantum=max(ctx.axis[a].quantum for a in run))
    dims = (*outer, block)
    where = {d.key: value.stride(k) for k, d in enumerate(value.dims)}
    table = _permutation(ctx, run, where, block)
    permuted = out_tile(ctx, gm, dims, value.align) if gm.ctype == "float" else ctx.tile("permuted", dims, align=value.align)

    def nest(k: int) -> None:
        if k < len(outer):
            with ctx.loop(outer[k].key, 0, outer[k].cur):
                nest(k + 1)
            return
        into, base = const(0), const(0)
        for j, d in enumerate(outer):
            into = into + sym(d.key) * permuted.stride(j)
            base = base + sym(d.key) * where[d.key]
        gather(ctx, permuted, into, value, table, base * 4, length, [sym(d.key) for d in outer])

    nest(0)
    out = permuted
    if gm.ctype != "float":
        out = out_tile(ctx, gm, dims, value.align)
        _narrow_rows(ctx, out, permuted, length)
        ctx.release(permuted)
    ctx.hand_over(out)
    _copy_out(ctx, gm, fp, out, length, product(ctx.axis[a].extent for a in run))
    ctx.free(out)


def _narrow_rows(ctx: Context, dst: Tile, src: Tile, width: IntExpr) -> None:
    """Exactly ``width`` elements a row: what lies beyond was not written."""
    if dst.ctype in ("int8_t", "uint8_t"):
        half = ctx.tile("narrow", src.dims, ctype="half", align=src.align)
        _cast_rows(ctx, half, src, width, "CAST_RINT")
        _cast_rows(ctx, dst, half, width, "CAST_RINT")
        ctx.release(half)
        return
    _cast_rows(ctx, dst, src, width, _NARROW[dst.ctype])


def _cast_rows(ctx: Context, dst: Tile, src: Tile, width: IntExpr, mode: str) -> None:
    def nest(k: int) -> None:
        if k < len(src.rows):
            with ctx.loop(src.rows[k].key, 0, src.rows[k].cur):
                nest(k + 1)
            return
        offset = const(0)
        for j, d in enumerate(src.rows):
            offset = offset + sym(d.key) * src.stride(j)
        row = [sym(d.key) for d in src.rows]
        args = (dst.at(offset), src.at(offset), Enum(f"RoundMode::{mode}"), Int(width, "uint32_t"))
        ctx.call("Cast", args, (src.access(row),), (dst.access(row),))

    nest(0)


def _permutation(ctx: Context, run: tuple[str, ...], where: dict[str, IntExpr], block: Dim) -> Tile:
    """Byte offsets, in the tile, of the run's elements in memory order.

    With Q_k the position divided by the extents inside axis k, digit_k = Q_k - e_k * Q_(k-1), so the offset
    sum(digit_k * s_k) is the sum of Q_k * (s_k - e_(k+1) * s_(k+1)). Divisions are done in float: (p + 1/2) / e is
    exact enough for p below 2^20, far above what UB holds.
    """
    key = ("permutation", run, tuple(where[a] for a in run), tuple(ctx.axis[a].cur for a in run))
    known = ctx.tables.get(key)
    if known is not None and known[1] in ctx.frames:
        return known[0]
    names: set[str] = set()
    for a in run:
        names |= where[a].free() | ctx.axis[a].cur.free()
    with ctx.hoisted(names) as frame:
        table = ctx.tile("order", (block,), ctype="int32_t", temporary=False, own=True) if known is None else known[0]
        if known is not None:
            again(ctx, table)
        _fill_permutation(ctx, table, run, where, block.cur)
    ctx.tables[key] = (table, frame)
    return table


def _fill_permutation(ctx: Context, table: Tile, run: tuple[str, ...], where: dict[str, IntExpr], count: IntExpr) -> None:
    position = ctx.tile("position", table.dims, ctype="int32_t")
    quotient = ctx.tile("quotient", table.dims)
    part = ctx.tile("part", table.dims, ctype="int32_t")

    def op(api: str, dst: Tile, src: Tile, value: Int | Float) -> None:
        ctx.call(api, (dst.at(), src.at(), value, Int(count)), (src.access(),), (dst.access(),))

    def to(dst: Tile, src: Tile, mode: str) -> None:
        args = (dst.at(), src.at(), Enum(f"RoundMode::{mode}"), Int(count, "uint32_t"))
        ctx.call("Cast", args, (src.access(),), (dst.access(),))

    ctx.call("CreateVecIndex", (position.at(), Int(const(0)), Int(count, "uint32_t")), (), (position.access(),), ("int32_t",))
    op("Muls", table, position, Int(where[run[-1]] * 4))
    inner = const(1)
    for k in range(len(run) - 2, -1, -1):
        extent = ctx.axis[run[k + 1]].cur
        inner = inner * extent
        weight = where[run[k]] - extent * where[run[k + 1]]
        if weight.value == 0:
            continue
        to(quotient, position, "CAST_RINT")
        op("Adds", quotient, quotient, Float(FloatConst(0.5)))
        op("Muls", quotient, quotient, Float(FloatOp("/", FloatConst(1.0), FloatOfInt(inner))))
        to(part, quotient, "CAST_FLOOR")
        op("Muls", part, part, Int(weight * 4))
        ctx.call("Add", (table.at(), table.at(), part.at(), Int(count)), (table.access(), part.access()), (table.access(),))
    for t in (position, quotient, part):
        ctx.release(t)


# --- scattered -----------------------------------------------------------------------------------------------------------


def _scattered(ctx: Context, gm: GmRef, fp: Footprint, value: Tile) -> None:
    """Each element by itself: rounded, spread to a block, written as one-element blocks with a memory stride.

    Brcb takes types of 16 and 32 bits (facts.md B.3): 8-bit values are spread as half over two blocks, 64-bit ones as
    float over one, and the spread cells are converted.
    """
    narrow = value
    between: CType = {"int8_t": "half", "uint8_t": "half", "int64_t": "float"}.get(gm.ctype, gm.ctype)  # type: ignore[assignment]
    if between != "float":
        narrow = ctx.tile("narrowed", value.dims, ctype=between, align=value.align)
        _narrow(ctx, narrow, value)
    last = value.dims[-1]
    width = const(32 if between == "half" and gm.ctype != "half" else grain(between))
    cells = (Dim("cell", round_up(last.cur, 8), round_up(last.cap, 8)), Dim("element", width, width))

    def nest(k: int) -> None:
        if k < len(value.rows):
            with ctx.loop(value.rows[k].key, 0, value.rows[k].cur):
                nest(k + 1)
            return
        base, offset = fp.base, const(0)
        for j, d in enumerate(value.rows):
            base = base + sym(d.key) * fp.steps[d.key]
            offset = offset + sym(d.key) * narrow.stride(j)
        p = grain(between)
        out = ctx.alloc("vecout", f"{gm.name}Cells", cells, gm.ctype, capacity(cells, p, gm.ctype), p)
        row = [sym(d.key) for d in value.rows]
        if between == gm.ctype:
            _spread_row(ctx, out, narrow, offset, last, row)
        else:
            spread = ctx.tile("cells", cells, ctype=between, align=p)
            _spread_row(ctx, spread, narrow, offset, last, row)
            _cast(ctx, out, spread, "CAST_RINT")
            ctx.release(spread)
        ctx.hand_over(out)
        _copy_cells(ctx, gm, base, fp.steps[last.key], out, last.cur)
        ctx.free(out)

    nest(0)
    if narrow is not value:
        ctx.release(narrow)


def _spread_row(ctx: Context, out: Tile, src: Tile, offset: IntExpr, last: Dim, row: list[IntExpr]) -> None:
    """Each element over the blocks of its cell: one, or two next to each other."""
    groups = floor_div(round_up(last.cur, 8), 8)
    start = sym(ctx.fresh("block"))
    p = grain(out.ctype)
    blocks = out.dims[-1].cur.value or 0
    blocks //= p
    with ctx.loop(str(start), 0, groups, REPEATS):
        n = min_of(const(REPEATS), groups - start)
        params = Struct("BrcbRepeatParams", ((const(blocks), "uint16_t"), (const(8 * blocks), "uint16_t")))
        for k in range(blocks):
            args = (out.at(start * (8 * p * blocks) + k * p), src.at(offset + start * 8), Int(n, "uint8_t"), params)
            written = Access(out.slot or out.name, out.name + ":cells", (start, const(k)))
            ctx.call("Brcb", args, (src.access(row),), (written,))


def _copy_cells(ctx: Context, gm: GmRef, base: IntExpr, step: IntExpr, out: Tile, count: IntExpr) -> None:
    size = SIZES[gm.ctype]
    p = out.dims[-1].cur
    skipped = floor_div(p * size - 32, 32)
    forward = all(c > 0 for _, c in step.terms)
    first = sym(ctx.fresh("first"))
    with ctx.loop(str(first), 0, count, BLOCK_COUNT if forward else 1):
        n = min_of(const(BLOCK_COUNT), count - first) if forward else const(1)
        gap = (step - 1) * size if forward else const(0)
        data_out(ctx, gm, base + first * step, out, first * p, n, const(size), skipped, gap)


