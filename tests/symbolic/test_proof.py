"""Claims are proved against the derived gradient: the operators' own formulas for all sizes, traps never."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from generator.formula.link import relation
from generator.formula.ranges import conditions_of
from generator.symbolic.certificate import Proved, Unknown
from generator.symbolic.model import Claim, Domain
from generator.symbolic.proof import explain, prover
from tests.audit.corpus import cases, program_of, texts
from tests.reference.specs import BACKWARDS, every, forward_of


def operators() -> Iterator[tuple[str, str]]:
    for name in BACKWARDS:
        forward = forward_of(every()[name])
        assert forward is not None
        for output in relation(every()[name], forward).gradients:
            yield name, output


def claim_of(name: str, output: str) -> Claim:
    backward = every()[name]
    forward = forward_of(backward)
    assert forward is not None
    r = relation(backward, forward)
    domain = Domain((*conditions_of(backward.spec), *conditions_of(forward.spec)), tuple(backward.derived))
    upstream, held = {**r.cotangents, **r.passed}, {**r.saved, **r.same}
    return Claim(name, forward.program, backward.program, {output: r.gradients[output]}, upstream, held, domain)


@pytest.mark.parametrize(("name", "output"), list(operators()))
def test_the_operators_own_gradient_is_proved_for_all_sizes(name: str, output: str) -> None:
    found = explain(claim_of(name, output), output, 120.0)
    assert isinstance(found, Proved), found
    assert every()[name].spec.audited[output] == "PROVED"


def traps() -> Iterator[tuple[Claim, dict[str, str]]]:
    for case in cases():
        for text in texts(case):
            if text.role == "trap":
                forward, gradient = program_of(text)
                upstream = dict(case.data["cotangents"])
                held = {t.name: case.data.get("saved", {}).get(t.name, t.name) for t in gradient.inputs if t.name not in upstream}
                wrt = {g: x for g, x in case.data["gradients"].items() if g in gradient.tensors}
                yield Claim(text.name, forward, gradient, wrt, upstream, held), wrt


def test_a_trap_is_never_proved() -> None:
    wrong = [c.name for c, wrt in traps() if all(isinstance(explain(c, out, 5.0), Proved) for out in wrt)]
    assert wrong == []


def test_a_claim_that_cannot_be_proved_has_no_verdict() -> None:
    case = next(c for c in cases("activations") if any(t.role == "mutant" for t in texts(c)))
    text = next(t for t in texts(case) if t.role == "mutant")
    forward, gradient = program_of(text)
    wrt = {g: x for g, x in case.data["gradients"].items() if g in gradient.tensors}
    upstream = dict(case.data["cotangents"])
    claim = Claim("mutant", forward, gradient, wrt, upstream, {t.name: t.name for t in gradient.inputs if t.name not in upstream})
    assert any(isinstance(explain(claim, out, 5.0), Unknown) and prover(claim, out, 5.0) is None for out in wrt)
