"""Tiles: values that live in UB, the buffers they occupy, and the context in which one stage is lowered.

A tile is a dense array over ordered dims; the last dim is padded to the stage's alignment (its *pitch*), so that
every row starts on a 32-byte block and whole-tile instructions may run over the padding.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

from generator.formula.ir import Span
from generator.plan.tree import Access, Alloc, Arg, Buffer, Call, Cond, CType, DeQue, EnQue, Free, Get, If, Let, Local, Loop, Node
from generator.spec.integer import IntExpr, const, max_of, product, round_up, sym

__all__ = ["BLOCK_COUNT", "ROW_LIMIT", "SIZES", "Context", "Dim", "Refusal", "Tile", "TooManyBuffers", "View"]

SIZES: Mapping[CType, int] = {
    "float": 4, "int32_t": 4, "uint32_t": 4, "half": 2, "bfloat16_t": 2, "int16_t": 2, "uint16_t": 2,
    "int64_t": 8, "uint8_t": 1, "int8_t": 1,
}  # fmt: skip


class Refusal(Exception):  # noqa: N818 - an answer, not a fault
    """The planner cannot plan a formula; the message says which construct and why, ``span`` where it stands."""

    def __init__(self, message: str, span: Span | None = None) -> None:
        super().__init__(message)
        self.span = span


BUFFERS = 64  # of one TPipe (facts.md C.2)
BLOCK_COUNT = 4095  # DataCopyPad's blockCount (facts.md B.3)
ROW_LIMIT = BLOCK_COUNT  # rows of one tile: one DataCopyPad moves them


class TooManyBuffers(Refusal):
    """More queue buffers alive at once than the position has event ids, or more buffers than a TPipe takes."""


@dataclass(frozen=True, slots=True)
class Dim:
    """One dim of a tile: ``cur`` is the extent of this tile, ``cap`` the largest extent any tile has."""

    key: str
    cur: IntExpr
    cap: IntExpr
    most: int | None = None  # a proved upper bound
    least: int = 1  # a proved lower bound
    whole: IntExpr | None = None  # the axis' full extent, of which a tile holds ``cur``
    quantum: int = 1  # ``cap`` is a multiple of this
    padded: tuple[int, IntExpr] | None = None  # an alignment, and ``cur`` rounded up to it

    def pitch(self, align: int) -> IntExpr:
        """``cur`` rounded up to ``align``."""
        if self.padded is not None and self.padded[0] == align:
            return self.padded[1]
        return round_up(self.cur, align)

    @property
    def extent(self) -> IntExpr:
        return self.cap if self.whole is None else self.whole


@dataclass(frozen=True, slots=True)
class Tile:
    """A tile in UB. ``name`` is the C++ variable; ``slot`` the TBuf it occupies (None for queue buffers)."""

    name: str
    ctype: CType
    dims: tuple[Dim, ...]
    align: int
    slot: str | None = None
    temporary: bool = False
    declared: CType = "float"

    @property
    def pitch(self) -> IntExpr:
        return self.dims[-1].pitch(self.align) if self.dims else const(self.align)

    @property
    def rows(self) -> tuple[Dim, ...]:
        return self.dims[:-1]

    @property
    def last(self) -> str | None:
        return self.dims[-1].key if self.dims else None

    def stride(self, position: int) -> IntExpr:
        """Elements between neighbours along dim ``position``."""
        if position == len(self.dims) - 1:
            return const(1)
        return product(d.cur for d in self.dims[position + 1 : -1]) * self.pitch

    @property
    def count(self) -> IntExpr:
        """All elements, padding included."""
        return product(d.cur for d in self.rows) * self.pitch

    def view(self) -> View:
        return View(self, tuple(sym(d.key) for d in self.rows))

    def access(self, index: Sequence[IntExpr | None] | None = None) -> Access:
        """``index`` per row dim; None for the whole tile. Two more entries, column and part, tell pieces of a row apart."""
        layout = self.name + ":" + ",".join(d.key for d in self.dims)
        rows = tuple(index) if index is not None else (None,) * len(self.rows)
        return Access(self.slot or self.name, layout, (*rows, None, None))

    def at(self, offset: IntExpr | int = 0, ctype: CType | None = None) -> Local:
        return Local(self.name, offset if isinstance(offset, IntExpr) else const(offset), ctype or self.ctype, self.declared)


@dataclass(frozen=True, slots=True)
class View:
    """A tile whose row dims are indexed by integer expressions (axis symbols are loop variables by name)."""

    tile: Tile
    index: tuple[IntExpr, ...]

    def axes(self) -> frozenset[str]:
        """The axes the view varies over: those its row indices move with, and the last dim."""
        used = frozenset(n for i in self.index for n in i.free())
        return used | ({self.tile.last} if self.tile.last is not None else frozenset())


def capacity(dims: Sequence[Dim], align: int, ctype: CType) -> IntExpr:
    """Bytes a tile of these dims needs at most."""
    if not dims:
        pitch: IntExpr = const(align)
    elif dims[-1].quantum % align == 0:
        pitch = dims[-1].cap
    else:
        pitch = round_up(dims[-1].cap, align)
    size = product(d.cap for d in dims[:-1]) * pitch * SIZES[ctype]
    return size if align * SIZES[ctype] % 32 == 0 else round_up(size, 32)


@dataclass
class Context:
    """The state of lowering one stage: the node list being filled, UB slots, queues and names."""

    align: int
    order: list[str] = field(default_factory=list)  # stage axes, outermost first; the lane last
    axis: dict[str, Dim] = field(default_factory=dict)  # extents of the axes held inside a tile
    starts: dict[str, IntExpr] = field(default_factory=dict)  # tiled axes: where this tile starts
    names: set[str] = field(default_factory=set)
    frames: list[Frame] = field(default_factory=lambda: [Frame()])
    tables: dict[object, tuple[Tile, Frame]] = field(default_factory=dict)
    free_slots: dict[IntExpr, list[str]] = field(default_factory=dict)
    slots: dict[str, IntExpr] = field(default_factory=dict)
    slot_holds: dict[str, str] = field(default_factory=dict)
    queues: dict[str, Queue] = field(default_factory=dict)
    pins: dict[str, int] = field(default_factory=dict)
    selects: bool = False
    frugal: bool = False  # tiles of any size share a TBuf: a stage would have too many buffers otherwise
    homes: dict[str, Frame] = field(default_factory=dict)  # loaded tiles, which do not change: the frame where they are
    derived: dict[tuple[str, str], tuple[Tile, Frame]] = field(default_factory=dict)  # by kind, of such tiles, kept as long
    held: bool = False  # what is loaded now serves many turns of the innermost loop: one buffer is enough
    spill: bool = False  # loads move to TBufs at once: too many queue buffers would be alive otherwise

    def dims_of(self, axes: Iterable[str]) -> tuple[Dim, ...]:
        """The tile dims for these axes, in stage order."""
        wanted = set(axes)
        return tuple(self.axis[a] for a in self.order if a in wanted and a in self.axis)

    # names ------------------------------------------------------------------------------------------------------
    def fresh(self, hint: str) -> str:
        name, k = hint, 0
        while name in self.names:
            k += 1
            name = f"{hint}{k}"
        self.names.add(name)
        return name

    # nodes ------------------------------------------------------------------------------------------------------
    def emit(self, node: Node) -> None:
        self.nodes.append(node)

    @property
    def nodes(self) -> list[Node]:
        return self.frames[-1].nodes

    @contextmanager
    def collect(self, *variables: str) -> Iterator[list[Node]]:
        """Nodes emitted inside go to a new list, in which ``variables`` are declared."""
        frame = Frame(variables=set(variables))
        self.frames.append(frame)
        try:
            yield frame.nodes
        finally:
            self.frames.pop()

    @contextmanager
    def hoisted(self, free: Iterable[str]) -> Iterator[Frame]:
        """Emit before everything that does not depend on ``free``: at the end of the outermost frame that knows them all."""
        wanted = set(free)
        with self.at(self.frames[max((k for k, f in enumerate(self.frames) if wanted & f.variables), default=0)]) as frame:
            yield frame

    @contextmanager
    def at(self, frame: Frame) -> Iterator[Frame]:
        """Emit at the end of an open frame."""
        saved, self.frames = self.frames, self.frames[: self.frames.index(frame) + 1]
        try:
            yield frame
        finally:
            self.frames = saved

    @contextmanager
    def loop(self, var: str, start: IntExpr | int, stop: IntExpr, step: IntExpr | int = 1, comment: str | None = None) -> Iterator[None]:
        with self.collect(var) as body:
            yield
        if body:
            self.emit(Loop(var, _int(start), stop, _int(step), tuple(body), comment))

    def earlier(self, src: Tile) -> Frame | None:
        """The frame where a tile was loaded, when loops have been opened since."""
        home = self.homes.get(src.name)
        return None if home is self.frames[-1] else home

    def at_home(self, kind: str, src: Tile, make: Callable[[bool], Tile]) -> Tile:
        """What ``make`` makes of a tile: of what was loaded before the loops that are open now, before them, once (``make`` is told so)."""
        home = self.earlier(src)
        if home is None:
            return make(False)
        known = self.derived.get((kind, src.name))
        if known is None or known[1] not in self.frames:
            with self.at(home):
                known = self.derived[kind, src.name] = (make(True), home)
            self.homes[known[0].name] = home
        return known[0]

    def let(self, hint: str, value: IntExpr) -> IntExpr:
        """A named local, or the value itself when it is a constant or a symbol."""
        if value.value is not None or value.is_symbol:
            return value
        name = self.fresh(hint)
        self.emit(Let(name, value))
        self.frames[-1].variables.add(name)
        return sym(name)

    def branch(self, conds: Sequence[Cond], then: list[Node], orelse: list[Node]) -> None:
        live = [c for c in conds if decide(c) is not True]
        if any(decide(c) is False for c in conds):
            self.nodes.extend(orelse)
        elif not live:
            self.nodes.extend(then)
        else:
            self.emit(If(tuple(live), tuple(then), tuple(orelse)))

    @contextmanager
    def lasting(self) -> Iterator[None]:
        """Loads made inside stay for a whole loop that follows."""
        self.held = True
        try:
            yield
        finally:
            self.held = False

    # UB slots -----------------------------------------------------------------------------------------------------
    def tile(
        self, hint: str, dims: Sequence[Dim], *, temporary: bool = True, ctype: CType = "float",
        extra: IntExpr | int = 0, align: int | None = None, own: bool = False,
    ) -> Tile:  # fmt: skip
        """A new tile in a TBuf slot of the right length; ``extra`` adds bytes. ``own``: a slot nothing used before, for a
        tile filled outside the loops whose earlier instructions are already there."""
        align = self.align if align is None else align
        need = capacity(dims, align, ctype) + extra
        pool = self.free_slots.setdefault(need, [])
        slot = pool.pop() if pool and not own else None if own else self._grown(need)
        if slot is None:
            slot = self._new_slot(need, hint)
        name = self.fresh(hint)
        self.emit(Get(slot, name, ctype))
        return Tile(name, ctype, tuple(dims), align, slot, temporary, ctype)

    def _grown(self, need: IntExpr) -> str | None:
        """A free slot made long enough, when slots are to be few."""
        if not self.frugal:
            return None
        pool = next((p for p in self.free_slots.values() if p), None)
        if pool is None:
            return None
        slot = pool.pop()
        self.slots[slot] = merge_max(self.slots[slot], need)
        return slot

    def _new_slot(self, need: IntExpr, hint: str) -> str:
        slot = f"calc{len(self.slots)}"
        self.slots[slot] = need
        self.slot_holds[slot] = hint
        return slot

    def release(self, tile: Tile) -> None:
        """Give the slot back (unless pinned)."""
        if tile.slot is not None and not self.pins.get(tile.name):
            pool = self.free_slots.setdefault(self.slots[tile.slot], [])
            assert tile.slot not in pool, f"{tile.name} is released twice"
            pool.append(tile.slot)

    def drop(self, *tiles: Tile) -> None:
        """Release the temporaries among ``tiles`` (each once)."""
        seen: set[str] = set()
        for t in tiles:
            if t.temporary and t.name not in seen and not self.pins.get(t.name):
                seen.add(t.name)
                self.release(t)

    @contextmanager
    def pinned(self, tiles: Sequence[Tile]) -> Iterator[None]:
        for t in tiles:
            self.pins[t.name] = self.pins.get(t.name, 0) + 1
        try:
            yield
        finally:
            for t in tiles:
                self.pins[t.name] -= 1

    # queues ---------------------------------------------------------------------------------------------------------
    def alloc(self, kind: str, hint: str, dims: Sequence[Dim], ctype: CType, need: IntExpr, align: int) -> Tile:
        """A buffer of the queue for buffers of this length, allocated for filling."""
        queue = next((q for q in self.queues.values() if q.kind == kind and q.need == need), None)
        if queue is None:
            number = sum(1 for q in self.queues.values() if q.kind == kind)
            queue = Queue(f"{'in' if kind == 'vecin' else 'out'}{number}", kind, need, hint)
            self.queues[queue.name] = queue
        queue.live += 1
        queue.most = max(queue.most, queue.live)
        queue.streamed |= len(self.frames) > 1 and not self.held
        name = self.fresh(hint)
        self.emit(Alloc(queue.name, name, ctype))
        queue.owner[name] = queue.name
        return Tile(name, ctype, tuple(dims), align, None, False, ctype)

    def queue_of(self, tile: Tile) -> Queue:
        return next(q for q in self.queues.values() if tile.name in q.owner)

    def hand_over(self, tile: Tile) -> None:
        """EnQue by the filling pipe, DeQue by the using one."""
        q = self.queue_of(tile)
        self.emit(EnQue(q.name, tile.name))
        self.emit(DeQue(q.name, tile.name, tile.ctype))

    def free(self, tile: Tile) -> None:
        q = self.queue_of(tile)
        self.emit(Free(q.name, tile.name))
        q.live -= 1

    # instructions -----------------------------------------------------------------------------------------------------
    def call(self, api: str, args: Sequence[Arg], reads: Sequence[Access], writes: Sequence[Access], template: Sequence[str] = ()) -> None:
        """One vector instruction."""
        self.emit(Call(api, tuple(args), "V", tuple(template), None, tuple(reads), tuple(writes)))


@dataclass(eq=False)
class Frame:
    """One open node list and the locals declared in it."""

    nodes: list[Node] = field(default_factory=list)
    variables: set[str] = field(default_factory=set)


@dataclass
class Queue:
    """One TQue under construction: how many of its buffers are ever alive at once decides its copies."""

    name: str
    kind: str
    need: IntExpr
    holds: str
    live: int = 0
    most: int = 0
    streamed: bool = False  # filled again and again, in a loop
    owner: dict[str, str] = field(default_factory=dict)


def _int(v: IntExpr | int) -> IntExpr:
    return v if isinstance(v, IntExpr) else const(v)


def decide(c: Cond) -> bool | None:
    """The truth of a condition when its difference is a constant, else None."""
    d = (c.a - c.b).value
    if d is None:
        return None
    return {"<": d < 0, "<=": d <= 0, ">": d > 0, ">=": d >= 0, "==": d == 0, "!=": d != 0}[c.op]


def merge_max(a: IntExpr, b: IntExpr) -> IntExpr:
    """max(a, b), folding the equal case."""
    return a if a == b else max_of(a, b)


def finished(ctx: Context, event_budget: int = 8) -> tuple[Buffer, ...]:
    """The stage's buffers. Each queue gets one copy per buffer alive at once, and one more for double buffering
    where it is filled in a loop, while the position's event ids (8, facts.md C.2) allow."""
    out: list[Buffer] = []
    for kind in ("vecin", "vecout"):
        queues = [q for q in ctx.queues.values() if q.kind == kind]
        alive = sum(q.most for q in queues)
        if alive > event_budget:
            raise TooManyBuffers(f"a stage keeps {alive} {kind} buffers alive at once, the device has {event_budget} event ids")
        copies = {q.name: q.most for q in queues}
        for q in queues:
            if q.streamed and sum(copies.values()) < event_budget:
                copies[q.name] += 1
        out += [Buffer(q.name, "vecin" if kind == "vecin" else "vecout", q.need, copies[q.name], q.holds) for q in queues]
    out += [Buffer(name, "calc", need, 1, ctx.slot_holds[name]) for name, need in ctx.slots.items()]
    count = sum(b.copies for b in out)
    if count > BUFFERS:
        raise TooManyBuffers(f"a stage has {count} buffers, a kernel may have {BUFFERS}")
    return tuple(out)


def with_index(view: View, position: int, value: IntExpr) -> View:
    """The view with one row index replaced."""
    return replace(view, index=(*view.index[:position], value, *view.index[position + 1 :]))
