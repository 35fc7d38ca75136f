"""Decimal literals that are rounded values of well-known irrational numbers: 0.7978845608028654 is sqrt(2/pi)."""

from __future__ import annotations

import re
from fractions import Fraction
from functools import lru_cache
from typing import Final

__all__ = ["recognised"]

_DIGITS: Final = 30
_KNOWN: Final[dict[str, Fraction]] = {
    name: Fraction(text)
    for name, text in (
        ("sqrt(2/pi)", "0.797884560802865355879892119868763736952"),
        ("sqrt(2)", "1.41421356237309504880168872420969807857"),
        ("pi", "3.14159265358979323846264338327950288420"),
        ("1/sqrt(pi)", "0.564189583547756286948079451560772585844"),
        ("sqrt(2*pi)", "2.50662827463100050241576528481104525301"),
        ("sqrt(pi)", "1.77245385090551602729816748334114518280"),
        ("log(2)", "0.693147180559945309417232121458176568076"),
        ("1/log(2)", "1.44269504088896340735992468100189213743"),
        ("log(10)", "2.30258509299404568401799145468436420760"),
        ("1/log(10)", "0.434294481903251827651128918916605082294"),
        ("1/pi", "0.318309886183790671537767526745028724069"),
        ("sqrt(3)", "1.73205080756887729352744634150587236694"),
    )
}
_LITERAL: Final = re.compile(r"(\d*)\.?(\d*)(?:[eE]([-+]?\d+))?\Z")


@lru_cache(maxsize=1024)
def recognised(text: str) -> tuple[Fraction, str] | None:
    """``(ratio, name)`` when the literal is a simple ratio times a constant, correct in every digit written; else None.

    At least seven digits must be written, and the more complicated the ratio, the more: a coincidence is out of the question."""
    found = _LITERAL.match(text.strip())
    if found is None:
        return None
    digits = (found.group(1) + found.group(2)).lstrip("0")
    if len(digits) < 7:
        return None
    value = Fraction(text)
    step = Fraction(10) ** (int(found.group(3) or 0) - len(found.group(2)))  # one unit of the last place
    for name, constant in _KNOWN.items():
        ratio = _simple(value / constant, step / constant, len(digits))
        if ratio is not None:
            return ratio, name
    return None


def _simple(ratio: Fraction, step: Fraction, digits: int) -> Fraction | None:
    """The simplest decimal or small fraction within a unit of the last place of ``ratio``."""
    for scale in (1, 2, 3, 4, 6, 8, 10, 100, 1000, 10_000, 100_000, 1_000_000):
        near = Fraction(round(ratio * scale), scale)
        if near and abs(near - ratio) <= step and len(str(abs(near.numerator))) + len(str(near.denominator)) <= max(2, digits - 4):
            return near
    return None
