"""Common subexpressions: what an expression computes more than once, to be computed once and kept."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

from generator.formula.ir import Binary, Call, Cast, Expr, Load, Where
from generator.formula.walk import rebuild, walk

__all__ = ["repeated", "substituted"]

_WORTH = (Binary, Call, Cast, Where)  # conditions are masks, not values; a sign costs as much as a read


def repeated(e: Expr) -> Expr | None:
    """The smallest subexpression that occurs more than once in ``e``, or None."""
    counts = Counter(x for x in walk(e) if isinstance(x, _WORTH) and any(isinstance(n, Load) for n in walk(x)))
    again = [x for x, n in counts.items() if n > 1]
    return min(again, key=lambda x: sum(1 for _ in walk(x)), default=None)


def substituted(e: Expr, old: Expr, new: Expr) -> Expr:
    """``e`` with every occurrence of ``old`` replaced by ``new``."""
    step: Callable[[Expr], Expr] = lambda c: substituted(c, old, new)  # noqa: E731
    return new if e == old else rebuild(e, step)
