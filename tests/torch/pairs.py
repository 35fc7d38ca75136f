"""The pairs of operators that PyTorch differentiates, with small arguments for them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch

from generator.twin.bindings import load
from tests.reference.specs import ROOT

load(ROOT / "generated")
OPS = torch.ops.opwright


@dataclass(frozen=True)
class Pair:
    """``make(wide)`` gives the forward's arguments: float64 throughout, or what the kernel takes. ``steps`` is the difference
    quotient's step in the kernel's arithmetic, ``tolerance`` what its rounding then allows."""

    name: str
    op: Any
    make: Callable[[bool], tuple[Any, ...]]
    step: float = 2.0**-4
    tolerance: float = 5e-3


def _random(*shape: int, dtype: torch.dtype, grad: bool = True, seed: int = 0, scale: float = 1.0) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed + sum(shape))
    values = scale * torch.randn(*shape, generator=generator, dtype=torch.float64)
    return values.to(dtype).requires_grad_(grad)


def _sinkhorn(wide: bool) -> tuple[Any, ...]:
    return (_random(2, 3, 4, 4, dtype=torch.float64 if wide else torch.float32), 1e-3, 3)


def _pre(wide: bool) -> tuple[Any, ...]:
    n, d = 4, 16
    f32, x = (torch.float64, torch.float64) if wide else (torch.float32, torch.bfloat16)
    phi = _random(n * n + 2 * n, n * d, dtype=f32, scale=0.1)
    # the kernel takes x in half precision, which no difference quotient can step: held fixed there
    args = (_random(2, n, d, dtype=x, grad=wide), phi, _random(3, dtype=f32), _random(n * n + 2 * n, dtype=f32))
    return (*args, _random(n, d, dtype=f32), 1e-6, 1e-3)


def _conv(wide: bool) -> tuple[Any, ...]:
    f = torch.float64 if wide else torch.float32
    return (_random(5, 2, 3, dtype=f), _random(3, 3, 2, dtype=f), _random(2, dtype=f), 2, 0)


def _softmax(wide: bool) -> tuple[Any, ...]:
    return (_random(2, 3, 7, dtype=torch.float64 if wide else torch.float32),)


PAIRS = {
    p.name: p
    for p in (
        Pair("sinkhorn", OPS.mhc_sinkhorn, _sinkhorn),
        Pair("pre", OPS.mhc_pre, _pre),
        Pair("conv", OPS.conv_tbc, _conv),
        Pair("softmax", OPS.softmax, _softmax),
    )
}


def differentiable(op: Any, *args: Any) -> tuple[torch.Tensor, ...]:
    """The operator's results that have a gradient."""
    out = op(*args)
    return tuple(t for t in (out if isinstance(out, tuple) else (out,)) if t.requires_grad)
