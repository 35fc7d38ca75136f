"""Client programs of hand-written operators: built once for each sanitizer, one process for each test in them."""

from __future__ import annotations

import fcntl
import os
import re
import shutil
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

import pytest

from generator.twin import compile as compiling
from generator.twin.package import Package, package

HERE = Path(__file__).parent
CLIENT = HERE / "client"
OPERATORS = (HERE / "operators" / "probe", HERE.parent / "operators" / "add_one")


def names(program: str) -> list[str]:
    """The tests in ``client/<program>.cpp``."""
    return re.findall(r"^TEST\((\w+)\)", (CLIENT / f"{program}.cpp").read_text(encoding="utf-8"), re.MULTILINE)


@contextmanager
def alone() -> Iterator[None]:
    """One builder at a time, so that parallel workers find what the first has built."""
    folder = compiling.default_cache()
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "acl-tests.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


@pytest.fixture(scope="session")
def packaged(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str | None], Package]:
    """The operators' headers and libraries, with a sanitizer."""
    if shutil.which("g++") is None:
        pytest.skip("needs g++")

    @cache
    def make(sanitize: str | None) -> Package:
        with alone():
            return package(OPERATORS, tmp_path_factory.mktemp("packaged"), sanitize=sanitize)

    return make


@pytest.fixture(scope="session")
def run(packaged: Callable[[str | None], Package], tmp_path_factory: pytest.TempPathFactory) -> Callable[..., str]:
    """Runs one test of a program; fails with its output. ``settings`` are environment variables."""
    folder = tmp_path_factory.mktemp("clients")

    @cache
    def built(program: str, sanitize: str) -> Path:
        made = packaged(sanitize)
        target = folder / f"{program}-{sanitize.split(',')[0]}"
        flags = ["-std=c++17", "-g1", f"-fsanitize={sanitize}", "-Wall", "-Wextra", "-Werror", "-pthread"]
        command = ["g++", *flags, str(CLIENT / f"{program}.cpp"), *made.flags, "-o", str(target)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return target

    def one(program: str, name: str, sanitize: str = "address,undefined", **settings: str) -> str:
        path = built(program, sanitize)
        strict = {"UBSAN_OPTIONS": "halt_on_error=1", "TSAN_OPTIONS": "halt_on_error=1", "OPWRIGHT_LEAKS": "fail"}
        env = {**os.environ, **strict, "LD_LIBRARY_PATH": str(packaged(sanitize).libraries), **settings}
        done = subprocess.run([str(path), name], capture_output=True, text=True, check=False, env=env, timeout=300)
        assert done.returncode == 0, done.stdout + done.stderr[-4000:]
        return done.stdout + done.stderr

    return one
