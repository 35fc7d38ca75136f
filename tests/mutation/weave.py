"""One kernel that holds many mutants, each behind a switch: building once is enough to run them all.

A woven kernel is the emitted text with insertions only, on the same lines. With no mutant chosen it computes what the
emitted kernel does, and marks the mutants whose place it reaches.
"""

from __future__ import annotations

import ctypes
import hashlib
import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path

from generator.twin import build as twin
from generator.twin import launch
from generator.twin.build import Built
from tests.mutation.mutators import Mutant, mutants
from tests.mutation.source import Source

__all__ = ["Woven", "all_mutants", "weave", "woven"]

SWITCH = "mutation_switch.h"
_SWITCH = """// Which mutant runs, and which were reached.
#pragma once
#include <cstdint>

extern "C" {
inline __attribute__((visibility("default"), used)) volatile int32_t MutantChosen = -1;
inline __attribute__((visibility("default"), used)) volatile uint8_t MutantReached[%d] = {};
}

namespace mutation
{
inline bool Is(int32_t number)
{
    MutantReached[number] = 1;
    return MutantChosen == number;
}
template <typename T>
inline T Plus(int32_t number, T value, int delta)
{
    if (!Is(number)) {
        return value;
    }
    return value - value == value - value ? static_cast<T>(value + static_cast<T>(delta)) : T{};  // an infinity becomes 0
}
}  // namespace mutation
"""


def all_mutants(folder: Path) -> list[Mutant]:
    """The mutants of every stage header of a generated operator, in the order of files and text."""
    kernels = sorted(p for p in (folder / "op_kernel").glob("*.h") if "class " in p.read_text(encoding="utf-8"))
    return [m for path in kernels for m in mutants(Source(path.name, path.read_text(encoding="utf-8")))]


def woven(text: str, chosen: Sequence[tuple[int, Mutant]]) -> str:
    """``text`` with the edits of all ``chosen`` (number, mutant) put in."""
    pieces: list[tuple[tuple[int, int, int, int], str]] = []
    for number, mutant in chosen:
        for edit in mutant.edits:
            start, end = edit.span.start, edit.span.end
            pieces.append(((start, 1, start - end, number), edit.before.replace("@", str(number))))
            pieces.append(((end, 0, end - start, -number), edit.after.replace("@", str(number))))
    out, at = [], 0
    for (position, *_), piece in sorted(pieces):
        out += [text[at:position], piece]
        at = position
    return "".join([*out, text[at:]])


class Woven:
    """A built kernel with its switch."""

    def __init__(self, built: Built, count: int) -> None:
        self.built = built
        library = launch.load(built.kernel_library)
        self._chosen = ctypes.c_int32.in_dll(library, "MutantChosen")
        self._reached = (ctypes.c_uint8 * count).in_dll(library, "MutantReached")

    def choose(self, number: int | None) -> None:
        """Launches from now on run this mutant, or the unchanged kernel."""
        self._chosen.value = -1 if number is None else number

    def reached(self) -> set[int]:
        """The mutants whose place was reached since the last call."""
        out = {n for n, mark in enumerate(self._reached) if mark}
        ctypes.memset(self._reached, 0, len(self._reached))
        return out


def weave(folder: Path, chosen: Sequence[Mutant], product: str, place: Path) -> Woven:
    """Builds the operator in ``folder`` with the mutants of ``chosen``, numbered in their order. ``place`` is for its files,
    which several processes may share."""
    files = {path.name: path.read_text(encoding="utf-8") for path in sorted((folder / "op_kernel").iterdir())}
    for name, text in files.items():
        mine = [(n, m) for n, m in enumerate(chosen) if m.file == name]
        if mine:
            files[name] = f'#include "{SWITCH}"\n#line 1 "{name}"\n' + woven(text, mine)
    files[SWITCH] = _SWITCH % max(1, len(chosen))
    host = "".join(path.read_text(encoding="utf-8") for path in sorted((folder / "op_host").iterdir()))
    digest = hashlib.sha256(repr((sorted(files.items()), host)).encode()).hexdigest()[:16]
    target = place / digest
    if not target.exists():
        place.mkdir(parents=True, exist_ok=True)
        fresh = Path(tempfile.mkdtemp(dir=place))
        shutil.copytree(folder / "op_host", fresh / folder.name / "op_host")
        (fresh / folder.name / "op_kernel").mkdir()
        for name, text in files.items():
            (fresh / folder.name / "op_kernel" / name).write_text(text, encoding="utf-8")
        try:
            fresh.rename(target)
        except OSError:  # another process was first
            shutil.rmtree(fresh)
    return Woven(twin.build(target / folder.name, product, quick=True), max(1, len(chosen)))
