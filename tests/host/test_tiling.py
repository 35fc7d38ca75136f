"""Tiling functions called as a graph calls them, with nothing checked before: hostile shapes are refused, never tiled."""

from __future__ import annotations

from dataclasses import replace

import pytest

from generator.twin import tiling
from generator.twin.products import product
from generator.twin.tiling import Attr, TensorArg
from generator.twin.verify.case import Case
from generator.twin.verify.shapes import INPUTS, OUTPUTS, attribute_values, attributes, dtype_of, shapes_of, tensor_params
from tests.host.calls import bases, extremes
from tests.host.common import OPERATORS, folder, spec
from tests.host.driver import PRODUCT
from tests.host.inferring import tiling_of

CHIP = product(PRODUCT)


class Tiler:
    """The tiling function of one operator and the arguments of one legal call."""

    def __init__(self, name: str, case: Case) -> None:
        self.checked, self.library = spec(name), tiling_of(folder(name))
        shapes = shapes_of(self.checked, case)
        self.tensors = {p.symbol: TensorArg(shapes[p.symbol], dtype_of(p, dict(case.dtypes))) for p in tensor_params(self.checked.spec)}
        self.attrs: list[Attr] = list(attribute_values(self.checked.spec, case))

    def status(self, **changed: TensorArg) -> int:
        """Its answer, with other tensors than the legal call's."""
        given = {**self.tensors, **changed}
        inputs, outputs = ([given[p.symbol] for p in tensor_params(self.checked.spec, *kinds)] for kinds in (INPUTS, OUTPUTS))
        return tiling.call(self.library, inputs, outputs, self.attrs, CHIP).status


@pytest.mark.parametrize("name", OPERATORS)
def test_a_shape_with_an_unknown_negative_or_overflowing_dim_is_refused(name: str) -> None:
    for case, _ in bases(name):
        tiler = Tiler(name, case)
        assert tiler.status() == 0
        for symbol, arg in tiler.tensors.items():
            shapes = [(-2,)]  # an unknown rank
            for d in range(len(arg.shape)):
                shapes += [(*arg.shape[:d], wrong, *arg.shape[d + 1 :]) for wrong in (-1, -(2**63), 2**62, 2**63 - 1)]
            for shape in shapes:
                assert tiler.status(**{symbol: replace(arg, shape=shape)}) != 0, f"{symbol}: {shape}"
        unknown = {s: replace(a, shape=tuple(-1 for _ in a.shape)) for s, a in tiler.tensors.items()}
        assert tiler.status(**unknown) != 0


@pytest.mark.parametrize("name", OPERATORS)
def test_integer_attributes_at_the_limits_of_their_type_are_refused(name: str) -> None:
    for case, _ in bases(name):
        for at, p in enumerate(attributes(spec(name).spec)):
            for value in extremes(p) if p.type == "int" else ():
                tiler = Tiler(name, case)
                tiler.attrs[at] = value
                assert tiler.status() != 0, f"{p.symbol} = {value}"
