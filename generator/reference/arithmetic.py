"""Elementwise arithmetic of the reference in one precision: operators, functions, conversions, integer polynomials."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, Literal

import numpy as np
from numpy.typing import NDArray

from generator.formula import ir
from generator.reference import lower
from generator.reference.dtypes import FLOATS, round_to, to_hf32, truncate_to
from generator.reference.functions import FUNCTIONS, KEEP_INTEGERS
from generator.spec.integer import Func, IntExpr, Sym

__all__ = ["Arithmetic", "Precision", "polynomial"]

Array = NDArray[Any]
Precision = Literal["float64", "float32", "float16", "bfloat16", "hf32"]  # hf32: float32, factors of summed products in HF32

_OPS: Final[Mapping[str, Callable[..., Any]]] = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "div": np.true_divide,
    "pow": np.power,
    "floordiv": np.floor_divide,
    "mod": np.mod,
    "lt": np.less,
    "le": np.less_equal,
    "gt": np.greater,
    "ge": np.greater_equal,
    "eq": np.equal,
    "ne": np.not_equal,
    "and": np.logical_and,
    "or": np.logical_or,
    "not": np.logical_not,
    "neg": np.negative,
    "where": np.where,
}
_WHOLE: Final = ("add", "sub", "mul", "floordiv", "mod", "pow", "neg", "where")  # keep integers integers
_TRUTH: Final = ("lt", "le", "gt", "ge", "eq", "ne", "and", "or", "not")


class Arithmetic:
    """What one elementwise step gives in a precision. ``dtype`` is the NumPy type values are held in, ``rounding`` what follows
    every step where NumPy has no such type (bfloat16 is held in float32); ``factors``: only those of summed products are rounded."""

    def __init__(self, precision: Precision) -> None:
        self.dtype: np.dtype[Any] = np.dtype(np.float32 if precision in ("bfloat16", "hf32") else precision)
        self.factors = precision == "hf32"
        self.rounding: Callable[[Array], Array] | None = _to_bfloat16 if precision == "bfloat16" else None

    def storage(self, tensor: ir.Tensor) -> np.dtype[Any]:
        """The NumPy type of a tensor's elements during the evaluation."""
        return self.dtype if tensor.kind == "float" else np.dtype(np.int64 if tensor.kind == "int" else np.bool_)

    def unwritten(self, tensor: ir.Tensor) -> float | int | bool:
        """What an element holds that no statement writes."""
        if tensor.fill is not None:
            return tensor.fill
        return np.nan if tensor.kind == "float" else (int(np.iinfo(np.int64).min) if tensor.kind == "int" else False)

    def apply(self, node: lower.OpNode, args: Sequence[Any]) -> Any:
        """The operation of ``node`` on values that broadcast against each other."""
        values = list(args)
        keep = node.op in KEEP_INTEGERS if node.function else node.op in _WHOLE
        keep = keep or node.op in _TRUTH
        first = 1 if node.op == "where" else 0
        kinds = [np.asarray(a).dtype.kind for a in values[first:]]
        if "f" in kinds or not keep:
            values[first:] = [a if k == "f" else np.asarray(a, self.dtype) for a, k in zip(values[first:], kinds, strict=True)]
        elif node.op == "pow" and np.any(np.asarray(values[1]) < 0):
            values = [np.asarray(a, self.dtype) for a in values]
        return self.rounded((FUNCTIONS if node.function else _OPS)[node.op](*values))

    def rounded(self, values: Any) -> Any:
        """``values`` after the rounding that follows a step."""
        return self.rounding(values) if self.rounding is not None and np.asarray(values).dtype.kind == "f" else values

    def widen(self, values: Array) -> Array:
        """Elements as the computation has them: the compute dtype, int64 or bool."""
        kind = values.dtype.kind
        if kind == "f":
            values = values.astype(self.dtype, copy=False)
            return self.rounding(values) if self.rounding is not None else values
        return values.astype(np.int64, copy=False) if kind in "iu" else values

    def cast(self, dtype: str, value: Any) -> Any:
        """``value`` rounded to ``dtype`` (ties to even for floats, towards zero for integers), as the computation has it."""
        values = np.asarray(value)
        if dtype == "hf32":
            return to_hf32(values) if values.dtype.kind == "f" else values
        if dtype in FLOATS:
            return self.widen(round_to(values.astype(self.dtype, copy=False), dtype))
        return values != 0 if dtype == "bool" else truncate_to(values, dtype)


def _to_bfloat16(values: Array) -> Array:
    return round_to(np.asarray(values, np.float32), "bfloat16")


def polynomial(e: IntExpr, known: Mapping[str, Any]) -> Any:
    """The value of ``e`` with arrays for some of its symbols."""
    total: Any = np.int64(0)
    for monomial, coefficient in e.terms:
        term: Any = np.int64(coefficient)
        for atom, power in monomial:
            if isinstance(atom, Sym):
                value = known[atom.name]
            elif isinstance(atom, Func):
                a, b = polynomial(atom.a, known), polynomial(atom.b, known)
                value = {"floordiv": np.floor_divide, "mod": np.mod, "min": np.minimum, "max": np.maximum}[atom.op](a, b)
            term = term * value**power
        total = total + term
    return total
