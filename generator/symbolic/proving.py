"""The prover as an audit uses it: derive, unfold, prove; a certificate that was checked, or nothing."""

from __future__ import annotations

from dataclasses import replace

from generator.formula.printer import text as printed
from generator.symbolic.audit import Prover
from generator.symbolic.certificate import Proved
from generator.symbolic.derive import Derived, DeriveError, derive
from generator.symbolic.model import Claim, Verdict
from generator.symbolic.proof import attempt

__all__ = ["completed", "derived_for", "prove_output", "prover", "right_formula"]


def prover() -> Prover:
    """How to prove one output of a claim."""
    return prove_output


def derived_for(claim: Claim, output: str) -> Derived:
    """The derived gradient that ``output`` claims to be, in the claim's names where it has them.

    Raises:
        DeriveError: the forward uses something that has no derivative here.
    """
    of = claim.wrt[output]
    cotangents = {to: name for name, to in claim.cotangents.items()}
    inputs = {t.name for t in claim.forward.inputs}
    saved = {to: name for name, to in claim.saved.items() if to not in inputs}
    return derive(claim.forward, [of], cotangents, saved, names={of: output}, boundary=claim.domain.boundary)


def prove_output(claim: Claim, output: str, seconds: float) -> Verdict | None:
    """PROVED with its certificate, or None."""
    of = claim.wrt[output]
    cotangents = {to: f"up_{to}" for to in claim.cotangents.values()}
    try:
        derived = derive(claim.forward, [of], cotangents, {}, boundary=claim.domain.boundary)
    except DeriveError:
        return None
    saved = {name: to for to, name in derived.saved.items()}
    names = {name: to for to, name in cotangents.items()}
    found = attempt(claim, derived.program, output, derived.gradients[of], saved, names, seconds)
    if not isinstance(found, Proved):
        return None
    certificate = found.certificate
    how = "normal form" + (f" and induction over {len(certificate.inductions)} loop(s)" if certificate.inductions else "")
    boundary = tuple((f"{b} = 0", "the two sides are not compared there") for b in certificate.boundaries)
    return Verdict("PROVED", f"{how}; certificate checked", 0.0, output, of, certificate=certificate, boundary=boundary)


def right_formula(claim: Claim, output: str) -> str:
    """The true gradient in the author's names; empty when it cannot be derived."""
    try:
        return printed(derived_for(claim, output).program, extents=False)
    except DeriveError:
        return ""


def completed(verdict: Verdict, claim: Claim) -> Verdict:
    """A refuted verdict with the derived formula where no edit of the author's own was found."""
    if verdict.level != "REFUTED" or verdict.right_formula:
        return verdict
    return replace(verdict, right_formula=right_formula(claim, verdict.output))
