"""Calls that break exactly one rule of the spec and must be refused by the tiling function."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import get_args

from generator.formula.checked import CheckedSpec
from generator.spec.model import DTypeName, Param
from generator.twin.verify.case import Case, Number, Violation
from generator.twin.verify.rules import Rule, Rules
from generator.twin.verify.shapes import attributes, dtype_of, shapes_of, tensor_params

__all__ = ["violations_of"]

Shape = tuple[int, ...]
_STEPS = (1, -1, 2, -2, 3, -3, 5, 7, 16, 17, 100, 101, 1000)


def violations_of(checked: CheckedSpec, rules: Rules, base: Case, rng: random.Random) -> list[Violation]:
    """Each rule violated once, by changing ``base`` (a legal case with no empty tensor) as little as possible."""
    found: list[Violation] = []
    found += _ranges(checked, rules, base)
    found += _constraints(checked, rules, base, rng)
    found += _attributes(checked, rules, base)
    found += _extents(checked, rules, base)
    found += _ranks(checked, base)
    found += _dtypes(checked, base)
    found += _groups(checked, base)
    found += _missing(rules, base)
    return found


def _given(checked: CheckedSpec, base: Case) -> list[Param]:
    return [p for p in tensor_params(checked.spec) if p.symbol not in base.absent]


def _env(base: Case) -> dict[str, Number]:
    return {**dict(base.attrs), **dict(base.dims)}


def _with_dims(rules: Rules, base: Case, env: Mapping[str, Number]) -> Case:
    return replace(base, dims=tuple((n, int(env[n])) for n, _ in base.dims), attrs=tuple((n, env[n]) for n, _ in base.attrs))


def _only(rules: Rules, rule: Rule, env: Mapping[str, Number], combination: int) -> dict[str, Number] | None:
    """``env`` completed, when it is exact and ``rule`` is the one rule it breaks with the dtypes of a combination."""
    full = rules.completed(env)
    if full is None or not rules.counts_agree(full):
        return None
    return full if rules.broken(full, rules.dtypes(combination)) == [rule] else None


def _ranges(checked: CheckedSpec, rules: Rules, base: Case) -> Iterator[Violation]:
    """A dim just outside its ``where``, on each side where there is an outside."""
    for rule in rules.rules:
        if rule.about not in dict(base.dims):
            continue
        name = rule.about
        start = dict(base.dims)[name]
        for direction in (-1, 1):
            for step in range(1, 4096):
                value = start + direction * step
                if value < (0 if name in rules.counted else 1):
                    break
                env = _only(rules, rule, {**_env(base), name: value}, base.combination)
                if env is not None:
                    case = _with_dims(rules, base, env)
                    yield Violation(f"{name} = {value} violates {rule.text}", case, shapes=tuple(shapes_of(checked, case).items()))
                    break


def _constraints(checked: CheckedSpec, rules: Rules, base: Case, rng: random.Random) -> Iterator[Violation]:
    """A constraint over several names, broken by one or two of them, and by other dtypes where it names any."""
    for rule in rules.rules:
        if rule.about != "constraint":
            continue
        names = sorted(rule.needs & {*rules.free, *rules.attrs})
        if not rule.needs <= _env(base).keys():
            continue  # it names what only the call has
        kinds = checked.spec.dtypes
        for attempt in range(400):
            env = _env(base)
            case = base
            if rule.typed and attempt % 4:
                k = rng.randrange(max(1, len(kinds)))
                case = replace(base, combination=k, dtypes=tuple(kinds[k].items()) if kinds else ())
            for name in rng.sample(names, k=min(len(names), 1 + attempt % 2)):
                env[name] = _moved(env[name], rng)
            if any(n in rules.free and env[n] < 1 for n in names):
                continue
            full = _only(rules, rule, env, case.combination)
            if full is not None:
                case = _with_dims(rules, case, full)
                yield Violation(f"violates {rule.text}", case, shapes=tuple(shapes_of(checked, case).items()), attrs=case.attrs)
                break


def _moved(value: Number, rng: random.Random) -> Number:
    if isinstance(value, bool):
        return not value
    step = rng.choice(_STEPS)
    return value + step if isinstance(value, int) else value + step * rng.uniform(0.1, 2)


def _attributes(checked: CheckedSpec, rules: Rules, base: Case) -> Iterator[Violation]:
    """An attribute just outside its range, below and above. Shapes stay as they are in ``base``."""
    shapes = tuple(shapes_of(checked, base).items())
    for param in attributes(checked.spec):
        mine = [r for r in rules.rules if r.about == param.symbol]
        if not mine or param.type not in ("int", "float", "double"):
            continue
        for direction in (-1, 1):
            outside = _outside(rules, mine, param, dict(base.attrs)[param.symbol], direction)
            if outside is not None:
                changed = tuple((n, outside if n == param.symbol else v) for n, v in base.attrs)
                what = f"{param.symbol} = {outside:g} violates {mine[0].text}"
                # outputs whose extents depend on the attribute follow it, so that the range is all that is wrong
                following = replace(base, attrs=changed)
                try:
                    follow = tuple(shapes_of(checked, following).items())
                except (ZeroDivisionError, ValueError):
                    follow = shapes
                if all(e >= 0 for _, s in follow for e in s):
                    yield Violation(what, base, shapes=follow, attrs=changed)


def _outside(rules: Rules, mine: Sequence[Rule], param: Param, start: Number, direction: int) -> Number | None:
    """The nearest value found on one side that the attribute's range excludes."""
    if param.type == "int":
        candidates: list[Number] = [start + direction * k for k in range(1, 4096)]
    else:
        candidates = [start + direction * (abs(start) + 1e-3) * float(2**k) for k in range(16)]
    for value in candidates:
        decided = [r for r in mine if r.needs <= {param.symbol}]
        if any(not rules.holds(r, {param.symbol: value}) for r in decided):
            return value
    return None


def _extents(checked: CheckedSpec, rules: Rules, base: Case) -> Iterator[Violation]:
    """One extent (or the element count of a flat buffer) of one parameter one too many, where something fixes it."""
    shapes = shapes_of(checked, base)
    program = checked.program
    for param in _given(checked, base):
        tensor = program.tensors[param.symbol]
        shape = shapes[param.symbol]
        if tensor.flat is not None or base.rank or base.axes != 1:
            positions = [len(shape) - 1] if shape else []
        else:
            positions = list(range(len(shape)))
        for d in positions:
            if tensor.flat is None and not _fixed(checked, rules, base, param, d, len(shape)):
                continue
            wrong = (*shape[:d], shape[d] + 1, *shape[d + 1 :])
            yield Violation(
                f"{param.symbol} has extent {wrong[d]} in dim {d} instead of {shape[d]}",
                base,
                shapes=tuple((s, wrong if s == param.symbol else v) for s, v in shapes.items()),
            )


def _fixed(checked: CheckedSpec, rules: Rules, base: Case, param: Param, d: int, rank: int) -> bool:
    """Whether an extent one larger contradicts another parameter, itself or a range: a name it has is seen elsewhere."""
    program = checked.program
    extents = program.tensors[param.symbol].shape
    extent = extents[len(extents) - rank + d] if rank <= len(extents) else extents[-1]
    names = extent.free() - dict(base.attrs).keys()
    if not names or names & rules.computed.keys():
        return not names  # a constant or an attribute's value is fixed; computed dims may follow silently
    others = [e for p in _given(checked, base) if p is not param for e in program.tensors[p.symbol].shape]
    others += [e for k, e in enumerate(extents) if k != len(extents) - rank + d]
    return any(o.free() - dict(base.attrs).keys() == names for o in others)


def _ranks(checked: CheckedSpec, base: Case) -> Iterator[Violation]:
    """A leading axis of extent one more than any rank the parameter may have."""
    shapes = shapes_of(checked, base)
    for param in _given(checked, base):
        if any(e.startswith("*") for e in param.shape or []):
            fixed = len(param.shape or []) - 1
            if fixed:
                few = shapes[param.symbol][len(shapes[param.symbol]) - fixed + 1 :]
                changed = tuple((s, few if s == param.symbol else v) for s, v in shapes.items())
                yield Violation(f"{param.symbol} has rank {len(few)}", base, shapes=changed)
            continue
        allowed = {1 if param.flat else len(param.shape or [])}
        allowed |= {sum(len(e) if isinstance(e, list) else 1 for e in r) for r in param.ranks}
        wrong = (1,) * (max(allowed) + 1 - len(shapes[param.symbol])) + shapes[param.symbol]
        yield Violation(
            f"{param.symbol} has rank {len(wrong)}",
            base,
            shapes=tuple((s, wrong if s == param.symbol else v) for s, v in shapes.items()),
        )


def _dtypes(checked: CheckedSpec, base: Case) -> Iterator[Violation]:
    """A parameter in a dtype that no combination gives it beside the others' dtypes."""
    spec = checked.spec
    given = _given(checked, base)
    bindings: list[Mapping[str, DTypeName]] = list(spec.dtypes) or [{}]
    legal = {tuple(dtype_of(p, b) for p in given) for b in bindings}
    now = tuple(dtype_of(p, dict(base.dtypes)) for p in given)
    for k, param in enumerate(given):
        for other in get_args(DTypeName):
            if other in ("bool", "float64") or (*now[:k], other, *now[k + 1 :]) in legal:
                continue
            yield Violation(f"{param.symbol} is {other}", base, dtypes=((param.symbol, other),))
            break


def _missing(rules: Rules, base: Case) -> Iterator[Violation]:
    """A parameter missing that may be so only under a condition that does not hold."""
    for symbol, rule in rules.absences.items():
        if symbol not in base.absent and rules.wanted([symbol], _env(base), rules.dtypes(base.combination)):
            yield Violation(f"{symbol} is missing without {rule.text}", base, absent=(*base.absent, symbol))


def _groups(checked: CheckedSpec, base: Case) -> Iterator[Violation]:
    """One member of an all-or-none group missing."""
    for group in checked.spec.groups:
        if len(group.members) > 1 and not set(group.members) & set(base.absent):
            first, second = group.members[:2]
            yield Violation(f"{first} is missing while {second} is given", base, absent=(*base.absent, first))
