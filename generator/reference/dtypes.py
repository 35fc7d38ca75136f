"""NumPy storage of every dtype: rounding float64 values into it, once, and reading it back exactly.

bfloat16 has no NumPy type and is stored as its 16 bits in ``uint16``. Rounding is to nearest, ties to even, in one
step from float64; floats overflow to infinity, integers saturate and take 0 for NaN.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

__all__ = ["FLOATS", "STORAGE", "decode", "encode", "is_float", "round_to", "to_hf32", "truncate_to"]

Array = NDArray[Any]

STORAGE: Final[Mapping[str, np.dtype[Any]]] = {
    "float16": np.dtype(np.float16),
    "bfloat16": np.dtype(np.uint16),
    "float32": np.dtype(np.float32),
    "float64": np.dtype(np.float64),
    "int8": np.dtype(np.int8),
    "uint8": np.dtype(np.uint8),
    "int16": np.dtype(np.int16),
    "int32": np.dtype(np.int32),
    "int64": np.dtype(np.int64),
    "bool": np.dtype(np.bool_),
}
FLOATS: Final = frozenset({"float16", "bfloat16", "float32", "float64"})

_HF32_DROPPED: Final = 13  # bits of float32's mantissa that HF32 lacks: 10 stay (generator/twin/README.md, Arithmetic)
_BLOCK: Final = 1 << 22  # elements converted at a time, so that temporaries stay small


def is_float(dtype: str) -> bool:
    """True for the floating-point dtypes; KeyError for a name that is no dtype."""
    STORAGE[dtype]
    return dtype in FLOATS


def encode(values: Array, dtype: str) -> Array:
    """``values`` (float64, float32, integer or bool, any shape) rounded once into the storage of ``dtype``."""
    values = np.asarray(values)
    target = STORAGE[dtype]
    if dtype not in ("bfloat16", "float64", "float32", "float16") and values.dtype == target:
        return values.copy()
    out = np.empty(values.shape, dtype=target)
    flat_in, flat_out = np.ascontiguousarray(values).reshape(-1), out.reshape(-1)
    with np.errstate(all="ignore"):
        for start in range(0, flat_in.size, _BLOCK):
            part = flat_in[start : start + _BLOCK]
            flat_out[start : start + _BLOCK] = _encode(part, dtype, target)
    return out


def _encode(part: Array, dtype: str, target: np.dtype[Any]) -> Array:
    if dtype == "bfloat16":
        return _to_bfloat16(part.astype(np.float64))
    if dtype in FLOATS:
        return part.astype(target)
    if dtype == "bool":
        return np.asarray(part != 0)
    return _saturate(np.rint(part) if part.dtype.kind == "f" else part, target)


def _to_bfloat16(x: NDArray[np.float64]) -> NDArray[np.uint16]:
    """Nearest even in one step: float32 rounded to odd keeps what the second rounding must know."""
    single = x.astype(np.float32)
    back = single.astype(np.float64)
    bits = single.view(np.uint32).copy()
    inexact = (back != x) & ~np.isnan(x)
    away = inexact & (np.abs(back) > np.abs(x))
    bits[away] -= 1
    bits[inexact] |= 1
    rounded = (bits + (np.uint32(0x7FFF) + ((bits >> np.uint32(16)) & np.uint32(1)))) >> np.uint32(16)
    sign = (bits >> np.uint32(16)) & np.uint32(0x8000)
    return np.where(np.isnan(x), sign | np.uint32(0x7FC0), rounded).astype(np.uint16)


def _saturate(whole: Array, target: np.dtype[Any]) -> Array:
    """Whole numbers into an integer type: clipped to its range, NaN becomes 0."""
    info = np.iinfo(target)
    if whole.dtype.kind in "iub":
        return np.clip(whole.astype(np.int64), info.min, info.max).astype(target)
    low, high = whole <= info.min, whole >= float(info.max)
    inside = np.where(low | high | np.isnan(whole), 0, whole).astype(target)
    return np.where(low, target.type(info.min), np.where(high, target.type(info.max), inside))


def decode(storage: Array, dtype: str, into: type[np.floating[Any]] = np.float64) -> Array:
    """The exact values of ``storage``: ``into`` (float64, or float32 where memory counts) for floats, int64 for
    integers, bool for bool."""
    storage = np.asarray(storage)
    if storage.dtype != STORAGE[dtype]:
        raise TypeError(f"storage of {dtype} is {STORAGE[dtype]}, got {storage.dtype}")
    with np.errstate(invalid="ignore"):  # signalling NaNs become quiet
        if dtype == "bfloat16":
            return (storage.astype(np.uint32) << np.uint32(16)).view(np.float32).astype(into, copy=False)
        if dtype in FLOATS:
            return storage.astype(into)
    return storage.astype(np.bool_ if dtype == "bool" else np.int64)


def round_to(values: Array, dtype: str) -> Array:
    """``values`` rounded to ``dtype`` (ties to even) and read back, in the floating type they came in."""
    values = np.asarray(values)
    if dtype in FLOATS:
        into = values.dtype.type if values.dtype.kind == "f" else np.float64
        return decode(encode(values, dtype), dtype, into)
    return decode(encode(values, dtype), dtype)


def truncate_to(values: Array, dtype: str) -> Array:
    """``values`` converted to the integer ``dtype`` as a cast does, towards zero, saturating; int64 comes back."""
    values = np.asarray(values)
    whole = np.trunc(values) if values.dtype.kind == "f" else values
    return decode(encode(whole, dtype), dtype)


def to_hf32(values: Array) -> NDArray[np.float32]:
    """float32 ``values`` rounded to HF32 (ties to even): float32 with fewer bits of mantissa. NaN and infinities stay."""
    bits = np.asarray(values, np.float32).view(np.uint32)
    tie = ((bits >> np.uint32(_HF32_DROPPED)) & np.uint32(1)) + np.uint32((1 << (_HF32_DROPPED - 1)) - 1)
    rounded = (bits + tie) & np.uint32(0xFFFFFFFF ^ ((1 << _HF32_DROPPED) - 1))
    return np.where((bits & np.uint32(0x7F800000)) == np.uint32(0x7F800000), bits, rounded).view(np.float32)
