"""One stage: from statements with roles to buffers, tile sizes and a tree of instructions.

The skeleton is a loop over this core's share of the work items (outer axes x row tiles x lane tiles); inside, the
statements run on tiles, in passes where some axis is walked.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from generator.formula.ir import Binary, Bound, Call, Cast, Compare, Logic, Not, Num, Where
from generator.formula.walk import loads, walk
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
from generator.plan.tiles import SIZES, TooManyBuffers, finished
from generator.plan.tree import Access, Cond, Float, FloatConst, Get, If, Int, Node, Stage, TileParam
from generator.spec.integer import IntExpr, ceil_div, const, floor_div, max_of, min_of, mod, product, sym

__all__ = ["BuiltStage", "build_stage"]

ROW_LIMIT: Final = 4095  # rows of one tile: one DataCopyPad moves at most this many blocks (facts.md B.3)
LEAST_LANES: Final = 64  # one repeat: fewer lanes cost the same instruction time and shorter transfers (facts.md E.3, E.5)


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
    def build(self, title: str) -> BuiltStage:
        self.setup_axes()
        ctx, r = self.ctx, self.roles
        work, tiled = self.work_items()
        per = f"{self.name}Per"
        total = f"{self.name}Work"
        self.fields += [(total, work), (per, max_of(ceil_div(sym(total), sym("coreNum")), 1))]
        with self.scope(set()):
            self.load_needed(self.group.statements)
            updates = {key.tensor for key in self.scopes[-1].loaded} & {s.target for s in flat(self.group.statements)}
            item = ctx.fresh("item")
            first = sym("blockIdx") * sym(per)
            with ctx.loop(item, first, min_of(sym(total), first + sym(per))):
                introduced = self.decode(sym(item), tiled)
                with self.scope(introduced | {b.name for b in r.outer}):
                    if r.walked:
                        run_passes(self)
                    else:
                        self.block(self.group.statements, set())
            self.free_loads(self.scopes[-1])
        body = tuple(ctx.frames[0].nodes)
        if updates:  # a core without work must not read what another one is about to write
            body = (If((Cond("<", first, sym(total)),), body),)
        nodes = tuple(self.prologue()) + body
        stage = Stage(
            name=self.name, title=title, args=self.args, buffers=finished(ctx), tiles=tuple(self.tiles),
            body=insert_barriers(prune(nodes, self.bounds.known)), reserve_select=ctx.selects,
        )  # fmt: skip
        return BuiltStage(stage, tuple(self.fields), ceil_div(sym(total), sym(per)))

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

    def work_items(self) -> tuple[IntExpr, list[tuple[Bound, IntExpr, IntExpr]]]:
        """(number of items, tiled axes innermost first as (axis, tile, number of tiles))."""
        r = self.roles
        outer = product(extent_of(b) for b in r.outer)
        tiled: list[tuple[Bound, IntExpr, IntExpr]] = []
        count = outer
        if r.lane is not None and r.lane_mode in ("tile", "chunk"):
            tile = f"{self.name}{_camel(r.lane.name)}Tile"
            others = outer * (extent_of(r.row) if r.row is not None else 1)
            share = max_of(ceil_div(extent_of(r.lane) * others, sym("coreNum")), LEAST_LANES)
            balance = share if r.lane_mode == "tile" else None
            self.tiles.append(TileParam(tile, extent_of(r.lane), self.ctx.align, balance))
            if r.lane_mode == "tile":
                number = f"{self.name}{_camel(r.lane.name)}Tiles"
                self.fields.append((number, ceil_div(extent_of(r.lane), sym(tile))))
                tiled.append((r.lane, sym(tile), sym(number)))
                count = count * sym(number)
        if r.row is not None:
            tile = f"{self.name}{_camel(r.row.name)}Tile"
            self.tiles.append(TileParam(tile, min_of(extent_of(r.row), ROW_LIMIT), 1, ceil_div(extent_of(r.row) * count, sym("coreNum"))))
            number = f"{self.name}{_camel(r.row.name)}Tiles"
            self.fields.append((number, ceil_div(extent_of(r.row), sym(tile))))
            tiled.append((r.row, sym(tile), sym(number)))
            count = count * sym(number)
        return count, tiled

    def decode(self, item: IntExpr, tiled: list[tuple[Bound, IntExpr, IntExpr]]) -> set[str]:
        """Locals for the tile starts and the outer axes of one work item."""
        ctx = self.ctx
        rest = item
        names: set[str] = set()
        parts: list[tuple[Bound, IntExpr | None, IntExpr]] = [(b, t, n) for b, t, n in tiled]
        parts += [(b, None, extent_of(b)) for b in reversed(self.roles.outer)]
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
    """Lower one group. ``gms`` has every tensor that lives in global memory, ``shapes`` those of local tensors;
    ``args`` are the kernel-level loop variables in scope."""
    try:
        return _StageBuilder(name, group, roles, gms, bounds, args, shapes).build(title)
    except TooManyBuffers:
        builder = _StageBuilder(name, group, roles, gms, bounds, args, shapes)
        builder.ctx.spill = builder.ctx.frugal = True
        return builder.build(title)
