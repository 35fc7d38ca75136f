"""How long a formula is, and the derived gradient of a case beside what people write."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import replace
from functools import cache

from generator.formula import ir
from generator.formula.infer import children
from generator.spec.integer import IntExpr
from generator.symbolic.derive import Derived, derive
from tests.audit.corpus import Case, Text, forward_of, gradient_of, texts

__all__ = ["derived", "length", "shortest"]

_FREE = (ir.Num, ir.Attr, ir.IntVal, ir.Load)


def _nodes(e: ir.Expr) -> int:
    """Arithmetic and elementary operations of an element; a reduction counts its body once."""
    own = 0 if isinstance(e, (*_FREE, ir.Cast)) else 1
    return own + sum(_nodes(c) for c in children(e))


def length(program: ir.Program) -> float:
    """Operations for each element of the outputs: those of every statement, by its share of elements where all sizes are 8."""
    sizes = {**dict.fromkeys(program.dims, 8), **dict.fromkeys(program.int_attrs, 2)}

    def elements(extents: Iterable[IntExpr]) -> int:
        return math.prod(max(1, e.evaluate(sizes)) for e in extents)

    def of(body: Iterable[ir.Stmt]) -> int:
        total = 0
        for s in body:
            total += of(s.body) if isinstance(s, ir.For) else _nodes(s.value) * elements(a.extent for a in s.axes if a.extent is not None)
        return total

    return of(program.body) / max(1, sum(elements(t.shape) for t in program.outputs))


@cache
def _read(text: Text) -> frozenset[str]:
    return frozenset(t.name for t in gradient_of(text).inputs)


def derived(case: Case, text: Text) -> Derived:
    """The derived gradients of ``case``, from the forward tensors that ``text`` reads."""
    forward = forward_of(case)
    cotangents = {of: n for n, of in case.data["cotangents"].items()}
    saved = {of: n for n in _read(text) for of in [case.data.get("saved", {}).get(n, n)] if of in forward.tensors}
    saved = {of: n for of, n in saved.items() if forward.tensors[of].role != "input"}
    names = {of: n for n, of in case.data["gradients"].items()}
    return derive(forward, list(names), cotangents, saved, names=names)


def shortest(case: Case) -> tuple[Text, float]:
    """The shortest right text of ``case`` and its length."""
    sound = [replace(t) for t in texts(case) if t.role in ("right", "rewrite")]
    return min(((t, length(gradient_of(t))) for t in sound), key=lambda p: p[1])
