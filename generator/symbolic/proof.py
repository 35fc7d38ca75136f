"""The proof of a claim: the derived and the claimed gradient, unfolded, are equal; the certificate is checked before it counts."""

from __future__ import annotations

import time
from dataclasses import replace

from generator.formula import ir
from generator.formula.validate import InvalidProgramError
from generator.spec import conditions as cond
from generator.spec.integer import IntExpr, Numel, sym
from generator.symbolic.certificate import Proved, Unknown
from generator.symbolic.check import doubt
from generator.symbolic.derive import DeriveError, derive
from generator.symbolic.model import Claim, Finding, Verdict
from generator.symbolic.prove import prove, size_facts
from generator.symbolic.readable import readable
from generator.symbolic.terms import Budget
from generator.symbolic.unfold import resized, unfold
from generator.symbolic.versions import carried

__all__ = ["attempt", "domain_facts", "explain", "prover"]


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
    started = time.process_time()
    pairs = [(derived_output, output)]
    reasons: list[str] = []
    spent = False
    for opaque in (True, False):
        left = seconds - (time.process_time() - started)
        ours, theirs = unfold(claim, derived, saved, cotangents, pairs[0], opaque=opaque)
        facts, positive = domain_facts(claim, ours, theirs)
        found = prove(ours, theirs, pairs, facts, Budget(left / 3 if opaque else left / 2), positive)
        if isinstance(found, Unknown):
            reasons.append(found.reason)
            spent = spent or found.budget
            continue
        why = doubt(found.certificate, ours, theirs, pairs, facts, positive, seconds - (time.process_time() - started))
        if why is None:
            return found
        reasons.append(f"the certificate does not pass its check: {why}")
    return Unknown("; unfolded: ".join(reasons), spent)


def prover(claim: Claim, output: str, seconds: float) -> Verdict | None:
    """PROVED with its certificate when ``output`` of the claim is proved to be the derived gradient; None when it is not."""
    started = time.process_time()
    of = claim.wrt[output]
    found = explain(claim, output, seconds)
    if isinstance(found, Unknown):
        return None
    c = found.certificate
    how = "normal form" + (", loops by induction" if c.inductions else "") + (", pieces split on their guards" if c.boundaries else "")

    def said(key: str) -> str:
        return readable(key, claim.gradient, output)

    notes = tuple(Finding(f"taken as not zero: {said(x)}", None, "assumes") for x in c.nonzero)
    notes += tuple(Finding(f"{text} is read as {meaning}", None, "reads") for text, meaning in c.literals)
    return Verdict(
        "PROVED",
        f"{how}; certificate checked",
        time.process_time() - started,
        output,
        of,
        certificate=c,
        boundary=tuple((f"{said(x)} = 0", "left open: the sides are equal off it") for x in c.boundaries),
        findings=notes,
    )


def explain(claim: Claim, output: str, seconds: float) -> Proved | Unknown:
    """The proof that ``output`` of the claim is the derived gradient, its certificate checked, or why there is none."""
    started = time.process_time()
    whole, upstream = passed_on(specialised(claim))
    cotangents = {y: g for g, y in upstream.items()}
    if len(cotangents) < len(upstream):
        return Unknown("two upstream gradients of one output")
    many = carried(whole.forward)
    inputs = {t.name for t in whole.forward.inputs}
    saved = {y: s for s, y in claim.saved.items() if y not in inputs and y not in many and y in whole.forward.tensors}
    try:
        derived = derive(whole.forward, [claim.wrt[output]], cotangents, saved)
    except (DeriveError, InvalidProgramError, ValueError) as e:
        return Unknown(f"no gradient could be derived: {e}")
    held = {name: tensor for tensor, name in derived.saved.items()}
    left = seconds - (time.process_time() - started)
    return attempt(whole, derived.program, output, derived.gradients[claim.wrt[output]], held, upstream, left)


def specialised(claim: Claim) -> Claim:
    """The claim with the forward's sizes that the gradient has in another form (a constant, say) replaced by that form."""
    mine = {*claim.gradient.dims, *claim.gradient.int_attrs}
    theirs = {*claim.forward.dims, *claim.forward.int_attrs}
    env: dict[str, IntExpr] = {}
    for ours, other in {**claim.saved, **claim.cotangents, **claim.wrt}.items():
        a, b = claim.gradient.tensors.get(ours), claim.forward.tensors.get(other)
        for e, f in zip(a.shape, b.shape, strict=False) if a is not None and b is not None else ():
            if f.symbol is not None and f.symbol not in mine and e.free() <= theirs:
                env.setdefault(f.symbol, e)
    return replace(claim, forward=resized(claim.forward, env)) if env else claim


def passed_on(claim: Claim) -> tuple[Claim, dict[str, str]]:
    """The claim with an output of the forward for each input that has an upstream gradient of its own, and the cotangents."""
    forward, upstream = claim.forward, dict(claim.cotangents)
    for g, x in claim.cotangents.items():
        tensor = forward.tensors.get(x)
        if tensor is None or tensor.role != "input":
            continue
        name = f"passed_{x}"
        axes = tuple(ir.Bound(f"{name}_{d}", e) for d, e in enumerate(tensor.shape))
        at = tuple(sym(a.name) for a in axes)
        out = replace(tensor, name=name, role="output", optional=False, flat=None)
        body = (*forward.body, ir.Assign(name, at, ir.Load(x, at), axes))
        forward = replace(forward, body=body, tensors={**forward.tensors, name: out})
        upstream[g] = name
    return replace(claim, forward=forward, cotangents=upstream), upstream
