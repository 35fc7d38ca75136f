"""Loops: accumulators get closed forms, and loops of two programs are shown to carry equal tensors, by induction."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction

from generator.formula import ir
from generator.spec.integer import IntExpr, const, sym
from generator.symbolic.certificate import Induction
from generator.symbolic.lower import Loop, Lowering, State, Value
from generator.symbolic.sums import Sums
from generator.symbolic.terms import Poly, UnsupportedError, free_of
from generator.symbolic.zero import Zero

__all__ = ["First", "Second"]

_TRIES = 24
_UNROLL = 4


class First(Lowering):
    """The first program: its loops are what the second's are compared with."""

    def __init__(self, program: ir.Program, sums: Sums, side: str) -> None:
        super().__init__(program, sums, side)
        self.outer: list[int] = []  # places of outermost loops in ``loops``

    def close(self, info: Loop) -> None:
        """Accumulators of the loop get their closed form."""
        while self._accumulator(info):
            pass
        if not self.open:
            self.outer.append(self.loops.index(info))
            self.outermost(self.nest(len(self.outer) - 1))

    def outermost(self, nest: Sequence[Loop]) -> None:
        """Called when an outermost loop is done."""

    def nest(self, at: int) -> list[Loop]:
        """An outermost loop, by number, and the loops inside it."""
        first = self.outer[at]
        return self.loops[first : next((n for n in self.outer if n > first), len(self.loops))]

    def _accumulator(self, info: Loop) -> bool:
        """Give one tensor its closed form: of one that every iteration adds to, its start and the sum of what is added; of one
        that every iteration sets anew from outside the loop, its start at first and then what the last iteration set."""
        own = {f"!{s}" for s in (*info.states.values(), *info.arrays.values())}
        for name, state in info.states.items():
            start = info.start[name]
            if start is None:
                continue
            time = tuple(sym(c) for c in (*info.path, info.counter))
            before = self.ring.atom(self.table.load(state, (*time, *(sym(p) for p in info.params[name]))))
            added = self.ring.sub(info.end[name], before)
            if not free_of(info.end[name]) & own:
                self.sums.closed[state] = self._overwritten(info, name, start, info.end[name])
            elif not free_of(added) & own:
                self.sums.closed[state] = self._closed_form(info, name, start, added)
            else:
                continue
            env = {f"!{state}": const(0)}
            del info.states[name]
            self.substitute(env)
            for n in (*info.states, *info.arrays):
                info.end[n] = self.sums.rename(info.end[n], env)
            return True
        return False

    def _closed_form(self, info: Loop, name: str, start: Poly, added: Poly) -> Callable[[tuple[IntExpr, ...]], Poly]:
        names = (*info.path, "", *info.params[name])
        counter = info.counter
        span = self.table.fresh(info.var)

        def at(indices: tuple[IntExpr, ...]) -> Poly:
            env = {n: i for n, i in zip(names, indices, strict=True) if n}
            time = indices[len(info.path)]
            q = self.table.fresh(span)
            body = self.sums.rename(added, {**env, counter: sym(q)})
            return self.ring.add(self.sums.rename(start, env), self.sums.total([q], [sym(q), time - 1 - sym(q)], body))

        return at

    def _overwritten(self, info: Loop, name: str, start: Poly, end: Poly) -> Callable[[tuple[IntExpr, ...]], Poly]:
        names = (*info.path, "", *info.params[name])
        r = self.ring

        def at(indices: tuple[IntExpr, ...]) -> Poly:
            env = {n: i for n, i in zip(names, indices, strict=True) if n}
            time = indices[len(info.path)]
            first = r.mul(r.ieq(time), self.sums.rename(start, env))
            return r.add(first, r.mul(r.ge(time - 1), self.sums.rename(end, {**env, info.counter: time - 1})))

        return at

    def substitute(self, env: Mapping[str, IntExpr]) -> None:
        """Replace states in everything the tensors hold."""
        for name, value in self.values.items():
            if any(free_of(p.value) & env.keys() for p in value.pieces):
                self.values[name] = replace(value, pieces=tuple(replace(p, value=self.sums.rename(p.value, env)) for p in value.pieces))


class Second(First):
    """The second program: each of its loops is compared with the first's as soon as it is lowered."""

    def __init__(self, program: ir.Program, sums: Sums, side: str, other: First, zero: Zero) -> None:
        super().__init__(program, sums, side)
        self.other = other
        self.zero = zero
        self.found: list[Induction] = []

    def outermost(self, nest: Sequence[Loop]) -> None:
        if not any(x.states or x.arrays for x in nest):
            return
        best: list[tuple[str, str]] = []
        for n in range(len(self.other.outer)):
            pairs = self.alike(self.other.nest(n), nest)
            if len(pairs) > len(best):
                best = pairs
        chosen = {y for _, y in best}
        for loop in nest:
            for state in loop.states.values():
                if state in self.sums.closed and state not in chosen:
                    del self.sums.closed[state]
        if not best:
            return
        env = {f"!{y}": const(0) if y in self.sums.closed else sym(x) for x, y in best}
        known = {y: x for x, y in best if y not in self.sums.closed}
        self.found.append(Induction(tuple(best)))
        for name, value in self.values.items():
            if value.base is not None and value.base.name in known:
                self.values[name] = Value(value.pieces, State(known[value.base.name], value.base.time))
        self.substitute(env)

    # comparing --------------------------------------------------------------------------------------------------
    def alike(self, first: Sequence[Loop], second: Sequence[Loop]) -> list[tuple[str, str]]:
        """The pairs of carried tensors of two nests of loops that are equal at all times."""
        if len(first) != len(second):
            return []
        clocks: dict[str, IntExpr] = {}
        for x, y in zip(first, second, strict=True):
            if len(x.path) != len(y.path) or any(clocks.get(b) != sym(a) for a, b in zip(x.path, y.path, strict=True)):
                return []
            if self.sums.integer(y.trips, clocks) != x.trips:
                return []
            clocks[y.counter] = sym(x.counter)
        options = [
            (y, name, kind, self._candidates(x, y, name, kind))
            for x, y in zip(first, second, strict=True)
            for kind in ("states", "arrays")
            for name in getattr(y, kind)
        ]
        partner = {id(y): x for x, y in zip(first, second, strict=True)}
        best: list[tuple[str, str]] = []
        full = [o for o in options if o[3]]
        for pick in itertools.islice(itertools.product(*(o[3] for o in full)), _TRIES):
            pairs = [(partner[id(y)], y, kind, x_name, name) for (y, name, kind, _), x_name in zip(full, pick, strict=True)]
            kept = self._fixpoint(pairs, clocks)
            if len(kept) > len(best):
                best = kept
            if len(best) == len(options):
                break
        return best

    def _candidates(self, x: Loop, y: Loop, name: str, kind: str) -> list[str]:
        """Tensors of the first loop that may be this one: of its shape, the same name first."""
        names = [n for n in getattr(x, kind) if x.extents[n] == y.extents[name]]
        return sorted(names, key=lambda n: (n != name, n))

    def _fixpoint(self, pairs: list[tuple[Loop, Loop, str, str, str]], clocks: Mapping[str, IntExpr]) -> list[tuple[str, str]]:
        """Drop pairs that do not hold under the hypothesis of the others until all of the rest do."""
        started = [p for p in pairs if p[2] == "arrays" or (p[0].start[p[3]] is None) == (p[1].start[p[4]] is None)]
        while True:
            env: dict[str, IntExpr] = {}
            for pair in started:
                env |= self._as_first(pair, clocks)
            kept = [p for p in started if self._holds(p, {**clocks, **env})]
            if len(kept) == len(started):
                return [(getattr(x, kind)[a], getattr(y, kind)[b]) for x, y, kind, a, b in kept]
            started = kept

    def _as_first(self, pair: tuple[Loop, Loop, str, str, str], clocks: Mapping[str, IntExpr]) -> dict[str, IntExpr]:
        """How a tensor of the second program is written by one of the first: as it, but for what it holds at first."""
        x, y, kind, a, b = pair
        mine, theirs = getattr(x, kind)[a], getattr(y, kind)[b]
        self.sums.closed.pop(theirs, None)
        if kind == "states" and not x.path:
            mine_first, first = x.start[a], y.start[b]
            if mine_first is not None and first is not None:
                env = {**clocks, **{q: sym(p) for p, q in zip(x.params[a], y.params[b], strict=True)}}
                delta = self.ring.sub(self.sums.rename(first, env), mine_first)
                if not self.zero.zero(delta):
                    self.sums.closed[theirs] = self._shifted(mine, x.params[a], delta)
                    return {f"!{theirs}": const(0)}
        return {f"!{theirs}": sym(mine)}

    def _shifted(self, mine: str, params: tuple[str, ...], delta: Poly) -> Callable[[tuple[IntExpr, ...]], Poly]:
        r = self.ring

        def at(indices: tuple[IntExpr, ...]) -> Poly:
            start = self.sums.rename(delta, dict(zip(params, indices[1:], strict=True)))
            return r.add(r.atom(self.table.load(mine, indices)), r.mul(r.ieq(indices[0]), start))

        return at

    def _holds(self, pair: tuple[Loop, Loop, str, str, str], env: Mapping[str, IntExpr]) -> bool:
        x, y, kind, a, b = pair
        full = {**env, **{q: sym(p) for p, q in zip(x.params[a], y.params[b], strict=True)}}
        try:
            if kind == "states":
                start = y.start[b]
                mine = x.start[a]
                shifted = y.states[b] in self.sums.closed  # equal at first by construction
                if not shifted and start is not None and mine is not None and not self.equal(mine, self.sums.rename(start, full)):
                    return False
            return self.equal(x.end[a], self.sums.rename(y.end[b], full))
        except UnsupportedError:
            return False

    # times ------------------------------------------------------------------------------------------------------
    def equal(self, a: Poly, b: Poly) -> bool:
        """Whether two polynomials are equal; carried tensors at later times are unrolled to the earliest time in sight."""
        for _ in range(_UNROLL):
            if self.zero.zero(self.ring.sub(a, b)):
                return True
            a2, b2 = self.earlier(a, b)
            if a2 == a and b2 == b:
                return False
            a, b = a2, b2
        return False

    def earlier(self, a: Poly, b: Poly) -> tuple[Poly, Poly]:
        """Replace carried tensors one iteration after another that is in sight by what the loop computes from that."""
        env: dict[str, IntExpr] = {}
        for info in self.other.loops:
            depth = len(info.path)
            names = {s: n for n, s in info.states.items()}
            times = {t for p in (a, b) for t in self._times(p, set(names), depth)}
            late = {t for t in times if any((t - u).value is not None and (t - u).value > 0 for u in times)}
            late = {t for t in late if self._inside(info, t - 1)} | {t for t in times if t.value == 0}
            if not late:
                continue
            for state, name in names.items():
                self.sums.closed[state] = self._unroll(info, state, name, late)
                env[f"!{state}"] = const(0)
        try:
            return (self.sums.rename(a, env), self.sums.rename(b, env)) if env else (a, b)
        finally:
            for key in env:
                del self.sums.closed[key[1:]]

    def _inside(self, info: Loop, t: IntExpr) -> bool:
        facts = self.ring.facts
        return facts.nonnegative(t) and facts.nonnegative(info.trips - 1 - t)

    def _unroll(self, info: Loop, state: str, name: str, late: set[IntExpr]) -> Callable[[tuple[IntExpr, ...]], Poly]:
        depth = len(info.path)

        def at(indices: tuple[IntExpr, ...]) -> Poly:
            time = indices[depth]
            env = dict(zip((*info.path, *info.params[name]), (*indices[:depth], *indices[depth + 1 :]), strict=True))
            start = info.start[name]
            if time.value == 0 and start is not None:
                return self.sums.rename(start, env)
            if time in late and time.value != 0:
                return self.sums.rename(info.end[name], {**env, info.counter: time - 1})
            return self.ring.atom(self.table.load(state, indices))

        return at

    def _times(self, p: Poly, states: set[str], depth: int) -> set[IntExpr]:
        """The times at which carried tensors are read."""
        out: set[IntExpr] = set()
        wanted = {f"!{s}" for s in states}
        work = [p]
        while work:
            for m in work.pop():
                for a, _ in m:
                    if not a.free & wanted:
                        continue
                    if a.kind == "ld":
                        out.add(a.data[1][depth])
                    elif a.kind in ("exp", "pow", "step", "gt", "eq"):
                        work.append(a.data)
                    elif a.kind == "fn":
                        work += a.data[1:]
                    elif a.kind in ("sum", "red"):
                        work.append({a.data[3]: Fraction(1)} if a.kind == "sum" else a.data[3])
        return out
