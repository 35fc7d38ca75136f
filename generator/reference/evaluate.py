"""Evaluates resolved programs with NumPy: in float64 as the golden values, or in a compute dtype, left to right.

Statements run in order and read their whole right side before they write. There is no Python loop over elements: an
affine index is a strided view, a sum of products is a matrix product (float64), and everything else is vectorised, in
chunks of the left side's axes and then of the reduced ones, so that temporaries stay small at any size.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from generator.formula import ir
from generator.reference import lower
from generator.reference.arithmetic import Arithmetic, Precision, polynomial
from generator.reference.arrays import Buffer, Resolved, align, guarded_view, leaving, take, view
from generator.reference.dtypes import encode
from generator.reference.errors import EvaluationError, MissingValueError, ShapeError, UnknownNameError
from generator.reference.factors import rounded_factors
from generator.reference.liveness import last_reads, needed
from generator.reference.pieces import Cutter
from generator.reference.reduce import IDENTITY, combine, contract, reduce_any_order, reduce_in_order
from generator.spec.integer import IntExpr

__all__ = ["Precision", "presence", "round_outputs", "run", "sizes_of"]

Array = NDArray[Any]

_SMALL: Final = 1 << 22  # elements up to which an input is widened once, and not piece by piece


def run(
    program: ir.Program,
    inputs: Mapping[str, Array],
    dims: Mapping[str, int],
    attrs: Mapping[str, float | int | bool],
    *,
    precision: Precision = "float64",
    present: set[str] | None = None,
) -> dict[str, Array]:
    """The outputs of ``program`` by formula symbol, unrounded, in the compute dtype (int64 and bool for those kinds).

    ``inputs`` are arrays of the tensors' shapes, floats of any NumPy width (they are widened piece by piece), flat
    buffers one-dimensional; ``dims`` has every dim, derived ones included, and ``attrs`` every attribute the formula
    reads (integers may be in either). ``present`` names the optional tensors that are given; None means the inputs
    that are there and all outputs. An in-place tensor is an input and an output; its array is not changed. An absent
    input stands for its ``fill`` where it has one; absent outputs are not computed unless the formula reads them, and
    not returned. Unwritten elements of outputs are NaN (the least integer for integers) or ``fill``. Raises
    :class:`~generator.reference.errors.EvaluationError`."""
    with np.errstate(all="ignore"):
        return _Run(program, inputs, dims, attrs, precision, present).outputs()


def round_outputs(outputs: Mapping[str, Array], dtypes: Mapping[str, str]) -> dict[str, Array]:
    """Every output rounded once into the storage of its dtype (``dtypes`` by formula symbol)."""
    return {name: encode(value, dtypes[name]) for name, value in outputs.items()}


@dataclass(slots=True)
class _Scope:
    """Where an evaluation stands: the values of loop variables and the piece of every axis at hand."""

    loops: dict[str, int] = field(default_factory=dict)
    ranges: dict[int, tuple[int, int]] = field(default_factory=dict)


class _Run:
    def __init__(
        self,
        program: ir.Program,
        inputs: Mapping[str, Array],
        dims: Mapping[str, int],
        attrs: Mapping[str, float | int | bool],
        precision: Precision,
        present: set[str] | None,
    ) -> None:
        self._program = program
        self._exact = precision == "float64"
        self._arithmetic = Arithmetic(precision)
        self._dtype, self._rounding = self._arithmetic.dtype, self._arithmetic.rounding
        whole, sizes = sizes_of(program, dims, attrs)
        self._present = presence(program, inputs, present)
        numels = {name: int(np.asarray(a).size) for name, a in inputs.items()}
        self._lowerer = lower.Lowerer(program, sizes, numels, {k: v for k, v in attrs.items() if k not in whole})
        self._live = needed(program, self._present)
        self._scope = _Scope()
        self._buffers: dict[str, Buffer] = {}
        self._cutter = Cutter(self._number, self._buffers.get, lambda b: b.data.dtype == self._dtype, self._exact)
        for tensor in program.inputs:
            if tensor.name in inputs and tensor.name in self._present:
                self._buffers[tensor.name] = self._input(tensor, np.asarray(inputs[tensor.name]))
            elif tensor.fill is not None:
                self._buffers[tensor.name] = self._constant(tensor, tensor.fill)
        for tensor in program.outputs:
            if tensor.inout and tensor.name in self._present:
                buffer = self._input(tensor, np.asarray(inputs[tensor.name]))
                data = buffer.data.astype(self._arithmetic.storage(tensor))
                self._buffers[tensor.name] = Buffer(tensor.name, data, buffer.extents, buffer.strides)

    def outputs(self) -> dict[str, Array]:
        body = self._program.body
        last = last_reads(self._program)
        lowered = self._lowerer.body(body)
        for position, stmt in enumerate(rounded_factors(lowered) if self._arithmetic.factors else lowered):
            self._stmt(stmt)
            for name in last.get(position, ()):
                if self._program.tensors[name].role == "local":
                    self._buffers.pop(name, None)
        out = {}
        for tensor in self._program.outputs:
            if tensor.name in self._present:
                buffer = self._buffers.get(tensor.name) or self._empty(tensor)
                out[tensor.name] = buffer.data if tensor.flat is not None else buffer.data.reshape(buffer.extents)
        return out

    # tensors --------------------------------------------------------------------------------------------------------
    def _layout(self, tensor: ir.Tensor) -> tuple[tuple[int, ...], tuple[int, ...], int]:
        """Extents, element strides and element count."""
        extents = tuple(self._lowerer.number(e) for e in (tensor.flat.extents if tensor.flat else tensor.shape))
        strides = tuple(self._lowerer.number(e) for e in tensor.strides())
        size = self._lowerer.number(tensor.flat.size) if tensor.flat else int(np.prod(extents, dtype=np.int64))
        return extents, strides, size

    def _input(self, tensor: ir.Tensor, array: Array) -> Buffer:
        extents, strides, size = self._layout(tensor)
        expected = (size,) if tensor.flat else extents
        if array.shape != expected:
            raise ShapeError(f"{tensor.name} has the shape {array.shape}, expected {expected}")
        kinds = {"float": "f", "int": "iu", "bool": "b"}[tensor.kind]
        if array.dtype.kind not in kinds:
            raise ShapeError(f"{tensor.name} holds {array.dtype}, expected an array of {tensor.kind}")
        data = np.ascontiguousarray(array).reshape(-1)
        data = self._arithmetic.widen(data) if data.size <= _SMALL else data
        return Buffer(tensor.name, data, extents, strides)

    def _constant(self, tensor: ir.Tensor, value: float) -> Buffer:
        extents, strides, _ = self._layout(tensor)
        return Buffer(tensor.name, np.full(1, value, self._arithmetic.storage(tensor)), extents, (0,) * len(strides))

    def _empty(self, tensor: ir.Tensor) -> Buffer:
        extents, strides, size = self._layout(tensor)
        return Buffer(tensor.name, np.full(size, self._arithmetic.unwritten(tensor), self._arithmetic.storage(tensor)), extents, strides)

    # statements -----------------------------------------------------------------------------------------------------
    def _number(self, e: int | IntExpr) -> int:
        return e if isinstance(e, int) else e.evaluate(self._scope.loops)

    def _stmt(self, s: lower.Stmt) -> None:
        if isinstance(s, lower.AssignNode):
            if s.target.tensor in self._live:
                self._assign(s)
            return
        for value in range(self._number(s.start), self._number(s.stop), s.step):
            self._scope.loops[s.var] = value
            for inner in s.body:
                self._stmt(inner)
        self._scope.loops.pop(s.var, None)

    def _assign(self, s: lower.AssignNode) -> None:
        name = s.target.tensor
        buffer = self._buffers.get(name)
        if buffer is None:
            buffer = self._buffers[name] = self._empty(self._program.tensors[name])
        lengths = {a: self._number(e) for a, e in zip(s.axes, s.extents, strict=True)}
        if any(n <= 0 for n in lengths.values()):
            return
        pieces = self._cutter.statement(s.value, lengths)
        if len(pieces) > 1 and any(load.tensor == name and load.indices != s.target.indices for load in s.loads):
            buffer = Buffer(name, buffer.data.copy(), buffer.extents, buffer.strides)
        for piece in pieces:
            self._scope.ranges = dict(piece)
            value = self._eval(s.value)
            indices = [self._resolve(i) for i in s.target.indices if isinstance(i, lower.Affine)]
            leaving(buffer, indices, self._scope.ranges, frozenset(), s.span)
            view(buffer, indices, s.axes, self._scope.ranges)[...] = align(value, s.value.axes, s.axes)
        self._buffers[name] = buffer

    # expressions ----------------------------------------------------------------------------------------------------
    def _eval(self, node: lower.Node) -> Any:
        """The value of ``node`` over the ranges at hand: an array with the dims ``node.axes``, or a scalar."""
        match node:
            case lower.Constant(value):
                return self._dtype.type(value) if isinstance(value, float) else value
            case lower.IntNode(value, axes):
                return self._whole(value, axes)
            case lower.LoadNode():
                return self._arithmetic.widen(self._load(node))
            case lower.OpNode():
                return self._apply(node)
            case lower.CastNode(dtype, x):
                return self._arithmetic.cast(dtype, self._eval(x))
            case lower.ReduceNode():
                return self._reduce(node)

    def _apply(self, node: lower.OpNode) -> Any:
        return self._arithmetic.apply(node, [align(self._eval(a), a.axes, node.axes) for a in node.args])

    def _whole(self, e: IntExpr, axes: tuple[int, ...]) -> Any:
        """An integer expression: a Python int, or an int64 array with the dims ``axes``."""
        if not axes:
            return e.evaluate(self._scope.loops)
        known: dict[str, Any] = dict(self._scope.loops)
        for a in axes:
            first, count = self._scope.ranges[a]
            known[lower.axis_symbol(a)] = align(np.arange(first, first + count, dtype=np.int64), (a,), axes)
        shape = tuple(self._scope.ranges[a][1] for a in axes)
        return np.broadcast_to(polynomial(e, known), shape)

    def _resolve(self, index: lower.Affine) -> Resolved:
        if isinstance(index.base, int) and all(isinstance(c, int) for _, c in index.steps):
            return Resolved(index.base, index.steps)  # type: ignore[arg-type]
        return Resolved(self._number(index.base), tuple((a, self._number(c)) for a, c in index.steps))

    def _load(self, node: lower.LoadNode) -> Array:
        buffer = self._buffers.get(node.tensor)
        if buffer is None:
            tensor = self._program.tensors[node.tensor]
            what = f"the optional input {node.tensor} is absent" if tensor.optional else f"{node.tensor} has no value"
            raise MissingValueError(f"{what}, and the formula reads it", node.span)
        ranges = self._scope.ranges
        if node.affine:
            indices = [self._resolve(i) for i in node.indices if isinstance(i, lower.Affine)]
            if not leaving(buffer, indices, ranges, node.guarded, node.span):
                return view(buffer, indices, node.axes, ranges)
            padded = guarded_view(buffer, indices, node.axes, ranges, node.outside)
            if padded is not None:
                return padded
        arrays = [self._index_array(i, node.axes) for i in node.indices]
        shape = tuple(ranges[a][1] for a in node.axes)
        return take(buffer, arrays, node.guarded, node.outside, shape, node.span)

    def _index_array(self, index: lower.Dim, axes: tuple[int, ...]) -> Array:
        if isinstance(index, lower.LoadNode):
            return np.asarray(align(self._load(index).astype(np.int64), index.axes, axes))
        if isinstance(index, lower.General):
            known: dict[str, Any] = dict(self._scope.loops)
            for a in axes:
                first, count = self._scope.ranges[a]
                known[lower.axis_symbol(a)] = align(np.arange(first, first + count, dtype=np.int64), (a,), axes)
            return np.asarray(polynomial(index.value, known))
        resolved = self._resolve(index)
        out: Any = np.int64(resolved.base)
        for a, step in resolved.steps:
            first, count = self._scope.ranges[a]
            out = out + align(np.arange(first, first + count, dtype=np.int64) * step, (a,), axes)
        return np.asarray(out)

    # reductions -----------------------------------------------------------------------------------------------------
    def _reduce(self, node: lower.ReduceNode) -> Any:
        lengths = [self._number(e) for e in node.extents]
        count = int(np.prod([max(n, 0) for n in lengths], dtype=np.int64))
        if count == 0:
            value = self._of_nothing(node)
        else:
            with self._bound({a: (0, n) for a, n in zip(node.bound, lengths, strict=True)}):
                value = self._reduce_piece(node, None)
        if node.op != "mean":
            return value
        divisor: Any = self._dtype.type(count)
        if node.divisor is not None:
            divisor = align(np.asarray(self._eval(node.divisor), self._dtype), node.divisor.axes, node.axes)
        return self._arithmetic.rounded(np.true_divide(align(value, self._sum_axes(node), node.axes), divisor))

    @staticmethod
    def _sum_axes(node: lower.ReduceNode) -> tuple[int, ...]:
        return tuple(a for a in node.body.axes if a not in node.bound)

    def _of_nothing(self, node: lower.ReduceNode) -> Array:
        if node.op in ("argmax", "argmin"):
            raise EvaluationError(f"{node.op} over no elements has no value", node.span)
        identity = IDENTITY["sum" if node.op == "mean" else node.op]
        shape = tuple(self._scope.ranges[a][1] for a in self._sum_axes(node))
        return np.full(shape, identity, np.bool_ if isinstance(identity, bool) else self._dtype)

    @contextmanager
    def _bound(self, ranges: Mapping[int, tuple[int, int]]) -> Iterator[None]:
        before = self._scope.ranges
        self._scope.ranges = {**before, **ranges}
        yield
        self._scope.ranges = before

    def _reduce_piece(self, node: lower.ReduceNode, start: Array | None) -> Any:
        """The reduction over the ranges at hand, after ``start``; cut along the first long axis when it is too large."""
        cut = self._cutter.reduction(node, self._scope.ranges)
        if cut is None:
            return self._reduce_now(node, start)
        axis, step = cut
        first, length = self._scope.ranges[axis]
        for begin in range(0, length, step):
            with self._bound({axis: (first + begin, min(step, length - begin))}):
                start = self._reduce_piece(node, start)
        return start

    def _reduce_now(self, node: lower.ReduceNode, start: Array | None) -> Any:
        op = "sum" if node.op == "mean" else node.op
        out_axes = self._sum_axes(node)
        if self._cutter.contracts(node):
            factors = [(np.asarray(self._eval(f)), f.axes) for f in node.factors]
            divisors = [(np.asarray(self._eval(f)), f.axes) for f in node.divisors]
            if all(v.dtype == self._dtype for v, _ in factors):
                present = set().union(*(a for _, a in factors), *(a for _, a in divisors))
                out = contract(factors, divisors, frozenset(node.bound), out_axes)
                out = out * self._dtype.type(self._repeats(node, present))
                return out if start is None else combine(op, start, out)
        everything = tuple(sorted({*node.body.axes, *node.bound}))
        values = np.asarray(align(np.asarray(self._eval(node.body)), node.body.axes, everything))
        values = np.broadcast_to(values, tuple(self._scope.ranges[a][1] for a in everything))
        dims = tuple(everything.index(a) for a in node.bound)
        if op in ("argmax", "argmin"):
            rest = [d for d in range(values.ndim) if d not in dims]
            flat = values.transpose([*rest, *dims]).reshape(*(values.shape[d] for d in rest), -1)
            return (np.argmax if op == "argmax" else np.argmin)(flat, axis=-1).astype(np.int64)
        if self._exact or op not in ("sum", "prod") or values.dtype.kind != "f":
            out = reduce_any_order(op, values, dims)
            return out if start is None else combine(op, start, out)
        return reduce_in_order(op, values, dims, start, self._rounding)

    def _repeats(self, node: lower.ReduceNode, present: set[int]) -> int:
        """How often the summed product repeats: the extents of bound axes it does not depend on."""
        return int(np.prod([self._scope.ranges[a][1] for a in node.bound if a not in present], dtype=np.int64))


def sizes_of(
    program: ir.Program, dims: Mapping[str, int], attrs: Mapping[str, float | int | bool]
) -> tuple[dict[str, int], dict[str, int]]:
    """The integer attributes, and they and the dims together; MissingValueError when the program needs another."""
    whole = {k: int(v) for k, v in attrs.items() if isinstance(v, (int, np.integer)) and not isinstance(v, bool)}
    sizes = {**whole, **{k: int(v) for k, v in dims.items()}}
    missing = [name for name in (*program.dims, *program.int_attrs) if name not in sizes]
    if missing:
        raise MissingValueError(f"no value was given for {', '.join(missing)}")
    return whole, sizes


def presence(program: ir.Program, inputs: Mapping[str, Array], present: set[str] | None) -> set[str]:
    """The names of the tensors that are given or wanted; checks the names and what must be there."""
    outer = {t.name: t for t in program.tensors.values() if t.role != "local"}
    for name in (*inputs, *(present or ())):
        if name not in outer or (name in inputs and outer[name].role != "input" and not outer[name].inout):
            raise UnknownNameError(f"the program has no input {name}" if name in inputs else f"the program has no parameter {name}")
    here = set()
    for name, tensor in outer.items():
        given = (tensor.role == "output" and not tensor.inout) or name in inputs
        wanted = not tensor.optional or (given if present is None else name in present)
        if wanted and not given:
            raise MissingValueError(f"the input {name} was not given")
        if wanted:
            here.add(name)
    return here
