"""Calling a compiled tiling function, as the host would before a launch."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from generator.twin.errors import TwinError
from generator.twin.products import Product

DTYPES = {
    "float32": 0,
    "float16": 1,
    "int8": 2,
    "int32": 3,
    "uint8": 4,
    "int16": 6,
    "uint16": 7,
    "uint32": 8,
    "int64": 9,
    "uint64": 10,
    "float64": 11,
    "bool": 12,
    "bfloat16": 27,
}
"""dtype name to ``ge::DataType`` (host.md section 5)."""

Attr = int | float | bool | str | Sequence[int] | Sequence[float]


@dataclass(frozen=True, slots=True)
class TensorArg:
    """A tensor as the tiling function sees it: its shape and dtype name (``float32``, ``bfloat16``, ...)."""

    shape: tuple[int, ...]
    dtype: str


@dataclass(frozen=True, slots=True)
class Tiling:
    """What the tiling function decided. ``workspace_bytes`` is all it asked for, the system's share included.

    ``status`` is its ``ge::graphStatus`` (0: success); ``message`` is empty when it succeeded.
    """

    status: int
    key: int
    block_dim: int
    workspace_bytes: int
    data: bytes
    schedule_mode: int
    message: str
    inputs: int = 0
    outputs: int = 0


class _Tensor(ctypes.Structure):
    _fields_ = (("present", ctypes.c_int32), ("dtype", ctypes.c_int32), ("rank", ctypes.c_int32), ("dims", ctypes.POINTER(ctypes.c_int64)))


class _Attr(ctypes.Structure):
    _fields_ = (
        ("kind", ctypes.c_int32),
        ("integer", ctypes.c_int64),
        ("real", ctypes.c_double),
        ("text", ctypes.c_char_p),
        ("integers", ctypes.POINTER(ctypes.c_int64)),
        ("reals", ctypes.POINTER(ctypes.c_double)),
        ("count", ctypes.c_int64),
    )


class _Platform(ctypes.Structure):
    _fields_ = (
        *((name, ctypes.c_uint32) for name in ("aiv", "aic", "soc_version", "arch")),
        *((name, ctypes.c_uint64) for name in ("ub", "l1", "l0a", "l0b", "l0c", "l2", "hbm")),
        ("soc", ctypes.c_char_p),
    )


class _Tiling(ctypes.Structure):
    _fields_ = (
        *((name, ctypes.c_uint32) for name in ("status", "block_dim", "schedule")),
        *((name, ctypes.c_uint64) for name in ("key", "workspace", "data_size")),
    )


def _tensors(args: Sequence[TensorArg | None]) -> ctypes.Array[_Tensor]:
    array = (_Tensor * max(len(args), 1))()
    for slot, arg in zip(array, args, strict=False):
        if arg is None:
            continue
        if arg.dtype not in DTYPES:
            raise TwinError(f"dtype {arg.dtype!r} is not one a tiling function knows, use one of {', '.join(DTYPES)}")
        dims = (ctypes.c_int64 * max(len(arg.shape), 1))(*arg.shape)
        slot.present, slot.dtype, slot.rank, slot.dims = 1, DTYPES[arg.dtype], len(arg.shape), dims
    return array


def _attrs(values: Sequence[Attr]) -> ctypes.Array[_Attr]:
    array = (_Attr * max(len(values), 1))()
    for slot, value in zip(array, values, strict=False):
        if isinstance(value, bool):
            slot.kind, slot.integer = ord("b"), int(value)
        elif isinstance(value, int):
            slot.kind, slot.integer = ord("i"), value
        elif isinstance(value, float):
            slot.kind, slot.real = ord("f"), value
        elif isinstance(value, str):
            slot.kind, slot.text = ord("s"), value.encode()
        elif any(isinstance(item, float) for item in value):
            slot.kind, slot.count = ord("F"), len(value)
            slot.reals = (ctypes.c_double * len(value))(*value)
        else:
            slot.kind, slot.count = ord("I"), len(value)
            slot.integers = (ctypes.c_int64 * max(len(value), 1))(*(int(item) for item in value))
    return array


@cache
def load(path: Path) -> ctypes.CDLL:
    """The library of a tiling function. Raises :class:`TwinError` unless it registers exactly one operator."""
    handle = ctypes.CDLL(str(path))
    handle.TwinCapacity.restype = ctypes.c_uint64
    count = int(handle.TwinOperators())
    if count != 1:
        raise TwinError(f"{path.name}: registers {count} operators with IMPL_OP_OPTILING(..).Tiling(..), one is needed")
    return handle


def call(
    handle: ctypes.CDLL, inputs: Sequence[TensorArg | None], outputs: Sequence[TensorArg | None], attrs: Sequence[Attr], chip: Product
) -> Tiling:
    """Calls the tiling function for these arguments (``None``: an absent optional tensor) on ``chip``."""
    sizes = (chip.ub, chip.l1, chip.l0a, chip.l0b, chip.l0c, chip.l2, chip.hbm)
    platform = _Platform(chip.aiv, chip.aic, chip.soc_version, chip.arch, *sizes, chip.soc.encode())
    out = _Tiling()
    buffer = ctypes.create_string_buffer(int(handle.TwinCapacity()) or 1)
    handle.TwinTile(
        _tensors(inputs),
        ctypes.c_int32(len(inputs)),
        _tensors(outputs),
        ctypes.c_int32(len(outputs)),
        _attrs(attrs),
        ctypes.c_int32(len(attrs)),
        ctypes.byref(platform),
        ctypes.byref(out),
        buffer,
    )
    message = "" if out.status == 0 else f"the tiling function returned {out.status:#x}"
    return Tiling(
        status=out.status,
        key=out.key,
        block_dim=out.block_dim,
        workspace_bytes=out.workspace,
        data=buffer.raw[: out.data_size],
        schedule_mode=out.schedule,
        message=message,
        inputs=len(inputs),
        outputs=len(outputs),
    )
