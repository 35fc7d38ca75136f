"""Constraints of a spec as C++ tests of the host, over the tiling header's ``Sizes``."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from generator.emit.integers import integer
from generator.emit.names import GE_DTYPES
from generator.emit.shapes import Agreement, attributes, combinations
from generator.formula.checked import CheckedSpec
from generator.spec import conditions as c
from generator.spec.integer import IntExpr, Numel
from generator.spec.model import Status

__all__ = ["CallCheck", "call_checks", "checks", "constraint_texts", "numels_of", "presence_tests"]


@dataclass(frozen=True)
class CallCheck:
    """A condition on the values of a call: the test in C++, its text with the call's names, the status when it fails, and the
    sizes, attributes and element counts (symbols) whose values explain a failure. ``attribute``: of attributes alone."""

    test: str
    text: str
    code: Status
    sizes: tuple[str, ...]
    numels: tuple[str, ...]
    dtypes: tuple[str, ...]  # tensors whose dtypes explain it
    attribute: bool


def constraint_texts(checked: CheckedSpec) -> list[str]:
    """Every condition a call must meet: dims, attributes of the graph operator, then ``constraints``."""
    spec = checked.spec
    texts = [d.where for d in spec.dims.values() if d.where]
    texts += [p.where for p in attributes(spec) if p.where]
    return [*texts, *(x.that for x in spec.constraints)]


def _names(checked: CheckedSpec) -> c.Names:
    spec = checked.spec
    attrs = {p.symbol: p.type for p in spec.params if p.io == "attr"}
    return c.Names(
        ints={*spec.dims, *checked.program.dims, *(n for n, _ in checked.derived), *(s for s, t in attrs.items() if t == "int")},
        floats={s for s, t in attrs.items() if t in ("float", "double")},
        bools={s for s, t in attrs.items() if t == "bool"},
        strings={s for s, t in attrs.items() if t == "string"},
        tensors={p.symbol for p in spec.params if p.io != "attr"},
    )


def _conditions(checked: CheckedSpec) -> Iterator[tuple[str, c.Condition]]:
    spec = checked.spec
    names = _names(checked)
    unread = {p.symbol for p in spec.params if p.io == "attr" and (p.aclnn_only or p.type not in ("int", "float", "double", "bool"))}
    for text in constraint_texts(checked):
        condition = c.parse(text, names)
        if not c.free(condition) & unread:
            yield text, condition


def checks(checked: CheckedSpec) -> tuple[Agreement, ...]:
    """Every ``where``, ``constraints`` and ``optional_when`` entry the tiling function can see, as a test and the message of its
    refusal."""
    names = _names(checked)
    missing = [(p, c.parse(p.optional_when, names)) for p in checked.spec.params if p.optional_when]
    variables = {p.symbol: p.dtype or "" for p in checked.spec.params}

    def tiled(x: c.Typed) -> str:
        """By the number of the call's dtype combination."""
        variable = variables[x.tensor]
        fit = [n for n, kinds in enumerate(combinations(checked.spec)) if kinds.get(variable, variable) in x.dtypes]
        return "(" + (" || ".join(f"combination == {n}" for n in fit) or "false") + ")"

    return (
        *(Agreement(_text(x, tiled), f"{text} does not hold") for text, x in _conditions(checked)),
        *(
            Agreement(f"has_{p.symbol} || {_text(x, tiled)}", f"{p.name} is missing, and {p.optional_when} does not hold")
            for p, x in missing
        ),
    )


def call_checks(checked: CheckedSpec) -> tuple[CallCheck, ...]:
    """Every condition of the spec as the aclnn call checks it, attributes of its own included: those on attributes alone
    first, then those on dims, then the constraints."""
    spec, names = checked.spec, _names(checked)
    texts: list[tuple[str, Status]] = [(p.where, "PARAM_INVALID") for p in spec.params if p.io == "attr" and p.where]
    texts += [(d.where, "PARAM_INVALID") for d in spec.dims.values() if d.where]
    texts += [(x.that, x.code) for x in spec.constraints]
    attrs = {p.symbol for p in spec.params if p.io == "attr"}
    shown = {p.symbol: p.aclnn for p in spec.params}
    found = []
    for text, code in texts:
        condition = c.parse(text, names)
        free = c.free(condition)
        numels = _numels((condition,))
        said = c.text(condition, "spec", lambda n: shown.get(n, n))
        for symbol in numels:
            said = said.replace(f"numel({symbol})", f"numel({shown[symbol]})")
        alone = not numels and free <= attrs
        kinds = tuple(sorted(c.typed(condition)))
        found.append(CallCheck(_text(condition), said, code, tuple(sorted(free)), tuple(sorted(numels)), kinds, alone))
    return tuple(sorted(found, key=lambda x: not x.attribute))


def presence_tests(checked: CheckedSpec) -> dict[str, tuple[str, str]]:
    """Optional parameters that may be missing only when a condition holds: symbol -> its test in C++, and its text."""
    names = _names(checked)
    return {p.symbol: (_text(c.parse(p.optional_when, names)), p.optional_when) for p in checked.spec.params if p.optional_when}


def numels_of(checked: CheckedSpec) -> frozenset[str]:
    """Tensors whose element count some condition names."""
    return _numels(x for _, x in _conditions(checked))


def _numels(conditions: Iterable[c.Condition]) -> frozenset[str]:
    found: set[str] = set()

    def visit(x: object) -> None:
        if isinstance(x, IntExpr):
            found.update(a.tensor for a in x.atoms() if isinstance(a, Numel))
        elif isinstance(x, tuple):
            for y in x:
                visit(y)
        elif hasattr(x, "__dataclass_fields__"):
            for f in x.__dataclass_fields__:
                visit(getattr(x, f))

    for condition in conditions:
        visit(condition)
    return frozenset(found)


def _side(x: IntExpr | c.Real) -> str:
    if isinstance(x, IntExpr):
        return integer(x, lambda n: f"s.{n}", lambda t: f"s.elements_{t}")
    return f"s.{x.name}" if x.name is not None else f"{x.value!r}f"


def _real(x: IntExpr | c.Real) -> str:
    if isinstance(x, c.Real):
        return _side(x)
    return f"{x.value}.0f" if x.value is not None else f"static_cast<float>(({_side(x)}).value)"


def _compare(x: c.Compare) -> str:
    a, b = x.a, x.b
    if isinstance(a, c.Real) or isinstance(b, c.Real):
        return f"{_real(a)} {x.op} {_real(b)}"
    left = f"Checked({_side(a)})" if a.value is not None and b.value is not None else _side(a)
    return f"{left} {x.op} {_side(b)}"


def _called(x: c.Typed) -> str:
    """A test of a tensor's dtype in the aclnn call."""
    return "(" + " || ".join(f"p.{x.tensor}->GetDataType() == {GE_DTYPES[d]}" for d in x.dtypes) + ")"


def _text(x: c.Condition, typed: Callable[[c.Typed], str] = _called) -> str:
    match x:
        case c.Typed():
            return typed(x)
        case c.Compare():
            return _compare(x)
        case c.Member():
            return "(" + " || ".join(f"{_side(x.a)} == {v}" for v in x.values) + ")"
        case c.Flag():
            return f"s.{x.name} != 0"
        case c.Not():
            return f"!({_text(x.x, typed)})"
        case c.And():
            return " && ".join(f"({_text(p, typed)})" if isinstance(p, c.Or) else _text(p, typed) for p in x.parts)
        case c.Or():
            return "(" + " || ".join(f"({_text(p, typed)})" for p in x.parts) + ")"
        case c.Is():
            return "(" + " || ".join(f's.{x.name} == "{v}"' for v in x.values) + ")"
