"""The schema of an operator in PyTorch: its arguments in order, the flags that ask for optional outputs, its results."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from generator.spec.model import Group, OpSpec, Param

__all__ = ["arguments_of", "declared", "default_of", "flag_of", "flags_of", "returned", "schema"]

_TYPES: Final = {
    "float": "float",
    "double": "float",
    "int": "int",
    "bool": "bool",
    "string": "str",
    "int_list": "int[]",
    "float_list": "float[]",
}


def arguments_of(spec: OpSpec) -> list[Param]:
    """The arguments without flags, those that must be given first: tensors, attributes, optional tensors, attributes with a
    default. Attributes of the aclnn call alone are among them."""
    tensors = [p for p in spec.params if p.io == "in"]
    attrs = [p for p in spec.params if p.io == "attr"]
    needed = [*(p for p in tensors if not p.optional), *(p for p in attrs if p.default is None)]
    return [*needed, *(p for p in tensors if p.optional), *(p for p in attrs if p.default is not None)]


def flags_of(spec: OpSpec) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Flags that ask for optional outputs, with the outputs' symbols: one for each group, or for one on its own. Outputs that
    belong to an optional input, or may be missing only where they are empty, need none."""
    groups = list(spec.groups)
    grouped = {m for g in groups for m in g.members}
    groups += [Group(members=[p.symbol]) for p in spec.params if p.io == "out" and p.optional and p.symbol not in grouped]
    by_symbol = {p.symbol: p for p in spec.params}
    for g in groups:
        members = [by_symbol[m] for m in g.members]
        if all(p.io == "out" and p.optional_when is None for p in members):
            yield "with_" + "_".join(p.name for p in members), tuple(p.symbol for p in members)


def flag_of(spec: OpSpec, symbol: str) -> str:
    """The flag that asks for an output, or ""."""
    return next((flag for flag, members in flags_of(spec) if symbol in members), "")


def declared(spec: OpSpec, flags: bool = True) -> Iterator[str]:
    """Each argument as the schema writes it, by the graph's names. With ``flags`` it is the schema of torch.ops.opwright, which has
    flags, and no ``self`` beside an ``input``: PyTorch's compiler takes the two for one."""
    names = {p.symbol: p.name for p in arguments_of(spec)}
    if flags and {"self", "input"} <= set(names.values()):
        names = {s: n if n != "self" else next(x for x in (s, f"{s}_self") if x not in names.values()) for s, n in names.items()}
    for p in arguments_of(spec):
        if p.io == "in":
            yield f"Tensor{'?' if p.optional else ''} {names[p.symbol]}{'=None' if p.optional else ''}"
        else:
            yield f"{_TYPES[p.type or 'float']} {names[p.symbol]}{'' if p.default is None else f'={default_of(p)}'}"
    if flags:
        yield from (f"bool {flag}=True" for flag, _ in flags_of(spec))


def returned(spec: OpSpec, named: bool = False) -> str:
    """The results as the schema writes them."""
    results = [p.name for p in spec.params if p.io == "out"]
    if len(results) == 1:
        return "Tensor"
    return f"({', '.join(f'Tensor {r}' if named else 'Tensor' for r in results)})"


def schema(spec: OpSpec, name: str) -> str:
    """The schema of an operator called ``name`` that gives all its outputs."""
    return f"{name}({', '.join(declared(spec, flags=False))}) -> {returned(spec)}"


def default_of(p: Param) -> str:
    """An attribute's default as schemas and Python write it."""
    if isinstance(p.default, bool):
        return str(p.default)
    if isinstance(p.default, str):
        return f"'{p.default}'"
    if isinstance(p.default, int | float) and p.type in ("float", "double"):
        return repr(float(p.default))
    return str(p.default)
