"""The reverse sweep: from a program in single-assignment form to the statements of its adjoint.

Every definition ``y[I] = f`` is met after all reads of what it writes, backwards. Its cotangent is what later reads sent to
``y``, at ``I``: a small tensor over the statement's axes; from there ``rules`` sends it on. A loop becomes a loop in reverse
that carries the adjoints of what the loop carries, and adds up, or stores round by round, what reaches tensors outside.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from generator.formula.infer import children
from generator.formula.ir import Assign, Bound, Compare, Expr, Load, Num, Reduce, Tensor
from generator.formula.prove import Facts
from generator.formula.writes import complete
from generator.spec.integer import IntExpr, const, sym
from generator.symbolic.build import ZERO, Fresh, add, is_num, loads, rebuild
from generator.symbolic.inverse import Inverter
from generator.symbolic.patterns import Pattern, patterns, whole
from generator.symbolic.rules import Contribution, Flow
from generator.symbolic.versions import Def, Loop, Node, Phi

__all__ = ["Adjoint", "BackLoop", "BackNode", "Sweep", "active"]


@dataclass(frozen=True)
class BackLoop:
    """``loop`` backwards, with the statements of its adjoint."""

    loop: Loop
    body: tuple[BackNode, ...]


BackNode = Assign | BackLoop


@dataclass
class Adjoint:
    """The statements, and the tensors they write."""

    nodes: list[BackNode] = field(default_factory=list)
    tensors: dict[str, Tensor] = field(default_factory=dict)


def differentiable(e: Expr, tensors: Mapping[str, Tensor]) -> Iterable[str]:
    """The tensors of floats in ``e`` through which a derivative may flow."""
    if isinstance(e, Load):
        if tensors[e.tensor].kind == "float":
            yield e.tensor
        return
    if isinstance(e, Compare) or (isinstance(e, Reduce) and e.op in ("any", "all", "argmax", "argmin")):
        return
    for child in children(e):
        yield from differentiable(child, tensors)


def active(nodes: Sequence[Node], tensors: Mapping[str, Tensor], wrt: Iterable[str], outputs: Iterable[str]) -> set[str]:
    """The tensors that depend on ``wrt`` and that ``outputs`` depend on."""
    ahead, back = set(wrt), set(outputs)
    while True:
        size = len(ahead) + len(back)
        for node in nodes:
            _ahead(node, tensors, ahead)
        for node in reversed(nodes):
            _back(node, tensors, back)
        if len(ahead) + len(back) == size:
            return ahead & back


def _ahead(node: Node, tensors: Mapping[str, Tensor], out: set[str]) -> None:
    if isinstance(node, Def):
        if out & set(differentiable(node.stmt.value, tensors)):
            out.add(node.stmt.tensor)
        return
    for phi in node.phis:
        if phi.init in out or phi.last in out:
            out.add(phi.inside)
    for inner in node.body:
        _ahead(inner, tensors, out)
    for phi in node.phis:
        if phi.last in out or phi.init in out:
            out |= {phi.after, phi.inside}


def _back(node: Node, tensors: Mapping[str, Tensor], out: set[str]) -> None:
    if isinstance(node, Def):
        if node.stmt.tensor in out:
            out |= set(differentiable(node.stmt.value, tensors))
        return
    for phi in node.phis:
        if phi.after in out or phi.inside in out:
            out.add(phi.last)
    for inner in reversed(node.body):
        _back(inner, tensors, out)
    for phi in node.phis:
        if phi.init is not None and (phi.inside in out or phi.after in out):
            out.add(phi.init)


class Sweep:
    """Runs backwards over nodes. ``contributions`` holds what has reached each tensor so far."""

    def __init__(
        self,
        tensors: Mapping[str, Tensor],
        live: set[str],
        fresh: Fresh,
        facts: Facts,
        names: set[str],
        axis_names: Mapping[str, Sequence[str]],
        boundary: Mapping[str, str],
        forms: bool = True,
    ) -> None:
        self.tensors = dict(tensors)
        self.live = live
        self.fresh = fresh
        self.facts = facts
        self.names = names
        self.axis_names = axis_names
        self.contributions: dict[str, list[Contribution]] = {}
        self.flow = Flow(self.tensors, self.sink, fresh, boundary)
        self.made: dict[str, Tensor] = {}
        self.loops: tuple[Loop, ...] = ()
        self.sources: dict[str, Load] = {}  # versions that are taken from where another tensor stores them
        self.forms = forms  # whether adjoints may be stored by several statements
        self.bases: dict[str, str] = {}  # a version's tensor in the program

    def sink(self, load: Load, c: Contribution) -> None:
        if load.tensor in self.live and not is_num(c.value, 0):
            self.contributions.setdefault(load.tensor, []).append(c)

    # helpers ----------------------------------------------------------------------------------------------------
    def here(self) -> Facts:
        reach = [loop.range for loop in self.loops]
        return self.facts.with_ranges(reach).with_known(r.high - r.low for r in reach)

    def inverter(self) -> Inverter:
        return Inverter(self.tensors, self.fresh, self.here())

    def declare(self, base: str, shape: Sequence[IntExpr]) -> str:
        """A new local tensor for an adjoint of ``base``."""
        stem = f"grad_{self.bases.get(base, base)}"
        name, k = stem, 0
        while name in self.names:
            k += 1
            name = f"{stem}_{k}"
        self.names.add(name)
        self.made[name] = self.tensors[name] = Tensor(name, tuple(shape), "local")
        return name

    def named(self, tensor: str) -> list[str]:
        """What to call the axes of a tensor's dims."""
        known = list(self.axis_names.get(self.bases.get(tensor, tensor), ()))
        rank = len(self.tensors[tensor].shape)
        return known if len(known) == rank else [*"ijklmpq"[:rank]] if rank <= 7 else [f"i{d}" for d in range(rank)]

    def all_of(self, tensor: str) -> Pattern:
        return whole(self.tensors[tensor], self.named(tensor), self.fresh)

    def plain(self, name: str, shaped: str) -> Contribution:
        """``name``, a tensor shaped like ``shaped``, element by element."""
        at = self.all_of(shaped)
        return Contribution(at.indices, at.axes, Load(name, at.indices))

    def store(self, name: str, at: Pattern, cs: Sequence[Contribution], before: Expr = ZERO) -> Assign:
        """``name[at] = before + contributions``."""
        return Assign(name, at.indices, add(before, self.inverter().total(cs, at.indices, at.axes)), at.axes)

    # the sweep --------------------------------------------------------------------------------------------------
    def block(self, nodes: Sequence[Node]) -> list[BackNode]:
        out: list[BackNode] = []
        for node in reversed(nodes):
            out += self.loop(node) if isinstance(node, Loop) else self.define(node)
        return out

    def define(self, node: Def) -> list[BackNode]:
        stmt = node.stmt
        cs = self.contributions.get(stmt.tensor)
        if not cs:
            return []
        indices = tuple(sym(a.name) for a in stmt.axes)
        out: list[BackNode] = []
        found = (
            patterns(cs, self.tensors[stmt.tensor], self.named(stmt.tensor), self.fresh, self.here())
            if self.forms and self.whole(stmt)
            else None
        )
        if found is not None:
            name = self.declare(stmt.tensor, self.tensors[stmt.tensor].shape)
            out += [self.store(name, p, cs) for p in found]
            seed: Expr = Load(name, stmt.indices)
        else:
            seed = self.inverter().total(cs, [i for i in stmt.indices if isinstance(i, IntExpr)], stmt.axes)
            if is_num(seed, 0):
                return []
            if not isinstance(seed, Load):
                name = self.declare(stmt.tensor, [a.extent for a in stmt.axes if a.extent is not None])
                out.append(Assign(name, indices, seed, stmt.axes))
                seed = Load(name, indices)
        before = {t: len(c) for t, c in self.contributions.items()}
        self.flow.push(stmt.value, seed, stmt.axes)
        if not isinstance(stmt.value, Load | Num):
            self.own(stmt, before)
        return out

    def whole(self, stmt: Assign) -> bool:
        """Whether a statement defines every element, by an axis for each dim."""
        names = [i.symbol if isinstance(i, IntExpr) else None for i in stmt.indices]
        extents = {a.name: a.extent for a in stmt.axes}
        shape = self.tensors[stmt.tensor].shape
        return len(set(names)) == len(names) and all(extents.get(n or "") == e for n, e in zip(names, shape, strict=True))

    def own(self, stmt: Assign, before: Mapping[str, int]) -> None:
        """Say the statement's whole right side by the name it defines, in what was just sent on."""
        load = Load(stmt.tensor, stmt.indices)

        def go(e: Expr) -> Expr:
            return load if e == stmt.value else rebuild(e, go)

        for tensor, cs in self.contributions.items():
            at = before.get(tensor, 0)
            cs[at:] = [replace(c, value=go(c.value)) for c in cs[at:]]

    # loops ------------------------------------------------------------------------------------------------------
    def loop(self, node: Loop) -> list[BackNode]:
        inside = set(_defined(node))
        if not any(self.contributions.get(t) for t in inside | {p.after for p in node.phis}):
            return []
        self.at_the_end(node)
        outer = {t: cs for t, cs in self.contributions.items() if t not in inside}
        stored = {t: list(cs) for t, cs in self.contributions.items() if t in inside}  # elements written before the loop, too
        self.contributions = {t: cs for t, cs in self.contributions.items() if t in inside}
        before: list[BackNode] = []
        carried: list[tuple[Phi, str]] = []
        for phi in node.phis:
            after = outer.pop(phi.after, [])
            if phi.last not in self.live or not (after or phi.inside in self.live):
                continue
            name = self.declare(phi.base, self.tensors[phi.last].shape)
            before.append(self.store(name, self.all_of(phi.last), after))
            self.contributions.setdefault(phi.last, []).append(self.plain(name, phi.last))
            carried.append((phi, name))
        self.loops = (*self.loops, node)
        body = self.block(node.body)
        updates = self.updates(carried)
        reached = {t: cs for t, cs in self.contributions.items() if t not in inside and cs}
        self.contributions = {**outer, **stored}
        for tensor, cs in reached.items():
            self.leave(node, tensor, cs, self.contributions.pop(tensor, []), before, body)
        body += updates
        self.loops = self.loops[:-1]
        for phi, name in carried:
            if phi.init is not None and phi.init in self.live:
                self.contributions.setdefault(phi.init, []).append(self.plain(name, phi.init))
        return [*before, BackLoop(node, tuple(body))]

    def at_the_end(self, node: Loop) -> None:
        """What reached the element that the last round stores reaches what the loop ends with: without a condition in it."""
        last = node.stop - node.step
        for inner in node.body:
            if not isinstance(inner, Def) or not self.contributions.get(inner.stmt.tensor):
                continue
            stmt, value = inner.stmt, inner.stmt.value
            if not isinstance(value, Load):
                continue
            moving = [d for d, i in enumerate(stmt.indices) if isinstance(i, IntExpr) and node.var in i.free()]
            if len(moving) != 1 or value.indices != tuple(i for d, i in enumerate(stmt.indices) if d != moving[0]):
                continue
            d = moving[0]
            index = stmt.indices[d]
            assert isinstance(index, IntExpr)
            start = index.substitute({node.var: node.start - node.step})
            carried = [p for p in node.phis if p.last == value.tensor and {p.last, p.inside} <= self.live]
            phi = next((p for p in carried if self.runs(node) or self.starts_at(p, stmt.tensor, d, start)), None)
            if phi is None:
                continue
            end = index.substitute({node.var: last})
            mine = [c for c in self.contributions[stmt.tensor] if c.indices[d] == end]
            if mine:
                self.contributions[stmt.tensor] = [c for c in self.contributions[stmt.tensor] if c not in mine]
                moved = [replace(c, indices=tuple(i for k, i in enumerate(c.indices) if k != d)) for c in mine]
                self.contributions.setdefault(phi.after, []).extend(moved)

    def runs(self, node: Loop) -> bool:
        """Whether the loop is proved to have a round."""
        return self.here().at_most(node.range.low, node.range.high)

    def starts_at(self, phi: Phi, tensor: str, d: int, at: IntExpr) -> bool:
        """Whether what the loop starts from is what ``tensor`` holds at ``at``."""
        source = self.sources.get(phi.init or "")
        return source is not None and source.tensor == tensor and source.indices[d] == at

    def updates(self, carried: Sequence[tuple[Phi, str]]) -> list[BackNode]:
        """The carried adjoints as a round begins; those that read one another go through copies."""
        made = [self.store(name, self.all_of(phi.inside), self.contributions.pop(phi.inside, [])) for phi, name in carried]
        copies: list[BackNode] = []
        out: list[BackNode] = []
        for at, stmt in enumerate(made):
            earlier = {s.tensor for s in made[:at]}
            if earlier & {x.tensor for x in loads(stmt.value)}:
                copy = self.declare(stmt.tensor.removeprefix("grad_"), self.tensors[stmt.tensor].shape)
                copies.append(replace(stmt, tensor=copy))
                at_all = self.all_of(stmt.tensor)
                stmt = Assign(stmt.tensor, at_all.indices, Load(copy, at_all.indices), at_all.axes)
            out.append(stmt)
        return [*copies, *out]

    def leave(
        self,
        node: Loop,
        tensor: str,
        cs: list[Contribution],
        later: list[Contribution],
        before: list[BackNode],
        body: list[BackNode],
    ) -> None:
        """What a round sends to a tensor from outside the loop: stored round by round when each has its own elements."""
        name = self.declare(tensor, self.tensors[tensor].shape)
        stores = self.by_rounds(node, tensor, cs) if len(self.loops) == 1 and self.forms else None
        if stores is not None:
            body += [self.store(name, p, [*later, *cs]) for p in stores[0]]
            before += [self.store(name, p, later) for p in stores[1]]
        else:
            loops, self.loops = self.loops, self.loops[:-1]
            found = patterns(cs, self.tensors[tensor], self.named(tensor), self.fresh, self.facts) if self.forms else None
            found = found or [self.all_of(tensor)]
            before += [self.store(name, p, later) for p in found]
            self.loops = loops
            body += [self.store(name, p, cs, Load(name, p.indices)) for p in found]
        self.contributions[tensor] = [self.plain(name, tensor)]

    def by_rounds(self, node: Loop, tensor: str, cs: Sequence[Contribution]) -> tuple[list[Pattern], list[Pattern]] | None:
        """Where the rounds store, and the elements no round reaches; None when rounds share elements."""
        shape, names = self.tensors[tensor], self.named(tensor)
        found = patterns(cs, shape, names, self.fresh, self.here(), [node.range], {node.var: 1})
        if found is not None:
            return (found, []) if all(any(node.var in i.free() for i in p.indices) for p in found) else None
        one = patterns(cs, shape, names, self.fresh, self.here(), [node.range], {node.var: 1}, covered=False)
        if one is None or len(one) != 1:
            return None
        moving = [d for d, i in enumerate(one[0].indices) if node.var in i.free()]
        if len(moving) != 1 or any(i.symbol is None for d, i in enumerate(one[0].indices) if d != moving[0]):
            return None
        d = moving[0]
        index = one[0].indices[d]
        if not index.is_affine_in([node.var]) or index.coefficient(node.var).value != 1:
            return None
        low, high = (index.substitute({node.var: end}) for end in (node.range.low, node.range.high))
        ends = [(const(0), low), (high + 1, shape.shape[d] - high - 1)]
        rest = [self.part(tensor, d, start, count) for start, count in ends if count.value != 0]
        writes = [one[0].write([node.range], {node.var: 1}), *(p.write([], {}) for p in rest)]
        return (one, rest) if complete(writes, shape.shape, self.facts) is None else None

    def part(self, tensor: str, d: int, start: IntExpr, count: IntExpr) -> Pattern:
        """``count`` elements from ``start`` of dim ``d``, all of the others."""
        p = self.all_of(tensor)
        indices = tuple(i + start if k == d else i for k, i in enumerate(p.indices))
        return Pattern(indices, tuple(Bound(a.name, count if k == d else a.extent) for k, a in enumerate(p.axes)))


def _defined(loop: Loop) -> Iterable[str]:
    """Tensors and versions that exist because of the loop, what it carries inside included."""
    for phi in loop.phis:
        yield phi.inside
    for node in loop.body:
        if isinstance(node, Def):
            yield node.stmt.tensor
        else:
            yield from _defined(node)
            for phi in node.phis:
                yield phi.after
