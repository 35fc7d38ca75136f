"""Regeneration: what is written, what is left alone, and what a hand's edit is protected by. Planning is a stub here."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from generator.emit import pipeline, render, writer
from generator.emit.manifest import MANIFEST, ManifestError, load
from generator.emit.pipeline import compare, current, generate
from generator.spec.errors import SpecError
from tests.emit import handmade

SPEC = """\
name: ScaledExp
family: demo
summary: {en: exp of x times scale, zh: 指数}
dims:
  N: {about: {en: elements, zh: 元素}}
params:
  - {symbol: x, name: x, aclnn: self, io: in, shape: [N], dtype: X, about: {en: input, zh: 输入}}
  - {symbol: scale, name: scale, aclnn: scale, io: attr, type: float, default: 1.5, about: {en: factor, zh: 系数}}
  - {symbol: y, name: y, aclnn: out, io: out, shape: [N], dtype: X, about: {en: output, zh: 输出}}
dtypes: [{X: float16}, {X: bfloat16}, {X: float32}]
formula: |
  y[i] = exp(x[i]) * scale
"""
BACKWARD = SPEC.replace("ScaledExp", "ScaledExpBackward").replace("family: demo", "family: demo\nforward: ScaledExp")
FOLDER = "demo/scaled_exp"


@pytest.fixture(autouse=True)
def _stubs(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("OPWRIGHT_CACHE", str(tmp_path / "cache"))

    def plan(checked: object) -> object:
        name = checked.spec.name  # type: ignore[attr-defined]
        return handmade.plan(name)

    def tests_of(checked: object, forward: object) -> dict[str, str]:
        formula = forward.spec.formula if forward else ""  # type: ignore[attr-defined]
        folder = render.folder(checked)  # type: ignore[arg-type]
        return {f"{folder}/tests/test_it.py": f"# {checked.spec.formula!r} {formula!r}\n"}  # type: ignore[attr-defined]

    monkeypatch.setattr(pipeline, "_plan", plan)
    monkeypatch.setattr(render, "render_tests", tests_of)


@pytest.fixture
def work(tmp_path: Path) -> tuple[Path, Path]:
    specs, out = tmp_path / "specs", tmp_path / "generated"
    (specs / "demo").mkdir(parents=True)
    (specs / "demo" / "scaled_exp.yaml").write_text(SPEC, encoding="utf-8")
    (specs / "demo" / "scaled_exp_backward.yaml").write_text(BACKWARD, encoding="utf-8")
    generate(specs, out)
    return specs, out


def edit_spec(specs: Path, old: str, new: str, name: str = "scaled_exp") -> None:
    path = specs / "demo" / f"{name}.yaml"
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new), encoding="utf-8")


def changed(specs: Path, out: Path, **options: str) -> set[str]:
    return {c.path for c in generate(specs, out, **options).changes}  # type: ignore[arg-type]


def test_a_second_run_finds_itself_current_and_writes_nothing(work: tuple[Path, Path]) -> None:
    before = {p: p.stat().st_mtime_ns for p in work[1].rglob("*")}
    assert current(*work)
    assert changed(*work) == set()
    assert {p: p.stat().st_mtime_ns for p in work[1].rglob("*")} == before


def test_without_a_stamp_everything_is_rendered_and_nothing_written(work: tuple[Path, Path], tmp_path: Path) -> None:
    shutil.rmtree(tmp_path / "cache")
    assert not current(*work)
    result = generate(*work)
    assert result.changes == []
    assert result.rendered == ["ScaledExp", "ScaledExpBackward"]
    assert current(*work)


def test_editing_a_description_rewrites_documents_only(work: tuple[Path, Path]) -> None:
    edit_spec(work[0], "en: factor", "en: the factor")
    assert changed(*work) == {f"{FOLDER}/docs/aclnnScaledExp.en.md"}
    edit_spec(work[0], "zh: 系数", "zh: 乘数")
    assert changed(*work) == {f"{FOLDER}/docs/aclnnScaledExp.md"}


def test_editing_a_forward_formula_rewrites_its_files_and_what_its_backward_derives_from_it(work: tuple[Path, Path]) -> None:
    edit_spec(work[0], "exp(x[i]) * scale", "exp(x[i]) * scale + 1")
    assert changed(*work) == {
        f"{FOLDER}/docs/aclnnScaledExp.en.md",
        f"{FOLDER}/docs/aclnnScaledExp.md",
        f"{FOLDER}/examples/test_aclnn_scaled_exp.cpp",
        f"{FOLDER}/tests/test_it.py",
        f"{FOLDER}/torch/scaled_exp.py",
        "demo/scaled_exp_backward/tests/test_it.py",
    }


def test_only_operators_whose_specs_changed_are_rendered(work: tuple[Path, Path]) -> None:
    edit_spec(work[0], "en: input", "en: the input", "scaled_exp_backward")
    assert generate(*work).rendered == ["ScaledExpBackward"]


def test_a_file_edited_by_hand_stops_its_operator(work: tuple[Path, Path]) -> None:
    doc = work[1] / FOLDER / "docs" / "aclnnScaledExp.en.md"
    doc.write_text(doc.read_text(encoding="utf-8") + "by hand\n", encoding="utf-8")
    edit_spec(work[0], "en: factor", "en: the factor")
    result = generate(*work)
    assert result.edited == [f"{FOLDER}/docs/aclnnScaledExp.en.md"]
    assert result.changes == []
    assert "by hand" in doc.read_text(encoding="utf-8")


def test_force_overwrites_a_hand_edit(work: tuple[Path, Path]) -> None:
    doc = work[1] / FOLDER / "docs" / "aclnnScaledExp.en.md"
    good = doc.read_text(encoding="utf-8")
    doc.write_text(good + "by hand\n", encoding="utf-8")
    assert generate(*work, on_edit="force").edited == []
    assert doc.read_text(encoding="utf-8") == good


def test_merge_keeps_both_changes_where_they_do_not_meet(work: tuple[Path, Path]) -> None:
    doc = work[1] / FOLDER / "docs" / "aclnnScaledExp.en.md"
    doc.write_text(doc.read_text(encoding="utf-8") + "by hand\n", encoding="utf-8")
    edit_spec(work[0], "en: factor", "en: the factor")
    assert generate(*work, on_edit="merge").conflicts == []
    text = doc.read_text(encoding="utf-8")
    assert text.endswith("by hand\n")
    assert "the factor" in text


def test_a_merged_file_stays_a_drift(work: tuple[Path, Path]) -> None:
    test_merge_keeps_both_changes_where_they_do_not_meet(work)
    assert [c.path for c in compare(*work)] == [f"{FOLDER}/docs/aclnnScaledExp.en.md"]


def test_merge_marks_a_conflict_where_both_changed_one_line(work: tuple[Path, Path]) -> None:
    doc = work[1] / FOLDER / "docs" / "aclnnScaledExp.en.md"
    doc.write_text(doc.read_text(encoding="utf-8").replace("| factor |", "| hand |"), encoding="utf-8")
    edit_spec(work[0], "en: factor", "en: the factor")
    assert generate(*work, on_edit="merge").conflicts == [f"{FOLDER}/docs/aclnnScaledExp.en.md"]
    text = doc.read_text(encoding="utf-8")
    assert "<<<<<<< edited by hand" in text
    assert "| hand |" in text
    assert "| the factor |" in text


def test_merge_without_a_base_writes_nothing_and_says_why(work: tuple[Path, Path], tmp_path: Path) -> None:
    shutil.rmtree(tmp_path / "cache")
    doc = work[1] / FOLDER / "docs" / "aclnnScaledExp.en.md"
    doc.write_text("by hand\n", encoding="utf-8")
    result = generate(*work, on_edit="merge")
    assert result.edited
    assert "neither in the cache nor in version control" in result.reasons[0]
    assert doc.read_text(encoding="utf-8") == "by hand\n"


def test_a_file_already_at_a_new_place_is_not_overwritten_silently(work: tuple[Path, Path]) -> None:
    edit_spec(work[0], "name: ScaledExp", "name: ScaledExpTwo")
    edit_spec(work[0], "forward: ScaledExp", "forward: ScaledExpTwo", "scaled_exp_backward")
    (work[1] / "demo" / "scaled_exp_two" / "docs").mkdir(parents=True)
    mine = work[1] / "demo" / "scaled_exp_two" / "docs" / "aclnnScaledExpTwo.md"
    mine.write_text("mine\n", encoding="utf-8")
    assert generate(*work).edited == ["demo/scaled_exp_two/docs/aclnnScaledExpTwo.md"]
    assert mine.read_text(encoding="utf-8") == "mine\n"


def test_files_of_a_removed_spec_are_removed(work: tuple[Path, Path]) -> None:
    (work[0] / "demo" / "scaled_exp_backward.yaml").unlink()
    generate(*work)
    assert not (work[1] / "demo" / "scaled_exp_backward").exists()
    assert list(load(work[1]).operators) == [FOLDER]
    assert compare(*work) == []


def test_a_broken_spec_among_good_ones_leaves_everything_as_it_was(work: tuple[Path, Path]) -> None:
    edit_spec(work[0], "en: factor", "en: the factor")
    edit_spec(work[0], "shape: [N], dtype: X, about: {en: input", "shape: [Q], dtype: X, about: {en: input", "scaled_exp_backward")
    before = {p: p.read_bytes() for p in work[1].rglob("*") if p.is_file()}
    with pytest.raises(SpecError):
        generate(*work)
    assert {p: p.read_bytes() for p in work[1].rglob("*") if p.is_file()} == before


def test_an_unknown_forward_is_a_located_error(work: tuple[Path, Path]) -> None:
    edit_spec(work[0], "forward: ScaledExp", "forward: ScaledEx", "scaled_exp_backward")
    with pytest.raises(SpecError, match=r"scaled_exp_backward\.yaml:3:\d+: .*'ScaledEx'"):
        generate(*work)


@pytest.mark.parametrize("name", [MANIFEST, f"{FOLDER}/op_kernel/scaled_exp.cpp", f"{FOLDER}/docs/aclnnScaledExp.md"])
def test_any_changed_byte_of_the_output_is_drift(work: tuple[Path, Path], name: str) -> None:
    path = work[1] / name
    data = bytearray(path.read_bytes())
    data[-1] ^= 1
    path.write_bytes(bytes(data))
    assert name in [c.path for c in compare(*work)] if name != MANIFEST else _manifest_drifts(work)


def _manifest_drifts(work: tuple[Path, Path]) -> bool:
    try:
        return MANIFEST in [c.path for c in compare(*work)]
    except ManifestError:
        return True


def test_an_extra_file_in_the_output_is_drift(work: tuple[Path, Path]) -> None:
    (work[1] / FOLDER / "notes.txt").write_text("x", encoding="utf-8")
    assert [(c.path, c.kind) for c in compare(*work)] == [(f"{FOLDER}/notes.txt", "remove")]


def test_a_missing_file_is_drift_and_is_written_again(work: tuple[Path, Path]) -> None:
    path = work[1] / FOLDER / "op_kernel" / "scaled_exp.cpp"
    text = path.read_text(encoding="utf-8")
    path.unlink()
    assert [(c.path, c.kind) for c in compare(*work)] == [(f"{FOLDER}/op_kernel/scaled_exp.cpp", "add")]
    generate(*work)
    assert path.read_text(encoding="utf-8") == text


def test_a_failure_while_writing_leaves_the_operator_as_it_was(work: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    edit_spec(work[0], "exp(x[i])", "abs(x[i])")
    before = {p: p.read_bytes() for p in work[1].rglob("*") if p.is_file()}
    real = Path.write_bytes
    count = 0

    def failing(self: Path, data: bytes) -> int:
        nonlocal count
        count += 1
        if count == 2:
            raise OSError(28, "No space left on device")
        return real(self, data)

    monkeypatch.setattr(writer.Path, "write_bytes", failing)
    with pytest.raises(OSError, match="No space"):
        generate(*work)
    assert {p: p.read_bytes() for p in work[1].rglob("*") if p.is_file()} == before


def test_the_output_is_the_same_bytes_from_another_folder(work: tuple[Path, Path], tmp_path: Path) -> None:
    other = tmp_path / "elsewhere" / "deeper"
    shutil.copytree(work[0], other / "specs")
    generate(other / "specs", other / "out")
    ours = {p.relative_to(work[1]): p.read_bytes() for p in work[1].rglob("*") if p.is_file()}
    assert {p.relative_to(other / "out"): p.read_bytes() for p in (other / "out").rglob("*") if p.is_file()} == ours


def test_a_damaged_manifest_is_named(work: tuple[Path, Path]) -> None:
    (work[1] / MANIFEST).write_text("{", encoding="utf-8")
    with pytest.raises(ManifestError, match=r"manifest\.json"):
        generate(*work)
