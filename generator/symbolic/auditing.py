"""From a text and its setting to verdicts: strict reading first, then every reading of what the text leaves open."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from generator.formula.broadcasts import contracted, expanded
from generator.formula.ir import Program, Span, Stmt
from generator.formula.parse import Parsed, parse
from generator.formula.printer import text as printed
from generator.spec.errors import Problem, TextError
from generator.symbolic.audit import Prover, audit_claim, example_of
from generator.symbolic.cases import assigned
from generator.symbolic.model import Claim, Finding, Place, Verdict
from generator.symbolic.notation import written
from generator.symbolic.proving import completed
from generator.symbolic.readings import Reading, readings
from generator.symbolic.setting import Setting, resolve_gradient
from generator.symbolic.slices import names_read, slice_of

__all__ = ["Audited", "audit_text", "claim_of"]

_SEVERITY = {"REFUTED": 0, "AMBIGUOUS": 1, "UNDECIDED": 2, "NUMERIC": 3, "EXACT": 4, "PROVED": 5}


@dataclass(frozen=True)
class Audited:
    """One text's audit: ``subject`` is whose formula it is, ``forward`` and ``gradient`` are texts."""

    name: str
    subject: str
    place: Place
    forward: str
    gradient: str
    verdicts: tuple[Verdict, ...] = ()
    findings: tuple[Finding, ...] = ()
    seconds: float = 0.0
    claims: tuple[Claim, ...] = field(default=(), compare=False, repr=False)

    @property
    def passed(self) -> bool:
        """Nothing refuted, ambiguous or undecided."""
        return bool(self.verdicts) and all(_SEVERITY[v.level] >= 3 for v in self.verdicts)


def claim_of(setting: Setting, program: Program, output: str, name: str) -> Claim:
    """The claim that ``program`` computes the gradient ``output``."""
    read = {t.name for t in program.inputs}
    saved = {n: setting.saved.get(n, n) for n in sorted(read - set(setting.cotangents))}
    cotangents = dict(setting.cotangents)
    wrt = {output: setting.gradients[output]}
    return Claim(name, setting.forward, program, wrt, cotangents, saved, setting.domain, notation=setting.notation)


def audit_text(
    setting: Setting, text: str, name: str, subject: str, *, budget: float = 20.0, seed: int = 0, prover: Prover | None = None
) -> Audited:
    """Audit every gradient a text assigns. Nothing about the text raises: what cannot be read is a finding.

    ``budget`` is seconds for each gradient."""
    started = time.process_time()
    here = setting.source.at(*setting.loc)
    place = Place(str(setting.source.path), here.line, here.column)

    def locate(line: int, column: int) -> Span:
        where = setting.source.tree.inside(setting.loc, line, column)
        return Span(where.line, where.column)

    parsed: Parsed = parse(text, relaxed=True, locate=locate)
    body, misused = expanded(parsed.body, setting.notation.broadcasts, strict=False)
    findings = [_finding(setting, f) for f in parsed.findings]
    findings += [Finding(f"{e.what}, {e.value}, {e.right}", Span(e.line, e.column), "form") for e in misused]
    verdicts: list[Verdict] = []
    claims: list[Claim] = []
    made = assigned(body) if not misused else []
    for output in [g for g in setting.gradients if g in made]:
        begun = time.process_time()
        part = slice_of(body, output)
        verdict, claim, said = _audit_part(setting, part, body, output, name, begun + budget, seed, prover)
        spots = {f.span for f in findings if f.span is not None}
        findings += [f for f in said if f not in findings and (f.span is None or f.span not in spots)]
        verdicts.append(replace(verdict, seconds=time.process_time() - begun))
        claims += [claim] if claim is not None else []
    for output in [g for g in setting.gradients if g not in made]:
        why = "packs of axes are used in a way that cannot be read" if misused else "the text assigns no such tensor that could be read"
        verdicts.append(Verdict("UNDECIDED", why, 0.0, output, setting.gradients[output]))
    forward = written(setting.forward, setting.notation, extents=True)
    return Audited(name, subject, place, forward, text, tuple(verdicts), tuple(findings), time.process_time() - started, tuple(claims))


def _audit_part(
    setting: Setting, part: Sequence[Stmt], whole: Sequence[Stmt], output: str, name: str, deadline: float, seed: int, prover: Prover | None
) -> tuple[Verdict, Claim | None, list[Finding]]:
    """One gradient: strictly read when that is possible, else by readings."""
    of = setting.gradients[output]
    left = max(0.0, deadline - time.process_time())
    if not setting.open or not set(setting.open) & set(names_read(tuple(part))):
        strict = resolve_gradient(setting, printed(part), assigned=set(assigned(part)), located=False, outputs=[output])
        if strict.program is not None:
            claim = claim_of(setting, strict.program, output, name)
            return completed(audit_claim(claim, left, seed, prover)[0], claim), claim, []
    found = readings(setting, part, output, deadline, whole)
    if not found.readings:
        verdict = Verdict("UNDECIDED", "no reading of the text could be resolved", 0.0, output, of, findings=tuple(found.findings))
        return verdict, None, found.findings
    return _weigh(setting, found.readings, output, name, deadline, seed, prover, found.findings)


def _weigh(
    setting: Setting,
    all_readings: Sequence[Reading],
    output: str,
    name: str,
    deadline: float,
    seed: int,
    prover: Prover | None,
    findings: list[Finding],
) -> tuple[Verdict, Claim | None, list[Finding]]:
    """The verdict over readings: some right and some wrong is AMBIGUOUS, none right REFUTED."""
    judged: list[tuple[Reading, Claim, Verdict]] = []
    for at, reading in enumerate(all_readings):
        left = deadline - time.process_time()
        if left <= 0:
            break
        claim = claim_of(setting, reading.program, output, name)
        share = left if len(all_readings) == 1 else left / max(2, len(all_readings) - at)
        judged.append((reading, claim, audit_claim(claim, share, seed, prover, len(all_readings) == 1)[0]))
    said = tuple((r.what, v.level) for r, _, v in judged)
    right = [j for j in judged if j[2].level in ("PROVED", "EXACT", "NUMERIC")]
    wrong = [j for j in judged if j[2].level == "REFUTED"]
    notes = tuple(findings)
    if right and wrong:
        reading, claim, verdict = right[0]
        method = f"{len(judged)} readings, {len(right)} right: {'; '.join(r.what for r, _, _ in right)}"
        out = replace(
            verdict,
            level="AMBIGUOUS",
            method=method,
            readings=said,
            findings=notes,
            counterexample=example_of(wrong[0][1], max(0.0, deadline - time.process_time()), seed),
            right_formula=printed(contracted(reading.body, setting.notation.broadcasts)),
        )
        return out, claim, findings
    if right:
        worst = min(right, key=lambda j: _SEVERITY[j[2].level])
        if len(judged) < len(all_readings) or len(right) < len(judged):
            undecided = Verdict("UNDECIDED", "the budget was spent before every reading was judged", 0.0, output, worst[2].of)
            return replace(undecided, readings=said, findings=notes), worst[1], findings
        return replace(worst[2], readings=said if len(said) > 1 else (), findings=notes), worst[1], findings
    if judged and len(wrong) == len(all_readings):
        reading, claim, verdict = wrong[0]
        if len(wrong) > 1:
            verdict = audit_claim(claim, max(0.1, deadline - time.process_time()), seed, prover)[0]
        method = verdict.method if len(wrong) == 1 else f"{verdict.method}; none of {len(wrong)} readings is right"
        return replace(completed(verdict, claim), method=method, readings=said if len(said) > 1 else (), findings=notes), claim, findings
    undecided = Verdict("UNDECIDED", "not every reading could be judged", 0.0, output, setting.gradients[output])
    return replace(undecided, readings=said, findings=notes), None, findings


def _finding(setting: Setting, error: TextError) -> Finding:
    problem: Problem = setting.source.inside(setting.loc, error)
    said = ", ".join(part for part in (problem.what, problem.value, problem.right) if part)
    return Finding(said, Span(problem.line, problem.column), "form")
