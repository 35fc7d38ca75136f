"""``opwright audit`` on audit files and specs: exit codes, the JSON document, reports, located errors, hostile files."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path

import pytest
from typer.testing import CliRunner

from generator.cli.app import build

ROOT = Path(__file__).resolve().parents[2]
CASE = """cases:
  - name: scale
    dims: {T: , D: }
    tensors: {x: [T, D], w: [D], y: [T, D]}
    forward: |
      y[t, d] = x[t, d] * w[d]
    gradient: |
      dx[t, d] = dy[t, d] * w[d]
      dw[d] = DW
"""
RIGHT, WRONG, OPEN = "sum[t](dy[t, d] * x[t, d])", "sum[t](dy[t, d])", "sum(dy[t, d] * x[t, d])"


def run(*args: str) -> tuple[int, str, str]:
    result = CliRunner().invoke(build("audit"), ["audit", *args])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result.exit_code, result.stdout, result.stderr


def write(folder: Path, text: str) -> str:
    path = folder / "case.yaml"
    path.write_text(text, encoding="utf-8")
    return str(path)


@pytest.mark.parametrize(("text", "code"), [(RIGHT, 0), (WRONG, 1), (OPEN, 1)])
def test_the_exit_code_says_whether_every_gradient_is_right(tmp_path: Path, text: str, code: int) -> None:
    assert run(write(tmp_path, CASE.replace("DW", text)))[0] == code


def test_the_json_document_has_what_readme_says(tmp_path: Path) -> None:
    code, out, _ = run(write(tmp_path, CASE.replace("DW", WRONG)), "--json")
    document = json.loads(out)
    assert code == 1
    assert document["command"] == "audit"
    assert document["schema"] == 1
    assert not document["passed"]
    assert document["counts"]["REFUTED"] == 1
    (audit,) = document["audits"]
    assert audit["path"].endswith("case.yaml")
    assert audit["line"] == 7
    right, wrong = audit["verdicts"]
    assert (right["output"], right["of"]) == ("dx", "x")
    assert right["level"] == "PROVED"
    assert right["certified"]
    assert wrong["level"] == "REFUTED"
    assert wrong["classification"] == "missing factor"
    example = wrong["counterexample"]
    assert example["sizes"] == {"T": 1, "D": 1}
    assert example["claimed"] == pytest.approx(example["inputs"]["dy"][0][0])
    assert example["derived"] == pytest.approx(example["inputs"]["dy"][0][0] * example["inputs"]["x"][0][0])
    assert "dw[d] =" in wrong["right_formula"]
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    for key in (*document, *audit, *wrong, *example):
        assert f"`{key}`" in readme, key


def test_reports_are_written(tmp_path: Path) -> None:
    md, html = tmp_path / "r.md", tmp_path / "r.html"
    run(write(tmp_path, CASE.replace("DW", WRONG)), "--markdown", str(md), "--html", str(html))
    said = md.read_text(encoding="utf-8")
    assert "| scale |" in said
    assert "**REFUTED**" in said
    assert r"\sum" in said
    page = html.read_text(encoding="utf-8")
    assert "<math>" in page
    assert 'class="REFUTED"' in page
    assert "http" not in page.replace("http-equiv", "")


def test_an_audit_file_with_faults_is_reported_with_places(tmp_path: Path) -> None:
    broken = CASE.replace("DW", RIGHT).replace("tensors: {x", "tensor: {x").replace("dims:", "dim:")
    code, _, err = run(write(tmp_path, broken))
    assert code == 2
    assert "case.yaml:3:5: unknown key, 'dim', did you mean 'dims'" in err
    assert "case.yaml:4:5: unknown key, 'tensor', did you mean 'tensors'" in err


def test_a_fault_of_the_forward_is_reported_with_its_place(tmp_path: Path) -> None:
    code, _, err = run(write(tmp_path, CASE.replace("DW", RIGHT).replace("* w[d]\n    gradient", "* v[d]\n    gradient")))
    assert code == 2
    assert "case.yaml:6:27: the tensor is not defined" in err


def test_an_unknown_name_is_a_usage_error(tmp_path: Path) -> None:
    code, _, err = run("Nothing", "--specs", str(ROOT / "specs"))
    assert code == 2
    assert "'Nothing' is neither an operator" in err


def test_a_published_formula_that_forgets_the_padding_is_refuted_and_its_spec_is_proved() -> None:
    code, out, _ = run("ConvTbcBackward", "--specs", str(ROOT / "specs"), "--json")
    document = json.loads(out)
    own = next(a for a in document["audits"] if a["subject"] == "formula")
    published = [v for a in document["audits"] if a["subject"] != "formula" for v in a["verdicts"]]
    assert {v["level"] for v in own["verdicts"]} <= {"PROVED", "EXACT"}
    wrong = {v["of"]: v for v in published if v["level"] == "REFUTED"}
    assert set(wrong) == {"x", "w"}
    assert wrong["x"]["counterexample"]["sizes"]["pad"] > 0
    assert wrong["x"]["classification"] == "missing padding or stride"
    assert code == 1


HOSTILE = {
    "deep nesting": "dw[d] = " + "(" * 5000 + "1" + ")" * 5000,
    "deep nesting of functions": "dw[d] = " + "exp(" * 300 + "w[d]" + ")" * 300,
    "many terms": "dw[d] = " + " + ".join(["sum[t](dy[t, d] * x[t, d])"] * 20_000),
    "a huge exponent": "dw[d] = sum[t](dy[t, d] * x[t, d] ** 999999999)",
    "a tower of exponents": "dw[d] = sum[t](dy[t, d]) ** 99999 ** 99999",
    "division by zero": "dw[d] = sum[t](dy[t, d] * x[t, d]) / 0",
    "a cyclic definition": "a[d] = b[d]\n      b[d] = a[d]\n      dw[d] = a[d]",
    "a tensor defined by itself": "dw[d] = dw[d] + sum[t](dy[t, d] * x[t, d])",
    "an endless loop": "a[d] = w[d]\n      for r in range(0, 10**8, 1):\n          a[d] = a[d] + 1\n      dw[d] = a[d]",
    "a huge extent": "dw[d] = sum[k: 1000000000](dy[0, d])",
    "a huge literal": "dw[d] = 1" + "0" * 4000 + " * sum[t](dy[t, d])",
    "nested exponentials": "dw[d] = sum[t](exp(exp(exp(exp(exp(x[t, d] * dy[t, d]))))))",
}


@pytest.mark.parametrize("what", HOSTILE)
def test_hostile_formulas_end_in_a_located_error_or_a_bounded_verdict(tmp_path: Path, what: str) -> None:
    path = write(tmp_path, CASE.replace("DW", "DW_").replace("dw[d] = DW_", HOSTILE[what]))
    started = time.process_time()
    code, out, err = run(path, "--budget", "3", "--json")
    assert time.process_time() - started < 30
    assert code in (1, 2)
    document = json.loads(out)
    if code == 2:
        assert "case.yaml:" in err
    else:
        levels = {v["output"]: v["level"] for a in document["audits"] for v in a["verdicts"]}
        assert levels["dw"] in ("REFUTED", "UNDECIDED", "AMBIGUOUS")


def test_asking_for_help_imports_no_algebra() -> None:
    code = "import sys; from generator.cli.app import build; build('audit'); print([m for m in ('sympy', 'numpy') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
