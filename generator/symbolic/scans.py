"""Recurrences over a stored axis (``h[r + 1] = f(h[r])``) as loops that carry what they read back.

A loop that writes ``h`` at an index that moves with its variable and reads it at an earlier round's index is rewritten: the
value of ``k`` rounds ago is a carried tensor, and ``h`` only stores. What has no such form is carried as a whole tensor.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from generator.formula.ir import Assign, Bound, Expr, For, Gather, Load, Program, Stmt, Tensor
from generator.formula.prove import Facts
from generator.spec.integer import IntExpr, sym
from generator.symbolic.build import ZERO, loads, rebuild

__all__ = ["unrolled_scans"]


def unrolled_scans(program: Program, facts: Facts, names: set[str], many: set[str]) -> tuple[Program, set[str]]:
    """The program without reads of what the same loop stores, and the tensors that must be carried as a whole.

    ``names`` are taken, and grow."""
    work = _Scans(program, facts, names, many)
    body = work.block(program.body)
    return replace(program, body=tuple(body), tensors=work.tensors), work.hard


@dataclass(frozen=True)
class _Store:
    """A store of a round: at ``index`` in dim ``dim``, plain axes elsewhere."""

    stmt: Assign
    dim: int
    index: IntExpr
    pace: int  # how far the index moves in one round


class _Scans:
    def __init__(self, program: Program, facts: Facts, names: set[str], many: set[str]) -> None:
        self.tensors = dict(program.tensors)
        self.facts = facts
        self.names = names
        self.many = many
        self.hard: set[str] = set()

    def block(self, body: Sequence[Stmt]) -> list[Stmt]:
        out: list[Stmt] = []
        for stmt in body:
            out += self.loop(stmt) if isinstance(stmt, For) else [stmt]
        return out

    def loop(self, stmt: For) -> list[Stmt]:
        stmt = replace(stmt, body=tuple(self.block(stmt.body)))
        before: list[Stmt] = []
        written = dict.fromkeys(s.tensor for s in _assigns(stmt.body) if s.tensor not in self.many)
        read = {x.tensor for s in _assigns(stmt.body) for x in _all_loads(s.value)}
        for tensor in [t for t in written if t in read]:
            done = self.scan(stmt, tensor)
            if done is None:
                self.hard.add(tensor)
                continue
            start, stmt = done
            before += start
        return [*before, stmt]

    def scan(self, loop: For, tensor: str) -> tuple[list[Stmt], For] | None:
        stores = [self.store(s, loop) for s in loop.body if isinstance(s, Assign) and s.tensor == tensor]
        inner = [s for s in _assigns(loop.body) if s.tensor == tensor]
        if not stores or None in stores or len(stores) != len(inner):
            return None
        known = [s for s in stores if s is not None]
        lags: dict[int, int] = {}  # store -> how many rounds back it is read
        for load in (x for s in _assigns(loop.body) for x in _all_loads(s.value) if x.tensor == tensor):
            found = _lag(load, known)
            if found is None or (load.guarded and found[1] == 0):
                return None
            lags[found[0]] = max(lags.get(found[0], 0), found[1])
        names = {at: [self.local(s, k) for k in range(lags.get(at, -1) + 1)] for at, s in enumerate(known)}
        before: list[Stmt] = [self.first(s, k, names[at][k], loop) for at, s in enumerate(known) for k in range(1, len(names[at]))]
        body = [x for s in loop.body for x in self.rewritten(s, tensor, known, names)]
        for ns in names.values():
            body += [self.copy(ns[k], ns[k - 1]) for k in range(len(ns) - 1, 0, -1)]
        return before, replace(loop, body=tuple(body))

    def store(self, s: Assign, loop: For) -> _Store | None:
        """The store, when one dim moves with the loop's variable and the others are whole."""
        moving = [d for d, i in enumerate(s.indices) if isinstance(i, IntExpr) and loop.var in i.free()]
        if len(moving) != 1:
            return None
        d = moving[0]
        i = s.indices[d]
        assert isinstance(i, IntExpr)
        if not i.is_affine_in([loop.var]) or any(a.name in i.free() for a in s.axes):
            return None
        pace = i.coefficient(loop.var).value
        rest = [x.symbol if isinstance(x, IntExpr) else None for k, x in enumerate(s.indices) if k != d]
        shape = [e for k, e in enumerate(self.tensors[s.tensor].shape) if k != d]
        extents = {a.name: a.extent for a in s.axes}
        if pace is None or len(set(rest)) != len(rest) or any(extents.get(n or "") != e for n, e in zip(rest, shape, strict=True)):
            return None
        return _Store(s, d, i, pace * loop.step)

    def local(self, s: _Store, k: int) -> str:
        stem, n = s.stmt.tensor + ("_now" if k == 0 else "_before"), 0
        name = stem
        while name in self.names:
            n += 1
            name = f"{stem}_{n}"
        self.names.add(name)
        old = self.tensors[s.stmt.tensor]
        shape = tuple(e for d, e in enumerate(old.shape) if d != s.dim)
        self.tensors[name] = Tensor(name, shape, "local", old.kind)
        self.many.add(name)
        return name

    def first(self, s: _Store, k: int, name: str, loop: For) -> Assign:
        """The carried tensor before the first round."""
        at = s.index.substitute({loop.var: loop.start}) - s.pace * k
        shape = self.tensors[s.stmt.tensor].shape
        outside = self.facts.nonnegative(-at - 1) or self.facts.at_most(shape[s.dim], at)
        axes = self.axes(name)
        load = Load(s.stmt.tensor, _insert([sym(a.name) for a in axes], s.dim, at))
        return Assign(name, tuple(sym(a.name) for a in axes), ZERO if outside else load, axes)

    def axes(self, name: str) -> tuple[Bound, ...]:
        return tuple(Bound(f"i{d}~0", e) for d, e in enumerate(self.tensors[name].shape))

    def copy(self, to: str, source: str) -> Assign:
        axes = self.axes(to)
        at = tuple(sym(a.name) for a in axes)
        return Assign(to, at, Load(source, at), axes)

    def rewritten(self, s: Stmt, tensor: str, stores: Sequence[_Store], names: Mapping[int, list[str]]) -> list[Stmt]:
        if isinstance(s, For):
            return [replace(s, body=tuple(x for b in s.body for x in self.rewritten(b, tensor, stores, names)))]

        def go(e: Expr) -> Expr:
            if not isinstance(e, Load):
                return rebuild(e, go)
            indices = tuple(Gather(go(i.load)) if isinstance(i, Gather) else i for i in e.indices)  # type: ignore[arg-type]
            found = _lag(e, stores) if e.tensor == tensor else None
            if found is None:
                return replace(e, indices=indices)
            d = stores[found[0]].dim
            rest = tuple(i for k, i in enumerate(indices) if k != d)
            guarded = tuple(g - (g > d) for g in e.guarded if g != d)
            outside = e.outside if guarded else None
            return replace(e, tensor=names[found[0]][found[1]], indices=rest, guarded=guarded, outside=outside, spots=())

        s = replace(s, value=go(s.value))
        at = next((k for k, known in enumerate(stores) if known.stmt.tensor == s.tensor and known.stmt.indices == s.indices), None)
        if at is None or not names[at]:
            return [s]
        rest = tuple(i for k, i in enumerate(s.indices) if k != stores[at].dim)
        return [
            replace(s, tensor=names[at][0], indices=rest, spots=()),
            replace(s, value=Load(names[at][0], rest), spots=()),
        ]


def _lag(load: Load, stores: Sequence[_Store]) -> tuple[int, int] | None:
    """Which store a load reads and from how many rounds ago."""
    for at, s in enumerate(stores):
        i = load.indices[s.dim]
        if not isinstance(i, IntExpr):
            continue
        gap = (s.index - i).value
        if gap is not None and gap % s.pace == 0 and gap // s.pace >= 0:
            return at, gap // s.pace
    return None


def _insert(indices: Sequence[IntExpr], d: int, at: IntExpr) -> tuple[IntExpr, ...]:
    return (*indices[:d], at, *indices[d:])


def _assigns(body: Iterable[Stmt]) -> Iterable[Assign]:
    for stmt in body:
        if isinstance(stmt, For):
            yield from _assigns(stmt.body)
        else:
            yield stmt


def _all_loads(e: Expr) -> Iterable[Load]:
    return loads(e)
