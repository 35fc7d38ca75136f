"""Whole calls on the twin: a call gives what its kernel gives, and views that are not contiguous give the same."""

from __future__ import annotations

import random
import zlib
from collections.abc import Mapping
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from generator.twin.build import build
from generator.twin.tiling import TensorArg
from generator.twin.verify import work
from generator.twin.verify.case import Case
from generator.twin.verify.inputs import make as draw
from generator.twin.verify.session import load
from generator.twin.verify.shapes import INPUTS, OUTPUTS, attribute_values, dtype_of, shapes_of, tensor_params
from tests.host.calls import Call, Shape, View, call_of
from tests.host.common import OPERATORS, folder, small_cases, spec
from tests.host.driver import PRODUCT, make, runner

Array = NDArray[np.generic]
POISON = 0xA5


def chosen(name: str) -> Case:
    """The cheapest legal case with everything optional given and more than one element along each axis."""
    cases = [c for c in small_cases(name) if not c.absent and c.target.product == PRODUCT and all(v > 1 for _, v in c.dims)]
    return min(cases, key=lambda c: (work.cost(spec(name).program, c.integers), c.label()))


def contiguous(shape: Shape) -> Shape:
    strides = [1] * len(shape)
    for d in range(len(shape) - 1, 0, -1):
        strides[d - 1] = strides[d] * shape[d]
    return tuple(strides)


def laid(shape: Shape, layout: str, rng: random.Random) -> tuple[Shape, int, int]:
    """Strides, offset and storage elements of a view of ``shape``."""
    if layout == "transposed":
        order = list(range(len(shape)))
        rng.shuffle(order)
        strides, step = [0] * len(shape), 1
        for d in order:
            strides[d], step = step, step * shape[d]
        return tuple(strides), 0, step
    if layout == "sliced":
        wide = tuple(2 * d + 1 for d in shape)
        return tuple(2 * s for s in contiguous(wide)), 1 + sum(contiguous(wide)[:-1]), int(np.prod(wide))
    return contiguous(shape), 7, int(np.prod(shape)) + 11


def placed(data: Array, dtype: str, layout: str, path: Path, rng: random.Random) -> View:
    """``data`` written into a storage of that layout; what the view does not show is poison. Repeated data is stored once."""
    if 0 in data.strides and data.size:
        once = np.ascontiguousarray(data[tuple(slice(0, 1) if s == 0 else slice(None) for s in data.strides)])
        path.write_bytes(once.tobytes())
        strides = tuple(0 if s == 0 else c for s, c in zip(data.strides, contiguous(once.shape), strict=True))
        return View(data.shape, dtype, strides, 0, once.size, path)
    strides, offset, elements = laid(data.shape, layout, rng)
    storage = np.full(elements * data.itemsize, POISON, np.uint8).view(data.dtype)
    _window(storage, data.shape, strides, offset)[...] = data
    path.write_bytes(storage.tobytes())
    return View(data.shape, dtype, strides, offset, elements, path)


def _window(storage: Array, shape: Shape, strides: Shape, offset: int) -> Array:
    bytes_ = tuple(s * storage.itemsize for s in strides)
    return np.lib.stride_tricks.as_strided(storage[offset:], shape, bytes_, writeable=True)


def read(view: View, like: np.dtype[np.generic]) -> tuple[Array, Array]:
    """What the view shows, and the bytes around it."""
    storage = np.frombuffer(view.path.read_bytes(), like).copy()
    window = _window(storage, view.shape, view.strides, view.offset)
    shown = window.copy()
    window[...] = np.full(1, POISON, np.uint8).repeat(storage.itemsize).view(like)
    return shown, storage.view(np.uint8)


class Run:
    """The inputs of one case as arrays of raw storage, and the ways to run on them."""

    def __init__(self, name: str, place: Path) -> None:
        self.name, self.place, self.case = name, place, chosen(name)
        self.checked = spec(name)
        forward = OPERATORS[name].forward
        drawn = draw(self.checked, self.case, (lambda: load(forward)) if forward else None)
        self.shapes = shapes_of(self.checked, self.case)
        self.inputs = {s: a.reshape(self.shapes[s]) for s, a in drawn.storage.items() if a is not None}
        self.outputs = tensor_params(self.checked.spec, *OUTPUTS)

    def dtype(self, symbol: str) -> str:
        p = next(p for p in self.checked.spec.params if p.symbol == symbol)
        return dtype_of(p, dict(self.case.dtypes))

    def blank(self, symbol: str) -> Array:
        kinds = {"float32": np.float32, "float16": np.uint16, "bfloat16": np.uint16, "int32": np.int32}
        raw = np.full(int(np.prod(self.shapes[symbol])) * np.dtype(kinds[self.dtype(symbol)]).itemsize, POISON, np.uint8)
        return raw.view(kinds[self.dtype(symbol)]).reshape(self.shapes[symbol])

    def kernel(self) -> dict[str, bytes]:
        """The outputs of the kernel launched alone."""
        built = build(folder(self.name), PRODUCT, quick=True)
        ins = tensor_params(self.checked.spec, *INPUTS)
        outs = {p.symbol: self.blank(p.symbol) for p in self.outputs}
        tiled = built.tile(
            [TensorArg(self.shapes[p.symbol], self.dtype(p.symbol)) for p in ins],
            [TensorArg(self.shapes[p.symbol], self.dtype(p.symbol)) for p in self.outputs],
            attribute_values(self.checked.spec, self.case),
        )
        assert tiled.status == 0
        report = built.run(tiled, [*(np.ascontiguousarray(self.inputs[p.symbol]) for p in ins), *outs.values()])
        assert not report.breaches
        return {s: a.tobytes() for s, a in outs.items()}

    def call(self, inputs: Mapping[str, Array], layout: str, rng: random.Random) -> dict[str, bytes]:
        """The outputs of the whole call on views of that layout, and nothing around them touched."""
        call = call_of(self.checked, self.case)
        for s, a in inputs.items():
            call = call.having(s, placed(a, self.dtype(s), layout, self.place / s, rng))
        views = {}
        for p in self.outputs:
            path = self.place / f"{p.symbol}_out"
            views[p.symbol] = placed(self.blank(p.symbol), self.dtype(p.symbol), layout, path, rng)
            call = call.having(p.symbol, views[p.symbol])
        (answer,) = make([Call(call.op, call.args, "run")], partial(runner, self.name))
        assert answer.status == 0, answer.message
        found = {}
        for s, view in views.items():
            shown, around = read(view, self.blank(s).dtype)
            assert (around == POISON).all(), f"{s}: something outside the view was written"
            found[s] = shown.tobytes()
        return found

    def broadcast(self, rng: random.Random) -> tuple[dict[str, Array], dict[str, Array]]:
        """Inputs with one dim of stride 0 each, as views and as contiguous copies."""
        views = {}
        for s, a in self.inputs.items():
            d = rng.randrange(a.ndim)
            views[s] = np.broadcast_to(np.take(a, [0], axis=d), a.shape)
        return views, {s: np.ascontiguousarray(v) for s, v in views.items()}


@pytest.mark.parametrize("name", OPERATORS)
def test_a_call_gives_what_its_kernel_gives_from_any_view_into_any_view(name: str, tmp_path: Path) -> None:
    run = Run(name, tmp_path)
    rng = random.Random(zlib.crc32(name.encode()))
    expected = run.kernel()
    for layout in ("offset", "transposed", "sliced"):
        assert run.call(run.inputs, layout, rng) == expected, f"{layout}: {run.case.command()}"
    views, copies = run.broadcast(rng)
    assert run.call(views, "offset", rng) == run.call(copies, "offset", rng), f"stride 0: {run.case.command()}"
