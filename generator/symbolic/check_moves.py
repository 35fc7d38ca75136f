"""The checker's renaming: axes replaced by integer expressions, carried tensors by others or by what they are."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction

from generator.formula.functions import FUNCTIONS
from generator.spec.integer import IntExpr, sym
from generator.symbolic.check_functions import Functions
from generator.symbolic.check_values import DoubtError, Part, Product, Value

__all__ = ["Env", "Moves"]

Env = Mapping[str, IntExpr]


class Moves(Functions):
    """Values with names replaced; sums are built by the class that knows them. Names of bound axes hold a quote mark."""

    depth = 0
    serial = 0
    formulas: dict[str, Callable[[tuple[IntExpr, ...]], Value]]  # carried tensors whose elements are known

    def new(self) -> str:
        """A name for a bound axis."""
        self.serial += 1
        return f"'{self.serial}"

    # renaming ---------------------------------------------------------------------------------------------------
    def moved_int(self, e: IntExpr, env: Env) -> IntExpr:
        inner: dict[str, IntExpr] = {}
        for n in e.free():
            if n in env:
                inner[n] = env[n]
            elif n in self.integers:
                part = self.parts[self.integers[n]]
                if part.names & env.keys():
                    inner[n] = self.gathered(self.moved_part(part, env))
        return e.substitute(inner) if inner else e

    def gathered(self, v: Value) -> IntExpr:
        """The integer symbol of an element of an integer tensor."""
        ((m, c),) = v.items()
        if c != 1 or len(m) != 1 or m[0][1] != 1 or self.parts[m[0][0]].what != "element":
            raise DoubtError("a computed index")
        name = f"@{m[0][0]}"
        if name not in self.integers:
            self.integers[name] = m[0][0]
            self.learn_element(name, self.parts[m[0][0]].holds[0])
        return sym(name)

    def learn_element(self, name: str, tensor: str) -> None:
        """Told of each new element of an integer tensor."""

    def moved(self, v: Value, env: Env) -> Value:
        """A value with names replaced."""
        return self.plus(*(self.scaled(self.moved_product(m, env), c) for m, c in v.items()))

    def moved_product(self, m: Product, env: Env) -> Value:
        out: Value = {tuple(t for t in m if not self.parts[t[0]].names & env.keys()): Fraction(1)}
        for p, e in m:
            if self.parts[p].names & env.keys():
                new = self.moved_part(self.parts[p], env)
                out = self.times(out, new if e == 1 else self.power(new, e))
        return out

    def moved_part(self, part: Part, env: Env) -> Value:
        h = part.holds
        match part.what:
            case "number":
                return self.integer(env[h])
            case "element":
                tensor, at = h[0], tuple(self.moved_int(i, env) for i in h[1])
                to = env.get(f"!{tensor}")
                if to is None:
                    return self.element(tensor, at)
                return self.formulas[tensor](at) if to.symbol is None else self.element(str(to.symbol)[1:], at)
            case "exp":
                return self.exp(self.moved(h, env))
            case "base":
                return self.moved(h, env)
            case "call":
                args = [self.moved(a, env) for a in h[1:]]
                return self.named(h[0], args) if h[0] in FUNCTIONS else self.call(h[0], *args)
            case "positive" | "exactly":
                return self.positive_part(self.moved(h, env), True)
            case "zero":
                return self.zero(self.moved(h, env))
            case "atleast":
                return self.at_least(self.moved_int(h, env))
            case "equals":
                return self.equals(self.moved_int(h, env))
            case "total":
                names, low, same, body = h
                env = {**{k: v for k, v in env.items() if k not in names}, **{n: sym(self.new()) for n in names}}
                fresh = [str(env[n]) for n in names]
                lows, sames = [self.moved_int(e, env) for e in low], [self.moved_int(e, env) for e in same]
                return self.total(fresh, lows, sames, self.moved_product(body, env))
            case "other" if h[0] == "integer":
                return self.integer(self.moved_int(h[1], env))
            case "other":
                op, names, low, inner = h
                env = {**{k: v for k, v in env.items() if k not in names}, **{n: sym(self.new()) for n in names}}
                return self.reduction(op, [str(env[n]) for n in names], [self.moved_int(e, env) for e in low], self.moved(inner, env))
        raise DoubtError(part.what)

    def total(self, axes: Sequence[str], low: Sequence[IntExpr], same: Sequence[IntExpr], body: Value) -> Value:
        """The sum of ``body`` over integer ``axes`` where all ``low >= 0`` and all ``same == 0``."""
        raise DoubtError("a sum")

    def reduction(self, op: str, axes: Sequence[str], low: Sequence[IntExpr], body: Value) -> Value:
        """Another reduction, of which only its equality to itself is known."""
        raise DoubtError("a reduction")
