"""Where the generator's own data lives: templates, and the pinned clang-format binary."""

from __future__ import annotations

import functools
from pathlib import Path

__all__ = ["clang_format", "templates_dir"]


@functools.cache
def templates_dir() -> Path:
    """The templates: inside the installed package, or beside it in a source tree."""
    package = Path(__file__).resolve().parent.parent
    installed = package / "_templates"
    return installed if installed.is_dir() else package.parent / "templates"


@functools.cache
def clang_format() -> str:
    """The clang-format of the pinned ``clang-format`` distribution."""
    import clang_format as wheel  # type: ignore[import-untyped]

    return str(wheel.get_executable("clang-format"))
