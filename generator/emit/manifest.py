"""The manifest: what was written, from which part of which spec; kept beside the output as ``manifest.json``.

The manifest is a pure function of the output, so it is committed and checked like every other file. Whether the
*generator* is the one that last ran is not in it: that is the stamp of :mod:`generator.emit.stamp`.
Only the standard library is imported here, so that a run with nothing to do stays cheap.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

__all__ = ["FORMAT", "MANIFEST", "FileRecord", "Manifest", "ManifestError", "OperatorRecord", "digest", "files_below", "load"]

MANIFEST: Final = "manifest.json"
FORMAT: Final = 1
_IGNORED: Final = frozenset({"__pycache__", ".pytest_cache", ".ruff_cache", ".mypy_cache", ".hypothesis"})


class ManifestError(Exception):
    """A manifest that cannot be read; the message names the file."""


def digest(data: bytes | str) -> str:
    """The content hash used everywhere: SHA-256 in hex."""
    return hashlib.sha256(data if isinstance(data, bytes) else data.encode("utf-8")).hexdigest()


@dataclass(frozen=True)
class FileRecord:
    """One written file: hash of its bytes, and of the part of spec and plan it was rendered from."""

    sha256: str
    inputs: str


@dataclass(frozen=True)
class OperatorRecord:
    """One operator: the spec files it depends on (its own first, then its forward's), and its files by path below its
    folder."""

    name: str
    depends: tuple[str, ...]
    files: Mapping[str, FileRecord]


@dataclass(frozen=True)
class Manifest:
    """Every operator by folder, ``<family>/<op>``."""

    operators: Mapping[str, OperatorRecord] = field(default_factory=dict)

    def text(self) -> str:
        """The file's text, sorted and stable."""
        body: dict[str, Any] = {"format": FORMAT, "operators": {}}
        for folder, op in sorted(self.operators.items()):
            files = {n: {"inputs": f.inputs, "sha256": f.sha256} for n, f in sorted(op.files.items())}
            body["operators"][folder] = {"depends": list(op.depends), "files": files, "name": op.name}
        return json.dumps(body, indent=1, sort_keys=True) + "\n"

    def paths(self) -> Iterator[tuple[str, FileRecord]]:
        """Every file by path below the output directory."""
        for folder, op in self.operators.items():
            for name, record in op.files.items():
                yield f"{folder}/{name}", record


def load(out: Path) -> Manifest:
    """The manifest of an output directory; an empty one when there is none. ManifestError when it is damaged."""
    path = out / MANIFEST
    try:
        body = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return Manifest()
    except (ValueError, OSError) as e:
        raise ManifestError(f"{path}: not a manifest ({e}); remove it, or restore it from version control") from e
    try:
        if body["format"] != FORMAT:
            raise ManifestError(f"{path}: format {body['format']!r} is not known, {FORMAT} is")
        operators = {
            folder: OperatorRecord(
                op["name"], tuple(op["depends"]), {n: FileRecord(f["sha256"], f["inputs"]) for n, f in op["files"].items()}
            )
            for folder, op in body["operators"].items()
        }
    except (KeyError, TypeError, AttributeError) as e:
        raise ManifestError(f"{path}: not a manifest (missing {e}); remove it, or restore it from version control") from e
    return Manifest(operators)


def files_below(root: Path) -> Iterator[str]:
    """Every file below ``root`` as a posix path, sorted; caches of Python tools are no output."""
    if not root.is_dir():
        return
    for path in sorted(root.iterdir()):
        if path.name in _IGNORED:
            continue
        if path.is_dir():
            yield from (f"{path.name}/{p}" for p in files_below(path))
        else:
            yield path.name
