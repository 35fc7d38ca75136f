"""Names of operators, files, classes and C types, derived in one place from the spec's names."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

__all__ = ["CTYPES", "GE_DTYPES", "camel", "macro", "method", "snake"]

CTYPES: Final[dict[str, str]] = {
    "float16": "half",
    "bfloat16": "bfloat16_t",
    "float32": "float",
    "float64": "double",
    "int8": "int8_t",
    "uint8": "uint8_t",
    "int16": "int16_t",
    "int32": "int32_t",
    "int64": "int64_t",
    "bool": "bool",
}
"""Dtype name -> element type in a kernel."""

GE_DTYPES: Final[dict[str, str]] = {
    "float16": "ge::DT_FLOAT16",
    "bfloat16": "ge::DT_BF16",
    "float32": "ge::DT_FLOAT",
    "float64": "ge::DT_DOUBLE",
    "int8": "ge::DT_INT8",
    "uint8": "ge::DT_UINT8",
    "int16": "ge::DT_INT16",
    "int32": "ge::DT_INT32",
    "int64": "ge::DT_INT64",
    "bool": "ge::DT_BOOL",
}
"""Dtype name -> the graph engine's enumerator."""

_BOUNDARY: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")


def snake(name: str) -> str:
    """``AddRmsNorm`` -> ``add_rms_norm``: the kernel's function and file name."""
    return _BOUNDARY.sub("_", name).lower()


def camel(words: str | Iterable[str]) -> str:
    """Words, or a text with any separators, -> ``UpperCamelCase``."""
    text = words if isinstance(words, str) else " ".join(words)
    return "".join(w[0].upper() + w[1:] for w in re.split(r"[^A-Za-z0-9]+", text) if w)


def method(title: str) -> str:
    """A block's title -> a member function's name; never empty, never starting with a digit."""
    name = camel(title)
    return name if name and name[0].isalpha() else "Step" + name


def macro(*words: str) -> str:
    """Words -> ``UPPER_SNAKE``."""
    return "_".join(snake(camel(w)).upper() for w in words if w)
