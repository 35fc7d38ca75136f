"""Tiling data as names and values, read with the help of the struct that host and kernel share."""

from __future__ import annotations

import re
import struct
from pathlib import Path

__all__ = ["fields_of", "unpack"]

_CODES = {
    "int64_t": "q",
    "uint64_t": "Q",
    "int32_t": "i",
    "uint32_t": "I",
    "int16_t": "h",
    "uint16_t": "H",
    "int8_t": "b",
    "uint8_t": "B",
    "float": "f",
    "double": "d",
}
_MEMBER = re.compile(rf"^\s*({'|'.join(_CODES)})\s+(\w+)(?:\[(\d+)\])?\s*(?:=[^;]*|\{{[^;]*\}})?;", re.MULTILINE)


def unpack(header: str, data: bytes) -> tuple[tuple[str, int | float], ...]:
    """Members of the one plain struct in ``header`` with their values in ``data``, laid out as C does on this host.

    Empty when the struct is larger than the data, so that a header this reader does not understand costs no result.
    """
    names: list[str] = []
    code = "@"
    for kind, name, count in _MEMBER.findall(header):
        repeat = int(count) if count else 1
        code += _CODES[kind] * repeat
        names += [name] if not count else [f"{name}[{k}]" for k in range(repeat)]
    if not names or struct.calcsize(code) > len(data):
        return ()
    return tuple(zip(names, struct.unpack_from(code, data), strict=True))


def fields_of(folder: Path, data: bytes) -> tuple[tuple[str, int | float], ...]:
    """The tiling data of an operator's folder by name; empty when the folder has no tiling data header."""
    headers = sorted((folder / "op_kernel").glob("*_tiling_data.h"))
    return unpack(headers[0].read_text(encoding="utf-8"), data) if headers else ()
