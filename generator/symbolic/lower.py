"""From a program to polynomials: its loops become tensors indexed by the iteration."""

from __future__ import annotations

from collections.abc import Sequence

from generator.formula import ir
from generator.spec.integer import IntExpr, ceil_div, max_of, sym
from generator.symbolic.reading import Env, Loop, Piece, Reading, State, Value
from generator.symbolic.terms import Poly, UnsupportedError

__all__ = ["Loop", "Lowering", "Piece", "State", "Value"]


class Lowering(Reading):
    """One program, loops included."""

    # loops ------------------------------------------------------------------------------------------------------
    def loop(self, stmt: ir.For, env: Env) -> None:
        """A loop: what it carries becomes a state at each time, what it writes once becomes a piece over its counter."""
        start, stop = self.sums.integer(stmt.start, env), self.sums.integer(stmt.stop, env)
        span = stop - start if stmt.step > 0 else start - stop
        trips = span if abs(stmt.step) == 1 else ceil_div(span, abs(stmt.step))
        if not self.ring.facts.nonnegative(trips):
            trips = max_of(trips, 0)
        k = self.table.fresh(stmt.var)
        inside = [sym(k), span - 1 - sym(k) * abs(stmt.step)]
        for fact in inside:
            self.ring.facts.add(fact)
        info = Loop(stmt.var, tuple(x.counter for x in self.open), k, trips)
        time = tuple(sym(c) for c in info.path)
        before = dict(self.values)
        writes = list(_assigns(stmt.body))
        carried = {w.tensor for w in writes if all(stmt.var not in _names(i) for i in w.indices)}
        mapped = {w.tensor for w in writes} - carried
        serial = len(self.loops)
        for name in sorted(carried | mapped):
            state = f"{self.side}{serial}.{name}"
            self.table.states.add(state)
            if self.program.tensors[name].kind != "float":
                self.table.discrete.add(state)
            (info.states if name in carried else info.arrays)[name] = state
            self.values[name] = Value((), State(state, (*time, sym(k)) if name in carried else time))
        self.loops.append(info)
        self.open.append(info)
        self.block(stmt.body, {**env, stmt.var: start + sym(k) * stmt.step})
        self.open.pop()
        self.finish(info, before, inside, time)

    def finish(self, info: Loop, before: dict[str, Value], inside: Sequence[IntExpr], time: tuple[IntExpr, ...]) -> None:
        """What the tensors hold after a loop."""
        after = {n: self.values[n] for n in (*info.states, *info.arrays)}
        seen = {n for v in after.values() for p in v.pieces for m in p.value for a, _ in m for n in a.free if n.startswith("!")}
        done: dict[str, Value] = {}
        for name, state in info.arrays.items():
            pieces = tuple(Piece((*p.params, info.counter), (*p.low, *inside), p.pattern, p.value, False) for p in after[name].pieces)
            if after[name].base != State(state, time):
                raise UnsupportedError(f"{name} is defined by a recurrence in a nested loop")
            old = before.get(name, Value())
            if any(p.full for p in old.pieces):
                raise UnsupportedError(f"{name} is overwritten in part by a loop")
            done[name] = Value((*old.pieces, *pieces), old.base)
        recurrent = {n: s for n, s in info.arrays.items() if f"!{s}" in seen}
        info.arrays = recurrent
        for name in (*info.states, *recurrent):
            params = tuple(self.table.fresh(f"p{d}") for d in range(len(self.program.tensors[name].shape)))
            info.params[name] = params
            info.extents[name] = self.program.tensors[name].shape
            for p, s in zip(params, info.extents[name], strict=True):
                self.ring.facts.add(sym(p))
                self.ring.facts.add(s - 1 - sym(p))
            at = tuple(sym(p) for p in params)
            if name in info.states:
                self.values[name] = after[name]
                info.end[name] = self.read(name, at)
                old_value = before.get(name)
                info.start[name] = None if old_value is None else self._before(name, old_value, at)
                done[name] = Value((), State(info.states[name], (*time, info.trips)))
            else:
                self.values[name] = done[name]
                info.end[name] = self.read(name, at)
                done[name] = Value((), State(recurrent[name], time))
        self.values.update(done)
        self.close(info)

    def _before(self, name: str, value: Value, at: tuple[IntExpr, ...]) -> Poly:
        now = self.values.get(name)
        self.values[name] = value
        found = self.read(name, at)
        if now is not None:
            self.values[name] = now
        return found

    def close(self, info: Loop) -> None:
        """Hook: an accumulator gets its closed form (see ``prove``)."""


def _assigns(body: Sequence[ir.Stmt]) -> list[ir.Assign]:
    out: list[ir.Assign] = []
    for s in body:
        out += _assigns(s.body) if isinstance(s, ir.For) else [s]
    return out


def _names(i: ir.Index) -> frozenset[str]:
    return i.free() if isinstance(i, IntExpr) else frozenset()
