"""The smallest counterexample found: sizes in ascending order, simple values first, results to 50 digits."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

from generator.symbolic.exact import UndefinedError, UnwrittenError
from generator.symbolic.model import Counterexample
from generator.symbolic.numeric import Checker, Difference
from generator.symbolic.points import Point, Sizes

__all__ = ["counterexample", "example", "shaped"]

_TRIES = 12


def counterexample(checker: Checker, ladder: Sequence[Sizes], output: str, rng: random.Random) -> Counterexample | None:
    """The first point, in ascending order of sizes, where ``output`` is wrong."""
    for sizes in ladder:
        for attempt in range(2 * _TRIES):
            point = checker.sampler.sample(sizes, rng, attempt, simple=attempt < _TRIES)
            try:
                if checker.agrees(point, [output], rng, "precise"):
                    if attempt >= 3:
                        break
                    continue
                found = checker.differences(point, output)
            except (UndefinedError, UnwrittenError):
                continue
            if found:
                return example(checker, point, output, found)
    return None


def example(checker: Checker, point: Point, output: str, found: Sequence[Difference]) -> Counterexample:
    """The counterexample that a point is, by the element that differs most."""
    element, claimed, derived = max(found, key=lambda f: abs(f[1] - f[2]) if f[1] is not None else 0)
    inputs: dict[str, object] = {n: shaped([_number(v) for v in values], point.shapes[n]) for n, values in point.inputs.items()}
    for name, of in checker.claim.cotangents.items():
        inputs[name] = shaped([_number(v) for v in point.cotangents[of]], point.shapes[of])
    return Counterexample(
        dict(point.sizes),
        {n: float(v) for n, v in point.attrs.items()},
        element,
        float("nan") if claimed is None else float(claimed),
        float(derived),
        inputs,
    )


def _number(v: Any) -> float | int | bool:
    return v if isinstance(v, bool | int) else float(v)


def shaped(values: list[Any], shape: Sequence[int]) -> Any:
    """Row-major elements as nested lists; a number for no dims."""
    if not shape:
        return values[0]
    step = len(values) // shape[0] if shape[0] else 0
    return [shaped(values[i * step : (i + 1) * step], shape[1:]) for i in range(shape[0])]
