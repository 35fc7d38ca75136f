"""The inputs of a case: random, rounded to their dtypes, or computed by the forward operator's reference."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from generator.formula.checked import CheckedSpec
from generator.formula.link import relation
from generator.reference import dtypes, evaluate
from generator.twin.verify.case import Case, Number
from generator.twin.verify.drawing import draw, poison, spoiled
from generator.twin.verify.shapes import INPUTS, attributes, dtype_of, shapes_of, tensor_params
from generator.twin.verify.traffic import touched

__all__ = ["Inputs", "make"]

Array = NDArray[np.generic]


@dataclass(frozen=True)
class Inputs:
    """``storage`` are the arrays a launch gets, in parameter order of the inputs (None: absent); ``values`` the same
    numbers as the reference takes them, by symbol and in the formula's shape (flat buffers in one dimension). Of a sampled case
    ``values`` are the storage, and ``stored`` says of which dtype."""

    storage: dict[str, Array | None]
    values: dict[str, NDArray[np.generic]]
    stored: dict[str, str] = field(default_factory=dict)


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


def _from_forward(
    ours: CheckedSpec, forward: CheckedSpec, case: Case, rng: np.random.Generator
) -> tuple[dict[str, Array], dict[str, Array]]:
    """Our inputs that are the forward's outputs, computed by its reference on random inputs; and the storage of those inputs that
    we take too."""
    dims, attrs = _forward_case(ours, forward, case, rng)
    stand_in = Case(op=forward.spec.name, target=case.target, dims=tuple(dims.items()), attrs=tuple(attrs.items()), seed=case.seed)
    shapes = shapes_of(forward, stand_in)
    values: dict[str, NDArray[np.generic]] = {}
    shared: dict[str, Array] = {}
    given = {theirs: mine for mine, theirs in relation(ours, forward).same.items()}
    combination = dict(case.dtypes) or (dict(forward.spec.dtypes[0]) if forward.spec.dtypes else {})
    for param in tensor_params(forward.spec, *INPUTS):
        if given.get(param.symbol) in case.absent:
            continue
        dtype = dtype_of(param, {k: str(v) for k, v in combination.items()})
        storage = draw(forward, param, shapes[param.symbol], stand_in, rng, dtype)
        values[param.symbol] = _decoded(storage, dtype).reshape(_formula_shape(forward, param.symbol, dims, attrs))
        if param.symbol in given:
            shared[given[param.symbol]] = storage
    outputs = evaluate.run(forward.program, values, dims, attrs, precision="float64")
    return {m: outputs[t] if t in outputs else values[t] for m, t in ours.spec.tests.from_forward.items()}, shared


def _decoded(storage: Array, dtype: str) -> Array:
    """The values of ``storage`` in a type wide enough for every one of them."""
    return dtypes.decode(storage, dtype, np.float64 if dtype == "float64" else np.float32)


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
    computed: dict[str, Array] = {}
    shared: dict[str, Array] = {}
    if checked.spec.tests.from_forward and forward is not None and all(math.prod(s) for s in shapes.values()):
        computed, shared = _from_forward(checked, forward(), case, rng)
    out = Inputs({}, {})
    marks = None
    for param in tensor_params(checked.spec, *INPUTS):
        name = param.symbol
        if name in case.absent:
            out.storage[name] = None
            continue
        tensor = checked.program.tensors[name]
        dtype = dtype_of(param, dict(case.dtypes))
        if name in computed:
            raw = dtypes.encode(computed[name], dtype)
        else:
            raw = shared[name] if name in shared else draw(checked, param, shapes[name], case, rng, dtype)
        if case.special and case.special[0] == name:
            raw = spoiled(raw, dtype, case.special[1], rng)
        if tensor.flat is not None:
            marks = marks or touched(checked.program, case.integers, set(case.absent))
            raw = raw.reshape(-1)
            raw[~marks.reads[name]] = poison(int((~marks.reads[name]).sum()), dtype)
        out.storage[name] = np.ascontiguousarray(raw.reshape(shapes[name]))
        shape = _formula_shape(checked, name, dict(case.dims), dict(case.attrs))
        if case.sampled and tensor.kind == "float":
            out.values[name], out.stored[name] = raw.reshape(shape), dtype
        else:
            out.values[name] = _decoded(raw, dtype).reshape(shape)
    return out
