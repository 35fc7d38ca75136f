"""Where an evaluation at scattered points stands: the values of axes, and the elements that an index gives there.

The points of a statement are the first dim of every array, and each reduction around a node adds one more: at depth ``d`` arrays
have up to ``d + 1`` dims and broadcast against each other. An axis is an array of as many dims as the depth it is bound at.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from generator.reference import lower
from generator.reference.arithmetic import polynomial
from generator.spec.integer import IntExpr

__all__ = ["PIECE", "Scope", "coordinates", "solve"]

Array = NDArray[Any]
Ints = NDArray[np.int64]

PIECE: Final = 1 << 18  # elements of the largest array aimed at: what a processor's cache holds
_ROWS: Final = 1 << 10  # points taken at a time where a reduction multiplies them


class Scope:
    """Loop variables and axes at hand. ``number`` gives an integer under the loop variables."""

    def __init__(self) -> None:
        self.loops: dict[str, int] = {}
        self.axes: dict[int, Ints] = {}
        self.lengths: list[int] = []  # points, then the piece of each reduction at hand

    def number(self, e: int | IntExpr) -> int:
        return e if isinstance(e, int) else e.evaluate(self.loops)

    @contextmanager
    def loop(self, var: str, value: int) -> Iterator[None]:
        """``var`` has ``value`` meanwhile."""
        self.loops[var] = value
        yield
        del self.loops[var]

    def pieces(self, axes: Mapping[int, Ints], count: int, reduces: bool) -> Iterator[slice]:
        """The points of a statement, ``count`` of them at ``axes``, a piece at a time."""
        step = _ROWS if reduces else PIECE
        for begin in range(0, count, step):
            piece = slice(begin, min(begin + step, count))
            self.axes = {a: values[piece] for a, values in axes.items()}
            self.lengths = [piece.stop - begin]
            yield piece
        self.axes, self.lengths = {}, []

    def reduction(self, node: lower.ReduceNode, whole: bool = False) -> Iterator[int]:
        """The points that ``node`` reduces over, row-major, a piece at a time; gives the count of each. ``whole``: in one piece."""
        extents = [self.number(e) for e in node.extents]
        total = math.prod(max(n, 0) for n in extents)
        step = total if whole else max(1, PIECE // max(1, math.prod(self.lengths)))
        depth = len(self.lengths)
        before = dict(self.axes)
        for begin in range(0, total, max(step, 1)):
            flat = np.arange(begin, min(begin + step, total), dtype=np.int64)
            inner = 1
            for axis, extent in zip(reversed(node.bound), reversed(extents), strict=True):
                self.axes[axis] = (flat // inner % extent).reshape((1,) * depth + (-1,))
                inner *= extent
            self.lengths.append(flat.size)
            yield flat.size
            self.lengths.pop()
        self.axes = before

    def at(self, axis: int) -> Ints:
        """The values of an axis, with as many dims as the depth at hand."""
        values = self.axes[axis]
        return values.reshape(values.shape + (1,) * (len(self.lengths) - values.ndim))

    def affine(self, index: lower.Affine) -> Ints:
        """An affine index at every point."""
        out: Any = np.full((1,) * len(self.lengths), self.number(index.base), np.int64)
        for axis, step in index.steps:
            out = out + self.number(step) * self.at(axis)
        return np.asarray(out)

    def whole(self, value: IntExpr, axes: tuple[int, ...]) -> Any:
        """An integer expression at every point; a plain number where no axis enters."""
        if not axes:
            return value.evaluate(self.loops)
        known: dict[str, Any] = dict(self.loops)
        known.update((lower.axis_symbol(a), self.at(a)) for a in axes)
        return np.asarray(polynomial(value, known))


def coordinates(flat: Ints, strides: tuple[int, ...], extents: tuple[int, ...]) -> list[Ints]:
    """The index along every dim of the elements at positions ``flat`` of a buffer."""
    rest = flat
    out: list[Ints] = [flat] * len(strides)
    for dim in sorted(range(len(strides)), key=lambda d: (-strides[d], extents[d] == 1)):  # of equal strides the inner extent is 1
        out[dim] = rest // max(strides[dim], 1)
        rest = rest - out[dim] * strides[dim]
    return out


def solve(target: lower.LoadNode, extents: Mapping[int, int], found: list[Ints], scope: Scope) -> tuple[dict[int, Ints], NDArray[np.bool_]]:
    """The axes' values for which a statement writes the elements with the coordinates ``found``, and for which of them it does.

    Each index is solved by dividing by its largest coefficient first, as the indices of product axes are made."""
    axes: dict[int, Ints] = {}
    written = np.ones(found[0].size if found else 1, np.bool_)
    for index, wanted in zip(target.indices, found, strict=True):
        assert isinstance(index, lower.Affine)
        rest = wanted - scope.number(index.base)
        for axis, step in sorted(((a, scope.number(s)) for a, s in index.steps), key=lambda s: -abs(s[1])):
            if axis in axes:
                value = axes[axis]
            else:
                value = np.clip(rest // step if step else rest * 0, 0, max(extents[axis] - 1, 0))
            axes[axis] = value
            rest = rest - value * step
        written &= rest == 0
    return axes, written & all(n > 0 for n in extents.values())
