"""Inverting index maps: which values of a contribution's axes reach a given element of a tensor.

A contribution adds ``sum over axes of value`` to the elements ``indices(axes)`` of an adjoint. At a target element, given
as integer expressions in the target's own axes, the equations ``indices(axes) = target`` are solved for axes that occur
with coefficient 1 or -1; what is left of the ranges of solved axes becomes guards, and what cannot be solved (strides,
gathers) stays as an equation under a sum.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from generator.formula.infer import children
from generator.formula.ir import Binary, Bound, Call, Compare, Expr, Gather, IntVal, Load, Neg, Num, Reduce, Tensor
from generator.formula.prove import Facts, Range
from generator.formula.writes import Write, never_zero_modulo, overlaps_itself
from generator.spec.integer import IntExpr, const, sym
from generator.symbolic.build import ZERO, Fresh, add, all_of, compare, free, index_free, rename_bound, substitute, substitute_index, where
from generator.symbolic.keys import tame
from generator.symbolic.rules import Contribution

__all__ = ["Inverter", "Solved", "ranges_of"]


@dataclass(frozen=True)
class Solved:
    """The contribution at the target: ``sum over axes of value`` where every guard ``0 <= e < extent`` and condition holds."""

    axes: tuple[Bound, ...]
    guards: tuple[tuple[IntExpr, IntExpr], ...]
    conditions: tuple[Expr, ...]
    value: Expr


def ranges_of(axes: Sequence[Bound]) -> list[Range]:
    """The ranges of bound axes."""
    return [Range(a.name, const(0), a.extent - 1) for a in axes if a.extent is not None]


@dataclass
class Inverter:
    """``tensors`` give the shapes of what values load; ``facts`` hold inside the open loops."""

    tensors: Mapping[str, Tensor]
    fresh: Fresh
    facts: Facts

    def known(self, axes: Sequence[Bound]) -> Facts:
        ranges = ranges_of(axes)
        return self.facts.with_ranges(ranges).with_known(r.high - r.low for r in ranges)

    # solving ----------------------------------------------------------------------------------------------------
    def solve(self, c: Contribution, target: Sequence[IntExpr], axes: Sequence[Bound]) -> Solved | None:
        """The contribution at ``target`` (in ``axes``); None when it provably never reaches it."""
        work = _Solving(self, self.renamed(c), target, axes)
        return work.run()

    def renamed(self, c: Contribution) -> Contribution:
        """``c`` with names of its own."""
        names = {a.name: sym(self.fresh.name(a.name)) for a in c.axes}
        bound = tuple(Bound(names[a.name].symbol or a.name, a.extent) for a in c.axes)
        value = rename_bound(substitute(c.value, names), self.fresh)
        return Contribution(tuple(substitute_index(i, names) for i in c.indices), bound, value)

    # terms ------------------------------------------------------------------------------------------------------
    def term(self, c: Contribution, target: Sequence[IntExpr], axes: Sequence[Bound]) -> Expr:
        """The contribution at ``target`` as an expression; 0 when there is none."""
        solved = self.solve(c, target, axes)
        if solved is None:
            return ZERO
        value, conditions = solved.value, list(solved.conditions)
        facts = self.known([*axes, *solved.axes])
        for e, extent in solved.guards:
            low, high = facts.nonnegative(e), facts.less(e, extent)
            if low and high:
                continue
            absorbed = self.absorb(value, e, extent) if solved.axes and not self.risky(value, facts, False) else None
            if absorbed is not None:
                value = absorbed
                continue
            if not low:
                conditions.append(compare("ge", e, const(0)))
            if not high:
                conditions.append(compare("lt", e, extent))
        if conditions:
            value = where(all_of(conditions), value, ZERO)
        return Reduce("sum", solved.axes, value) if solved.axes else value

    def total(self, cs: Sequence[Contribution], target: Sequence[IntExpr], axes: Sequence[Bound]) -> Expr:
        """All contributions at ``target``, added."""
        out: Expr = ZERO
        for c in cs:
            out = add(out, self.term(c, target, axes))
        return out

    def risky(self, e: Expr, facts: Facts, exposed: bool) -> bool:
        """Whether a 0 read outside a tensor could make ``e`` infinite: it is divided by, or in a function not finite there."""
        if isinstance(e, Load):
            shape = self.tensors[e.tensor].shape
            pairs = [(i, n) for i, n in zip(e.indices, shape, strict=True) if isinstance(i, IntExpr)]
            return exposed and any(not (facts.nonnegative(i) and facts.less(i, n)) for i, n in pairs)
        if isinstance(e, Reduce):
            ranges = ranges_of(e.axes)
            facts = facts.with_ranges(ranges).with_known(r.high - r.low for r in ranges)
        if isinstance(e, Binary) and e.op == "div":
            return self.risky(e.a, facts, exposed) or self.risky(e.b, facts, True)
        inner = exposed or (not tame(e) and isinstance(e, Binary | Call) and not _whole(e))
        return any(self.risky(c, facts, inner) for c in children(e))

    def absorb(self, value: Expr, e: IntExpr, extent: IntExpr) -> Expr | None:
        """``value`` with a factor that is 0 outside ``0 <= e < extent`` because it is loaded at ``e`` in a dim of that extent."""
        if isinstance(value, Load):
            shape = self.tensors[value.tensor].shape
            for d, i in enumerate(value.indices):
                if i == e and shape[d] == extent and value.outside in (None, 0.0):
                    return replace(value, guarded=tuple(sorted({*value.guarded, d})), outside=0.0)
            return None
        if isinstance(value, Neg):
            inner = self.absorb(value.x, e, extent)
            return None if inner is None else Neg(inner)
        if isinstance(value, Binary) and value.op in ("mul", "div"):
            left = self.absorb(value.a, e, extent)
            if left is not None:
                return replace(value, a=left)
            if value.op == "mul":
                right = self.absorb(value.b, e, extent)
                return None if right is None else replace(value, b=right)
        return None


class _Solving:
    """One contribution against one target."""

    def __init__(self, owner: Inverter, c: Contribution, target: Sequence[IntExpr], axes: Sequence[Bound]) -> None:
        self.owner = owner
        self.left = list(c.axes)
        self.target_axes = tuple(axes)
        self.value = c.value
        self.guards: list[tuple[IntExpr, IntExpr]] = []
        self.conditions: list[Expr] = []
        self.solved: dict[str, IntExpr] = {}
        self.equations: list[tuple[IntExpr, IntExpr]] = []
        for i, p in zip(c.indices, target, strict=True):
            if isinstance(i, Gather):
                self.conditions.append(Compare("eq", i.load, IntVal(p)))
            elif isinstance(i, IntExpr):
                self.equations.append((i, p))

    def run(self) -> Solved | None:
        stuck: list[tuple[IntExpr, IntExpr]] = []
        while self.equations:
            at = self.easiest()
            i, p = self.equations.pop(at)
            gap = i - p
            facts = self.owner.known([*self.target_axes, *self.left])
            if gap.value == 0:
                continue
            if facts.nonnegative(gap - 1) or facts.nonnegative(-gap - 1) or never_zero_modulo(gap):
                return None
            if not self.match(i, p) and not self.eliminate(gap):
                stuck.append((i, p))
        for i, p in stuck:
            gap = self.now(i) - p
            if gap.value is not None and gap.value != 0:
                return None
            if gap.value is None:
                self.conditions.append(compare("eq", p, self.now(i)))
        return Solved(tuple(self.left), tuple(self.guards), tuple(self.conditions), self.value)

    def easiest(self) -> int:
        """Plain axes first: solving them makes no guards and may settle other equations."""
        names = {a.name for a in self.left}
        order = sorted(range(len(self.equations)), key=lambda k: (self.equations[k][0].symbol not in names, k))
        return order[0]

    def now(self, i: IntExpr) -> IntExpr:
        """An index with all axes that were solved so far replaced."""
        return i.substitute(self.solved)

    def put(self, env: Mapping[str, IntExpr]) -> None:
        """Replace solved axes everywhere."""
        self.solved = {**{name: e.substitute(env) for name, e in self.solved.items()}, **env}
        self.value = substitute(self.value, env)
        self.equations = [(i.substitute(env), p) for i, p in self.equations]
        self.guards = [(e.substitute(env), extent) for e, extent in self.guards]
        self.conditions = [substitute(c, env) for c in self.conditions]
        self.left = [a for a in self.left if a.name not in env]

    def match(self, i: IntExpr, p: IntExpr) -> bool:
        """Both sides have one form (``i*n + j`` against ``i'*n + j'``) that different axes never make equal."""
        mine = [a for a in self.left if a.name in i.free()]
        theirs = [a for a in self.target_axes if a.name in p.free()]
        if not mine or len(mine) != len(theirs) or not i.is_affine_in([a.name for a in mine]):
            return False
        env: dict[str, IntExpr] = {}
        for a in mine:
            found = [b for b in theirs if b.extent == a.extent and _same_coefficient(i, a.name, p, b.name)]
            found = [b for b in found if sym(b.name) not in env.values()]
            if not found:
                return False
            env[a.name] = sym(found[0].name)
        if i.substitute(env) != p:
            return False
        if len(mine) > 1 and overlaps_itself(Write((i,), (), tuple(ranges_of(mine)), {}), self.owner.facts) is not None:
            return False
        self.put(env)
        return True

    def eliminate(self, gap: IntExpr) -> bool:
        """Solve ``gap == 0`` for the axis that leaves the easiest guard."""
        best: tuple[int, int] | None = None
        chosen: tuple[Bound, IntExpr] | None = None
        for at, a in enumerate(self.left):
            if a.name not in gap.free() or not gap.is_affine_in([a.name]):
                continue
            k = gap.coefficient(a.name).value
            if k not in (1, -1):
                continue
            solution = sym(a.name) - gap * k
            score = (self.difficulty(a, solution), at)
            if best is None or score < best:
                best, chosen = score, (a, solution)
        if chosen is None:
            return False
        a, solution = chosen
        assert a.extent is not None
        self.put({a.name: solution})
        self.guards.append((solution, a.extent))
        return True

    def difficulty(self, a: Bound, solution: IntExpr) -> int:
        """0: the range of the solved axis is sure to hold; 1: a load says so; 2: it needs a condition."""
        assert a.extent is not None
        rest = [b for b in self.left if b.name != a.name]
        facts = self.owner.known([*self.target_axes, *rest])
        if facts.nonnegative(solution) and facts.less(solution, a.extent):
            return 0
        return 1 if rest and self.owner.absorb(self.value, sym(a.name), a.extent) is not None else 2


def _whole(e: Expr) -> bool:
    """Whether an operation itself is finite at 0: exponentials, sums, products, whole powers."""
    if isinstance(e, Call):
        return e.fn in ("exp", "exp2", "expm1", "sqrt", "log1p", "sinh", "cosh", "tan", "asin", "acos") or tame(Call(e.fn, ()))
    if isinstance(e, Binary) and e.op == "pow":
        return isinstance(e.b, Num) and isinstance(e.b.value, int) and e.b.value >= 0
    return True


def _same_coefficient(i: IntExpr, a: str, p: IntExpr, b: str) -> bool:
    if not p.is_affine_in([b]):
        return False
    return i.coefficient(a) == p.coefficient(b)


def depends_on(c: Contribution, names: set[str]) -> bool:
    """Whether a contribution depends on any of ``names`` (loop variables)."""
    return bool(free(c.value) & names) or any(index_free(i) & names for i in c.indices)
