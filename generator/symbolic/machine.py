"""A resolved program at fixed sizes as closures over an arithmetic (``exact.Modular``, ``highprec.Precise``), one element at a time.

For sizes of a few elements. Values are the arithmetic's numbers, Python integers (elements of integer tensors, literals, sizes) and
bools; integers become numbers where they meet one.
"""

from __future__ import annotations

import itertools
import math
import operator
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any, Final

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
    Program,
    Reduce,
    Stmt,
    Where,
)
from generator.spec.integer import IntExpr
from generator.symbolic.constants import recognised
from generator.symbolic.exact import UndefinedError, UnwrittenError

__all__ = ["Machine", "OutOfTimeError", "Values", "extents"]

Env = dict[str, int]
Fn = Callable[[Env], Any]
Values = dict[str, list[Any]]  # tensor -> elements, row-major; None where nothing was written

_INT: Final[dict[str, Callable[[int, int], Any]]] = {"add": operator.add, "sub": operator.sub, "mul": operator.mul}
_COMPARE: Final[dict[str, Callable[[Any, Any], bool]]] = {
    "lt": operator.lt,
    "le": operator.le,
    "gt": operator.gt,
    "ge": operator.ge,
    "eq": operator.eq,
    "ne": operator.ne,
}
_MOST_ELEMENTS: Final = 200_000


class OutOfTimeError(Exception):
    """The budget was spent."""


def extents(program: Program, name: str, sizes: Mapping[str, int]) -> tuple[int, ...]:
    """The shape of a tensor at ``sizes`` (dims and integer attributes)."""
    return tuple(e.evaluate(sizes) for e in program.tensors[name].shape)


class Machine:
    """``program`` at ``sizes``. :meth:`run` takes inputs' elements (row-major) and attributes' values."""

    def __init__(self, program: Program, sizes: Mapping[str, int], arithmetic: Any, deadline: float | None = None) -> None:
        self.program = program
        self.sizes = dict(sizes)
        self.a = arithmetic
        self.deadline = deadline
        self.shapes = {n: extents(program, n, sizes) for n in program.tensors}
        for n, shape in self.shapes.items():
            count = 1
            for e in shape:
                count *= max(e, 0)
            if count > _MOST_ELEMENTS:
                raise UndefinedError(f"{n} has {count} elements")
        self.values: Values = {}
        self.attrs: Mapping[str, Any] = {}
        self.steps = [self.statement(s) for s in program.body]

    def run(self, inputs: Mapping[str, list[Any]], attrs: Mapping[str, Any]) -> Values:
        """Every tensor's elements after the program. KeyError: an input is not given."""
        self.values = {}
        self.attrs = attrs
        for name, t in self.program.tensors.items():
            if t.role == "input":
                self.values[name] = inputs[name]
            else:
                count = 1
                for e in self.shapes[name]:
                    count *= max(e, 0)
                start = None if t.fill is None else self.a.const(Fraction(t.fill))
                self.values[name] = [start] * count
        env: Env = {}
        for step in self.steps:
            step(env)
        return self.values

    # integers ---------------------------------------------------------------------------------------------------
    def integer(self, e: IntExpr) -> Callable[[Env], int]:
        e = e.substitute(self.sizes) if e.free() & self.sizes.keys() else e
        value = e.value
        if value is not None:
            return lambda env: value
        name = e.symbol
        if name is not None:
            return operator.itemgetter(name)
        if e.is_affine_in(e.free()):
            rest = e.substitute(dict.fromkeys(e.free(), 0)).value or 0
            parts = [(n, c) for n in sorted(e.free()) if (c := e.coefficient(n).value) is not None]
            if len(parts) == 1:
                n, c = parts[0]
                return lambda env: c * env[n] + rest
            return lambda env: rest + sum(c * env[n] for n, c in parts)
        return e.evaluate

    def index(self, i: Index) -> Callable[[Env], int]:
        if isinstance(i, IntExpr):
            return self.integer(i)
        if isinstance(i, Gather):
            return self.load(i.load)
        raise UndefinedError("a surface index")

    def points(self, axes: Sequence[Any]) -> Callable[[Env], Iterator[Env]]:
        names = [b.name for b in axes]
        sizes = [self.integer(b.extent) for b in axes]

        def each(env: Env) -> Iterator[Env]:
            inner = dict(env)
            ranges = [range(s(env)) for s in sizes]
            if math.prod(map(len, ranges)) > _MOST_ELEMENTS:
                raise UndefinedError(f"{', '.join(names)} run over {math.prod(map(len, ranges))} elements")
            for at in itertools.product(*ranges):
                inner.update(zip(names, at, strict=True))
                yield inner

        return each

    # statements -------------------------------------------------------------------------------------------------
    def statement(self, s: Stmt) -> Callable[[Env], None]:
        return self.loop(s) if isinstance(s, For) else self.assign(s)

    def loop(self, s: For) -> Callable[[Env], None]:
        start, stop, step, var = self.integer(s.start), self.integer(s.stop), s.step, s.var
        body = [self.statement(b) for b in s.body]

        def run(env: Env) -> None:
            inner = dict(env)
            for r in range(start(env), stop(env), step):
                inner[var] = r
                for b in body:
                    b(inner)

        return run

    def assign(self, s: Assign) -> Callable[[Env], None]:
        shape, name = self.shapes[s.tensor], s.tensor
        where = [self.index(i) for i in s.indices]
        value, points = self.expr(s.value), self.points(s.axes)
        floats = self.program.tensors[name].kind == "float"
        lift = self.lift

        def run(env: Env) -> None:
            if self.deadline is not None and time.process_time() > self.deadline:
                raise OutOfTimeError
            made: list[tuple[int, Any]] = []
            for at in points(env):
                offset = 0
                for i, extent in zip(where, shape, strict=True):
                    k = i(at)
                    if not 0 <= k < extent:
                        raise UndefinedError(f"{name} is written outside its extent")
                    offset = offset * extent + k
                v = value(at)
                made.append((offset, lift(v) if floats else v))
            target = self.values[name]
            for offset, v in made:
                target[offset] = v

        return run

    # expressions ------------------------------------------------------------------------------------------------
    def lift(self, x: Any) -> Any:
        return self.a.const(int(x)) if isinstance(x, int) else x

    def expr(self, e: Expr) -> Fn:
        match e:
            case Num():
                return self.number(e)
            case Attr(name=name):
                return lambda env: self.attrs[name]
            case IntVal(value=value):
                return self.integer(value)
            case Load():
                return self.load(e)
            case Neg(x=x):
                inner, neg = self.expr(x), self.a.neg
                return lambda env: -v if isinstance(v := inner(env), int) else neg(v)
            case Not(x=x):
                truth = self.expr(x)
                return lambda env: not truth(env)
            case Binary():
                return self.binary(e)
            case Compare():
                return self.compare(e)
            case Logic():
                a, b = self.expr(e.a), self.expr(e.b)
                return (lambda env: a(env) and b(env)) if e.op == "and" else (lambda env: a(env) or b(env))
            case Call():
                return self.call(e)
            case Where():
                c, a, b = self.expr(e.cond), self.expr(e.a), self.expr(e.b)
                return lambda env: a(env) if c(env) else b(env)
            case Cast():
                return self.cast(e)
            case Reduce():
                return self.reduce(e)

    def number(self, e: Num) -> Fn:
        if isinstance(e.value, int):
            whole = e.value
            return lambda env: whole
        if e.text == "pi":
            pi = self.a.pi
            return lambda env: pi
        if e.value in (float("inf"), float("-inf")):
            endless = self.a.infinite(1 if e.value > 0 else -1)
            return lambda env: endless
        if e.value != e.value:
            raise UndefinedError("nan")
        known = recognised(e.text)
        value = self.a.const(exact_value(e)) if known is None else self.constant(*known)
        return lambda env: value

    def constant(self, ratio: Fraction, name: str) -> Any:
        """``ratio`` times a constant of ``constants``."""
        a = self.a
        root = a.call("sqrt", [a.const(2)])
        half, full = a.call("sqrt", [a.pi]), a.const(ratio)
        value = {
            "pi": lambda: a.pi,
            "1/pi": lambda: a.div(a.const(1), a.pi),
            "sqrt(2)": lambda: root,
            "sqrt(3)": lambda: a.call("sqrt", [a.const(3)]),
            "sqrt(pi)": lambda: half,
            "1/sqrt(pi)": lambda: a.div(a.const(1), half),
            "sqrt(2*pi)": lambda: a.mul(root, half),
            "sqrt(2/pi)": lambda: a.div(root, half),
            "log(2)": lambda: a.call("log", [a.const(2)]),
            "1/log(2)": lambda: a.div(a.const(1), a.call("log", [a.const(2)])),
            "log(10)": lambda: a.call("log", [a.const(10)]),
            "1/log(10)": lambda: a.div(a.const(1), a.call("log", [a.const(10)])),
        }[name]()
        return a.mul(full, value)

    def load(self, e: Load) -> Fn:
        name, shape, guarded = e.tensor, self.shapes[e.tensor], set(e.guarded)
        where = [self.index(i) for i in e.indices]
        parts = list(zip(where, shape, [d in guarded for d in range(len(where))], strict=True))
        outside: Any = None
        if e.outside is not None:
            outside = self.a.const(int(e.outside)) if abs(e.outside) <= 1 else self.a.infinite(1 if e.outside > 0 else -1)

        def read(env: Env) -> Any:
            offset = 0
            for i, extent, may in parts:
                k = i(env)
                if not 0 <= k < extent:
                    if may:
                        return outside
                    raise UndefinedError(f"{name} is read outside its extent")
                offset = offset * extent + k
            v = self.values[name][offset]
            if v is None:
                raise UnwrittenError(name)
            return v

        return read

    def binary(self, e: Binary) -> Fn:
        a, b, op, lift = self.expr(e.a), self.expr(e.b), e.op, self.lift
        ring, whole = getattr(self.a, op, None), _INT.get(op)
        if op == "pow":
            power = self.power_of(e)
            if power is not None:
                raised = self.a.power
                return lambda env: raised(lift(a(env)), power)
            general = self.a.pow
            return lambda env: general(lift(a(env)), lift(b(env)))
        if op in ("floordiv", "mod"):
            return lambda env: self.divided(op, a(env), b(env))

        def run(env: Env) -> Any:
            x, y = a(env), b(env)
            if isinstance(x, int):
                if whole is not None and isinstance(y, int):
                    return whole(x, y)
                x = lift(x)
            if isinstance(y, int):
                y = lift(y)
            return ring(x, y)  # type: ignore[misc]

        return run

    def power_of(self, e: Binary) -> int | None:
        b = e.b
        sign = 1
        if isinstance(b, Neg):
            b, sign = b.x, -1
        if isinstance(b, Num) and isinstance(b.value, int):
            return sign * b.value
        if isinstance(b, IntVal):
            value = b.value.substitute(self.sizes).value
            return None if value is None else sign * value
        return None

    @staticmethod
    def divided(op: str, x: Any, y: Any) -> int:
        if not isinstance(x, int) or not isinstance(y, int):
            raise UndefinedError("'//' of numbers that are not integers")
        if y == 0:
            raise UndefinedError("division by zero")
        return x // y if op == "floordiv" else x % y

    def compare(self, e: Compare) -> Fn:
        a, b, op, plain = self.expr(e.a), self.expr(e.b), e.op, _COMPARE[e.op]
        lift, less, equal = self.lift, self.a.less, self.a.equal

        def run(env: Env) -> bool:
            x, y = a(env), b(env)
            if isinstance(x, int) and isinstance(y, int):
                return plain(x, y)
            x, y = lift(x), lift(y)
            match op:
                case "lt":
                    return bool(less(x, y))
                case "le":
                    return bool(equal(x, y) or less(x, y))
                case "gt":
                    return bool(less(y, x))
                case "ge":
                    return bool(equal(x, y) or less(y, x))
                case "eq":
                    return bool(equal(x, y))
            return not equal(x, y)

        return run

    def call(self, e: Call) -> Fn:
        args, fn, call, lift = [self.expr(x) for x in e.args], e.fn, self.a.call, self.lift
        if fn in ("isnan", "isinf", "isfinite"):
            return lambda env: fn == "isfinite"

        def run(env: Env) -> Any:
            values = [a(env) for a in args]
            if fn in _WHOLE and all(isinstance(v, int) for v in values):
                return _WHOLE[fn](*values)
            return call(fn, [lift(v) for v in values])

        return run

    def cast(self, e: Cast) -> Fn:
        x, known = self.expr(e.x), self.a.known
        if e.dtype == "bool":
            return lambda env: v != 0 if isinstance(v := x(env), int) else not self.a.equal(v, self.a.const(0))
        if "int" in e.dtype:
            return lambda env: int(v) if isinstance(v := x(env), int) else int(known(v))
        return lambda env: self.lift(x(env))

    # reductions -------------------------------------------------------------------------------------------------
    def reduce(self, e: Reduce) -> Fn:
        body, points = self.expr(e.body), self.points(e.axes)
        op = e.op
        if op in ("any", "all"):
            every = all if op == "all" else any
            return lambda env: every(body(at) for at in points(env))
        if op in ("sum", "mean"):
            return self.total(e, body, points)
        if op == "prod":
            return lambda env: self.fold(self.a.mul, operator.mul, [body(at) for at in points(env)], 1)
        if op in ("argmax", "argmin"):
            return lambda env: self.first(op, [body(at) for at in points(env)])
        larger, neg, lift = self.a.larger, self.a.neg, self.lift
        least = op == "min"

        def extreme(env: Env) -> Any:
            values = [body(at) for at in points(env)]
            if not values:
                return self.a.infinite(1 if least else -1)
            if all(isinstance(v, int) for v in values):
                return min(values) if least else max(values)
            best = None
            for v in values:
                x = neg(lift(v)) if least else lift(v)
                best = x if best is None else larger(best, x)
            return neg(best) if least else best

        return extreme

    def fold(self, ring: Callable[[Any, Any], Any], whole: Callable[[int, int], int], values: list[Any], start: int) -> Any:
        out: Any = start
        for v in values:
            if isinstance(v, int) and isinstance(out, int):
                out = whole(out, v)
            else:
                out = v if isinstance(out, int) and out == start else ring(self.lift(out), self.lift(v))
        return out

    def total(self, e: Reduce, body: Fn, points: Callable[[Env], Iterator[Env]]) -> Fn:
        add, div, lift = self.a.add, self.a.div, self.lift
        divisor = self.expr(e.divisor) if e.divisor is not None else None
        mean = e.op == "mean"

        def run(env: Env) -> Any:
            values = [body(at) for at in points(env)]
            out = self.fold(add, operator.add, values, 0)
            if not mean:
                return out
            by = divisor(env) if divisor is not None else len(values)
            return div(lift(out), lift(by))

        return run

    def first(self, op: str, values: list[Any]) -> int:
        best = 0
        for at, v in enumerate(values):
            a, b = self.lift(v), self.lift(values[best])
            if self.a.less(b, a) if op == "argmax" else self.a.less(a, b):
                best = at
        return best


_WHOLE: Final[dict[str, Callable[..., int]]] = {
    "abs": abs,
    "square": lambda x: x * x,
    "maximum": max,
    "minimum": min,
    "sign": lambda x: (x > 0) - (x < 0),
}


def exact_value(e: Num) -> Fraction:
    """A literal's value as it is written."""
    try:
        return Fraction(e.text.replace("_", "")) if e.text else Fraction(e.value)
    except (ValueError, ZeroDivisionError):
        return Fraction(e.value)
