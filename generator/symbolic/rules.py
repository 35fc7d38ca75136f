"""The derivatives of the elementary functions, as formula text, and of expressions, as contributions to what they load.

In the table ``x`` and ``y`` are the arguments and ``own`` is the value of the call itself. A function that is constant
between its jumps has no entry: nothing flows through it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Final

from generator.formula.infer import children
from generator.formula.ir import (
    Assign,
    Attr,
    Binary,
    Bound,
    Call,
    Cast,
    Compare,
    Expr,
    Index,
    IntVal,
    Load,
    Neg,
    Num,
    Reduce,
    Tensor,
    Where,
)
from generator.formula.parse import parse
from generator.spec.integer import IntExpr, const, product, sym
from generator.symbolic.build import ONE, ZERO, Fresh, all_of, div, mul, neg, num, rebuild, rename_bound, sub, where

__all__ = ["CONVENTIONS", "DERIVATIVES", "Contribution", "Flow", "partial"]

DERIVATIVES: Final[Mapping[str, tuple[str, ...]]] = {
    "exp": ("own",),
    "exp2": ("0.6931471805599453 * own",),
    "expm1": ("own + 1",),
    "log": ("1 / x",),
    "log2": ("1.4426950408889634 / x",),
    "log10": ("0.4342944819032518 / x",),
    "log1p": ("1 / (1 + x)",),
    "sqrt": ("0.5 / own",),
    "rsqrt": ("-0.5 * own ** 3",),
    "reciprocal": ("-(own ** 2)",),
    "square": ("2 * x",),
    "abs": ("sign(x)",),
    "sin": ("cos(x)",),
    "cos": ("-sin(x)",),
    "tan": ("1 + own ** 2",),
    "asin": ("rsqrt(1 - x ** 2)",),
    "acos": ("-rsqrt(1 - x ** 2)",),
    "atan": ("1 / (1 + x ** 2)",),
    "sinh": ("cosh(x)",),
    "cosh": ("sinh(x)",),
    "tanh": ("1 - own ** 2",),
    "erf": ("1.1283791670955126 * exp(-(x ** 2))",),
    "erfc": ("-1.1283791670955126 * exp(-(x ** 2))",),
    "sigmoid": ("own * (1 - own)",),
    "logsigmoid": ("sigmoid(-x)",),
    "softplus": ("sigmoid(x)",),
    "relu": ("where(x > 0, 1, 0)",),
    "silu": ("sigmoid(x) * (1 + x * (1 - sigmoid(x)))",),
    "gelu": ("0.5 * (1 + erf(0.7071067811865476 * x)) + 0.3989422804014327 * x * exp(-0.5 * x ** 2)",),
    "gelu_tanh": (
        (
            "0.5 * (1 + tanh(0.7978845608028654 * (x + 0.044715 * x ** 3)))"
            " + 0.5 * x * (1 - tanh(0.7978845608028654 * (x + 0.044715 * x ** 3)) ** 2)"
            " * (0.7978845608028654 + 0.1070322242944499 * x ** 2)"
        ),
    ),
}
CONVENTIONS: Final[Mapping[str, tuple[str, ...]]] = {
    "max": ("first", "split", "all"),
    "min": ("first", "split", "all"),
    "maximum": ("first", "second", "split"),
    "minimum": ("first", "second", "split"),
    "relu": ("0", "1"),
    "abs": ("0",),
}


@cache
def _template(text: str) -> Expr:
    stmt = parse(f"z = {text}")[0]
    assert isinstance(stmt, Assign)
    return stmt.value


def partial(fn: str, at: int, own: Expr, args: tuple[Expr, ...]) -> Expr | None:
    """The derivative of ``fn`` in its argument ``at``; None when it is zero wherever it exists."""
    texts = DERIVATIVES.get(fn)
    if texts is None:
        return None
    env = {"x": args[0], "y": args[-1], "own": own}

    def fill(e: Expr) -> Expr:
        if isinstance(e, Attr):
            return env[e.name]
        return rebuild(e, fill)

    return fill(_template(texts[at]))


@dataclass(frozen=True)
class Contribution:
    """``sum over axes of value`` belongs to the element ``indices`` of a tensor's adjoint. Loop variables stand free."""

    indices: tuple[Index, ...]
    axes: tuple[Bound, ...]
    value: Expr


@dataclass
class Flow:
    """Sends a cotangent down an expression. ``sink`` takes what reaches a load: the load and the contribution.

    ``boundary`` are the conventions at ties and kinks (``policies.boundary``), by function or reduction."""

    tensors: Mapping[str, Tensor]
    sink: Callable[[Load, Contribution], None]
    fresh: Fresh
    boundary: Mapping[str, str] = field(default_factory=dict)
    used: set[str] = field(default_factory=set)  # conventions that mattered

    def push(self, e: Expr, factor: Expr, axes: tuple[Bound, ...]) -> None:
        """``factor`` is the derivative of the whole in ``e``, at every value of ``axes``."""
        match e:
            case Load():
                if self.tensors[e.tensor].kind == "float":
                    self.sink(e, Contribution(e.indices, axes, factor))
            case Neg(x=x):
                self.push(x, neg(factor), axes)
            case Cast(dtype=dtype, x=x):
                if "float" in dtype:
                    self.push(x, factor, axes)
            case Binary():
                self.binary(e, factor, axes)
            case Call():
                self.call(e, factor, axes)
            case Where():
                self.push(e.a, where(e.cond, factor, ZERO), axes)
                self.push(e.b, where(e.cond, ZERO, factor), axes)
            case Reduce():
                self.reduce(e, factor, axes)

    def depends(self, e: Expr) -> bool:
        """Whether anything differentiable is loaded by ``e``."""
        if isinstance(e, Load):
            return self.tensors[e.tensor].kind == "float"
        if isinstance(e, Compare) or (isinstance(e, Reduce) and e.op in ("any", "all", "argmax", "argmin")):
            return False
        return any(self.depends(c) for c in children(e))

    def binary(self, e: Binary, factor: Expr, axes: tuple[Bound, ...]) -> None:
        a, b = e.a, e.b
        left, right = self.depends(a), self.depends(b)
        match e.op:
            case "add" | "sub":
                self.push(a, factor, axes)
                self.push(b, factor if e.op == "add" else neg(factor), axes)
            case "mul":
                if left:
                    self.push(a, mul(factor, b), axes)
                if right:
                    self.push(b, mul(factor, a), axes)
            case "div":
                if left:
                    self.push(a, div(factor, b), axes)
                if right:
                    self.push(b, neg(div(mul(factor, e), b)), axes)
            case "pow":
                if left:
                    self.push(a, mul(factor, mul(b, _power(a, sub_one(b)))), axes)
                if right:
                    self.push(b, mul(factor, mul(e, Call("log", (a,)))), axes)

    def call(self, e: Call, factor: Expr, axes: tuple[Bound, ...]) -> None:
        if e.fn in ("maximum", "minimum"):
            self.choice(e, factor, axes)
            return
        if e.fn == "relu":
            self.used.add("relu")
            op = "ge" if self.boundary.get("relu") == "1" else "gt"
            self.push(e.args[0], where(Compare(op, e.args[0], ZERO), factor, ZERO), axes)  # type: ignore[arg-type]
            return
        for at, arg in enumerate(e.args):
            if self.depends(arg):
                d = partial(e.fn, at, e, e.args)
                if d is not None:
                    self.push(arg, mul(factor, d), axes)

    def choice(self, e: Call, factor: Expr, axes: tuple[Bound, ...]) -> None:
        a, b = e.args
        self.used.add(e.fn)
        rule = self.boundary.get(e.fn, "first")
        strict: str = "gt" if e.fn == "maximum" else "lt"
        wins: Expr = Compare(strict if rule == "second" else strict[0] + "e", a, b)  # type: ignore[arg-type]
        to_a, to_b = where(wins, factor, ZERO), where(wins, ZERO, factor)
        if rule == "split":
            half = mul(num(0.5), factor)
            loses: Expr = Compare("lt" if strict == "gt" else "gt", a, b)
            tie: Expr = Compare("eq", a, b)
            to_a = where(tie, half, where(loses, ZERO, factor))
            to_b = where(tie, half, where(loses, factor, ZERO))
        self.push(a, to_a, axes)
        self.push(b, to_b, axes)

    # reductions -------------------------------------------------------------------------------------------------
    def reduce(self, e: Reduce, factor: Expr, axes: tuple[Bound, ...]) -> None:
        inside = (*axes, *e.axes)
        match e.op:
            case "sum":
                self.push(e.body, factor, inside)
            case "mean":
                divisor = e.divisor if e.divisor is not None else IntVal(product(_extent(a) for a in e.axes))
                self.push(e.body, div(factor, divisor), inside)
                if e.divisor is not None and self.depends(e.divisor):
                    self.push(e.divisor, neg(div(mul(factor, e), e.divisor)), axes)
            case "prod":
                if self.depends(e.body):
                    self.push(e.body, mul(factor, self.others(e)), inside)
            case "max" | "min":
                if self.depends(e.body):
                    self.push(e.body, self.winner(e, factor), inside)

    def again(self, e: Reduce) -> tuple[Reduce, dict[str, IntExpr]]:
        """``e`` with its axes renamed, and the new axes by the old names."""
        other = rename_bound(e, self.fresh)
        assert isinstance(other, Reduce)
        return other, {old.name: sym(new.name) for old, new in zip(e.axes, other.axes, strict=True)}

    def others(self, e: Reduce) -> Expr:
        """The product without the element at hand: right where elements are zero, too."""
        other, names = self.again(e)
        same = all_of([Compare("eq", IntVal(names[a.name]), IntVal(sym(a.name))) for a in e.axes])
        return Reduce("prod", other.axes, Where(same, ONE, other.body))

    def winner(self, e: Reduce, factor: Expr) -> Expr:
        """What reaches the element at hand of a maximum: by default all of it, when it is the first that attains it."""
        self.used.add(e.op)
        rule = self.boundary.get(e.op, "first")
        other, _ = self.again(e)
        if rule == "first":
            place = const(0)
            for a in e.axes:
                place = place * _extent(a) + sym(a.name)
            first = Reduce("argmax" if e.op == "max" else "argmin", other.axes, other.body)
            return where(Compare("eq", IntVal(place), first), factor, ZERO)
        attains = Compare("eq", e.body, other)
        if rule == "all":
            return where(attains, factor, ZERO)
        third, names = self.again(e)
        del names
        count = Reduce("sum", third.axes, where(Compare("eq", third.body, rename_bound(e, self.fresh)), ONE, ZERO))
        return where(attains, div(factor, count), ZERO)


def sub_one(b: Expr) -> Expr:
    """``b - 1``."""
    if isinstance(b, Num):
        return num(b.value - 1)
    if isinstance(b, Neg) and isinstance(b.x, Num):
        return num(-b.x.value - 1)
    return IntVal(b.value - 1) if isinstance(b, IntVal) else sub(b, ONE)


def _power(a: Expr, b: Expr) -> Expr:
    if isinstance(b, Num) and b.value == 0:
        return ONE
    return a if isinstance(b, Num) and b.value == 1 else Binary("pow", a, b)


def _extent(a: Bound) -> IntExpr:
    assert a.extent is not None
    return a.extent
