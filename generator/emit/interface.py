"""The aclnn call of an operator: arguments with their C types, and every check of the first phase with its message."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from generator.emit.conditions import CallCheck, call_checks, presence_tests
from generator.emit.errors import EmitError
from generator.emit.names import GE_DTYPES, camel
from generator.emit.prototype import ACL_FORMATS, ctype
from generator.emit.shapes import Agreement, Bind, Derived, FlagRead, HostCall, TensorRead, combinations, empty_tests, host_call
from generator.formula.checked import CheckedSpec
from generator.spec.model import OpSpec, Param

__all__ = ["GE_FORMATS", "Argument", "Check", "Interface", "interface", "level0_type"]

GE_FORMATS: Final[dict[str, str]] = {name: f"ge::{acl.removeprefix('ACL_')}" for name, acl in ACL_FORMATS.items()}
"""A spec's format name -> the graph engine's enumerator."""

_SOCS: Final[dict[str, str]] = {
    "Ascend910B": "op::SocVersion::ASCEND910B",
    "Ascend910_93": "op::SocVersion::ASCEND910_93",
    "Ascend950": "kAscend950",
}
_INVALID: Final = "ACLNN_ERR_PARAM_INVALID"
_MOST_COMBINATIONS: Final = 64


@dataclass(frozen=True)
class Argument:
    """One argument of the first phase, in call order. ``given``: the test that an optional one is there, else empty."""

    symbol: str
    name: str
    ctype: str
    graph: str
    io: str
    given: str
    facts: str  # what the header says of it: dtypes, formats, shapes; type and default of an attribute
    formats: tuple[str, ...]
    dtypes: tuple[str, ...]  # one per dtype combination; empty for an attribute
    aclnn_only: bool
    value: str  # how an attribute's value reaches the formula's sizes and the graph operator
    flat: bool = False  # a buffer with elements that nobody touches

    @property
    def declaration(self) -> str:
        """``const aclTensor *x``."""
        return f"{self.ctype}{'' if self.ctype.endswith('*') else ' '}{self.name}"

    @property
    def member(self) -> str:
        """As a member of the structure that holds a call's arguments, by the formula's symbol."""
        return f"{self.ctype}{'' if self.ctype.endswith('*') else ' '}{self.symbol}"

    @property
    def is_tensor(self) -> bool:
        return self.io != "attr"


@dataclass(frozen=True)
class Check:
    """``if (test) refuse with code and message``: the test of a failure, and a C++ string expression."""

    test: str
    code: str
    message: str


@dataclass(frozen=True)
class Read:
    """One tensor's shape being read: variable, reader and the message when no accepted shape fits."""

    variable: str
    reader: str
    symbol: str
    given: str
    message: str


@dataclass(frozen=True)
class Gap:
    """An optional output that may be missing while a later one is there: its name in the graph, the test that a later one is there
    (over the results), and the dtype it would have in C++."""

    graph: str
    later: str
    dtype: str


@dataclass(frozen=True)
class Interface:
    """Everything the op_api templates read."""

    arguments: tuple[Argument, ...]
    nulls: tuple[Check, ...]
    empties: tuple[Check, ...]  # of the policy to refuse
    nothing: str  # test before anything else is checked that there is nothing to do, "" without one
    done: str  # test on extents that a right call has nothing to do
    strided: tuple[Check, ...]  # of the policy to refuse views that are not contiguous
    reads: tuple[Read, ...]
    sizes: tuple[tuple[str, str], ...]  # members of Sizes: type and name
    attributes: tuple[Check, ...]
    binds: tuple[Bind | Derived, ...]
    numels: tuple[tuple[str, str], ...]  # member of Sizes, and the extents it comes from
    checks: tuple[Check, ...]  # dims, constraints, agreements, presence
    products: tuple[str, ...]
    needs_950: bool
    gaps: tuple[Gap, ...] = ()
    flags: tuple[tuple[str, str, str], ...] = ()  # graph attributes that tell of outputs: type, name and value in the level-0 call

    @property
    def inputs(self) -> tuple[Argument, ...]:
        return tuple(a for a in self.arguments if a.io in ("in", "inout"))

    @property
    def outputs(self) -> tuple[Argument, ...]:
        return tuple(a for a in self.arguments if a.io in ("out", "inout"))

    @property
    def graph_attributes(self) -> tuple[Argument, ...]:
        return tuple(a for a in self.arguments if a.io == "attr" and not a.aclnn_only)


def level0_type(a: Argument) -> str:
    """The C++ type of an attribute in the level-0 call, which takes what the graph operator takes, with its trailing space."""
    if a.ctype.endswith("*"):
        return a.ctype
    return {"double": "float ", "float": "float ", "bool": "bool "}.get(a.ctype, "int64_t ")


def interface(checked: CheckedSpec) -> Interface:
    """Plan the first phase of ``checked``'s call. Raises EmitError for what a call cannot have yet: lists of tensors."""
    spec = checked.spec
    if any(p.list_of for p in spec.params):
        raise EmitError(f"{checked.path}: an aclnn call with a list of tensors cannot be generated yet")
    if len(combinations(spec)) > _MOST_COMBINATIONS:
        raise EmitError(f"{checked.path}: more than {_MOST_COMBINATIONS} dtype combinations cannot be generated")
    tests = call_checks(checked)
    optional = tuple(p.symbol for p in spec.params if p.io != "attr" and p.optional)
    call = host_call(checked, optional, tuple(sorted({n for t in tests for n in t.numels})))
    say = _Messages(checked, call)
    arguments = tuple(_argument(spec, p, call) for p in spec.params)
    refuse = spec.policies.empty == "refuse"
    return Interface(
        arguments=arguments,
        nulls=(*_nulls(arguments), *_groups(spec)),
        empties=tuple(_empty(a) for a in arguments if a.is_tensor and (not a.given or a.io == "in")) if refuse else (),
        nothing=_nothing(arguments) if spec.policies.empty == "success" else "",
        done=" || ".join(f"({t})" for t in empty_tests(checked, call)) if not refuse else "",
        strided=tuple(_strided(a) for a in arguments if a.is_tensor) if spec.policies.noncontiguous == "refuse" else (),
        reads=tuple(_read(spec, t) for t in call.tensors),
        sizes=tuple(_sizes(checked, call)),
        attributes=tuple(_condition(t.test, t.code, say.condition(t)) for t in tests if t.attribute),
        binds=call.binds,
        numels=tuple((n, next(_variable(t) for t in call.tensors if t.symbol == n)) for n in call.numels),
        checks=(
            *(_condition(t.test, t.code, say.condition(t)) for t in tests if not t.attribute),
            *(Check(f"!({a.test})", _INVALID, say.agreement(a)) for a in (*call.agreeing, *call.agreements) if a.kind != "group"),
            *_missing(checked, say),
        ),
        products=tuple(_SOCS[p] for p in spec.products),
        needs_950="Ascend950" in spec.products,
        gaps=tuple(_gaps(spec)),
        flags=tuple(_flag(spec, f) for f in call.flags),
    )


def _gaps(spec: OpSpec) -> Iterator[Gap]:
    """A launch numbers outputs by those that are there, so that nothing may be missing before one that is."""
    outputs = [p for p in spec.params if p.io in ("out", "inout")]
    inputs = [p for p in spec.params if p.io in ("in", "inout") and not p.optional]
    for at, p in enumerate(outputs):
        tied = next((g.members for g in spec.groups if p.symbol in g.members), [])
        later = [q for q in outputs[at + 1 :] if q.symbol not in tied]
        if p.optional and later:
            column = {c.get(p.dtype or "", p.dtype or "float32") for c in combinations(spec)}
            like = next((q.name for q in inputs if q.dtype == p.dtype), f"like_{outputs[0].name}")
            dtype = GE_DTYPES[column.pop()] if len(column) == 1 else f"{like}->GetDataType()"
            test = "" if any(not q.optional for q in later) else " || ".join(f"result_{q.name} != nullptr" for q in later)
            yield Gap(p.name, test, dtype)


def _flag(spec: OpSpec, f: FlagRead) -> tuple[str, str, str]:
    """A flag in the level-0 call. Its outputs are given together, so that one of them tells."""
    first = next(p.name for p in spec.params if p.symbol == f.outputs[0])
    return f.ctype, f.name, f"result_{first} != nullptr ? {f.given} : {f.absent}"


def _argument(spec: OpSpec, p: Param, call: HostCall) -> Argument:
    if p.io == "attr":
        default = "" if p.default is None else f", default {str(p.default).lower() if isinstance(p.default, bool) else p.default}"
        return Argument(p.symbol, p.aclnn, ctype(p), p.name, p.io, "", f"attribute{default}", (), (), p.aclnn_only, _value(p))
    read = next(t for t in call.tensors if t.symbol == p.symbol)
    names = {q: k for k, q in GE_DTYPES.items()}
    dtypes = ", ".join(dict.fromkeys(names[d] for d in read.dtypes))
    shapes = " or ".join(x.text for x in read.layouts)
    given = f"p.{p.symbol} != nullptr" if p.optional else ""
    io = {"in": "input", "out": "output", "inout": "input and output"}[p.io] + (", may be null" if p.optional else "")
    facts = f"{io}, {dtypes}, {' or '.join(p.formats)}, {shapes}"
    formats = tuple(GE_FORMATS[f] for f in p.formats)
    return Argument(p.symbol, p.aclnn, ctype(p), p.name, p.io, given, facts, formats, read.dtypes, False, "", p.flat is not None)


def _value(p: Param) -> str:
    """An attribute as the graph operator takes it."""
    if p.type == "double":
        return f"static_cast<float>(p.{p.symbol})"
    if p.type == "int":
        return f"static_cast<int64_t>(p.{p.symbol})"
    return f"p.{p.symbol}"


def _nulls(arguments: tuple[Argument, ...]) -> Iterator[Check]:
    for a in arguments:
        if a.ctype.endswith("*") and not a.given:
            yield Check(f"p.{a.symbol} == nullptr", "ACLNN_ERR_PARAM_NULLPTR", _literal(f"{a.name} is a null pointer; it must be given"))


def _groups(spec: OpSpec) -> Iterator[Check]:
    names = {p.symbol: p.aclnn for p in spec.params}
    for g in spec.groups:
        listed = ", ".join(names[m] for m in g.members)
        for m in g.members:
            others = " || ".join(f"p.{o} != nullptr" for o in g.members if o != m)
            what = f"{names[m]} is a null pointer, but not all of {listed} are; they are given all or none"
            yield Check(f"p.{m} == nullptr && ({others})", f"ACLNN_ERR_{g.code}", _literal(what))


def _empty(a: Argument) -> Check:
    guard = f"{a.given} && " if a.given else ""
    what = f'"{a.name} has shape " + Shape(p.{a.symbol}) + ", without elements; it must have some"'
    return Check(f"{guard}p.{a.symbol}->IsEmpty()", _INVALID, what)


def _nothing(arguments: tuple[Argument, ...]) -> str:
    """Some input and every output given are empty: nothing would be written, whatever else the call says."""
    inputs = [f"p.{a.symbol}->IsEmpty()" for a in arguments if a.io in ("in", "inout") and not a.given]
    outputs = [
        f"(p.{a.symbol} == nullptr || p.{a.symbol}->IsEmpty())" if a.given else f"p.{a.symbol}->IsEmpty()"
        for a in arguments
        if a.io in ("out", "inout")
    ]
    return " && ".join([f"({' || '.join(inputs)})", *outputs]) if inputs else ""


def _strided(a: Argument) -> Check:
    guard = f"{a.given} && " if a.given else ""
    return Check(f"{guard}!op::IsContiguous(p.{a.symbol})", _INVALID, _literal(f"{a.name} is not contiguous; it must be"))


def _read(spec: OpSpec, t: TensorRead) -> Read:
    name = next(p.aclnn for p in spec.params if p.symbol == t.symbol)
    allowed = " or ".join(x.text for x in t.layouts)
    reader = f"Read{camel(t.symbol)}{'In' if t.is_input else 'Out'}"
    message = f'"{name} has shape " + Shape(p.{t.symbol}) + {_literal(f"; it must be {allowed}")}'
    return Read(_variable(t), reader, t.symbol, f"has_{t.symbol}" if t.optional >= 0 else "", message)


def _sizes(checked: CheckedSpec, call: HostCall) -> Iterator[tuple[str, str]]:
    attrs = {p.symbol: p.type for p in checked.spec.params if p.io == "attr"}
    integers = [n for n in (*checked.program.dims, *(n for n, _ in checked.derived)) if n not in attrs]
    yield from (("Checked", n) for n in dict.fromkeys(integers))
    types = {"int": "Checked", "bool": "Checked", "float": "float", "double": "float", "string": "std::string"}
    yield from ((types[t], n) for n, t in attrs.items() if t in types)
    yield from (("Checked", f"elements_{n}") for n in call.numels)


def _condition(test: str, code: str, message: str) -> Check:
    return Check(f"!({test})", f"ACLNN_ERR_{code}", message)


def _missing(checked: CheckedSpec, say: _Messages) -> Iterator[Check]:
    for symbol, (test, text) in presence_tests(checked).items():
        name = say.names[symbol]
        message = _literal(f"{name} is a null pointer; it may be missing only when {text}")
        yield Check(f"!has_{symbol} && !({test})", "ACLNN_ERR_PARAM_NULLPTR", message)


def _variable(t: TensorRead) -> str:
    return f"{t.symbol}_{'in' if t.is_input else 'out'}"


def _literal(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


class _Messages:
    """What a failed check says: the parameter, the value it was given and what is allowed."""

    def __init__(self, checked: CheckedSpec, call: HostCall) -> None:
        self.names = {p.symbol: p.aclnn for p in checked.spec.params}
        self.attributes = {p.symbol for p in checked.spec.params if p.io == "attr"}
        self.origins = {b.symbol: b.origins for b in call.binds}
        self.several = {t.symbol: len(t.layouts) > 1 for t in call.tensors}
        self.flat = {t.symbol for t in call.tensors if t.flat}

    def condition(self, check: CallCheck) -> str:
        """Of a condition: the values it depends on, then its text."""
        values = [self._size(n) for n in check.sizes]
        values += [f'"{self.names[n]} has " + Text(s.elements_{n}) + " elements"' for n in check.numels]
        values += [f'"{self.names[n]} has dtype " + op::ToString(p.{n}->GetDataType()).GetString()' for n in check.dtypes]
        return _joined(values, f"; {check.text} must hold")

    def agreement(self, a: Agreement) -> str:
        """Of an agreement between tensors, or of an extent with the others."""
        name = self.names[a.subject]
        if a.kind in ("form", "dims"):
            other = self.names[a.other]
            allowed = "they must have the same form" if a.kind == "form" else f"their dims {a.wanted.lstrip('*')} must agree"
            return f'"{name} has shape " + Shape(p.{a.subject}) + " and {other} " + Shape(p.{a.other}) + {_literal(f"; {allowed}")}'
        what = f"{name} has" if a.subject in self.flat else f"extent {a.place} of {name} is"
        of = " elements; it must have" if a.subject in self.flat else "; it must be"
        text = f"{_literal(what + ' ')} + Text({a.value})"
        if not a.sizes:
            return f"{text} + {_literal(f'{of} {a.wanted}')}"
        shown = [self._size(n) for n in a.sizes]
        if a.sizes == (a.wanted,):
            return f"{text} + {_literal(f'{of} ')} + {shown[0]}"
        return f"{text} + {_literal(f'{of} {a.wanted} = ')} + Text({a.expected}) + " + f'" (" + {_joined(shown, ")")}'

    def _size(self, symbol: str) -> str:
        if symbol in self.attributes:
            return f'"{self.names[symbol]} is " + Text(s.{symbol})'
        origin = ", ".join(self.names[o] for o in self.origins.get(symbol, ()))
        label = symbol.removeprefix("numel_")
        counted = f"the number of elements of {label}" if label != symbol else symbol
        value = f'"{counted} = " + Text(s.{symbol})'
        return f'{value} + " (from {origin})"' if origin else value


def _joined(parts: list[str], end: str) -> str:
    return ' + ", " + '.join(parts) + f" + {_literal(end)}" if parts else _literal(end)
