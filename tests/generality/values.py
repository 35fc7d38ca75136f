"""Drawn values: text of a formula with what is known of its range and of its rounding error.

A drawn formula must be well conditioned, or a right kernel would fail the comparison. So every expression carries an
interval that holds its values and whether it is *exact* (elements of inputs, where a comparison or a rounding decides
alike in every precision) or *relative* (its error is small beside the value itself, also near zero).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

__all__ = ["Value", "add", "apply", "constant", "divide", "fit", "multiply", "shown", "steady", "subtract"]


@dataclass(frozen=True)
class Value:
    """``text`` over ``axes``; those of ``sized`` index some tensor plainly, so that it gives them their extent."""

    text: str
    low: float
    high: float
    axes: frozenset[str] = frozenset()
    sized: frozenset[str] = frozenset()
    exact: bool = False
    relative: bool = False
    atom: bool = True

    @property
    def bounded(self) -> bool:
        return math.isfinite(self.low) and math.isfinite(self.high)

    @property
    def size(self) -> float:
        return max(abs(self.low), abs(self.high))

    def inner(self) -> str:
        """The text as an operand."""
        return self.text if self.atom else f"({self.text})"


def shown(number: float) -> str:
    """A literal: short, and never an integer's."""
    text = f"{number:.4g}"
    return text if any(c in text for c in ".en") else text + ".0"


def constant(number: float) -> Value:
    """A literal as a value."""
    text = shown(number)
    exact = float(text)
    return Value(text if exact >= 0 else f"({text})", exact, exact, exact=True, relative=True)


def _joint(text: str, low: float, high: float, a: Value, b: Value, relative: bool) -> Value:
    return Value(text, low, high, a.axes | b.axes, a.sized | b.sized, False, relative, False)


def _times(x: float, y: float) -> float:
    return 0.0 if x == 0 or y == 0 else x * y


def add(a: Value, b: Value) -> Value:
    """``a + b``."""
    relative = (a.exact and b.exact) or (a.relative and b.relative and (min(a.low, b.low) >= 0 or max(a.high, b.high) <= 0))
    return _joint(f"{a.inner()} + {b.inner()}", a.low + b.low, a.high + b.high, a, b, relative)


def subtract(a: Value, b: Value) -> Value:
    """``a - b``."""
    return _joint(f"{a.inner()} - {b.inner()}", a.low - b.high, a.high - b.low, a, b, a.exact and b.exact)


def multiply(a: Value, b: Value) -> Value:
    """``a * b``."""
    ends = [_times(x, y) for x in (a.low, a.high) for y in (b.low, b.high)]
    return _joint(f"{a.inner()} * {b.inner()}", min(ends), max(ends), a, b, a.relative and b.relative)


def divide(a: Value, b: Value) -> Value:
    """``a / b`` of a divisor that is away from zero."""
    ends = [x / y if math.isfinite(x) else math.copysign(math.inf, x * y) for x in (a.low, a.high) for y in (b.low, b.high)]
    return _joint(f"{a.inner()} / {b.inner()}", min(ends), max(ends), a, b, a.relative and b.relative)


def apply(text: str, x: Value, low: float, high: float, relative: bool = False) -> Value:
    """A function of ``x``, as ``text`` says it; ``{}`` stands for the argument."""
    return Value(text.format(x.text), low, high, x.axes, x.sized, False, relative, True)


def fit(x: Value, low: float, high: float) -> Value:
    """``x``, moved into an interval by the mildest means: as it is, folded when unbounded, then scaled and shifted."""
    if low <= x.low and x.high <= high:
        return x
    if not x.bounded:
        if x.low >= 0:
            x = Value(f"{x.inner()} / (1.0 + {x.inner()})", 0.0, 1.0, x.axes, x.sized, False, x.relative, False)
        else:
            x = apply("tanh({})", x, -1.0, 1.0)
        return fit(x, low, high)
    low, high = max(low, -8.0), min(high, max(low, -8.0) + 16.0)
    width = x.high - x.low
    scale = min(1.0, 0.95 * (high - low) / width) if width else 1.0
    scale = float(f"{scale:.2g}") if scale < 1 else 1.0
    while scale * width > high - low:
        scale *= 0.5
    if scale != 1:
        x = multiply(x, constant(scale))
    if low <= x.low and x.high <= high:
        return x
    middle = (low + high) / 2 - (x.low + x.high) / 2
    return add(x, constant(middle)) if middle >= 0 else subtract(x, constant(-middle))


def steady(x: Value, most: float = math.inf) -> Value:
    """``x`` as an output may hold it: of limited size, and away from zero unless its error is relative."""
    if not x.bounded and (x.low < 0 or math.isfinite(most)):
        x = fit(x, -4.0, 4.0)
    if x.size > most:
        x = fit(x, -8.0, 8.0)
    if not x.bounded:
        return x if x.relative or x.low >= 0.1 else add(x, constant(1.0 - x.low))
    if x.relative or x.low >= 0.05 * x.size or x.high <= -0.05 * x.size:
        return x
    return add(x, constant(0.25 * (x.high - x.low) - x.low + 0.05))
