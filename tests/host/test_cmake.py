"""The folder of an operator in the two kinds of tree it builds in: which files end up in which target, with stand-ins for the trees."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from generator.emit.names import snake
from tests.host.common import OPERATORS, folder

pytestmark = pytest.mark.skipif(shutil.which("cmake") is None, reason="cmake is not installed")

# What the lines that msopgen writes into op_host/CMakeLists.txt do: facts.md F.1.
PROJECT = """
cmake_minimum_required(VERSION 3.16)
project(opp CXX)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(ASCEND_AUTOGEN_PATH ${CMAKE_BINARY_DIR}/autogen)
function(opbuild)
    cmake_parse_arguments(OPBUILD "" "OUT_DIR" "OPS_SRC" ${ARGN})
    foreach(source ${OPBUILD_OPS_SRC})
        if(source MATCHES "/([a-z0-9_]+)_def\\\\.cpp$")
            file(WRITE ${OPBUILD_OUT_DIR}/aclnn_${CMAKE_MATCH_1}.cpp "// generated")
            file(WRITE ${OPBUILD_OUT_DIR}/aclnn_${CMAKE_MATCH_1}.h "// generated")
        endif()
    endforeach()
endfunction()
add_subdirectory(op_host)
"""
OP_HOST = """
aux_source_directory(${CMAKE_CURRENT_SOURCE_DIR} ops_srcs)
@INCLUDE@
opbuild(OPS_SRC ${ops_srcs} OUT_DIR ${ASCEND_AUTOGEN_PATH})
add_library(cust_op_proto SHARED ${ops_srcs})
target_compile_definitions(cust_op_proto PRIVATE OP_PROTO_LIB)
add_library(cust_optiling SHARED ${ops_srcs})
target_compile_definitions(cust_optiling PRIVATE OP_TILING_LIB)
file(GLOB aclnn_src ${ASCEND_AUTOGEN_PATH}/aclnn_*.cpp)
add_library(cust_opapi SHARED ${aclnn_src})
"""
REPOSITORY = """
cmake_minimum_required(VERSION 3.16)
project(ops CXX)
add_library(op_host_aclnnExc INTERFACE)
macro(add_op_to_compiled_list)
    file(APPEND ${CMAKE_BINARY_DIR}/said.txt "compiled ${CMAKE_CURRENT_SOURCE_DIR}\\n")
endmacro()
macro(add_modules_sources)
    cmake_parse_arguments(MODULE "" "OP_API_INDEPENDENT;OP_API_DIR" "OPTYPE;ACLNNTYPE" ${ARGN})
    file(GLOB api ${MODULE_OP_API_DIR}/*.cpp)
    file(GLOB infer ${CMAKE_CURRENT_SOURCE_DIR}/*_infershape*.cpp)
    file(GLOB tiling ${CMAKE_CURRENT_SOURCE_DIR}/*_tiling*.cpp)
    file(GLOB def ${CMAKE_CURRENT_SOURCE_DIR}/${MODULE_OPTYPE}_def*.cpp)
    file(APPEND ${CMAKE_BINARY_DIR}/said.txt "${MODULE_ACLNNTYPE} ${api};${infer};${tiling};${def}\\n")
endmacro()
file(GLOB folders ${CMAKE_CURRENT_SOURCE_DIR}/nn/*)
foreach(folder ${folders})
    add_subdirectory(${folder})
endforeach()
"""


def configure(place: Path) -> Path:
    build = place / "build"
    done = subprocess.run(["cmake", "-S", str(place), "-B", str(build)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return build


def compiled(build: Path) -> dict[str, dict[str, str]]:
    """Target -> file name -> command."""
    found: dict[str, dict[str, str]] = {}
    for entry in json.loads((build / "compile_commands.json").read_text(encoding="utf-8")):
        target = entry["command"].split("CMakeFiles/")[1].split(".dir")[0]
        found.setdefault(target, {})[entry["file"]] = entry["command"]
    return found


def test_an_msopgen_project_takes_the_folders_in_place_and_their_own_interface(tmp_path: Path) -> None:
    names = list(OPERATORS)[:3]
    lines = []
    for n in names:
        shutil.copytree(folder(n), tmp_path / snake(n))
        lines.append(f"include(${{PROJECT_SOURCE_DIR}}/{snake(n)}/CMakeLists.txt)")
    (tmp_path / "CMakeLists.txt").write_text(PROJECT, encoding="utf-8")
    (tmp_path / "op_host").mkdir()
    (tmp_path / "op_host" / "CMakeLists.txt").write_text(OP_HOST.replace("@INCLUDE@", "\n".join(lines)), encoding="utf-8")
    build = configure(tmp_path)
    targets = compiled(build)
    for n in names:
        place = tmp_path / snake(n)
        host = {str(place / "op_host" / f"{snake(n)}_{part}.cpp") for part in ("def", "infershape", "tiling")}
        assert host <= targets["cust_op_proto"].keys()
        assert host <= targets["cust_optiling"].keys()
        own = {str(place / "op_api" / f"{prefix}{snake(n)}.cpp") for prefix in ("aclnn_", "")}
        assert own <= targets["cust_opapi"].keys()
        assert all("-std=gnu++17" in targets["cust_opapi"][f] for f in own)
        assert (tmp_path / "op_kernel" / f"{snake(n)}.cpp").read_bytes() == (place / "op_kernel" / f"{snake(n)}.cpp").read_bytes()
        header = build / "autogen" / f"aclnn_{snake(n)}.h"
        assert header.read_bytes() == (place / "op_api" / f"aclnn_{snake(n)}.h").read_bytes()
    assert not any("autogen" in f for f in targets["cust_opapi"])
    assert len(targets["cust_opapi"]) == 2 * len(names)


def test_a_repository_of_operators_takes_the_folders_in_place(tmp_path: Path) -> None:
    names = list(OPERATORS)[:2]
    for n in names:
        shutil.copytree(folder(n), tmp_path / "nn" / snake(n))
    (tmp_path / "CMakeLists.txt").write_text(REPOSITORY, encoding="utf-8")
    said = (configure(tmp_path) / "said.txt").read_text(encoding="utf-8").splitlines()
    for n in names:
        host = tmp_path / "nn" / snake(n) / "op_host"
        assert f"compiled {host}" in said
        registered = next(line for line in said if line.startswith("aclnn_exclude ") and str(host) in line)
        files = {Path(f).name for f in registered.split(" ", 1)[1].split(";")}
        parts = {f"aclnn_{snake(n)}.cpp", f"{snake(n)}.cpp", *(f"{snake(n)}_{p}.cpp" for p in ("def", "infershape", "tiling"))}
        assert files == parts


def test_a_tree_of_neither_kind_is_refused_with_a_reason(tmp_path: Path) -> None:
    name = next(iter(OPERATORS))
    shutil.copytree(folder(name), tmp_path / snake(name))
    (tmp_path / "CMakeLists.txt").write_text(f"cmake_minimum_required(VERSION 3.19)\nproject(x CXX)\nadd_subdirectory({snake(name)})\n")
    done = subprocess.run(["cmake", "-S", str(tmp_path), "-B", str(tmp_path / "b")], capture_output=True, text=True, check=False)
    assert done.returncode != 0
    assert "neither a repository of operators" in done.stderr
