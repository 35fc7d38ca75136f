"""Which elements of its tensors a program must compute for the output elements wanted, and what that costs."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from generator.formula import ir
from generator.reference import lower
from generator.reference.scope import Scope, coordinates, solve

__all__ = ["Demand", "Layout", "TooMuchError", "reduces"]

Array = NDArray[Any]
Ints = NDArray[np.int64]
Mask = NDArray[np.bool_]


class TooMuchError(Exception):
    """The points wanted take more evaluation points than allowed."""


class Layout:
    """Extents, element strides and element count of every tensor."""

    def __init__(self, program: ir.Program, lowerer: lower.Lowerer) -> None:
        self.extents: dict[str, tuple[int, ...]] = {}
        self.strides: dict[str, tuple[int, ...]] = {}
        self.size: dict[str, int] = {}
        for name, tensor in program.tensors.items():
            self.extents[name] = tuple(lowerer.number(e) for e in (tensor.flat.extents if tensor.flat else tensor.shape))
            self.strides[name] = tuple(lowerer.number(e) for e in tensor.strides())
            self.size[name] = lowerer.number(tensor.flat.size) if tensor.flat else math.prod(self.extents[name])


def reduces(node: lower.Node) -> bool:
    """Whether a reduction is part of ``node``."""
    if isinstance(node, lower.OpNode):
        return any(map(reduces, node.args))
    return reduces(node.x) if isinstance(node, lower.CastNode) else isinstance(node, lower.ReduceNode)


class Demand:
    """One pass over the statements, last first: a mask over the elements of every tensor that statements write.

    A loop's body is passed until nothing is added. ``cost`` counts evaluation points: those of every statement, times those of
    every reduction in it. Raises TooMuchError beyond ``limit``."""

    def __init__(self, program: ir.Program, body: tuple[lower.Stmt, ...], layout: Layout, wanted: Mapping[str, Ints], limit: float) -> None:
        self.cost = 0
        self._layout = layout
        self._limit = limit
        self._scope = Scope()
        self.masks: dict[str, Mask] = {n: np.zeros(layout.size[n], np.bool_) for n, t in program.tensors.items() if t.role != "input"}
        for name, positions in wanted.items():
            self.masks[name][positions] = True
        self._body(body)

    def points(self, stmt: lower.AssignNode, scope: Scope) -> tuple[Ints, dict[int, Ints]]:
        """Positions in its buffer that a statement must write, and the axes' values there."""
        name = stmt.target.tensor
        flat = np.flatnonzero(self.masks[name])
        extents = {a: scope.number(e) for a, e in zip(stmt.axes, stmt.extents, strict=True)}
        if not self._layout.extents[name]:
            return flat, {}
        found = coordinates(flat, self._layout.strides[name], self._layout.extents[name])
        axes, written = solve(stmt.target, extents, found, scope)
        return flat[written], {a: values[written] for a, values in axes.items()}

    def _body(self, body: tuple[lower.Stmt, ...]) -> None:
        for stmt in reversed(body):
            if isinstance(stmt, lower.AssignNode):
                self._assign(stmt)
                continue
            start, stop = self._scope.number(stmt.start), self._scope.number(stmt.stop)
            values = range(start, stop, stmt.step)
            before, spent = -1, self.cost
            while before != self._count():
                before = self._count()
                self.cost = spent
                for value in reversed(values):
                    with self._scope.loop(stmt.var, value):
                        self._body(stmt.body)

    def _count(self) -> int:
        return sum(int(np.count_nonzero(m)) for m in self.masks.values())

    def _assign(self, stmt: lower.AssignNode) -> None:
        flat, axes = self.points(stmt, self._scope)
        self.cost += flat.size
        for _ in self._scope.pieces(axes, flat.size, reduces(stmt.value)):
            self._mark(stmt.value)
        if self.cost > self._limit:
            raise TooMuchError(f"more than {self._limit:.0e} evaluation points")

    def _mark(self, node: lower.Node) -> None:
        if isinstance(node, lower.LoadNode):
            self._load(node)
        elif isinstance(node, lower.OpNode):
            for arg in node.args:
                self._mark(arg)
        elif isinstance(node, lower.CastNode):
            self._mark(node.x)
        elif isinstance(node, lower.ReduceNode):
            extents = [max(self._scope.number(e), 0) for e in node.extents]
            self.cost += math.prod((*self._scope.lengths, *extents))
            if self.cost > self._limit:
                raise TooMuchError(f"more than {self._limit:.0e} evaluation points")
            if self._computed(node.body) or reduces(node.body):
                for _ in self._scope.reduction(node):
                    self._mark(node.body)
            if node.divisor is not None:
                self._mark(node.divisor)

    def _computed(self, node: lower.Node) -> bool:
        """Whether ``node`` reads a tensor that statements write."""
        match node:
            case lower.LoadNode(tensor, indices):
                return tensor in self.masks or any(self._computed(i) for i in indices if isinstance(i, lower.LoadNode))
            case lower.OpNode(_, args):
                return any(map(self._computed, args))
            case lower.CastNode(_, x):
                return self._computed(x)
            case lower.ReduceNode():
                return self._computed(node.body) or (node.divisor is not None and self._computed(node.divisor))
        return False

    def _load(self, node: lower.LoadNode) -> None:
        mask = self.masks.get(node.tensor)
        for index in node.indices:
            if isinstance(index, lower.LoadNode):
                self._load(index)
        if mask is None or not mask.size:
            return
        position: Any = np.zeros((1,) * len(self._scope.lengths), np.int64)
        inside: Any = True
        for index, extent, stride in zip(node.indices, self._layout.extents[node.tensor], self._layout.strides[node.tensor], strict=True):
            if isinstance(index, lower.LoadNode):  # which elements is known only later: all of this dim
                position = position[..., None] + np.arange(extent, dtype=np.int64) * stride
                inside = inside[..., None] if isinstance(inside, np.ndarray) else inside
                continue
            at = self._scope.affine(index) if isinstance(index, lower.Affine) else self._scope.whole(index.value, node.axes)
            at = np.asarray(at).reshape(np.shape(at) + (1,) * max(np.ndim(position) - np.ndim(at), 0))
            position = position + at * stride
            inside = inside & (at >= 0) & (at < extent)
        position, inside = np.broadcast_arrays(position, inside)
        mask[position[inside]] = True
