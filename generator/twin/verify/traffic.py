"""Which elements of its buffers a formula reads and writes: the bytes no kernel can do without."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Set
from dataclasses import dataclass, field

import numpy as np
from numpy.lib.stride_tricks import as_strided
from numpy.typing import NDArray

from generator.formula.ir import Assign, Bound, Expr, For, Gather, Index, Load, Program, Reduce, Stmt, Tensor
from generator.formula.walk import children
from generator.spec.integer import Func, IntExpr, Numel
from generator.twin.verify.shapes import numel_of

__all__ = ["Marks", "touched"]

Mask = NDArray[np.bool_]
Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Marks:
    """One flag for each element of a buffer, by tensor: read by the formula, written by it."""

    reads: dict[str, Mask] = field(default_factory=dict)
    writes: dict[str, Mask] = field(default_factory=dict)


def touched(
    program: Program, env: Mapping[str, int], absent: Set[str] = frozenset(), values: Mapping[str, NDArray[np.generic]] | None = None
) -> Marks:
    """The elements of inputs the formula reads and of outputs it writes (an output with ``fill`` is written whole).

    ``env`` holds dims and int attributes. Statements that write only absent outputs still count as reading their right
    sides. A gathered dim counts the indices in ``values`` (the whole extent without).
    """
    marks = Marks()
    for tensor in program.tensors.values():
        if tensor.name in absent or tensor.role == "local":
            continue
        mask = np.zeros(numel_of(tensor, env), dtype=np.bool_)
        if tensor.role == "input" or tensor.inout:
            marks.reads[tensor.name] = mask.copy()
        if tensor.role == "output":
            mask[:] = tensor.fill is not None
            marks.writes[tensor.name] = mask
    _Marker(program, marks, values or {}).body(program.body, dict(env))
    return marks


class _Marker:
    """One pass over the statements, loops unrolled."""

    def __init__(self, program: Program, marks: Marks, values: Mapping[str, NDArray[np.generic]]) -> None:
        self.program = program
        self.marks = marks
        self.values = values

    def body(self, stmts: tuple[Stmt, ...], env: dict[str, int]) -> None:
        for stmt in stmts:
            if isinstance(stmt, For):
                for value in range(stmt.start.evaluate(env), stmt.stop.evaluate(env), stmt.step):
                    self.body(stmt.body, {**env, stmt.var: value})
            elif isinstance(stmt, Assign):
                self.assign(stmt, env)

    def assign(self, stmt: Assign, env: dict[str, int]) -> None:
        axes = _bind({}, stmt.axes, env)
        written = self.marks.writes.get(stmt.tensor)
        if written is not None:
            self.mark(written, self.program.tensors[stmt.tensor], stmt.indices, (), axes, env)
        self.loads(stmt.value, axes, env)

    def loads(self, expr: Expr, axes: Mapping[str, int], env: dict[str, int]) -> None:
        if isinstance(expr, Reduce):
            axes = _bind(axes, expr.axes, env)
        if isinstance(expr, Load):
            read = self.marks.reads.get(expr.tensor)
            if read is not None:
                self.mark(read, self.program.tensors[expr.tensor], expr.indices, expr.guarded, axes, env)
        for child in children(expr):
            self.loads(child, axes, env)

    def mark(
        self,
        mask: Mask,
        tensor: Tensor,
        indices: tuple[Index, ...],
        guarded: tuple[int, ...],
        axes: Mapping[str, int],
        env: Mapping[str, int],
    ) -> None:
        used = {a: axes[a] for i in indices if isinstance(i, IntExpr) for a in axes if a in i.free()}
        if not mask.size or any(extent == 0 for extent in used.values()):
            return
        affine = [i for i in indices if isinstance(i, IntExpr) and i.is_affine_in(used)]
        strides = [s.evaluate(env) for s in tensor.strides()]
        if len(affine) == len(indices) and not guarded:
            _mark_affine(mask, affine, strides, used, env)
            return
        extents = [e.evaluate(env) for e in (tensor.flat.extents if tensor.flat else tensor.shape)]
        per_dim = [i.free() & used.keys() if isinstance(i, IntExpr) else frozenset[str]() for i in indices]
        if any(a & b for a, b in itertools.combinations(per_dim, 2)):
            _mark_points(mask, indices, strides, extents, used, env)
            return
        sets = [self.positions(i, extent, used, env) for i, extent in zip(indices, extents, strict=True)]
        offsets = sum((np.ix_(*sets)[d] * strides[d] for d in range(len(sets))), np.zeros((), np.int64))
        mask[np.asarray(offsets).reshape(-1)] = True

    def positions(self, index: Index, extent: int, axes: Mapping[str, int], env: Mapping[str, int]) -> Ints:
        """The distinct values of one index that lie inside its dim."""
        if isinstance(index, Gather):
            known = self.values.get(index.load.tensor)
            found = np.arange(extent) if known is None else np.unique(known.astype(np.int64))
        else:
            assert isinstance(index, IntExpr)
            found = np.unique(_grid(index, {a: n for a, n in axes.items() if a in index.free()}, env))
        return found[(found >= 0) & (found < extent)].astype(np.int64)


def _bind(axes: Mapping[str, int], bounds: tuple[Bound, ...], env: Mapping[str, int]) -> dict[str, int]:
    return {**axes, **{b.name: b.extent.evaluate(env) for b in bounds if b.extent is not None}}


def _mark_affine(mask: Mask, indices: list[IntExpr], strides: list[int], axes: Mapping[str, int], env: Mapping[str, int]) -> None:
    """Indices affine in the axes address a strided view of the buffer."""
    zero = {**env, **dict.fromkeys(axes, 0)}
    offset = sum(i.evaluate(zero) * s for i, s in zip(indices, strides, strict=True))
    shape, steps = [], []
    for axis, extent in axes.items():
        step = sum(i.coefficient(axis).evaluate(zero) * s for i, s in zip(indices, strides, strict=True))
        if step:
            offset += min(0, step * (extent - 1))
            shape.append(extent)
            steps.append(abs(step))
    last = offset + sum((n - 1) * s for n, s in zip(shape, steps, strict=True))
    if offset < 0 or last >= mask.size:
        raise IndexError(f"index {min(offset, last)} leaves a buffer of {mask.size} elements")
    as_strided(mask[offset:], shape, steps)[...] = True


def _mark_points(
    mask: Mask, indices: tuple[Index, ...], strides: list[int], extents: list[int], axes: Mapping[str, int], env: Mapping[str, int]
) -> None:
    """Any indices at all, point by point; gathered dims count whole."""
    offsets = np.zeros((1,) * (len(axes) + 1), np.int64)
    inside = np.ones_like(offsets, dtype=np.bool_)
    for index, stride, extent in zip(indices, strides, extents, strict=True):
        if isinstance(index, IntExpr):
            at = _grid(index, axes, env)[..., None]
            offsets = offsets + at * stride
            inside = inside & (at >= 0) & (at < extent)
        else:
            offsets = (offsets[..., None, :] + np.arange(extent)[:, None] * stride).reshape(*offsets.shape[:-1], -1)
            inside = np.repeat(inside, extent, axis=-1)
    offsets, inside = np.broadcast_arrays(offsets, inside)
    mask[offsets[inside]] = True


def _grid(index: IntExpr, axes: Mapping[str, int], env: Mapping[str, int]) -> Ints:
    """The index at every point of ``axes``: one dimension for each axis, of extent 1 where it does not matter."""
    named: dict[str, Ints] = {n: np.asarray(v, np.int64) for n, v in env.items()}
    for k, (axis, extent) in enumerate(axes.items()):
        shape = [1] * len(axes)
        shape[k] = extent if axis in index.free() else 1
        named[axis] = np.arange(shape[k], dtype=np.int64).reshape(shape)
    out = _evaluate(index, named)
    return out.reshape(math.prod(out.shape)) if not axes else out


def _evaluate(expr: IntExpr, env: Mapping[str, Ints]) -> Ints:
    total: Ints = np.zeros((), np.int64)
    for monomial, coefficient in expr.terms:
        term: Ints = np.asarray(coefficient, np.int64)
        for atom, power in monomial:
            if isinstance(atom, Func):
                a, b = _evaluate(atom.a, env), _evaluate(atom.b, env)
                op = {"floordiv": np.floor_divide, "mod": np.mod, "min": np.minimum, "max": np.maximum}[atom.op]
                value: Ints = op(a, b)
            elif isinstance(atom, Numel):
                raise KeyError(f"numel({atom.tensor})")
            else:
                value = env[atom.name]
            term = term * value**power
        total = total + term
    return total
