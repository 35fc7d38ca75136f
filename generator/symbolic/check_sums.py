"""The checker's sums: each is taken apart into sums that cannot be taken apart, whose names do not depend on how axes are called."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import permutations, product
from math import gcd

from generator.spec.integer import Func, IntExpr, Sym, const, floor_div, sym
from generator.symbolic.check_moves import Env, Moves
from generator.symbolic.check_values import ZERO, DoubtError, Part, Product, Value, one

__all__ = ["Totals"]

_WAYS = 500
_DEEP = 60


class Totals(Moves):
    """Sums over axes where conditions hold."""

    def instead(self, powers: dict[str, Fraction]) -> Value | None:
        for p in sorted(powers):
            if self.parts[p].what != "equals":
                continue
            others = {q: k for q, k in powers.items() if q != p}
            env = self._element_of(self.parts[p].holds, others)
            if env is not None:
                return self.times(self.moved_product(tuple(sorted(others.items())), env), {((p, Fraction(1)),): Fraction(1)})
        return None

    def _element_of(self, e: IntExpr, body: Mapping[str, Fraction]) -> dict[str, IntExpr] | None:
        """The element of an integer tensor that ``e == 0`` gives, if something in ``body`` names it."""
        for n in sorted(e.free() & self.integers.keys()):
            for c in (1, -1):
                rest = e - c * sym(n)
                if n not in rest.free() and any(n in self.parts[q].names for q in body):
                    return {n: rest * -c}
        return None

    # sums -------------------------------------------------------------------------------------------------------
    def total(self, axes: Sequence[str], low: Sequence[IntExpr], same: Sequence[IntExpr], body: Value) -> Value:
        """The sum of ``body`` over integer ``axes`` where all ``low >= 0`` and all ``same == 0``."""
        self.depth += 1
        if self.depth > _DEEP:
            raise DoubtError("sums nested too deeply")
        try:
            return self.plus(*(self.scaled(self._single(list(axes), list(low), list(same), m), c) for m, c in body.items()))
        finally:
            self.depth -= 1

    def _single(self, axes: list[str], low: list[IntExpr], same: list[IntExpr], body: Product) -> Value:
        if not axes:
            return self.all([{body: Fraction(1)}, *map(self.at_least, low), *map(self.equals, same)])
        mine = set(axes)
        out: dict[str, Fraction] = {}
        kept: dict[str, Fraction] = {}
        for p, e in body:
            part = self.parts[p]
            if not part.names & mine:
                out[p] = e
            elif part.what == "atleast":
                low.append(part.holds)
            elif part.what == "equals":
                same.append(part.holds)
            elif part.what == "total" and e.denominator == 1 and e > 0:
                return self._nested(axes, low, same, body, p)
            else:
                kept[p] = e
        outside = self.tidy(out)
        done = self._quotients(axes, low, same, kept)
        if done is None:
            done = self._solved(axes, low, same, kept)
        if done is None:
            done = self._bounded(axes, low, same, kept)
        return self.times(outside, done)

    def _nested(self, axes: list[str], low: list[IntExpr], same: list[IntExpr], body: Product, p: str) -> Value:
        """A sum inside: its axes join."""
        names, low2, same2, inner = self.parts[p].holds
        env = {n: sym(self.new()) for n in names}
        rest = dict(body)
        rest[p] -= 1
        value = self.times(self.tidy({q: e for q, e in rest.items() if e}), self.moved_product(inner, env))
        return self.total(
            [*axes, *map(str, env.values())],
            [*low, *(self.moved_int(e, env) for e in low2)],
            [*same, *(self.moved_int(e, env) for e in same2)],
            value,
        )

    def _quotients(self, axes: list[str], low: list[IntExpr], same: list[IntExpr], body: dict[str, Fraction]) -> Value | None:
        """``a // b`` with an axis in a is a new axis q: ``0 <= a - b*q < b``."""
        seen = [*low, *same, *(i for p in body for i in self._indices(self.parts[p]))]
        for f in sorted({a for e in seen for a in e.atoms() if isinstance(a, Func)}, key=lambda a: a.key()):
            if f.op not in ("floordiv", "mod") or not f.a.free() & set(axes) or f.b.free() & set(axes) or not self.sizes.implied(f.b - 1):
                continue
            q = self.new()
            rest = f.a - f.b * sym(q)
            to = {"floordiv": sym(q), "mod": rest}

            def put(e: IntExpr, f: Func = f, to: dict[str, IntExpr] = to) -> IntExpr:
                return e.map_atoms(lambda x: to.get(x.op) if isinstance(x, Func) and x.a == f.a and x.b == f.b else None)

            value = one()
            for p, e in body.items():
                part = self.parts[p]
                new: Value = {((p, Fraction(1)),): Fraction(1)}
                if part.what == "element":
                    new = self.element(part.holds[0], tuple(map(put, part.holds[1])))
                elif part.what == "other" and part.holds[0] == "integer":
                    new = self.integer(put(part.holds[1]))
                value = self.times(value, self.power(new, e))
            return self.total([*axes, q], [*map(put, low), rest, f.b - 1 - rest], list(map(put, same)), value)
        return None

    def _indices(self, part: Part) -> list[IntExpr]:
        if part.what == "element":
            return list(part.holds[1])
        return [part.holds[1]] if part.what == "other" and part.holds[0] == "integer" else []

    def _solved(self, axes: list[str], low: list[IntExpr], same: list[IntExpr], body: dict[str, Fraction]) -> Value | None:
        """An equality that gives an axis removes it."""
        for at, e in enumerate(same):
            free = sum(c for m, c in e.terms if not m)
            rest = [c for m, c in e.terms if m]
            if not rest:
                return self.total(axes, low, same[:at] + same[at + 1 :], self.tidy(body)) if free == 0 else ZERO
            if free % gcd(*rest):
                return ZERO
            for axis in axes:
                c = self._slope(e, axis)
                if c in (1, -1):
                    env = {axis: (e - sym(axis) * c) * -c}
                    return self._put(axes, low, same[:at] + same[at + 1 :], body, env)
        for e in same:
            given = self._element_of(e, body)
            if given is not None:
                return self.total(axes, low, same, self.moved_product(tuple(sorted(body.items())), given))
        return None

    def _put(self, axes: list[str], low: list[IntExpr], same: list[IntExpr], body: dict[str, Fraction], env: Env) -> Value:
        return self.total(
            [a for a in axes if a not in env],
            [self.moved_int(e, env) for e in low],
            [self.moved_int(e, env) for e in same],
            self.moved_product(tuple(sorted(body.items())), env),
        )

    def _slope(self, e: IntExpr, axis: str) -> int | None:
        try:
            c = e.coefficient(axis)
        except ValueError:
            return None
        return None if axis in self.names_of(e - c * sym(axis)) else c.value

    def _bounded(self, axes: list[str], low: list[IntExpr], same: list[IntExpr], body: dict[str, Fraction]) -> Value:
        """Conditions without those that follow; then pinned and counted axes, and independent groups."""
        rows = self._fewest(axes, low, same)
        if rows is None:
            return ZERO
        low = rows
        twin = next((e for e in low if -e in low), None)
        if twin is not None:
            return self.total(axes, [e for e in low if e not in (twin, -twin)], [*same, twin], self.tidy(body))
        inner = [e for e in low if self.names_of(e) & set(axes)]
        outer = [e for e in low if not self.names_of(e) & set(axes)]
        fixed = [e for e in same if not self.names_of(e) & set(axes)]
        if outer or fixed:
            rest = self.total(axes, inner, [e for e in same if e not in fixed], self.tidy(body))
            return self.all([*map(self.at_least, outer), *map(self.equals, fixed), rest])
        ratio = self._ratio(axes, low, same, body)
        if ratio is not None:
            return ratio
        for axis in axes:
            found = self._counted(axes, axis, low, same, body)
            if found is not None:
                return found
        groups = self._groups(axes, low, same, body)
        if len(groups) == 1:
            return self._named(axes, low, same, body)
        return self.all(
            self.total(
                [a for a in axes if a in g],
                [e for e in low if self.names_of(e) & g],
                [e for e in same if self.names_of(e) & g],
                self.tidy({p: e for p, e in body.items() if self.parts[p].names & g}),
            )
            for g in groups
        )

    def _ratio(self, axes: list[str], low: list[IntExpr], same: list[IntExpr], body: dict[str, Fraction]) -> Value | None:
        """An axis q with ``0 <= e - b*q <= b - 1`` and nothing bound in e and b is e // b."""
        for axis, g, h in product(axes, low, low):
            b = g + h + 1  # of such a pair
            e = g + b * sym(axis)
            if b.value in (0, 1) or axis in e.free() or self.names_of(b) & set(axes) or not self.sizes.implied(b - 1):
                continue
            whole, rest = const(0), const(0)
            for m, c in e.terms:
                term = IntExpr(((m, c),))
                share = self._share(term, b)
                whole, rest = (whole, rest + term) if share is None else (whole + share, rest)
            others = [x for x in low if x not in (g, h)]
            given = [*others, *same, *(-x for x in same)]
            if not (self.sizes.implied(rest, given, axes) and self.sizes.implied(b - 1 - rest, given, axes)):
                if self.names_of(e) & set(axes):
                    continue
                whole = whole + floor_div(rest, b)
            return self._put(axes, others, same, body, {axis: whole})
        return None

    def _share(self, term: IntExpr, b: IntExpr) -> IntExpr | None:
        """A term divided by b, if b divides it."""
        ((m, c),) = term.terms
        if b.value is not None:
            return IntExpr(((m, c // b.value),)) if c % b.value == 0 else None
        if b.symbol is None or b.symbol not in {a.name for a, _ in m if isinstance(a, Sym)}:
            return None
        left = tuple((a, p - (a == Sym(b.symbol))) for a, p in m)
        return IntExpr(((tuple((a, p) for a, p in left if p), c),))

    def _fewest(self, axes: list[str], low: list[IntExpr], same: list[IntExpr]) -> list[IntExpr] | None:
        mine = set(axes)
        rows = []
        for e in map(self.sizes.cleared, low):
            g = gcd(*(c for m, c in e.terms if m)) if any(m for m, _ in e.terms) else 0
            if g > 1:
                free = sum(c for m, c in e.terms if not m)
                e = IntExpr(tuple((m, c // g) for m, c in e.terms if m)) + free // g
            if e.value is None and e not in rows:
                rows.append(e)
            elif e.value is not None and e.value < 0:
                return None
        rows.sort(key=lambda e: (len(self.names_of(e) & mine), e.key()))
        both = [*same, *(-e for e in same)]
        if rows and self.sizes.implied(-rows[-1] - 1, rows[:-1] + both, mine):
            return None
        for e in rows[::-1]:
            others = [x for x in rows if x != e] + both
            if self.sizes.implied(e, others, mine):
                rows.remove(e)
        return rows

    def _counted(self, axes: list[str], axis: str, low: list[IntExpr], same: list[IntExpr], body: dict[str, Fraction]) -> Value | None:
        mine = [e for e in low if axis in self.names_of(e)]
        slopes = [self._slope(e, axis) for e in mine]
        if sorted(map(str, slopes)) != ["-1", "1"]:
            return None
        first = sym(axis) - mine[slopes.index(1)]
        last = mine[slopes.index(-1)] + sym(axis)
        if first == last:
            return self._put(axes, low, same, body, {axis: first})
        rest = [e for e in low if e not in mine]
        if any(axis in self.parts[p].names for p in body) or any(axis in self.names_of(e) for e in same):
            return None
        if not self.sizes.implied(last - first + 1, rest, set(axes)):
            return None
        value = self.times(self.tidy(dict(body)), self.integer(last - first + 1))
        return self.total([a for a in axes if a != axis], rest, same, value)

    def _groups(self, axes: list[str], low: list[IntExpr], same: list[IntExpr], body: dict[str, Fraction]) -> list[set[str]]:
        groups: list[set[str]] = [{a} for a in axes]
        for names in [self.parts[p].names for p in body] + [self.names_of(e) for e in (*low, *same)]:
            joined = [g for g in groups if g & names]
            if len(joined) > 1:
                groups = [g for g in groups if not g & names] + [set().union(*joined)]
        return groups

    # names ------------------------------------------------------------------------------------------------------
    def _named(self, axes: list[str], low: list[IntExpr], same: list[IntExpr], body: dict[str, Fraction]) -> Value:
        """The sum under the smallest of its names, over the ways to number its axes and to count along them."""
        level = 1 + max([self._level(p) for p in body], default=0)
        names = [f"'{level}'{k}" for k in range(len(axes))]
        found: dict[str, tuple[Fraction, tuple[object, ...], frozenset[str]]] = {}
        ways = 0
        for moves in self._moves(axes, body):
            for order in permutations(names):
                ways += 1
                if ways > _WAYS:
                    raise DoubtError("a sum over too many axes")
                numbered = {a: sym(n) for a, n in zip(axes, order, strict=True)}
                env = {a: self.moved_int(moves.get(a, sym(a)), numbered) for a in axes}
                self._write(env, low, same, body, names, found)
        if not found:
            raise DoubtError("a sum without a name")
        name = min(found)
        c, holds, free = found[name]
        if not c:
            return ZERO
        return self.scaled(self.part("total", name, holds, free - set(names)), c)

    def _write(
        self,
        env: Env,
        low: list[IntExpr],
        same: list[IntExpr],
        body: dict[str, Fraction],
        names: list[str],
        found: dict[str, tuple[Fraction, tuple[object, ...], frozenset[str]]],
    ) -> None:
        new = self.moved_product(tuple(sorted(body.items())), env)
        if len(new) != 1:
            return
        ((m, c),) = new.items()
        rows = sorted((self.moved_int(e, env) for e in low), key=str)
        zeros = sorted((e if e.terms[0][1] > 0 else -e for e in (self.moved_int(x, env) for x in same)), key=str)
        text = ", ".join([f"{e}>=0" for e in rows] + [f"{e}==0" for e in zeros])
        name = f"sum{{{', '.join(names)}: {text}}}({self.product_text(m)})"
        free = frozenset().union(*(self.parts[p].names for p, _ in m), *(self.names_of(e) for e in (*rows, *zeros)))
        before = found.get(name)
        if before is not None and before[0] != c:
            c = Fraction(0)  # equal to its own negative
        found[name] = (c, (tuple(names), tuple(rows), tuple(zeros), m), free)

    def _level(self, p: str) -> int:
        part = self.parts[p]
        if part.what == "total":
            return int(part.holds[0][0].split("'")[1])
        if part.what == "other" and part.holds[0] != "integer":
            return int(part.holds[1][0].split("'")[1])
        inner: list[Value] = []
        if part.what == "call":
            inner = list(part.holds[1:])
        elif part.what in ("exp", "base", "positive", "exactly", "zero"):
            inner = [part.holds]
        return max((self._level(q) for v in inner for m in v for q, _ in m), default=0)

    def _moves(self, axes: list[str], body: dict[str, Fraction]) -> Iterator[dict[str, IntExpr]]:
        """Ways to count along the axes so that an index is one of them."""
        ways: list[list[IntExpr]] = []
        for a in axes:
            mine: list[IntExpr] = []
            for e in (i for p in body for i in self._deep(p, a)):
                c = self._slope(e, a)
                move = sym(a) if e == sym(a) else (sym(a) - e + sym(a) * (c or 0)) * (c or 0) if c in (1, -1) else None
                if move is not None and move not in mine:
                    mine.append(move)
            ways.append(mine or [sym(a)])
        some = False
        for pick in product(*ways):
            env = {a: m for a, m in zip(axes, pick, strict=True) if m != sym(a)}
            if all(not m.free() & (env.keys() - {a}) for a, m in env.items()):
                some = True
                yield env
        if not some:
            yield {}

    def _deep(self, p: str, axis: str) -> list[IntExpr]:
        """Indices inside a part that hold an axis."""
        part = self.parts[p]
        if axis not in part.names:
            return []
        if part.what == "element":
            return [i for i in part.holds[1] if axis in i.free()]
        inner: list[Value] = []
        if part.what in ("exp", "base", "positive", "exactly", "zero"):
            inner = [part.holds]
        elif part.what == "call":
            inner = list(part.holds[1:])
        elif part.what == "total":
            inner = [{part.holds[3]: Fraction(1)}]
        elif part.what == "other" and part.holds[0] != "integer":
            inner = [part.holds[3]]
        return [i for v in inner for m in v for q, _ in m for i in self._deep(q, axis)]

    def reduction(self, op: str, axes: Sequence[str], low: Sequence[IntExpr], body: Value) -> Value:
        """Another reduction, of which only its equality to itself is known."""
        level = 1 + max([self._level(p) for m in body for p, _ in m], default=0)
        names = [f"'{level}'{k}" for k in range(len(axes))]
        best: tuple[str, tuple[object, ...], frozenset[str]] | None = None
        for order in permutations(names):
            env = {a: sym(n) for a, n in zip(axes, order, strict=True)}
            inner = self.moved(body, env)
            rows = sorted((self.moved_int(e, env) for e in low), key=str)
            name = f"{op}{{{', '.join(names)}: {', '.join(map(str, rows))}}}({self.text(inner)})"
            if best is None or name < best[0]:
                free = self.names(inner).union(*(self.names_of(e) for e in rows))
                best = (name, (op, tuple(names), tuple(rows), inner), free)
        if best is None:
            raise DoubtError("a reduction over nothing")
        return self.part("other", best[0], best[1], best[2] - set(names))
