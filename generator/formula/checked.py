"""A spec whose text and formula have both been read and checked: what every later stage takes."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from generator.formula.ir import Program
from generator.spec.integer import IntExpr
from generator.spec.model import OpSpec


@dataclass(frozen=True)
class CheckedSpec:
    """``derived`` are dims computed from other integers (``num_iters`` from an element count), in dependency order;
    ``path`` is the spec file."""

    path: Path
    spec: OpSpec
    program: Program
    derived: tuple[tuple[str, IntExpr], ...]
