"""Broadcast packs: ``*b`` of each input may lack axes of the whole, as NumPy's rule has it.

What an input lacks, it lacks for all values of the other axes: so the axes of ``*b`` fall into groups by which inputs have them, and
order does not matter to a formula. ``*b`` of ``x`` and ``w`` stands for three ordinary packs: ``*b_x`` (axes that only ``x`` has),
``*b_w`` and ``*b_x_w`` (both have); ``x[*b]`` is ``x[*b_x, *b_x_w]``, and ``*b`` of all other tensors is all three. A formula over them is
right for all shapes that NumPy broadcasts, of any rank. ``*b & x`` names the axes that ``x`` has, ``*b - x`` those that it lacks:
``dx[*b] = sum[*b - x](dy[*b] * w[*b])``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, groupby

from generator.formula.ir import Assign, Bound, Expr, For, Index, Load, Pack, Product, Reduce, Segment, Span, Stmt
from generator.formula.walk import rebuild
from generator.spec.errors import TextError
from generator.spec.model import OpSpec
from generator.spec.packs import MOST_PARTS, broadcast_parts, is_pack, pack_names, selected

__all__ = ["Broadcast", "broadcasts_of", "contracted", "expanded", "expanded_spec", "whole_shape"]


@dataclass(frozen=True)
class Broadcast:
    """A broadcast pack: ``groups`` are the ordinary packs that it stands for, in order, with the inputs that have their axes.
    ``own`` maps other tensors that have only some of them to what these are (``*b & x`` in their shapes)."""

    name: str
    groups: Mapping[str, frozenset[str]]
    own: Mapping[str, tuple[str, ...]]

    def of(self, tensor: str) -> tuple[str, ...]:
        """The ordinary packs that ``*b`` of a tensor stands for."""
        return self.own.get(tensor, tuple(self.groups))

    def knowing(self, packs: Mapping[str, Sequence[str]]) -> Broadcast:
        """With tensors of a formula (name -> the packs of its shape) that have only some of the axes."""
        mine = {t: tuple(p for p in shape if p in self.groups) for t, shape in packs.items()}
        return replace(self, own={**{t: own for t, own in mine.items() if own and own != tuple(self.groups)}, **self.own})

    def named(self, text: str) -> tuple[str, ...]:
        """The ordinary packs that an expression such as ``b - x`` names. Raises KeyError for a name that is no input."""
        return tuple(selected(text, self.groups, self.name))

    def texts(self, packs: Sequence[str]) -> list[str]:
        """The shortest expression for a set of its ordinary packs, without the star, or else one for each of them."""
        inputs = sorted({x for members in self.groups.values() for x in members})
        texts = [self.name, *(f"{self.name} {op} {x}" for x in inputs for op in "&-")]
        texts += [f"{self.name} {op} {x} {op} {y}" for op in "&-" for x, y in combinations(inputs, 2)]
        texts += [f"{self.name} & {x} - {y}" for x in inputs for y in inputs if x != y]
        short = next((t for t in texts if set(self.named(t)) == set(packs)), None)
        return [short] if short is not None else [self.exactly(p) for p in packs]

    def exactly(self, pack: str) -> str:
        """The expression for one of its ordinary packs."""
        has = self.groups[pack]
        others = sorted({x for members in self.groups.values() for x in members} - has)
        return "".join([self.name, *(f" & {x}" for x in sorted(has)), *(f" - {x}" for x in others)])


def broadcasts_of(spec: OpSpec) -> tuple[Broadcast, ...]:
    """The broadcast packs of a spec whose declarations are sound (others are left out: ``spec.checks`` reports them)."""
    out = []
    for name, parts in broadcast_parts(spec).items():
        if not 1 <= len(parts) <= MOST_PARTS:
            continue
        inputs = sorted(parts)
        subsets = [c for n in range(1, len(inputs) + 1) for c in combinations(inputs, n)]
        names = ["_".join((name, *c)) for c in subsets]
        if len(set(names)) < len(names):
            names = [f"{name}_{at}" for at in range(len(subsets))]
        groups = {n: frozenset(c) for n, c in zip(names, subsets, strict=True)}
        own = {x: tuple(n for n, members in groups.items() if x in members) for x in inputs}
        made = Broadcast(name, groups, own)
        said = {p.symbol: t[1:] for p in spec.params for t in p.shape or [] if is_pack(t) and pack_names(t[1:])[:1] == [name]}
        out.append(replace(made, own={**{t: _named(made, text) for t, text in said.items() if text.strip() != name}, **own}))
    return tuple(out)


def _named(b: Broadcast, text: str) -> tuple[str, ...]:
    try:
        return b.named(text)
    except KeyError:
        return tuple(b.groups)


def expanded_spec(spec: OpSpec, broadcasts: Sequence[Broadcast]) -> OpSpec:
    """``spec`` with ordinary packs for broadcast ones, in shapes (the formula is not read)."""
    if not broadcasts:
        return spec
    params = [p if p.shape is None else p.model_copy(update={"shape": whole_shape(p.symbol, p.shape, broadcasts)}) for p in spec.params]
    return spec.model_copy(update={"params": params, "broadcast": []})


def whole_shape(tensor: str, shape: Sequence[str], broadcasts: Sequence[Broadcast]) -> list[str]:
    """The shape of ``tensor`` with ordinary packs for broadcast ones."""
    by_name = {b.name: b for b in broadcasts}
    out: list[str] = []
    for text in shape:
        named = pack_names(text[1:]) if is_pack(text) else []
        b = by_name.get(named[0]) if named else None
        out += [text] if b is None else [f"*{p}" for p in b.of(tensor)]
    return out


def expanded(body: Sequence[Stmt], broadcasts: Sequence[Broadcast], *, strict: bool = True) -> tuple[tuple[Stmt, ...], list[TextError]]:
    """Surface statements with ordinary packs for broadcast ones, and what is wrong with the use of packs, at places of the text.
    Unless ``strict``, axes that nothing binds are not a fault."""
    work = _Expansion(broadcasts, strict)
    out = work.block(body)
    return out, work.problems


def contracted(body: Sequence[Stmt], broadcasts: Sequence[Broadcast]) -> tuple[Stmt, ...]:
    """The inverse of :func:`expanded`: surface statements in which broadcast packs are written as such."""
    if not broadcasts:
        return tuple(body)
    owner = {p: b for b in broadcasts for p in b.groups}

    def runs(tensor: str, indices: Sequence[Index]) -> tuple[Index, ...]:
        out: list[Index] = []
        for b, group in groupby(indices, lambda i: owner.get(i.name) if isinstance(i, Pack) else None):
            run = list(group)
            packs = tuple(i.name for i in run if isinstance(i, Pack))
            if b is None:
                out += run
            elif packs == b.of(tensor):
                out.append(Pack(b.name))
            elif packs == tuple(p for p in b.groups if p in packs):
                out += [Pack(t) for t in b.texts(packs)]
            else:
                out += [Pack(b.exactly(p)) for p in packs]
        return tuple(out)

    def expr(e: Expr) -> Expr:
        if isinstance(e, Load):
            e = replace(e, indices=runs(e.tensor, e.indices), spots=())
        if isinstance(e, Reduce):
            e = replace(e, axes=axes(e.axes))
        return rebuild(e, expr)

    def axes(bound: Sequence[Bound]) -> tuple[Bound, ...]:
        names = [a.name.removeprefix("*") for a in bound]
        out: list[Bound] = []
        done: set[str] = set()
        for a, name in zip(bound, names, strict=True):
            b = owner.get(name)
            if b is None:
                out.append(a)
            elif b.name not in done:
                done.add(b.name)
                out += [Bound(f"*{t}") for t in b.texts([p for p in b.groups if p in names])]
        return tuple(out)

    def block(stmts: Sequence[Stmt]) -> tuple[Stmt, ...]:
        return tuple(replace(s, body=block(s.body)) if isinstance(s, For) else assign(s) for s in stmts)

    def assign(s: Assign) -> Assign:
        return replace(s, indices=runs(s.tensor, s.indices), spots=(), value=expr(s.value))

    return block(body)


class _Expansion:
    def __init__(self, broadcasts: Sequence[Broadcast], strict: bool) -> None:
        self.broadcasts = {b.name: b for b in broadcasts}
        self.own: dict[tuple[str, str], tuple[str, ...]] = {}  # of the formula's own tensors
        self.strict = strict
        self.problems: list[TextError] = []

    def report(self, span: Span | None, what: str, value: str, right: str) -> None:
        where = span or Span(1, 1)
        self.problems.append(TextError(what, value, right, line=where.line, column=where.column))

    def block(self, body: Sequence[Stmt]) -> tuple[Stmt, ...]:
        return tuple(replace(s, body=self.block(s.body)) if isinstance(s, For) else self.assign(s) for s in body)

    def assign(self, s: Assign) -> Assign:
        left, spots, bound = self.indices(s.tensor, s.indices, s.spots, frozenset(), left=True)
        return replace(s, indices=left, spots=spots, value=self.expr(s.value, bound, s.tensor))

    def expr(self, e: Expr, bound: frozenset[str], target: str) -> Expr:
        """``bound`` are the ordinary packs bound here."""
        if isinstance(e, Load):
            indices, spots, needed = self.indices(e.tensor, e.indices, e.spots, bound, left=False)
            missing = needed - bound
            b = next((b for b in self.broadcasts.values() if missing & b.groups.keys()), None)
            if b is not None and self.strict:
                right = f"a reduction over the axes that '{target}' lacks, such as sum[*{b.name} - {self.lacking(b, target)}](...)"
                self.report(e.span, f"not every axis of '*{b.name}' of '{e.tensor}' is bound here", f"'{target}' lacks some", right)
            e = replace(e, indices=indices, spots=spots)
        if isinstance(e, Reduce):
            return self.reduce(e, bound, target)
        return rebuild(e, lambda x: self.expr(x, bound, target))

    def lacking(self, b: Broadcast, target: str) -> str:
        packs = self.own.get((target, b.name), b.of(target))
        return next((x for x, own in b.own.items() if own == packs), "x")

    def reduce(self, e: Reduce, bound: frozenset[str], target: str) -> Expr:
        axes: list[Bound] = []
        for a in e.axes:
            packs = self.packs(a.name[1:], e.span) if a.name.startswith("*") else None
            if packs is None:
                axes.append(a)
                continue
            if e.op in ("argmax", "argmin"):
                self.report(e.span, f"'{e.op}' over a broadcast pack has no order", f"'{a.name}'", "axes in order, or a pack of one shape")
            axes += [Bound(f"*{p}") for p in packs]
        inner = bound | {a.name[1:] for a in axes if a.name.startswith("*")}
        body = self.expr(e.body, inner, target)
        divisor = None if e.divisor is None else self.expr(e.divisor, bound, target)
        return replace(e, axes=tuple(axes), body=body, divisor=divisor) if axes or not e.axes else body

    def packs(self, text: str, span: Span | None) -> tuple[str, ...] | None:
        """The ordinary packs of a broadcast pack's expression; None when it is another pack's name."""
        names = pack_names(text)
        b = self.broadcasts.get(names[0]) if names else None
        if b is None:
            if len(names) > 1:
                known = ", ".join(self.broadcasts) or "none is declared"
                self.report(span, "no broadcast pack has this name", f"'*{text}'", f"a pack of 'broadcast:' ({known})")
                return ()
            return None
        try:
            return b.named(text)
        except KeyError as error:
            inputs = ", ".join(sorted({x for m in b.groups.values() for x in m}))
            self.report(span, f"no input of '*{b.name}' has this name", f"'{error.args[0]}'", inputs)
            return ()

    def indices(
        self, tensor: str, indices: Sequence[Index], spots: Sequence[Span], bound: frozenset[str], *, left: bool
    ) -> tuple[tuple[Index, ...], tuple[Span, ...], frozenset[str]]:
        """The indices with ordinary packs, where each stands, and the packs in them."""
        out: list[Index] = []
        places: list[Span] = []
        used: set[str] = set()
        for at, i in enumerate(indices):
            span = spots[at] if at < len(spots) else None
            made: Sequence[Index] = [i]
            if isinstance(i, Pack):
                packs = self.in_place(tensor, i, span, left=left)
                used |= set(packs or (i.name,))
                made = [i] if packs is None else [Pack(p, span=i.span) for p in packs]
            elif isinstance(i, Product | Segment) and any(isinstance(p, Pack) and p.name in self.broadcasts for p in i.parts):
                self.report(span, "a broadcast pack is not part of a product or segment", "", "an index of its own: x[*b, j]")
            out += made
            places += [span] * len(made) if span is not None else []
        return tuple(out), tuple(places) if spots else (), frozenset(used)

    def in_place(self, tensor: str, i: Pack, span: Span | None, *, left: bool) -> tuple[str, ...] | None:
        """What a pack stands for among a tensor's indices: the tensor's own axes, or those it says."""
        packs = self.packs(i.name, i.span or span)
        if packs is None:
            return None
        b = next((b for n, b in self.broadcasts.items() if n in pack_names(i.name)[:1]), None)
        if b is None or i.name == b.name:
            return packs if b is None else self.own.get((tensor, b.name), b.of(tensor))
        if left and tensor not in b.own:
            self.own.setdefault((tensor, b.name), packs)
        return packs
