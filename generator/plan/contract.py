"""Contractions: which sums of products are matrix products on views of their tensors, found from index notation alone.

A sum of ``a * b`` is a product of matrices when every reduced axis moves both factors. Axes of the result that move
one factor only are its rows or columns, those that move both are a batch, and reduced axes that cannot join the inner
axis of the product (a window's taps) are accumulated one operand pair at a time. Loads that may leave their tensor
restrict rows or the inner axis to a range; nothing is unfolded or padded.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from generator.formula.ir import Binary, Bound, Expr, Load, Tensor
from generator.formula.walk import symbols
from generator.plan.normal import Red, extent_of
from generator.spec.integer import IntExpr, const, product

__all__ = ["Chain", "Contraction", "Guard", "Side", "contraction", "element_offset", "factors"]


@dataclass(frozen=True, slots=True)
class Chain:
    """Axes that count as one: neighbours along an outer one are a whole inner extent apart. Outermost first."""

    axes: tuple[Bound, ...] = ()

    @property
    def extent(self) -> IntExpr:
        return product(extent_of(b) for b in self.axes)

    @property
    def inner(self) -> IntExpr:
        """The extent of everything inside the outermost axis."""
        return product(extent_of(b) for b in self.axes[1:])


@dataclass(frozen=True, slots=True)
class Guard:
    """``0 <= index < extent`` must hold for the factor not to be zero."""

    index: IntExpr
    extent: IntExpr


@dataclass(frozen=True, slots=True)
class Side:
    """A factor as a matrix: element offset over all axes, distance between rows as stored, and whether it is stored
    transposed (the left factor's rows, the right factor's inner axis contiguous)."""

    tensor: str
    offset: IntExpr
    pitch: IntExpr
    transposed: bool
    guards: tuple[Guard, ...]


@dataclass(frozen=True, slots=True)
class Contraction:
    """``c[items, m, n] = sum over taps and k of a * b``. ``pitch`` is the distance between rows of the result."""

    a: Side
    b: Side
    rows: Chain
    columns: Chain
    inner: Chain
    items: tuple[Bound, ...]
    taps: tuple[Bound, ...]
    offset: IntExpr
    pitch: IntExpr

    @property
    def batch(self) -> IntExpr:
        """Number of independent products."""
        return product(extent_of(b) for b in self.items)

    @property
    def pairs(self) -> IntExpr:
        """Number of operand pairs that add up to one product."""
        return product(extent_of(b) for b in self.taps)


def factors(e: Expr) -> tuple[Expr, ...]:
    """The factors of a product, left to right."""
    if isinstance(e, Binary) and e.op == "mul":
        return (*factors(e.a), *factors(e.b))
    return (e,)


def contraction(s: Red, tensors: Mapping[str, Tensor]) -> Contraction | str:
    """``s`` as a matrix product of its two loads, or why it is none."""
    parts = factors(s.value)
    if s.op != "sum" or len(parts) != 2 or not all(isinstance(p, Load) for p in parts):
        return "not a sum of products of two tensors"
    left, right = parts
    assert isinstance(left, Load)
    assert isinstance(right, Load)
    if any(ld.guarded and ld.outside not in (None, 0.0) for ld in (left, right)):
        return "a factor is not zero outside its tensor"
    target = _offset(s.index, tensors[s.target], s.axes)
    offsets = [_offset(ld.indices, tensors[ld.tensor], (*s.axes, *s.reduced)) for ld in (left, right)]
    if target is None or None in offsets:
        return "an index is not affine"
    why = "no operand order fits"
    for x, y in ((left, right), (right, left)):
        found = _shape(s, x, y, tensors, target)
        if isinstance(found, Contraction):
            return found
        why = found
    return why


def _offset(indices: Sequence[object], t: Tensor, axes: Sequence[Bound]) -> IntExpr | None:
    names = [b.name for b in axes]
    if not all(isinstance(i, IntExpr) and i.is_affine_in(names) for i in indices):
        return None
    return element_offset(indices, t)


def element_offset(indices: Sequence[object], t: Tensor) -> IntExpr:
    """Elements from the tensor's start to the element at ``indices``."""
    out = const(0)
    for i, stride in zip(indices, t.strides(), strict=True):
        assert isinstance(i, IntExpr)
        out = out + i * stride
    return out


def _shape(s: Red, a: Load, b: Load, tensors: Mapping[str, Tensor], target: IntExpr) -> Contraction | str:
    """With ``a`` on the left."""
    every = (*s.axes, *s.reduced)
    oa, ob = (_offset(ld.indices, tensors[ld.tensor], every) for ld in (a, b))
    assert oa is not None
    assert ob is not None
    in_a, in_b = symbols(a), symbols(b)
    if any(x.name not in in_a or x.name not in in_b for x in s.reduced):
        return "a reduced axis moves one factor only"
    if any(x.name not in in_a | in_b for x in s.axes):
        return "an axis of the result moves no factor"
    guards_a, guards_b = _guards(a, tensors[a.tensor]), _guards(b, tensors[b.tensor])
    guards = (*guards_a, *guards_b)
    rows = [x for x in s.axes if x.name in in_a and x.name not in in_b]
    columns = [x for x in s.axes if x.name in in_b and x.name not in in_a]
    n = _chain(columns, (target, ob), guards, first=target)
    if columns and not n.axes:
        return "no column axis is contiguous in the result"
    best: Contraction | None = None
    for k in _chains(s.reduced, (oa, ob), guards):
        for m in _chains(rows, (target, oa), guards) or [Chain()]:
            left, right = _side(a, oa, m, k, guards_a, True), _side(b, ob, n, k, guards_b, False)
            if left is None or right is None:
                continue
            taken = {x.name for x in (*m.axes, *n.axes, *k.axes)}
            found = Contraction(
                left, right, m, n, k,
                tuple(x for x in s.axes if x.name not in taken), tuple(x for x in s.reduced if x.name not in taken),
                target, target.coefficient(m.axes[-1].name) if m.axes else n.extent,
            )  # fmt: skip
            if best is None or _merged(found) > _merged(best):
                best = found
    return best if best is not None else "a factor has no contiguous axis the product can use"


def _merged(c: Contraction) -> tuple[int, int]:
    return len(c.rows.axes) + len(c.inner.axes), len(c.inner.axes)


def _guards(ld: Load, t: Tensor) -> tuple[Guard, ...]:
    out = []
    for d in ld.guarded:
        index = ld.indices[d]
        assert isinstance(index, IntExpr)
        out.append(Guard(index, t.shape[d]))
    return tuple(out)


def _side(ld: Load, offset: IntExpr, free: Chain, inner: Chain, guards: tuple[Guard, ...], left: bool) -> Side | None:
    """The view of one factor: one of its two chains is contiguous, the other one's step is the pitch."""
    step = offset.coefficient(inner.axes[-1].name)
    if not free.axes:
        if step != const(1):  # a column of elements apart: stored as rows of one element each
            return Side(ld.tensor, offset, step, left, guards)
        return Side(ld.tensor, offset, inner.extent, not left, guards)
    across = offset.coefficient(free.axes[-1].name)
    if step == const(1) and across != const(1):
        return Side(ld.tensor, offset, across, not left, guards)
    if across == const(1):
        return Side(ld.tensor, offset, step, left, guards)
    return None


def _chains(axes: Sequence[Bound], offsets: tuple[IntExpr, IntExpr], guards: Sequence[Guard]) -> list[Chain]:
    """The longest chain from every innermost axis."""
    return [c for x in axes if (c := _chain(axes, offsets, guards, start=x)).axes]


def _chain(
    axes: Sequence[Bound], offsets: tuple[IntExpr, IntExpr], guards: Sequence[Guard],
    start: Bound | None = None, first: IntExpr | None = None,
) -> Chain:  # fmt: skip
    """Axes that are one in both offsets: from ``start`` outwards, or from the axis contiguous in ``first``. A guarded
    axis can only be the outermost one, with the guard's other axes outside the chain."""
    if start is None:
        assert first is not None
        start = next((x for x in axes if first.coefficient(x.name) == const(1)), None)
        if start is None:
            return Chain()
    chain = [start]
    names = {x.name for x in axes}
    if any(_negative(o.coefficient(start.name)) for o in offsets):
        return Chain()
    while not any(chain[0].name in g.index.free() for g in guards):
        outer = next((x for x in axes if x not in chain and all(_joins(o, x, chain[0]) for o in offsets)), None)
        if outer is None:
            break
        chain.insert(0, outer)
    for g in guards:
        inside = g.index.free() & {x.name for x in chain}
        if len(inside) > 1 or (inside and _negative(g.index.coefficient(chain[0].name))):
            return Chain()
    assert {x.name for x in chain} <= names
    return Chain(tuple(chain))


def _negative(e: IntExpr) -> bool:
    return any(c < 0 for _, c in e.terms)


def _joins(offset: IntExpr, outer: Bound, inner: Bound) -> bool:
    """Neighbours along ``outer`` lie a whole extent of ``inner`` apart."""
    return offset.coefficient(outer.name) == offset.coefficient(inner.name) * extent_of(inner)
