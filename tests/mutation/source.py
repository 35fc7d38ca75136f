"""Where things are in the text of an emitted kernel: calls and their arguments, subscripts, loops, definitions."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

__all__ = ["Call", "Loop", "Source", "Span"]

_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
_CALL = re.compile(r"AscendC::(\w+)(?:<[^<>()]*>)?\(")
_FOR = re.compile(r"\bfor \(")
_TENSOR = re.compile(r"\b(?:Local|Global)Tensor<\w+>\s+(\w+)\s*[;=]")
_FLOAT = re.compile(r"\bfloat\s+(\w+)\s*[;=]")


@dataclass(frozen=True, slots=True, order=True)
class Span:
    """Characters ``start`` to ``end`` of a text."""

    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Call:
    """``AscendC::name(arguments)``; ``whole`` reaches from ``AscendC`` to the closing bracket."""

    name: str
    whole: Span
    arguments: tuple[Span, ...]
    statement: bool  # nothing but it stands between two semicolons or braces


@dataclass(frozen=True, slots=True)
class Loop:
    """``for (int64_t variable = first; variable < bound; step)``."""

    first: Span
    bound: Span
    step: Span


class Source:
    """One header, with comments blanked out so that they match nothing."""

    def __init__(self, name: str, text: str) -> None:
        self.name = name
        self.text = text
        self.bare = _COMMENT.sub(lambda m: re.sub(r"[^\n]", " ", m[0]), text)
        self.tensors = frozenset(_TENSOR.findall(self.bare))
        self.floats = frozenset(_FLOAT.findall(self.bare))

    def line(self, at: int) -> int:
        return self.text.count("\n", 0, at) + 1

    def __getitem__(self, span: Span) -> str:
        return self.bare[span.start : span.end]

    def close(self, start: int) -> int:
        """Position of the bracket that closes the one at ``start``."""
        depth = 0
        for at in range(start, len(self.bare)):
            if self.bare[at] in "([{":
                depth += 1
            elif self.bare[at] in ")]}":
                depth -= 1
                if depth == 0:
                    return at
        raise ValueError(f"{self.name}:{self.line(start)}: bracket is not closed")

    def split(self, start: int, mark: str = ",") -> tuple[Span, ...]:
        """The parts between the bracket at ``start`` and its partner, trimmed."""
        end, depth, begin, out = self.close(start), 0, start + 1, []
        for at in range(start + 1, end + 1):
            c = self.bare[at]
            if depth == 0 and (c == mark or at == end):
                out.append(self.trim(Span(begin, at)))
                begin = at + 1
            depth += (c in "([{") - (c in ")]}")
        return tuple(s for s in out if s.start < s.end)

    def trim(self, span: Span) -> Span:
        text = self[span]
        return Span(span.start + len(text) - len(text.lstrip()), span.end - len(text) + len(text.rstrip()))

    def words(self, span: Span) -> str:
        """The text on one line."""
        return re.sub(r"\s+", " ", self[span]).strip()

    def statement(self, span: Span) -> str:
        """What stands between the ends of statements around ``span``."""
        head = max(self.bare.rfind(mark, 0, span.start) for mark in (";\n", "{\n", "}\n"))
        ends = [at for at in (self.bare.find(mark, span.end - 1) for mark in (";\n", "{\n")) if at >= 0]
        return self.words(Span(head + 1, min(ends, default=span.end) + 1))

    def calls(self, within: Span | None = None) -> Iterator[Call]:
        """Every call of the interface, outer before inner."""
        for m in _CALL.finditer(self.bare, *((within.start, within.end) if within else ())):
            end = self.close(m.end() - 1) + 1
            before = self.bare[: m.start()].rstrip()[-1:]
            after = self.bare[end:].lstrip()[:1]
            yield Call(m[1], Span(m.start(), end), self.split(m.end() - 1), before in (";", "{", "}", ":") and after == ";")

    def statements(self, pattern: str) -> Iterator[re.Match[str]]:
        """Statements that match ``pattern`` up to their semicolon."""
        yield from re.finditer(r"(?<![\w.])" + pattern + r"\s*;", self.bare)

    def loops(self) -> Iterator[Loop]:
        for m in _FOR.finditer(self.bare):
            first, bound, step = self.split(m.end() - 1, ";")
            yield Loop(self._after(first, "="), self._after(bound, r"[<>]=?"), step)

    def _after(self, span: Span, mark: str) -> Span:
        m = re.search(mark, self[span])
        if m is None:
            raise ValueError(f"{self.name}:{self.line(span.start)}: no {mark} in {self[span]!r}")
        return self.trim(Span(span.start + m.end(), span.end))

    def subscript(self, span: Span) -> tuple[str, Span | None] | None:
        """The tensor an operand names and its index, if it has one; None when it is not a tensor."""
        m = re.match(r"\w+", self[span])
        if m is None or m[0] not in self.tensors:
            return None
        at = span.start + m.end()
        return m[0], Span(at + 1, self.close(at)) if self.bare[at] == "[" else None
