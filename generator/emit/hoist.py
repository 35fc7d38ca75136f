"""Divisions, minima and maxima of tiling fields alone: computed once in ``Init`` instead of at every use.

A division costs the scalar unit far more than the address arithmetic around it, and a name reads better.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass, replace
from typing import Any, TypeVar

from generator.plan import tree
from generator.spec.integer import Func, IntExpr, sym

__all__ = ["hoist"]

T = TypeVar("T")
_WORDS = {"floordiv": "div", "mod": "mod", "min": "min", "max": "max"}


def hoist(stage: tree.Stage, members: frozenset[str]) -> tuple[tree.Stage, tuple[tuple[str, IntExpr], ...]]:
    """``stage`` with every function of ``members`` alone that is used at least twice replaced by a name, and the names'
    expressions in an order in which each uses earlier ones only."""
    counts: Counter[Func] = Counter()
    for expr in _integers((stage.body, tuple(b.bytes for b in stage.buffers))):
        counts.update(a for a in _functions(expr) if a.a.free() | a.b.free() <= members)
    chosen = sorted((a for a, n in counts.items() if n > 1), key=lambda a: (_depth(a), a.key()))
    taken = set(members) | set(_names(stage.body))
    names: dict[Func, str] = {}
    for a in chosen:
        names[a] = _name(a, taken)
        taken.add(names[a])
    defined = tuple((n, _define(a, names)) for a, n in names.items())
    return replace(stage, body=_mapped(stage.body, names), buffers=_mapped(stage.buffers, names)), defined


def _functions(expr: IntExpr) -> Iterator[Func]:
    for mono, _ in expr.terms:
        for a, power in mono:
            if isinstance(a, Func):
                for _ in range(power):
                    yield a
                yield from _functions(a.a)
                yield from _functions(a.b)


def _integers(value: object) -> Iterator[IntExpr]:
    if isinstance(value, IntExpr):
        yield value
    elif isinstance(value, tuple):
        for v in value:
            yield from _integers(v)
    elif isinstance(value, tree.Call):
        yield from _integers(value.args)
    elif is_dataclass(value):
        for f in fields(value):
            yield from _integers(getattr(value, f.name))


def _names(value: object) -> Iterator[str]:
    """Names that statements declare."""
    if isinstance(value, tuple):
        for v in value:
            yield from _names(v)
    elif isinstance(value, tree.Let | tree.Var | tree.GetValue | tree.Alloc | tree.DeQue | tree.Get):
        yield value.name
    elif isinstance(value, tree.Loop):
        yield value.var
        yield from _names(value.body)
    elif isinstance(value, tree.If):
        yield from _names((value.then, value.orelse))
    elif isinstance(value, tree.Block):
        yield from _names(value.body)


def _depth(a: Func) -> int:
    inner = [_depth(x) for e in (a.a, a.b) for m, _ in e.terms for x, _p in m if isinstance(x, Func)]
    return 1 + max(inner, default=0)


def _define(a: Func, names: Mapping[Func, str]) -> IntExpr:
    """``a`` with the functions inside it by name."""
    inner = {f: n for f, n in names.items() if f != a}
    return IntExpr(((((a, 1),), 1),)).map_atoms(lambda x: sym(inner[x]) if isinstance(x, Func) and x in inner else None)


def _name(a: Func, taken: set[str]) -> str:
    """A short name: ``ceilDBy16`` for a rounded-up division of D by 16, ``divDBy64``, ``minTileRows``, ..."""
    x = _ceiling(a)
    if x is not None:
        base = f"ceil{_word(x)}By{a.b.value}"
    elif a.op in ("floordiv", "mod"):
        base = f"{_WORDS[a.op]}{_word(a.a)}By{_word(a.b)}"
    else:
        base = f"{_WORDS[a.op]}{_word(a.a)}{_word(a.b)}"
    name, k = base, 1
    while name in taken:
        k += 1
        name = f"{base}N{k}"
    return name


def _ceiling(a: Func) -> IntExpr | None:
    """The x of a division of x by a constant, rounded up."""
    by = a.b.value
    return a.a - (by - 1) if a.op == "floordiv" and by and dict(a.a.terms).get((), 0) == by - 1 else None


def _word(e: IntExpr) -> str:
    for mono, c in e.terms if len(e.terms) == 1 else ():
        inner = mono[0][0] if len(mono) == 1 else None
        x = _ceiling(inner) if isinstance(inner, Func) and inner.b.value == c else None
        if x is not None:
            return f"Up{_word(x)}To{c}"
    text = "".join(p[0].upper() + p[1:] for p in re.split(r"[^A-Za-z0-9]+", str(e)) if p)
    return text if len(text) <= 16 else "X"


def _mapped(value: T, names: Mapping[Func, str]) -> T:
    """The same tree with chosen functions replaced by their names."""
    result: Any = value
    if isinstance(value, IntExpr):
        result = value.map_atoms(lambda a: sym(names[a]) if isinstance(a, Func) and a in names else None)
    elif isinstance(value, tuple):
        result = tuple(_mapped(v, names) for v in value)
    elif isinstance(value, tree.Call):
        result = replace(value, args=_mapped(value.args, names))
    elif is_dataclass(value) and not isinstance(value, type):
        result = replace(value, **{f.name: _mapped(getattr(value, f.name), names) for f in fields(value)})
    return result  # type: ignore[no-any-return]
