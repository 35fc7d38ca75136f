"""Polynomials in interned atoms: the arithmetic under the normal form.

A polynomial is a dict from monomials to rational coefficients; a monomial is a tuple of ``(atom, exponent)`` pairs, sorted.
Atoms are interned in a :class:`Table`: equal keys are the same object. What an atom means is in ``kind`` and ``data``:

========  ==========================================================================================================
sym       a size, an axis, a loop variable or an attribute, as a number
ld        an element of a tensor: ``(name, indices)``
prime     a prime number (or pi) under a root
exp       exp of one monomial
pow       a polynomial under a power that is not a natural number
fn        another function of polynomials, opaque
step      1 where a polynomial is positive, 0 where negative; where it is 0 is left open (a boundary)
gt, eq    the exact indicator that a polynomial is > 0, = 0
ge, ieq   the exact indicator that an integer expression is >= 0, = 0
sum       ``(bound names, inequalities, equalities, monomial)``
red       another reduction, opaque: ``(operator, bound names, inequalities, polynomial)``
========  ==========================================================================================================
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Final

from generator.spec.integer import Func, IntExpr, Sym

__all__ = ["Atom", "Budget", "Mono", "OutOfBudgetError", "Poly", "Table", "UnsupportedError", "atoms_of", "free_of", "order"]

_RANKS: Final = {
    "sum": 0,
    "red": 1,
    "exp": 2,
    "ld": 3,
    "fn": 4,
    "sym": 5,
    "pow": 6,
    "prime": 7,
    "step": 8,
    "gt": 9,
    "eq": 10,
    "ge": 11,
    "ieq": 12,
    "ifn": 5,
}
IDEMPOTENT: Final = frozenset({"step", "gt", "eq", "ge", "ieq"})


class UnsupportedError(Exception):
    """The normal form does not cover this; the answer is unknown."""


class OutOfBudgetError(Exception):
    """The budget was spent."""


@dataclass(slots=True)
class Budget:
    """How much may be spent: seconds from its creation, and terms of one polynomial."""

    seconds: float = 10.0
    terms: int = 20_000
    start: float = field(default_factory=time.process_time)

    def check(self) -> None:
        """Raise :class:`OutOfBudgetError` when the time is over."""
        if time.process_time() - self.start > self.seconds:
            raise OutOfBudgetError(f"the proof took more than {self.seconds:g} s")


class Atom:
    """One interned atom; compare by identity."""

    __slots__ = ("cache", "data", "free", "key", "kind", "rank")

    def __init__(self, kind: str, key: str, data: Any, free: frozenset[str]) -> None:
        self.kind = kind
        self.key = key
        self.data = data
        self.free = free
        self.rank = (_RANKS[kind], key)
        self.cache: Any = None

    def __repr__(self) -> str:
        return self.key

    def __lt__(self, other: Atom) -> bool:
        return self.rank < other.rank


Exp = Fraction | int
Mono = tuple[tuple[Atom, Exp], ...]
Poly = dict[Mono, Fraction]
_END: Final = ((99, ""), 0)


def order(m: Mono) -> tuple[Any, ...]:
    """Sorts monomials, the largest (lexicographic on atoms by rank) first."""
    return (*((a.rank, -e) for a, e in m), _END)


def free_of(p: Poly) -> frozenset[str]:
    """The names a polynomial depends on."""
    return frozenset(n for m in p for a, _ in m for n in a.free)


def atoms_of(p: Poly) -> set[Atom]:
    """The atoms of a polynomial, those inside atoms not."""
    return {a for m in p for a, _ in m}


def key_of(p: Poly) -> str:
    """The canonical text of a polynomial."""
    return "+".join(f"{c}*{mono_key(m)}" for m, c in sorted(p.items(), key=lambda t: order(t[0]))) or "0"


def mono_key(m: Mono) -> str:
    """The canonical text of a monomial."""
    return "*".join(f"{a.key}^{e}" if e != 1 else a.key for a, e in m)


def names_of(e: IntExpr) -> frozenset[str]:
    """The symbols of an integer expression; an element of an integer tensor counts as the names of its indices."""
    return e.free()


class Table:
    """The atoms of one proof, and the map of integer symbols that stand for elements of integer tensors."""

    def __init__(self) -> None:
        self.atoms: dict[str, Atom] = {}
        self.gathers: dict[str, Atom] = {}
        self.discrete: set[str] = set()  # tensors of integers or booleans
        self.reals: set[str] = set()  # float attributes
        self.literals: dict[str, str] = {}  # decimals that were read as the constants they round, and those
        self.states: set[str] = set()  # tensors carried by loops; their elements depend on the name "!" + tensor
        self.learn: Callable[[str, str], None] = lambda tensor, name: None  # told of each new gathered element
        self.counter = 0

    def intern(self, kind: str, key: str, make: Callable[[], tuple[Any, frozenset[str]]]) -> Atom:
        """The atom with this key; ``make`` gives data and free names of a new one."""
        found = self.atoms.get(key)
        if found is None:
            data, free = make()
            found = self.atoms[key] = Atom(kind, key, data, free)
        return found

    def fresh(self, name: str) -> str:
        """A name nobody else has, for a bound axis."""
        self.counter += 1
        return f"{name.split('#')[0].lstrip('$')}#{self.counter}"

    # integers ---------------------------------------------------------------------------------------------------
    def free_int(self, e: IntExpr) -> frozenset[str]:
        """The names an integer expression depends on, through elements of integer tensors too."""
        out: set[str] = set()
        for name in e.free():
            gathered = self.gathers.get(name)
            if gathered is not None:
                out |= gathered.free
            out.add(name)
        return frozenset(out)

    def sym(self, name: str) -> Atom:
        """A named number."""
        if name in self.gathers:
            return self.gathers[name]
        return self.intern("sym", name, lambda: (name, frozenset((name,))))

    def load(self, tensor: str, indices: tuple[IntExpr, ...]) -> Atom:
        """An element of a tensor."""
        key = f"{tensor}[{','.join(str(i) for i in indices)}]"
        own = frozenset((f"!{tensor}",)) if tensor in self.states else frozenset()
        return self.intern("ld", key, lambda: ((tensor, indices), own.union(*map(self.free_int, indices))))

    def gather(self, tensor: str, indices: tuple[IntExpr, ...]) -> str:
        """The integer symbol that stands for an element of an integer tensor."""
        atom = self.load(tensor, indices)
        name = f"<{atom.key}>"
        if name not in self.gathers:
            self.gathers[name] = atom
            self.learn(tensor, name)
        return name

    def quotient(self, e: IntExpr) -> Atom:
        """An integer expression that is no polynomial, as one atom."""
        return self.intern("ifn", f"int({e})", lambda: (e, self.free_int(e)))

    def integer(self, e: IntExpr) -> Poly:
        """An integer expression as a polynomial."""
        out: Poly = {}
        for m, c in e.terms:
            factors: dict[Atom, Exp] = {}
            for a, p in m:
                if isinstance(a, Sym):
                    atom = self.sym(a.name)
                elif isinstance(a, Func):
                    one = IntExpr((((((a, 1)),), 1),))
                    atom = self.quotient(one)
                else:
                    raise UnsupportedError("an element count as a value")
                factors[atom] = factors.get(atom, 0) + p
            mono = tuple(sorted(factors.items(), key=lambda t: t[0].rank))
            out[mono] = out.get(mono, Fraction(0)) + c
        return {m: c for m, c in out.items() if c}


def merge(a: Mono, b: Mono) -> Mono:
    """The product of two monomials, without rewriting."""
    if not a:
        return b
    if not b:
        return a
    out = dict(a)
    for atom, e in b:
        total = out.get(atom, 0) + e
        if total:
            out[atom] = total
        else:
            del out[atom]
    return tuple(sorted(out.items(), key=lambda t: t[0].rank))


def total(parts: Iterable[Poly]) -> Poly:
    """The sum of polynomials."""
    out: Poly = {}
    for p in parts:
        for m, c in p.items():
            s = out.get(m, 0) + c
            if s:
                out[m] = Fraction(s)
            else:
                out.pop(m, None)
    return out


def scale(p: Poly, by: Fraction | int) -> Poly:
    """A polynomial times a number."""
    return {m: c * by for m, c in p.items()} if by else {}


def constant(p: Poly) -> Fraction | None:
    """The value of a constant polynomial."""
    if not p:
        return Fraction(0)
    return p[()] if len(p) == 1 and () in p else None


def number(value: Fraction | int) -> Poly:
    """A constant."""
    return {(): Fraction(value)} if value else {}
