"""What a case costs: evaluation points of the formula and elements of its tensors."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from generator.formula.ir import Bound, Expr, For, IntVal, Load, Program, Reduce, Stmt
from generator.formula.walk import children
from generator.spec.integer import IntExpr, const, product
from generator.twin.verify.shapes import numel_of

__all__ = ["cost", "elements", "points"]


def _names(expr: Expr) -> frozenset[str]:
    """Names of axes, sizes and loop variables that the value of ``expr`` depends on."""
    own: frozenset[str] = frozenset()
    if isinstance(expr, Load):
        own = frozenset().union(*(i.free() for i in expr.indices if isinstance(i, IntExpr)))
    elif isinstance(expr, IntVal):
        own = expr.value.free()
    inner = own.union(*map(_names, children(expr)))
    return inner - {b.name for b in expr.axes} if isinstance(expr, Reduce) else inner


def _extents(bounds: tuple[Bound, ...]) -> dict[str, IntExpr]:
    return {b.name: b.extent for b in bounds if b.extent is not None}


def _reductions(expr: Expr, axes: Mapping[str, IntExpr]) -> IntExpr:
    """Points of all reductions inside ``expr``: each runs over its own axes and the outer ones that its body uses."""
    total = const(0)
    if isinstance(expr, Reduce):
        axes = {**axes, **_extents(expr.axes)}
        used = _names(expr.body) | {b.name for b in expr.axes}
        total = product(extent for name, extent in axes.items() if name in used)
    for child in children(expr):
        total = total + _reductions(child, axes)
    return total


@dataclass(frozen=True)
class _Loop:
    """Points of a loop's body, for each of its trips."""

    loop: For
    body: _Points

    def evaluate(self, env: Mapping[str, int]) -> int:
        start, stop, step = self.loop.start.evaluate(env), self.loop.stop.evaluate(env), self.loop.step
        trips = max(0, -((start - stop) // step))
        return trips * max(self.body.evaluate({**env, self.loop.var: v}) for v in (start, stop - step))


@dataclass(frozen=True)
class _Points:
    """Evaluation points of a block as one polynomial in the sizes, beside its loops."""

    straight: IntExpr
    loops: tuple[_Loop, ...]

    def evaluate(self, env: Mapping[str, int]) -> int:
        return self.straight.evaluate(env) + sum(loop.evaluate(env) for loop in self.loops)


def _points(body: tuple[Stmt, ...]) -> _Points:
    straight, loops = const(0), []
    for stmt in body:
        if isinstance(stmt, For):
            loops.append(_Loop(stmt, _points(stmt.body)))
        else:
            axes = _extents(stmt.axes)
            straight = straight + product(axes.values()) + _reductions(stmt.value, axes)
    return _Points(straight, tuple(loops))


_KNOWN: Final[dict[int, tuple[Program, _Points]]] = {}  # by identity: programs hold a dict and have no hash


def _of(program: Program) -> _Points:
    known = _KNOWN.get(id(program))
    if known is None or known[0] is not program:
        if len(_KNOWN) >= 64:
            _KNOWN.clear()
        known = _KNOWN[id(program)] = (program, _points(program.body))
    return known[1]


def points(program: Program, env: Mapping[str, int]) -> int:
    """Evaluation points of the formula: those of every statement's axes and of its reductions, over all trips of loops."""
    return _of(program).evaluate(env)


def elements(program: Program, env: Mapping[str, int]) -> int:
    """Elements of all inputs and outputs."""
    return sum(numel_of(t, env) for t in (*program.inputs, *program.outputs))


def cost(program: Program, env: Mapping[str, int]) -> int:
    """What running and judging a case takes: evaluation points, and elements made, moved and compared."""
    return points(program, env) + elements(program, env)
