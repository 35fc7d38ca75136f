"""Formula text from either form of the IR; ``parse(text(p)) == p`` for surface forms."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

from generator.formula.ir import (
    Assign,
    Attr,
    Binary,
    Bound,
    Call,
    Cast,
    Compare,
    Expr,
    For,
    Gather,
    Index,
    IntVal,
    Load,
    Logic,
    Neg,
    Not,
    Num,
    Pack,
    Program,
    Reduce,
    Segment,
    Stmt,
    Where,
)
from generator.spec.integer import IntExpr

__all__ = ["expression", "index", "text"]

_OR, _AND, _NOT, _CMP, _ADD, _MUL, _UNARY, _POW, _ATOM = range(1, 10)
_BINARY: Final = {
    "add": ("+", _ADD),
    "sub": ("-", _ADD),
    "mul": ("*", _MUL),
    "div": ("/", _MUL),
    "floordiv": ("//", _MUL),
    "mod": ("%", _MUL),
}
_COMPARE: Final = {"lt": "<", "le": "<=", "gt": ">", "ge": ">=", "eq": "==", "ne": "!="}


def text(what: Program | Sequence[Stmt] | Stmt, *, extents: bool = True) -> str:
    """The statements as formula text, one a line. ``extents=False`` leaves out the extents of reductions' axes."""
    body = what.body if isinstance(what, Program) else (what,) if isinstance(what, Assign | For) else tuple(what)
    return "".join(line + "\n" for stmt in body for line in _lines(stmt, 0, extents))


def _lines(stmt: Stmt, depth: int, extents: bool) -> list[str]:
    pad = "    " * depth
    if isinstance(stmt, For):
        step = f", {stmt.step}" if stmt.step != 1 else ""
        head = f"{pad}for {stmt.var} in range({stmt.start}, {stmt.stop}{step}):"
        return [head, *(line for inner in stmt.body for line in _lines(inner, depth + 1, extents))]
    given = {a.name: a.extent for a in stmt.axes if a.extent is not None} if extents else {}
    parts = []
    for at in stmt.indices:
        name = at.symbol if isinstance(at, IntExpr) else None
        parts.append(f"{name}: {given.pop(name)}" if name is not None and name in given else index(at))
    left = f"{stmt.tensor}[{', '.join(parts)}]" if stmt.indices else stmt.tensor
    return [f"{pad}{left} = {expression(stmt.value, extents=extents)}"]


def index(at: Index) -> str:
    """One subscript."""
    if isinstance(at, IntExpr):
        return at.text()
    if isinstance(at, Pack):
        return "*" + at.name
    if isinstance(at, Gather):
        return expression(at.load)
    inner = ", ".join(index(p) for p in at.parts)
    if isinstance(at, Segment):
        return f"{at.name}({inner})"
    return f"({inner},)" if len(at.parts) == 1 else f"({inner})"


def expression(e: Expr, *, extents: bool = True) -> str:
    """One expression with the fewest parentheses that keep its tree."""
    return _Printer(extents).at(e, _OR)


class _Printer:
    def __init__(self, extents: bool) -> None:
        self.extents = extents

    def at(self, e: Expr, level: int) -> str:
        """``e`` where something binding at ``level`` is expected."""
        said, own = self.render(e)
        return f"({said})" if own < level else said

    def render(self, e: Expr) -> tuple[str, int]:
        match e:
            case Num():
                return _number(e)
            case Attr(name=name):
                return name, _ATOM
            case IntVal(value=value):
                return value.text(), (_ATOM if value.is_symbol or (value.value or -1) >= 0 else _ADD if len(value.terms) != 1 else _MUL)
            case Load():
                parts = [index(i) for i in e.indices]
                return (f"{e.tensor}[{', '.join(parts)}]" if e.indices else e.tensor), _ATOM
            case Neg(x=x):
                return "-" + self.at(x, _UNARY), _UNARY
            case Not(x=x):
                return "not " + self.at(x, _NOT), _NOT
            case Binary(op="pow"):
                return f"{self.at(e.a, _ATOM)} ** {self.at(e.b, _UNARY)}", _POW
            case Binary():
                sign, level = _BINARY[e.op]
                return f"{self.at(e.a, level)} {sign} {self.at(e.b, level + 1)}", level
            case Compare():
                return f"{self.at(e.a, _CMP + 1)} {_COMPARE[e.op]} {self.at(e.b, _CMP + 1)}", _CMP
            case Logic():
                level = _AND if e.op == "and" else _OR
                return f"{self.at(e.a, level)} {e.op} {self.at(e.b, level + 1)}", level
            case Call():
                return f"{e.fn}({', '.join(self.at(a, _OR) for a in e.args)})", _ATOM
            case Where():
                return f"where({self.at(e.cond, _OR)}, {self.at(e.a, _OR)}, {self.at(e.b, _OR)})", _ATOM
            case Cast():
                return f"cast({self.at(e.x, _OR)}, {e.dtype})", _ATOM
            case Reduce():
                axes = ", ".join(self.bound(a) for a in e.axes)
                divisor = f", divisor={self.at(e.divisor, _OR)}" if e.divisor is not None else ""
                return f"{e.op}[{axes}]({self.at(e.body, _OR)}{divisor})", _ATOM

    def bound(self, axis: Bound) -> str:
        return axis.name if axis.extent is None or not self.extents else f"{axis.name}: {axis.extent}"


def _number(e: Num) -> tuple[str, int]:
    value = e.value
    if isinstance(value, float) and not math.isfinite(value):
        return ("nan", _ATOM) if math.isnan(value) else ("inf", _ATOM) if value > 0 else ("-inf", _UNARY)
    if e.text and e.text not in ("inf", "nan"):
        return e.text, _ATOM
    return repr(value), (_UNARY if value < 0 else _ATOM)
