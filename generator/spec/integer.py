"""Integer expressions over sizes, attributes, axes and loop variables, kept in polynomial normal form.

Every size, index, loop bound, buffer length and tiling field of the project is an :class:`IntExpr`. Two
expressions that are equal as polynomials over the same atoms compare equal, so agreement of extents is plain
``==``. The same object is evaluated by the reference, solved by the planner and printed (as spec text and as
C++) by one printer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final, Literal

__all__ = [
    "Atom",
    "Func",
    "IntExpr",
    "Numel",
    "Sym",
    "ceil_div",
    "const",
    "floor_div",
    "max_of",
    "min_of",
    "mod",
    "numel",
    "product",
    "round_up",
    "sym",
]

FuncOp = Literal["floordiv", "mod", "min", "max"]


@dataclass(frozen=True, slots=True)
class Sym:
    """A named integer: a dim, an int attribute, an axis, a loop variable, a tiling field or a C++ local."""

    name: str

    def key(self) -> str:
        return "0" + self.name


@dataclass(frozen=True, slots=True)
class Numel:
    """The number of elements of a parameter, ``numel(tensor)``."""

    tensor: str

    def key(self) -> str:
        return "1" + self.tensor


@dataclass(frozen=True, slots=True)
class Func:
    """A non-polynomial integer function of two expressions; ``floordiv`` and ``mod`` round towards -inf."""

    op: FuncOp
    a: IntExpr
    b: IntExpr
    _hash: int = field(default=0, init=False, repr=False, compare=False)  # these are found once: expressions nest deeply
    _key: str = field(default="", init=False, repr=False, compare=False)
    _free: frozenset[str] | None = field(default=None, init=False, repr=False, compare=False)

    def __hash__(self) -> int:
        if not self._hash:
            object.__setattr__(self, "_hash", hash((self.op, self.a, self.b)) or 1)
        return self._hash

    def __reduce__(self) -> tuple[type[Func], tuple[FuncOp, IntExpr, IntExpr]]:
        return Func, (self.op, self.a, self.b)  # another process hashes names in another way

    def key(self) -> str:
        if not self._key:
            object.__setattr__(self, "_key", f"2{self.op}({self.a.key()},{self.b.key()})")
        return self._key

    def free(self) -> frozenset[str]:
        """Names of all symbols in the arguments."""
        if self._free is None:
            object.__setattr__(self, "_free", self.a.free() | self.b.free())
        assert self._free is not None
        return self._free


Atom = Sym | Numel | Func
Monomial = tuple[tuple[Atom, int], ...]


def _mono_key(m: Monomial) -> tuple[int, str]:
    return (-sum(p for _, p in m), "*".join(f"{a.key()}^{p}" for a, p in m))


@dataclass(frozen=True, slots=True)
class IntExpr:
    """A polynomial with integer coefficients: ``terms`` maps monomials to non-zero coefficients, sorted."""

    terms: tuple[tuple[Monomial, int], ...]

    # construction -------------------------------------------------------------------------------------------
    @staticmethod
    def _make(acc: dict[Monomial, int]) -> IntExpr:
        return IntExpr(tuple(sorted(((m, c) for m, c in acc.items() if c), key=lambda t: _mono_key(t[0]))))

    def __add__(self, other: IntExpr | int) -> IntExpr:
        acc = dict(self.terms)
        for m, c in _lift(other).terms:
            acc[m] = acc.get(m, 0) + c
        return IntExpr._make(acc)

    def __radd__(self, other: int) -> IntExpr:
        return self + other

    def __neg__(self) -> IntExpr:
        return self * -1

    def __sub__(self, other: IntExpr | int) -> IntExpr:
        return self + (-_lift(other))

    def __rsub__(self, other: int) -> IntExpr:
        return _lift(other) - self

    def __mul__(self, other: IntExpr | int) -> IntExpr:
        if isinstance(other, int):
            return IntExpr(tuple((m, c * other) for m, c in self.terms) if other else ())
        acc: dict[Monomial, int] = {}
        for m1, c1 in self.terms:
            for m2, c2 in other.terms:
                powers: dict[Atom, int] = dict(m1)
                for a, p in m2:
                    powers[a] = powers.get(a, 0) + p
                m = tuple(sorted(powers.items(), key=lambda t: t[0].key()))
                acc[m] = acc.get(m, 0) + c1 * c2
        return IntExpr._make(acc)

    def __rmul__(self, other: int) -> IntExpr:
        return self * other

    # queries ------------------------------------------------------------------------------------------------
    @property
    def value(self) -> int | None:
        """The constant's value, or None when the expression is not a constant."""
        if not self.terms:
            return 0
        if len(self.terms) == 1 and not self.terms[0][0]:
            return self.terms[0][1]
        return None

    @property
    def is_symbol(self) -> bool:
        return self.symbol is not None

    @property
    def symbol(self) -> str | None:
        """The name when the expression is exactly one symbol with coefficient 1, else None."""
        if len(self.terms) == 1 and self.terms[0][1] == 1:
            m = self.terms[0][0]
            if len(m) == 1 and m[0][1] == 1 and isinstance(m[0][0], Sym):
                return m[0][0].name
        return None

    def atoms(self) -> frozenset[Atom]:
        """Every atom, those inside functions included."""
        out: set[Atom] = set()
        for m, _ in self.terms:
            for a, _p in m:
                out.add(a)
                if isinstance(a, Func):
                    out |= a.a.atoms() | a.b.atoms()
        return frozenset(out)

    def free(self) -> frozenset[str]:
        """Names of all symbols the expression depends on."""
        out: set[str] = set()
        for m, _ in self.terms:
            for a, _p in m:
                if isinstance(a, Sym):
                    out.add(a.name)
                elif isinstance(a, Func):
                    out |= a.free()
        return frozenset(out)

    def coefficient(self, name: str) -> IntExpr:
        """The coefficient of ``name``; ValueError unless the expression is affine in it."""
        acc: dict[Monomial, int] = {}
        target = Sym(name)
        for m, c in self.terms:
            powers = dict(m)
            power = powers.pop(target, 0)
            if any(isinstance(a, Func) and name in a.free() for a in powers) or power > 1:
                raise ValueError(f"{self} is not affine in {name}")
            if power == 1:
                acc[tuple(sorted(powers.items(), key=lambda t: t[0].key()))] = c
        return IntExpr._make(acc)

    def is_affine_in(self, names: Iterable[str]) -> bool:
        """True when affine in ``names`` jointly: no product of two of them, none inside a function."""
        wanted = set(names)
        for m, _ in self.terms:
            degree = 0
            for a, p in m:
                if isinstance(a, Sym) and a.name in wanted:
                    degree += p
                elif isinstance(a, Func) and wanted & a.free():
                    return False
            if degree > 1:
                return False
        return True

    def substitute(self, env: Mapping[str, IntExpr | int]) -> IntExpr:
        def put(a: Atom) -> IntExpr | None:
            if isinstance(a, Func):
                return _atom(a) if a.free().isdisjoint(env) else None
            return _lift(env[a.name]) if isinstance(a, Sym) and a.name in env else None

        return self if self.free().isdisjoint(env) else self.map_atoms(put)

    def map_atoms(self, f: Callable[[Atom], IntExpr | None]) -> IntExpr:
        """Replace atoms for which ``f`` returns an expression; functions are rebuilt from their arguments."""
        out = const(0)
        for m, c in self.terms:
            term = const(c)
            for a, p in m:
                new = f(a)
                if new is None:
                    new = _FUNCS[a.op](a.a.map_atoms(f), a.b.map_atoms(f)) if isinstance(a, Func) else _atom(a)
                for _ in range(p):
                    term = term * new
            out = out + term
        return out

    def evaluate(self, env: Mapping[str, int], numels: Mapping[str, int] | None = None) -> int:
        """The value under ``env`` (symbols) and ``numels`` (element counts); KeyError names what is missing."""
        total = 0
        for m, c in self.terms:
            term = c
            for a, p in m:
                term *= _eval_atom(a, env, numels) ** p
            total += term
        return total

    # printing -----------------------------------------------------------------------------------------------
    def key(self) -> str:
        return "+".join(f"{c}*{'*'.join(f'{a.key()}^{p}' for a, p in m)}" for m, c in self.terms) or "0"

    def text(self, style: Literal["spec", "c"] = "spec", names: Callable[[str], str] = lambda s: s) -> str:
        """Spec text (``//``, ``%``, ``min``) or C++ (``/``, ``%`` and ``FloorDiv``-free: operands are non-negative)."""
        if not self.terms:
            return "0"
        parts: list[str] = []
        ordered = sorted(self.terms, key=lambda t: t[1] < 0)
        for m, c in ordered:
            factors = [_atom_text(a, style, names) for a, p in m for _ in range(p)]
            sign = "-" if c < 0 else "+"
            if abs(c) != 1 or not factors:
                factors.insert(0, str(abs(c)))
            body = " * ".join(factors) if style == "c" else "*".join(factors)
            parts.append((f" {sign} " if parts else ("-" if c < 0 else "")) + body)
        return "".join(parts)

    def __str__(self) -> str:
        return self.text()


def _atom(a: Atom) -> IntExpr:
    return IntExpr(((((a, 1),), 1),))


def _lift(v: IntExpr | int) -> IntExpr:
    return v if isinstance(v, IntExpr) else const(v)


def const(value: int) -> IntExpr:
    """The constant ``value``."""
    return IntExpr((((), value),) if value else ())


def sym(name: str) -> IntExpr:
    """The symbol ``name``."""
    return _atom(Sym(name))


def numel(tensor: str) -> IntExpr:
    """The element count of ``tensor``."""
    return _atom(Numel(tensor))


def product(factors: Iterable[IntExpr | int]) -> IntExpr:
    """The product of ``factors``; 1 for none."""
    out = const(1)
    for f in factors:
        out = out * f
    return out


def floor_div(a: IntExpr | int, b: IntExpr | int) -> IntExpr:
    """``a // b``, rounded towards -inf."""
    a, b = _lift(a), _lift(b)
    if b.value == 1 or a.value == 0:
        return a
    if a.value is not None and b.value:
        return const(a.value // b.value)
    if a == b:
        return const(1)
    if b.value and b.value > 0 and all(c % b.value == 0 for _, c in a.terms):
        return IntExpr(tuple((m, c // b.value) for m, c in a.terms))
    return _atom(Func("floordiv", a, b))


def mod(a: IntExpr | int, b: IntExpr | int) -> IntExpr:
    """``a % b``, with the sign of ``b``."""
    a, b = _lift(a), _lift(b)
    if b.value == 1 or a.value == 0:
        return const(0)
    if a.value is not None and b.value:
        return const(a.value % b.value)
    return _atom(Func("mod", a, b))


def min_of(a: IntExpr | int, b: IntExpr | int) -> IntExpr:
    """The smaller of two."""
    a, b = _lift(a), _lift(b)
    if a == b:
        return a
    if (a - b).value is not None:
        return a if (a - b).value <= 0 else b
    return _atom(Func("min", a, b))


def max_of(a: IntExpr | int, b: IntExpr | int) -> IntExpr:
    """The larger of two."""
    a, b = _lift(a), _lift(b)
    if a == b:
        return a
    if (a - b).value is not None:
        return a if (a - b).value >= 0 else b
    return _atom(Func("max", a, b))


def ceil_div(a: IntExpr | int, b: IntExpr | int) -> IntExpr:
    """``a / b`` rounded up."""
    a, b = _lift(a), _lift(b)
    return floor_div(a + b - 1, b)


def round_up(a: IntExpr | int, to: int) -> IntExpr:
    """``a`` rounded up to a multiple of the constant ``to``."""
    a = _lift(a)
    return a if all(c % to == 0 for _, c in a.terms) else ceil_div(a, to) * to


_FUNCS: Final[Mapping[str, Callable[[IntExpr, IntExpr], IntExpr]]] = {"floordiv": floor_div, "mod": mod, "min": min_of, "max": max_of}


def _eval_atom(a: Atom, env: Mapping[str, int], numels: Mapping[str, int] | None) -> int:
    if isinstance(a, Sym):
        return env[a.name]
    if isinstance(a, Numel):
        return (numels or {})[a.tensor]
    x, y = a.a.evaluate(env, numels), a.b.evaluate(env, numels)
    if a.op == "floordiv":
        return x // y
    if a.op == "mod":
        return x % y
    return min(x, y) if a.op == "min" else max(x, y)


def _atom_text(a: Atom, style: str, names: Callable[[str], str]) -> str:
    if isinstance(a, Sym):
        return names(a.name)
    if isinstance(a, Numel):
        return f"numel({a.tensor})"
    x = a.a.text("c" if style == "c" else "spec", names)
    y = a.b.text("c" if style == "c" else "spec", names)
    if style == "c":
        if a.op == "floordiv":
            return f"(({x}) / ({y}))"
        if a.op == "mod":
            return f"(({x}) % ({y}))"
        sign = "<" if a.op == "min" else ">"
        return f"(({x}) {sign} ({y}) ? ({x}) : ({y}))"
    if a.op in ("min", "max"):
        return f"{a.op}({x}, {y})"
    return f"({_grouped(a.a, x)}{'//' if a.op == 'floordiv' else ' % '}{_grouped(a.b, y)})"


def _grouped(e: IntExpr, text: str) -> str:
    """``text`` of ``e`` as an operand of a division: parentheses unless it is a number or one name."""
    single = (e.value is not None and e.value >= 0) or (len(e.terms) == 1 and e.terms[0][1] == 1 and len(e.terms[0][0]) == 1)
    return text if single and (e.value is not None or e.terms[0][0][0][1] == 1) else f"({text})"
