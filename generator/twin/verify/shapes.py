"""The concrete shapes and dtypes of an operator's parameters in one case."""

from __future__ import annotations

import math
import random
from collections.abc import Collection, Iterable, Mapping

from generator.formula.checked import CheckedSpec
from generator.formula.ir import Tensor
from generator.spec.model import OpSpec, Param
from generator.twin.verify.case import Case, Number

__all__ = [
    "INPUTS",
    "OUTPUTS",
    "attribute_values",
    "attributes",
    "dtype_of",
    "flag_values",
    "numel_of",
    "shapes_of",
    "split",
    "tensor_params",
]

Shape = tuple[int, ...]
INPUTS = ("in", "inout")  # directions of what a kernel reads; an in-place parameter is an input and an output
OUTPUTS = ("out", "inout")


def tensor_params(spec: OpSpec, *kinds: str) -> list[Param]:
    """Tensor parameters in order, of the given directions (all without)."""
    return [p for p in spec.params if p.io != "attr" and (not kinds or p.io in kinds)]


def attributes(spec: OpSpec) -> list[Param]:
    """Attributes of the graph operator, in order: what the tiling function sees."""
    return [p for p in spec.params if p.io == "attr" and not p.aclnn_only]


def attribute_values(spec: OpSpec, case: Case) -> list[Number]:
    """The case's attribute values in the tiling function's order, flags included."""
    values = dict(case.attrs)
    return [*(values[p.symbol] for p in attributes(spec)), *flag_values(spec, case.absent)]


def flag_values(spec: OpSpec, absent: Collection[str]) -> list[Number]:
    """What the level-0 call passes for the flags when these parameters are not given."""
    return [f.absent if set(f.outputs) & set(absent) else f.given for f in spec.flags]


def dtype_of(param: Param, dtypes: Mapping[str, str]) -> str:
    """The dtype name of a parameter under the binding of the spec's dtype variables."""
    name = param.dtype or "float32"
    return dtypes.get(name, name)


def split(extent: int, parts: int, rng: random.Random) -> Shape:
    """``parts`` extents whose product is ``extent``, as even as its divisors allow, in an order drawn from ``rng``."""
    if parts == 0:
        if extent != 1:
            raise ValueError(f"{extent} elements do not fit zero axes")
        return ()
    out = [extent]
    while len(out) < parts:
        biggest = out.pop()
        if biggest == 0:
            out += [0, rng.choice((1, 3))]
            continue
        small = max(d for d in range(1, math.isqrt(biggest) + 1) if biggest % d == 0)
        out += [small, biggest // small]
        out.sort()
    rng.shuffle(out)
    return tuple(out)


class _Splits:
    """Axes that several parameters share are split once: the same names get the same extents."""

    def __init__(self, case: Case) -> None:
        self.case = case
        self.known: dict[str, int] = {}
        self.rng = random.Random(case.seed)

    def of(self, extent: int, names: Iterable[str]) -> Shape:
        names = tuple(names)
        if all(n in self.known for n in names) and math.prod(self.known[n] for n in names) == extent:
            return tuple(self.known[n] for n in names)
        parts = split(extent, len(names), self.rng)
        self.known.update(zip(names, parts, strict=True))
        return parts


def _shape(param: Param, tensor: Tensor, case: Case, splits: _Splits) -> Shape:
    env = case.integers
    if tensor.flat is not None:
        return (tensor.flat.size.evaluate(env),)
    extents = [e.evaluate(env) for e in tensor.shape]
    if case.rank and case.rank <= len(param.ranks):
        entries: list[str | list[str]] = list(param.ranks[case.rank - 1])
    else:
        entries = list(param.shape or [])
    out: list[int] = []
    for entry, extent in zip(entries, extents, strict=True):
        if isinstance(entry, list):
            out += splits.of(extent, entry)
        elif entry.startswith("*"):
            out += splits.of(extent, [f"{entry}{i}" for i in range(case.axes)])
        else:
            out.append(extent)
    return tuple(out)


def shapes_of(checked: CheckedSpec, case: Case) -> dict[str, Shape]:
    """Formula symbol -> shape, for every tensor parameter, absent ones included."""
    splits = _Splits(case)
    return {p.symbol: _shape(p, checked.program.tensors[p.symbol], case, splits) for p in tensor_params(checked.spec)}


def numel_of(tensor: Tensor, env: Mapping[str, int]) -> int:
    """The element count of a tensor's buffer."""
    if tensor.flat is not None:
        return tensor.flat.size.evaluate(env)
    return math.prod(e.evaluate(env) for e in tensor.shape)
