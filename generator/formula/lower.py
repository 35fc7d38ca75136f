"""Expressions of one statement from surface to resolved form: indices, guards, integer arithmetic."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from generator.formula.infer import Env, Inference, bounds_of_axes
from generator.formula.ir import (
    Attr,
    Binary,
    Call,
    Cast,
    Compare,
    Expr,
    Gather,
    Index,
    IntVal,
    Load,
    Logic,
    Neg,
    Not,
    Num,
    Pack,
    Product,
    RedOp,
    Reduce,
    Segment,
    Span,
    Where,
)
from generator.formula.prove import Facts, Range
from generator.spec.integer import IntExpr, Numel, const, floor_div, max_of, min_of, mod, sym
from generator.spec.names import did_you_mean

if TYPE_CHECKING:
    from generator.formula.resolve import _Resolver

__all__ = ["OUTSIDE", "Lowering", "holds"]

INF: Final = float("inf")
# what stands where an index leaves its tensor, by the innermost reduction around the load
OUTSIDE: Final[dict[RedOp, float]] = {
    "sum": 0.0,
    "mean": 0.0,
    "prod": 1.0,
    "max": -INF,
    "argmax": -INF,
    "min": INF,
    "argmin": INF,
    "any": 0.0,
    "all": 1.0,
}


class Lowering:
    """Lowers the expressions of one statement whose axes ``found`` has sized."""

    def __init__(self, owner: _Resolver, found: Inference, facts: Facts) -> None:
        self.owner = owner
        self.found = found
        self.facts = facts  # without path conditions
        self.path: tuple[IntExpr, ...] = ()  # >= 0 where the expression at hand is used
        self.reductions: list[Reduce] = []
        self.ints = set(owner.symbols.ints) | {r.name for _, r in owner.loops}

    def report(self, span: Span | None, what: str, value: str = "", right: str = "") -> None:
        self.owner.report(span, what, value, right)

    # expressions ------------------------------------------------------------------------------------------------
    def expr(self, e: Expr, env: Env) -> Expr:
        match e:
            case Num() | IntVal():
                return e
            case Attr():
                return self.name(e, env)
            case Load():
                return self.load(e, env)
            case Neg(x=x):
                inner = self.expr(x, env)
                return IntVal(-inner.value, span=e.span) if isinstance(inner, IntVal) else Neg(inner, span=e.span)
            case Not(x=x):
                return Not(self.expr(x, env), span=e.span)
            case Binary():
                return self.binary(e, self.expr(e.a, env), self.expr(e.b, env))
            case Compare():
                return Compare(e.op, self.expr(e.a, env), self.expr(e.b, env), span=e.span)
            case Logic():
                return Logic(e.op, self.expr(e.a, env), self.expr(e.b, env), span=e.span)
            case Cast():
                return Cast(e.dtype, self.expr(e.x, env), span=e.span)
            case Call():
                return self.call(e, env)
            case Where():
                return self.where(e, env)
            case Reduce():
                return self.reduce(e, env)

    def name(self, e: Attr, env: Env) -> Expr:
        symbols, name = self.owner.symbols, e.name
        if name in env or name in {r.name for _, r in self.owner.loops}:
            return IntVal(sym(name), span=e.span)
        if name in symbols.segmented:
            return IntVal(symbols.segmented[name], span=e.span)
        if name in symbols.dims or name in symbols.int_attrs:
            return IntVal(sym(name), span=e.span)
        if name in symbols.float_attrs or name in symbols.bool_attrs:
            return e
        if name in symbols.string_attrs:
            self.report(e.span, "a string attribute has no value in a formula", f"'{name}'", "a float, int or bool attribute")
            return e
        if name in self.owner.tensors or name in self.owner.lives or name in self.owner.written:
            return self.load(Load(name, (), span=e.span), env)
        known = [*self.owner.tensors, *symbols.ints, *symbols.float_attrs, *symbols.bool_attrs, *env]
        self.report(e.span, "the name is not defined", f"'{name}'", did_you_mean(name, known, "names"))
        return e

    def binary(self, e: Binary, a: Expr, b: Expr) -> Expr:
        x, y = _integer(a), _integer(b)
        if x is not None and y is not None and (isinstance(a, IntVal) or isinstance(b, IntVal)):
            match e.op:
                case "add":
                    return IntVal(x + y, span=e.span)
                case "sub":
                    return IntVal(x - y, span=e.span)
                case "mul":
                    return IntVal(x * y, span=e.span)
                case "floordiv" | "mod":
                    if y.value == 0:
                        self.report(e.span, "division by zero", "0", "a divisor other than 0")
                        return IntVal(const(0), span=e.span)
                    return IntVal(floor_div(x, y) if e.op == "floordiv" else mod(x, y), span=e.span)
                case "pow":
                    if y.value is not None and 0 <= y.value <= 4:
                        out = const(1)
                        for _ in range(y.value):
                            out = out * x
                        return IntVal(out, span=e.span)
                case "div":
                    pass
        return Binary(e.op, a, b, span=e.span)

    def call(self, e: Call, env: Env) -> Expr:
        args = tuple(self.expr(a, env) for a in e.args)
        if e.fn == "pow":
            return self.binary(Binary("pow", e.args[0], e.args[1], span=e.span), args[0], args[1])
        if e.fn in ("maximum", "minimum"):
            x, y = _integer(args[0]), _integer(args[1])
            if x is not None and y is not None:
                return IntVal(max_of(x, y) if e.fn == "maximum" else min_of(x, y), span=e.span)
        return Call(e.fn, args, span=e.span)

    def where(self, e: Where, env: Env) -> Expr:
        cond = self.expr(e.cond, env)
        before = self.path
        self.path = before + tuple(holds(cond, True))
        a = self.expr(e.a, env)
        self.path = before + tuple(holds(cond, False))
        b = self.expr(e.b, env)
        self.path = before
        return Where(cond, a, b, span=e.span)

    def reduce(self, e: Reduce, env: Env) -> Expr:
        axes = self.found.bound[id(e)]
        ranges = [Range(a.name, const(0), a.extent - 1) for a in axes if a.extent is not None]
        outer, path = self.facts, self.path
        hidden = {a.name for a in axes}
        self.facts = outer.with_ranges(ranges).with_known(r.high - r.low for r in ranges)
        self.path = tuple(p for p in path if not hidden & p.free())
        self.reductions.append(e)
        body = self.expr(e.body, {**env, **{a.name: a for a in axes}})
        self.reductions.pop()
        self.facts, self.path = outer, path
        divisor = None if e.divisor is None else self.expr(e.divisor, env)
        return Reduce(e.op, bounds_of_axes(axes), body, divisor, span=e.span)

    # loads and indices ------------------------------------------------------------------------------------------
    def load(self, e: Load, env: Env) -> Load:
        tensor = self.owner.readable(e)
        if tensor is None or len(tensor.shape) != len(e.indices):
            if tensor is not None:  # a bare name: loads with subscripts were counted when the axes were sized
                self.report(e.span, f"the tensor '{e.tensor}' is used without its indices", "", f"{len(tensor.shape)} indices")
            return e
        indices = tuple(self.index(i, tensor.shape[at], env, _spot(e, at)) for at, i in enumerate(e.indices))
        done = replace(e, indices=indices)
        guarded = tuple(at for at, i in enumerate(indices) if isinstance(i, IntExpr) and not self.within(i, tensor.shape[at], self.facts))
        if not guarded:
            return done
        path = self.facts.with_known(self.path)
        leaving = [at for at in guarded if isinstance(i := indices[at], IntExpr) and not self.within(i, tensor.shape[at], path)]
        if self.reductions and leaving:
            op = self.reductions[-1].op
            if op == "mean" and self.reductions[-1].divisor is None:
                self.report(
                    e.span,
                    f"'mean' over a window that leaves '{e.tensor}' does not say what it divides by",
                    "",
                    "mean[k: K](..., divisor=d)",
                )
            return replace(done, guarded=guarded, outside=OUTSIDE[op])
        for at in leaving:
            self.report(
                _spot(e, at),
                f"the index of dim {at} of '{e.tensor}' is not proved to stay inside",
                f"{indices[at]}, the extent is {tensor.shape[at]}",
                "an index inside, a where() that says when, or a reduction",
            )
        return replace(done, guarded=guarded, outside=0.0)  # where() never picks it

    @staticmethod
    def within(index: IntExpr, extent: IntExpr, facts: Facts) -> bool:
        return facts.nonnegative(index) and facts.less(index, extent)

    def index(self, i: Index, extent: IntExpr | None, env: Env, span: Span | None) -> Index:
        """``i`` as an integer expression (or a gather)."""
        if isinstance(i, IntExpr):
            return self.affine(i, span)
        if isinstance(i, Pack):
            return sym(i.name)
        if isinstance(i, Gather):
            return self.gather(i, env)
        if isinstance(i, Segment):
            return self.segment(i, extent, env, span)
        return self.product(i, extent, env, span)

    def affine(self, i: IntExpr, span: Span | None) -> IntExpr:
        if any(isinstance(a, Numel) for a in i.atoms()):
            self.report(span, "numel is not part of an index", str(i), "a dim")
        return i.substitute(self.owner.symbols.segmented)

    def gather(self, i: Gather, env: Env) -> Index:
        load = self.load(i.load, env)
        tensor = self.owner.tensors.get(load.tensor)
        if tensor is not None and tensor.kind != "int":
            self.report(
                i.load.span,
                "an index is an element of an integer tensor",
                f"'{load.tensor}' holds {tensor.kind} values",
                "an int32 or int64 tensor",
            )
        if load.guarded:
            self.report(i.load.span, "the index of a gather can itself leave its tensor", f"'{load.tensor}'", "an index that stays inside")
        return Gather(load, span=i.span)

    def segment(self, i: Segment, extent: IntExpr | None, env: Env, span: Span | None) -> IntExpr:
        known = self.owner.symbols.segments
        info = known.get(i.name)
        if info is None:
            self.report(i.span or span, "no segment has this name", f"'{i.name}'", did_you_mean(i.name, known, "segments"))
            return const(0)
        if len(info.shape) != len(i.parts):
            self.report(
                i.span or span,
                f"the segment '{i.name}' has {len(info.shape)} dims",
                f"{len(i.parts)} indices",
                f"{len(info.shape)} indices",
            )
            return const(0)
        if extent is not None and extent != info.total:
            self.report(
                i.span or span,
                f"the segment '{i.name}' belongs to an axis of another size",
                f"{extent}",
                f"{info.total}, the size of '{info.axis}'",
            )
        out = const(0)
        for part, size in zip(i.parts, info.shape, strict=True):
            inner = self.part(part, env, span)
            if not self.within(inner, size, self.facts):
                self.report(
                    i.span or span, f"an index of the segment '{i.name}' is not proved to stay inside", str(inner), f"0 .. {size} - 1"
                )
            out = out * size + inner
        return info.offset + out

    def part(self, i: Index, env: Env, span: Span | None) -> IntExpr:
        inner = self.index(i, None, env, span)
        if isinstance(inner, IntExpr):
            return inner
        self.report(span, "a data-dependent index cannot be part of a product or segment", "", "an axis")
        return const(0)

    def product(self, i: Product, extent: IntExpr | None, env: Env, span: Span | None) -> IntExpr:
        out, total = const(0), const(1)
        for part in i.parts:
            size = self.size_of(part, env, span)
            out = out * size + self.part(part, env, span)
            total = total * size
        if extent is not None and total != extent:
            self.report(i.span or span, "the product's size is not the dim's", f"{total}", f"{extent}")
        return out

    def size_of(self, part: Index, env: Env, span: Span | None) -> IntExpr:
        """The extent a part of a product runs over."""
        if isinstance(part, IntExpr) and part.symbol is not None and part.symbol in env:
            return env[part.symbol].extent or const(1)
        if isinstance(part, Product):
            out = const(1)
            for p in part.parts:
                out = out * self.size_of(p, env, span)
            return out
        if isinstance(part, Pack) and part.name in env:
            return env[part.name].extent or const(1)
        if isinstance(part, Segment) and part.name in self.owner.symbols.segments:
            return self.owner.symbols.segments[part.name].total
        self.report(
            span,
            "a part of a product is an axis",
            f"'{part}'" if isinstance(part, IntExpr) else "",
            "(i, d) of axes; write i*D + d for other indices",
        )
        return const(1)


def _spot(e: Load, at: int) -> Span | None:
    return e.spots[at] if at < len(e.spots) else e.span


def _integer(e: Expr) -> IntExpr | None:
    """The value of an integer constant or integer expression."""
    if isinstance(e, IntVal):
        return e.value
    return const(e.value) if isinstance(e, Num) and isinstance(e.value, int) else None


def holds(cond: Expr, truth: bool) -> list[IntExpr]:
    """Integer expressions that are >= 0 when ``cond`` is ``truth``."""
    if isinstance(cond, Not):
        return holds(cond.x, not truth)
    if isinstance(cond, Logic):
        if (cond.op == "and") == truth:
            return holds(cond.a, truth) + holds(cond.b, truth)
        return []
    if not isinstance(cond, Compare):
        return []
    a, b = _integer(cond.a), _integer(cond.b)
    if a is None or b is None:
        return []
    op = cond.op if truth else {"lt": "ge", "le": "gt", "gt": "le", "ge": "lt", "eq": "ne", "ne": "eq"}[cond.op]
    gap = b - a
    return {"lt": [gap - 1], "le": [gap], "gt": [-gap - 1], "ge": [-gap], "eq": [gap, -gap], "ne": []}[op]
