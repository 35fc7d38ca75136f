"""Which output elements of a case beyond the evaluation budget are judged: its corners, and thousands drawn at random."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from generator.formula.checked import CheckedSpec
from generator.formula.ir import Tensor
from generator.reference.points import Points, TooMuchError
from generator.reference.precision import judge
from generator.twin.verify.case import Case, Number
from generator.twin.verify.inputs import Inputs
from generator.twin.verify.outcome import OutputResult

Array = NDArray[np.generic]

__all__ = ["COUNTS", "LIMIT", "chosen", "judge_some", "points_of"]

COUNTS = (4096, 1024, 256, 64)  # elements of each output, the most that stay within the limit
LIMIT = 2e8  # evaluation points of all judged elements together


def chosen(tensor: Tensor, env: Mapping[str, int], count: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Positions in the buffer of an output, ascending: the corners of its dims, and ``count`` at random."""
    extents = [e.evaluate(env) for e in (tensor.flat.extents if tensor.flat else tensor.shape)]
    strides = np.array([s.evaluate(env) for s in tensor.strides()], np.int64)
    if not all(extents):
        return np.zeros(0, np.int64)
    corners = itertools.islice(itertools.product(*({0, n - 1} for n in extents)), 256)
    drawn = np.stack([rng.integers(0, n, count) for n in extents], axis=1) if extents else np.zeros((1, 0), np.int64)
    at = np.concatenate([np.array(list(corners), np.int64).reshape(-1, len(extents)), drawn])
    return np.unique(at @ strides)


def points_of(checked: CheckedSpec, case: Case, inputs: Inputs, attrs: Mapping[str, Number], present: set[str]) -> Points:
    """The elements to judge, of every output that is given, ready to be evaluated."""
    env = case.integers
    outputs = [t for t in checked.program.outputs if not t.optional or t.name in present]
    for count in COUNTS:
        rng = np.random.default_rng(case.seed)
        wanted = {t.name: chosen(t, env, count, rng) for t in outputs}
        limit = LIMIT if count > COUNTS[-1] else float("inf")
        try:
            return Points(
                checked.program, inputs.values, dict(case.dims), attrs, wanted, present=present, dtypes=inputs.stored, limit=limit
            )
        except TooMuchError:
            continue
    raise AssertionError("the last count has no limit")


def judge_some(
    name: str, dtype: str, storage: Array, golden: Array, ref: Array, sample: NDArray[np.int64], low_precision: bool
) -> OutputResult:
    """The verdict on the elements at the positions ``sample`` of one output."""
    verdict = judge(storage.reshape(-1)[sample], golden, ref, dtype, low_precision=low_precision)
    if verdict.first_bad_index is not None:
        at = tuple(int(i) for i in np.unravel_index(int(sample[verdict.first_bad_index[0]]), storage.shape))
        message = verdict.message.replace(f"at {list(verdict.first_bad_index)}", f"at {list(at)}", 1)
        verdict = replace(verdict, first_bad_index=at, message=message)
    return OutputResult(name, dtype, verdict, sampled=sample.size)
