"""What the tests of the host side share: every operator of specs/, its legal cases, and libraries built from generated sources."""

from __future__ import annotations

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

from generator.emit.names import snake
from generator.formula.checked import CheckedSpec
from generator.twin.compile import default_cache
from generator.twin.verify.case import Case
from generator.twin.verify.cases import CaseSet, derive
from generator.twin.verify.session import Operator, load, operators, targets

ROOT = Path(__file__).resolve().parents[2]
OPERATORS: dict[str, Operator] = {op.name: op for op in operators(ROOT / "specs", ROOT / "generated", snake)}
INCLUDE = ROOT / "generator" / "twin" / "include"


def folder(name: str) -> Path:
    """The generated folder of an operator."""
    return OPERATORS[name].folder


def place() -> Path:
    """The folder in the cache for what these tests build."""
    found = default_cache() / "host-tests"
    found.mkdir(parents=True, exist_ok=True)
    return found


@cache
def spec(name: str) -> CheckedSpec:
    return load(OPERATORS[name].spec)


@cache
def case_set(name: str) -> CaseSet:
    return derive(spec(name), targets(spec(name)))


def small_cases(name: str) -> list[Case]:
    """The operator's legal cases without empty tensors, in order."""
    return [c for c in case_set(name).cases if not c.large and all(v > 0 for _, v in c.dims) and c.special is None]


def written(name: str, text: str) -> Path:
    """A source file of the tests, always at the same place, so that what is built from it is cached."""
    path = place() / name
    if not path.is_file() or path.read_text(encoding="utf-8") != text:
        path.write_text(text, encoding="utf-8")
    return path


@contextmanager
def alone() -> Iterator[None]:
    """Only one process of a test run builds; the others find what it built."""
    with (place() / "lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
