"""What a spec declares, as the formula sees it: sizes, attributes, segmented axes, packs and parameter tensors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from generator.formula.ir import FlatLayout, Kind, Tensor
from generator.spec.errors import Problem, TextError
from generator.spec.integer import IntExpr, const, product, sym
from generator.spec.load import Loc, Source
from generator.spec.model import OpSpec, Param
from generator.spec.sizes import parse_size

__all__ = ["PACK_PREFIX", "SegmentInfo", "Symbols", "declare", "dtype_kind", "is_tensor", "pack_dim"]

PACK_PREFIX = "numel_"


def pack_dim(pack: str) -> str:
    """The dim that stands for the number of elements of the axes of ``*pack``; it comes from the tensors' shapes."""
    return PACK_PREFIX + pack


def is_tensor(p: Param) -> bool:
    """Whether a parameter is a tensor rather than an attribute."""
    return p.io != "attr"


def dtype_kind(dtype: str) -> Kind:
    """The kind of number a dtype holds."""
    return "bool" if dtype == "bool" else "int" if "int" in dtype else "float"


@dataclass(frozen=True, slots=True)
class SegmentInfo:
    """One segment of a segmented axis: elements ``offset ..`` of an axis of ``total``, row-major in ``shape``."""

    axis: str
    offset: IntExpr
    shape: tuple[IntExpr, ...]
    total: IntExpr


@dataclass
class Symbols:
    """The names a formula may use."""

    dims: list[str] = field(default_factory=list)
    int_attrs: list[str] = field(default_factory=list)
    float_attrs: list[str] = field(default_factory=list)
    bool_attrs: list[str] = field(default_factory=list)
    string_attrs: list[str] = field(default_factory=list)
    segments: dict[str, SegmentInfo] = field(default_factory=dict)
    segmented: dict[str, IntExpr] = field(default_factory=dict)
    packs: list[str] = field(default_factory=list)
    tensors: dict[str, Tensor] = field(default_factory=dict)
    derived: list[tuple[str, IntExpr]] = field(default_factory=list)

    @property
    def ints(self) -> list[str]:
        """Every integer a size or index may name, packs' sizes and segmented axes included."""
        return [*self.dims, *self.int_attrs, *self.segmented]


def declare(source: Source, spec: OpSpec) -> tuple[Symbols, list[Problem]]:
    """The symbols of ``spec``. Problems are those of the texts that had to be read (sizes)."""
    reader = _Reader(source, spec)
    reader.run()
    return reader.out, reader.problems


class _Reader:
    def __init__(self, source: Source, spec: OpSpec) -> None:
        self.source = source
        self.spec = spec
        self.out = Symbols()
        self.problems: list[Problem] = []

    def run(self) -> None:
        out = self.out
        out.dims = list(self.spec.dims)
        groups = {
            "int": out.int_attrs,
            "float": out.float_attrs,
            "double": out.float_attrs,
            "bool": out.bool_attrs,
            "string": out.string_attrs,
        }
        how = self.spec.hf32.attr if self.spec.hf32 is not None else None  # says how products are computed, not what
        for p in self.spec.params:
            if not is_tensor(p) and not p.aclnn_only and p.symbol != how and p.type in groups:
                groups[p.type].append(p.symbol)
        for axis in self.spec.segments:
            out.segmented[axis] = const(0)
        for axis, parts in self.spec.segments.items():
            self.segmented(axis, parts)
        for at, p in enumerate(self.spec.params):
            if is_tensor(p):
                self.tensor(at, p)
        self.derived()

    def size(self, loc: Loc, text: str) -> IntExpr:
        """The size written at ``loc``, segmented axes replaced by their extents."""
        names = self.out.ints
        try:
            value = parse_size(text, names, ())
        except TextError as error:
            self.problems.append(self.source.inside(loc, error))
            return const(1)
        return value.substitute({k: v for k, v in self.out.segmented.items() if v.value != 0})

    def segmented(self, axis: str, parts: dict[str, list[str]]) -> None:
        offset = const(0)
        made: list[tuple[str, IntExpr, tuple[IntExpr, ...]]] = []
        for name, shape in parts.items():
            sizes = tuple(self.size(("segments", axis, name, at), text) for at, text in enumerate(shape))
            made.append((name, offset, sizes))
            offset = offset + product(sizes)
        self.out.segmented[axis] = offset
        for name, start, sizes in made:
            self.out.segments[name] = SegmentInfo(axis, start, sizes, offset)

    def shape(self, loc: Loc, texts: Sequence[str]) -> tuple[IntExpr, ...]:
        sizes: list[IntExpr] = []
        for at, text in enumerate(texts):
            if text.startswith("*"):
                name = text[1:].strip()
                if name not in self.out.packs:
                    self.out.packs.append(name)
                    self.out.dims.append(pack_dim(name))
                sizes.append(sym(pack_dim(name)))
            else:
                sizes.append(self.size((*loc, at), text))
        return tuple(sizes)

    def tensor(self, at: int, p: Param) -> None:
        loc: Loc = ("params", at)
        flat: FlatLayout | None = None
        if p.flat is not None:
            extents = tuple(self.size((*loc, "flat", "axes", axis), text) for axis, text in p.flat.axes.items())
            flat = FlatLayout(tuple(p.flat.axes), extents, tuple(p.flat.order), self.size((*loc, "flat", "size"), p.flat.size))
            shape = extents
        else:
            shape = self.shape((*loc, "shape"), p.shape or [])
        kinds = {dtype_kind(d) for d in self.dtypes(p)}
        kind: Kind = kinds.pop() if len(kinds) == 1 else "float"
        role = "input" if p.io == "in" else "output"
        self.out.tensors.setdefault(
            p.symbol,
            Tensor(p.symbol, shape, "input" if role == "input" else "output", kind, p.dtype, p.optional, p.io == "inout", flat, p.fill),
        )

    def dtypes(self, p: Param) -> set[str]:
        """Every dtype the parameter can have."""
        found = {c[p.dtype] for c in self.spec.dtypes if p.dtype in c} if p.dtype is not None else set()
        return {str(d) for d in found} or ({p.dtype} if p.dtype is not None else {"float32"})

    def derived(self) -> None:
        """Dims with a ``value:``, those they depend on first."""
        tensors = [p.symbol for p in self.spec.params if is_tensor(p)]
        values: dict[str, IntExpr] = {}
        for name, dim in self.spec.dims.items():
            if dim.value is None:
                continue
            try:
                values[name] = parse_size(dim.value, self.out.ints, tensors)
            except TextError as error:
                self.problems.append(self.source.inside(("dims", name, "value"), error))
        done: set[str] = set()
        while len(done) < len(values):
            ready = [n for n in values if n not in done and not (values[n].free() & set(values)) - done]
            if not ready:
                stuck = sorted(set(values) - done)
                where = self.source.at("dims", stuck[0], "value")
                self.problems.append(
                    self.source.problem(
                        where, "dims are derived from each other", ", ".join(stuck), "values that name other dims and element counts"
                    )
                )
                return
            for n in ready:
                self.out.derived.append((n, values[n]))
                done.add(n)
