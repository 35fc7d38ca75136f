"""Random storage of one parameter, and the poison that fills what the formula does not define."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Final

import numpy as np
from numpy.typing import NDArray

from generator.formula.checked import CheckedSpec
from generator.formula.ir import Gather, Program, Tensor
from generator.reference import dtypes
from generator.spec.model import Param
from generator.twin.verify.case import Case
from generator.twin.verify.factors import loads_of

__all__ = ["draw", "is_poison", "poison", "spoiled"]

Array = NDArray[np.generic]
_RANGE = (-2.0, 2.0)
_BLOCK = 1 << 22  # elements drawn at a time, so that temporaries stay small
_PATTERNS: Final[Mapping[str, np.uint16 | np.uint32]] = {
    "float32": np.uint32(0x7FC0DEAD),
    "float16": np.uint16(0x7E5A),
    "bfloat16": np.uint16(0x7FDA),
}


def poison(count: int, dtype: str) -> Array:
    """``count`` elements that no kernel computes: NaNs with a payload, or an odd integer."""
    kind = dtypes.STORAGE[dtype]
    if dtype in _PATTERNS:
        return np.full(count, _PATTERNS[dtype]).view(kind)
    if dtype == "bool":
        return np.zeros(count, kind)
    return np.full(count * kind.itemsize, 0x5A, np.uint8).view(kind)


def is_poison(storage: Array, dtype: str) -> NDArray[np.bool_] | None:
    """Which elements of ``storage``, of one dimension, are poison still; None where a kernel might compute the same bits."""
    pattern = _PATTERNS.get(dtype)
    return None if pattern is None else np.equal(storage.view(f"u{storage.itemsize}"), pattern)


def _index_limits(program: Program) -> dict[str, list[tuple[Tensor, int]]]:
    """Integer tensor -> the (tensor, dim) pairs it indexes."""
    out: dict[str, list[tuple[Tensor, int]]] = {}
    for load in loads_of(program.body):
        for d, index in enumerate(load.indices):
            if isinstance(index, Gather):
                out.setdefault(index.load.tensor, []).append((program.tensors[load.tensor], d))
    return out


def _random(checked: CheckedSpec, param: Param, shape: tuple[int, ...], case: Case, rng: np.random.Generator) -> NDArray[np.generic]:
    """Random values: uniform in ``tests.inputs`` for floats, legal indices or small numbers for integers."""
    tensor = checked.program.tensors[param.symbol]
    if tensor.kind == "bool":
        return rng.integers(0, 2, shape).astype(bool)
    limits = checked.spec.tests.inputs.get(param.symbol)
    if tensor.kind == "int":
        indexed = _index_limits(checked.program).get(param.symbol)
        if indexed:
            top = min(t.shape[d].evaluate(case.integers) for t, d in indexed)
            return rng.integers(0, max(1, top), shape)
        low, high = (int(limits[0]), int(limits[1])) if limits else (-8, 8)
        return rng.integers(low, high + 1, shape)
    low_f, high_f = limits if limits else _RANGE
    return rng.uniform(low_f, high_f, shape)


def draw(checked: CheckedSpec, param: Param, shape: tuple[int, ...], case: Case, rng: np.random.Generator, dtype: str) -> Array:
    """Random storage of a parameter."""
    count = math.prod(shape)
    if dtype not in _PATTERNS or count <= _BLOCK:
        return np.ascontiguousarray(dtypes.encode(_random(checked, param, shape, case, rng), dtype).reshape(shape))
    low, high = checked.spec.tests.inputs.get(param.symbol) or _RANGE
    out = np.empty(count, dtypes.STORAGE[dtype])
    for begin in range(0, count, _BLOCK):
        out[begin : begin + _BLOCK] = _block(min(_BLOCK, count - begin), low, high, dtype, rng)
    return out.reshape(shape)


def spoiled(storage: Array, dtype: str, special: str, rng: np.random.Generator) -> Array:
    """A copy in which one element, so one row, is NaN or an infinity."""
    values = dtypes.decode(storage, dtype).astype(np.float64)
    if values.size:
        values.reshape(-1)[rng.integers(values.size)] = float(special)
    return dtypes.encode(values, dtype)


def _block(count: int, low: float, high: float, dtype: str, rng: np.random.Generator) -> Array:
    """``count`` values between ``low`` and ``high``; those of bfloat16 are rounded towards zero, which is quick."""
    values = rng.random(count, np.float32) * np.float32(high - low) + np.float32(low)
    if dtype == "bfloat16":
        return (values.view(np.uint32) >> np.uint32(16)).astype(np.uint16)
    return values.astype(dtypes.STORAGE[dtype])
