"""Axes that move together become one: short rows that lie end to end in memory are one long row.

A pair of axes is *joint* in a statement when every access either lacks both, or has them as neighbouring dims of a tensor
whose rows they fill, or as one index ``c*(E*a + b)``, ``E`` being the extent of ``b``. Where that holds for all accesses of
a tensor in the program, its two dims become one. Only axes proved to be short are joined to the one before them: rows of
fewer elements than one repeat leave lanes idle, and a tile's rows are padded to 32 bytes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Final

from generator.formula.ir import Bound, Expr, Gather, IntVal, Load, Tensor
from generator.formula.walk import rebuild, walk
from generator.plan.axes import flat
from generator.plan.bounds import Bounds
from generator.plan.normal import Map, NFor, Normal, NStmt, Red, extent_of
from generator.spec.integer import IntExpr, sym

__all__ = ["coalesced"]

SHORT: Final = 64  # elements: float32 lanes of one repeat (facts.md B.2)

_Pair = tuple[Bound, Bound]
_Dims = frozenset[tuple[str, int]]  # a tensor's dim, the slower of two that are to be one
_Access = tuple[str, tuple[object, ...], tuple[int, ...]]  # tensor, indices, guarded dims


def coalesced(normal: Normal, bounds: Bounds) -> Normal:
    """``normal`` with joint axes merged and its tensors' dims with them; offsets in memory are the same."""
    while (done := _once(normal, bounds)) is not None:
        normal = done
    return normal


def _once(normal: Normal, bounds: Bounds) -> Normal | None:
    body = list(flat(normal.body))
    merged: _Dims = frozenset((t.name, d) for t in normal.tensors.values() if t.flat is None for d in range(len(t.shape) - 1))
    while True:
        pairs = [_joint(s, normal.tensors, merged, bounds) for s in body]
        kept = _agreed(body, pairs, merged)
        if kept == merged:
            break
        merged = kept
    if not any(pairs):
        return None
    touched = {a[0] for s in body for a in _accesses(s)}
    merged = frozenset(x for x in merged if x[0] in touched)
    chosen = {id(s): p for s, p in zip(body, pairs, strict=True) if p is not None}
    names = {b.name for s in body for b in (*s.axes, *(s.reduced if isinstance(s, Red) else ()))}
    tensors = {n: _reshaped(t, merged) for n, t in normal.tensors.items()}
    return replace(normal, body=tuple(_statement(s, chosen, merged, names) for s in normal.body), tensors=tensors)


def _accesses(s: Map | Red) -> Iterator[_Access]:
    """Every access of a statement, loads inside gather indices too."""
    yield s.target, s.index, ()
    for e in walk(s.value):
        if isinstance(e, Load):
            yield e.tensor, e.indices, e.guarded


def _joint(s: Map | Red, tensors: Mapping[str, Tensor], merged: _Dims, bounds: Bounds) -> _Pair | None:
    """The innermost pair of axes that is joint in the statement, were ``merged`` dims one."""

    def short(e: IntExpr) -> bool:
        most = bounds.upper(e)
        return most is not None and most <= SHORT

    groups = [s.axes]
    if isinstance(s, Red) and s.op not in ("argmax", "argmin"):  # their results are positions along the axis
        groups.append(s.reduced)
    inside = {n for e in walk(s.value) if isinstance(e, IntVal) for n in e.value.free()}
    for group in groups:
        for b in reversed(group):
            if not short(extent_of(b)) or b.name in inside:
                continue
            for a in group:
                if a is not b and a.name not in inside and all(_together(x, a, b, tensors, merged) for x in _accesses(s)):
                    return a, b
    return None


def _together(access: _Access, a: Bound, b: Bound, tensors: Mapping[str, Tensor], merged: _Dims) -> bool:
    tensor, index, guarded = access
    moving = [d for d, i in enumerate(index) if _free(i) & {a.name, b.name}]
    if not moving:
        return True
    if any(d in guarded or not isinstance(index[d], IntExpr) for d in moving):
        return False
    if len(moving) == 1:
        i = index[moving[0]]
        assert isinstance(i, IntExpr)
        return i.is_affine_in((a.name, b.name)) and i.coefficient(a.name) == i.coefficient(b.name) * extent_of(b)
    d = moving[0]
    whole = tensors[tensor].shape[d : d + 2] == (a.extent, b.extent)
    return len(moving) == 2 and whole and (tensor, d) in merged and _neighbours(index, d, a, b)


def _neighbours(index: tuple[object, ...], d: int, a: Bound, b: Bound) -> bool:
    return d + 1 < len(index) and index[d] == sym(a.name) and index[d + 1] == sym(b.name)


def _free(i: object) -> frozenset[str]:
    if isinstance(i, IntExpr):
        return i.free()
    return frozenset().union(*(_free(j) for j in i.load.indices)) if isinstance(i, Gather) else frozenset()


def _agreed(body: list[Map | Red], pairs: list[_Pair | None], merged: _Dims) -> _Dims:
    """The dims that every access has as a joint pair of its statement."""
    left = set(merged)
    for s, pair in zip(body, pairs, strict=True):
        for tensor, index, guarded in _accesses(s):
            for d in range(len(index) - 1):
                if pair is None or {d, d + 1} & set(guarded) or not _neighbours(index, d, *pair):
                    left.discard((tensor, d))
    return frozenset(left)


# --- rewriting ------------------------------------------------------------------------------------------------------------


def _reshaped(t: Tensor, merged: _Dims) -> Tensor:
    d = next((d for d in range(len(t.shape) - 1) if (t.name, d) in merged), None)
    return t if d is None else replace(t, shape=(*t.shape[:d], t.shape[d] * t.shape[d + 1], *t.shape[d + 2 :]))


def _statement(s: NStmt, chosen: Mapping[int, _Pair], merged: _Dims, names: set[str]) -> NStmt:
    if isinstance(s, NFor):
        return replace(s, body=tuple(_statement(c, chosen, merged, names) for c in s.body))
    pair = chosen.get(id(s))
    if pair is None:
        return s
    a, b = pair
    one = Bound(_name(a, b, names), extent_of(a) * extent_of(b))

    def index(tensor: str, old: tuple[object, ...]) -> tuple[object, ...]:
        d = next((d for d in range(len(old) - 1) if (tensor, d) in merged), None)
        if d is not None:
            return (*old[:d], sym(one.name), *old[d + 2 :])
        return tuple(i.substitute({a.name: 0, b.name: sym(one.name)}) if isinstance(i, IntExpr) else i for i in old)

    def expr(e: Expr) -> Expr:
        if isinstance(e, Load):
            d = next((d for d in range(len(e.indices) - 1) if (e.tensor, d) in merged), None)
            guarded = tuple(g - 1 if d is not None and g > d else g for g in e.guarded)
            e = replace(e, indices=index(e.tensor, e.indices), guarded=guarded, spots=())  # type: ignore[arg-type]
        return rebuild(e, expr)

    def axes(old: tuple[Bound, ...]) -> tuple[Bound, ...]:
        return tuple(one if x is a else x for x in old if x is not b)

    done = replace(s, index=index(s.target, s.index), axes=axes(s.axes), value=expr(s.value))  # type: ignore[arg-type]
    return replace(done, reduced=axes(s.reduced)) if isinstance(done, Red) and isinstance(s, Red) else done


def _name(a: Bound, b: Bound, names: set[str]) -> str:
    name = f"{a.name}_{b.name}"
    while name in names:
        name += "_"
    return name
