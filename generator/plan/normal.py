"""Normal form for planning: every statement is a pure map, or one reduction of a pure map.

Input: a resolved ``Program`` and the set of optional tensors that are present. Reductions inside expressions move
to statements of their own, means become scaled sums, any/all become max/min of 0/1, statements only absent outputs
need disappear, an output that is read back gets a local twin, and equal reductions of equal values are computed once.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Literal

from generator.formula.ir import (
    Assign,
    Attr,
    Binary,
    Bound,
    Compare,
    Expr,
    For,
    Gather,
    IntVal,
    Load,
    Logic,
    Num,
    Program,
    Reduce,
    Span,
    Stmt,
    Tensor,
    Where,
)
from generator.formula.printer import text
from generator.formula.walk import loads, rebuild, symbols
from generator.spec.integer import IntExpr, product, sym

__all__ = ["Map", "NFor", "NStmt", "Normal", "Red", "extent_of", "free_axes", "normalise"]

PlainRed = Literal["sum", "prod", "max", "min", "argmax", "argmin"]


@dataclass(frozen=True, slots=True)
class Map:
    """``target[index] = value`` over ``axes``; no reduction inside ``value``."""

    target: str
    index: tuple[IntExpr, ...]
    axes: tuple[Bound, ...]
    value: Expr
    span: Span | None = field(default=None, compare=False)
    origin: str = field(default="", compare=False)  # the statement of the formula it comes from


@dataclass(frozen=True, slots=True)
class Red:
    """``target[axes] = op over reduced of value``; the target is a local tensor indexed by its axes (and constants)."""

    target: str
    index: tuple[IntExpr, ...]
    axes: tuple[Bound, ...]
    op: PlainRed
    reduced: tuple[Bound, ...]
    value: Expr
    span: Span | None = field(default=None, compare=False)
    origin: str = field(default="", compare=False)
    cube: bool = False  # a product of two tensors for the cube, which may be written to an output directly


@dataclass(frozen=True, slots=True)
class NFor:
    """A loop over a carried tensor."""

    var: str
    start: IntExpr
    stop: IntExpr
    step: int
    body: tuple[NStmt, ...]


NStmt = Map | Red | NFor


@dataclass(frozen=True, slots=True)
class Normal:
    """The program in normal form. ``tensors`` has every tensor a statement names."""

    body: tuple[NStmt, ...]
    tensors: dict[str, Tensor]


def free_axes(e: Expr, scope: Iterable[Bound]) -> tuple[Bound, ...]:
    """The axes of ``scope``, in order, that ``e`` (without reductions) depends on."""
    used = symbols(e)
    return tuple(b for b in scope if b.name in used)


# --- normalisation ---------------------------------------------------------------------------------------------------


class _Normaliser:
    def __init__(self, program: Program, present: frozenset[str]) -> None:
        self.tensors = dict(program.tensors)
        self.present = present
        self.counter = 0
        self.read_outputs = {
            ld.tensor for ld in _all_loads(program.body) if self.tensors[ld.tensor].role == "output"
        }
        self.filled = {t.name for t in self.tensors.values() if t.role == "output" and t.fill is not None and t.flat is None}
        self.versions: dict[str, int] = {}
        self.known: dict[tuple[object, ...], str] = {}
        self.span: Span | None = None
        self.origin = ""

    def fresh(self, hint: str, axes: tuple[Bound, ...]) -> Tensor:
        self.counter += 1
        name = f"{hint}_{self.counter}"
        while name in self.tensors:
            name += "_"
        t = Tensor(name=name, shape=tuple(extent_of(b) for b in axes), role="local")
        self.tensors[name] = t
        return t

    def block(self, body: tuple[Stmt, ...]) -> list[NStmt]:
        out: list[NStmt] = []
        for s in body:
            if isinstance(s, For):
                self.known.clear()
                inner = self.block(s.body)
                self.known.clear()
                out.append(NFor(s.var, s.start, s.stop, s.step, tuple(inner)))
            else:
                self.assign(s, out)
        return out

    def assign(self, s: Assign, out: list[NStmt]) -> None:
        index = tuple(i for i in s.indices if isinstance(i, IntExpr))
        assert len(index) == len(s.indices), "validated: left sides are affine"
        self.span = s.span
        self.origin = text(s, extents=False).strip()
        local = self.local_name(s.tensor)
        value = self.hoist(s.value, s.axes, out, local, index)
        if value is not None:
            out.append(Map(local, index, s.axes, value, s.span, self.origin))
        self.touch(local)
        if local != s.tensor and s.tensor not in self.filled:
            out.append(Map(s.tensor, index, s.axes, Load(local, index), s.span, self.origin))

    def local_name(self, tensor: str) -> str:
        """Outputs that are read back, and those with a value where the formula writes none, are computed in a local twin,
        unrounded, and stored from it."""
        t = self.tensors[tensor]
        if tensor not in self.read_outputs | self.filled:
            return tensor
        twin = tensor + "_local"
        while twin in self.tensors and self.tensors[twin].role != "local":
            twin += "_"
        if twin not in self.tensors:
            self.tensors[twin] = Tensor(name=twin, shape=t.shape, role="local", kind=t.kind)
        return twin

    def whole(self, tensor: str, value: Expr | None) -> Map:
        """Every element of a filled output's twin becomes ``value``; without one, the output becomes its twin."""
        twin, shape = self.local_name(tensor), self.tensors[tensor].shape
        axes = tuple(Bound(f"{tensor}_d{d}", e) for d, e in enumerate(shape))
        index = tuple(sym(b.name) for b in axes)
        if value is not None:
            return Map(twin, index, axes, value)
        return Map(tensor, index, axes, Load(twin, index))

    def touch(self, tensor: str) -> None:
        self.versions[tensor] = self.versions.get(tensor, 0) + 1

    def hoist(self, e: Expr, axes: tuple[Bound, ...], out: list[NStmt], target: str, index: tuple[IntExpr, ...]) -> Expr | None:
        """``e`` without reductions; None when the whole of ``e`` is one reduction that could be written to its target."""
        if isinstance(e, Reduce) and e.op not in ("mean",) and self.tensors[target].role == "local" and _plain(index, axes):
            op, body = self.reduction(e, axes, out)
            out.append(Red(target, index, axes, op, e.axes, body, e.span or self.span, self.origin))
            return None
        return self.strip(e, axes, out)

    def reduction(self, e: Reduce, scope: tuple[Bound, ...], out: list[NStmt]) -> tuple[PlainRed, Expr]:
        inner = tuple(b for b in scope if b.name not in {a.name for a in e.axes}) + e.axes
        body = self.strip(e.body, inner, out)
        if e.op in ("any", "all"):
            return ("max" if e.op == "any" else "min"), Where(body, Num(1.0), Num(0.0))
        assert e.op in ("sum", "prod", "max", "min", "argmax", "argmin", "mean")
        return ("sum" if e.op == "mean" else e.op), body

    def strip(self, e: Expr, scope: tuple[Bound, ...], out: list[NStmt]) -> Expr:
        if isinstance(e, Load):
            twin = self.local_name(e.tensor) if self.tensors[e.tensor].role == "output" else e.tensor
            e = replace(e, tensor=twin)
        if not isinstance(e, Reduce):
            return rebuild(e, lambda c: self.strip(c, scope, out))
        op, body = self.reduction(e, scope, out)
        bound = {a.name for a in e.axes}
        axes = free_axes(body, (b for b in scope if b.name not in bound))
        key = (op, e.axes, body, axes, tuple(sorted((ld.tensor, self.versions.get(ld.tensor, 0)) for ld in loads(body))))
        name = self.known.get(key)
        if name is None:
            t = self.fresh(op, axes)
            name = self.known[key] = t.name
            out.append(Red(name, tuple(sym(b.name) for b in axes), axes, op, e.axes, body, e.span or self.span, self.origin))
        load: Expr = Load(name, tuple(sym(b.name) for b in axes))
        if e.op == "mean":
            count: Expr = IntVal(product(extent_of(a) for a in e.axes)) if e.divisor is None else self.strip(e.divisor, scope, out)
            if isinstance(count, (IntVal, Num, Attr)):
                return Binary("mul", load, Binary("div", Num(1.0), count))
            return Binary("div", load, count)
        if e.op in ("any", "all"):
            return Compare("gt", load, Num(0.5))
        return load


def extent_of(b: Bound) -> IntExpr:
    """The extent of a resolved axis."""
    assert b.extent is not None
    return b.extent


def _plain(index: tuple[IntExpr, ...], axes: tuple[Bound, ...]) -> bool:
    names = [i.symbol for i in index]
    return sorted(n for n in names if n) == sorted(b.name for b in axes) and len(names) == len(axes)


def _all_loads(body: Iterable[Stmt]) -> Iterator[Load]:
    for s in body:
        if isinstance(s, For):
            yield from _all_loads(s.body)
        else:
            yield from loads(s.value)


def _sweep(body: Iterable[NStmt], needed: set[str], tensors: dict[str, Tensor], present: frozenset[str]) -> tuple[NStmt, ...]:
    """Drop statements whose target is an absent output or a local nothing needs (backwards over the block)."""
    kept: list[NStmt] = []
    for s in reversed(list(body)):
        if isinstance(s, NFor):
            while True:  # what one iteration needs, the one before it must make
                before = set(needed)
                inner = _sweep(s.body, needed, tensors, present)
                if needed == before:
                    break
            if inner:
                kept.append(replace(s, body=inner))
            continue
        t = tensors[s.target]
        if (t.role == "output" and (not t.optional or s.target in present)) or (t.role == "local" and s.target in needed):
            needed |= {ld.tensor for ld in loads(s.value)}
            kept.append(s)
    return tuple(reversed(kept))


def _inside(e: Load, t: Tensor) -> Expr:
    """No guarded index of ``e`` leaves the tensor."""
    conds: list[Expr] = []
    for d in e.guarded:
        i = e.indices[d]
        assert isinstance(i, IntExpr | Gather), "resolved"
        at: Expr = i.load if isinstance(i, Gather) else IntVal(i)
        conds += [Compare("ge", at, Num(0.0)), Compare("lt", at, IntVal(t.shape[d]))]
    out = conds[0]
    for c in conds[1:]:
        out = Logic("and", out, c)
    return out


def _absent(e: Expr, tensors: dict[str, Tensor], present: frozenset[str]) -> Expr:
    """Loads of absent optional inputs become the value the spec's language gives them: their ``fill``, or 0, where the index
    stays inside."""
    if isinstance(e, Load):
        t = tensors[e.tensor]
        if t.role == "input" and t.optional and e.tensor not in present:
            fill, outside = (v if v is not None else 0.0 for v in (t.fill, e.outside))
            return Num(fill) if not e.guarded or fill == outside else Where(_inside(e, t), Num(fill), Num(outside))
    return rebuild(e, lambda c: _absent(c, tensors, present))


def _bind_absent(body: tuple[Stmt, ...], tensors: dict[str, Tensor], present: frozenset[str]) -> tuple[Stmt, ...]:
    out: list[Stmt] = []
    for s in body:
        if isinstance(s, For):
            out.append(replace(s, body=_bind_absent(s.body, tensors, present)))
        else:
            out.append(replace(s, value=_absent(s.value, tensors, present)))
    return tuple(out)


def normalise(program: Program, present: frozenset[str]) -> Normal:
    """The normal form of ``program`` with exactly the optional tensors ``present`` given."""
    n = _Normaliser(program, present)
    body = n.block(_bind_absent(program.body, program.tensors, present))
    fills = [n.whole(t, Num(program.tensors[t].fill or 0.0)) for t in sorted(n.filled)]
    body = [*fills, *body, *(n.whole(t, None) for t in sorted(n.filled))]
    needed: set[str] = set()
    return Normal(_sweep(body, needed, n.tensors, present), n.tensors)
