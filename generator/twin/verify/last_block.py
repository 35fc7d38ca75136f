"""Sizes too large to run: the tiling function called in full, and the kernel's last block run on tensors that are reserved only.

The block is that of a launch spread over many more cores than the product has, so that it has one tile, or few, to compute: the last.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from generator.reference import dtypes
from generator.reference.points import Points
from generator.twin.report import Report
from generator.twin.verify.calls import Subject, present, reference_attrs, tile
from generator.twin.verify.case import Case
from generator.twin.verify.drawing import draw, is_poison, poison
from generator.twin.verify.fields import fields_of
from generator.twin.verify.outcome import BreachOfLaw, CaseResult, OutputResult, TilingUsed
from generator.twin.verify.reserved import BLOCK, repeated
from generator.twin.verify.sampling import judge_some
from generator.twin.verify.shapes import INPUTS, OUTPUTS, dtype_of, shapes_of, tensor_params
from generator.twin.verify.standard import in_hf32, ref_precision

__all__ = ["run"]

Array = NDArray[np.generic]
CORES = 4096  # over which the work is spread
COUNT = 1024  # elements of each output that are judged
_PART = 1 << 24  # elements of an output looked through at a time
# what other blocks would have written is not there
_OFF = ("workspace-uninitialised",)


def run(subject: Subject, case: Case, laws_off: Sequence[str] = ()) -> CaseResult:
    """The last block of a case: its breaches of law, and its outputs where no other block has a part in them."""
    started = time.perf_counter()
    full = tile(subject, case)
    if full.status:
        return CaseResult(case, error=f"the tiling function refused a legal call: {full.message or full.status}")
    spread = tile(subject, case, cores=CORES)
    if spread.status:
        return CaseResult(case, error=f"the tiling function refused a legal call on {CORES} cores: {spread.message or spread.status}")
    inputs, outputs = _tensors(subject, case, INPUTS), _tensors(subject, case, OUTPUTS)
    arrays = [*inputs.values(), *(a for n, a in outputs.items())]
    report = subject.built.run(spread, arrays, [*laws_off, *_OFF], CORES, only=spread.block_dim - 1)
    judged = _judge(subject, case, inputs, outputs) if not report.sync_alls else ()
    return CaseResult(
        case=case,
        outputs=judged,
        breaches=_breaches(report),
        tiling=TilingUsed(full.key, full.block_dim, full.workspace_bytes, len(full.data), fields_of(subject.folder, full.data)),
        launches=1,
        seconds=time.perf_counter() - started,
        error="" if judged or report.sync_alls else "the last block wrote nothing",
    )


def _breaches(report: Report) -> tuple[BreachOfLaw, ...]:
    return tuple(BreachOfLaw(b.rule, b.message, b.file, b.line, b.core) for b in report.breaches)


def _tensors(subject: Subject, case: Case, directions: Sequence[str]) -> dict[str, Array | None]:
    """Random inputs or poisoned outputs, those beyond a block's bytes repeating one."""
    checked = subject.checked
    shapes = shapes_of(checked, case)
    out: dict[str, Array | None] = {}
    rng = np.random.default_rng(case.seed)
    for param in tensor_params(checked.spec, *directions):
        dtype = dtype_of(param, dict(case.dtypes))
        count = math.prod(shapes[param.symbol])
        few = min(count, BLOCK // dtypes.STORAGE[dtype].itemsize)
        if param.symbol in case.absent:
            out[param.symbol] = None
            continue
        block = poison(few, dtype) if directions == OUTPUTS else draw(checked, param, (few,), case, rng, dtype)
        out[param.symbol] = (block if few == count else repeated(block, count)).reshape(shapes[param.symbol])
    return out


def _judge(subject: Subject, case: Case, inputs: dict[str, Array | None], outputs: dict[str, Array | None]) -> tuple[OutputResult, ...]:
    """The verdicts on what the block wrote."""
    checked = subject.checked
    rng = np.random.default_rng(case.seed)
    kinds = {p.symbol: dtype_of(p, dict(case.dtypes)) for p in tensor_params(checked.spec)}
    wanted = {}
    for name, storage in outputs.items():
        if storage is not None:
            found = _written(storage.reshape(-1), kinds[name])
            if found.size:
                wanted[name] = np.unique(np.concatenate([found[:1], found[-1:], rng.choice(found, COUNT)]))
    if not wanted:
        return ()
    given = {n: a.reshape(-1) for n, a in inputs.items() if a is not None}
    attrs = reference_attrs(checked, case)
    points = Points(checked.program, given, dict(case.dims), attrs, wanted, present=present(checked, case), dtypes=kinds)
    golden, ref = points.evaluate(), points.evaluate(ref_precision(checked, case))
    low = in_hf32(checked, case)
    results = []
    for name, positions in wanted.items():
        storage = outputs[name]
        assert storage is not None
        results.append(judge_some(name, kinds[name], storage, golden[name], ref[name], positions, low))
    return tuple(results)


def _written(storage: Array, dtype: str) -> NDArray[np.int64]:
    """Positions that are poison no more, from the last part of the buffer that has any."""
    for begin in reversed(range(0, storage.size, _PART)):
        left = is_poison(storage[begin : begin + _PART], dtype)
        if left is not None and not left.all():
            return np.flatnonzero(~left) + begin
    return np.zeros(0, np.int64)
