"""The specs of this repository, loaded once, with the operators they are gradients of."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from generator.formula.checked import CheckedSpec, load

ROOT = Path(__file__).resolve().parents[2]
PATHS = sorted((ROOT / "specs").glob("*/*.yaml"))


@cache
def every() -> dict[str, CheckedSpec]:
    """Every operator by name."""
    return {checked.spec.name: checked for checked in map(load, PATHS)}


def forward_of(checked: CheckedSpec) -> CheckedSpec | None:
    return every()[checked.spec.forward] if checked.spec.forward else None


NAMES = sorted(every())
BACKWARDS = [name for name in NAMES if every()[name].spec.forward]
