"""Expressions of a program as readable NumPy text: arrays whose dimensions are the expression's axes.

What is printed is ordinary NumPy: slices, broadcasting, ``sum(axis=...)``, ``einsum`` for sums of products. Where an index
is more than an axis with an offset, open grids of the axes' values (``np.ogrid``) are set up before the statement.
"""

from __future__ import annotations

import builtins
import keyword
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from generator.formula import ir
from generator.formula.kinds import kind_of
from generator.spec.integer import IntExpr, product

__all__ = ["Axis", "Names", "Printed", "Scope", "Statement", "UnprintableError", "integer"]

_MODULE: Final = ("np", "math", "pytest", "dtype", "rng", "case", "reference", "forward")
_RESERVED: Final = frozenset({*keyword.kwlist, *keyword.softkwlist, *(n for n in dir(builtins) if n.islower()), *_MODULE})
_ATOM: Final = 9
_UNARY: Final = 6
_MUL: Final = 5
_ADD: Final = 4
_LOOSE: Final = 1

_BINARY: Final[Mapping[str, tuple[str, int]]] = {
    "add": ("+", _ADD),
    "sub": ("-", _ADD),
    "mul": ("*", _MUL),
    "div": ("/", _MUL),
    "floordiv": ("//", _MUL),
    "mod": ("%", _MUL),
    "pow": ("**", 7),
}
_COMPARE: Final[Mapping[str, str]] = {"lt": "<", "le": "<=", "gt": ">", "ge": ">=", "eq": "==", "ne": "!="}
_DIRECT: Final[Mapping[str, str]] = {"asin": "np.arcsin", "acos": "np.arccos", "atan": "np.arctan", "pow": "np.power", "round": "np.rint"}
_HELPED: Final = frozenset({"erf", "erfc", "gelu", "gelu_tanh", "logsigmoid", "reciprocal", "relu", "rsqrt", "sigmoid", "silu", "softplus"})


class UnprintableError(ValueError):
    """The program still has surface nodes in it."""


@dataclass(frozen=True, slots=True)
class Axis:
    """One bound axis: ``order`` is when it was bound, ``extent`` in dims."""

    name: str
    extent: IntExpr
    order: int


@dataclass(frozen=True, slots=True)
class Printed:
    """Text with the axes of its dimensions, in order, and how tightly it binds."""

    text: str
    axes: tuple[Axis, ...] = ()
    level: int = _ATOM

    def at(self, level: int) -> str:
        """The text, in parentheses unless it binds at least as tightly as ``level``."""
        return self.text if self.level >= level else f"({self.text})"


Scope = Mapping[str, Axis]


class Names:
    """Python names for the symbols of a formula: unchanged unless Python or the module needs the name, or it is ``reserved``."""

    def __init__(self, taken: Iterable[str], reserved: Iterable[str] = ()) -> None:
        self._taken = set(taken)
        self._reserved = _RESERVED | set(reserved)
        self._map = {name: self._free(name) if name in self._reserved else name for name in sorted(self._taken)}

    def _free(self, name: str) -> str:
        while name in self._taken or name in self._reserved:
            name += "_"
        self._taken.add(name)
        return name

    def __call__(self, name: str) -> str:
        """The Python name of a symbol of the formula."""
        return self._map.get(name, name + "_" if name in self._reserved else name)

    def fresh(self, name: str) -> str:
        """A name nobody has yet, like ``name``."""
        return self._free(name)


def integer(e: IntExpr, names: Callable[[str], str]) -> Printed:
    """An integer expression as Python."""
    text = e.text("spec", names)
    if e.value is not None:
        return Printed(text, (), _ATOM if e.value >= 0 else _UNARY)
    if len(e.terms) > 1:
        return Printed(text, (), _ADD)
    if text.startswith("-"):
        return Printed(text, (), _ADD)
    alone = e.is_symbol or (len(e.terms[0][0]) == 1 and e.terms[0][0][0][1] == 1 and e.terms[0][1] == 1)  # one function: in parentheses
    return Printed(text, (), _ATOM if alone else _MUL)


@dataclass
class Statement:
    """Prints the parts of one statement. ``prelude`` collects lines that must stand before it, ``helpers`` the names of
    the module's helper functions that it uses."""

    program: ir.Program
    names: Names
    helpers: set[str]
    prelude: list[str] = field(default_factory=list)
    _bound: int = 0
    _grids: dict[tuple[Axis, ...], tuple[str, ...]] = field(default_factory=dict)

    def bind(self, b: ir.Bound) -> Axis:
        """A new axis; later ones are later in every result."""
        if b.extent is None:
            raise UnprintableError(f"the axis {b.name} has no extent")
        self._bound += 1
        return Axis(b.name, b.extent, self._bound)

    # shapes ---------------------------------------------------------------------------------------------------------
    def align(self, p: Printed, onto: Sequence[Axis]) -> Printed:
        """``p`` so that it broadcasts against arrays of the axes ``onto``, which include its own."""
        if not p.axes:
            return p
        wanted = tuple(a for a in onto if a in p.axes)
        if p.axes != wanted:
            order = tuple(p.axes.index(a) for a in wanted)
            text = f"{p.at(_ATOM)}.T" if order == (1, 0) else f"{p.at(_ATOM)}.transpose{order}"
            p = Printed(text, wanted)
        first = next(i for i, a in enumerate(onto) if a in wanted)
        inner = list(onto[first:])
        if len(inner) == len(wanted):
            return p
        parts = ", ".join(":" if a in wanted else "None" for a in inner)
        return Printed(f"{p.at(_ATOM)}[{parts}]", p.axes)

    def merge(self, *parts: Printed) -> tuple[Axis, ...]:
        """The axes of an elementwise result: the longest operand's order where the others fit into it."""
        longest = max(parts, key=lambda p: len(p.axes)).axes
        if all(p.axes == tuple(a for a in longest if a in p.axes) for p in parts):
            return longest
        return tuple(sorted({a for p in parts for a in p.axes}, key=lambda a: a.order))

    def full(self, p: Printed, axes: Sequence[Axis]) -> Printed:
        """``p`` with exactly the dimensions ``axes``, broadcast where it lacks one."""
        if p.axes == tuple(axes):
            return p
        aligned = self.align(p, axes)
        if set(p.axes) == set(axes):
            return aligned
        shape = self.shape([a.extent for a in axes])
        if not p.axes:
            return Printed(f"np.full({shape}, {p.text}, dtype)", tuple(axes))
        return Printed(f"np.broadcast_to({aligned.text}, {shape})", tuple(axes))

    def shape(self, extents: Sequence[IntExpr]) -> str:
        """A shape as a tuple."""
        inner = ", ".join(self.size(e).text for e in extents)
        return f"({inner},)" if len(extents) == 1 else f"({inner})"

    def size(self, e: IntExpr) -> Printed:
        """A size or an index without axes."""
        return integer(e, self.names)

    # indices --------------------------------------------------------------------------------------------------------
    def load(self, tensor: str, indices: Sequence[ir.Index], scope: Scope, guarded: Sequence[int] = (), outside: float = 0.0) -> Printed:
        """Elements of a tensor: slices where every index is an axis with an offset, open grids otherwise."""
        name = self.names(tensor)
        if not indices:
            return Printed(name)
        extents = self.program.tensors[tensor].shape
        slices = None if guarded else self._slices(indices, extents, scope)
        if slices is not None:
            parts, axes = slices
            while parts and parts[-1] == ":":
                parts.pop()
            return Printed(f"{name}[{', '.join(parts)}]" if parts else name, axes)
        axes = tuple(sorted(self._index_axes(indices, scope), key=lambda a: a.order))
        grid = self._grid(axes)
        texts = [self._grid_index(i, scope, grid) for i in indices]
        if not guarded:
            return Printed(f"{name}[{', '.join(texts)}]", axes)
        self.helpers.add("_read")
        inner = ", ".join(texts) + ("," if len(texts) == 1 else "")
        return Printed(f"_read({name}, ({inner}), {self.literal(outside)})", axes)

    def _slices(self, indices: Sequence[ir.Index], extents: Sequence[IntExpr], scope: Scope) -> tuple[list[str], tuple[Axis, ...]] | None:
        parts: list[str] = []
        axes: list[Axis] = []
        for index, extent in zip(indices, extents, strict=True):
            if not isinstance(index, IntExpr):
                return None
            used = [scope[n] for n in sorted(index.free()) if n in scope]
            if not used:
                parts.append(self.size(index).text)
                continue
            axis = used[0]
            if len(used) > 1 or axis in axes or not index.is_affine_in([axis.name]):
                return None
            step = index.coefficient(axis.name).value
            if step is None or step < 1:
                return None
            axes.append(axis)
            parts.append(self._slice(index.substitute({axis.name: 0}), axis.extent, step, extent))
        return parts, tuple(axes)

    def _slice(self, start: IntExpr, count: IntExpr, step: int, extent: IntExpr) -> str:
        if start.value == 0 and step == 1 and count == extent:
            return ":"
        stop = start + (count - 1) * step + 1
        first = "" if start.value == 0 else self.size(start).text
        last = "" if stop == extent else self.size(stop).text
        return f"{first}:{last}" + (f":{step}" if step > 1 else "")

    def _index_axes(self, indices: Iterable[ir.Index], scope: Scope) -> set[Axis]:
        out: set[Axis] = set()
        for i in indices:
            if isinstance(i, IntExpr):
                out |= {scope[n] for n in i.free() if n in scope}
            elif isinstance(i, ir.Gather):
                out |= self._index_axes(i.load.indices, scope)
            else:
                raise UnprintableError(f"an index of the form {type(i).__name__} is left")
        return out

    def _grid(self, axes: tuple[Axis, ...]) -> dict[Axis, str]:
        """Names that hold the axes' values, one dimension for each axis, in order."""
        if axes and axes not in self._grids:
            names = tuple(self.names.fresh(a.name) for a in axes)
            self._grids[axes] = names
            ranges = ", ".join(f":{self.size(a.extent).text}" for a in axes)
            comma = "," if len(axes) == 1 else ""
            self.prelude.append(f"{', '.join(names)}{comma} = np.ogrid[{ranges}{comma}]")
        return dict(zip(axes, self._grids.get(axes, ()), strict=True))

    def _grid_index(self, index: ir.Index, scope: Scope, grid: Mapping[Axis, str]) -> str:
        def name(symbol: str) -> str:
            return grid[scope[symbol]] if symbol in scope else self.names(symbol)

        if isinstance(index, IntExpr):
            return _elementwise(integer(index, name).text)
        if not isinstance(index, ir.Gather):
            raise UnprintableError(f"an index of the form {type(index).__name__} is left")
        inner = ", ".join(self._grid_index(i, scope, grid) for i in index.load.indices)
        return f"{self.names(index.load.tensor)}[{inner}]"

    # expressions ----------------------------------------------------------------------------------------------------
    def expr(self, e: ir.Expr, scope: Scope) -> Printed:
        """The value of an expression."""
        match e:
            case ir.Num(value):
                return Printed(self.literal(value), (), _ATOM if value >= 0 or value != value else _UNARY)
            case ir.Attr(name):
                return Printed(self.names(name))
            case ir.IntVal(value):
                return self._whole(value, scope)
            case ir.Load():
                return self.load(e.tensor, e.indices, scope, e.guarded, 0.0 if e.outside is None else e.outside)
            case ir.Neg(x):
                negated = self.expr(x, scope)
                return Printed(f"-{negated.at(_UNARY)}", negated.axes, _UNARY)
            case ir.Binary():
                return self._binary(e, scope)
            case ir.Compare(op, a, b):
                (left, right), axes = self._operands((a, b), scope, floats="float" in (self._kind(a), self._kind(b)))
                return Printed(f"{left.at(_ADD)} {_COMPARE[op]} {right.at(_ADD)}", axes, _LOOSE)
            case ir.Logic(op, a, b):
                return self._called(f"np.logical_{op}", (a, b), scope, "bool")
            case ir.Not(x):
                return self._called("np.logical_not", (x,), scope, "bool")
            case ir.Where(cond, a, b):
                return self._called("np.where", (cond, a, b), scope, self._kind(e))
            case ir.Call(fn, args):
                if fn in _HELPED:
                    self.helpers.add(f"_{fn}")
                name = f"_{fn}" if fn in _HELPED else _DIRECT.get(fn, f"np.{fn}")
                return self._called(name, args, scope, self._kind(e))
            case ir.Cast(dtype, x):
                inner = self.expr(x, scope)
                self.helpers.add("_cast")
                return Printed(f'_cast({inner.text}, "{dtype}", dtype)', inner.axes)
            case ir.Reduce():
                return self._reduce(e, scope)
        raise UnprintableError(f"a node of the form {type(e).__name__} is not an expression")

    @staticmethod
    def literal(value: float) -> str:
        """A number as Python."""
        if value != value:
            return "np.nan"
        if value in (float("inf"), float("-inf")):
            return "np.inf" if value > 0 else "-np.inf"
        return repr(value)

    def _whole(self, value: IntExpr, scope: Scope) -> Printed:
        axes = tuple(sorted((scope[n] for n in value.free() if n in scope), key=lambda a: a.order))
        if not axes:
            return self.size(value)
        grid = self._grid(axes)
        printed = integer(value, lambda s: grid[scope[s]] if s in scope else self.names(s))
        return replace(printed, text=_elementwise(printed.text), axes=axes)

    def _kind(self, e: ir.Expr) -> str:
        return kind_of(e, self.program.tensors)

    def _operands(self, args: Sequence[ir.Expr], scope: Scope, floats: bool) -> tuple[list[Printed], tuple[Axis, ...]]:
        """Operands that broadcast against each other; ``floats`` makes arrays of integers among them floats."""
        printed = [self._floating(a, scope) if floats else self.expr(a, scope) for a in args]
        axes = self.merge(*printed)
        return [self.align(p, axes) for p in printed], axes

    def _floating(self, e: ir.Expr, scope: Scope) -> Printed:
        """``e`` for use among floats: arrays of integers are converted, Python's own numbers and truth values are not."""
        p = self.expr(e, scope)
        if self._kind(e) not in ("weak", "int"):
            return p
        if p.axes:
            return Printed(f"{p.at(_ATOM)}.astype(dtype)", p.axes)
        return Printed(f"dtype({p.text})") if p.text.startswith("np.where") else p

    def _binary(self, e: ir.Binary, scope: Scope) -> Printed:
        (x, y), axes = self._operands((e.a, e.b), scope, floats=self._kind(e) == "float")
        sign, level = _BINARY[e.op]
        if e.op == "pow":
            return Printed(f"{x.at(_ATOM)} ** {y.at(_ATOM)}", axes, level)
        return Printed(f"{x.at(level)} {sign} {y.at(level + 1)}", axes, level)

    def _called(self, function: str, args: Sequence[ir.Expr], scope: Scope, kind: str) -> Printed:
        """A call; NumPy's float64 for numbers without axes is put back into the computation's type."""
        printed, axes = self._operands(args, scope, floats=kind == "float")
        if axes and kind == "float" and function == "np.where" and not (printed[1].axes or printed[2].axes):
            printed[1] = Printed(f"dtype({printed[1].text})")
        text = f"{function}({', '.join(p.text for p in printed)})"
        return Printed(text if axes or kind != "float" else f"dtype({text})", axes)

    # reductions -----------------------------------------------------------------------------------------------------
    def _reduce(self, e: ir.Reduce, scope: Scope) -> Printed:
        bound = [self.bind(b) for b in e.axes]
        inner = {**scope, **{a.name: a for a in bound}}
        count = product(a.extent for a in bound)
        body = self._floating(e.body, inner) if self._kind(e) == "float" or e.op == "mean" else self.expr(e.body, inner)
        if e.op in ("sum", "mean"):
            total = self._contraction(e.body, inner, bound) or self._reduced("sum", body, bound)
            if e.op == "sum":
                return total
            if e.divisor is None and total.text.endswith(")") and ".sum(axis=" in total.text[total.text.rfind(".sum(") :]:
                head, _, tail = total.text.rpartition(".sum(")
                return Printed(f"{head}.mean({tail}", total.axes)
            divisor = self.size(count) if e.divisor is None else self.expr(e.divisor, scope)
            axes = self.merge(total, divisor)
            return Printed(f"{self.align(total, axes).at(_MUL)} / {self.align(divisor, axes).at(_UNARY)}", axes, _MUL)
        return self._reduced(e.op, body, bound)

    def _reduced(self, op: str, body: Printed, bound: Sequence[Axis]) -> Printed:
        missing = [a for a in bound if a not in body.axes]
        if missing:
            body = self.full(body, [*(a for a in body.axes), *missing])
        rest = tuple(a for a in body.axes if a not in bound)
        if op in ("argmax", "argmin") and len(bound) > 1:
            body = self.align(body, [*rest, *bound])
            shape = "".join(f"{self.size(a.extent).text}, " for a in rest)
            return Printed(f"{body.at(_ATOM)}.reshape({shape}-1).{op}(axis=-1)", rest)
        where = tuple(sorted(body.axes.index(a) for a in bound))
        return Printed(f"{body.at(_ATOM)}.{op}(axis={where[0] if len(where) == 1 else where})", rest)

    def _contraction(self, body: ir.Expr, scope: Scope, bound: Sequence[Axis]) -> Printed | None:
        """An einsum, when the body is a product of arrays that do not all have the same axes."""
        parts = _factors(body)
        if len(parts) < 2:
            return None
        printed = [self._floating(p, scope) for p in parts]
        arrays = [p for p in printed if p.axes]
        axes = {a for p in arrays for a in p.axes}
        if len(arrays) < 2 or all(set(p.axes) == axes for p in arrays) or not set(bound) <= axes:
            return None
        letters = _letters(sorted(axes, key=lambda a: a.order))
        rest = tuple(sorted(axes - set(bound), key=lambda a: a.order))
        spec = ",".join("".join(letters[a] for a in p.axes) for p in arrays) + "->" + "".join(letters[a] for a in rest)
        out = Printed(f'np.einsum("{spec}", {", ".join(p.text for p in arrays)}, optimize=True)', rest)
        for scalar in (p for p in printed if not p.axes):
            out = Printed(f"{scalar.at(_MUL)} * {out.at(_UNARY)}", rest, _MUL)
        return out


def _elementwise(text: str) -> str:
    """Python's min and max of integers as those of arrays."""
    return re.sub(r"\b(min|max)\(", r"np.\1imum(", text)


def _factors(e: ir.Expr) -> list[ir.Expr]:
    if isinstance(e, ir.Binary) and e.op == "mul":
        return [*_factors(e.a), *_factors(e.b)]
    return [e]


def _letters(axes: Sequence[Axis]) -> dict[Axis, str]:
    """A letter for each axis, its own initial where that is free."""
    free = list("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")
    out: dict[Axis, str] = {}
    for axis in axes:
        own = axis.name[:1]
        letter = own if own in free else free[0]
        free.remove(letter)
        out[axis] = letter
    return out
