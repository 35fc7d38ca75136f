"""Generated host code compiles as the trees compile it: op_host as C++11 in each meaning of OP_ADD, op_api as C++17, headers from C."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

from generator.emit.names import snake
from tests.host.common import INCLUDE, OPERATORS, folder

WARNINGS = ["-Wall", "-Wextra", "-Werror", "-fsyntax-only", f"-I{INCLUDE}", f"-I{INCLUDE / 'aclnn'}"]


def compiles(place: Path, files: Sequence[Path], program: str, *flags: str) -> None:
    """All files in one translation unit, so that the interface's headers are read once; names are each operator's own."""
    suffix = ".c" if program == "gcc" else ".cpp"
    source = place / f"unit{suffix}"
    source.write_text("".join(f'#include "{f}"\n' for f in files), encoding="utf-8")
    done = subprocess.run([program, *flags, *WARNINGS, str(source)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[:3000]


@pytest.mark.parametrize("mode", ["", "OP_PROTO_LIB", "OP_TILING_LIB"])
def test_definitions_and_inference_are_cpp_11_in_each_library_they_go_into(mode: str, tmp_path: Path) -> None:
    files = [p for n in OPERATORS for part in ("def", "infershape") for p in [folder(n) / "op_host" / f"{snake(n)}_{part}.cpp"]]
    compiles(tmp_path, files, "g++", "-std=c++11", *([f"-D{mode}"] if mode else []))


def test_tiling_is_cpp_11(tmp_path: Path) -> None:
    compiles(tmp_path, [folder(n) / "op_host" / f"{snake(n)}_tiling.cpp" for n in OPERATORS], "g++", "-std=c++11")


def test_interfaces_are_cpp_17(tmp_path: Path) -> None:
    files = [p for n in OPERATORS for p in sorted((folder(n) / "op_api").glob("*.cpp"))]
    compiles(tmp_path, files, "g++", "-std=gnu++17")


def test_interfaces_are_called_from_c_and_from_cpp_11(tmp_path: Path) -> None:
    headers = [folder(n) / "op_api" / f"aclnn_{snake(n)}.h" for n in OPERATORS]
    compiles(tmp_path, headers, "gcc", "-std=c99")
    compiles(tmp_path, headers, "g++", "-std=c++11")


def test_each_interface_header_stands_alone(tmp_path: Path) -> None:
    for n in OPERATORS:
        compiles(tmp_path, [folder(n) / "op_api" / f"aclnn_{snake(n)}.h"], "gcc", "-std=c99")


def test_prototypes_compile(tmp_path: Path) -> None:
    compiles(tmp_path, [folder(n) / "op_graph" / f"{snake(n)}_proto.h" for n in OPERATORS], "g++", "-std=c++11")
