"""The zero test: a difference is cleared of its denominators, and sums over the same range are compared inside."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from generator.spec.integer import IntExpr, const, sym
from generator.symbolic.sums import Sums
from generator.symbolic.terms import Atom, Poly, UnsupportedError, scale

__all__ = ["Zero"]

_ROUNDS = 24
_PEEL = 4


class Zero:
    """Decides whether a polynomial is zero; False means not shown."""

    def __init__(self, sums: Sums) -> None:
        self.sums = sums
        self.ring = sums.ring

    def zero(self, p: Poly, depth: int = 0) -> bool:
        """Whether ``p`` is zero for all values of its atoms that satisfy their relations."""
        self.ring.budget.check()
        if not p:
            return True
        p = self.cleared(p)
        if not p:
            return True
        flipped = self.complements(p)
        if flipped is not None:
            return self.zero(flipped, depth)
        return depth < 3 and self.inside(p, depth)

    def complements(self, p: Poly) -> Poly | None:
        """Replace the sum where a condition holds by the whole sum less the sum where it does not, when both occur."""
        sums = sorted({a for m in p for a, _ in m if a.kind == "sum"}, key=lambda a: a.key)
        for a in sums:
            for b in sums:
                if a.key < b.key and a.data[0] == b.data[0] and a.data[3] == b.data[3] and a.data[2] == b.data[2]:
                    if self.covers(a, b) and self.covers(b, a):
                        return self.replaced(p, a, self.ring.atom(b))
                    whole = self.whole(a, b)
                    if whole is not None:
                        return self.replaced(p, a, self.ring.sub(self.part(a, whole, ()), self.ring.atom(b)))
                    for x, y in ((a, b), (b, a)):
                        found = self.longer(x, y)
                        if found is not None:
                            return self.replaced(p, x, found)
        return None

    def covers(self, a: Atom, b: Atom) -> bool:
        """Whether the range of a sum lies in that of another of the same axes."""
        names = frozenset(a.data[0])
        return all(self.ring.facts.deeply(e, a.data[1], names) for e in b.data[1])

    def part(self, a: Atom, low: Sequence[IntExpr], same: Sequence[IntExpr]) -> Poly:
        """The sum of the same body under other inequalities and more equalities."""
        names, _, old, mono = a.data
        new = {n: sym(self.sums.table.fresh("b")) for n in names}
        return self.sums.total(
            [str(v) for v in new.values()],
            [self.sums.integer(e, new) for e in low],
            self.sums.rename_mono(mono, new),
            [self.sums.integer(e, new) for e in (*old, *same)],
        )

    def longer(self, a: Atom, b: Atom) -> Poly | None:
        """A sum whose range is longer than another's by a few elements at one end is that one and those elements."""
        facts, names = self.ring.facts, frozenset(a.data[0])
        for g in a.data[1]:
            for h in b.data[1]:
                d = (g - h).value
                if d is None or not 0 < d <= _PEEL:
                    continue
                shared = [e for e in (*a.data[1], *b.data[1]) if e not in (g, h)]
                if not all(facts.nonnegative(e, a.data[1], names) and facts.nonnegative(e, b.data[1], names) for e in shared):
                    continue
                ends = [self.part(a, shared, (g - c,)) for c in range(d)]
                return self.ring.add(self.ring.atom(b), *ends)
        return None

    def whole(self, a: Atom, b: Atom) -> list[IntExpr] | None:
        """The conditions that two sums share, when they are a partition of that range by one inequality."""
        facts, names = self.ring.facts, frozenset(a.data[0])
        for g in a.data[1]:
            other = const(-1) - g
            if other not in b.data[1]:
                continue
            shared = [e for e in (*a.data[1], *b.data[1]) if e not in (g, other)]
            if all(facts.nonnegative(e, a.data[1], names) and facts.nonnegative(e, b.data[1], names) for e in shared):
                return shared
        return None

    def replaced(self, p: Poly, a: Atom, by: Poly) -> Poly:
        """``p`` with an atom replaced by a polynomial."""
        out: Poly = {}
        for m, c in p.items():
            e = next((k for b, k in m if b is a), 0)
            rest: Poly = {tuple(t for t in m if t[0] is not a): c}
            out = self.ring.add(out, self.ring.mul(rest, self.ring.power(by, e)) if e else rest)
        return out

    def cleared(self, p: Poly) -> Poly:
        """``p`` times the denominators it holds."""
        for _ in range(_ROUNDS):
            lowest: dict[Atom, Fraction] = {}
            for m in p:
                for a, e in m:
                    if a.kind == "pow" and e < 0:
                        lowest[a] = min(lowest.get(a, Fraction(0)), Fraction(e))
            if not lowest:
                return p
            a = min(lowest, key=lambda x: (-len(x.key), x.key))
            by = -lowest[a]
            p = self._times(p, a, by)
            if not p:
                return p
        raise UnsupportedError("denominators do not come to an end")

    def _times(self, p: Poly, a: Atom, by: Fraction) -> Poly:
        """Multiply by a power of one base, keeping that base's powers together so that no relation is applied to it twice."""
        groups: dict[Fraction, Poly] = {}
        for m, c in p.items():
            e = next((Fraction(k) for b, k in m if b is a), Fraction(0))
            rest = tuple(t for t in m if t[0] is not a)
            group = groups.setdefault(e + by, {})
            group[rest] = group.get(rest, Fraction(0)) + c
        out: Poly = {}
        for e, group in groups.items():
            whole = e.__floor__()
            part = group if e == whole else {(*m, (a, e - whole)): c for m, c in group.items()}
            if e != whole:
                part = {tuple(sorted(m, key=lambda t: t[0].rank)): c for m, c in part.items()}
            if whole:
                part = self.ring.mul(part, self.ring.expand(a.data, whole))
            out = self.ring.add(out, part)
        return out

    def inside(self, p: Poly, depth: int) -> bool:
        """Compare sums over the same range as one sum: its body must be zero."""
        signatures: dict[tuple[object, ...], list[Atom]] = {}
        for a in sorted({a for m in p for a, _ in m if a.kind == "sum"}):
            signatures.setdefault((a.data[0], a.data[1], a.data[2]), []).append(a)
        for (names, _, _), atoms in signatures.items():
            if len(atoms) < 2:
                continue
            held = {m: sum(1 for b, _ in m if b in atoms) for m in p}
            if any(e != 1 for m in p for b, e in m if b in atoms) or any(v > 1 for v in held.values()):
                continue
            rest = {m: c for m, c in p.items() if not held[m]}
            body = self._body(p, atoms, names)  # type: ignore[arg-type]
            if self.zero(body, depth + 1) and self.zero(rest, depth + 1):
                return True
        return False

    def _body(self, p: Poly, atoms: Sequence[Atom], names: Sequence[str]) -> Poly:
        env = {n: sym(self.sums.table.fresh("b")) for n in names}
        out: Poly = {}
        for m, c in p.items():
            found = next((a for a, _ in m if a in atoms), None)
            if found is not None:
                left = {tuple(t for t in m if t[0] is not found): Fraction(1)}
                out = self.ring.add(out, scale(self.ring.mul(left, self.sums.rename_mono(found.data[3], env)), c))
        return out
