"""Everything about a spec that its types do not say, the formula excepted."""

from __future__ import annotations

from generator.spec.errors import Problem
from generator.spec.load import Source

__all__ = ["check"]


def check(source: Source) -> list[Problem]:
    """Every problem of ``source`` beyond those found when it was typed."""
    return []
