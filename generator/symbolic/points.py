"""Points to try a claim at: legal small sizes, attributes, and input values inside the formulas' domain."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache
from typing import Final

from generator.formula.infer import children
from generator.formula.ir import Assign, Call, Compare, Expr, For, Gather, IntVal, Load, Num, Program, Reduce, Stmt
from generator.spec.conditions import bounds, evaluate
from generator.symbolic.exact import Dyadic
from generator.symbolic.machine import extents
from generator.symbolic.model import Claim

__all__ = ["Drawn", "Point", "Sampler", "Sizes", "expressions", "piecewise", "sizes_of"]

Sizes = Mapping[str, int]
Drawn = Dyadic | Fraction
_SMALL: Final = 4  # values tried of each size
_FAR: Final = 64  # how far legal values are searched
_COST: Final = 6000  # elements of the forward's tensors together
_CHEAP: Final = 250  # elements that need no reason


@dataclass(frozen=True)
class Point:
    """``sizes``: dims and integer attributes; values row-major."""

    sizes: Sizes
    attrs: Mapping[str, Drawn | bool]
    inputs: Mapping[str, list[Drawn | int | bool]]
    cotangents: Mapping[str, list[Drawn]]
    shapes: Mapping[str, tuple[int, ...]] = field(default_factory=dict)


# --- sizes -------------------------------------------------------------------------------------------------------


def sizes_of(claim: Claim, most: int = 24, seed: int = 0) -> list[Sizes]:
    """Legal sizes of few elements, the smallest first. Unequal extents are among them, so that swapped axes show."""
    names = list(dict.fromkeys([*claim.forward.dims, *claim.forward.int_attrs, *claim.gradient.dims, *claim.gradient.int_attrs]))
    derived = [n for n, _ in claim.domain.derived]
    free = [n for n in names if n not in derived]
    attrs = {*claim.forward.int_attrs, *claim.gradient.int_attrs}
    choices = {n: _values(claim, n, n in attrs) for n in free}
    if any(not c for c in choices.values()):
        return []
    found: dict[tuple[int, ...], tuple[int, Sizes]] = {}
    for picked in _picks([choices[n] for n in free], seed):
        sizes = _completed(claim, dict(zip(free, picked, strict=True)))
        if sizes is None:
            continue
        cost = _cost(claim.forward, sizes)
        if cost is not None and cost <= _COST:
            found.setdefault(tuple(sizes[n] for n in names), (cost, sizes))
        if len(found) >= 4 * most:
            break
    ordered = sorted(found.values(), key=lambda f: (f[0], sum(f[1].values())))
    ordered = [f for f in ordered if f[0] <= max(_CHEAP, 3 * ordered[0][0])]
    if len(ordered) <= most:
        return [s for _, s in ordered]
    small = ordered[: most // 2]
    rest = ordered[most // 2 :]
    step = max(1, len(rest) // (most - len(small)))
    return [s for _, s in [*small, *rest[::step]][:most]]


def _values(claim: Claim, name: str, attr: bool) -> list[int]:
    low: int | None = None if attr else 1
    high: int | None = None
    alone = []
    for cond in claim.domain.conditions:
        a, b = bounds(cond, name)
        low = a if low is None or (a is not None and a > low) else low
        high = b if high is None or (b is not None and b < high) else high
        alone.append(cond)
    start = (-2 if high is None or high >= -2 else high - _SMALL) if low is None else low
    out: list[int] = []
    for v in range(start, start + _FAR):
        if high is not None and v > high:
            break
        if _may(claim, name, v):
            out.append(v)
            if len(out) == _SMALL + (3 if attr else 0):
                break
    return out


def _may(claim: Claim, name: str, value: int) -> bool:
    """Whether no condition on ``name`` alone excludes ``value``."""
    for cond in claim.domain.conditions:
        try:
            if not evaluate(cond, {name: value}):
                return False
        except KeyError:
            continue
    return True


def _picks(choices: Sequence[Sequence[int]], seed: int) -> Iterator[tuple[int, ...]]:
    """Combinations: the smallest first, then staggered and drawn ones; every one when they are few."""
    total = 1
    for c in choices:
        total *= len(c)
    if total <= 256:
        yield from sorted(itertools.product(*choices), key=sum)
        return
    for at in range(_SMALL):
        yield tuple(c[min(at, len(c) - 1)] for c in choices)
    for shift in range(6):
        yield tuple(c[min(1 + (k + shift) % 3, len(c) - 1)] for k, c in enumerate(choices))
    for k in range(len(choices)):
        for base in (0, 1):
            for v in choices[k]:
                yield tuple(v if at == k else c[min(base, len(c) - 1)] for at, c in enumerate(choices))
    rng = random.Random(seed)
    for _ in range(300):
        yield tuple(rng.choice(c) for c in choices)


def _completed(claim: Claim, sizes: dict[str, int]) -> Sizes | None:
    """``sizes`` with derived dims, or None when they are not legal."""
    numels: dict[str, int] = {}
    for name, value in claim.domain.derived:
        try:
            sizes[name] = value.evaluate(sizes)
        except (KeyError, ZeroDivisionError):
            return None
        if sizes[name] < 1:
            return None
    try:
        for program in (claim.forward, claim.gradient):
            for t in program.tensors.values():
                if t.role == "local":
                    continue
                count = 1
                for e in t.shape:
                    at = e.evaluate(sizes)
                    if at < 1:
                        return None
                    count *= at
                numels.setdefault(t.name, count)
    except (KeyError, ZeroDivisionError):
        return None
    for cond in claim.domain.conditions:
        try:
            if not evaluate(cond, sizes, numels):
                return None
        except KeyError:
            continue  # also about attributes: they are drawn to fit
        except ZeroDivisionError:
            return None
    return sizes


def _cost(program: Program, sizes: Sizes) -> int | None:
    total = 0
    for t in program.tensors.values():
        count = 1
        try:
            for e in t.shape:
                count *= e.evaluate(sizes)
        except (KeyError, ZeroDivisionError):
            return None
        total += max(count, 0)
    return total


# --- values ------------------------------------------------------------------------------------------------------


def expressions(body: Sequence[Stmt]) -> Iterator[Expr]:
    """Every expression of a program's statements, outermost first."""
    for stmt in body:
        if isinstance(stmt, For):
            yield from expressions(stmt.body)
        elif isinstance(stmt, Assign):
            stack: list[Expr] = [stmt.value]
            while stack:
                e = stack.pop()
                yield e
                stack.extend(children(e))


def piecewise(program: Program) -> bool:
    """Whether a program chooses by values: points of every region must be tried."""
    chosen = {"maximum", "minimum", "abs", "sign", "relu", "floor", "ceil", "round", "trunc"}
    for e in expressions(program.body):
        if isinstance(e, Compare) and not (isinstance(e.a, IntVal) and isinstance(e.b, IntVal)):
            return True
        if (isinstance(e, Call) and e.fn in chosen) or (isinstance(e, Reduce) and e.op in ("max", "min", "argmax", "argmin")):
            return True
    return False


def _scales(claim: Claim) -> list[tuple[Fraction, Fraction]]:
    """Intervals to draw from: around zero, positive, inside the unit interval; and around, beyond and far beyond the constants that
    values are compared with, so that no region is left to chance."""
    out = [(Fraction(-3), Fraction(3)), (Fraction(1, 10), Fraction(3)), (Fraction(1, 20), Fraction(19, 20))]
    for program in (claim.forward, claim.gradient):
        for e in expressions(program.body):
            if isinstance(e, Compare) or (isinstance(e, Call) and e.fn in ("maximum", "minimum")):
                for side in (e.a, e.b) if isinstance(e, Compare) else e.args:
                    if isinstance(side, Num) and isinstance(side.value, int | float) and 3 < abs(side.value) < 1e6:
                        c = Fraction(abs(side.value))
                        spans = ((-2 * c, 2 * c), (c, 2 * c), (-2 * c, -c), (2 * c, 40 * c))
                        out += [s for s in spans if s not in out]
    return out


def _gathered(claim: Claim) -> dict[str, list[tuple[str, int]]]:
    """Integer tensors used as indices: (table, dim) each indexes."""
    out: dict[str, list[tuple[str, int]]] = {}
    for program in (claim.forward, claim.gradient):
        for e in expressions(program.body):
            if isinstance(e, Load):
                for at, i in enumerate(e.indices):
                    if isinstance(i, Gather):
                        out.setdefault(i.load.tensor, []).append((e.tensor, at))
    return out


class Sampler:
    """Draws points of a claim. What the formulas need of values is found once."""

    def __init__(self, claim: Claim) -> None:
        self.claim = claim
        self.scales = _scales(claim)
        self.gathers = _gathered(claim)

    def sample(self, sizes: Sizes, rng: random.Random, mode: int, *, simple: bool = False, far: int = 0) -> Point:
        """A point. ``mode`` picks the interval, widened by 100 to the power ``far``; ``simple`` draws quarters instead of 128-bit
        fractions."""
        forward = self.claim.forward
        low, high = (100**far * s for s in self.scales[mode % len(self.scales)])
        shapes = {t.name: extents(forward, t.name, sizes) for t in forward.tensors.values() if t.role != "local"}
        attrs = self.attributes(sizes, rng, simple)
        inputs: dict[str, list[Drawn | int | bool]] = {}
        for t in forward.inputs:
            count = _count(shapes[t.name])
            if t.kind == "bool":
                inputs[t.name] = [rng.random() < 0.5 for _ in range(count)]
            elif t.kind == "int":
                top = self.below(t.name, sizes)
                inputs[t.name] = [rng.randrange(top) for _ in range(count)]
            else:
                span = self.claim.domain.ranges.get(t.name)
                a, b = (Fraction(span[0]), Fraction(span[1])) if span is not None else (low, high)
                inputs[t.name] = [_draw(rng, a, b, simple) for _ in range(count)]
        cotangents: dict[str, list[Drawn]] = {}
        for o in sorted(set(self.claim.cotangents.values())):
            cotangents[o] = [_draw(rng, Fraction(-3), Fraction(3), simple) for _ in range(_count(shapes[o]))]
        return Point(sizes, attrs, inputs, cotangents, shapes)

    def below(self, name: str, sizes: Sizes) -> int:
        stated = self.claim.domain.below.get(name)
        if stated is not None:
            return max(1, stated.evaluate(sizes))
        both = (self.claim.forward, self.claim.gradient)
        tops = [extents(p, table, sizes)[at] for table, at in self.gathers.get(name, []) for p in both if table in p.tensors]
        if tops:
            return max(1, min(tops))
        return max([2, *(v for v in sizes.values() if v <= 4)])

    def attributes(self, sizes: Sizes, rng: random.Random, simple: bool) -> dict[str, Drawn | bool]:
        claim = self.claim
        floats = list(dict.fromkeys([*claim.forward.float_attrs, *claim.gradient.float_attrs]))
        bools = list(dict.fromkeys([*claim.forward.bool_attrs, *claim.gradient.bool_attrs]))
        for attempt in range(60):
            high = (Fraction(2), Fraction(19, 20), Fraction(1, 10), Fraction(10))[attempt % 4]
            low = -high if attempt % 8 >= 4 else Fraction(1, 100)
            out: dict[str, Drawn | bool] = {n: _draw(rng, low, high, simple) for n in floats}
            out.update({n: rng.random() < 0.5 for n in bools})
            if self.legal(sizes, out):
                return out
        return out

    def legal(self, sizes: Sizes, attrs: Mapping[str, Drawn | bool]) -> bool:
        env: dict[str, int | float | bool | str] = {**sizes, **{n: v if isinstance(v, bool) else float(v) for n, v in attrs.items()}}
        for cond in self.claim.domain.conditions:
            try:
                if not evaluate(cond, env):
                    return False
            except KeyError:
                continue
        return True


def _draw(rng: random.Random, low: Fraction, high: Fraction, simple: bool) -> Drawn:
    if simple:
        a, b = int(low * 4), int(high * 4)
        value = Fraction(rng.randint(min(a + 1, b), b), 4)
        return value if low <= value <= high and value else (low + high * 3) / 4
    base, span = _scaled(low), _scaled(high - low)
    return Dyadic(base + (span * rng.getrandbits(128) >> 128))


@lru_cache(maxsize=256)
def _scaled(x: Fraction) -> int:
    return int(x * (1 << Dyadic.SHIFT))


def _count(shape: Sequence[int]) -> int:
    out = 1
    for e in shape:
        out *= e
    return out
