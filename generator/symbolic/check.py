"""Checks a certificate against the two programs it is about, by means of its own: no code of the prover is used.

No size is given a value: sizes, attributes, elements, sums that cannot be taken apart, exponentials and the like are
independent elements of a field, roots and reciprocals are what their bases say, and both sides must agree there. What the
checker takes from the certificate is only where to look: which tensors of two loops are equal, which tensors add up.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from fractions import Fraction

from generator.formula import ir
from generator.spec.integer import IntExpr, const, sym
from generator.symbolic.certificate import Certificate
from generator.symbolic.check_equal import Equality
from generator.symbolic.check_read import Held, Reader, Turn, Write
from generator.symbolic.check_sizes import Sizes
from generator.symbolic.check_values import DoubtError, Value

__all__ = ["check", "doubt"]

_BACK = 3


def check(
    certificate: Certificate,
    a: ir.Program,
    b: ir.Program,
    outputs: Sequence[tuple[str, str]],
    facts: Iterable[IntExpr] = (),
    positive: Iterable[str] = (),
    seconds: float = 20.0,
) -> bool:
    """Whether the certificate proves that ``outputs`` of ``a`` and ``b`` are equal, given that ``facts`` are >= 0 and the
    float attributes ``positive`` are > 0. False when it does not, or when the checker cannot follow."""
    return doubt(certificate, a, b, outputs, facts, positive, seconds) is None


def doubt(
    certificate: Certificate,
    a: ir.Program,
    b: ir.Program,
    outputs: Sequence[tuple[str, str]],
    facts: Iterable[IntExpr] = (),
    positive: Iterable[str] = (),
    seconds: float = 20.0,
) -> str | None:
    """Why the certificate does not prove its claim; None when it does. Arguments as for :func:`check`."""
    try:
        return _Check(certificate, a, b, facts, positive, seconds).run(outputs)
    except DoubtError as e:
        return str(e)
    except RecursionError:
        return "the formula is nested too deeply"


class _Check:
    def __init__(
        self, certificate: Certificate, a: ir.Program, b: ir.Program, facts: Iterable[IntExpr], positive: Iterable[str], seconds: float
    ) -> None:
        self.certificate = certificate
        self.sizes = Sizes()
        for fact in facts:
            self.sizes.learn(fact)
        self.v = Equality(self.sizes, frozenset(positive), seconds)
        self.v.formulas = {}
        below = _limits(a, b)

        def learn(name: str, tensor: str) -> None:
            for extent in below.get(tensor, ()):
                self.sizes.learn(sym(name))
                self.sizes.learn(extent - 1 - sym(name))

        self.v.learn_element = learn  # type: ignore[method-assign]
        names: dict[str, str] = {}
        for induction in certificate.inductions:
            names |= {y: x for x, y in induction.pairs}
        self.a = _Program(a, self.v, "A", {}, certificate.accumulators, self)
        self.b = _Program(b, self.v, "B", names, certificate.accumulators, self)
        self.owed = set(names)

    def run(self, outputs: Sequence[tuple[str, str]]) -> str | None:
        stated = {(i.a, i.b) for i in self.certificate.identities}
        if not set(outputs) <= stated:
            return "the certificate is about other outputs"
        self.a.run(self.a.program.body, {})
        self.b.run(self.b.program.body, {})
        if self.owed:
            return f"a loop's tensors were not met: {', '.join(sorted(self.owed))}"
        for x, y in outputs:
            shape = self.a.program.tensors[x].shape
            if shape != self.b.program.tensors[y].shape:
                return f"{x} and {y} have different shapes"
            at = tuple(sym(f"%out{d}") for d in range(len(shape)))
            for i, e in zip(at, shape, strict=True):
                self.sizes.learn(i)
                self.sizes.learn(e - 1 - i)
            left, right = self.a.element(x, at), self.b.element(y, at)
            if self.v.infinite(left) or self.v.infinite(right):
                return "an infinity is left"
            if not self.agree(left, right):
                return f"{x} and {y} differ: {self.v.text(self.v.minus(left, right))[:300]}"
        return None

    # equality ---------------------------------------------------------------------------------------------------
    def agree(self, a: Value, b: Value) -> bool:
        """Whether two values are equal, carried tensors traced back by some iterations where both are not of one time."""
        for _ in range(_BACK):
            if self.v.same_value(a, b):
                return True
            a, b, moved = self.back(a, b)
            if not moved:
                return False
        return self.v.same_value(a, b)

    def back(self, a: Value, b: Value) -> tuple[Value, Value, bool]:
        """Trace carried tensors back by one iteration where an earlier time is also in sight."""
        env: dict[str, IntExpr] = {}
        for turn in self.a.turns:
            states = {s: n for n, s in turn.carried.items()}
            depth = len(turn.outside)
            seen = {t for v in (a, b) for t in _times(self.v, v, set(states), depth)}
            late = {
                t
                for t in seen
                if t.value == 0
                or (any((t - u).value in (1, 2, 3) for u in seen) and self.sizes.implied(t - 1) and self.sizes.implied(turn.times - t))
            }
            if late:
                for s, n in states.items():
                    self.v.formulas[s] = self._traced(turn, s, n, late)
                    env[f"!{s}"] = const(0)
        if not env:
            return a, b, False
        try:
            return self.v.moved(a, env), self.v.moved(b, env), True
        finally:
            for s in env:
                del self.v.formulas[s[1:]]

    def _traced(self, turn: Turn, state: str, name: str, late: set[IntExpr]) -> Callable[[tuple[IntExpr, ...]], Value]:
        depth = len(turn.outside)

        def element(at: tuple[IntExpr, ...]) -> Value:
            t = at[depth]
            env = dict(zip((*turn.outside, *turn.places[name]), (*at[:depth], *at[depth + 1 :]), strict=True))
            first = turn.before[name]
            if t.value == 0 and first is not None:
                return self.v.moved(first, env)
            if t in late and t.value != 0:
                return self.v.moved(turn.after[name], {**env, turn.count: t - 1})
            return self.v.element(state, at)

        return element

    # loops ------------------------------------------------------------------------------------------------------
    def settle(self, turn: Turn) -> None:
        """A loop of the second program: every tensor that the certificate calls equal to one of the first program's is."""
        for kind in ("carried", "recurrent"):
            for name in getattr(turn, kind):
                mine = f"B{turn.number}.{name}"
                if mine in self.owed:
                    self._equal(turn, kind, name, self.b.names[mine])
                    self.owed.discard(mine)

    def _equal(self, turn: Turn, kind: str, name: str, theirs: str) -> None:
        other, their_name = self.turn_of(kind, theirs)
        if len(other.outside) != len(turn.outside):
            raise DoubtError(f"the loops of {name} are not nested alike")
        env = {turn.count: sym(other.count), **dict(zip(turn.outside, map(sym, other.outside), strict=True))}
        if self.v.moved_int(turn.times, env) != other.times:
            raise DoubtError(f"the loops of {name} do not run equally often")
        if turn.shapes[name] != other.shapes[their_name]:
            raise DoubtError(f"{name} has another shape")
        env |= dict(zip(turn.places[name], map(sym, other.places[their_name]), strict=True))
        first, theirs_first = turn.before.get(name), other.before.get(their_name)
        if (first is None) != (theirs_first is None):
            raise DoubtError(f"{name} does not start alike")
        shifted = turn.carried.get(name, "") in self.v.formulas
        if not shifted and first is not None and theirs_first is not None and not self.agree(theirs_first, self.v.moved(first, env)):
            raise DoubtError(f"{name} does not start alike")
        if not self.agree(other.after[their_name], self.v.moved(turn.after[name], env)):
            raise DoubtError(f"an iteration does not keep {name} equal")

    def turn_of(self, kind: str, state: str) -> tuple[Turn, str]:
        for turn in self.a.turns:
            for name, s in getattr(turn, kind).items():
                if s == state:
                    return turn, name
        raise DoubtError(f"no loop of the first program carries {state}")


class _Program(Reader):
    """One of the programs; tensors that add up get their sums, loops of the second are settled."""

    def __init__(
        self, program: ir.Program, totals: Equality, side: str, names: Mapping[str, str], adders: Sequence[str], owner: _Check
    ) -> None:
        super().__init__(program, totals, side, names, dict(owner.certificate.literals))
        self.adders = adders
        self.owner = owner

    def enter(self, turn: Turn, name: str, mine: str, state: str) -> str:
        """A tensor of the second program that is one of the first's but for its first value is that and the difference at first."""
        if mine == state or turn.outside or name not in self.held:
            return state
        other, theirs = self.owner.turn_of("carried", state)
        start = other.before[theirs]
        if start is None or other.outside or len(other.places[theirs]) != len(self.program.tensors[name].shape):
            return state
        places = other.places[theirs]
        more = self.v.minus(self.element(name, tuple(map(sym, places))), start)
        if self.v.same_value(more, {}):
            return state

        def element(at: tuple[IntExpr, ...]) -> Value:
            first = self.v.moved(more, dict(zip(places, at[1:], strict=True)))
            return self.v.plus(self.v.element(state, at), self.v.times(self.v.equals(at[0]), first))

        self.v.formulas[mine] = element
        return mine

    def done(self, turn: Turn) -> None:
        for state in self.adders:
            for name in [n for n, s in turn.carried.items() if s == state]:
                self._add_up(turn, name, state)
        if self.side == "B" and not self.stack:
            first = next(i for i, t in enumerate(self.turns) if not t.outside and t.number >= self._settled)
            for t in self.turns[first:]:
                self.owner.settle(t)
            self._settled = len(self.turns)

    _settled = 0

    def _add_up(self, turn: Turn, name: str, state: str) -> None:
        """A tensor to which every iteration adds something that does not depend on what the loop carries."""
        start = turn.before[name]
        own = {f"!{s}" for s in (*turn.carried.values(), *turn.recurrent.values())}
        time = tuple(map(sym, (*turn.outside, turn.count)))
        added = self.v.minus(turn.after[name], self.v.element(state, (*time, *map(sym, turn.places[name]))))
        anew = not self.v.names(turn.after[name]) & own
        if start is None or (self.v.names(added) & own and not anew):
            raise DoubtError(f"{name} does not add up")
        names = (*turn.outside, turn.count, *turn.places[name])
        depth = len(turn.outside)
        end = turn.after[name]

        def element(at: tuple[IntExpr, ...]) -> Value:
            env = dict(zip(names, at, strict=True))
            q = self.v.new()
            inner = self.v.moved(added, {**env, turn.count: sym(q)})
            rest = {n: e for n, e in env.items() if n != turn.count}
            if anew:  # every iteration sets it from outside the loop
                last = self.v.moved(end, {**env, turn.count: at[depth] - 1})
                then = self.v.times(self.v.at_least(at[depth] - 1), last)
                return self.v.plus(self.v.times(self.v.equals(at[depth]), self.v.moved(start, rest)), then)
            return self.v.plus(self.v.moved(start, rest), self.v.total([q], [sym(q), at[depth] - 1 - sym(q)], [], inner))

        self.v.formulas[state] = element
        del turn.carried[name]
        env = {f"!{state}": const(0)}
        for n in turn.after:
            turn.after[n] = self.v.moved(turn.after[n], env)
        self.held = {
            n: Held(tuple(Write(w.axes, w.low, w.at, self.v.moved(w.value, env), w.all) for w in h.writes), h.carried, h.time)
            for n, h in self.held.items()
        }


def _limits(*programs: ir.Program) -> dict[str, list[IntExpr]]:
    """For each integer tensor whose elements are indices, the extents they index."""
    out: dict[str, list[IntExpr]] = {}

    def walk(node: object, program: ir.Program) -> None:
        if isinstance(node, tuple):
            for x in node:
                walk(x, program)
        elif type(node).__module__ == ir.__name__:
            if isinstance(node, ir.Load):
                for d, i in enumerate(node.indices):
                    if isinstance(i, ir.Gather) and d not in node.guarded:
                        out.setdefault(i.load.tensor, []).append(program.tensors[node.tensor].shape[d])
            for slot in getattr(type(node), "__dataclass_fields__", ()):
                walk(getattr(node, slot), program)

    for p in programs:
        walk(p.body, p)
    return out


def _times(v: Equality, value: Value, states: set[str], depth: int) -> set[IntExpr]:
    """The times at which carried tensors stand in a value."""
    out: set[IntExpr] = set()
    wanted = {f"!{s}" for s in states}
    work = [value]
    while work:
        for p in {p for m in work.pop() for p, _ in m}:
            part = v.parts[p]
            if not part.names & wanted:
                continue
            h = part.holds
            if part.what == "element":
                out.add(h[1][depth])
            elif part.what == "call":
                work += h[1:]
            elif part.what == "total":
                work.append({h[3]: Fraction(1)})
            elif part.what == "other":
                work.append(h[3])
            elif part.what not in ("atleast", "equals", "number"):
                work.append(h)
    return out
