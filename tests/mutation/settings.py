"""Which operators are mutated, and the launches that every mutant must survive to survive at all.

Small unified buffers make many tiles, tails and walked rows of small tensors; the real size is used where an instruction's
own limits (255 repeats, 2040 elements between repeats) are to be passed.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from generator.twin.verify.case import Number, Target
from generator.twin.verify.cases import case_of
from generator.twin.verify.outcome import CaseResult
from generator.twin.verify.runner import Prepared, Subject, prepare

__all__ = ["PRODUCT", "SETTINGS", "Setting", "ready"]

PRODUCT = "Ascend910B"  # the architecture on which vector instructions need barriers
KIB = 1024


@dataclass(frozen=True, slots=True)
class Setting:
    """Sizes and attributes of one launch; ``ub`` in bytes (0: the product's)."""

    sizes: tuple[tuple[str, Number], ...]
    cores: int = 2
    ub: int = 0
    combination: int = 0
    absent: tuple[str, ...] = ()


def _at(cores: int = 2, ub: int = 0, combination: int = 0, absent: tuple[str, ...] = (), **sizes: Number) -> Setting:
    return Setting(tuple(sizes.items()), cores, ub, combination, absent)


_SINKHORN = (
    _at(T=5, n=4, num_iters=3, ub=8 * KIB, cores=1),
    _at(T=37, n=4, num_iters=2, ub=16 * KIB),
    _at(T=40, n=6, num_iters=3, ub=24 * KIB),
    _at(T=64, n=8, num_iters=2, ub=24 * KIB),
    _at(T=33, n=8, num_iters=1, ub=24 * KIB),
)

SETTINGS: dict[str, tuple[Setting, ...]] = {
    "MhcSinkhornBackward": _SINKHORN,
    "MhcSinkhorn": (*_SINKHORN, *(replace(s, absent=("norm", "sums")) for s in _SINKHORN)),
    "RmsNorm": tuple(
        setting
        for kind in range(3)
        for setting in (
            _at(numel_b=5, D=13, ub=16 * KIB, cores=1, combination=kind),
            _at(numel_b=70, D=200, ub=24 * KIB, combination=kind),
            _at(numel_b=48, D=64, ub=24 * KIB, combination=kind),
            _at(numel_b=9, D=1100, ub=16 * KIB, combination=kind),
            _at(numel_b=600, D=8, cores=1, combination=kind),
            _at(numel_b=3, D=2111, cores=1, combination=kind),
            _at(numel_b=2, D=20000, cores=1, combination=kind),
        )
    ),
}
"""Operator to launches, cheapest first."""


def ready(subject: Subject, setting: Setting) -> Prepared:
    """The launch, tiled and with its expected values. Raises ``ValueError`` when the tiling function refuses it."""
    chip = subject.built.chip
    shrunk = replace(subject, built=replace(subject.built, chip=replace(chip, ub=setting.ub or chip.ub)))
    case = case_of(
        subject.checked, dict(setting.sizes), Target(PRODUCT, setting.cores), combination=setting.combination, absent=setting.absent
    )
    prepared = prepare(shrunk, case)
    if isinstance(prepared, CaseResult):
        raise ValueError(f"{case.label()}: {prepared.error}")
    return prepared


