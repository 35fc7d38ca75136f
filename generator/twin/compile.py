"""Compiling the twin's shared libraries, cached by content and safe with concurrent builders."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path

from generator.twin.errors import TwinError

INCLUDE = Path(__file__).resolve().parent / "include"
HARNESS = INCLUDE / "twin" / "harness.cpp"
RUNTIME = INCLUDE / "twin" / "runtime.cpp"
HOST_HARNESS = INCLUDE / "twin" / "host_harness.cpp"

FLAGS = [
    *("-std=c++17", "-O2", "-ftree-vectorize", "-fvect-cost-model=dynamic", "-ffp-contract=off", "-fno-fast-math", "-fno-strict-aliasing"),
    *("-Wall", "-Wextra", "-Werror", "-fPIC", "-pthread", "-fvisibility=hidden", "-fno-gnu-unique"),
]
"""How everything is compiled: no contraction and no fast-math, so that results are those of the interface's rounding."""

_GNU_ONLY = frozenset({"-ftree-vectorize", "-fvect-cost-model=dynamic", "-fno-gnu-unique"})
_INCLUDE_LINE = re.compile(rb'^[ \t]*#[ \t]*include[ \t]*"([^"]+)"', re.MULTILINE)


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


def sources_of(roots: Iterable[Path], include: Sequence[Path]) -> list[Path]:
    """The files ``roots`` are made of: themselves and all they include with quotes, found beside them or in ``include``."""
    found: dict[Path, None] = {}
    todo = [root.resolve() for root in roots]
    while todo:
        path = todo.pop()
        if path in found:
            continue
        found[path] = None
        for match in _INCLUDE_LINE.finditer(_read(path)):
            name = match[1].decode()
            for folder in (path.parent, *include):
                if (folder / name).is_file():
                    todo.append((folder / name).resolve())
                    break
    return sorted(found)


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as problem:
        raise TwinError(f"{path}: cannot be read: {problem.strerror}") from problem


def _digest(parts: Iterable[str], files: Iterable[Path]) -> str:
    digest = hashlib.sha256("\0".join(parts).encode())
    for path in files:
        digest.update(b"\0" + path.name.encode() + b"\0" + _read(path))
    return digest.hexdigest()[:24]


def build_file(source: Path, arguments: Sequence[str], files: Iterable[Path], place: str, suffix: str, folder: Path, blame: Path) -> Path:
    """Compiles unless a file of the same content's name is there. ``blame`` is the file an error is reported for."""
    program, version = compiler()
    flags = FLAGS if "clang" not in version else [flag for flag in FLAGS if flag not in _GNU_ONLY]
    target = folder / f"{place}-{_digest([version, *flags, *arguments, str(blame)], files)}{suffix}"
    if target.exists():
        return target
    try:
        folder.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(suffix=suffix, prefix=f".{place}-", dir=folder)
    except OSError as problem:
        raise TwinError(f"cannot write to the cache folder {folder}: {problem.strerror}; set OPWRIGHT_CACHE") from problem
    os.close(handle)
    temporary = Path(name)
    try:
        command = [program, *flags, str(source), *arguments, "-o", str(temporary)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            first = next((line for line in done.stderr.splitlines() if "error" in line), done.stderr.strip()[:300])
            raise TwinError(f"{blame}: does not compile against the twin: {first}", done.stderr)
        temporary.replace(target)
    finally:
        temporary.unlink(missing_ok=True)
    return target


def runtime(arch: int, folder: Path, options: Sequence[str] = ()) -> Path:
    """The object every kernel library of this architecture is linked with."""
    arguments = [f"-D__NPU_ARCH__={arch}", f"-I{INCLUDE}", "-c", *options]
    return build_file(RUNTIME, arguments, sources_of([RUNTIME], [INCLUDE]), f"runtime{arch}", ".o", folder, RUNTIME)


def kernel_library(
    source: Path,
    entry: str,
    arch: int,
    defines: Mapping[str, str],
    cache_dir: Path | None = None,
    quick: bool = False,
    options: Sequence[str] = (),
) -> Path:
    """Compiles a kernel's source and returns the shared library's path. ``quick`` leaves the kernel (not the
    instructions it calls) unoptimised: built in a third of the time, for kernels that run once on little data.
    ``options`` are given to the compiler for the runtime as well, a sanitizer's for example.

    Its name is a hash of the source and all it includes, the twin's headers, flags, definitions and the compiler's
    version; an existing one is used as it is. Raises :class:`TwinError` with the compiler's output.
    """
    folder = cache_dir or default_cache()
    source = source.resolve()
    include = [INCLUDE, source.parent]
    macros = {"__NPU_ARCH__": str(arch), "TWIN_KERNEL": entry, **defines}
    arguments = [
        *(f"-D{name}={value}" for name, value in sorted(macros.items())),
        "-DTWIN_SPLIT",
        f'-DTWIN_SOURCE="{source}"',
        *(f"-I{path}" for path in include),
        "-shared",
        *([] if options else ["-Wl,-z,defs"]),
        str(runtime(arch, folder, options)),
        *(["-O0"] if quick else []),
        *options,
    ]
    return build_file(HARNESS, arguments, sources_of([HARNESS, source], include), source.stem, ".so", folder, source)


def host_library(
    source: Path, include: Sequence[Path], cache_dir: Path | None = None, quick: bool = False, defines: Mapping[str, str] | None = None
) -> Path:
    """Compiles a tiling function's source against the host stand-ins; otherwise as :func:`kernel_library`."""
    source = source.resolve()
    folders = [INCLUDE, *(path.resolve() for path in include)]
    arguments = [f'-DTWIN_SOURCE="{source}"', *(f"-I{path}" for path in folders), "-shared", *(["-O0"] if quick else [])]
    arguments += [f"-D{name}={value}" for name, value in sorted((defines or {}).items())]
    files = sources_of([HOST_HARNESS, source], folders)
    return build_file(HOST_HARNESS, arguments, files, source.stem, ".so", cache_dir or default_cache(), source)
