"""Every operator's example, as anybody would use it: compiled against the packaged headers and libraries, run, in C too."""

from __future__ import annotations

import fcntl
import os
import re
import subprocess
from pathlib import Path

import pytest

from generator.emit.names import snake
from generator.emit.prototype import phases
from generator.twin.compile import default_cache
from generator.twin.package import Package, package
from tests.reference.specs import NAMES, ROOT, every

GENERATED = ROOT / "generated"


def folder(name: str) -> Path:
    return GENERATED / every()[name].spec.family / snake(name)


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Package:
    default_cache().mkdir(parents=True, exist_ok=True)
    with (default_cache() / "examples.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # the first worker builds, the others find it built
        return package([folder(name) for name in NAMES], tmp_path_factory.mktemp("package"))


def compiled(source: Path, built: Package, compiler: list[str]) -> Path:
    target = built.include.parent / f"run_{source.stem}_{source.suffix[1:]}"
    done = subprocess.run([*compiler, str(source), *built.flags, "-o", str(target)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return target


def run(program: Path, built: Package) -> subprocess.CompletedProcess[str]:
    env = {**os.environ, "LD_LIBRARY_PATH": str(built.libraries)}
    return subprocess.run([str(program)], env=env, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("name", NAMES)
def test_the_example_compiles_runs_and_finds_every_output_right(name: str, built: Package) -> None:
    source = folder(name) / "examples" / f"test_aclnn_{snake(name)}.cpp"
    done = run(compiled(source, built, ["g++", "-std=c++17", "-Wall", "-Werror"]), built)
    assert done.returncode == 0, done.stdout + done.stderr
    outputs = [p.aclnn for p in every()[name].spec.params if p.io in ("out", "inout")]
    assert re.findall(r"^(\w+): [1-9]\d* elements agree", done.stdout, re.MULTILINE) == outputs
    assert done.stdout.endswith("passed\n")


def test_an_example_fails_when_an_output_is_not_what_the_formula_says(built: Package) -> None:
    name = NAMES[0]
    text = (folder(name) / "examples" / f"test_aclnn_{snake(name)}.cpp").read_text(encoding="utf-8")
    last = every()[name].program.outputs[-1].name
    wrong = re.sub(rf"(?m)^( *{last}\([^=]*\) = )(.*);$", r"\g<1>1.01 * (\g<2>);", text, count=1)
    assert wrong != text
    source = built.include.parent / "wrong.cpp"
    source.write_text(wrong, encoding="utf-8")
    done = run(compiled(source, built, ["g++", "-std=c++17"]), built)
    assert done.returncode == 1
    assert "expected" in done.stdout
    assert done.stdout.endswith("failed\n")


def test_a_plain_c_program_can_call_every_operator(built: Package) -> None:
    calls = []
    for name in NAMES:
        first, second = phases(every()[name].spec)
        for declared in (first, second):
            arguments = ", ".join("0" for _ in re.findall(r"[,(]\n", declared))
            function = declared.split("(")[0].split()[-1]
            calls.append(f"    refused += {function}({arguments}) != 0;")
    headers = "\n".join(f'#include "aclnnop/aclnn_{snake(name)}.h"' for name in NAMES)
    body = "\n".join(calls)
    source = built.include.parent / "client.c"
    source.write_text(f"{headers}\nint main(void)\n{{\n    int refused = 0;\n{body}\n    return refused == {len(calls)} ? 0 : 1;\n}}\n")
    assert run(compiled(source, built, ["gcc", "-std=c11", "-Wall", "-Werror", "-pedantic"]), built).returncode == 0
