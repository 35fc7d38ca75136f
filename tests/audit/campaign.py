"""The corpus audited: every text through the tool as a reviewer's file goes, and every verdict judged against the truth."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache

import numpy as np

from generator.spec.audit_file import scan_audit
from generator.symbolic.auditing import Audited, audit_text
from generator.symbolic.cases import setting_of
from generator.symbolic.model import Counterexample, Verdict
from generator.symbolic.proving import prover
from tests.audit.corpus import Case, Text, audit_file, cases, forward_of, texts
from tests.audit.truth import Point, confirms, wrong

__all__ = ["ROLES", "Outcome", "audited", "chosen", "judged", "summary", "wrong_in"]

ROLES = ("right", "rewrite", "mutant", "trap", "open")
_GOOD = ("PROVED", "EXACT", "NUMERIC")


@dataclass(frozen=True)
class Outcome:
    """One gradient of one text: its verdict, and ``fault``, what is wrong with that (empty: nothing)."""

    text: Text
    verdict: Verdict
    fault: str
    wrong: bool  # by central differences

    @property
    def name(self) -> str:
        return f"{self.text.name}:{self.verdict.output}"


def chosen(roles: Iterable[str] = ROLES, files: Iterable[str] = (), match: str = "") -> Iterator[Text]:
    """The texts of the corpus with these roles, of these files (all when none is named), whose name contains ``match``."""
    wanted = set(roles)
    for case in cases(*files):
        yield from (t for t in texts(case) if t.role in wanted and match in t.name)


def audited(text: Text, *, budget: float = 20.0, seed: int = 0) -> Audited:
    """The audit of ``text``, through a file of the format. Of a mutant or a trap only the gradients that are wrong: what
    is right in it is audited as such elsewhere."""
    data = text.case.data
    if text.role in ("mutant", "trap"):
        data = {**data, "gradients": {n: of for n, of in data["gradients"].items() if n in wrong_in(text)}}
    setting = setting_of(scan_audit(audit_file(text, data), f"{text.name}.yaml"), 0)
    return audit_text(setting, text.gradient, text.name, text.case.name, budget=budget, seed=seed, prover=prover())


@cache
def wrong_in(text: Text) -> frozenset[str]:
    """The gradients of ``text`` that are wrong by central differences."""
    if text.role == "open":
        return frozenset()
    if text.role == "trap":
        return frozenset(wrong(text, count=2, fixed=text.case.trap.get("wrong")))
    return frozenset(wrong(text, count=3, above=1e-4 if text.role == "mutant" else 1e-6))


def judged(text: Text, *, budget: float = 20.0, seed: int = 0) -> list[Outcome]:
    """The audit of ``text`` and what is wrong with its verdicts, by central differences."""
    bad = wrong_in(text)
    answer = audited(text, budget=budget, seed=seed)
    out = [Outcome(text, v, _fault(text, v, v.output in bad), v.output in bad) for v in answer.verdicts]
    return out or [Outcome(text, Verdict("UNDECIDED", "no verdict", 0.0, "", ""), "no verdict", bool(bad))]


def _fault(text: Text, verdict: Verdict, is_wrong: bool) -> str:
    level = verdict.level
    if text.role == "open":
        return _open_fault(text.case, verdict)
    if text.role == "trap" and "wrong" in text.case.trap:
        return f"{level} where it is wrong" if is_wrong and level == "PROVED" else ""
    if not is_wrong and level == "REFUTED":
        return "a right gradient is refuted"
    if is_wrong and level != "REFUTED":
        return f"{level} where it is wrong"
    if text.role in ("right", "rewrite") and level not in ("PROVED", "EXACT"):
        return f"{level} for a right gradient: {verdict.method}"
    if is_wrong:
        if verdict.counterexample is None:
            return "" if verdict.findings else "refuted without a counterexample"
        if not confirms(text, verdict.output, *_point(text, verdict.counterexample)):
            return f"central differences do not confirm the counterexample {verdict.counterexample}"
    return ""


def _open_fault(case: Case, verdict: Verdict) -> str:
    if verdict.level != "AMBIGUOUS":
        return f"{verdict.level} where the text leaves something open: {verdict.readings or verdict.method}"
    named = [level for reading, level in verdict.readings if case.right in reading]
    if not any(level in _GOOD for level in named):
        return f"the right reading '{case.right}' is not named: {verdict.readings}"
    return ""


def _point(text: Text, example: Counterexample) -> tuple[Point, tuple[int, ...], float, float]:
    forward = forward_of(text.case)
    given = {n: np.asarray(v) for n, v in example.inputs.items()}
    shapes = {t.name: tuple(e.evaluate(example.sizes) for e in t.shape) for t in forward.tensors.values()}
    dtypes = {t.name: {"float": np.float64, "int": np.int64, "bool": np.bool_}[t.kind] for t in forward.inputs}
    inputs = {t.name: given[t.name].reshape(shapes[t.name]) for t in forward.inputs}
    inputs = {n: a.astype(dtypes[n]) for n, a in inputs.items()}
    cotangents = {of: given[n].reshape(shapes[of]).astype(np.float64) for n, of in text.case.data["cotangents"].items()}
    sizes = {n: int(v) for n, v in example.sizes.items()}
    for name in forward.int_attrs:
        sizes.setdefault(name, int(example.attrs.get(name, 0)))
    attrs = {n: v for n, v in example.attrs.items() if n in (*forward.float_attrs, *forward.bool_attrs)}
    return Point(sizes, attrs, inputs, cotangents), example.element, example.claimed, example.derived


def summary(outcomes: list[Outcome]) -> str:
    """Counts of verdicts by role, and the times."""
    lines = []
    for role in ROLES:
        mine = [o for o in outcomes if o.text.role == role]
        if mine:
            levels = {level: sum(o.verdict.level == level for o in mine) for level in dict.fromkeys(o.verdict.level for o in mine)}
            faults = sum(bool(o.fault) for o in mine)
            lines.append(f"{role:8} {len(mine):4} gradients: {', '.join(f'{n} {k}' for k, n in levels.items())}; {faults} faults")
    times = sorted(o.verdict.seconds for o in outcomes)
    if times:
        lines.append(f"median {1000 * times[len(times) // 2]:.0f} ms a gradient, slowest {times[-1]:.2f} s")
    return "\n".join(lines)
