"""What varies between the cases of an operator, and which values each takes, from the spec alone."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Sequence

from generator.formula.checked import CheckedSpec
from generator.formula.ir import Assign, For, Load, Reduce, Stmt
from generator.formula.walk import walk
from generator.spec.model import Param
from generator.twin.verify.case import Number, Target
from generator.twin.verify.covering import Factor
from generator.twin.verify.rules import Rules
from generator.twin.verify.shapes import attributes, tensor_params

__all__ = ["ABSENT", "AXES", "COMBINATION", "RANK", "TARGET", "absences", "factors_of", "packs_of"]

# names of the factors that are neither dims nor attributes; no identifier can collide with them
COMBINATION, RANK, AXES, ABSENT, TARGET = "<dtypes>", "<rank>", "<axes>", "<absent>", "<target>"

# one; a prime; a share for every core of the largest product; a prime past it; several tiles for every core
_OUTER = (1, 7, 64, 127, 1000)
# one; a prime; a whole block of any dtype; a prime; one past a vector instruction's repeats; a row beyond UB
_INNER = (1, 7, 32, 127, 1025, 100003)
_PROBES = (4096, 16384, 65536, 100003, 100096)
_SCAN = 2049  # extents looked at one by one


def packs_of(checked: CheckedSpec) -> tuple[str, ...]:
    """The dims that hold the element counts of packs (``*b``)."""
    return tuple(f"numel_{name}" for name in checked.packs)


def _inner_names(checked: CheckedSpec) -> frozenset[str]:
    """Dims that are reduced over, or are the last extent of some tensor and never an earlier one."""
    program = checked.program
    names: set[str] = set()
    outer: set[str] = set()
    for tensor in (*program.inputs, *program.outputs):
        if tensor.shape and tensor.flat is None:
            names |= tensor.shape[-1].free()
            outer |= {n for extent in tensor.shape[:-1] for n in extent.free()}
    names -= outer

    def visit(body: Sequence[Stmt]) -> None:
        for stmt in body:
            if isinstance(stmt, For):
                visit(stmt.body)
            elif isinstance(stmt, Assign):
                for node in walk(stmt.value):
                    if isinstance(node, Reduce):
                        names.update(*(b.extent.free() for b in node.axes if b.extent is not None))

    visit(program.body)
    return frozenset(names)


def _alone(rules: Rules, name: str) -> Callable[[int], bool]:
    """Whether a value of one dim or attribute is legal as far as it alone decides."""
    mine = [r for r in rules.rules if r.needs <= {name} and not r.typed]
    return lambda value: all(rules.holds(r, {name: value}) for r in mine)


def legal_values(rules: Rules, name: str, wanted: Sequence[int], low: int) -> tuple[int, ...]:
    """Values that cover a range: all of a small set, else ``wanted`` moved to legal neighbours, and the limits."""
    legal = _alone(rules, name)
    scan = [v for v in range(low, _SCAN) if legal(v)]
    open_ended = any(legal(v) for v in _PROBES)
    if len(scan) <= 5 and not open_ended:
        return tuple(scan)
    out = set()
    for value in wanted:
        near = next((v for v in range(value, value + 512) if legal(v)), None)
        if near is not None:
            out.add(near)
    if scan:
        out.add(scan[0])
        if not open_ended:
            out.add(scan[-1])
    return tuple(sorted(out))


def _attribute_values(rules: Rules, param: Param, rng: random.Random) -> tuple[Number, ...]:
    """The default, the limits of an int's range, and legal values drawn at random that are not the default."""
    tests = rules.checked.spec.tests
    listed = tests.attrs.get(param.symbol) or tests.values.get(param.symbol)
    if listed:
        return tuple(dict.fromkeys(listed))
    default = param.default
    if param.type == "bool":
        return (False, True)
    if param.type == "int":
        first = int(default) if isinstance(default, int) else 1
        return legal_values(rules, param.symbol, (first, first + 1, first + 3), -4 if _alone(rules, param.symbol)(-1) else 0)
    start = float(default) if isinstance(default, int | float) else 1.0
    mine = [r for r in rules.rules if r.needs <= {param.symbol} and not r.typed]
    draws = (round(start * rng.uniform(1.5, 4) + rng.choice((0.0, rng.uniform(0.1, 0.9))), 6) for _ in range(64))
    candidates = (v for v in (*draws, rng.uniform(0, 1), rng.uniform(-1, 0)) if v != start)
    others = [v for v in candidates if all(rules.holds(r, {param.symbol: v}) for r in mine)]
    return (start, *others[:2])


def absences(checked: CheckedSpec) -> tuple[tuple[str, ...], ...]:
    """Sets of optional parameters that may be missing together: groups all or none, the others freely."""
    optional = [p.symbol for p in tensor_params(checked.spec) if p.optional]
    grouped = [tuple(m for m in g.members if m in optional) for g in checked.spec.groups]
    units = [g for g in grouped if g] + [(s,) for s in optional if not any(s in g for g in grouped)]
    choices = itertools.product((False, True), repeat=min(len(units), 4))
    return tuple(dict.fromkeys(tuple(s for unit, gone in zip(units, chosen, strict=False) if gone for s in unit) for chosen in choices))


def factors_of(checked: CheckedSpec, rules: Rules, targets: Sequence[Target], seed: int) -> list[Factor]:
    """The factors of the covering array; those with one value too, so that a row is complete."""
    spec = checked.spec
    rng = random.Random(seed)
    inner = _inner_names(checked)
    packs = packs_of(checked)
    factors = [Factor(TARGET, tuple(targets))]
    factors.append(Factor(COMBINATION, tuple(range(max(1, len(spec.dtypes))))))
    factors.append(Factor(RANK, tuple(range(1 + max((len(p.ranks) for p in tensor_params(spec)), default=0)))))
    factors.append(Factor(AXES, (1, 0, 2, 3) if packs else (1,)))
    factors.append(Factor(ABSENT, absences(checked)))
    for name in rules.free:
        listed = spec.tests.values.get(name)
        wanted = _INNER if name in inner else _OUTER
        values = tuple(v for v in listed if v > 0) if listed else legal_values(rules, name, wanted, 1)
        factors.append(Factor(name, values, listed=bool(listed)))
    for param in attributes(spec):
        if param.type in ("int", "float", "double", "bool"):
            named = bool(spec.tests.attrs.get(param.symbol) or spec.tests.values.get(param.symbol))
            factors.append(Factor(param.symbol, _attribute_values(rules, param, rng), listed=named))
    return factors


def loads_of(body: Sequence[Stmt]) -> list[Load]:
    """Every load of a formula."""
    out: list[Load] = []
    for stmt in body:
        if isinstance(stmt, For):
            out += loads_of(stmt.body)
        else:
            out += [n for n in walk(stmt.value) if isinstance(n, Load)]
    return out
