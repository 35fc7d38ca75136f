"""A program in single-assignment form: every write of a carried tensor is a version, and loops say what they carry.

All axes get names of their own. Loops are normalised to steps of 1 or -1. A write of a carried tensor that leaves elements
alone becomes a whole write that copies them (``where``).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from generator.formula.ir import Assign, Binary, Bound, Call, Expr, For, Gather, Index, Load, Num, Program, Stmt, Tensor
from generator.formula.prove import Facts, Range
from generator.spec.integer import IntExpr, const, floor_div, sym
from generator.symbolic.build import (
    Fresh,
    all_of,
    compare,
    is_num,
    loads,
    mul,
    neg,
    rebuild,
    rename_bound,
    substitute,
    substitute_index,
    where,
)
from generator.symbolic.inverse import Inverter
from generator.symbolic.rules import Contribution
from generator.symbolic.scans import unrolled_scans

__all__ = ["Def", "Loop", "Node", "Phi", "Single", "assigned", "carried", "single"]


@dataclass(frozen=True)
class Phi:
    """What a loop carries: ``inside`` is the value as a round begins (``init`` in the first; None: undefined), ``last`` the
    version as it ends, ``after`` the value after the loop."""

    base: str
    init: str | None
    inside: str
    last: str
    after: str


@dataclass(frozen=True)
class Def:
    """An assignment in which every carried tensor is a version."""

    stmt: Assign


@dataclass(frozen=True)
class Loop:
    """``for var in range(start, stop, step)`` with step 1 or -1."""

    var: str
    start: IntExpr
    stop: IntExpr
    step: int
    body: tuple[Node, ...]
    phis: tuple[Phi, ...]

    @property
    def range(self) -> Range:
        """The values of the loop's variable."""
        return Range(self.var, self.start, self.stop - 1) if self.step > 0 else Range(self.var, self.stop + 1, self.start)


Node = Def | Loop


@dataclass(frozen=True)
class Single:
    """The program's nodes, its tensors with the versions, and the version each carried tensor ends as."""

    nodes: tuple[Node, ...]
    tensors: dict[str, Tensor]
    final: Mapping[str, str]


def assigned(body: Iterable[Stmt]) -> Iterable[tuple[Assign, tuple[str, ...]]]:
    """Every assignment with the variables of the loops around it."""
    for stmt in body:
        if isinstance(stmt, For):
            for inner, loops in assigned(stmt.body):
                yield inner, (stmt.var, *loops)
        else:
            yield stmt, ()


def carried(program: Program) -> set[str]:
    """The locals that some loop writes without its variable in an index: they may be written many times."""
    out = set()
    for stmt, loops in assigned(program.body):
        named = {n for i in stmt.indices if isinstance(i, IntExpr) for n in i.free()}
        if any(v not in named for v in loops):
            out.add(stmt.tensor)
    return out


def single(program: Program, facts: Facts, fresh: Fresh, names: set[str]) -> Single:
    """The single-assignment form. ``names`` are taken, and grow by the names of versions."""
    program, hard = unrolled_scans(program, facts, names, many := carried(program))
    work = _Renaming(program, facts, fresh, names, many | hard)
    env: dict[str, str] = {}
    nodes = work.block(program.body, env, facts)
    return Single(tuple(nodes), work.tensors, env)


class _Renaming:
    def __init__(self, program: Program, facts: Facts, fresh: Fresh, names: set[str], many: set[str]) -> None:
        self.tensors = dict(program.tensors)
        self.facts = facts
        self.fresh = fresh
        self.names = names
        self.many = many
        self.names -= many

    def version(self, base: str) -> str:
        name, k = base, 0
        while name in self.names:
            k += 1
            name = f"{base}_{k}"
        self.names.add(name)
        self.tensors[name] = replace(self.tensors[base], name=name, role="local")
        return name

    def block(self, body: Sequence[Stmt], env: dict[str, str], facts: Facts) -> list[Node]:
        out: list[Node] = []
        for s in body:
            node = self.loop(s, env, facts) if isinstance(s, For) else self.define(s, env, facts)
            out += [node] if node is not None else []
        return out

    # statements -------------------------------------------------------------------------------------------------
    def define(self, stmt: Assign, env: dict[str, str], facts: Facts) -> Def | None:
        fresh = {a.name: sym(self.fresh.name(a.name)) for a in stmt.axes}
        axes = tuple(Bound(fresh[a.name].symbol or "", a.extent) for a in stmt.axes)
        value = self.versioned(rename_bound(substitute(recognised(stmt.value), fresh), self.fresh), env)
        indices = tuple(substitute_index(i, fresh) for i in stmt.indices)
        out = replace(stmt, indices=indices, axes=axes, value=value, spots=())
        if stmt.tensor in self.many:
            out = self.whole(out, env.get(stmt.tensor), facts)
            if _copies(out, self.tensors):
                env[stmt.tensor] = out.value.tensor  # type: ignore[union-attr]
                return None
            env[stmt.tensor] = self.version(stmt.tensor)
            out = replace(out, tensor=env[stmt.tensor])
        return Def(out)

    def versioned(self, e: Expr, env: Mapping[str, str]) -> Expr:
        if isinstance(e, Load):
            indices: tuple[Index, ...] = tuple(
                Gather(self.versioned(i.load, env)) if isinstance(i, Gather) else i  # type: ignore[arg-type]
                for i in e.indices
            )
            return replace(e, tensor=env.get(e.tensor, e.tensor), indices=indices, spots=())
        return rebuild(e, lambda x: self.versioned(x, env))

    def whole(self, stmt: Assign, old: str | None, facts: Facts) -> Assign:
        """The write as one of every element."""
        shape = self.tensors[stmt.tensor].shape
        plain = {a.name: a.extent for a in stmt.axes}
        seen = [i.symbol if isinstance(i, IntExpr) else None for i in stmt.indices]
        if None not in seen and len(set(seen)) == len(seen) and all(plain.get(s or "") == e for s, e in zip(seen, shape, strict=True)):
            return stmt
        axes = tuple(Bound(self.fresh.name("i"), e) for e in shape)
        target = tuple(sym(a.name) for a in axes)
        solved = Inverter(self.tensors, self.fresh, facts).solve(Contribution(stmt.indices, stmt.axes, stmt.value), target, axes)
        before: Expr = Num(0, "0") if old is None else Load(old, target)
        if solved is None:
            return replace(stmt, indices=target, axes=axes, value=before)
        known = Inverter(self.tensors, self.fresh, facts).known(axes)
        conditions = list(solved.conditions)
        for e, extent in solved.guards:
            conditions += [] if known.nonnegative(e) else [compare("ge", e, const(0))]
            conditions += [] if known.less(e, extent) else [compare("lt", e, extent)]
        if not conditions:
            return replace(stmt, indices=target, axes=axes, value=solved.value)
        return replace(stmt, indices=target, axes=axes, value=where(all_of(conditions), solved.value, before))

    # loops ------------------------------------------------------------------------------------------------------
    def loop(self, stmt: For, env: dict[str, str], facts: Facts) -> Loop:
        stmt = _unit_step(stmt)
        written = list(dict.fromkeys(s.tensor for s, _ in assigned(stmt.body) if s.tensor in self.many))
        before = dict(env)
        inside = {base: self.version(base) for base in written}
        env.update(inside)
        reach = Loop(stmt.var, stmt.start, stmt.stop, stmt.step, (), ()).range
        here = facts.with_ranges([reach]).with_known([reach.high - reach.low])
        body = self.block(stmt.body, env, here)
        phis = []
        for base in written:
            last, after = env[base], self.version(base)
            phis.append(Phi(base, before.get(base), inside[base], last, after))
            env[base] = after
        return Loop(stmt.var, stmt.start, stmt.stop, stmt.step, tuple(body), tuple(phis))


def recognised(e: Expr) -> Expr:
    """``e`` with ``1 / (1 + exp(-z))`` said as a sigmoid, whose derivative is short."""
    e = rebuild(e, recognised)
    if isinstance(e, Binary) and e.op == "div" and isinstance(e.b, Binary) and e.b.op == "add":
        one, power = (e.b.a, e.b.b) if isinstance(e.b.b, Call) else (e.b.b, e.b.a)
        if is_num(one, 1) and isinstance(power, Call) and power.fn == "exp":
            return mul(e.a, Call("sigmoid", (neg(power.args[0]),)))
    return e


def _copies(stmt: Assign, tensors: Mapping[str, Tensor]) -> bool:
    """Whether a whole write only gives another tensor a second name."""
    v = stmt.value
    if not isinstance(v, Load) or v.indices != stmt.indices or v.guarded:
        return False
    a, b = tensors[v.tensor], tensors[stmt.tensor]
    return a.shape == b.shape and a.kind == b.kind and not a.optional and a.flat is None


def _unit_step(stmt: For) -> For:
    """The loop with step 1 or -1; another step is taken into the body."""
    if abs(stmt.step) == 1:
        return stmt
    size = abs(stmt.step)
    span = stmt.stop - stmt.start if stmt.step > 0 else stmt.start - stmt.stop
    count = floor_div(span + size - 1, size)
    env = {stmt.var: stmt.start + sym(stmt.var) * stmt.step}
    return For(stmt.var, const(0), count, 1, tuple(_shifted(s, env) for s in stmt.body), span=stmt.span)


def _shifted(s: Stmt, env: Mapping[str, IntExpr]) -> Stmt:
    if isinstance(s, For):
        return replace(s, start=s.start.substitute(env), stop=s.stop.substitute(env), body=tuple(_shifted(b, env) for b in s.body))
    return replace(s, indices=tuple(substitute_index(i, env) for i in s.indices), value=substitute(s.value, env))


def reads(nodes: Iterable[Node]) -> Iterable[str]:
    """The tensors that nodes load, with repetition."""
    for node in nodes:
        if isinstance(node, Loop):
            yield from reads(node.body)
        else:
            for load in loads(node.stmt.value):
                yield load.tensor
