"""Operators as a client program sees them: headers and shared libraries under the names the interface's own have.

``lib/libascendcl.so`` holds devices, streams and memory, ``lib/libnnopbase.so`` tensors and executors, ``lib/libcust_opapi.so`` the
operators' host code; ``lib/kernels/<architecture>/<Operator>.so`` are their kernels, built apart so that nothing of theirs clashes.
"""

from __future__ import annotations

import hashlib
import re
import shutil
import tempfile
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import astuple, dataclass
from functools import cached_property
from pathlib import Path

from generator.twin import compile as compiling
from generator.twin.build import kernel_entry
from generator.twin.compile import INCLUDE
from generator.twin.errors import TwinError
from generator.twin.products import PRODUCTS, Product, product

__all__ = ["SANITIZERS", "Package", "PackagedOperator", "package"]

SANITIZERS = ("address,undefined", "thread")
"""What host code can be built with; a client must be compiled with the same ``-fsanitize``."""

_ACL = INCLUDE / "twin" / "acl"
_RUNTIME = ("messages", "stream_core", "streams", "memory", "copies", "device")
_INTERFACE = ("types", "objects", "executor", "moves", "convert", "launch", "kernel")
_HEADERS = ("acl", "aclnn", "aclnn_kernels", "exe_graph", "graph", "platform", "register", "tiling", "twin/host", "twin/host.h")
_ALIASES = {
    "libacl_rt.so": "libascendcl.so",
    **{f"libopapi{part}.so": "libcust_opapi.so" for part in ("", "_math", "_nn", "_transformer")},
}
_TYPE = re.compile(r"^\s*(?:OP_ADD|IMPL_OP_OPTILING)\s*\(\s*(\w+)\s*\)", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class PackagedOperator:
    """An operator in a package: its type, its folder, the headers a client includes."""

    name: str
    folder: Path
    headers: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Package:
    """What was built: folders of headers and libraries, products the kernels were built for (the first is the default)."""

    include: Path
    libraries: Path
    products: tuple[str, ...]
    operators: tuple[PackagedOperator, ...]

    @property
    def flags(self) -> list[str]:
        """How a client is compiled and linked."""
        return [f"-I{self.include}", f"-I{self.include / 'aclnn'}", f"-L{self.libraries}", "-lcust_opapi", "-lascendcl", "-lnnopbase"]


@dataclass(frozen=True)
class _Sources:
    """The files of one operator's folder."""

    folder: Path

    @cached_property
    def api(self) -> list[Path]:
        found = sorted((self.folder / "op_api").glob("*.cpp"))
        if not any(path.name.startswith("aclnn_") for path in found):
            raise TwinError(f"{self.folder / 'op_api'}: no aclnn_*.cpp, which a client would call")
        return found

    @cached_property
    def host(self) -> list[Path]:
        return sorted((self.folder / "op_host").glob("*.cpp"))

    @cached_property
    def headers(self) -> list[Path]:
        return sorted((self.folder / "op_api").glob("aclnn_*.h"))

    @cached_property
    def kernel(self) -> Path:
        path = self.folder / "op_kernel" / f"{self.folder.name}.cpp"
        if not path.is_file():
            raise TwinError(f"{path}: no such file")
        return path

    def check(self) -> None:
        """Raises :class:`TwinError` for what is missing, before anything is compiled."""
        kernel_entry(self.kernel)
        _ = self.api, self.type

    @cached_property
    def type(self) -> str:
        found: list[str] = sorted({name for path in self.host for name in _TYPE.findall(path.read_text(encoding="utf-8"))})
        if len(found) != 1:
            registered = ", ".join(found) or "no operator"
            raise TwinError(f"{self.folder / 'op_host'}: registers {registered}, one is needed (OP_ADD, IMPL_OP_OPTILING)")
        return found[0]


def _written(place: Path, text: str) -> Path:
    """``place`` with this text; nobody ever sees half of it."""
    if not place.is_file() or place.read_text(encoding="utf-8") != text:
        place.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile("w", encoding="utf-8", dir=place.parent, delete=False) as file:
            file.write(text)
        Path(file.name).replace(place)
    return place


@dataclass(frozen=True)
class _Builder:
    """Compiles host code with one set of options into the cache."""

    cache: Path
    products: tuple[Product, ...]
    sanitize: str | None
    quick: bool

    @property
    def options(self) -> list[str]:
        if self.sanitize is None:
            return ["-O0"] if self.quick else []
        return [f"-fsanitize={self.sanitize}", "-fno-omit-frame-pointer", "-g1", "-O0"]

    @cached_property
    def table(self) -> Path:
        """The products as rows of a C++ table, the default one first."""
        ordered = [*self.products, *(p for p in PRODUCTS.values() if p not in self.products)]
        text = "".join("{" + ", ".join(f'"{x}"' if isinstance(x, str) else str(x) for x in astuple(p)) + "},\n" for p in ordered)
        return _written(self.cache / f"products-{self.products[0].name}.inc", text)

    def unit(self, source: Path, folders: Sequence[Path] = (), defines: Sequence[str] = ()) -> Path:
        """The object of one file."""
        include = [INCLUDE, INCLUDE / "aclnn", *folders]
        arguments = [*self.options, *defines, *(f"-I{path}" for path in include), "-DFUNC_VISIBILITY", "-c"]
        files = [*compiling.sources_of([source], include), *([self.table] if defines else [])]
        return compiling.build_file(source, arguments, files, source.stem, ".o", self.cache, source)

    def host(self, operator: _Sources) -> list[Path]:
        """The objects of an operator's host code. Built quickly it is one unit, so that the interface's headers are read once; where its
        files do not go together (or have a fault, which is then told of the right one) each is a unit of its own."""
        files = [*operator.api, *operator.host]
        folders = [operator.folder / part for part in ("op_api", "op_host", "op_kernel")]
        if self.quick and len(files) > 1:
            text = "".join(f'#include "{path}"\n' for path in files)
            name = f"{operator.folder.name}-{hashlib.sha256(text.encode()).hexdigest()[:12]}"
            try:
                return [self.unit(_written(self.cache / "hosts" / f"{name}.cpp", text), folders)]
            except TwinError:
                pass
        return [self.unit(path, folders) for path in files]

    def library(self, name: str, objects: Sequence[Path], needs: Sequence[Path] = ()) -> Path:
        """A shared library of these objects that finds the others beside it."""
        whole = [] if self.sanitize else ["-Wl,-z,defs"]
        link = ["-shared", *whole, f"-Wl,-soname,{name}", "-Wl,-rpath,$ORIGIN", *map(str, needs), "-ldl"]
        arguments = [*map(str, objects[1:]), *self.options, *link]
        return compiling.build_file(objects[0], arguments, objects[:1], name.removesuffix(".so"), ".so", self.cache, Path(name))


def _put(source: Path, target: Path) -> None:
    """Copies a file whose content differs, so that nobody ever sees half of it."""
    data = source.read_bytes()
    if target.is_file() and not target.is_symlink() and target.read_bytes() == data:
        return
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile(dir=target.parent, delete=False) as file:
        file.write(data)
    shutil.copymode(source, file.name)
    Path(file.name).replace(target)


def _headers(out: Path, operators: Iterable[_Sources]) -> None:
    for name in _HEADERS:
        root = INCLUDE / name
        for path in [root] if root.is_file() else sorted(root.rglob("*.h")):
            _put(path, out / path.relative_to(INCLUDE))
    for operator in operators:
        for path in operator.headers:
            _put(path, out / path.name)
            _put(path, out / "aclnnop" / path.name)


def _kernels(builder: _Builder, operators: Sequence[_Sources], pool: ThreadPoolExecutor, out: Path) -> None:
    def one(operator: _Sources, arch: int) -> None:
        entry = kernel_entry(operator.kernel)
        options = builder.options if builder.sanitize == "thread" else []  # it must see the kernels' own threads
        built = compiling.kernel_library(operator.kernel, entry, arch, {}, builder.cache, builder.quick, options)
        _put(built, out / "kernels" / str(arch) / f"{operator.type}.so")

    archs = sorted({chip.arch for chip in builder.products})
    for done in [pool.submit(one, operator, arch) for operator in operators for arch in archs]:
        done.result()


def package(
    folders: Sequence[Path],
    out: Path,
    products: Sequence[str] = ("Ascend910B",),
    *,
    sanitize: str | None = None,
    quick: bool = True,
    cache_dir: Path | None = None,
) -> Package:
    """Builds the operators in ``folders`` (each with op_api, op_host and op_kernel) into ``out/include`` and ``out/lib``.

    ``sanitize`` is one of :data:`SANITIZERS`: host code and runtime are built with it, kernels with ``thread`` only.
    ``quick`` leaves kernels and host code unoptimised. Raises :class:`TwinError` when a file is missing or does not compile.
    """
    if sanitize is not None and sanitize not in SANITIZERS:
        raise TwinError(f"unknown sanitizer {sanitize!r}, known are {' and '.join(SANITIZERS)}")
    try:
        chips = tuple(product(name) for name in products)
    except KeyError as problem:
        raise TwinError(str(problem.args[0])) from problem
    builder = _Builder(cache_dir or compiling.default_cache(), chips, sanitize, quick)
    operators = [_Sources(folder.resolve()) for folder in folders]
    for operator in operators:
        operator.check()
    types = [operator.type for operator in operators]
    twice = next((name for name in types if types.count(name) > 1), None)
    if twice is not None:
        raise TwinError(f"two folders register the operator {twice}")
    lib = out / "lib"
    with ThreadPoolExecutor(2) as pool:
        defines = [f'-DTWIN_PRODUCTS="{builder.table}"']
        runtime = [pool.submit(builder.unit, _ACL / f"{name}.cpp", (), defines if name == "device" else ()) for name in _RUNTIME]
        interface = [pool.submit(builder.unit, _ACL / f"{name}.cpp") for name in _INTERFACE]
        units = [pool.submit(builder.host, operator) for operator in operators]
        ascendcl = builder.library("libascendcl.so", [unit.result() for unit in runtime])
        nnopbase = builder.library("libnnopbase.so", [unit.result() for unit in interface], [ascendcl])
        opapi = builder.library("libcust_opapi.so", [path for unit in units for path in unit.result()], [nnopbase, ascendcl])
        _kernels(builder, operators, pool, lib)
    for built, name in ((ascendcl, "libascendcl.so"), (nnopbase, "libnnopbase.so"), (opapi, "libcust_opapi.so")):
        _put(built, lib / name)
    for alias, target in _ALIASES.items():
        if not (lib / alias).is_symlink():
            (lib / alias).unlink(missing_ok=True)
            (lib / alias).symlink_to(target)
    _headers(out / "include", operators)
    listed = tuple(PackagedOperator(o.type, o.folder, tuple(path.name for path in o.headers)) for o in operators)
    return Package(out / "include", lib, tuple(chip.name for chip in chips), listed)
