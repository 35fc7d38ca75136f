"""The stamp: which generator last brought an output directory up to date, from which specs; kept in the user's cache.

With a valid stamp ``gen`` and ``check`` know from content hashes alone that nothing has to be rendered. Without one
(a clean clone) they render once. Only the standard library is imported here.
"""

from __future__ import annotations

import hashlib
import json
import os
import zlib
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from generator.emit.manifest import MANIFEST, Manifest, digest
from generator.emit.paths import templates_dir

__all__ = ["Stamp", "cache_dir", "engine", "keep", "kept", "manifest_hash", "read_stamp", "spec_hashes", "unmodified", "write_stamp"]

_STAGES: Final = ("spec", "formula", "reference", "plan", "emit")


@dataclass(frozen=True)
class Stamp:
    """Hash of the generator's sources, of each spec, and of the manifest that resulted."""

    engine: str
    specs: Mapping[str, str]
    manifest: str


def cache_dir() -> Path:
    """``$OPWRIGHT_CACHE``, else the user's cache directory."""
    given = os.environ.get("OPWRIGHT_CACHE")
    if given:
        return Path(given)
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "opwright"


def engine() -> str:
    """Hash of everything that decides what is rendered: the stages up to emit, and the templates."""
    package = Path(__file__).resolve().parent.parent
    h = hashlib.sha256()
    roots = [(package / s, "*.py") for s in _STAGES] + [(templates_dir(), "*")]
    for path in (package / "__init__.py", *(p for root, pattern in roots for p in sorted(root.rglob(pattern)))):
        if path.is_file() and "__pycache__" not in path.parts:
            h.update(path.name.encode() + b"\0" + path.read_bytes() + b"\0")
    return h.hexdigest()


def spec_hashes(specs: Path) -> dict[str, str]:
    """Content hash of every spec below ``specs``, by posix path."""
    return {p.relative_to(specs).as_posix(): digest(p.read_bytes()) for p in sorted(specs.rglob("*.yaml")) if p.is_file()}


def _stamp_path(specs: Path, out: Path) -> Path:
    return cache_dir() / "stamps" / (digest(f"{specs.resolve()}\n{out.resolve()}")[:32] + ".json")


def read_stamp(specs: Path, out: Path) -> Stamp | None:
    """The stamp of this pair of directories, or None."""
    try:
        body = json.loads(_stamp_path(specs, out).read_text(encoding="utf-8"))
        return Stamp(str(body["engine"]), dict(body["specs"]), str(body["manifest"]))
    except (OSError, ValueError, KeyError, TypeError):
        return None


def write_stamp(specs: Path, out: Path, stamp: Stamp) -> None:
    """Remember a finished run. A cache that cannot be written only costs time later."""
    path = _stamp_path(specs, out)
    text = json.dumps({"engine": stamp.engine, "specs": dict(stamp.specs), "manifest": stamp.manifest})
    with suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        tmp = path.with_suffix(f".{os.getpid()}.tmp")
        tmp.write_text(text, encoding="utf-8")
        tmp.replace(path)


def unmodified(out: Path, manifest: Manifest) -> bool:
    """True when every recorded file is there with the recorded bytes."""
    try:
        return all(digest((out / name).read_bytes()) == record.sha256 for name, record in manifest.paths())
    except OSError:
        return False


def manifest_hash(out: Path) -> str:
    """Hash of the manifest file, or the empty string."""
    try:
        return digest((out / MANIFEST).read_bytes())
    except OSError:
        return ""


def keep(text: str) -> None:
    """Keep a written text by its hash: the base of a later three-way merge."""
    path = cache_dir() / "texts" / digest(text)
    with suppress(OSError):
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            tmp = path.with_suffix(f".{os.getpid()}.tmp")
            tmp.write_bytes(zlib.compress(text.encode("utf-8")))
            tmp.replace(path)


def kept(sha256: str) -> str | None:
    """The text with this hash, if it was kept."""
    try:
        text = zlib.decompress((cache_dir() / "texts" / sha256).read_bytes()).decode("utf-8")
    except (OSError, zlib.error, UnicodeDecodeError):
        return None
    return text if digest(text) == sha256 else None
