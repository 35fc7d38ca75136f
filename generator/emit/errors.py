"""What emit raises for a plan it cannot print."""

from __future__ import annotations

__all__ = ["EmitError"]


class EmitError(Exception):
    """A plan that cannot be printed: an undeclared name, a node where it has no meaning, or a template that failed."""
