"""The index-notation IR: what a formula means, independent of how it is computed.

Two forms share these node classes. The *surface* form is what the parser returns and the printer prints: its
indices may be products ``(i, d)``, segments ``pre(i)``, packs ``*b``. The *resolved* form, a :class:`Program`,
is what every later stage reads: all indices are integer expressions (or gathers), every axis has its extent,
every tensor its shape, and each load knows in which dims it may leave its tensor.

Scoping is lexical: a reduction binds its axes in its body only, and may reuse the name of an axis of the left side
(or of an outer reduction), which is then hidden inside. Inside the body the name means the reduction's axis.

Spans are carried for messages and ignored by equality.
"""

# ruff: noqa: RUF009 (_span() returns a dataclass field)
from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from generator.spec.integer import IntExpr

BinOp = Literal["add", "sub", "mul", "div", "pow", "floordiv", "mod"]
CmpOp = Literal["lt", "le", "gt", "ge", "eq", "ne"]
RedOp = Literal["sum", "prod", "max", "min", "mean", "any", "all", "argmax", "argmin"]
DType = Literal["float16", "bfloat16", "float32", "float64", "int8", "uint8", "int16", "int32", "int64", "bool"]
Kind = Literal["float", "int", "bool"]


@dataclass(frozen=True, slots=True)
class Span:
    """Where a node stands in the spec file: 1-based line and column."""

    line: int
    column: int


def _span() -> Span | None:
    return field(default=None, compare=False, repr=False, kw_only=True)


# --- indices -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Product:
    """Surface only: ``(i, d)`` in one dim, row-major."""

    parts: tuple[Index, ...]
    span: Span | None = _span()


@dataclass(frozen=True, slots=True)
class Segment:
    """Surface only: ``res(i, j)``, one segment of a declared segmented axis."""

    name: str
    parts: tuple[Index, ...]
    span: Span | None = _span()


@dataclass(frozen=True, slots=True)
class Pack:
    """Surface only: ``*b``, zero or more axes. Resolved to one flattened axis when no broadcast is declared."""

    name: str
    span: Span | None = _span()


@dataclass(frozen=True, slots=True)
class Gather:
    """A data-dependent index: the value of an integer load."""

    load: Load
    span: Span | None = _span()


Index = IntExpr | Product | Segment | Pack | Gather


# --- expressions -------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Num:
    """A literal. ``text`` is how the author wrote it."""

    value: int | float
    text: str = field(default="", compare=False)
    span: Span | None = _span()


@dataclass(frozen=True, slots=True)
class Attr:
    """A float or bool attribute used as a value. In surface form: any bare name used as a value."""

    name: str
    span: Span | None = _span()


@dataclass(frozen=True, slots=True)
class IntVal:
    """An integer expression (axis, dim, int attribute, loop variable) used as a value."""

    value: IntExpr
    span: Span | None = _span()


@dataclass(frozen=True, slots=True)
class Load:
    """One element of a tensor. In resolved form ``guarded`` lists the dims whose index can leave the tensor;
    what stands there then is ``outside`` (0 under sum, -inf under max, inf under min, 1 under prod)."""

    tensor: str
    indices: tuple[Index, ...]
    guarded: tuple[int, ...] = ()
    outside: float | None = None
    span: Span | None = _span()
    spots: tuple[Span, ...] = field(default=(), compare=False, repr=False, kw_only=True)  # where each index stands


@dataclass(frozen=True, slots=True)
class Neg:
    x: Expr
    span: Span | None = _span()


@dataclass(frozen=True, slots=True)
class Not:
    x: Expr
    span: Span | None = _span()


@dataclass(frozen=True, slots=True)
class Binary:
    op: BinOp
    a: Expr
    b: Expr
    span: Span | None = _span()


@dataclass(frozen=True, slots=True)
class Compare:
    op: CmpOp
    a: Expr
    b: Expr
    span: Span | None = _span()


@dataclass(frozen=True, slots=True)
class Logic:
    op: Literal["and", "or"]
    a: Expr
    b: Expr
    span: Span | None = _span()


@dataclass(frozen=True, slots=True)
class Call:
    """An elementary function of one or two arguments; the names are in ``formula.functions``."""

    fn: str
    args: tuple[Expr, ...]
    span: Span | None = _span()


@dataclass(frozen=True, slots=True)
class Where:
    cond: Expr
    a: Expr
    b: Expr
    span: Span | None = _span()


@dataclass(frozen=True, slots=True)
class Cast:
    dtype: DType
    x: Expr
    span: Span | None = _span()


@dataclass(frozen=True, slots=True)
class Bound:
    """An axis bound by a reduction. ``extent`` is None only in surface form."""

    name: str
    extent: IntExpr | None = None


@dataclass(frozen=True, slots=True)
class Reduce:
    """``sum[k, o: O](body)``. ``divisor`` only for ``mean`` over a partial window."""

    op: RedOp
    axes: tuple[Bound, ...]
    body: Expr
    divisor: Expr | None = None
    span: Span | None = _span()


Expr = Num | Attr | IntVal | Load | Neg | Not | Binary | Compare | Logic | Call | Where | Cast | Reduce


# --- statements --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Assign:
    """``tensor[indices] = value`` for every value of ``axes`` (in surface form: only those given an extent, ``a[t: T]``)."""

    tensor: str
    indices: tuple[Index, ...]
    value: Expr
    axes: tuple[Bound, ...] = ()
    span: Span | None = _span()
    spots: tuple[Span, ...] = field(default=(), compare=False, repr=False, kw_only=True)  # where each index stands


@dataclass(frozen=True, slots=True)
class For:
    """``for var in range(start, stop, step)``; ``step`` is a non-zero constant."""

    var: str
    start: IntExpr
    stop: IntExpr
    step: int
    body: tuple[Stmt, ...]
    span: Span | None = _span()


Stmt = Assign | For


@dataclass(frozen=True, slots=True)
class FlatLayout:
    """A flat buffer the formula indexes by ``axes``: ``order`` lists them slowest first; elements it does not
    map are undefined and never touched."""

    axes: tuple[str, ...]
    extents: tuple[IntExpr, ...]
    order: tuple[str, ...]
    size: IntExpr

    def stride(self, axis: str) -> IntExpr:
        """Elements between neighbours along ``axis``."""
        from generator.spec.integer import product  # local: keeps the module's import block to types

        inner = self.order[self.order.index(axis) + 1 :]
        return product(self.extents[self.axes.index(a)] for a in inner)


@dataclass(frozen=True, slots=True)
class Tensor:
    """A tensor of a resolved program. ``shape`` has one extent per formula dim. ``dtype`` is a dtype name for
    inputs and outputs with one dtype, a dtype variable of the spec otherwise, and None for intermediates, which
    have the compute dtype (or int/bool by ``kind``)."""

    name: str
    shape: tuple[IntExpr, ...]
    role: Literal["input", "output", "local"]
    kind: Kind = "float"
    dtype: str | None = None
    optional: bool = False
    inout: bool = False  # an output that also holds an input's values until it is written
    flat: FlatLayout | None = None
    fill: float | None = None

    def strides(self) -> tuple[IntExpr, ...]:
        """Row-major (or flat-layout) element strides, one per dim."""
        if self.flat is not None:
            return tuple(self.flat.stride(a) for a in self.flat.axes)
        from generator.spec.integer import product

        return tuple(product(self.shape[d + 1 :]) for d in range(len(self.shape)))


@dataclass(frozen=True, slots=True)
class Program:
    """A resolved, validated formula."""

    body: tuple[Stmt, ...]
    tensors: dict[str, Tensor]
    dims: tuple[str, ...]
    int_attrs: tuple[str, ...]
    float_attrs: tuple[str, ...]
    bool_attrs: tuple[str, ...] = ()

    @property
    def inputs(self) -> tuple[Tensor, ...]:
        return tuple(t for t in self.tensors.values() if t.role == "input")

    @property
    def outputs(self) -> tuple[Tensor, ...]:
        return tuple(t for t in self.tensors.values() if t.role == "output")
