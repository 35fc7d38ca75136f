"""Subexpressions that occur more than once get a name.

A subexpression is the same wherever it is one up to the names of its axes; two or three factors of a longer product count,
too. Only expressions of elements that are sure to exist are named, so that nothing is evaluated outside its condition.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Final

from generator.formula.infer import children
from generator.formula.ir import Assign, Binary, Bound, Compare, Expr, For, Load, Logic, Not, Num, Reduce, Stmt, Tensor
from generator.formula.prove import Facts, Range
from generator.spec.integer import IntExpr, sym
from generator.symbolic.build import Fresh, free, loads, rebuild, substitute
from generator.symbolic.inverse import ranges_of
from generator.symbolic.keys import cost, key

__all__ = ["name_repeated"]

_MOST: Final = 8
_CHAIN: Final = 8  # factors of a product of which pairs and triples are looked at


@dataclass
class _Candidate:
    """One expression, in axes of its own, and how often it occurs."""

    value: Expr
    axes: tuple[Bound, ...]
    count: int = 0
    first: int = 0

    @property
    def gain(self) -> int:
        """Operations saved."""
        return (self.count - 1) * cost(self.value)


def name_repeated(body: Sequence[Stmt], tensors: dict[str, Tensor], fresh: Fresh, names: set[str], facts: Facts) -> list[Stmt]:
    """The statements with repeated subexpressions as local tensors, which are added to ``tensors`` and ``names``."""
    return _Naming(tensors, fresh, names, facts).block(list(body), facts)


class _Naming:
    def __init__(self, tensors: dict[str, Tensor], fresh: Fresh, names: set[str], facts: Facts) -> None:
        self.tensors = tensors
        self.fresh = fresh
        self.names = names
        self.facts = facts
        self.sought: tuple[object, ...] = ()  # what the expression being named looks like
        self.order: list[int] = []  # how the dims of the tensor being named follow from the key's axes
        self.moving: set[str] = set()  # tensors that change while the block runs

    def block(self, body: list[Stmt], facts: Facts) -> list[Stmt]:
        self.facts, self.moving = facts, _changing(body)
        for _ in range(_MOST):
            found = self.best(body)
            if found is None:
                break
            body = self.put(body, found)
        out: list[Stmt] = []
        for s in body:
            if isinstance(s, For):
                low, high = (s.start, s.stop - 1) if s.step > 0 else (s.stop + 1, s.start)
                here = facts.with_ranges([Range(s.var, low, high)]).with_known([high - low])
                s = replace(s, body=tuple(self.block(list(s.body), here)))
            out.append(s)
        return out

    # looking ----------------------------------------------------------------------------------------------------
    def best(self, body: Sequence[Stmt]) -> _Candidate | None:
        groups: dict[tuple[object, ...], list[tuple[Expr, Mapping[str, Bound], int]]] = {}
        for at, s in enumerate(body):
            if isinstance(s, Assign):
                for e, axes in _places(s.value, {a.name: a for a in s.axes}):
                    for part in _parts(e):
                        if cost(part):
                            groups.setdefault(_alike(part), []).append((part, axes, at))
        found: dict[str, _Candidate] = {}
        for group in groups.values():
            for part, axes, at in group if len(group) > 1 else ():
                self.note(part, axes, at, found)
        good = [c for c in found.values() if c.gain]
        return max(good, key=lambda c: (c.gain, c.count, -c.first)) if good else None

    def note(self, e: Expr, axes: Mapping[str, Bound], at: int, found: dict[str, _Candidate]) -> None:
        shaped = self.shaped(e, axes)
        if shaped is None:
            return
        mark, order = shaped
        if mark not in found:
            found[mark] = _Candidate(e, order, 0, at)
        c = found[mark]
        c.count += 1
        if at < c.first:
            c.value, c.axes, c.first = e, order, at

    def shaped(self, e: Expr, axes: Mapping[str, Bound]) -> tuple[str, tuple[Bound, ...]] | None:
        """A key that ignores the axes' names, and the axes in an order that goes with it; None for what is not named."""
        if not cost(e) or isinstance(e, Compare | Logic | Not) or (isinstance(e, Reduce) and e.op in ("any", "all", "argmax", "argmin")):
            return None
        mine = [axes[n] for n in sorted(free(e)) if n in axes]
        if not self.exists(e, {**axes}, None):
            return None
        if len(mine) > 1:
            plain = {a.name: sym("#") for a in mine}
            mine.sort(key=lambda a: key(substitute(e, {**plain, a.name: sym("##")})))
        numbered = {a.name: sym(f"#{k}") for k, a in enumerate(mine)}
        extents = ",".join(a.extent.key() if a.extent is not None else "" for a in mine)
        return f"{extents}|{key(substitute(e, numbered))}", tuple(mine)

    def exists(self, e: Expr, axes: dict[str, Bound], facts: Facts | None) -> bool:
        """Whether every element that ``e`` loads is there at all values of its axes, and does not change meanwhile."""
        if isinstance(e, Reduce):
            axes = {**axes, **{a.name: a for a in e.axes}}
        if isinstance(e, Load):
            if e.guarded or e.tensor in self.moving:
                return False
            for i, extent in zip(e.indices, self.tensors[e.tensor].shape, strict=True):
                if not isinstance(i, IntExpr):
                    return False
                if not i.free() & axes.keys() or (i.symbol in axes and axes[i.symbol or ""].extent == extent):
                    continue
                facts = facts or self.within(i, axes)
                if not (facts.nonnegative(i) and facts.less(i, extent)):
                    return False
                facts = None
        return all(self.exists(c, axes, None) for c in children(e))

    def within(self, i: IntExpr, axes: Mapping[str, Bound]) -> Facts:
        ranges = ranges_of([a for a in axes.values() if a.name in i.free()])
        return self.facts.with_ranges(ranges).with_known(r.high - r.low for r in ranges)

    # naming -----------------------------------------------------------------------------------------------------
    def put(self, body: Sequence[Stmt], c: _Candidate) -> list[Stmt]:
        name, k = "u", 0
        while name in self.names:
            k += 1
            name = f"u{k}"
        self.names.add(name)
        first = body[c.first]
        left = [a.name for a in first.axes] if isinstance(first, Assign) else []
        self.order = sorted(range(len(c.axes)), key=lambda k: (left.index(c.axes[k].name) if c.axes[k].name in left else len(left), k))
        self.tensors[name] = Tensor(name, tuple(e for e in (c.axes[k].extent for k in self.order) if e is not None), "local")
        fresh = {a.name: self.fresh.name(a.name) for a in c.axes}
        axes = tuple(Bound(fresh[a.name], a.extent) for a in c.axes)
        self.sought = _alike(c.value)
        shaped = self.shaped(c.value, {a.name: a for a in c.axes})
        assert shaped is not None
        definition = Assign(
            name,
            tuple(sym(axes[k].name) for k in self.order),
            substitute(c.value, {old: sym(new) for old, new in fresh.items()}),
            tuple(axes[k] for k in self.order),
        )
        out: list[Stmt] = []
        for at, s in enumerate(body):
            if at == c.first:
                out.append(definition)
            if isinstance(s, Assign):
                s = replace(s, value=self.said(s.value, {a.name: a for a in s.axes}, shaped[0], name, _size(c.value)))
            out.append(s)
        return out

    def said(self, e: Expr, axes: Mapping[str, Bound], mark: str, name: str, size: int) -> Expr:
        """``e`` with what has the key ``mark`` replaced by ``name``."""
        here = {**axes, **{a.name: a for a in e.axes}} if isinstance(e, Reduce) else axes
        whole = self.match(e, axes, mark, name)
        if whole is not None:
            return whole
        if size > 1 and isinstance(e, Binary) and e.op in ("mul", "div"):
            over, under = _chain(e)
            for some in combinations(range(min(len(over), _CHAIN)), size):
                if len(some) == len(over) and not under:
                    continue
                found = self.match(_product([over[k] for k in some]), axes, mark, name)
                if found is not None:
                    rest = [x for k, x in enumerate(over) if k not in some]
                    rest.insert(some[0], found)
                    top = _product(rest)
                    left = Binary("div", top, _product(under)) if under else top
                    return self.said(left, axes, mark, name, size)
        return rebuild(e, lambda x: self.said(x, here, mark, name, size))

    def match(self, e: Expr, axes: Mapping[str, Bound], mark: str, name: str) -> Load | None:
        shaped = self.shaped(e, axes) if _alike(e) == self.sought else None
        if shaped is None or shaped[0] != mark:
            return None
        return Load(name, tuple(sym(shaped[1][k].name) for k in self.order))


def _alike(e: Expr) -> tuple[object, ...]:
    """The same for equal expressions, and cheap."""
    return type(e), cost(e), *sorted(x.tensor for x in loads(e))


def _assigns(body: Sequence[Stmt]) -> Iterator[Assign]:
    for s in body:
        if isinstance(s, For):
            yield from _assigns(s.body)
        else:
            yield s


def _changing(body: Sequence[Stmt]) -> set[str]:
    """Tensors that do not have one value all through the block, as far as it reads them."""
    seen: set[str] = set()
    out: set[str] = set()
    for s in body:
        inside = [s] if isinstance(s, Assign) else [*_assigns(s.body), *_assigns(s.body)]
        for x in inside:
            seen |= {load.tensor for load in loads(x.value)}
            if x.tensor in seen:
                out.add(x.tensor)
            seen.add(x.tensor)
    return out


def _places(e: Expr, axes: Mapping[str, Bound]) -> Iterator[tuple[Expr, Mapping[str, Bound]]]:
    """Every subexpression with the axes around it; of a product only the whole chain."""
    yield e, axes
    inner = {**axes, **{a.name: a for a in e.axes}} if isinstance(e, Reduce) else axes
    if isinstance(e, Binary) and e.op in ("mul", "div"):
        over, under = _chain(e)
        for part in _different((*over, *under)):
            yield from _places(part, axes)
        if len(under) > 1:
            yield _product(under), axes
        return
    for c in children(e):
        yield from _places(c, inner)


def _different(es: Sequence[Expr]) -> list[Expr]:
    return [e for at, e in enumerate(es) if not any(e is x for x in es[:at])]


def _parts(e: Expr) -> Iterator[Expr]:
    """``e``, and pairs and triples of its factors."""
    yield e
    if isinstance(e, Binary) and e.op in ("mul", "div"):
        over, under = _chain(e)
        over = over[:_CHAIN]
        for size in (2, 3):
            for some in combinations(over, size):
                if (size < len(over) or under) and not isinstance(some[0], Num):
                    yield _product(some)


def _size(e: Expr) -> int:
    """How many factors a product of only factors has; 1 for anything else."""
    if not isinstance(e, Binary) or e.op != "mul":
        return 1
    over, under = _chain(e)
    return 1 if under else len(over)


def _chain(e: Expr) -> tuple[list[Expr], list[Expr]]:
    """The factors and the divisors of a product."""
    if isinstance(e, Binary) and e.op == "mul":
        a, b = _chain(e.a), _chain(e.b)
        return a[0] + b[0], a[1] + b[1]
    if isinstance(e, Binary) and e.op == "div":
        a, b = _chain(e.a), _chain(e.b)
        return a[0] + b[1], a[1] + b[0]
    if isinstance(e, Binary) and e.op == "pow" and isinstance(e.b, Num) and e.b.value in (2, 3):
        return [e.a] * int(e.b.value), []
    return [e], []


def _product(es: Sequence[Expr]) -> Expr:
    if not es:
        return Num(1, "1")
    out = es[0]
    for e in es[1:]:
        out = Binary("mul", out, e)
    return out
