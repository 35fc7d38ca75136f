"""Reductions over arrays: products summed by matrix multiplication, and sums strictly from left to right.

Arrays carry their axes' identities, ascending, one dimension each.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from generator.reference.arrays import align

__all__ = ["IDENTITY", "Value", "combine", "contract", "reduce_any_order", "reduce_in_order"]

Array = NDArray[Any]
Value = tuple[Array, tuple[int, ...]]

IDENTITY: Final[Mapping[str, float | bool]] = {"sum": 0.0, "prod": 1.0, "max": -np.inf, "min": np.inf, "any": False, "all": True}
_UFUNC: Final[Mapping[str, np.ufunc]] = {
    "sum": np.add,
    "prod": np.multiply,
    "max": np.maximum,
    "min": np.minimum,
    "any": np.logical_or,
    "all": np.logical_and,
}
_WIDE: Final = 16  # elements beside the reduced axis from which NumPy's row-by-row reduction is sequential by construction


def combine(op: str, a: Array, b: Array) -> Array:
    """Two partial results of one reduction, ``a`` of the elements before those of ``b``."""
    out: Array = _UFUNC[op](a, b)
    return out


def reduce_any_order(op: str, values: Array, dims: tuple[int, ...]) -> Array:
    """The reduction of ``values`` over ``dims``, in whatever order is fastest; NaN wins in max and min."""
    out: Array = np.asarray(_UFUNC[op].reduce(values, axis=dims))
    return out


def reduce_in_order(op: str, values: Array, dims: tuple[int, ...], start: Array | None, rounding: Callable[[Array], Array] | None) -> Array:
    """``((start + v0) + v1) + ...`` in the type of ``values``, row-major over ``dims`` in the order given.

    ``rounding`` is applied after every step, for types that NumPy has not."""
    rest = [d for d in range(values.ndim) if d not in dims]
    count = int(np.prod([values.shape[d] for d in dims]))
    shape = tuple(values.shape[d] for d in rest)
    inner_last = bool(rest) and all(values.strides[d] > max(values.strides[e] for e in dims) for d in rest if values.shape[d] > 1)
    ufunc = _UFUNC[op]
    if count == 1:
        only = np.squeeze(values, dims)
        out = only if start is None else ufunc(start, only)
        return np.asarray(out if rounding is None or start is None else rounding(out))
    if rounding is not None:
        front = values.transpose([*dims, *rest]).reshape(count, *shape)
        out = front[0] if start is None else rounding(ufunc(start, front[0]))
        for row in front[1:]:
            out = rounding(ufunc(out, row))
        return np.asarray(out)
    if int(np.prod(shape)) >= _WIDE and not inner_last:
        front = np.ascontiguousarray(values.transpose([*dims, *rest])).reshape(count, -1)
        if start is not None:
            first = ufunc(start.reshape(1, -1), front[:1])
            front = np.concatenate([first, front[1:]])
        return np.asarray(ufunc.reduce(front, axis=0)).reshape(shape)
    back = values.transpose([*rest, *dims]).reshape(*shape, count)
    if start is not None:
        back = np.concatenate([ufunc(start[..., None], back[..., :1]), back[..., 1:]], axis=-1)
    return np.asarray(ufunc.accumulate(back, axis=-1)[..., -1])


def contract(factors: Sequence[Value], divisors: Sequence[Value], bound: frozenset[int], out_axes: tuple[int, ...]) -> Array:
    """The sum over ``bound`` of the product of ``factors`` over that of ``divisors``, with dims ``out_axes``.

    Factors whose axes lie within another's are multiplied into it first; what is left is multiplied as matrices."""
    left = list(factors)
    for value, axes in divisors:
        home = next((i for i, (_, a) in enumerate(left) if set(axes) <= set(a)), None)
        if home is None:
            left.append((1.0 / value, axes))
        else:
            left[home] = (left[home][0] / align(value, axes, left[home][1]), left[home][1])
    left = _absorb(left)
    while len(left) > 1:
        i, j = _cheapest(left, bound)
        rest = [v for k, v in enumerate(left) if k not in (i, j)]
        keep = set(out_axes).union(*(axes for _, axes in rest))
        left = _absorb([*rest, _pair(left[i], left[j], keep)])
    value, axes = left[0]
    dims = tuple(d for d, a in enumerate(axes) if a in bound)
    if dims:
        value = np.asarray(value.sum(axis=dims))
    return np.asarray(value)


def _absorb(values: list[Value]) -> list[Value]:
    """Multiplies every value into one that has all its axes, smaller ones first."""
    done: list[Value] = []
    for value, axes in sorted(values, key=lambda v: -len(v[1])):
        home = next((i for i, (_, a) in enumerate(done) if set(axes) <= set(a)), None)
        if home is None:
            done.append((value, axes))
        else:
            done[home] = (done[home][0] * align(value, axes, done[home][1]), done[home][1])
    return done


def _cheapest(values: Sequence[Value], bound: frozenset[int]) -> tuple[int, int]:
    """The pair whose product, summed over what only it has, is smallest."""
    best: tuple[float, int, int] = (np.inf, 0, 1)
    for i in range(len(values)):
        for j in range(i + 1, len(values)):
            others = set().union(*(a for k, (_, a) in enumerate(values) if k not in (i, j)))
            lengths = _lengths(values[i], values[j])
            size = float(np.prod([n for a, n in lengths.items() if a not in bound or a in others], dtype=np.float64))
            best = min(best, (size, i, j))
    return best[1], best[2]


def _lengths(x: Value, y: Value) -> dict[int, int]:
    return {a: n for value, axes in (x, y) for a, n in zip(axes, value.shape, strict=True)}


def _sum_out(v: Value, keep: set[int]) -> Value:
    value, axes = v
    dims = tuple(d for d, a in enumerate(axes) if a not in keep)
    return (np.asarray(value.sum(axis=dims)), tuple(a for a in axes if a in keep)) if dims else v


def _pair(x: Value, y: Value, keep: set[int]) -> Value:
    """The product of two values summed over the axes not in ``keep``, as one (batched) matrix product."""
    x, y = _sum_out(x, keep | set(y[1])), _sum_out(y, keep | set(x[1]))
    (a, a_axes), (b, b_axes) = x, y
    lengths = _lengths(x, y)
    shared = [i for i in a_axes if i in b_axes]
    batch, summed = [i for i in shared if i in keep], [i for i in shared if i not in keep]
    rows, columns = [i for i in a_axes if i not in shared], [i for i in b_axes if i not in shared]
    out_axes = tuple(sorted([*batch, *rows, *columns]))
    if not summed:
        return align(a, a_axes, out_axes) * align(b, b_axes, out_axes), out_axes

    def size(axes: Sequence[int]) -> int:
        return int(np.prod([lengths[i] for i in axes], dtype=np.int64))

    lead = tuple(lengths[i] for i in batch)
    left = a.transpose([a_axes.index(i) for i in [*batch, *rows, *summed]]).reshape(*lead, size(rows), size(summed))
    right = b.transpose([b_axes.index(i) for i in [*batch, *summed, *columns]]).reshape(*lead, size(summed), size(columns))
    order = [*batch, *rows, *columns]
    out = np.matmul(left, right).reshape([lengths[i] for i in order])
    return out.transpose([order.index(i) for i in out_axes]), out_axes
