"""What running one case, one empty case or one violation came to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from generator.reference.precision import Verdict
from generator.twin.verify.case import Case, Violation

__all__ = ["ArgumentTraffic", "BreachOfLaw", "CaseResult", "OutputResult", "Refusal", "TilingUsed", "worst"]


@dataclass(frozen=True, slots=True)
class BreachOfLaw:
    """One breach as the twin reported it."""

    rule: str
    message: str
    file: str
    line: int
    core: int

    def __str__(self) -> str:
        return f"{self.rule}: {self.message} ({self.file}:{self.line}, core {self.core})"


@dataclass(frozen=True, slots=True)
class OutputResult:
    """The verdict on one output; ``overwritten`` counts elements changed that the formula leaves undefined, ``unwritten`` those it
    defines and the kernel did not touch (looked for where only ``sampled`` elements are compared; 0: all are)."""

    name: str
    dtype: str
    verdict: Verdict
    overwritten: int = 0
    unwritten: int = 0
    sampled: int = 0

    @property
    def passed(self) -> bool:
        return self.verdict.passed and not self.overwritten and not self.unwritten


@dataclass(frozen=True, slots=True)
class ArgumentTraffic:
    """Bytes of one kernel argument, or of the user workspace: moved (blocks rounded up to 32 bytes), and those that no kernel can do
    without."""

    name: str
    read: int
    written: int
    compulsory: int


@dataclass(frozen=True, slots=True)
class TilingUsed:
    """What the tiling function chose; ``fields`` are the tiling data's values by name, where they are known."""

    key: int
    block_dim: int
    workspace: int
    data_bytes: int
    fields: tuple[tuple[str, int | float], ...] = ()


@dataclass(frozen=True, slots=True)
class CaseResult:
    """How one case did. ``error`` is why it could not be judged (refused by the tiling function, a crash, ...)."""

    case: Case
    outputs: tuple[OutputResult, ...] = ()
    breaches: tuple[BreachOfLaw, ...] = ()
    traffic: tuple[ArgumentTraffic, ...] = ()
    tiling: TilingUsed | None = None
    launches: int = 0
    seconds: float = 0.0
    error: str = ""
    empty: bool = False

    @property
    def passed(self) -> bool:
        return not self.error and not self.breaches and all(o.passed for o in self.outputs)

    @property
    def bytes_moved(self) -> int:
        return sum(a.read + a.written for a in self.traffic)

    @property
    def bytes_compulsory(self) -> int:
        return sum(a.compulsory for a in self.traffic)

    def kind(self) -> str:
        """What cases that failed alike have in common: the law and its place, else the findings in full."""
        return f"{self.breaches[0].rule} {self.breaches[0].file}:{self.breaches[0].line}" if self.breaches else self.why()

    def why(self) -> str:
        """What went wrong, one finding a line; empty when the case passed."""
        lines = [self.error] if self.error else []
        lines += [f"law {b}" for b in self.breaches[:5]]
        lines += [f"(and {len(self.breaches) - 5} more breaches)"] if len(self.breaches) > 5 else []
        for o in self.outputs:
            if not o.verdict.passed:
                lines.append(f"{o.name} ({o.dtype}): {o.verdict.message}")
            if o.overwritten:
                lines.append(f"{o.name}: {o.overwritten} elements changed that the formula does not define")
            if o.unwritten:
                lines.append(f"{o.name}: {o.unwritten} elements were not written")
        return "\n".join(lines)

    def document(self) -> dict[str, Any]:
        """The result as plain data for ``--json``."""
        return {
            "case": _case_document(self.case),
            "passed": self.passed,
            "error": self.error or None,
            "outputs": [_output_document(o) for o in self.outputs],
            "breaches": [asdict(b) for b in self.breaches],
            "traffic": [asdict(a) for a in self.traffic],
            "bytes": {
                "read": sum(a.read for a in self.traffic),
                "written": sum(a.written for a in self.traffic),
                "moved": self.bytes_moved,
                "compulsory": self.bytes_compulsory,
                "ratio": self.bytes_moved / self.bytes_compulsory if self.bytes_compulsory else None,
            },
            "tiling": {**asdict(self.tiling), "fields": dict(self.tiling.fields)} if self.tiling else None,
            "launches": self.launches,
            "seconds": round(self.seconds, 4),
        }


@dataclass(frozen=True, slots=True)
class Refusal:
    """Whether a violation was refused, and with which words."""

    violation: Violation
    refused: bool
    message: str = ""
    crashed: bool = field(default=False)

    @property
    def passed(self) -> bool:
        return self.refused and not self.crashed

    def document(self) -> dict[str, Any]:
        what, base = self.violation.what, self.violation.base.command()
        return {"violation": what, "passed": self.passed, "refused": self.refused, "message": self.message, "base": base}


def _case_document(case: Case) -> dict[str, Any]:
    named = {"dims": dict(case.dims), "attrs": dict(case.attrs), "dtypes": dict(case.dtypes)}
    return {**asdict(case), **named, "command": case.command()}


def _output_document(o: OutputResult) -> dict[str, Any]:
    counts = {"overwritten": o.overwritten, "unwritten": o.unwritten, "sampled": o.sampled}
    return {"name": o.name, "dtype": o.dtype, **counts, **asdict(o.verdict)}


def worst(results: Sequence[CaseResult]) -> tuple[float, str]:
    """The largest relative error of all float outputs and the rules of the precision standard that passed them."""
    judged = [o.verdict for r in results for o in r.outputs]
    error = max((v.max_rel for v in judged), default=0.0)
    return error, "+".join(sorted({v.rule for v in judged if v.rule is not None})) or "-"
