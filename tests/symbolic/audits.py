"""Audits of small cases written in tests: a case as an audit file, its verdicts by output."""

from __future__ import annotations

from typing import Any

from generator.spec.audit_file import scan_audit
from generator.symbolic.auditing import Audited, audit_text
from generator.symbolic.cases import setting_of
from generator.symbolic.model import Verdict

SCALE = """
    dims: {T: , D: }
    tensors: {x: [T, D], w: [D], y: [T, D]}
    forward: |
      y[t, d] = x[t, d] * w[d]
"""
RMS = """
    dims: {T: , D: }
    attrs: {eps: {type: float, where: "eps > 0"}}
    tensors: {x: [T, D], w: [D], y: [T, D]}
    forward: |
      r[t] = rsqrt(mean[d](x[t, d] ** 2) + eps)
      y[t, d] = x[t, d] * r[t] * w[d]
"""


def audit_of(forward: str, gradient: str, **options: Any) -> Audited:
    """The audit of one case: ``forward`` is the YAML of everything but the gradient, ``gradient`` its text."""
    text = "\n".join("      " + line for line in gradient.strip().split("\n"))
    source = f"cases:\n  - name: case{forward.rstrip()}\n    gradient: |\n{text}\n"
    audit = scan_audit(source, "case.yaml")
    return audit_text(setting_of(audit, 0), audit.file.cases[0].gradient, "case", "gradient", **options)


def verdicts(forward: str, gradient: str, **options: Any) -> dict[str, Verdict]:
    """Output -> verdict."""
    return {v.output: v for v in audit_of(forward, gradient, **options).verdicts}
