"""The prover as an audit uses it: derive, unfold, prove; a certificate that was checked, or nothing."""

from __future__ import annotations

from dataclasses import replace

from generator.formula.validate import InvalidProgramError
from generator.symbolic import proof
from generator.symbolic.audit import Prover
from generator.symbolic.derive import Derived, DeriveError, derive
from generator.symbolic.model import Claim, Verdict
from generator.symbolic.notation import written

__all__ = ["completed", "derived_for", "prover", "right_formula"]


def prover() -> Prover:
    """How to prove one output of a claim: by normal form and induction, the certificate checked by a checker of its own."""
    return proof.prover


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


def right_formula(claim: Claim, output: str) -> str:
    """The true gradient in the author's names; empty when it cannot be derived."""
    try:
        return written(derived_for(claim, output).program, claim.notation)
    except (DeriveError, InvalidProgramError, ValueError):
        return ""


def completed(verdict: Verdict, claim: Claim) -> Verdict:
    """A refuted verdict with the derived formula where no edit of the author's own was found."""
    if verdict.level != "REFUTED" or verdict.right_formula:
        return verdict
    return replace(verdict, right_formula=right_formula(claim, verdict.output))
