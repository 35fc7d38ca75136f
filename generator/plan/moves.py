"""Loads: from global memory to tiles, in the layout the tile wants, converted to float.

Three ways, from fast to general. *Direct*: the tile's last axis is contiguous in memory, rows become blocks of one
DataCopyPad. *Gathered*: another axis is contiguous; what lies gap-free is copied whole and permuted in UB by
Gather. *Checked*: an index can leave the tensor; each row loads the part that exists, its padding is the value outside, or
a clamped Gather lets the lanes outside fall on a sentinel that holds it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from generator.plan.elementwise import fill
from generator.plan.memory import Footprint, GmRef, contiguous_run, footprint, strided_rows
from generator.plan.tiles import BLOCK_COUNT, SIZES, Context, Dim, Tile, capacity
from generator.plan.tree import Access, Arg, Call, Cond, CType, Enum, Float, FloatConst, Get, Global, Int, Local, Scalar, Struct
from generator.spec.integer import IntExpr, const, floor_div, max_of, min_of, product, round_up, sym

__all__ = ["convert", "gather_table", "load", "load_dense"]

_ONE: Final = Float(FloatConst(1.0))
_FLOATING: Final = {"half": "CAST_NONE", "bfloat16_t": "CAST_NONE", "int16_t": "CAST_NONE", "int32_t": "CAST_RINT", "int64_t": "CAST_RINT"}


def grain(ctype: CType) -> int:
    """Elements of one 32-byte block."""
    return 32 // SIZES[ctype]


def load(ctx: Context, gm: GmRef, index: tuple[IntExpr, ...], guarded: Sequence[int], outside: float | None) -> Tile:
    """A tile of ``gm[index]`` over the local axes the index moves with; not yet freed when it is a queue buffer."""
    fp = footprint(ctx, gm, index)
    dims = ctx.dims_of(fp.steps)
    if guarded:
        return _checked(ctx, gm, fp, dims, guarded, 0.0 if outside is None else outside)
    if not dims or fp.steps[dims[-1].key].value == 1:
        return _direct(ctx, gm, fp, dims)
    return _gathered(ctx, gm, fp, dims)


def load_dense(ctx: Context, gm: GmRef, index: tuple[IntExpr, ...]) -> Tile | None:
    """The same tile without padding between its rows, where it is float and lies gap-free in memory; for uses that take its
    elements one by one."""
    fp = footprint(ctx, gm, index)
    dims = ctx.dims_of(fp.steps)
    run = contiguous_run(fp, ctx.axis)
    if gm.ctype != "float" or ctx.spill or len(dims) < 2 or run != tuple(d.key for d in dims):
        return None
    raw = ctx.alloc("vecin", f"{gm.name}In", dims, gm.ctype, capacity(dims, 1, gm.ctype), 1)
    data_in(ctx, gm, fp.base, raw, const(0), const(1), raw.count * SIZES[gm.ctype], const(0))
    ctx.hand_over(raw)
    return raw


# --- direct ------------------------------------------------------------------------------------------------------------


def _direct(ctx: Context, gm: GmRef, fp: Footprint, dims: tuple[Dim, ...]) -> Tile:
    p = grain(gm.ctype)
    if gm.ctype == "float" and ctx.align <= 2 * p:
        p = ctx.align  # a row's padding reaches the pitch of the other tiles: no copy is needed
    raw = ctx.alloc("vecin", f"{gm.name}In", dims, gm.ctype, capacity(dims, p, gm.ctype), p)
    copy_in(ctx, gm, fp, raw, dims[-1].cur if dims else const(1), dims[-1].extent if dims else const(1))
    ctx.hand_over(raw)
    return to_float(ctx, raw, gm.name, ctx.align)


def copy_in(ctx: Context, gm: GmRef, fp: Footprint, raw: Tile, width: IntExpr, extent: IntExpr) -> None:
    """Fill ``raw``: its last dim from ``width`` contiguous elements, its row dims along their axes."""
    size = SIZES[gm.ctype]
    rows = raw.rows
    inner = strided_rows(rows, fp.steps, extent)
    outer = rows[: len(rows) - inner.depth] if inner is not None else rows

    def block(count: IntExpr, first: IntExpr | int) -> None:
        src, dst = fp.base, const(0)
        for k, d in enumerate(outer):
            src = src + sym(d.key) * fp.steps[d.key]
            dst = dst + sym(d.key) * raw.stride(k)
        gap = const(0)
        if inner is not None:
            gap = (inner.step - width) * size
            src = src + inner.step * first
            dst = dst + raw.stride(len(rows) - 1) * first
        more = raw.pitch - round_up(width, grain(gm.ctype)) if raw.align > grain(gm.ctype) else const(0)
        data_in(ctx, gm, src, raw, dst, count, width * size, gap, more)

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


def data_in(
    ctx: Context, gm: GmRef, src: IntExpr, raw: Tile, dst: IntExpr, blocks: IntExpr, length: IntExpr, gap: IntExpr,
    more: IntExpr | None = None, around: tuple[IntExpr, IntExpr, IntExpr | Scalar] | None = None,
) -> None:  # fmt: skip
    """One DataCopyPad from global memory; lengths and gaps in bytes, each block padded to 32 bytes, or with ``more`` zeros (no
    more than 32 bytes of them) to 64; or ``around``: elements before and after each block, no more than 32 bytes, and their value."""
    zero = const(0)
    left, right, value = around if around is not None else (zero, zero if more is None else more, zero)
    sizes = ((blocks, "uint16_t"), (length, "uint32_t"), (gap, "uint32_t"), (zero, "uint32_t"), (zero, "uint32_t"))
    ext = Struct("DataCopyExtParams", sizes)
    given = around is not None or right != zero
    fields = ((given, "bool"), (left, "uint8_t"), (right, "uint8_t"), (value, gm.ctype))
    pad = Struct("DataCopyPadExtParams", fields, gm.ctype)
    ctx.emit(Call("DataCopyPad", (raw.at(dst), Global(gm.name, src), ext, pad), "MTE2"))


def to_float(ctx: Context, raw: Tile, hint: str, align: int) -> Tile:
    """``raw`` itself when it is float at this alignment, else a float copy in a TBuf (the queue buffer is freed)."""
    if raw.ctype == "float" and raw.align == align and not ctx.spill:
        return raw
    out = ctx.tile(f"{hint}Tile", raw.dims, align=align)
    convert(ctx, out, raw)
    ctx.free(raw)
    return out


def convert(ctx: Context, dst: Tile, src: Tile) -> None:
    """``dst = float(src)``; row by row when the two pitches differ."""
    if src.ctype in ("int8_t", "uint8_t"):
        half = ctx.tile("narrow", src.dims, ctype="half", align=max(src.align, 16))
        _convert_rows(ctx, half, src, "CAST_NONE")
        _convert_rows(ctx, dst, half, "CAST_NONE")
        ctx.release(half)
        return
    _convert_rows(ctx, dst, src, _FLOATING.get(src.ctype))


def _as_float(ctx: Context, dst: Local, src: Local, mode: str | None, count: IntExpr, read: Access, write: Access) -> None:
    """Contiguous elements converted by a rounding mode, or copied when there is none."""
    how: tuple[Arg, ...] = (_ONE, Int(count)) if mode is None else (Enum(f"RoundMode::{mode}"), Int(count, "uint32_t"))
    ctx.call("Muls" if mode is None else "Cast", (dst, src, *how), (read,), (write,))


def _convert_rows(ctx: Context, dst: Tile, src: Tile, mode: str | None) -> None:
    whole = src.align == dst.align
    rows = () if whole else src.rows

    def instruction() -> None:
        off_d, off_s = const(0), const(0)
        for k, d in enumerate(rows):
            off_d = off_d + sym(d.key) * dst.stride(k)
            off_s = off_s + sym(d.key) * src.stride(k)
        count = src.count if whole else src.pitch
        index = [sym(d.key) for d in rows] if rows else None
        _as_float(ctx, dst.at(off_d), src.at(off_s), mode, count, src.access(index), dst.access(index))

    def nest(k: int) -> None:
        if k == len(rows):
            instruction()
            return
        with ctx.loop(rows[k].key, 0, rows[k].cur):
            nest(k + 1)

    nest(0)


# --- gathered ----------------------------------------------------------------------------------------------------------


def _gathered(ctx: Context, gm: GmRef, fp: Footprint, dims: tuple[Dim, ...]) -> Tile:
    staged, steps = _stage(ctx, gm, fp)
    out = ctx.tile(f"{gm.name}Tile", dims)
    last = dims[-1]
    table = gather_table(ctx, last, steps[last.key], out.pitch)

    def nest(k: int) -> None:
        if k < len(out.rows):
            with ctx.loop(out.rows[k].key, 0, out.rows[k].cur):
                nest(k + 1)
            return
        into, base = const(0), const(0)
        for j, d in enumerate(out.rows):
            into = into + sym(d.key) * out.stride(j)
            base = base + sym(d.key) * steps[d.key]
        gather(ctx, out, into, staged, table, base * 4, out.pitch, [sym(d.key) for d in out.rows])

    nest(0)
    if staged.slot is None:
        ctx.free(staged)
    else:
        ctx.release(staged)
    return out


def gather(
    ctx: Context, out: Tile, into: IntExpr, src: Tile, table: Tile, base: IntExpr, count: IntExpr, index: Sequence[IntExpr] | None
) -> None:
    """``out[into + k] = src[(table[k] + base) / 4]``; table entries and base in bytes."""
    offsets = table.at(0, "uint32_t")
    args = (out.at(into), src.at(), offsets, Int(base, "uint32_t"), Int(count, "uint32_t"))
    ctx.call("Gather", args, (src.access(), table.access()), (out.access(index),))


def _stage(ctx: Context, gm: GmRef, fp: Footprint) -> tuple[Tile, dict[str, IntExpr]]:
    """The tile's elements in memory order, as floats, with the element step of each axis in that copy."""
    p = grain(gm.ctype)
    run = contiguous_run(fp, ctx.axis)
    length = product(ctx.axis[a].cur for a in run)
    cap = product(ctx.axis[a].cap for a in run)
    outer = tuple(ctx.axis[a] for a in fp.order if a not in run)
    block = Dim("block", length, cap, quantum=max(ctx.axis[a].quantum for a in run) if run else 1)
    dims = (*outer, block)
    raw = ctx.alloc("vecin", f"{gm.name}In", dims, gm.ctype, capacity(dims, p, gm.ctype), p)
    copy_in(ctx, gm, fp, raw, length, product(ctx.axis[a].extent for a in run))
    ctx.hand_over(raw)
    staged = to_float(ctx, raw, gm.name, p)
    steps = {d.key: staged.stride(k) for k, d in enumerate(outer)}
    step = const(1)
    for a in reversed(run):
        steps[a] = step
        step = step * ctx.axis[a].cur
    return staged, steps


def gather_table(ctx: Context, last: Dim, step: IntExpr, pitch: IntExpr) -> Tile:
    """Byte offsets ``min(lane, cur - 1) * step * 4`` for a row of lanes, made once where ``cur`` is known."""
    key = ("lanes", last.key, last.cur, step, pitch)
    known = ctx.tables.get(key)
    if known is not None and known[1] in ctx.frames:
        return known[0]
    with ctx.hoisted((last.cur + step + pitch).free()) as frame:
        table = ctx.tile("offsets", (last,), ctype="int32_t", temporary=False, own=True) if known is None else again(ctx, known[0])
        _index(ctx, table, const(0), pitch)
        _int_op(ctx, "Mins", table, last.cur - 1, pitch)
        _int_op(ctx, "Muls", table, step * 4, pitch)
    ctx.tables[key] = (table, frame)
    return table


def again(ctx: Context, table: Tile) -> Tile:
    """The table's tensor once more, in the frame being filled."""
    assert table.slot is not None
    ctx.emit(Get(table.slot, table.name, table.ctype))
    return table


def _index(ctx: Context, table: Tile, first: IntExpr, count: IntExpr) -> None:
    ctx.call("CreateVecIndex", (table.at(), Int(first), Int(count, "uint32_t")), (), (table.access(),), ("int32_t",))


def _int_op(ctx: Context, api: str, table: Tile, value: IntExpr, count: IntExpr) -> None:
    ctx.call(api, (table.at(), table.at(), Int(value), Int(count)), (table.access(),), (table.access(),))


# --- checked -----------------------------------------------------------------------------------------------------------


def _checked(ctx: Context, gm: GmRef, fp: Footprint, dims: tuple[Dim, ...], guarded: Sequence[int], outside: float) -> Tile:
    out = ctx.tile(f"{gm.name}Tile", dims)
    last = dims[-1] if dims else None

    def nest(k: int) -> None:
        if k < len(out.rows):
            with ctx.loop(out.rows[k].key, 0, out.rows[k].cur):
                nest(k + 1)
            return
        _checked_row(ctx, gm, fp, out, last, guarded, FloatConst(outside))

    nest(0)
    return out


def _checked_row(ctx: Context, gm: GmRef, fp: Footprint, out: Tile, last: Dim | None, guarded: Sequence[int], outside: Scalar) -> None:
    conds: list[Cond] = []
    low, high = const(0), last.cur if last is not None else const(1)
    for place in guarded:
        i, extent = fp.index[place], gm.tensor.shape[place]
        if last is not None and last.key in i.free():
            lo, hi = _valid_lanes(i, last.key, extent)
            low, high = max_of(low, lo), min_of(high, hi)
        else:
            conds += [Cond(">=", i, const(0)), Cond("<", i, extent)]
    low, high = ctx.let("low", low), ctx.let("high", high)
    into = const(0)
    for j, d in enumerate(out.rows):
        into = into + sym(d.key) * out.stride(j)
    row_index = [sym(d.key) for d in out.rows]
    with ctx.collect() as inside:
        count = ctx.let("valid", high - low)
        _load_valid(ctx, gm, fp, out, into, row_index, last, low, high, count, outside)
    with ctx.collect() as beyond:
        ctx.call("Duplicate", (out.at(into), Float(outside), Int(out.pitch)), (), (out.access(row_index),), ("float",))
    ctx.branch((*conds, Cond("<", low, high)), inside, beyond)


def _valid_lanes(index: IntExpr, lane: str, extent: IntExpr) -> tuple[IntExpr, IntExpr]:
    """Lanes [lo, hi) whose index lies in [0, extent); right under C++ division where results below 0 are clamped."""
    step = index.coefficient(lane)
    rest = index.substitute({lane: 0})
    if all(c > 0 for _, c in step.terms):
        return floor_div(step - 1 - rest, step), floor_div(extent - rest + step - 1, step)
    back = -step
    return floor_div(rest - extent + back, back), floor_div(rest + back, back)


def _load_shifted(
    ctx: Context, gm: GmRef, base: IntExpr, out: Tile, into: IntExpr, row_index: list[IntExpr],
    last: Dim, low: IntExpr, high: IntExpr, count: IntExpr, outside: Scalar,
) -> None:  # fmt: skip
    """Lanes [low, high) of a row from contiguous elements: the copy pads their blocks with the value outside, whole blocks
    before and after are filled."""
    p, pitch = grain(gm.ctype), out.pitch
    first, end = ctx.let("firstLane", floor_div(low, p) * p), ctx.let("endLane", round_up(high, p))
    dims = (Dim("blocks", end - first, last.cap),)
    raw = ctx.alloc("vecin", f"{gm.name}In", dims, gm.ctype, capacity(dims, p, gm.ctype), p)
    zero = const(0)
    around = (low - first, end - high, outside if gm.ctype == "float" else zero)
    data_in(ctx, gm, base, raw, zero, const(1), count * SIZES[gm.ctype], zero, around=around)
    ctx.hand_over(raw)

    def piece(part: int) -> Access:
        whole = out.access(row_index)
        return Access(whole.tensor, whole.layout, (*whole.index[:-1], const(part)))

    _as_float(ctx, out.at(into + first), raw.at(), _FLOATING.get(gm.ctype), end - first, raw.access(), piece(0))
    ctx.free(raw)
    for part, (start, length) in enumerate(((zero, first), (end, pitch - end)), 1):
        with ctx.collect() as edge:
            ctx.call("Duplicate", (out.at(into + start), Float(outside), Int(length)), (), (piece(part),), ("float",))
        ctx.branch((Cond(">", length, zero),), edge, [])


def _load_valid(
    ctx: Context, gm: GmRef, fp: Footprint, out: Tile, into: IntExpr, row_index: list[IntExpr],
    last: Dim | None, low: IntExpr, high: IntExpr, count: IntExpr, outside: Scalar,
) -> None:  # fmt: skip
    p = grain(gm.ctype)
    base = fp.base
    for d in out.rows:
        base = base + sym(d.key) * fp.steps[d.key]
    step = fp.steps[last.key] if last is not None else const(1)
    exact = gm.ctype == "float" or (gm.ctype in ("half", "bfloat16_t") and outside == FloatConst(0.0))
    if last is not None and step.value == 1 and exact:
        _load_shifted(ctx, gm, base + low, out, into, row_index, last, low, high, count, outside)
        return
    backwards = bool(step.terms) and all(c < 0 for _, c in step.terms)
    size = -step if backwards else step
    base = base + step * (high - 1 if backwards else low)
    cap = last.cap if last is not None else const(1)
    unit = 1 if size.value == 1 else p
    lead = max(8, unit)
    if unit == 1:
        dims: tuple[Dim, ...] = (Dim("valid", count, cap),)
    else:
        dims = (Dim("valid", count, cap), Dim("element", const(1), const(1)))
    raw = ctx.alloc("vecin", f"{gm.name}In", dims, gm.ctype, capacity(dims, p, gm.ctype), p)
    if unit == 1:
        data_in(ctx, gm, base, raw, const(0), const(1), count * SIZES[gm.ctype], const(0))
    else:
        first = sym(ctx.fresh("first"))
        steady = all(c > 0 for _, c in size.terms)  # else the sign of the step depends on sizes: one element at a time
        with ctx.loop(str(first), 0, count, BLOCK_COUNT if steady else 1):
            n = min_of(const(BLOCK_COUNT), count - first) if steady else const(1)
            gap = (size - 1) * SIZES[gm.ctype] if steady else const(0)
            data_in(ctx, gm, base + first * size, raw, first * p, n, const(SIZES[gm.ctype]), gap)
    ctx.hand_over(raw)
    room = Dim("guarded", round_up(cap * unit, 8) + 2 * lead, round_up(cap * unit, 8) + 2 * lead)
    padded = ctx.tile("padded", (room,), align=8)
    fill(ctx, padded.view(), outside)
    moved = count * unit
    values = raw
    if gm.ctype != "float":
        values = ctx.tile("values", raw.dims, align=p)
        convert(ctx, values, raw)
    ctx.call("Muls", (padded.at(lead), values.at(), _ONE, Int(moved)), (values.access(),), (padded.access(),))
    if values is not raw:
        ctx.release(values)
    ctx.free(raw)
    table = ctx.tile("lanes", (last,) if last is not None else (), ctype="int32_t")
    pitch = out.pitch
    _index(ctx, table, -low, pitch)
    _int_op(ctx, "Maxs", table, const(-1), pitch)
    _int_op(ctx, "Mins", table, count, pitch)
    if backwards:
        _int_op(ctx, "Muls", table, const(-1), pitch)
        _int_op(ctx, "Adds", table, count - 1, pitch)
    _int_op(ctx, "Muls", table, const(4 * unit), pitch)
    _int_op(ctx, "Adds", table, const(4 * lead), pitch)
    gather(ctx, out, into, padded, table, const(0), pitch, row_index)
    ctx.release(table)
    ctx.release(padded)
