"""Resolved programs in the surface form an author would write: products ``(i, d)``, segments ``res(i, j)``, packs ``*b``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from generator.formula.broadcasts import Broadcast, contracted
from generator.formula.checked import CheckedSpec
from generator.formula.ir import Assign, Bound, Expr, For, Gather, Index, Load, Pack, Product, Program, Reduce, Segment, Stmt
from generator.formula.printer import text
from generator.formula.symbols import SegmentInfo, pack_dim
from generator.spec.integer import IntExpr, const, product, sym
from generator.spec.sizes import parse_size
from generator.symbolic.build import rebuild

__all__ = ["Notation", "as_written", "written"]


@dataclass(frozen=True)
class Notation:
    """What a spec has names for. ``segments`` are offsets and shapes by name, ``packs`` names of packs of axes."""

    segments: Mapping[str, SegmentInfo] = field(default_factory=dict)
    packs: tuple[str, ...] = ()
    broadcasts: tuple[Broadcast, ...] = ()

    def shaped(self, like: Mapping[str, str]) -> Notation:
        """With further tensors, each shaped like another: a name -> that tensor."""
        more = tuple(replace(b, own={**b.own, **{n: b.own[x] for n, x in like.items() if x in b.own}}) for b in self.broadcasts)
        return replace(self, broadcasts=more)

    def axes(self, names: Sequence[str]) -> list[str]:
        """Names of axes and packs as the author writes them: groups of a broadcast pack's axes together."""
        groups = {n for b in self.broadcasts for n in b.groups}
        out = [n for n in names if n not in groups]
        for b in self.broadcasts:
            mine = [n for n in b.groups if n in names]
            out += [f"*{t}" for t in b.texts(mine)] if mine else []
        return out

    @staticmethod
    def of(checked: CheckedSpec) -> Notation:
        """The notation of a spec."""
        names = [*checked.program.dims, *checked.program.int_attrs]
        totals: dict[str, IntExpr] = {}
        found: dict[str, SegmentInfo] = {}
        for axis, parts in checked.spec.segments.items():
            offset = const(0)
            made: list[tuple[str, IntExpr, tuple[IntExpr, ...]]] = []
            for name, shape in parts.items():
                sizes = tuple(parse_size(s, [*names, *totals]).substitute(totals) for s in shape)
                made.append((name, offset, sizes))
                offset = offset + product(sizes)
            totals[axis] = offset
            found |= {name: SegmentInfo(axis, start, sizes, offset) for name, start, sizes in made}
        return Notation(found, tuple(checked.packs), checked.broadcasts)


def as_written(program: Program, notation: Notation, *, extents: bool) -> tuple[Stmt, ...]:
    """The statements of ``program`` in surface form; ``extents`` keeps the extents of axes, which may not be needed."""
    return contracted(_Writer(program, notation, extents).block(program.body), notation.broadcasts)


def written(program: Program, notation: Notation, *, extents: bool = False) -> str:
    """The text of ``program``, packs as the author writes them."""
    return text(as_written(program, notation, extents=extents) if notation.packs else program, extents=extents)


class _Writer:
    def __init__(self, program: Program, notation: Notation, extents: bool) -> None:
        self.program = program
        self.notation = notation
        self.extents = extents
        self.packs = {sym(pack_dim(b)): b for b in notation.packs}

    def block(self, body: Sequence[Stmt]) -> list[Stmt]:
        out: list[Stmt] = []
        for s in body:
            if isinstance(s, For):
                out.append(replace(s, body=tuple(self.block(s.body))))
                continue
            axes = {a.name: a.extent for a in s.axes if a.extent is not None}
            shape = self.program.tensors[s.tensor].shape
            indices = tuple(self.index(i, axes, e) for i, e in zip(s.indices, shape, strict=True))
            kept = tuple(a for a in s.axes if a.extent not in self.packs) if self.extents else ()
            out.append(Assign(s.tensor, indices, self.expr(s.value, axes), kept))
        return out

    def expr(self, e: Expr, axes: Mapping[str, IntExpr]) -> Expr:
        if isinstance(e, Load):
            shape = self.program.tensors[e.tensor].shape
            indices = tuple(self.index(i, axes, n) for i, n in zip(e.indices, shape, strict=True))
            return replace(e, indices=indices, guarded=(), outside=None)
        if isinstance(e, Reduce):
            inner = {**axes, **{a.name: a.extent for a in e.axes if a.extent is not None}}
            bound = tuple(
                Bound("*" + self.packs[a.extent]) if a.extent in self.packs else a if self.extents else Bound(a.name) for a in e.axes
            )
            divisor = None if e.divisor is None else self.expr(e.divisor, axes)
            return Reduce(e.op, bound, self.expr(e.body, inner), divisor)
        return rebuild(e, lambda x: self.expr(x, axes))

    def index(self, i: Index, axes: Mapping[str, IntExpr], extent: IntExpr) -> Index:
        if isinstance(i, Gather):
            load = self.expr(i.load, axes)
            assert isinstance(load, Load)
            return Gather(load)
        if not isinstance(i, IntExpr):
            return i
        name = i.symbol
        if name in axes and axes[name or ""] in self.packs:
            return Pack(self.packs[axes[name or ""]])
        for segment, info in self.notation.segments.items():
            if info.total != extent:
                continue
            parts = self.radix(i - info.offset, axes, info.shape)
            if parts is not None:
                return Segment(segment, parts)
        names = [n for n in axes if n in i.free()]
        if len(names) > 1:
            parts = self.radix(i, axes, tuple(axes[n] for n in self.slowest_first(i, names)))
            if parts is not None and product(axes[n] for n in names) == extent:
                return Product(parts)
        return i

    def slowest_first(self, i: IntExpr, names: Sequence[str]) -> list[str]:
        """Axes by how much their coefficients are, as far as that shows: more factors first, plain ones last."""
        if not i.is_affine_in(names):
            return list(names)
        return sorted(names, key=lambda n: -sum(p for m, _ in i.coefficient(n).terms for _, p in m) * 1000 - _size(i.coefficient(n)))

    def radix(self, i: IntExpr, axes: Mapping[str, IntExpr], shape: Sequence[IntExpr]) -> tuple[Index, ...] | None:
        """The axes that make ``i`` a row-major index of ``shape``."""
        names = [n for n in axes if n in i.free()]
        if len(names) != len(shape) or not i.is_affine_in(names):
            return None
        out: list[Index] = []
        rest = i
        for at, size in enumerate(shape):
            stride = product(shape[at + 1 :])
            name = next((n for n in names if axes[n] == size and i.coefficient(n) == stride and sym(n) not in out), None)
            if name is None:
                return None
            out.append(sym(name))
            rest = rest - stride * sym(name)
        return tuple(out) if rest == const(0) else None


def _size(c: IntExpr) -> int:
    return c.value if c.value is not None else 1
