"""``opwright new``: scaffold a spec."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated

import typer

from generator.cli.common import Json, Specs, fail, say, show

__all__ = ["new"]


def new(
    name: Annotated[str, typer.Argument(help="The operator's name in UpperCamelCase.")],
    family: Annotated[str, typer.Option(help="Its family: the folder below the specs.")] = "nn",
    specs: Specs = Path("specs"),
    json_: Json = False,
) -> None:
    """Write a small spec that generates as it is, to start from."""
    from generator.emit.names import snake
    from generator.emit.paths import templates_dir

    if not re.fullmatch(r"[A-Z][A-Za-z0-9]*", name):
        raise fail("new", json_, [f"{name}: not a name of an operator; UpperCamelCase is, such as AddScaled"])
    if not re.fullmatch(r"[a-z][a-z0-9_]*", family):
        raise fail("new", json_, [f"{family}: not a name of a family; lower_snake_case is, such as nn"])
    path = specs / family / f"{snake(name)}.yaml"
    if path.exists():
        raise fail("new", json_, [f"{path}: exists already"])
    text = (templates_dir() / "spec" / "new.yaml").read_text(encoding="utf-8")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text.replace("@NAME@", name).replace("@FAMILY@", family), encoding="utf-8")
    if json_:
        show({"command": "new", "path": path.as_posix()})
    else:
        say(f"wrote {path.as_posix()}; edit it, then: opwright gen {name} && opwright test {name}")
