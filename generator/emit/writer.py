"""Writing rendered files: only what changed, atomically, one transaction per operator, never over a hand's edit."""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from generator.emit.manifest import Manifest, digest
from generator.emit.stamp import keep, kept

__all__ = ["Change", "EditedByHandError", "apply", "changes", "read_text"]

Kind = Literal["add", "update", "remove"]
OnEdit = Literal["stop", "force", "merge"]


@dataclass(frozen=True)
class Change:
    """One file that has to change: path below the output directory, text now on disk (None: no file), text wanted
    (None: no file), and whether a hand has edited it since it was written."""

    path: str
    old: str | None
    new: str | None
    edited: bool
    base: str | None = None  # hash of what was written last

    @property
    def kind(self) -> Kind:
        if self.new is None:
            return "remove"
        return "add" if self.old is None else "update"


class EditedByHandError(Exception):
    """Files edited by hand stand in the way; nothing was written."""

    def __init__(self, paths: list[str], reason: str = "") -> None:
        self.paths = paths
        self.reason = reason
        super().__init__(", ".join(paths))


def read_text(path: Path) -> str | None:
    """The file's text, bytes that are no UTF-8 kept visible; None when there is no file."""
    try:
        return path.read_bytes().decode("utf-8", errors="surrogateescape")
    except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
        return None


def changes(out: Path, wanted: Mapping[str, str], recorded: Manifest, folder: str) -> list[Change]:
    """What must change on disk for one operator's ``wanted`` texts (by path below ``out``)."""
    record = recorded.operators.get(folder)
    old_files = {f"{folder}/{n}": f.sha256 for n, f in record.files.items()} if record else {}
    found: list[Change] = []
    for path, new in sorted(wanted.items()):
        old = read_text(out / path)
        if old != new:
            found.append(Change(path, old, new, old is not None and not _is(old, old_files.get(path)), old_files.get(path)))
    for path, sha256 in sorted(old_files.items()):
        if path not in wanted:
            old = read_text(out / path)
            if old is not None:
                found.append(Change(path, old, None, not _is(old, sha256), sha256))
    return found


def _is(text: str, sha256: str | None) -> bool:
    return sha256 is not None and digest(text.encode("utf-8", errors="surrogateescape")) == sha256


def apply(out: Path, todo: list[Change], on_edit: OnEdit = "stop") -> list[str]:
    """Carry out one operator's changes in one transaction; returns paths merged with conflicts.

    Raises EditedByHandError, with nothing written, when a file was edited by hand and ``on_edit`` is "stop", or when
    "merge" has no base text to merge from.
    """
    edited = [c for c in todo if c.edited]
    if edited and on_edit == "stop":
        raise EditedByHandError([c.path for c in edited])
    final: dict[str, str | None] = {}
    conflicted: list[str] = []
    for c in todo:
        final[c.path] = c.new
        if c.edited and on_edit == "merge":
            final[c.path], conflicts = _merged(out, c)
            conflicted += [c.path] if conflicts else []
    _commit(out, final)
    for c in todo:
        if c.new is not None:
            keep(c.new)
    return conflicted


def _merged(out: Path, c: Change) -> tuple[str | None, int]:
    from generator.emit.merge import merge

    if c.new is None or c.old is None:
        return c.old, 0  # a removed file that a hand has edited stays
    base = (kept(c.base) or _committed(out / c.path, c.base)) if c.base else None
    if base is None:
        raise EditedByHandError([c.path], "the text it was edited from is neither in the cache nor in version control")
    return merge(base, c.old, c.new)


def _committed(path: Path, sha256: str) -> str | None:
    """The text with this hash in the last commit, if there is one."""
    import subprocess

    command = ["git", "-C", str(path.parent), "show", f"HEAD:./{path.name}"]
    try:
        done = subprocess.run(command, capture_output=True, check=False)
    except OSError:
        return None
    text = done.stdout.decode("utf-8", errors="surrogateescape")
    return text if done.returncode == 0 and _is(text, sha256) else None


def _commit(out: Path, final: Mapping[str, str | None]) -> None:
    """Write every text beside its place, then move all of them; on failure before the moves nothing has changed."""
    pending: list[tuple[Path, Path]] = []
    try:
        for name, text in final.items():
            if text is None:
                continue
            path = out / name
            path.parent.mkdir(parents=True, exist_ok=True)
            tmp = path.with_name(f".{path.name}.{os.getpid()}.tmp")
            pending.append((tmp, path))
            tmp.write_bytes(text.encode("utf-8", errors="surrogateescape"))
    except BaseException:
        for tmp, _ in pending:
            with suppress(OSError):
                tmp.unlink()
        raise
    for tmp, path in pending:
        tmp.replace(path)
    for name, text in final.items():
        if text is None:
            _remove(out, out / name)


def _remove(out: Path, path: Path) -> None:
    with suppress(FileNotFoundError):
        path.unlink()
    for parent in path.parents:
        if parent == out or not parent.is_relative_to(out):
            break
        try:
            parent.rmdir()
        except OSError:
            break
