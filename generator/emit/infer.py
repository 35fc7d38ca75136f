"""Shape and dtype inference of the graph operator: every way an input's extent says what a size is, and the outputs' dims."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from generator.emit.integers import integer
from generator.emit.names import GE_DTYPES
from generator.emit.shapes import AttrRead, FlagRead, HostCall, Layout, TensorRead, combinations, host_call
from generator.formula.checked import CheckedSpec
from generator.formula.ir import Tensor
from generator.spec.integer import Func, IntExpr, Numel, sym
from generator.spec.model import Param

__all__ = ["Inference", "inference"]

Extents = tuple[tuple[TensorRead, int, IntExpr], ...]  # of every input: tensor, place, extent


@dataclass(frozen=True)
class Way:
    """``size`` from ``(value - offset) / scale``; ``zero``: a test for which it is ``when_empty`` instead ("" for none)."""

    size: str
    value: str
    offset: str
    scale: str
    zero: str = ""
    when_empty: int = 0


@dataclass(frozen=True)
class Inner:
    """One dim that the formula flattens with others: the size that holds it, and which input's dim says it."""

    size: str
    tensor: TensorRead
    form: int
    place: int


@dataclass(frozen=True)
class Pack:
    """The dims of one pack: the shape that holds them, and what input, from which dim, with how many others, says them."""

    name: str
    tensor: TensorRead
    place: int
    others: int


@dataclass(frozen=True)
class OutDim:
    """One dim of an output: a size (C++ over Checked), or a pack's dims."""

    kind: Literal["size", "pack"]
    text: str


@dataclass(frozen=True)
class Output:
    """One output: the dims of each of its forms, and how its dtype follows from the inputs'."""

    name: str
    index: int
    forms: tuple[tuple[OutDim, ...], ...]
    packs: tuple[str, ...]
    dtype: str  # C++; "" when a table of combinations decides
    dtypes: tuple[str, ...]  # per combination
    unwanted: str = ""  # C++ test that a flag says it is not wanted, "" without one


@dataclass(frozen=True)
class Inference:
    """Everything the template reads."""

    inputs: tuple[TensorRead, ...]
    attributes: tuple[AttrRead, ...]
    sizes: tuple[str, ...]
    counted: tuple[str, ...]
    packs: tuple[str, ...]
    ways: tuple[Way, ...]
    inners: tuple[Inner, ...]
    pack_reads: tuple[Pack, ...]
    same: tuple[tuple[str, str, str], ...]  # extents that must equal an expression: value, expected, input's name
    outputs: tuple[Output, ...]
    forms: bool
    combinations: int
    flags: tuple[FlagRead, ...]


def inference(checked: CheckedSpec) -> Inference:
    """Plan the inference. A size nothing known determines stays unknown (-1); without a rank an output's rank may be (-2)."""
    spec = checked.spec
    optional = tuple(p.symbol for p in spec.params if p.io != "attr" and p.optional)
    call = host_call(checked, optional)
    inputs = tuple(t for t in call.tensors if t.is_input)
    extents = tuple(_extents(checked, inputs))
    inners = tuple(_inners(inputs))
    needed = {n for o in call.tensors if not o.is_input for e in _shape(checked.program.tensors[o.symbol]) for n in e.free()}
    attributes = tuple(a for a in call.attributes if a.is_int and a.symbol in _closure(checked, needed, extents))
    sizes = dict.fromkeys((*checked.program.dims, *(n for n, _ in checked.derived), *(a.symbol for a in attributes)))
    attrs = {p.symbol for p in spec.params if p.io == "attr"}
    known = {a.symbol for a in attributes}
    ways = (*_derived(checked), *_ways(extents, attrs))
    return Inference(
        inputs=inputs,
        attributes=attributes,
        sizes=(*(n for n in sizes if n not in attrs or n in known), *dict.fromkeys(i.size for i in inners)),
        counted=tuple(n for n in call.numels if any(t.symbol == n for t in inputs)),
        packs=tuple(dict.fromkeys(p.name for p in _packs(call))),
        ways=tuple(w for w in ways if w.size not in attrs),
        inners=inners,
        pack_reads=tuple(p for p in _packs(call) if p.tensor.is_input),
        same=tuple((f"{_variable(t)}.extent[{k}]", _text(e), t.name) for t, k, e in extents if not (e.free() & attrs) - known),
        outputs=tuple(_output(checked, t, inputs, extents, call.flags) for t in call.tensors if not t.is_input),
        forms=any(t.alternatives for t in inputs),
        combinations=len(combinations(spec)),
        flags=call.flags,
    )


def _text(expr: IntExpr) -> str:
    return integer(expr, lambda n: f"s.{n}", lambda t: f"s.elements_{t}")


def _variable(t: TensorRead) -> str:
    return f"{t.symbol}_in"


def _shape(tensor: Tensor) -> tuple[IntExpr, ...]:
    return (tensor.flat.size,) if tensor.flat is not None else tensor.shape


def _extents(checked: CheckedSpec, inputs: tuple[TensorRead, ...]) -> Iterator[tuple[TensorRead, int, IntExpr]]:
    for t in inputs:
        for k, extent in enumerate(_shape(checked.program.tensors[t.symbol])):
            yield t, k, extent


def _closure(checked: CheckedSpec, names: set[str], extents: Extents) -> set[str]:
    """Every name that ``names`` may be computed from."""
    groups = [e.free() for _, _, e in extents] + [e.free() | {n} for n, e in checked.derived]
    found = set(names)
    while True:
        more = {n for g in groups if g & found for n in g} - found
        if not more:
            return found
        found |= more


def _derived(checked: CheckedSpec) -> Iterator[Way]:
    for name, expr in checked.derived:
        divisors = [a.b for a in expr.atoms() if isinstance(a, Func) and a.op in ("floordiv", "mod") and a.b.value is None]
        given = checked.spec.dims[name].when_empty if name in checked.spec.dims else None
        zero = " || ".join(f"{_text(d)} == 0" for d in divisors) if given is not None else ""
        yield Way(name, _text(expr), "0", "1", zero, given or 0)
        for other in sorted(expr.free()):
            if not any(isinstance(a, Numel | Func) for a in expr.atoms()) and expr.is_affine_in([other]):
                scale = expr.coefficient(other)
                yield Way(other, f"s.{name}", _text(expr - scale * sym(other)), _text(scale))


def _ways(extents: Extents, attrs: set[str]) -> Iterator[Way]:
    for t, k, extent in extents:
        for name in sorted(extent.free() - attrs):
            if extent.is_affine_in([name]):
                scale = extent.coefficient(name)
                yield Way(name, f"{_variable(t)}.extent[{k}]", _text(extent - scale * sym(name)), _text(scale))


def _inners(inputs: tuple[TensorRead, ...]) -> Iterator[Inner]:
    for t in inputs:
        for number, layout in enumerate(t.layouts):
            for name, place in layout.inner:
                if not name.startswith("*"):
                    yield Inner(_inner_size(number, name), t, number, place)


def _inner_size(number: int, name: str) -> str:
    return f"form{number}_" + "".join(c if c.isalnum() else "_" for c in name)


def _packs(call: HostCall) -> Iterator[Pack]:
    for t in call.tensors:
        for layout in t.layouts:
            for name, place in layout.inner:
                if name.startswith("*"):
                    yield Pack(name.lstrip("*").strip(), t, place, layout.rank)


def _output(checked: CheckedSpec, t: TensorRead, inputs: tuple[TensorRead, ...], extents: Extents, flags: tuple[FlagRead, ...]) -> Output:
    p = next(q for q in checked.spec.params if q.symbol == t.symbol)
    shape = _shape(checked.program.tensors[t.symbol])
    texts = tuple(_said(expr, extents) for expr in shape)
    forms = tuple(tuple(_dims(number, layout, p, texts)) for number, layout in enumerate(t.layouts))
    packs = tuple(d.text for d in forms[0] if d.kind == "pack")
    unwanted = next((f"{f.variable} == {f.absent}" for f in flags if t.symbol in f.outputs), "")
    return Output(t.name, t.index, forms, packs, _dtype(checked, p, inputs), t.dtypes, unwanted)


def _said(expr: IntExpr, extents: Extents) -> str:
    """``expr`` in C++; where its sizes may be unknown while an input's extent is just that, either of them."""
    text = f"Checked({expr.value})" if expr.value is not None else _text(expr)
    if expr.symbol is None and expr.value is None:
        for t, k, e in extents:
            text = f"Either({text}, {_variable(t)}.extent[{k}])" if e == expr else text
    return text


def _dims(number: int, layout: Layout, p: Param, texts: tuple[str, ...]) -> Iterator[OutDim]:
    if p.flat is not None:
        yield OutDim("size", texts[0])
        return
    written: list[list[str | list[str]]] = [list(p.shape or []), *p.ranks]
    for k, dim in enumerate(written[number]):
        if isinstance(dim, list):
            yield from (OutDim("size", f"s.{_inner_size(number, d)}") for d in dim)
        elif k == layout.pack:
            yield OutDim("pack", dim.lstrip("*").strip())
        else:
            yield OutDim("size", texts[k])


def _dtype(checked: CheckedSpec, p: Param, inputs: tuple[TensorRead, ...]) -> str:
    """The dtype of an output: one for all combinations, or that of the first required input with the same variable."""
    columns = {c.get(p.dtype or "", p.dtype or "float32") for c in combinations(checked.spec)}
    if len(columns) == 1:
        return GE_DTYPES[columns.pop()]
    params = {q.symbol: q for q in checked.spec.params}
    for t in inputs:
        if t.optional < 0 and params[t.symbol].dtype == p.dtype:
            return f"context->GetRequiredInputDataType({t.index})"
    return ""
