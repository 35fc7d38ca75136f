"""The checker's reading of programs: what each element of a tensor is, in terms of inputs and of tensors carried by loops."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal, localcontext
from fractions import Fraction
from typing import Any

from generator.formula import ir
from generator.spec.integer import IntExpr, ceil_div, const, floor_div, max_of, mod, sym
from generator.symbolic.check_equal import Equality
from generator.symbolic.check_values import ZERO, DoubtError, Value, one

__all__ = ["Reader", "Turn"]

Env = Mapping[str, IntExpr]
_PI = Decimal("3.14159265358979323846264338327950288419716939937510582")
_CONSTANTS: Mapping[str, tuple[int, int, int, int]] = {  # twice the powers of 2 and pi; a logarithm's argument and power
    "sqrt(2/pi)": (1, -1, 1, 0),
    "sqrt(2)": (1, 0, 1, 0),
    "pi": (0, 2, 1, 0),
    "1/pi": (0, -2, 1, 0),
    "1/sqrt(pi)": (0, -1, 1, 0),
    "sqrt(pi)": (0, 1, 1, 0),
    "sqrt(2*pi)": (1, 1, 1, 0),
    "log(2)": (0, 0, 2, 1),
    "log(10)": (0, 0, 10, 1),
    "1/log(2)": (0, 0, 2, -1),
    "1/log(10)": (0, 0, 10, -1),
}
_NOT = {"lt": "ge", "ge": "lt", "le": "gt", "gt": "le", "eq": "ne", "ne": "eq"}


@dataclass(frozen=True)
class Write:
    """Elements ``at`` are ``value`` for all ``axes`` that satisfy ``low``; ``all`` when that is every element, in order."""

    axes: tuple[str, ...]
    low: tuple[IntExpr, ...]
    at: tuple[IntExpr, ...]
    value: Value
    all: bool


@dataclass(frozen=True)
class Held:
    """What a tensor holds: the first of ``writes`` that reaches an element, else the element of a carried tensor."""

    writes: tuple[Write, ...] = ()
    carried: str = ""
    time: tuple[IntExpr, ...] = ()


@dataclass
class Turn:
    """A loop: ``before`` and ``after`` of a carried tensor are its elements at ``places`` when an iteration starts for the
    first time, and when iteration ``count`` is done; of a tensor defined by recurrence ``after`` is its definition."""

    number: int
    outside: tuple[str, ...]
    count: str
    times: IntExpr
    carried: dict[str, str] = field(default_factory=dict)
    recurrent: dict[str, str] = field(default_factory=dict)
    places: dict[str, tuple[str, ...]] = field(default_factory=dict)
    before: dict[str, Value | None] = field(default_factory=dict)
    after: dict[str, Value] = field(default_factory=dict)
    shapes: dict[str, tuple[IntExpr, ...]] = field(default_factory=dict)


class Reader:
    """One program. ``names`` gives the carried tensors of its loops the names the certificate has for them."""

    def __init__(self, program: ir.Program, totals: Equality, side: str, names: Mapping[str, str], literals: Mapping[str, str]) -> None:
        self.literals = literals
        self.program = program
        self.v = totals
        self.side = side
        self.names = names
        self.held: dict[str, Held] = {}
        self.turns: list[Turn] = []
        self.stack: list[Turn] = []

    def done(self, turn: Turn) -> None:
        """Told of each loop when it is read."""

    def enter(self, turn: Turn, name: str, mine: str, state: str) -> str:
        """What a carried tensor is called inside its loop; ``state`` unless that is wrong of its first value."""
        return state

    # elements ---------------------------------------------------------------------------------------------------
    def element(self, name: str, at: tuple[IntExpr, ...]) -> Value:
        """The element of a tensor."""
        tensor = self.program.tensors[name]
        if name not in self.held:
            if tensor.role != "input":
                raise DoubtError(f"{name} is read before it is written")
            if tensor.kind == "float":
                return self.v.element(name, at)
            self.v.whole.add(name)
            found = self.v.element(name, at)
            return self.v.equals(self.v.gathered(found) - 1) if tensor.kind == "bool" else found
        held = self.held[name]
        out, left = ZERO, one()
        for w in held.writes:
            if w.all:
                return self.v.moved(w.value, dict(zip(w.axes, at, strict=True)))
            out = self.v.plus(out, self.reached(w, at, w.value))
            if held.carried or tensor.fill:
                left = self.v.minus(left, self.reached(w, at, one()))
        if held.carried and left:
            return self.v.plus(out, self.v.times(left, self.of_loop(held.carried, (*held.time, *at))))
        if tensor.fill and tensor.role == "output":
            return self.v.plus(out, self.v.scaled(left, Fraction(repr(tensor.fill))))
        return out

    def of_loop(self, state: str, at: tuple[IntExpr, ...]) -> Value:
        if state in self.v.formulas:
            return self.v.formulas[state](at)
        return self.v.element(state, at)

    def reached(self, w: Write, at: tuple[IntExpr, ...], value: Value) -> Value:
        env = {a: sym(self.v.new()) for a in w.axes}
        same = [self.v.moved_int(e, env) - i for e, i in zip(w.at, at, strict=True)]
        return self.v.total([str(x) for x in env.values()], [self.v.moved_int(e, env) for e in w.low], same, self.v.moved(value, env))

    # integers ---------------------------------------------------------------------------------------------------
    def place(self, i: ir.Index, env: Env) -> IntExpr:
        if isinstance(i, IntExpr):
            return self.v.moved_int(i, env)
        if isinstance(i, ir.Gather):
            found = self.integer(i.load, env)
            if found is not None:
                return found
        raise DoubtError("an index")

    def integer(self, e: ir.Expr, env: Env) -> IntExpr | None:
        """A value made of integers as an integer expression; None for others."""
        match e:
            case ir.IntVal(value=value):
                return self.v.moved_int(value, env)
            case ir.Num(value=value):
                whole = value == value and abs(value) != float("inf") and value == int(value)
                return const(int(value)) if whole else None
            case ir.Load():
                return self.loaded(e, env)
            case ir.Neg(x=x):
                inner = self.integer(x, env)
                return None if inner is None else -inner
            case ir.Binary(op=op, a=a, b=b):
                left, right = self.integer(a, env), self.integer(b, env)
                if left is None or right is None:
                    return None
                if op in ("add", "sub", "mul"):
                    return left + right if op == "add" else left - right if op == "sub" else left * right
                if op in ("floordiv", "mod") and self.v.sizes.implied(right - 1):
                    return floor_div(left, right) if op == "floordiv" else mod(left, right)
        return None

    def loaded(self, e: ir.Load, env: Env) -> IntExpr | None:
        tensor = self.program.tensors[e.tensor]
        if tensor.kind == "float" or e.guarded:
            return None
        at = tuple(self.place(i, env) for i in e.indices)
        if e.tensor not in self.held:
            self.v.whole.add(e.tensor)
            return self.v.gathered(self.v.element(e.tensor, at))
        value = self.element(e.tensor, at)
        out = const(0)
        for m, c in value.items():
            term = const(int(c))
            if c.denominator != 1:
                return None
            for p, k in m:
                part = self.v.parts[p]
                if part.what == "number" and p.isidentifier() and p not in self.v.reals and k.denominator == 1 and 0 < k < 4:
                    term = term * _power(sym(p), int(k))
                elif part.what == "number" and not p.isidentifier() and not p.startswith("root") and k == 1:
                    term = term * sym(p)
                elif part.what == "element" and part.holds[0] in self.v.whole and k == 1:
                    term = term * self.v.gathered({((p, Fraction(1)),): Fraction(1)})
                else:
                    return None
            out = out + term
        return out

    # values -----------------------------------------------------------------------------------------------------
    def value(self, e: ir.Expr, env: Env) -> Value:
        """An expression."""
        v = self.v
        v.tick()
        match e:
            case ir.Num():
                return self.literal(e)
            case ir.Attr(name=name) if name in self.program.bool_attrs:
                return v.equals(sym(name) - 1)
            case ir.Attr(name=name):
                v.reals.add(name)
                return v.number(name)
            case ir.IntVal(value=value):
                return v.integer(v.moved_int(value, env))
            case ir.Load():
                return self.load(e, env)
            case ir.Neg(x=x):
                return v.scaled(self.value(x, env), -1)
            case ir.Binary():
                return self.binary(e, env)
            case ir.Call(fn=fn, args=args):
                return v.named(fn, [self.value(a, env) for a in args])
            case ir.Where(cond=c, a=a, b=b):
                yes, no = self.holds(c, env), self.fails(c, env)
                left = v.times(yes, self.value(a, env)) if yes else ZERO
                return v.plus(left, v.times(no, self.value(b, env)) if no else ZERO)
            case ir.Cast(dtype=dtype, x=x):
                inner = self.value(x, env)
                plain = dtype.startswith(("float", "bfloat")) or self.integer(x, env) is not None
                return inner if plain else v.call(f"cast:{dtype}", inner)
            case ir.Reduce():
                return self.reduce(e, env)
        return self.holds(e, env)

    def literal(self, e: ir.Num) -> Value:
        if e.text == "pi":
            return self.v.pi()
        if e.value != e.value:
            raise DoubtError("nan")
        if abs(e.value) == float("inf"):
            return self.v.scaled(self.v.element("infinity", ()), 1 if e.value > 0 else -1)
        meaning = self.literals.get(e.text or repr(e.value))
        if meaning is not None:
            return self.meant(e.text or repr(e.value), meaning)
        if e.text and e.text.replace(".", "", 1).isdigit():
            return one(Fraction(e.text))
        return one(Fraction(e.value) if isinstance(e.value, int) else Fraction(repr(e.value)))

    def meant(self, text: str, meaning: str) -> Value:
        """The constant that the certificate says a decimal rounds, if it does, to a unit of its last digit."""
        ratio, _, name = meaning.partition("*")
        if name not in _CONSTANTS:
            raise DoubtError(f"{meaning} is no constant")
        two, by_pi, log, e = _CONSTANTS[name]
        with localcontext() as context:
            context.prec = 50
            part = Decimal(2) ** (Decimal(two) / 2) * _PI ** (Decimal(by_pi) / 2)
            part *= Decimal(log).ln() ** e if log > 1 else 1
            exact = part * Decimal(Fraction(ratio).numerator) / Decimal(Fraction(ratio).denominator)
            written = Decimal(text)
            exponent = written.as_tuple().exponent
            if not isinstance(exponent, int) or abs(exact - written) > Decimal(10) ** exponent or len(written.as_tuple().digits) < 7:
                raise DoubtError(f"{text} is not {meaning}")
        v = self.v
        out = v.times(v.root(Fraction(2), Fraction(two, 2)), v.power(v.pi(), Fraction(by_pi, 2)))
        if log > 1:
            out = v.times(out, v.power(v.log(one(log)), Fraction(e)))
        return v.scaled(out, Fraction(ratio))

    def binary(self, e: ir.Binary, env: Env) -> Value:
        v = self.v
        if e.op in ("floordiv", "mod"):
            found = self.integer(e, env)
            if found is None:
                raise DoubtError(f"{e.op} of values")
            return v.integer(found)
        a, b = self.value(e.a, env), self.value(e.b, env)
        infinities = v.infinite(a) + v.infinite(b)
        if infinities == 2 or (infinities and e.op not in ("add", "sub")):
            raise DoubtError("arithmetic with infinities")
        match e.op:
            case "add":
                return v.plus(a, b)
            case "sub":
                return v.minus(a, b)
            case "mul":
                return v.times(a, b)
            case "div":
                return v.times(a, v.power(b, Fraction(-1)))
        return v.named("pow", [a, b])

    def load(self, e: ir.Load, env: Env) -> Value:
        at = tuple(self.place(i, env) for i in e.indices)
        value = self.element(e.tensor, at)
        if not e.guarded:
            return value
        shape = self.program.tensors[e.tensor].shape
        inside = self.v.all([x for d in e.guarded for x in (self.v.at_least(at[d]), self.v.at_least(shape[d] - 1 - at[d]))])
        out = self.v.times(inside, value)
        if e.outside:
            return self.v.plus(out, self.v.times(self.v.minus(one(), inside), self.literal(ir.Num(e.outside))))
        return out

    def holds(self, e: ir.Expr, env: Env) -> Value:
        """1 where a condition is true, 0 where it is false."""
        v = self.v
        match e:
            case ir.Compare(op=op, a=a, b=b):
                return self.compared(op, a, b, env)
            case ir.Not(x=x):
                return self.fails(x, env)
            case ir.Logic(op=op, a=a, b=b):
                if op == "and":
                    return v.times(self.holds(a, env), self.holds(b, env))
                return v.minus(one(), v.times(v.minus(one(), self.holds(a, env)), v.minus(one(), self.holds(b, env))))
        return self.value(e, env)

    def fails(self, e: ir.Expr, env: Env) -> Value:
        match e:
            case ir.Not(x=x):
                return self.holds(x, env)
            case ir.Compare(op=op, a=a, b=b):
                return self.compared(_NOT[op], a, b, env)
        return self.v.minus(one(), self.holds(e, env))

    def compared(self, op: str, a: ir.Expr, b: ir.Expr, env: Env) -> Value:
        v = self.v
        if op == "ne":
            return v.minus(one(), self.compared("eq", a, b, env))
        x, y = self.integer(a, env), self.integer(b, env)
        if x is not None and y is not None:
            return {
                "eq": lambda: v.equals(x - y),
                "ge": lambda: v.at_least(x - y),
                "gt": lambda: v.at_least(x - y - 1),
                "le": lambda: v.at_least(y - x),
                "lt": lambda: v.at_least(y - x - 1),
            }[op]()
        d = v.minus(self.value(a, env), self.value(b, env))
        if v.infinite(self.value(a, env)) or v.infinite(self.value(b, env)):
            raise DoubtError("a comparison with infinity")
        if op == "eq":
            return v.zero(d)
        return v.positive_part(d if op in ("gt", "ge") else v.scaled(d, -1), op in ("gt", "lt"))

    def reduce(self, e: ir.Reduce, env: Env) -> Value:
        axes, low, count = [], [], const(1)
        inner = dict(env)
        for a in e.axes:
            extent = self.v.moved_int(a.extent or const(0), env)
            name = self.v.new()
            inner[a.name] = sym(name)
            axes.append(name)
            low += [sym(name), extent - 1 - sym(name)]
            count = count * extent
        for fact in low:
            self.v.sizes.learn(fact)
        if e.op in ("sum", "mean"):
            total = self.v.total(axes, low, (), self.value(e.body, inner))
            if e.op == "sum":
                return total
            by = self.v.integer(count) if e.divisor is None else self.value(e.divisor, env)
            return self.v.times(total, self.v.power(by, Fraction(-1)))
        body = self.holds(e.body, inner) if e.op in ("any", "all") else self.value(e.body, inner)
        return self.v.reduction(e.op, axes, low, body)

    # statements -------------------------------------------------------------------------------------------------
    def run(self, body: Sequence[ir.Stmt], env: Env) -> None:
        """Read statements in order."""
        for s in body:
            if isinstance(s, ir.For):
                self.turn(s, env)
            else:
                w = self.write(s, env)
                old = self.held.get(s.tensor, Held())
                if not w.all and any(x.all for x in old.writes):
                    raise DoubtError(f"{s.tensor} is written over in part")
                self.held[s.tensor] = Held((w,)) if w.all else Held((*old.writes, w), old.carried, old.time)

    def write(self, s: ir.Assign, env: Env) -> Write:
        tensor = self.program.tensors[s.tensor]
        axes = {a.name: self.v.new() for a in s.axes}
        extents = {axes[a.name]: self.v.moved_int(a.extent or const(0), env) for a in s.axes}
        low = [x for n, e in extents.items() for x in (sym(n), e - 1 - sym(n))]
        for fact in low:
            self.v.sizes.learn(fact)
        inner = {**env, **{a: sym(n) for a, n in axes.items()}}
        at = tuple(self.place(i, inner) for i in s.indices)
        value = self.holds(s.value, inner) if tensor.kind == "bool" else self.value(s.value, inner)
        bare = [str(i.symbol) for i in at]
        whole = len(set(bare)) == len(bare) and set(bare) == set(extents)
        if whole and all(extents[str(i.symbol)] == e for i, e in zip(at, tensor.shape, strict=True)):
            return Write(tuple(str(i.symbol) for i in at), tuple(low), at, value, True)
        return Write(tuple(extents), tuple(low), at, value, False)

    # loops ------------------------------------------------------------------------------------------------------
    def turn(self, s: ir.For, env: Env) -> None:
        """A loop."""
        first, last = self.v.moved_int(s.start, env), self.v.moved_int(s.stop, env)
        reach = (last - first) * (1 if s.step > 0 else -1)
        times = reach if abs(s.step) == 1 else ceil_div(reach, abs(s.step))
        turn = Turn(
            len(self.turns),
            tuple(t.count for t in self.stack),
            self.v.new(),
            times if self.v.sizes.implied(times) else max_of(times, 0),
        )
        bounds = [sym(turn.count), reach - 1 - abs(s.step) * sym(turn.count)]
        for fact in bounds:
            self.v.sizes.learn(fact)
        before = dict(self.held)
        outer = tuple(map(sym, turn.outside))
        all_writes = list(_writes(s.body))
        for name in sorted({w.tensor for w in all_writes}):
            mine = f"{self.side}{turn.number}.{name}"
            state = self.names.get(mine, mine)
            if self.program.tensors[name].kind != "float":
                self.v.whole.add(state)
            if any(all(s.var not in _free(i) for i in w.indices) for w in all_writes if w.tensor == name):
                turn.carried[name] = state = self.enter(turn, name, mine, state)
                self.held[name] = Held((), state, (*outer, sym(turn.count)))
            else:
                turn.recurrent[name] = state
                self.held[name] = Held((), state, outer)
        self.turns.append(turn)
        self.stack.append(turn)
        self.run(s.body, {**env, s.var: first + s.step * sym(turn.count)})
        self.stack.pop()
        self._leave(turn, before, bounds, outer)
        self.done(turn)

    def _leave(self, turn: Turn, before: dict[str, Held], bounds: list[IntExpr], outer: tuple[IntExpr, ...]) -> None:
        ends = {n: self.held[n] for n in (*turn.carried, *turn.recurrent)}
        read = {n for h in ends.values() for w in h.writes for n in self.v.names(w.value)}
        later: dict[str, Held] = {}
        for name, state in list(turn.recurrent.items()):
            if ends[name].carried != state or ends[name].time != outer:
                raise DoubtError("a recurrence in a nested loop")
            old = before.get(name, Held())
            if any(w.all for w in old.writes):
                raise DoubtError(f"{name} is written over in part")
            mine = tuple(Write((*w.axes, turn.count), (*w.low, *bounds), w.at, w.value, False) for w in ends[name].writes)
            later[name] = Held((*old.writes, *mine), old.carried, old.time)
            if f"!{state}" not in read:
                del turn.recurrent[name]
        for name in (*turn.carried, *turn.recurrent):
            shape = self.program.tensors[name].shape
            places = tuple(f"%{self.v.new()[1:]}" for _ in shape)
            turn.places[name], turn.shapes[name] = places, shape
            for p, e in zip(places, shape, strict=True):
                self.v.sizes.learn(sym(p))
                self.v.sizes.learn(e - 1 - sym(p))
            at = tuple(map(sym, places))
            if name in turn.carried:
                turn.after[name] = self.element(name, at)
                turn.before[name] = None
                if name in before:
                    self.held[name] = before[name]
                    turn.before[name] = self.element(name, at)
                later[name] = Held((), turn.carried[name], (*outer, turn.times))
            else:
                self.held[name] = later[name]
                turn.after[name] = self.element(name, at)
                later[name] = Held((), turn.recurrent[name], outer)
        self.held.update(later)


def _power(e: IntExpr, k: int) -> IntExpr:
    out = const(1)
    for _ in range(k):
        out = out * e
    return out


def _writes(body: Sequence[ir.Stmt]) -> Iterator[ir.Assign]:
    for s in body:
        if isinstance(s, ir.For):
            yield from _writes(s.body)
        else:
            yield s


def _free(i: Any) -> frozenset[str]:
    return i.free() if isinstance(i, IntExpr) else frozenset()
