"""Readings of a text that leaves something open: an axis, a reduction, a name, a range; each resolved, the most natural first."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterator, Sequence, Set
from dataclasses import dataclass, field, replace
from difflib import SequenceMatcher
from typing import Any, Final

from generator.formula import ir
from generator.formula.infer import children
from generator.formula.ir import Assign, Attr, Bound, Expr, Load, Num, Pack, Program, Reduce, Stmt
from generator.formula.parse import UNSTATED, FormulaError, parse
from generator.formula.printer import text as printed
from generator.spec.errors import Problem
from generator.spec.integer import IntExpr, const, sym
from generator.symbolic.cases import assigned
from generator.symbolic.model import Finding
from generator.symbolic.reassigned import in_order
from generator.symbolic.setting import Setting, resolve_gradient
from generator.symbolic.slices import slice_of
from generator.symbolic.surface import axis_renamed, index_names, mapped, renamed, scopes, statements, substituted

__all__ = ["Reading", "Readings", "readings"]

_MOST: Final = 40
_CANDIDATES: Final = 8

Choice = tuple[str, tuple[Stmt, ...]]


@dataclass(frozen=True)
class Reading:
    """``what`` says what the text is taken to mean."""

    what: str
    body: tuple[Stmt, ...]
    program: Program


@dataclass
class Readings:
    """The readings that could be resolved, and what is open or wrong in the text."""

    readings: list[Reading] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)


@dataclass(frozen=True)
class _Open:
    """Something open, and the choices."""

    finding: Finding
    choices: list[Choice]


def readings(setting: Setting, part: Sequence[Stmt], output: str, deadline: float | None = None, whole: Sequence[Stmt] = ()) -> Readings:
    """Every reading of ``part`` (statements that ``output`` depends on), at most 40, that resolves. ``whole`` is the whole text:
    what a name may stand for is also looked for among tensors that ``part`` does not need."""
    return _Reader(setting, output, deadline, tuple(whole)).run(tuple(part))


class _Reader:
    def __init__(self, setting: Setting, output: str, deadline: float | None, whole: tuple[Stmt, ...] = ()) -> None:
        self.setting = setting
        self.whole = whole
        self.output = output
        self.deadline = deadline
        base = setting.base
        self.ints = {*setting.forward.dims, *setting.forward.int_attrs, *base.dims, *base.segments}
        self.ints |= {p.symbol for p in base.params if p.io == "attr" and p.type == "int"}
        self.floats = {p.symbol for p in base.params if p.io == "attr" and p.type in ("float", "double", "bool")}
        self.segments = {name for parts in base.segments.values() for name in parts}
        self.known = setting.known()
        self.out = Readings()
        self.refused: list[Finding] = []  # why readings could not be resolved

    # the search -------------------------------------------------------------------------------------------------
    def run(self, part: tuple[Stmt, ...]) -> Readings:
        part, said, other = in_order(part, self.output)
        self.note(said)
        starts: list[Choice] = [("" if other is None else "a name means what was assigned to it last", part)]
        if other is not None:
            starts.append(("a name assigned twice keeps its first meaning", other))
        queue = [(what, body, frozenset(self.setting.open), frozenset[str]()) for what, body in starts]
        seen: set[str] = set()
        while queue and len(self.out.readings) < _MOST:
            if self.deadline is not None and time.process_time() > self.deadline:
                break
            what, body, still, asked = queue.pop(0)
            found = self.declared(body, still) or self.first_open(body)
            if found is not None:
                self.note([found.finding])
                left = still - {found.finding.kind.removeprefix("open:")}
                queue[:0] = [("; ".join(p for p in (what, w) if p), b, left, asked) for w, b in found.choices[:_MOST]]
                continue
            source = printed(body)
            if source not in seen:
                seen.add(source)
                self.leaf(what, body, source, queue, asked)
        if not self.out.readings:
            self.note(self.refused[:6])
        return self.out

    def leaf(self, what: str, body: tuple[Stmt, ...], source: str, queue: list[Any], asked: frozenset[str]) -> None:
        done = resolve_gradient(self.setting, source, assigned=set(assigned(body)), located=False, outputs=[self.output])
        if done.program is not None:
            self.out.readings.append(Reading(what or "as it is written", body, done.program))
            return
        for problem in done.problems:
            about = f"{problem.what} {problem.value}"
            found = self.unsized(body, problem) if about not in asked else None
            if found is not None:
                self.note([found.finding])
                now = asked | {about}
                queue[:0] = [("; ".join(p for p in (what, w) if p), b, frozenset(), now) for w, b in found.choices]
                return
        said = [Finding(", ".join(p for p in (q.what, q.value, q.right) if p), None, "form") for q in done.problems[:3]]
        self.refused += [f for f in said if f not in self.refused]

    def note(self, said: Sequence[Finding]) -> None:
        self.out.findings += [f for f in said if f not in self.out.findings]

    # what is open -----------------------------------------------------------------------------------------------
    def first_open(self, body: tuple[Stmt, ...]) -> _Open | None:
        for find in (self.ranged, self.undefined, self.left_side, self.ranks, self.unstated, self.free):
            found = find(body)
            if found is not None:
                return found
        return None

    def declared(self, body: tuple[Stmt, ...], still: frozenset[str]) -> _Open | None:
        """A name that the reviewer declares open."""
        for name in sorted(still):
            spots = [e.span for e in _nodes(body) if (isinstance(e, Load) and e.tensor == name) or (isinstance(e, Attr) and e.name == name)]
            inside = any(name in x.free() for x in _integers(body))
            if not spots and not inside:
                continue
            said = list(self.setting.open[name])
            finding = Finding(f"the text does not say what '{name}' is", spots[0] if spots else None, f"open:{name}")
            rank = next((len(e.indices) for e in _nodes(body) if isinstance(e, Load) and e.tensor == name), 0)
            names = said or self.alike(name, rank, body)
            return _Open(finding, self.choices(body, name, names))
        return None

    def choices(self, body: tuple[Stmt, ...], name: str, names: Sequence[str]) -> list[Choice]:
        """``name`` as each of ``names``."""
        made = [(to, self.replaced(body, name, to)) for to in names]
        return [(f"{name} is {to}", b) for to, b in made if b is not None]

    def ranged(self, body: tuple[Stmt, ...]) -> _Open | None:
        """A loop without range and direction: those of the forward's loops, then any size, each upwards and downwards."""
        loop = next((s for s in _loops(body) if s.start.symbol == UNSTATED), None)
        if loop is None:
            return None
        spans = [(s.start, s.stop, s.step) for s in _loops(self.setting.forward.body) if abs(s.step) == 1]
        spans = spans or [(const(0), sym(n), 1) for n in sorted(self.ints)]
        choices: list[Choice] = []
        for start, stop, step in dict.fromkeys(spans):
            low, high = (start, stop - 1) if step == 1 else (stop + 1, start)
            up = replace(loop, start=low, stop=high + 1, step=1)
            down = replace(loop, start=high, stop=low - 1, step=-1)
            choices.append((f"{loop.var} runs from {high} down to {low}", mapped(body, _instead(loop, down))))
            choices.append((f"{loop.var} runs from {low} up to {high}", mapped(body, _instead(loop, up))))
        return _Open(Finding(f"the loop over '{loop.var}' gives neither range nor direction", loop.span, "range"), choices)

    def undefined(self, body: tuple[Stmt, ...]) -> _Open | None:
        """A name that nothing defines, or that is read before it is assigned."""
        made: set[str] = set()
        for stmt, loops, left in scopes(body, self.ints):
            for e, bound in _within(stmt.value, left):
                name = e.tensor if isinstance(e, Load) else e.name if isinstance(e, Attr) else None
                if name is None or name in made or name in self.known or name in self.floats or name in self.ints:
                    continue
                if isinstance(e, Attr) and (name in bound or name in loops):
                    continue
                rank = len(e.indices) if isinstance(e, Load) else 0
                late = name in assigned(body)
                what = "is read before the text assigns it" if late else "is not defined"
                finding = Finding(f"'{name}' {what}", e.span, "undefined symbol")
                choices = [
                    (f"{name} is {to}", b) for to in self.alike(name, rank, body) if (b := self.replaced(body, name, to)) is not None
                ]
                return _Open(finding, choices)
            made.add(stmt.tensor)
        return None

    def alike(self, name: str, rank: int, body: tuple[Stmt, ...]) -> list[str]:
        """What a name could stand for: tensors of its rank (scalars and sizes for a bare name), the most alike first."""
        ranks = {n: len(t.shape) for n, t in self.known.items()}
        ranks.update({s.tensor: len(s.indices) for s, _ in statements((*body, *self.whole)) if s.tensor not in self.setting.gradients})
        names = [n for n, r in ranks.items() if r == rank and n not in (name, self.output)]
        if rank == 0:
            names += [*sorted(self.floats), *sorted(self.ints)]
            names += [n for n, r in ranks.items() if r > 0 and _likeness(n, name) > 0.6]
        names = list(dict.fromkeys(names))
        return sorted(names, key=lambda n: (-_likeness(n, name), n))[:_CANDIDATES]

    def replaced(self, body: tuple[Stmt, ...], name: str, to: str) -> tuple[Stmt, ...] | None:
        """``body`` with ``name`` standing for ``to``: a tensor, a size or an expression."""
        body = self.including(body, to)
        if to.isidentifier() and (to in self.known or to in {s.tensor for s, _ in statements(body)}) and to not in self.ints:
            return renamed(body, name, to)
        try:
            stmt = parse(f"it = {to}")[0]
        except FormulaError:
            return None
        assert isinstance(stmt, Assign)
        value = stmt.value
        whole = sym(to) if to in self.ints else const(int(to)) if to.lstrip("-").isdigit() else None
        if whole is not None:
            body = substituted(body, {name: whole})

        def bare(x: Any) -> Any | None:
            return value if isinstance(x, Attr) and x.name == name else None

        return mapped(body, bare)

    def including(self, body: tuple[Stmt, ...], name: str) -> tuple[Stmt, ...]:
        """``body`` with the statements of the whole text that ``name`` needs, in the text's order."""
        have = {s.tensor for s, _ in statements(body)}
        if name in have or name in self.known or name not in {s.tensor for s, _ in statements(self.whole)}:
            return body
        new = [s for s in slice_of(self.whole, name) if not {x.tensor for x, _ in statements((s,))} <= have]

        def place(s: Stmt) -> tuple[int, int]:
            return (s.span.line, s.span.column) if s.span is not None else (0, 0)

        return tuple(sorted((*new, *body), key=place))

    def unstated(self, body: tuple[Stmt, ...]) -> _Open | None:
        """A reduction that does not say over which axes."""
        for stmt, loops, left in scopes(body, self.ints):
            for e, bound in _within(stmt.value, left):
                if not isinstance(e, Reduce) or e.axes:
                    continue
                inside = list(dict.fromkeys(n for n in _axes_in(e.body) if n not in self.ints and n not in loops))
                must = [n for n in inside if n not in bound]
                may = [n for n in inside if n in bound]
                choices: list[Choice] = []
                for extra in itertools.chain.from_iterable(itertools.combinations(may, k) for k in range(len(may) + 1)):
                    axes = (*must, *extra)
                    if axes:
                        made = replace(e, axes=tuple(Bound(a) for a in axes))
                        choices.append((f"{e.op} over {', '.join(axes)}", mapped(body, _instead(e, made))))
                finding = Finding(f"'{e.op}' does not say over which axes", e.span, "axis")
                return _Open(finding, choices)
        return None

    def left_side(self, body: tuple[Stmt, ...]) -> _Open | None:
        """A left side with fewer indices than the tensor has dims."""
        for stmt, loops, left in scopes(body, self.ints):
            if stmt.tensor != self.output:
                continue
            rank = len(self.setting.forward.tensors[self.setting.gradients[self.output]].shape)
            missing = rank - len(stmt.indices)
            if missing == 0:
                continue
            finding = Finding(f"'{stmt.tensor}' has {rank} dims, {len(stmt.indices)} indices are written", stmt.span, "rank")
            if missing < 0:
                return _Open(finding, [])
            free = [n for n in _free(stmt.value, left) if n not in self.ints and n not in loops]
            pool = free if len(free) >= missing else [*free, *(f"i{k}" for k in range(missing))]
            choices: list[Choice] = []
            for names in itertools.permutations(pool, missing):
                for at in itertools.combinations(range(rank), missing):
                    rest, new = iter(stmt.indices), iter(names)
                    indices = tuple(sym(next(new)) if k in at else next(rest) for k in range(rank))
                    made = replace(stmt, indices=indices, spots=())
                    choices.append((f"the left side is {printed_left(made)}", mapped(body, _instead(stmt, made))))
            return _Open(finding, choices[:_MOST])
        return None

    def ranks(self, body: tuple[Stmt, ...]) -> _Open | None:
        """A tensor with another number of indices than it has dims."""
        ranks = {n: len(t.shape) for n, t in self.known.items()}
        for stmt, _loops, left in scopes(body, self.ints):
            for e, bound in _within(stmt.value, left):
                name = e.tensor if isinstance(e, Load) else e.name if isinstance(e, Attr) else None
                if (
                    name is None
                    or name not in ranks
                    or (isinstance(e, Attr) and (name in bound or name in self.ints or name in self.floats))
                ):
                    continue
                indices: tuple[Any, ...] = e.indices if isinstance(e, Load) else ()
                if len(indices) == ranks[name]:
                    continue
                count = ranks[name]
                finding = Finding(f"'{name}' has {count} dims, {len(indices)} indices are written", e.span, "rank")
                choices: list[Choice] = []
                mine = {n for i in indices for n in index_names(i)}
                pool = [n for n in dict.fromkeys([*bound, *_free(stmt.value, left)]) if n not in mine and n not in self.ints]
                summed = _open_reduction(stmt.value, e)
                if summed:
                    pool += [f"r{k}" for k in range(count - len(pool))]
                for made in _filled(indices, count, pool, ordered=not summed):
                    load = Load(name, made, span=e.span)
                    choices.append((f"{name} is {name}[{', '.join(map(str, made))}]", mapped(body, _instead(e, load))))
                return _Open(finding, choices[:_MOST])
            ranks[stmt.tensor] = len(stmt.indices)
        return None

    def free(self, body: tuple[Stmt, ...]) -> _Open | None:
        """An index on the right that nothing binds."""
        for stmt, loops, left in scopes(body, self.ints):
            names = [n for n in _free(stmt.value, left) if n not in self.ints and n not in loops and n not in self.segments]
            if not names:
                continue
            packs = {i.name for e, _ in _within(stmt.value, ()) if isinstance(e, Load) for i in e.indices if isinstance(i, Pack)}
            said = self.setting.notation.axes(names)
            finding = Finding(f"the index {', '.join(repr(n) for n in said)} is not bound on the right", stmt.span, "free index")
            scaled = [n for n in names if any(_scales(x, n) for x in _integers(stmt.value))]
            if scaled:
                name = scaled[0]
                sizes: list[str] = ["1", *sorted(self.ints)]
                choices = [(f"{name} is {s}", mapped(body, _instead(stmt, self.sized(stmt, name, s)))) for s in sizes]
                return _Open(finding, choices)
            summed = replace(stmt, value=_wrapped(stmt.value, names, "sum", packs))
            meant = replace(stmt, value=_wrapped(stmt.value, names, "mean", packs))
            over = ", ".join(said)
            choices = [(f"a sum over {over} is meant", mapped(body, _instead(stmt, summed)))]
            choices.append((f"a mean over {over} is meant", mapped(body, _instead(stmt, meant))))
            if len(names) == 1 and names[0] not in packs:
                for other in left:
                    made = replace(stmt, value=axis_renamed(stmt.value, names[0], other))
                    choices.append((f"the index {names[0]} is {other}", mapped(body, _instead(stmt, made))))
                choices += [(f"{names[0]} is {s}", mapped(body, _instead(stmt, self.sized(stmt, names[0], s)))) for s in ("1", "0")]
            return _Open(finding, choices)
        return None

    @staticmethod
    def sized(stmt: Assign, name: str, size: str) -> Assign:
        value = const(int(size)) if size.isdigit() else sym(size)
        return substituted(stmt, {name: value})

    def unsized(self, body: tuple[Stmt, ...], problem: Problem) -> _Open | None:
        """An axis whose range, or a range whose size, the text does not give."""
        name = problem.value.strip("'")
        if problem.what.startswith("the axis has no size"):
            finding = Finding(f"the range of '{name}' is not stated", None, "range")
            choices = []
            for size in sorted(self.ints):
                made = mapped(body, _extended(name, size))
                if made == body:
                    made = mapped(body, _left_extended(name, size))
                if made != body:
                    choices.append((f"{name} runs over {size}", made))
            return _Open(finding, choices) if choices else None
        if problem.what.startswith(("the loop's range names", "an axis' extent names")):
            finding = Finding(f"the size '{name}' is not defined", None, "range")
            sizes = sorted(self.ints, key=lambda n: (-_likeness(n, name), n))
            sizes = [s for s in sizes if s != name]
            choices = [(f"{name} is {s}", substituted(body, {name: sym(s)})) for s in sizes]
            choices += [(f"{name} is {s} - 1", substituted(body, {name: sym(s) - 1})) for s in sizes]
            return _Open(finding, choices)
        return None


# --- pieces ------------------------------------------------------------------------------------------------------


def printed_left(stmt: Assign) -> str:
    """The left side of a statement as text."""
    return printed(replace(stmt, value=Num(0, "0"))).split(" = ")[0]


def _likeness(a: str, b: str) -> float:
    return SequenceMatcher(None, a.lower(), b.lower()).ratio()


def _instead(old: object, new: object) -> Callable[[Any], Any | None]:
    def swap(x: Any) -> Any | None:
        return new if x is old else None

    return swap


def _extended(name: str, size: str) -> Callable[[Any], Any | None]:
    def given(x: Any) -> Any | None:
        return Bound(name, sym(size)) if isinstance(x, Bound) and x.name == name and x.extent is None else None

    return given


def _left_extended(name: str, size: str) -> Callable[[Any], Any | None]:
    """The axis of a left side that its right side hides, with its extent."""

    def given(x: Any) -> Any | None:
        if not isinstance(x, Assign) or name not in {n for i in x.indices for n in index_names(i)} or name in {a.name for a in x.axes}:
            return None
        hidden = any(isinstance(e, Reduce) and name in {a.name for a in e.axes} for e, _ in _within(x.value, ()))
        return replace(x, axes=(*x.axes, Bound(name, sym(size)))) if hidden else None

    return given


def _loops(body: Sequence[Stmt]) -> Iterator[ir.For]:
    """Every loop, outer ones first."""
    for stmt in body:
        if isinstance(stmt, ir.For):
            yield stmt
            yield from _loops(stmt.body)


def _nodes(body: Sequence[Stmt]) -> Iterator[Expr]:
    for stmt, _ in statements(body):
        for e, _bound in _within(stmt.value, ()):
            yield e


def _within(e: Expr, bound: tuple[str, ...]) -> Iterator[tuple[Expr, tuple[str, ...]]]:
    """Every subexpression with the axes bound around it."""
    yield e, bound
    if isinstance(e, Reduce):
        inner = (*bound, *(a.name.lstrip("*") for a in e.axes if a.name.lstrip("*") not in bound))
        yield from _within(e.body, inner)
        if e.divisor is not None:
            yield from _within(e.divisor, bound)
        return
    if isinstance(e, Load):
        for i in e.indices:
            if isinstance(i, ir.Gather):
                yield from _within(i.load, bound)
    for child in children(e):
        yield from _within(child, bound)


def _open_reduction(e: Expr, inside: Expr) -> bool:
    """Whether a reduction without axes holds ``inside``."""
    return any(isinstance(x, Reduce) and not x.axes and any(y is inside for y, _ in _within(x.body, ())) for x, _ in _within(e, ()))


def _integers(node: Any) -> Iterator[IntExpr]:
    """Every integer expression in a tree."""
    found: list[IntExpr] = []

    def look(x: Any) -> None:
        if isinstance(x, IntExpr):
            found.append(x)

    mapped(node, look)
    yield from found


def _axes_in(e: Expr) -> list[str]:
    return [n for x, _ in _within(e, ()) if isinstance(x, Load) for i in x.indices for n in index_names(i)]


def _free(e: Expr, left: Sequence[str]) -> list[str]:
    """Names in indices that nothing binds, in order."""
    out: dict[str, None] = {}
    for x, bound in _within(e, tuple(left)):
        if isinstance(x, Load):
            out.update(dict.fromkeys(n for i in x.indices for n in index_names(i) if n not in bound))
    return list(out)


def _scales(x: IntExpr, name: str) -> bool:
    """Whether ``name`` multiplies another name in ``x``."""
    return any(name in {a.name for a, _ in m if hasattr(a, "name")} and len(m) > 1 for m, _ in x.terms)


def _wrapped(e: Expr, names: Sequence[str], op: Any, packs: Set[str]) -> Expr:
    """``e`` reduced over free names (``packs`` are names of packs), term by term where only some terms have them."""
    if isinstance(e, ir.Binary) and e.op in ("add", "sub"):
        return replace(e, a=_wrapped(e.a, names, op, packs), b=_wrapped(e.b, names, op, packs))
    if isinstance(e, ir.Neg):
        return replace(e, x=_wrapped(e.x, names, op, packs))
    mine = [f"*{n}" if n in packs else n for n in names if n in _axes_in(e)]
    return Reduce(op, tuple(Bound(n) for n in mine), e, span=e.span) if mine else e


def _filled(indices: tuple[Any, ...], count: int, pool: Sequence[str], *, ordered: bool = True) -> Iterator[tuple[Any, ...]]:
    """``indices`` brought to ``count`` by putting in axes of ``pool`` or leaving some out."""
    missing = count - len(indices)
    if missing < 0:
        yield from itertools.combinations(indices, count)
        return
    for names in itertools.permutations(pool, missing):
        if ordered and missing > 1 and not indices and list(names) != [p for p in pool if p in names]:
            continue  # in the order of the axes
        for at in itertools.combinations(range(count), missing):
            rest, new = iter(indices), iter(names)
            yield tuple(sym(next(new)) if k in at else next(rest) for k in range(count))
