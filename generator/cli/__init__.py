"""The command line: ``opwright COMMAND``, one thin module per command."""

from __future__ import annotations

__all__ = ["main"]


def main() -> None:
    """Entry point of the ``opwright`` command."""
    import sys

    from generator.cli.idle import idle

    if idle(sys.argv[1:]):
        return
    from generator.cli.app import run

    run()
