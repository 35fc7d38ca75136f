"""What an audit claims and what comes back: claims, verdicts, counterexamples, findings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from generator.formula.ir import Program, Span
from generator.spec.conditions import Condition
from generator.spec.integer import IntExpr
from generator.symbolic.notation import Notation

Level = Literal["PROVED", "EXACT", "NUMERIC", "AMBIGUOUS", "UNDECIDED", "REFUTED"]


@dataclass(frozen=True)
class Domain:
    """Where a claim is to hold. ``conditions`` bound dims and attributes; ``derived`` are dims computed from others, in order;
    ``ranges`` are value ranges of float inputs, ``below`` the (exclusive) upper limits of integer tensors' elements;
    ``boundary`` is the declared convention at kinks."""

    conditions: tuple[Condition, ...] = ()
    derived: tuple[tuple[str, IntExpr], ...] = ()
    ranges: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    below: Mapping[str, IntExpr] = field(default_factory=dict)
    boundary: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Place:
    """The file a claim stands in and where its text starts (1-based)."""

    path: str
    line: int
    column: int


@dataclass(frozen=True)
class Claim:
    """``gradient`` (a program) computes, in ``wrt`` outputs, the derivative of ``forward``.

    ``wrt`` maps an output of ``gradient`` to the forward input it claims to be the gradient of; ``cotangents`` maps an
    input of ``gradient`` to the forward output whose upstream gradient it is; ``saved`` maps other inputs of ``gradient``
    to the forward input, output or intermediate they hold. Forward outputs without a cotangent have none (zero).
    """

    name: str
    forward: Program
    gradient: Program
    wrt: Mapping[str, str]
    cotangents: Mapping[str, str]
    saved: Mapping[str, str]
    domain: Domain = field(default_factory=Domain)
    place: Place | None = None
    source: str = ""  # the document the gradient stands in
    notation: Notation = field(default_factory=Notation, compare=False)  # the author's


@dataclass(frozen=True)
class Finding:
    """An error of form, or a note, at a place of the text."""

    what: str
    span: Span | None = None
    kind: str = ""


@dataclass(frozen=True)
class Counterexample:
    """Sizes, attributes and values at which both sides differ, the element, and both results."""

    sizes: Mapping[str, int]
    attrs: Mapping[str, float]
    element: tuple[int, ...]
    claimed: float
    derived: float
    inputs: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True)
class Verdict:
    """The answer for one gradient of one claim, never stronger than ``method``."""

    level: Level
    method: str
    seconds: float
    output: str
    of: str
    sizes: tuple[Mapping[str, int], ...] = ()  # EXACT, NUMERIC: where
    error_bound: float | None = None  # EXACT: bound on the probability of a false accept
    certificate: object | None = None  # PROVED
    counterexample: Counterexample | None = None  # REFUTED
    classification: str = ""  # REFUTED: sign, missing factor, ...
    right_formula: str = ""  # REFUTED: in the author's names
    differing: tuple[str, ...] = ()  # REFUTED: terms that differ
    readings: tuple[tuple[str, str], ...] = ()  # AMBIGUOUS: (reading, its verdict)
    boundary: tuple[tuple[str, str], ...] = ()  # piecewise: (boundary, what each side gives there)
    findings: tuple[Finding, ...] = ()
