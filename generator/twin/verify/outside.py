"""Elements whose NaN is a matter of how a term outside its tensor is computed.

A factor whose index leaves its tensor is 0 under a sum. A kernel may leave such a term out, or multiply the 0 by the other
factor, which is NaN when that one is NaN or infinite: both are right, and only there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from generator.formula.ir import Assign, For, Program, Stmt
from generator.formula.walk import loads
from generator.twin.verify.inputs import Inputs

__all__ = ["either_way", "has_outside"]

Array = NDArray[np.generic]
_HUGE = 1e30  # shows in every element that a special value reaches with a factor other than 0


def has_outside(program: Program) -> bool:
    """Some factor may lie outside its tensor and is then 0."""
    return any(ld.guarded and not ld.outside for s in _assignments(program.body) for ld in loads(s.value))


def _assignments(body: tuple[Stmt, ...]) -> Iterator[Assign]:
    for s in body:
        if isinstance(s, For):
            yield from _assignments(s.body)
        else:
            yield s


def either_way(
    golden: Mapping[str, Array], inputs: Inputs, evaluate: Callable[[Inputs], Mapping[str, Array]]
) -> dict[str, tuple[NDArray[np.bool_], Array]]:
    """By output, the elements that are NaN only through terms outside, and every element's value without those terms."""

    def without(finite: float) -> Mapping[str, Array]:
        values = {n: np.where(np.isfinite(a), a, finite) if a.dtype.kind == "f" else a for n, a in inputs.values.items()}
        return evaluate(replace(inputs, values=values))

    plain, huge = without(0.0), without(_HUGE)
    out = {}
    for name, value in golden.items():
        if value.dtype.kind == "f":
            reached = ~(np.asarray(plain[name]) == np.asarray(huge[name]))
            out[name] = (np.isnan(value) & ~reached, plain[name])
    return out
