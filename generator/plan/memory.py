"""Tensors in global memory as the planner sees them, and the linear offsets of tiles in them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from generator.formula.ir import Tensor
from generator.plan.tiles import Context, Dim
from generator.plan.tree import CType
from generator.spec.integer import IntExpr, const, sym

__all__ = ["CTYPES", "Footprint", "GmRef", "Rows", "contiguous_run", "covers", "footprint", "strided_rows"]

CTYPES: Final[dict[str, CType]] = {
    "float16": "half", "bfloat16": "bfloat16_t", "float32": "float", "int8": "int8_t", "uint8": "uint8_t",
    "int16": "int16_t", "int32": "int32_t", "int64": "int64_t", "bool": "uint8_t",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class GmRef:
    """A GlobalTensor of the kernel: its C++ name, element type and geometry."""

    name: str
    ctype: CType
    tensor: Tensor

    @property
    def order(self) -> tuple[int, ...]:
        """Dims from slowest to fastest in memory."""
        flat = self.tensor.flat
        if flat is None:
            return tuple(range(len(self.tensor.shape)))
        return tuple(flat.axes.index(a) for a in flat.order)


@dataclass(frozen=True, slots=True)
class Footprint:
    """Where a tile's element lies: ``base`` plus, for each local axis, its coefficient. ``order`` lists the local
    axes from slowest to fastest in memory; an axis that indexes two dims has the place of the faster one."""

    base: IntExpr
    steps: dict[str, IntExpr]
    order: tuple[str, ...]
    index: tuple[IntExpr, ...]  # per dim, tile starts substituted


def footprint(ctx: Context, gm: GmRef, index: tuple[IntExpr, ...]) -> Footprint:
    """The linear geometry of ``gm[index]`` over the axes held inside a tile."""
    shifted = tuple(i.substitute({a: s + sym(a) for a, s in ctx.starts.items() if a in i.free()}) for i in index)
    offset = const(0)
    for i, s in zip(shifted, gm.tensor.strides(), strict=True):
        offset = offset + i * s
    local = [a for a in ctx.order if a in ctx.axis and a in offset.free()]
    steps = {a: offset.coefficient(a) for a in local}
    base = offset.substitute(dict.fromkeys(local, 0))
    place = {a: max(k for k, d in enumerate(gm.order) if a in shifted[d].free()) for a in local}
    return Footprint(base, steps, tuple(sorted(local, key=lambda a: (place[a], _inside(shifted, a)))), shifted)


def _inside(index: tuple[IntExpr, ...], axis: str) -> int:
    """Within one dim (a product axis) the axis with the constant coefficient is the faster one."""
    for i in index:
        if axis in i.free():
            value = i.coefficient(axis).value
            return 0 if value is None else 1
    return 0


def covers(step: IntExpr, extent: IntExpr) -> bool:
    """Proves step >= extent for non-negative symbols: every term of ``step`` is positive and holds ``extent`` as a factor."""
    if extent.value is not None:
        return step.value is not None and step.value >= extent.value
    if len(extent.terms) != 1 or not step.terms:
        difference = (step - extent).value
        return difference is not None and difference >= 0
    (mono, coef) = extent.terms[0]
    need = dict(mono)
    found = False
    for m, c in step.terms:
        if c < 0:
            return False
        have = dict(m)
        found |= all(have.get(a, 0) >= p for a, p in need.items()) and c >= coef
    return found


@dataclass(frozen=True, slots=True)
class Rows:
    """Rows of one strided copy: ``count`` of them, ``step`` elements apart in memory; ``most`` bounds count when proved.
    ``depth`` is how many of the tile's innermost row dims they make up."""

    count: IntExpr
    step: IntExpr
    most: int | None
    depth: int


def strided_rows(rows: tuple[Dim, ...], steps: dict[str, IntExpr], extent: IntExpr) -> Rows | None:
    """The innermost row dims that one DataCopyPad can walk: evenly spaced in memory, at least ``extent`` apart."""
    if not rows or not covers(steps[rows[-1].key], extent):
        return None
    inner = rows[-1]
    found = Rows(inner.cur, steps[inner.key], inner.most, 1)
    for d in reversed(rows[:-1]):
        whole = rows[-found.depth].cur == rows[-found.depth].extent
        if not whole or steps[d.key] != found.step * found.count:
            break
        most = None if d.most is None or found.most is None else d.most * found.most
        found = Rows(found.count * d.cur, found.step, most, found.depth + 1)
    return found


def contiguous_run(fp: Footprint, dims: dict[str, Dim]) -> tuple[str, ...]:
    """The fastest axes, slowest first, that lie gap-free in memory within one tile; empty when the fastest has a stride."""
    run: list[str] = []
    need = const(1)
    for axis in reversed(fp.order):
        if fp.steps[axis] != need:
            break
        run.insert(0, axis)
        d = dims[axis]
        if d.cur != d.extent:
            break
        need = need * d.cur
    return tuple(run)
