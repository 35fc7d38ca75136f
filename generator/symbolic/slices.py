"""The statements of a formula, in surface or resolved form, that one tensor depends on."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import fields, is_dataclass, replace
from typing import Any

from generator.formula import ir
from generator.formula.ir import Assign, For, Program, Stmt

__all__ = ["names_read", "program_slice", "slice_of"]


def names_read(node: Any) -> Iterator[str]:
    """Every tensor or bare name that a node reads, indices of gathers included."""
    if isinstance(node, ir.Load):
        yield node.tensor
    elif isinstance(node, ir.Attr):
        yield node.name
    if isinstance(node, tuple):
        for part in node:
            yield from names_read(part)
    elif is_dataclass(node) and type(node).__module__ == ir.__name__:
        for f in fields(node):
            if f.name not in ("span", "spots"):
                yield from names_read(getattr(node, f.name))


def slice_of(body: Sequence[Stmt], wanted: str) -> tuple[Stmt, ...]:
    """The statements of ``body`` that ``wanted`` depends on, in order. A loop is kept with those of its statements that matter."""
    needed = {wanted}
    kept = _kept(body, needed)
    made = {s.tensor for s in _assigns(kept)}
    if not (needed - made) & {s.tensor for s in _assigns(body)}:
        return kept
    while True:  # a name is read above its assignment
        before = len(needed)
        kept = _kept(body, needed)
        if len(needed) == before:
            return kept


def _assigns(body: Sequence[Stmt]) -> Iterator[Assign]:
    for stmt in body:
        if isinstance(stmt, For):
            yield from _assigns(stmt.body)
        elif isinstance(stmt, Assign):
            yield stmt


def _kept(body: Sequence[Stmt], needed: set[str]) -> tuple[Stmt, ...]:
    out: list[Stmt] = []
    for stmt in reversed(body):
        if isinstance(stmt, For):
            before = -1
            while before != len(needed):  # a round reads what the last one stored
                before = len(needed)
                inner = _kept(stmt.body, needed)
            if inner:
                out.append(replace(stmt, body=inner))
        elif isinstance(stmt, Assign) and stmt.tensor in needed:
            needed.update(names_read(stmt.value))
            needed.update(n for i in stmt.indices for n in names_read(i))
            out.append(stmt)
    return tuple(reversed(out))


def program_slice(program: Program, wanted: Sequence[str]) -> Program:
    """``program`` without what the outputs ``wanted`` do not depend on; other outputs become locals or go."""
    body: tuple[Stmt, ...] = program.body
    needed: set[str] = set(wanted)
    while True:
        before = len(needed)
        body = _kept(program.body, needed)
        if len(needed) == before:
            break
    tensors = {}
    for name, t in program.tensors.items():
        if name in wanted or (name in needed and t.role != "output"):
            tensors[name] = t
        elif name in needed:
            tensors[name] = replace(t, role="local")
    return replace(program, body=body, tensors=tensors)
