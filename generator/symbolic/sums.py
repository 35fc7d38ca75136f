"""Sums in normal form: factors that do not depend on an axis leave it, equalities are solved, independent axes are separated,
nested sums become one, and what is left has canonical names, so that equal sums are the same atom."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

from generator.spec.integer import Func, IntExpr, const, floor_div, sym
from generator.symbolic.affine import content, quotient, reduced
from generator.symbolic.renaming import Renaming
from generator.symbolic.terms import Atom, Exp, Mono, Poly, UnsupportedError, key_of, mono_key, number, scale

__all__ = ["Sums"]

_CHOICES = 400
_Named = tuple[tuple[IntExpr, ...], tuple[IntExpr, ...], Mono]  # inequalities, equalities, monomial


@dataclass
class _Sum:
    """A sum of one monomial while it is worked on: ``names`` bound, ``low`` the inequalities (each >= 0), ``same`` the
    equalities (each == 0)."""

    names: list[str]
    low: list[IntExpr]
    same: list[IntExpr]
    mono: Mono
    factor: Poly = field(default_factory=lambda: number(1))


class Sums(Renaming):
    """Builds sums, over a ring."""

    _depth = 0

    # sums -------------------------------------------------------------------------------------------------------
    def total(self, names: Sequence[str], low: Sequence[IntExpr], body: Poly, same: Sequence[IntExpr] = ()) -> Poly:
        """The sum of ``body`` over ``names`` (fresh) where every ``low >= 0`` and every ``same == 0``."""
        out: Poly = {}
        for m, c in body.items():
            self.ring.budget.check()
            out = self.ring.add(out, scale(self._one(_Sum(list(names), list(low), list(same), m)), c))
        return out

    def _one(self, s: _Sum) -> Poly:
        self._depth += 1
        if self._depth > 60:
            raise UnsupportedError("sums nested too deeply")
        try:
            return self._normal(s)
        finally:
            self._depth -= 1

    def _normal(self, s: _Sum) -> Poly:
        if not s.names:
            return self._closed(s)
        self._absorb(s)
        s.low = [self.ring.facts.plain(e) for e in s.low]
        again = self._flatten(s) or self._floors(s)
        if again is not None:
            return again
        solved = self._solve(s)
        if solved is not None:
            return solved
        if not self._simplify(s):
            return {}
        if self._tight(s):
            return self._normal(s)
        solved = self._pin(s)
        if solved is not None:
            return solved
        return self.ring.mul(s.factor, self._components(s))

    def _closed(self, s: _Sum) -> Poly:
        """All axes are gone: what is left of the conditions are indicators."""
        r = self.ring
        out = r.mul(s.factor, {s.mono: Fraction(1)})
        for e in s.low:
            out = r.mul(out, r.ge(e))
        for e in s.same:
            out = r.mul(out, r.ieq(e))
        return out

    def _absorb(self, s: _Sum) -> None:
        """Indicators of integers become conditions; factors free of the axes leave."""
        bound = set(s.names)
        inside: list[tuple[Atom, Exp]] = []
        outside: list[tuple[Atom, Exp]] = []
        for a, e in s.mono:
            if not a.free & bound:
                outside.append((a, e))
            elif a.kind == "ge":
                s.low.append(a.data)
            elif a.kind == "ieq":
                s.same.append(a.data)
            else:
                inside.append((a, e))
        s.mono = tuple(inside)
        if outside:
            s.factor = self.ring.mul(s.factor, self.ring.fix(tuple(outside)))

    def _flatten(self, s: _Sum) -> Poly | None:
        """A sum inside becomes more axes of this one."""
        for at, (a, e) in enumerate(s.mono):
            if a.kind != "sum" or e != int(e) or e < 1:
                continue
            names, low, same, mono = a.data
            new = {n: sym(self.table.fresh("b")) for n in names}
            inner = self.rename_mono(mono, new)
            rest = (*s.mono[:at], *(((a, e - 1),) if e > 1 else ()), *s.mono[at + 1 :])
            body = self.ring.mul(inner, {rest: Fraction(1)})
            fresh = [str(v) for v in new.values()]
            lows = [*s.low, *(self.integer(x, new) for x in low)]
            sames = [*s.same, *(self.integer(x, new) for x in same)]
            return self.ring.mul(s.factor, self.total([*s.names, *fresh], lows, body, sames))
        return None

    def _floors(self, s: _Sum) -> Poly | None:
        """A quotient or remainder in an index becomes one more axis with its defining inequalities."""
        bound = set(s.names)
        for e in self._indices(s):
            for f in e.atoms():
                if isinstance(f, Func) and f.op in ("floordiv", "mod") and (f.a.free() & bound) and not (f.b.free() & bound):
                    if not self.ring.facts.nonnegative(f.b - 1):
                        continue
                    return self._quotient(s, f)
        return None

    def _quotient(self, s: _Sum, f: Func) -> Poly:
        q = self.table.fresh("q")
        by = f.b
        new = {"floordiv": sym(q), "mod": f.a - by * sym(q)}

        def change(x: IntExpr) -> IntExpr:
            return x.map_atoms(lambda a: new.get(a.op) if isinstance(a, Func) and (a.a, a.b) == (f.a, f.b) else None)

        body = self._map_indices(s.mono, change)
        low = [change(x) for x in s.low]
        same = [change(x) for x in s.same]
        rest = f.a - by * sym(q)
        done = self.total([*s.names, q], [*low, rest, by - 1 - rest], body, same)
        return self.ring.mul(s.factor, done)

    def _map_indices(self, m: Mono, change: object) -> Poly:
        out = number(1)
        for a, e in m:
            if a.kind == "ld":
                p = self.ring.atom(self.table.load(a.data[0], tuple(change(i) for i in a.data[1])))  # type: ignore[operator]
            elif a.kind == "ifn":
                p = self.table.integer(change(a.data))  # type: ignore[operator]
            else:
                p = self.ring.atom(a)
            out = self.ring.mul(out, self.power(p, e))
        return out

    def _indices(self, s: _Sum) -> list[IntExpr]:
        out = [*s.low, *s.same]
        for a, _ in s.mono:
            if a.kind == "ld":
                out += a.data[1]
            elif a.kind == "ifn":
                out.append(a.data)
        return out

    # solving ----------------------------------------------------------------------------------------------------
    def _solve(self, s: _Sum) -> Poly | None:
        """An equality that fixes an axis removes it; one without solutions gives 0."""
        for at, e in enumerate(s.same):
            if e.value is not None:
                if e.value != 0:
                    return {}
                s.same.pop(at)
                return self._normal(s)
            g = content(e)
            rest = sum(c for m, c in e.terms if not m)
            if g > 1 and rest % g:
                return {}
            for name in s.names:
                c = _coefficient(self.table.free_int, e, name)
                if c in (1, -1):
                    return self._put(s, name, (e - sym(name) * c) * -c, at)
        for e in s.same:
            for name in sorted(n for n in e.free() if n in self.table.gathers):
                c = _coefficient(lambda x: x.free(), e, name)
                if c in (1, -1) and any(name in a.free for a, _ in s.mono):
                    body = self.rename_mono(s.mono, {name: (e - sym(name) * c) * -c})
                    return self.ring.mul(s.factor, self.total(s.names, s.low, body, s.same))
        return None

    def _put(self, s: _Sum, name: str, value: IntExpr, drop: int | None) -> Poly:
        env = {name: value}
        same = [self.integer(e, env) for i, e in enumerate(s.same) if i != drop]
        low = [self.integer(e, env) for e in s.low]
        body = self.rename_mono(s.mono, env)
        names = [n for n in s.names if n != name]
        out: Poly = {}
        for m, c in body.items():
            out = self.ring.add(out, scale(self._one(_Sum(list(names), list(low), list(same), m)), c))
        return self.ring.mul(s.factor, out)

    def _pin(self, s: _Sum) -> Poly | None:
        """An axis between equal bounds is a value; an axis that no factor reads is counted."""
        used = {n for a, _ in s.mono for n in a.free}
        for name in s.names:
            divided = self._divided(s, name)
            if divided is not None:
                return divided
            bounds = self._bounds(s, name)
            if bounds is None:
                continue
            lo, hi = bounds
            if (hi - lo).value == 0:
                return self._put(s, name, lo, None)
            count = hi - lo + 1
            others = [e for e in s.low if name not in self.table.free_int(e)]
            if (
                name not in used
                and not any(name in self.table.free_int(e) for e in s.same)
                and self.ring.facts.nonnegative(count, others, frozenset(s.names))
            ):
                s.names.remove(name)
                s.low = others
                body = self.ring.mul({s.mono: Fraction(1)}, self.table.integer(count))
                return self.ring.mul(s.factor, self.total(s.names, s.low, body, s.same))
        return None

    def _divided(self, s: _Sum, name: str) -> Poly | None:
        """An axis q with ``0 <= e - b*q < b`` is the quotient ``e // b``."""
        for g in s.low:
            try:
                by = -g.coefficient(name)
            except ValueError:
                continue
            rest = by - 1 - g
            e = g + by * sym(name)
            bound = set(s.names)
            facts = self.ring.facts
            if by.value in (0, 1, -1) or rest not in s.low or name in e.free() or by.free() & bound or not facts.nonnegative(by - 1):
                continue
            others = [x for x in s.low if x not in (g, rest)]
            whole, left = quotient(e, by)
            given = others + [x for y in s.same for x in (y, -y)]
            if facts.nonnegative(left, given, frozenset(bound)) and facts.nonnegative(by - 1 - left, given, frozenset(bound)):
                value = whole
            elif not self.table.free_int(e) & bound:
                value = whole + floor_div(left, by)
            else:
                continue
            s.low = others
            return self._put(s, name, value, None)
        return None

    def _bounds(self, s: _Sum, name: str) -> tuple[IntExpr, IntExpr] | None:
        """The only lower and the only upper bound of an axis, when its coefficient is 1 in both."""
        lows, highs = [], []
        for e in s.low:
            if name not in self.table.free_int(e):
                continue
            c = _coefficient(self.table.free_int, e, name)
            if c == 1:
                lows.append(sym(name) - e)
            elif c == -1:
                highs.append(e + sym(name))
            else:
                return None
        return (lows[0], highs[0]) if len(lows) == 1 and len(highs) == 1 else None

    def _tight(self, s: _Sum) -> bool:
        """Two opposite inequalities become an equality."""
        for e in s.low:
            if -e in s.low:
                s.low = [x for x in s.low if x not in (e, -e)]
                s.same.append(e)
                return True
        return False

    def _simplify(self, s: _Sum) -> bool:
        """Leave out conditions that follow from the others; False when they contradict each other."""
        facts = self.ring.facts
        bound = set(s.names)
        low = sorted({reduced(e) for e in s.low}, key=lambda e: (len(self.table.free_int(e) & bound), e.key()))
        same = [x for e in s.same for x in (e, -e)]
        if any(e.value is not None and e.value < 0 for e in low):
            return False
        low = [e for e in low if e.value is None]
        if low and facts.nonnegative(const(-1) - low[-1], low[:-1] + same, frozenset(s.names)):
            return False
        for e in list(reversed(low)):
            others = [x for x in low if x is not e] + same
            if facts.nonnegative(e, others, frozenset(s.names)):
                low.remove(e)
        outside = [e for e in low if not self.table.free_int(e) & bound]
        for e in outside:
            s.factor = self.ring.mul(s.factor, self.ring.ge(e))
        s.low = [e for e in low if self.table.free_int(e) & bound]
        kept = []
        for e in s.same:
            if self.table.free_int(e) & bound:
                kept.append(-e if e.terms[0][1] < 0 else e)
            else:
                s.factor = self.ring.mul(s.factor, self.ring.ieq(e))
        s.same = sorted(set(kept), key=IntExpr.key)
        return True

    # canonical names --------------------------------------------------------------------------------------------
    def _components(self, s: _Sum) -> Poly:
        """Axes that share no factor and no condition are separate sums."""
        groups: list[set[str]] = [{n} for n in s.names]
        links = [a.free for a, _ in s.mono] + [self.table.free_int(e) for e in (*s.low, *s.same)]
        for link in links:
            hit = [g for g in groups if g & link]
            if len(hit) > 1:
                groups = [g for g in groups if g not in hit] + [set().union(*hit)]
        out = number(1)
        for g in groups:
            part = _Sum(
                [n for n in s.names if n in g],
                [e for e in s.low if self.table.free_int(e) & g],
                [e for e in s.same if self.table.free_int(e) & g],
                tuple(t for t in s.mono if t[0].free & g),
            )
            if len(groups) > 1:
                out = self.ring.mul(out, self._one(part))
            else:
                out = self.ring.mul(out, self._canonical(part))
        return out

    def _canonical(self, s: _Sum) -> Poly:
        level = _level(s.mono, (*s.low, *s.same))
        final = [f"${level}.{k}" for k in range(len(s.names))]
        best: tuple[str, _Named, Fraction] | None = None
        tried = 0
        for shift in self._shifts(s):
            for perm in itertools.permutations(range(len(s.names))):
                tried += 1
                if tried > _CHOICES:
                    raise UnsupportedError("a sum over too many axes")
                found = self._name(s, shift, {s.names[i]: sym(final[p]) for i, p in enumerate(perm)})
                if found is None:
                    continue
                if best is not None and found[0] == best[0] and found[2] != best[2]:
                    return {}  # the sum is its own negative
                if best is None or found[0] < best[0]:
                    best = found
        if best is None:
            raise UnsupportedError("a sum has no canonical form")
        key, (low, same, mono), sign = best
        inner = [a.free for a, _ in mono] + [self.table.free_int(e) for e in (*low, *same)]
        free = frozenset[str]().union(*inner)
        atom = self.table.intern("sum", key, lambda: ((tuple(final), low, same, mono), free - set(final)))
        return scale(self.ring.atom(atom), sign)

    def _name(self, s: _Sum, shift: Mapping[str, IntExpr], names: Mapping[str, IntExpr]) -> tuple[str, _Named, Fraction] | None:
        env = {n: self.integer(shift.get(n, sym(n)), names) for n in s.names}
        body = self.rename_mono(s.mono, env)
        if len(body) != 1:
            return None
        mono, c = next(iter(body.items()))
        low = tuple(sorted((reduced(self.integer(e, env)) for e in s.low), key=IntExpr.key))
        same = []
        for e in s.same:
            e = self.integer(e, env)
            same.append(-e if e.terms[0][1] < 0 else e)
        same.sort(key=IntExpr.key)
        text = " & ".join([f"{e} >= 0" for e in low] + [f"{e} == 0" for e in same])
        key = f"sum[{','.join(sorted(map(str, names.values())))} | {text}]({mono_key(mono)})"
        return key, (low, tuple(same), mono), c

    def _shifts(self, s: _Sum) -> list[dict[str, IntExpr]]:
        """Substitutions that make one index of each axis bare: ``k`` for ``t - k + pad``."""
        choices: list[list[tuple[str, IntExpr | None]]] = []
        for name in s.names:
            found: dict[str, IntExpr | None] = {}
            for e in self._loads(s.mono, name):
                c = _coefficient(self.table.free_int, e, name)
                if e.symbol == name:
                    found[""] = None
                elif c in (1, -1):
                    found[e.key()] = (sym(name) - (e - sym(name) * c)) * c
            if not found:
                found[""] = None
            choices.append([(name, v) for v in found.values()])
        out: list[dict[str, IntExpr]] = []
        for pick in itertools.product(*choices):
            moved = {n: v for n, v in pick if v is not None}
            if len(out) >= _CHOICES:
                break
            out.append(moved)
        return [m for m in out if all(not (v.free() & (m.keys() - {n})) for n, v in m.items())] or [{}]

    def _loads(self, m: Mono, name: str) -> list[IntExpr]:
        out: list[IntExpr] = []
        for a, _ in m:
            if name not in a.free:
                continue
            if a.kind == "ld":
                out += [i for i in a.data[1] if name in i.free()]
            else:
                out += self._inner_loads(a, name)
        return out

    def _inner_loads(self, a: Atom, name: str) -> list[IntExpr]:
        polys: list[Poly] = []
        if a.kind in ("exp", "pow", "step", "gt", "eq"):
            polys = [a.data]
        elif a.kind == "fn":
            polys = list(a.data[1:])
        elif a.kind == "sum":
            polys = [{a.data[3]: Fraction(1)}]
        elif a.kind == "red":
            polys = [a.data[3]]
        return [i for p in polys for m in p for i in self._loads(m, name)]

    # other reductions -------------------------------------------------------------------------------------------
    def reduction(self, op: str, names: Sequence[str], low: Sequence[IntExpr], body: Poly) -> Poly:
        """An opaque reduction with canonical names."""
        level = max([_level(m, ()) for m in body], default=0)
        level = max(level, _level((), tuple(low)))
        final = [f"${level}.{k}" for k in range(len(names))]
        best: tuple[str, tuple[IntExpr, ...], Poly] | None = None
        for perm in itertools.permutations(range(len(names))):
            env = {names[i]: sym(final[p]) for i, p in enumerate(perm)}
            moved = self.rename(body, env)
            lows = tuple(sorted((reduced(self.integer(e, env)) for e in low), key=IntExpr.key))
            text = " & ".join(f"{e} >= 0" for e in lows)
            key = f"{op}[{','.join(final)} | {text}]({key_of(moved)})"
            if best is None or key < best[0]:
                best = (key, lows, moved)
        if best is None:
            raise UnsupportedError("a reduction over no axis")
        key, lows, moved = best
        free = frozenset(n for m in moved for a, _ in m for n in a.free) | frozenset(n for e in lows for n in self.table.free_int(e))
        atom = self.table.intern("red", key, lambda: ((op, tuple(final), lows, moved), free - set(final)))
        return self.ring.atom(atom)


def _coefficient(free: object, e: IntExpr, name: str) -> int | None:
    """The constant coefficient of a name in an expression affine in it, else None."""
    try:
        c = e.coefficient(name)
    except ValueError:
        return None
    if name in free(e - sym(name) * c):  # type: ignore[operator]
        return None
    return c.value


def _level(m: Mono, conditions: Sequence[IntExpr]) -> int:
    """One more than the highest level of names bound inside."""
    top = -1
    for a, _ in m:
        top = max(top, _level_of(a))
    del conditions
    return top + 1


def _level_of(a: Atom) -> int:
    if a.kind in ("sum", "red"):
        return int(a.data[0 if a.kind == "sum" else 1][0][1:].split(".")[0])
    polys: list[Poly] = []
    if a.kind in ("exp", "pow", "step", "gt", "eq"):
        polys = [a.data]
    elif a.kind == "fn":
        polys = list(a.data[1:])
    return max((_level_of(b) for p in polys for m in p for b, _ in m), default=-1)
