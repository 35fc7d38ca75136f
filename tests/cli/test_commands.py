"""The command as a user meets it: exit codes, messages, one JSON document, and how little an idle run does."""

from __future__ import annotations

import json
import os
import re
import resource
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
HEAVY = ("sympy", "jinja2", "numpy", "ruamel.yaml", "pydantic")


class Command:
    """Runs ``opwright`` in a folder of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.env = {**os.environ, "PYTHONPATH": str(ROOT), "OPWRIGHT_CACHE": str(folder / ".cache"), "COLUMNS": "120"}

    def __call__(self, *args: str, code: int | None = 0, prefix: tuple[str, ...] = ("-m", "generator")) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, *prefix, *args]
        done = subprocess.run(command, cwd=self.folder, env=self.env, capture_output=True, text=True, check=False)
        assert code is None or done.returncode == code, done.stdout + done.stderr
        assert "Traceback" not in done.stderr
        return done

    def json(self, *args: str, code: int = 0) -> dict[str, object]:
        document = json.loads(self(*args, "--json", code=code).stdout)
        assert isinstance(document, dict)
        return document


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Command:
    command = Command(tmp_path_factory.mktemp("commands"))
    command("new", "AddScaled", "--family", "demo")
    command("gen")
    return command


@pytest.fixture
def fresh(tmp_path: Path) -> Command:
    command = Command(tmp_path)
    command("new", "AddScaled", "--family", "demo")
    return command


def test_a_new_spec_generates_as_it_is_and_then_shows_no_drift(made: Command) -> None:
    assert (made.folder / "generated" / "demo" / "add_scaled" / "op_kernel" / "add_scaled.cpp").is_file()
    assert made("check").stdout == "no drift\n"
    assert made("diff").stdout == ""


def test_a_second_gen_says_there_is_nothing_to_do(made: Command) -> None:
    assert made("gen").stdout == "nothing to do\n"
    assert made.json("gen")["changes"] == []


@pytest.mark.parametrize("name", ["gen", "check"])
def test_an_idle_run_imports_nothing_heavy_and_takes_under_300_ms_of_processor_time(made: Command, name: str) -> None:
    script = (
        f"import sys; sys.argv = ['opwright', '{name}']\n"
        "from generator.cli import main\ncode = 0\n"
        "try:\n    main()\nexcept SystemExit as e:\n    code = e.code\n"
        f"print(code, [m for m in {HEAVY!r} if m in sys.modules])\n"
    )
    made(name)
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = made("-c", script, prefix=())
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert done.stdout.splitlines()[-1] == "0 []"
    assert after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime < 0.3


def test_check_exits_1_and_shows_a_diff_after_a_changed_byte(fresh: Command) -> None:
    fresh("gen")
    path = fresh.folder / "generated" / "demo" / "add_scaled" / "op_host" / "add_scaled_tiling.h"
    path.write_text(path.read_text(encoding="utf-8").replace("coreNum", "coreMum", 1), encoding="utf-8")
    done = fresh("check", code=1)
    assert re.search(r"^-.*coreMum", done.stdout, re.MULTILINE)
    assert re.search(r"^\+.*coreNum", done.stdout, re.MULTILINE)
    assert [c["path"] for c in fresh.json("check", code=1)["drift"]] == ["demo/add_scaled/op_host/add_scaled_tiling.h"]  # type: ignore[index, union-attr, attr-defined]


def test_check_on_a_clean_clone_renders_and_finds_no_drift(fresh: Command) -> None:
    fresh("gen")
    fresh.env["OPWRIGHT_CACHE"] = str(fresh.folder / "other-cache")
    assert fresh("check").stdout == "no drift\n"


def test_gen_stops_at_a_hand_edit_and_offers_force_and_merge(fresh: Command) -> None:
    fresh("gen")
    path = fresh.folder / "generated" / "demo" / "add_scaled" / "docs" / "aclnnAddScaled.md"
    path.write_text("mine\n", encoding="utf-8")
    done = fresh("gen", code=1)
    assert "aclnnAddScaled.md: edited by hand" in done.stderr
    assert "--force" in done.stderr
    assert "--merge" in done.stderr
    fresh("gen", "--force")
    assert "mine" not in path.read_text(encoding="utf-8")


def test_spec_errors_are_located_exit_2_and_write_nothing(fresh: Command) -> None:
    spec = fresh.folder / "specs" / "demo" / "add_scaled.yaml"
    spec.write_text(spec.read_text(encoding="utf-8").replace("x[t, d] * scale", "x[t, d] * scael"), encoding="utf-8")
    line = next(k for k, t in enumerate(spec.read_text(encoding="utf-8").splitlines(), 1) if "scael" in t)
    done = fresh("gen", code=2)
    assert re.match(rf"specs/demo/add_scaled\.yaml:{line}:\d+: .*'scael'.*scale", done.stderr)
    assert not (fresh.folder / "generated").exists()
    assert fresh.json("gen", code=2)["errors"]


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (("gen", "Nothing"), "defined are: AddScaled"),
        (("gen", "--specs", "nowhere"), "no such folder of specs"),
        (("check", "--specs", "nowhere"), "no such folder of specs"),
        (("new", "addScaled"), "UpperCamelCase"),
        (("new", "AddScaled", "--family", "demo"), "exists already"),
        (("explain", "Nothing"), "defined are: AddScaled"),
        (("explain", "AddScaled", "--dim", "T"), "expected NAME=INTEGER"),
        (("explain", "AddScaled", "--dim", "Q=3"), "sizes are D, T"),
        (("gen", "--force", "--merge"), "exclude each other"),
        (("generate",), "No such command"),
    ],
)
def test_usage_errors_exit_2_and_say_what_would_be_right(made: Command, args: tuple[str, ...], said: str) -> None:
    assert said in made(*args, code=2).stderr


def test_explain_shows_the_ledger_in_bytes_within_the_usable_ub(made: Command) -> None:
    document = made.json("explain", "AddScaled", "--dim", "T=1000", "--dim", "D=4096")
    tiling = document["tiling"]
    assert isinstance(tiling, dict)
    assert tiling["fits"]
    for stage in tiling["stages"]:
        assert sum(stage["ledger"].values()) == stage["bytes"] <= stage["usable"] == 196608 - 256
    assert "alternative" in made("explain", "AddScaled").stdout


def test_watch_regenerates_once_when_asked_to_look_once(fresh: Command) -> None:
    assert "add demo/add_scaled/op_kernel/add_scaled.cpp" in fresh("watch", "--once").stdout
    assert fresh("watch", "--once").stdout == ""


def test_schema_is_a_json_schema_of_specs(made: Command) -> None:
    document = json.loads(made("schema").stdout)
    assert "formula" in document["properties"]
    assert json.loads(made("schema", "--audit").stdout)["title"] == "opwright audit file"
    made("schema", "--to", "schema.json")
    assert json.loads((made.folder / "schema.json").read_text(encoding="utf-8")) == document


def test_the_help_lists_every_command_and_each_takes_json() -> None:
    from typer.testing import CliRunner

    from generator.cli.app import COMMANDS, build

    app = build(None)
    shown = CliRunner().invoke(app, ["--help"]).output
    for name in COMMANDS:
        assert re.search(rf"^\s+{name}\s", shown, re.MULTILINE)
        assert "--json" in CliRunner().invoke(app, [name, "--help"]).output


def test_version_is_the_packages(made: Command) -> None:
    from generator import __version__

    assert made("--version").stdout == f"opwright {__version__}\n"
