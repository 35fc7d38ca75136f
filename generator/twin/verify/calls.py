"""An operator under test, and what its tiling function says to a case."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from generator.formula.checked import CheckedSpec
from generator.twin.build import Built, TensorArg, Tiling, retiled
from generator.twin.verify.case import Case, Number
from generator.twin.verify.shapes import INPUTS, OUTPUTS, attributes, dtype_of, flag_values, shapes_of, tensor_params

__all__ = ["Subject", "eager", "present", "reference_attrs", "tile"]

Shape = tuple[int, ...]
_CUBE_START = "OPWRIGHT_CUBE_START"  # the macro with which generated tiling functions weigh the start of a cube stage
_ALWAYS = "-1000000000000"  # cycles a core: nothing is too small


@dataclass(frozen=True)
class Subject:
    """An operator under test: its spec, the twin's build for one product, and its forward's spec where it has one."""

    checked: CheckedSpec
    built: Built
    folder: Path
    forward: Callable[[], CheckedSpec] | None = None
    eager: Built | None = None  # the same, tiled for the cube at every size it can serve; None when there is no such choice


def eager(built: Built, folder: Path) -> Built | None:
    """``built`` with a tiling function that takes the cube however little it pays; None where the operator has no cube stage."""
    header = folder / "op_host" / f"{folder.name}_tiling.h"
    if not header.is_file() or _CUBE_START not in header.read_text(encoding="utf-8"):
        return None
    return retiled(built, folder, {_CUBE_START: _ALWAYS}, quick=True)


def _arguments(
    subject: Subject, case: Case, shapes: Mapping[str, Shape], kinds: Mapping[str, str], absent: Sequence[str]
) -> tuple[list[TensorArg | None], list[TensorArg | None]]:
    """The tiling function's inputs and outputs, in parameter order; None for what is absent, except that an absent output stands as a
    tensor without elements before one that is given: the framework numbers outputs by those that are there."""

    def of(*directions: str) -> list[TensorArg | None]:
        return [
            None if p.symbol in absent else TensorArg(shapes[p.symbol], kinds[p.symbol])
            for p in tensor_params(subject.checked.spec, *directions)
        ]

    outputs = of(*OUTPUTS)
    last = max((at for at, t in enumerate(outputs) if t is not None), default=-1)
    for at, p in enumerate(tensor_params(subject.checked.spec, *OUTPUTS)):
        if outputs[at] is None and at < last:
            outputs[at] = TensorArg((0,), kinds[p.symbol])
    return of(*INPUTS), outputs


def tile(
    subject: Subject,
    case: Case,
    *,
    shapes: Mapping[str, Shape] | None = None,
    kinds: Mapping[str, str] | None = None,
    attrs: Mapping[str, Number] | None = None,
    absent: Sequence[str] | None = None,
    cores: int | None = None,
    built: Built | None = None,
) -> Tiling:
    """The tiling function's answer to a case, with something replaced where a violation says so, or on another number of cores."""
    spec = subject.checked.spec
    known = {p.symbol: dtype_of(p, dict(case.dtypes)) for p in tensor_params(spec)}
    gone = case.absent if absent is None else absent
    inputs, outputs = _arguments(subject, case, shapes or shapes_of(subject.checked, case), {**known, **(kinds or {})}, gone)
    values = {**dict(case.attrs), **(attrs or {})}
    ordered = [float(values[p.symbol]) if p.type in ("float", "double") else values[p.symbol] for p in attributes(spec)]
    ordered += flag_values(spec, gone)
    with _said() as words:
        tiling = (built or subject.built).tile(inputs, outputs, ordered, cores=cores or case.target.cores)
    return replace(tiling, message="; ".join(words) or tiling.message) if tiling.status else tiling


def present(checked: CheckedSpec, case: Case) -> set[str]:
    """The optional parameters that the case gives."""
    return {p.symbol for p in tensor_params(checked.spec) if p.optional and p.symbol not in case.absent}


def reference_attrs(checked: CheckedSpec, case: Case) -> dict[str, Number]:
    """Attributes as the kernel gets them: a C ``float`` is rounded to float32."""
    kinds = {p.symbol: p.type for p in attributes(checked.spec)}
    return {n: float(np.float32(v)) if kinds[n] in ("float", "double") else v for n, v in case.attrs}


@contextmanager
def _said() -> Iterator[list[str]]:
    """Lines that host code writes to standard error meanwhile; they appear in the list afterwards, and nowhere else."""
    lines: list[str] = []
    sys.stderr.flush()
    kept = os.dup(2)
    with tempfile.TemporaryFile() as caught:
        os.dup2(caught.fileno(), 2)
        try:
            yield lines
        finally:
            os.dup2(kept, 2)
            os.close(kept)
            caught.seek(0)
            lines += [line.decode(errors="replace").strip() for line in caught.readlines() if line.strip()]
