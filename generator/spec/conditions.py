"""Conditions of a spec (``n in {4, 6, 8}``, ``eps >= 0``, ``dtype(x) != bfloat16``): read, evaluated, printed, bounded."""

from __future__ import annotations

import ast
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Final, Literal, get_args

from generator.spec.errors import TextError
from generator.spec.integer import IntExpr, const, numel, sym
from generator.spec.model import DTypeName
from generator.spec.names import did_you_mean
from generator.spec.sizes import describe, from_ast, parse_expression, place

__all__ = [
    "And",
    "Compare",
    "Condition",
    "Flag",
    "Is",
    "Member",
    "Names",
    "Not",
    "Or",
    "Real",
    "Typed",
    "bounds",
    "evaluate",
    "facts",
    "free",
    "parse",
    "text",
    "typed",
]

Op = Literal["<", "<=", ">", ">=", "==", "!="]
_OPS: Final[dict[type[ast.cmpop], Op]] = {ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Eq: "==", ast.NotEq: "!="}
_DTYPES: Final[tuple[str, ...]] = get_args(DTypeName)


@dataclass(frozen=True, slots=True)
class Real:
    """A float attribute by name, or a float literal."""

    name: str | None = None
    value: float = 0.0


@dataclass(frozen=True, slots=True)
class Compare:
    """``a op b``; both sides integer expressions, or reals."""

    op: Op
    a: IntExpr | Real
    b: IntExpr | Real


@dataclass(frozen=True, slots=True)
class Member:
    """``a in {values}``."""

    a: IntExpr
    values: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Flag:
    """A bool attribute."""

    name: str


@dataclass(frozen=True, slots=True)
class Is:
    """A string attribute is one of the values."""

    name: str
    values: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Typed:
    """The dtype of a tensor is one of ``dtypes``."""

    tensor: str
    dtypes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Not:
    x: Condition


@dataclass(frozen=True, slots=True)
class And:
    parts: tuple[Condition, ...]


@dataclass(frozen=True, slots=True)
class Or:
    parts: tuple[Condition, ...]


Condition = Compare | Member | Flag | Is | Typed | Not | And | Or


@dataclass(frozen=True, slots=True)
class Names:
    """What a condition may name: integers (dims, int attributes), float, bool and string attributes, tensors (``numel``,
    ``dtype``)."""

    ints: Collection[str] = ()
    floats: Collection[str] = ()
    bools: Collection[str] = ()
    strings: Collection[str] = ()
    tensors: Collection[str] = ()

    def all(self) -> list[str]:
        return [*self.ints, *self.floats, *self.bools, *self.strings]


def parse(text: str, names: Names) -> Condition:
    """The condition ``text``; :class:`TextError` says where it is none."""
    return _Reader(text, names).condition(parse_expression(text))


class _Reader:
    def __init__(self, source: str, names: Names) -> None:
        self.source = source
        self.lines = source.strip().split("\n")
        self.names = names

    def fault(self, node: ast.AST, what: str, value: str = "", right: str = "") -> TextError:
        line, column = place(node, self.lines)
        return TextError(what, value, right, line=line, column=column)

    def condition(self, node: ast.expr) -> Condition:
        if isinstance(node, ast.BoolOp):
            parts = [self.condition(v) for v in node.values]
            if isinstance(node.op, ast.Or):
                return Or(tuple(parts))
            return And(tuple(q for p in parts for q in (p.parts if isinstance(p, And) else (p,))))
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            return Not(self.condition(node.operand))
        if isinstance(node, ast.Compare):
            pairs = tuple(
                self.pair(node, op, a, b) for op, a, b in zip(node.ops, [node.left, *node.comparators], node.comparators, strict=False)
            )
            return pairs[0] if len(pairs) == 1 else And(pairs)
        if isinstance(node, ast.Name):
            if node.id in self.names.bools:
                return Flag(node.id)
            if node.id not in self.names.all():
                raise self.unknown(node)
        raise self.fault(
            node, f"{describe(node)} is not a condition", f"'{self.source}'", "a comparison such as D % 16 == 0 or n in {4, 6, 8}"
        )

    def unknown(self, node: ast.Name) -> TextError:
        return self.fault(
            node, "the name is not defined here", f"'{node.id}'", did_you_mean(node.id, self.names.all(), "dims and attributes")
        )

    def pair(self, node: ast.Compare, op: ast.cmpop, a: ast.expr, b: ast.expr) -> Condition:
        if isinstance(a, ast.Name) and a.id in self.names.strings:
            return self.words(node, op, a.id, b)
        if isinstance(a, ast.Call) and isinstance(a.func, ast.Name) and a.func.id == "dtype":
            return self.dtypes(node, op, self.tensor(a), b)
        if isinstance(op, ast.In | ast.NotIn):
            member = Member(self.integer(a), self.members(b))
            return member if isinstance(op, ast.In) else Not(member)
        word = _OPS.get(type(op))
        if word is None:
            raise self.fault(node, "the comparison is not part of the language", f"'{self.source}'", "< <= > >= == != in")
        if self.is_real(a) or self.is_real(b):
            return Compare(word, self.real(a), self.real(b))
        return Compare(word, self.integer(a), self.integer(b))

    def words(self, node: ast.Compare, op: ast.cmpop, name: str, b: ast.expr) -> Condition:
        nodes = list(b.elts) if isinstance(b, ast.Set | ast.Tuple | ast.List) else [b]
        values = tuple(n.value for n in nodes if isinstance(n, ast.Constant) and isinstance(n.value, str))
        if len(values) != len(nodes) or not isinstance(op, ast.Eq | ast.NotEq | ast.In | ast.NotIn):
            raise self.fault(node, "a string attribute is compared with strings", f"'{self.source}'", f"{name} in {{'a', 'b'}}")
        return Is(name, values) if isinstance(op, ast.Eq | ast.In) else Not(Is(name, values))

    def dtypes(self, node: ast.Compare, op: ast.cmpop, tensor: str, b: ast.expr) -> Condition:
        nodes = list(b.elts) if isinstance(b, ast.Set | ast.Tuple | ast.List) else [b]
        if not nodes or not isinstance(op, ast.Eq | ast.NotEq | ast.In | ast.NotIn):
            raise self.fault(node, "a dtype is compared with dtypes", f"'{self.source}'", f"dtype({tensor}) in {{float16, float32}}")
        for n in nodes:
            if not isinstance(n, ast.Name) or n.id not in _DTYPES:
                said = n.id if isinstance(n, ast.Name) else ast.unparse(n)
                raise self.fault(n, "no such dtype", f"'{said}'", did_you_mean(said, _DTYPES, "dtypes"))
        values = tuple(n.id for n in nodes if isinstance(n, ast.Name))
        return Typed(tensor, values) if isinstance(op, ast.Eq | ast.In) else Not(Typed(tensor, values))

    def tensor(self, node: ast.Call) -> str:
        """The tensor in ``numel(x)`` or ``dtype(x)``."""
        arg = node.args[0] if len(node.args) == 1 and not node.keywords else None
        if isinstance(arg, ast.Name) and arg.id in self.names.tensors:
            return arg.id
        given = arg.id if isinstance(arg, ast.Name) else self.source
        what = f"{ast.unparse(node.func)} takes one tensor of the spec"
        raise self.fault(node, what, f"'{given}'", did_you_mean(given, self.names.tensors, "tensors"))

    def members(self, node: ast.expr) -> tuple[int, ...]:
        if isinstance(node, ast.Set | ast.Tuple | ast.List):
            values = [self.integer(e).value for e in node.elts]
            if values and all(v is not None for v in values):
                return tuple(sorted({v for v in values if v is not None}))
        raise self.fault(node, "'in' needs a set of integers", f"'{self.source}'", "{4, 6, 8}")

    def is_real(self, node: ast.expr) -> bool:
        return any(
            (isinstance(n, ast.Name) and n.id in self.names.floats) or (isinstance(n, ast.Constant) and isinstance(n.value, float))
            for n in ast.walk(node)
        )

    def real(self, node: ast.expr) -> Real | IntExpr:
        if isinstance(node, ast.Name) and node.id in self.names.floats:
            return Real(node.id)
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub) and isinstance(node.operand, ast.Constant):
            inner = self.real(node.operand)
            return Real(None, -inner.value) if isinstance(inner, Real) else -inner
        if isinstance(node, ast.Constant) and isinstance(node.value, float):
            return Real(None, node.value)
        if self.is_real(node):
            raise self.fault(node, "a float attribute is compared as it is", f"'{self.source}'", "eps >= 0")
        return self.integer(node)

    def integer(self, node: ast.expr) -> IntExpr:
        return from_ast(node, self.leaf, self.fault)

    def leaf(self, node: ast.expr) -> IntExpr | None:
        if isinstance(node, ast.Name):
            if node.id in self.names.ints:
                return sym(node.id)
            if node.id in self.names.all():
                raise self.fault(node, "the name is not an integer", f"'{node.id}'", "a dim or an int attribute")
            raise self.unknown(node)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "numel":
            return numel(self.tensor(node))
        return None


# --- meaning -----------------------------------------------------------------------------------------------------


def evaluate(
    cond: Condition,
    env: Mapping[str, int | float | bool | str],
    numels: Mapping[str, int] | None = None,
    dtypes: Mapping[str, str] | None = None,
) -> bool:
    """Whether ``cond`` holds for the values in ``env`` (dims, attributes), ``numels`` and ``dtypes`` (by tensor); KeyError names what
    is missing."""
    match cond:
        case Compare(op=op, a=a, b=b):
            x, y = _value(a, env, numels), _value(b, env, numels)
            return {"<": x < y, "<=": x <= y, ">": x > y, ">=": x >= y, "==": x == y, "!=": x != y}[op]
        case Member(a=a, values=values):
            return _value(a, env, numels) in values
        case Flag(name=name):
            return bool(env[name])
        case Is(name=name, values=words):
            return env[name] in words
        case Typed(tensor=tensor, dtypes=kinds):
            return (dtypes or {})[tensor] in kinds
        case Not(x=x):
            return not evaluate(x, env, numels, dtypes)
        case And(parts=parts):
            return all(evaluate(p, env, numels, dtypes) for p in parts)
        case Or(parts=parts):
            return any(evaluate(p, env, numels, dtypes) for p in parts)


def _value(x: IntExpr | Real, env: Mapping[str, int | float | bool | str], numels: Mapping[str, int] | None) -> int | float:
    if isinstance(x, Real):
        return float(env[x.name]) if x.name is not None else x.value
    return x.evaluate({k: int(v) for k, v in env.items() if isinstance(v, int)}, numels)


def free(cond: Condition) -> frozenset[str]:
    """The names of dims and attributes ``cond`` depends on (element counts and dtypes excepted)."""
    out: set[str] = set()
    for part in _leaves(cond):
        match part:
            case Compare(a=a, b=b):
                for side in (a, b):
                    out |= side.free() if isinstance(side, IntExpr) else {side.name} if side.name is not None else set()
            case Member(a=a):
                out |= a.free()
            case Flag(name=name) | Is(name=name):
                out.add(name)
            case _:
                pass
    return frozenset(out)


def typed(cond: Condition) -> frozenset[str]:
    """The tensors whose dtype ``cond`` depends on."""
    return frozenset(part.tensor for part in _leaves(cond) if isinstance(part, Typed))


def _leaves(cond: Condition) -> Iterator[Condition]:
    match cond:
        case And(parts=parts) | Or(parts=parts):
            for p in parts:
                yield from _leaves(p)
        case Not(x=x):
            yield from _leaves(x)
        case _:
            yield cond


def _conjuncts(cond: Condition) -> Iterator[Condition]:
    if isinstance(cond, And):
        for p in cond.parts:
            yield from _conjuncts(p)
    else:
        yield cond


def facts(cond: Condition) -> list[IntExpr]:
    """Integer expressions that are >= 0 whenever ``cond`` holds."""
    out: list[IntExpr] = []
    for part in _conjuncts(cond):
        if isinstance(part, Member):
            out += [part.a - min(part.values), const(max(part.values)) - part.a]
        elif isinstance(part, Compare) and isinstance(part.a, IntExpr) and isinstance(part.b, IntExpr):
            gap = part.b - part.a
            out += {"<": [gap - 1], "<=": [gap], ">": [-gap - 1], ">=": [-gap], "==": [gap, -gap], "!=": []}[part.op]
    return out


def bounds(cond: Condition, name: str) -> tuple[int | None, int | None]:
    """The interval ``cond`` leaves for ``name`` on its own: ``(lowest, highest)``, None where it sets none."""
    low: int | None = None
    high: int | None = None
    for fact in facts(cond):
        if fact.free() != {name} or not fact.is_affine_in([name]) or any(type(a).__name__ == "Func" for a in fact.atoms()):
            continue
        c, rest = fact.coefficient(name).value, fact.substitute({name: 0}).value
        if c is None or rest is None or c == 0:
            continue
        if c > 0:
            low = max(low, -(rest // c)) if low is not None else -(rest // c)
        else:
            high = min(high, rest // -c) if high is not None else rest // -c
    return low, high


# --- printing ----------------------------------------------------------------------------------------------------


def text(cond: Condition, style: Literal["spec", "c"] = "spec", names: Callable[[str], str] = lambda s: s) -> str:
    """Spec text, or C++ (names through ``names``); the spec text reads back as an equal condition."""
    return _Printer(style, names).at(cond, 0)


@dataclass(frozen=True)
class _Printer:
    style: Literal["spec", "c"]
    names: Callable[[str], str]

    def at(self, cond: Condition, level: int) -> str:
        said, own = self.render(cond)
        return f"({said})" if own < level else said

    def render(self, cond: Condition) -> tuple[str, int]:
        c = self.style == "c"
        match cond:
            case Compare(op=op, a=a, b=b):
                return f"{self.side(a)} {op} {self.side(b)}", 4
            case Member(a=a, values=values):
                if c:
                    return " || ".join(f"{self.side(a)} == {v}" for v in values), 1 if len(values) > 1 else 4
                return f"{self.side(a)} in {{{', '.join(map(str, values))}}}", 4
            case Flag(name=name):
                return self.names(name), 5
            case Is(name=name, values=words):
                if c:
                    return " || ".join(f'{self.names(name)} == "{w}"' for w in words), 1 if len(words) > 1 else 4
                return f"{self.names(name)} in {{{', '.join(map(repr, words))}}}", 4
            case Typed(tensor=tensor, dtypes=kinds):
                if len(kinds) == 1:
                    return f"dtype({self.names(tensor)}) == {kinds[0]}", 4
                return f"dtype({self.names(tensor)}) in {{{', '.join(kinds)}}}", 4
            case Not(x=Typed(tensor=tensor, dtypes=(kind,))) if not c:
                return f"dtype({self.names(tensor)}) != {kind}", 4
            case Not(x=x):
                return ("!" if c else "not ") + self.at(x, 5 if c else 3), 3
            case And(parts=parts):
                return (" && " if c else " and ").join(self.at(p, 3) for p in parts), 2
            case Or(parts=parts):
                return (" || " if c else " or ").join(self.at(p, 2) for p in parts), 1

    def side(self, x: IntExpr | Real) -> str:
        if isinstance(x, Real):
            return self.names(x.name) if x.name is not None else repr(x.value)
        said = x.text(self.style, self.names)
        return f"({said})" if self.style == "c" and not (x.is_symbol or x.value is not None) else said
