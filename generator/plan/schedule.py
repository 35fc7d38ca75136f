"""Which statements share a stage, and the part each axis plays in it.

Statements are fused while some axis is free in all of them and every intermediate is used at the element where it
was made. What crosses a stage lives in workspace. A loop whose body cannot be fused becomes kernel-level control
around the stages of its body.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from generator.formula.ir import Bound, Gather, Load, Tensor
from generator.formula.walk import loads, rebuild
from generator.plan.axes import all_axes, extents_of, flat, tensor_axes
from generator.plan.normal import Map, NFor, Normal, NStmt, Red
from generator.spec.integer import IntExpr, sym

__all__ = [
    "Group", "Item", "LoopItem", "exposed", "groups_of", "in_parts", "outputs_of", "partition", "place",
    "reads_of", "scalar_axes", "writes_of",
]  # fmt: skip

GM = "@gm"  # suffix of a local tensor's copy in workspace


@dataclass(frozen=True, slots=True)
class Group:
    """Statements of one stage. ``grid`` are the axes free in all of them."""

    statements: tuple[NStmt, ...]
    grid: tuple[str, ...]

    @property
    def cube(self) -> bool:
        """The one statement is a product for the cube."""
        return any(isinstance(s, Red) and s.cube for s in self.statements)


@dataclass(frozen=True, slots=True)
class LoopItem:
    """A kernel-level loop around stages."""

    loop: NFor
    items: tuple[Item, ...]


Item = Group | LoopItem


def scalar_axes(body: Iterable[NStmt]) -> set[str]:
    """Axes that index a gathered load: their value must be known to the scalar unit."""
    out: set[str] = set()
    for s in flat(body):
        for ld in loads(s.value):
            for i in ld.indices:
                if isinstance(i, Gather):
                    out |= {n for j in i.load.indices if isinstance(j, IntExpr) for n in j.free()}
    return out


def _grid(statements: Sequence[NStmt]) -> tuple[str, ...]:
    common: list[str] | None = None
    reduced: set[str] = set()
    for s in flat(statements):
        names = [b.name for b in s.axes]
        common = names if common is None else [a for a in common if a in names]
        if isinstance(s, Red):
            reduced |= {b.name for b in s.reduced}
    return tuple(a for a in common or () if a not in reduced)


def _partly(statements: Sequence[NStmt], tensors: Iterable[str], shapes: Mapping[str, tuple[IntExpr, ...]]) -> bool:
    """Some statement writes a part of one of ``tensors``, along an axis of another extent than the tensor's."""
    wanted = set(tensors)
    for s in flat(statements):
        if s.target in wanted and s.target in shapes:
            extents = {b.name: b.extent for b in s.axes}
            if any(i.symbol in extents and extents[i.symbol] != e for i, e in zip(s.index, shapes[s.target], strict=True)):
                return True
    return False


def in_parts(body: Iterable[NStmt], shapes: Mapping[str, tuple[IntExpr, ...]]) -> set[str]:
    """Tensors that several statements write, each a part of its own: what the language lets them write is disjoint."""
    written: dict[str, list[Map | Red]] = {}
    for s in flat(body):
        written.setdefault(s.target, []).append(s)
    return {t for t, all_ in written.items() if len(all_) > 1 and t in shapes and all(_part(s, shapes[t]) for s in all_)}


def _part(s: Map | Red, shape: Sequence[IntExpr]) -> bool:
    """The statement writes less than the whole tensor: some index is no axis over all of its dim."""
    extents = {b.name: b.extent for b in s.axes}
    return any(i.symbol not in extents or extents[i.symbol] != e for i, e in zip(s.index, shape, strict=True))


def _fusable(
    statements: Sequence[NStmt], stored: frozenset[str] = frozenset(), shapes: Mapping[str, tuple[IntExpr, ...]] | None = None
) -> tuple[str, ...] | None:
    """The grid axes when the statements can share a stage, else None. ``stored``: outputs, whose pieces do not overlap."""
    written = Counter(s.target for s in flat(statements))
    read = {ld.tensor for s in flat(statements) for ld in loads(s.value)}
    made = written.keys() & read | {t for t, n in written.items() if n > 1 and t not in stored}
    if _partly(statements, made, shapes or {}):
        return None
    axes = tensor_axes(statements, made)
    grid = list(_grid(statements))
    for s in flat(statements):
        own = {b.name for b in all_axes(s)}
        for tensor, index, where in [(ld.tensor, ld.indices, ld) for ld in loads(s.value)] + [(s.target, s.index, None)]:
            if tensor not in made:
                continue
            if isinstance(where, Load) and where.guarded:
                return None
            for i, axis in zip(index, axes[tensor], strict=True):
                if not isinstance(i, IntExpr):
                    return None
                if i.symbol is not None and i.symbol == axis:
                    continue
                moving = own & i.free()
                if moving and where is None:
                    return None  # part of a tensor is written, along an axis of another extent
                if moving and i.symbol is None and not i.is_affine_in(moving):
                    return None
                grid = [g for g in grid if g != axis and g not in moving]
    for g in list(grid):  # a grid axis must index every tensor made here
        if any(g not in a for a in axes.values()):
            grid.remove(g)
    return tuple(grid)


def _single(s: NStmt) -> Group:
    return Group((s,), _fusable((s,)) or ())


def _worth(current: Sequence[NStmt], s: NStmt, tiled: set[str], together: Sequence[str], long: Callable[[IntExpr], bool]) -> bool:
    """Whether fusing saves more than it costs: a long axis that only one side tiles would have to be whole in UB, which
    pays when both sides touch a tensor along it. ``tiled``: the axes either side tiles alone."""
    extents = extents_of([*current, s])
    lost = {a for a in tiled - set(together) if long(extents[a])}
    if not lost:
        return True
    mine, theirs = _touched((s,), lost), _touched(current, lost)
    return bool(mine & theirs)


def _touched(body: Sequence[NStmt], axes: set[str]) -> set[str]:
    """Tensors accessed along one of ``axes``."""
    out: set[str] = set()
    for s in flat(body):
        for tensor, index in [(ld.tensor, ld.indices) for ld in loads(s.value)] + [(s.target, s.index)]:
            if any(isinstance(i, IntExpr) and i.free() & axes for i in index):
                out.add(tensor)
    return out


def _no_axis(_: IntExpr) -> bool:
    return False


def partition(
    body: Sequence[NStmt], fuse: bool, stored: frozenset[str] = frozenset(), long: Callable[[IntExpr], bool] = _no_axis,
    shapes: Mapping[str, tuple[IntExpr, ...]] | None = None,
) -> tuple[Item, ...]:  # fmt: skip
    """Groups in order; ``stored`` are the outputs, ``long`` tells extents that may not fit UB, ``shapes`` are those of local
    tensors. ``fuse=False``: one statement a group, loops at kernel level."""
    items: list[Item] = []
    current: list[NStmt] = []

    def flush() -> None:
        if current:
            items.append(Group(tuple(current), _fusable(current, stored) or ()))
            current.clear()

    for s in body:
        if isinstance(s, Red) and s.cube:
            flush()
            items.append(Group((s,), ()))
            continue
        if fuse:
            alone = _fusable((s,), stored)
            together = _fusable([*current, s], stored, shapes)
            before = _fusable(current, stored) or ()
            gridless = not alone and not before
            fits = alone is not None and together is not None and (not current or together or gridless)
            if fits and (not current or _worth(current, s, {*before, *(alone or ())}, together or (), long)):
                current.append(s)
                continue
            flush()
            if alone is not None and (not isinstance(s, NFor) or alone):
                current.append(s)
                continue
        flush()
        if isinstance(s, NFor):
            items.append(LoopItem(s, partition(s.body, fuse, stored, long, shapes)))
        else:
            items.append(_single(s))
    flush()
    return tuple(items)


def outputs_of(normal: Normal) -> frozenset[str]:
    """Names of the output tensors."""
    return frozenset(t.name for t in normal.tensors.values() if t.role == "output")


def groups_of(items: Iterable[Item]) -> Iterator[Group]:
    """All groups, in order."""
    for i in items:
        if isinstance(i, LoopItem):
            yield from groups_of(i.items)
        else:
            yield i


# --- placement: what lives in workspace --------------------------------------------------------------------------------


def reads_of(g: Group) -> set[str]:
    """Tensors that a stage reads."""
    return {ld.tensor for s in flat(g.statements) for ld in loads(s.value)}


def writes_of(g: Group) -> set[str]:
    """Tensors that a stage writes."""
    return {s.target for s in flat(g.statements)}


def exposed(statements: Sequence[NStmt]) -> set[str]:
    """Tensors read before they are surely written, in program order."""
    out: set[str] = set()
    written: set[str] = set()

    def visit(body: Sequence[NStmt], sure: bool) -> None:
        for s in body:
            if isinstance(s, NFor):
                visit(s.body, sure)
                continue
            for ld in loads(s.value):
                if ld.tensor not in written:
                    out.add(ld.tensor)
            plain = all(i.symbol in {b.name for b in s.axes} for i in s.index)
            if plain or s.target not in out:
                written.add(s.target)

    visit(statements, True)
    return out


def _to_gm(s: NStmt, names: set[str]) -> NStmt:
    if isinstance(s, NFor):
        return replace(s, body=tuple(_to_gm(c, names) for c in s.body))

    def expr(e: object) -> object:
        if isinstance(e, Load) and e.tensor in names:
            e = replace(e, tensor=e.tensor + GM)
        return rebuild(e, expr)  # type: ignore[arg-type]

    return replace(s, value=expr(s.value))  # type: ignore[arg-type]


def _stored(s: NStmt, names: set[str]) -> NStmt:
    """Written to workspace at once: nothing in the group reads it."""
    return s if isinstance(s, NFor) or s.target not in names else replace(s, target=s.target + GM)


def _copy(tensor: Tensor, axes: tuple[str | None, ...], to_gm: bool) -> Map:
    names = tuple(a if a is not None else f"{tensor.name}_d{d}" for d, a in enumerate(axes))
    index = tuple(sym(n) for n in names)
    bounds = tuple(Bound(n, e) for n, e in zip(names, tensor.shape, strict=True))
    source, target = (tensor.name, tensor.name + GM) if to_gm else (tensor.name + GM, tensor.name)
    return Map(target, index, bounds, Load(source, index))


def place(items: tuple[Item, ...], normal: Normal, kept: Iterable[str] = ()) -> tuple[tuple[Item, ...], tuple[str, ...]]:
    """Route what crosses groups through workspace: (items, tensors in workspace, without the suffix). ``kept``: tensors
    that live there in any case."""
    uses: dict[str, int] = {}
    for g in groups_of(items):
        for t in reads_of(g) | writes_of(g):
            if normal.tensors[t].role == "local":
                uses[t] = uses.get(t, 0) + 1
    crossing = {t for t, n in uses.items() if n > 1} | _carried(items, normal) | set(kept)
    axes = tensor_axes(normal.body, crossing)
    placed = _place(items, normal, crossing, axes)
    return placed, tuple(sorted(crossing))


def _carried(items: tuple[Item, ...], normal: Normal) -> set[str]:
    """Local tensors a group inside a kernel-level loop needs from the iteration before."""
    out: set[str] = set()
    for i in items:
        if isinstance(i, LoopItem):
            out |= _carried(i.items, normal)
            for g in groups_of(i.items):
                out |= {t for t in exposed(g.statements) & writes_of(g) if normal.tensors[t].role == "local"}
    return out


def _place(items: tuple[Item, ...], normal: Normal, crossing: set[str], axes: Mapping[str, tuple[str | None, ...]]) -> tuple[Item, ...]:
    out: list[Item] = []
    for i in items:
        if isinstance(i, LoopItem):
            out.append(replace(i, items=_place(i.items, normal, crossing, axes)))
        elif len(i.statements) == 1 and not isinstance(i.statements[0], NFor):
            out += _place_single(i, normal, crossing)
        else:
            out.append(_place_fused(i, normal, crossing, axes))
    return tuple(out)


def _place_single(g: Group, normal: Normal, crossing: set[str]) -> list[Item]:
    s = g.statements[0]
    assert not isinstance(s, NFor)
    own = [ld for ld in loads(s.value) if ld.tensor == s.target]
    mixed = any(ld.indices != s.index or ld.guarded for ld in own) or (bool(own) and isinstance(s, Red))
    moved = _to_gm(s, crossing)
    assert not isinstance(moved, NFor)
    if s.target not in crossing:
        return [replace(g, statements=(moved,))]
    target = s.target + GM
    if not mixed:
        return [replace(g, statements=(replace(moved, target=target),))]
    fresh = s.target + "_next" + GM  # reads other elements of what it writes: through a copy
    copied = Map(target, s.index, s.axes, Load(fresh, s.index))
    return [replace(g, statements=(replace(moved, target=fresh),)), _single(copied)]


def _place_fused(g: Group, normal: Normal, crossing: set[str], axes: Mapping[str, tuple[str | None, ...]]) -> Group:
    written = writes_of(g)
    stored = (written & crossing) - reads_of(g) - {s.target for n in g.statements if isinstance(n, NFor) for s in flat((n,))}
    only_read = (reads_of(g) & crossing) - written
    body = [_stored(_to_gm(s, only_read), stored) for s in g.statements]
    held = (written & crossing) - stored
    first = [_copy(normal.tensors[t], axes[t], False) for t in sorted(exposed(g.statements) & held)]
    last = [_copy(normal.tensors[t], axes[t], True) for t in sorted(held)]
    statements = (*first, *body, *last)
    return Group(statements, tuple(a for a in g.grid if a in (_fusable(statements, outputs_of(normal)) or ())))
