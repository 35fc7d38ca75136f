"""What is true of a gradient text, by central differences of its forward: the judge that knows no algebra."""

from __future__ import annotations

import itertools
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from generator.formula import ir
from generator.reference.differences import gradient
from generator.reference.evaluate import run
from generator.spec.conditions import evaluate as holds
from generator.spec.sizes import parse_size
from tests.audit.corpus import Case, Text, conditions, forward_of, gradient_of

__all__ = ["Point", "UnsettledError", "confirms", "errors", "kept", "needed", "points", "truth", "wrong"]

Array = NDArray[Any]
_STEPS: Final = (2.0**-8, 2.0**-9)  # two, so that a difference across a kink is seen and left out
_SIZES: Final = (3, 2, 4, 5, 1, 7)


class UnsettledError(Exception):
    """The differences of most elements cross a kink: the point says nothing."""


@dataclass(frozen=True, eq=False)
class Point:
    """Sizes, attributes, inputs and cotangents (by forward output) at which formulas are compared."""

    sizes: Mapping[str, int]
    attrs: Mapping[str, float | bool]
    inputs: Mapping[str, Array] = field(default_factory=dict)
    cotangents: Mapping[str, Array] = field(default_factory=dict)


def points(case: Case, count: int, seed: int = 0, fixed: Mapping[str, Any] | None = None) -> Iterator[Point]:
    """``count`` random points of ``case``, at sizes that its conditions allow; ``fixed`` sets sizes, attributes, and inputs
    (to one value, or to a range ``[low, high]``)."""
    fixed, forward = fixed or {}, forward_of(case)
    rng = np.random.default_rng([seed, zlib.crc32(case.name.encode())])
    ranges = {**case.data.get("inputs", {}), **fixed}
    names = [*forward.dims, *forward.int_attrs]
    limits = conditions(case)
    choices = [[fixed[n]] if n in fixed else list(case.sizes.get(n, _SIZES)) for n in names]
    every = [dict(zip(names, c, strict=True)) for c in itertools.product(*choices)]
    allowed = [s for s in every if all(holds(x, s) for x in limits)]
    if not allowed:
        raise ValueError(f"{case.name}: no sizes that its conditions allow")
    order = rng.permutation(len(allowed))
    for turn in range(count):
        sizes = allowed[order[turn % len(allowed)]]
        attrs: dict[str, float | bool] = {n: rng.uniform(*_span(ranges.get(n, [0.3, 1.7]))) for n in forward.float_attrs}
        attrs |= {n: bool(fixed.get(n, rng.integers(2))) for n in forward.bool_attrs}
        inputs = {t.name: _draw(case, t, sizes, rng, ranges) for t in forward.inputs}
        values = run(forward, inputs, sizes, attrs)
        cotangents = {n: rng.standard_normal(values[n].shape) for n in case.data["cotangents"].values()}
        cotangents |= {n: np.full(v.shape, float(fixed["d" + n])) for n, v in cotangents.items() if "d" + n in fixed}
        yield Point(sizes, attrs, inputs, cotangents)


def _span(value: Any) -> tuple[float, float]:
    return (float(value[0]), float(value[1])) if isinstance(value, list) else (float(value), float(value))


def _draw(case: Case, tensor: ir.Tensor, sizes: Mapping[str, int], rng: np.random.Generator, ranges: Mapping[str, Any]) -> Array:
    shape = [e.evaluate(sizes) for e in tensor.shape]
    declared = case.data["tensors"][tensor.name]
    if tensor.kind == "bool":
        return rng.random(shape) < 0.5
    if tensor.kind != "float":
        top = parse_size(str(declared.get("below", 2))).evaluate(sizes) if isinstance(declared, dict) else 2
        return rng.integers(0, top, shape)
    return rng.uniform(*_span(ranges.get(tensor.name, [-2.0, 2.0])), shape)


@lru_cache(maxsize=256)
def _drawn(case: Case, count: int, seed: int) -> tuple[Point, ...]:
    return tuple(points(case, count, seed))


@lru_cache(maxsize=1024)
def truth(case: Case, of: str, point: Point) -> tuple[Array, Array] | None:
    """The gradient with respect to ``of`` and where it can be trusted; None when that is hardly anywhere."""
    forward = forward_of(case)
    coarse, fine = (gradient(forward, of, point.inputs, point.sizes, point.attrs, point.cotangents, step=s) for s in _STEPS)
    smooth = np.abs(coarse - fine) <= 1e-7 * max(float(np.max(np.abs(fine), initial=0.0)), 1e-3)
    return (fine, smooth) if smooth.sum() * 2 >= smooth.size else None


def _claimed(text: Text, point: Point) -> dict[str, Array]:
    """What the text computes at ``point``."""
    mine = gradient_of(text)
    values = kept(text.case, point)
    cotangents, saved = text.case.data["cotangents"], text.case.data.get("saved", {})
    inputs = {
        t.name: point.cotangents[cotangents[t.name]] if t.name in cotangents else values[saved.get(t.name, t.name)] for t in mine.inputs
    }
    return run(mine, inputs, needed(mine, point), point.attrs)


def errors(text: Text, point: Point) -> dict[str, float]:
    """For each gradient of ``text`` its largest distance from central differences, relative to the largest true element
    (infinite where the text gives no number). Elements whose differences cross a kink are left out."""
    given = _claimed(text, point)
    out = {}
    for name, of in text.case.data["gradients"].items():
        known = truth(text.case, of, point)
        if known is None:
            raise UnsettledError(f"{text.name}: central differences do not settle for {name}")
        fine, smooth = known
        gap = np.where(smooth, np.abs(given[name] - fine), 0.0)
        worst = float(np.max(np.where(np.isfinite(gap), gap, np.inf), initial=0.0))
        out[name] = worst / max(float(np.max(np.abs(fine), initial=0.0)), 1e-3)
    return out


def needed(program: ir.Program, point: Point) -> dict[str, int]:
    return {n: point.sizes[n] for n in (*program.dims, *program.int_attrs)}


@lru_cache(maxsize=256)
def kept(case: Case, point: Point) -> dict[str, Array]:
    """Every input, output and intermediate of the forward at ``point``."""
    forward = forward_of(case)
    shown = {n: replace(t, role="output") if t.role == "local" else t for n, t in forward.tensors.items()}
    values = run(replace(forward, tensors=shown), point.inputs, point.sizes, point.attrs)
    return {**point.inputs, **values}


def wrong(
    text: Text, *, count: int = 4, seed: int = 0, above: float = 1e-4, fixed: Mapping[str, Any] | None = None, first: bool = False
) -> dict[str, float]:
    """The gradients of ``text`` that differ from central differences by more than ``above`` (relative) at one of
    ``count`` points, with the largest distance. ``first``: stop at the first point where one does."""
    found: dict[str, float] = {}
    settled = 0
    drawn = points(text.case, 2 * count, seed, fixed) if fixed else _drawn(text.case, 2 * count, seed)
    for point in drawn:
        try:
            here = errors(text, point)
        except UnsettledError:
            continue
        settled += 1
        for name, size in here.items():
            if size > above:
                found[name] = max(size, found.get(name, 0.0))
        if settled == count or (first and found):
            return found
    raise UnsettledError(f"{text.name}: central differences settle at {settled} of {2 * count} points, expected {count}")


def confirms(text: Text, output: str, point: Point, element: tuple[int, ...], claimed: float, derived: float) -> bool:
    """Whether differences at ``point`` give ``derived`` for ``element`` of ``output``, and the text's formula ``claimed``, and the
    two differ."""
    forward = forward_of(text.case)
    ours = float(_claimed(text, point)[output][element])
    of = text.case.data["gradients"][output]
    for step in (2.0**-6, 2.0**-8, 2.0**-11, 2.0**-14):  # the smaller ones stay inside a narrow domain
        so = float(gradient(forward, of, point.inputs, point.sizes, point.attrs, point.cotangents, step=step)[element])
        scale = max(abs(so), abs(derived), 1e-3)
        if abs(so - derived) <= 1e-5 * scale:
            same = abs(ours - claimed) <= 1e-6 * max(abs(claimed), 1e-3) if np.isfinite(claimed) else not np.isfinite(ours)
            return same and not abs(ours - so) <= 1e-9 * scale
    return False
