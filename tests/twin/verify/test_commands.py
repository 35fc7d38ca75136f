"""``test`` and ``run`` on an operator written by hand, with the real twin: tables, documents, exit codes."""

from __future__ import annotations

import json
import shlex
import shutil
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from generator.cli.app import build

HAND_MADE = Path(__file__).parent / "hand_made"


def opwright(*words: str, out: Path = HAND_MADE) -> Result:
    return CliRunner().invoke(build(words[0]), [*words, "--specs", str(HAND_MADE / "specs"), "--out", str(out)])


def broken(tmp_path: Path, right: str, wrong: str) -> Path:
    """A copy of the operator whose kernel has ``wrong`` in place of ``right``."""
    shutil.copytree(HAND_MADE / "toy", tmp_path / "toy")
    kernel = tmp_path / "toy" / "double_it" / "op_kernel" / "double_it.cpp"
    text = kernel.read_text(encoding="utf-8")
    assert right in text
    kernel.write_text(text.replace(right, wrong), encoding="utf-8")
    return tmp_path


def test_run_reports_verdict_traffic_and_tiling_as_one_document() -> None:
    result = opwright("run", "DoubleIt", "--dim", "T=1001", "--product", "Ascend910B", "--cores", "40", "--json")
    assert result.exit_code == 0, result.output
    document = json.loads(result.stdout)
    assert document["passed"]
    assert document["case"]["dims"] == {"T": 1001}
    assert document["outputs"][0]["rule"] == "a"
    assert document["breaches"] == []
    # 1001 floats; the last core's 9 floats take two blocks of 32 bytes each way
    assert document["bytes"] == {"read": 4032, "written": 4032, "moved": 8064, "compulsory": 8008, "ratio": pytest.approx(8064 / 8008)}
    assert document["tiling"]["fields"] == {"total": 1001, "share": 32, "tile": 32}
    assert document["tiling"]["block_dim"] == 32


def test_run_in_words_says_the_same() -> None:
    result = opwright("run", "DoubleIt", "--dim", "T=7")
    assert result.exit_code == 0, result.output
    assert "passed by rule a" in result.stdout
    assert "breaches of law: 0" in result.stdout


def test_test_prints_one_line_for_each_operator_and_the_budget() -> None:
    result = opwright("test", "--product", "Ascend910B", "--jobs", "1")
    assert result.exit_code == 0, result.output
    assert "DoubleIt" in result.stdout
    assert "passed" in result.stdout
    assert "budget:" in result.stdout


def test_a_breach_of_law_fails_test_with_a_command_that_repeats_it(tmp_path: Path) -> None:
    out = broken(tmp_path, "out_.EnQue(out);\n            out = out_.DeQue<float>();", "")
    result = opwright("test", "--product", "Ascend910B", "--cores", "40", "--jobs", "1", out=out)
    assert result.exit_code == 1
    assert "law missing-sync" in result.stderr
    command = next(line for line in result.stderr.splitlines() if line.startswith("  repeat: "))
    words = shlex.split(command.removeprefix("  repeat: opwright "))
    assert opwright(*words, out=out).exit_code == 1
    off = opwright(*words, "--law-off", "missing-sync", "--law-off", "queue", "--json", out=out)
    assert json.loads(off.stdout)["breaches"] == []


def test_a_wrong_result_fails_run_with_its_place(tmp_path: Path) -> None:
    out = broken(tmp_path, "AscendC::Add(out, in, in,", "AscendC::Mul(out, in, in,")
    result = opwright("run", "DoubleIt", "--dim", "T=7", out=out)
    assert result.exit_code == 1
    assert "y (float32): at [0]" in result.stderr


def test_a_kernel_that_does_not_compile_is_an_error_with_the_compilers_words(tmp_path: Path) -> None:
    out = broken(tmp_path, "AscendC::Add(", "AscendC::Plus(")
    result = opwright("run", "DoubleIt", "--dim", "T=7", out=out)
    assert result.exit_code == 2
    assert "Plus" in result.stderr
    assert "Traceback" not in result.output


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["DoubleIt"], "no value for T"),
        (["DoubleIt", "--dim", "T"], "expected NAME=VALUE"),
        (["DoubleIt", "--dim", "T=abc"], "expected a number"),
        (["DoubleIt", "--dim", "T=1.5"], "expected an integer"),
        (["DoubleIt", "--dim", "T=-1"], "T = -1 is negative"),
        (["DoubleIt", "--dim", "T=4", "--axes", "2"], "no parameter has a pack of axes"),
        (["DoubleIt", "--dim", "N=4"], "no such dim or attribute; there are T"),
        (["DoubleIt", "--dim", "T=100001"], "T <= 100000"),
        (["DoubleIt", "--dim", "T=4", "--product", "Ascend1"], "unknown product 'Ascend1'"),
        (["DoubleIt", "--dim", "T=4", "--dtype", "X=int8"], "no dtype combination"),
        (["DoubleIt", "--dim", "T=4", "--absent", "x"], "not an optional parameter"),
        (["DoubleIt", "--dim", "T=4", "--rank", "3"], "rank 3: there are 0 alternative ranks"),
        (["DoubleIt", "--dim", "T=4", "--special", "x=big"], "expected nan, inf or -inf"),
        (["DoubleIt", "--dim", "T=4", "--special", "q=nan"], "no such input"),
        (["DoubleIt", "--dim", "T=4", "--law-off", "gravity"], "no law is called 'gravity'"),
        (["TripleIt", "--dim", "T=4"], "no spec defines the operator 'TripleIt'"),
    ],
)
def test_what_makes_no_sense_is_refused_with_what_would(words: list[str], said: str) -> None:
    result = opwright("run", *words)
    assert result.exit_code == 2
    assert said in result.stderr
    assert "Traceback" not in result.output


def test_an_operator_that_was_not_generated_is_named(tmp_path: Path) -> None:
    result = opwright("test", out=tmp_path)
    assert result.exit_code == 2
    assert "run `opwright gen`" in result.stderr
