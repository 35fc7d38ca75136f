"""The evaluator's time and memory at sizes people use."""

from __future__ import annotations

import time
import tracemalloc
from typing import Any

import numpy as np
import pytest

from generator.reference.evaluate import run
from tests.reference.build import program
from tests.reference.specs import every

RNG = np.random.default_rng(9)
MEGABYTE = 1 << 20


@pytest.mark.large
def test_4096_tokens_of_8_by_8_and_20_iterations_forward_and_backward_take_less_than_2_seconds() -> None:
    forward, backward = every()["MhcSinkhorn"].program, every()["MhcSinkhornBackward"].program
    x, cotangent = RNG.uniform(-4, 4, (4096, 8, 8)), RNG.standard_normal((4096, 8, 8))
    begin = time.process_time()
    saved = run(forward, {"x": x}, {"T": 4096, "n": 8}, {"eps": 1e-6, "num_iters": 20})
    inputs = {"grad_y": cotangent, "norm": saved["norm"], "sums": saved["sums"]}
    run(backward, inputs, {"T": 4096, "n": 8, "num_iters": 20}, {})
    assert time.process_time() - begin < 2.0


FORMULAS = [
    ("y[t] = sum[c](exp(x[t, c]))", "out T", {}),
    ("y[c] = max[t](abs(x[t, c]) * 2)", "out C", {}),
    ("y[k, c] = sum[t](x[t, c] * x[t, k])", "out K,C", {}),
    ("y[t] = sum[k, c](x[t + k - 1, c] * w[k, c])", "out T", {"x": 0.0}),
    ("y = sum[t, c](square(x[t, c]))", "out", {}),
]


@pytest.mark.large
@pytest.mark.parametrize(("text", "y", "outside"), FORMULAS)
@pytest.mark.parametrize("precision", ["float64", "float32"])
def test_temporaries_stay_small_beside_a_large_input(text: str, y: str, outside: Any, precision: Any) -> None:
    p = program(text, {"t": "T", "c": "C", "k": "K"}, outside=outside, x="in T,C", w="in K,C", y=y)
    x, w = RNG.standard_normal((16384, 512), dtype=np.float32), RNG.standard_normal((3, 512), dtype=np.float32)
    tracemalloc.start()
    run(p, {"x": x, "w": w}, {"T": 16384, "C": 512, "K": 3}, {}, precision=precision)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 64 * MEGABYTE, f"{peak / MEGABYTE:.0f} MB"
