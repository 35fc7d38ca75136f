"""From expressions in normal form to instructions: what is scalar stays scalar, the rest becomes tiles.

``Lowering.value`` returns a float scalar (evaluated on the scalar unit) or a view of a tile. Results go to the
destination given, else to an operand that dies with this instruction, else to a new tile.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final, Literal

from generator.formula.ir import Attr, Binary, Call, Cast, Compare, Expr, IntVal, Load, Logic, Neg, Not, Num, Where
from generator.formula.walk import loads
from generator.plan import elementwise as ew
from generator.plan.rules import PRIMITIVES, expand
from generator.plan.sharing import repeated, substituted
from generator.plan.tiles import Context, Dim, Refusal, Tile, View
from generator.plan.tree import Float, FloatConst, FloatField, FloatOfInt, FloatOp, Int, Scalar
from generator.spec.integer import Func, IntExpr, const, sym

__all__ = ["Lowering", "Operand"]

Operand = Scalar | View

_UNARY: Final = {"exp": "Exp", "log": "Ln", "sqrt": "Sqrt", "abs": "Abs", "relu": "Relu"}
_ROUND: Final = {"floor": "CAST_FLOOR", "ceil": "CAST_CEIL", "round": "CAST_RINT", "trunc": "CAST_TRUNC"}
_BINARY: Final = {"add": "Add", "sub": "Sub", "mul": "Mul", "div": "Div", "maximum": "Max", "minimum": "Min"}
_WITH_SCALAR: Final = {"add": "Adds", "mul": "Muls", "maximum": "Maxs", "minimum": "Mins"}
_SCALAR: Final[dict[str, Literal["+", "-", "*", "/"]]] = {"add": "+", "sub": "-", "mul": "*", "div": "/"}
_MODES: Final = {"lt": "LT", "le": "LE", "gt": "GT", "ge": "GE", "eq": "EQ", "ne": "NE"}
_CAST_TYPES: Final = {"float16": "half", "bfloat16": "bfloat16_t", "int32": "int32_t", "int16": "int16_t"}
_ARGUMENT: Final = "\x00argument"  # a Load of this name stands for an operand that is already a tile or scalar


class Lowering:
    """Lowers the expressions of one statement; ``load`` gives the view of a tensor element pattern, ``env`` the tiles of local
    tensors."""

    def __init__(self, ctx: Context, load: Callable[[Load], View], env: Mapping[str, Tile] | None = None) -> None:
        self.ctx = ctx
        self.load = load
        self.env = env if env is not None else {}
        self.bound: list[Operand] = []

    # entry points -----------------------------------------------------------------------------------------------------
    def into(self, e: Expr, dst: Tile) -> None:
        """Evaluate ``e`` into ``dst``, broadcast over all its dims."""
        result = self.shared(e, dst)
        if isinstance(result, View):
            if result.tile is not dst:
                ew.copy(self.ctx, dst.view(), result)
                self.ctx.drop(result.tile)
        else:
            ew.fill(self.ctx, dst.view(), result)

    def tile(self, e: Expr, dims: Sequence[Dim] | None = None) -> Tile:
        """Evaluate ``e`` to a tile with exactly ``dims`` (its own axes when None)."""
        result = self.shared(e, None)
        if isinstance(result, View):
            own = self.dims(result)
            wanted = own if dims is None else tuple(dims)
            if result.tile.dims == wanted and result == result.tile.view():
                return result.tile
            out = self.ctx.tile("full", wanted)
            ew.copy(self.ctx, out.view(), result)
            self.ctx.drop(result.tile)
            return out
        out = self.ctx.tile("full", () if dims is None else dims)
        ew.fill(self.ctx, out.view(), result)
        return out

    # helpers ------------------------------------------------------------------------------------------------------------
    def dims(self, *views: View) -> tuple[Dim, ...]:
        axes: set[str] = set()
        for v in views:
            axes |= v.axes()
        return self.ctx.dims_of(axes)

    def result(self, dims: tuple[Dim, ...], dst: Tile | None, reuse: Sequence[View]) -> Tile:
        if dst is not None and dst.dims == dims:
            return dst
        for v in reuse:
            t = v.tile
            if t.temporary and t.dims == dims and v == t.view() and t.ctype == "float" and not self.ctx.pins.get(t.name):
                return t
        return self.ctx.tile("tmp", dims)

    def done(self, out: Tile, *views: Operand) -> View:
        self.ctx.drop(*(v.tile for v in views if isinstance(v, View) and v.tile is not out))
        return out.view()

    def plain(self, v: Operand) -> View:
        """A scalar as a tile without dims."""
        if isinstance(v, View):
            return v
        out = self.ctx.tile("constant", ())
        ew.fill(self.ctx, out.view(), v)
        return out.view()

    # expressions ------------------------------------------------------------------------------------------------------------
    def value(self, e: Expr, dst: Tile | None = None) -> Operand:
        match e:
            case Num(value=v):
                return FloatConst(float(v))
            case Attr(name=name):
                return FloatField(name)
            case IntVal(value=v):
                return self.integer(v)
            case Load(tensor=t) if t.startswith(_ARGUMENT):
                return self.bound[int(t[len(_ARGUMENT) :])]
            case Load():
                return self.load(e)
            case Neg(x=x):
                return self.arith("mul", self.value(x), FloatConst(-1.0), dst)
            case Binary(op="pow" | "floordiv" | "mod" as op, a=a, b=b):
                return self.rule(op, (a, b), dst)
            case Binary(op="add" | "sub" as op, a=a, b=b):
                return self.added(op, a, b, dst)
            case Binary(op=op, a=a, b=b):
                return self.arith(op, self.value(a), self.value(b), dst)
            case Call(fn=fn, args=args):
                return self.call(fn, args, dst)
            case Where(cond=c, a=a, b=b):
                return self.where(c, a, b, dst)
            case Compare() | Logic() | Not():
                return self.boolean(e, dst)
            case Cast(dtype=dtype, x=x):
                return self.cast(dtype, self.value(x), dst)
            case _:
                raise Refusal(f"{type(e).__name__} is not in normal form")

    def integer(self, v: IntExpr) -> Operand:
        """An integer expression as a value: scalar unless it moves with an axis held in the tile."""
        inside = [a for a in self.ctx.order if a in self.ctx.axis and a in v.free()]
        v = v.substitute({a: s + sym(a) for a, s in self.ctx.starts.items() if a in v.free()})
        return self.whole(v, inside)

    def whole(self, v: IntExpr, axes: Sequence[str]) -> Operand:
        """``v``, whole numbers in floats: exact up to 2^24."""
        inside = [a for a in axes if a in v.free()]
        if not inside:
            return FloatOfInt(v)
        if not v.is_affine_in(inside):
            return self.polynomial(v, inside)
        total: Operand = FloatOfInt(v.substitute(dict.fromkeys(inside, 0)))
        for a in inside:
            ramp = self.ctx.tile("ramp", (self.ctx.axis[a],))
            args = (ramp.at(), Float(FloatConst(0.0)), Int(ramp.pitch, "uint32_t"))
            self.ctx.call("CreateVecIndex", args, (), (ramp.access(),), ("float",))
            scaled = self.arith("mul", ramp.view(), FloatOfInt(v.coefficient(a)), None)
            total = self.arith("add", scaled, total, None)
        return total

    def polynomial(self, v: IntExpr, inside: Sequence[str]) -> Operand:
        """A sum of products of axes and of integer functions of axes."""
        total: Operand = FloatConst(0.0)
        for mono, coefficient in v.terms:
            still, moving = const(coefficient), []
            for atom, power in mono:
                factor = IntExpr(((((atom, 1),), 1),))
                for _ in range(power):
                    if factor.free() & set(inside):
                        moving.append(atom)
                    else:
                        still = still * factor
            term: Operand = FloatOfInt(still)
            for atom in moving:
                factor_value = self.function(atom, inside) if isinstance(atom, Func) else self.whole(IntExpr(((((atom, 1),), 1),)), inside)
                term = self.arith("mul", factor_value, term, None)
            total = self.arith("add", term, total, None)
        return total

    def function(self, f: Func, inside: Sequence[str]) -> Operand:
        """``//``, ``%``, ``min`` or ``max``. Half is added before a division: (x + 1/2) / y is never within rounding of a
        whole number for x below 2^22, so that its floor is that of x / y."""
        if f.op in ("min", "max"):
            return self.arith("maximum" if f.op == "max" else "minimum", self.whole(f.a, inside), self.whole(f.b, inside), None)
        shifted = self.arith("add", self.whole(f.a, inside), FloatConst(0.5), None)
        quotient = self.plain(self.arith("div", shifted, self.whole(f.b, inside), None))
        out = self.result(self.dims(quotient), None, (quotient,))
        ew.cast(self.ctx, out.view(), quotient, _ROUND["floor"])
        floor = self.done(out, quotient)
        if f.op == "floordiv":
            return floor
        return self.arith("sub", self.whole(f.a, inside), self.arith("mul", floor, self.whole(f.b, inside), None), None)

    def arith(self, op: str, a: Operand, b: Operand, dst: Tile | None) -> Operand:
        if not isinstance(a, View) and not isinstance(b, View):
            return fold(op, a, b) if op in _SCALAR else self.arith(op, self.plain(a), b, dst)
        if isinstance(a, View) and isinstance(b, View):
            dims = self.dims(a, b)
            out = self.result(dims, dst, (a, b))
            ew.binary(self.ctx, _BINARY[op], out.view(), a, b)
            return self.done(out, a, b)
        if isinstance(a, View):
            assert not isinstance(b, View)
            return self.with_scalar(op, a, b, dst)
        assert isinstance(b, View)
        if op in _WITH_SCALAR:
            return self.with_scalar(op, b, a, dst)
        if op == "sub":
            return self.with_scalar("add", self.with_scalar("mul", b, FloatConst(-1.0), dst), a, dst)
        out = self.ctx.tile("tmp", self.dims(b))
        ew.fill(self.ctx, out.view(), a)
        ew.binary(self.ctx, _BINARY[op], out.view(), out.view(), b)
        return self.done(out, b)

    def added(self, op: str, a: Expr, b: Expr, dst: Tile | None) -> Operand:
        """A sum or a difference; a product is added to what is already a tile of its own without a tile in between."""
        if op == "add" and is_product(a) and not is_product(b):
            a, b = b, a
        if not is_product(b):
            return self.arith(op, self.value(a), self.value(b), dst)
        total = self.value(a, None if dst is None or self.touches(b, dst) else dst)
        assert isinstance(b, Binary)
        p, q = self.value(b.a), self.value(b.b)
        if isinstance(total, View) and isinstance(p, View) and isinstance(q, View) and self.owned(total, dst):
            dims = total.tile.dims
            small = next((v for v in (p, q) if not {d.key for d in dims} <= v.axes() and self.negatable(v)), None)
            if self.dims(total, p, q) == dims and (op == "add" or small is not None):
                if op == "sub" and small is not None:
                    p, q = self.negated(small), q if small is p else p
                ew.add_products(self.ctx, total, p, q, ())
                return self.done(total.tile, p, q)
        return self.arith(op, total, self.arith("mul", p, q, None), dst)

    def owned(self, v: View, dst: Tile | None) -> bool:
        """A whole tile that may be changed: nothing else stands for it."""
        t = v.tile
        mine = t.temporary or (dst is not None and t.name == dst.name)
        return mine and v == t.view() and t.ctype == "float" and not self.ctx.pins.get(t.name)

    def touches(self, e: Expr, tile: Tile) -> bool:
        """``e`` reads ``tile``."""
        for ld in loads(e):
            if ld.tensor.startswith(_ARGUMENT):
                v = self.bound[int(ld.tensor[len(_ARGUMENT) :])]
                known = v.tile if isinstance(v, View) else None
            else:
                known = self.env.get(ld.tensor)
            if known is not None and known.name == tile.name:
                return True
        return False

    def negatable(self, v: View) -> bool:
        """Negating all of the tile is no more work than negating what the view shows."""
        return v == v.tile.view() or self.ctx.earlier(v.tile) is not None

    def negated(self, v: View) -> View:
        """``-v``: of what was loaded before the loops that are open now, before them, once."""
        ctx, src = self.ctx, v.tile

        def make(lasting: bool) -> Tile:
            mine = not lasting and self.owned(v, None)
            out = src if mine else ctx.tile("minus", src.dims, temporary=not lasting, align=src.align, own=lasting)
            ew.negate(ctx, out, src)
            return out if lasting else self.done(out, v).tile

        return View(ctx.at_home("minus", src, make), v.index)

    @staticmethod
    def as_view(v: Operand) -> View:
        assert isinstance(v, View)
        return v

    def with_scalar(self, op: str, a: View, s: Scalar, dst: Tile | None) -> View:
        if op == "sub":
            op, s = "add", fold("mul", s, FloatConst(-1.0))
        elif op == "div":
            op, s = "mul", fold("div", FloatConst(1.0), s)
        out = self.result(self.dims(a), dst, (a,))
        ew.scalar_op(self.ctx, _WITH_SCALAR[op], out.view(), a, s)
        return self.done(out, a)

    def call(self, fn: str, args: tuple[Expr, ...], dst: Tile | None) -> Operand:
        if fn not in PRIMITIVES:
            return self.rule(fn, args, dst)
        if fn in ("maximum", "minimum"):
            return self.arith(fn, self.value(args[0]), self.value(args[1]), dst)
        x = self.plain(self.value(args[0]))
        out = self.result(self.dims(x), dst, (x,))
        if fn in _UNARY:
            ew.unary(self.ctx, _UNARY[fn], out.view(), x)
        else:
            ew.cast(self.ctx, out.view(), x, _ROUND[fn])
        return self.done(out, x)

    def rule(self, fn: str, args: tuple[Expr, ...], dst: Tile | None) -> Operand:
        """Expand by the table of rules; tile operands are computed once and stay alive over the expansion."""
        stand_ins: list[Expr] = []
        operands: list[View] = []
        depth = len(self.bound)
        for a in args:
            if isinstance(a, Num) or (isinstance(a, Neg) and isinstance(a.x, Num)):
                stand_ins.append(a)
                continue
            v = self.value(a)
            stand_ins.append(Load(f"{_ARGUMENT}{len(self.bound)}", ()))
            self.bound.append(v)
            if isinstance(v, View):
                operands.append(v)
        rule = expand(fn, tuple(stand_ins))
        if rule is None:
            raise Refusal(f"the planner has no instructions for {fn}()")
        with self.ctx.pinned([v.tile for v in operands]):
            safe = dst if all(v.tile is not dst for v in operands) else None
            out = self.shared(rule, safe)
        del self.bound[depth:]
        kept = out.tile if isinstance(out, View) else None
        self.ctx.drop(*(v.tile for v in operands if v.tile is not kept))
        return out

    def shared(self, e: Expr, dst: Tile | None) -> Operand:
        """The value of ``e``, what it repeats computed once."""
        again = repeated(e)
        if again is None:
            return self.value(e, dst)
        depth = len(self.bound)
        v = self.value(again)
        self.bound.append(v)
        rest = substituted(e, again, Load(f"{_ARGUMENT}{depth}", ()))
        if not isinstance(v, View):
            return self.shared(rest, dst)
        with self.ctx.pinned([v.tile]):
            out = self.shared(rest, dst)
        if not isinstance(out, View) or out.tile is not v.tile:
            self.ctx.drop(v.tile)
        return out

    # conditions -----------------------------------------------------------------------------------------------------------
    def boolean(self, e: Expr, dst: Tile | None) -> View:
        """A condition as 0 or 1."""
        match e:
            case Compare():
                mask, dims = self.mask(e, ())
                one = self.ctx.tile("one", dims)
                ew.fill(self.ctx, one.view(), FloatConst(1.0))
                out = dst if dst is not None and dst.dims == dims else one
                ew.select(self.ctx, out, mask, one, FloatConst(0.0))
                self.ctx.release(mask)
                return self.done(out, one.view())
            case Logic(op=op, a=a, b=b):
                return self.as_view(self.arith("mul" if op == "and" else "maximum", self.boolean(a, None), self.boolean(b, None), dst))
            case Not(x=x):
                return self.as_view(self.arith("sub", FloatConst(1.0), self.boolean(x, None), dst))
            case _:
                return self.plain(self.value(e, dst))

    def mask(self, cond: Expr, others: Sequence[View]) -> tuple[Tile, tuple[Dim, ...]]:
        """The bit mask of a condition over its own dims and those of ``others``."""
        if isinstance(cond, Compare):
            a, b, mode = self.value(cond.a), self.value(cond.b), _MODES[cond.op]
        else:
            a, b, mode = self.boolean(cond, None), FloatConst(0.5), "GT"
        if not isinstance(a, View):
            if not isinstance(b, View):
                b = self.plain(b)
            a, b, mode = b, a, ew.flip(mode)
        views = [v for v in (a, b, *others) if isinstance(v, View)]
        dims = self.dims(*views)
        left = self.full(a, dims)
        right: View | Scalar = self.full(b, dims).view() if isinstance(b, View) else b
        mask = ew.compare(self.ctx, mode, left.view(), right)
        self.ctx.drop(left, *(v.tile for v in (a, b, right) if isinstance(v, View)))
        return mask, dims

    def full(self, v: View, dims: tuple[Dim, ...]) -> Tile:
        """The view as a whole tile over ``dims``."""
        if v.tile.dims == dims and v == v.tile.view():
            return v.tile
        out = self.ctx.tile("wide", dims)
        ew.copy(self.ctx, out.view(), v)
        return out

    def where(self, cond: Expr, a: Expr, b: Expr, dst: Tile | None) -> View:
        x, y = self.value(a), self.value(b)
        others = [v for v in (x, y) if isinstance(v, View)]
        with self.ctx.pinned([v.tile for v in others]):
            mask, dims = self.mask(cond, others)
        if isinstance(x, View):
            first = self.full(x, dims)
        else:
            first = self.ctx.tile("taken", dims)
            ew.fill(self.ctx, first.view(), x)
        second: Tile | Scalar = self.full(y, dims) if isinstance(y, View) else y
        if dst is not None and dst.dims == dims:
            out = dst
        elif first.temporary and not self.ctx.pins.get(first.name):
            out = first
        else:
            out = self.ctx.tile("tmp", dims)
        ew.select(self.ctx, out, mask, first, second)
        self.ctx.release(mask)
        spent = [t.view() for t in (first, second) if isinstance(t, Tile)]
        return self.done(out, *spent, *others)

    def cast(self, dtype: str, v: Operand, dst: Tile | None) -> Operand:
        """An explicit rounding: to the type and back to float."""
        if dtype in ("float32", "float64"):
            return v
        x = self.plain(v)
        if dtype in ("int64", "int8", "uint8", "bool"):
            out = self.result(self.dims(x), dst, (x,))
            ew.cast(self.ctx, out.view(), x, "CAST_TRUNC")
            return self.done(out, x)
        ctype = _CAST_TYPES[dtype]
        align = self.ctx.align
        narrow = self.ctx.tile("rounded", self.dims(x), ctype=ctype, align=align)  # type: ignore[arg-type]
        to, back = ("CAST_TRUNC", "CAST_RINT") if ctype.startswith("int") else ("CAST_RINT", "CAST_NONE")
        if ctype == "int16_t":
            back = "CAST_NONE"
        ew.cast(self.ctx, narrow.view(), x, to)
        out = self.result(self.dims(x), dst, (x,))
        ew.cast(self.ctx, out.view(), narrow.view(), back)
        self.ctx.release(narrow)
        return self.done(out, x)


def is_product(e: Expr) -> bool:
    """A product of two values."""
    return isinstance(e, Binary) and e.op == "mul"


def fold(op: str, a: Scalar, b: Scalar) -> Scalar:
    """``a op b`` on the scalar unit; constants are folded (a division by zero is left to the device)."""
    if isinstance(a, FloatConst) and isinstance(b, FloatConst):
        if op == "add":
            return FloatConst(a.value + b.value)
        if op == "sub":
            return FloatConst(a.value - b.value)
        if op == "mul":
            return FloatConst(a.value * b.value)
        if b.value != 0:
            return FloatConst(a.value / b.value)
    return FloatOp(_SCALAR[op], a, b)
