"""Proves that two programs compute the same, for all sizes, attributes and inputs, or says that it does not know."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from generator.formula import ir
from generator.spec.integer import IntExpr, sym
from generator.symbolic.affine import Facts
from generator.symbolic.certificate import Certificate, Identity, Proved, Unknown
from generator.symbolic.induct import First, Second
from generator.symbolic.ring import Ring
from generator.symbolic.sums import Sums
from generator.symbolic.terms import Budget, OutOfBudgetError, Poly, Table, UnsupportedError
from generator.symbolic.zero import Zero

__all__ = ["Budget", "Proved", "Unknown", "prove", "size_facts"]


def size_facts(*programs: ir.Program) -> list[IntExpr]:
    """No tensor is empty: every dim is at least 1, and so is every extent made of dims and attributes."""
    out: dict[str, IntExpr] = {}
    for p in programs:
        for d in p.dims:
            out.setdefault(d, sym(d) - 1)
        for t in p.tensors.values():
            for e in t.shape:
                if e.value is None:
                    out.setdefault(e.key(), e - 1)
    return list(out.values())


def prove(
    a: ir.Program,
    b: ir.Program,
    outputs: Sequence[tuple[str, str]],
    facts: Iterable[IntExpr] | None = None,
    budget: Budget | None = None,
    positive: Iterable[str] = (),
) -> Proved | Unknown:
    """Whether output ``x`` of ``a`` equals output ``y`` of ``b`` for each ``(x, y)``, element by element.

    Both programs have the same inputs, sizes and attributes. ``facts`` are integer expressions known to be >= 0 (without
    them: no tensor is empty); ``positive`` names float attributes known to be > 0. Never raises for what it cannot do."""
    try:
        work = _Prover(a, b, list(facts) if facts is not None else size_facts(a, b), budget or Budget(), frozenset(positive))
        return work.run(outputs)
    except UnsupportedError as e:
        return Unknown(str(e))
    except OutOfBudgetError as e:
        return Unknown(str(e), budget=True)
    except RecursionError:
        return Unknown("the formula is nested too deeply")


class _Prover:
    def __init__(self, a: ir.Program, b: ir.Program, facts: list[IntExpr], budget: Budget, positive: frozenset[str]) -> None:
        self.table = Table()
        self.facts = Facts(facts)
        self.given = facts
        self.ring = Ring(self.table, self.facts, budget, positive)
        self.sums = Sums(self.ring)
        self.zero = Zero(self.sums)
        self.a = First(a, self.sums, "A")
        self.b = Second(b, self.sums, "B", self.a, self.zero)
        self._gathered(a, b)

    def _gathered(self, *programs: ir.Program) -> None:
        """Elements of integer tensors used as indices are inside the dims they index."""
        ranges: dict[str, set[IntExpr]] = {}
        for p in programs:
            for load in _loads(p.body):
                for d, at in enumerate(load.indices):
                    if isinstance(at, ir.Gather) and d not in load.guarded:
                        ranges.setdefault(at.load.tensor, set()).add(p.tensors[load.tensor].shape[d])

        def learn(tensor: str, name: str) -> None:
            for extent in sorted(ranges.get(tensor, ()), key=IntExpr.key):
                self.facts.add(sym(name))
                self.facts.add(extent - 1 - sym(name))

        self.table.learn = learn

    def run(self, outputs: Sequence[tuple[str, str]]) -> Proved | Unknown:
        self.a.block(self.a.program.body, {})
        self.b.block(self.b.program.body, {})
        identities = []
        for x, y in outputs:
            found = self.same(x, y)
            if isinstance(found, Unknown):
                return found
            identities.append(found)
        boundaries = tuple(sorted(k for k in self.ring.boundaries if "#" not in k))
        divisors = tuple(sorted({re.sub(r"#\d+", "", k) for k in self.ring.divisors if "@" not in k}))
        return Proved(
            Certificate(
                tuple(identities),
                tuple(self.b.found),
                boundaries,
                divisors,
                tuple(f"{e} >= 0" for e in self.given),
                tuple(s for s in self.sums.closed if s not in {y for i in self.b.found for _, y in i.pairs}),
                tuple(sorted(self.table.literals.items())),
            )
        )

    def same(self, x: str, y: str) -> Identity | Unknown:
        """One output of each program."""
        tx, ty = self.a.program.tensors[x], self.b.program.tensors[y]
        if tx.shape != ty.shape:
            return Unknown(f"the shapes of {x} and {y} differ")
        at = tuple(sym(f"@{d}") for d in range(len(tx.shape)))
        for i, s in zip(at, tx.shape, strict=True):
            self.facts.add(i)
            self.facts.add(s - 1 - i)
        left, right = self.a.read(x, at), self.b.read(y, at)
        if any(a.kind == "ld" and a.data[0] == "inf#" for p in (left, right) for m in p for a, _ in m):
            return Unknown("an infinity is left in the result")
        if not self.b.equal(left, right):
            return Unknown(f"the normal forms of {x} and {y} differ: {_text(self.ring.sub(left, right))}")
        atoms = sorted({repr(a) for p in (left, right) for m in p for a, _ in m})
        return Identity(x, y, tuple(atoms), (len(left), len(right)))


def _text(p: Poly) -> str:
    parts = [f"{c}*{'*'.join(f'{a}^{e}' for a, e in m)}" for m, c in list(p.items())[:6]]
    return " + ".join(parts) + (" + ..." if len(p) > 6 else "")


def _loads(node: object) -> Iterable[ir.Load]:
    """Every load in a statement list or expression."""
    from dataclasses import fields, is_dataclass

    if isinstance(node, tuple):
        for x in node:
            yield from _loads(x)
    elif is_dataclass(node) and type(node).__module__ == ir.__name__:
        if isinstance(node, ir.Load):
            yield node
        for f in fields(node):
            yield from _loads(getattr(node, f.name))
