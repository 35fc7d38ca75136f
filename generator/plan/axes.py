"""One name, one extent, one meaning: axes of a normal form made comparable between statements.

After :func:`unify`, an axis name stands for the same extent everywhere, and a local tensor's dim is indexed by the
axis that wrote it wherever a plain renaming allows. Then statements that share axis names can share a tile.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from generator.formula.ir import Bound, Expr, Gather, IntVal, Load
from generator.formula.walk import loads, rebuild
from generator.plan.normal import Map, NFor, Normal, NStmt, Red
from generator.spec.integer import IntExpr, sym

__all__ = ["all_axes", "extents_of", "flat", "rename_expr", "tensor_axes", "unify"]


def flat(body: Iterable[NStmt]) -> Iterator[Map | Red]:
    """Every statement, those in loops included, in order."""
    for s in body:
        if isinstance(s, NFor):
            yield from flat(s.body)
        else:
            yield s


def all_axes(s: Map | Red) -> tuple[Bound, ...]:
    """Free and reduced axes."""
    return s.axes + (s.reduced if isinstance(s, Red) else ())


def extents_of(body: Iterable[NStmt]) -> dict[str, IntExpr]:
    """Axis name to extent, over all statements (first one met)."""
    out: dict[str, IntExpr] = {}
    for s in flat(body):
        for b in all_axes(s):
            if b.extent is not None:
                out.setdefault(b.name, b.extent)
    return out


def tensor_axes(body: Iterable[NStmt], tensors: Iterable[str]) -> dict[str, tuple[str | None, ...]]:
    """For each local tensor, per dim, the axis that indexes it in its writes (None where that is not one plain axis)."""
    wanted = set(tensors)
    out: dict[str, tuple[str | None, ...]] = {}
    for s in flat(body):
        if s.target not in wanted:
            continue
        names = {b.name for b in s.axes}
        found = tuple(i.symbol if i.symbol in names else None for i in s.index)
        old = out.get(s.target, found)
        out[s.target] = tuple(a if a is not None else b for a, b in zip(old, found, strict=True))
    return out


def rename_expr(e: Expr, names: Mapping[str, IntExpr]) -> Expr:
    """``e`` with axis symbols replaced, in indices and in values."""
    if isinstance(e, IntVal):
        return replace(e, value=e.value.substitute(names))
    if isinstance(e, Load):
        done = tuple(i.substitute(names) if isinstance(i, IntExpr) else i for i in e.indices)
        e = replace(e, indices=done)
        if any(isinstance(i, Gather) for i in done):
            return rebuild(e, lambda c: rename_expr(c, names))
        return e
    return rebuild(e, lambda c: rename_expr(c, names))


def _renamed(s: Map | Red, names: Mapping[str, str]) -> Map | Red:
    if not names:
        return s
    env = {a: sym(b) for a, b in names.items()}

    def bound(b: Bound) -> Bound:
        return replace(b, name=names.get(b.name, b.name))

    index = tuple(i.substitute(env) for i in s.index)
    axes, value = tuple(map(bound, s.axes)), rename_expr(s.value, env)
    if isinstance(s, Red):
        return replace(s, index=index, axes=axes, value=value, reduced=tuple(map(bound, s.reduced)))
    return replace(s, index=index, axes=axes, value=value)


@dataclass
class _Unifier:
    taken: set[str]
    extents: dict[str, IntExpr]
    dims: dict[str, tuple[str | None, ...]]
    shapes: Mapping[str, tuple[IntExpr, ...]]

    def statement(self, s: Map | Red) -> Map | Red:
        s = self.follow_producers(s)
        s = self.separate(s)
        names = {b.name for b in s.axes}
        found = tuple(i.symbol if i.symbol in names else None for i in s.index)
        self.dims.setdefault(s.target, found)
        return s

    def follow_producers(self, s: Map | Red) -> Map | Red:
        """Take over the axis names with which the loaded local tensors were written, where that is one-to-one."""
        own = {b.name: b.extent for b in all_axes(s)}
        names: dict[str, str] = {}
        pairs = [(ld.tensor, ld.indices) for ld in loads(s.value)] + [(s.target, s.index)]
        for tensor, index in pairs:
            for i, axis in zip(index, self.dims.get(tensor, ()), strict=False):
                a = i.symbol if isinstance(i, IntExpr) else None
                if axis is None or a is None or a not in own or a in names or axis in own or axis in names.values():
                    continue
                if self.extents.get(axis) == own[a]:
                    names[a] = axis
        return _renamed(s, names)

    def separate(self, s: Map | Red) -> Map | Red:
        """Rename axes whose name is taken by a dim, an attribute or an axis of another extent."""
        names: dict[str, str] = {}
        for b in all_axes(s):
            assert b.extent is not None
            name, k = b.name, 0
            while name in self.taken or self.extents.get(name, b.extent) != b.extent or name in names.values():
                k += 1
                name = f"{b.name}{k}"
            if name != b.name:
                names[b.name] = name
            self.extents.setdefault(name, b.extent)
        return _renamed(s, names)

    def block(self, body: tuple[NStmt, ...]) -> tuple[NStmt, ...]:
        return tuple(replace(s, body=self.block(s.body)) if isinstance(s, NFor) else self.statement(s) for s in body)


def unify(normal: Normal, taken: Iterable[str]) -> Normal:
    """``normal`` with comparable axes; ``taken`` are names axes must not have (dims, attributes, loop variables)."""
    shapes = {n: t.shape for n, t in normal.tensors.items()}
    u = _Unifier(set(taken), {}, {}, shapes)
    return replace(normal, body=u.block(normal.body))
