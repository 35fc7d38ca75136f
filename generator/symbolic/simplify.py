"""Makes a derived gradient as short as a person would write it.

In rounds, until nothing changes: expressions in the algebra's short form, values said by names the gradient has, adjoints
that are zero by the definitions of what they are made of (a softmax's shift, a centred sum), definitions used once moved to
their use; at last subexpressions that occur again are named. A round never moves a read over a write.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

from generator.formula.ir import Assign, Expr, For, Gather, Load, Num, Reduce, Stmt, Tensor
from generator.formula.prove import Facts
from generator.spec.integer import IntExpr
from generator.symbolic.algebra import Algebra, Terms, TooLargeError
from generator.symbolic.build import ZERO, Fresh, is_num, loads, rebuild, rename_bound, replace_loads, substitute
from generator.symbolic.common import name_repeated
from generator.symbolic.keys import cost, key
from generator.symbolic.relations import Relation, from_definition, named
from generator.symbolic.versions import assigned

__all__ = ["Known", "simplify"]

_ROUNDS = 6
_LARGE = 4_000  # operations from which a gradient is left as it comes
_LONG = 300  # operations up to which names are sought again and again
_POOL = 600_000  # work on zeros in all (see ``Algebra.spent``)


@dataclass(frozen=True)
class Known:
    """A definition of the forward, in names the gradient might have; ``held`` is the element that holds its value when the
    gradient has it as an input."""

    stmt: Assign
    held: Load | None


def simplify(
    body: Sequence[Stmt], tensors: dict[str, Tensor], known: Sequence[Known], fresh: Fresh, names: set[str], facts: Facts
) -> list[Stmt]:
    """The same values in fewer operations. ``tensors`` grows by the names given to repeated subexpressions."""
    out = list(body)
    if sum(cost(s.value) for s in _assigns(out)) > _LARGE:
        return out
    work = _Simplifier(tensors, known, fresh)
    for _ in range(_ROUNDS):
        before = out
        out = work.round(out)
        if out == before:
            break
    for _ in range(2 if sum(cost(s.value) for s in _assigns(out)) < _LONG else 0):
        out = name_repeated(out, tensors, fresh, names, facts)
        for _ in range(2):
            out = work.round(out)
    out = name_repeated(out, tensors, fresh, names, facts)
    work.survey(out)
    return work.coalesced(work.alive(work.inlined(out)))


class _Simplifier:
    def __init__(self, tensors: dict[str, Tensor], known: Sequence[Known], fresh: Fresh) -> None:
        self.tensors = tensors
        self.known = known
        self.fresh = fresh
        self.unfolded: dict[str, list[Assign]] = {}
        for k in known:
            self.unfolded.setdefault(k.stmt.tensor, []).append(k.stmt)
            if k.held is not None:
                at = tuple(i for i in k.held.indices if isinstance(i, IntExpr))
                self.unfolded.setdefault(k.held.tensor, []).append(replace(k.stmt, tensor=k.held.tensor, indices=at))
        self.saved = [r for k in known if k.held is not None for r in from_definition(self.short(k.stmt), k.held, saved=True)]
        self.pool = _POOL
        self.standing: set[str] = set()  # what was found not to vanish
        self.writes: dict[str, int] = {}
        self.defs: dict[str, Assign] = {}

    def short(self, stmt: Assign) -> Assign:
        return replace(stmt, value=Algebra().simple(stmt.value))

    # one round --------------------------------------------------------------------------------------------------
    def round(self, body: list[Stmt]) -> list[Stmt]:
        self.survey(body)
        body = self.block(body, [])
        body = self.alive(self.zeros(body))
        self.survey(body)
        return self.alive(self.inlined(body))

    def survey(self, body: Sequence[Stmt]) -> None:
        """Count writes; note the definitions that hold wherever they are read."""
        self.writes = {}
        self.defs = {}
        for s in _assigns(body):
            self.writes[s.tensor] = self.writes.get(s.tensor, 0) + 1
        for stmt in body:
            if isinstance(stmt, Assign) and self.writes[stmt.tensor] == 1 and self.whole(stmt):
                self.defs[stmt.tensor] = stmt

    def whole(self, stmt: Assign) -> bool:
        t = self.tensors[stmt.tensor]
        seen = [i.symbol if isinstance(i, IntExpr) else None for i in stmt.indices]
        extents = {a.name: a.extent for a in stmt.axes}
        plain = all(extents.get(s or "") == e for s, e in zip(seen, t.shape, strict=True))
        return t.role == "local" and len(set(seen)) == len(seen) and plain

    def steady(self, e: Expr) -> bool:
        """Whether what ``e`` reads is written once, and so is the same wherever it can be read."""
        return all(self.writes.get(x.tensor, 0) <= 1 for x in loads(e))

    def block(self, body: Sequence[Stmt], relations: Sequence[Relation]) -> list[Stmt]:
        """Each statement in short form, with what was defined before it as names."""
        here = list(relations)
        out: list[Stmt] = []
        for stmt in body:
            if isinstance(stmt, For):
                out.append(replace(stmt, body=tuple(self.block(stmt.body, here))))
                continue
            usable = [*self.saved, *here]
            value = self.shortest(stmt.value, usable)
            stmt = replace(stmt, value=value)
            out.append(stmt)
            if self.writes.get(stmt.tensor) == 1 and self.whole(stmt) and self.steady(value) and cost(value):
                here += from_definition(stmt, Load(stmt.tensor, stmt.indices), saved=False)
        return out

    def shortest(self, e: Expr, relations: Sequence[Relation]) -> Expr:
        try:
            short = named(Algebra(relations=relations).simple(named(e, relations)), relations)
        except TooLargeError:
            return e
        return short if cost(short) <= cost(e) or isinstance(short, Num) else e

    # zeros ------------------------------------------------------------------------------------------------------
    def zeros(self, body: Sequence[Stmt]) -> list[Stmt]:
        """Without adjoints, or terms of them, that the definitions make zero."""
        self.survey(body)
        out = [replace(s, value=self.without_zeros(s.value)) if isinstance(s, Assign) and self.worth(s) else s for s in body]
        none = {s.tensor for s in _assigns(out) if self.tensors[s.tensor].role == "local"}
        none -= {s.tensor for s in _assigns(out) if not is_num(s.value, 0)}
        return [_replaced(s, lambda x: ZERO if x.tensor in none else None) for s in out] if none else out

    def worth(self, stmt: Assign) -> bool:
        return stmt.tensor.startswith("grad_") and any(isinstance(x, Reduce) for x in _walk(stmt.value))

    def without_zeros(self, e: Expr) -> Expr:
        try:
            a = Algebra(expand=True)
            parts = list(a.read(e).of.items())
            if not parts or len(parts) > 6:
                return e if parts else ZERO
            sizes = range(len(parts), 0, -1) if len(parts) <= 4 else (len(parts), 1)
            for size in sizes:
                for chosen in combinations(range(len(parts)), size):
                    if self.vanishes(a.write(Terms({parts[k][0]: parts[k][1] for k in chosen}))):
                        rest = Terms({m: c for k, (m, c) in enumerate(parts) if k not in chosen})
                        return self.without_zeros(Algebra().simple(a.write(rest))) if rest.of else ZERO
        except TooLargeError:
            return e
        return e

    def vanishes(self, e: Expr) -> bool:
        """Whether ``e`` is zero once definitions are multiplied out."""
        if self.pool <= 0 or not any(isinstance(x, Reduce) for x in _walk(e)):
            return False
        name = key(e)
        if name in self.standing:
            return False
        a = Algebra(expand=True, unfold=self.unfold)
        a.budget = min(a.budget, self.pool)
        try:
            gone = not a.read(e).of
        except TooLargeError:
            gone = False
        self.pool -= a.spent
        if not gone:
            self.standing.add(name)
        return gone

    def unfold(self, load: Load) -> Expr | None:
        """The definition of what is loaded, when it is a sum, a product or a reduction of other things."""
        if load.guarded:
            return None
        stmts = [self.defs[load.tensor]] if load.tensor in self.defs else self.unfolded.get(load.tensor, [])
        for stmt in stmts:
            if isinstance(stmt.value, Reduce) and stmt.value.op not in ("sum", "mean"):
                continue
            if type(stmt.value).__name__ not in ("Binary", "Neg", "Reduce", "Load") or not self.steady(stmt.value):
                continue
            if any(x.tensor == load.tensor for x in loads(stmt.value)):
                continue
            env = _bind(stmt, load)
            if env is not None:
                return substitute(rename_bound(stmt.value, self.fresh), env)
        return None

    # inlining ---------------------------------------------------------------------------------------------------
    def inlined(self, body: Sequence[Stmt]) -> list[Stmt]:
        """Definitions that are only another name, or used once where it costs nothing, moved to their use."""
        uses: dict[str, int] = {}
        for s in _assigns(body):
            for x in loads(s.value):
                uses[x.tensor] = uses.get(x.tensor, 0) + 1
        return self.level(body, uses)

    def level(self, body: Sequence[Stmt], uses: Mapping[str, int]) -> list[Stmt]:
        out: list[Stmt] = []
        ready: dict[str, Assign] = {}
        for at, stmt in enumerate(body):
            if isinstance(stmt, For):
                changed = {s.tensor for s in _assigns(stmt.body)}
                ready = {n: d for n, d in ready.items() if not changed & {x.tensor for x in loads(d.value)}}
                cheap = {n: d for n, d in ready.items() if cost(d.value) == 0}
                inner = [_replaced(s, lambda x, c=cheap: self.put(x, c)) for s in stmt.body]
                out.append(replace(stmt, body=tuple(self.level(inner, uses))))
                continue
            value = self.moved(stmt, ready)
            stmt = replace(stmt, value=value)
            ready = {n: d for n, d in ready.items() if stmt.tensor not in {x.tensor for x in loads(d.value)} and n != stmt.tensor}
            if self.writes.get(stmt.tensor) == 1 and self.whole(stmt):
                forward = not stmt.tensor.startswith("grad_") and isinstance(value, Reduce)
                if cost(value) == 0 or (uses.get(stmt.tensor) == 1 and not forward):
                    kept, moving = self.split(stmt, body[at + 1 :])
                    out.append(kept)
                    ready[stmt.tensor] = moving
                    continue
            out.append(stmt)
        return out

    def split(self, stmt: Assign, later: Sequence[Stmt]) -> tuple[Assign, Assign]:
        """A scaled sum is kept as the sum alone if its factors are sure to move. Anything else may move whole."""
        a = Algebra()
        terms = a.read(stmt.value).of if stmt.tensor.startswith("grad_") else {}
        if len(terms) == 1:
            ((m, c),) = terms.items()
            sums = [(k, p) for k, p in m if isinstance(a.bases[k], Reduce)]
            if len(sums) == 1 and sums[0][1] == 1 and (len(m) > 1 or c != 1):
                body = a.write(Terms({(sums[0],): type(c)(1)}))
                rest = tuple(f for f in m if f != sums[0])
                mark = Load(stmt.tensor, stmt.indices)
                at = a.atom(mark)
                factors = a.write(Terms({tuple(sorted((*rest, *at))): c}))
                if any(isinstance(x, Reduce) for x in _walk(factors)) or not _moves(stmt.tensor, factors, later):
                    return stmt, stmt
                return replace(stmt, value=body), replace(stmt, value=factors)
        return stmt, stmt

    def moved(self, stmt: Assign, ready: Mapping[str, Assign]) -> Expr:
        space = {a.name for a in stmt.axes}

        def go(e: Expr, inside: bool) -> Expr:
            if isinstance(e, Load) and e.tensor in ready and not e.guarded:
                d = ready[e.tensor]
                used = {n for i in e.indices if isinstance(i, IntExpr) for n in i.free()}
                sums = any(isinstance(x, Reduce) for x in _walk(d.value))
                if cost(d.value) == 0 or not sums or (not inside and space <= used):
                    return self.put(e, ready) or e
            return rebuild(e, lambda x: go(x, inside or isinstance(e, Reduce)))

        return go(stmt.value, False)

    def put(self, load: Load, ready: Mapping[str, Assign]) -> Expr | None:
        if load.tensor not in ready or load.guarded:
            return None
        env = _bind(ready[load.tensor], load)
        return None if env is None else substitute(rename_bound(ready[load.tensor].value, self.fresh), env)

    # copies -----------------------------------------------------------------------------------------------------
    def coalesced(self, body: Sequence[Stmt]) -> list[Stmt]:
        """Outputs that only copy a local tensor are stored where the local is, if it is not carried by a loop."""
        out = list(body)
        for s in body:
            if not isinstance(s, Assign) or self.tensors[s.tensor].role != "output" or not isinstance(s.value, Load):
                continue
            v = s.value
            if v.indices != s.indices or v.guarded or self.tensors[v.tensor].role != "local" or self.tensors[s.tensor].flat is not None:
                continue
            stores = [(x, loops) for x, loops in assigned(out) if x.tensor == v.tensor]
            moving = all(set(loops) <= {n for i in x.indices if isinstance(i, IntExpr) for n in i.free()} for x, loops in stores)
            read = sum(x.tensor == v.tensor for y, _ in assigned(out) for x in loads(y.value))
            if moving and read == 1 and sum(y.tensor == s.tensor for y, _ in assigned(out)) == 1:
                out = [_renamed(x, v.tensor, s.tensor) for x in out if x is not s]
        return out

    # what is read -----------------------------------------------------------------------------------------------
    def alive(self, body: Sequence[Stmt]) -> list[Stmt]:
        """Without statements whose tensors nothing reads."""
        wanted = {s.tensor for s in _assigns(body) if self.tensors[s.tensor].role == "output"}
        while True:
            size = len(wanted)
            for s in _assigns(body):
                if s.tensor in wanted:
                    wanted |= {x.tensor for x in loads(s.value)}
            if len(wanted) == size:
                return _kept(body, wanted)


def _moves(tensor: str, value: Expr, later: Sequence[Stmt]) -> bool:
    """Whether the one read of ``tensor`` is a plain one in ``later``, before anything that ``value`` reads is written."""
    reads = {x.tensor for x in loads(value)}
    for s in later:
        if isinstance(s, For):
            inside = list(_assigns(s.body))
            if any(x.tensor == tensor for y in inside for x in loads(y.value)) or reads & {y.tensor for y in inside}:
                return False
            continue
        found = [x for x in loads(s.value) if x.tensor == tensor]
        if found:
            return all(not x.guarded and all(isinstance(i, IntExpr) for i in x.indices) for x in found)
        if s.tensor in reads:
            return False
    return False


def _kept(body: Sequence[Stmt], wanted: set[str]) -> list[Stmt]:
    out: list[Stmt] = []
    for s in body:
        if isinstance(s, For):
            inner = _kept(s.body, wanted)
            out += [replace(s, body=tuple(inner))] if inner else []
        elif s.tensor in wanted:
            out.append(s)
    return out


def _bind(stmt: Assign, load: Load) -> dict[str, IntExpr] | None:
    """The axes of ``stmt`` at which it defines what is loaded."""
    names = {a.name for a in stmt.axes}
    env: dict[str, IntExpr] = {}
    for i, j in zip(stmt.indices, load.indices, strict=True):
        if not isinstance(i, IntExpr) or isinstance(j, Gather) or not isinstance(j, IntExpr):
            return None
        if i.symbol in names:
            if env.get(i.symbol or "", j) != j:
                return None
            env[i.symbol or ""] = j
        elif i != j:
            return None
    return env if names <= env.keys() else None


def _assigns(body: Sequence[Stmt]) -> Iterator[Assign]:
    for s in body:
        if isinstance(s, For):
            yield from _assigns(s.body)
        else:
            yield s


def _renamed(s: Stmt, old: str, new: str) -> Stmt:
    if isinstance(s, For):
        return replace(s, body=tuple(_renamed(b, old, new) for b in s.body))
    return replace(s, tensor=new) if s.tensor == old else s


def _replaced(s: Stmt, f: object) -> Stmt:
    if isinstance(s, For):
        return replace(s, body=tuple(_replaced(b, f) for b in s.body))
    return replace(s, value=replace_loads(s.value, f))  # type: ignore[arg-type]


def _walk(e: Expr) -> Iterator[Expr]:
    from generator.formula.infer import children

    yield e
    for c in children(e):
        yield from _walk(c)
