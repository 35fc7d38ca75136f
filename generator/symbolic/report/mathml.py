"""Formulas as MathML, which browsers typeset without a library."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape
from typing import Final

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
    Reduce,
    Segment,
    Stmt,
    Where,
)
from generator.formula.parse import parse
from generator.formula.printer import expression
from generator.formula.printer import index as index_text
from generator.spec.integer import IntExpr

__all__ = ["formulas"]

_ADD, _MUL, _UNARY, _POW, _ATOM = range(1, 6)
_BIG: Final = {"sum": "∑", "prod": "∏", "max": "max", "min": "min", "mean": "mean", "any": "⋁", "all": "⋀"}
_CMP: Final = {"lt": "<", "le": "≤", "gt": ">", "ge": "≥", "eq": "=", "ne": "≠"}
_GREEK: Final = dict(
    zip(
        ("alpha", "beta", "gamma", "delta", "eps", "epsilon", "eta", "theta", "lambda", "mu", "pi", "rho", "sigma", "tau", "phi", "omega"),
        "αβγδϵϵηθλμπρστφω",
        strict=True,
    )
)


def formulas(text: str) -> Iterator[str]:
    """One ``<math>`` a statement; what cannot be read is left out."""
    yield from _lines(parse(text, relaxed=True).body, 0)


def _lines(body: Sequence[Stmt], depth: int) -> Iterator[str]:
    pad = f'<mspace width="{2 * depth}em"/>' if depth else ""
    for stmt in body:
        if isinstance(stmt, For):
            last = stmt.stop - (1 if stmt.step > 0 else -1)
            step = "" if abs(stmt.step) == 1 else f"<mtext> step {stmt.step}</mtext>"
            head = f"<mtext>for </mtext>{_name(stmt.var)}<mo>=</mo>{_integer(stmt.start)}<mo>,</mo><mo>…</mo><mo>,</mo>{_integer(last)}"
            yield f"<math>{pad}{head}{step}</math>"
            yield from _lines(stmt.body, depth + 1)
        elif isinstance(stmt, Assign):
            yield f"<math>{pad}{_element(stmt.tensor, stmt.indices)}<mo>=</mo>{_at(stmt.value, 0)}</math>"


def _name(symbol: str) -> str:
    return f"<mi>{_GREEK.get(symbol) or escape(symbol)}</mi>"


def _integer(e: IntExpr) -> str:
    return f"<mi>{escape(e.text())}</mi>" if e.value is None else f"<mn>{e.value}</mn>"


def _index(i: Index) -> str:
    if isinstance(i, IntExpr):
        return _integer(i)
    if isinstance(i, Gather):
        return _element(i.load.tensor, i.load.indices)
    if isinstance(i, Pack | Segment):
        return f"<mi>{escape(index_text(i))}</mi>"
    return f"<mo>(</mo>{'<mo>,</mo>'.join(_index(p) for p in i.parts)}<mo>)</mo>"


def _element(tensor: str, indices: Sequence[Index]) -> str:
    if not indices:
        return _name(tensor)
    return f"<msub>{_name(tensor)}<mrow>{'<mo>,</mo>'.join(_index(i) for i in indices)}</mrow></msub>"


def _at(e: Expr, level: int) -> str:
    said, own = _render(e)
    return f"<mrow><mo>(</mo>{said}<mo>)</mo></mrow>" if own < level else said


def _render(e: Expr) -> tuple[str, int]:
    match e:
        case Num():
            return f"<mn>{escape(expression(e))}</mn>", _ATOM if e.value >= 0 else _UNARY
        case Attr(name=symbol):
            return _name(symbol), _ATOM
        case IntVal(value=value):
            return _integer(value), _ATOM if value.is_symbol or (value.value or -1) >= 0 else _ADD
        case Load():
            return _element(e.tensor, e.indices), _ATOM
        case Neg(x=x):
            return f"<mo>−</mo>{_at(x, _UNARY)}", _UNARY
        case Not(x=x):
            return f"<mo>¬</mo>{_at(x, _ATOM)}", _UNARY
        case Binary():
            return _binary(e)
        case Compare():
            return f"{_at(e.a, _ADD)}<mo>{escape(_CMP[e.op])}</mo>{_at(e.b, _ADD)}", 0
        case Logic():
            return f"{_at(e.a, _ADD)}<mo>{'∧' if e.op == 'and' else '∨'}</mo>{_at(e.b, _ADD)}", 0
        case Call():
            return _call(e)
        case Where():
            rows = f"<mtr><mtd>{_at(e.a, 0)}</mtd><mtd>{_at(e.cond, 0)}</mtd></mtr>"
            rows += f"<mtr><mtd>{_at(e.b, 0)}</mtd><mtd><mtext>otherwise</mtext></mtd></mtr>"
            return f"<mrow><mo>{{</mo><mtable>{rows}</mtable></mrow>", _ATOM
        case Cast():
            return f"<mi>{e.dtype}</mi><mo>(</mo>{_at(e.x, 0)}<mo>)</mo>", _ATOM
        case Reduce():
            axes = "<mo>,</mo>".join(_name(a.name) for a in e.axes)
            by = "" if e.divisor is None else f"<mfrac><mn>1</mn>{_at(e.divisor, _ATOM)}</mfrac>"
            sign = "∑" if by else _BIG.get(e.op, e.op)
            return f"{by}<munder><mo>{sign}</mo><mrow>{axes}</mrow></munder>{_at(e.body, _MUL)}", _MUL


def _binary(e: Binary) -> tuple[str, int]:
    if e.op == "div":
        return f"<mfrac><mrow>{_at(e.a, 0)}</mrow><mrow>{_at(e.b, 0)}</mrow></mfrac>", _ATOM
    if e.op == "pow":
        return f"<msup><mrow>{_at(e.a, _ATOM)}</mrow><mrow>{_at(e.b, 0)}</mrow></msup>", _POW
    if e.op in ("mul", "floordiv", "mod"):
        sign = {"mul": "⋅" if isinstance(e.b, Num) else "&#x2062;", "floordiv": "//", "mod": "mod"}[e.op]
        return f"{_at(e.a, _MUL)}<mo>{sign}</mo>{_at(e.b, _UNARY if not isinstance(e.b, Neg) else _ATOM)}", _MUL
    return f"{_at(e.a, _ADD)}<mo>{'+' if e.op == 'add' else '−'}</mo>{_at(e.b, _MUL)}", _ADD


def _call(e: Call) -> tuple[str, int]:
    args = [_at(a, 0) for a in e.args]
    if e.fn == "sqrt":
        return f"<msqrt>{args[0]}</msqrt>", _ATOM
    if e.fn in ("rsqrt", "reciprocal"):
        low = f"<msqrt>{args[0]}</msqrt>" if e.fn == "rsqrt" else f"<mrow>{args[0]}</mrow>"
        return f"<mfrac><mn>1</mn>{low}</mfrac>", _ATOM
    if e.fn == "abs":
        return f"<mrow><mo>|</mo>{args[0]}<mo>|</mo></mrow>", _ATOM
    return f"<mi>{escape(e.fn)}</mi><mrow><mo>(</mo>{'<mo>,</mo>'.join(args)}<mo>)</mo></mrow>", _ATOM
