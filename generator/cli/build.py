"""``opwright build OP... --out DIR``: headers and shared libraries for client programs, which then run on the twin."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated

import typer

from generator.cli.common import Json, Specs, fail, need_specs, reported, say, show

__all__ = ["build"]


def build(
    ops: Annotated[list[str], typer.Argument(metavar="OP...", help="Operators, by their specs' names.")],
    out: Annotated[Path, typer.Option("--out", help="Folder to make include/ and lib/ in.")],
    product: Annotated[list[str] | None, typer.Option(help="Product, several times for several; the first is the default.")] = None,
    sanitize: Annotated[str | None, typer.Option(help="Build host code with a sanitizer: address,undefined or thread.")] = None,
    optimise: Annotated[bool, typer.Option("--optimise", help="Optimise kernels and host code: slower to build, faster to run.")] = False,
    specs: Specs = Path("specs"),
    generated: Annotated[Path, typer.Option("--generated", help="Folder of generated operators.")] = Path("generated"),
    json_: Json = False,
) -> None:
    """Build headers and libraries that client programs compile and link against as they would on a device."""
    from generator.emit.names import snake
    from generator.twin.errors import TwinError
    from generator.twin.package import package
    from generator.twin.verify.session import UnknownNameError, operators

    started = time.monotonic()
    need_specs("build", json_, specs)
    try:
        with reported("build", json_):
            found = operators(specs, generated, snake, ops)
            for operator in found:
                if not operator.folder.is_dir():
                    raise fail("build", json_, [f"{operator.folder}: not generated; run `opwright gen {operator.name}`"])
            folders = [operator.folder for operator in found]
            built = package(folders, out, product or ["Ascend910B"], sanitize=sanitize, quick=not optimise)
    except UnknownNameError as error:
        raise fail("build", json_, [str(error)]) from error
    except TwinError as error:
        raise fail("build", json_, [str(error), *error.detail.splitlines()[:12]]) from error
    if json_:
        show(
            {
                "command": "build",
                "include": str(built.include),
                "libraries": str(built.libraries),
                "products": list(built.products),
                "operators": [{"name": o.name, "headers": list(o.headers)} for o in built.operators],
                "flags": built.flags,
                "seconds": round(time.monotonic() - started, 3),
            }
        )
        return
    for o in built.operators:
        say(f"{o.name}: {', '.join(o.headers)}")
    say(f"g++ -std=c++17 client.cpp {' '.join(built.flags)}")
    say(f"LD_LIBRARY_PATH={built.libraries} ./a.out")
