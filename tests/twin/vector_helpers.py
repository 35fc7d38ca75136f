"""Running one vector instruction of a test kernel on chosen bytes, and small pieces of IEEE arithmetic to compare with."""

from __future__ import annotations

import struct
from functools import cache
from pathlib import Path

import numpy as np

from generator.twin.build import Built, Tiling, build_kernel
from generator.twin.report import Breach

KERNELS = Path(__file__).parent / "kernels"
BYTES = 16384
PARAMS = 24
OLD = 0x2A

CTYPES = {
    "float32": "float",
    "float16": "half",
    "bfloat16": "bfloat16_t",
    "int8": "int8_t",
    "uint8": "uint8_t",
    "int16": "int16_t",
    "uint16": "uint16_t",
    "int32": "int32_t",
    "uint32": "uint32_t",
    "int64": "int64_t",
}


@cache
def built(kernel: str, product: str, **defines: str) -> Built:
    """The test kernel, compiled once for the whole session."""
    return build_kernel(KERNELS / f"{kernel}.cpp", product, defines=defines)


def padded(array: np.ndarray | None) -> np.ndarray:
    """The array's bytes at the start of a source buffer, zeros after it."""
    buffer = np.zeros(BYTES, np.uint8)
    if array is not None:
        raw = np.frombuffer(np.ascontiguousarray(array).tobytes(), np.uint8)
        buffer[: raw.size] = raw
    return buffer


def run(
    kernel: Built,
    params: list[int],
    x0: np.ndarray | None = None,
    x1: np.ndarray | None = None,
    x2: np.ndarray | None = None,
    old: np.ndarray | None = None,
    laws_off: tuple[str, ...] = (),
) -> tuple[np.ndarray, tuple[Breach, ...]]:
    """The destination's bytes after the call, and the breaches. Without ``old`` every old byte is ``OLD``."""
    data = struct.pack(f"<{PARAMS}q", *params, *[0] * (PARAMS - len(params)))
    before = np.full(BYTES, OLD, np.uint8) if old is None else padded(old)
    out = np.zeros(BYTES, np.uint8)
    tiling = Tiling(0, 0, 1, 0, data, 0, "", inputs=4, outputs=1)
    report = kernel.run(tiling, [padded(x0), padded(x1), padded(x2), before, out], laws_off)
    return out, report.breaches


def lawful(*args: object, **kwargs: object) -> np.ndarray:
    """The destination's bytes of a run that must not break a law."""
    out, breaches = run(*args, **kwargs)  # type: ignore[arg-type]
    assert not breaches, "\n".join(map(str, breaches))
    return out


def rules(*args: object, **kwargs: object) -> set[str]:
    """The names of the laws a run breaks."""
    return {breach.rule for breach in run(*args, **kwargs)[1]}  # type: ignore[arg-type]


def bf16_bits(values: np.ndarray) -> np.ndarray:
    """float32 to bfloat16 bits, half to even, by integer arithmetic on the pattern."""
    bits = np.asarray(values, np.float32).view(np.uint32).astype(np.uint64)
    rounded = (bits + 0x7FFF + ((bits >> 16) & 1)) >> 16
    return np.where(np.isnan(values), 0x7FC0, rounded).astype(np.uint16)


def bf16_values(bits: np.ndarray) -> np.ndarray:
    """bfloat16 bits to the float32 they stand for."""
    values: np.ndarray = (np.asarray(bits, np.uint16).astype(np.uint32) << 16).view(np.float32)
    return values


def ulps(actual: np.ndarray, exact: np.ndarray) -> np.ndarray:
    """|actual - exact| in units of the last place of the correctly rounded result; ``exact`` is float64 (or wider)."""
    nearest = exact.astype(actual.dtype)
    spacing = np.abs(np.spacing(nearest)).astype(np.float64)
    error: np.ndarray = np.abs(actual.astype(np.float64) - exact) / spacing
    return error
