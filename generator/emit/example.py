"""The example of one operator: a client program that runs it once and checks every output against the formula."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from generator.emit.errors import EmitError
from generator.emit.names import snake
from generator.emit.numpy_cases import Case, cases
from generator.emit.prototype import ACL_DTYPES, ACL_FORMATS, ctype
from generator.emit.scalar_cpp import TYPES, CppNames, elements, number, print_function, size
from generator.emit.shapes import combinations
from generator.formula import ir
from generator.formula.checked import CheckedSpec
from generator.formula.link import relation
from generator.formula.symbols import PACK_PREFIX
from generator.reference.liveness import assigns, loads
from generator.spec.model import Param

__all__ = ["Example", "Helpers", "Tensor", "Value", "example"]

_THRESHOLDS: Final = {"float16": 2.0**-10, "bfloat16": 2.0**-7, "float32": 2.0**-13}
_RANGE: Final = (-2.0, 2.0)
_DRAWN: Final = 24  # legal cases looked at for the most telling one


@dataclass(frozen=True)
class Value:
    """A size or an attribute: ``ctype name = text``."""

    name: str
    ctype: str
    text: str


@dataclass(frozen=True)
class Tensor:
    """One tensor of the example. ``make`` are its array's constructor arguments, ``shape`` its extents on the device."""

    name: str
    aclnn: str
    ctype: str
    make: str
    shape: str
    dtype: str
    format: str
    fill: str
    low: str
    high: str
    seed: int
    tolerance: str


@dataclass(frozen=True)
class Helpers:
    """Helper functions that the formulas use, by lower-case name."""

    used: frozenset[str]

    def __contains__(self, name: str) -> bool:
        return name in self.used


@dataclass(frozen=True)
class Forward:
    """What the saved tensors are computed by: the forward's function, its own inputs and outputs, and the copies."""

    name: str
    function: str
    inputs: tuple[Tensor, ...]
    outputs: tuple[Tensor, ...]
    arguments: str
    saved: tuple[tuple[str, str, str], ...]  # our array, the forward's array, our dtype


@dataclass(frozen=True)
class Example:
    """Everything the template prints."""

    op: str
    snake: str
    values: tuple[Value, ...]
    inputs: tuple[Tensor, ...]  # drawn here
    saved: tuple[Tensor, ...]  # filled from the forward's outputs
    outputs: tuple[Tensor, ...]
    checked: tuple[Tensor, ...]  # outputs and what is computed in place
    function: str
    arguments: str
    call: str
    forward: Forward | None
    helpers: Helpers


def example(checked: CheckedSpec, forward: CheckedSpec | None) -> Example:
    """The example's parts; deterministic. ``forward`` is needed for an operator that takes what its forward saves."""
    return _Example(checked, forward).build()


def _case(checked: CheckedSpec, forward: CheckedSpec | None) -> Case:
    """The legal case, of the first few, with the fewest extents of 1 and then the most elements."""

    def weight(case: Case) -> tuple[int, float]:
        extents = [math.prod(v) if isinstance(v, tuple) else v for k, v in case.items() if k in dims]
        whole = [e for e in extents if isinstance(e, int)]
        return sum(e > 1 for e in whole), math.prod(whole)

    dims = {d.removeprefix(PACK_PREFIX) for d in checked.program.dims}
    found = max(itertools.islice(cases(checked, forward), _DRAWN), key=weight, default=None)
    if found is None:
        raise EmitError(f"{checked.path}: no small sizes and attributes meet all conditions, tests.values may name some")
    return found


class _Example:
    def __init__(self, checked: CheckedSpec, forward: CheckedSpec | None) -> None:
        self.checked, self.spec, self.program = checked, checked.spec, checked.program
        named = {*self.program.int_attrs, *self.program.float_attrs, *self.program.bool_attrs}
        beside = [p for p in self.spec.params if p.io == "attr" and p.symbol not in named]  # the formula cannot name it
        defaults = {p.symbol: p.default for p in beside if isinstance(p.default, (int, float, bool, str))}
        self.case: Case = {**_case(checked, forward), **defaults}
        self.dtypes = combinations(self.spec)[0]
        self.relation = relation(checked, forward) if forward is not None else None
        saved = {**self.relation.saved, **self.spec.tests.from_forward} if self.relation else {}
        self.saved = {ours: theirs for ours, theirs in saved.items() if ours in self.program.tensors}
        self.forward = forward if self.saved else None
        attrs = [p.symbol for p in self.spec.params if p.io == "attr"]
        self.names = CppNames([*self.program.tensors, *self.program.dims, *attrs])
        self.helpers: set[str] = set()

    def build(self) -> Example:
        function = print_function(self.checked, "Reference", self.helpers)
        forward = self._forward() if self.forward is not None else None
        if "gelu" in self.helpers:
            self.helpers.add("erf")
        if "logsigmoid" in self.helpers:
            self.helpers.add("softplus")
        given = [p for p in self.spec.params if p.io in ("in", "inout")]
        return Example(
            op=self.spec.name,
            snake=snake(self.spec.name),
            values=tuple(self._values()),
            inputs=tuple(self._tensor(p, k) for k, p in enumerate(given, 1) if p.symbol not in self.saved),
            saved=tuple(self._tensor(p, k) for k, p in enumerate(given, 1) if p.symbol in self.saved),
            outputs=tuple(self._tensor(p, 0) for p in self.spec.params if p.io == "out"),
            checked=tuple(self._tensor(p, 0) for p in self.spec.params if p.io in ("out", "inout")),
            function=function,
            arguments=", ".join(self._arguments(self.program, {})),
            call=", ".join(self._passed(p) for p in self.spec.params),
            forward=forward,
            helpers=Helpers(frozenset(self.helpers)),
        )

    # sizes and attributes -------------------------------------------------------------------------------------------
    def _values(self) -> Iterator[Value]:
        for dim in self.program.dims:
            value = self.case.get(dim.removeprefix(PACK_PREFIX), 0)
            text = " * ".join(map(str, value)) or "1" if isinstance(value, tuple) else str(value)
            yield Value(self.names(dim), "int64_t", text)
        ours = {p.symbol: p for p in self.spec.params if p.io == "attr"}
        theirs = {p.symbol: p for p in self.forward.spec.params if p.io == "attr"} if self.forward else {}
        for symbol, p in {**theirs, **ours}.items():
            if symbol not in self.program.dims and symbol in self.case:
                value = self.case[symbol]
                if p.type in ("float", "double"):
                    yield Value(self.names(symbol), "double", number(float(value)))  # type: ignore[arg-type]
                elif p.type in ("int", "bool"):
                    yield Value(self.names(symbol), "int64_t" if p.type == "int" else "bool", str(value).lower())

    # tensors --------------------------------------------------------------------------------------------------------
    def _tensor(self, p: Param, seed: int, of: CheckedSpec | None = None, name: str = "") -> Tensor:
        spec, program = (of or self.checked).spec, (of or self.checked).program
        t = program.tensors[p.symbol]
        named = self.names if of is None else self._theirs()
        dtype = self.dtypes.get(p.dtype or "", p.dtype or "float32")
        dtype = dtype if dtype in ACL_DTYPES else combinations(spec)[0].get(dtype, "float32")
        low, high = self._range(of or self.checked, p.symbol, t)
        fill = number(t.fill) if t.fill is not None and p.io == "out" else f"Undefined<{TYPES[t.kind]}>()" if p.io == "out" else ""
        return Tensor(
            name=name or self.names(p.symbol),
            aclnn=p.aclnn,
            ctype=TYPES[t.kind],
            make=elements(t, named),
            shape=self._shape(p, t, named),
            dtype=ACL_DTYPES[dtype],
            format=ACL_FORMATS[p.formats[0]],
            fill=fill,
            low=low,
            high=high,
            seed=seed,
            tolerance=number(4 * max(_THRESHOLDS.get(dtype, 0.0), _THRESHOLDS[self.spec.compute]) if t.kind == "float" else 0.0),
        )

    def _shape(self, p: Param, t: ir.Tensor, names: CppNames) -> str:
        if t.flat is not None:
            return f"{{{size(t.flat.size, names)}}}"
        parts: list[str] = []
        for e, s in zip(t.shape, p.shape or [], strict=True):
            pack = self.case.get(s.lstrip("*").strip()) if s.startswith("*") else None
            parts += map(str, pack) if isinstance(pack, tuple) else [size(e, names)]
        return f"{{{', '.join(parts)}}}"

    def _range(self, of: CheckedSpec, symbol: str, t: ir.Tensor) -> tuple[str, str]:
        """Bounds of the values drawn; for integers that index a tensor, its legal indices."""
        if t.kind == "bool":
            return "0.0", "2.0"
        low, high = of.spec.tests.inputs.get(symbol, _RANGE)
        if t.kind == "int":
            for load in (n for a in assigns(of.program.body) for n in loads(a)):
                for d, index in enumerate(load.indices):
                    if isinstance(index, ir.Gather) and index.load.tensor == symbol:
                        extent = size(of.program.tensors[load.tensor].shape[d], self.names)
                        return "0.0", f"static_cast<double>({extent})"
        return number(low), number(high)

    # calls ----------------------------------------------------------------------------------------------------------
    def _arguments(self, program: ir.Program, renamed: dict[str, str]) -> Iterator[str]:
        """Arguments of a printed function, in its order."""
        for n in (*program.dims, *program.int_attrs, *program.float_attrs, *program.bool_attrs):
            yield renamed.get(n) or self.names(n)
        yield from (renamed.get(t.name) or self.names(t.name) for t in (*program.inputs, *program.outputs))

    def _passed(self, p: Param) -> str:
        if p.io != "attr":
            return f"{self.names(p.symbol)}_device.tensor"
        kind = ctype(p)
        if p.symbol in self.case and kind in ("int64_t", "bool", "double"):
            return self.names(p.symbol)
        if p.symbol in self.case and not kind.endswith("*"):
            return f"static_cast<{kind}>({self.names(p.symbol)})"
        return "nullptr"

    # the forward ----------------------------------------------------------------------------------------------------
    def _theirs(self) -> CppNames:
        """Names for sizes of the forward in terms of ours."""
        assert self.relation is not None
        relation_sizes, names = self.relation.sizes, self.names

        class Theirs(CppNames):
            def __call__(self, name: str) -> str:
                if name not in relation_sizes:
                    return names(name)
                text = size(relation_sizes[name], names)
                return text if relation_sizes[name].is_symbol or relation_sizes[name].value is not None else f"({text})"

        return Theirs()

    def _forward(self) -> Forward:
        assert self.forward is not None
        assert self.relation is not None
        names = self._theirs()
        same = {theirs: ours for ours, theirs in self.relation.same.items()}
        renamed = {n: names(n) for n in (*self.forward.program.dims, *self.forward.program.int_attrs)}
        inputs, outputs = [], []
        for k, p in enumerate(self.forward.spec.params, 1):
            if p.io == "attr":
                continue
            ours = same.get(p.symbol)
            renamed[p.symbol] = self.names(ours) if ours is not None and p.io == "in" else self.names.fresh(f"forward_{p.symbol}")
            if p.io == "out":
                outputs.append(self._tensor(p, 0, self.forward, renamed[p.symbol]))
            elif ours is None:
                inputs.append(self._tensor(p, 100 + k, self.forward, renamed[p.symbol]))
        by_symbol = {p.symbol: p for p in self.spec.params}
        saved = tuple((self.names(o), renamed[t], self._tensor(by_symbol[o], 0).dtype) for o, t in self.saved.items())
        return Forward(
            name=self.forward.spec.name,
            function=print_function(self.forward, "Forward", self.helpers),
            inputs=tuple(inputs),
            outputs=tuple(outputs),
            arguments=", ".join(self._arguments(self.forward.program, renamed)),
            saved=saved,
        )
