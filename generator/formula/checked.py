"""A spec whose text and formula have both been read and checked: what every later stage takes."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from generator.formula.broadcasts import Broadcast
from generator.formula.ir import Program
from generator.formula.parse import parse
from generator.formula.resolve import resolve
from generator.spec.checks import check as check_source
from generator.spec.errors import Problem, SpecError
from generator.spec.integer import IntExpr
from generator.spec.load import Source, scan, text_of
from generator.spec.model import OpSpec

__all__ = ["CheckedSpec", "check", "load"]


@dataclass(frozen=True)
class CheckedSpec:
    """``derived`` are dims computed from other integers (``num_iters`` from an element count), in dependency order;
    ``path`` is the spec file. ``packs`` are the packs of axes in use: each ``b`` is one flattened axis ``b`` whose extent is
    the dim ``numel_b``, the product of the extents at the pack's place in any tensor's shape (1 for no axes).
    A broadcast pack stands for several, as ``broadcasts`` says."""

    path: Path
    spec: OpSpec
    program: Program
    derived: tuple[tuple[str, IntExpr], ...]
    packs: tuple[str, ...] = ()
    broadcasts: tuple[Broadcast, ...] = ()


def load(path: str | Path) -> CheckedSpec:
    """Read and check a spec file, formula included; :class:`SpecError` lists everything wrong with it.

    Another operator that it names (``forward:``) is not opened: see ``link.link``.
    """
    return check(text_of(Path(path)), path)


def check(text: str, path: str | Path) -> CheckedSpec:
    """:func:`load` of a text that is (or will be) at ``path``."""
    source = scan(text, path)
    problems = list(source.problems)
    if source.spec is None:
        raise SpecError(problems + _syntax(source))
    problems += check_source(source)
    done = resolve(source, source.spec)
    problems += done.problems
    if problems or done.program is None:
        raise SpecError(problems)
    return CheckedSpec(Path(path), source.spec, done.program, done.derived, done.packs, done.broadcasts)


def _syntax(source: Source) -> list[Problem]:
    """The faults of syntax of the formula of a spec that could not be typed."""
    text = source.tree.data.get("formula")
    return [source.inside(("formula",), f) for f in parse(text, relaxed=True).findings] if isinstance(text, str) else []
