"""Two formulas of one output ``g``, proved equal and checked, over tensors that all tests share."""

from __future__ import annotations

import re

from generator.formula import ir
from generator.spec.integer import IntExpr
from generator.symbolic.certificate import Proved, Unknown
from generator.symbolic.check import doubt
from generator.symbolic.prove import Budget, prove, size_facts
from tests.reference.build import program

AXES = dict.fromkeys("jkln", "n") | {"i": "T", "t": "T", "T": "T", "r": "T", "o": "K", "K": "K"}
TENSORS = {
    "x": "in T,n",
    "y": "in T,n",
    "u": "in n",
    "w": "in n,n",
    "a": "local T,n",
    "b": "local T,n",
    "h": "local T,n",
    "s": "local T",
    "m": "local T",
    "c": "local n",
    "d": "local n",
    "z": "local n",
    "g": "out T,n",
}


def formula(text: str, **tensors: str) -> ir.Program:
    """The program of a text, with those of :data:`TENSORS` that it names."""
    declared = {**TENSORS, **tensors}
    used = {n: s for n, s in declared.items() if re.search(rf"\b{n}\[", text)}
    kinds: dict[str, ir.Kind] = {"idx": "int", "mask": "bool"}
    return program(text, AXES, attrs=("eps", "beta"), kinds={k: v for k, v in kinds.items() if k in used}, **used)


def prove_equal(
    left: str, right: str, facts: list[IntExpr] | None = None, positive: tuple[str, ...] = (), seconds: float = 20.0, **tensors: str
) -> Proved | Unknown:
    """The proof that both texts give the same ``g``; a proof whose certificate does not pass its check fails the test."""
    a, b = formula(left, **tensors), formula(right, **tensors)
    known = size_facts(a, b) if facts is None else facts
    found = prove(a, b, [("g", "g")], known, Budget(seconds), positive)
    if isinstance(found, Proved):
        assert doubt(found.certificate, a, b, [("g", "g")], known, positive) is None
    return found
