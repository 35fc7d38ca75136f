"""What is wrong with a refuted formula: the single edit that makes it right, a path that was dropped, another variable's gradient."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Final

from generator.formula.ir import Assign, Load, Program
from generator.symbolic.edits import edits
from generator.symbolic.exact import P, UndefinedError, UnwrittenError
from generator.symbolic.machine import Machine, OutOfTimeError, Values
from generator.symbolic.model import Claim
from generator.symbolic.notation import written
from generator.symbolic.numeric import Checker, NotSquareError, still
from generator.symbolic.points import Point, Sizes, sizes_of
from generator.symbolic.surface import mapped, statements

__all__ = ["Diagnosis", "diagnose"]

_SECONDS: Final = 5.0
_SMALL: Final = 3  # a size that is cheap
_CHECKS: Final = 6  # sizes at which an edit must be right


@dataclass(frozen=True)
class Diagnosis:
    """``kind`` of mistake; the formula ``right`` (empty when no edit was found) and the statements that ``differ``."""

    kind: str
    right: str = ""
    differing: tuple[str, ...] = ()


def diagnose(checker: Checker, ladder: list[Sizes], output: str, rng: random.Random) -> Diagnosis:
    """The mistake in ``output``, which is known to be wrong. Spends at most a quarter of what is left of the budget."""
    limit = time.process_time() + min(_SECONDS, checker.left() / 4)
    try:
        tiny = _tiny(checker, ladder)
        probe = _Probe.make(checker, tiny, output, rng)
        if probe is None:
            return Diagnosis("other")
        simple = probe.simple()
        if simple is not None and simple != "sign":
            return Diagnosis(simple)
        for edit in edits(checker.claim.gradient, _roles(checker)):
            if time.process_time() > limit:
                break
            if (
                probe.right(edit.program)
                and _holds(checker, tiny, output, rng, edit.program)
                and _holds(checker, ladder[:2], output, rng, edit.program)
            ):
                return Diagnosis(edit.kind, written(edit.program, checker.claim.notation), _differing(checker.claim, edit.program))
        return Diagnosis(simple or probe.dropped(limit) or "other")
    except (OutOfTimeError, UndefinedError, UnwrittenError):
        return Diagnosis("other")


def _tiny(checker: Checker, ladder: list[Sizes]) -> list[Sizes]:
    """Sizes to look for a mistake at: where the legal ones are large, smaller ones that no condition would allow."""
    if sum(ladder[0].values()) <= _SMALL * len(ladder[0]):
        return ladder
    claim = checker.claim
    return sizes_of(replace(claim, domain=replace(claim.domain, conditions=()))) or ladder


def _roles(checker: Checker) -> dict[str, str]:
    claim, out = checker.claim, {}
    for name in claim.cotangents:
        out[name] = "cotangent"
    for name, of in claim.saved.items():
        role = claim.forward.tensors[of].role
        out[name] = "intermediate" if role == "local" else role
    return out


def _holds(checker: Checker, ladder: list[Sizes], output: str, rng: random.Random, program: Program) -> bool:
    """Whether an edited program is right at several sizes."""
    step = max(1, len(ladder) // _CHECKS)
    for at in range(_CHECKS * (10 if checker.piecewise else 1)):
        sizes = ladder[::step][at % len(ladder[::step])]
        try:
            if checker.passes(sizes, [output], rng, program, at) is None:
                return False
        except NotSquareError:
            continue
        except (UndefinedError, UnwrittenError):
            return False
    return True


def _differing(claim: Claim, new: Program) -> tuple[str, ...]:
    out = []
    for a, b in zip(claim.gradient.body, new.body, strict=True):
        if a != b:
            old, right = (written(replace(new, body=(s,)), claim.notation).strip() for s in (a, b))
            out += [f"claimed: {old}", f"right: {right}"]
    return tuple(out)


class _Probe:
    """One point at which the forward was evaluated once; many programs are tried there."""

    def __init__(self, checker: Checker, point: Point, output: str, kind: str, slopes: list[int], derived: Any, known: Values) -> None:
        self.checker = checker
        self.point = point
        self.output = output
        self.kind = kind
        self.slopes = slopes
        self.derived = derived
        self.known = known
        self.claimed = self.total(checker.claim.gradient)

    @staticmethod
    def make(checker: Checker, ladder: list[Sizes], output: str, rng: random.Random) -> _Probe | None:
        """A point of a middle size at which the claim is wrong, modulo the prime where that is possible."""
        wrt = checker.claim.wrt[output]
        order = [*ladder[len(ladder) // 3 :], *ladder]
        for kind, tries in (("mod", 40), ("precise", 6)):
            for sizes in order[:6]:
                for attempt in range(tries):
                    point = checker.sampler.sample(sizes, rng, attempt)
                    slopes = checker.direction(point, wrt, rng, kind)
                    try:
                        derived, known = checker.derivative(point, kind, {wrt: slopes})
                        probe = _Probe(checker, point, output, kind, slopes, derived, known)
                    except (UndefinedError, UnwrittenError):
                        continue
                    if not probe.same(probe.claimed, derived):
                        return probe
                    break
        return None

    def total(self, program: Program) -> Any:
        names = {*program.dims, *program.int_attrs}
        sizes = {n: v for n, v in self.point.sizes.items() if n in names}
        machine = Machine(program, sizes, self.checker.arithmetics[self.kind], self.checker.deadline)
        claim = self.checker.claim
        a: Any = self.checker.arithmetics[self.kind]
        inputs: dict[str, list[Any]] = {}
        for t in program.inputs:
            of = claim.cotangents.get(t.name)
            inputs[t.name] = (
                [a.point(v) for v in self.point.cotangents[of]] if of is not None else self.still(claim.saved.get(t.name, t.name))
            )
        made = machine.run(inputs, self.checker.attrs(self.point, self.kind))[self.output]
        if any(g is None for g in made):
            raise UnwrittenError(self.output)
        if self.kind == "mod":
            return sum(g.r * s for g, s in zip(made, self.slopes, strict=True)) % P
        return sum(g.v * s for g, s in zip(made, self.slopes, strict=True))

    def still(self, name: str) -> list[Any]:
        return [still(v) for v in self.known[name]]

    def same(self, a: Any, b: Any) -> bool:
        if self.kind == "mod":
            return bool((a - b) % P == 0)
        return bool(abs(a - b) <= (abs(a) + abs(b)) * 1e-30)

    def right(self, program: Program) -> bool:
        try:
            return self.same(self.total(program), self.derived)
        except (UndefinedError, UnwrittenError, KeyError, ZeroDivisionError):
            return False

    def simple(self) -> str | None:
        """The sign of everything, a size as a factor of everything, or the gradient of another input."""
        if self.same(-self.claimed, self.derived):
            return "sign"
        claim = self.checker.claim
        wrt = claim.wrt[self.output]
        shape = claim.forward.tensors[wrt].shape
        for t in claim.forward.inputs:
            if t.name != wrt and t.shape == shape and t.kind == "float":
                other, _ = self.checker.derivative(self.point, self.kind, {t.name: self.slopes})
                if self.same(other, self.claimed):
                    return f"wrong variable: this is the gradient of {t.name}"
        return None

    # dropped paths ----------------------------------------------------------------------------------------------
    def dropped(self, limit: float) -> str | None:
        """The path through which the formula does not differentiate: one reading of a tensor in the forward held still."""
        claim = self.checker.claim
        for name, into, program in _frozen(claim.forward, claim.wrt[self.output]):
            if time.process_time() > limit:
                return None
            try:
                if self.same(self.derivative_of(program, name), self.claimed):
                    return f"dropped path: through {name} in {into}"
            except (UndefinedError, UnwrittenError):
                continue
        return None

    def derivative_of(self, program: Program, name: str) -> Any:
        a: Any = self.checker.arithmetics[self.kind]
        wrt = self.checker.claim.wrt[self.output]
        names = {*program.dims, *program.int_attrs}
        machine = Machine(program, {n: v for n, v in self.point.sizes.items() if n in names}, a, self.checker.deadline)
        inputs: dict[str, list[Any]] = {}
        for n, values in self.point.inputs.items():
            if program.tensors[n].kind != "float":
                inputs[n] = list(values)
            else:
                slopes = self.slopes if n == wrt else [0] * len(values)
                inputs[n] = [a.point(v, s) for v, s in zip(values, slopes, strict=True)]
        inputs[_STILL] = self.still(name)
        made = machine.run(inputs, self.checker.attrs(self.point, self.kind))
        total: Any = 0
        for of, weights in self.point.cotangents.items():
            for w, y in zip(weights, made[of], strict=True):
                total += a.point(w).r * y.d if self.kind == "mod" else a.point(w).v * y.d
        return total % P if self.kind == "mod" else total


_STILL: Final = "held still"


def _frozen(forward: Program, wrt: str) -> Iterator[tuple[str, str, Program]]:
    """(tensor, where it is read, forward): one reading replaced by a tensor that does not move; carried tensors are left out."""
    loops = {s.tensor for s, around in statements(forward.body) if around}
    for stmt, _ in statements(forward.body):
        for load in _loads(stmt):
            t = forward.tensors[load.tensor]
            if t.kind != "float" or load.tensor in loops or (t.role == "input" and load.tensor != wrt):
                continue
            made = replace(load, tensor=_STILL)

            def swap(x: Any, old: Load = load, new: Load = made) -> Any | None:
                return new if x is old else None

            tensors = {**forward.tensors, _STILL: replace(t, name=_STILL, role="input")}
            yield load.tensor, stmt.tensor, replace(forward, body=mapped(forward.body, swap), tensors=tensors)


def _loads(stmt: Assign) -> list[Load]:
    found: list[Load] = []

    def look(x: Any) -> Any | None:
        if isinstance(x, Load):
            found.append(x)
        return None

    mapped(stmt.value, look)
    return found
