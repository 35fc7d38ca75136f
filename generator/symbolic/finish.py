"""The last steps of a derivation: guards of loads as the language has them, and readable names of axes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from generator.formula.ir import Assign, Bound, Compare, Expr, For, Gather, Load, Logic, Reduce, Stmt, Tensor, Where
from generator.formula.lower import OUTSIDE, holds
from generator.formula.prove import Facts, Range
from generator.spec.integer import IntExpr, const, sym
from generator.symbolic.build import all_of, compare, free, num, rebuild, substitute, substitute_index
from generator.symbolic.inverse import ranges_of

__all__ = ["guarded", "prettify"]


def guarded(body: Sequence[Stmt], tensors: Mapping[str, Tensor], facts: Facts) -> tuple[Stmt, ...]:
    """The statements with the guards of all loads found anew: none where the index is proved inside; else the value outside
    is that of the innermost reduction, or a ``where`` says it."""
    out: list[Stmt] = []
    for stmt in body:
        if isinstance(stmt, For):
            reach = Range(stmt.var, stmt.start, stmt.stop - 1) if stmt.step > 0 else Range(stmt.var, stmt.stop + 1, stmt.start)
            here = facts.with_ranges([reach]).with_known([reach.high - reach.low])
            out.append(replace(stmt, body=guarded(stmt.body, tensors, here)))
        else:
            out.append(replace(stmt, value=_Guards(tensors).go(stmt.value, _within(facts, stmt.axes), (), None)))
    return tuple(out)


def _within(facts: Facts, axes: Sequence[Bound]) -> Facts:
    ranges = ranges_of(axes)
    return facts.with_ranges(ranges).with_known(r.high - r.low for r in ranges)


class _Guards:
    def __init__(self, tensors: Mapping[str, Tensor]) -> None:
        self.tensors = tensors

    def go(self, e: Expr, facts: Facts, path: tuple[IntExpr, ...], op: str | None) -> Expr:
        if isinstance(e, Load):
            return self.load(e, facts, path, op)
        if isinstance(e, Reduce):
            hidden = {a.name for a in e.axes}
            inner = tuple(p for p in path if not hidden & p.free())
            body = self.go(e.body, _within(facts, e.axes), inner, e.op)
            return replace(e, body=body, divisor=None if e.divisor is None else self.go(e.divisor, facts, path, op))
        if isinstance(e, Where):
            kept = [c for c in _all(e.cond) if not _certain(c, facts.with_known(path))]
            if not kept:
                return self.go(e.a, facts, path, op)
            cond = all_of(kept)
            return Where(
                self.go(cond, facts, path, op),
                self.go(e.a, facts, path + tuple(holds(e.cond, True)), op),
                self.go(e.b, facts, path + tuple(holds(e.cond, False)), op),
            )
        return rebuild(e, lambda x: self.go(x, facts, path, op))

    def load(self, e: Load, facts: Facts, path: tuple[IntExpr, ...], op: str | None) -> Expr:
        shape = self.tensors[e.tensor].shape
        indices = tuple(Gather(self.gathered(i.load, facts)) if isinstance(i, Gather) else i for i in e.indices)
        out = [d for d, i in enumerate(indices) if isinstance(i, IntExpr) and not _inside(i, shape[d], facts)]
        plain = replace(e, indices=indices, guarded=(), outside=None)
        if not out:
            return plain
        wanted = e.outside if e.guarded else None
        if op is not None and wanted in (None, OUTSIDE[op]):  # type: ignore[index]
            return replace(plain, guarded=tuple(out), outside=OUTSIDE[op])  # type: ignore[index]
        known = facts.with_known(path)
        if all(_inside(i, shape[d], known) for d, i in enumerate(indices) if d in out and isinstance(i, IntExpr)):
            return replace(plain, guarded=tuple(out), outside=0.0 if op is None else OUTSIDE[op])  # type: ignore[index]
        conditions: list[Expr] = []
        for d in out:
            i = indices[d]
            assert isinstance(i, IntExpr)
            conditions += [] if known.nonnegative(i) else [compare("ge", i, const(0))]
            conditions += [] if known.less(i, shape[d]) else [compare("lt", i, shape[d])]
        safe = replace(plain, guarded=tuple(out), outside=0.0 if op is None else OUTSIDE[op])  # type: ignore[index]
        return Where(all_of(conditions), safe, num(wanted or 0))

    def gathered(self, e: Load, facts: Facts) -> Load:
        """The load of a gather's index: 0, an index that is always there, where it is read outside its tensor."""
        pairs = list(zip(e.indices, self.tensors[e.tensor].shape, strict=True))
        out = tuple(d for d, (i, n) in enumerate(pairs) if isinstance(i, IntExpr) and not _inside(i, n, facts))
        return replace(e, guarded=out, outside=0.0 if out else None)


def _all(cond: Expr) -> list[Expr]:
    return _all(cond.a) + _all(cond.b) if isinstance(cond, Logic) and cond.op == "and" else [cond]


def _certain(cond: Expr, facts: Facts) -> bool:
    """Whether a comparison of integers is proved to hold."""
    if not isinstance(cond, Compare) or cond.op in ("eq", "ne"):
        return False
    needed = holds(cond, True)
    return bool(needed) and all(facts.nonnegative(e) for e in needed)


def _inside(i: IntExpr, extent: IntExpr, facts: Facts) -> bool:
    return facts.nonnegative(i) and facts.less(i, extent)


# names --------------------------------------------------------------------------------------------------------------


def prettify(body: Sequence[Stmt], taken: frozenset[str], loops: frozenset[str] = frozenset()) -> tuple[Stmt, ...]:
    """The statements with axes named without numbers, as far as they differ from ``taken`` and from each other."""
    out: list[Stmt] = []
    for stmt in body:
        if isinstance(stmt, For):
            out.append(replace(stmt, body=prettify(stmt.body, taken, loops | {stmt.var})))
            continue
        names: dict[str, IntExpr] = {}
        used = set(taken | loops)
        axes = []
        for a in stmt.axes:
            name = _unused(a.name.partition("~")[0], used)
            used.add(name)
            names[a.name] = sym(name)
            axes.append(Bound(name, a.extent))
        indices = tuple(substitute_index(i, names) for i in stmt.indices)
        value = _named(substitute(stmt.value, names), frozenset(taken | loops))
        out.append(Assign(stmt.tensor, indices, value, tuple(axes), span=stmt.span))
    return tuple(out)


def _named(e: Expr, taken: frozenset[str]) -> Expr:
    if not isinstance(e, Reduce):
        return rebuild(e, lambda x: _named(x, taken))
    outer = {n for n in free(e.body) if not any(n == a.name for a in e.axes)}
    used = set(taken) | {n for n in outer if "~" not in n}
    env: dict[str, IntExpr] = {}
    axes = []
    for a in e.axes:
        name = _unused(a.name.partition("~")[0], used)
        used.add(name)
        env[a.name] = sym(name)
        axes.append(Bound(name, a.extent))
    divisor = None if e.divisor is None else _named(e.divisor, taken)
    return replace(e, axes=tuple(axes), body=_named(substitute(e.body, env), taken), divisor=divisor)


def _unused(base: str, used: set[str]) -> str:
    if base not in used:
        return base
    k = 1
    while f"{base}{k}" in used:
        k += 1
    return f"{base}{k}"
