"""Single edits of a resolved formula, each undoing one kind of mistake that people make in gradients."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from generator.formula.infer import children
from generator.formula.ir import Assign, Attr, Binary, Bound, Call, Compare, Expr, For, IntVal, Load, Neg, Num, Program, Reduce, Stmt, Where
from generator.spec.integer import IntExpr, const, sym
from generator.symbolic.surface import mapped, statements, substituted

__all__ = ["Edit", "edits"]

_FLIP: Final[dict[str, tuple[tuple[Any, str], ...]]] = {
    "lt": (("le", "boundary convention"), ("ge", "mask inverted"), ("gt", "mask inverted")),
    "le": (("lt", "boundary convention"), ("gt", "mask inverted"), ("ge", "mask inverted")),
    "gt": (("ge", "boundary convention"), ("le", "mask inverted"), ("lt", "mask inverted")),
    "ge": (("gt", "boundary convention"), ("lt", "mask inverted"), ("le", "mask inverted")),
    "eq": (("ne", "mask inverted"),),
    "ne": (("eq", "mask inverted"),),
}


@dataclass(frozen=True)
class Edit:
    """``program`` is the formula with the mistake ``kind`` undone in one place."""

    kind: str
    program: Program


Axes = Mapping[str, IntExpr]  # axes in scope, with their extents


class _Editor:
    def __init__(self, program: Program, roles: Mapping[str, str]) -> None:
        self.program = program
        self.pool = _pool(program)
        self.around: tuple[str, ...] = ()  # loop variables of the statement at hand
        self.roles = roles  # tensor -> "cotangent", "input", "output", "intermediate"

    # the whole text ---------------------------------------------------------------------------------------------
    def run(self) -> Iterator[Edit]:
        todo = list(statements(self.program.body))[::-1]
        early = (self.signs, self.reductions, self.tensors, self.conditions)
        late = (self.indices, self.factors, self.numbers, self.sums, self.calls, self.added)
        for find in (*early, *late):
            if find == self.indices:
                yield from self.exchanged()
            for stmt, loops in todo:
                axes = {a.name: a.extent for a in stmt.axes if a.extent is not None}
                self.around = loops
                for kind, value in find(stmt.value, axes):
                    yield self.edited(kind, stmt, value)
        yield from self.loops()

    def edited(self, kind: str, stmt: Assign, value: Expr) -> Edit:
        made = replace(stmt, value=value)

        def swap(x: Any) -> Any | None:
            return made if x is stmt else None

        return Edit(kind, replace(self.program, body=mapped(self.program.body, swap)))

    def exchanged(self) -> Iterator[Edit]:
        """Two int attributes, or two axes of a left side, one for the other."""
        for at, a in enumerate(self.program.int_attrs):
            for b in self.program.int_attrs[:at]:
                yield Edit("wrong attribute", replace(self.program, body=substituted(self.program.body, {a: sym(b), b: sym(a)})))
        for stmt, _ in statements(self.program.body):
            names = [x.name for x in stmt.axes]
            for at, a in enumerate(names):
                for b in names[:at]:
                    value = mapped(substituted(stmt.value, {a: sym(b), b: sym(a)}), _unguarded)
                    yield self.edited("transposed operand", stmt, value)

    def loops(self) -> Iterator[Edit]:
        """Loops one round longer or shorter at either end."""

        def inner(body: tuple[Stmt, ...]) -> Iterator[For]:
            for s in body:
                if isinstance(s, For):
                    yield s
                    yield from inner(s.body)

        for loop in inner(self.program.body):
            for made in (
                replace(loop, start=loop.start + 1),
                replace(loop, start=loop.start - 1),
                replace(loop, stop=loop.stop + 1),
                replace(loop, stop=loop.stop - 1),
                replace(loop, start=loop.stop - loop.step, stop=loop.start - loop.step, step=-loop.step),
            ):
                kind = "wrong direction" if made.step != loop.step else "wrong range"

                def swap(x: Any, old: For = loop, new: For = made) -> Any | None:
                    return new if x is old else None

                yield Edit(kind, replace(self.program, body=mapped(self.program.body, swap)))

    # places -----------------------------------------------------------------------------------------------------
    def places(self, e: Expr, axes: Axes) -> Iterator[tuple[Expr, Axes]]:
        """Every subexpression with the axes around it."""
        yield e, axes
        if isinstance(e, Reduce):
            yield from self.places(e.body, {**axes, **{a.name: a.extent for a in e.axes if a.extent is not None}})
            return
        for child in children(e):
            yield from self.places(child, axes)

    @staticmethod
    def put(whole: Expr, old: Expr, new: Expr) -> Expr:
        done = [False]

        def swap(x: Any) -> Any | None:
            if x is old and not done[0]:
                done[0] = True
                return new
            return None

        return mapped(whole, swap)

    # mistakes ---------------------------------------------------------------------------------------------------
    def signs(self, e: Expr, axes: Axes) -> Iterator[tuple[str, Expr]]:
        yield "sign", Neg(e)
        for x, _ in self.places(e, axes):
            if isinstance(x, Binary) and x.op in ("add", "sub"):
                yield "sign", self.put(e, x, replace(x, op="sub" if x.op == "add" else "add"))
                yield "sign", self.put(e, x, replace(x, a=Neg(x.a)))
                yield "extra term", self.put(e, x, x.a)
                yield "extra term", self.put(e, x, x.b if x.op == "add" else Neg(x.b))
                yield "precedence", self.put(e, x, replace(x, op="mul"))
            elif isinstance(x, Neg):
                yield "sign", self.put(e, x, x.x)
            elif isinstance(x, Binary) and x.op == "div":
                yield "precedence", self.put(e, x, replace(x, op="mul"))
                if isinstance(x.a, Binary) and x.a.op in ("add", "sub"):
                    yield "precedence", self.put(e, x, replace(x.a, b=Binary("div", x.a.b, x.b)))
                    yield "precedence", self.put(e, x, replace(x.a, a=Binary("div", x.a.a, x.b)))
            elif isinstance(x, Binary) and x.op == "mul":
                for a, b in ((x.a, x.b), (x.b, x.a)):
                    if isinstance(a, Binary) and a.op in ("add", "sub"):
                        yield "precedence", self.put(e, x, replace(a, b=Binary("mul", a.b, b)))
                        yield "precedence", self.put(e, x, replace(a, a=Binary("mul", a.a, b)))
            if isinstance(x, Binary) and x.op in ("add", "sub"):
                for a in (x.b, x.a):
                    if isinstance(a, Binary) and a.op in ("mul", "div"):
                        other = a.a if a is x.b else a.b
                        if a is x.b:
                            yield "precedence", self.put(e, x, replace(a, a=replace(x, b=other)))
                        elif a.op == "mul":
                            yield "precedence", self.put(e, x, replace(a, b=replace(x, a=other)))

    def reductions(self, e: Expr, axes: Axes) -> Iterator[tuple[str, Expr]]:
        for x, around in self.places(e, axes):
            if not isinstance(x, Reduce):
                continue
            if x.op == "sum":
                yield "a mean's divisor", self.put(e, x, replace(x, op="mean"))
            elif x.op == "mean":
                yield "a mean's divisor", self.put(e, x, replace(x, op="sum", divisor=None))
            inside = {
                n for y, _ in self.places(x.body, {}) if isinstance(y, Load) for i in y.indices if isinstance(i, IntExpr) for n in i.free()
            }
            hidden = {a.name for a in x.axes} & around.keys()
            if 1 < len(hidden) < len(x.axes):
                yield "extra reduction", self.put(e, x, replace(x, axes=tuple(b for b in x.axes if b.name not in hidden)))
            for a in x.axes:
                rest = tuple(b for b in x.axes if b is not a)
                if a.name in around or a.name not in inside:
                    yield "extra reduction", self.put(e, x, replace(x, axes=rest) if rest else x.body)
                for name, extent in around.items():
                    if name not in {b.name for b in x.axes}:
                        yield "wrong axis", self.put(e, x, replace(x, axes=(*rest, Bound(name, extent))))
            for name, extent in around.items():
                if name not in {b.name for b in x.axes}:
                    yield "missing reduction", self.put(e, x, replace(x, axes=(*x.axes, Bound(name, extent))))

    def sums(self, e: Expr, axes: Axes) -> Iterator[tuple[str, Expr]]:
        for x, around in self.places(e, axes):
            if isinstance(x, Binary | Load):
                for name, extent in around.items():
                    yield "missing reduction", self.put(e, x, Reduce("sum", (Bound(name, extent),), x))
                    yield "missing reduction", self.put(e, x, Reduce("mean", (Bound(name, extent),), x))

    def indices(self, e: Expr, axes: Axes) -> Iterator[tuple[str, Expr]]:
        sizes = [*self.program.int_attrs]
        for x, around in self.places(e, axes):
            if not isinstance(x, Load):
                continue
            whole = replace(x, guarded=tuple(range(len(x.indices))), outside=0.0)
            for at, i in enumerate(x.indices):
                for k in range(at):
                    swapped = list(x.indices)
                    swapped[at], swapped[k] = swapped[k], swapped[at]
                    yield "transposed operand", self.put(e, x, replace(whole, indices=tuple(swapped)))
                if not isinstance(i, IntExpr):
                    continue
                shape = self.program.tensors[x.tensor].shape[at]
                others: list[tuple[str, IntExpr]] = [("wrong index", i + 1), ("wrong index", i - 1)]
                for s in sizes:
                    others += [("missing padding or stride", i + sym(s)), ("missing padding or stride", i - sym(s))]
                    others += [("missing padding or stride", i + 2 * sym(s)), ("missing padding or stride", i - 2 * sym(s))]
                for name in sorted(i.free() & around.keys()):
                    others += [("missing padding or stride", i.substitute({name: sym(name) * sym(s)})) for s in sizes]
                    others.append(("wrong index", i.substitute({name: -sym(name)})))
                    others.append(("wrong index", i.substitute({name: around[name] - 1 - sym(name)})))
                    others.append(("wrong index", -i))
                others += [("wrong index", sym(n)) for n, extent in around.items() if extent == shape and i != sym(n)]
                for kind, new in others:
                    yield kind, self.put(e, x, replace(whole, indices=(*x.indices[:at], new, *x.indices[at + 1 :])))

    def tensors(self, e: Expr, axes: Axes) -> Iterator[tuple[str, Expr]]:
        for x, _ in self.places(e, axes):
            if not isinstance(x, Load):
                continue
            mine = self.program.tensors[x.tensor]
            for name, t in self.program.tensors.items():
                if name == x.tensor or t.shape != mine.shape or t.kind != mine.kind or t.role == "output":
                    continue
                yield self.swapped(x.tensor, name), self.put(e, x, replace(x, tensor=name))

    def swapped(self, was: str, right: str) -> str:
        a, b = self.roles.get(was, ""), self.roles.get(right, "")
        if b == "cotangent":
            return "upstream gradient dropped" if a != "cotangent" else "wrong upstream gradient"
        if {a, b} == {"input", "output"}:
            return f"{a} for {b}"
        return "wrong tensor"

    def conditions(self, e: Expr, axes: Axes) -> Iterator[tuple[str, Expr]]:
        for x, _ in self.places(e, axes):
            if isinstance(x, Compare):
                for op, kind in _FLIP[x.op]:
                    yield kind, self.put(e, x, replace(x, op=op))
            elif isinstance(x, Where):
                yield "mask inverted", self.put(e, x, replace(x, a=x.b, b=x.a))
                yield "branch ignored", self.put(e, x, replace(x, b=Num(0, "0")))
                yield "branch ignored", self.put(e, x, replace(x, a=Num(0, "0")))
            elif isinstance(x, Call) and x.fn in ("maximum", "minimum"):
                yield "mask inverted", self.put(e, x, replace(x, fn="minimum" if x.fn == "maximum" else "maximum"))

    def factors(self, e: Expr, axes: Axes) -> Iterator[tuple[str, Expr]]:
        """A factor left out or put in, at the top, in each term and in each reduction's body."""
        for x, around in self.places(e, axes):
            if isinstance(x, Binary) and x.op == "mul":
                yield "extra factor", self.put(e, x, x.b)
                yield "extra factor", self.put(e, x, x.a)
            elif isinstance(x, Binary) and x.op == "div":
                yield "extra factor", self.put(e, x, x.a)
                yield "extra factor", self.put(e, x, Binary("div", Num(1, "1"), x.b))
            elif isinstance(x, Call) and len(x.args) == 1:
                yield f"extra {x.fn}", self.put(e, x, x.args[0])
            del around
        for x, around in self.terms(e, axes):
            for kind, f in self.candidates(around):
                yield kind, self.put(e, x, Binary("mul", x, f))
                if kind == "missing factor":
                    yield kind, self.put(e, x, Binary("div", x, f))

    def calls(self, e: Expr, axes: Axes) -> Iterator[tuple[str, Expr]]:
        """A function too many wherever the same call stands, or one missing."""
        for x, _ in self.places(e, axes):
            if isinstance(x, Call) and len(x.args) == 1:
                yield f"extra {x.fn}", _everywhere(e, x, x.args[0])
            elif isinstance(x, Load) and self.program.tensors[x.tensor].kind == "float":
                for fn in ("exp", "sigmoid", "tanh", "square", "sqrt", "reciprocal"):
                    yield f"missing {fn}", self.put(e, x, Call(fn, (x,)))

    def added(self, e: Expr, axes: Axes) -> Iterator[tuple[str, Expr]]:
        """A term left out next to a tensor or at the top."""
        for x, around in self.places(e, axes):
            if x is e or isinstance(x, Load):
                for _, f in self.candidates(around):
                    yield "missing term", self.put(e, x, Binary("add", x, f))
                    yield "missing term", self.put(e, x, Binary("sub", x, f))
                    yield "missing term", self.put(e, x, Binary("sub", f, x))

    def terms(self, e: Expr, axes: Axes) -> Iterator[tuple[Expr, Axes]]:
        yield e, axes
        for x, around in self.places(e, axes):
            if isinstance(x, Binary) and x.op in ("add", "sub"):
                yield x.a, around
                yield x.b, around
            elif isinstance(x, Reduce):
                yield x.body, {**around, **{a.name: a.extent for a in x.axes if a.extent is not None}}

    def candidates(self, around: Axes) -> Iterator[tuple[str, Expr]]:
        """What could be a factor where ``around`` is in scope: loads that stand in the text, tensors of the axes at hand, sizes."""
        scope = {*around, *self.around, *self.program.dims, *self.program.int_attrs}
        for load in self.pool:
            if all(isinstance(i, IntExpr) and i.free() <= scope for i in load.indices):
                yield self.factor(load.tensor), load
        for name, t in self.program.tensors.items():
            if t.role == "output" or t.kind != "float":
                continue
            picked: list[IntExpr] = []
            for extent in t.shape:
                free = [n for n, size in around.items() if size == extent and sym(n) not in picked]
                if not free and not self.around:
                    break
                picked.append(sym(free[0] if free else self.around[-1]))
            if len(picked) == len(t.shape):
                load = Load(name, tuple(picked), tuple(range(len(picked))), 0.0 if picked else None)
                yield self.factor(name), load
                yield "missing factor", Binary("sub", Num(1, "1"), load)
        yield "missing factor", Num(2, "2")
        yield "missing factor", Num(3, "3")
        for name in self.program.float_attrs:
            yield "missing factor", Attr(name)
        for name in (*self.program.dims, *self.program.int_attrs):
            yield "missing factor", IntVal(sym(name))

    def factor(self, name: str) -> str:
        return "upstream gradient dropped" if self.roles.get(name) == "cotangent" else "missing factor"

    def numbers(self, e: Expr, axes: Axes) -> Iterator[tuple[str, Expr]]:
        for x, _ in self.places(e, axes):
            if isinstance(x, Num) and isinstance(x.value, int):
                for v in (x.value + 1, x.value - 1, -x.value, 2 * x.value):
                    yield "wrong constant", self.put(e, x, Num(v, str(v)) if v >= 0 else Neg(Num(-v, str(-v))))
            elif isinstance(x, Num) and x.value:
                yield "wrong constant", self.put(e, x, Neg(x))
                yield "wrong constant", self.put(e, x, Binary("mul", Num(2, "2"), x))
                yield "wrong constant", self.put(e, x, Binary("mul", Num(3, "3"), x))
                yield "wrong constant", self.put(e, x, Binary("div", x, Num(2, "2")))
            elif isinstance(x, IntVal):
                for k in (-1, 1):
                    yield "n against n-1", self.put(e, x, IntVal(x.value + k))
                for name in (*self.program.dims, *self.program.int_attrs):
                    if sym(name) != x.value:
                        yield "wrong size", self.put(e, x, IntVal(sym(name)))
                        yield "wrong size", self.put(e, x, IntVal(x.value * sym(name)))
            elif isinstance(x, Attr) and x.name in self.program.float_attrs:
                yield "wrong constant", self.put(e, x, Neg(x))
            elif isinstance(x, Reduce) and x.op == "mean" and x.divisor is None:
                count = IntVal(_product(x.axes) - 1)
                yield "n against n-1", self.put(e, x, Binary("div", replace(x, op="sum"), count))
            elif isinstance(x, Binary) and x.op in ("add", "sub") and isinstance(x.b, Attr):
                yield "constant in the wrong place", self.put(e, x, x.a)
            elif isinstance(x, Call) and x.fn in ("sqrt", "rsqrt"):
                for name in self.program.float_attrs:
                    yield "constant in the wrong place", self.put(e, x, replace(x, args=(Binary("add", x.args[0], Attr(name)),)))


def _pool(program: Program) -> list[Load]:
    """The loads that stand anywhere in a program, each once."""
    found: dict[Load, None] = {}

    def look(x: Any) -> Any | None:
        if isinstance(x, Load) and program.tensors[x.tensor].kind == "float":
            found[replace(x, guarded=tuple(range(len(x.indices))), outside=0.0 if x.indices else None)] = None
        return None

    for stmt, _ in statements(program.body):
        mapped(stmt.value, look)
    return list(found)


def _unguarded(x: Any) -> Any | None:
    """A load that may leave its tensor."""
    return replace(x, guarded=tuple(range(len(x.indices))), outside=0.0) if isinstance(x, Load) and x.indices else None


def _everywhere(whole: Expr, old: Expr, new: Expr) -> Expr:
    def swap(x: Any) -> Any | None:
        return new if isinstance(x, Call) and x == old else None

    return mapped(whole, swap)


def _product(axes: tuple[Bound, ...]) -> IntExpr:
    out = const(1)
    for a in axes:
        out = out * (a.extent or const(1))
    return out


def edits(program: Program, roles: Mapping[str, str]) -> Iterator[Edit]:
    """Every single edit of ``program``, the likeliest kinds first; ``roles`` say what its tensors are of the forward."""
    yield from _Editor(program, roles).run()
