"""``opwright derive`` prints, typesets and saves gradients, and says what is wrong with a request."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from generator.cli.app import build
from generator.formula.checked import load

SPECS = Path(__file__).resolve().parents[2] / "specs"


def run(*args: str) -> tuple[int, str]:
    result = CliRunner().invoke(build("derive"), ["derive", *args, "--specs", str(SPECS)])
    return result.exit_code, result.output


def test_the_gradient_is_printed_with_what_it_reads() -> None:
    code, out = run("Softmax")
    assert code == 0
    assert out.splitlines() == ["grad_x[*b, j] = y[*b, j] * (grad_y[*b, j] - sum[j](grad_y[*b, j] * y[*b, j]))", "# reads: y"]


def test_one_input_and_no_saved_outputs_can_be_asked_for() -> None:
    code, out = run("RmsNorm", "--wrt", "gamma", "--saved", "none", "--cotangent", "y")
    assert code == 0
    assert "grad_gamma[j]" in out
    assert "grad_x" not in out
    assert "rstd" not in out


def test_the_gradient_is_typeset() -> None:
    code, out = run("Softmax", "--latex")
    assert code == 0
    assert out.startswith("\\begin{aligned}")


def test_the_json_document_says_what_is_read_and_returned() -> None:
    code, out = run("Softmax", "--json")
    document = json.loads(out)
    assert code == 0
    assert document["command"] == "derive"
    assert document["gradients"] == {"x": "grad_x"}
    assert document["cotangents"] == {"y": "grad_y"}
    assert document["reads"] == {"y": "y"}


def test_a_saved_gradient_is_a_spec_that_loads(tmp_path: Path) -> None:
    path = tmp_path / "softmax_backward.yaml"
    code, out = run("Softmax", "--save", str(path))
    assert code == 0
    assert f"wrote {path.as_posix()}" in out
    saved = load(path)
    assert saved.spec.forward == "Softmax"
    assert [t.name for t in saved.program.inputs] == ["grad_y", "y"]


def test_an_existing_file_is_not_overwritten(tmp_path: Path) -> None:
    path = tmp_path / "there.yaml"
    path.write_text("mine", encoding="utf-8")
    code, _ = run("Softmax", "--save", str(path))
    assert code == 2
    assert path.read_text(encoding="utf-8") == "mine"


@pytest.mark.parametrize("args", [["Softmaxx"], ["Softmax", "--wrt", "z"], ["Softmax", "--cotangent", "x"], ["Softmax", "--saved", "q"]])
def test_a_request_that_cannot_be_met_exits_with_2_and_no_traceback(args: list[str]) -> None:
    code, out = run(*args)
    assert code == 2
    assert "Traceback" not in out
