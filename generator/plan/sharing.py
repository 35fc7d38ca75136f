"""Common subexpressions: what an expression needs in more than one place, to be computed once and kept."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

from generator.formula.ir import Binary, Call, Cast, Expr, Load, Where
from generator.formula.walk import children, rebuild, walk

__all__ = ["repeated", "substituted"]

_WORTH = (Binary, Call, Cast, Where)  # conditions are masks, not values; a sign costs as much as a read


def repeated(e: Expr) -> Expr | None:
    """The smallest subexpression of tensor elements that different expressions inside ``e`` are made of, or None.

    What occurs twice only because something around it does is not one: that is computed once with the whole.
    """
    uses: Counter[Expr] = Counter()
    for parent in dict.fromkeys(walk(e)):
        uses.update(children(parent))
    again = [x for x, n in uses.items() if n > 1 and isinstance(x, _WORTH) and any(isinstance(leaf, Load) for leaf in walk(x))]
    return min(again, key=lambda x: sum(1 for _ in walk(x)), default=None)


def substituted(e: Expr, old: Expr, new: Expr) -> Expr:
    """``e`` with every occurrence of ``old`` replaced by ``new``."""
    step: Callable[[Expr], Expr] = lambda c: substituted(c, old, new)  # noqa: E731
    return new if e == old else rebuild(e, step)
