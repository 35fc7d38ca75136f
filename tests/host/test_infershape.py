"""Shape and dtype inference of every operator against the reference's shapes, with dims and ranks known or not."""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest

from generator.formula.checked import CheckedSpec
from generator.spec.model import Param
from generator.twin.tiling import DTYPES
from generator.twin.verify.case import Case
from generator.twin.verify.shapes import INPUTS, OUTPUTS, attribute_values, dtype_of, shapes_of, tensor_params
from tests.host.common import OPERATORS, small_cases, spec
from tests.host.inferring import UNKNOWN_RANK, Shape, infer_shapes, infer_types

DRAWS = 300


class Call:
    """One legal call of an operator: its inputs' shapes (None where absent) and its outputs'."""

    def __init__(self, checked: CheckedSpec, case: Case) -> None:
        self.checked, self.case = checked, case
        self.shapes = shapes_of(checked, case)
        self.inputs = tensor_params(checked.spec, *INPUTS)
        self.outputs = tensor_params(checked.spec, *OUTPUTS)
        self.attrs = attribute_values(checked.spec, case)

    def given(self, p: Param) -> bool:
        return p.symbol not in self.case.absent

    def typed(self, p: Param, shape: Shape) -> tuple[Shape, str] | None:
        return (shape, dtype_of(p, dict(self.case.dtypes))) if self.given(p) else None

    def right(self, p: Param) -> Shape:
        """The shape an output is to have: [0] where a flag says that it is not wanted."""
        flagged = any(p.symbol in f.outputs for f in self.checked.spec.flags)
        return (0,) if flagged and not self.given(p) else self.shapes[p.symbol]

    def infer(self, shapes: dict[str, Shape]) -> list[Shape] | None:
        inputs = [self.typed(p, shapes[p.symbol]) for p in self.inputs]
        return infer_shapes(self.checked.spec.name, inputs, self.attrs, len(self.outputs))

    def dims(self, p: Param) -> list[str]:
        """The name of each dim of a parameter as the spec writes it; a pack's dims by place, a flat buffer's as nothing."""
        if p.flat is not None:
            return [""]
        entries: list[str | list[str]] = list(p.ranks[self.case.rank - 1]) if self.case.rank and p.ranks else list(p.shape or [])
        names: list[str] = []
        for e in entries:
            if isinstance(e, list):
                names += e
            else:
                names += [f"{e}{i}" for i in range(self.case.axes)] if e.startswith("*") else [e]
        return names


def draws(name: str, seed: int, count: int) -> Iterator[tuple[Call, random.Random]]:
    rng = random.Random(f"{name}{seed}")
    cases = small_cases(name)
    for _ in range(count):
        yield Call(spec(name), rng.choice(cases)), rng


def hidden(call: Call, rng: random.Random) -> dict[str, Shape]:
    """The inputs' shapes, with some dims unknown and some ranks."""
    chance = rng.choice((0.0, 0.2, 0.5, 0.9))
    out = {}
    for p in call.inputs:
        shape = call.shapes[p.symbol]
        out[p.symbol] = UNKNOWN_RANK if rng.random() < chance / 3 else tuple(-1 if rng.random() < chance else d for d in shape)
    return out


def said(call: Call, shapes: dict[str, Shape]) -> set[str]:
    """Names of dims that some input's known dim says outright."""
    return {
        n
        for p in call.inputs
        if call.given(p) and shapes[p.symbol] != UNKNOWN_RANK
        for n, d in zip(call.dims(p), shapes[p.symbol], strict=True)
        if d >= 0
    }


@pytest.mark.parametrize("name", OPERATORS)
def test_known_inputs_give_the_reference_shapes(name: str) -> None:
    for call, _ in draws(name, 1, 60):
        assert call.infer(call.shapes) == [call.right(p) for p in call.outputs], call.case.label()


@pytest.mark.parametrize("name", OPERATORS)
def test_what_is_inferred_from_partly_known_inputs_is_right_and_nothing_said_is_lost(name: str) -> None:
    unknown = 0
    for call, rng in draws(name, 2, DRAWS):
        shapes = hidden(call, rng)
        inferred = call.infer(shapes)
        assert inferred is not None, (call.case.label(), shapes)
        names = said(call, shapes)
        for p, shape in zip(call.outputs, inferred, strict=True):
            right = call.right(p)
            where = f"{call.case.label()}: {p.symbol} of {shapes}"
            if shape == UNKNOWN_RANK:
                several = len(p.ranks) > 0 or any(d.startswith("*") for d in p.shape or [])
                ranked = [q for q in call.inputs if call.given(q) and shapes[q.symbol] != UNKNOWN_RANK]
                assert several, where
                assert not any(q.ranks or any(d.startswith("*") for d in q.shape or []) for q in ranked), where
                continue
            assert len(shape) == len(right), where
            for n, d, r in zip(call.dims(p), shape, right, strict=True):
                assert d in (-1, r), where
                assert d == r or n not in names, where
                unknown += d == -1
    assert unknown > 0


@pytest.mark.parametrize("name", OPERATORS)
def test_inputs_that_contradict_each_other_are_refused(name: str) -> None:
    refused = 0
    for call, _ in draws(name, 3, 20):
        given = [p for p in call.inputs if call.given(p)]
        for p in given:
            for k, n in enumerate(call.dims(p)):
                elsewhere = any(n in call.dims(q) for q in given if q is not p) or n in call.dims(p)[:k]
                if n.isidentifier() and elsewhere:
                    shape = call.shapes[p.symbol]
                    wrong = {**call.shapes, p.symbol: (*shape[:k], shape[k] + 1, *shape[k + 1 :])}
                    assert call.infer(wrong) is None, (call.case.label(), p.symbol, k)
                    refused += 1
    shared = len([p for p in tensor_params(spec(name).spec, *INPUTS) if p.flat is None]) > 1
    assert refused > 0 or not shared


@pytest.mark.parametrize("name", OPERATORS)
def test_a_rank_no_form_has_is_refused(name: str) -> None:
    for call, _ in draws(name, 4, 5):
        for p in call.inputs:
            if call.given(p) and not any(d.startswith("*") for d in p.shape or []):
                wrong = {**call.shapes, p.symbol: (1, 1, *call.shapes[p.symbol], 1)}
                assert call.infer(wrong) is None, p.symbol


@pytest.mark.parametrize("name", OPERATORS)
def test_the_outputs_have_the_dtypes_of_the_combination(name: str) -> None:
    checked = spec(name)
    for binding in [dict(c) for c in checked.spec.dtypes] or [{}]:
        call = Call(checked, small_cases(name)[0])
        inputs = [(call.shapes[p.symbol], dtype_of(p, binding)) for p in call.inputs]
        expected = [DTYPES[dtype_of(p, binding)] for p in call.outputs]
        assert infer_types(name, inputs, len(call.outputs)) == expected
