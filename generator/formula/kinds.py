"""Kinds of values: float, integer or bool, and which of them may meet.

Literals, dims, int attributes, axes and loop variables are *weak* integers: they become floats where a float is
wanted. Elements of integer tensors are not converted silently: ``cast(idx[t], float32)`` says it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Literal

from generator.formula.functions import FUNCTIONS
from generator.formula.ir import (
    Attr,
    Binary,
    Call,
    Cast,
    Compare,
    Expr,
    IntVal,
    Kind,
    Load,
    Logic,
    Neg,
    Not,
    Num,
    Reduce,
    Span,
    Tensor,
    Where,
)
from generator.formula.symbols import dtype_kind

__all__ = ["Wide", "kind_of", "strong"]

Wide = Literal["float", "int", "bool", "weak"]
Report = Callable[[Span | None, str, str, str], None]


def strong(kind: Wide) -> Kind:
    """The kind of a local tensor that holds such values: weak integers are stored in the compute dtype."""
    return "float" if kind == "weak" else kind


def kind_of(e: Expr, tensors: Mapping[str, Tensor], bools: frozenset[str] | set[str] = frozenset(), report: Report | None = None) -> Wide:
    """The kind of a resolved expression; faults go to ``report`` (span, what, value, what would be right)."""
    return _Kinds(tensors, bools, report or (lambda *_: None)).of(e)


class _Kinds:
    def __init__(self, tensors: Mapping[str, Tensor], bools: frozenset[str] | set[str], report: Report) -> None:
        self.tensors = tensors
        self.bools = bools
        self.report = report

    def of(self, e: Expr) -> Wide:
        match e:
            case Num(value=value):
                return "weak" if isinstance(value, int) else "float"
            case Attr(name=name):
                return "bool" if name in self.bools else "float"
            case IntVal():
                return "weak"
            case Load(tensor=name):
                return self.tensors[name].kind if name in self.tensors else "float"
            case Neg(x=x):
                return self.number(x, "'-'")
            case Not(x=x):
                self.truth(x, "'not'")
                return "bool"
            case Logic():
                self.truth(e.a, f"'{e.op}'")
                self.truth(e.b, f"'{e.op}'")
                return "bool"
            case Compare():
                a, b = self.of(e.a), self.of(e.b)
                if "bool" not in (a, b) or a != b:
                    self.meet(e.span, a, b, "a comparison")
                return "bool"
            case Binary():
                return self.binary(e)
            case Call():
                return self.call(e)
            case Where():
                self.truth(e.cond, "where's condition")
                a, b = self.of(e.a), self.of(e.b)
                return a if a == b == "bool" else self.meet(e.span, a, b, "where's values")
            case Cast():
                self.of(e.x)
                return dtype_kind(e.dtype)
            case Reduce():
                return self.reduce(e)

    def number(self, e: Expr, who: str) -> Wide:
        kind = self.of(e)
        if kind == "bool":
            self.report(e.span, f"{who} needs a number", "a bool", "where(condition, 1, 0)")
            return "float"
        return kind

    def truth(self, e: Expr, who: str) -> None:
        if self.of(e) != "bool":
            self.report(e.span, f"{who} needs a bool", "a number", "a comparison such as x[i] > 0")

    def meet(self, span: Span | None, a: Wide, b: Wide, who: str) -> Wide:
        """The kind of two values used together."""
        pair = {a, b}
        if "bool" in pair:
            self.report(span, f"{who} mixes a bool with a number", f"{a} and {b}".replace("weak", "int"), "where(condition, 1, 0)")
            return "float"
        if pair == {"int", "float"}:
            self.report(span, f"{who} mixes an integer tensor with floats", f"{a} and {b}", "cast(..., float32) of the integer")
            return "float"
        return "float" if "float" in pair else "int" if "int" in pair else "weak"

    def binary(self, e: Binary) -> Wide:
        a, b = self.number(e.a, "arithmetic"), self.number(e.b, "arithmetic")
        kind = self.meet(e.span, a, b, "arithmetic")
        if e.op in ("floordiv", "mod"):
            if kind == "float":
                sign = "//" if e.op == "floordiv" else "%"
                self.report(e.span, f"'{sign}' is defined for integers", "floats", "floor(a / b)")
            return kind
        if e.op in ("div", "pow"):
            if kind == "int":
                self.report(e.span, f"'{'/' if e.op == 'div' else '**'}' of an integer tensor", "int", "cast(..., float32), or '//'")
            return "float"
        return kind

    def call(self, e: Call) -> Wide:
        function = FUNCTIONS[e.fn]
        kinds = [self.number(a, f"'{e.fn}'") for a in e.args]
        kind = kinds[0] if len(kinds) == 1 else self.meet(e.span, kinds[0], kinds[1], f"'{e.fn}'")
        if function.gives == "same":
            return "float" if kind == "weak" else kind
        if kind == "int":
            self.report(e.span, f"'{e.fn}' of an integer tensor", "int", f"{e.fn}(cast(..., float32))")
        return function.gives

    def reduce(self, e: Reduce) -> Wide:
        if e.divisor is not None:
            self.number(e.divisor, "the divisor")
        if e.op in ("any", "all"):
            self.truth(e.body, f"'{e.op}'")
            return "bool"
        kind = self.number(e.body, f"'{e.op}'")
        if e.op in ("argmax", "argmin"):
            return "int"
        if e.op == "mean":
            if kind == "int":
                self.report(e.span, "'mean' of an integer tensor", "int", "mean(cast(..., float32))")
            return "float"
        return "float" if kind == "weak" else kind
