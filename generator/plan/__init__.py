"""From a resolved program to a KernelPlan."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from generator.formula.checked import CheckedSpec
    from generator.plan.tree import KernelPlan

__all__ = ["plan"]


def plan(checked: CheckedSpec) -> KernelPlan:
    """The kernel plan of a checked spec; :class:`generator.plan.tiles.Refusal` says what cannot be planned and why."""
    from generator.plan.assemble import plan as assemble

    return assemble(checked)
