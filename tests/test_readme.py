"""README's commands and examples are executed, so that they stay true."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)


def opwright(folder: Path, *args: str) -> subprocess.CompletedProcess[str]:
    env = {**os.environ, "PYTHONPATH": str(ROOT), "OPWRIGHT_CACHE": str(folder / ".cache")}
    command = [sys.executable, "-m", "generator", *args]
    return subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, check=False)


def test_the_first_two_commands_are_one_line_each() -> None:
    first, second = blocks("sh")[:2]
    assert first.count("\n") == second.count("\n") == 1
    assert first.rstrip().endswith(".venv/bin/opwright gen && (.venv/bin/opwright audit; .venv/bin/opwright test)")
    assert "'.[dev]'" in second


def test_the_whole_check_runs_readmes_test_command() -> None:
    second = blocks("sh")[1]
    script = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    for command in re.findall(r"\.venv/bin/(pytest [^&\n]+)", second):
        assert command.strip() in script


@pytest.mark.skipif(shutil.which("g++") is None, reason="no C++ compiler")
def test_the_commands_of_the_first_operator_work(tmp_path: Path) -> None:
    for line in blocks("sh")[2].splitlines():
        words = line.split("#")[0].split()
        assert words[0] == "opwright"
        done = opwright(tmp_path, *words[1:])
        assert done.returncode == 0, line + done.stdout + done.stderr


def test_the_example_spec_generates(tmp_path: Path) -> None:
    text, _ = blocks("yaml")
    (tmp_path / "specs" / "demo").mkdir(parents=True)
    (tmp_path / "specs" / "demo" / "gated_scale.yaml").write_text(text, encoding="utf-8")
    done = opwright(tmp_path, "gen")
    assert done.returncode == 0, done.stderr
    assert opwright(tmp_path, "check").returncode == 0


def test_the_example_of_an_audit_forgets_a_factor(tmp_path: Path) -> None:
    _, text = blocks("yaml")
    (tmp_path / "formula.yaml").write_text(text, encoding="utf-8")
    done = opwright(tmp_path, "audit", "formula.yaml")
    assert done.returncode == 1, done.stderr
    assert "REFUTED   dx" in done.stdout
    assert "kind: missing factor" in done.stdout
    assert "right: s[t] = sum[d](dy[t, d] * x[t, d] * w[d])" in done.stdout


def test_the_command_table_lists_the_commands_there_are() -> None:
    from generator.cli.app import COMMANDS

    listed = re.findall(r"^\| `opwright (\w+)", README, re.MULTILINE)
    assert sorted(listed) == sorted(COMMANDS)
