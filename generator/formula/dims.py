"""Where each dim's value comes from: the tensors' shapes, solved, or other integers."""

from __future__ import annotations

from dataclasses import dataclass

from generator.formula.checked import CheckedSpec
from generator.formula.symbols import pack_dim
from generator.spec.integer import IntExpr

__all__ = ["DimSource", "sources"]


@dataclass(frozen=True, slots=True)
class DimSource:
    """``dim = (extent - offset) / scale``, exactly, where ``extent`` is that of canonical dim ``at`` of ``tensor`` (the product
    of the pack's extents when ``pack``). ``scale`` and ``offset`` may name dims that come earlier. ``from_end`` counts the dim from the end
    (1 is the last), for tensors whose shape has a pack before it; 0 otherwise."""

    dim: str
    tensor: str
    at: int
    scale: IntExpr
    offset: IntExpr
    pack: bool = False
    from_end: int = 0


def sources(spec: CheckedSpec) -> tuple[DimSource, ...]:
    """One source for every dim without a ``value:``, each after those its offset names; required inputs before others."""
    program = spec.program
    attrs = set(program.int_attrs)
    known = {name for name, _ in spec.derived}
    packs = {pack_dim(b) for b in spec.packs}
    inputs = [t for t in program.inputs if t.flat is None and not t.optional] + [t for t in program.inputs if t.flat is None and t.optional]
    out: list[DimSource] = []
    found: set[str] = set()
    progress = True
    while progress:
        progress = False
        for t in inputs:
            shape = t.shape
            pack_at = next((i for i, e in enumerate(shape) if e.symbol in packs), None)
            for at, extent in enumerate(shape):
                unknown = extent.free() - found - attrs - known
                if len(unknown) != 1:
                    continue
                name = next(iter(unknown))
                scale = _coefficient(extent, name)
                if scale is None:
                    continue
                after_pack = pack_at is not None and at > pack_at
                out.append(
                    DimSource(name, t.name, at, scale, extent.substitute({name: 0}), at == pack_at, len(shape) - at if after_pack else 0)
                )
                found.add(name)
                progress = True
    return tuple(out)


def _coefficient(extent: IntExpr, name: str) -> IntExpr | None:
    try:
        c = extent.coefficient(name)
    except ValueError:
        return None
    return None if c.value == 0 else c
