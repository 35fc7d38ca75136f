"""What a run audits: every spec with a forward (its own formula and the published ones), and the cases of audit files."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from generator.formula.checked import CheckedSpec, load
from generator.formula.link import link
from generator.spec.audit_file import AuditCase, read_audit
from generator.spec.errors import SpecError
from generator.spec.names import did_you_mean
from generator.symbolic.audit import audit_claim
from generator.symbolic.auditing import Audited, audit_text
from generator.symbolic.cases import setting_of
from generator.symbolic.model import Place, Verdict
from generator.symbolic.notation import written
from generator.symbolic.proving import completed, prover
from generator.symbolic.setting import Setting
from generator.symbolic.slices import program_slice
from generator.symbolic.specs import own_claim, published_setting

__all__ = ["Task", "UnknownNameError", "tasks"]


class UnknownNameError(Exception):
    """Neither an operator nor a file."""


@dataclass(frozen=True)
class Task:
    """One text to audit: ``run(budget, seed)``."""

    name: str
    run: Callable[[float, int], Audited]


def tasks(wanted: Sequence[str], specs: Path) -> Iterator[Task]:
    """The tasks for names of operators and paths of audit files; for every spec when nothing is wanted.

    Raises:
        SpecError: a spec or an audit file cannot be used, with every problem found in all of them.
        UnknownNameError: a name is neither.
    """
    files = [w for w in wanted if w.endswith((".yaml", ".yml")) or Path(w).is_file()]
    names = [w for w in wanted if w not in files]
    problems = []
    out: list[Task] = []
    for file in files:
        try:
            out += _file_tasks(file)
        except SpecError as error:
            problems += error.problems
    if names or not wanted:
        try:
            out += _spec_tasks(names, specs)
        except SpecError as error:
            problems += error.problems
    if problems:
        raise SpecError(problems)
    yield from out


def _file_tasks(path: str) -> Iterable[Task]:
    audit = read_audit(path)
    problems = []
    out: list[Task] = []
    for at, case in enumerate(audit.file.cases):
        try:
            setting = setting_of(audit, at)
        except SpecError as error:
            problems += error.problems
            continue
        out.append(Task(case.name, _case(setting, case)))
    if problems:
        raise SpecError(problems)
    return out


def _case(setting: Setting, case: AuditCase) -> Callable[[float, int], Audited]:
    def run(budget: float, seed: int) -> Audited:
        return audit_text(setting, case.gradient, case.name, case.source or "gradient", budget=budget, seed=seed, prover=prover())

    return run


def _spec_tasks(names: Sequence[str], folder: Path) -> Iterable[Task]:
    known: dict[str, CheckedSpec] = {}
    problems = []
    for path in sorted(folder.rglob("*.yaml")):
        try:
            spec = load(path)
            known[spec.spec.name] = spec
        except SpecError as error:
            problems += error.problems
    if problems:
        raise SpecError(problems)
    for name in names:
        if name not in known:
            raise UnknownNameError(f"'{name}' is neither an operator in {folder} nor a file: {did_you_mean(name, known, 'operators')}")
    out: list[Task] = []
    for name in names or known:
        spec = known[name]
        forward = link(spec, known)
        if forward is None:
            continue
        out.append(Task(name, _own(spec, forward)))
        out += [Task(f"{name} ({p.source})", _published(spec, forward, at)) for at, p in enumerate(spec.spec.published)]
    return out


def _own(spec: CheckedSpec, forward: CheckedSpec) -> Callable[[float, int], Audited]:
    def run(budget: float, seed: int) -> Audited:
        started = time.process_time()
        claim = own_claim(spec, forward)
        verdicts: list[Verdict] = []
        for output in claim.wrt:
            one = replace(claim, gradient=program_slice(claim.gradient, [output]), wrt={output: claim.wrt[output]})
            verdicts += [completed(v, one) for v in audit_claim(one, budget, seed, prover())]
        place = claim.place or Place(str(spec.path), 1, 1)
        seconds = time.process_time() - started
        said = written(claim.forward, claim.notation, extents=True)
        return Audited(spec.spec.name, "formula", place, said, spec.spec.formula, tuple(verdicts), (), seconds, (claim,))

    return run


def _published(spec: CheckedSpec, forward: CheckedSpec, at: int) -> Callable[[float, int], Audited]:
    def run(budget: float, seed: int) -> Audited:
        text = spec.spec.published[at]
        setting = published_setting(spec, forward, at)
        return audit_text(setting, text.formula, spec.spec.name, text.source, budget=budget, seed=seed, prover=prover())

    return run
