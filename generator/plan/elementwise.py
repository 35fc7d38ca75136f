"""Instruction selection for element-wise work on tiles: count forms over contiguous runs, broadcasts by block stride 0.

Operands are views. A destination covers the union of its operands' axes. Where all operands are contiguous the
run becomes one count-form instruction; the remaining leading dims are loops. An operand that lacks the
destination's last axis is spread to one 32-byte block an element (Brcb) and read with block stride 0.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Final

from generator.plan.tiles import Context, Dim, Tile, View, capacity
from generator.plan.tree import Access, Arg, Cond, Enum, Float, FloatConst, Int, Local, Scalar, Struct
from generator.spec.integer import IntExpr, ceil_div, const, floor_div, min_of, product, round_up, sym

__all__ = [
    "add_products", "binary", "cast", "compare", "copy", "few", "fill", "fold_rows", "negate", "scalar_op", "select", "spread", "unary",
]  # fmt: skip

LANES: Final = 64  # float32 elements of one repeat: 256 bytes (facts.md B.2)
REPEATS: Final = 255  # repeatTime is uint8 (facts.md B.2)
FEW: Final = 16  # rows: two code paths are not worth what repeats save on no more of them
BLOCK: Final = 8  # float32 elements of one 32-byte block

Emit = Callable[[list[IntExpr], IntExpr, list[Access]], None]


def _merged(views: Sequence[View]) -> int:
    """How many trailing row dims of views[0] (the destination) all views hold contiguously and in step."""
    dst = views[0]
    k = 0
    while k < len(dst.tile.rows):
        key = dst.tile.rows[-1 - k].key
        for v in views:
            rows = v.tile.rows
            if len(rows) <= k or rows[-1 - k].key != key or v.index[len(rows) - 1 - k] != sym(key):
                return k
            if any(key in i.free() for n, i in enumerate(v.index) if n != len(rows) - 1 - k):
                return k
        k += 1
    return k


def _rowwise(ctx: Context, views: Sequence[View], emit: Emit) -> None:
    """Loop over the row dims the views do not share contiguously; ``emit(offsets, count, accesses)`` makes the instruction."""
    dst = views[0]
    merged = _merged(views)
    loops = dst.tile.rows[: len(dst.tile.rows) - merged]

    def innermost() -> None:
        offsets, accesses = [], []
        for v in views:
            n = len(v.tile.rows) - merged
            offsets.append(_offset(v, n))
            accesses.append(v.tile.access([*v.index[:n], *([None] * merged)]))
        count = product(d.cur for d in dst.tile.rows[len(loops) :]) * dst.tile.pitch
        emit(offsets, count, accesses)

    _nest(ctx, [(d.key, d.cur) for d in loops if sym(d.key) in dst.index], innermost)


def _nest(ctx: Context, loops: Sequence[tuple[str, IntExpr]], body: Callable[[], None]) -> None:
    if not loops:
        body()
        return
    var, stop = loops[0]
    with ctx.loop(var, 0, stop):
        _nest(ctx, loops[1:], body)


def _offset(v: View, upto: int) -> IntExpr:
    out = const(0)
    for k in range(upto):
        out = out + v.index[k] * v.tile.stride(k)
    return out


def unary(ctx: Context, api: str, dst: View, src: View) -> None:
    """``dst = api(src)`` element by element; ``src`` has the destination's last axis."""

    def emit(off: list[IntExpr], count: IntExpr, acc: list[Access]) -> None:
        ctx.call(api, (dst.tile.at(off[0]), src.tile.at(off[1]), Int(count)), acc[1:], acc[:1])

    _rowwise(ctx, (dst, src), emit)


def scalar_op(ctx: Context, api: str, dst: View, src: View, value: Scalar) -> None:
    """``Adds``, ``Muls``, ``Maxs``, ``Mins`` with a float scalar."""

    def emit(off: list[IntExpr], count: IntExpr, acc: list[Access]) -> None:
        ctx.call(api, (dst.tile.at(off[0]), src.tile.at(off[1]), Float(value), Int(count)), acc[1:], acc[:1])

    _rowwise(ctx, (dst, src), emit)


def negate(ctx: Context, dst: Tile, src: Tile) -> None:
    """``dst = -src`` over whole 32-byte blocks, so that what is spread next finds them filled."""
    whole = src.count if src.align % BLOCK == 0 else round_up(src.count, BLOCK)
    ctx.call("Muls", (dst.at(), src.at(), Float(FloatConst(-1.0)), Int(whole)), (src.access(),), (dst.access(),))


def fill(ctx: Context, dst: View, value: Scalar, template: str = "float") -> None:
    """Every element of ``dst``, padding included, becomes ``value``."""

    def emit(off: list[IntExpr], count: IntExpr, acc: list[Access]) -> None:
        ctx.call("Duplicate", (dst.tile.at(off[0]), Float(value), Int(count)), (), acc[:1], (template,))

    _rowwise(ctx, (dst,), emit)


def cast(ctx: Context, dst: View, src: View, mode: str) -> None:
    """Conversion between element types (or float to integral float) with a rounding mode."""

    def emit(off: list[IntExpr], count: IntExpr, acc: list[Access]) -> None:
        ctx.call("Cast", (dst.tile.at(off[0]), src.tile.at(off[1]), Enum(f"RoundMode::{mode}"), Int(count, "uint32_t")), acc[1:], acc[:1])

    _rowwise(ctx, (dst, src), emit)


def copy(ctx: Context, dst: View, src: View) -> None:
    """``dst = src`` over dst's axes, broadcasting what src lacks."""
    if src.tile.last != dst.tile.last:
        binary(ctx, "Max", dst, src, src)
        return
    scalar_op(ctx, "Muls", dst, src, FloatConst(1.0))


def binary(ctx: Context, api: str, dst: View, a: View, b: View) -> None:
    """``dst = api(a, b)``; operands may lack axes of ``dst``."""
    last = dst.tile.last
    if (a.tile.last == last or last is None) and (b.tile.last == last or last is None):

        def emit(off: list[IntExpr], count: IntExpr, acc: list[Access]) -> None:
            ctx.call(api, (dst.tile.at(off[0]), a.tile.at(off[1]), b.tile.at(off[2]), Int(count)), acc[1:], acc[:1])

        _by_rows_or_columns(ctx, api, (dst, a, b), emit)
        return
    with _widened(ctx, dst, a, b) as (wide_a, wide_b):
        _broadcast(ctx, api, dst, wide_a, wide_b)


def _by_rows_or_columns(ctx: Context, api: str, views: tuple[View, View, View], emit: Emit) -> None:
    """Operands with the destination's last axis: runs they share, or, where short rows repeat along an axis that one of them
    lacks, 64 columns of up to 255 rows an instruction."""
    dst = views[0]
    inner = _repeated(dst)
    loops = dst.tile.rows[: len(dst.tile.rows) - _merged(views)]
    if inner is None or inner not in loops or few(inner.most):
        _rowwise(ctx, views, emit)
        return
    ops = [_Wide(ctx, v, False) for v in views]
    steps = list(dict.fromkeys(o.row_step(inner.key) for o in ops))
    if any(c < 0 for s in steps for _, c in s.terms):
        _rowwise(ctx, views, emit)
        return
    with ctx.collect() as columns:
        others = [(d.key, d.cur) for d in dst.tile.rows if d is not inner]
        _nest(ctx, others, lambda: _by_column(ctx, api, ops, dst.tile.pitch, inner.key, inner.cur))
    with ctx.collect() as across:
        _rowwise(ctx, views, emit)
    ctx.branch((*_short(dst.tile, inner.cur), *_strides_fit(dst.tile.pitch, steps)), columns, across)


def few(most: int | None) -> bool:
    """Rows proved to be so few that taking them as repeats saves next to nothing."""
    return most is not None and most <= FEW


def _short(tile: Tile, rows: IntExpr) -> list[Cond]:
    """Rows as repeats are fewer instructions than rows one by one: surely where one repeat takes a row."""
    most = tile.dims[-1].most if tile.dims else 1
    return [] if most is not None and most <= LANES else [Cond("<=", tile.pitch, rows * LANES)]


def fold_rows(ctx: Context, api: str, dst: View, src: View, axis: str, extent: IntExpr, otherwise: Callable[[], None]) -> None:
    """``dst = api(src, dst)`` for every row of ``src`` along ``axis``, which ``dst`` lacks: rows are repeats into the same lanes where
    they are short (facts.md B.2: Add, Mul, Max and Min may read what the repeat before wrote); ``otherwise`` where they are not."""
    ops = [_Wide(ctx, v, False) for v in (dst, src, dst)]
    step = ops[1].row_step(axis)
    if any(c < 0 for _, c in step.terms):
        otherwise()
        return
    with ctx.collect() as columns:
        _nest(ctx, [(d.key, d.cur) for d in dst.tile.rows], lambda: _by_column(ctx, api, ops, dst.tile.pitch, axis, extent))
    with ctx.collect() as across:
        otherwise()
    ctx.branch((*_short(dst.tile, extent), *_strides_fit(step, ())), columns, across)


def _strides_fit(pitch: IntExpr, steps: Sequence[IntExpr]) -> list[Cond]:
    """Steps between rows, of which the destination's is often its pitch, fit their uint8 fields: 0 to 255 blocks (facts.md B.2)."""
    return [Cond("<=", s, const(REPEATS * BLOCK)) for s in dict.fromkeys((pitch, *steps))]


def add_products(ctx: Context, dst: View, a: View, b: View, over: Sequence[tuple[str, IntExpr]]) -> None:
    """``dst += a * b`` for every value of the axes ``over`` (name and extent), which index rows of ``a`` and ``b``."""
    last = dst.tile.last
    if a.tile.last == last and b.tile.last == last:
        _nest(ctx, over, lambda: binary(ctx, "MulAddDst", dst, a, b))
        return
    with _widened(ctx, dst, a, b) as (wide_a, wide_b):
        _nest(ctx, over, lambda: _broadcast(ctx, "MulAddDst", dst, wide_a, wide_b))


@contextmanager
def _widened(ctx: Context, dst: View, a: View, b: View) -> Iterator[tuple[_Wide, _Wide]]:
    """Both operands, spread where they lack the destination's last axis, for as long as instructions use them."""
    last = dst.tile.last
    wide_a = _Wide(ctx, a, a.tile.last != last)
    wide_b = wide_a if b == a else _Wide(ctx, b, b.tile.last != last)
    yield wide_a, wide_b
    wide_a.done()
    if wide_b is not wide_a:
        wide_b.done()


class _Wide:
    """An operand of a broadcast: either the view itself, or its elements spread to one block each."""

    def __init__(self, ctx: Context, view: View, spreading: bool) -> None:
        self.ctx, self.view, self.spreading = ctx, view, spreading
        self.tile = spread(ctx, view.tile) if spreading else view.tile

    def done(self) -> None:
        if self.spreading:
            self.ctx.drop(self.tile)

    @property
    def block_stride(self) -> IntExpr:
        return const(0 if self.spreading else 1)

    def offset(self, without: str | None) -> IntExpr:
        """Element offset for the row loops' variables; ``without`` names a dim that starts at 0."""
        v = self.view
        if self.spreading:
            index = [*v.index, *([sym(v.tile.last)] if v.tile.last is not None else [])]
        else:
            index = list(v.index)
        total = const(0)
        for k, i in enumerate(index):
            step = v.tile.stride(k) * (BLOCK if self.spreading else 1)
            total = total + i * step
        return total if without is None else total.substitute({without: 0})

    def row_step(self, key: str) -> IntExpr:
        """Elements between neighbours along row axis ``key``."""
        full = self.offset(None)
        return full.coefficient(key) if key in full.free() else const(0)

    def columns(self, start: IntExpr) -> IntExpr:
        return const(0) if self.spreading else start

    def access(self, replaced: tuple[str, IntExpr] | None = None, column: IntExpr | None = None, part: int | None = None) -> Access:
        """What the instruction touches; ``replaced`` puts a strip's first row in place of a row index."""
        v = self.view
        index: list[IntExpr | None] = list(v.index)
        if replaced is not None:
            key, first = replaced
            index = [first if i == sym(key) else (None if i is not None and key in i.free() else i) for i in index]
        if self.spreading:
            own = sym(v.tile.last) if v.tile.last is not None else const(0)
            index.append(None if replaced is not None else own)
            return Access(self.tile.slot or self.tile.name, self.tile.name + ":spread", tuple(index))
        whole = v.tile.access(index)
        return Access(whole.tensor, whole.layout, (*whole.index[:-2], column, None if part is None else const(part)))


def _broadcast(ctx: Context, api: str, dst: View, a: _Wide, b: _Wide) -> None:
    """Column-wise over rows in repeats where strides fit their uint8 field, else row by row."""
    rows = dst.tile.rows
    pitch = dst.tile.pitch
    inner = _repeated(dst)
    outer = [(d.key, d.cur) for d in rows if d is not inner]
    dwide = _Wide(ctx, dst, False)

    def by_row() -> None:
        def row() -> None:
            _along_row(ctx, api, (dwide, a, b), pitch)

        _nest(ctx, [(inner.key, inner.cur)] if inner is not None else [], row)

    steps = list(dict.fromkeys(o.row_step(inner.key) for o in (dwide, a, b))) if inner is not None else []
    backwards = any(c < 0 for s in steps for _, c in s.terms)

    def body() -> None:
        if inner is None or backwards:
            by_row()
            return
        with ctx.collect() as columns:
            _by_column(ctx, api, (dwide, a, b), pitch, inner.key, inner.cur)
        with ctx.collect() as across:
            by_row()
        ctx.branch(_strides_fit(pitch, steps), columns, across)

    _nest(ctx, outer, body)


def _repeated(dst: View) -> Dim | None:
    """The row dim whose rows become repeats of one instruction: the longest, then the innermost."""
    plain = [(k, d) for k, d in enumerate(dst.tile.rows) if dst.index[k] == sym(d.key)]
    return max(plain, key=lambda kd: (math.inf if kd[1].most is None else kd[1].most, kd[0]))[1] if plain else None


def _by_column(ctx: Context, api: str, ops: Sequence[_Wide], pitch: IntExpr, key: str, rows: IntExpr) -> None:
    col, first = sym(ctx.fresh("col")), sym(ctx.fresh("first"))
    steps = [o.row_step(key) for o in ops]
    with ctx.loop(str(col), 0, pitch, LANES), ctx.loop(str(first), 0, rows, REPEATS):
        offs = [o.offset(key) + first * s + o.columns(col) for o, s in zip(ops, steps, strict=True)]
        params = Struct(
            "BinaryRepeatParams",
            tuple((o.block_stride, "uint8_t") for o in ops) + tuple((floor_div(s, BLOCK), "uint8_t") for s in steps),
        )
        args = [o.tile.at(off) for o, off in zip(ops, offs, strict=True)]
        mask = Int(min_of(const(LANES), pitch - col), "uint64_t")
        acc = [o.access((key, first), col) for o in ops]
        ctx.call(api, (*args, mask, Int(min_of(const(REPEATS), rows - first), "uint8_t"), params), acc[1:], acc[:1])


def _along_row(ctx: Context, api: str, ops: Sequence[_Wide], pitch: IntExpr) -> None:
    """One row in repeats of 64 lanes, then what remains under a shorter mask."""
    whole = floor_div(pitch, LANES)
    start = sym(ctx.fresh("start"))

    def instruction(offset: IntExpr, mask: IntExpr, repeat: IntExpr, part: int) -> None:
        acc = [o.access(None, offset, part) for o in ops]
        params = Struct(
            "BinaryRepeatParams",
            tuple((o.block_stride, "uint8_t") for o in ops) + tuple((const(0 if o.spreading else BLOCK), "uint8_t") for o in ops),
        )
        args: list[Local] = [o.tile.at(o.offset(None) + o.columns(offset)) for o in ops]
        ctx.call(api, (*args, Int(mask, "uint64_t"), Int(repeat, "uint8_t"), params), acc[1:], acc[:1])

    with ctx.loop(str(start), 0, whole, REPEATS):
        instruction(start * LANES, const(LANES), min_of(const(REPEATS), whole - start), 0)
    tail = pitch - whole * LANES
    with ctx.collect() as rest:
        instruction(whole * LANES, tail, const(1), 1)
    ctx.branch((Cond(">", tail, const(0)),), rest, [])


def spread(ctx: Context, src: Tile) -> Tile:
    """Each element of ``src`` copied over one 32-byte block; the result's element k starts at 8*k. What was loaded before
    the loops that are open now is spread before them, once."""
    return ctx.at_home("spread", src, lambda lasting: _spread(ctx, src, lasting))


def _spread(ctx: Context, src: Tile, lasting: bool) -> Tile:
    blocks = ceil_div(src.count, BLOCK) if src.align % BLOCK else floor_div(src.count, BLOCK)
    extra = _spread_extra(src)
    out = ctx.tile("spread", src.dims, align=src.align, extra=extra, temporary=not lasting, own=lasting)
    start = sym(ctx.fresh("block"))
    read, write = src.access(), Access(out.slot or out.name, out.name + ":blocks", (start,))
    with ctx.loop(str(start), 0, blocks, REPEATS):
        args = (
            out.at(start * LANES),
            src.at(start * BLOCK),
            Int(min_of(const(REPEATS), blocks - start), "uint8_t"),
            Struct("BrcbRepeatParams", ((const(1), "uint16_t"), (const(BLOCK), "uint16_t"))),
        )
        ctx.call("Brcb", args, (read,), (write,))
    return out


def _spread_extra(src: Tile) -> IntExpr:
    """Seven more copies of the source: eight elements for each one."""
    return capacity(src.dims, src.align, "float") * (BLOCK - 1)


_FLIP: Final = {"LT": "GT", "GT": "LT", "LE": "GE", "GE": "LE", "EQ": "EQ", "NE": "NE"}


def compare(ctx: Context, mode: str, a: View, b: View | Scalar) -> Tile:
    """A bit mask over ``a``'s whole tile (bit i for element i, padding included)."""
    ctx.selects = True
    mask = ctx.tile("mask", a.tile.dims, ctype="uint8_t", align=max(256, a.tile.align))
    write = Access(mask.slot or mask.name, mask.name, ())
    count = Int(a.tile.count, "uint32_t")
    if isinstance(b, View):
        args = (mask.at(), a.tile.at(), b.tile.at(), Enum(f"CMPMODE::{mode}"), count)
        ctx.call("Compare", args, (a.tile.access(), b.tile.access()), (write,))
    else:
        ctx.call("CompareScalar", (mask.at(), a.tile.at(), Float(b), Enum(f"CMPMODE::{mode}"), count), (a.tile.access(),), (write,))
    return mask


def select(ctx: Context, dst: Tile, mask: Tile, a: Tile, b: Tile | Scalar) -> None:
    """``dst = mask ? a : b`` over the whole tile."""
    ctx.selects = True
    read = [Access(mask.slot or mask.name, mask.name, ()), a.access()]
    args: list[Arg] = [dst.at(), mask.at(), a.at()]
    if isinstance(b, Tile):
        args += [b.at(), Enum("SELMODE::VSEL_TENSOR_TENSOR_MODE")]
        read.append(b.access())
    else:
        args += [Float(b), Enum("SELMODE::VSEL_TENSOR_SCALAR_MODE")]
    ctx.call("Select", (*args, Int(dst.count, "uint32_t")), read, (dst.access(),))


def flip(mode: str) -> str:
    """The comparison with its operands exchanged."""
    return _FLIP[mode]
