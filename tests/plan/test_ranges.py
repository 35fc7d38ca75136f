"""Long products of few tiles, taken in ranges of the inner axis: when, how many, and that their sum is the product."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from generator.emit.solve import Solved, solve
from generator.formula.checked import CheckedSpec, check
from generator.plan import plan
from generator.plan.tree import Alternative
from tests.plan.on_twin import assert_right
from tests.plan.test_schedule import controls

WEIGHT = """\
name: Weight
family: probe
summary: {{en: probe, zh: probe}}
dims:
  T: {{}}
  M: {{}}
  N: {{}}
  K: {{}}
  pad: {{}}
params:
  - {{symbol: a, name: a, aclnn: a, io: in, shape: [T, M], dtype: {dtype}, about: {{en: t, zh: t}}}}
  - {{symbol: b, name: b, aclnn: b, io: in, shape: [T + K - 1 - 2*pad, N], dtype: {dtype}, about: {{en: t, zh: t}}}}
  - {{symbol: w, name: w, aclnn: w, io: in, shape: [K, pad], dtype: float32, about: {{en: t, zh: t}}}}
  - {{symbol: y, name: y, aclnn: y, io: out, shape: [K, M, N], dtype: {dtype}, about: {{en: t, zh: t}}}}
formula: |
  y[k, m, n] = sum[t](a[t, m] * b[t + k - pad, n])
bench:
  - sizes: {{T: {length}, M: 64, N: 80, K: 3, pad: 1}}
"""
UB = 196608


def weight(dtype: str = "float32", length: int = 32768) -> CheckedSpec:
    return check(WEIGHT.format(dtype=dtype, length=length), Path("probe.yaml"))


def cube(checked: CheckedSpec) -> Alternative:
    return next(a for a in plan(checked).kernels[0].alternatives if a.mixed)


def ranges(made: Alternative, cores: int, **sizes: int) -> tuple[int, int]:
    """(ranges, elements of one)."""
    found = solve(made, {"M": 64, "N": 80, "K": 3, "pad": 1, **sizes}, cores, UB)
    assert isinstance(found, Solved), found
    return found.fields["y_range_count"], found.fields["y_range_length"]


def test_a_long_product_of_few_tiles_keeps_all_cores_busy() -> None:
    made = cube(weight())
    assert [s.title for s in made.stages if s.matmul is not None] == ["y_range (cube)"]
    count, length = ranges(made, 48, T=65536)
    assert count == 8  # of 24 cube cores, three taps
    assert (count - 1) * length < 65536 <= count * length


@pytest.mark.parametrize(("sizes", "expected"), [({"T": 1500}, 1), ({"T": 65536, "K": 24}, 1), ({"T": 5000, "K": 1}, 4)])
def test_ranges_are_long_and_no_more_than_there_are_cores(sizes: dict[str, int], expected: int) -> None:
    assert ranges(cube(weight()), 48, **sizes)[0] == expected


def test_a_result_as_large_as_its_factors_is_not_written_twice() -> None:
    made = cube(weight(length=512))
    assert [s.title for s in made.stages if s.matmul is not None] == ["y (cube)"]


def test_parts_are_added_after_a_barrier() -> None:
    made = cube(weight())
    product = next(k for k, s in enumerate(made.stages) if s.matmul is not None)
    total = next(k for k, s in enumerate(made.stages) if s.title == "y")
    order = controls(made.body)
    assert "sync" in order[order.index(product) : order.index(total)]


@pytest.mark.skipif(shutil.which("g++") is None, reason="no C++ compiler")
def test_the_sum_of_ranges_is_the_product(tmp_path: Path) -> None:
    near = {"M": 7, "N": 33, "K": 3}
    sizes = [{"T": 1, "pad": 1, **near}, {"T": 5003, "pad": 1, **near}, {"T": 2100, "pad": 2, "M": 16, "N": 16, "K": 4}]
    assert_right(weight("float16"), tmp_path, ("Ascend950", 48), *sizes)
