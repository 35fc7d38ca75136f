"""One stage: from statements with roles to buffers, tile sizes and a tree of instructions.

The skeleton is a loop over this core's share of the work items (outer axes x row tiles x lane tiles), with the row tiles
innermost where some load serves several of them; inside, the statements run on tiles, for each value of small axes the
tile covers, in passes where some axis is walked.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, TypeVar

from generator.formula.ir import Binary, Bound, Call, Cast, Compare, Logic, Not, Num, Where
from generator.formula.walk import loads, symbols, walk
from generator.plan import tree
from generator.plan.axes import flat
from generator.plan.body import Body
from generator.plan.bounds import Bounds
from generator.plan.hazards import insert_barriers
from generator.plan.memory import GmRef
from generator.plan.normal import NStmt, Red, extent_of
from generator.plan.passes import run_passes
from generator.plan.prune import prune
from generator.plan.roles import Roles
from generator.plan.rules import needs_compare
from generator.plan.schedule import Group
from generator.plan.tiles import ROW_LIMIT, SIZES, TooManyBuffers, finished
from generator.plan.tree import Access, Buffer, Cond, Float, FloatConst, Get, If, Int, Node, Stage, TileParam
from generator.spec.integer import IntExpr, ceil_div, const, floor_div, max_of, min_of, mod, product, sym

__all__ = ["BuiltStage", "build_stage", "stage_ledger"]

LEAST_LANES: Final = 64  # one repeat: fewer lanes cost the same instruction time and shorter transfers (facts.md E.3, E.5)
MANY_ROWS: Final = 64  # rows beside which a wider tile saves no instruction: their start is hidden (facts.md E.3: 24 repeats and more)

T = TypeVar("T")
_Tiled = tuple[Bound, IntExpr, IntExpr]  # an axis, its tile, the number of its tiles


@dataclass(frozen=True)
class BuiltStage:
    """A stage with the tiling fields it needs, and the number of cores it keeps busy."""

    stage: Stage
    fields: tuple[tuple[str, IntExpr], ...]
    cores: IntExpr


def stage_align(statements: Sequence[NStmt], gms: Mapping[str, GmRef]) -> int:
    """Elements every row of a tile is a multiple of: one 32-byte block of the narrowest type moved, or 64 where
    Compare needs 256 bytes of float."""
    align = 8
    for s in flat(statements):
        for t in [s.target, *(ld.tensor for ld in loads(s.value))]:
            if t in gms:
                align = max(align, 32 // SIZES[gms[t].ctype])
        if isinstance(s, Red) and s.op in ("argmax", "argmin"):
            align = max(align, 64)
        for e in walk(s.value):
            match e:
                case Where() | Compare() | Logic() | Not():
                    align = max(align, 64)
                case Call(fn=fn) if needs_compare(fn):
                    align = max(align, 64)
                case Binary(op="pow", b=b) if not isinstance(b, Num):
                    align = max(align, 64)
                case Cast(dtype="float16" | "bfloat16" | "int16"):
                    align = max(align, 16)
                case _:
                    pass
    return align


class _StageBuilder(Body):
    """A stage under construction: the work loop around the statements' lowering."""

    def __init__(
        self, name: str, group: Group, roles: Roles, gms: Mapping[str, GmRef], bounds: Bounds,
        args: tuple[str, ...], shapes: Mapping[str, tuple[IntExpr, ...]],
    ) -> None:  # fmt: skip
        super().__init__(name, group, roles, gms, bounds, args, stage_align(group.statements, gms), shapes)
        self.fields: list[tuple[str, IntExpr]] = []

    # the work loop ------------------------------------------------------------------------------------------------------
    def nodes(self) -> tuple[tuple[Node, ...], IntExpr]:
        """Everything but barriers and what pruning removes, and the number of cores it keeps busy."""
        self.setup_axes()
        ctx, r = self.ctx, self.roles
        work, tiled = self.work_items()
        per = f"{self.name}Per"
        total = f"{self.name}Work"
        self.fields += [(total, work), (per, max_of(ceil_div(sym(total), sym("coreNum")), 1))]
        with self.scope(set()):
            self.load_needed(self.group.statements)
            updates = {key.tensor for key in self.scopes[-1].loaded} & {s.target for s in flat(self.group.statements)}
            first = sym("blockIdx") * sym(per)
            last = min_of(sym(total), first + sym(per))
            if self.lasting():
                self.rows_inside(first, last, tiled)
            else:
                item = ctx.fresh("item")
                with ctx.loop(item, first, last), self.scope(self.decode(sym(item), tiled, r.outer)):
                    self.tile_body()
            self.free_loads(self.scopes[-1])
        body = tuple(ctx.frames[0].nodes)
        if updates:  # a core without work must not read what another one is about to write
            body = (If((Cond("<", first, sym(total)),), body),)
        return tuple(self.prologue()) + body, ceil_div(sym(total), sym(per))

    def build(self, title: str) -> BuiltStage:
        nodes, cores = self.nodes()
        stage = Stage(
            name=self.name, title=title, args=self.args, buffers=finished(self.ctx), tiles=tuple(self.tiles),
            body=insert_barriers(prune(nodes, self.bounds.known)), reserve_select=self.ctx.selects,
        )  # fmt: skip
        return BuiltStage(stage, tuple(self.fields), cores)

    def ledger(self) -> tuple[tuple[Buffer, ...], tuple[TileParam, ...]]:
        """The buffers and tiles alone."""
        self.nodes()
        return finished(self.ctx), tuple(self.tiles)

    def tile_body(self) -> None:
        """The statements, for the tile whose starts are known."""
        if self.roles.walked:
            run_passes(self)
        elif self.roles.inner:
            self.load_needed(self.group.statements)
            held = {b.name: self.ctx.axis.pop(b.name) for b in self.roles.inner}
            self.inner_loops(self.roles.inner, set())
            self.ctx.axis.update(held)
            self.free_loads(self.scopes[-1])
        else:
            self.block(self.group.statements, set())

    def inner_loops(self, axes: Sequence[Bound], names: set[str]) -> None:
        """The statements, for each value of the small axes that a tile covers."""
        if axes:
            with self.ctx.loop(axes[0].name, 0, extent_of(axes[0])):
                self.inner_loops(axes[1:], names | {axes[0].name})
            return
        with self.scope(names):
            self.block(self.group.statements, set())

    def lasting(self) -> bool:
        """Some load serves every row tile of the same outer axes and lane tile."""
        r = self.roles
        lane = {r.lane.name} if r.lane is not None and r.lane_mode == "tile" else set()
        if r.row is None or not (lane or r.outer):
            return False
        known = lane | {b.name for b in r.outer}
        inner = {b.name for b in r.inner}
        used = [(symbols(key) & self.variables) - inner for key in self.keys(self.group.statements)]
        return any(u and u <= known for u in used)

    def rows_inside(self, first: IntExpr, last: IntExpr, tiled: list[_Tiled]) -> None:
        """This core's items with the row tiles innermost: what does not move along the rows is loaded once for all of them."""
        ctx, r = self.ctx, self.roles
        row = next(t for t in tiled if t[0] is r.row)
        number = row[2]
        strip, tile = sym(ctx.fresh("strip")), sym(ctx.fresh("tile"))
        first, last = ctx.let("firstItem", first), ctx.let("lastItem", last)
        apart = [t for t in tiled if t is not row]
        with ctx.loop(str(strip), floor_div(first, number), ceil_div(last, number)), self.scope(self.decode(strip, apart, r.outer)):
            with ctx.lasting():
                self.load_needed(self.group.statements)
            begin, end = max_of(first - strip * number, 0), min_of(number, last - strip * number)
            with ctx.loop(str(tile), begin, end), self.scope(self.decode(tile, [row], ())):
                self.tile_body()
            self.free_loads(self.scopes[-1])

    def prologue(self) -> list[Node]:
        """Where rows are padded beyond what a copy defines, every TBuf starts as zeros once."""
        if self.ctx.align <= 8:
            return []
        out: list[Node] = []
        for slot, need in self.ctx.slots.items():
            name = self.ctx.fresh(f"{slot}Zero")
            out.append(Get(slot, name, "float"))
            target = tree.Local(name, const(0), "float", "float")
            args = (target, Float(FloatConst(0.0)), Int(floor_div(need, 4)))
            out.append(tree.Call("Duplicate", args, "V", ("float",), None, (), (Access(slot, "zero", ()),)))
        return out

    def work_items(self) -> tuple[IntExpr, list[_Tiled]]:
        """(number of items, tiled axes innermost first as (axis, tile, number of tiles))."""
        r = self.roles
        outer = product(extent_of(b) for b in r.outer)
        tiled: list[_Tiled] = []
        count = outer
        if r.lane is not None and r.lane_mode in ("tile", "chunk"):
            tile = f"{self.name}{_camel(r.lane.name)}Tile"
            others = outer * (extent_of(r.row) if r.row is not None else 1)
            share = max_of(ceil_div(extent_of(r.lane) * others, sym("coreNum")), LEAST_LANES)
            balance = min_of(share, self.narrow(r.lane)) if r.lane_mode == "tile" else None
            self.tiles.append(TileParam(tile, extent_of(r.lane), self.ctx.align, balance))
            if r.lane_mode == "tile":
                number = f"{self.name}{_camel(r.lane.name)}Tiles"
                self.fields.append((number, ceil_div(extent_of(r.lane), sym(tile))))
                tiled.append((r.lane, sym(tile), sym(number)))
                count = count * sym(number)
        if r.row is not None:
            tile = f"{self.name}{_camel(r.row.name)}Tile"
            extent = extent_of(r.row)
            self.tiles.append(TileParam(tile, min_of(extent, ROW_LIMIT), 1, ceil_div(extent * count, sym("coreNum")), whole=extent))
            number = f"{self.name}{_camel(r.row.name)}Tiles"
            self.fields.append((number, ceil_div(extent_of(r.row), sym(tile))))
            tiled.append((r.row, sym(tile), sym(number)))
            count = count * sym(number)
        for b in r.seq:
            if b.name == r.strip:
                self.strip_tile = f"{self.name}{_camel(b.name)}Tile"
                self.tiles.append(TileParam(self.strip_tile, min_of(extent_of(b), ROW_LIMIT), 1))
        return count, tiled

    def narrow(self, lane: Bound) -> IntExpr:
        """How many lanes leave room for rows, where rows are the repeats of instructions, because values are spread along rows or
        products added up row by row: as few as two repeats take, more where there are not many rows; any number elsewhere."""
        row = self.roles.row
        if row is None:
            return extent_of(lane)
        for s in flat(self.group.statements):
            if not {row.name, lane.name} <= {b.name for b in s.axes}:
                continue
            spread = any(row.name in symbols(ld) and lane.name not in symbols(ld) for ld in loads(s.value))
            if spread or (isinstance(s, Red) and self.addable(s, [b.name for b in s.reduced]) is not None):
                return max_of(ceil_div(const(MANY_ROWS * 2 * LEAST_LANES), extent_of(row)), 2 * LEAST_LANES)
        return extent_of(lane)

    def decode(self, item: IntExpr, tiled: Sequence[_Tiled], outer: Sequence[Bound]) -> set[str]:
        """Locals for the tile starts and the outer axes of one work item; the names it introduces."""
        ctx = self.ctx
        rest = item
        names: set[str] = set()
        parts: list[tuple[Bound, IntExpr | None, IntExpr]] = [(b, t, n) for b, t, n in tiled]
        parts += [(b, None, extent_of(b)) for b in reversed(outer)]
        for k, (b, tile, number) in enumerate(parts):
            digit = rest if k == len(parts) - 1 else mod(rest, number)
            if tile is None:
                ctx.emit(tree.Let(b.name, digit))
                ctx.frames[-1].variables.add(b.name)
                names.add(b.name)
            else:
                start = self.local(f"{b.name}Start", digit * tile)
                cur = self.local(f"{b.name}Count", min_of(tile, extent_of(b) - start))
                ctx.starts[b.name] = start
                limit = ROW_LIMIT if b is self.roles.row else None
                held = self.dim(b, cur, tile, limit)
                if b is not self.roles.row:
                    held = self.lane_dim(held)
                ctx.axis[b.name] = held
                names |= {b.name, *start.free(), *cur.free(), *(held.padded[1].free() if held.padded else ())}
            if k != len(parts) - 1:
                rest = floor_div(rest, number)
        return names

def _camel(name: str) -> str:
    return "".join(p[:1].upper() + p[1:] for p in name.split("_") if p)


def build_stage(
    name: str, title: str, group: Group, roles: Roles, gms: Mapping[str, GmRef], bounds: Bounds,
    args: tuple[str, ...], shapes: Mapping[str, tuple[IntExpr, ...]],
) -> BuiltStage:  # fmt: skip
    """Lower one group. ``gms`` has the tensors it touches that live in global memory, ``shapes`` those of local tensors;
    ``args`` are the kernel-level loop variables in scope."""
    return _tried(lambda: _StageBuilder(name, group, roles, gms, bounds, args, shapes), lambda b: b.build(title))


def stage_ledger(
    group: Group, roles: Roles, gms: Mapping[str, GmRef], bounds: Bounds, shapes: Mapping[str, tuple[IntExpr, ...]]
) -> tuple[tuple[Buffer, ...], tuple[TileParam, ...]]:
    """The buffers a stage of the group would have, and its tiles."""
    return _tried(lambda: _StageBuilder("trial", group, roles, gms, bounds, (), shapes), _StageBuilder.ledger)


def _tried(make: Callable[[], _StageBuilder], use: Callable[[_StageBuilder], T]) -> T:
    """Once more with few buffers where there are too many."""
    try:
        return use(make())
    except TooManyBuffers:
        builder = make()
        builder.ctx.spill = builder.ctx.frugal = True
        return use(builder)
