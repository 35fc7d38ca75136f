"""A resolved program made ready for arrays: sizes are numbers, axes have identities, indices are strides or tables.

An axis gets a fresh number where it is bound, so that a reduction may reuse a name of the left side. The axes of a node
are its free axes in ascending order, and its array has one dimension for each. Loop variables stay symbolic: a program
is lowered once and run for every value of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal

from generator.formula import ir
from generator.reference.errors import MissingValueError, UnknownNameError, UnsupportedError
from generator.reference.functions import FUNCTIONS
from generator.spec.integer import Atom, Func, IntExpr, Numel, const, sym

__all__ = [
    "Affine",
    "AssignNode",
    "CastNode",
    "Constant",
    "Dim",
    "ForNode",
    "General",
    "IntNode",
    "LoadNode",
    "Lowerer",
    "Node",
    "OpNode",
    "ReduceNode",
    "Stmt",
    "axis_symbol",
]

Axes = tuple[int, ...]


def axis_symbol(identity: int) -> str:
    """The symbol an axis has inside a lowered :class:`IntExpr`; no name of a spec can be spelled so."""
    return f"#{identity}"


@dataclass(frozen=True, slots=True)
class Affine:
    """``base + sum(coefficient * axis)``; integers where no loop variable enters."""

    base: int | IntExpr
    steps: tuple[tuple[int, int | IntExpr], ...]


@dataclass(frozen=True, slots=True)
class General:
    """Any other integer expression of axes, computed element by element as an array."""

    value: IntExpr


@dataclass(frozen=True, slots=True)
class Constant:
    """A literal or an attribute: ``float`` is taken in the compute dtype, ``int`` and ``bool`` as they are."""

    value: float | int | bool
    axes: Axes = ()


@dataclass(frozen=True, slots=True)
class IntNode:
    """An integer expression used as a value."""

    value: IntExpr
    axes: Axes


@dataclass(frozen=True, slots=True)
class LoadNode:
    """Elements of a tensor. ``axes`` includes those of gathered indices."""

    tensor: str
    indices: tuple[Dim, ...]
    guarded: frozenset[int]
    outside: float
    axes: Axes
    affine: bool
    span: ir.Span | None


Dim = Affine | General | LoadNode


@dataclass(frozen=True, slots=True)
class OpNode:
    """An elementwise operation; ``op`` is an operator of the IR, ``neg``, ``not``, ``and``, ``or``, ``where`` or a function."""

    op: str
    args: tuple[Node, ...]
    axes: Axes
    function: bool = False


@dataclass(frozen=True, slots=True)
class CastNode:
    """Rounding to a dtype, or to hf32: ties to even for floats, towards zero for integers."""

    dtype: str
    x: Node
    axes: Axes


@dataclass(frozen=True, slots=True)
class ReduceNode:
    """A reduction over ``bound``, in that order; ``factors`` and ``divisors`` are the body of a sum as a product."""

    op: ir.RedOp
    bound: Axes
    extents: tuple[int | IntExpr, ...]
    body: Node
    divisor: Node | None
    axes: Axes
    factors: tuple[Node, ...]
    divisors: tuple[Node, ...]
    span: ir.Span | None


Node = Constant | IntNode | LoadNode | OpNode | CastNode | ReduceNode


@dataclass(frozen=True, slots=True)
class AssignNode:
    """``target`` holds the written elements (an affine load turned round); ``axes`` and ``extents`` are the left side's."""

    target: LoadNode
    value: Node
    axes: Axes
    extents: tuple[int | IntExpr, ...]
    loads: tuple[LoadNode, ...]
    span: ir.Span | None


@dataclass(frozen=True, slots=True)
class ForNode:
    var: str
    start: IntExpr
    stop: IntExpr
    step: int
    body: tuple[Stmt, ...]


Stmt = AssignNode | ForNode


def _union(*parts: Axes) -> Axes:
    return tuple(sorted(set().union(*parts)))


def _plain(e: IntExpr) -> int | IntExpr:
    return e.value if e.value is not None else e


class Lowerer:
    """Lowers statements under ``sizes`` (dims and integer attributes), ``numels`` (element counts) and ``values``
    (float and bool attributes)."""

    def __init__(
        self, program: ir.Program, sizes: Mapping[str, int], numels: Mapping[str, int], values: Mapping[str, float | bool]
    ) -> None:
        self._program = program
        self._sizes = sizes
        self._numels = numels
        self._values = values
        self._next = 0
        self._loads: list[LoadNode] = []

    def body(self, body: tuple[ir.Stmt, ...], loops: frozenset[str] = frozenset()) -> tuple[Stmt, ...]:
        """The statements of a program or a loop; ``loops`` are the variables around them."""
        return tuple(self._stmt(s, loops) for s in body)

    def number(self, e: IntExpr, span: ir.Span | None = None) -> int:
        """A size that depends on no axis and no loop variable."""
        lowered = self._integer(e, {}, frozenset(), span)
        if lowered.value is None:
            raise UnknownNameError(f"the size {e} depends on {', '.join(sorted(lowered.free()))}, which has no value here", span)
        return lowered.value

    # statements -----------------------------------------------------------------------------------------------------
    def _stmt(self, s: ir.Stmt, loops: frozenset[str]) -> Stmt:
        if isinstance(s, ir.For):
            start, stop = (self._integer(e, {}, loops, s.span) for e in (s.start, s.stop))
            return ForNode(s.var, start, stop, s.step, self.body(s.body, loops | {s.var}))
        self._next = 0
        self._loads = []
        scope: dict[str, int] = {}
        extents = []
        for b in s.axes:
            extents.append(self._extent(b, scope, loops, s.span))
            scope[b.name] = self._fresh()
        target = self._load(ir.Load(s.tensor, s.indices, span=s.span), scope, loops)
        if not target.affine:
            raise UnsupportedError(f"the left side {s.tensor} is indexed by something that is not affine in its axes", s.span)
        self._loads = []
        value = self._expr(s.value, scope, loops)
        axes = tuple(range(len(s.axes)))
        return AssignNode(replace(target, axes=axes), value, axes, tuple(extents), tuple(self._loads), s.span)

    def _fresh(self) -> int:
        self._next += 1
        return self._next - 1

    def _extent(self, b: ir.Bound, scope: Mapping[str, int], loops: frozenset[str], span: ir.Span | None) -> int | IntExpr:
        if b.extent is None:
            raise UnsupportedError(f"the axis {b.name} has no extent: the program is not resolved", span)
        e = self._integer(b.extent, scope, loops, span)
        if any(name.startswith("#") for name in e.free()):
            raise UnsupportedError(f"the extent {b.extent} of the axis {b.name} depends on another axis", span)
        return _plain(e)

    # integers -------------------------------------------------------------------------------------------------------
    def _integer(self, e: IntExpr, scope: Mapping[str, int], loops: frozenset[str], span: ir.Span | None) -> IntExpr:
        def value(a: Atom) -> IntExpr | None:
            if isinstance(a, Func):
                return None
            if isinstance(a, Numel):
                if a.tensor not in self._numels:
                    raise MissingValueError(f"numel({a.tensor}) is used, but {a.tensor} was not given", span)
                return const(self._numels[a.tensor])
            if a.name in scope:
                return sym(axis_symbol(scope[a.name]))
            if a.name in loops:
                return None
            if a.name in self._sizes:
                return const(self._sizes[a.name])
            raise MissingValueError(f"no value was given for {a.name}", span)

        return e.map_atoms(value)

    def _index(self, index: ir.Index, scope: Mapping[str, int], loops: frozenset[str], span: ir.Span | None) -> Dim:
        if isinstance(index, ir.Gather):
            return self._load(index.load, scope, loops)
        if not isinstance(index, IntExpr):
            raise UnsupportedError(f"an index of the form {type(index).__name__} is left: the program is not resolved", span)
        e = self._integer(index, scope, loops, span)
        axes = {name for name in e.free() if name.startswith("#")}
        if not e.is_affine_in(axes):
            return General(e)
        steps = []
        rest = e
        for name in sorted(axes, key=lambda n: int(n[1:])):
            coefficient = e.coefficient(name)
            rest = rest - coefficient * sym(name)
            steps.append((int(name[1:]), _plain(coefficient)))
        return Affine(_plain(rest), tuple(steps))

    # expressions ----------------------------------------------------------------------------------------------------
    def _load(self, load: ir.Load, scope: Mapping[str, int], loops: frozenset[str]) -> LoadNode:
        tensor = self._program.tensors.get(load.tensor)
        if tensor is None:
            raise UnknownNameError(f"the program has no tensor {load.tensor}", load.span)
        if len(load.indices) != len(tensor.shape):
            raise UnsupportedError(f"{load.tensor} has {len(tensor.shape)} dims and is indexed by {len(load.indices)}", load.span)
        indices = tuple(self._index(i, scope, loops, load.span) for i in load.indices)
        axes: set[int] = set()
        for i in indices:
            if isinstance(i, Affine):
                axes |= {a for a, _ in i.steps}
            elif isinstance(i, General):
                axes |= {int(n[1:]) for n in i.value.free() if n.startswith("#")}
            else:
                axes |= set(i.axes)
        outside = 0.0 if load.outside is None else load.outside
        affine = all(isinstance(i, Affine) for i in indices)
        node = LoadNode(load.tensor, indices, frozenset(load.guarded), outside, tuple(sorted(axes)), affine, load.span)
        self._loads.append(node)
        return node

    def _expr(self, e: ir.Expr, scope: Mapping[str, int], loops: frozenset[str]) -> Node:
        def op(name: str, *args: ir.Expr, function: bool = False) -> OpNode:
            nodes = tuple(self._expr(a, scope, loops) for a in args)
            return OpNode(name, nodes, _union(*(n.axes for n in nodes)), function)

        match e:
            case ir.Num(value):
                return Constant(value)
            case ir.Attr(name):
                return self._attribute(name, e.span)
            case ir.IntVal(value):
                lowered = self._integer(value, scope, loops, e.span)
                return IntNode(lowered, tuple(sorted(int(n[1:]) for n in lowered.free() if n.startswith("#"))))
            case ir.Load():
                return self._load(e, scope, loops)
            case ir.Neg(x):
                return op("neg", x)
            case ir.Not(x):
                return op("not", x)
            case ir.Binary(name, a, b) | ir.Compare(name, a, b) | ir.Logic(name, a, b):
                return op(name, a, b)
            case ir.Where(cond, a, b):
                return op("where", cond, a, b)
            case ir.Call(fn, args):
                if fn not in FUNCTIONS:
                    raise UnknownNameError(f"there is no function {fn}", e.span)
                return op(fn, *args, function=True)
            case ir.Cast(dtype, x):
                node = self._expr(x, scope, loops)
                return CastNode(dtype, node, node.axes)
            case ir.Reduce():
                return self._reduce(e, scope, loops)
        raise UnsupportedError(f"a node of the form {type(e).__name__} is not an expression")

    def _attribute(self, name: str, span: ir.Span | None) -> Constant:
        if name in self._values:
            return Constant(self._values[name])
        if name in self._sizes:
            return Constant(self._sizes[name])
        raise MissingValueError(f"no value was given for the attribute {name}", span)

    def _reduce(self, e: ir.Reduce, scope: Mapping[str, int], loops: frozenset[str]) -> ReduceNode:
        inner = dict(scope)
        extents = tuple(self._extent(b, scope, loops, e.span) for b in e.axes)
        bound = []
        for b in e.axes:
            inner[b.name] = self._fresh()
            bound.append(inner[b.name])
        body = self._expr(e.body, inner, loops)
        divisor = None if e.divisor is None else self._expr(e.divisor, scope, loops)
        axes = _union(tuple(a for a in body.axes if a not in bound), divisor.axes if divisor else ())
        factors, divisors = _product(body) if e.op in ("sum", "mean") else ((body,), ())
        return ReduceNode(e.op, tuple(bound), extents, body, divisor, axes, factors, divisors, e.span)


def _product(node: Node, side: Literal["over", "under"] = "over") -> tuple[tuple[Node, ...], tuple[Node, ...]]:
    """The factors above and below of a product; what is no product is one factor."""
    if isinstance(node, OpNode) and not node.function and node.op in ("mul", "div") and side == "over":
        over, under = _product(node.args[0])
        if node.op == "mul":
            more_over, more_under = _product(node.args[1])
            return over + more_over, under + more_under
        return over, (*under, node.args[1])
    return (node,), ()
