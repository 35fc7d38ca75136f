"""Arrays as large as a tensor that take no more memory than one block of it and what is written."""

from __future__ import annotations

import ctypes
import mmap
import os
import tempfile
import weakref
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

__all__ = ["BLOCK", "repeated"]

Array = NDArray[np.generic]
BLOCK: Final = 16381 * mmap.PAGESIZE  # bytes that repeat: a prime number of pages, so that no power of two hides a wrong offset
_FIXED: Final = 0x10  # MAP_FIXED of Linux, which Python does not name
_NO_RESERVE: Final = getattr(mmap, "MAP_NORESERVE", 0x4000)


def repeated(block: Array, count: int) -> Array:
    """``count`` elements that repeat ``block``, whose bytes are a multiple of a page. Every page is copied when it is first written."""
    total = -(-count * block.itemsize // mmap.PAGESIZE) * mmap.PAGESIZE
    address = _map(None, total, _NO_RESERVE | mmap.MAP_ANONYMOUS, -1)
    with tempfile.TemporaryFile() as file:
        file.write(block.tobytes())
        file.flush()
        for begin in range(0, total, block.nbytes):
            _map(address + begin, min(block.nbytes, total - begin), _NO_RESERVE | _FIXED, file.fileno())
    held: Any = (ctypes.c_uint8 * total).from_address(address)
    weakref.finalize(held, _libc().munmap, ctypes.c_void_p(address), ctypes.c_size_t(total))
    out: Array = np.frombuffer(held, block.dtype, count)
    return out


def _libc() -> Any:
    return ctypes.CDLL(None, use_errno=True)


def _map(address: int | None, length: int, flags: int, file: int) -> int:
    call = _libc().mmap
    call.restype = ctypes.c_void_p
    call.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
    found = call(address, length, mmap.PROT_READ | mmap.PROT_WRITE, mmap.MAP_PRIVATE | flags, file, 0)
    if found is None or found == ctypes.c_void_p(-1).value:
        code = ctypes.get_errno()
        raise MemoryError(f"{length} bytes of address space: {os.strerror(code)}")
    return int(found)
