"""From expressions and statements to polynomials: the definition of a tensor is read where an element of it is used."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

from generator.formula import ir
from generator.spec.integer import IntExpr, const, floor_div, mod, sym
from generator.symbolic.constants import recognised
from generator.symbolic.functions import NAMED, call, decimal, pi
from generator.symbolic.ring import Ring
from generator.symbolic.sums import Sums
from generator.symbolic.terms import Poly, UnsupportedError, number, scale

__all__ = ["Env", "Loop", "Piece", "Reading", "State", "Value"]

Env = Mapping[str, IntExpr]
_INF = "inf#"


@dataclass(frozen=True)
class Piece:
    """One write: for every value of ``params`` that satisfies ``low``, the element at ``pattern`` is ``value``."""

    params: tuple[str, ...]
    low: tuple[IntExpr, ...]
    pattern: tuple[IntExpr, ...]
    value: Poly
    full: bool  # the pattern is the params, and they cover the tensor


@dataclass(frozen=True)
class State:
    """A tensor carried by a loop, at one time: element I is the atom ``name[time, I]``."""

    name: str
    time: tuple[IntExpr, ...]


@dataclass(frozen=True)
class Value:
    """What a tensor holds at some point of the program: pieces over a state, or over nothing."""

    pieces: tuple[Piece, ...] = ()
    base: State | None = None


@dataclass
class Loop:
    """A loop that was lowered. ``states`` maps a tensor to its state's name; ``start`` and ``end`` give its elements
    before the first iteration and after iteration ``counter``, as functions of ``params[tensor]``; ``arrays`` likewise
    are tensors defined by recurrence, whose definition is in ``end``."""

    var: str
    path: tuple[str, ...]  # counters of the loops outside
    counter: str
    trips: IntExpr
    params: dict[str, tuple[str, ...]] = field(default_factory=dict)
    states: dict[str, str] = field(default_factory=dict)
    start: dict[str, Poly | None] = field(default_factory=dict)
    end: dict[str, Poly] = field(default_factory=dict)
    arrays: dict[str, str] = field(default_factory=dict)
    extents: dict[str, tuple[IntExpr, ...]] = field(default_factory=dict)


class Reading:
    """One program. ``side`` keeps the names of its loops' tensors apart from the other program's."""

    def __init__(self, program: ir.Program, sums: Sums, side: str) -> None:
        self.program = program
        self.sums = sums
        self.ring: Ring = sums.ring
        self.table = sums.table
        self.side = side
        self.values: dict[str, Value] = {}
        self.loops: list[Loop] = []
        self.open: list[Loop] = []

    # reading ----------------------------------------------------------------------------------------------------
    def read(self, name: str, indices: tuple[IntExpr, ...]) -> Poly:
        """The element of a tensor at ``indices``."""
        tensor = self.program.tensors[name]
        value = self.values.get(name)
        if value is None:
            if tensor.role != "input":
                raise UnsupportedError(f"{name} is read before it is written")
            return self.ring.atom(self.table.load(name, indices))
        out: Poly = {}
        rest = number(1)
        for piece in value.pieces:
            if piece.full:
                return self.sums.rename(piece.value, dict(zip(piece.params, indices, strict=True)))
            hit = self.hit(piece, indices, piece.value)
            out = self.ring.add(out, hit)
            if value.base is not None or tensor.fill:
                rest = self.ring.sub(rest, self.hit(piece, indices, number(1)))
        if value.base is not None and rest:
            out = self.ring.add(out, self.ring.mul(rest, self.state(value.base, indices)))
        elif tensor.fill and tensor.role == "output":
            out = self.ring.add(out, self.ring.mul(rest, number(decimal(tensor.fill))))
        return out

    def state(self, s: State, indices: tuple[IntExpr, ...]) -> Poly:
        if s.name in self.sums.closed:
            return self.sums.closed[s.name]((*s.time, *indices))
        return self.ring.atom(self.table.load(s.name, (*s.time, *indices)))

    def hit(self, piece: Piece, indices: tuple[IntExpr, ...], value: Poly) -> Poly:
        """``value`` where the piece writes ``indices``, 0 elsewhere: at most one value of its params does."""
        new = {p: sym(self.table.fresh(p)) for p in piece.params}
        low = [self.sums.integer(e, new) for e in piece.low]
        same = [self.sums.integer(e, new) - i for e, i in zip(piece.pattern, indices, strict=True)]
        return self.sums.total([str(v) for v in new.values()], low, self.sums.rename(value, new), same)

    # expressions ------------------------------------------------------------------------------------------------
    def index(self, at: ir.Index, env: Env) -> IntExpr:
        if isinstance(at, IntExpr):
            return self.sums.integer(at, env)
        if isinstance(at, ir.Gather):
            return self.element(at.load, env)
        raise UnsupportedError("a surface index")

    def element(self, load: ir.Load, env: Env) -> IntExpr:
        """An element of an integer tensor as an integer."""
        indices = tuple(self.index(i, env) for i in load.indices)
        if load.guarded:
            raise UnsupportedError("a guarded element as an index")
        tensor = self.program.tensors[load.tensor]
        if load.tensor not in self.values and tensor.role == "input":
            self.table.discrete.add(load.tensor)
            return sym(self.table.gather(load.tensor, indices))
        value = self.read(load.tensor, indices)
        return self.as_integer(value)

    def as_integer(self, p: Poly) -> IntExpr:
        """A polynomial in integers as an integer expression."""
        out = const(0)
        for m, c in p.items():
            if c.denominator != 1:
                raise UnsupportedError("a fraction as an index")
            term = const(int(c))
            for a, e in m:
                if a.kind == "sym" and a.data not in self.table.reals:
                    factor = sym(a.data)
                elif a.kind == "ld" and a.data[0] in self.table.discrete:
                    factor = sym(self.table.gather(*a.data))
                else:
                    raise UnsupportedError("a computed index")
                if e != int(e) or not 0 < e < 4:
                    raise UnsupportedError("a power in an index")
                for _ in range(int(e)):
                    term = term * factor
            out = out + term
        return out

    def integer(self, e: ir.Expr, env: Env) -> IntExpr | None:
        """An expression made of integers only, as one; None otherwise."""
        match e:
            case ir.IntVal(value=v):
                return self.sums.integer(v, env)
            case ir.Num(value=v):
                return const(int(v)) if self.whole(e) else None
            case ir.Load() if self.program.tensors[e.tensor].kind != "float" and not e.guarded:
                return self.element(e, env)
            case ir.Neg(x=x):
                inner = self.integer(x, env)
                return None if inner is None else -inner
            case ir.Binary(op=op, a=a, b=b) if op in ("add", "sub", "mul"):
                left, right = self.integer(a, env), self.integer(b, env)
                if left is None or right is None:
                    return None
                return left + right if op == "add" else left - right if op == "sub" else left * right
            case ir.Binary(op=op, a=a, b=b) if op in ("floordiv", "mod"):
                left, right = self.integer(a, env), self.integer(b, env)
                if left is None or right is None or not self.ring.facts.nonnegative(right - 1):
                    return None
                return floor_div(left, right) if op == "floordiv" else mod(left, right)
        return None

    def whole(self, e: ir.Expr) -> bool:
        """Whether an expression is surely made of integers."""
        match e:
            case ir.IntVal():
                return True
            case ir.Num(value=v):
                return isinstance(v, int) or (v == v and abs(v) != float("inf") and v == int(v))
            case ir.Load():
                return self.program.tensors[e.tensor].kind != "float" and not e.guarded
            case ir.Neg(x=x):
                return self.whole(x)
            case ir.Binary(op=op, a=a, b=b):
                return op in ("add", "sub", "mul", "floordiv", "mod") and self.whole(a) and self.whole(b)
        return False

    def expr(self, e: ir.Expr, env: Env) -> Poly:
        """An expression as a polynomial."""
        r = self.ring
        r.budget.check()
        match e:
            case ir.Num():
                return self.literal(e)
            case ir.Attr(name=name):
                if name in self.program.bool_attrs:
                    return r.ieq(sym(name) - 1)
                self.table.reals.add(name)
                return r.atom(self.table.sym(name))
            case ir.IntVal(value=v):
                return self.table.integer(self.sums.integer(v, env))
            case ir.Load():
                return self.load(e, env)
            case ir.Neg(x=x):
                return scale(self.expr(x, env), -1)
            case ir.Binary():
                return self.binary(e, env)
            case ir.Call(fn=fn, args=args):
                values = [self.expr(a, env) for a in args]
                if fn != "exp" and any(map(_infinite, values)):
                    raise UnsupportedError(f"{fn} of an infinity")
                return call(r, fn, values)
            case ir.Where(cond=c, a=a, b=b):
                return self.where(c, a, b, env)
            case ir.Cast(dtype=dtype, x=x):
                inner = self.expr(x, env)
                if dtype.startswith(("float", "bfloat")):
                    return inner
                return inner if self.whole(x) else r.fn(f"cast:{dtype}", inner)
            case ir.Reduce():
                return self.reduce(e, env)
            case _:
                return self.condition(e, env)

    def literal(self, e: ir.Num) -> Poly:
        if e.text == "pi":
            return pi(self.ring)
        if e.value != e.value:
            raise UnsupportedError("nan")
        if abs(e.value) == float("inf"):
            self.table.states.add(_INF)
            return scale(self.ring.atom(self.table.load(_INF, ())), 1 if e.value > 0 else -1)
        known = recognised(e.text or repr(e.value))
        if known is not None and known[1] in NAMED:
            self.table.literals[e.text or repr(e.value)] = f"{known[0]}*{known[1]}"
            return scale(NAMED[known[1]](self.ring), known[0])
        if e.text and "e" not in e.text.lower() and e.text.replace(".", "", 1).isdigit():
            return number(Fraction(e.text))
        return number(decimal(e.value))

    def where(self, c: ir.Expr, a: ir.Expr, b: ir.Expr, env: Env) -> Poly:
        r = self.ring
        yes = self.condition(c, env)
        no = self.condition(ir.Not(c), env)
        parts = []
        for guard, branch in ((yes, a), (no, b)):
            if guard:
                parts.append(r.mul(guard, self.expr(branch, env)))
        return r.add({}, *parts)

    def binary(self, e: ir.Binary, env: Env) -> Poly:
        r = self.ring
        if e.op in ("floordiv", "mod"):
            found = self.integer(e, env)
            if found is not None:
                return self.table.integer(found)
            raise UnsupportedError(f"{e.op} of values")
        a, b = self.expr(e.a, env), self.expr(e.b, env)
        if (_infinite(a) and _infinite(b)) or (e.op in ("mul", "div", "pow") and (_infinite(a) or _infinite(b))):
            raise UnsupportedError("arithmetic with infinities")
        match e.op:
            case "add":
                return r.add(a, b)
            case "sub":
                return r.sub(a, b)
            case "mul":
                return r.mul(a, b)
            case "div":
                return r.mul(a, r.power(b, -1))
            case _:
                return call(r, "pow", [a, b])

    def load(self, e: ir.Load, env: Env) -> Poly:
        tensor = self.program.tensors[e.tensor]
        indices = tuple(self.index(i, env) for i in e.indices)
        if tensor.kind != "float" and tensor.role == "input" and e.tensor not in self.values:
            self.table.discrete.add(e.tensor)
            if tensor.kind == "bool":
                value = self.ring.ieq(sym(self.table.gather(e.tensor, indices)) - 1)
            else:
                self.table.gather(e.tensor, indices)
                value = self.ring.atom(self.table.load(e.tensor, indices))
        else:
            value = self.read(e.tensor, indices)
        if not e.guarded:
            return value
        inside = number(1)
        for d in e.guarded:
            inside = self.ring.product([inside, self.ring.ge(indices[d]), self.ring.ge(tensor.shape[d] - 1 - indices[d])])
        out = self.ring.mul(inside, value)
        if e.outside:
            other = self.literal(ir.Num(e.outside))
            out = self.ring.add(out, self.ring.mul(self.ring.sub(number(1), inside), other))
        return out

    # conditions -------------------------------------------------------------------------------------------------
    def condition(self, e: ir.Expr, env: Env) -> Poly:
        """A boolean expression as a polynomial that is 0 or 1."""
        r = self.ring
        match e:
            case ir.Not(x=ir.Not(x=x)):
                return self.condition(x, env)
            case ir.Not(x=ir.Compare(op=op, a=a, b=b)):
                return self.compare(_NEGATED[op], a, b, env)
            case ir.Not(x=x):
                return r.sub(number(1), self.condition(x, env))
            case ir.Compare(op=op, a=a, b=b):
                return self.compare(op, a, b, env)
            case ir.Logic(op=op, a=a, b=b):
                left, right = self.condition(a, env), self.condition(b, env)
                both = r.mul(left, right)
                return both if op == "and" else r.sub(r.add(left, right), both)
        return self.expr(e, env)

    def compare(self, op: ir.CmpOp, a: ir.Expr, b: ir.Expr, env: Env) -> Poly:
        r = self.ring
        if op in ("lt", "le"):
            return self.compare("gt" if op == "lt" else "ge", b, a, env)
        if op == "ne":
            return r.sub(number(1), self.compare("eq", a, b, env))
        if self.whole(a) and self.whole(b):
            x, y = self.integer(a, env), self.integer(b, env)
            if x is not None and y is not None:
                d = x - y
                return r.ieq(d) if op == "eq" else r.ge(d - 1 if op == "gt" else d)
        x2, y2 = self.expr(a, env), self.expr(b, env)
        if _infinite(x2) or _infinite(y2):
            raise UnsupportedError("a comparison with an infinity")
        d2 = r.sub(x2, y2)
        return r.equal(d2) if op == "eq" else r.above(d2, op == "gt")

    # reductions -------------------------------------------------------------------------------------------------
    def reduce(self, e: ir.Reduce, env: Env) -> Poly:
        new: dict[str, IntExpr] = {}
        low: list[IntExpr] = []
        count = const(1)
        names = []
        for axis in e.axes:
            if axis.extent is None:
                raise UnsupportedError("an axis without an extent")
            name = self.table.fresh(axis.name)
            extent = self.sums.integer(axis.extent, env)
            names.append(name)
            new[axis.name] = sym(name)
            low += [sym(name), extent - 1 - sym(name)]
            count = count * extent
        for fact in low:
            self.ring.facts.add(fact)
        inner = {**env, **new}
        if e.op in ("any", "all"):
            body = self.condition(e.body, inner)
            return self.sums.reduction(e.op, names, low, body)
        body = self.expr(e.body, inner)
        if e.op == "sum":
            return self.sums.total(names, low, body)
        if e.op == "mean":
            over = self.expr(e.divisor, env) if e.divisor is not None else self.table.integer(count)
            return self.ring.mul(self.sums.total(names, low, body), self.ring.power(over, -1))
        return self.sums.reduction(e.op, names, low, body)

    # statements -------------------------------------------------------------------------------------------------
    def block(self, body: Sequence[ir.Stmt], env: Env) -> None:
        """Run statements in order."""
        for stmt in body:
            self.ring.budget.check()
            if isinstance(stmt, ir.For):
                self.loop(stmt, env)
            else:
                self.assign(stmt, env)

    def assign(self, stmt: ir.Assign, env: Env) -> None:
        piece = self.piece(stmt, env)
        old = self.values.get(stmt.tensor)
        if piece.full:
            self.values[stmt.tensor] = Value((piece,))
            return
        if old is not None and any(p.full for p in old.pieces):
            raise UnsupportedError(f"{stmt.tensor} is overwritten in part")
        self.values[stmt.tensor] = Value((*(old.pieces if old else ()), piece), old.base if old else None)

    def piece(self, stmt: ir.Assign, env: Env) -> Piece:
        tensor = self.program.tensors[stmt.tensor]
        names = {a.name: self.table.fresh(a.name) for a in stmt.axes}
        inner = {**env, **{a: sym(n) for a, n in names.items()}}
        low = []
        for a in stmt.axes:
            extent = self.sums.integer(a.extent or const(0), env)
            low += [sym(names[a.name]), extent - 1 - sym(names[a.name])]
        for fact in low:
            self.ring.facts.add(fact)
        pattern = tuple(self.index(i, inner) for i in stmt.indices)
        value = self.condition(stmt.value, inner) if tensor.kind == "bool" else self.expr(stmt.value, inner)
        order = [p.symbol for p in pattern]
        extents = {names[a.name]: a.extent for a in stmt.axes}
        full = (
            None not in order
            and len(set(order)) == len(order) == len(stmt.axes)
            and all(extents.get(str(n)) == s for n, s in zip(order, tensor.shape, strict=True))
        )
        params = tuple(str(n) for n in order) if full else tuple(names.values())
        return Piece(params, tuple(low), pattern, value, full)

    def loop(self, stmt: ir.For, env: Env) -> None:
        """A loop."""
        raise UnsupportedError("a loop")


_NEGATED: Mapping[ir.CmpOp, ir.CmpOp] = {"lt": "ge", "le": "gt", "gt": "le", "ge": "lt", "eq": "ne", "ne": "eq"}


def _infinite(p: Poly) -> bool:
    return any(a.kind == "ld" and a.data[0] == _INF for m in p for a, _ in m)
