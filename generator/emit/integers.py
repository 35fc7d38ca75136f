"""Printer of integer expressions to C++: the kernel's and the host tiling's text of one and the same IntExpr."""

from __future__ import annotations

import re
from collections.abc import Callable

from generator.spec.integer import Func, IntExpr, Numel, Sym, const

__all__ = ["integer"]

Names = Callable[[str], str]


def integer(expr: IntExpr, names: Names, numels: Names | None = None) -> str:
    """``expr`` as C++ over int64_t (or the host's checked integer, whose operators look the same).

    ``names`` spells a symbol, ``numels`` an element count. Rounded-up divisions are recognised and printed as
    ``CeilDiv`` and ``RoundUp``; minima and maxima as ``MinOf`` and ``MaxOf``. Operands of divisions are non-negative.
    """
    return _sum(expr, names, numels or names)


def _sum(expr: IntExpr, names: Names, numels: Names) -> str:
    if not expr.terms:
        return "0"
    parts: list[str] = []
    for mono, c in sorted(expr.terms, key=lambda t: t[1] < 0):
        rounded = _round_up(mono, c, names, numels)
        if rounded is not None:
            factors, scale = rounded, 1
        else:
            factors = [_atom(a, names, numels) for a, p in mono for _ in range(p)]
            scale = abs(c)
        if scale != 1 or not factors:
            factors.append(_literal(scale))
        body = " * ".join(factors)
        if parts:
            parts.append(f" {'-' if c < 0 else '+'} {body}")
        else:
            parts.append(f"-{body}" if c < 0 else body)
    return "".join(parts)


def _literal(value: int) -> str:
    return str(value)


def _round_up(mono: tuple[tuple[Sym | Numel | Func, int], ...], c: int, names: Names, numels: Names) -> list[str] | None:
    """Factors of ``c * ceil(a / c) * rest`` written with RoundUp, or None."""
    if c < 2:
        return None
    for k, (a, p) in enumerate(mono):
        if isinstance(a, Func) and a.op == "floordiv" and p == 1 and a.b.value == c:
            numerator = _ceil_numerator(a)
            if numerator is None:
                continue
            others = [_atom(x, names, numels) for i, (x, q) in enumerate(mono) for _ in range(q) if i != k]
            return [f"RoundUp({_sum(numerator, names, numels)}, {c})", *others]
    return None


def _ceil_numerator(f: Func) -> IntExpr | None:
    """The x of ``(x + b - 1) // b``; None when the division is not a rounded-up one."""
    x = f.a - f.b + 1
    if f.b.value is not None:
        rest = dict(f.a.terms).get((), 0)
        return x if rest == f.b.value - 1 and f.b.value > 1 else None
    symbols = {m for m, _ in f.b.terms}
    return x if symbols <= {m for m, _ in f.a.terms} and dict(f.a.terms).get((), 0) == -1 + dict(f.b.terms).get((), 0) else None


def _atom(a: Sym | Numel | Func, names: Names, numels: Names) -> str:
    if isinstance(a, Sym):
        return names(a.name)
    if isinstance(a, Numel):
        return numels(a.tensor)
    x, y = _sum(a.a, names, numels), _sum(a.b, names, numels)
    if a.op == "min":
        return f"MinOf({x}, {y})"
    if a.op == "max":
        return f"MaxOf({x}, {y})"
    if a.op == "floordiv":
        numerator = _ceil_numerator(a)
        if numerator is not None and numerator != const(0):
            return f"CeilDiv({_sum(numerator, names, numels)}, {y})"
        return f"({_wrap(a.a, x)} / {_wrap(a.b, y)})"
    return f"({_wrap(a.a, x)} % {_wrap(a.b, y)})"


def _wrap(expr: IntExpr, text: str) -> str:
    return text if re.fullmatch(r"[\w.]+(->[\w.]+)*", text) else f"({text})"
