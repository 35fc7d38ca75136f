"""What a spec says about the sizes and integer attributes: intervals, and facts for proofs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from generator.formula.prove import Facts
from generator.formula.symbols import Symbols, is_tensor
from generator.spec.conditions import Condition, Names, bounds, facts, parse
from generator.spec.errors import TextError
from generator.spec.integer import IntExpr, Numel, Sym, sym
from generator.spec.model import OpSpec

if TYPE_CHECKING:
    from generator.formula.checked import CheckedSpec

__all__ = ["all_read", "bounds_of", "conditions_of", "facts_of", "names_of"]


def names_of(spec: OpSpec) -> Names:
    """The names a condition of ``spec`` may use."""
    attrs = [p for p in spec.params if not is_tensor(p)]
    return Names(
        ints=[*spec.dims, *spec.segments, *(p.symbol for p in attrs if p.type == "int")],
        floats=[p.symbol for p in attrs if p.type in ("float", "double")],
        bools=[p.symbol for p in attrs if p.type == "bool"],
        strings=[p.symbol for p in attrs if p.type == "string"],
        tensors=[p.symbol for p in spec.params if is_tensor(p)],
    )


def conditions_of(spec: OpSpec) -> Iterator[Condition]:
    """Every condition every legal call satisfies: dims' and attributes' ``where`` and the constraints."""
    names = names_of(spec)
    texts = [*(d.where for d in spec.dims.values()), *(p.where for p in spec.params), *(c.that for c in spec.constraints)]
    for text in texts:
        if text is not None:
            try:
                yield parse(text, names)
            except TextError:
                continue  # reported where the text is checked


def all_read(spec: OpSpec) -> bool:
    """Whether every condition of ``spec`` could be read: if not, proofs lack facts."""
    written = [*(d.where for d in spec.dims.values()), *(p.where for p in spec.params), *(c.that for c in spec.constraints)]
    return sum(t is not None for t in written) == sum(1 for _ in conditions_of(spec))


def bounds_of(spec: CheckedSpec) -> Mapping[str, tuple[int, int | None]]:
    """For every dim and int attribute its lowest and highest value (None: unbounded). Dims are >= 0 at least; an
    attribute without a lower limit is taken as int64's lowest."""
    return _bounds(spec.spec, spec.program.dims, spec.program.int_attrs)


def _bounds(spec: OpSpec, dims: tuple[str, ...], attrs: tuple[str, ...]) -> dict[str, tuple[int, int | None]]:
    size: tuple[int, int | None] = (0, None)
    attr: tuple[int, int | None] = (-(2**63), None)
    out = {**dict.fromkeys(dims, size), **dict.fromkeys(attrs, attr)}
    for cond in conditions_of(spec):
        for name, (low, high) in out.items():
            new_low, new_high = bounds(cond, name)
            low = max(low, new_low) if new_low is not None else low
            high = new_high if high is None else min(high, new_high) if new_high is not None else high
            out[name] = (low, high)
    return out


def facts_of(spec: OpSpec, symbols: Symbols) -> Facts:
    """What proofs about the formula may use. Unless the policy for empty tensors is ``compute``, the formula is only run
    when no tensor is empty, so every dim of a shape is at least 1."""
    sizes = _bounds(spec, tuple(symbols.dims), tuple(symbols.int_attrs))
    if spec.policies.empty != "compute":
        used = {s for t in symbols.tensors.values() for extent in t.shape for s in _factors(extent)}
        sizes = {n: (max(low, 1), high) if n in used else (low, high) for n, (low, high) in sizes.items()}
    known: list[IntExpr] = []
    for cond in conditions_of(spec):
        known += [f for f in facts(cond) if len(f.free()) > 1]
    for name, value in symbols.derived:
        if not any(isinstance(a, Numel) for a in value.atoms()):
            known += [sym(name) - value, value - sym(name)]
    if spec.policies.empty != "compute":
        known += [e - 1 for t in symbols.tensors.values() for e in t.shape if len(e.terms) > 1]
    return Facts(sizes, (), tuple(dict.fromkeys(known)))


def _factors(extent: IntExpr) -> set[str]:
    """The names that divide ``extent``: a non-empty tensor makes them positive."""
    if len(extent.terms) != 1:
        return set()
    return {a.name for m, _ in extent.terms for a, _ in m if isinstance(a, Sym)}
