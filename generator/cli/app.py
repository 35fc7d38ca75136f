"""The command table. A command's module is imported only when that command runs."""

from __future__ import annotations

import importlib
import sys
from typing import Final

import typer

from generator import __version__

__all__ = ["COMMANDS", "build", "run"]

COMMANDS: Final[dict[str, str]] = {
    "gen": "Regenerate what changed.",
    "check": "Exit 1, with a diff, when the output has drifted from the specs.",
    "diff": "Show what gen would change.",
    "build": "Make headers and libraries for client programs, which run on the twin.",
    "test": "Run every derived case on the twin against the reference.",
    "run": "Run one shape, ad hoc, on the twin.",
    "audit": "Say whether gradient formulas are right: proofs, counterexamples, readings.",
    "derive": "Print the gradient of an operator as a formula, as LaTeX or as a spec.",
    "explain": "Show stages, ledger in bytes, alternatives and tiling.",
    "new": "Scaffold a spec.",
    "schema": "Print the JSON Schema of specs.",
    "watch": "Regenerate on save.",
}


def build(wanted: str | None) -> typer.Typer:
    """The application with ``wanted``'s module loaded, or with all of them when it is no command (help, mistakes)."""
    app = typer.Typer(
        name="opwright",
        help="One declarative operator spec to a complete, verified Ascend operator.",
        no_args_is_help=True,
        add_completion=False,
        pretty_exceptions_enable=False,
        rich_markup_mode=None,
    )
    app.callback()(_options)
    for name, about in COMMANDS.items():
        if wanted is None or name == wanted:
            module = importlib.import_module(f"generator.cli.{name}")
            app.command(name, help=about)(getattr(module, name))
    return app


def _version(asked: bool) -> None:
    if asked:
        typer.echo(f"opwright {__version__}")
        raise typer.Exit


def _options(version: bool = typer.Option(False, "--version", callback=_version, is_eager=True, help="Print the version.")) -> None:
    pass


def run() -> None:
    """Parse ``sys.argv`` and run. Usage errors exit with 2."""
    first = sys.argv[1] if len(sys.argv) > 1 else None
    build(first if first in COMMANDS else None)()
