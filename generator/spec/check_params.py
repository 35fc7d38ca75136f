"""Checks of parameters: what a tensor and an attribute may state, shapes, ranks, flat buffers, dtypes and defaults."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final, get_args

from generator.spec.conditions import Names, evaluate, free, parse
from generator.spec.errors import TextError
from generator.spec.model import DTypeName, Param
from generator.spec.names import bad_identifier, did_you_mean
from generator.spec.packs import MOST_PARTS, broadcast_parts, is_pack, pack_names
from generator.spec.sizes import parse_size

if TYPE_CHECKING:
    from generator.spec.checks import Checker
    from generator.spec.load import Loc

__all__ = ["DTYPE_NAMES", "check_params", "condition_names"]

DTYPE_NAMES: Final[tuple[str, ...]] = get_args(DTypeName)
_TENSOR_ONLY: Final = ("shape", "ranks", "variants", "flat", "dtype", "formats", "optional", "optional_when", "aliases", "list_of", "fill")
_ATTR_ONLY: Final = ("type", "default", "where", "aclnn_only")


def condition_names(c: Checker) -> Names:
    """What conditions of this spec may name."""
    attrs = [p for p in c.spec.params if p.io == "attr"]
    return Names(
        ints=[*c.spec.dims, *c.spec.segments, *(p.symbol for p in attrs if p.type == "int")],
        floats=[p.symbol for p in attrs if p.type in ("float", "double")],
        bools=[p.symbol for p in attrs if p.type == "bool"],
        strings=[p.symbol for p in attrs if p.type == "string"],
        tensors=[p.symbol for p in c.spec.params if p.io != "attr"],
    )


def check_params(c: Checker) -> None:
    """Check every parameter of the spec."""
    names = condition_names(c)
    for at, p in enumerate(c.spec.params):
        loc: Loc = ("params", at)
        if p.io == "attr":
            _attribute(c, loc, p, names)
        else:
            _tensor(c, loc, p, names)
    _broadcasts(c)
    if not any(p.io in ("out", "inout") for p in c.spec.params):
        c.say(("params",), "the operator has no output", "", "a parameter with io: out")


def _stray(c: Checker, loc: Loc, p: Param, keys: Sequence[str], role: str) -> None:
    for key in keys:
        if key in p.model_fields_set:
            c.say_key(
                (*loc, key), f"'{key}' is not for {role}", f"'{p.symbol}'", "remove it" if key != "type" else "remove it, or io: attr"
            )


# --- attributes ----------------------------------------------------------------------------------------------------


def _attribute(c: Checker, loc: Loc, p: Param, names: Names) -> None:
    _stray(c, loc, p, _TENSOR_ONLY, "an attribute")
    if p.type is None:
        c.say(loc, "an attribute has no type", f"'{p.symbol}'", "type: float, double, int, bool, string, int_list or float_list")
        return
    if p.default is not None and not _fits(p.type, p.default):
        c.say((*loc, "default"), "the default is not of the attribute's type", repr(p.default), f"a value of type {p.type}")
        return
    if p.where is None:
        return
    try:
        cond = parse(p.where, names)
    except TextError as error:
        c.problems.append(c.source.inside((*loc, "where"), error))
        return
    if p.symbol not in free(cond):
        c.say((*loc, "where"), "the range does not name its attribute", f"'{p.where}'", f"a condition on '{p.symbol}'")
    elif free(cond) == {p.symbol} and isinstance(p.default, int | float | bool | str) and not evaluate(cond, {p.symbol: p.default}):
        c.say((*loc, "default"), "the default is out of range", str(p.default), p.where)


def _fits(kind: str, value: object) -> bool:
    if kind.endswith("_list"):
        inner = kind.removesuffix("_list")
        return isinstance(value, list) and all(_fits(inner, v) for v in value)
    if kind in ("float", "double"):
        return isinstance(value, int | float) and not isinstance(value, bool)
    if kind == "int":
        return type(value) is int
    return isinstance(value, bool) if kind == "bool" else isinstance(value, str)


# --- tensors -------------------------------------------------------------------------------------------------------


def _tensor(c: Checker, loc: Loc, p: Param, names: Names) -> None:
    _stray(c, loc, p, _ATTR_ONLY, "a tensor")
    if (p.shape is None) == (p.flat is None):
        both = "both shape and flat" if p.shape is not None else "neither shape nor flat"
        c.say(loc, "a tensor has a shape or a flat layout", f"'{p.symbol}' has {both}", "shape: [T, n], or flat: {axes, order, size}")
    _dtype(c, loc, p)
    if p.shape is not None:
        _packs(c, (*loc, "shape"), p, p.shape)
        _ranks(c, loc, p)
    elif p.ranks:
        c.say_key((*loc, "ranks"), "a flat buffer has one rank", f"'{p.symbol}'", "remove 'ranks'")
    if p.flat is not None:
        _flat(c, loc, p)
    _variants(c, loc, p, names)
    _presence(c, loc, p, names)
    if p.fill is not None and p.io == "in" and not p.optional:
        c.say_key((*loc, "fill"), "'fill' is for outputs and optional inputs", f"'{p.symbol}'", "remove it")
    if p.list_of and p.io != "in":
        c.say_key((*loc, "list_of"), "a tensor list is an input", f"'{p.symbol}'", "io: in")
    _aliases(c, loc, p)


def _some_axes(c: Checker, loc: Loc, p: Param, text: str, names: Sequence[str]) -> None:
    """``*b & x``: some of a broadcast pack's axes."""
    parts = broadcast_parts(c.spec).get(names[0])
    if parts is None:
        c.say(loc, "the pack is not a broadcast pack", f"'{text}'", f"'broadcast: [{names[0]}]', or \"*{names[0]}\"")
        return
    for name in names[1:]:
        if name not in parts:
            c.say(loc, f"no input of '*{names[0]}' has this name", f"'{name}'", did_you_mean(name, parts, "inputs"))
    if p.io != "out":
        c.say(loc, "some axes of a broadcast pack are for outputs", f"'{text}'", f'"*{names[0]}": an input says what axes it has')


def _broadcasts(c: Checker) -> None:
    """Check ``broadcast:``: each pack is some input's, and the inputs named have it."""
    shapes = {p.symbol: [t[1:].strip() for t in p.shape or [] if is_pack(t)] for p in c.spec.params}
    for name, parts in broadcast_parts(c.spec).items():
        loc: Loc = ("broadcast", name) if isinstance(c.spec.broadcast, Mapping) else ("broadcast", list(c.spec.broadcast).index(name))
        if not any(name in packs for packs in shapes.values()):
            c.say(loc, "no tensor has this pack of axes", f"'{name}'", f'"*{name}" in a shape')
        elif not 1 <= len(parts) <= MOST_PARTS:
            c.say(loc, "too many inputs, or none, are broadcast together", f"{len(parts)} for '*{name}'", f"1 to {MOST_PARTS}")
        inputs = [p.symbol for p in c.spec.params if p.io == "in" and name in shapes[p.symbol]]
        for x in parts:
            if x not in inputs:
                c.say(loc, f"no input with '*{name}' has this name", f"'{x}'", did_you_mean(x, inputs, "inputs"))
    for at, p in enumerate(c.spec.params):
        mine = [name for name in c.spec.broadcast if name in shapes[p.symbol]]
        if mine and p.io == "inout":
            c.say(("params", at, "io"), "an in-place tensor is not broadcast", f"'{p.symbol}' has '*{mine[0]}'", "io: in and io: out")


def _packs(c: Checker, loc: Loc, p: Param, shape: Sequence[str]) -> None:
    packs = [at for at, text in enumerate(shape) if text.startswith("*")]
    for at in packs:
        names = pack_names(shape[at][1:])
        if not names or bad_identifier(names[0]) is not None:
            c.say((*loc, at), "a pack is * and a name", f"'{shape[at]}'", '"*b"')
        elif names[0] in c.spec.dims or any(p.symbol == names[0] for p in c.spec.params):
            c.say((*loc, at), "the pack has the name of something else", f"'{shape[at]}'", "another name")
        elif len(names) > 1:
            _some_axes(c, (*loc, at), p, shape[at], names)
    for at in packs[1:]:
        c.say((*loc, at), "a shape has two packs", f"'{shape[at]}'", "one pack: where two would end is not known")


def _dtype(c: Checker, loc: Loc, p: Param) -> None:
    variables = sorted({v for combination in c.spec.dtypes for v in combination})
    if p.dtype is None:
        c.say(loc, "a tensor has no dtype", f"'{p.symbol}'", f"dtype: {', '.join(DTYPE_NAMES)}, or a variable of 'dtypes:'")
    elif p.dtype not in DTYPE_NAMES and p.dtype not in variables:
        right = did_you_mean(p.dtype, [*DTYPE_NAMES, *variables], "dtypes")
        if p.dtype.isidentifier() and p.dtype[:1].isupper():
            right = f"dtypes: [{{{p.dtype}: float32}}, ...]"
            c.say((*loc, "dtype"), "no combination gives the dtype variable a value", f"'{p.dtype}'", right)
        else:
            c.say((*loc, "dtype"), "no such dtype", f"'{p.dtype}'", right)
    if p.dtype == "float64":
        c.say((*loc, "dtype"), "no product computes on float64 tensors", f"'{p.symbol}'", "float32")


def _ranks(c: Checker, loc: Loc, p: Param) -> None:
    """Each alternative rank flattens to the canonical shape: nested names merge into the dim at that place."""
    shape = p.shape or []
    lengths = {len(shape)}
    for at, rank in enumerate(p.ranks):
        here: Loc = (*loc, "ranks", at)
        said = f"[{', '.join(part if isinstance(part, str) else '[' + ', '.join(part) + ']' for part in rank)}]"
        if len(rank) != len(shape):
            c.say(
                here,
                "the rank does not flatten to the shape",
                said,
                f"{len(shape)} entries, as in [{', '.join(shape)}]; merged dims nested: [[B, S], n]",
            )
            continue
        count = sum(1 if isinstance(part, str) else len(part) for part in rank)
        if count in lengths:
            c.say(here, "two alternatives have one rank", said, "ranks of different lengths")
        lengths.add(count)
        for place, part in enumerate(rank):
            if isinstance(part, str) and part != shape[place]:
                c.say((*here, place), "the rank changes a dim", f"'{part}'", f"'{shape[place]}' as in the shape, or a nested list")
            elif not isinstance(part, str):
                _merged(c, (*here, place), part)


def _merged(c: Checker, loc: Loc, names: Sequence[str]) -> None:
    if len(names) < 2:
        c.say(loc, "one dim is not merged", f"[{', '.join(names)}]", "two or more names: [B, S]")
    for at, name in enumerate(names):
        if bad_identifier(name) is not None:
            c.say((*loc, at), "a merged dim is a name", f"'{name}'", "[B, S]")
        elif name in c.spec.dims:
            c.say(
                (*loc, at), "a merged dim has the name of a dim of the formula", f"'{name}'", "a name of its own: only the product is a dim"
            )


def _flat(c: Checker, loc: Loc, p: Param) -> None:
    assert p.flat is not None
    axes, order = list(p.flat.axes), p.flat.order
    for axis in axes:
        if bad_identifier(axis) is not None:
            c.say_key((*loc, "flat", "axes", axis), "an axis is a name", f"'{axis}'", "another name")
    for at, axis in enumerate(order):
        if axis not in axes:
            c.say((*loc, "flat", "order", at), "the order names an unknown axis", f"'{axis}'", did_you_mean(axis, axes, "axes"))
        elif axis in order[:at]:
            c.say((*loc, "flat", "order", at), "the order names an axis twice", f"'{axis}'", f"each of {', '.join(axes)} once")
    missing = [a for a in axes if a not in order]
    if missing:
        c.say((*loc, "flat", "order"), "the order leaves out an axis", ", ".join(missing), f"each of {', '.join(axes)} once, slowest first")


def _variants(c: Checker, loc: Loc, p: Param, names: Names) -> None:
    for at, variant in enumerate(p.variants):
        here: Loc = (*loc, "variants", at)
        try:
            parse(variant.when, names)
        except TextError as error:
            c.problems.append(c.source.inside((*here, "when"), error))
        if p.shape is None or len(variant.shape) != len(p.shape):
            c.say((*here, "shape"), "the variant has another rank", f"[{', '.join(variant.shape)}]", f"{len(p.shape or [])} dims")
        for place, text in enumerate(variant.shape):
            try:
                parse_size(text.removeprefix("*"), [*names.ints, text.removeprefix("*")] if text.startswith("*") else names.ints, ())
            except TextError as error:
                c.problems.append(c.source.inside((*here, "shape", place), error))


def _presence(c: Checker, loc: Loc, p: Param, names: Names) -> None:
    if p.optional_when is None:
        return
    if not p.optional:
        c.say_key((*loc, "optional_when"), "'optional_when' is for optional parameters", f"'{p.symbol}'", "optional: true")
    try:
        parse(p.optional_when, names)
    except TextError as error:
        c.problems.append(c.source.inside((*loc, "optional_when"), error))


def _aliases(c: Checker, loc: Loc, p: Param) -> None:
    if p.aliases is None:
        return
    inputs = {q.symbol: q for q in c.spec.params if q.io in ("in", "inout")}
    if p.io == "in":
        c.say_key((*loc, "aliases"), "an input overwrites nothing", f"'{p.symbol}'", "'aliases' at the output")
    elif p.aliases not in inputs:
        c.say((*loc, "aliases"), "the output overwrites an unknown input", f"'{p.aliases}'", did_you_mean(p.aliases, inputs, "inputs"))
    else:
        other = inputs[p.aliases]
        if other.shape != p.shape or other.dtype != p.dtype:
            c.say(
                (*loc, "aliases"), "the output and the input it overwrites differ", f"'{p.symbol}' and '{p.aliases}'", "one shape and dtype"
            )
