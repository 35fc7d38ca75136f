"""The cases of an operator, derived from its spec: a covering array, empty tensors, special values."""

from __future__ import annotations

import random
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from generator.formula.checked import CheckedSpec
from generator.formula.ir import For
from generator.spec.model import Sizes
from generator.twin.verify import work
from generator.twin.verify.case import Case, Number, Special, Target, Violation
from generator.twin.verify.covering import Array, Factor, Row, cover
from generator.twin.verify.factors import ABSENT, AXES, COMBINATION, RANK, TARGET, factors_of, packs_of
from generator.twin.verify.rules import Rules
from generator.twin.verify.shapes import INPUTS, attributes, numel_of, tensor_params
from generator.twin.verify.violations import violations_of

__all__ = ["BUDGET", "CaseSet", "case_of", "derive", "objections", "seed_of", "whole"]

BUDGET = 2e7  # evaluation points and elements of one case that the array may choose by itself
WHOLE = 1e8  # evaluation points and elements up to which a case is evaluated and judged whole
LOOPS = 10  # times that for a formula with loops, which needs most of what it carries for any element
_SPECIALS: tuple[Special, ...] = ("nan", "inf", "-inf")


@dataclass(frozen=True)
class CaseSet:
    """``cases`` must agree with the reference, ``empty`` hold no elements, ``violations`` must be refused."""

    op: str
    cases: tuple[Case, ...]
    empty: tuple[Case, ...]
    violations: tuple[Violation, ...]
    array: Array
    factors: tuple[Factor, ...]

    @property
    def pairs(self) -> str:
        """Coverage in words: covered of the legal pairs within the budget."""
        return f"{self.array.covered}/{self.array.pairs}"


def seed_of(*parts: object) -> int:
    """A seed that depends on the parts' text alone, the same in every process."""
    return zlib.crc32("|".join(str(p) for p in parts).encode())


def case_of(
    checked: CheckedSpec,
    env: Mapping[str, Number],
    target: Target,
    *,
    combination: int = 0,
    absent: Sequence[str] = (),
    rank: int = 0,
    axes: int = 1,
    seed: int | None = None,
) -> Case:
    """A case from dims and attributes by name: derived dims are computed, missing attributes take their default."""
    rules = Rules(checked)
    defaults = {p.symbol: p.default for p in attributes(checked.spec) if isinstance(p.default, int | float)}
    full = rules.completed({**defaults, **env})
    if full is None:
        raise ValueError(f"{checked.spec.name}: a derived dim does not come out exact for {dict(env)}")
    names = tuple(dict.fromkeys((*rules.free, *rules.computed)))
    missing = [n for n in (*names, *rules.attrs) if n not in full]
    if missing:
        raise ValueError(f"{checked.spec.name}: no value for {', '.join(missing)}")
    dtypes = tuple(checked.spec.dtypes[combination].items()) if checked.spec.dtypes else ()
    case = Case(
        op=checked.spec.name,
        target=target,
        dims=tuple((n, int(full[n])) for n in names),
        attrs=tuple((n, full[n]) for n in rules.attrs),
        combination=combination,
        dtypes=dtypes,
        absent=tuple(absent),
        rank=rank,
        axes=axes,
    )
    case = replace(case, seed=seed_of(case.label()) if seed is None else seed)
    cost = work.cost(checked.program, case.integers)
    return replace(case, large=cost > BUDGET, sampled=cost > whole(checked))


def whole(checked: CheckedSpec) -> float:
    """The cost up to which a case of an operator is evaluated and judged whole."""
    return WHOLE * LOOPS if any(isinstance(s, For) for s in checked.program.body) else WHOLE


def objections(checked: CheckedSpec, case: Case) -> list[str]:
    """Why the spec excludes a case, one reason each; empty for a legal one."""
    rules = Rules(checked)
    env = {**dict(case.dims), **dict(case.attrs)}
    out = [f"{name} = {extent} is negative" for name, extent in case.dims if extent < 0]
    if out:
        return out
    dtypes = rules.dtypes(case.combination)
    out += [f"{r.about} violates {r.text}" if r.about != "constraint" else f"violates {r.text}" for r in rules.broken(env, dtypes)]
    out += [f"{s} is absent, which takes {rules.absences[s].text}" for s in rules.wanted(case.absent, env, dtypes)]
    if not rules.counts_agree(env):
        out.append("a dim derived from element counts does not come out as given")
    ranks = max((len(p.ranks) for p in tensor_params(checked.spec)), default=0)
    if case.rank > ranks:
        out.append(f"rank {case.rank}: there are {ranks} alternative ranks")
    packs = packs_of(checked)
    if case.axes != 1 and not packs:
        out.append(f"axes {case.axes}: no parameter has a pack of axes")
    if case.axes == 0:
        out += [f"axes 0: {p} must be 1, not {dict(case.dims)[p]}" for p in packs if dict(case.dims)[p] != 1]
    for group in checked.spec.groups:
        gone = [m for m in group.members if m in case.absent]
        if gone and len(gone) < len(group.members):
            out.append(f"{', '.join(group.members)} are given all or none, {', '.join(gone)} is absent")
    return out


def _env(row: Row) -> dict[str, Number]:
    return {n: v for n, v in row.items() if not n.startswith("<") and isinstance(v, int | float)}


def _from_row(checked: CheckedSpec, row: Row) -> Case:
    target, combination, rank, axes, absent = (row[n] for n in (TARGET, COMBINATION, RANK, AXES, ABSENT))
    assert isinstance(target, Target)
    assert isinstance(combination, int)
    assert isinstance(rank, int)
    assert isinstance(axes, int)
    assert isinstance(absent, tuple)
    return case_of(checked, _env(row), target, combination=combination, absent=absent, rank=rank, axes=axes)


def _array(checked: CheckedSpec, rules: Rules, factors: Sequence[Factor], seed: int, budget: float) -> Array:
    packs = packs_of(checked)
    smallest: dict[str, Number] = {}
    for factor in factors:
        numbers = [v for v in factor.values if isinstance(v, int | float)]
        if not factor.name.startswith("<") and numbers:
            smallest[factor.name] = min(numbers)

    def allowed(row: Row) -> bool:
        if row.get(AXES) == 0 and any(row.get(p, 1) != 1 for p in packs):
            return False
        absent, combination = row.get(ABSENT, ()), row.get(COMBINATION)
        dtypes = rules.dtypes(combination) if isinstance(combination, int) else None
        if isinstance(absent, tuple) and rules.wanted(absent, rules.completed(_env(row)) or {}, dtypes):
            return False
        return rules.allowed(_env(row), dtypes)

    def cost(row: Row) -> float:
        full = {**smallest, **_env(row)}
        env = {n: v for n, v in (_extend(rules, full)).items() if isinstance(v, int) and not isinstance(v, bool)}
        return float(work.cost(checked.program, env))

    return cover(factors, allowed, cost, budget, seed)


def _extend(rules: Rules, env: Mapping[str, Number]) -> dict[str, Number]:
    """Computed dims rounded down: good enough for a cost, and never less as the row grows."""
    out = dict(env)
    for name, expr in rules.computed.items():
        try:
            out[name] = expr.evaluate({n: v for n, v in out.items() if isinstance(v, int) and not isinstance(v, bool)})
        except ZeroDivisionError:
            out[name] = 0
    return out


def _listed(checked: CheckedSpec, sizes: Sizes, at: int, targets: Sequence[Target]) -> Case:
    """A case that the spec lists; targets and, where it does not say, dtype combinations take turns."""
    fit = [k for k, c in enumerate(checked.spec.dtypes) if sizes.dtypes.items() <= c.items()] or [0]
    target, combination = targets[at % len(targets)], fit[at % len(fit)]
    case = case_of(checked, {**sizes.sizes, **sizes.attrs}, target, combination=combination, rank=sizes.rank)
    return replace(case, huge=case.sampled or sizes.tiling_only, tiling_only=sizes.tiling_only)


def _middle(cases: Sequence[Case], checked: CheckedSpec) -> Case:
    """A case of ordinary size: the median by work of those with every optional parameter, in the ranks as written."""
    full = [c for c in cases if not c.absent] or list(cases)
    full = [c for c in full if c.rank == 0 and c.axes == 1] or full
    return sorted(full, key=lambda c: (work.cost(checked.program, c.integers), c.label()))[len(full) // 2]


def _filled(checked: CheckedSpec, case: Case) -> bool:
    """Every tensor has elements."""
    return all(numel_of(checked.program.tensors[p.symbol], case.integers) for p in tensor_params(checked.spec))


def _specials(checked: CheckedSpec, cases: Sequence[Case]) -> list[Case]:
    """NaN and the infinities in one row of each float input that is not itself computed from the forward."""
    spec = checked.spec
    program = checked.program
    inputs = [
        p.symbol
        for p in tensor_params(spec, *INPUTS)
        if program.tensors[p.symbol].kind == "float" and p.symbol not in spec.tests.from_forward and program.tensors[p.symbol].flat is None
    ]
    targets = sorted({c.target for c in cases})
    out = []
    for k, (name, value) in enumerate((n, v) for n in inputs[:3] for v in _SPECIALS):
        fit = [c for c in cases if name not in c.absent and work.cost(checked.program, c.integers) <= BUDGET / 20]
        fit = [c for c in fit if c.target == targets[k % len(targets)]] or fit or [c for c in cases if name not in c.absent]
        if fit:
            out.append(replace(_middle(fit, checked), special=(name, value)))
    return out


def _empties(checked: CheckedSpec, rules: Rules, base: Case) -> list[Case]:
    """Each dim zero in turn, where the spec's rules allow it and it leaves some tensor without elements."""
    out = []
    for name in rules.free:
        env = {**dict(base.attrs), **{n: v for n, v in base.dims if n in rules.free}, name: 0}
        for counted in rules.counted:
            when_empty = checked.spec.dims[counted].when_empty
            if counted != name and when_empty is not None:
                env[counted] = when_empty
        if not rules.allowed(env, rules.dtypes(base.combination)):
            continue
        case = case_of(checked, env, base.target, combination=base.combination, absent=base.absent, rank=base.rank, axes=base.axes or 1)
        tensors = [checked.program.tensors[p.symbol] for p in tensor_params(checked.spec)]
        if any(numel_of(t, case.integers) == 0 for t in tensors):
            out.append(case)
    return out


def derive(checked: CheckedSpec, targets: Sequence[Target], budget: float = BUDGET) -> CaseSet:
    """Every case of an operator on the given targets; the same spec and targets give the same cases."""
    seed = seed_of(checked.spec.name)
    rules = Rules(checked)
    factors = factors_of(checked, rules, targets, seed)
    array = _array(checked, rules, factors, seed, budget)
    cases = [_from_row(checked, row) for row in array.rows]
    for k, sizes in enumerate(checked.spec.tests.cases):
        cases.append(_listed(checked, sizes, k, targets))
    if not cases:
        return CaseSet(checked.spec.name, (), (), (), array, tuple(factors))
    base = _middle([c for c in cases if _filled(checked, c)] or cases, checked)
    cases += _specials(checked, cases)
    unique = tuple({c.label(): c for c in cases}.values())
    rng = random.Random(seed)
    return CaseSet(
        checked.spec.name,
        unique,
        tuple(_empties(checked, rules, base)),
        tuple(violations_of(checked, rules, base, rng)),
        array,
        tuple(factors),
    )
