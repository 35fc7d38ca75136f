"""``opwright build``: what it asks of the twin, what it prints, and its messages when it cannot."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

import generator.twin.package as packaging
from generator.cli.app import build
from generator.twin.errors import TwinError
from generator.twin.package import Package, PackagedOperator

ROOT = Path(__file__).resolve().parents[2]


def call(*args: str) -> Result:
    return CliRunner().invoke(build("build"), ["build", *args, "--specs", str(ROOT / "specs"), "--generated", str(ROOT / "generated")])


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """The arguments the twin is called with; nothing is compiled."""
    seen: dict[str, Any] = {}

    def package(folders: list[Path], out: Path, products: list[str], **options: Any) -> Package:
        seen.update(folders=[folder.name for folder in folders], out=out, products=products, **options)
        operators = tuple(PackagedOperator(folder.name.upper(), folder, (f"aclnn_{folder.name}.h",)) for folder in folders)
        return Package(out / "include", out / "lib", tuple(products), operators)

    monkeypatch.setattr(packaging, "package", package)
    return seen


def test_one_product_and_quick_kernels_are_the_default(asked: dict[str, Any]) -> None:
    done = call("Softmax", "--out", "sdk")
    assert done.exit_code == 0
    assert asked == {"folders": ["softmax"], "out": Path("sdk"), "products": ["Ascend910B"], "sanitize": None, "quick": True}
    assert done.stdout.splitlines() == [
        "SOFTMAX: aclnn_softmax.h",
        "g++ -std=c++17 client.cpp -Isdk/include -Isdk/include/aclnn -Lsdk/lib -lcust_opapi -lascendcl -lnnopbase",
        "LD_LIBRARY_PATH=sdk/lib ./a.out",
    ]


def test_options_reach_the_twin_and_json_says_what_was_made(asked: dict[str, Any]) -> None:
    products = ["--product", "Ascend950", "--product", "Ascend910B"]
    done = call("Softmax", "RmsNorm", "--out", "sdk", *products, "--sanitize", "thread", "--optimise", "--json")
    document = json.loads(done.stdout)
    assert asked["products"] == document["products"] == ["Ascend950", "Ascend910B"]
    assert (asked["sanitize"], asked["quick"]) == ("thread", False)
    assert document.pop("seconds") >= 0
    assert sorted(asked["folders"]) == ["rms_norm", "softmax"]
    assert document["operators"] == [{"name": n.upper(), "headers": [f"aclnn_{n}.h"]} for n in ("rms_norm", "softmax")]
    assert (document["command"], document["include"], document["libraries"]) == ("build", "sdk/include", "sdk/lib")
    assert document["flags"][-1] == "-lnnopbase"


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["Softmacs", "--out", "sdk"], "no spec defines the operator 'Softmacs'"),
        (["Softmax", "--out", "sdk", "--product", "Ascend1"], "unknown product 'Ascend1', known are Ascend910B, "),
        (["Softmax", "--out", "sdk", "--sanitize", "memory"], "unknown sanitizer 'memory', known are address,undefined and thread"),
    ],
)
def test_a_mistake_is_named_and_exits_with_2(args: list[str], message: str) -> None:
    done = call(*args)
    assert done.exit_code == 2
    assert message in done.stderr


def test_an_operator_that_was_not_generated_is_named(tmp_path: Path) -> None:
    args = ["build", "Softmax", "--out", "sdk", "--specs", str(ROOT / "specs"), "--generated", str(tmp_path)]
    done = CliRunner().invoke(build("build"), args)
    assert done.exit_code == 2
    assert f"{tmp_path / 'nn' / 'softmax'}: not generated; run `opwright gen Softmax`" in done.stderr


def test_a_compiler_error_is_shown_without_a_traceback(monkeypatch: pytest.MonkeyPatch) -> None:
    def package(*_: Any, **__: Any) -> Package:
        raise TwinError("a.cpp: does not compile against the twin: error: no", "line 1\nline 2")

    monkeypatch.setattr(packaging, "package", package)
    done = call("Softmax", "--out", "sdk", "--json")
    assert done.exit_code == 2
    assert json.loads(done.stdout)["errors"] == ["a.cpp: does not compile against the twin: error: no", "line 1", "line 2"]
