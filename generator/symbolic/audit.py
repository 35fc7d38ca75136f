"""The audit of one claim: refuted at a point, proved for all sizes, or shown exactly at some sizes, and never more than was shown."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from generator.symbolic.boundary import boundary_table
from generator.symbolic.classify import Diagnosis, diagnose
from generator.symbolic.exact import UndefinedError, UnwrittenError
from generator.symbolic.machine import OutOfTimeError
from generator.symbolic.model import Claim, Counterexample, Finding, Verdict
from generator.symbolic.numeric import Checker, NotSquareError, Pass
from generator.symbolic.points import Sizes, sizes_of
from generator.symbolic.refute import counterexample, example

__all__ = ["Prover", "audit_claim", "example_of"]

Prover = Callable[[Claim, str, float], Verdict | None]  # of one output, within seconds; None when it cannot say

_SEED = 20240229
_POINTS = 4  # points at each size when values choose between formulas
_SLOW = 1.0  # seconds of trying after which the proof comes first
_LONG = 6.0  # seconds after which a few sizes are enough
_ENOUGH = 4
_BEFORE_PROOF = 3  # sizes tried before a proof: a wrong formula is not worth one


def audit_claim(
    claim: Claim, budget: float = 20.0, seed: int = 0, prover: Prover | None = None, explain: bool = True
) -> tuple[Verdict, ...]:
    """A verdict for every output of ``claim.wrt``, in its order. ``budget`` is seconds for the whole claim; UNDECIDED when it
    is spent. ``explain`` looks for the counterexample and the mistake in what is refuted.

    The seed moves the random points only: a verdict does not depend on it."""
    started = time.process_time()
    checker = Checker(claim, started + budget)
    ladder = sizes_of(claim)
    out: list[Verdict] = []
    for output, of in claim.wrt.items():
        begun = time.process_time()
        try:
            out.append(_one(checker, ladder, output, of, random.Random(_SEED + seed), prover, explain))
        except OutOfTimeError:
            out.append(Verdict("UNDECIDED", f"the budget of {budget:g} s was spent", time.process_time() - begun, output, of))
    return tuple(out)


def example_of(claim: Claim, budget: float, seed: int = 0) -> Counterexample | None:
    """The smallest counterexample to the one output of a claim that is wrong."""
    checker = Checker(claim, time.process_time() + budget)
    try:
        return counterexample(checker, sizes_of(claim), next(iter(claim.wrt)), random.Random(_SEED + seed))
    except OutOfTimeError:
        return None


def _one(
    checker: Checker, ladder: Sequence[Sizes], output: str, of: str, rng: random.Random, prover: Prover | None, explain: bool
) -> Verdict:
    started = time.process_time()
    passes: list[tuple[Sizes, Pass]] = []
    reasons: list[str] = []
    rooted: list[tuple[Sizes, Pass]] = []
    unproved = prover is not None
    share = checker.left() / 4
    missing = _undefined(checker, ladder, output, of)
    if missing is not None:
        return missing
    for at, sizes in enumerate(_order(ladder)):
        spent = time.process_time() - started
        if unproved and prover is not None and passes and (at >= _BEFORE_PROOF or spent > min(_SLOW, share)):
            unproved = False
            proved = prover(checker.claim, output, 0.8 * checker.left())
            if proved is not None:
                rows = boundary_table(checker, ladder, output, rng) if checker.piecewise else ()
                return replace(proved, seconds=time.process_time() - started, boundary=rows or proved.boundary)
        if len(passes) >= _ENOUGH and spent > min(_LONG, 2 * share):
            break
        try:
            found = None
            for k in range(_POINTS if checker.piecewise else 1):
                found = checker.passes(sizes, [output], rng, start=at * _POINTS + k)
                if found is None:
                    break
        except UndefinedError as error:
            reasons.append(f"{_said(sizes)}: {error}")
            continue
        except NotSquareError:
            rooted.append((sizes, Pass(False, 0.0)))
            continue
        except UnwrittenError as error:
            finding = Finding(f"an element of '{error}' is read that the text has not written ({_said(sizes)})", None, "unwritten")
            return Verdict("REFUTED", "reads what is not written", time.process_time() - started, output, of, findings=(finding,))
        if found is None:
            example = counterexample(checker, ladder, output, rng) if explain else None
            wrong = diagnose(checker, list(ladder), output, rng) if explain else Diagnosis("")
            return Verdict(
                "REFUTED",
                "50-digit arithmetic at a point",
                time.process_time() - started,
                output,
                of,
                counterexample=example,
                classification=wrong.kind,
                right_formula=wrong.right,
                differing=wrong.differing,
            )
        passes.append((sizes, found))
    seconds = time.process_time() - started
    passes = passes or rooted
    if not passes:
        why = reasons[0] if reasons else "no legal sizes of few elements were found"
        return Verdict("UNDECIDED", why, seconds, output, of)
    where = tuple(s for s, _ in sorted(passes, key=lambda p: ladder.index(p[0])))
    rows = boundary_table(checker, ladder, output, rng) if checker.piecewise else ()
    if all(p.exact for _, p in passes):
        bound = max(p.bound for _, p in passes)
        how = "identity modulo a 60-bit prime at random points"
        return Verdict("EXACT", how, seconds, output, of, sizes=where, error_bound=bound, boundary=rows)
    return Verdict("NUMERIC", "50-digit arithmetic at random points", seconds, output, of, sizes=where, boundary=rows)


def _undefined(checker: Checker, ladder: Sequence[Sizes], output: str, of: str) -> Verdict | None:
    """The refutation of a text that has no value where the forward and its derivative have one."""
    started = time.process_time()
    found = checker.undefined(ladder[0], output, random.Random(_SEED)) if ladder else None
    if found is None:
        return None
    point, difference = found
    shown = example(checker, point, output, [difference])
    how = "50-digit arithmetic at a point where the text has no value"
    kind = "undefined where the forward is defined"
    return Verdict("REFUTED", how, time.process_time() - started, output, of, counterexample=shown, classification=kind)


def _order(ladder: Sequence[Sizes]) -> list[Sizes]:
    """The sizes with a middle one first: it shows most mistakes at once."""
    middle = len(ladder) // 2
    return [*ladder[middle : middle + 1], *ladder[:middle], *ladder[middle + 1 :]]


def _said(sizes: Mapping[str, int]) -> str:
    return ", ".join(f"{n}={v}" for n, v in sizes.items())
