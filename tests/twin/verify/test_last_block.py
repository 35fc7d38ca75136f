"""Sizes that are only reserved: the last block runs lawfully, and what it writes is judged."""

from __future__ import annotations

import json
import resource
from pathlib import Path

import numpy as np
import pytest

from generator.twin.verify.reserved import BLOCK, repeated
from tests.twin.verify.test_commands import broken, opwright

RUN = ("run", "DoubleIt", "--dim", "T=100000", "--product", "Ascend910B", "--cores", "40", "--tiling-only")


def test_the_last_block_alone_is_run_and_judged() -> None:
    result = opwright(*RUN, "--json")
    assert result.exit_code == 0, result.output
    document = json.loads(result.stdout)
    (output,) = document["outputs"]
    assert output["passed"]
    assert 1 <= output["sampled"] <= 32
    assert document["tiling"]["block_dim"] == 40
    assert "--tiling-only" in document["case"]["command"]


def test_a_wrong_result_of_the_last_block_is_found(tmp_path: Path) -> None:
    wrong = broken(tmp_path, "AscendC::Add(", "AscendC::Mul(")
    result = opwright(*RUN, out=wrong)
    assert result.exit_code == 1
    assert "y (float32): at [9" in result.output


@pytest.mark.parametrize("dtype", [np.uint16, np.float32])
def test_a_reserved_array_repeats_its_block_and_takes_no_memory(dtype: type[np.generic]) -> None:
    block = np.arange(BLOCK // np.dtype(dtype).itemsize).astype(dtype)
    count = (1 << 34) // np.dtype(dtype).itemsize + 5
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    first, second = repeated(block, count), repeated(block, count)
    assert first.size == count
    for at in (0, 1, block.size - 1, block.size, 7 * block.size + 3, count - 1):
        assert first[at] == block[at % block.size]
    first[block.size + 2] = 0
    assert first[2] == second[block.size + 2] == block[2]
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 1 << 18  # KiB
