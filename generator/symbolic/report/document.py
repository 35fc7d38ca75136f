"""An audit as plain data: the document of ``opwright audit --json``, described in README."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from generator.symbolic.auditing import Audited
from generator.symbolic.model import Counterexample, Finding, Verdict

__all__ = ["LEVELS", "document"]

LEVELS = ("PROVED", "EXACT", "NUMERIC", "AMBIGUOUS", "UNDECIDED", "REFUTED")


def document(audits: Iterable[Audited], seconds: float) -> dict[str, Any]:
    """The whole run. ``counts`` are gradients by verdict."""
    done = list(audits)
    counts = dict.fromkeys(LEVELS, 0)
    for a in done:
        for v in a.verdicts:
            counts[v.level] += 1
    return {
        "command": "audit",
        "schema": 1,
        "passed": all(a.passed for a in done),
        "seconds": round(seconds, 3),
        "counts": counts,
        "audits": [audited(a) for a in done],
    }


def audited(a: Audited) -> dict[str, Any]:
    """One text."""
    return {
        "name": a.name,
        "subject": a.subject,
        "path": a.place.path,
        "line": a.place.line,
        "column": a.place.column,
        "passed": a.passed,
        "seconds": round(a.seconds, 4),
        "forward": a.forward,
        "gradient": a.gradient,
        "findings": [_finding(f) for f in a.findings],
        "verdicts": [_verdict(v) for v in a.verdicts],
    }


def _finding(f: Finding) -> dict[str, Any]:
    return {
        "what": f.what,
        "kind": f.kind,
        "line": None if f.span is None else f.span.line,
        "column": None if f.span is None else f.span.column,
    }


def _verdict(v: Verdict) -> dict[str, Any]:
    return {
        "output": v.output,
        "of": v.of,
        "level": v.level,
        "method": v.method,
        "seconds": round(v.seconds, 4),
        "sizes": [dict(s) for s in v.sizes],
        "error_bound": v.error_bound,
        "certified": v.certificate is not None,
        "counterexample": None if v.counterexample is None else _example(v.counterexample),
        "classification": v.classification,
        "right_formula": v.right_formula,
        "differing": list(v.differing),
        "readings": [{"reading": what, "level": level} for what, level in v.readings],
        "boundary": [{"where": where, "what": what} for where, what in v.boundary],
        "findings": [_finding(f) for f in v.findings],
    }


def _example(c: Counterexample) -> dict[str, Any]:
    return {
        "sizes": dict(c.sizes),
        "attrs": dict(c.attrs),
        "inputs": dict(c.inputs),
        "element": list(c.element),
        "claimed": _plain(c.claimed),
        "derived": _plain(c.derived),
    }


def _plain(x: float) -> float | str:
    """JSON has no NaN."""
    return x if math.isfinite(x) else str(x)
