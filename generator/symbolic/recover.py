"""Giving the adjoint the forward's values: inputs, saved tensors, what is computed again, and what a loop must remember.

A value that the adjoint reads is, in this order: an input or a saved tensor of the gradient; a tensor that the forward
stores the value in; computed again from such values; or remembered round by round on a tape written by the forward's loop,
which is then run again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from generator.formula.ir import Assign, Expr, For, Gather, Load, Num, Stmt, Tensor
from generator.spec.integer import IntExpr, sym
from generator.symbolic.adjoint import BackLoop, BackNode
from generator.symbolic.build import Fresh, compare, loads, rebuild, rename_bound, where
from generator.symbolic.patterns import whole
from generator.symbolic.versions import Def, Loop, Node, Phi, Single

__all__ = ["Recovery"]


@dataclass(frozen=True)
class _Alias:
    """``version[axes]`` is stored as ``tensor[indices]``, in the axes ``#0``, ``#1``, ..."""

    tensor: str
    indices: tuple[IntExpr, ...]


@dataclass
class Recovery:
    """Rewrites the nodes of an adjoint so that they read only what the gradient has.

    ``available`` maps forward tensors to the names of the gradient's inputs that hold them. ``notes`` say what
    each tape remembers."""

    forward: Single
    available: Mapping[str, str]
    fresh: Fresh
    names: set[str]
    tensors: dict[str, Tensor]
    named: Callable[[str], Sequence[str]]
    notes: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.aliases: dict[str, list[_Alias]] = {}
        self.home: dict[str, Loop] = {}  # the loop in whose body a version is defined
        self.definitions: dict[str, Assign] = {}
        self.phis: dict[str, tuple[Phi, Loop]] = {}
        self.tapes: dict[str, str] = {}
        self.parent: dict[int, Loop] = {}  # by the inner loop's identity
        self.defined: set[str] = set()
        self.versions = {t for t in self.forward.tensors if t not in self.available}
        self.survey(self.forward.nodes, None)
        self.settle()

    def settle(self) -> None:
        """What a loop carries is stored wherever each round stores what it ends with, if the start is stored there, too."""
        while True:
            count = sum(map(len, self.aliases.values()))
            for name, (phi, loop) in self.phis.items():
                for alias in self.aliases.get(phi.last, []):
                    back = {loop.var: sym(loop.var) - loop.step}
                    earlier = _Alias(alias.tensor, tuple(i.substitute(back) for i in alias.indices))
                    first = _Alias(alias.tensor, tuple(i.substitute({loop.var: loop.start}) for i in earlier.indices))
                    if first in self.aliases.get(phi.init or "", []) and earlier not in self.aliases.setdefault(name, []):
                        self.aliases[name].append(earlier)
            if sum(map(len, self.aliases.values())) == count:
                return

    def survey(self, nodes: Iterable[Node], loop: Loop | None) -> None:
        for node in nodes:
            if isinstance(node, Loop):
                if loop is not None:
                    self.parent[id(node)] = loop
                for phi in node.phis:
                    self.phis[phi.inside] = phi, node
                    self.home[phi.inside] = node
                    self.defined |= {phi.inside, phi.after}
                    if loop is not None:
                        self.home[phi.after] = loop
                self.survey(node.body, node)
                continue
            stmt = node.stmt
            self.defined.add(stmt.tensor)
            one_round = loop is None or not any(loop.var in i.free() for i in stmt.indices if isinstance(i, IntExpr))
            if one_round and loop is not None:
                self.home[stmt.tensor] = loop
            if _whole(stmt, self.forward.tensors):
                self.definitions[stmt.tensor] = stmt
            self.alias(stmt)
            if loop is None:
                self.taken_from(stmt)

    def alias(self, stmt: Assign) -> None:
        """Note that ``stmt`` stores a version somewhere else."""
        value = stmt.value
        if not isinstance(value, Load) or value.guarded or value.tensor == stmt.tensor:
            return
        axes = [i.symbol if isinstance(i, IntExpr) else None for i in value.indices]
        if len(set(axes)) != len(axes) or {*axes} != {a.name for a in stmt.axes}:
            return
        extents = {a.name: a.extent for a in stmt.axes}
        if any(extents[a or ""] != e for a, e in zip(axes, self.forward.tensors[value.tensor].shape, strict=True)):
            return
        env = {a: sym(f"#{k}") for k, a in enumerate(axes) if a is not None}
        indices = tuple(i.substitute(env) for i in stmt.indices if isinstance(i, IntExpr))
        self.aliases.setdefault(value.tensor, []).append(_Alias(stmt.tensor, indices))

    def taken_from(self, stmt: Assign) -> None:
        """Note that ``stmt`` takes a version from where it is stored."""
        value = stmt.value
        if not isinstance(value, Load) or value.guarded or not _whole(stmt, self.forward.tensors):
            return
        order = [i.symbol if isinstance(i, IntExpr) else None for i in stmt.indices]
        env = {name: sym(f"#{k}") for k, name in enumerate(order) if name is not None}
        if all(isinstance(i, IntExpr) for i in value.indices):
            indices = tuple(i.substitute(env) for i in value.indices if isinstance(i, IntExpr))
            self.aliases.setdefault(stmt.tensor, []).append(_Alias(value.tensor, indices))

    # reading ----------------------------------------------------------------------------------------------------
    def read(self, e: Expr, needed: set[str]) -> Expr:
        """``e`` with loads of forward values as the gradient has them; what must still be computed goes to ``needed``."""
        if isinstance(e, Load):
            indices = tuple(Gather(self.read(i.load, needed)) if isinstance(i, Gather) else i for i in e.indices)  # type: ignore[arg-type]
            return self.value(replace(e, indices=indices), needed)
        return rebuild(e, lambda x: self.read(x, needed))

    def value(self, load: Load, needed: set[str]) -> Expr:
        name = load.tensor
        if name in self.available:
            return replace(load, tensor=self.available[name])
        if name not in self.defined:
            return load  # an adjoint's own
        plain = all(isinstance(i, IntExpr) for i in load.indices) and not load.guarded
        known = self.aliases.get(name, []) if plain else []
        for alias in known:
            if alias.tensor in self.available:
                return self.stored(alias, load, self.available[alias.tensor])
        if name in self.phis and not known:
            return self.carried(load, needed, plain)
        if name in self.phis or (name in self.home and not self.cheap(name, set())):
            for alias in known:
                needed.add(alias.tensor)
                return self.stored(alias, load, alias.tensor)
        needed.add(name)
        return load

    def stored(self, alias: _Alias, load: Load, name: str) -> Load:
        env = {f"#{k}": i for k, i in enumerate(load.indices) if isinstance(i, IntExpr)}
        return Load(name, tuple(i.substitute(env) for i in alias.indices))

    def carried(self, load: Load, needed: set[str], plain: bool) -> Expr:
        """The value a loop carries into a round: stored by the round before, or on a tape."""
        phi, loop = self.phis[load.tensor]
        for alias in self.aliases.get(phi.last, []) if plain and phi.init is not None else []:
            if alias.tensor in self.available and phi.init is not None:
                back = {loop.var: sym(loop.var) - loop.step}
                earlier = _Alias(alias.tensor, tuple(i.substitute(back) for i in alias.indices))
                going: Expr = compare("gt" if loop.step > 0 else "lt", sym(loop.var), loop.start)
                before = self.stored(earlier, load, self.available[alias.tensor])
                return where(going, before, self.value(replace(load, tensor=phi.init), needed))
        tape = self.tapes.get(load.tensor)
        if tape is None:
            tape = self.tape(phi, loop)
        needed.add(tape)
        return replace(load, tensor=tape, indices=(_round(loop), *load.indices), guarded=tuple(d + 1 for d in load.guarded))

    def tape(self, phi: Phi, loop: Loop) -> str:
        stem, k = f"{phi.base}_before", 0
        name = stem
        while name in self.names:
            k += 1
            name = f"{stem}_{k}"
        self.names.add(name)
        rounds = loop.stop - loop.start if loop.step > 0 else loop.start - loop.stop
        self.tensors[name] = Tensor(name, (rounds, *self.forward.tensors[phi.inside].shape), "local")
        self.tapes[phi.inside] = name
        outer = self.parent.get(id(loop))
        if outer is not None:
            self.home[name] = outer
        self.defined.add(name)
        self.notes[name] = f"'{name}' remembers '{phi.base}' as each round over '{loop.var}' begins"
        return name

    def cheap(self, name: str, busy: set[str]) -> bool:
        """Whether a value of a round can be computed again from inputs, saved tensors and such values."""
        if name in self.available or any(a.tensor in self.available for a in self.aliases.get(name, [])):
            return True
        if name in busy or name not in self.definitions or name in self.phis:
            return False
        return all(self.cheap(x.tensor, busy | {name}) for x in loads(self.definitions[name].value))

    # writing ----------------------------------------------------------------------------------------------------
    def run(self, nodes: Sequence[BackNode]) -> list[Stmt]:
        """The adjoint's statements after those it needs of the forward."""
        needed: set[str] = set()
        body = self.back(nodes, needed)
        return [*self.again(self.forward.nodes, needed, None), *body]

    def back(self, nodes: Sequence[BackNode], needed: set[str]) -> list[Stmt]:
        out: list[Stmt] = []
        for node in nodes:
            if isinstance(node, BackLoop):
                inner: set[str] = set()
                body = self.back(node.body, inner)
                here = {n for n in inner if self.home.get(n) is node.loop}
                prefix = self.again(node.loop.body, here, node.loop)
                needed |= (inner | here) - {n for n in here if self.home.get(n) is node.loop}
                out.append(_backwards(node.loop, [*prefix, *body]))
            else:
                out.append(replace(node, value=self.read(node.value, needed)))
        return out

    def again(self, nodes: Sequence[Node], needed: set[str], loop: Loop | None) -> list[Stmt]:
        """The nodes that compute ``needed``, which grows by what they read."""
        out: list[Stmt] = []
        for node in reversed(nodes):
            if isinstance(node, Loop):
                out = self.rerun(node, needed) + out
            elif node.stmt.tensor in needed and (loop is None or self.home.get(node.stmt.tensor) is loop):
                stmt = node.stmt
                out.insert(0, replace(stmt, value=self.read(rename_bound(stmt.value, self.fresh), needed)))
        return out

    def rerun(self, node: Loop, needed: set[str]) -> list[Stmt]:
        """The forward's loop once more, as far as ``needed`` asks: stacks, tapes, what it ends with."""
        inside = set(_writes(node.body))
        tapes = [(phi, self.tapes[phi.inside]) for phi in node.phis if self.tapes.get(phi.inside) in needed]
        ends = [phi for phi in node.phis if phi.after in needed]
        stacks = {t for t in inside if t in needed and self.home.get(t) is None}
        if not (tapes or ends or stacks):
            return []
        wanted = stacks | {phi.inside for phi, _ in tapes} | {phi.last for phi in ends}
        while True:
            size = len(wanted)
            for inner in reversed(node.body):
                self.spread(inner, wanted)
            for phi in node.phis:
                if phi.inside in wanted or phi in ends:
                    wanted.add(phi.last)
                    wanted.add(phi.inside)
            if len(wanted) == size:
                break
        phis = [phi for phi in node.phis if phi.inside in wanted]
        before = [self.copy(phi.inside, phi.init) for phi in phis if phi.init is not None]
        body: list[Stmt] = [self.copy(tape, phi.inside, _round(node)) for phi, tape in tapes]
        for inner in node.body:
            body += self.plainly(inner, wanted, needed)
        body += self.step(phis)
        after: list[Stmt] = [self.copy(phi.after, phi.inside) for phi in ends]
        loop = For(node.var, node.start, node.stop, node.step, tuple(body))
        return [*[replace(s, value=self.read(s.value, needed)) for s in before], loop, *after]

    def spread(self, node: Node, wanted: set[str]) -> None:
        """Add what ``wanted`` reads."""
        if isinstance(node, Def):
            if node.stmt.tensor in wanted:
                wanted |= {x.tensor for x in loads(node.stmt.value)}
            return
        if any(phi.after in wanted or phi.inside in wanted for phi in node.phis) or wanted & set(_writes(node.body)):
            for phi in node.phis:
                wanted |= {phi.inside, phi.last} | ({phi.init} if phi.init is not None else set())
            for inner in reversed(node.body):
                self.spread(inner, wanted)

    def plainly(self, node: Node, wanted: set[str], needed: set[str]) -> list[Stmt]:
        """A node of a loop that is run again, as it stands."""
        if isinstance(node, Def):
            if node.stmt.tensor not in wanted:
                return []
            outside = {x.tensor for x in loads(node.stmt.value)}
            needed |= {t for t in outside if t not in self.home and t in self.defined and t not in self.available}
            value = self.saved_only(rename_bound(node.stmt.value, self.fresh))
            return [replace(node.stmt, value=value)]
        phis = [phi for phi in node.phis if phi.inside in wanted]
        if not phis and not wanted & set(_writes(node.body)):
            return []
        before: list[Stmt] = [self.copy(phi.inside, phi.init) for phi in phis if phi.init is not None]
        body = [s for inner in node.body for s in self.plainly(inner, wanted, needed)]
        body += self.step(phis)
        after: list[Stmt] = [self.copy(phi.after, phi.inside) for phi in phis if phi.after in wanted]
        return [*before, For(node.var, node.start, node.stop, node.step, tuple(body)), *after]

    def saved_only(self, e: Expr) -> Expr:
        if isinstance(e, Load):
            indices = tuple(Gather(self.saved_only(i.load)) if isinstance(i, Gather) else i for i in e.indices)  # type: ignore[arg-type]
            return replace(e, tensor=self.available.get(e.tensor, e.tensor), indices=indices)
        return rebuild(e, self.saved_only)

    def step(self, phis: Sequence[Phi]) -> list[Stmt]:
        """What the loop carries, moved on: at once, though the copies are made one by one."""
        out: list[Stmt] = []
        for at, phi in enumerate(phis):
            source = phi.last
            if any(p.inside == source for p in phis[:at]):
                source = self.held(phi)
                out.insert(0, self.copy(source, phi.last))
            if source != phi.inside:
                out.append(self.copy(phi.inside, source))
        return out

    def held(self, phi: Phi) -> str:
        name, k = f"{phi.base}_held", 0
        while name in self.names:
            k += 1
            name = f"{phi.base}_held_{k}"
        self.names.add(name)
        self.tensors[name] = replace(self.forward.tensors[phi.inside], name=name)
        return name

    def copy(self, to: str, source: str | None, at: IntExpr | None = None) -> Assign:
        """``to[(at,) axes] = source[axes]``."""
        shape = self.forward.tensors[source or to]
        p = whole(shape, self.named(source or to), self.fresh)
        value: Expr = Load(source, p.indices) if source is not None else Num(0, "0")
        return Assign(to, p.indices if at is None else (at, *p.indices), value, p.axes)


def _round(loop: Loop) -> IntExpr:
    """The number of the round, from 0."""
    return sym(loop.var) - loop.start if loop.step > 0 else loop.start - sym(loop.var)


def _backwards(loop: Loop, body: Sequence[Stmt]) -> For:
    if loop.step > 0:
        return For(loop.var, loop.stop - 1, loop.start - 1, -1, tuple(body))
    return For(loop.var, loop.stop + 1, loop.start + 1, 1, tuple(body))


def _writes(nodes: Iterable[Node]) -> Iterable[str]:
    for node in nodes:
        if isinstance(node, Def):
            yield node.stmt.tensor
        else:
            yield from _writes(node.body)
            for phi in node.phis:
                yield phi.after


def _whole(stmt: Assign, tensors: Mapping[str, Tensor]) -> bool:
    names = [i.symbol if isinstance(i, IntExpr) else None for i in stmt.indices]
    extents = {a.name: a.extent for a in stmt.axes}
    if None in names or len(set(names)) != len(names):
        return False
    return all(extents.get(n or "") == e for n, e in zip(names, tensors[stmt.tensor].shape, strict=True))
