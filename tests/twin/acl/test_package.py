"""What a package holds, how it is used from C, when it is built anew, and what is said when it cannot be built."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from generator.twin.errors import TwinError
from generator.twin.package import Package, package
from tests.twin.acl.conftest import CLIENT, OPERATORS, alone

Packaged = Callable[[str | None], Package]


@pytest.fixture(scope="module")
def built(packaged: Packaged) -> Package:
    return packaged(None)


def test_a_plain_c_program_runs(built: Package, tmp_path: Path) -> None:
    command = [
        "gcc",
        "-std=c11",
        "-Wall",
        "-Wextra",
        "-Werror",
        "-pedantic",
        str(CLIENT / "plain.c"),
        *built.flags,
        "-o",
        str(tmp_path / "plain"),
    ]
    subprocess.run(command, check=True)
    env = {**os.environ, "LD_LIBRARY_PATH": str(built.libraries), "OPWRIGHT_LEAKS": "fail"}
    done = subprocess.run([str(tmp_path / "plain")], capture_output=True, text=True, check=False, env=env)
    assert (done.returncode, done.stdout) == (0, "2.5 3.5 4.5\n"), done.stderr


def test_libraries_have_the_names_clients_link(built: Package) -> None:
    files = {path.name: path.resolve().name for path in built.libraries.glob("*.so")}
    own = ("libascendcl.so", "libcust_opapi.so", "libnnopbase.so")
    aliases = {"libacl_rt.so": "libascendcl.so", "libopapi.so": "libcust_opapi.so"}
    assert {name: files.get(name) for name in (*own, *aliases)} == {**{name: name for name in own}, **aliases}
    assert sorted(str(p.relative_to(built.libraries)) for p in built.libraries.glob("kernels/*/*")) == [
        "kernels/2201/AddOne.so",
        "kernels/2201/Probe.so",
    ]


def test_headers_have_the_names_clients_include(built: Package) -> None:
    for name in (
        "acl/acl.h",
        "aclnn/acl_meta.h",
        "aclnn/aclnn_base.h",
        "aclnn_probe.h",
        "aclnnop/aclnn_probe.h",
        "aclnn/opdev/op_executor.h",
    ):
        assert (built.include / name).is_file(), name


def test_only_the_interface_of_an_operator_is_visible(built: Package) -> None:
    listed = subprocess.run(
        ["nm", "-D", "--defined-only", str(built.libraries / "libcust_opapi.so")], capture_output=True, text=True, check=True
    )
    assert sorted(line.split()[-1] for line in listed.stdout.splitlines() if " T " in line) == [
        *(f"aclnnAddOne{part}" for part in ("", "GetWorkspaceSize")),
        *(f"aclnnProbe{part}" for part in ("", "GetWorkspaceSize")),
    ]


def test_a_second_build_compiles_and_copies_nothing(built: Package, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("a compiler was started")

    before = {path: path.stat().st_mtime_ns for path in built.include.parent.rglob("*") if path.is_file()}
    monkeypatch.setattr(subprocess, "run", refuse)
    assert package(OPERATORS, built.include.parent) == built
    assert {path: path.stat().st_mtime_ns for path in built.include.parent.rglob("*") if path.is_file()} == before


def test_a_change_of_an_operators_interface_alone_gives_another_library(built: Package, tmp_path: Path) -> None:
    folder = tmp_path / OPERATORS[1].name
    shutil.copytree(OPERATORS[1], folder)
    made = []
    for text in ("\n", 'static const char kOther[] = "other";\nextern "C" const char *AddOneOther() { return kOther; }\n'):
        source = min((folder / "op_api").glob("*.cpp"))
        source.write_text(source.read_text(encoding="utf-8") + text, encoding="utf-8")
        with alone():
            package([folder], tmp_path / "out")
        made.append((tmp_path / "out" / "lib" / "libcust_opapi.so").read_bytes())
    assert made[0] != made[1]


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda folder: shutil.rmtree(folder / "op_api"), "no aclnn_"),
        (lambda folder: (folder / "op_kernel" / "probe.cpp").unlink(), "op_kernel/probe.cpp: no such file"),
        (lambda folder: shutil.rmtree(folder / "op_host"), "registers no operator"),
        (lambda folder: (folder / "op_api" / "more.cpp").write_text("int x = y;\n"), "more.cpp: does not compile"),
    ],
)
def test_what_is_missing_is_named(tmp_path: Path, spoil: Callable[[Path], None], message: str) -> None:
    folder = tmp_path / "probe"
    shutil.copytree(OPERATORS[0], folder)
    spoil(folder)
    with alone(), pytest.raises(TwinError, match=message):
        package([folder], tmp_path / "out")


def test_an_operator_is_packaged_once(tmp_path: Path) -> None:
    with pytest.raises(TwinError, match="two folders register the operator Probe"):
        package([OPERATORS[0], OPERATORS[0]], tmp_path)


def test_products_and_sanitizers_have_names(tmp_path: Path) -> None:
    with pytest.raises(TwinError, match="unknown product 'Ascend1'"):
        package(OPERATORS, tmp_path, ["Ascend1"])
    with pytest.raises(TwinError, match="unknown sanitizer 'memory'"):
        package(OPERATORS, tmp_path, sanitize="memory")
