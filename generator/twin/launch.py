"""Running a compiled kernel on virtual cores and reading its report."""

from __future__ import annotations

import ctypes
import math
import mmap
import sys
import time
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from generator.twin.errors import TwinError
from generator.twin.products import LIB_API_WORKSPACE, Product
from generator.twin.report import Breach, Cube, Report, Traffic, laws
from generator.twin.tiling import Tiling

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import DTypeLike

_INPUT, _OUTPUT, _IN_OUT = 0, 1, 2
MAX_CORES = 96
"""Virtual cores of a launch, at most: 32 blocks of a cube core and two vector cores."""


class _Array(ctypes.Structure):
    _fields_ = (("data", ctypes.c_void_p), ("bytes", ctypes.c_int64), ("role", ctypes.c_int32))


class _Launch(ctypes.Structure):
    _fields_ = (
        ("arrays", ctypes.POINTER(_Array)),
        ("count", ctypes.c_int32),
        ("workspace", ctypes.c_int64),
        ("tiling", ctypes.c_char_p),
        ("tiling_bytes", ctypes.c_int64),
        ("key", ctypes.c_uint64),
        ("block_dim", ctypes.c_int32),
        ("cores", ctypes.c_int32),
        ("ub", ctypes.c_int64),
        ("laws_off", ctypes.c_char_p),
        ("seconds", ctypes.c_int32),
        *((name, ctypes.c_int64) for name in ("l1", "l0a", "l0b", "l0c", "system")),
        *((name, ctypes.c_int32) for name in ("first", "of")),
    )


class _Breach(ctypes.Structure):
    _fields_ = (
        ("rule", ctypes.c_char_p),
        ("text", ctypes.c_char_p),
        ("file", ctypes.c_char_p),
        ("line", ctypes.c_int32),
        ("core", ctypes.c_int32),
        ("times", ctypes.c_int64),
    )


_NORESERVE = 0x4000 if sys.platform == "linux" else 0


def reserve(shape: tuple[int, ...], dtype: DTypeLike) -> np.ndarray:
    """An array of zeros in address space: a page takes memory when it is first written, so it may be larger than memory."""
    import numpy as np

    kind = np.dtype(dtype)
    count = math.prod(shape)
    memory = mmap.mmap(-1, max(1, count * kind.itemsize), flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | _NORESERVE)
    return np.frombuffer(memory, kind, count).reshape(shape)


@cache
def load(path: Path) -> ctypes.CDLL:
    """The library of a kernel."""
    handle = ctypes.CDLL(str(path))
    handle.TwinRun.restype = ctypes.c_void_p
    handle.TwinRun.argtypes = (ctypes.POINTER(_Launch),)
    handle.TwinBreachCount.argtypes = (ctypes.c_void_p,)
    handle.TwinBreachAt.argtypes = (ctypes.c_void_p, ctypes.c_int32, ctypes.POINTER(_Breach))
    int64s = ctypes.POINTER(ctypes.c_int64)
    handle.TwinCounters.argtypes = (ctypes.c_void_p, int64s, int64s, int64s)
    handle.TwinCube.argtypes = (ctypes.c_void_p, int64s, int64s, int64s)
    handle.TwinCoresPerBlock.argtypes = (ctypes.c_uint64,)
    handle.TwinFree.argtypes = (ctypes.c_void_p,)
    return handle


def parameters(handle: ctypes.CDLL) -> int:
    """Number of arguments of the kernel's entry, workspace and tiling included."""
    return int(handle.TwinParameters())


def _switches(off: Sequence[str]) -> bytes:
    known = list(laws())
    unknown = [name for name in off if name not in known]
    if unknown:
        raise TwinError(f"no law is called {unknown[0]!r}; the laws are {', '.join(known)}")
    return bytes(1 if name in off else 0 for name in known)


def _arrays(arrays: Sequence[np.ndarray | None], inputs: int) -> ctypes.Array[_Array]:
    slots = (_Array * max(len(arrays), 1))()
    for position, (slot, array) in enumerate(zip(slots, arrays, strict=False)):
        slot.role = _INPUT if position < inputs else _OUTPUT
        if array is None:
            continue
        if not array.flags.c_contiguous:
            raise TwinError(f"argument {position} is not contiguous; pass numpy.ascontiguousarray of it")
        if slot.role == _OUTPUT and not array.flags.writeable:
            raise TwinError(f"argument {position} is an output but read-only")
        slot.data, slot.bytes = array.ctypes.data, array.nbytes
    return slots


def run(
    handle: ctypes.CDLL,
    tiling: Tiling,
    arrays: Sequence[np.ndarray | None],
    chip: Product,
    laws_off: Sequence[str] = (),
    seconds: int = 600,
    only: int | None = None,
) -> Report:
    """Launches the kernel. ``arrays`` are the inputs and then the outputs, which are written in place. With ``only`` that block
    alone is run, as one of the tiling's; what waits for other blocks does not.

    Raises :class:`TwinError` when the arguments do not fit the kernel's entry.
    """
    if tiling.status != 0:
        raise TwinError(f"no launch: {tiling.message}")
    if len(arrays) + 2 != parameters(handle):
        raise TwinError(f"the kernel takes {parameters(handle) - 2} tensors, {len(arrays)} were given")
    mixed = int(handle.TwinCoresPerBlock(tiling.key)) > 1
    most = MAX_CORES // int(handle.TwinCoresPerBlock(tiling.key))
    if only is not None and not 0 <= only < tiling.block_dim:
        raise TwinError(f"block {only} is asked for, the launch has {tiling.block_dim}")
    if only is None and not 1 <= tiling.block_dim <= most:
        raise TwinError(f"block dim is {tiling.block_dim}, the twin runs 1 to {most}")
    inputs = tiling.inputs if tiling.inputs + tiling.outputs == len(arrays) else len(arrays)
    user = max(0, tiling.workspace_bytes - LIB_API_WORKSPACE)
    slots = _arrays(arrays, inputs)
    request = _Launch(
        arrays=slots,
        count=len(arrays),
        workspace=user,
        tiling=tiling.data,
        tiling_bytes=len(tiling.data),
        key=tiling.key,
        block_dim=tiling.block_dim if only is None else 1,
        cores=max(chip.aiv, 2 * chip.aic) if mixed else chip.aiv,
        ub=chip.ub,
        l1=chip.l1,
        l0a=chip.l0a,
        l0b=chip.l0b,
        l0c=chip.l0c,
        system=min(tiling.workspace_bytes, LIB_API_WORKSPACE),
        laws_off=_switches(laws_off),
        seconds=seconds,
        first=only or 0,
        of=tiling.block_dim,
    )
    start = time.perf_counter()
    result = handle.TwinRun(ctypes.byref(request))
    elapsed = time.perf_counter() - start
    try:
        return _report(handle, result, len(arrays) + 1, elapsed)
    finally:
        handle.TwinFree(result)


def _report(handle: ctypes.CDLL, result: int, arguments: int, elapsed: float) -> Report:
    breaches = []
    item = _Breach()
    for index in range(handle.TwinBreachCount(result)):
        handle.TwinBreachAt(result, index, ctypes.byref(item))
        rule, text, file = (value.decode(errors="replace") for value in (item.rule, item.text, item.file))
        breaches.append(Breach(rule, text, file, item.line, item.core, item.times))
    counters = (ctypes.c_int64 * 7)()
    read, written = (ctypes.c_int64 * arguments)(), (ctypes.c_int64 * arguments)()
    handle.TwinCounters(result, counters, read, written)
    cube = _cube(handle, result, arguments)
    moved = [Traffic(r + c.read, w + c.written) for r, w, c in zip(read, written, cube.per_argument, strict=True)]
    return Report(
        breaches=tuple(sorted(breaches, key=lambda breach: (breach.core, breach.line, breach.rule, breach.message))),
        bytes_read=sum(t.read for t in moved) + cube.system.read,
        bytes_written=sum(t.written for t in moved) + cube.system.written,
        per_argument=tuple(moved),
        cube=cube,
        scalar_instructions=counters[0],
        vector_instructions=counters[1],
        copies_in=counters[2],
        copies_out=counters[3],
        barriers=counters[4],
        flags=counters[5],
        sync_alls=counters[6],
        launches=1,
        seconds=elapsed,
    )


def _cube(handle: ctypes.CDLL, result: int, arguments: int) -> Cube:
    work = (ctypes.c_int64 * 3)()
    read, written = (ctypes.c_int64 * arguments)(), (ctypes.c_int64 * arguments)()
    handle.TwinCube(result, work, read, written)
    return Cube(work[0], tuple(Traffic(r, w) for r, w in zip(read, written, strict=True)), Traffic(work[1], work[2]))
