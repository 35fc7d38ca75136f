"""Packs of axes in shapes: ``*b``, and of a broadcast pack the axes that some inputs have, ``*b & x``, ``*b - x``."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from typing import Final

from generator.spec.model import OpSpec

__all__ = ["MOST_PARTS", "broadcast_parts", "is_pack", "pack_names", "selected"]

MOST_PARTS: Final = 4  # inputs broadcast together: 2^4 - 1 groups of axes


def is_pack(text: str) -> bool:
    """Whether an entry of a shape is a pack of axes."""
    return text.startswith("*")


def pack_names(text: str) -> list[str]:
    """The names in the text of a pack without its star, the pack's own first; empty when it is no pack.

    The text is a name, or an expression of ``&`` (axes of both), ``-`` (axes of the first only) and ``|`` (axes of either)."""
    try:
        return _names(ast.parse(text.strip(), mode="eval").body)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return []


def _names(node: ast.expr) -> list[str]:
    if isinstance(node, ast.Name):
        return [node.id]
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitAnd | ast.Sub | ast.BitOr):
        left, right = _names(node.left), _names(node.right)
        return [*left, *right] if left and right else []
    return []


def selected(text: str, axes: Mapping[str, frozenset[str]], pack: str) -> list[str]:
    """Which of ``axes`` (name -> the inputs that have it) a pack's text names; in it ``pack`` stands for all, an input's name for
    those that the input has. Raises KeyError for a name that is neither."""
    everything = frozenset(axes)
    inputs = {x for members in axes.values() for x in members}

    def chosen(node: ast.expr) -> frozenset[str]:
        if isinstance(node, ast.BinOp):
            a, b = chosen(node.left), chosen(node.right)
            return a & b if isinstance(node.op, ast.BitAnd) else a - b if isinstance(node.op, ast.Sub) else a | b
        assert isinstance(node, ast.Name)
        if node.id == pack:
            return everything
        if node.id not in inputs:
            raise KeyError(node.id)
        return frozenset(a for a, members in axes.items() if node.id in members)

    kept = chosen(ast.parse(text.strip(), mode="eval").body)
    return [a for a in axes if a in kept]


def broadcast_parts(spec: OpSpec) -> dict[str, tuple[str, ...]]:
    """For each broadcast pack the inputs that are broadcast along it, by formula symbol: those named, else every input with the pack."""
    if isinstance(spec.broadcast, Mapping):
        return {b: tuple(parts) for b, parts in spec.broadcast.items()}
    return {b: _inputs(spec, b) for b in spec.broadcast}


def _inputs(spec: OpSpec, pack: str) -> tuple[str, ...]:
    def has(shape: Sequence[str] | None) -> bool:
        return any(is_pack(s) and s[1:].strip() == pack for s in shape or [])

    return tuple(p.symbol for p in spec.params if p.io == "in" and has(p.shape))
