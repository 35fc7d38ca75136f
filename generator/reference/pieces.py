"""How an evaluation is cut into pieces, so that no temporary is much larger than CHUNK at any size.

The left side's axes are cut first. A sum of products over a sliding window (two axes in one index) is taken one value of
the shorter axis at a time: the rest is then a plain matrix product on views. Left-to-right reductions are cut along the
reduced axes instead, so that each step works on whole arrays of results.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Final

from generator.reference import lower
from generator.reference.arrays import AxisRange, Buffer
from generator.spec.integer import IntExpr

__all__ = ["CHUNK", "Cutter", "extent_product"]

CHUNK: Final = 1 << 20  # elements of the largest temporary aimed at

Size = tuple[int, tuple[int, ...]]  # elements, axes


def extent_product(axes: tuple[int, ...], lengths: Mapping[int, int]) -> int:
    """Elements of an array with the dims ``axes``."""
    out = 1
    for a in axes:
        out *= lengths[a]
    return out


class Cutter:
    """``number`` gives sizes under the loop variables at hand, ``buffer`` a tensor's elements (None before it is written),
    ``free`` says that loading it costs nothing; ``exact`` is float64, where sums may be reordered."""

    def __init__(
        self, number: Callable[[int | IntExpr], int], buffer: Callable[[str], Buffer | None], free: Callable[[Buffer], bool], exact: bool
    ) -> None:
        self._number = number
        self._buffer = buffer
        self._free = free
        self._exact = exact

    def statement(self, value: lower.Node, lengths: dict[int, int]) -> list[dict[int, AxisRange]]:
        """The ranges of the left side's axes, one mapping for each piece, in order."""
        step = dict(lengths)
        step.update((a, 1) for a in self._all_windows(value, lengths) if a in step)
        while True:
            size, axes = self.largest(value, step)
            cut = next((a for a in sorted(axes) if step.get(a, 1) > 1), None)
            if size <= CHUNK or cut is None:
                break
            step[cut] = max(1, min(step[cut] - 1, step[cut] * CHUNK // size))
        out: list[dict[int, AxisRange]] = [{}]
        for axis, length in lengths.items():
            parts = [(start, min(step[axis], length - start)) for start in range(0, length, step[axis])]
            out = [{**piece, axis: part} for piece in out for part in parts]
        return out

    def reduction(self, node: lower.ReduceNode, ranges: Mapping[int, AxisRange]) -> tuple[int, int] | None:
        """The bound axis to cut next and the length of its pieces; None when the reduction fits as it is."""
        if node.op in ("argmax", "argmin"):
            return None
        lengths = {a: count for a, (_, count) in ranges.items()}
        for a in self.windows(node, lengths):
            if a in node.bound and lengths[a] > 1:
                return a, 1
        size, axes = max((self.largest(p, lengths) for p in self._parts(node)), key=lambda f: f[0])
        cut = next((a for a in node.bound if a in axes and lengths[a] > 1), None)
        if size <= (4 * CHUNK if self._exact else CHUNK) or cut is None:
            return None
        return cut, max(1, min(lengths[cut] - 1, lengths[cut] * CHUNK // size))

    def largest(self, node: lower.Node, lengths: Mapping[int, int]) -> Size:
        """The element count and the axes of the largest temporary that evaluating ``node`` makes."""
        own = (extent_product(node.axes, lengths), node.axes)
        if isinstance(node, (lower.Constant, lower.IntNode)):
            return own
        if isinstance(node, lower.LoadNode):
            return self._load(node, own)
        if isinstance(node, lower.ReduceNode):
            inner = self._inside(node, lengths)
            found = [self.largest(p, inner) for p in self._parts(node)]
            if self.contracts(node) and any(set(node.factors[0].axes) >= set(p.axes) for p in self._parts(node)[1:]):
                found += [(extent_product(p.axes, inner), p.axes) for p in self._parts(node)]
            elif not self._exact:
                found.append((extent_product(node.body.axes, inner), node.body.axes))
            return max([*found, own], key=lambda f: f[0])
        children = node.args if isinstance(node, lower.OpNode) else (node.x,)
        return max([own, *(self.largest(c, lengths) for c in children)], key=lambda f: f[0])

    def contracts(self, node: lower.ReduceNode) -> bool:
        """True when the reduction is a sum of products, taken by matrix multiplication."""
        return self._exact and node.op in ("sum", "mean") and len(node.factors) + len(node.divisors) > 1

    def windows(self, node: lower.ReduceNode, lengths: Mapping[int, int]) -> list[int]:
        """For each factor that is a sliding window, the shorter of the two axes in its index."""
        if not self.contracts(node):
            return []
        inner = {**lengths, **{a: lengths.get(a, max(self._number(e), 1)) for a, e in zip(node.bound, node.extents, strict=True)}}
        out = []
        for factor in node.factors:
            buffer = self._buffer(factor.tensor) if isinstance(factor, lower.LoadNode) and factor.affine else None
            if buffer is None or not isinstance(factor, lower.LoadNode):
                continue
            for index, extent in zip(factor.indices, buffer.extents, strict=True):
                axes = tuple(a for a, _ in index.steps if inner[a] > 1) if isinstance(index, lower.Affine) else ()
                if len(axes) == 2 and 2 * extent_product(axes, inner) > 3 * extent:
                    out.append(min(axes, key=lambda a: (inner[a], a)))
        return out

    def _all_windows(self, node: lower.Node, lengths: Mapping[int, int]) -> Iterator[int]:
        """:meth:`windows` of every reduction in ``node``, those inside others included."""
        if isinstance(node, lower.ReduceNode):
            yield from self.windows(node, lengths)
            inner = {**lengths, **{a: max(self._number(e), 1) for a, e in zip(node.bound, node.extents, strict=True)}}
            yield from self._all_windows(node.body, inner)
        elif isinstance(node, lower.CastNode):
            yield from self._all_windows(node.x, lengths)
        elif isinstance(node, lower.OpNode):
            for arg in node.args:
                yield from self._all_windows(arg, lengths)

    def _parts(self, node: lower.ReduceNode) -> tuple[lower.Node, ...]:
        return (*node.factors, *node.divisors) if self.contracts(node) else (node.body,)

    def _inside(self, node: lower.ReduceNode, lengths: Mapping[int, int]) -> dict[int, int]:
        """Lengths inside a reduction, after it has been cut as far as :meth:`reduction` would."""
        inner = {**lengths, **{a: max(self._number(e), 1) for a, e in zip(node.bound, node.extents, strict=True)}}
        inner.update((a, 1) for a in self.windows(node, lengths))
        if not self._exact and node.op not in ("argmax", "argmin"):
            inner.update((a, 1) for a in node.bound)
        return inner

    def _load(self, node: lower.LoadNode, own: Size) -> Size:
        buffer = self._buffer(node.tensor)
        free = buffer is not None and node.affine and not node.guarded and self._free(buffer) and own[0] <= buffer.data.size
        return (0 if free else own[0]), node.axes
