"""What a launch on the twin reports: breaches of law and counted work."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

_TABLE = Path(__file__).resolve().parent / "include" / "twin" / "laws.h"


@dataclass(frozen=True, slots=True)
class Breach:
    """One law broken at one place. ``core`` is the first core that broke it, ``times`` how often it was broken."""

    rule: str
    message: str
    file: str
    line: int
    core: int
    times: int = 1

    def __str__(self) -> str:
        where = f"{self.file}:{self.line}: " if self.file else ""
        again = f" ({self.times} times)" if self.times > 1 else ""
        return f"{where}{self.rule}: {self.message} [core {self.core}]{again}"


@dataclass(frozen=True, slots=True)
class Traffic:
    """Bytes an argument's global memory gave and took; each block of a copy is rounded up to 32 bytes."""

    read: int
    written: int


@dataclass(frozen=True, slots=True)
class Cube:
    """What Matmul objects did in a launch, all cores together.

    ``multiply_adds`` are those of the product itself, without the padding of tiles. ``per_argument`` are bytes as in
    :class:`Report`; ``system`` are those of the system workspace, which values between cube and unified buffer pass on 220.
    """

    multiply_adds: int
    per_argument: tuple[Traffic, ...]
    system: Traffic

    @property
    def bytes_read(self) -> int:
        return sum(t.read for t in self.per_argument) + self.system.read

    @property
    def bytes_written(self) -> int:
        return sum(t.written for t in self.per_argument) + self.system.written


@dataclass(frozen=True, slots=True)
class Report:
    """One launch. ``per_argument`` has inputs, then outputs, then the workspace; instructions are of all cores.

    Bytes are of vector and cube cores together; ``cube`` says which of them are the cubes'.
    """

    breaches: tuple[Breach, ...]
    bytes_read: int
    bytes_written: int
    per_argument: tuple[Traffic, ...]
    cube: Cube
    scalar_instructions: int
    vector_instructions: int
    copies_in: int
    copies_out: int
    barriers: int
    flags: int
    sync_alls: int
    launches: int
    seconds: float


@cache
def laws() -> dict[str, str]:
    """Every law's name and what it forbids, read from the one table in ``laws.h``, in its order."""
    rows = re.findall(r'^\s*X\(k\w+, "([a-z0-9-]+)", "([^"]+)"\)', _TABLE.read_text(encoding="utf-8"), re.MULTILINE)
    return dict(rows)
