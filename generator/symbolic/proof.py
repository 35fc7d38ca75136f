"""The proof of a claim: the derived and the claimed gradient, unfolded, are equal; the certificate is checked before it counts."""

from __future__ import annotations

import time

from generator.formula import ir
from generator.spec import conditions as cond
from generator.spec.integer import IntExpr, Numel, sym
from generator.symbolic.certificate import Proved, Unknown
from generator.symbolic.check import doubt
from generator.symbolic.model import Claim
from generator.symbolic.prove import prove, size_facts
from generator.symbolic.terms import Budget
from generator.symbolic.unfold import unfold

__all__ = ["attempt", "domain_facts"]


def domain_facts(claim: Claim, *programs: ir.Program) -> tuple[list[IntExpr], list[str]]:
    """Integer expressions that are >= 0 in the claim's domain, and the float attributes that are > 0."""
    out = {e.key(): e for e in size_facts(*programs)}
    positive: list[str] = []
    for c in claim.domain.conditions:
        for e in cond.facts(c):
            out[e.key()] = e
        positive += _positive(c)
    for name, value in claim.domain.derived:
        if not any(isinstance(a, Numel) for a in value.atoms()):
            for e in (sym(name) - value, value - sym(name)):
                out[e.key()] = e
    return [e for e in out.values() if e.value is None], positive


def _positive(c: cond.Condition) -> list[str]:
    if isinstance(c, cond.And):
        return [n for p in c.parts for n in _positive(p)]
    if not isinstance(c, cond.Compare) or isinstance(c.a, IntExpr) or isinstance(c.b, IntExpr):
        return []
    a, b = (c.a, c.b) if c.op in (">", ">=") else (c.b, c.a)
    strict = c.op in (">", "<")
    if c.op in ("==", "!=") or a.name is None or b.name is not None:
        return []
    return [a.name] if b.value > 0 or (strict and b.value >= 0) else []


def attempt(
    claim: Claim, derived: ir.Program, output: str, derived_output: str, saved: dict[str, str], cotangents: dict[str, str], seconds: float
) -> Proved | Unknown:
    """Prove that ``output`` of the claim's gradient is ``derived_output`` of ``derived``; the certificate has been checked.

    ``saved`` and ``cotangents`` are those of ``derived``. ``seconds`` bounds proof and check together."""
    started = time.monotonic()
    pairs = [(derived_output, output)]
    found: Proved | Unknown = Unknown("no time was left", budget=True)
    for opaque in (True, False):
        left = seconds - (time.monotonic() - started)
        ours, theirs = unfold(claim, derived, saved, cotangents, opaque=opaque)
        facts, positive = domain_facts(claim, ours, theirs)
        found = prove(ours, theirs, pairs, facts, Budget(left / 3 if opaque else left / 2), positive)
        if isinstance(found, Unknown):
            continue
        why = doubt(found.certificate, ours, theirs, pairs, facts, positive, seconds - (time.monotonic() - started))
        if why is None:
            return found
        found = Unknown(f"the certificate does not pass its check: {why}")
    return found
