"""How a gradient operator differentiates its forward in PyTorch: what is kept, the gradient's call, the results."""

from __future__ import annotations

import keyword
from dataclasses import dataclass

from generator.emit.names import snake
from generator.emit.torch_schema import arguments_of, default_of, flag_of, flags_of
from generator.formula.checked import CheckedSpec
from generator.formula.link import bindings, relation
from generator.spec.model import Param

__all__ = ["Wiring", "wiring"]


@dataclass(frozen=True)
class Wiring:
    """``arguments`` are those of the gradient operator's call in terms of what the context holds; ``results`` the gradient of
    each of the forward's arguments. Names are the graph's, as Python spells them."""

    forward: str  # snake case
    family: str
    inputs: tuple[str, ...]  # names of the forward's arguments
    outputs: tuple[str, ...]  # names of its results
    kept: tuple[str, ...]  # tensors to keep
    plain: tuple[str, ...]  # attributes to keep
    non_differentiable: tuple[str, ...]
    flags: tuple[str, ...]  # arguments that must be true for a gradient to exist
    cotangents: tuple[str, ...]  # names of the upstream gradients, one for each result
    arguments: tuple[str, ...]
    outs: tuple[str, ...]  # names of the gradient operator's results
    results: tuple[str, ...]


def wiring(checked: CheckedSpec, forward: CheckedSpec) -> Wiring | None:
    """How ``checked`` differentiates ``forward``; None when an argument it needs cannot be had from the forward's call."""
    return _Wiring(checked, forward).build()


class _Wiring:
    def __init__(self, checked: CheckedSpec, forward: CheckedSpec) -> None:
        self.checked, self.ours, self.theirs = checked, checked.spec, forward.spec
        self.relation = relation(checked, forward)
        self.bound = bindings(checked, forward)
        self.by_symbol = {p.symbol: p for p in self.theirs.params}
        self.upstream = {target: f"grad_{self.by_symbol[target].name}" for target in self.relation.cotangents.values()}
        self.variables = {v for c in self.ours.dtypes for v in c}
        self.shared = {self.by_symbol[t].dtype for t in self.relation.cotangents.values()}
        self.kept: list[str] = []
        self.plain: list[str] = []

    def build(self) -> Wiring | None:
        arguments = [self._argument(p) for p in arguments_of(self.ours)]
        if any(a is None for a in arguments):
            return None
        theirs = arguments_of(self.theirs)
        outputs = [p for p in self.theirs.params if p.io == "out"]
        results = [self._result(p) for p in theirs] + ["None"] * len(list(flags_of(self.theirs)))
        flags = (flag_of(self.theirs, p.symbol) for p in outputs if _python(p) in self.kept)
        return Wiring(
            forward=snake(self.theirs.name),
            family=self.theirs.family,
            inputs=(*(_python(p) for p in theirs), *(flag for flag, _ in flags_of(self.theirs))),
            outputs=tuple(_python(p) for p in outputs),
            kept=tuple(dict.fromkeys(self.kept)),
            plain=tuple(dict.fromkeys(self.plain)),
            non_differentiable=tuple(_python(p) for p in outputs if p.symbol not in self.upstream),
            flags=tuple(dict.fromkeys(f for f in flags if f)),
            cotangents=tuple(self.upstream.get(p.symbol, f"_{k}") for k, p in enumerate(outputs)),
            arguments=(*(a for a in arguments if a is not None), *("True" for _ in flags_of(self.ours))),
            outs=tuple(_out(p) for p in self.ours.params if p.io == "out"),
            results=tuple(results),
        )

    def _argument(self, p: Param) -> str | None:
        """One argument of the gradient operator's call."""
        r = self.relation
        if p.symbol in r.cotangents:
            return self.upstream[r.cotangents[p.symbol]]
        held = r.saved.get(p.symbol) or r.same.get(p.symbol)
        if held is not None:
            source = self.by_symbol[held]
            self.kept.append(_python(source))
            first = next(iter(self.upstream.values()), "")
            return f"{_python(source)}.to({first}.dtype)" if first and self._may_differ(p, source) else _python(source)
        if p.io == "attr":
            source = self.by_symbol.get(self.bound.get(p.symbol, p.symbol), p)
            if source is not p and source.io == "attr":
                self.plain.append(_python(source))
                return f"ctx.{_python(source)}"
            return default_of(p) if p.default is not None else None
        return "None" if p.optional else None

    def _result(self, theirs: Param) -> str:
        """The gradient of one of the forward's arguments."""
        ours = next((p for p in self.ours.params if self.relation.gradients.get(p.symbol) == theirs.symbol), None)
        if ours is None:
            return "None"
        text, name = _out(ours), _python(theirs)
        if self._may_differ(ours, theirs):
            self.kept.append(name)
            text = f"{text}.to({name}.dtype)"
        if theirs.optional:
            self.kept.append(name)
            text = f"None if {name} is None else {text}"
        return text

    def _may_differ(self, ours: Param, theirs: Param) -> bool:
        """Whether the forward lets a tensor have another dtype than the gradient operator wants for it."""
        return ours.dtype in self.variables and theirs.dtype not in self.shared


def _python(p: Param) -> str:
    return p.name + "_" if keyword.iskeyword(p.name) or p.name == "ctx" else p.name


def _out(p: Param) -> str:
    return f"found_{p.name}"
