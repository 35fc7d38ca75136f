"""Gradients of a program by central differences of high order, to test derivatives against.

The program is given one more axis, over perturbed copies of its inputs, so that all differences of a gradient are a few
evaluations and not one for each element.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass, replace
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from generator.formula import ir
from generator.reference.errors import ShapeError, UnknownNameError
from generator.reference.evaluate import run
from generator.reference.lower import Lowerer
from generator.spec.integer import sym

__all__ = ["batched", "gradient", "mapped"]

Array = NDArray[Any]

_WEIGHTS: Final = (4 / 5, -1 / 5, 4 / 105, -1 / 280)  # of f(x + k h) - f(x - k h), k = 1..4: error O(h^8)
_BATCH: Final = "copies"
_ELEMENTS: Final = 1 << 20


def batched(program: ir.Program, axis: str = _BATCH) -> ir.Program:
    """The program on ``axis`` many independent copies of every tensor: a leading dim and a leading axis everywhere.

    Flat buffers become plain tensors of their mapped axes. The extent is a dim named ``axis``."""
    if axis in program.tensors or axis in program.dims:
        raise UnknownNameError(f"the program already uses the name {axis}")
    index = sym(axis + "_")

    def tensor(t: ir.Tensor) -> ir.Tensor:
        extents = t.flat.extents if t.flat else t.shape
        return replace(t, shape=(sym(axis), *extents), flat=None)

    def node(x: Any) -> Any:
        if isinstance(x, tuple):
            return tuple(node(part) for part in x)
        if isinstance(x, ir.Load):
            return replace(x, indices=(index, *node(x.indices)), guarded=tuple(d + 1 for d in x.guarded))
        if isinstance(x, ir.Assign):
            bound = ir.Bound(axis + "_", sym(axis))
            return replace(x, indices=(index, *node(x.indices)), axes=(bound, *x.axes), value=node(x.value))
        if is_dataclass(x) and not isinstance(x, type) and type(x).__module__ == ir.__name__:
            return replace(x, **{f.name: node(getattr(x, f.name)) for f in fields(x)})
        return x

    tensors = {name: tensor(t) for name, t in program.tensors.items()}
    return replace(program, body=node(program.body), tensors=tensors, dims=(*program.dims, axis))


def mapped(program: ir.Program, name: str, array: Array, sizes: Mapping[str, int]) -> Array:
    """A view of ``array``, as :func:`~generator.reference.evaluate.run` takes and gives it, with the formula's dims: of
    a flat buffer only the elements its order maps. ``sizes`` are dims and integer attributes."""
    flat = program.tensors[name].flat
    if flat is None:
        return array
    lowerer = Lowerer(program, sizes, {}, {})
    extents = {a: lowerer.number(e) for a, e in zip(flat.axes, flat.extents, strict=True)}
    count = int(np.prod(list(extents.values()), dtype=np.int64))
    inner = array[:count].reshape([extents[a] for a in flat.order])
    return inner.transpose([flat.order.index(a) for a in flat.axes])


def gradient(
    program: ir.Program,
    wrt: str,
    inputs: Mapping[str, Array],
    dims: Mapping[str, int],
    attrs: Mapping[str, float | int | bool],
    cotangents: Mapping[str, Array],
    *,
    step: float = 2.0**-6,
    at: NDArray[np.int64] | None = None,
) -> Array:
    """The gradient of ``sum over outputs of <cotangent, output>`` with respect to the input ``wrt``, element by element,
    by differences of order 8 with steps up to ``4 * step``; float64, in the formula's dims (flat buffers mapped). With ``at``, only
    the elements at these positions of the result, in one dimension.

    ``cotangents`` are by output and shaped like it; outputs without one do not count. Inputs are float64."""
    if wrt not in inputs:
        raise UnknownNameError(f"{wrt} is not an input that was given")
    whole = {k: int(v) for k, v in attrs.items() if isinstance(v, (int, np.integer)) and not isinstance(v, bool)}
    sizes = {**whole, **dims}
    many = batched(program)
    base = {name: mapped(program, name, np.asarray(a), sizes) for name, a in inputs.items()}
    weights = {name: mapped(program, name, np.asarray(a), sizes) for name, a in cotangents.items()}
    point = base[wrt].astype(np.float64)
    offsets = step * np.array([k * s for k in range(1, 5) for s in (1, -1)])
    signed = np.array([w * s for w in _WEIGHTS for s in (1, -1)]) / step
    group = max(1, _ELEMENTS // max(1, 8 * sum(a.size for a in base.values())))
    places = np.arange(point.size) if at is None else at
    out = np.empty(places.size)
    for first in range(0, places.size, group):
        count = min(group, places.size - first)
        moved = np.broadcast_to(point.reshape(-1), (count, offsets.size, point.size)).copy()
        moved[np.arange(count), :, places[first : first + count]] += offsets
        copies = {name: np.broadcast_to(a, (count * offsets.size, *a.shape)) for name, a in base.items()}
        copies[wrt] = moved.reshape(count * offsets.size, *point.shape)
        values = run(many, copies, {**dims, _BATCH: count * offsets.size}, attrs, present={*inputs, *cotangents})
        total = np.zeros(count * offsets.size)
        for name, weight in weights.items():
            if values[name].shape[1:] != weight.shape:
                raise ShapeError(f"the cotangent of {name} has the shape {weight.shape}, expected {values[name].shape[1:]}")
            total += values[name].reshape(total.size, -1) @ weight.reshape(-1)
        out[first : first + count] = total.reshape(count, offsets.size) @ signed
    return out.reshape(point.shape) if at is None else out
