"""Sums of products of powers: the algebra in which gradients are gathered, cancelled and factored.

A :class:`Terms` maps a monomial (sorted keys with exponents) to its rational coefficient; the expressions behind the keys
are kept beside. ``read`` keeps sums inside products as they are (or multiplies them out when asked to), takes what does not
depend on a sum's axes out of it, and ``write`` gives a short expression back.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from math import isfinite
from typing import Final

from generator.formula.ir import Attr, Binary, Bound, Call, Compare, Expr, IntVal, Load, Logic, Neg, Num, Reduce, Where
from generator.spec.integer import IntExpr, product, sym
from generator.symbolic.build import ONE, ZERO, free, rebuild, substitute
from generator.symbolic.keys import key, tame
from generator.symbolic.relations import Relation

__all__ = ["Algebra", "Monomial", "Terms", "TooLargeError"]

Monomial = tuple[tuple[str, int], ...]
_LIMIT: Final = 400
_BUDGET: Final = 400_000
_EXPANDED: Final = 80_000
_MARKS: Final = (", 1.0, 0.0)", ", 0.0, 1.0)")  # how the keys of conditions as factors end


class TooLargeError(Exception):
    """An expansion was given up."""


@dataclass
class Terms:
    """A polynomial: coefficients by monomial, in order of appearance."""

    of: dict[Monomial, Fraction] = field(default_factory=dict)

    def add(self, m: Monomial, c: Fraction) -> None:
        total = self.of.get(m, Fraction(0)) + c
        if total:
            self.of[m] = total
        else:
            self.of.pop(m, None)

    @property
    def constant(self) -> Fraction | None:
        """The value when there is nothing but a constant."""
        if not self.of:
            return Fraction(0)
        return self.of.get(()) if len(self.of) == 1 else None


def times(a: Monomial, b: Monomial, power: int = 1) -> Monomial:
    """``a * b**power``; a condition counts once."""
    out = dict(a)
    for k, p in b:
        out[k] = out.get(k, 0) + p * power
    return tuple(sorted((k, min(p, 1) if k.startswith("Where(") and k.endswith(_MARKS) else p) for k, p in out.items() if p))


class Algebra:
    """Reads and writes expressions. ``expand`` multiplies sums out; ``unfold`` may replace a load by its definition."""

    def __init__(
        self, *, expand: bool = False, unfold: Callable[[Load], Expr | None] | None = None, relations: Sequence[Relation] = ()
    ) -> None:
        self.bases: dict[str, Expr] = {}
        self.expand = expand
        self.unfold = unfold
        self.relations = relations
        self.order: dict[str, int] = {}
        self.merged = 0
        self.spent = 0  # characters of keys: a measure of work that is the same everywhere
        self.budget = _EXPANDED if expand else _BUDGET

    # reading ----------------------------------------------------------------------------------------------------
    def atom(self, e: Expr) -> Monomial:
        k = key(e)
        self.spent += len(k)
        if self.spent > self.budget:
            raise TooLargeError
        self.bases.setdefault(k, e)
        self.order.setdefault(k, len(self.order))
        return ((k, 1),)

    def single(self, m: Monomial, c: Fraction = Fraction(1)) -> Terms:
        return Terms({m: c}) if c else Terms()

    def read(self, e: Expr) -> Terms:
        """``e`` as a polynomial."""
        match e:
            case Num(value=value):
                return self.single((), Fraction(str(value))) if isfinite(value) else self.single(self.atom(e))
            case IntVal(value=value):
                return self.integer(value)
            case Neg(x=x):
                return self.scaled(self.read(x), Fraction(-1))
            case Binary(op=op) if op in ("add", "sub"):
                out = Terms(dict(self.read(e.a).of))
                for m, c in self.read(e.b).of.items():
                    out.add(m, c if op == "add" else -c)
                return self.limited(out)
            case Binary(op="mul"):
                return self.multiply(self.read(e.a), self.read(e.b))
            case Binary(op="div"):
                return self.multiply(self.read(e.a), self.power(self.read(e.b), -1))
            case Binary(op="pow"):
                return self.raised(e)
            case Call(fn=fn) if fn in ("square", "reciprocal"):
                return self.power(self.read(e.args[0]), 2 if fn == "square" else -1)
            case Call(fn=fn) if fn in ("sqrt", "rsqrt"):
                root = self.atom(Call("sqrt", (self.simple(e.args[0]),)))
                return self.single(root if fn == "sqrt" else times((), root, -1))
            case Call(fn="exp") if self.expand:
                return self.exponential(e)
            case Reduce(op=op) if op == "sum" or (op == "mean" and e.divisor is None):
                return self.sum(e)
            case Load() if self.unfold is not None:
                inner = self.unfold(e)
                return self.single(self.atom(e)) if inner is None else self.read(inner)
            case Where():
                return self.where(e)
        return self.single(self.atom(rebuild(e, self.simple)))

    def simple(self, e: Expr) -> Expr:
        """``e`` in short form."""
        return self.write(self.read(e)) if not isinstance(e, Compare | Logic | Attr) else rebuild(e, self.simple)

    def integer(self, value: IntExpr) -> Terms:
        out = Terms()
        for mono, c in value.terms:
            m: Monomial = ()
            for a, p in mono:
                m = times(m, self.atom(IntVal(IntExpr(((((a, 1),), 1),)))), p)
            out.add(m, Fraction(c))
        return out

    def scaled(self, t: Terms, c: Fraction) -> Terms:
        return Terms({m: x * c for m, x in t.of.items()}) if c else Terms()

    def limited(self, t: Terms) -> Terms:
        if len(t.of) > _LIMIT:
            raise TooLargeError
        return t

    def multiply(self, a: Terms, b: Terms) -> Terms:
        if not a.of or not b.of:
            return Terms()
        if self.expand or a.constant is not None or b.constant is not None:
            if len(a.of) * len(b.of) > _LIMIT:
                raise TooLargeError
            out = Terms()
            for m, c in a.of.items():
                for n, d in b.of.items():
                    out.add(times(m, n), c * d)
            return out
        (m, c), (n, d) = self.one(a), self.one(b)
        return self.single(times(m, n), c * d)

    def one(self, t: Terms) -> tuple[Monomial, Fraction]:
        """A polynomial as one product: its content times what is left as a factor."""
        if len(t.of) == 1:
            return next(iter(t.of.items()))
        content = _content(t)
        common = _common(t)
        rest = Terms({times(m, common, -1): c / content for m, c in t.of.items()})
        return times(common, self.atom(self.write(rest, factor=False))), content

    def power(self, t: Terms, p: int) -> Terms:
        if self.expand and p > 1 and len(t.of) > 1:
            out = t
            for _ in range(p - 1):
                out = self.multiply(out, t)
            return out
        if not t.of:
            return self.single(times((), self.atom(Num(0, "0")), p)) if p < 0 else Terms()
        m, c = self.one(t)
        logistic = _logistic(self, t) if p < 0 else None
        if logistic is not None:
            return self.single(times((), self.atom(Call("sigmoid", (logistic,))), -p))
        if p < 0 and any(k.endswith(_MARKS) for k, _ in m):
            m = self.atom(self.write(self.single(m)))
        return self.single(times((), m, p), c**p)

    def raised(self, e: Binary) -> Terms:
        exponent = self.read(e.b).constant
        if exponent is not None and exponent.denominator == 1 and abs(exponent) <= 64:
            return self.power(self.read(e.a), int(exponent)) if exponent else self.single(())
        return self.single(self.atom(Binary("pow", self.simple(e.a), self.simple(e.b))))

    def exponential(self, e: Call) -> Terms:
        """``exp`` of a sum, its logarithms as factors."""
        rest = Terms()
        out = self.single(())
        for m, c in self.read(e.args[0]).of.items():
            base = self.bases[m[0][0]] if len(m) == 1 and m[0][1] == 1 else None
            if isinstance(base, Call) and base.fn == "log" and c.denominator == 1:
                out = self.multiply(out, self.power(self.read(base.args[0]), int(c)))
            else:
                rest.add(m, c)
        return self.multiply(out, self.single(self.atom(Call("exp", (self.write(rest),))))) if rest.of else out

    def where(self, e: Where) -> Terms:
        a, b = self.read(e.a), self.read(e.b)
        if a.of == b.of:
            return a
        cond = rebuild(e.cond, self.simple)
        for t, other, truth in ((a, b, True), (b, a, False)):
            if not other.of:
                return self.multiply(t, self.single(self.indicator(cond, truth)))
        return self.single(self.atom(Where(cond, self.write(a), self.write(b))))

    def indicator(self, cond: Expr, truth: bool) -> Monomial:
        """1 where the condition holds (or where it does not), else 0."""
        if isinstance(cond, Logic) and cond.op == "and" and truth and self.expand:
            return times(self.indicator(cond.a, True), self.indicator(cond.b, True))
        return self.atom(Where(cond, ONE, ZERO) if truth else Where(cond, ZERO, ONE))

    # sums -------------------------------------------------------------------------------------------------------
    def sum(self, e: Reduce) -> Terms:
        """A sum, with what does not depend on its axes outside and each unused axis as a factor."""
        body = self.read(e.body)
        out = Terms()
        if self.expand or len(body.of) <= 1:
            for m, c in body.of.items():
                self.put_sum(out, m, c, e.axes)
        else:
            m, c = self.one(body)
            self.put_sum(out, m, c, e.axes)
        if e.op == "mean":
            size = product(a.extent for a in e.axes if a.extent is not None)
            return self.multiply(out, self.power(self.integer(size), -1))
        return self.limited(out)

    def put_sum(self, out: Terms, m: Monomial, c: Fraction, axes: tuple[Bound, ...]) -> None:
        names = {a.name for a in axes}
        m, c = self.related(m, c)
        if self.expand:
            m, axes = self.flat(m, axes)
            names = {a.name for a in axes}
        held = any(k.startswith("Where(") and k.endswith(_MARKS) and free(self.bases[k]) & names for k, _ in m)
        inside = tuple((k, p) for k, p in m if self.stays(self.bases[k], names) or (held and not (p > 0 and tame(self.bases[k]))))
        outside = tuple((k, p) for k, p in m if (k, p) not in inside)
        used = set().union(*(free(self.bases[k]) for k, _ in inside)) if inside else set()
        kept = tuple(a for a in axes if a.name in used)
        for a in axes:
            if a.name not in used and a.extent is not None:
                size = self.integer(a.extent)
                n, d = self.one(size)
                outside, c = times(outside, n), c * d
        if not kept:
            out.add(times(outside, inside), c)
            return
        for group, factors in self.groups(inside, kept):
            outside = times(outside, self.summed(group, factors, names))
        out.add(outside, c)

    def flat(self, m: Monomial, axes: tuple[Bound, ...]) -> tuple[Monomial, tuple[Bound, ...]]:
        """Sums inside a sum, which depend on its axes, as one sum."""
        for k, p in m:
            inner = self.bases[k]
            if p != 1 or not isinstance(inner, Reduce) or inner.op != "sum" or not free(inner) & {a.name for a in axes}:
                continue
            self.merged += 1
            names = {a.name: sym(f"{a.name}+{self.merged}") for a in inner.axes}
            body = self.read(substitute(inner.body, names))
            if len(body.of) != 1:
                continue
            ((n, c),) = body.of.items()
            if c != 1:
                continue
            new = tuple(Bound(names[a.name].symbol or "", a.extent) for a in inner.axes)
            return self.flat(times(times(m, ((k, 1),), -1), n), (*axes, *new))
        return m, axes

    def groups(self, inside: Monomial, axes: tuple[Bound, ...]) -> list[tuple[tuple[Bound, ...], Monomial]]:
        """The factors under a sum by the axes they share: a sum of independent factors is a product of sums."""
        left = [({a.name for a in axes} & free(self.bases[k]), (k, p)) for k, p in inside]
        out: list[tuple[tuple[Bound, ...], Monomial]] = []
        while left:
            names, first = left.pop(0)
            factors = [first]
            while True:
                more = [f for f in left if f[0] & names or not f[0] or not names]
                if not more:
                    break
                left = [f for f in left if f not in more]
                names = names.union(*(f[0] for f in more))
                factors += [f[1] for f in more]
            out.append((tuple(a for a in axes if a.name in names), tuple(sorted(factors))))
        return out

    def summed(self, axes: tuple[Bound, ...], factors: Monomial, names: set[str]) -> Monomial:
        """The sum of a product."""
        term = self.write(self.single(factors))
        if isinstance(term, Reduce) and term.op == "sum" and not {a.name for a in term.axes} & names:
            term = Reduce("sum", (*axes, *term.axes), term.body)
        else:
            term = Reduce("sum", axes, term)
        return self.atom(term)

    def stays(self, e: Expr, names: set[str]) -> bool:
        """Whether a factor stays under a sum over ``names``: it depends on them, or its guard needs the sum."""
        return bool(free(e) & names) or (isinstance(e, Load) and bool(e.guarded)) or any(x.guarded for x in _outer_loads(e))

    # writing ----------------------------------------------------------------------------------------------------
    def write(self, t: Terms, *, factor: bool = True) -> Expr:
        """A short expression of the polynomial; common factors are taken out greedily."""
        from generator.symbolic.factor import written  # local: the two modules call each other

        if self.relations:
            old, t = t, Terms()
            for m, c in old.of.items():
                t.add(*self.related(m, c))
        return written(self, t, factor)

    def related(self, m: Monomial, c: Fraction) -> tuple[Monomial, Fraction]:
        """The monomial with products that have a name replaced by it."""
        for relation in self.relations if len(m) > 1 else ():
            for pattern, name in relation.instances([self.bases[k] for k, _ in m]):
                plain = Algebra()
                terms = plain.read(pattern)
                if len(terms.of) != 1:
                    continue
                ((wanted, scale),) = terms.of.items()
                have = dict(m)
                if len(wanted) > 1 and all(have.get(k, 0) * (1 if p > 0 else -1) >= abs(p) for k, p in wanted):
                    return self.related(times(times(m, wanted, -1), self.atom(name)), c / scale)
        return m, c


def _logistic(a: Algebra, t: Terms) -> Expr | None:
    """``z`` when ``t`` is ``1 + exp(-z)``."""
    if len(t.of) != 2 or t.of.get(()) != 1:
        return None
    ((m, c),) = [x for x in t.of.items() if x[0]]
    base = a.bases[m[0][0]]
    if c != 1 or len(m) != 1 or m[0][1] != 1 or not isinstance(base, Call) or base.fn != "exp":
        return None
    return a.simple(Neg(base.args[0]))


def _outer_loads(e: Expr) -> Iterable[Load]:
    """Loads that no reduction inside ``e`` encloses."""
    if isinstance(e, Load):
        yield e
    elif not isinstance(e, Reduce):
        for c in _parts(e):
            yield from _outer_loads(c)


def _parts(e: Expr) -> tuple[Expr, ...]:
    from generator.formula.infer import children

    return children(e)


def _content(t: Terms) -> Fraction:
    """The coefficient to take out: that of the first term when all are its multiples by -1 or 1, else its sign."""
    values = list(t.of.values())
    if all(abs(v) == abs(values[0]) for v in values):
        return values[0] if all(v < 0 for v in values) or values[0] > 0 else abs(values[0])
    return Fraction(-1 if all(v < 0 for v in values) else 1)


def _common(t: Terms) -> Monomial:
    """The factors that every term has."""
    shared: Mapping[str, int] | None = None
    for m in t.of:
        mine = dict(m)
        if shared is None:
            shared = mine
            continue
        shared = {k: (min(p, mine[k]) if p > 0 else max(p, mine[k])) for k, p in shared.items() if k in mine and (p > 0) == (mine[k] > 0)}
    return tuple(sorted((shared or {}).items()))
