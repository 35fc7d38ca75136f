"""Calls of aclnn<Op>GetWorkspaceSize as data, and the calls that a spec forbids, each with the status and words it must be refused with."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from generator.formula.checked import CheckedSpec
from generator.spec.model import Param
from generator.twin.verify.case import Case, Number
from generator.twin.verify.cases import case_of
from generator.twin.verify.rules import Rules
from generator.twin.verify.shapes import dtype_of, shapes_of, tensor_params
from tests.host.common import case_set, spec

NULLPTR, INVALID = 161001, 161002
ACL_DTYPES = {
    "float32": 0,
    "float16": 1,
    "int8": 2,
    "int32": 3,
    "uint8": 4,
    "int16": 6,
    "uint16": 7,
    "uint32": 8,
    "int64": 9,
    "uint64": 10,
    "float64": 11,
    "bool": 12,
    "complex64": 16,
    "complex128": 17,
    "bfloat16": 27,
}
ACL_FORMATS = {"NCHW": 0, "NHWC": 1, "ND": 2, "NC1HWC0": 3, "FRACTAL_Z": 4, "NDHWC": 27, "NZ": 29, "NCDHW": 30, "NCL": 47}
LIMITS = {"int8_t": (-128, 127), "int64_t": (-(2**63), 2**63 - 1)}

Shape = tuple[int, ...]


@dataclass(frozen=True)
class Tensor:
    """A tensor argument; ``shape`` is also the storage's, and the view is contiguous."""

    shape: Shape
    dtype: str
    format: str = "ND"


@dataclass(frozen=True)
class View:
    """A tensor argument with data: a view of a storage of ``elements`` whose bytes are in a file, written back after a run."""

    shape: Shape
    dtype: str
    strides: Shape
    offset: int
    elements: int
    path: Path


Argument = Tensor | View | Number | None


@dataclass(frozen=True)
class Call:
    """One call: ``args`` by the formula's symbol. ``results``: what is passed for the two results, "run" to run it too, or "misuse"
    to make wrong second phases of it."""

    op: str
    args: Mapping[str, Argument]
    results: str = "both"  # or "no size", "no executor", "run", "misuse"

    def having(self, symbol: str, value: Argument) -> Call:
        return replace(self, args={**self.args, symbol: value})

    def tensor(self, symbol: str) -> Tensor:
        value = self.args[symbol]
        assert isinstance(value, Tensor)
        return value


@dataclass(frozen=True)
class Bad:
    """A call that must be refused: what is wrong, the status, and sets of words of which the message must hold one each."""

    what: str
    call: Call
    status: int
    words: tuple[tuple[str, ...], ...] = field(default=())


def call_of(checked: CheckedSpec, case: Case) -> Call:
    """A legal call, from a legal case."""
    shapes = shapes_of(checked, case)
    args: dict[str, Argument] = {}
    for p in checked.spec.params:
        if p.io != "attr":
            given = Tensor(shapes[p.symbol], dtype_of(p, dict(case.dtypes)), p.formats[0])
            args[p.symbol] = None if p.symbol in case.absent else given
        else:
            default = p.default if isinstance(p.default, int | float) else 0
            args[p.symbol] = dict(case.attrs).get(p.symbol, default)
    return Call(case.op, args)


def bases(name: str) -> list[tuple[Case, Call]]:
    """A legal call for each form of the shapes, with everything optional given."""
    checked = spec(name)
    ranks = max(len(p.ranks) for p in tensor_params(checked.spec))
    found = []
    for rank in range(ranks + 1):
        cases = [c for c in case_set(name).cases if not c.absent and not c.special and c.axes and all(v > 1 for _, v in c.dims)]
        case = min(cases, key=lambda c: (abs(math.log(math.prod(v for _, v in c.dims)) - 9), c.label()))
        if rank:
            case = case_of(
                checked, {**dict(case.dims), **dict(case.attrs)}, case.target, combination=case.combination, rank=rank, seed=rank
            )
        found.append((case, call_of(checked, case)))
    return found


def bad_calls(name: str) -> Iterator[Bad]:
    """Every call of an operator that is wrong in one way."""
    for case, call in bases(name):
        maker = _Maker(spec(name), case, call)
        for kind in (maker.nulls, maker.groups, maker.dtypes, maker.ranks, maker.extents, maker.pairs, maker.attributes, maker.formats):
            yield from kind()
        yield from maker.sizes()
        yield from maker.empties()
    for violation in case_set(name).violations:
        yield from _violated(name, violation)


def extremes(p: Param) -> list[Number]:
    """Values of an attribute's type at which arithmetic may go wrong."""
    if p.type == "int":
        low, high = LIMITS[p.ctype or "int64_t"]
        return [v for v in (low, low + 1, -(2**31), -1, 2**31, 2**53, high // 2, high - 1, high) if low <= v <= high]
    return [-1e30, -1.0, -1e-3, -1e-30, math.nan, -math.inf]


def doubly_bad(name: str) -> Iterator[Bad]:
    """Calls in which one tensor has a fault that is checked before another tensor's; what is expected is the answer to the first."""
    (_, call), *_ = bases(name)
    required = [p for p in tensor_params(spec(name).spec) if not p.optional]

    def faults(p: Param) -> list[tuple[Argument, int, tuple[tuple[str, ...], ...]]]:
        t = call.tensor(p.symbol)
        return [
            (None, NULLPTR, ((p.aclnn,), ("null",))),
            (replace(t, dtype="complex128"), INVALID, ((p.aclnn,), ("dtype",))),
            (replace(t, shape=(2**62, *t.shape[1:])), INVALID, (("shape", "extent", "elements", "dims"), ("must",))),
            (replace(t, format="FRACTAL_Z"), INVALID, ((p.aclnn,), ("format",))),
        ]

    for p, q in itertools.permutations((required[0], required[-1])):
        for i, j in itertools.combinations(range(4), 2):
            (first, status, words), (second, *_) = faults(p)[i], faults(q)[j]
            yield Bad(f"{p.symbol}: {first}, {q.symbol}: {second}", call.having(p.symbol, first).having(q.symbol, second), status, words)


class _Maker:
    def __init__(self, checked: CheckedSpec, case: Case, call: Call) -> None:
        self.checked, self.case, self.call = checked, case, call
        self.params = tensor_params(checked.spec)
        self.rules = Rules(checked)
        self.known: dict[tuple[tuple[str, Number], ...], dict[str, int] | None] = {}

    def nulls(self) -> Iterator[Bad]:
        yield Bad("no place for the workspace's size", replace(self.call, results="no size"), NULLPTR)
        yield Bad("no place for the executor", replace(self.call, results="no executor"), NULLPTR)
        env = {**dict(self.case.dims), **dict(self.case.attrs)}
        for p in self.params:
            if not p.optional or self.rules.wanted([p.symbol], env):
                yield Bad(f"{p.symbol} is null", self.call.having(p.symbol, None), NULLPTR, ((p.aclnn,), ("null",)))

    def groups(self) -> Iterator[Bad]:
        names = {p.symbol: p.aclnn for p in self.params}
        for g in self.checked.spec.groups:
            for size in range(1, len(g.members)):
                for missing in itertools.combinations(g.members, size):
                    call = self.call
                    for m in missing:
                        call = call.having(m, None)
                    yield Bad(f"{missing} missing", call, INVALID, (tuple(names[m] for m in missing), ("all or none",)))

    def dtypes(self) -> Iterator[Bad]:
        bindings = [dict(c) for c in self.checked.spec.dtypes] or [{}]
        legal = {tuple(dtype_of(p, b) for p in self.params) for b in bindings}
        now = tuple(self.call.tensor(p.symbol).dtype for p in self.params)
        for k, p in enumerate(self.params):
            sharing = tuple(q.aclnn for q in self.params if q.dtype == p.dtype)
            for dtype in ACL_DTYPES:
                if (*now[:k], dtype, *now[k + 1 :]) not in legal:
                    known = any(dtype == dtype_of(p, b) for b in bindings)
                    wrong = replace(self.call.tensor(p.symbol), dtype=dtype)
                    words = sharing if known else (p.aclnn,)
                    yield Bad(f"{p.symbol} is {dtype}", self.call.having(p.symbol, wrong), INVALID, (words, ("must be",)))

    def ranks(self) -> Iterator[Bad]:
        for p in self.params:
            shape = self.call.tensor(p.symbol).shape
            for wrong in ((1, *shape), (1, 1, 1, *shape), shape[1:], (), (1,) * 9, (*shape, 1)):
                yield from self._shape(p, wrong, "rank")

    def extents(self) -> Iterator[Bad]:
        for p in self.params:
            shape = self.call.tensor(p.symbol).shape
            for d, extent in enumerate(shape):
                for wrong in (extent + 1, extent - 1, 2 * extent, 2**62):
                    yield from self._shape(p, (*shape[:d], wrong, *shape[d + 1 :]), "extent")
            for i, j in itertools.combinations(range(len(shape)), 2):
                swapped = list(shape)
                swapped[i], swapped[j] = swapped[j], swapped[i]
                yield from self._shape(p, tuple(swapped), "order")

    def _shape(self, p: Param, shape: Shape, what: str) -> Iterator[Bad]:
        changed = self.call.having(p.symbol, replace(self.call.tensor(p.symbol), shape=shape))
        if shape != self.call.tensor(p.symbol).shape and 0 not in shape and not self.legal(changed):
            yield Bad(f"{what} of {p.symbol}: {shape}", changed, INVALID, ((p.aclnn,), ("must",)))

    def pairs(self) -> Iterator[Bad]:
        """One dim changed in two parameters that have it, where a third has it too."""
        named = {p.symbol: self.written(p) for p in self.params}
        for name in sorted({n for names in named.values() for n in names if n.isidentifier()}):
            having = [p for p in self.params if name in named[p.symbol]]
            for a, b in itertools.combinations(having, 2):
                call = self.call
                for p in (a, b):
                    t = self.call.tensor(p.symbol)
                    shape = tuple(d + (n == name) for n, d in zip(named[p.symbol], t.shape, strict=True))
                    call = call.having(p.symbol, replace(t, shape=shape))
                if not self.legal(call):
                    words = tuple(p.aclnn for p in having)
                    yield Bad(f"{name} in {a.symbol} and {b.symbol}", call, INVALID, (words, ("must",)))

    def written(self, p: Param) -> list[str]:
        """The name of each dim as the spec writes it for this form."""
        if p.flat is not None:
            return [p.flat.size]
        entries: list[str | list[str]] = list(p.ranks[self.case.rank - 1]) if self.case.rank and p.ranks else list(p.shape or [])
        names: list[str] = []
        for e in entries:
            if isinstance(e, list):
                names += e
            else:
                names += [f"{e}{i}" for i in range(self.case.axes)] if e.startswith("*") else [e]
        return names

    def legal(self, call: Call, fixed: Mapping[str, Number] | None = None) -> bool:
        """Whether some dims give all the call's shapes: those of the case with up to one dim changed to what a shape says. ``fixed``
        are attributes with other values than the case's."""
        given = {p.symbol: t.shape for p in self.params if isinstance(t := call.args[p.symbol], Tensor)}
        everything = sorted({d for s in given.values() for d in s} | {math.prod(s) for s in given.values()})
        candidates: list[dict[str, Number]] = [{}]
        for name in self.rules.free:
            near = {d + k for d in everything for k in (0, 1, -1)} | {d // k for d in everything for k in (2, 3, 4)}
            candidates += [{name: v} for v in sorted(near) if 0 <= v < 2**40]
        return any(self._fits(given, {**changed, **(fixed or {})}) for changed in candidates)

    def _fits(self, given: Mapping[str, Shape], changed: Mapping[str, Number]) -> bool:
        integers = self._completed(tuple(sorted(changed.items())))
        return integers is not None and all(self._form(s, shape, integers) for s, shape in given.items())

    def _completed(self, changed: tuple[tuple[str, Number], ...]) -> dict[str, int] | None:
        """The case's sizes with these in their place, when that is legal."""
        if changed not in self.known:
            full = self.rules.completed({**dict(self.case.dims), **dict(self.case.attrs), **dict(changed)})
            legal = full is not None and self.rules.counts_agree(full) and not self.rules.broken(full)
            self.known[changed] = {k: int(v) for k, v in full.items() if isinstance(v, int)} if full is not None and legal else None
        return self.known[changed]

    def _form(self, symbol: str, shape: Shape, env: Mapping[str, int]) -> bool:
        """Whether a shape is the parameter's, at the case's form; dims that the form splits are those of the case's first input."""
        p = next(q for q in self.params if q.symbol == symbol)
        tensor = self.checked.program.tensors[symbol]
        extents = (tensor.flat.size,) if tensor.flat is not None else tensor.shape
        if p.flat is None and (self.case.rank or any(e.startswith("*") for e in p.shape or [])):
            base = self.call.tensor(symbol).shape
            if len(shape) != len(base):
                return False
            split = self._split(p)
            if any(a != b for a, b, s in zip(shape, base, split, strict=True) if s):
                return False
            kept = [d for d, s in zip(shape, split, strict=True) if not s]
            whole = [e for e, s in zip(extents, self._merged(p), strict=True) if not s]
            return kept == [e.evaluate(env) for e in whole] and env == {**env, **{n: dict(self.case.dims)[n] for n in self._grouped(p)}}
        return list(shape) == [e.evaluate(env) for e in extents]

    def _entries(self, p: Param) -> list[str | list[str]]:
        return list(p.ranks[self.case.rank - 1]) if self.case.rank and p.ranks else list(p.shape or [])

    def _merged(self, p: Param) -> list[bool]:
        return [isinstance(e, list) or e.startswith("*") for e in self._entries(p)]

    def _grouped(self, p: Param) -> list[str]:
        extents = self.checked.program.tensors[p.symbol].shape
        return [e.symbol for e, m in zip(extents, self._merged(p), strict=True) if m and e.symbol]

    def _split(self, p: Param) -> list[bool]:
        out: list[bool] = []
        for e in self._entries(p):
            out += [True] * len(e) if isinstance(e, list) else ([True] * self.case.axes if e.startswith("*") else [False])
        return out

    def attributes(self) -> Iterator[Bad]:
        """Values that an attribute's own range excludes, and the extremes of its type wherever no sizes make them legal."""
        for p in self.checked.spec.params:
            if p.io == "attr" and p.type in ("int", "float", "double"):
                rules = [self.rules._rule(p.where, p.symbol)] if p.where else []
                alone = [r for r in rules if r.needs <= {p.symbol}]
                for value in extremes(p) + (list(range(-3, 130)) if p.type == "int" and alone else []):
                    call = self.call.having(p.symbol, value)
                    if any(not self.rules.holds(r, {p.symbol: value}) for r in alone):
                        yield Bad(f"{p.symbol} = {value}", call, INVALID, ((p.aclnn,), ("must",)))
                    elif isinstance(value, int) and not self.legal(call, {p.symbol: value}):
                        yield Bad(f"{p.symbol} = {value}", call, INVALID, (("must",),))

    def formats(self) -> Iterator[Bad]:
        for p in self.params:
            for name in ACL_FORMATS:
                if name not in p.formats:
                    wrong = replace(self.call.tensor(p.symbol), format=name)
                    yield Bad(f"{p.symbol} has format {name}", self.call.having(p.symbol, wrong), INVALID, ((p.aclnn,), ("must be",)))

    def sizes(self) -> Iterator[Bad]:
        """Element counts of flat buffers."""
        for p in self.params:
            if p.flat is None:
                continue
            (count,) = self.call.tensor(p.symbol).shape
            for wrong in (count + 1, count - 1, 2 * count, count // 2, 3 * count + 7, 1, 2**62):
                yield from self._shape(p, (wrong,), "elements")

    def empties(self) -> Iterator[Bad]:
        """One tensor without elements while the others have some."""
        for p in self.params:
            t = self.call.tensor(p.symbol)
            for d in range(len(t.shape)):
                changed = self.call.having(p.symbol, replace(t, shape=(*t.shape[:d], 0, *t.shape[d + 1 :])))
                if self.checked.spec.policies.empty == "refuse" or not self.legal(changed):
                    yield Bad(f"{p.symbol} is empty", changed, INVALID, ((p.aclnn,), ("must",)))


def _violated(name: str, violation: object) -> Iterator[Bad]:
    """A violation of the shared suite as a call; an extent that comes out negative is 1, for no tensor can be made with a negative one."""
    from generator.twin.verify.case import Violation

    assert isinstance(violation, Violation)
    checked = spec(name)
    absent = violation.base.absent if violation.absent is None else violation.absent
    call = call_of(checked, replace(violation.base, absent=absent))
    for symbol, shape in violation.shapes:
        if isinstance(t := call.args[symbol], Tensor):
            call = call.having(symbol, replace(t, shape=tuple(1 if d < 0 else d for d in shape)))
    for symbol, dtype in violation.dtypes:
        if isinstance(t := call.args[symbol], Tensor):
            call = call.having(symbol, replace(t, dtype=dtype))
    for symbol, value in violation.attrs:
        call = call.having(symbol, value)
    wanted = Rules(checked).wanted(absent, {**dict(violation.base.dims), **dict(violation.base.attrs)})
    status = NULLPTR if wanted else INVALID
    names = tuple(p.aclnn for p in checked.spec.params)
    yield Bad(violation.what, call, status, (names,))
