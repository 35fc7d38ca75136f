"""Axis scoping and axis-size inference for one statement.

A statement's left side binds its axes for the whole right side; a reduction binds its axes in its body, and may hide
an outer axis of the same name. The extent of an axis is what it is given (``sum[k: K]``), or the extent of the tensor
dims it indexes on its own, which must all agree; a part of a product ``(i, d)`` may also be found by division.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from generator.formula.ir import (
    Assign,
    Bound,
    Expr,
    Gather,
    Index,
    Load,
    Pack,
    Reduce,
    Segment,
    Span,
    Tensor,
)
from generator.formula.prove import Facts
from generator.formula.symbols import Symbols, pack_dim
from generator.formula.walk import children as subexpressions
from generator.spec.integer import IntExpr, const, floor_div, product, sym
from generator.spec.names import did_you_mean

__all__ = ["Axis", "Env", "Inference", "children"]

Report = Callable[[Span | None, str, str, str], None]


@dataclass
class Axis:
    """A bound axis while its extent is being found. ``votes`` are (extent, where, what it indexes)."""

    name: str
    span: Span | None
    given: IntExpr | None = None
    extent: IntExpr | None = None
    votes: list[tuple[IntExpr, Span | None, str]] = field(default_factory=list)


Env = Mapping[str, Axis]


def children(e: Expr) -> tuple[Expr, ...]:
    """The direct subexpressions of ``e``; those of a load are its indices, which are looked at one by one."""
    return () if isinstance(e, Load) else subexpressions(e)


class Inference:
    """The axes of one statement. ``left`` are the left side's, in order; ``bound`` those of each reduction."""

    def __init__(
        self, symbols: Symbols, loops: Sequence[str], facts: Facts, readable: Callable[[Load], Tensor | None], report: Report
    ) -> None:
        self.symbols = symbols
        self.readable = readable
        self.loops = set(loops)
        self.facts = facts
        self.report = report
        self.left: dict[str, Axis] = {}
        self.bound: dict[int, list[Axis]] = {}
        self.products: list[tuple[list[Axis], IntExpr]] = []  # parts without a vote, and the product of their extents
        self.failed = False
        self.blamed = False  # a name at fault was reported: an axis without a size follows from it

    def run(self, stmt: Assign, shape: Sequence[IntExpr | None]) -> None:
        """Find every axis of ``stmt``; ``shape`` is the written tensor's, None where it is not known yet."""
        given = {b.name: b.extent for b in stmt.axes}
        for at, index in enumerate(stmt.indices):
            for name in self.names(index):
                if name not in self.left and not self.is_integer(name):
                    self.left[name] = Axis(name, stmt.spots[at] if at < len(stmt.spots) else stmt.span, self.replaced(given.get(name)))
        for at, index in enumerate(stmt.indices):
            extent = shape[at] if at < len(shape) else None
            self.vote(index, extent, self.left, stmt.spots[at] if at < len(stmt.spots) else stmt.span, f"dim {at} of '{stmt.tensor}'")
        self.walk(stmt.value, self.left)
        self.settle()

    def is_integer(self, name: str) -> bool:
        return name in self.loops or name in self.symbols.ints

    def replaced(self, extent: IntExpr | None) -> IntExpr | None:
        return None if extent is None else extent.substitute(self.symbols.segmented)

    def names(self, index: Index) -> list[str]:
        """The names in an index that could be axes, in order of appearance."""
        if isinstance(index, IntExpr):
            return sorted(index.free())
        if isinstance(index, Pack):
            return [index.name]
        if isinstance(index, Gather):
            return []
        return [n for part in index.parts for n in self.names(part)]

    # collecting -------------------------------------------------------------------------------------------------
    def walk(self, e: Expr, env: Env) -> None:
        if isinstance(e, Load):
            self.load(e, env)
        elif isinstance(e, Reduce):
            axes = [Axis(b.name.lstrip("*"), e.span, self.replaced(b.extent)) for b in e.axes]
            for axis, b in zip(axes, e.axes, strict=True):
                if b.name.startswith("*"):
                    axis.given = sym(pack_dim(axis.name))
            self.bound[id(e)] = axes
            self.walk(e.body, {**env, **{a.name: a for a in axes}})
            if e.divisor is not None:
                self.walk(e.divisor, env)
        else:
            for child in children(e):
                self.walk(child, env)

    def load(self, e: Load, env: Env) -> None:
        tensor = self.readable(e)
        if tensor is None:
            self.blamed = self.failed = True
        elif len(tensor.shape) != len(e.indices):
            self.report(
                e.span,
                f"'{e.tensor}' has {_count(tensor.shape, 'dim')}",
                _count(e.indices, "index", "indices"),
                _count(tensor.shape, "index", "indices"),
            )
            self.blamed = self.failed = True
        for at, index in enumerate(e.indices):
            extent = tensor.shape[at] if tensor is not None and at < len(tensor.shape) else None
            self.vote(index, extent, env, e.spots[at] if at < len(e.spots) else e.span, f"dim {at} of '{e.tensor}'")

    def bound_here(self, index: IntExpr, env: Env, span: Span | None) -> None:
        """Every name of an index is a bound axis, a loop variable or a size."""
        for name in sorted(index.free()):
            if name in env or self.is_integer(name):
                continue
            self.blamed = self.failed = True
            if name in self.symbols.tensors:
                self.report(span, "a tensor is not an index by itself", f"'{name}'", f"{name}[...], one element of an integer tensor")
            elif name in self.symbols.float_attrs or name in self.symbols.bool_attrs:
                self.report(span, "an index is an integer", f"'{name}' is a float or bool attribute", "an axis, a dim or an int attribute")
            else:
                known = [*env, *self.loops, *self.symbols.ints]
                self.report(
                    span, "the axis is not bound here", f"'{name}'", did_you_mean(name, known, "axes and sizes") + f"; or sum[{name}](...)"
                )

    def vote(self, index: Index, extent: IntExpr | None, env: Env, span: Span | None, what: str) -> None:
        if isinstance(index, IntExpr):
            self.bound_here(index, env, span)
            name = index.symbol
            if extent is not None and name is not None and name in env:
                env[name].votes.append((extent, span, what))
        elif isinstance(index, Pack):
            self.pack(index, env, span)
            if index.name in env:
                env[index.name].votes.append((sym(pack_dim(index.name)), span, what))
        elif isinstance(index, Gather):
            self.load(index.load, env)
        elif isinstance(index, Segment):
            info = self.symbols.segments.get(index.name)
            for at, part in enumerate(index.parts):
                self.vote(part, info.shape[at] if info is not None and at < len(info.shape) else None, env, span, f"segment '{index.name}'")
        else:
            for part in index.parts:
                self.vote(part, None, env, span, what)
            if extent is None:
                return
            parts = [env[p.symbol] for p in index.parts if isinstance(p, IntExpr) and p.symbol is not None and p.symbol in env]
            if len(parts) == len(index.parts):
                self.products.append((parts, extent))

    def pack(self, index: Pack, env: Env, span: Span | None) -> None:
        if index.name not in self.symbols.packs:
            self.blamed = self.failed = True
            self.report(
                index.span or span,
                "no tensor has this pack of axes",
                f"'*{index.name}'",
                did_you_mean(index.name, self.symbols.packs, "packs"),
            )
        elif index.name not in env:
            self.blamed = self.failed = True
            self.report(
                index.span or span, "the pack is not bound here", f"'*{index.name}'", f"'*{index.name}' on the left side or in a reduction"
            )

    # settling ---------------------------------------------------------------------------------------------------
    def settle(self) -> None:
        axes = [*self.left.values(), *(a for group in self.bound.values() for a in group)]
        for axis in axes:
            axis.extent = axis.given if axis.given is not None else axis.votes[0][0] if axis.votes else None
            if axis.given is None:
                self.agree(axis)
        for _ in self.products:
            for parts, extent in self.products:
                self.divide(parts, extent)
        for axis in axes:
            if axis.extent is None and not self.blamed:
                self.failed = True
                right = f"its extent: {axis.name}: N" if axis.name.isidentifier() else "its extent"
                self.report(axis.span, "the axis has no size: no tensor is indexed by it alone", f"'{axis.name}'", right)

    def agree(self, axis: Axis) -> None:
        """All dims the axis indexes on its own have one size. An axis of the left side may also index larger ones, and then
        runs over the smallest (``y[j] = x[j] * x[j + H]`` with ``x`` of 2*H): what that leaves out is for the writes to say."""
        if len({extent for extent, _, _ in axis.votes}) <= 1:
            return
        if self.left.get(axis.name) is axis:
            for extent, _, _ in axis.votes:
                if all(self.facts.at_most(extent, other) for other, _, _ in axis.votes):
                    axis.extent = extent
                    return
        first, _, where = axis.votes[0]
        other, span, what = next(v for v in axis.votes if v[0] != first)
        self.failed = True
        self.report(span, f"the axis '{axis.name}' has two sizes", f"{other} in {what} and {first} in {where}", "dims of one size")

    def divide(self, parts: Sequence[Axis], extent: IntExpr) -> None:
        unknown = [p for p in parts if p.extent is None]
        if len(unknown) != 1:
            return
        quotient = divided(extent, product(p.extent for p in parts if p.extent is not None))
        if quotient is not None:
            unknown[0].extent = quotient


def _count(items: Sequence[object], one: str, many: str = "") -> str:
    return f"{len(items)} {one if len(items) == 1 else many or one + 's'}"


def divided(a: IntExpr, b: IntExpr) -> IntExpr | None:
    """``a / b`` when ``b`` is one term that divides every term of ``a``, else None."""
    if len(b.terms) != 1:
        return None
    (powers, factor), out = b.terms[0], const(0)
    for m, c in a.terms:
        rest = dict(m)
        for atom, p in powers:
            if rest.get(atom, 0) < p:
                return None
            rest[atom] -= p
        if c % factor:
            return None
        out = out + IntExpr(((tuple((x, p) for x, p in sorted(rest.items(), key=lambda t: t[0].key()) if p), c // factor),))
    return floor_div(out, 1)


def bounds_of_axes(axes: Sequence[Axis]) -> tuple[Bound, ...]:
    """The axes as bound axes of the resolved form."""
    return tuple(Bound(a.name, a.extent) for a in axes)
