"""Three-way merge of text by lines: what was written, what a hand made of it, what is rendered now."""

from __future__ import annotations

from collections.abc import Iterator
from difflib import SequenceMatcher

__all__ = ["merge"]

Change = tuple[int, int, list[str]]  # base lines [start, stop) become these


def _changes(base: list[str], other: list[str]) -> list[Change]:
    opcodes = SequenceMatcher(None, base, other, autojunk=False).get_opcodes()
    return [(i, j, other[k:m]) for tag, i, j, k, m in opcodes if tag != "equal"]


def _hunks(a: list[Change], b: list[Change]) -> Iterator[tuple[int, int, list[Change], list[Change]]]:
    """Overlapping or touching changes of both sides, grouped, in base order."""
    left, right = list(a), list(b)
    while left or right:
        start = min(c[0] for c in (*left[:1], *right[:1]))
        stop = start
        mine: list[Change] = []
        theirs: list[Change] = []
        grew = True
        while grew:
            grew = False
            for queue, taken in ((left, mine), (right, theirs)):
                while queue and (queue[0][0] < stop or queue[0][0] == start or (queue[0][0] == stop and bool(mine) != bool(theirs))):
                    change = queue.pop(0)
                    taken.append(change)
                    stop = max(stop, change[1])
                    grew = True
        yield start, stop, mine, theirs


def _apply(base: list[str], start: int, stop: int, changes: list[Change]) -> list[str]:
    out: list[str] = []
    at = start
    for i, j, lines in changes:
        out += base[at:i] + lines
        at = j
    return out + base[at:stop]


def merge(base: str, edited: str, rendered: str) -> tuple[str, int]:
    """``(text, conflicts)``: both sides' changes to ``base``; where they disagree, both between conflict markers."""
    lines = base.splitlines(keepends=True)
    sides = edited.splitlines(keepends=True), rendered.splitlines(keepends=True)
    out: list[str] = []
    at = conflicts = 0
    for start, stop, mine, theirs in _hunks(_changes(lines, sides[0]), _changes(lines, sides[1])):
        out += lines[at:start]
        a, b = _apply(lines, start, stop, mine), _apply(lines, start, stop, theirs)
        if not theirs or a == b:
            out += a
        elif not mine:
            out += b
        else:
            conflicts += 1
            out += ["<<<<<<< edited by hand\n", *_closed(a), "=======\n", *_closed(b), ">>>>>>> rendered from the spec\n"]
        at = stop
    return "".join(out + lines[at:]), conflicts


def _closed(lines: list[str]) -> list[str]:
    return [x if x.endswith("\n") else x + "\n" for x in lines]
