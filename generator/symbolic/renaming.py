"""Renaming in normal form: axes replaced by integer expressions, tensors carried by loops by others or by their closed form."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction

from generator.formula.functions import FUNCTIONS
from generator.spec.integer import IntExpr, sym
from generator.symbolic.functions import call
from generator.symbolic.ring import Ring
from generator.symbolic.terms import Atom, Exp, Mono, Poly, UnsupportedError, scale

__all__ = ["Renaming"]


class Renaming:
    """Renames names in polynomials; sums and reductions are rebuilt by the class that builds them."""

    def __init__(self, ring: Ring) -> None:
        self.ring = ring
        self.table = ring.table
        ring.rename = self.rename_mono
        self.closed: dict[str, Callable[[tuple[IntExpr, ...]], Poly]] = {}  # carried tensors that have a closed form

    # renaming ---------------------------------------------------------------------------------------------------
    def integer(self, e: IntExpr, env: Mapping[str, IntExpr]) -> IntExpr:
        """An integer expression with names replaced, in elements of integer tensors too."""
        full: dict[str, IntExpr] = {n: env[n] for n in e.free() if n in env}
        for name in e.free():
            gathered = self.table.gathers.get(name)
            if gathered is not None and gathered.free & env.keys():
                tensor, indices = gathered.data
                full[name] = sym(self.table.gather(tensor, tuple(self.integer(i, env) for i in indices)))
        return e.substitute(full) if full else e

    def rename(self, p: Poly, env: Mapping[str, IntExpr]) -> Poly:
        """A polynomial with names replaced by integer expressions, in normal form."""
        out: Poly = {}
        for m, c in p.items():
            if any(a.free & env.keys() for a, _ in m):
                part = scale(self.rename_mono(m, env), c)
            else:
                part = {m: c}
            out = self.ring.add(out, part)
        return out

    def rename_mono(self, m: Mono, env: Mapping[str, IntExpr]) -> Poly:
        keep = tuple(t for t in m if not t[0].free & env.keys())
        out: Poly = {keep: Fraction(1)}
        for a, e in m:
            if a.free & env.keys():
                out = self.ring.mul(out, self.power(self.rename_atom(a, env), e))
        return out

    def power(self, p: Poly, e: Exp) -> Poly:
        if e == 1:
            return p
        return self.ring.power(p, e)

    def rename_atom(self, a: Atom, env: Mapping[str, IntExpr]) -> Poly:
        """An atom with names replaced."""
        r = self.ring
        if a.kind in ("sum", "red"):
            return self._rename_bound(a, env)
        match a.kind:
            case "sym":
                return self.table.integer(env[a.data]) if a.data in env else r.atom(a)
            case "ld":
                indices = tuple(self.integer(i, env) for i in a.data[1])
                moved = env.get(f"!{a.data[0]}")
                if moved is not None and moved.symbol is None:
                    return self.closed[a.data[0]](indices)
                return r.atom(self.table.load(a.data[0] if moved is None else str(moved.symbol), indices))
            case "ifn":
                return self.table.integer(self.integer(a.data, env))
            case "exp":
                return r.exp(self.rename(a.data, env))
            case "pow":
                return self.rename(a.data, env)
            case "fn":
                args = [self.rename(p, env) for p in a.data[1:]]
                return self.function(a.data[0], args)
            case "step" | "gt":
                return r.above(self.rename(a.data, env), True)
            case "eq":
                return r.equal(self.rename(a.data, env))
            case "ge":
                return r.ge(self.integer(a.data, env))
            case "ieq":
                return r.ieq(self.integer(a.data, env))
        raise UnsupportedError(f"renaming in {a.kind}")

    def function(self, name: str, args: Sequence[Poly]) -> Poly:
        """An opaque function of normal arguments; split over conditions in them."""
        r = self.ring
        if name == "log":
            return r.log(args[0])
        if name in FUNCTIONS:
            return call(r, name, args)
        return r.fn(name, *args)

    def _rename_bound(self, a: Atom, env: Mapping[str, IntExpr]) -> Poly:
        if a.kind == "sum":
            names, low, same, mono = a.data
        else:
            op, names, low, body = a.data
            same = ()
        new = {n: self.table.fresh("b") for n in names}
        full = {**{k: v for k, v in env.items() if k not in new}, **{n: sym(v) for n, v in new.items()}}
        low2 = [self.integer(e, full) for e in low]
        same2 = [self.integer(e, full) for e in same]
        if a.kind == "sum":
            return self.total([new[n] for n in names], low2, self.rename_mono(mono, full), same2)
        return self.reduction(op, [new[n] for n in names], low2, self.rename(body, full))

    def total(self, names: Sequence[str], low: Sequence[IntExpr], body: Poly, same: Sequence[IntExpr] = ()) -> Poly:
        """The sum of ``body`` over ``names`` (fresh) where every ``low >= 0`` and every ``same == 0``."""
        raise UnsupportedError("a sum")

    def reduction(self, op: str, names: Sequence[str], low: Sequence[IntExpr], body: Poly) -> Poly:
        """An opaque reduction with canonical names."""
        raise UnsupportedError("a reduction")
