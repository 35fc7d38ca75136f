"""The precision standard: whether an output is right, by which rule, and by how much.

Golden values are the formula in float64 on the inputs as rounded to their dtype. A float output passes when

(a) the mean of |out - golden| / (|golden| + tiny) is below ``thr`` and the largest below ``10 * thr``; or
(b) rms(out - golden) <= 2 rms(ref - golden) and max|out - golden| <= 4 max|ref - golden|, where ``ref`` is the formula in
    the compute dtype, reductions left to right, rounded once to the output dtype.

Integers are exact, quantised outputs within one unit. NaN and Inf stand exactly where the reference has them: where
golden and ref, both rounded to the output dtype, disagree (an overflow on the edge), either is accepted.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal

import numpy as np
from numpy.typing import NDArray

from generator.reference.dtypes import decode, encode, is_float

__all__ = ["THRESHOLD", "Verdict", "judge", "threshold"]

Array = NDArray[Any]
Rule = Literal["a", "b", "exact"]

THRESHOLD: Final[Mapping[str, float]] = {"float16": 2.0**-10, "bfloat16": 2.0**-7, "float32": 2.0**-13, "float64": 2.0**-13}
_TINY: Final = 1e-7
_TINY_HALF: Final = 6.1e-5


@dataclass(frozen=True, slots=True)
class Verdict:
    """How one output did. ``mean_rel`` and ``max_rel`` are the figures of rule (a), ``ratio_rms`` and ``ratio_max`` those
    of rule (b) (limits 2 and 4; inf when ref is exact and out is not). ``rule`` is the rule that passed it."""

    passed: bool
    rule: Rule | None
    mean_rel: float
    max_rel: float
    ratio_rms: float
    ratio_max: float
    first_bad_index: tuple[int, ...] | None
    message: str


def threshold(dtype: str, *, low_precision: bool = False) -> float:
    """``thr`` of rule (a); ``low_precision`` is float32 computed in HF32 or float16."""
    return THRESHOLD["float16"] if dtype == "float32" and low_precision else THRESHOLD[dtype]


def judge(out_storage: Array, golden: Array, ref: Array, dtype: str, *, low_precision: bool = False, quantised: bool = False) -> Verdict:
    """The verdict on ``out_storage`` (storage of ``dtype``) against ``golden`` (float64, unrounded) and ``ref`` (compute
    dtype, unrounded); all three of one shape, else ValueError."""
    if not out_storage.shape == golden.shape == ref.shape:
        raise ValueError(f"shapes differ: out {out_storage.shape}, golden {golden.shape}, ref {ref.shape}")
    if not is_float(dtype):
        return _judge_whole(out_storage, golden, dtype, 1 if quantised else 0)
    with np.errstate(all="ignore"):
        out = decode(out_storage, dtype)
        ref = decode(encode(ref, dtype), dtype)
        rounded = decode(encode(golden, dtype), dtype)
        special = ~(np.isfinite(out) & np.isfinite(rounded) & np.isfinite(ref))
        wrong = special & ~_same_class(out, rounded) & ~_same_class(out, ref)
        if wrong.any():
            return _misplaced(out, rounded, wrong)
        keep = np.isfinite(out) & np.isfinite(golden)
        return _judge_finite(out, golden.astype(np.float64, copy=False), ref, keep, dtype, threshold(dtype, low_precision=low_precision))


def _same_class(x: Array, y: Array) -> Array:
    """Both NaN, both the same infinity, or both finite."""
    out: Array = (np.isnan(x) & np.isnan(y)) | (np.isinf(x) & (x == y)) | (np.isfinite(x) & np.isfinite(y))
    return out


def _first(mask: Array) -> tuple[int, ...]:
    return tuple(int(i) for i in np.unravel_index(int(np.argmax(mask)), mask.shape))


def _misplaced(out: Array, golden: Array, wrong: Array) -> Verdict:
    at = _first(wrong)
    message = f"at {list(at)}: {out[at]} where the reference has {golden[at]} ({int(wrong.sum())} such elements)"
    return Verdict(False, None, float("inf"), float("inf"), float("inf"), float("inf"), at, message)


def _rms(x: Array) -> float:
    """Root of the mean square, scaled so that squares neither overflow nor vanish."""
    largest = float(np.max(np.abs(x), initial=0.0))
    if largest == 0.0 or not np.isfinite(largest):
        return largest
    return largest * float(np.sqrt(np.mean(np.square(x / largest))))


def _ratio(a: float, b: float) -> float:
    if b > 0.0:
        return a / b
    return 0.0 if a == 0.0 else float("inf")


def _judge_finite(out: Array, golden: Array, ref: Array, keep: Array, dtype: str, thr: float) -> Verdict:
    if not keep.any():
        what = "no elements" if out.size == 0 else "NaN and Inf as in the reference, no finite elements"
        return Verdict(True, "a", 0.0, 0.0, 0.0, 0.0, None, what)
    tiny = _TINY_HALF if dtype == "float16" else _TINY
    error = np.where(keep, np.abs(out - np.where(keep, golden, 0.0)), 0.0)
    relative = error / (np.where(keep, np.abs(golden), 0.0) + tiny)
    count = int(keep.sum())
    mean_rel, max_rel = float(relative.sum() / count), float(relative.max())
    both = keep & np.isfinite(ref)
    ref_error = np.abs(ref[both] - golden[both])
    ratio_rms, ratio_max = _ratio(_rms(error[keep]), _rms(ref_error)), _ratio(float(error.max()), float(np.max(ref_error, initial=0.0)))
    rule: Rule | None = None
    if mean_rel < thr and max_rel < 10 * thr:
        rule = "a"
    elif ratio_rms <= 2.0 and ratio_max <= 4.0:
        rule = "b"
    figures = f"mean {mean_rel:.3g} (limit {thr:.3g}), max {max_rel:.3g} (limit {10 * thr:.3g})"
    figures += f"; rms ratio {ratio_rms:.3g} (2), max ratio {ratio_max:.3g} (4)"
    if rule is not None:
        return Verdict(True, rule, mean_rel, max_rel, ratio_rms, ratio_max, None, figures)
    bad = relative >= 10 * thr
    at = _first(bad if bad.any() else relative >= thr)
    message = f"at {list(at)}: got {float(out[at])!r}, golden {float(golden[at])!r}; {figures}"
    return Verdict(False, None, mean_rel, max_rel, ratio_rms, ratio_max, at, message)


def _judge_whole(out_storage: Array, golden: Array, dtype: str, tolerance: int) -> Verdict:
    out = decode(out_storage, dtype).astype(np.int64)
    want = decode(encode(golden, dtype), dtype).astype(np.int64)
    gap = np.abs(out - want)
    bad = gap > tolerance
    worst = float(np.max(gap, initial=0))
    if not bad.any():
        return Verdict(True, "exact", 0.0, worst, 0.0, 0.0, None, "equal" if worst == 0 else f"within {tolerance} unit")
    at = _first(bad)
    message = f"at {list(at)}: got {int(out[at])}, expected {int(want[at])} ({int(bad.sum())} of {bad.size} differ)"
    return Verdict(False, None, float("inf"), worst, float("inf"), float("inf"), at, message)
