"""The operator's definition (OpDef) and graph prototype: inputs, attributes, outputs, and one column per supported combination."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from generator.emit.interface import GE_FORMATS
from generator.emit.names import GE_DTYPES
from generator.emit.shapes import attributes, combinations, flags, tensors
from generator.formula.checked import CheckedSpec
from generator.spec.model import OpSpec, Param

__all__ = ["Registration", "registration"]

_SETTERS: Final = {
    "float": "Float",
    "double": "Float",
    "int": "Int",
    "bool": "Bool",
    "string": "String",
    "int_list": "ListInt",
    "float_list": "ListFloat",
}
_CONFIGS: Final = {"Ascend910B": '"ascend910b"', "Ascend910_93": '"ascend910_93"', "Ascend950": "kAscend950"}


@dataclass(frozen=True)
class Operand:
    """One input or output of the graph operator. ``dtypes`` and ``formats`` are columns: entry i belongs to combination i."""

    name: str
    optional: bool
    dtypes: tuple[str, ...]
    formats: tuple[str, ...]

    @property
    def distinct(self) -> tuple[str, ...]:
        """The dtypes without repetition, as the graph prototype lists them."""
        return tuple(dict.fromkeys(d.removeprefix("ge::") for d in self.dtypes))


@dataclass(frozen=True)
class Attribute:
    """One graph attribute: setter of its type, its default as C++ ("" when it must be given), and what is to be said of it."""

    name: str
    setter: str
    default: str
    about: str = ""


@dataclass(frozen=True)
class Registration:
    """Everything the definition's and the prototype's templates read."""

    inputs: tuple[Operand, ...]
    outputs: tuple[Operand, ...]
    attributes: tuple[Attribute, ...]
    configs: tuple[str, ...]
    contiguous: bool
    needs_950: bool


def registration(checked: CheckedSpec) -> Registration:
    """What the graph knows of ``checked``."""
    spec = checked.spec
    ordered = tensors(spec)
    count = sum(p.io in ("in", "inout") for p in spec.params)
    operands = tuple(_operand(spec, p) for p in ordered)
    return Registration(
        operands[:count],
        operands[count:],
        (*(Attribute(p.name, _SETTERS[p.type or "float"], _default(p)) for p in attributes(spec)), *_flags(checked)),
        tuple(_CONFIGS[p] for p in spec.products),
        spec.policies.noncontiguous == "accept",
        "Ascend950" in spec.products,
    )


def _flags(checked: CheckedSpec) -> Iterator[Attribute]:
    for f in flags(checked):
        have = "has" if len(f.outputs) == 1 else "have"
        about = f"{f.name}: {f.given} when {f.listed} {f.are} wanted, {f.absent} when not; then {f.listed} {have} shape [0]"
        yield Attribute(f.name, f.getter.removeprefix("Get"), f.absent, about)


def _operand(spec: OpSpec, p: Param) -> Operand:
    """Columns: every dtype combination with every parameter's first format, then with its second (or first), and so on."""
    widest = max(len(q.formats) for q in spec.params if q.io != "attr")
    combos = [GE_DTYPES[c.get(p.dtype or "", p.dtype or "float32")] for c in combinations(spec)]
    formats = [GE_FORMATS[p.formats[k] if k < len(p.formats) else p.formats[0]] for k in range(widest) for _ in combos]
    return Operand(p.name, p.optional, tuple(combos * widest), tuple(formats))


def _default(p: Param) -> str:
    if p.default is None:
        return ""
    if isinstance(p.default, list):
        return "{" + ", ".join(_number(v, p.type == "float_list") for v in p.default) + "}"
    if isinstance(p.default, bool):
        return str(p.default).lower()
    if isinstance(p.default, str):
        return '"' + p.default.replace("\\", "\\\\").replace('"', '\\"') + '"'
    return _number(p.default, p.type in ("float", "double"))


def _number(value: float | int, real: bool) -> str:
    return f"{float(value)!r}f" if real else str(value)
