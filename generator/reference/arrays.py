"""Tensors as buffers with strides: views for affine indices, copies where an index may leave its tensor."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from generator.formula.ir import Span
from generator.reference.errors import IndexOutOfRangeError

__all__ = ["AxisRange", "Buffer", "Ranges", "Resolved", "align", "guarded_view", "leaving", "take", "view"]

Array = NDArray[Any]
AxisRange = tuple[int, int]  # first value, count
Ranges = Mapping[int, AxisRange]  # by axis


@dataclass(slots=True)
class Buffer:
    """A tensor's elements: ``data`` is one-dimensional and contiguous, ``extents`` and ``strides`` (elements) are the
    formula's dims. A flat buffer may have more elements than its dims map."""

    name: str
    data: Array
    extents: tuple[int, ...]
    strides: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Resolved:
    """One index with numbers in it: ``base`` at axis value 0 and a coefficient for each axis that moves it."""

    base: int
    steps: tuple[tuple[int, int], ...]

    def bounds(self, ranges: Ranges) -> tuple[int, int]:
        """The smallest and largest value over the axes' ranges, which must not be empty."""
        low = high = self.base
        for axis, step in self.steps:
            first, count = ranges[axis]
            ends = (step * first, step * (first + count - 1))
            low += min(ends)
            high += max(ends)
        return low, high


def view(buffer: Buffer, indices: Sequence[Resolved], axes: Sequence[int], ranges: Ranges) -> Array:
    """A view of the elements under ``indices``, one dimension for each of ``axes``. All must be inside."""
    shape = tuple(ranges[a][1] for a in axes)
    strides = dict.fromkeys(axes, 0)
    offset = 0
    for index, stride in zip(indices, buffer.strides, strict=True):
        offset += index.base * stride
        for axis, step in index.steps:
            strides[axis] += step * stride
            offset += step * stride * ranges[axis][0]
    size = buffer.data.itemsize
    return np.ndarray(shape, buffer.data.dtype, buffer.data, offset * size, tuple(strides[a] * size for a in axes))


def leaving(buffer: Buffer, indices: Sequence[Resolved], ranges: Ranges, guarded: frozenset[int], span: Span | None) -> bool:
    """True when a guarded index leaves the tensor; IndexOutOfRangeError when one without a guard does."""
    out = False
    for dim, (index, extent) in enumerate(zip(indices, buffer.extents, strict=True)):
        low, high = index.bounds(ranges)
        if low < 0 or high >= extent:
            if dim not in guarded:
                worst = low if low < 0 else high
                raise IndexOutOfRangeError(f"index {dim} of {buffer.name} takes the value {worst}, outside [0, {extent})", span)
            out = True
    return out


def guarded_view(buffer: Buffer, indices: Sequence[Resolved], axes: Sequence[int], ranges: Ranges, outside: float) -> Array | None:
    """As :func:`view` of a copy widened by ``outside`` so that every index is inside; None when the copy would be much
    larger than what is asked for (an index with wide strides), which a table of indices serves better."""
    lows, counts, inside, put = [], [], [], []
    for index, extent in zip(indices, buffer.extents, strict=True):
        low, high = index.bounds(ranges)
        first, last = max(low, 0), min(high, extent - 1)
        lows.append(low)
        counts.append(high - low + 1)
        inside.append((first, max(last - first + 1, 0)))
        put.append(slice(first - low, max(last - low + 1, first - low)))
    wanted = int(np.prod([ranges[a][1] for a in axes], dtype=np.int64))
    if int(np.prod(counts, dtype=np.int64)) > 4 * wanted + 4096:
        return None
    wide = np.full(counts, _outside(outside, buffer.data.dtype), dtype=buffer.data.dtype)
    if all(count for _, count in inside):
        dims = range(len(inside))
        wide[tuple(put)] = view(buffer, [Resolved(0, ((d, 1),)) for d in dims], list(dims), dict(enumerate(inside)))
    strides = tuple(s // wide.itemsize for s in wide.strides)
    shifted = [Resolved(i.base - low, i.steps) for i, low in zip(indices, lows, strict=True)]
    return view(Buffer(buffer.name, wide.reshape(-1), tuple(counts), strides), shifted, axes, ranges)


def _outside(value: float, dtype: np.dtype[Any]) -> Any:
    """The value outside a tensor in its type; infinities of integers are the ends of their range."""
    if dtype.kind in "iu" and not np.isfinite(value):
        info = np.iinfo(dtype)
        return info.max if value > 0 else info.min
    return dtype.type(value)


def take(
    buffer: Buffer, indices: Sequence[Array], guarded: frozenset[int], outside: float, shape: tuple[int, ...], span: Span | None
) -> Array:
    """Elements at arrays of indices, each broadcastable to ``shape``; ``outside`` where a guarded one leaves."""
    linear: Any = np.int64(0)
    inside: Any = True
    for dim, (index, extent, stride) in enumerate(zip(indices, buffer.extents, buffer.strides, strict=True)):
        good = (index >= 0) & (index < extent)
        if dim in guarded:
            inside = inside & good
        elif not np.all(good):
            worst = int(np.asarray(index)[~good].flat[0])
            raise IndexOutOfRangeError(f"index {dim} of {buffer.name} takes the value {worst}, outside [0, {extent})", span)
        linear = linear + index * stride
    linear = np.broadcast_to(linear, shape)
    if inside is True:
        return np.asarray(buffer.data[linear])
    inside = np.broadcast_to(inside, shape)
    filler = _outside(outside, buffer.data.dtype)
    if buffer.data.size == 0:
        return np.full(shape, filler)
    return np.where(inside, buffer.data[np.where(inside, linear, 0)], filler)


def align(value: Any, axes: Sequence[int], onto: Sequence[int]) -> Any:
    """``value``, whose dims are ``axes``, with a dim for each of ``onto`` (a superset in the same order)."""
    if len(axes) == len(onto) or not axes:
        return value
    have = set(axes)
    return value[tuple(slice(None) if a in have else None for a in onto)]
