"""How the host reads a call: tensors' layouts, the dims they bind, derived dims, attributes, and what must agree."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal

from generator.emit.integers import integer
from generator.emit.names import GE_DTYPES
from generator.formula.checked import CheckedSpec
from generator.formula.ir import Tensor
from generator.spec.integer import Func, IntExpr, Numel, const, sym
from generator.spec.model import OpSpec, Param

__all__ = [
    "Agreement",
    "AttrRead",
    "Bind",
    "Derived",
    "FlagRead",
    "HostCall",
    "Layout",
    "TensorRead",
    "attributes",
    "combinations",
    "empty_tests",
    "flags",
    "host_call",
    "tensors",
]


@dataclass(frozen=True)
class Layout:
    """One accepted shape: ``rank`` (or, with a pack, at least that many dims), and for each canonical extent the dims
    whose product it is. ``pack`` is the canonical position that takes all remaining dims, or -1."""

    rank: int
    groups: tuple[tuple[int, ...], ...]
    pack: int
    text: str
    inner: tuple[tuple[str, int], ...] = ()  # flattened dims and packs by name, with their place in the shape
    dims: tuple[str, ...] = ()  # the canonical extents as the author wrote them


@dataclass(frozen=True)
class TensorRead:
    """One tensor of the call, in graph order. ``index`` counts inputs or outputs of the operator's definition."""

    symbol: str
    name: str
    is_input: bool
    index: int
    optional: int  # index among the plan's optional parameters, or -1
    extents: int
    layouts: tuple[Layout, ...]
    flat: bool
    alternatives: bool  # several ranks: all such tensors must use the same one
    dtypes: tuple[str, ...]  # the graph engine's enumerators, one per dtype combination


@dataclass(frozen=True)
class AttrRead:
    """One graph attribute: its index among the graph's attributes, how it is read, and its default as C++."""

    symbol: str
    index: int
    getter: str
    ctype: str
    default: str
    is_int: bool


@dataclass(frozen=True)
class FlagRead:
    """A graph attribute that says whether optional outputs are given: its index, how it is read, its values as C++."""

    name: str
    index: int
    getter: str
    ctype: str
    given: str
    absent: str
    outputs: tuple[str, ...]  # symbols
    listed: str  # their names in the graph
    sizeless: tuple[tuple[str, str], ...]  # output's symbol, and the C++ test that it has no elements anyway

    @property
    def are(self) -> str:
        """The verb after its outputs' names."""
        return "is" if len(self.outputs) == 1 else "are"

    @property
    def variable(self) -> str:
        """The value in C++, whatever parameters are called."""
        return f"flag_{self.name}"


@dataclass(frozen=True)
class Bind:
    """``symbol = (extent - offset) / scale`` of a tensor; the exactness is checked with everything else."""

    symbol: str
    source: str
    offset: str
    scale: str
    guard: str  # presence condition, "" when always there
    origins: tuple[str, ...]  # symbol of the tensor


@dataclass(frozen=True)
class Derived:
    """A dim computed from others: expression, and its value when a divisor is zero."""

    symbol: str
    expression: str
    zero: str
    when_empty: int
    origins: tuple[str, ...]  # symbols of the tensors whose element counts and extents it comes from


@dataclass(frozen=True)
class Agreement:
    """Something that must hold after binding, with the message that says what was wrong.

    What a richer message needs: ``subject`` and ``other`` are symbols of tensors. An ``extent`` agreement compares ``value``
    (C++) with ``expected`` (C++, ``wanted`` as the author wrote it), which depends on ``sizes``; ``place`` is its dim, from 0.
    """

    test: str
    message: str
    kind: Literal["condition", "form", "dims", "group", "extent"] = "condition"
    subject: str = ""
    other: str = ""
    place: int = -1
    value: str = ""
    wanted: str = ""
    expected: str = ""
    sizes: tuple[str, ...] = ()


@dataclass(frozen=True)
class HostCall:
    """Everything the tiling wrapper's template reads."""

    tensors: tuple[TensorRead, ...]
    attributes: tuple[AttrRead, ...]
    binds: tuple[Bind | Derived, ...]
    agreements: tuple[Agreement, ...]
    agreeing: tuple[Agreement, ...]  # ranks, and dims that one extent or pack flattens
    numels: tuple[str, ...]
    floats: tuple[str, ...] = field(default=())
    flags: tuple[FlagRead, ...] = field(default=())


def attributes(spec: OpSpec) -> tuple[Param, ...]:
    """The graph operator's attributes, in order."""
    return tuple(p for p in spec.params if p.io == "attr" and not p.aclnn_only)


def tensors(spec: OpSpec) -> tuple[Param, ...]:
    """Tensor parameters in graph order: inputs, then outputs; an in-place parameter is an input and an output."""
    inputs = [p for p in spec.params if p.io in ("in", "inout")]
    return (*inputs, *(p for p in spec.params if p.io in ("out", "inout")))


def combinations(spec: OpSpec) -> tuple[dict[str, str], ...]:
    """Dtype combinations as the plan numbers them; one without variables when the spec declares none."""
    return tuple({k: str(v) for k, v in c.items()} for c in spec.dtypes) or ({},)


def host_call(checked: CheckedSpec, optional: tuple[str, ...], numels: tuple[str, ...] = ()) -> HostCall:
    """Plan the reading of a call. ``optional`` is the plan's list of optional parameters; ``numels`` are element counts
    the tiling maths itself uses, beyond those of derived dims."""
    spec, program = checked.spec, checked.program
    reads, counts = [], {True: 0, False: 0}
    seen: set[tuple[str, bool]] = set()
    for k, p in enumerate(tensors(spec)):
        is_input = k < sum(q.io in ("in", "inout") for q in spec.params)
        if (p.symbol, is_input) in seen:
            continue
        seen.add((p.symbol, is_input))
        reads.append(_read(spec, p, program.tensors[p.symbol], is_input, counts[is_input], optional))
        counts[is_input] += 1
    attrs = tuple(_attribute(p, k) for k, p in enumerate(attributes(spec)) if p.type in _GETTERS)
    used = {a.tensor for _, e in checked.derived for a in e.atoms() if isinstance(a, Numel)} | set(numels)
    binds, agreements = _bind(checked, reads)
    floats = tuple(a.symbol for a in attrs if not a.is_int)
    return HostCall(tuple(reads), attrs, binds, agreements, _agreeing(spec, reads), tuple(sorted(used)), floats, flags(checked))


def flags(checked: CheckedSpec) -> tuple[FlagRead, ...]:
    """The flags of the graph operator, which follow its other attributes."""
    spec = checked.spec
    first = len(attributes(spec))
    names = {p.symbol: p.name for p in spec.params}
    made = []
    for k, flag in enumerate(spec.flags):
        getter, ctype = _GETTERS["bool" if isinstance(flag.given, bool) else "int"]
        given, absent = (cpp_value(v) for v in (flag.given, flag.absent))
        listed = " and ".join(names[o] for o in flag.outputs)
        sizeless = tuple((o, _sizeless(checked.program.tensors[o])) for o in flag.outputs)
        made.append(FlagRead(flag.name, first + k, getter, ctype, given, absent, tuple(flag.outputs), listed, sizeless))
    return tuple(made)


def cpp_value(value: bool | int) -> str:
    """A flag's value in C++."""
    if isinstance(value, bool):
        return str(value).lower()
    return str(value) if value != -(2**63) else f"({value + 1} - 1)"


def _sizeless(tensor: Tensor) -> str:
    extents = (tensor.flat.size,) if tensor.flat is not None else tensor.shape
    return " || ".join(f"Checked({e.value}) == 0" if e.value is not None else f"{_sizes(e)} == 0" for e in extents) or "false"


def empty_tests(checked: CheckedSpec, call: HostCall) -> tuple[str, ...]:
    """Tests of which one suffices for there to be nothing to do: every output is empty or, unless the policy is to
    compute, some required tensor is."""
    outputs = [t for t in call.tensors if not t.is_input and t.optional < 0]
    tests = [" && ".join(f"{_variable(t)}.numel == 0" for t in outputs)] if outputs else []
    if checked.spec.policies.empty != "compute":
        tests += [f"{_variable(t)}.numel == 0" for t in call.tensors if t.optional < 0]
    return tuple(dict.fromkeys(tests))


def _agreeing(spec: OpSpec, reads: list[TensorRead]) -> tuple[Agreement, ...]:
    """Tensors with several accepted ranks use the same one; dims that share a name or a pack agree one by one; groups of
    optional parameters are given all or none."""
    tests: list[Agreement] = []
    several = [t for t in reads if t.alternatives]
    for t in several[1:]:
        guards = _guards(several[0], t)
        test = f"{guards}{_variable(several[0])}.form == {_variable(t)}.form"
        tests.append(Agreement(test, "the tensors' ranks do not agree", "form", t.symbol, several[0].symbol))
    seen: dict[tuple[int, str], tuple[TensorRead, int]] = {}
    for t in reads:
        for number, layout in enumerate(t.layouts):
            for name, at in layout.inner:
                first, place = seen.setdefault((number, name), (t, at))
                if first is not t:
                    test = _same_dims(first, place, t, at, layout, name.startswith("*"))
                    chosen = f"{_variable(t)}.form != {number} || " if len(t.layouts) > 1 else ""
                    what = f"{t.name}: the dims {name} do not agree with those of {first.name}"
                    if name.lstrip("*") not in spec.broadcast:
                        tests.append(Agreement(f"{_guards(first, t)}{chosen}{test}", what, "dims", t.symbol, first.symbol, wanted=name))
    positions = {t.symbol: t.optional for t in reads if t.optional >= 0}
    for g in spec.groups:
        bits = sum(1 << positions[m] for m in g.members if m in positions)
        test = f"(present & {bits}U) == 0U || (present & {bits}U) == {bits}U"
        tests.append(Agreement(test, f"{', '.join(g.members)} are given all or none", "group"))
    return tuple(tests)


def _guards(*tensors: TensorRead) -> str:
    return "".join(f"!{_guard(t)} || " for t in tensors if _guard(t))


def _same_dims(a: TensorRead, at: int, b: TensorRead, bt: int, layout: Layout, pack: bool) -> str:
    shapes = [f"{_variable(t)}.shape" for t in (a, b)]
    if not pack:
        return f"{shapes[0]}->GetDim({at}) == {shapes[1]}->GetDim({bt})"
    ranks = (next(x.rank for x in t.layouts if x.pack >= 0) for t in (a, b))
    counts = [f"{s}->GetDimNum() - {r}" if r else f"{s}->GetDimNum()" for s, r in zip(shapes, ranks, strict=True)]
    return f"SameDims(*{shapes[0]}, {at}, {counts[0]}, *{shapes[1]}, {bt}, {counts[1]})"


def _read(spec: OpSpec, p: Param, tensor: Tensor, is_input: bool, index: int, optional: tuple[str, ...]) -> TensorRead:
    if p.flat is not None:
        layouts: tuple[Layout, ...] = (Layout(1, ((0,),), -1, f"[{p.flat.size}]", (), (p.flat.size,)),)
        extents = 1
    else:
        shapes: list[list[str | list[str]]] = [list(p.shape or []), *p.ranks]
        layouts = tuple(_layout(s) for s in shapes)
        extents = len(layouts[0].groups)
    dtypes = tuple(GE_DTYPES[c.get(p.dtype or "", p.dtype or "float32")] for c in combinations(spec))
    position = optional.index(p.symbol) if p.symbol in optional else -1
    return TensorRead(p.symbol, p.name, is_input, index, position, extents, layouts, tensor.flat is not None, len(layouts) > 1, dtypes)


def _layout(shape: list[str | list[str]]) -> Layout:
    groups: list[tuple[int, ...]] = []
    at, pack = 0, -1
    for k, dim in enumerate(shape):
        if isinstance(dim, str) and dim.startswith("*"):
            pack = k
            groups.append(())
            continue
        width = 1 if isinstance(dim, str) else len(dim)
        groups.append(tuple(range(at, at + width)))
        at += width
    text = ", ".join(d if isinstance(d, str) else ", ".join(d) for d in shape)
    inner = [(d, groups[k][j]) for k, dims in enumerate(shape) if isinstance(dims, list) for j, d in enumerate(dims)]
    if pack >= 0:
        inner.append((str(shape[pack]), pack))
    return Layout(at, tuple(groups), pack, f"[{text}]", tuple(inner), tuple(d if isinstance(d, str) else "*".join(d) for d in shape))


_GETTERS = {"float": ("GetFloat", "float"), "double": ("GetFloat", "float"), "int": ("GetInt", "int64_t"), "bool": ("GetBool", "bool")}


def _attribute(p: Param, index: int) -> AttrRead:
    getter, ctype = _GETTERS[p.type or "float"]
    if p.default is None:
        default = ""
    elif ctype == "float":
        default = f"{float(p.default)!r}f"  # type: ignore[arg-type]
    else:
        default = str(p.default).lower()
    return AttrRead(p.symbol, index, getter, ctype, default, ctype != "float")


def _sizes(expr: IntExpr) -> str:
    return integer(expr, lambda n: f"s.{n}", lambda t: f"s.elements_{t}")


def _extents(checked: CheckedSpec, reads: list[TensorRead]) -> Iterator[tuple[TensorRead, int, IntExpr]]:
    for t in reads:
        tensor = checked.program.tensors[t.symbol]
        shape = (tensor.flat.size,) if tensor.flat is not None else tensor.shape
        for k, extent in enumerate(shape):
            yield t, k, extent


def _guard(t: TensorRead) -> str:
    return f"has_{t.symbol}" if t.optional >= 0 else ""


def _bind(checked: CheckedSpec, reads: list[TensorRead]) -> tuple[tuple[Bind | Derived, ...], tuple[Agreement, ...]]:
    """Bind plain symbols, then derived dims and affine extents in rounds until nothing changes; the rest must agree."""
    known = {p.symbol for p in checked.spec.params if p.io == "attr"}
    pending = list(_extents(checked, reads))
    derived = dict(checked.derived)
    binds: list[Bind | Derived] = []
    used: set[tuple[str, bool, int]] = set()

    def take(t: TensorRead, k: int, name: str, offset: IntExpr, scale: IntExpr) -> None:
        binds.append(Bind(name, f"{_variable(t)}.extent[{k}]", _sizes(offset), _sizes(scale), _guard(t), (t.symbol,)))
        known.add(name)

    for always in (True, False):  # optional parameters bind only what nothing else does
        for t, k, extent in pending:
            name = extent.symbol
            if name is not None and name not in known and name not in derived and always == (t.optional < 0) and not t.flat:
                take(t, k, name, const(0), const(1))
                used.add((t.symbol, t.is_input, k))
    changed = True
    while changed:
        changed = False
        for name, expr in derived.items():
            if name not in known and expr.free() <= known:
                binds.append(_derived(checked, name, expr, binds))
                known.add(name)
                changed = True
        for t, k, extent in pending:
            unknown = [n for n in sorted(extent.free()) if n not in known and n not in derived]
            if len(unknown) == 1 and extent.is_affine_in(unknown):
                scale = extent.coefficient(unknown[0])
                take(t, k, unknown[0], extent - scale * sym(unknown[0]), scale)
                changed = True
    agreements = [
        Agreement(
            (f"!{_guard(t)} || " if _guard(t) else "") + f"{_variable(t)}.extent[{k}] == {_sizes(extent)}",
            f"{t.name}: extent {k} of {t.layouts[0].text} does not agree with the other parameters",
            "extent",
            t.symbol,
            place=k,
            value=f"{_variable(t)}.extent[{k}]",
            wanted=t.layouts[0].dims[k],
            expected=_sizes(extent),
            sizes=tuple(sorted(extent.free())),
        )
        for t, k, extent in pending
        if (t.symbol, t.is_input, k) not in used
    ]
    return tuple(binds), tuple(agreements)


def _variable(t: TensorRead) -> str:
    return f"{t.symbol}_{'in' if t.is_input else 'out'}"


def _derived(checked: CheckedSpec, name: str, expr: IntExpr, before: list[Bind | Derived]) -> Derived:
    divisors = [a.b for a in expr.atoms() if isinstance(a, Func) and a.op in ("floordiv", "mod") and a.b.value is None]
    zero = " || ".join(f"{_sizes(d)} == 0" for d in divisors)
    when_empty = checked.spec.dims[name].when_empty if name in checked.spec.dims else None
    origins = sorted(a.tensor for a in expr.atoms() if isinstance(a, Numel))
    origins += [o for b in before if b.symbol in expr.free() for o in b.origins]
    return Derived(name, _sizes(expr), zero if when_empty is not None else "", when_empty or 0, tuple(dict.fromkeys(origins)))
