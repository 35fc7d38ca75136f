"""The project's own rules: which stage may import which, nothing about one operator, no calls in templates, what is packaged."""

from __future__ import annotations

import ast
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "generator"
ALLOWED = {
    "spec": set(),
    "formula": {"spec"},
    "symbolic": {"spec", "formula"},
    "reference": {"spec", "formula"},
    "plan": {"spec", "formula"},
    "emit": {"spec", "formula", "reference", "plan"},
    "twin": {"spec", "formula", "reference"},
    "cli": {"spec", "formula", "symbolic", "reference", "plan", "emit", "twin"},
}
CALLS = (
    "Add|Sub|Mul|Div|Max|Min|Adds|Muls|Maxs|Mins|Exp|Ln|Abs|Sqrt|Rsqrt|Reciprocal|Relu|Cast|Duplicate|Compare|CompareScalar|Select"
    "|Axpy|Brcb|Gather|GatherMask|WholeReduce\\w+|BlockReduce\\w+|PairReduce\\w+|Reduce(?:Sum|Max|Min)|Copy|DataCopy\\w*|LoadData|Mmad"
    "|Fixpipe|Transpose|TransDataTo5HD|And|Or|Not|Matmul\\w*"
)


def modules() -> Iterator[Path]:
    yield from (p for p in sorted(PACKAGE.rglob("*.py")) if "__pycache__" not in p.parts)


def imported(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (a.name for a in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{a.name}" for a in node.names)


def operators() -> list[str]:
    found = [re.search(r"^name:\s*(\w+)", p.read_text(encoding="utf-8"), re.MULTILINE) for p in sorted(ROOT.glob("specs/**/*.yaml"))]
    return [m.group(1) for m in found if m]


def test_stages_import_one_way() -> None:
    wrong = []
    for path in modules():
        stage = path.relative_to(PACKAGE).parts[0]
        for name in imported(path):
            other = name.split(".")[1] if name.startswith("generator.") and name.count(".") else ""
            if stage in ALLOWED and other in ALLOWED and other != stage and other not in ALLOWED[stage]:
                wrong.append(f"{path.relative_to(ROOT)} imports {name}")
    assert wrong == []


def test_sympy_is_imported_in_symbolic_only() -> None:
    users = {p.relative_to(PACKAGE).parts[0] for p in modules() for name in imported(p) if name.split(".")[0] == "sympy"}
    assert users <= {"symbolic"}


@pytest.mark.parametrize("folder", ["generator", "templates"])
def test_no_operator_is_named_where_operators_are_data(folder: str) -> None:
    names = {n for n in operators() if len(n) > 7} | {"sinkhorn"}  # shorter names are words of the field
    hits = []
    for path in sorted((ROOT / folder).rglob("*")):
        if path.is_file() and "__pycache__" not in path.parts and path.suffix != ".pyc":
            text = path.read_text(encoding="utf-8").lower()
            hits += [f"{path.relative_to(ROOT)}: {n}" for n in names if n.lower() in text]
    assert hits == []


def test_templates_contain_no_vector_cube_or_copy_call() -> None:
    pattern = re.compile(rf"(?<![\w.])(?:AscendC::)?(?:{CALLS})\s*(?:<[^<>]*>)?\(")
    hits = []
    for path in sorted((ROOT / "templates").rglob("*.j2")):
        for k, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            if pattern.search(line.split("//")[0]):
                hits.append(f"{path.relative_to(ROOT)}:{k}: {line.strip()}")
    assert hits == []


def test_every_module_says_its_subject_and_keeps_to_it() -> None:
    wrong = []
    for path in modules():
        text = path.read_text(encoding="utf-8")
        if text and ast.get_docstring(ast.parse(text)) is None:
            wrong.append(f"{path.relative_to(ROOT)}: no docstring")
        if text.count("\n") >= 500 or len(text.encode()) >= 28 * 1024:
            wrong.append(f"{path.relative_to(ROOT)}: {text.count(chr(10))} lines, {len(text.encode())} bytes")
    assert wrong == []


def test_every_package_travels_in_the_wheel() -> None:
    listed = set(tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["setuptools"]["packages"])
    there = {".".join(p.parent.relative_to(ROOT).parts) for p in modules()}
    assert listed == there | {"generator._templates"}


def test_the_version_is_said_once_in_effect() -> None:
    from generator import __version__

    assert tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"] == __version__


def test_the_style_of_emitted_cpp_is_the_style_of_the_project() -> None:
    assert (ROOT / ".clang-format").read_bytes() == (ROOT / "templates" / "clang-format.yaml").read_bytes()
