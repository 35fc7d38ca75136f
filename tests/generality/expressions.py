"""Drawn expressions: every construct of the formula language, over whatever tensors are in reach."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from tests.generality.space import Axis, Source
from tests.generality.values import Value, add, apply, constant, divide, fit, multiply, shown, subtract

__all__ = ["Drawer"]

_ANY: Final = (-math.inf, math.inf)
# name, domain where float32 is well conditioned, range over an interval, whether a relative error stays one
_FUNCTIONS: Final[tuple[tuple[str, tuple[float, float], Callable[[float, float], tuple[float, float]], bool], ...]] = (
    ("exp", (-8.0, 3.0), lambda a, b: (math.exp(a), math.exp(b)), True),
    ("exp2", (-8.0, 4.0), lambda a, b: (2.0**a, 2.0**b), True),
    ("expm1", (-4.0, 3.0), lambda a, b: (math.expm1(a), math.expm1(b)), True),
    ("log", (0.2, math.inf), lambda a, b: (math.log(a), math.log(b) if b < math.inf else 16.0), False),
    ("log2", (0.2, math.inf), lambda a, b: (math.log2(a), math.log2(b) if b < math.inf else 24.0), False),
    ("log10", (0.2, math.inf), lambda a, b: (math.log10(a), math.log10(b) if b < math.inf else 8.0), False),
    ("log1p", (-0.6, math.inf), lambda a, b: (math.log1p(a), math.log1p(b) if b < math.inf else 16.0), True),
    ("sqrt", (0.05, math.inf), lambda a, b: (math.sqrt(a), math.sqrt(b)), True),
    ("rsqrt", (0.1, math.inf), lambda a, b: (0.0 if b == math.inf else b**-0.5, a**-0.5), True),
    ("reciprocal", (0.1, math.inf), lambda a, b: (0.0 if b == math.inf else 1 / b, 1 / a), True),
    ("square", (-6.0, 6.0), lambda a, b: (0.0 if a <= 0 <= b else min(a * a, b * b), max(a * a, b * b)), True),
    ("abs", _ANY, lambda a, b: (0.0 if a <= 0 <= b else min(abs(a), abs(b)), max(abs(a), abs(b))), True),
    ("relu", _ANY, lambda a, b: (max(a, 0.0), max(b, 0.0)), True),
    ("sin", (-9.0, 9.0), lambda a, b: (-1.0, 1.0), False),
    ("cos", (-9.0, 9.0), lambda a, b: (-1.0, 1.0), False),
    ("tan", (-1.1, 1.1), lambda a, b: (math.tan(a), math.tan(b)), False),
    ("asin", (-0.9, 0.9), lambda a, b: (math.asin(a), math.asin(b)), False),
    ("acos", (-0.9, 0.9), lambda a, b: (math.acos(b), math.acos(a)), False),
    ("atan", _ANY, lambda a, b: (math.atan(a), math.atan(b)), True),
    ("sinh", (-3.0, 3.0), lambda a, b: (math.sinh(a), math.sinh(b)), True),
    ("cosh", (-3.0, 3.0), lambda a, b: (1.0, max(math.cosh(a), math.cosh(b))), False),
    ("tanh", _ANY, lambda a, b: (math.tanh(a), math.tanh(b)), True),
    ("erf", _ANY, lambda a, b: (math.erf(a), math.erf(b)), True),
    ("erfc", (-3.0, 2.0), lambda a, b: (math.erfc(b), math.erfc(a)), False),
    ("sigmoid", (-12.0, math.inf), lambda a, b: (1 / (1 + math.exp(-a)), 1.0), False),
    ("logsigmoid", (-12.0, 6.0), lambda a, b: (-math.log1p(math.exp(-a)), -math.log1p(math.exp(-b))), False),
    ("softplus", (-12.0, math.inf), lambda a, b: (math.log1p(math.exp(a)), b + 0.7), False),
    ("silu", _ANY, lambda a, b: (-0.28, max(b, 0.0)), True),
    ("gelu", (-6.0, 6.0), lambda a, b: (-0.17, max(b, 0.0)), False),
    ("gelu_tanh", (-6.0, 6.0), lambda a, b: (-0.17, max(b, 0.0)), False),
)
_KINDS: Final = {  # kind of an expression -> weight
    "leaf": 2.0, "unary": 4.0, "binary": 6.0, "where": 1.2, "reduce": 1.6, "cast": 0.4, "power": 0.5, "integer": 0.4, "scale": 1.0,
    "round": 0.3,
}  # fmt: skip
_COMPARISONS: Final = ("<", "<=", ">", ">=")


@dataclass
class Drawer:
    """Draws expressions over ``sources``; ``spare`` are axes a reduction may bind, ``floats`` and ``flags`` attributes."""

    rng: random.Random
    sources: list[Source]
    spare: Mapping[str, Axis]
    floats: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    flags: tuple[str, ...] = ()

    # leaves ---------------------------------------------------------------------------------------------------------
    def candidates(self, scope: Mapping[str, Axis], kind: str = "float", exact: bool = False) -> list[Source]:
        return [s for s in self.sources if s.kind == kind and (s.exact or not exact) and s.reachable(scope)]

    def leaf(self, scope: Mapping[str, Axis], *, exact: bool = False, guard: bool = False, prefer: frozenset[str] = frozenset()) -> Value:
        """An element of a tensor in reach, preferably one that moves with ``prefer``; a constant when there is none."""
        options = self.candidates(scope, exact=exact)
        if not options:
            return self.scalar()
        best: Value | None = None
        for _ in range(4 if prefer else 1):
            source = self.rng.choices(options, [s.weight for s in options])[0]
            got = source.read(self.rng, scope, guard)
            if got is None:
                continue
            text, reads = got
            low, high = source.low, source.high
            if any(r.leaves for r in reads):
                low, high = min(low, 0.0), max(high, 0.0)
            source.uses += 1
            axes = frozenset[str]().union(*(r.axes for r in reads))
            sized = frozenset[str]().union(*(r.sized for r in reads))
            value = Value(text, low, high, axes, sized, source.exact, source.exact or source.relative, True)
            if best is None or len(value.axes & prefer) > len(best.axes & prefer):
                best = value
        return best if best is not None else self.scalar()

    def scalar(self) -> Value:
        """A constant or a float attribute."""
        if self.floats and self.rng.random() < 0.4:
            name = self.rng.choice(sorted(self.floats))
            return Value(name, *self.floats[name], exact=True, relative=True)
        return constant(self.rng.choice((0.25, 0.5, 0.75, 1.25, 1.5, 2.0, 3.0, -0.5, -1.0)))

    def integer(self, scope: Mapping[str, Axis]) -> Value:
        """An element of an integer tensor as a float, or a number made from an axis."""
        if self.rng.random() < 0.3:
            found = self.place(scope)
            if found is not None:
                return found
        ints = self.candidates(scope, "int")
        if ints and self.rng.random() < 0.7:
            source = self.rng.choice(ints)
            got = source.read(self.rng, scope)
            if got is not None:
                axes = frozenset[str]().union(*(r.axes for r in got[1]))
                sized = frozenset[str]().union(*(r.sized for r in got[1]))
                return Value(f"cast({got[0]}, float32)", source.low, source.high, axes, sized, True, True)
        axes_ = [a for a in scope.values() if not (a.dim is not None and a.dim.pack)]
        if not axes_:
            return self.scalar()
        axis = self.rng.choice(axes_)
        add_ = self.rng.choice((1, 2, 5))
        return Value(f"1.0 / ({axis.name} + {add_})", 0.0, 1.0 / add_, frozenset((axis.name,)), frozenset(), False, True, False)

    def place(self, scope: Mapping[str, Axis]) -> Value | None:
        """Where along an axis the largest or smallest element stands, as a fraction."""
        bound = dict(list(self.bind(scope).items())[:1])
        if not bound:
            return None
        body = self.leaf({**scope, **bound}, exact=True, prefer=frozenset(bound))
        axis = next(iter(bound.values()))
        if not body.exact or not body.axes & frozenset(bound) or (axis.dim is not None and axis.dim.pack):
            return None
        done = self.reduced(self.rng.choice(("argmax", "argmin")), bound, body, 0.0, math.inf)
        return replace(done, text=f"1.0 / (cast({done.text}, float32) + 1.0)", low=0.0, high=1.0, relative=True, atom=False)

    # expressions ----------------------------------------------------------------------------------------------------
    def value(self, scope: Mapping[str, Axis], depth: int, *, guard: bool = False, prefer: frozenset[str] = frozenset()) -> Value:
        """An expression over ``scope`` of bounded depth."""
        rng = self.rng
        if not self.candidates(scope) and depth > -2 and rng.random() < 0.8:
            found = self.reduction(scope, depth - 1)
            if found is not None:
                return found
        if depth <= 0:
            return self.leaf(scope, guard=guard, prefer=prefer)
        kind = rng.choices(tuple(_KINDS), tuple(_KINDS.values()))[0]
        if kind == "leaf":
            return self.leaf(scope, guard=guard, prefer=prefer)
        if kind == "unary":
            return self.unary(self.value(scope, depth - 1, guard=guard, prefer=prefer))
        if kind == "where":
            return self.where(scope, depth)
        if kind == "reduce":
            return self.reduction(scope, depth - 1) or self.leaf(scope, prefer=prefer)
        if kind == "cast":
            dtype = rng.choice(("float16", "bfloat16", "float32"))
            x = self.leaf(scope, exact=True)
            return Value(f"cast({x.text}, {dtype})", x.low - 0.02, x.high + 0.02, x.axes, x.sized, True, True)
        if kind == "power":
            return self.power(scope, depth - 1)
        if kind == "integer":
            return self.integer(scope)
        if kind == "scale":
            return self.capped(multiply(self.value(scope, depth - 1, guard=guard, prefer=prefer), self.scalar()))
        if kind == "round":
            fn = rng.choice(("floor", "ceil", "round", "trunc", "sign"))
            x = self.leaf(scope, exact=True)
            if not x.exact:
                return x
            return Value(f"{fn}({x.text})", min(x.low - 1, -1), max(x.high + 1, 1), x.axes, x.sized, True, True)
        a = self.value(scope, depth - 1, guard=guard, prefer=prefer)
        b = self.value(scope, depth - 1, guard=guard, prefer=prefer - a.axes or prefer)
        return self.binary(a, b)

    def capped(self, v: Value) -> Value:
        return fit(v, -8.0, 8.0) if v.bounded and v.size > 60 else v

    def binary(self, a: Value, b: Value) -> Value:
        rng = self.rng
        op = rng.choices(("+", "-", "*", "/", "maximum", "minimum"), (4, 3, 4, 2, 1, 1))[0]
        if not a.bounded and not b.bounded and op in ("+", "-", "*"):
            op = "maximum"
        if op == "+":
            return self.capped(add(a, b))
        if op == "-":
            return self.capped(subtract(a, b))
        if op == "*":
            return self.capped(multiply(a, b))
        if op == "/":
            if b.low < 0.2 and b.bounded and b.low < 0 and rng.random() < 0.5:
                b = Value(f"1.0 + {b.inner()} * {b.inner()}", 1.0, 1.0 + b.size * b.size, b.axes, b.sized, False, True, False)
            b = fit(b, 0.2, math.inf)
            if not a.bounded and not b.bounded:
                a = fit(a, -4.0, 4.0)
            return self.capped(divide(a, b))
        low, high = (max(a.low, b.low), max(a.high, b.high)) if op == "maximum" else (min(a.low, b.low), min(a.high, b.high))
        both = a.relative and b.relative
        return Value(f"{op}({a.text}, {b.text})", low, high, a.axes | b.axes, a.sized | b.sized, a.exact and b.exact, both)

    def unary(self, x: Value) -> Value:
        if self.rng.random() < 0.1:
            return Value(f"-{x.inner()}", -x.high, -x.low, x.axes, x.sized, x.exact, x.relative, False)
        name, (low, high), over, keeps = self.rng.choice(_FUNCTIONS)
        x = fit(x, low, high)
        a, b = over(x.low, x.high)
        return apply(f"{name}({{}})", x, a, b, keeps and x.relative)

    def power(self, scope: Mapping[str, Axis], depth: int) -> Value:
        x = self.value(scope, depth)
        form = self.rng.choice(("2", "3", "0.5", "-1", "y"))
        if form in ("2", "3"):
            x = fit(x, -3.0, 3.0)
            top = x.size ** int(form)
            return Value(f"{x.inner()} ** {form}", 0.0 if form == "2" else -top, top, x.axes, x.sized, False, x.relative, False)
        x = fit(x, 0.3, 3.0)
        if form == "y":
            y = fit(self.value(scope, depth - 1), -2.0, 2.0)
            return Value(f"pow({x.text}, {y.text})", 0.3**2, 3.0**2 + 2.2, x.axes | y.axes, x.sized | y.sized, False, True)
        low, high = (x.low**0.5, x.high**0.5) if form == "0.5" else (1 / x.high, 1 / x.low)
        return Value(f"pow({x.text}, {form})", low, high, x.axes, x.sized, False, True)

    # conditions -----------------------------------------------------------------------------------------------------
    def condition(self, scope: Mapping[str, Axis], depth: int = 2) -> Value:
        """A condition that every precision decides alike."""
        rng = self.rng
        kind = rng.choices(("compare", "axes", "logic", "not", "nan", "flag", "any"), (6, 2, 1.5, 0.7, 0.3, 0.5, 0.7))[0]
        if kind in ("logic", "not") and depth == 0:
            kind = "compare"
        if kind == "flag" and self.flags:
            return Value(rng.choice(self.flags), 0, 1)
        if kind == "logic":
            a, b = self.condition(scope, depth - 1), self.condition(scope, depth - 1)
            return Value(f"({a.text}) {rng.choice(('and', 'or'))} ({b.text})", 0, 1, a.axes | b.axes, a.sized | b.sized, atom=False)
        if kind == "not":
            a = self.condition(scope, depth - 1)
            return Value(f"not ({a.text})", 0, 1, a.axes, a.sized, atom=False)
        if kind == "nan":
            x = self.leaf(scope)
            return Value(f"{rng.choice(('isnan', 'isinf', 'isfinite'))}({x.text})", 0, 1, x.axes, x.sized)
        if kind == "any":
            done = self.quantified(scope)
            if done is not None:
                return done
        if kind == "axes":
            found = self.order(scope)
            if found is not None:
                return found
        a = self.leaf(scope, exact=True)
        b = self.leaf(scope, exact=True) if rng.random() < 0.5 else constant(rng.choice((-0.5, 0.0, 0.25, 0.75, 1.0)))
        if not (a.exact and b.exact):
            return Value("1.0 > 0.5", 0, 1, atom=False)
        return Value(f"{a.text} {rng.choice(_COMPARISONS)} {b.text}", 0, 1, a.axes | b.axes, a.sized | b.sized, atom=False)

    def order(self, scope: Mapping[str, Axis]) -> Value | None:
        """A comparison of axes, as in a causal mask."""
        rng = self.rng
        names = [a.name for a in scope.values() if not (a.dim is not None and a.dim.pack)]
        if not names:
            return None
        rng.shuffle(names)
        a = names[0]
        if len(names) > 1 and rng.random() < 0.6:
            text, axes = f"{a} {rng.choice((*_COMPARISONS, '=='))} {names[1]}", frozenset(names[:2])
        else:
            text, axes = rng.choice((f"{a} >= 2", f"{a} % 2 == 0", f"{a} == 1", f"{a} + 1 < 4")), frozenset((a,))
        return Value(text, 0, 1, axes, frozenset(), atom=False)

    def quantified(self, scope: Mapping[str, Axis]) -> Value | None:
        bound = self.bind(scope)
        if not bound:
            return None
        inner = {**scope, **bound}
        a = self.leaf(inner, exact=True, prefer=frozenset(bound))
        if not a.exact:
            return None
        body = replace(a, text=f"{a.text} > {shown(self.rng.choice((-1.5, 0.5, 1.5)))}", atom=False)
        return self.reduced(self.rng.choice(("any", "all")), bound, body, 0, 1)

    def where(self, scope: Mapping[str, Axis], depth: int) -> Value:
        cond = self.condition(scope)
        a, b = self.value(scope, depth - 1), self.value(scope, depth - 2)
        axes, sized = cond.axes | a.axes | b.axes, cond.sized | a.sized | b.sized
        shift = self.shifted(scope) if self.rng.random() < 0.25 else None
        if shift is not None:
            text, test, low, high, more = shift
            return Value(f"where({test}, {text}, {b.text})", min(low, b.low), max(high, b.high), more | b.axes, b.sized, False, b.relative)
        low, high = min(a.low, b.low), max(a.high, b.high)
        return Value(f"where({cond.text}, {a.text}, {b.text})", low, high, axes, sized, False, a.relative and b.relative)

    def shifted(self, scope: Mapping[str, Axis]) -> tuple[str, str, float, float, frozenset[str]] | None:
        """The neighbour before, where there is one."""
        from tests.generality.space import Plain

        for source in self.rng.sample(self.sources, len(self.sources)):
            if source.kind != "float" or not all(isinstance(s, Plain) and not s.dim.pack for s in source.slots) or not source.slots:
                continue
            axes: list[Axis] = []
            for slot in source.slots:
                assert isinstance(slot, Plain)
                free = [a for a in scope.values() if a.dim == slot.dim and a not in axes]
                if not free:
                    break
                axes.append(free[0])
            else:
                at = self.rng.randrange(len(axes))
                names = [a.name for a in axes]
                index = [f"{n} - 1" if k == at else n for k, n in enumerate(names)]
                source.uses += 1
                return f"{source.name}[{', '.join(index)}]", f"{names[at]} >= 1", source.low, source.high, frozenset(names)
        return None

    # reductions -----------------------------------------------------------------------------------------------------
    def bind(self, scope: Mapping[str, Axis]) -> dict[str, Axis]:
        """Axes to reduce over, in an order of their own."""
        free = [a for a in self.spare.values() if a.name not in scope]
        if not free:
            return {}
        chosen = self.rng.sample(free, min(len(free), self.rng.choices((1, 2, 3), (6, 3, 1))[0]))
        return {a.name: a for a in chosen}

    def reduced(
        self, op: str, bound: Mapping[str, Axis], body: Value, low: float, high: float, exact: bool = False, relative: bool = False
    ) -> Value:
        """The reduction as text; an axis that no tensor gives its extent has it written."""
        names = []
        for a in bound.values():
            said = a.dim is None or a.name not in body.sized or self.rng.random() < 0.08
            names.append(f"{a.name}: {a.extent}" if said and not (a.dim is not None and a.dim.pack) else a.text)
        gone = frozenset(bound)
        return Value(f"{op}[{', '.join(names)}]({body.text})", low, high, body.axes - gone, body.sized - gone, exact, relative)

    def reduction(self, scope: Mapping[str, Axis], depth: int) -> Value | None:
        """A reduction over axes that ``scope`` does not have."""
        rng = self.rng
        bound = self.bind(scope)
        packs = [a for a in bound.values() if a.dim is not None and a.dim.pack]
        if not bound:
            return None
        inner = {**scope, **bound}
        op = rng.choices(("sum", "mean", "max", "min", "prod"), (6, 3, 3, 2, 0.8))[0]
        window = any(a.dim is None for a in bound.values())
        guard = window and op in ("sum", "max", "min")
        goal = frozenset(bound)
        if guard and op != "sum":
            body = self.leaf(inner, guard=True, prefer=goal)
        else:
            body = self.value(inner, depth, guard=guard and op == "sum", prefer=goal)
            if rng.random() < 0.6:
                body = self.capped(multiply(self.leaf(inner, guard=guard and op == "sum", prefer=goal - body.axes or goal), body))
        if packs and not frozenset(a.name for a in packs) <= body.sized:
            return None  # a pack's extent is not written
        if goal - body.axes and rng.random() < 0.9:
            more = self.leaf(inner, prefer=goal - body.axes)
            body = self.capped(add(body, more))
        if packs and not frozenset(a.name for a in packs) <= body.sized:
            return None
        return self.closed(op, bound, body)

    def closed(self, op: str, bound: Mapping[str, Axis], body: Value) -> Value:
        """``op`` of ``body``, made fit for it."""
        count = math.prod(self.most(a) for a in bound.values())
        if op == "sum":
            if body.low < 0 and (count > 64 or not body.bounded):
                body = fit(body, 0.1, 4.0)
            high = body.high * count if body.high > 0 else body.high
            low = body.low * count if body.low < 0 else body.low
            done = self.reduced("sum", bound, body, low, high if high < 200 else math.inf, False, body.relative and body.low >= 0)
            return done if low >= 0 or high < 200 else fit(done, -8.0, 8.0)
        if op == "prod":
            body = fit(body, 0.9, 1.1)
            most = 1.1**count if count < 50 else math.inf
            return self.reduced("prod", bound, body, 0.9**count if count < 50 else 0.0, most, False, True)
        if op == "mean" and not body.bounded:
            body = fit(body, -4.0, 4.0)
        if op == "mean" and math.isfinite(count) and self.rng.random() < 0.3:
            done = self.reduced("mean", bound, body, min(body.low, 0.0) * count / 4, max(body.high, 0.0) * count / 4)
            return replace(done, text=done.text[:-1] + ", divisor=4.0)")
        relative = body.relative and (op != "mean" or body.low >= 0)
        return self.reduced(op, bound, body, body.low, body.high, body.exact and op != "mean", relative)

    @staticmethod
    def most(a: Axis) -> float:
        """The largest extent an axis can have."""
        if a.dim is None:
            return int(a.extent)
        return max(a.dim.values) if a.dim.values else float(a.dim.most or math.inf)
