"""Formulas as LaTeX, one aligned line a statement; loops as a ``for`` line and indented statements."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from generator.formula.functions import FUNCTIONS
from generator.formula.ir import (
    Assign,
    Attr,
    Binary,
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
from generator.formula.printer import expression
from generator.spec.integer import Func, IntExpr, Numel, Sym

__all__ = ["equation", "latex"]

_ADD, _MUL, _UNARY, _POW, _ATOM = range(1, 6)
_OPS: Final = {"sum": r"\sum", "prod": r"\prod", "max": r"\max", "min": r"\min", "any": r"\bigvee", "all": r"\bigwedge"}
_CMP: Final = {"lt": "<", "le": r"\le", "gt": ">", "ge": r"\ge", "eq": "=", "ne": r"\ne"}
_GREEK: Final = frozenset(
    {"alpha", "beta", "gamma", "delta", "epsilon", "eps", "zeta", "eta", "theta", "kappa", "lambda", "mu", "nu", "xi"}
    | {"rho", "sigma", "tau", "phi", "chi", "psi", "omega"}
)


def latex(what: Program | Sequence[Stmt]) -> str:
    """An ``aligned`` environment with every statement of ``what``."""
    body = what.body if isinstance(what, Program) else tuple(what)
    lines = [line for stmt in body for line in _lines(stmt, 0)]
    return "\\begin{aligned}\n" + " \\\\\n".join(lines) + "\n\\end{aligned}"


def equation(stmt: Assign) -> str:
    """One assignment as an equation."""
    return f"{_element(stmt.tensor, stmt.indices)} = {_Printer().at(stmt.value, 0)}"


def _lines(stmt: Stmt, depth: int) -> list[str]:
    pad = "&" + r"\quad " * depth
    if isinstance(stmt, For):
        last = stmt.stop - (1 if stmt.step > 0 else -1)
        step = "" if abs(stmt.step) == 1 else rf"\ \text{{step}}\ {stmt.step}"
        head = rf"{pad}\textbf{{for}}\ {name(stmt.var)} = {_integer(stmt.start)}, \ldots, {_integer(last)}{step}:"
        return [head, *(line for inner in stmt.body for line in _lines(inner, depth + 1))]
    return [pad + equation(stmt)]


def name(symbol: str) -> str:
    """A symbol: Greek letters by name, one letter as it is, words upright, the rest after ``_`` as a subscript word."""
    if len(symbol) == 1:
        return symbol
    if symbol in _GREEK:
        return r"\epsilon" if symbol == "eps" else "\\" + symbol
    return rf"\mathrm{{{symbol.replace('_', chr(92) + '_')}}}"


def _element(tensor: str, indices: Sequence[Index]) -> str:
    return name(tensor) + (f"_{{{', '.join(_index(i) for i in indices)}}}" if indices else "")


def _index(i: Index) -> str:
    if isinstance(i, IntExpr):
        return _integer(i)
    if isinstance(i, Pack):
        return _pack(i.name)
    if isinstance(i, Gather):
        return _element(i.load.tensor, i.load.indices)
    inner = ", ".join(_index(p) for p in i.parts)
    return rf"\mathrm{{{i.name}}}({inner})" if isinstance(i, Segment) else f"({inner})"


def _pack(text: str) -> str:
    """A pack: its name, or the axes of a broadcast pack that some tensors have."""
    return rf"\mathbf{{{text.replace('&', chr(92) + 'cap').replace('-', chr(92) + 'setminus')}}}"


def _axis(axis: str) -> str:
    return _pack(axis[1:]) if axis.startswith("*") and not axis[1:].isidentifier() else name(axis.lstrip("*"))


def _integer(e: IntExpr) -> str:
    if not e.terms:
        return "0"
    out = ""
    for m, c in sorted(e.terms, key=lambda t: t[1] < 0):
        factors = [_atom(a) + (f"^{{{p}}}" if p > 1 else "") for a, p in m]
        if abs(c) != 1 or not factors:
            factors.insert(0, str(abs(c)))
        out += (" - " if out else "-") if c < 0 else (" + " if out else "")
        out += r" \, ".join(factors)
    return out


def _atom(a: Sym | Numel | Func) -> str:
    if isinstance(a, Sym):
        return name(a.name)
    if isinstance(a, Numel):
        return rf"\lvert {name(a.tensor)} \rvert"
    x, y = _integer(a.a), _integer(a.b)
    if a.op == "floordiv":
        return rf"\lfloor ({x}) / ({y}) \rfloor"
    return rf"(({x}) \bmod ({y}))" if a.op == "mod" else rf"\{a.op}({x}, {y})"


class _Printer:
    def at(self, e: Expr, level: int) -> str:
        said, own = self.render(e)
        return rf"\left({said}\right)" if own < level else said

    def render(self, e: Expr) -> tuple[str, int]:
        match e:
            case Num():
                return _number(expression(e)), _ATOM if e.value >= 0 else _UNARY
            case Attr(name=symbol):
                return name(symbol), _ATOM
            case IntVal(value=value):
                return _integer(value), _ATOM if value.is_symbol or (value.value or -1) >= 0 else _ADD
            case Load():
                return _element(e.tensor, e.indices), _ATOM
            case Neg(x=x):
                return "-" + self.at(x, _UNARY), _UNARY
            case Not(x=x):
                return r"\lnot " + self.at(x, _ATOM), _UNARY
            case Binary():
                return self.binary(e)
            case Compare():
                return f"{self.at(e.a, _ADD)} {_CMP[e.op]} {self.at(e.b, _ADD)}", 0
            case Logic():
                sign = r"\land" if e.op == "and" else r"\lor"
                return f"{self.at(e.a, _ADD)} {sign} {self.at(e.b, _ADD)}", 0
            case Call():
                return self.call(e)
            case Where():
                a, b, cond = self.at(e.a, 0), self.at(e.b, 0), self.at(e.cond, 0)
                return rf"\begin{{cases}} {a} & {cond} \\ {b} & \text{{otherwise}} \end{{cases}}", _ATOM
            case Cast():
                return rf"\mathrm{{{e.dtype}}}\left({self.at(e.x, 0)}\right)", _ATOM
            case Reduce():
                return self.reduce(e)

    def binary(self, e: Binary) -> tuple[str, int]:
        if e.op == "div":
            return rf"\frac{{{self.at(e.a, 0)}}}{{{self.at(e.b, 0)}}}", _ATOM
        if e.op == "pow":
            return f"{self.at(e.a, _ATOM)}^{{{self.at(e.b, 0)}}}", _POW
        if e.op == "mul":
            dot = r"\cdot " if isinstance(e.a, Num) and isinstance(e.b, Num) else r"\, "
            return f"{self.at(e.a, _MUL)} {dot}{self.at(e.b, _UNARY if not isinstance(e.b, Neg) else _ATOM)}", _MUL
        if e.op == "floordiv":
            return rf"\left\lfloor {self.at(e.a, _MUL)} / {self.at(e.b, _UNARY)} \right\rfloor", _ATOM
        if e.op == "mod":
            return rf"{self.at(e.a, _MUL)} \bmod {self.at(e.b, _UNARY)}", _MUL
        return f"{self.at(e.a, _ADD)} {'+' if e.op == 'add' else '-'} {self.at(e.b, _MUL)}", _ADD

    def call(self, e: Call) -> tuple[str, int]:
        args = [self.at(a, 0) for a in e.args]
        if e.fn == "sqrt":
            return rf"\sqrt{{{args[0]}}}", _ATOM
        if e.fn == "rsqrt":
            return rf"\frac{{1}}{{\sqrt{{{args[0]}}}}}", _ATOM
        if e.fn == "reciprocal":
            return rf"\frac{{1}}{{{args[0]}}}", _ATOM
        if e.fn == "square":
            return f"{self.at(e.args[0], _ATOM)}^{{2}}", _POW
        if e.fn == "abs":
            return rf"\left|{args[0]}\right|", _ATOM
        if e.fn in ("floor", "ceil"):
            return rf"\left\l{e.fn} {args[0]} \right\r{e.fn}", _ATOM
        return rf"{FUNCTIONS[e.fn].latex}\left({', '.join(args)}\right)", _ATOM

    def reduce(self, e: Reduce) -> tuple[str, int]:
        axes = ", ".join(
            (rf"0 \le {_axis(a.name)} < {_integer(a.extent)}" if a.extent is not None else _axis(a.name))
            for a in e.axes
        )
        body = self.at(e.body, _MUL)
        if e.op == "mean" and e.divisor is not None:
            return rf"\frac{{1}}{{{self.at(e.divisor, 0)}}} \sum_{{{axes}}} {body}", _MUL
        sign = _OPS.get(e.op, rf"\operatorname*{{{e.op}}}")
        return rf"{sign}_{{{axes}}} {body}", _MUL


def _number(text: str) -> str:
    if text in ("inf", "-inf"):
        return text.replace("inf", r"\infty")
    if text == "pi":
        return r"\pi"
    if text == "nan":
        return r"\mathrm{NaN}"
    mantissa, _, exponent = text.lower().partition("e")
    return rf"{mantissa} \cdot 10^{{{int(exponent)}}}" if exponent else mantissa
