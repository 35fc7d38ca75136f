"""Surface syntax as a tree to search and rewrite: which names are bound where, and statements with parts replaced."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import fields, is_dataclass, replace
from typing import Any, TypeVar

from generator.formula import ir
from generator.formula.ir import Assign, Bound, For, Gather, Index, Load, Pack, Stmt
from generator.spec.integer import IntExpr, sym

__all__ = ["Scope", "axis_renamed", "index_names", "mapped", "renamed", "scopes", "statements", "substituted"]

T = TypeVar("T")
Scope = tuple[Assign, tuple[str, ...], tuple[str, ...]]  # statement, loop variables, axes of the left side


def mapped(node: T, f: Callable[[Any], Any | None]) -> T:
    """``node`` with every part for which ``f`` returns something replaced by it; parts of what is replaced are left alone."""
    made: T | None = f(node)
    if made is not None:
        return made
    if isinstance(node, tuple):
        parts = [mapped(part, f) for part in node]
        return node if all(a is b for a, b in zip(parts, node, strict=True)) else tuple(parts)  # type: ignore[return-value]
    if is_dataclass(node) and not isinstance(node, type) and type(node).__module__ == ir.__name__:
        changes = {}
        for field in fields(node):
            if field.name in ("span", "spots"):
                continue
            old = getattr(node, field.name)
            new = mapped(old, f)
            if new is not old:
                changes[field.name] = new
        return replace(node, **changes) if changes else node
    return node


def statements(body: Sequence[Stmt], loops: tuple[str, ...] = ()) -> Iterator[tuple[Assign, tuple[str, ...]]]:
    """Every assignment with the loop variables around it."""
    for stmt in body:
        if isinstance(stmt, For):
            yield from statements(stmt.body, (*loops, stmt.var))
        else:
            yield stmt, loops


def index_names(i: Index | IntExpr) -> list[str]:
    """The names in an index that could be axes."""
    if isinstance(i, IntExpr):
        return sorted(i.free())
    if isinstance(i, Pack):
        return [i.name]
    if isinstance(i, Gather):
        return [n for part in i.load.indices for n in index_names(part)]
    return [n for part in i.parts for n in index_names(part)]


def scopes(body: Sequence[Stmt], ints: set[str]) -> Iterator[Scope]:
    """Every assignment with what its left side binds; ``ints`` are names of sizes."""
    for stmt, loops in statements(body):
        left = [n for i in stmt.indices for n in index_names(i) if n not in ints and n not in loops]
        yield stmt, loops, tuple(dict.fromkeys(left))


def substituted(node: T, names: dict[str, IntExpr]) -> T:
    """``node`` with names in integer expressions replaced."""

    def one(x: Any) -> Any | None:
        if isinstance(x, IntExpr):
            return x.substitute(names) if x.free() & names.keys() else x
        return None

    return mapped(node, one)


def renamed(node: T, old: str, new: str) -> T:
    """``node`` with loads, bare names and axes called ``old`` called ``new``."""

    def one(x: Any) -> Any | None:
        if isinstance(x, Load) and x.tensor == old:
            return replace(renamed_indices(x), tensor=new)
        if isinstance(x, ir.Attr) and x.name == old:
            return replace(x, name=new)
        return None

    def renamed_indices(x: Load) -> Load:
        return replace(x, indices=tuple(mapped(i, one) for i in x.indices))

    return mapped(node, one)


def axis_renamed(node: T, old: str, new: str) -> T:
    """``node`` with the axis ``old`` called ``new``, where reductions bind it too."""

    def one(x: Any) -> Any | None:
        if isinstance(x, IntExpr):
            return x.substitute({old: sym(new)}) if old in x.free() else x
        if isinstance(x, Bound) and x.name == old:
            return replace(x, name=new)
        if isinstance(x, ir.Attr) and x.name == old:
            return replace(x, name=new)
        return None

    return mapped(node, one)
