"""One call of a generated operator on the twin, from arrays to arrays: built once, tiled, launched, its laws enforced."""

from __future__ import annotations

import os
import threading
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from generator.twin.build import Built, build
from generator.twin.errors import TwinError
from generator.twin.tiling import Attr, TensorArg

if TYPE_CHECKING:
    import numpy as np

__all__ = ["PRODUCT", "call"]

PRODUCT = "OPWRIGHT_PRODUCT"
"""The environment variable that names the product to stand in for; Ascend910B without it."""

Operand = tuple["np.ndarray", str]
_lock = threading.Lock()


@cache
def _built(folder: Path, product: str) -> Built:
    return build(folder, product, quick=True)


def call(
    folder: Path,
    inputs: Sequence[Operand | None],
    outputs: Sequence[Operand | None],
    attrs: Sequence[Attr] = (),
    product: str | None = None,
) -> None:
    """Run the operator in ``folder`` on contiguous arrays of raw storage (bfloat16 as uint16), each with its dtype's name, in
    the order of its definition; None is an absent optional tensor. Outputs are written in place.

    Raises TwinError when the folder cannot be built, the tiling function refuses the call or the kernel breaks a law.
    """
    with _lock:
        built = _built(folder.resolve(), product or os.environ.get(PRODUCT, "Ascend910B"))
    last = max((k for k, operand in enumerate(outputs) if operand is not None), default=-1)
    wanted = [_argument(o) or (TensorArg((0,), "float32") if k < last else None) for k, o in enumerate(outputs)]
    tiling = built.tile([_argument(o) for o in inputs], wanted, attrs)
    if tiling.status:
        raise TwinError(f"{folder.name}: {tiling.message}")
    report = built.run(tiling, [None if o is None else o[0] for o in (*inputs, *outputs)])
    if report.breaches:
        first = report.breaches[0]
        raise TwinError(f"{folder.name}: {first.rule}: {first.message} ({first.file}:{first.line}, core {first.core})")


def _argument(operand: Operand | None) -> TensorArg | None:
    return None if operand is None else TensorArg(tuple(operand[0].shape), operand[1])
