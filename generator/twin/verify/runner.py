"""One case from inputs to verdict: tile, run on the twin, evaluate the reference, judge."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from generator.formula.checked import CheckedSpec
from generator.reference import dtypes, evaluate
from generator.reference.precision import Verdict, judge
from generator.twin.build import Built, Tiling
from generator.twin.report import Report
from generator.twin.verify import last_block
from generator.twin.verify.calls import Subject, present, reference_attrs, tile
from generator.twin.verify.case import Case, Violation
from generator.twin.verify.drawing import is_poison, poison
from generator.twin.verify.fields import fields_of
from generator.twin.verify.inputs import Inputs, make
from generator.twin.verify.outcome import ArgumentTraffic, BreachOfLaw, CaseResult, OutputResult, Refusal, TilingUsed
from generator.twin.verify.outside import either_way, has_outside
from generator.twin.verify.sampling import judge_some, points_of
from generator.twin.verify.shapes import OUTPUTS, dtype_of, shapes_of, tensor_params
from generator.twin.verify.standard import in_hf32, ref_precision
from generator.twin.verify.traffic import Marks, touched

__all__ = ["Prepared", "Subject", "launch", "prepare", "raw", "run_case", "run_empty", "run_violation"]

Array = NDArray[np.generic]
_SECONDS = {False: 600, True: 3600}  # after which a kernel is abandoned; the second for a case judged at sampled elements
Shape = tuple[int, ...]


def run_empty(subject: Subject, case: Case) -> CaseResult:
    """A case with a tensor of no elements: refused where the policy says so, else lawful; with the policy ``compute``
    judged like any other case."""
    policy = subject.checked.spec.policies.empty
    started = time.perf_counter()
    tiling = tile(subject, case)
    if policy == "refuse":
        error = "" if tiling.status else "an empty tensor was accepted where the policy refuses it"
        return CaseResult(case, error=error, empty=True, seconds=time.perf_counter() - started)
    if tiling.status:
        return CaseResult(case, error=f"an empty tensor was refused: {tiling.message}", empty=True)
    return replace(run_case(subject, case, judged=policy == "compute"), empty=True)


def run_violation(subject: Subject, violation: Violation) -> Refusal:
    """A call that breaks one rule: the tiling function must answer with a failure."""
    shapes = {**shapes_of(subject.checked, violation.base), **dict(violation.shapes)}
    tiling = tile(
        subject, violation.base, shapes=shapes, kinds=dict(violation.dtypes), attrs=dict(violation.attrs), absent=violation.absent
    )
    return Refusal(violation, bool(tiling.status), tiling.message)


def _outputs(subject: Subject, case: Case, shapes: Mapping[str, Shape], inputs: Inputs) -> dict[str, Array | None]:
    """Poisoned storage of every output, in parameter order; None for absent ones, the input's own for in-place ones."""
    out: dict[str, Array | None] = {}
    for p in tensor_params(subject.checked.spec, *OUTPUTS):
        shape = shapes[p.symbol]
        if p.io == "inout":
            out[p.symbol] = inputs.storage[p.symbol]
            continue
        dtype = dtype_of(p, dict(case.dtypes))
        out[p.symbol] = None if p.symbol in case.absent else poison(math.prod(shape), dtype).reshape(shape)
    return out


@dataclass(frozen=True)
class Prepared:
    """A case ready to launch, as often as wanted: tiled, with inputs and, where it is to be judged, expected values."""

    subject: Subject
    case: Case
    tiling: Tiling
    shapes: Mapping[str, Shape]
    inputs: Inputs
    marks: Marks
    golden: Mapping[str, Array] | None
    ref: Mapping[str, Array] | None
    sample: Mapping[str, NDArray[np.int64]] | None = None  # positions that golden and ref are of; all without
    loose: Mapping[str, tuple[NDArray[np.bool_], Array]] = field(default_factory=dict)  # see :func:`outside.either_way`


def prepare(subject: Subject, case: Case, *, judged: bool = True) -> Prepared | CaseResult:
    """Everything about a case that does not depend on the kernel; a result when the tiling function refused it."""
    checked = subject.checked
    tiling = tile(subject, case)
    if tiling.status:
        return CaseResult(case, error=f"the tiling function refused a legal call: {tiling.message or tiling.status}")
    inputs = make(checked, case, subject.forward)
    marks = touched(checked.program, case.integers, set(case.absent), inputs.values)
    prepared = Prepared(subject, case, tiling, shapes_of(checked, case), inputs, marks, None, None)
    if not judged:
        return prepared
    if case.sampled:
        points = points_of(checked, case, inputs, reference_attrs(checked, case), present(checked, case))
        golden, ref = points.evaluate(), points.evaluate(ref_precision(checked, case))
        return replace(prepared, golden=golden, ref=ref, sample=points.wanted)
    golden, ref = _expected(subject, case, inputs)
    loose = either_way(golden, inputs, lambda i: _expected(subject, case, i)[0]) if case.special and has_outside(checked.program) else {}
    return replace(prepared, golden=golden, ref=ref, loose=loose)


def launch(prepared: Prepared, built: Built | None = None, laws_off: Sequence[str] = (), seconds: int = 600) -> CaseResult:
    """Launch a prepared case once and judge its outputs; ``built`` replaces the subject's kernel by another of the same interface."""
    started = time.perf_counter()
    subject, case, tiling = prepared.subject, prepared.case, prepared.tiling
    checked = subject.checked
    outputs, report = _run(prepared, built or subject.built, laws_off, seconds)
    names = [*prepared.inputs.storage, *outputs, *(["workspace"] if tiling.workspace_bytes else [])]
    return CaseResult(
        case=case,
        outputs=tuple(_judge(prepared, outputs)),
        breaches=tuple(BreachOfLaw(b.rule, b.message, b.file, b.line, b.core) for b in report.breaches),
        traffic=tuple(
            ArgumentTraffic(name, moved.read, moved.written, _compulsory(checked, case, prepared.marks, name))
            for name, moved in zip(names, report.per_argument, strict=False)
        ),
        tiling=TilingUsed(tiling.key, tiling.block_dim, tiling.workspace_bytes, len(tiling.data), fields_of(subject.folder, tiling.data)),
        launches=1,
        seconds=time.perf_counter() - started,
    )


def raw(prepared: Prepared) -> tuple[dict[str, Array | None], Report]:
    """The storage of every output after one launch, not judged, None for absent ones; and what the twin reports."""
    return _run(prepared, prepared.subject.built)


def _run(prepared: Prepared, built: Built, laws_off: Sequence[str] = (), seconds: int = 600) -> tuple[dict[str, Array | None], Report]:
    inputs = _fresh(prepared.subject.checked, prepared.inputs)
    outputs = _outputs(prepared.subject, prepared.case, prepared.shapes, inputs)
    arrays = [*inputs.storage.values(), *outputs.values()]
    return outputs, built.run(prepared.tiling, arrays, list(laws_off), prepared.case.target.cores, seconds)


def _fresh(checked: CheckedSpec, inputs: Inputs) -> Inputs:
    """Inputs whose in-place parameters may be overwritten by one launch."""
    held = {p.symbol: inputs.storage[p.symbol] for p in tensor_params(checked.spec, "inout")}
    return replace(inputs, storage={**inputs.storage, **{n: None if a is None else a.copy() for n, a in held.items()}})


def run_case(subject: Subject, case: Case, laws_off: Sequence[str] = (), *, judged: bool = True) -> CaseResult:
    """Run one case on the twin and judge every output by the precision standard; ``judged=False`` checks the law only.
    Where the cube could serve a case that the host leaves to the vector cores, it is run in both ways."""
    if case.tiling_only:
        return last_block.run(subject, case, laws_off)
    started = time.perf_counter()
    prepared = prepare(subject, case, judged=judged)
    if isinstance(prepared, CaseResult):
        return prepared
    result = launch(prepared, laws_off=laws_off, seconds=_SECONDS[case.sampled])
    other = tile(subject, case, built=subject.eager) if subject.eager is not None and result.passed else prepared.tiling
    if other.key != prepared.tiling.key and not other.status:
        again = launch(replace(prepared, tiling=other), laws_off=laws_off, seconds=_SECONDS[case.sampled])
        launches = result.launches + again.launches
        result = replace(result if again.passed else again, launches=launches)
    return replace(result, seconds=time.perf_counter() - started)


def _compulsory(checked: CheckedSpec, case: Case, marks: Marks, name: str) -> int:
    """Bytes of the elements the formula reads from an input or writes to an output."""
    mask = marks.reads.get(name, marks.writes.get(name))
    if mask is None:
        return 0
    param = next(p for p in checked.spec.params if p.symbol == name)
    return int(mask.sum()) * dtypes.STORAGE[dtype_of(param, dict(case.dtypes))].itemsize


def _expected(subject: Subject, case: Case, inputs: Inputs) -> tuple[dict[str, Array], dict[str, Array]]:
    """Every output in float64 and in the compute dtype, unrounded."""
    checked = subject.checked
    dims, attrs = dict(case.dims), reference_attrs(checked, case)
    given = present(checked, case)
    with np.errstate(all="ignore"):
        golden = evaluate.run(checked.program, inputs.values, dims, attrs, precision="float64", present=given)
        ref = evaluate.run(checked.program, inputs.values, dims, attrs, precision=ref_precision(checked, case), present=given)
    return golden, ref


def _judge(prepared: Prepared, outputs: Mapping[str, Array | None]) -> list[OutputResult]:
    checked, case = prepared.subject.checked, prepared.case
    out: list[OutputResult] = []
    if prepared.golden is None or prepared.ref is None:
        return out
    low = in_hf32(checked, case)
    for param in tensor_params(checked.spec, *OUTPUTS):
        storage, name = outputs[param.symbol], param.symbol
        if storage is not None:
            dtype = dtype_of(param, dict(case.dtypes))
            flat = checked.program.tensors[name].flat is not None
            written = prepared.marks.writes[name] if flat else None
            if prepared.sample is None:
                golden, ref = (_settled(prepared, name, dtype, storage, x[name]) for x in (prepared.golden, prepared.ref))
                out.append(_judge_one(name, dtype, storage, golden, ref, written, low))
            else:
                result = judge_some(name, dtype, storage, prepared.golden[name], prepared.ref[name], prepared.sample[name], low)
                out.append(_touched(result, storage, prepared.marks.writes[name]) if param.io == "out" else result)
    return out


def _settled(prepared: Prepared, name: str, dtype: str, storage: Array, expected: Array) -> Array:
    """``expected`` with the elements that may be NaN or not as the kernel has them. Where sums are reassociated for the cube,
    infinities of both signs, which make NaN, may meet in one order of the sums and not in another."""
    if not prepared.case.special or expected.dtype.kind != "f":
        return expected
    got = np.asarray(dtypes.decode(storage, dtype)).reshape(expected.shape)
    if prepared.subject.eager is not None:
        apart = (np.isnan(got) & np.isinf(expected)) | (np.isinf(got) & np.isnan(expected))
        expected = np.where(apart, got, expected)
    if name in prepared.loose:
        free, value = prepared.loose[name]
        expected = np.where(free & np.isfinite(got), value, expected)
    return expected


def _touched(result: OutputResult, storage: Array, defined: NDArray[np.bool_]) -> OutputResult:
    """``result`` with what is known of every element: whether it was written, and whether the formula defines it."""
    left = is_poison(storage.reshape(-1), result.dtype)
    if left is None:
        return result
    return replace(result, unwritten=int((left & defined).sum()), overwritten=int((~left & ~defined).sum()))


def _judge_one(
    name: str, dtype: str, storage: Array, golden: Array, ref: Array, written: NDArray[np.bool_] | None, low_precision: bool
) -> OutputResult:
    """The verdict on one output; where only part of a buffer is ``written``, the rest must still be poison."""
    flat = storage.reshape(-1)
    golden, ref = golden.reshape(-1), ref.reshape(-1)
    overwritten = 0
    if written is not None and not written.all():
        rest = np.ascontiguousarray(flat[~written])
        overwritten = int((rest.view(np.uint8) != poison(rest.size, dtype).view(np.uint8)).reshape(rest.size, -1).any(axis=1).sum())
        flat, golden, ref = flat[written], golden[written], ref[written]
    verdict: Verdict = judge(flat, golden, ref, dtype, low_precision=low_precision)
    if verdict.first_bad_index is not None and written is None:
        at = tuple(int(i) for i in np.unravel_index(verdict.first_bad_index[0], storage.shape))
        message = verdict.message.replace(f"at {list(verdict.first_bad_index)}", f"at {list(at)}", 1)
        verdict = replace(verdict, first_bad_index=at, message=message)
    return OutputResult(name, dtype, verdict, overwritten)
