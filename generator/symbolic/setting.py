"""What a gradient text may refer to: the forward's program and sizes, upstream gradients, saved tensors; resolving such texts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from generator.formula.ir import Program, Tensor
from generator.formula.resolve import Resolved, resolve
from generator.formula.symbols import PACK_PREFIX
from generator.spec.conditions import Condition, Names, parse
from generator.spec.errors import TextError
from generator.spec.integer import IntExpr
from generator.spec.load import Loc, Source
from generator.spec.model import OpSpec, Param, Text
from generator.spec.nodes import Tree
from generator.symbolic.model import Domain
from generator.symbolic.notation import Notation

__all__ = ["Setting", "attribute", "conditions", "plain", "rebased", "resolve_forward", "resolve_gradient", "spec_of", "tensor_param"]

_NO_TEXT = Text(en="", zh="")


@dataclass(frozen=True)
class Setting:
    """``base`` has the dims, segments and attributes, and ordinary packs for broadcast ones; ``forward`` is resolved and without flat
    buffers. ``gradients``, ``cotangents`` and ``saved`` are as in a claim. ``loc`` is where in ``source`` the gradient text stands."""

    source: Source
    loc: Loc
    base: OpSpec
    forward: Program
    gradients: Mapping[str, str]
    cotangents: Mapping[str, str]
    saved: Mapping[str, str]
    domain: Domain
    open: Mapping[str, Sequence[str]] = field(default_factory=dict)
    notation: Notation = field(default_factory=Notation)  # the author's, gradients and upstream gradients included

    def known(self) -> dict[str, Tensor]:
        """Every tensor a gradient text may read, by its name there."""
        out = dict(self.forward.tensors)
        out.update({name: replace(self.forward.tensors[of], name=name) for name, of in {**self.cotangents, **self.saved}.items()})
        return out


def plain(program: Program) -> Program:
    """``program`` with flat buffers as tensors of their mapped axes."""
    return replace(program, tensors={n: replace(t, flat=None) for n, t in program.tensors.items()})


def rebased(source: Source, moves: Mapping[Loc, Loc]) -> Source:
    """``source`` in which what stands at each key's path is (also) found at the value's."""
    old = source.tree
    tree = Tree(old.data, old.lines)
    for start, to in moves.items():
        cut = len(start)
        tree.keys.update({(*to, *path[cut:]): v for path, v in old.keys.items() if path[:cut] == start})
        tree.values.update({(*to, *path[cut:]): v for path, v in old.values.items() if path[:cut] == start})
        tree.nodes.update({(*to, *path[cut:]): v for path, v in old.nodes.items() if path[:cut] == start})
    first = next(iter(moves))
    tree.values[()] = old.value_at(first)
    return Source(source.path, source.text, tree, None)


def tensor_param(symbol: str, io: str, shape: Sequence[str], dtype: str, fill: float | None = None) -> Param:
    """A parameter that is a tensor."""
    return Param.model_validate(
        {"symbol": symbol, "name": symbol, "aclnn": symbol, "io": io, "about": _NO_TEXT, "shape": list(shape), "dtype": dtype, "fill": fill}
    )


def attribute(symbol: str, type_: str, where: str | None) -> Param:
    """A parameter that is an attribute."""
    return Param.model_validate(
        {"symbol": symbol, "name": symbol, "aclnn": symbol, "io": "attr", "about": _NO_TEXT, "type": type_, "where": where}
    )


def spec_of(name: str, formula: str, params: Sequence[Param], like: OpSpec | None = None, **more: object) -> OpSpec:
    """An operator spec around a formula, with the dims, segments and constraints of ``like`` when it is given."""
    data: dict[str, object] = {"name": name, "family": "audit", "summary": _NO_TEXT, "formula": formula, "params": list(params)}
    if like is not None:
        for key in ("dims", "segments", "broadcast", "constraints", "policies", "dtypes"):
            data[key] = getattr(like, key)
    return OpSpec.model_construct(**{**data, **more})  # type: ignore[arg-type]


def resolve_forward(source: Source, spec: OpSpec) -> Resolved:
    """The forward's program; problems are located through ``source``."""
    return resolve(source, spec)


def _shape_text(extent: IntExpr) -> str:
    name = extent.symbol
    return "*" + name.removeprefix(PACK_PREFIX) if name is not None and name.startswith(PACK_PREFIX) else str(extent)


def _dtype(t: Tensor) -> str:
    return {"float": "float32", "int": "int32", "bool": "bool"}[t.kind]


def resolve_gradient(
    setting: Setting, text: str, *, assigned: set[str], located: bool = True, outputs: Sequence[str] | None = None
) -> Resolved:
    """Resolve a gradient text. ``assigned`` are the tensors it assigns (they are then its own, not the forward's); ``outputs`` are
    the gradients it declares (all that the setting names and the text assigns otherwise)."""
    wanted = [g for g in (outputs if outputs is not None else setting.gradients) if g in assigned]
    params = [p for p in setting.base.params if p.io == "attr"]
    for name, t in setting.known().items():
        if name not in assigned:
            params.append(tensor_param(name, "in", [_shape_text(e) for e in t.shape], _dtype(t)))
    for name in wanted:
        t = setting.forward.tensors[setting.gradients[name]]
        params.append(tensor_param(name, "out", [_shape_text(e) for e in t.shape], "float32"))
    spec = spec_of(setting.base.name, text, params, setting.base)
    source = rebased(setting.source, {setting.loc: ("formula",)}) if located else _nowhere(setting.source)
    return resolve(source, spec)


def _nowhere(source: Source) -> Source:
    return Source(source.path, source.text, Tree(None, [""]), None)


def conditions(base: OpSpec) -> tuple[tuple[Condition, ...], list[tuple[Loc, TextError]]]:
    """The conditions of dims, attributes and constraints, and those that cannot be read."""
    attrs = [p for p in base.params if p.io == "attr"]
    names = Names(
        ints=[*base.dims, *base.segments, *(p.symbol for p in attrs if p.type == "int")],
        floats=[p.symbol for p in attrs if p.type in ("float", "double")],
        bools=[p.symbol for p in attrs if p.type == "bool"],
        strings=[p.symbol for p in attrs if p.type == "string"],
        tensors=[p.symbol for p in base.params if p.io != "attr"],
    )
    out: list[Condition] = []
    bad: list[tuple[Loc, TextError]] = []
    places: list[tuple[Loc, str | None]] = [(("dims", n, "where"), d.where) for n, d in base.dims.items()]
    places += [(("params", at, "where"), p.where) for at, p in enumerate(base.params)]
    places += [(("constraints", at), c.that) for at, c in enumerate(base.constraints)]
    for loc, text in places:
        if text is not None:
            try:
                out.append(parse(text, names))
            except TextError as error:
                bad.append((loc, error))
    return tuple(out), bad
