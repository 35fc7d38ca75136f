"""Names: which identifiers may be used, and the nearest known name for a suggestion."""

from __future__ import annotations

import re
from collections.abc import Iterable
from difflib import get_close_matches
from typing import Final

__all__ = ["CPP_KEYWORDS", "bad_identifier", "did_you_mean", "nearest"]

# ISO C++20 [lex.key] and the alternative tokens [lex.digraph]; names of a spec become C++ identifiers.
CPP_KEYWORDS: Final = frozenset(
    [
        "alignas",
        "alignof",
        "and",
        "and_eq",
        "asm",
        "auto",
        "bitand",
        "bitor",
        "bool",
        "break",
        "case",
        "catch",
        "char",
        "char8_t",
        "char16_t",
        "char32_t",
        "class",
        "compl",
        "concept",
        "const",
        "consteval",
        "constexpr",
        "constinit",
        "const_cast",
        "continue",
        "co_await",
        "co_return",
        "co_yield",
        "decltype",
        "default",
        "delete",
        "do",
        "double",
        "dynamic_cast",
        "else",
        "enum",
        "explicit",
        "export",
        "extern",
        "false",
        "float",
        "for",
        "friend",
        "goto",
        "if",
        "inline",
        "int",
        "long",
        "mutable",
        "namespace",
        "new",
        "noexcept",
        "not",
        "not_eq",
        "nullptr",
        "operator",
        "or",
        "or_eq",
        "private",
        "protected",
        "public",
        "register",
        "reinterpret_cast",
        "requires",
        "return",
        "short",
        "signed",
        "sizeof",
        "static",
        "static_assert",
        "static_cast",
        "struct",
        "switch",
        "template",
        "this",
        "thread_local",
        "throw",
        "true",
        "try",
        "typedef",
        "typeid",
        "typename",
        "union",
        "unsigned",
        "using",
        "virtual",
        "void",
        "volatile",
        "wchar_t",
        "while",
        "xor",
        "xor_eq",
    ]
)
_PYTHON_KEYWORDS: Final = frozenset(
    [
        "False",
        "None",
        "True",
        "and",
        "as",
        "assert",
        "async",
        "await",
        "break",
        "class",
        "continue",
        "def",
        "del",
        "elif",
        "else",
        "except",
        "finally",
        "for",
        "from",
        "global",
        "if",
        "import",
        "in",
        "is",
        "lambda",
        "nonlocal",
        "not",
        "or",
        "pass",
        "raise",
        "return",
        "try",
        "while",
        "with",
        "yield",
    ]
)
_IDENTIFIER: Final = re.compile(r"[A-Za-z][A-Za-z0-9_]*\Z")


def bad_identifier(name: str) -> str | None:
    """Why ``name`` cannot be an identifier of the formula and of the generated C++ and Python; None when it can."""
    if not _IDENTIFIER.match(name):
        return "is not a name (a letter, then letters, digits and _)"
    if name in CPP_KEYWORDS:
        return "is a C++ keyword"
    if name in _PYTHON_KEYWORDS:
        return "is a Python keyword"
    if "__" in name or name.endswith("_"):
        return "holds __ or ends in _, which C++ and the generator reserve"
    return None


def nearest(name: str, known: Iterable[str]) -> str | None:
    """The known name closest to ``name``, or None when none is close."""
    names = sorted(set(known))
    folded = [k for k in names if k.lower() == name.lower() and k != name]
    if folded:
        return folded[0]
    close = get_close_matches(name, names, n=1, cutoff=0.6)
    return close[0] if close else None


def did_you_mean(name: str, known: Iterable[str], noun: str = "known names") -> str:
    """``did you mean 'x'?``, or the whole list when nothing is close."""
    names = sorted(set(known))
    close = nearest(name, names)
    if close is not None:
        return f"did you mean '{close}'?"
    return f"{noun}: {', '.join(names)}" if names else f"there are no {noun}"
