"""Polynomials back to expressions: factors taken out greedily, products with one division, means where a sum is divided."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING

from generator.formula.ir import Attr, Binary, Call, Expr, IntVal, Load, Num, Reduce, Where
from generator.spec.integer import IntExpr, const, product, sym
from generator.symbolic.build import ONE, ZERO, add, all_of, div, neg, sub, substitute
from generator.symbolic.keys import cost, tame

if TYPE_CHECKING:
    from generator.symbolic.algebra import Algebra, Monomial, Terms

__all__ = ["written"]


def written(algebra: Algebra, t: Terms, factor: bool) -> Expr:
    """The polynomial ``t`` as an expression."""
    return _Writer(algebra).sum(list(t.of.items()), factor)


class _Writer:
    def __init__(self, algebra: Algebra) -> None:
        self.algebra = algebra

    def sum(self, terms: Sequence[tuple[Monomial, Fraction]], factor: bool) -> Expr:
        if not terms:
            return ZERO
        terms = self.choices(terms)
        whole = self.integer(terms)
        if whole is not None:
            return whole
        if factor and len(terms) > 1:
            found = self.shared(terms)
            if found is not None:
                return self.factored(terms, found)
        if factor and len(terms) > 1:
            joined = self.one_sum(terms)
            if joined is not None:
                return self.sum(joined, True)
        out: Expr = ZERO
        ordered = sorted(terms, key=lambda t: t[1] < 0) if terms[0][1] < 0 and any(c > 0 for _, c in terms) else list(terms)
        for m, c in ordered:
            if out is ZERO:
                out = self.signed(m, c)
            else:
                piece = self.product(m, abs(c))
                out = sub(out, piece) if c < 0 else add(out, piece)
        return out

    def one_sum(self, terms: Sequence[tuple[Monomial, Fraction]]) -> Sequence[tuple[Monomial, Fraction]] | None:
        """Two sums over axes of the same extents as one, when that is shorter."""
        bases = self.algebra.bases
        sums = [t for t in terms if len(t[0]) == 1 and t[0][0][1] == 1 and isinstance(bases[t[0][0][0]], Reduce)]
        for at, x in enumerate(sums):
            for y in sums[at + 1 :]:
                a, b = bases[x[0][0][0]], bases[y[0][0][0]]
                if not isinstance(a, Reduce) or not isinstance(b, Reduce) or a.op != "sum" or b.op != "sum":
                    continue
                if [i.extent for i in a.axes] != [i.extent for i in b.axes] or _guards(a) or _guards(b):
                    continue
                names = {j.name: sym(i.name) for i, j in zip(a.axes, b.axes, strict=True)}
                body = self.mixed(a.body, x[1], substitute(b.body, names), y[1])
                if cost(body) + 1 < cost(a) + cost(b):
                    merged = (self.algebra.atom(Reduce("sum", a.axes, body)), Fraction(1))
                    return [merged if t is x else t for t in terms if t is not y]
        return None

    def mixed(self, x: Expr, c: Fraction, y: Expr, d: Fraction) -> Expr:
        """``c*x + d*y`` in short form."""
        from generator.symbolic.algebra import Terms

        t = Terms()
        for e, factor in ((x, c), (y, d)):
            for m, v in self.algebra.read(e).of.items():
                t.add(m, v * factor)
        return self.algebra.write(t)

    def choices(self, terms: Sequence[tuple[Monomial, Fraction]]) -> Sequence[tuple[Monomial, Fraction]]:
        """Terms that hold where a condition does, and terms that hold where it does not, as one choice."""
        bases = self.algebra.bases
        marks = {k for m, _ in terms for k, _ in m if _mark(bases[k]) == 1}
        for k in sorted(marks, key=lambda k: self.algebra.order[k]):
            here = bases[k]
            assert isinstance(here, Where)
            other = self.algebra.atom(Where(here.cond, ZERO, ONE))[0][0]
            yes = [(m, c) for m, c in terms if (k, 1) in m]
            no = [(m, c) for m, c in terms if (other, 1) in m]
            if not no:
                continue
            a = self.sum([(tuple(f for f in m if f[0] != k), c) for m, c in yes], True)
            b = self.sum([(tuple(f for f in m if f[0] != other), c) for m, c in no], True)
            merged = (self.algebra.atom(Where(here.cond, a, b)), Fraction(1))
            at = min(terms.index(yes[0]), terms.index(no[0]))
            rest = [t for t in terms if t not in yes and t not in no]
            terms = [*rest[:at], merged, *rest[at:]]
        return terms

    def integer(self, terms: Sequence[tuple[Monomial, Fraction]]) -> Expr | None:
        """The sum as one integer expression, when it is one that is not just a constant."""
        out = const(0)
        for m, c in terms:
            if c.denominator != 1:
                return None
            part = const(c.numerator)
            for k, p in m:
                base = self.algebra.bases[k]
                if not isinstance(base, IntVal) or p < 0:
                    return None
                for _ in range(p):
                    part = part * base.value
            out = out + part
        return None if out.value is not None else IntVal(out)

    def shared(self, terms: Sequence[tuple[Monomial, Fraction]]) -> tuple[str, int] | None:
        """The factor (or divisor) that is worth taking out of most terms."""
        count: dict[tuple[str, int], int] = {}
        for m, _ in terms:
            for k, p in m:
                sign = 1 if p > 0 else -1
                count[k, sign] = count.get((k, sign), 0) + 1
        chosen = [m for m, _ in terms if any(_mark(self.algebra.bases[k]) for k, _ in m)]
        many = {f: n for f, n in count.items() if n > 1 and self.may_leave(f, chosen)}
        if not many:
            return None
        order = self.algebra.order
        return max(many, key=lambda f: (many[f] * (1 + cost(self.algebra.bases[f[0]])), -order.get(f[0], 0)))

    def may_leave(self, f: tuple[str, int], chosen: Sequence[Monomial]) -> bool:
        """Whether a factor may stand outside the conditions of the terms it is in."""
        base = self.algebra.bases[f[0]]
        if _mark(base) or (f[1] > 0 and tame(base)):
            return True
        return not any(k == f[0] for m in chosen for k, _ in m)

    def factored(self, terms: Sequence[tuple[Monomial, Fraction]], at: tuple[str, int]) -> Expr:
        from generator.symbolic.algebra import times

        name, sign = at
        mine = [(m, c) for m, c in terms if any(k == name and (p > 0) == (sign > 0) for k, p in m)]
        rest = [t for t in terms if t not in mine]
        common: Monomial = ((name, sign),)
        left = [(times(m, common, -1), c) for m, c in mine]
        flip = all(c < 0 for _, c in left)
        size = abs(left[0][1])
        scale = size if all(abs(c) == size for _, c in left) else Fraction(1)
        inner = self.sum([(m, (-c if flip else c) / scale) for m, c in left], True)
        merged = self.joined(inner, common, scale)
        if not rest:
            return neg(merged) if flip else merged
        other = self.sum(rest, True)
        if flip:
            return sub(other, merged)
        first_is_mine = terms[0] in mine
        return add(merged, other) if first_is_mine else add(other, merged)

    def joined(self, inner: Expr, common: Monomial, scale: Fraction) -> Expr:
        """``scale * common * inner``, the sum last among factors."""
        from generator.symbolic.algebra import Algebra

        del Algebra
        ((name, sign),) = common
        k = self.algebra.atom(inner)[0][0]
        if isinstance(inner, Binary) and inner.op in ("mul", "div"):
            # a product again: read it as one, so that divisors meet
            t = self.algebra.read(inner)
            if len(t.of) == 1:
                from generator.symbolic.algebra import times

                m, c = next(iter(t.of.items()))
                return self.signed(times(m, ((name, sign),)), c * scale)
        return self.signed(tuple(sorted([(k, 1), (name, sign)])) if k != name else ((k, 1 + sign),), scale)

    def signed(self, m: Monomial, c: Fraction) -> Expr:
        if c < 0 and abs(c) != 1 and _literals(abs(c))[0] != 1:
            return self.product(m, c)
        out = self.product(m, abs(c))
        return neg(out) if c < 0 else out

    # products ---------------------------------------------------------------------------------------------------
    def product(self, m: Monomial, c: Fraction) -> Expr:
        """``c * m``; a negative ``c`` has a literal of its own to carry the sign."""
        conditions = [self.algebra.bases[k] for k, _ in sorted(m, key=lambda f: self.algebra.order[f[0]]) if _mark(self.algebra.bases[k])]
        if conditions:
            return self.chosen(conditions, tuple(f for f in m if not _mark(self.algebra.bases[f[0]])), c)
        m = self.one_exponential(m)
        over: list[Expr] = []
        under: list[Expr] = []
        sizes_over, sizes_under = const(1), const(1)
        for k, p in sorted(m, key=lambda f: self.place(f[0])):
            base = self.algebra.bases[k]
            if isinstance(base, IntVal) and len(base.value.terms) == 1:
                grown = product([base.value] * abs(p))
                sizes_over, sizes_under = (sizes_over * grown, sizes_under) if p > 0 else (sizes_over, sizes_under * grown)
            elif isinstance(base, Call) and base.fn == "sqrt":
                self.root(base, p, over, under)
            else:
                (over if p > 0 else under).append(_power(base, abs(p)))
        sizes_under = self.mean(over, sizes_under)
        before, after = _literals(c)
        if sizes_over != const(1):
            over.insert(0, IntVal(sizes_over))
        if before != 1 or not over:
            over.insert(0, _literal(before))
        if sizes_under != const(1):
            under.append(IntVal(sizes_under))
        if after != 1:
            under.append(_literal(after))
        top = _chain(over)
        return div(top, _chain(under)) if under else top

    def one_exponential(self, m: Monomial) -> Monomial:
        """The product of exponentials as that of a sum."""
        from generator.symbolic.algebra import Terms, times

        calls = {k: self.algebra.bases[k] for k, _ in m}
        found = [(k, p) for k, p in m for e in [calls[k]] if isinstance(e, Call) and e.fn == "exp"]
        if len(found) < 2:
            return m
        total = Terms()
        for k, p in found:
            call = self.algebra.bases[k]
            assert isinstance(call, Call)
            for n, c in self.algebra.read(call.args[0]).of.items():
                total.add(n, c * p)
        rest = tuple(f for f in m if f not in found)
        return times(rest, self.algebra.atom(Call("exp", (self.sum(list(total.of.items()), True),)))) if total.of else rest

    def chosen(self, conditions: Sequence[Expr], m: Monomial, c: Fraction) -> Expr:
        """The product where all conditions hold, else 0."""
        out = self.signed(m, c)
        holding = [e.cond for e in conditions if isinstance(e, Where) and _mark(e) == 1]
        for e in conditions:
            if isinstance(e, Where) and _mark(e) == -1:
                out = Where(e.cond, ZERO, out)
        return Where(all_of(holding), out, ZERO) if holding else out

    def mean(self, over: list[Expr], under: IntExpr) -> IntExpr:
        """Turn a sum that is divided by its size into a mean; what is left of the divisor."""
        from generator.formula.infer import divided

        if under == const(1):
            return under
        for at, e in enumerate(over):
            if isinstance(e, Reduce) and e.op == "sum" and not _guards(e.body):
                size = product(a.extent for a in e.axes if a.extent is not None)
                left = divided(under, size)
                if left is not None:
                    over[at] = Reduce("mean", e.axes, e.body)
                    return left
        return under

    def root(self, base: Call, p: int, over: list[Expr], under: list[Expr]) -> None:
        """A power of a square root: even powers have none, negative ones are reciprocal roots."""
        if p % 2 == 0 and (p > 0 or not cost(base.args[0])):
            (over if p > 0 else under).append(_power(base.args[0], abs(p) // 2))
        elif p > 0:
            over.append(_power(base, p))
        else:
            over.append(_power(Call("rsqrt", base.args), -p))

    def place(self, k: str) -> tuple[int, int]:
        """Where a factor stands: sizes and attributes, loads, functions, sums, choices; each as they appeared."""
        base = self.algebra.bases[k]
        kind = 0 if isinstance(base, Num | IntVal | Attr) else 1 if isinstance(base, Load) else 3 if isinstance(base, Reduce | Where) else 2
        return kind, self.algebra.order.get(k, 0)


def _mark(e: Expr) -> int:
    """1 for a condition as a factor, -1 for the opposite of one, 0 for anything else."""
    if isinstance(e, Where) and isinstance(e.a, Num) and isinstance(e.b, Num) and {e.a.value, e.b.value} == {0.0, 1.0}:
        return 1 if e.a.value == 1 else -1
    return 0


def _power(e: Expr, p: int) -> Expr:
    return e if p == 1 else Binary("pow", e, Num(p, str(p)))


def _chain(es: list[Expr]) -> Expr:
    if not es:
        return ONE
    out = es[0]
    for e in es[1:]:
        out = Binary("mul", out, e)
    return out


def _literals(c: Fraction) -> tuple[Fraction, Fraction]:
    """``c`` as a literal over a literal; only one of them when a decimal says it exactly."""
    rest = c.denominator
    for f in (2, 5):
        while rest % f == 0:
            rest //= f
    return (c, Fraction(1)) if rest == 1 else (Fraction(c.numerator), Fraction(c.denominator))


def _literal(c: Fraction) -> Num:
    return Num(c.numerator, str(c.numerator)) if c.denominator == 1 else Num(float(c), repr(float(c)))


def _guards(e: Expr) -> bool:
    from generator.symbolic.build import loads

    return any(x.guarded for x in loads(e))
