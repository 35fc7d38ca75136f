"""Compiling the twin's shared libraries, cached by content and safe with concurrent builders."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path

from generator.twin.errors import TwinError

INCLUDE = Path(__file__).resolve().parent / "include"
HARNESS = INCLUDE / "twin" / "harness.cpp"
HOST_HARNESS = INCLUDE / "twin" / "host_harness.cpp"

COMMON_FLAGS = (
    "-std=c++17 -O2 -ftree-vectorize -fvect-cost-model=dynamic -ffp-contract=off -fno-fast-math -fno-strict-aliasing "
    "-Wall -Wextra -Werror -fPIC -shared -pthread -fvisibility=hidden"
).split()

_SUFFIXES = frozenset({".h", ".hpp", ".cpp", ".cc", ".inc"})


def default_cache() -> Path:
    """The folder of built libraries: ``$OPWRIGHT_CACHE``, else ``~/.cache/opwright``."""
    named = os.environ.get("OPWRIGHT_CACHE")
    return Path(named) if named else Path.home() / ".cache" / "opwright"


@cache
def compiler() -> tuple[str, str]:
    """The C++ compiler (``$CXX``, else g++, else c++) and the first line of its version.

    Raises :class:`TwinError` when there is none.
    """
    for name in (os.environ.get("CXX"), "g++", "c++", "clang++"):
        found = shutil.which(name) if name else None
        if found:
            try:
                version = subprocess.run([found, "--version"], capture_output=True, text=True, check=True).stdout
            except (OSError, subprocess.CalledProcessError):
                continue
            return found, version.splitlines()[0] if version else found
    raise TwinError("no C++ compiler found: install g++ (C++17) or name one in the environment variable CXX")


def _flags(version: str) -> list[str]:
    gnu = "clang" not in version
    drop = set() if gnu else {"-ftree-vectorize", "-fvect-cost-model=dynamic"}
    return [flag for flag in COMMON_FLAGS if flag not in drop] + (["-fno-gnu-unique"] if gnu else [])


@cache
def _headers_digest() -> str:
    return _digest_of(path for path in INCLUDE.rglob("*") if path.suffix in _SUFFIXES)


def _digest_of(paths: Iterable[Path]) -> str:
    digest = hashlib.sha256()
    for path in sorted(paths):
        digest.update(str(path.name).encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()


def sources_below(*folders: Path) -> list[Path]:
    """All C++ sources and headers below these folders."""
    return [path for folder in folders if folder.is_dir() for path in folder.rglob("*") if path.suffix in _SUFFIXES]


def library(
    harness: Path,
    source: Path,
    *,
    defines: Mapping[str, str],
    include: Sequence[Path],
    depends: Iterable[Path],
    cache_dir: Path | None = None,
) -> Path:
    """Compiles ``harness`` around ``source`` into a shared library and returns its path.

    The library's name is a hash of the sources (``depends``), the twin's headers, flags, definitions and the
    compiler's version; an existing one is used as it is. Raises :class:`TwinError` with the compiler's output.
    """
    program, version = compiler()
    flags = _flags(version)
    macros = [f"-D{name}={value}" for name, value in sorted(defines.items())]
    key = hashlib.sha256("\0".join([harness.name, source.name, version, *flags, *macros, _headers_digest(), _digest_of(depends)]).encode())
    # file:line of breaches is compiled in, so the place of the source is part of the library
    key.update(str(source.resolve()).encode())
    folder = cache_dir or default_cache()
    target = folder / f"{source.stem}-{key.hexdigest()[:24]}.so"
    if target.exists():
        return target
    try:
        folder.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(suffix=".so", prefix=f".{source.stem}-", dir=folder)
    except OSError as problem:
        raise TwinError(f"cannot write to the cache folder {folder}: {problem.strerror}; set OPWRIGHT_CACHE") from problem
    os.close(handle)
    temporary = Path(name)
    try:
        command = [program, *flags, *macros, f'-DTWIN_SOURCE="{source.resolve()}"', f"-I{INCLUDE}", *(f"-I{path}" for path in include)]
        done = subprocess.run([*command, str(harness), "-o", str(temporary)], capture_output=True, text=True, check=False)
        if done.returncode != 0:
            first = next((line for line in done.stderr.splitlines() if "error" in line), done.stderr.strip()[:300])
            raise TwinError(f"{source}: does not compile against the twin: {first}", done.stderr)
        temporary.replace(target)
    finally:
        temporary.unlink(missing_ok=True)
    return target
