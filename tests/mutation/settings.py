"""Which operators are mutated, and the launches that every mutant must survive to survive at all.

Small unified buffers make many tiles, tails and walked rows of small tensors; the real size is used where an instruction's
own limits (255 repeats, 2040 elements between repeats) are to be passed.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from generator.twin.build import Tiling
from generator.twin.verify.calls import Subject
from generator.twin.verify.case import Number, Target
from generator.twin.verify.cases import case_of
from generator.twin.verify.fields import fields_of
from generator.twin.verify.outcome import CaseResult
from generator.twin.verify.runner import Prepared, prepare
from generator.twin.verify.shapes import tensor_params

__all__ = ["OTHER", "PRODUCT", "SETTINGS", "Setting", "ready"]

PRODUCT = "Ascend910B"  # the architecture on which vector instructions need barriers
OTHER = "Ascend950"  # and one that does not promise to ignore a count of 0
KIB = 1024


@dataclass(frozen=True, slots=True)
class Setting:
    """Sizes and attributes of one launch; ``ub`` in bytes (0: the product's); ``wide`` inputs are drawn
    from -wide to wide (0: as the spec says). ``tile`` are fields of the tiling data to set by hand: a kernel must be right
    for every tiling its buffers have room for, not only for those the host chooses."""

    sizes: tuple[tuple[str, Number], ...]
    cores: int = 2
    ub: int = 0
    combination: int = 0
    absent: tuple[str, ...] = ()
    wide: float = 0.0
    tile: tuple[tuple[str, int], ...] = ()


def _at(
    cores: int = 2, ub: int = 0, combination: int = 0, wide: float = 0.0, tile: Mapping[str, int] | None = None, **sizes: Number
) -> Setting:
    return Setting(tuple(sizes.items()), cores, ub, combination, (), wide, tuple((tile or {}).items()))


def _walked(rows: int, tile: int, chunk: int, cores: int = 2) -> dict[str, int]:
    """Tiles of ``tile`` rows walked in chunks of ``chunk`` columns, by the alternative after the one the host chose."""
    items = -(-rows // tile)
    return {"alternative": 1, "rstdBTile": tile, "rstdJTile": chunk, "rstdWork": items, "rstdPer": -(-items // cores)}


_SINKHORN = (
    _at(T=5, n=4, num_iters=3, ub=8 * KIB, cores=1),
    _at(T=37, n=4, num_iters=2, ub=16 * KIB),
    _at(T=40, n=6, num_iters=3, ub=24 * KIB),
    _at(T=64, n=8, num_iters=2, ub=24 * KIB),
    _at(T=33, n=8, num_iters=1, ub=24 * KIB),
    _at(T=17, n=6, num_iters=2, ub=16 * KIB, cores=3),
)
_FORWARD = (
    *(replace(s, sizes=(*s.sizes, ("eps", 1e-2))) for s in _SINKHORN),
    _at(T=40, n=6, num_iters=2, ub=24 * KIB, wide=400.0),  # a maximum that misses an element overflows
    _at(T=3, n=8, num_iters=2, cores=2, wide=400.0),  # a last tile of one
    _at(T=23, n=8, num_iters=1, ub=24 * KIB, cores=1, wide=400.0),
    _at(T=300, n=4, num_iters=1, cores=1, eps=1e-2),  # more than 255 repeats
    _at(T=255, n=8, num_iters=1, cores=1, eps=1e-2),
)

SETTINGS: dict[str, tuple[Setting, ...]] = {
    "MhcSinkhornBackward": _SINKHORN,
    "MhcSinkhorn": (*_FORWARD, *(replace(s, absent=("norm", "sums")) for s in _FORWARD)),
    "RmsNorm": tuple(
        setting
        for kind in range(3)
        for setting in (
            _at(numel_b=5, D=13, ub=16 * KIB, cores=1, combination=kind, epsilon=0.5),
            _at(numel_b=70, D=200, ub=24 * KIB, combination=kind),
            _at(numel_b=48, D=64, ub=24 * KIB, combination=kind, epsilon=0.5),
            _at(numel_b=23, D=65, ub=16 * KIB, combination=kind, epsilon=0.5),  # fewer items than the cores' shares
            _at(numel_b=19, D=129, ub=16 * KIB, cores=3, combination=kind),
            _at(numel_b=9, D=1100, ub=16 * KIB, combination=kind, epsilon=0.5),  # walked rows
            _at(numel_b=3, D=1985, ub=16 * KIB, combination=kind, wide=0.05),
            # several walked rows at a time: a chunk of 65 columns, a last chunk of one; 255 rows and one more; wide chunks
            _at(numel_b=19, D=145, ub=16 * KIB, combination=kind, tile=_walked(19, 5, 80)),
            _at(numel_b=11, D=161, ub=32 * KIB, combination=kind, tile=_walked(11, 8, 160)),
            _at(numel_b=10, D=160, ub=16 * KIB, combination=kind, tile=_walked(10, 5, 80)),
            _at(numel_b=512, D=24, cores=1, combination=kind, epsilon=0.5, tile=_walked(512, 256, 16, 1)),
            _at(numel_b=503, D=24, cores=1, combination=kind, tile=_walked(503, 255, 16, 1)),
            _at(numel_b=3, D=2113, cores=1, combination=kind, tile=_walked(3, 2, 2128, 1)),
            _at(numel_b=3, D=4241, cores=1, combination=kind, tile=_walked(3, 2, 2128, 1)),
            _at(numel_b=4, D=4225, cores=1, combination=kind, tile=_walked(4, 2, 2112, 1)),
            _at(numel_b=256, D=8, cores=1, combination=kind),  # one row more than 255 repeats
            _at(numel_b=255, D=16, cores=1, combination=kind),
            _at(numel_b=249, D=8, cores=1, combination=kind),
            _at(numel_b=248, D=8, cores=1, combination=kind),
            _at(numel_b=600, D=8, cores=1, combination=kind),
            _at(numel_b=3, D=2111, cores=1, combination=kind),  # rows beyond 2040 elements
            _at(numel_b=4, D=2112, cores=1, combination=kind),
            _at(numel_b=3, D=2113, cores=1, combination=kind),
            _at(numel_b=3, D=2128, cores=1, combination=kind),
            _at(numel_b=2, D=20000, cores=1, combination=kind),  # and walked
            _at(numel_b=2, D=20033, cores=2, combination=kind),
        )
    ),
}
"""Operator to launches, cheapest first."""


def ready(subject: Subject, setting: Setting, product: str = PRODUCT) -> Prepared:
    """The launch, tiled and with its expected values. Raises ``ValueError`` when the tiling function refuses it."""
    chip = subject.built.chip
    tests = subject.checked.spec.tests
    names = [p.symbol for p in tensor_params(subject.checked.spec, "in")] if setting.wide else []
    inputs = {**tests.inputs, **{n: [-setting.wide, setting.wide] for n in names}}
    spec = subject.checked.spec.model_copy(update={"tests": tests.model_copy(update={"inputs": inputs})})
    shrunk = replace(
        subject, checked=replace(subject.checked, spec=spec), built=replace(subject.built, chip=replace(chip, ub=setting.ub or chip.ub))
    )
    case = case_of(
        subject.checked, dict(setting.sizes), Target(product, setting.cores), combination=setting.combination, absent=setting.absent
    )
    prepared = prepare(shrunk, case)
    if isinstance(prepared, CaseResult):
        raise ValueError(f"{case.label()}: {prepared.error}")
    return replace(prepared, tiling=_retiled(subject.folder, prepared.tiling, dict(setting.tile))) if setting.tile else prepared


def _retiled(folder: Path, tiling: Tiling, fields: Mapping[str, int]) -> Tiling:
    """The tiling with some of its 64-bit fields set, for as many blocks as its work then needs; ``alternative`` is added
    to the key, whose last digits number the alternatives."""
    known = fields_of(folder, tiling.data)
    data = bytearray(tiling.data)
    for position, (name, _) in enumerate(known):
        if name in fields:
            struct.pack_into("q", data, 8 * position, fields[name])
    blocks = -(-fields["rstdWork"] // fields["rstdPer"])
    return replace(tiling, data=bytes(data), key=tiling.key + fields.get("alternative", 0), block_dim=blocks)


