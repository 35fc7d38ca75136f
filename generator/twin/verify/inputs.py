"""Random inputs of a case, rounded to their dtypes, and the poison that fills what the formula does not define."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from generator.formula.checked import CheckedSpec
from generator.formula.ir import Gather, Program, Tensor
from generator.formula.link import relation
from generator.reference import dtypes, evaluate
from generator.spec.model import Param
from generator.twin.verify.case import Case, Number
from generator.twin.verify.factors import loads_of
from generator.twin.verify.shapes import INPUTS, attributes, dtype_of, shapes_of, tensor_params
from generator.twin.verify.traffic import touched

__all__ = ["Inputs", "make", "poison"]

Array = NDArray[np.generic]
Floats = NDArray[np.float64]
_RANGE = (-2.0, 2.0)


@dataclass(frozen=True)
class Inputs:
    """``storage`` are the arrays a launch gets, in parameter order of the inputs (None: absent); ``values`` the same
    numbers as the reference takes them, by symbol and in the formula's shape (flat buffers in one dimension)."""

    storage: dict[str, Array | None]
    values: dict[str, NDArray[np.generic]]


def poison(count: int, dtype: str) -> Array:
    """``count`` elements that no kernel computes: NaNs with a payload, or an odd integer."""
    kind = dtypes.STORAGE[dtype]
    patterns = {"float32": np.uint32(0x7FC0DEAD), "float16": np.uint16(0x7E5A), "bfloat16": np.uint16(0x7FDA)}
    if dtype in patterns:
        return np.full(count, patterns[dtype]).view(kind)
    if dtype == "bool":
        return np.zeros(count, kind)
    return np.full(count * kind.itemsize, 0x5A, np.uint8).view(kind)


def _index_limits(program: Program) -> dict[str, list[tuple[Tensor, int]]]:
    """Integer tensor -> the (tensor, dim) pairs it indexes."""
    out: dict[str, list[tuple[Tensor, int]]] = {}
    for load in loads_of(program.body):
        for d, index in enumerate(load.indices):
            if isinstance(index, Gather):
                out.setdefault(index.load.tensor, []).append((program.tensors[load.tensor], d))
    return out


def _random(checked: CheckedSpec, param: Param, shape: tuple[int, ...], case: Case, rng: np.random.Generator) -> NDArray[np.generic]:
    """Random values: uniform in ``tests.inputs`` for floats, legal indices or small numbers for integers."""
    tensor = checked.program.tensors[param.symbol]
    if tensor.kind == "bool":
        return rng.integers(0, 2, shape).astype(bool)
    limits = checked.spec.tests.inputs.get(param.symbol)
    if tensor.kind == "int":
        indexed = _index_limits(checked.program).get(param.symbol)
        if indexed:
            top = min(t.shape[d].evaluate(case.integers) for t, d in indexed)
            return rng.integers(0, max(1, top), shape)
        low, high = (int(limits[0]), int(limits[1])) if limits else (-8, 8)
        return rng.integers(low, high + 1, shape)
    low_f, high_f = limits if limits else _RANGE
    return rng.uniform(low_f, high_f, shape)


def _special(values: Floats, special: str, rng: np.random.Generator) -> Floats:
    """One element, so one row, becomes NaN or an infinity."""
    if values.size:
        values.reshape(-1)[rng.integers(values.size)] = float(special)
    return values


def _forward_case(
    ours: CheckedSpec, forward: CheckedSpec, case: Case, rng: np.random.Generator
) -> tuple[dict[str, int], dict[str, Number]]:
    """Dims and attributes of the forward: by name, else from the shapes of the bound tensors, else a test value."""
    known = {n: e.evaluate(case.integers) for n, e in relation(ours, forward).sizes.items()}
    attrs: dict[str, Number] = {}
    mine_attrs = dict(case.attrs)
    for param in attributes(forward.spec):
        options: list[Number] = forward.spec.tests.attrs.get(param.symbol) or []
        if not options and isinstance(param.default, int | float):
            options = [param.default]
        drawn = options[int(rng.integers(len(options)))] if options else None
        value = mine_attrs.get(param.symbol, known.get(param.symbol, drawn))
        if value is not None:
            attrs[param.symbol] = value
    return {n: v for n, v in known.items() if n in forward.program.dims}, attrs


def _from_forward(ours: CheckedSpec, forward: CheckedSpec, case: Case, rng: np.random.Generator) -> dict[str, NDArray[np.generic]]:
    """Our inputs that are the forward's outputs, computed by its reference on random inputs."""
    dims, attrs = _forward_case(ours, forward, case, rng)
    stand_in = Case(op=forward.spec.name, target=case.target, dims=tuple(dims.items()), attrs=tuple(attrs.items()), seed=case.seed)
    shapes = shapes_of(forward, stand_in)
    values: dict[str, NDArray[np.generic]] = {}
    given = {theirs: mine for mine, theirs in relation(ours, forward).same.items()}
    combination = dict(case.dtypes) or (dict(forward.spec.dtypes[0]) if forward.spec.dtypes else {})
    for param in tensor_params(forward.spec, *INPUTS):
        if given.get(param.symbol) in case.absent:
            continue
        drawn = _random(forward, param, shapes[param.symbol], stand_in, rng)
        dtype = dtype_of(param, {k: str(v) for k, v in combination.items()})
        values[param.symbol] = dtypes.decode(dtypes.encode(drawn, dtype), dtype).reshape(_formula_shape(forward, param.symbol, dims, attrs))
    outputs = evaluate.run(forward.program, values, dims, attrs, precision="float64")
    out = {m: outputs[t] if t in outputs else values[t] for m, t in ours.spec.tests.from_forward.items()}
    # inputs that the forward takes too must be those it was run on
    out.update({given[s]: v for s, v in values.items() if s in given})
    return out


def _formula_shape(checked: CheckedSpec, name: str, dims: Mapping[str, int], attrs: Mapping[str, Number]) -> tuple[int, ...]:
    """The shape the formula sees: canonical rank, one dimension for flat buffers."""
    env = {**{n: v for n, v in attrs.items() if isinstance(v, int) and not isinstance(v, bool)}, **dims}
    tensor = checked.program.tensors[name]
    if tensor.flat is not None:
        return (tensor.flat.size.evaluate(env),)
    return tuple(e.evaluate(env) for e in tensor.shape)


def make(checked: CheckedSpec, case: Case, forward: Callable[[], CheckedSpec] | None = None) -> Inputs:
    """The inputs of a case, a function of the spec and the case's seed alone.

    ``forward`` gives the forward operator's spec where ``tests.from_forward`` needs it. Elements of a flat buffer that
    the formula does not read are poison in both forms.
    """
    rng = np.random.default_rng(case.seed)
    shapes = shapes_of(checked, case)
    marks = touched(checked.program, case.integers, set(case.absent))
    computed: dict[str, NDArray[np.generic]] = {}
    if checked.spec.tests.from_forward and forward is not None and all(math.prod(s) for s in shapes.values()):
        computed = _from_forward(checked, forward(), case, rng)
    storage: dict[str, Array | None] = {}
    values: dict[str, NDArray[np.generic]] = {}
    for param in tensor_params(checked.spec, *INPUTS):
        name = param.symbol
        if name in case.absent:
            storage[name] = None
            continue
        tensor = checked.program.tensors[name]
        drawn = computed[name].copy() if name in computed else _random(checked, param, shapes[name], case, rng)
        if case.special and case.special[0] == name:
            drawn = _special(drawn.astype(np.float64), case.special[1], rng)
        dtype = dtype_of(param, dict(case.dtypes))
        raw = dtypes.encode(drawn, dtype)
        if tensor.flat is not None:
            mask = marks.reads[name]
            raw = raw.reshape(-1)
            raw[~mask] = poison(int((~mask).sum()), dtype)
        storage[name] = np.ascontiguousarray(raw.reshape(shapes[name]))
        width = np.float64 if dtype == "float64" else np.float32  # wide enough for every value of the dtype
        values[name] = dtypes.decode(raw, dtype, width).reshape(_formula_shape(checked, name, dict(case.dims), dict(case.attrs)))
    return Inputs(storage, values)


