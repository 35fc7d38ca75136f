"""What the emitted Python test covers: small cases a spec allows, arguments for them, and calls it must refuse."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from generator.emit.numpy_broadcast import group_dims, placed, shapes_of
from generator.emit.numpy_expr import Names, integer
from generator.formula import ir
from generator.formula.checked import CheckedSpec
from generator.formula.link import Relation, bindings, relation
from generator.formula.ranges import bounds_of, names_of
from generator.formula.symbols import PACK_PREFIX
from generator.reference.liveness import assigns
from generator.spec.conditions import Condition, evaluate, free, parse, typed
from generator.spec.integer import IntExpr, Numel
from generator.spec.model import Param

__all__ = ["Argument", "Case", "Gradient", "Suite", "cases", "suite"]

Value = float | int | bool | str | tuple[int, ...] | tuple[tuple[int, ...], ...] | None
Case = dict[str, Value]

_SMALL: Final = 8  # extents of the emitted cases stay at or below this where the spec allows
_CANDIDATES: Final = (3, 1, 2, 5, 4, 6, 7, 8, 16, 32, 64, 128, 0)
_PACKS: Final = ((3,), (2, 3), ())
_CASES: Final = 3
_SEARCHED: Final = 4096


@dataclass(frozen=True, slots=True)
class Argument:
    """One keyword argument: ``text`` is Python over the case's names, ``rng`` and, for saved tensors, ``saved``."""

    name: str
    text: str


@dataclass(frozen=True, slots=True)
class Gradient:
    """``output`` is the gradient of the cotangents' inner product with respect to the forward's ``input``."""

    output: str
    input: str
    shape: str


@dataclass(frozen=True, slots=True)
class Suite:
    """Everything the template prints. ``cases`` are dict literals, ``locals`` the names they set; ``shapes`` the expected
    shape of every output; ``refused`` pairs of a change to the first case and a reason; ``cotangents`` (input, forward
    output) pairs, ``passed`` (input, forward input) pairs."""

    cases: tuple[str, ...]
    locals: tuple[str, ...]
    numels: tuple[tuple[str, str], ...]
    arguments: tuple[Argument, ...]
    forward_arguments: tuple[Argument, ...]
    shapes: tuple[Argument, ...]
    empties: tuple[str, ...]
    refused: tuple[tuple[str, str], ...]
    misshapen: tuple[str, ...]
    cotangents: tuple[tuple[str, str], ...]
    passed: tuple[tuple[str, str], ...]
    gradients: tuple[Gradient, ...]


def suite(checked: CheckedSpec, forward: CheckedSpec | None) -> Suite:
    """The cases and checks of one operator; deterministic."""
    return _Suite(checked, forward).build()


def cases(checked: CheckedSpec, forward: CheckedSpec | None) -> Iterator[Case]:
    """Small legal cases: every dim, attribute and pack (a tuple of extents, by the pack's name) with a value."""
    return _Suite(checked, forward)._cases()


class _Suite:
    def __init__(self, checked: CheckedSpec, forward: CheckedSpec | None) -> None:
        self.checked = checked
        self.spec = checked.spec
        self.program = checked.program
        self.forward = forward
        self.relation = relation(checked, forward) if forward else Relation({}, {}, {}, {}, {}, {})
        self.computed = {n: e for n, e in checked.derived if not any(isinstance(a, Numel) for a in e.atoms())}
        attrs = [p.symbol for p in self.spec.params if p.io == "attr"]
        self.names = Names([*self.program.tensors, *self.program.dims, *attrs])
        self.grouped = group_dims(checked)
        self.packs = [d for d in self.program.dims if d.startswith(PACK_PREFIX) and d not in self.grouped]
        self.attrs = self._attributes()
        self.conditions = [(t, c) for t in self._texts() if not typed(c := parse(t, names_of(self.spec)))]

    def _attributes(self) -> dict[str, Param]:
        """Our attributes, then those of the forward that are not ours under another guise."""
        out = {p.symbol: p for p in self.spec.params if p.io == "attr"}
        for p in self.forward.spec.params if self.forward else ():
            if p.io == "attr" and p.symbol not in self.program.dims:
                out.setdefault(p.symbol, p)
        return out

    def _texts(self) -> list[str]:
        spec = self.spec
        found = [d.where for d in spec.dims.values()] + [p.where for p in spec.params] + [c.that for c in spec.constraints]
        return [t for t in found if t is not None and "numel(" not in t]

    def build(self) -> Suite:
        cases = list(itertools.islice(self._cases(), _CASES))
        gradients = tuple(self._gradients())
        outer = [p for p in self.spec.params if p.io in ("out", "inout")]
        return Suite(
            cases=tuple(self._literal(c) for c in cases),
            locals=tuple(sorted(k for k in (cases[0] if cases else {}) if k in self.program.dims or k in self.program.int_attrs)),
            numels=(*((d, d.removeprefix(PACK_PREFIX)) for d in self.packs), *(("", b.name) for b in self.checked.broadcasts)),
            arguments=tuple(self._arguments()),
            forward_arguments=tuple(self._forward_arguments()),
            shapes=tuple(Argument(p.symbol, self._shape(p, packed=True)) for p in outer),
            empties=tuple(self._empties(cases)),
            refused=tuple(self._refused(cases)),
            misshapen=tuple(p.symbol for p in self.spec.params if p.io == "in" and self._has_rank(p)),
            cotangents=tuple(self._cotangents()) if gradients else (),
            passed=tuple(self._passed()) if gradients else (),
            gradients=gradients,
        )

    # cases ----------------------------------------------------------------------------------------------------------
    def _values(self, dim: str) -> list[Value]:
        given = self.spec.tests.values.get(dim, [])
        small = sorted(v for v in given if v <= _SMALL) or sorted(given)[:1]
        return list(small) or list(_CANDIDATES[:-1])

    def _attr_values(self, p: Param) -> list[Value]:
        both = [*self.spec.tests.attrs.get(p.symbol, []), *(self.forward.spec.tests.attrs.get(p.symbol, []) if self.forward else [])]
        if p.type == "int":
            return self._values(p.symbol)
        default = p.default
        own: list[Value] = [default] if isinstance(default, (int, float, str, bool)) else []
        fallback: Value = {"float": 0.5, "double": 0.5, "bool": True}.get(p.type or "")
        return [*dict.fromkeys([*both, *own])] or [fallback]

    def _cases(self) -> Iterator[Case]:
        """Legal cases, each taking the next value of every size and attribute."""
        chosen = [d for d in self.program.dims if d not in self.packs and d not in self.grouped and d not in self.computed]
        choices: dict[str, Sequence[Value]] = {d: self._values(d) for d in chosen}
        choices |= {d.removeprefix(PACK_PREFIX): _PACKS for d in self.packs}
        choices |= {b.name: shapes_of(b) for b in self.checked.broadcasts}
        choices |= {name: self._attr_values(p) for name, p in self.attrs.items()}
        seen: list[Case] = []
        for turn in range(60):
            case = self._completed(
                {name: values[(turn + (turn // len(values)) * (k % 2)) % len(values)] for k, (name, values) in enumerate(choices.items())}
            )
            if self._legal(case) and case not in seen:
                seen.append(case)
                yield case
        if not seen:
            yield from self._searched(choices)

    def _searched(self, choices: Mapping[str, Sequence[Value]]) -> Iterator[Case]:
        """Legal cases of values that each meet the conditions on them alone: for limits that leave little."""
        alone: dict[str, list[Value]] = {}
        least = {n: low for n, (low, _) in bounds_of(self.checked).items() if low > 0}
        for name, given in choices.items():
            low = least.get(name, 0)
            named = {int(n) for text, c in self.conditions if name in free(c) for n in re.findall(r"\b[1-9][0-9]{0,4}\b", text)}
            values = [*given, *sorted(named), *(-(-low // step) * step for step in (1, 16, 128) if low)]
            own = [c for _, c in self.conditions if free(c) == {name}]
            alone[name] = [v for v in values if all(self._holds(c, {name: v}) for c in own)] or list(values)
        for chosen in itertools.islice(itertools.product(*alone.values()), _SEARCHED):
            case = self._completed(dict(zip(alone, chosen, strict=True)))
            if self._legal(case):
                yield case

    def _completed(self, case: Case) -> Case:
        """``case`` with the dims that follow from others."""
        out = dict(case)
        for name, value in self.computed.items():
            out[name] = value.evaluate({k: v for k, v in out.items() if isinstance(v, int)})
        return out

    def _legal(self, case: Mapping[str, Value]) -> bool:
        if any(isinstance(case.get(n), int) and case[n] < 0 for n in self.computed):  # type: ignore[operator]
            return False
        return all(self._holds(c, case) for _, c in self.conditions)

    @staticmethod
    def _holds(condition: Condition, case: Mapping[str, Value]) -> bool:
        env = {k: v for k, v in case.items() if isinstance(v, (int, float, bool, str))}
        try:
            return evaluate(condition, env)
        except KeyError:
            return True

    @staticmethod
    def _literal(case: Mapping[str, Value]) -> str:
        return "{" + ", ".join(f'"{k}": {v!r}' for k, v in case.items()) + "}"

    def _empties(self, cases: Sequence[Case]) -> Iterator[str]:
        """Sizes that may be zero without a reduction over nothing."""
        if self.spec.policies.empty == "refuse" or not cases:
            return
        reduced = {n for a in assigns(self.program.body) for e in _reduced(a.value) for n in e.free()}
        for dim in self.program.dims:
            if dim in reduced or dim in self.grouped or dim in dict(self.checked.derived):
                continue
            key = dim.removeprefix(PACK_PREFIX)
            case: Case = {**cases[0], key: (2, 0) if dim in self.packs else 0}
            for name, _ in self.checked.derived:
                when = self.spec.dims[name].when_empty if name in self.spec.dims else None
                case |= {} if when is None else {name: when}
            case = self._completed(case)
            if self._legal(case):
                yield self._literal(case)

    def _refused(self, cases: Sequence[Case]) -> Iterator[tuple[str, str]]:
        """The first case with one name changed so that just one condition fails."""
        for text, condition in self.conditions if cases else ():
            names = {n for n in free(condition) if n not in self.computed}
            names |= {m for n in free(condition) & self.computed.keys() for m in self.computed[n].free()}
            for name in sorted(names):
                changed = (self._completed({**cases[0], name: v}) for v in self._wrong(name))
                possible = (c for c in changed if all(v >= 0 for n, v in c.items() if n in self.program.dims and isinstance(v, int)))
                found = next((c for c in possible if not self._holds(condition, c)), None)
                if found is not None:
                    yield self._literal(found), text
                    break

    def _wrong(self, name: str) -> Iterable[Value]:
        whole = name in self.program.dims or name in self.program.int_attrs
        return (5, 1, 2, 3, 7, 101, 1001) if name in self.program.dims else (-1, 0, 1, 101, 10**6) if whole else (-1.0, 0.0, 2.0)

    # arguments ------------------------------------------------------------------------------------------------------
    def _shape(self, p: Param, *, packed: bool = False, of: CheckedSpec | None = None) -> str:
        """The shape as Python over the case's names; ``packed`` writes a pack's axes out."""
        t = (of or self.checked).program.tensors[p.symbol]
        theirs = self.relation.sizes if of is not None else {}
        if t.flat is not None:
            return f"({self._int(t.flat.size.substitute(theirs))},)"
        spread = placed(of or self.checked, self.names).get(p.symbol)
        parts = []
        extents = iter(e for e in t.shape if e.symbol not in self.grouped)
        for s in p.shape or []:
            if spread is not None and s.startswith("*"):
                parts.append(spread.case_shape())
                continue
            e = next(extents)
            parts.append(f"*{self.names(s[1:].strip())}" if packed and s.startswith("*") else self._int(e.substitute(theirs)))
        return f"({parts[0]},)" if len(parts) == 1 else f"({', '.join(parts)})"

    def _int(self, e: IntExpr) -> str:
        return integer(e, self.names).text

    @staticmethod
    def _has_rank(p: Param) -> bool:
        return p.flat is not None or any(not s.startswith("*") for s in p.shape or [])

    def _random(self, p: Param, shape: str, of: CheckedSpec) -> str:
        low, high = of.spec.tests.inputs.get(p.symbol, [-2.0, 2.0])
        kind = of.program.tensors[p.symbol].kind
        if kind == "bool":
            return f"rng.random({shape}) < 0.5"
        if kind == "int":
            given = of.spec.tests.inputs.get(p.symbol)
            return f"rng.integers({int(low) if given else 0}, {int(high) + 1 if given else 1}, {shape})"
        return f"rng.uniform({low!r}, {high!r}, {shape})"

    def _arguments(self) -> Iterator[Argument]:
        saved = {**self.relation.saved, **self.spec.tests.from_forward} if self.forward else {}
        for p in self.spec.params:
            if p.io == "out":
                continue
            if p.io == "attr":
                yield Argument(self.names(p.symbol), f'case["{p.symbol}"]')
            elif p.symbol in saved:
                yield Argument(self.names(p.symbol), f'saved["{saved[p.symbol]}"]')
            elif p.symbol in self.relation.same:
                yield Argument(self.names(p.symbol), f'start["{self._theirs(self.relation.same[p.symbol])}"]')
            else:
                yield Argument(self.names(p.symbol), self._random(p, self._shape(p, packed=True), self.checked))

    def _forward_arguments(self) -> Iterator[Argument]:
        if self.forward is None:
            return
        ours = {theirs: our for our, theirs in bindings(self.checked, self.forward).items()}
        by_symbol = {p.symbol: p for p in self.spec.params}
        for p in self.forward.spec.params:
            if p.io == "out":
                continue
            if p.io == "attr":
                yield Argument(self._theirs(p.symbol), f'case["{p.symbol}"]')
            elif p.symbol in ours:
                yield Argument(self._theirs(p.symbol), self._random(p, self._shape(by_symbol[ours[p.symbol]], packed=True), self.forward))
            else:
                yield Argument(self._theirs(p.symbol), self._random(p, self._shape(p, packed=True, of=self.forward), self.forward))

    def _theirs(self, symbol: str) -> str:
        """The name of one of the forward's parameters."""
        assert self.forward is not None
        program = self.forward.program
        return Names([*program.tensors, *program.dims, *(p.symbol for p in self.forward.spec.params if p.io == "attr")])(symbol)

    # gradients ------------------------------------------------------------------------------------------------------
    def _cotangents(self) -> Iterator[tuple[str, str]]:
        """The upstream gradients, with the forward's output each belongs to."""
        for ours, theirs in self.relation.cotangents.items():
            yield self.names(ours), theirs

    def _passed(self) -> Iterator[tuple[str, str]]:
        """Inputs that already are gradients of one of the forward's inputs, with that input."""
        for ours, theirs in self.relation.passed.items():
            yield self.names(ours), self._theirs(theirs)

    def _gradients(self) -> Iterator[Gradient]:
        if self.forward is None or not self.relation.cotangents:
            return
        by_symbol = {p.symbol: p for p in self.spec.params}
        for ours, theirs in self.relation.gradients.items():
            yield Gradient(ours, self._theirs(theirs), self._shape(by_symbol[ours], packed=True))


def _reduced(node: object) -> Iterator[IntExpr]:
    """The extents of every axis that a reduction in ``node`` binds."""
    if isinstance(node, ir.Reduce):
        yield from (b.extent for b in node.axes if b.extent is not None)
        yield from _reduced(node.body)
    elif isinstance(node, (ir.Neg, ir.Not, ir.Cast)):
        yield from _reduced(node.x)
    elif isinstance(node, (ir.Binary, ir.Compare, ir.Logic)):
        yield from _reduced(node.a)
        yield from _reduced(node.b)
    elif isinstance(node, ir.Where):
        for part in (node.cond, node.a, node.b):
            yield from _reduced(part)
    elif isinstance(node, ir.Call):
        for part in node.args:
            yield from _reduced(part)
