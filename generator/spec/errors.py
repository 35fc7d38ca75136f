"""Located problems, and the one exception that carries all of a file's problems."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

__all__ = ["Problem", "SpecError", "TextError"]


@dataclass(frozen=True, slots=True)
class Problem:
    """One fault: where (1-based line and column), what is wrong, the offending value and what would be right."""

    path: str
    line: int
    column: int
    what: str
    value: str = ""
    right: str = ""

    def __str__(self) -> str:
        said = ", ".join(part for part in (self.what, self.value, self.right) if part)
        return f"{self.path}:{self.line}:{self.column}: {said}"


class SpecError(Exception):
    """A spec that cannot be used: every problem found in the file, in file order."""

    def __init__(self, problems: Iterable[Problem]) -> None:
        self.problems: list[Problem] = sorted(dict.fromkeys(problems), key=lambda p: (p.path, p.line, p.column))
        super().__init__("\n".join(map(str, self.problems)))


class TextError(Exception):
    """A fault inside one piece of text (a size, a condition, a formula); line and column are 1-based in that text."""

    def __init__(self, what: str, value: str = "", right: str = "", *, line: int = 1, column: int = 1) -> None:
        super().__init__(what)
        self.what = what
        self.value = value
        self.right = right
        self.line = line
        self.column = column
