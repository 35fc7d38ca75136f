"""What a piecewise formula gives at the points where it changes: the claimed value, the derivatives from either side, the convention."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any, Final

from generator.formula.ir import Attr, Call, Compare, Expr, IntVal, Load, Neg, Num, Reduce
from generator.symbolic.exact import UndefinedError, UnwrittenError
from generator.symbolic.machine import exact_value
from generator.symbolic.numeric import Checker
from generator.symbolic.points import Point, Sizes, expressions

__all__ = ["boundary_table"]

_STEP: Final = Fraction(1, 1 << 100)
_TRIES: Final = 8
Row = tuple[str, str]


def boundary_table(checker: Checker, ladder: Sequence[Sizes], output: str, rng: random.Random) -> tuple[Row, ...]:
    """One row for each place where a comparison of an input with a constant, or with another element of it, switches.

    A row is (place, what the text gives there beside the one-sided derivatives and the declared convention). Comparisons of
    computed values are not listed here; a proof's certificate names them."""
    out: dict[str, str] = {}
    for name, fn, value, said in _guards(checker):
        if len(out) >= 12:
            break
        where = f"{name} = {said}"
        if where not in out and name == checker.claim.wrt[output]:
            row = _row(checker, ladder, output, name, fn, value, rng)
            if row is not None:
                out[where] = row
    for name, op in _extremes(checker):
        where = f"ties of {op} in {name}"
        if where not in out and name == checker.claim.wrt[output]:
            row = _tie(checker, ladder, output, name, op, rng)
            if row is not None:
                out[where] = row
    return tuple(out.items())


def _guards(checker: Checker) -> Iterator[tuple[str, str, Expr, str]]:
    """(input, function or comparison, what it is compared with, as text), in the forward and in the text."""
    claim = checker.claim
    inputs = {t.name for t in claim.forward.inputs if t.kind == "float"}
    for program, names in (
        (claim.forward, {n: n for n in inputs}),
        (claim.gradient, {n: of for n, of in claim.saved.items() if of in inputs}),
    ):
        for e in expressions(program.body):
            pairs: list[tuple[str, Expr, Expr]] = []
            if isinstance(e, Compare):
                pairs = [("comparison", e.a, e.b), ("comparison", e.b, e.a)]
            elif isinstance(e, Call) and e.fn in ("maximum", "minimum"):
                pairs = [(e.fn, e.args[0], e.args[1]), (e.fn, e.args[1], e.args[0])]
            elif isinstance(e, Call) and e.fn in ("relu", "abs", "sign"):
                pairs = [(e.fn, e.args[0], Num(0, "0"))]
            for fn, x, c in pairs:
                said = _constant_text(c)
                if isinstance(x, Load) and x.tensor in names and said is not None:
                    yield names[x.tensor], fn, c, said


def _constant_text(e: Expr) -> str | None:
    if isinstance(e, Num):
        return e.text or str(e.value)
    if isinstance(e, Neg):
        inner = _constant_text(e.x)
        return None if inner is None else f"-{inner}"
    if isinstance(e, Attr):
        return e.name
    return e.value.text() if isinstance(e, IntVal) else None


def _constant(e: Expr, point: Point) -> Fraction | None:
    """The value of a constant at a point."""
    if isinstance(e, Num):
        return exact_value(e)
    if isinstance(e, Neg):
        inner = _constant(e.x, point)
        return None if inner is None else -inner
    if isinstance(e, Attr):
        value = point.attrs.get(e.name)
        return Fraction(value) if isinstance(value, Fraction) else None
    if isinstance(e, IntVal):
        try:
            return Fraction(e.value.evaluate(point.sizes))
        except (KeyError, ZeroDivisionError):
            return None
    return None


def _extremes(checker: Checker) -> Iterator[tuple[str, str]]:
    inputs = {t.name for t in checker.claim.forward.inputs if t.kind == "float"}
    for e in expressions(checker.claim.forward.body):
        if isinstance(e, Reduce) and e.op in ("max", "min") and isinstance(e.body, Load) and e.body.tensor in inputs:
            yield e.body.tensor, e.op


def _moved(point: Point, name: str, values: Sequence[Any]) -> Point:
    return replace(point, inputs={**point.inputs, name: list(values)})


def _gradient_at(checker: Checker, point: Point, output: str) -> list[Any] | None:
    """What the text gives at a point, where the forward need not have a derivative."""
    try:
        known = checker.forward(point, "precise", {})
        made = checker.gradient(checker.claim.gradient, point, "precise", known)[output]
    except (UndefinedError, UnwrittenError):
        return None
    return None if any(g is None for g in made) else [g.v for g in made]


def _derivative_at(checker: Checker, point: Point, name: str, at: int) -> Any | None:
    slope = [int(k == at) for k in range(len(point.inputs[name]))]
    try:
        return checker.derivative(point, "precise", {name: slope})[0]
    except (UndefinedError, UnwrittenError):
        return None


def _row(checker: Checker, ladder: Sequence[Sizes], output: str, name: str, fn: str, value: Expr, rng: random.Random) -> str | None:
    """What stands at the first element of ``name`` when it is exactly ``value``."""
    for attempt in range(_TRIES):
        point = checker.sampler.sample(ladder[0], rng, attempt, simple=True)
        at = _constant(value, point)
        if at is None:
            return None
        rest = [Fraction(v) for v in point.inputs[name][1:]]  # type: ignore[arg-type]
        claimed = _gradient_at(checker, _moved(point, name, [at, *rest]), output)
        below = _derivative_at(checker, _moved(point, name, [at - _STEP, *rest]), name, 0)
        above = _derivative_at(checker, _moved(point, name, [at + _STEP, *rest]), name, 0)
        if claimed is None or below is None or above is None:
            continue
        return _judged(checker, fn, claimed[0], below, above)
    return None


def _judged(checker: Checker, fn: str, claimed: Any, below: Any, above: Any) -> str:
    def same(a: Any, b: Any) -> bool:
        return bool(abs(a - b) <= (abs(a) + abs(b) + 1) * 1e-20)

    if same(below, above):
        agrees = "agrees with the derivative" if same(claimed, below) else f"DIFFERS from the derivative {float(below):.6g}"
        return f"the text gives {float(claimed):.6g}, which {agrees} (no kink)"
    side = "the derivative from below" if same(claimed, below) else "the derivative from above" if same(claimed, above) else "neither"
    if side == "neither" and same(2 * claimed, below + above):
        side = "the mean of both"
    elif side == "neither" and same(claimed, 0):
        side = "zero"
    declared = checker.claim.domain.boundary.get(fn)
    convention = "no convention is declared" if declared is None else f"declared for {fn}: {declared}"
    if declared is not None and _contradicts(declared, claimed, below, above, same):
        convention += ", which the text CONTRADICTS"
    return f"the text gives {float(claimed):.6g}, {side} (below {float(below):.6g}, above {float(above):.6g}); {convention}"


def _contradicts(declared: str, claimed: Any, below: Any, above: Any, same: Any) -> bool:
    wanted = {"0": 0, "below": below, "above": above, "left": below, "right": above, "mean": (below + above) / 2}.get(declared)
    return wanted is not None and not same(claimed, wanted)


def _tie(checker: Checker, ladder: Sequence[Sizes], output: str, name: str, op: str, rng: random.Random) -> str | None:
    """How the text shares the gradient among equal largest elements."""
    for sizes in ladder:
        point = checker.sampler.sample(sizes, rng, 0, simple=True)
        count = len(point.inputs[name])
        if count < 2:
            continue
        claimed = _gradient_at(checker, _moved(point, name, [Fraction(1)] * count), output)
        if claimed is None:
            return None
        declared = checker.claim.domain.boundary.get(op, "no convention is declared")
        shape = point.shapes[name]
        said = ", ".join(f"{float(g):.4g}" for g in claimed[:8])
        return f"with all {count} elements of shape {list(shape)} equal the text gives [{said}]; {declared}"
    return None
