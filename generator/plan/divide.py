"""What too few cores would work on: reductions and long products in equal ranges, their results added in fixed order.

A stage spreads over cores what is free in all its statements. A reduction to few elements has little of that, and so has
a product whose result is few tiles: their ranges are computed apart, into workspace, and a second stage adds them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, Literal

from generator.formula.checked import CheckedSpec
from generator.formula.ir import Bound, Load, Tensor
from generator.plan.axes import flat
from generator.plan.bounds import Bounds
from generator.plan.contract import Contraction, contraction
from generator.plan.cube import MOST_RANGES, Ranges, range_length, ranges_pay
from generator.plan.memory import CTYPES, GmRef
from generator.plan.normal import Normal, Red, extent_of
from generator.plan.overlap import Overlap
from generator.plan.products import Products
from generator.plan.roles import Roles, assign_roles
from generator.plan.schedule import GM, Group, Item, LoopItem, outputs_of, partition
from generator.plan.stage import BuiltStage
from generator.plan.tiles import SIZES, Refusal
from generator.spec.integer import IntExpr, ceil_div, const, max_of, min_of, product, round_up, sym

__all__ = ["Divided"]

WORKSPACE_ALIGN: Final = 512  # GM addresses on 512-byte lines copy at full rate (facts.md E.5)


@dataclass
class Divided:
    """What is known of an alternative under construction, its workspace and tiling fields, and how it divides what it must."""

    checked: CheckedSpec
    normal: Normal
    dtypes: Mapping[str, str]
    bounds: Bounds
    known: dict[object, BuiltStage]  # stages already built, by all that decides their text
    mode: Literal["full", "walked"]
    fuse: bool = True  # walked: keep together the statements that one set of passes serves
    products: Products | None = None  # what the cube computes
    empty: bool = False  # stepwise: serves tensors without elements too
    typical: Sequence[Mapping[str, int]] = ()  # sizes of the benchmarks
    gms: dict[str, GmRef] = field(default_factory=dict)
    workspace: list[tuple[GmRef, IntExpr]] = field(default_factory=list)
    fields: list[tuple[str, IntExpr]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    shapes: dict[str, tuple[IntExpr, ...]] = field(default_factory=dict)
    zeros: dict[str, str] = field(default_factory=dict)  # per product, the tensor of zeros its stage reads too
    ranges: dict[str, Ranges] = field(default_factory=dict)  # per product of ranges

    @property
    def overlap(self) -> Overlap:
        return Overlap(self.zeros)

    def workspace_tensor(self, name: str, shape: tuple[IntExpr, ...]) -> None:
        if name in self.gms:
            return
        base = name.removesuffix(GM)
        ref = GmRef(f"{base}Ws", CTYPES[self.local_dtype(base)], Tensor(base, shape, "local"))
        self.gms[name] = ref
        size = round_up(max_of(product(shape), 1) * SIZES[ref.ctype], WORKSPACE_ALIGN)
        start = f"{base}WsStart"
        used = sym(self.workspace_end()) if self.workspace else const(0)
        self.fields.append((start, used))
        self.fields.append((f"{base}WsEnd", sym(start) + size))
        self.workspace.append((ref, sym(start)))

    def workspace_end(self) -> str:
        return self.workspace[-1][0].name + "End"

    def fresh(self, s: Red, kind: str) -> str:
        """A name for the parts of what a reduction makes."""
        name = f"{s.target.removesuffix(GM)}_{kind}"
        while name in self.shapes:
            name += "_"
        return name

    def parts_along(self, axis: Bound, name: str, axes: Sequence[Bound]) -> tuple[IntExpr, ...]:
        """Room in workspace for a result over ``axes`` for each value of ``axis``; the index of an element."""
        self.shapes[name] = tuple(extent_of(b) for b in (axis, *axes))
        self.workspace_tensor(name + GM, self.shapes[name])
        return tuple(sym(b.name) for b in (axis, *axes))

    def local_dtype(self, t: str) -> str:
        return self.products.dtypes.get(t, "float32") if self.products is not None else "float32"

    def is_unbounded(self, b: Bound) -> bool:
        """The spec puts no upper limit on the axis."""
        return b.extent is not None and self.bounds.upper(b.extent) is None

    def starved(self, g: Group, roles: Roles) -> bool:
        """A reduction over unbounded axes with nothing unbounded to spread over cores but the lane."""
        reduces = any(isinstance(s, Red) and any(map(self.is_unbounded, s.reduced)) for s in flat(g.statements))
        spread = [*roles.outer, *([roles.row] if roles.row is not None else [])]
        return reduces and not any(map(self.is_unbounded, spread))

    # reductions -------------------------------------------------------------------------------------------------------------
    def singles(self, g: Group) -> tuple[Item, ...]:
        """One statement a stage, but reductions of one kind together where their ranges are split over cores anyhow."""
        out: list[Item] = []
        for i in partition(g.statements, False, outputs_of(self.normal)):
            for at in reversed(range(len(out) if self.fuse else 0)):
                both = self.joined(out[at], i)
                if both is not None:
                    out[at] = both
                    break
                if self.overlap.meet(out[at], i):
                    out.append(i)
                    break
            else:
                out.append(i)
        return tuple(out)

    def joined(self, a: Item, b: Item) -> Group | None:
        """Both stages in one whose reductions :meth:`split` takes together."""
        if isinstance(a, LoopItem) or isinstance(b, LoopItem) or a.cube or b.cube or self.overlap.meet(a, b):
            return None
        both = Group((*a.statements, *b.statements), tuple(x for x in a.grid if x in b.grid))
        reds = _alike(both)
        if not reds or not any(map(self.is_unbounded, reds[0].reduced)):
            return None
        try:
            roles = assign_roles(both, "passes", self.gms, self.bounds)
        except Refusal:
            return None
        return both if self.starved(both, roles) else None

    def split(self, g: Group) -> list[tuple[Group, Roles]] | None:
        """Reductions with too little to spread over cores: partial results of equal ranges, then their reduction."""
        reds = _alike(g)
        if not reds:
            return None
        roles = assign_roles(g, "passes", self.gms, self.bounds)
        axes = reds[0].axes
        k = next((b for b in reds[0].reduced if self.is_unbounded(b)), None)
        if k is None or not self.starved(g, roles):
            return None
        assert k.extent is not None
        names = [self.fresh(s, "part") for s in reds]
        parts, length, p = f"{names[0]}_count", f"{names[0]}_length", f"{names[0]}_axis"
        self.fields.append((parts, max_of(min_of(sym("coreNum"), k.extent), 1)))
        self.fields.append((length, ceil_div(k.extent, sym(parts))))
        part_axis = Bound(p, sym(parts))
        for name in names:
            index = self.parts_along(part_axis, name, axes)
        first = [Red(n + GM, index, (part_axis, *axes), s.op, s.reduced, s.value) for n, s in zip(names, reds, strict=True)]
        start = sym(p) * sym(length)
        ranged = {k.name: (start, min_of(k.extent, start + sym(length)))}
        first_roles = replace(roles, outer=(part_axis, *roles.outer), ranges=ranged, split=k.name)
        second = [Red(s.target, s.index, axes, s.op, (part_axis,), Load(n + GM, index)) for n, s in zip(names, reds, strict=True)]
        g2 = Group(tuple(second), tuple(b.name for b in axes))
        what = ", ".join(s.target.removesuffix(GM) for s in reds)
        self.notes.append(f"{what}: reduced in equal ranges of {k.name} over the cores, partial results added in fixed order")
        return [(Group(tuple(first), (p, *g.grid)), first_roles), (g2, assign_roles(g2, "passes", self.gms, self.bounds))]

    # products ---------------------------------------------------------------------------------------------------------------
    def in_ranges(self, items: Sequence[Item]) -> tuple[Item, ...]:
        """Long products of few tiles as products of equal ranges of the inner axis, added in fixed order just before they are needed."""
        out = list(items)
        for i in items:
            if not isinstance(i, Group) or not i.cube:
                continue
            (s,) = i.statements
            assert isinstance(s, Red)
            c = contraction(s, {t: r.tensor for t, r in self.gms.items()})
            if not isinstance(c, Contraction) or not any(ranges_pay(c, sizes) for sizes in self.typical):
                continue
            part, total = self.range_parts(s, c)
            at = out.index(i)
            out[at] = part
            at = next((k for k in range(at + 1, len(out)) if self.overlap.meet(out[k], i)), len(out))
            out.insert(at, total)
        return tuple(out)

    def range_parts(self, s: Red, c: Contraction) -> tuple[Group, Group]:
        """(the products of ranges, their sum)."""
        name = self.fresh(s, "range")
        length, count, p = f"{name}_length", f"{name}_count", f"{name}_axis"
        self.fields.append((length, range_length(c)))
        self.fields.append((count, ceil_div(c.inner.extent, sym(length))))
        self.bounds = Bounds({**self.bounds.known, count: (1, MOST_RANGES)})
        axis = Bound(p, sym(count))
        index = self.parts_along(axis, name, s.axes)
        self.ranges[name + GM] = Ranges(axis, sym(length))
        zeros = self.zeros.get(s.target.removesuffix(GM))
        if zeros is not None:
            self.zeros[name] = zeros
        part = replace(s, target=name + GM, index=index, axes=(axis, *s.axes))
        total = Red(s.target, s.index, s.axes, "sum", (axis,), Load(name + GM, index), s.span, s.origin)
        self.notes.append(f"{s.target.removesuffix(GM)}: in equal ranges of the inner axis over the cores, added in fixed order")
        return Group((part,), ()), Group((total,), tuple(b.name for b in s.axes))

    def adds_ranges(self, g: Group) -> bool:
        """The stage adds what :meth:`in_ranges` made: one result after another, because the host chooses how many there are."""
        axes = {r.axis for r in self.ranges.values()}
        return any(isinstance(s, Red) and axes & set(s.reduced) for s in g.statements)


def _alike(g: Group) -> list[Red]:
    """The statements of a stage that has nothing but reductions to values over the same axes; else none."""
    reds = [s for s in g.statements if isinstance(s, Red) and s.op not in ("argmax", "argmin")]
    alike = len(reds) == len(g.statements) and len({(s.axes, s.reduced) for s in reds}) == 1
    return reds if alike else []
