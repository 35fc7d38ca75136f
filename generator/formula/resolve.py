"""Surface syntax to a resolved, checked :class:`Program`: names, sizes, guards, kinds and the rules of assignment."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from generator.formula.broadcasts import Broadcast, broadcasts_of, expanded, expanded_spec
from generator.formula.infer import Inference, bounds_of_axes, children
from generator.formula.ir import Assign, Attr, Bound, Expr, For, Gather, Kind, Load, Pack, Product, Program, Segment, Span, Stmt, Tensor
from generator.formula.kinds import kind_of, strong
from generator.formula.lower import Lowering
from generator.formula.parse import FormulaError, parse
from generator.formula.prove import Facts, Range
from generator.formula.ranges import all_read, facts_of
from generator.formula.symbols import PACK_PREFIX, Symbols, declare, pack_dim
from generator.formula.writes import Write, complete, overlap, overlaps_itself
from generator.spec.errors import Problem
from generator.spec.integer import IntExpr, const, max_of, product, sym
from generator.spec.load import Source
from generator.spec.model import OpSpec
from generator.spec.names import bad_identifier, did_you_mean
from generator.spec.nodes import Where as Place

__all__ = ["Resolved", "resolve"]

# findings that may only say that a line could not be read
_INCOMPLETE = (
    "the output is never",
    "the tensor is only partly",
    "the tensor is not wholly",
    "the tensor is read before",
    "the tensor may be",
)


# findings that hold whatever the tensors' shapes are
_SHAPELESS = (
    "the tensor is not defined",
    "the name is not defined",
    "the axis is not bound",
    "the output is never",
    "an input is not assigned",
)


@dataclass(frozen=True)
class Resolved:
    """A program (None when there are problems), the derived dims, the packs and every problem found."""

    program: Program | None
    derived: tuple[tuple[str, IntExpr], ...]
    packs: tuple[str, ...]
    problems: list[Problem]
    broadcasts: tuple[Broadcast, ...] = ()


def resolve(source: Source, spec: OpSpec) -> Resolved:
    """Resolve the formula of ``spec``; all of its faults are in ``problems``, located in the spec file."""
    broadcasts = broadcasts_of(spec)
    spec = expanded_spec(spec, broadcasts)
    symbols, declared = declare(source, spec)
    problems = list(declared)

    def locate(line: int, column: int) -> Span:
        where = source.tree.inside(("formula",), line, column)
        return Span(where.line, where.column)

    try:
        body = parse(spec.formula, locate=locate)
        broken = False
    except FormulaError as error:
        problems += [source.inside(("formula",), f) for f in error.findings]
        body, broken = parse(spec.formula, relaxed=True, locate=locate).body, True
    body, misused = expanded(body, broadcasts)
    if misused:
        return Resolved(None, (), (), problems + [source.problem(Place(e.line, e.column), e.what, e.value, e.right) for e in misused])
    sized = not declared
    work = _Resolver(source, spec, symbols, body)
    if broken:
        work.excuse(spec.formula)
    program = work.run(body)
    if broken:  # lines that could not be read leave holes: only what does not depend on them is worth saying
        work.problems = [p for p in work.problems if not p.what.startswith(_INCOMPLETE)]
    if not sized:  # some tensors' shapes are not known: only what does not depend on shapes is worth saying
        work.problems = [p for p in work.problems if p.what.startswith(_SHAPELESS)]
    if not all_read(spec):
        work.problems = [p for p in work.problems if "not proved" not in p.what]
    problems += work.problems
    shapes = {n: [str(e.symbol).removeprefix(PACK_PREFIX) for e in t.shape] for n, t in program.tensors.items()}
    broadcasts = tuple(b.knowing(shapes) for b in broadcasts)
    return Resolved(None if problems else program, tuple(symbols.derived), tuple(symbols.packs), problems, broadcasts)


@dataclass
class _Store:
    """A store, with what is needed to judge it: ``order`` is its place in the program's order."""

    write: Write
    order: int
    span: Span | None


@dataclass
class _Life:
    """What happened to one tensor."""

    stores: list[_Store] = field(default_factory=list)
    first_read: int | None = None
    defined: bool = False
    maybe: Span | None = None  # written only inside a loop that may not run
    known_kind: Kind | None = None


class _Resolver:
    def __init__(self, source: Source, spec: OpSpec, symbols: Symbols, body: Sequence[Stmt]) -> None:
        self.source = source
        self.spec = spec
        self.symbols = symbols
        self.problems: list[Problem] = []
        self.facts: Facts = facts_of(spec, symbols)
        self.tensors: dict[str, Tensor] = dict(symbols.tensors)
        self.lives: dict[str, _Life] = {n: _Life(defined=t.role == "input" or t.inout) for n, t in self.tensors.items()}
        self.loops: list[tuple[For, Range]] = []
        self.order = 0
        self.written = {s.tensor for s in _assigns(body)}
        self.heights: dict[tuple[str, int], IntExpr] = {}

    # reporting --------------------------------------------------------------------------------------------------
    def report(self, span: Span | None, what: str, value: str = "", right: str = "") -> None:
        place = Place(span.line, span.column) if span is not None else self.source.at("formula")
        problem = self.source.problem(place, what, value, right)
        if problem not in self.problems:
            self.problems.append(problem)

    def excuse(self, text: str) -> None:
        """After faults of syntax, do not blame the readers of tensors whose assignment may be the line that cannot be read."""
        for line in text.split("\n"):
            name = re.match(r"\s*([A-Za-z]\w*)\s*(\[|=)", line)
            if name is not None and name.group(1) not in self.tensors and name.group(1) not in self.written:
                self.lives[name.group(1)] = _Life(defined=True)

    # the program ------------------------------------------------------------------------------------------------
    def run(self, body: Sequence[Stmt]) -> Program:
        self.survey(body, ())
        out = self.block(body)
        self.finish()
        s = self.symbols
        return Program(out, self.tensors, tuple(s.dims), tuple(s.int_attrs), tuple(s.float_attrs), tuple(s.bool_attrs))

    def block(self, body: Iterable[Stmt]) -> tuple[Stmt, ...]:
        out: list[Stmt] = []
        for stmt in body:
            done = self.loop(stmt) if isinstance(stmt, For) else self.assign(stmt)
            if done is not None:
                out.append(done)
        return tuple(out)

    def survey(self, body: Sequence[Stmt], ranges: tuple[Range, ...]) -> None:
        """The largest constant or loop-driven index of each dim of each local tensor, for its extent."""
        for stmt in body:
            if isinstance(stmt, For):
                self.survey(stmt.body, (*ranges, _range(stmt)))
                continue
            if stmt.tensor in self.symbols.tensors:
                continue
            names = {r.name for r in ranges} | set(self.symbols.ints)
            for at, index in enumerate(stmt.indices):
                if isinstance(index, IntExpr) and index.free() <= names:
                    top = self.facts.with_ranges(ranges).highest(index.substitute(self.symbols.segmented))
                    if top is not None:
                        self.raise_height(stmt.tensor, at, top + 1)

    def raise_height(self, tensor: str, at: int, height: IntExpr) -> None:
        old = self.heights.get((tensor, at))
        if old is None or self.facts.at_most(old, height):
            self.heights[tensor, at] = height
        elif not self.facts.at_most(height, old):
            self.heights[tensor, at] = max_of(old, height)

    def loop(self, stmt: For) -> Stmt | None:
        known = set(self.symbols.ints) | {r.name for _, r in self.loops}
        if stmt.var in known or stmt.var in self.tensors:
            self.report(stmt.span, "the loop's variable has the name of something else", f"'{stmt.var}'", "another name")
            return None
        why = bad_identifier(stmt.var)
        if why is not None:
            self.report(stmt.span, f"the loop's variable {why}", f"'{stmt.var}'", "another name")
        for bound in (stmt.start, stmt.stop):
            for name in sorted(bound.free() - known):
                self.report(stmt.span, "the loop's range names an unknown size", f"'{name}'", did_you_mean(name, known, "sizes"))
        start, stop = (b.substitute(self.symbols.segmented) for b in (stmt.start, stmt.stop))
        stmt = replace(stmt, start=start, stop=stop)
        reach = _range(stmt)
        before = {n for n, life in self.lives.items() if life.defined}
        self.loops.append((stmt, reach))
        body = self.block(stmt.body)
        self.loops.pop()
        if not self.here().at_most(reach.low, reach.high):
            for name, life in self.lives.items():
                tensor = self.tensors.get(name)
                if life.defined and name not in before and tensor is not None and tensor.role == "local":
                    life.defined, life.maybe = False, stmt.span
        return For(stmt.var, start, stop, stmt.step, body, span=stmt.span)

    def here(self) -> Facts:
        """The facts inside the open loops: a round runs, so their ranges are not empty."""
        return self.facts.with_ranges(r for _, r in self.loops).with_known(r.high - r.low for _, r in self.loops)

    # one statement ----------------------------------------------------------------------------------------------
    def assign(self, stmt: Assign) -> Stmt | None:
        self.order += 1
        count = len(self.problems)
        if not self.may_write(stmt):
            return None
        known = self.tensors.get(stmt.tensor)
        if known is not None and len(known.shape) != len(stmt.indices):
            self.report(
                stmt.span, f"'{stmt.tensor}' has {len(known.shape)} dims", f"{len(stmt.indices)} indices", f"{len(known.shape)} indices"
            )
            return None
        shape: list[IntExpr | None] = list(known.shape) if known is not None else [None] * len(stmt.indices)
        found = Inference(self.symbols, [r.name for _, r in self.loops], self.here(), self.readable, self.report)
        found.run(stmt, shape)
        self.name_axes(found, stmt)
        if found.failed:
            self.names(stmt.value, found)
            self.poison(stmt)
            return None
        axes = bounds_of_axes(list(found.left.values()))
        ranges = [Range(a.name, const(0), a.extent - 1) for a in axes if a.extent is not None]
        lowering = Lowering(self, found, self.here().with_ranges(ranges).with_known(r.high - r.low for r in ranges))
        if known is None:
            known = Tensor(stmt.tensor, tuple(self.extent_of(stmt, at, axes) for at in range(len(stmt.indices))), "local")
        value = lowering.expr(stmt.value, found.left)
        indices = tuple(lowering.index(i, known.shape[at], found.left, _spot(stmt, at)) for at, i in enumerate(stmt.indices))
        self.types(stmt, value, known)
        for at, index in enumerate(indices):
            self.inside(stmt, at, index, known, lowering.facts)
        if len(self.problems) == count:
            self.remember(stmt, known, indices, axes)
        else:
            self.poison(stmt, known)
        return Assign(stmt.tensor, indices, value, axes, span=stmt.span, spots=stmt.spots)

    def poison(self, stmt: Assign, known: Tensor | None = None) -> None:
        """After a faulty statement its tensor counts as written, so that its readers are not blamed."""
        if known is not None:
            self.tensors.setdefault(stmt.tensor, known)
        life = self.lives.setdefault(stmt.tensor, _Life())
        life.defined = True
        life.known_kind = "float" if life.known_kind is None else life.known_kind

    def names(self, e: Expr, found: Inference) -> None:
        """Report unknown names among the values of a statement whose axes could not be sized."""
        bound = {**found.left, **{a.name: a for group in found.bound.values() for a in group}}
        if isinstance(e, Attr):
            Lowering(self, found, self.facts).name(e, bound)
        for child in children(e):
            self.names(child, found)

    def may_write(self, stmt: Assign) -> bool:
        name = stmt.tensor
        attrs = [*self.symbols.int_attrs, *self.symbols.float_attrs, *self.symbols.bool_attrs, *self.symbols.string_attrs]
        if name in self.symbols.tensors and self.symbols.tensors[name].role == "input":
            self.report(stmt.span, "an input is not assigned", f"'{name}'", "an output or a new name")
            return False
        if name in attrs or name in self.symbols.ints or name in {r.name for _, r in self.loops}:
            self.report(stmt.span, "an attribute, size or loop variable is not assigned", f"'{name}'", "an output or a new name")
            return False
        if name not in self.symbols.tensors:
            why = bad_identifier(name)
            if why is not None:
                self.report(stmt.span, f"the name of an intermediate {why}", f"'{name}'", "another name")
        return True

    def name_axes(self, found: Inference, stmt: Assign) -> None:
        for axis in [*found.left.values(), *(a for group in found.bound.values() for a in group)]:
            why = bad_identifier(axis.name)
            if why is not None:
                self.report(axis.span, f"the name of an axis {why}", f"'{axis.name}'", "another name")
            if axis.name in self.symbols.ints or axis.name in {r.name for _, r in self.loops}:
                self.report(axis.span, "an axis has the name of a size or loop variable", f"'{axis.name}'", "another name")
            elif axis.name in self.symbols.float_attrs or axis.name in self.symbols.bool_attrs:
                self.report(axis.span, "an axis has the name of an attribute", f"'{axis.name}'", "another name")
            if axis.given is not None:
                for name in sorted(axis.given.free() - set(self.symbols.dims) - set(self.symbols.int_attrs)):
                    self.report(
                        axis.span, "an axis' extent names an unknown size", f"'{name}'", did_you_mean(name, self.symbols.ints, "sizes")
                    )

    def extent_of(self, stmt: Assign, at: int, axes: Sequence[Bound]) -> IntExpr:
        """The extent of dim ``at`` of a local tensor, from its first assignment."""
        return self._extent(stmt.indices[at], {a.name: a.extent for a in axes if a.extent is not None}, stmt, at)

    def _extent(self, index: object, extents: dict[str, IntExpr], stmt: Assign, at: int) -> IntExpr:
        if isinstance(index, Pack):
            return sym(pack_dim(index.name))
        if isinstance(index, Segment):
            info = self.symbols.segments.get(index.name)
            return info.total if info is not None else const(1)
        if isinstance(index, Product):
            return product(self._extent(p, extents, stmt, at) for p in index.parts)
        if isinstance(index, IntExpr):
            if index.symbol is not None and index.symbol in extents:
                return extents[index.symbol]
            height = self.heights.get((stmt.tensor, at))
            if height is not None:
                return height
            top = self.here().with_ranges(Range(n, const(0), e - 1) for n, e in extents.items()).highest(index)
            if top is not None and not top.free() & {r.name for _, r in self.loops}:
                return top + 1
        self.report(
            _spot(stmt, at), f"the extent of dim {at} of '{stmt.tensor}' is not known", "", "an axis, or a constant or loop variable"
        )
        return const(1)

    def types(self, stmt: Assign, value: object, known: Tensor) -> None:
        kind = kind_of(value, {**self.tensors, stmt.tensor: known}, set(self.symbols.bool_attrs), self.report)  # type: ignore[arg-type]
        if known.role == "local":
            if stmt.tensor not in self.tensors:
                self.tensors[stmt.tensor] = replace(known, kind=strong(kind))
                return
            known = self.tensors[stmt.tensor]
        if kind != known.kind and kind != "weak":
            right = {"float": "cast(..., float32)", "int": "cast(..., int32)", "bool": "a comparison"}[known.kind]
            self.report(stmt.span, f"'{stmt.tensor}' holds {known.kind} values", f"the right side is {kind}", right)
        elif kind == "weak" and known.kind == "bool":
            self.report(stmt.span, f"'{stmt.tensor}' holds bool values", "the right side is a number", "a comparison")

    def inside(self, stmt: Assign, at: int, index: object, known: Tensor, facts: Facts) -> None:
        span = _spot(stmt, at)
        if isinstance(index, Gather):
            self.report(span, "a data-dependent index is not allowed on the left side", "", "an axis; gather on the right side")
            return
        if not isinstance(index, IntExpr):
            return
        extent = known.shape[at]
        for fine, side in ((facts.nonnegative(index), "negative"), (facts.less(index, extent), f"{extent} or more")):
            if not fine:
                self.report(
                    span,
                    f"the index of dim {at} of '{stmt.tensor}' is not proved to stay inside",
                    f"{index} can be {side}",
                    f"0 .. {extent} - 1",
                )

    def remember(self, stmt: Assign, known: Tensor, indices: Sequence[object], axes: Sequence[Bound]) -> None:
        affine = tuple(i for i in indices if isinstance(i, IntExpr))
        ranges = tuple(Range(a.name, const(0), a.extent - 1) for a in axes if a.extent is not None)
        write = Write(affine, tuple(r for _, r in self.loops), ranges, {f.var: f.step for f, _ in self.loops}, stmt.span)
        life = self.lives.setdefault(stmt.tensor, _Life())
        life.stores.append(_Store(write, self.order, stmt.span))
        life.defined = True

    # reads ------------------------------------------------------------------------------------------------------
    def readable(self, e: Load) -> Tensor | None:
        """The tensor a load reads, or None after a report."""
        tensor, life = self.tensors.get(e.tensor), self.lives.get(e.tensor)
        if tensor is None or life is None:
            if life is not None:
                return None  # its own statement was reported
            if e.tensor in self.written:
                self.report(e.span, "the tensor is read before it is written", f"'{e.tensor}'", "an assignment above this line")
            else:
                self.report(e.span, "the tensor is not defined", f"'{e.tensor}'", did_you_mean(e.tensor, self.tensors, "tensors"))
            return None
        if not life.defined:
            if life.maybe is not None:
                self.report(
                    e.span,
                    "the tensor may be unwritten: it is assigned only in a loop that may not run",
                    f"'{e.tensor}'",
                    "an assignment before the loop",
                )
            else:
                self.report(e.span, "the tensor is read before it is written", f"'{e.tensor}'", "an assignment above this line")
        if tensor.optional and tensor.role == "input" and tensor.fill is None:
            self.report(e.span, "an optional input is read", f"'{e.tensor}'", "'fill:' in its parameter, the value when it is not given")
        if life.first_read is None:
            life.first_read = self.order
        return tensor

    # rules of assignment ----------------------------------------------------------------------------------------
    def finish(self) -> None:
        for at, p in enumerate(self.spec.params):
            tensor = self.symbols.tensors.get(p.symbol)
            if tensor is not None and tensor.flat is not None and not self.facts.at_most(product(tensor.shape), tensor.flat.size):
                where = self.source.at("params", at, "flat", "size")
                said = f"{tensor.flat.size} for {product(tensor.shape)} mapped elements"
                self.problems.append(
                    self.source.problem(where, "the buffer is not proved to hold what its axes map", said, "a size that is never smaller")
                )
            if tensor is not None and tensor.role == "output" and p.symbol not in self.written:
                where = self.source.at("params", at, "symbol")
                self.problems.append(
                    self.source.problem(
                        where, "the output is never written", f"'{p.symbol}'", f"a statement {p.symbol}[...] = ... in the formula"
                    )
                )
        for name, life in self.lives.items():
            if life.stores and life.known_kind is None:
                self.judge(self.tensors[name], life)

    def judge(self, tensor: Tensor, life: _Life) -> None:
        carried = [s for s in life.stores if any(not any(r.name in i.free() for i in s.write.indices) for r in s.write.loops)]
        if carried:
            if tensor.role == "output":
                self.report(
                    carried[0].span,
                    "an output is stored once, but this loop stores it again and again",
                    f"'{tensor.name}'",
                    "a local tensor carried by the loop, stored after it",
                )
                return
            first = life.first_read if life.first_read is not None else life.stores[0].order
            early = [s.write for s in life.stores if s.order < first] or [life.stores[0].write]
            missing = complete(early, tensor.shape, self.facts)
            if missing is not None and tensor.fill is None:
                self.report(
                    life.stores[0].span,
                    "the tensor is not wholly written before it is read",
                    f"'{tensor.name}': {missing}",
                    "an assignment of every element first",
                )
            return
        for at, store in enumerate(life.stores):
            name = overlaps_itself(store.write, self.facts)
            if name is not None:
                self.report(
                    store.span,
                    "one statement writes an element twice",
                    f"'{tensor.name}', for different values of '{name}'",
                    f"indices that differ when '{name}' does",
                )
            for other in life.stores[:at]:
                if overlap(other.write, store.write, self.facts):
                    line = f" (line {other.span.line})" if other.span is not None else ""
                    self.report(
                        store.span,
                        "the tensor is written twice",
                        f"'{tensor.name}'{line}",
                        "disjoint indices, or a tensor carried by a loop",
                    )
        if tensor.flat is None and tensor.fill is None:
            missing = complete([s.write for s in life.stores], tensor.shape, self.facts)
            if missing is not None:
                self.report(
                    life.stores[-1].span,
                    "the tensor is only partly written",
                    f"'{tensor.name}': {missing}",
                    "writes that cover every element, or 'fill:'",
                )


def _range(stmt: For) -> Range:
    """The values of the loop's variable."""
    return Range(stmt.var, stmt.start, stmt.stop - 1) if stmt.step > 0 else Range(stmt.var, stmt.stop + 1, stmt.start)


def _spot(stmt: Assign, at: int) -> Span | None:
    return stmt.spots[at] if at < len(stmt.spots) else stmt.span


def _assigns(body: Iterable[Stmt]) -> Iterable[Assign]:
    for stmt in body:
        if isinstance(stmt, For):
            yield from _assigns(stmt.body)
        else:
            yield stmt
