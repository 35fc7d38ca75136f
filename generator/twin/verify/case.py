"""One case of an operator: everything that fixes a launch, and the command line that repeats it."""

from __future__ import annotations

import shlex
from dataclasses import dataclass, field, replace
from typing import Literal

__all__ = ["Case", "Number", "Target", "Violation"]

Number = int | float | bool
Special = Literal["nan", "inf", "-inf"]


@dataclass(frozen=True, slots=True, order=True)
class Target:
    """A product as the twin knows it: the spec's product name and the number of vector cores."""

    product: str
    cores: int

    def __str__(self) -> str:
        return f"{self.product}/{self.cores}"


@dataclass(frozen=True, slots=True)
class Case:
    """``dims`` holds every dim and pack, derived ones included; ``attrs`` every attribute of the graph operator.

    ``rank`` numbers the alternative ranks (0: as written in ``shape``), ``axes`` is how many axes a pack has,
    ``special`` a value that one row of one input holds.
    """

    op: str
    target: Target
    dims: tuple[tuple[str, int], ...]
    attrs: tuple[tuple[str, Number], ...]
    combination: int = 0
    dtypes: tuple[tuple[str, str], ...] = ()  # dtype variable -> dtype, of that combination
    absent: tuple[str, ...] = ()  # optional parameters that are not given
    rank: int = 0
    axes: int = 1
    special: tuple[str, Special] | None = None  # (input, value)
    seed: int = 0
    tiling_only: bool = False  # the tiling function is called in full, the kernel on its last block alone
    large: bool = field(default=False, compare=False)  # beyond what the covering array may choose by itself
    sampled: bool = field(default=False, compare=False)  # beyond the evaluation budget: judged at elements drawn at random
    huge: bool = field(default=False, compare=False)  # such a case that the spec lists: left to `test --large`

    @property
    def integers(self) -> dict[str, int]:
        """Dims and int attributes by name: what sizes are expressions of."""
        return {**dict(self.dims), **{n: v for n, v in self.attrs if isinstance(v, int) and not isinstance(v, bool)}}

    def on(self, target: Target) -> Case:
        return replace(self, target=target)

    def words(self) -> list[str]:
        """Arguments of ``run`` that repeat this case."""
        out = [self.op]
        for name, extent in self.dims:
            out += ["--dim", f"{name}={extent}"]
        for name, value in self.attrs:
            out += ["--attr", f"{name}={str(value).lower() if isinstance(value, bool) else value!r}"]
        for name, dtype in self.dtypes:
            out += ["--dtype", f"{name}={dtype}"]
        for name in self.absent:
            out += ["--absent", name]
        if self.rank:
            out += ["--rank", str(self.rank)]
        if self.axes != 1:
            out += ["--axes", str(self.axes)]
        if self.special:
            out += ["--special", "=".join(self.special)]
        if self.tiling_only:
            out += ["--tiling-only"]
        return [*out, "--product", self.target.product, "--cores", str(self.target.cores), "--seed", str(self.seed)]

    def command(self) -> str:
        """The command line that runs this case alone."""
        return "opwright run " + shlex.join(self.words())

    def label(self) -> str:
        """A short unique name for tables and test ids."""
        parts = [f"{n}{v}" for n, v in self.dims] + [f"{n}{v:g}" if isinstance(v, float) else f"{n}{v}" for n, v in self.attrs]
        parts += [d for _, d in self.dtypes]
        parts += [f"no_{n}" for n in self.absent]
        parts += [f"rank{self.rank}"] if self.rank else []
        parts += [f"axes{self.axes}"] if self.axes != 1 else []
        parts += [f"{self.special[1]}_in_{self.special[0]}"] if self.special else []
        parts += ["tiling"] if self.tiling_only else []
        return "-".join([*parts, self.target.product, str(self.target.cores)])


@dataclass(frozen=True, slots=True)
class Violation:
    """A call that the tiling function must refuse: ``base`` with something about its arguments replaced."""

    what: str  # the rule that is violated, in words
    base: Case
    shapes: tuple[tuple[str, tuple[int, ...]], ...] = ()
    dtypes: tuple[tuple[str, str], ...] = ()  # parameter -> dtype
    attrs: tuple[tuple[str, Number], ...] = ()
    absent: tuple[str, ...] | None = None

    def label(self) -> str:
        return f"{self.what} [{self.base.label()}]"
