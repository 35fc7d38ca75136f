"""DataCopy and DataCopyPad move what the interface says, in both directions (facts B.3)."""

from __future__ import annotations

import struct
from collections.abc import Callable

import numpy as np
import pytest

from generator.twin.build import Built
from generator.twin.report import Report
from generator.twin.tiling import Tiling

PRODUCTS = ("Ascend910B1", "Ascend950")
Run = Callable[..., tuple[np.ndarray, Report]]


@pytest.fixture(params=PRODUCTS)
def run(request: pytest.FixtureRequest, kernel: Callable[..., Built], tiled: Callable[..., Tiling]) -> Run:
    built = kernel("copies", request.param)

    def go(
        key: int,
        *,
        block: tuple[int, int, int, int] = (0, 0, 0, 0),
        pad: tuple[int, int, int, int] = (0, 0, 0, 0),
        elements: int = 0,
        dtype: type = np.float32,
        laws_off: tuple[str, ...] = (),
    ) -> tuple[np.ndarray, Report]:
        x = np.arange(1, 2049).astype(dtype)
        y = np.full(1024, -2).astype(dtype)
        tiling = tiled(key, data=struct.pack("9q", *block, *pad, elements))
        report = built.run(tiling, [x, y], laws_off=laws_off)
        return y, report

    return go


def ramp(start: int, count: int) -> list[int]:
    return list(range(start, start + count))


def test_a_padded_copy_repeats_the_first_element_when_no_padding_is_asked_for(run: Run) -> None:
    y, report = run(1, block=(2, 20, 12, 0), elements=24)
    assert report.breaches == ()
    # blocks of 5 elements, 3 skipped between; each is filled to 8 elements with its own first one
    assert list(y[:24]) == [*ramp(1, 5), 1, 1, 1, *ramp(9, 5), 9, 9, 9, *[-1] * 8]


def test_is_pad_fills_left_right_and_the_rest_with_the_value(run: Run) -> None:
    y, report = run(1, block=(1, 16, 0, 0), pad=(1, 2, 1, 7), elements=16)
    assert report.breaches == ()
    assert list(y[:16]) == [7, 7, *ramp(1, 4), 7, 7, *[-1] * 8]


def test_padding_without_is_pad_is_garbage(run: Run) -> None:
    _, report = run(1, block=(1, 16, 0, 0), pad=(0, 2, 0, 0), elements=8)
    assert [breach.rule for breach in report.breaches] == ["uninitialised"]


def test_local_stride_counts_32_byte_blocks_and_global_stride_bytes(run: Run) -> None:
    y, report = run(1, block=(3, 8, 4, 1), elements=48)
    assert report.breaches == ()
    # 2 elements every 3; each occupies a block of 8, a block is skipped
    expected = []
    for first in (1, 4, 7):
        expected += [first, first + 1, *[first] * 6, *[-1] * 8]
    assert list(y[:48]) == expected


def test_a_padded_copy_of_16_bit_elements(run: Run) -> None:
    y, report = run(11, block=(2, 6, 2, 0), pad=(1, 0, 2, -5), elements=48, dtype=np.int16)
    assert report.breaches == ()
    assert list(y[:48]) == [1, 2, 3, *[-5] * 13, 5, 6, 7, *[-5] * 13, *[-1] * 16]


def test_copying_out_writes_exactly_the_bytes_and_skips_global_stride_bytes(run: Run) -> None:
    y, report = run(2, block=(3, 20, 1, 8))
    assert report.breaches == ()
    # blocks of 5 elements, rounded to one 32-byte block, one skipped: they start at elements 0, 16, 32
    expected = []
    for first in (1, 17, 33):
        expected += [*ramp(first, 5), -2, -2]
    assert list(y[:21]) == expected
    assert list(y[21:40]) == [-2] * 19


def test_the_older_parameter_structures_mean_the_same(run: Run) -> None:
    y, report = run(8, block=(2, 20, 12, 0), pad=(0, 0, 0, 0), elements=16)
    assert report.breaches == ()
    assert list(y[:16]) == [*ramp(1, 5), 1, 1, 1, *ramp(9, 5), 9, 9, 9]
    y, report = run(9, block=(3, 20, 1, 8))
    assert report.breaches == ()
    assert list(y[:19]) == [*ramp(1, 5), -2, -2, *ramp(17, 5), -2, -2, *ramp(33, 5)]


@pytest.mark.parametrize(("count", "copied"), [(8, 8), (9, 8), (15, 8), (16, 16), (7, 0)])
def test_the_count_form_rounds_down_to_32_bytes(run: Run, count: int, copied: int) -> None:
    y, report = run(3, elements=count)
    assert report.breaches == ()
    assert list(y[:64]) == [*ramp(1, copied), *[-1] * (64 - copied)]
    y, report = run(4, elements=count)
    assert report.breaches == ()
    assert list(y[:64]) == [*ramp(1, copied), *[-2] * (64 - copied)]


def test_block_form_gaps_run_from_the_end_of_a_block_to_the_next(run: Run) -> None:
    y, report = run(5, block=(2, 1, 2, 1), elements=32)
    assert report.breaches == ()
    assert list(y[:32]) == [*ramp(1, 8), *[-1] * 8, *ramp(25, 8), *[-1] * 8]
    y, report = run(6, block=(2, 1, 2, 1))
    assert report.breaches == ()
    assert list(y[:32]) == [*ramp(1, 8), *[-2] * 8, *ramp(25, 8), *[-2] * 8]


def test_local_to_local_copies_take_both_gaps(run: Run) -> None:
    y, report = run(7, block=(2, 1, 1, 0), elements=24)
    assert report.breaches == ()
    assert list(y[:24]) == [*ramp(1, 8), *ramp(17, 8), *[-1] * 8]
    y, report = run(10, block=(20, 0, 0, 0), elements=24)
    assert report.breaches == ()
    assert list(y[:24]) == [*ramp(1, 16), *[-1] * 8]


def test_traffic_counts_each_block_rounded_up_to_32_bytes(run: Run) -> None:
    _, report = run(2, block=(3, 20, 1, 8))
    assert report.per_argument[1].written == 3 * 32
    assert report.per_argument[0].read == 4096
    assert (report.bytes_read, report.bytes_written) == (4096, 96)
    assert (report.copies_in, report.copies_out) == (1, 1)


@pytest.mark.parametrize(
    ("block", "what"),
    [
        ((4096, 32, 0, 0), "blockCount is 4096"),
        ((1, 2097152, 0, 0), "blockLen is 2097152"),
        ((1, 33, 0, 0), "blockLen is 33 bytes, not a multiple"),
        ((-1, 32, 0, 0), "blockCount is 65535"),
    ],
)
def test_fields_outside_their_range_are_reported(run: Run, block: tuple[int, int, int, int], what: str) -> None:
    _, report = run(1, block=block, elements=0)
    assert {breach.rule for breach in report.breaches} == {"range"}
    assert what in report.breaches[0].message


@pytest.mark.parametrize("block", [(0, 32, 0, 0), (1, 0, 0, 0)])
def test_a_copy_of_no_blocks_or_no_bytes_does_nothing(run: Run, block: tuple[int, int, int, int]) -> None:
    y, report = run(1, block=block, elements=8)
    assert report.breaches == ()
    assert list(y[:8]) == [-1] * 8


def test_padding_beyond_32_bytes_is_reported(run: Run) -> None:
    _, report = run(1, block=(1, 32, 0, 0), pad=(1, 9, 0, 0), elements=0)
    assert [breach.rule for breach in report.breaches] == ["range"]
    assert "leftPadding is 9" in report.breaches[0].message


def test_set_pad_value_fills_padding_that_is_not_given_one(run: Run) -> None:
    y, report = run(12, block=(1, 16, 0, 0), pad=(0, 1, 1, 0), elements=16)
    assert report.breaches == ()
    assert list(y[:16]) == [9, *ramp(1, 4), 9, 9, 9, *[-1] * 8]


def test_compact_mode_packs_blocks_and_pads_once_on_3510(run: Run, request: pytest.FixtureRequest) -> None:
    y, report = run(13, block=(3, 12, 4, 0), pad=(1, 0, 1, 7), elements=24)
    if "Ascend950" not in request.node.name:
        assert [breach.rule for breach in report.breaches] == ["unsupported"]
        return
    assert report.breaches == ()
    assert list(y[:24]) == [*ramp(1, 3), *ramp(5, 3), *ramp(9, 3), *[7] * 7, *[-1] * 8]
    y, report = run(14, block=(3, 12, 0, 4))
    assert report.breaches == ()
    assert list(y[:12]) == [*ramp(1, 3), -2, *ramp(4, 3), -2, *ramp(7, 3), -2]
