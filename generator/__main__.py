"""``python -m generator``: the ``opwright`` command."""

from generator.cli import main

main()
