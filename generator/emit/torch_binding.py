"""The PyTorch binding of one operator: schema, shapes, the call, and the wiring of a gradient to its forward."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from generator.emit.errors import EmitError
from generator.emit.names import snake
from generator.emit.numpy_expr import Names
from generator.emit.numpy_printer import closure, needs_math, print_function
from generator.emit.shapes import attributes, tensors
from generator.emit.torch_schema import arguments_of, declared, default_of, flag_of, flags_of, returned
from generator.emit.torch_shapes import TorchShapes
from generator.emit.torch_wiring import Wiring, wiring
from generator.formula.checked import CheckedSpec
from generator.spec.model import OpSpec, Param

__all__ = ["Binding", "binding", "supported"]

_LOCALS: Final = (
    "torch np math Path reference call form wide supported found shapes results tensors wanted outputs result symbol t w shape dtype"
)


@dataclass(frozen=True)
class Output:
    """One output: its symbol, shape and dtype as Python, and when it is given ("" for always)."""

    symbol: str
    name: str
    shape: str
    dtype: str
    given: str


@dataclass(frozen=True)
class Binding:
    """Everything the template prints."""

    op: str
    snake: str
    family: str
    arguments: tuple[str, ...]  # of the schema
    returned: str
    parameters: tuple[str, ...]
    signature: tuple[str, ...]  # the parameters with their defaults
    infer: tuple[str, ...]
    outputs: tuple[Output, ...]
    inputs: tuple[str, ...]  # the graph operator's inputs, in its order
    attributes: tuple[str, ...]
    npu: tuple[str, ...]
    symbols: tuple[str, ...]  # keys of the reference's results
    wanted: tuple[str, ...]  # when each output is given
    reference: str
    reference_arguments: tuple[tuple[str, str], ...]
    helpers: frozenset[str]
    imports_math: bool
    wiring: Wiring | None


def supported(checked: CheckedSpec) -> bool:
    """Whether PyTorch can have the operator: no lists of tensors, no in-place parameters, no packs that broadcast, no shape
    variants, and required inputs that tell every size and dtype."""
    spec = checked.spec
    if spec.broadcast or any(p.list_of or p.io == "inout" or p.aliases or p.variants for p in spec.params):
        return False
    try:
        list(TorchShapes(checked, _names(checked)).lines())
    except EmitError:
        return False
    return True


def binding(checked: CheckedSpec, forward: CheckedSpec | None) -> Binding:
    """The parts of the binding; deterministic."""
    spec, program = checked.spec, checked.program
    names = _names(checked)
    shapes = TorchShapes(checked, names)
    helpers: set[str] = set()
    text = print_function(checked, "reference", helpers, "0.0")
    needed = closure(helpers)
    infer = tuple(shapes.lines())
    attrs = [p.symbol for p in spec.params if p.io == "attr"]
    python = Names([*program.tensors, *program.dims, *program.int_attrs, *program.float_attrs, *attrs])
    outputs = tuple(
        Output(
            p.symbol,
            names(p.symbol),
            shapes.output(p),
            shapes.kind(p),
            _given(spec, p, names),
        )
        for p in spec.params
        if p.io == "out"
    )
    return Binding(
        op=spec.name,
        snake=snake(spec.name),
        family=spec.family,
        arguments=tuple(declared(spec)),
        returned=returned(spec, named=True),
        parameters=tuple(_parameters(spec, names)),
        signature=tuple(_signature(spec, names)),
        infer=infer,
        outputs=outputs,
        inputs=tuple(names(p.symbol) for p in tensors(spec) if p.io == "in"),
        attributes=(
            *(f"float({names(p.symbol)})" if p.type in ("float", "double") else names(p.symbol) for p in attributes(spec)),
            *_flags(spec, outputs),
        ),
        npu=tuple(names(p.symbol) for p in arguments_of(spec)),
        symbols=tuple(f'"{o.symbol}"' for o in outputs),
        wanted=tuple(o.given or "True" for o in outputs),
        reference=text,
        reference_arguments=tuple((python(p.symbol), names(p.symbol)) for p in spec.params if p.io != "out"),
        helpers=needed,
        imports_math=needs_math(needed, [text]) or any("math." in line for line in infer),
        wiring=wiring(checked, forward) if forward is not None and supported(forward) else None,
    )


def _names(checked: CheckedSpec) -> Names:
    """Python names of a binding: those of its own locals are taken."""
    p = checked.program
    return Names([*p.tensors, *p.dims, *p.int_attrs, *(q.symbol for q in checked.spec.params if q.io == "attr")], _LOCALS.split())


def _given(spec: OpSpec, p: Param, names: Names) -> str:
    flag = flag_of(spec, p.symbol)
    if flag or not p.optional or p.optional_when is not None:
        return flag
    group = next((g for g in spec.groups if p.symbol in g.members), None)
    partner = next((m for m in group.members if any(q.symbol == m and q.io == "in" for q in spec.params)), None) if group else None
    return f"{names(partner)} is not None" if partner else ""


def _flags(spec: OpSpec, outputs: Sequence[Output]) -> Iterator[str]:
    """The values of the graph's flags, from what says that their outputs are given."""
    given = {o.symbol: o.given or "True" for o in outputs}
    yield from (f"{f.given} if {given[f.outputs[0]]} else {f.absent}" for f in spec.flags)


def _parameters(spec: OpSpec, names: Names) -> Iterator[str]:
    yield from (names(p.symbol) for p in arguments_of(spec))
    yield from (flag for flag, _ in flags_of(spec))


def _signature(spec: OpSpec, names: Names) -> Iterator[str]:
    """The parameters with their defaults: PyTorch leaves out what equals them."""
    for p in arguments_of(spec):
        default = "None" if p.io == "in" and p.optional else default_of(p) if p.io == "attr" and p.default is not None else ""
        yield names(p.symbol) + (f"={default}" if default else "")
    yield from (f"{flag}=True" for flag, _ in flags_of(spec))
