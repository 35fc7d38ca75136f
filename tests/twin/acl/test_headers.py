"""The headers hold every name of the public interface, as the language versions that emitted files are compiled in."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from generator.twin.compile import INCLUDE

HEADERS = Path(__file__).parent / "headers"
STRICT = ["-Wall", "-Wextra", "-Werror", f"-I{INCLUDE}", f"-I{INCLUDE / 'aclnn'}"]


def compiled(*arguments: str) -> str:
    """The compiler's errors; empty when there are none."""
    done = subprocess.run([*arguments, *STRICT], capture_output=True, text=True, check=False)
    return done.stderr if done.returncode else ""


@pytest.mark.parametrize("mode", ["-DOP_PROTO_LIB", "-DOP_TILING_LIB", "-UOP_PROTO_LIB"])
def test_a_definition_is_compiled_in_three_ways(mode: str) -> None:
    assert compiled("g++", "-std=c++11", mode, "-fsyntax-only", str(HEADERS / "definition.cpp")) == ""


@pytest.mark.parametrize("standard", ["c++17", "gnu++17"])
def test_level_2_code_compiles(standard: str) -> None:
    assert compiled("g++", f"-std={standard}", "-fsyntax-only", str(HEADERS / "level2.cpp")) == ""


@pytest.mark.parametrize("program", ["graph", "tiling_data"])
def test_what_macros_declare_works(program: str, tmp_path: Path) -> None:
    path = tmp_path / program
    assert compiled("g++", "-std=c++11", str(HEADERS / f"{program}.cpp"), "-o", str(path)) == ""
    assert subprocess.run([str(path)], check=False).returncode == 0


@pytest.mark.parametrize("header", ["acl/acl.h", "aclnn/acl_meta.h", "aclnn/aclnn_base.h"])
def test_client_headers_are_plain_c(header: str, tmp_path: Path) -> None:
    source = tmp_path / "client.c"
    source.write_text(f'#include "{header}"\nint main(void) {{ return 0; }}\n', encoding="utf-8")
    assert compiled("gcc", "-std=c11", "-pedantic", "-fsyntax-only", str(source)) == ""


@pytest.mark.parametrize(
    ("was", "becomes", "says"),
    [
        ("L2_DFX_PHASE_1(aclnnDemo,", "L2_DFX_PHASE_1(aclnnOther,", "Invalid DFX:aclnnOtherGetWorkspaceSize"),
        ("L2_DFX_PHASE_2(aclnnDemo)", "L2_DFX_PHASE_2(aclnnOther)", "Invalid DFX:aclnnOther"),
        ("L0_DFX(Demo,", "L0_DFX(Other,", "Invalid DFX:Other"),
        ("uint64_t *workspaceSize,", "uint64_t *size,", "workspaceSize"),
        ("using namespace op;", "", "CheckType"),
        ("OP_INPUT(x, opt)", "OP_INPUT(x, nullptr)", "nullptr"),
        ("CHECK_DTYPE_NOT_SUPPORT(x, kTypes,", "CHECK_DTYPE_NOT_SUPPORT(x, {DT_FLOAT, DT_BF16},", "OP_CHECK_DTYPE_NOT_SUPPORT"),
    ],
)
def test_mistakes_the_real_headers_refuse_are_refused(was: str, becomes: str, says: str, tmp_path: Path) -> None:
    text = (HEADERS / "level2.cpp").read_text(encoding="utf-8")
    assert was in text
    source = tmp_path / "level2.cpp"
    source.write_text(text.replace(was, becomes, 1), encoding="utf-8")
    assert says in compiled("g++", "-std=c++17", "-fsyntax-only", str(source))
