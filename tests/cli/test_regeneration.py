"""What an edit of a real spec rewrites, with the real planner: an operator and its gradient from the specs folder."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from generator.emit.pipeline import compare, generate, names_of

SPECS = Path(__file__).resolve().parents[2] / "specs"


@pytest.fixture(scope="module")
def pair() -> tuple[str, str]:
    """Paths of a forward's spec and of its backward's."""
    names = names_of(SPECS)
    by_name = {n: p for p, (n, _) in names.items()}
    backward, forward = next((p, by_name[f]) for p, (_, f) in names.items() if f in by_name)
    return forward, backward


@pytest.fixture
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, pair: tuple[str, str]) -> tuple[Path, Path]:
    monkeypatch.setenv("OPWRIGHT_CACHE", str(tmp_path / "cache"))
    specs, out = tmp_path / "specs", tmp_path / "generated"
    for path in pair:
        (specs / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(SPECS / path, specs / path)
    generate(specs, out)
    return specs, out


def test_edits_rewrite_what_depends_on_them_and_nothing_else(work: tuple[Path, Path], pair: tuple[str, str]) -> None:
    specs, out = work
    forward, backward = (Path(p).with_suffix("").as_posix() for p in pair)
    spec = specs / pair[0]

    text = spec.read_text(encoding="utf-8")
    spec.write_text(text.replace("summary:\n  en: ", "summary:\n  en: >-\n    In one call: "), encoding="utf-8")
    changed = [c.path for c in generate(specs, out).changes]
    assert changed
    assert all(p.startswith(f"{forward}/docs/") for p in changed)

    text = spec.read_text(encoding="utf-8").rstrip("\n")
    last = next(k for k in reversed(text.splitlines()) if k.startswith("  y["))
    spec.write_text(text.replace(last, f"{last} * 2.0") + "\n", encoding="utf-8")
    changed = [c.path for c in generate(specs, out).changes]
    assert {p.removeprefix(forward + "/").split("/")[0] for p in changed if p.startswith(forward + "/")} >= {"docs", "op_kernel", "tests"}
    others = {p for p in changed if not p.startswith(forward + "/")}
    assert others
    assert all(p.startswith((f"{backward}/tests/", f"{backward}/examples/", f"{backward}/torch/")) for p in others)

    assert generate(specs, out).changes == []
    assert compare(specs, out) == []
