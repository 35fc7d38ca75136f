"""Registering generated PyTorch operators: importing the binding of every operator below a folder."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Collection
from pathlib import Path

__all__ = ["load"]


def load(out: str | Path = "generated", operators: Collection[str] = ()) -> list[str]:
    """Register ``torch.ops.opwright.<op>`` for the operators generated below ``out``, or those named (snake case); their names.

    PyTorch is imported by the bindings themselves. Raises ImportError where it is missing, and FileNotFoundError when an
    operator that is asked for has no binding below ``out``.
    """
    found = {path.stem: path for path in sorted(Path(out).glob("*/*/torch/*.py"))}
    missing = sorted(set(operators) - set(found))
    if missing:
        raise FileNotFoundError(f"{out}: no binding of {', '.join(missing)}; there are {', '.join(found) or 'none'}")
    names = [name for name in found if not operators or name in operators]
    for name in names:
        _import(found[name])
    return names


def _import(path: Path) -> None:
    name = f"opwright_{path.stem}"
    if name in sys.modules:
        return
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise ImportError(f"{path} cannot be imported")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
