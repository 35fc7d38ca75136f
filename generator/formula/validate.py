"""The validator of resolved programs: run after resolution in tests, and after every rewriting.

It checks the form, not the mathematics: every symbol bound, every axis sized by dims and attributes, indices affine in
axes, ranks and kinds consistent, no surface node left, guards in range and with a value outside.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from generator.formula.functions import FUNCTIONS, REDUCTIONS
from generator.formula.infer import children
from generator.formula.ir import Assign, Attr, Bound, Call, Expr, For, Gather, IntVal, Load, Program, Reduce, Stmt
from generator.formula.kinds import kind_of
from generator.formula.printer import expression, index
from generator.spec.integer import IntExpr, Numel

__all__ = ["InvalidProgramError", "faults", "validate"]


class InvalidProgramError(Exception):
    """A program that breaks the form; ``faults`` says how, in program order."""

    def __init__(self, faults: Sequence[str]) -> None:
        self.faults = list(faults)
        super().__init__("; ".join(self.faults))


def validate(program: Program) -> Program:
    """``program`` itself; :class:`InvalidProgramError` when its form is broken."""
    found = faults(program)
    if found:
        raise InvalidProgramError(found)
    return program


def faults(program: Program) -> list[str]:
    """How ``program`` breaks the form; empty when it is valid."""
    return list(_Validator(program).run())


class _Validator:
    def __init__(self, program: Program) -> None:
        self.program = program
        self.sizes = {*program.dims, *program.int_attrs}
        self.out: list[str] = []

    def run(self) -> Iterator[str]:
        for name, tensor in self.program.tensors.items():
            if name != tensor.name:
                self.out.append(f"tensor '{tensor.name}' is kept under '{name}'")
            for at, extent in enumerate(tensor.shape):
                self.integer(extent, self.sizes, f"the extent of dim {at} of '{name}'")
            if tensor.flat is not None and (tensor.flat.extents != tensor.shape or sorted(tensor.flat.order) != sorted(tensor.flat.axes)):
                self.out.append(f"the flat layout of '{name}' does not match its shape")
        self.block(self.program.body, ())
        return iter(self.out)

    def block(self, body: Sequence[Stmt], loops: tuple[str, ...]) -> None:
        for stmt in body:
            if isinstance(stmt, For):
                for bound in (stmt.start, stmt.stop):
                    self.integer(bound, {*self.sizes, *loops}, f"the range of the loop over '{stmt.var}'")
                if stmt.var in self.sizes or stmt.var in loops:
                    self.out.append(f"the loop variable '{stmt.var}' hides a size or an outer loop's")
                if stmt.step == 0:
                    self.out.append(f"the loop over '{stmt.var}' has step 0")
                self.block(stmt.body, (*loops, stmt.var))
            else:
                self.assign(stmt, loops)

    def assign(self, stmt: Assign, loops: tuple[str, ...]) -> None:
        tensor = self.program.tensors.get(stmt.tensor)
        if tensor is None:
            self.out.append(f"'{stmt.tensor}' is written but not declared")
            return
        if tensor.role == "input":
            self.out.append(f"the input '{stmt.tensor}' is written")
        if len(tensor.shape) != len(stmt.indices):
            self.out.append(f"'{stmt.tensor}' is written with {len(stmt.indices)} indices, not {len(tensor.shape)}")
        axes = self.bind(stmt.axes, loops)
        names = {*self.sizes, *loops, *axes}
        used: set[str] = set()
        for at in stmt.indices:
            if isinstance(at, IntExpr):
                self.integer(at, names, f"an index of '{stmt.tensor}'", axes)
                used |= at.free()
            else:
                self.out.append(f"'{stmt.tensor}' is written at {index(at)}, which is not an integer expression")
        self.out += [f"the axis '{a}' of the statement writing '{stmt.tensor}' does not index it" for a in axes if a not in used]
        self.expr(stmt.value, loops, frozenset(axes))
        kind = kind_of(
            stmt.value, self.program.tensors, set(self.program.bool_attrs), lambda _, what, value, __: self.out.append(f"{what}: {value}")
        )
        if kind not in (tensor.kind, "weak"):
            self.out.append(f"'{stmt.tensor}' holds {tensor.kind} values but is assigned {kind}")

    def bind(self, axes: Sequence[Bound], loops: tuple[str, ...]) -> list[str]:
        for axis in axes:
            if axis.extent is None:
                self.out.append(f"the axis '{axis.name}' has no extent")
            else:
                self.integer(axis.extent, self.sizes, f"the extent of the axis '{axis.name}'")
            if axis.name in self.sizes or axis.name in loops:
                self.out.append(f"the axis '{axis.name}' hides a size or a loop variable")
        names = [a.name for a in axes]
        self.out += [f"the axis '{n}' is bound twice" for n in sorted({n for n in names if names.count(n) > 1})]
        return names

    def integer(self, e: IntExpr, names: set[str], what: str, axes: Sequence[str] = ()) -> None:
        for name in sorted(e.free() - names):
            self.out.append(f"{what} names '{name}', which is not bound: {e}")
        if any(isinstance(a, Numel) for a in e.atoms()):
            self.out.append(f"{what} holds an element count: {e}")
        if axes and not e.is_affine_in(axes):
            self.out.append(f"{what} is not affine in its axes: {e}")

    def expr(self, e: Expr, loops: tuple[str, ...], axes: frozenset[str]) -> None:
        match e:
            case Load():
                self.load(e, loops, axes)
            case IntVal(value=value):
                self.integer(value, {*self.sizes, *loops, *axes}, "a value")
            case Attr(name=name) if name not in (*self.program.float_attrs, *self.program.bool_attrs):
                self.out.append(f"'{name}' is not a float or bool attribute")
            case Call(fn=fn) if fn not in FUNCTIONS or FUNCTIONS[fn].arity != len(e.args):
                self.out.append(f"'{fn}' with {len(e.args)} arguments is no function")
            case Reduce():
                if e.op not in REDUCTIONS or not e.axes:
                    self.out.append(f"not a reduction: {expression(e)}")
                inner = axes | set(self.bind(e.axes, loops))
                self.expr(e.body, loops, inner)
                if e.divisor is not None:
                    self.expr(e.divisor, loops, axes)
                return
            case _:
                pass
        for child in children(e):
            self.expr(child, loops, axes)

    def load(self, e: Load, loops: tuple[str, ...], axes: frozenset[str]) -> None:
        tensor = self.program.tensors.get(e.tensor)
        if tensor is None:
            self.out.append(f"'{e.tensor}' is read but not declared")
            return
        if len(tensor.shape) != len(e.indices):
            self.out.append(f"'{e.tensor}' is read with {len(e.indices)} indices, not {len(tensor.shape)}")
        for at in e.indices:
            if isinstance(at, IntExpr):
                self.integer(at, {*self.sizes, *loops, *axes}, f"an index of '{e.tensor}'", sorted(axes & at.free()))
            elif isinstance(at, Gather):
                self.load(at.load, loops, axes)
                self.gathered(at, self.program.tensors)
            else:
                self.out.append(f"'{e.tensor}' has the surface index {index(at)}")
        if any(not 0 <= d < len(e.indices) for d in e.guarded) or bool(e.guarded) != (e.outside is not None):
            self.out.append(f"the guard of '{e.tensor}' is malformed")

    def gathered(self, at: Gather, tensors: Mapping[str, object]) -> None:
        tensor = self.program.tensors.get(at.load.tensor)
        if tensor is not None and tensor.kind != "int":
            self.out.append(f"'{at.load.tensor}' is an index but holds {tensor.kind} values")
