"""The source check on an ``op_kernel/`` folder: only what a device compiler takes, said with file, line and column.

Rules, by name: ``include`` (only ``kernel_operator.h`` and the operator's own headers), ``std`` (no ``std::``), ``double``,
``new`` (also ``delete``), ``throw`` (also ``try``/``catch``), ``static`` (no static objects or functions; ``static_cast``,
``static_assert`` and ``static constexpr`` constants are something else), ``aicore`` (every function carries ``__aicore__``),
``gm`` (every pointer to global memory carries ``__gm__``; other raw pointers are not used at all, but for ``TPipe``).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ASCENDC_HEADERS = frozenset({"kernel_operator.h", "lib/matmul_intf.h", "kernel_tiling/kernel_tiling.h"})
"""Ascend C's own headers that a kernel may include."""

_WORDS = {
    "double": ("double", "a double; the vector core has none, use float"),
    "new": ("new", "a heap allocation; use TPipe's buffers"),
    "delete": ("new", "a heap release; use TPipe's buffers"),
    "throw": ("throw", "an exception; device code has none"),
    "try": ("throw", "an exception handler; device code has none"),
    "catch": ("throw", "an exception handler; device code has none"),
}
_TOKEN = re.compile(r"[A-Za-z_]\w*|::|->|\S")
_SCOPE = re.compile(r"\b(namespace|class|struct|union|enum|extern)\b")
_NOT_FUNCTIONS = frozenset({"if", "for", "while", "switch", "return", "sizeof", "alignof", "decltype", "catch", "static_assert", "defined"})
_POINTER = re.compile(r"(?P<before>[^;{}(),<>]*?)\b(?P<type>[A-Za-z_]\w*)\s*\*+\s*(?:const\s+)?(?P<name>[A-Za-z_]\w*)?\s*(?=[;=,)\]>])")
_KEYWORDS = frozenset({"return", "case"})
_POINTEE = re.compile(r"void|bool|char|half|float|bfloat16_t|unsigned|long|short|int|[TU]|\w+_t|\w*TilingData")


@dataclass(frozen=True, slots=True)
class Finding:
    """One place that breaks a rule of the source check."""

    file: Path
    line: int
    column: int
    rule: str
    message: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}: {self.rule}: {self.message}"


def _blank(match: re.Match[str]) -> str:
    return re.sub(r"[^\n]", " ", match[0])


def _bare(text: str) -> str:
    """The text with comments, strings and characters blanked out, places kept."""
    return re.sub(r"//[^\n]*|/\*.*?\*/|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])+'", _blank, text, flags=re.DOTALL)


def _where(text: str, offset: int) -> tuple[int, int]:
    line = text.count("\n", 0, offset) + 1
    return line, offset - (text.rfind("\n", 0, offset) + 1) + 1


def check(folder: Path) -> list[Finding]:
    """Checks every source and header below ``folder`` (an ``op_kernel/``), in the order of their names."""
    own = {path.name for path in folder.rglob("*") if path.is_file()}
    findings: list[Finding] = []
    for path in sorted(folder.rglob("*")):
        if path.suffix in {".h", ".hpp", ".cpp", ".cc", ".inc"}:
            findings += check_text(path, path.read_text(encoding="utf-8"), own)
    return findings


def check_text(path: Path, text: str, own: set[str]) -> list[Finding]:
    """Checks one file's text; ``own`` are the names of the operator's own headers."""
    bare = _bare(text)
    code = re.sub(r"(?m)^[ \t]*#(?:[^\n]*\\\n)*[^\n]*", _blank, bare)
    found = [*_includes(text, bare, own), *_words(bare), *_functions(code), *_pointers(code)]
    return [Finding(path, *_where(text, offset), rule, message) for offset, rule, message in sorted(found)]


def _includes(text: str, bare: str, own: set[str]) -> Iterator[tuple[int, str, str]]:
    for match in re.finditer(r"(?m)^[ \t]*#[ \t]*include\b", bare):
        rest = text[match.end() :].split("\n", 1)[0].strip()
        name = rest.strip('"<>')
        if name in ASCENDC_HEADERS or (rest.startswith('"') and name.rsplit("/", 1)[-1] in own):
            continue
        if name in {"cstdint", "stdint.h"}:
            continue  # plain integer types, which tiling data shared with the host needs
        yield match.end() + 1, "include", f"{rest} is neither Ascend C's nor the operator's own header"


def _words(bare: str) -> Iterator[tuple[int, str, str]]:
    tokens = list(_TOKEN.finditer(bare))
    for index, token in enumerate(tokens):
        word = token[0]
        following = tokens[index + 1][0] if index + 1 < len(tokens) else ""
        if word == "std" and following == "::":
            yield token.start(), "std", "std:: does not exist on the device"
        elif word == "static" and following != "constexpr":
            yield token.start(), "static", "a static object or function; device code has none"
        elif word in _WORDS:
            yield (token.start(), *_WORDS[word])


def _functions(code: str) -> Iterator[tuple[int, str, str]]:
    """Function definitions without ``__aicore__``: a name, parameters, a body, at namespace or class scope."""
    for start, head in _heads(code):
        match = re.search(r"([~A-Za-z_]\w*)\s*\(", _without_templates(head))
        if match is None or match[1] in _NOT_FUNCTIONS or "__aicore__" in head:
            continue
        yield start + len(head) - len(head.lstrip()), "aicore", f"function {match[1]} is not __aicore__"


def _heads(code: str) -> Iterator[tuple[int, str]]:
    """What stands before each ``{`` that opens a scope outside functions, with its offset."""
    stack: list[bool] = []  # True: a scope that holds declarations (namespace, class)
    begin = 0
    depth = 0
    for match in re.finditer(r"[{};()]", code):
        char, at = match[0], match.start()
        if char == "(":
            depth += 1
        elif char == ")":
            depth -= 1
        elif depth > 0:
            continue
        elif char == "{":
            head = code[begin:at]
            declares = _SCOPE.search(head) is not None and "(" not in _without_templates(head)
            if all(stack) and not declares:
                yield begin, head
            stack.append(declares)
            begin = at + 1
        elif char == "}":
            if stack:
                stack.pop()
            begin = at + 1
        else:
            begin = at + 1


def _without_templates(head: str) -> str:
    """The head without access labels and ``template <...>``, same length."""
    head = re.sub(r"\b(?:public|private|protected)\s*:(?!:)", _blank, head)
    return re.sub(r"\btemplate\s*<[^<>]*(?:<[^<>]*>[^<>]*)*>", _blank, head)


def _pointers(code: str) -> Iterator[tuple[int, str, str]]:
    for match in _POINTER.finditer(code):
        kind, before = match["type"], match["before"]
        words = before.split()
        if "__gm__" in words or "__ubuf__" in words or kind == "TPipe":
            continue
        product = words and words[-1] in _KEYWORDS and match["name"] is not None
        if _POINTEE.fullmatch(kind) is None or product:
            continue
        yield match.start("type"), "gm", f"a pointer to {kind} without __gm__"
