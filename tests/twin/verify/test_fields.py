"""Tiling data is read back by the names of its struct."""

from __future__ import annotations

import struct
from pathlib import Path

from generator.twin.verify.fields import fields_of, unpack

HEADER = """
struct AddTilingData {
    int64_t rows;        // rows of one core
    int64_t tile = 0;
    float eps;
    int32_t flags[2];
};
"""


def test_members_come_in_order_with_their_values() -> None:
    data = struct.pack("@qqfii", 1000, 64, 0.5, 3, 4) + b"\0\0\0\0"
    assert unpack(HEADER, data) == (("rows", 1000), ("tile", 64), ("eps", 0.5), ("flags[0]", 3), ("flags[1]", 4))


def test_alignment_is_that_of_c() -> None:
    assert unpack("struct S { \n float a;\n int64_t b;\n};", struct.pack("@fq", 1.5, 7)) == (("a", 1.5), ("b", 7))


def test_data_too_short_for_the_struct_gives_nothing() -> None:
    assert unpack(HEADER, b"\0" * 8) == ()


def test_a_folder_without_a_header_gives_nothing(tmp_path: Path) -> None:
    assert fields_of(tmp_path, b"\0" * 64) == ()
