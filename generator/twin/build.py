"""From a generated operator's folder to something that can be tiled and launched on the twin."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from generator.twin import compile as compiling
from generator.twin import launch, tiling
from generator.twin.errors import TwinError
from generator.twin.products import Product, product
from generator.twin.report import Report
from generator.twin.tiling import Attr, TensorArg, Tiling

if TYPE_CHECKING:
    import numpy as np

__all__ = ["Built", "TensorArg", "Tiling", "TwinError", "build", "build_kernel", "kernel_entry", "reserve", "retiled"]

reserve = launch.reserve

_ENTRY = re.compile(r"__global__\s+__aicore__\s+void\s+(\w+)\s*\(")


@dataclass(frozen=True, slots=True)
class Built:
    """A kernel's library for one architecture and its tiling function's library, for one product.

    ``tiling_library`` is ``None`` when the kernel was built alone; then launches need a hand-made :class:`Tiling`.
    """

    chip: Product
    kernel_library: Path
    tiling_library: Path | None
    arguments: int

    def tile(
        self,
        inputs: Sequence[TensorArg | None],
        outputs: Sequence[TensorArg | None],
        attrs: Sequence[Attr] = (),
        soc: str | None = None,
        cores: int | None = None,
    ) -> Tiling:
        """Calls the tiling function for these tensors and attributes.

        ``soc`` names another product to tile for, ``cores`` another number of vector cores.
        """
        if self.tiling_library is None:
            raise TwinError("this kernel was built without a tiling function")
        return tiling.call(tiling.load(self.tiling_library), inputs, outputs, attrs, self._chip(soc, cores))

    def run(
        self,
        tiled: Tiling,
        arrays: Sequence[np.ndarray | None],
        laws_off: Sequence[str] = (),
        cores: int | None = None,
        seconds: int = 600,
        only: int | None = None,
    ) -> Report:
        """Launches the kernel on ``arrays``, inputs then outputs, as raw storage (bfloat16 as uint16); with ``only``, that block alone.

        ``None`` is an absent optional tensor (a null address). Outputs are written in place. ``laws_off`` names laws
        not to enforce. A kernel that does not end is abandoned after ``seconds``.
        """
        return launch.run(launch.load(self.kernel_library), tiled, arrays, self._chip(None, cores), laws_off, seconds, only)

    def _chip(self, soc: str | None, cores: int | None) -> Product:
        try:
            chip = self.chip if soc is None else product(soc)
        except KeyError as problem:
            raise TwinError(str(problem.args[0])) from problem
        return chip if cores is None else dataclasses.replace(chip, aiv=cores, aic=max(1, cores // 2))


def _chip_of(name: str) -> Product:
    try:
        return product(name)
    except KeyError as problem:
        raise TwinError(str(problem.args[0])) from problem


def build_kernel(
    source: Path, product_name: str, *, cache_dir: Path | None = None, defines: Mapping[str, str] | None = None, entry: str | None = None
) -> Built:
    """Builds one kernel source alone (no tiling function). ``entry`` picks the kernel when the source has several."""
    chip = _chip_of(product_name)
    return Built(chip, *_kernel(source, chip, cache_dir, defines or {}, entry))


def kernel_entry(source: Path, entry: str | None = None) -> str:
    """The name of the kernel's entry in ``source``: ``entry`` when it is given, the file's own name, or the only one.

    Raises :class:`TwinError` when there is none.
    """
    text = source.read_text(encoding="utf-8")
    found = list(dict.fromkeys(_ENTRY.findall(text)))
    wanted = entry or (source.stem if source.stem in found else (found[0] if len(found) == 1 else None))
    if wanted is None or wanted not in found:
        listed = ", ".join(found) or "none"
        raise TwinError(f'{source}: no kernel entry `extern "C" __global__ __aicore__ void {entry or source.stem}(...)`, found {listed}')
    return wanted


def _kernel(
    source: Path, chip: Product, cache_dir: Path | None, defines: Mapping[str, str], entry: str | None, quick: bool = False
) -> tuple[Path, None, int]:
    wanted = kernel_entry(source, entry)
    path = compiling.kernel_library(source, wanted, chip.arch, defines, cache_dir, quick)
    return path, None, launch.parameters(launch.load(path))


def _tiling(folder: Path, source: Path, cache_dir: Path | None, quick: bool, defines: Mapping[str, str] | None = None) -> Path:
    path = compiling.host_library(source, [folder / "op_host", folder / "op_kernel"], cache_dir, quick, defines)
    tiling.load(path)
    return path


def retiled(built: Built, op_dir: Path, defines: Mapping[str, str], cache_dir: Path | None = None, *, quick: bool = False) -> Built:
    """``built`` with its tiling function compiled anew, with these macros defined."""
    host = op_dir / "op_host" / f"{op_dir.name}_tiling.cpp"
    return dataclasses.replace(built, tiling_library=_tiling(op_dir, host, cache_dir, quick, defines))


def build(
    op_dir: Path, product: str, cache_dir: Path | None = None, *, defines: Mapping[str, str] | None = None, quick: bool = False
) -> Built:
    """Builds ``op_dir/op_kernel/<op>.cpp`` for the product's architecture and ``op_dir/op_host/<op>_tiling.cpp`` for the host.

    ``<op>`` is the folder's name; ``quick`` as in :func:`compile.kernel_library`. Raises :class:`TwinError` when a file
    is missing, does not compile or there is no compiler.
    """
    chip = _chip_of(product)
    kernel = op_dir / "op_kernel" / f"{op_dir.name}.cpp"
    host = op_dir / "op_host" / f"{op_dir.name}_tiling.cpp"
    for path in (kernel, host):
        if not path.is_file():
            raise TwinError(f"{path}: no such file")
    with ThreadPoolExecutor(2) as pool:
        tiled = pool.submit(_tiling, op_dir, host, cache_dir, quick)
        path, _, arguments = _kernel(kernel, chip, cache_dir, defines or {}, None, quick)
        return Built(chip, path, tiled.result(), arguments)
