"""Whether a claim holds at a point: the gradient text against the forward's own derivative, by dual numbers in one direction.

The forward's derivative is taken here by forward-mode differentiation of its elements' values, independent of the reverse mode that
``derive`` does on the formula.
"""

from __future__ import annotations

import random
import time
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any, Final

from generator.formula.ir import Binary, Call, Expr, IntVal, Num, Program
from generator.symbolic.degrees import Degrees
from generator.symbolic.exact import Dyadic, Mod, Modular, P, UndefinedError, UnwrittenError
from generator.symbolic.highprec import PARTIAL, Dual, Precise, fine
from generator.symbolic.machine import Machine, OutOfTimeError, Values
from generator.symbolic.model import Claim
from generator.symbolic.points import Point, Sampler, Sizes, expressions, piecewise

__all__ = ["Checker", "Difference", "NotSquareError", "Pass", "still"]

_ATTEMPTS: Final = 160
_MANY: Final = 12  # elements of a gradient beyond which not every one is differentiated
_LOSSY: Final = 24  # points drawn again because a root inside an exponential was not kept
_DOMAIN: Final = 24  # points at which a text must have a value where the forward has one
Difference = tuple[tuple[int, ...], Any, Any]  # element, what is claimed, what is derived
_CLOSE: Final = 1e-30
_ROUNDING: Final = 1e-20  # a difference that 60 more digits make this much smaller is rounding


class NotSquareError(Exception):
    """Right to 50 digits, but no point was found at which every radicand is a square modulo the prime."""


class Pass:
    """How a claim passed at some sizes: ``exact`` modulo a prime, or to 50 digits; ``bound`` on the chance of a false pass."""

    def __init__(self, exact: bool, bound: float) -> None:
        self.exact = exact
        self.bound = bound


class Checker:
    """Tries a claim. Machines are kept by sizes; ``deadline`` is of ``time.process_time``."""

    def __init__(self, claim: Claim, deadline: float | None = None) -> None:
        self.claim = claim
        self.deadline = deadline
        self.piecewise = piecewise(claim.forward) or piecewise(claim.gradient)
        self.patience = _ATTEMPTS  # points drawn at one size; fewer after a size at which none served
        self.sampler = Sampler(claim)
        self.arithmetics: dict[str, Any] = {"mod": Modular(), "precise": Precise(), "fine": Precise(), "total": Precise(True)}
        self.machines: dict[tuple[int, str, tuple[tuple[str, int], ...]], Machine] = {}

    def machine(self, program: Program, sizes: Sizes, kind: str) -> Machine:
        key = (id(program), kind, tuple(sorted(sizes.items())))
        found = self.machines.get(key)
        if found is None:
            names = {*program.dims, *program.int_attrs}
            found = Machine(program, {n: v for n, v in sizes.items() if n in names}, self.arithmetics[kind], self.deadline)
            self.machines[key] = found
        return found

    def within_time(self) -> None:
        """OutOfTimeError when the budget is spent."""
        if self.deadline is not None and time.process_time() > self.deadline:
            raise OutOfTimeError

    def left(self) -> float:
        """Seconds of the budget that are left."""
        return 60.0 if self.deadline is None else max(0.0, self.deadline - time.process_time())

    # evaluation -------------------------------------------------------------------------------------------------
    def forward(self, point: Point, kind: str, slopes: Mapping[str, Sequence[int]]) -> Values:
        a: Any = self.arithmetics[kind]
        inputs: dict[str, list[Any]] = {}
        for name, values in point.inputs.items():
            slope = slopes.get(name)
            if self.claim.forward.tensors[name].kind != "float":
                inputs[name] = list(values)
            elif slope is None:
                inputs[name] = [a.point(_drawn(v)) for v in values]
            else:
                inputs[name] = [a.point(_drawn(v), s) for v, s in zip(values, slope, strict=True)]
        return self.machine(self.claim.forward, point.sizes, kind).run(inputs, self.attrs(point, kind))

    def attrs(self, point: Point, kind: str) -> dict[str, Any]:
        a: Any = self.arithmetics[kind]
        return {n: v if isinstance(v, bool) else a.point(v) for n, v in point.attrs.items()}

    def gradient(self, program: Program, point: Point, kind: str, known: Values) -> Values:
        """The gradient text's tensors, from the forward's."""
        a: Any = self.arithmetics[kind]
        inputs: dict[str, list[Any]] = {}
        for t in program.inputs:
            of = self.claim.cotangents.get(t.name)
            if of is not None:
                inputs[t.name] = [a.point(v) for v in point.cotangents[of]]
            else:
                inputs[t.name] = [still(v) for v in known[self.claim.saved.get(t.name, t.name)]]
        return self.machine(program, point.sizes, kind).run(inputs, self.attrs(point, kind))

    def derivative(self, point: Point, kind: str, slopes: Mapping[str, Sequence[int]]) -> tuple[Any, Values]:
        """The derivative of the sum of cotangent times output in the direction ``slopes``, and the forward's values."""
        a: Any = self.arithmetics[kind]
        known = self.forward(point, kind, slopes)
        total: Any = 0
        for of, weights in point.cotangents.items():
            for w, y in zip(weights, known[of], strict=True):
                if y is None:
                    raise UnwrittenError(of)
                if isinstance(y, Mod):
                    total = (total + a.point(w).r * y.d) % P
                elif isinstance(y, Dual):
                    total = total + a.point(w).v * y.d
        return total, known

    # one point --------------------------------------------------------------------------------------------------
    def agrees(self, point: Point, outputs: Sequence[str], rng: random.Random, kind: str = "mod", program: Program | None = None) -> bool:
        """Whether the outputs, taken together, agree with the forward's derivative in a random direction.

        Raises:
            UndefinedError: the point is outside the domain (of the method).
            UnwrittenError: the text reads what it has not written.
        """
        slopes = {self.claim.wrt[o]: self.direction(point, self.claim.wrt[o], rng, kind) for o in outputs}
        claimed, derived = self.both(point, outputs, slopes, kind, program)
        if kind == "mod":
            return bool(claimed == derived)
        if abs(claimed - derived) <= (abs(claimed) + abs(derived)) * _CLOSE:
            return True
        with fine():
            again, anew = self.both(point, outputs, slopes, "fine", program)
            return bool(abs(again - anew) <= abs(claimed - derived) * _ROUNDING)

    def both(
        self, point: Point, outputs: Sequence[str], slopes: Mapping[str, Sequence[int]], kind: str, program: Program | None
    ) -> tuple[Any, Any]:
        """The derivative in the direction ``slopes``: as claimed, and as it is."""
        derived, known = self.derivative(point, kind, slopes)
        made = self.gradient(program or self.claim.gradient, point, kind, known)
        claimed: Any = 0
        for o in outputs:
            for g, s in zip(made[o], slopes[self.claim.wrt[o]], strict=True):
                if g is None:
                    raise UnwrittenError(o)
                if kind == "mod":
                    claimed = (claimed + g.r * s) % P
                else:
                    claimed += g.v * s
        return claimed, derived

    @staticmethod
    def direction(point: Point, name: str, rng: random.Random, kind: str) -> list[int]:
        count = len(point.inputs[name])
        return [rng.randrange(1, P) if kind == "mod" else rng.randrange(-99, 100) or 1 for _ in range(count)]

    def passes(
        self, sizes: Sizes, outputs: Sequence[str], rng: random.Random, program: Program | None = None, start: int = 0
    ) -> Pass | None:
        """How the claim passes at a point of ``sizes``; None when it does not. Unequal residues are judged again with 50 digits.
        ``start`` picks the interval that values are drawn from first.

        Raises:
            UndefinedError: no point of the domain was found.
            NotSquareError: the claim is right here, which could not be shown exactly.
        """
        reason: Exception = UndefinedError("no point was tried")
        bad = lossy = 0
        for attempt in range(self.patience):
            self.within_time()
            point = self.sampler.sample(sizes, rng, start + attempt)
            try:
                self.arithmetics["mod"].lossy = False
                if self.agrees(point, outputs, rng, "mod", program):
                    return Pass(True, self.bound(sizes, point))
                if self.arithmetics["mod"].lossy and lossy < _LOSSY:
                    lossy += 1
                    continue
                if not self.agrees(point, outputs, rng, "precise", program):
                    return None
                return Pass(False, 0.0)
            except UndefinedError as error:
                reason = error
                if str(error) != "not a square":
                    bad += 1
                if bad > 60:
                    break
        squares = bad == 0 and str(reason) == "not a square"
        for attempt in range(12):
            self.within_time()
            point = self.sampler.sample(sizes, rng, start + attempt)
            try:
                if not self.agrees(point, outputs, rng, "precise", program):
                    return None
                if squares:
                    self.patience = max(12, self.patience // 4)
                    raise NotSquareError("too many roots for the method")
                return Pass(False, 0.0)
            except UndefinedError as error:
                reason = error
        raise reason

    def bound(self, sizes: Sizes, point: Point) -> float:
        """An upper bound on the chance that different rational functions agreed at the point."""
        try:
            degrees = Degrees()
            made = Machine(self.claim.forward, dict(sizes), degrees).run(
                {
                    n: [degrees.point(0)] * len(v) if self.claim.forward.tensors[n].kind == "float" else list(v)
                    for n, v in point.inputs.items()
                },
                {n: v if isinstance(v, bool) else degrees.point(0) for n, v in point.attrs.items()},
            )
            worst = max((degrees.total(v) for of in point.cotangents for v in made[of]), default=1)
        except (UndefinedError, UnwrittenError):
            worst = 1 << 20
        return min(1.0, 4.0 * (worst + 2) / 2.0**58)

    # the domain -------------------------------------------------------------------------------------------------
    def undefined(self, sizes: Sizes, output: str, rng: random.Random) -> tuple[Point, Difference] | None:
        """A point, and an element there, at which the text has no value though the forward and its derivative have one. None when none
        is found, or when the text has no function that could be the cause."""
        if not any(map(_partial, expressions(self.claim.gradient.body))):
            return None
        name = self.claim.wrt[output]
        for attempt in range(_DOMAIN):
            self.within_time()
            point = self.sampler.sample(sizes, rng, 0, simple=attempt < _DOMAIN // 3, far=attempt % 4)
            try:
                known = self.forward(point, "precise", {})
                made = self.gradient(self.claim.gradient, point, "total", known)[output]
                at = next((k for k, g in enumerate(made) if g is not None and g.v != g.v), None)
                if at is not None:
                    derived, _ = self.derivative(point, "precise", {name: [int(k == at) for k in range(len(made))]})
                    if derived == derived:
                        return point, (_unravel(at, point.shapes[name]), None, derived)
            except (UndefinedError, UnwrittenError):
                continue
        return None

    # one element ------------------------------------------------------------------------------------------------
    def differences(self, point: Point, output: str, program: Program | None = None) -> list[Difference]:
        """Elements at which ``output`` is not the derivative, rounding excepted: every one of a few, one of many."""
        if len(point.inputs[self.claim.wrt[output]]) > _MANY:
            return self.one_difference(point, output, program)
        found = [d for d in self.pairs(point, output, "precise", program) if d[1] is None or d[1] != d[2]]
        if not found or any(d[1] is None for d in found):
            return found
        with fine():
            again = {i: abs(a - b) for i, a, b in self.pairs(point, output, "fine", program)}
            return [(i, a, b) for i, a, b in found if again[i] > abs(a - b) * _ROUNDING]

    def one_difference(self, point: Point, output: str, program: Program | None) -> list[Difference]:
        """One element at which ``output`` is not the derivative, found by halving: both sides in directions of ever fewer elements."""
        name = self.claim.wrt[output]
        count = len(point.inputs[name])
        rng = random.Random(count)
        weights = [rng.randrange(1, 99) for _ in range(count)]
        low, high = 0, count
        while high - low > 1:
            middle = (low + high) // 2
            first = self.differs_within(point, output, program, [w if low <= k < middle else 0 for k, w in enumerate(weights)])
            low, high = (low, middle) if first else (middle, high)
        slopes = {name: [int(k == low) for k in range(count)]}
        claimed, derived = self.both(point, [output], slopes, "precise", program)
        if claimed == derived:
            return []
        with fine():
            again, anew = self.both(point, [output], slopes, "fine", program)
            if abs(again - anew) <= abs(claimed - derived) * _ROUNDING:
                return []
        return [(_unravel(low, point.shapes[name]), claimed, derived)]

    def differs_within(self, point: Point, output: str, program: Program | None, slopes: list[int]) -> bool:
        """Whether both sides differ in one direction, exactly where the point allows it."""
        self.within_time()
        directions = {self.claim.wrt[output]: slopes}
        try:
            claimed, derived = self.both(point, [output], directions, "mod", program)
        except UndefinedError:
            claimed, derived = self.both(point, [output], directions, "precise", program)
            return bool(abs(claimed - derived) > (abs(claimed) + abs(derived)) * 1e-25)
        return bool(claimed != derived)

    def pairs(self, point: Point, output: str, kind: str, program: Program | None) -> list[Difference]:
        """Every element of ``output`` with what is claimed and what is derived."""
        made: Values | None = None
        pairs: list[Difference] = []
        name = self.claim.wrt[output]
        shape = point.shapes[name]
        for at in range(len(point.inputs[name])):
            self.within_time()
            slope = [int(k == at) for k in range(len(point.inputs[name]))]
            derived, known = self.derivative(point, kind, {name: slope})
            if made is None:
                made = self.gradient(program or self.claim.gradient, point, kind, known)
            g = made[output][at]
            pairs.append((_unravel(at, shape), None if g is None else g.v, derived))
        return pairs


def _partial(e: Expr) -> bool:
    """Whether a value is that of a function that has none on a whole interval."""
    if isinstance(e, Binary) and e.op == "pow":
        return not isinstance(e.b, IntVal) and not (isinstance(e.b, Num) and isinstance(e.b.value, int))
    return isinstance(e, Call) and e.fn in PARTIAL


def _drawn(v: Any) -> Any:
    return v if isinstance(v, Dyadic) else Fraction(v)


def still(v: Any) -> Any:
    """A value that does not move."""
    if isinstance(v, Mod):
        return Mod(v.r, v.q, v.f, 0, v.logs) if v.d else v
    return Dual(v.v) if isinstance(v, Dual) else v


def _unravel(at: int, shape: Sequence[int]) -> tuple[int, ...]:
    out: list[int] = []
    for e in reversed(shape):
        out.append(at % e)
        at //= e
    return tuple(reversed(out))
