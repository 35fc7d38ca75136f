"""Evaluates a program at chosen elements of its outputs, and nothing that they do not depend on.

The same values as :func:`generator.reference.evaluate.run` gives (float64 sums in another order), for cases too large to be
evaluated whole: thousands of elements drawn at random say as much about a kernel as all of them.
"""

from __future__ import annotations

import mmap
from collections.abc import Mapping
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from generator.formula import ir
from generator.reference import lower
from generator.reference.arithmetic import Arithmetic, Precision
from generator.reference.arrays import Buffer, take
from generator.reference.demand import Demand, Layout, TooMuchError, reduces
from generator.reference.dtypes import decode
from generator.reference.errors import EvaluationError, MissingValueError, ShapeError
from generator.reference.evaluate import presence, sizes_of
from generator.reference.factors import rounded_factors
from generator.reference.reduce import IDENTITY, combine, reduce_any_order, reduce_in_order
from generator.reference.scope import Scope

__all__ = ["Points", "TooMuchError"]

Array = NDArray[Any]
Ints = NDArray[np.int64]


class Points:
    """Chosen elements of a program's outputs, ready to be evaluated in any precision.

    ``inputs``, ``dims``, ``attrs`` and ``present`` are those of :func:`~generator.reference.evaluate.run`; an input named in
    ``dtypes`` is in the storage of that dtype, decoded where it is read, and of any shape with the right element count.
    ``wanted`` are positions in the buffers of outputs. ``cost`` is what an evaluation takes, in evaluation points;
    :class:`TooMuchError` when it is beyond ``limit``."""

    def __init__(
        self,
        program: ir.Program,
        inputs: Mapping[str, Array],
        dims: Mapping[str, int],
        attrs: Mapping[str, float | int | bool],
        wanted: Mapping[str, Ints],
        *,
        present: set[str] | None = None,
        dtypes: Mapping[str, str] | None = None,
        limit: float = float("inf"),
    ) -> None:
        whole, sizes = sizes_of(program, dims, attrs)
        self.program, self.inputs, self.wanted, self.dtypes = program, inputs, wanted, dtypes or {}
        self.present = presence(program, inputs, present)
        numels = {name: int(np.asarray(a).size) for name, a in inputs.items()}
        lowerer = lower.Lowerer(program, sizes, numels, {k: v for k, v in attrs.items() if k not in whole})
        self.body = lowerer.body(program.body)
        self.layout = Layout(program, lowerer)
        for name, array in inputs.items():
            if array.size != self.layout.size[name]:
                raise ShapeError(f"{name} has {array.size} elements, expected {self.layout.size[name]}")
        self.demand = Demand(program, self.body, self.layout, wanted, limit)
        self.cost = self.demand.cost

    def evaluate(self, precision: Precision = "float64") -> dict[str, Array]:
        """The wanted elements of every output, unrounded, in the compute dtype (int64 and bool for those kinds)."""
        with np.errstate(all="ignore"):
            return _Values(self, precision).outputs()


_HUGE: Final = 1 << 30  # bytes beyond which the system may refuse memory that is never touched
_NO_RESERVE: Final = 0x4000  # Linux's MAP_NORESERVE, which Python names from 3.12 on only


def _reserved(count: int, dtype: np.dtype[Any]) -> Array:
    """``count`` elements of no particular value, which take memory once they are touched."""
    if count * dtype.itemsize < _HUGE:
        return np.empty(count, dtype)
    flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | _NO_RESERVE
    return np.frombuffer(mmap.mmap(-1, count * dtype.itemsize, flags=flags), dtype)


class _Values:
    def __init__(self, points: Points, precision: Precision) -> None:
        self._points = points
        self._exact = precision == "float64"
        self._arithmetic = Arithmetic(precision)
        self._scope = Scope()
        self._buffers = {t.name: self._start(t) for t in points.program.tensors.values() if t.role != "input"}

    def outputs(self) -> dict[str, Array]:
        body = self._points.body
        self._body(rounded_factors(body) if self._arithmetic.factors else body)
        return {name: self._buffers[name].data[positions] for name, positions in self._points.wanted.items()}

    def _start(self, tensor: ir.Tensor) -> Buffer:
        """A buffer for the elements that are needed; the others are never read."""
        name, layout = tensor.name, self._points.layout
        mask = self._points.demand.masks[name]
        data = _reserved(layout.size[name], self._arithmetic.storage(tensor))
        given = self._points.inputs.get(name) if tensor.inout else None
        data[mask] = self._arithmetic.unwritten(tensor) if given is None else self._read(name, given.reshape(-1)[mask])
        return Buffer(name, data, layout.extents[name], layout.strides[name])

    def _read(self, name: str, values: Array) -> Array:
        dtype = self._points.dtypes.get(name)
        return self._arithmetic.widen(values if dtype is None else decode(values, dtype))

    def _body(self, body: tuple[lower.Stmt, ...]) -> None:
        for stmt in body:
            if isinstance(stmt, lower.AssignNode):
                self._assign(stmt)
                continue
            for value in range(self._scope.number(stmt.start), self._scope.number(stmt.stop), stmt.step):
                with self._scope.loop(stmt.var, value):
                    self._body(stmt.body)

    def _assign(self, stmt: lower.AssignNode) -> None:
        flat, axes = self._points.demand.points(stmt, self._scope)
        buffer = self._buffers[stmt.target.tensor]
        out = np.empty(flat.size, buffer.data.dtype)
        for piece in self._scope.pieces(axes, flat.size, reduces(stmt.value)):
            out[piece] = self._eval(stmt.value)
        buffer.data[flat] = out

    def _eval(self, node: lower.Node) -> Any:
        match node:
            case lower.Constant(value):
                return self._arithmetic.dtype.type(value) if isinstance(value, float) else value
            case lower.IntNode(value, axes):
                return self._scope.whole(value, axes)
            case lower.LoadNode():
                return self._load(node)
            case lower.OpNode():
                return self._arithmetic.apply(node, [self._eval(a) for a in node.args])
            case lower.CastNode(dtype, x):
                return self._arithmetic.cast(dtype, self._eval(x))
            case lower.ReduceNode():
                return self._reduce(node)

    def _load(self, node: lower.LoadNode) -> Any:
        name, layout = node.tensor, self._points.layout
        tensor = self._points.program.tensors[name]
        buffer = self._buffers.get(name)
        indices = [self._index(i, node.axes) for i in node.indices]
        shape = np.broadcast_shapes(*(i.shape for i in indices)) if indices else (1,) * len(self._scope.lengths)
        if buffer is not None:
            return take(buffer, indices, node.guarded, node.outside, shape, node.span)
        given = self._points.inputs.get(name) if name in self._points.present else None
        if given is None:
            if tensor.fill is None:
                raise MissingValueError(f"the optional input {name} is absent, and the formula reads it", node.span)
            constant = Buffer(name, np.full(1, tensor.fill, self._arithmetic.storage(tensor)), layout.extents[name], (0,) * len(indices))
            return take(constant, indices, node.guarded, node.outside, shape, node.span)
        stored = Buffer(name, given.reshape(-1), layout.extents[name], layout.strides[name])
        if name not in self._points.dtypes:
            return self._arithmetic.widen(take(stored, indices, node.guarded, node.outside, shape, node.span))
        values = self._read(name, take(stored, indices, node.guarded, 0.0, shape, node.span))
        return self._outside(values, node, indices) if node.guarded and node.outside else values

    def _outside(self, values: Array, node: lower.LoadNode, indices: list[Ints]) -> Array:
        """``values`` with the value outside wherever a guarded index leaves the tensor."""
        extents = self._points.layout.extents[node.tensor]
        inside: Any = True
        for dim in node.guarded:
            inside = inside & (indices[dim] >= 0) & (indices[dim] < extents[dim])
        return np.where(inside, values, values.dtype.type(node.outside))

    def _index(self, index: lower.Dim, axes: tuple[int, ...]) -> Ints:
        if isinstance(index, lower.LoadNode):
            return np.asarray(self._load(index)).astype(np.int64)
        if isinstance(index, lower.General):
            return np.asarray(self._scope.whole(index.value, axes), np.int64)
        return self._scope.affine(index)

    def _reduce(self, node: lower.ReduceNode) -> Any:
        op = "sum" if node.op == "mean" else node.op
        total: Any = None
        count = 0
        for size in self._scope.reduction(node, whole=op in ("argmax", "argmin")):
            values = np.asarray(self._eval(node.body))
            wide = np.broadcast_shapes(values.shape, (1,) * (len(self._scope.lengths) - 1) + (size,))
            total = self._accumulate(op, total, np.broadcast_to(values, wide))
            count += size
        if total is None:
            if op in ("argmax", "argmin"):
                raise EvaluationError(f"{node.op} over no elements has no value", node.span)
            identity = IDENTITY[op]
            total = np.asarray(identity, np.bool_ if isinstance(identity, bool) else self._arithmetic.dtype)
        if node.op != "mean":
            return total
        divisor: Any = self._arithmetic.dtype.type(count)
        if node.divisor is not None:
            divisor = np.asarray(self._eval(node.divisor), self._arithmetic.dtype)
        return self._arithmetic.rounded(np.true_divide(total, divisor))

    def _accumulate(self, op: str, total: Any, values: Array) -> Array:
        """``total`` with the elements of ``values`` along its last dim added, in order unless the evaluation is exact."""
        last = values.ndim - 1
        if op in ("argmax", "argmin"):
            return np.asarray((np.argmax if op == "argmax" else np.argmin)(values, axis=last), np.int64)
        if self._exact or op not in ("sum", "prod") or values.dtype.kind != "f":
            out = reduce_any_order(op, values, (last,))
            return out if total is None else combine(op, total, out)
        return reduce_in_order(op, values, (last,), total, self._arithmetic.rounding)
