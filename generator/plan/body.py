"""The statements of one stage, in order, on tiles: scopes, loads and frees, local tensors, maps and reductions.

Loads stand at the outermost place where their index is known, there at their first use, and are freed after their last; local tensors have
their tile from their first assignment (before a loop that carries them) to their last use.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from generator.formula.ir import Binary, Bound, Expr, Gather, Load
from generator.formula.walk import loads, symbols
from generator.plan import elementwise as ew
from generator.plan import tree
from generator.plan.axes import all_axes, flat, tensor_axes
from generator.plan.bounds import Bounds
from generator.plan.expressions import Lowering
from generator.plan.memory import GmRef
from generator.plan.moves import data_in, grain, load, load_dense
from generator.plan.normal import Map, NFor, NStmt, Red, extent_of
from generator.plan.reduce import COMBINE, IDENTITY, reduce_last, reduce_rows
from generator.plan.roles import Roles
from generator.plan.schedule import Group, exposed
from generator.plan.sharing import repeated
from generator.plan.stores import out_tile, store, stores_directly
from generator.plan.tiles import SIZES, Context, Dim, Refusal, Tile, View
from generator.plan.tree import FloatConst, FloatOfInt
from generator.plan.uses import loop_variables, names_in, spread_only
from generator.spec.integer import IntExpr, const, product, round_up, sym

if TYPE_CHECKING:
    from generator.plan.passes import Accumulator

__all__ = ["Body", "LoadKey"]

LoadKey = Load  # loads compare by tensor, indices and guards


@dataclass
class _Scope:
    """One block of statements: the symbols it introduced, and the loads it owns."""

    symbols: set[str]
    loaded: dict[LoadKey, Tile] = field(default_factory=dict)


class Body:
    """Lowers the statements of one group under its roles; subclasses add the loops around them."""

    def __init__(
        self, name: str, group: Group, roles: Roles, gms: Mapping[str, GmRef], bounds: Bounds,
        args: tuple[str, ...], align: int, shapes: Mapping[str, tuple[IntExpr, ...]],
    ) -> None:  # fmt: skip
        self.name, self.group, self.roles, self.gms, self.bounds, self.args = name, group, roles, gms, bounds, args
        taken = {b.name for s in flat(group.statements) for b in all_axes(s)} | set(bounds.known) | set(args) | {"blockIdx", "coreNum"}
        taken |= {g.name for g in gms.values()}
        self.ctx = Context(align=align, names=set(taken))
        self.shapes = shapes
        local = {s.target for s in flat(group.statements) if s.target not in gms}
        self.axes_of = tensor_axes(group.statements, local)
        self.env: dict[str, Tile] = {}
        self.scopes: list[_Scope] = []
        self.tiles: list[tree.TileParam] = []
        self.strip_tile = ""  # the tile of the walked axis that is taken in chunks of rows
        self.expiring: set[LoadKey] = set()  # what the statement is the last of its block to use
        self.once: set[LoadKey] = set()  # what it uses once
        self.dying: set[str] = set()  # local tensors it uses once and nothing uses later
        self.shown = ""
        self.variables = {b.name for b in (*roles.outer, *roles.seq, *roles.inner)} | loop_variables(group.statements)
        if roles.row is not None:
            self.variables.add(roles.row.name)
        if roles.lane is not None and roles.lane_mode != "full":
            self.variables.add(roles.lane.name)
        self.accumulators: dict[str, Accumulator] = {}

    # axes ---------------------------------------------------------------------------------------------------------------
    def dim(self, b: Bound, cur: IntExpr | None = None, cap: IntExpr | None = None, most: int | None = None) -> Dim:
        extent = extent_of(b)
        high = self.bounds.upper(extent)
        if most is not None:
            high = most if high is None else min(high, most)
        least = self.bounds.lower(extent) if cur is None else 1
        return Dim(b.name, extent if cur is None else cur, extent if cap is None else cap, high, least, extent)

    def setup_axes(self) -> None:
        """Axes that are whole in a tile, and the dims of local tensors only scalars index."""
        r = self.roles
        order = []
        for t, axes in self.axes_of.items():
            for d, a in enumerate(axes):
                if a is None:
                    key = f"{t}_{d}"
                    order.append(key)
                    self.ctx.axis[key] = self.dim(Bound(key, self.shapes[t][d]))
        if r.row is not None:
            order.append(r.row.name)
        if r.strip is not None:
            order.append(r.strip)
        order += [b.name for b in (*r.full, *r.inner)]
        if r.lane is not None:
            order.append(r.lane.name)
        self.ctx.order = order
        for b in (*r.full, *r.inner):
            self.ctx.axis[b.name] = self.dim(b)
        if r.lane is not None and r.lane_mode == "full":
            self.ctx.axis[r.lane.name] = self.dim(r.lane)

    def lane_dim(self, held: Dim) -> Dim:
        """A tiled lane: its tile is a multiple of the alignment, its padded count a local of its own."""
        padded = self.local(f"{held.key}Pitch", round_up(held.cur, self.ctx.align))
        return replace(held, quantum=self.ctx.align, padded=(self.ctx.align, padded))

    def local(self, hint: str, value: IntExpr) -> IntExpr:
        name = self.ctx.fresh(hint)
        self.ctx.emit(tree.Let(name, value))
        self.ctx.frames[-1].variables.add(name)
        return sym(name)

    # scopes and loads -----------------------------------------------------------------------------------------------------
    def scope(self, symbols_: set[str]) -> _ScopeGuard:
        return _ScopeGuard(self, symbols_)

    def ready(self, key: LoadKey) -> bool:
        """Every variable of the index has been introduced."""
        known = {n for s in self.scopes for n in s.symbols}
        if not self.each(key):
            known |= {b.name for b in self.roles.inner}
        return not (symbols(key) & self.variables) - known

    def each(self, key: LoadKey) -> bool:
        """Loaded for each value of the inner axes: it moves along one of them, the rows and the lane. Smaller loads cover them."""
        r = self.roles
        used = symbols(key)
        tiled = {b.name for b in (r.row, r.lane) if b is not None}
        return tiled <= used and any(b.name in used for b in r.inner)

    def home(self, key: LoadKey) -> int:
        used = symbols(key)
        return max((k for k, s in enumerate(self.scopes) if used & s.symbols), default=0)

    def keys(self, body: Iterable[NStmt]) -> list[LoadKey]:
        """Loads from global memory, in order, each once; gather indices are read as part of their load."""
        out: dict[LoadKey, None] = {}
        for s in flat(body):
            inner = {i.load for ld in loads(s.value) for i in ld.indices if isinstance(i, Gather)}
            for ld in loads(s.value):
                if ld.tensor in self.gms and ld not in inner:
                    out.setdefault(ld)
        return list(out)

    def load_needed(self, body: Iterable[NStmt]) -> None:
        """Load what ``body`` needs and this scope owns."""
        for key in self.keys(body):
            if self.owns(key) and not any(key in s.loaded for s in self.scopes):
                self.scopes[-1].loaded[key] = self.fetch(key)

    def owns(self, key: LoadKey) -> bool:
        """The scope that is open now is where the load belongs."""
        return self.ready(key) and self.home(key) == len(self.scopes) - 1

    def fetch(self, key: LoadKey) -> Tile:
        index = tuple(self.scalar_index(i) if isinstance(i, Gather) else i for i in key.indices)
        gm = self.gms[key.tensor]
        tile = load_dense(self.ctx, gm, index) if not key.guarded and self.spreads(key) else None  # type: ignore[arg-type]
        if tile is None:
            tile = load(self.ctx, gm, index, key.guarded, key.outside)  # type: ignore[arg-type]
        self.ctx.homes[tile.name] = self.ctx.frames[-1]
        return tile

    def spreads(self, key: LoadKey) -> bool:
        """No use of the load is in step with the lanes of its tile."""
        order = [a for a in self.ctx.order if a in self.ctx.axis or a in {b.name for b in self.roles.inner}]
        return spread_only(key, (s.value for s in flat(self.group.statements)), order)

    def scalar_index(self, g: Gather) -> IntExpr:
        """A data-dependent index, read to the scalar unit."""
        gm = self.gms[g.load.tensor]
        offset = const(0)
        for i, stride in zip(g.load.indices, gm.tensor.strides(), strict=True):
            assert isinstance(i, IntExpr)
            if i.free() & set(self.ctx.axis):
                raise Refusal("a gathered index moves along an axis held in a tile")
            offset = offset + i * stride
        p = grain(gm.ctype)
        raw = self.ctx.alloc("vecin", f"{gm.name}Index", (), gm.ctype, const(32), p)
        data_in(self.ctx, gm, offset, raw, const(0), const(1), const(SIZES[gm.ctype]), const(0))
        self.ctx.hand_over(raw)
        self.ctx.emit(tree.FlagPair("MTE2", "S"))
        name = self.ctx.fresh(f"{gm.name}At")
        self.ctx.emit(tree.GetValue(name, raw.at()))
        self.ctx.frames[-1].variables.add(name)
        self.ctx.emit(tree.FlagPair("S", "MTE2"))
        self.ctx.free(raw)
        self.scopes[-1].symbols.add(name)
        return sym(name)

    def free_loads(self, scope: _Scope, keys: Iterable[LoadKey] | None = None) -> None:
        for key in list(scope.loaded if keys is None else keys):
            tile = scope.loaded.pop(key, None)
            if tile is not None:
                if tile.slot is None:
                    self.ctx.free(tile)
                else:
                    self.ctx.release(tile)

    def view(self, ld: Load) -> View:
        """The tile view a load in an expression stands for."""
        if ld.tensor in self.gms:
            for scope in reversed(self.scopes):
                if ld in scope.loaded:
                    tile = scope.loaded[ld]
                    if ld in self.once & self.expiring and scope is self.scopes[-1] and tile.slot is not None:
                        del scope.loaded[ld]  # its last use: it may become the result
                        self.ctx.homes.pop(tile.name, None)
                        return replace(tile, temporary=True).view()
                    return replace(tile, temporary=False).view()
            assert self.owns(ld), f"load of {ld.tensor} was not fetched"
            self.scopes[-1].loaded[ld] = self.fetch(ld)
            return self.view(ld)
        tile = self.env[ld.tensor]
        if ld.tensor in self.dying and tile.slot is not None:
            tile = replace(self.env.pop(ld.tensor), temporary=True)  # it may become the result
        return View(tile, self.row_index(ld.tensor, tile, ld.indices))

    def row_index(self, tensor: str, tile: Tile, index: Sequence[object]) -> tuple[IntExpr, ...]:
        keys = [a if a is not None else f"{tensor}_{d}" for d, a in enumerate(self.axes_of[tensor])]
        if tile.last is not None and index[keys.index(tile.last)] != sym(tile.last):
            raise Refusal(f"{tensor} is indexed by {index[keys.index(tile.last)]} along the lanes of its tile")
        out = []
        for d in tile.rows:
            i = index[keys.index(d.key)]
            assert isinstance(i, IntExpr)
            if tile.last in i.free():
                raise Refusal(f"{tensor} is read at another row for each lane of its tile")
            out.append(i)
        return tuple(out)

    # blocks -----------------------------------------------------------------------------------------------------------------
    def block(self, body: Sequence[NStmt], keep: set[str]) -> None:
        """Statements in order. ``keep``: local tensors that live on after this block."""
        scope = self.scopes[-1]
        mine: set[str] = set()
        last_load: dict[LoadKey, int] = {}
        last_name: dict[str, int] = {}
        for k, s in enumerate(body):
            for key in self.keys((s,)):
                last_load[key] = k
            for t in names_in((s,)):
                last_name[t] = k
        for k, s in enumerate(body):
            if not isinstance(s, NFor) and s.origin and s.origin != self.shown:
                self.shown = s.origin
                self.ctx.emit(tree.Comment(s.origin))
            self.expiring = {key for key, at in last_load.items() if at == k}
            read = [ld for c in flat((s,)) for ld in loads(c.value)]
            self.once = {ld for ld, n in Counter(read).items() if n == 1}
            ending = {t for t, at in last_name.items() if at == k and t in mine and t not in keep} - {c.target for c in flat((s,))}
            self.dying = {t for t, n in Counter(ld.tensor for ld in read).items() if n == 1 and t in ending and not isinstance(s, NFor)}
            if isinstance(s, NFor):
                self.load_needed((s,))
                mine |= self.open_loop(s, {t for t, at in last_name.items() if at > k} | keep)
            else:
                if s.target not in self.gms and s.target not in self.env:
                    mine.add(s.target)
                self.statement(s)
            self.free_loads(scope, [key for key in scope.loaded if last_load.get(key) == k])
            for t in [t for t, at in last_name.items() if at == k and t in mine and t not in keep and t in self.env]:
                self.ctx.release(self.env.pop(t))
                mine.discard(t)

    def open_loop(self, s: NFor, later: set[str]) -> set[str]:
        """A loop over carried tensors; what lives on after it, or over its turns, has its tile before it."""
        made = {c.target for c in flat(s.body)} - set(self.gms)
        carried = exposed(s.body) & made
        before: set[str] = set()
        for c in flat(s.body):
            if c.target in made and (c.target in later or c.target in carried) and c.target not in self.env:
                self.env[c.target] = self.new_tile(c.target)
                before.add(c.target)
        var = s.var
        with self.ctx.loop(var, s.start, s.stop, s.step), self.scope({var}):
            self.block(s.body, set(self.env))
            self.free_loads(self.scopes[-1])
        return before

    def new_tile(self, tensor: str) -> Tile:
        keys = {a if a is not None else f"{tensor}_{d}" for d, a in enumerate(self.axes_of[tensor])}
        return self.ctx.tile(f"{tensor}Tile", self.ctx.dims_of(keys), temporary=False)

    # statements ---------------------------------------------------------------------------------------------------------------
    def lowering(self) -> Lowering:
        return Lowering(self.ctx, self.view, self.env)

    def statement(self, s: Map | Red) -> None:
        try:
            if isinstance(s, Red):
                self.reduction(s)
            elif s.target in self.gms:
                self.store(s)
            else:
                self.assign(s)
        except Refusal as r:
            raise Refusal(str(r), r.span or s.span) from r

    def store(self, s: Map) -> None:
        gm = self.gms[s.target]
        dims = self.ctx.dims_of(b.name for b in s.axes)
        low = self.lowering()
        if stores_directly(self.ctx, gm, s.index, dims):
            out = out_tile(self.ctx, gm, dims, self.ctx.align)
            low.into(s.value, out)
            store(self.ctx, gm, s.index, out)
            return
        tile = low.tile(s.value, dims)
        store(self.ctx, gm, s.index, tile)
        self.ctx.drop(tile)

    def assign(self, s: Map) -> None:
        if self.takes_over(s):
            return
        mixed = any(ld.tensor == s.target and ld.indices != s.index for ld in loads(s.value))
        self.place(s.target, s.index, s.axes, lambda dst: self.lowering().into(s.value, dst), mixed)

    def takes_over(self, s: Map) -> bool:
        """A plain copy of a loaded tile that nothing needs afterwards: the tile becomes the target's."""
        key = s.value
        if not isinstance(key, Load) or key not in self.expiring or s.target in self.env:
            return False
        self.load_needed((s,))
        tile = self.scopes[-1].loaded.get(key)
        keys = {a for a in self.axes_of[s.target] if a is not None}
        if tile is None or tile.slot is None or len(keys) != len(self.axes_of[s.target]) or tile.dims != self.ctx.dims_of(keys):
            return False
        if any(key.indices[d] != sym(a) for d, a in enumerate(self.axes_of[s.target]) if a in self.ctx.axis and d < len(key.indices)):
            return False
        self.env[s.target] = replace(self.scopes[-1].loaded.pop(key), temporary=False)
        self.ctx.homes.pop(tile.name, None)  # it may change from now on
        return True

    def place(self, target: str, index: tuple[IntExpr, ...], axes: Sequence[Bound], make: Callable[[Tile], None], mixed: bool) -> None:
        """Let ``make`` fill the target's tile, through a copy when the target is indexed or read in another order."""
        tile = self.env.get(target)
        if tile is None:
            tile = self.env[target] = self.new_tile(target)
        into = View(tile, self.row_index(target, tile, index))
        if into == tile.view() and not mixed:
            make(tile)
            return
        part = self.ctx.tile("part", self.ctx.dims_of(b.name for b in axes))
        make(part)
        ew.copy(self.ctx, into, part.view())
        self.ctx.drop(part)

    def reduction(self, s: Red) -> None:
        if s.target in self.accumulators:
            self.accumulators[s.target].add()
            return
        if s.op in ("argmax", "argmin"):
            raise Refusal(f"{s.op} runs over axes that are walked one step at a time")
        if s.target in self.gms:
            tile = self.reduced(s, None)
            wanted = self.ctx.dims_of(b.name for b in s.axes)
            if tile.dims != wanted:
                tile = self.widen(tile, wanted)
            store(self.ctx, self.gms[s.target], s.index, tile)
            self.ctx.drop(tile)
            return
        self.place(s.target, s.index, s.axes, lambda dst: self.reduce_into(s, dst), False)

    def reduce_into(self, s: Red, dst: Tile) -> None:
        out = self.reduced(s, dst)
        if out is not dst:
            ew.copy(self.ctx, dst.view(), out.view())
            self.ctx.drop(out)

    def widen(self, tile: Tile, dims: tuple[Dim, ...]) -> Tile:
        out = self.ctx.tile("wide", dims)
        ew.copy(self.ctx, out.view(), tile.view())
        self.ctx.drop(tile)
        return out

    def reduced(self, s: Red, dst: Tile | None) -> Tile:
        """The reduction of ``s`` over those of its axes that are held in the tile; ``dst`` is used when it fits."""
        ctx = self.ctx
        held = [b for b in s.reduced if b.name in ctx.axis]
        low = self.lowering()
        pair = self.addable(s, [b.name for b in held])
        if pair is not None:
            a, b = (low.plain(low.value(e)) for e in pair)
            left = tuple(d for d in low.dims(a, b) if d.key not in {x.name for x in held})
            return self.products_added(a, b, left, [x.name for x in held], dst)
        view = low.plain(low.shared(s.value, None))
        present = view.axes()
        scale = [ctx.axis[b.name].cur for b in held if b.name not in present]
        steps = [a for a in ctx.order if a in present and a in {b.name for b in held}]
        for n, axis in enumerate(steps):
            final = n == len(steps) - 1 and not (scale and s.op in ("sum", "prod"))
            view = self.reduce_step(s.op, view, axis, dst if final else None)
        if scale and s.op == "prod":
            return self.power(view, product(scale))
        if scale and s.op == "sum":
            factor = FloatOfInt(product(scale))
            out = dst if dst is not None and dst.dims == self.lowering().dims(view) else ctx.tile("scaled", low.dims(view))
            ew.scalar_op(ctx, "Muls", out.view(), view, factor)
            ctx.drop(*([view.tile] if view.tile is not out else []))
            return out
        if view == view.tile.view() and (steps or view.tile.temporary):
            return view.tile
        out = ctx.tile("copied", low.dims(view))
        ew.copy(ctx, out.view(), view)
        ctx.drop(view.tile)
        return out

    def addable(self, s: Red, held: Sequence[str]) -> tuple[Expr, Expr] | None:
        """The factors of a sum that can be added up product by product: it does not run along the lanes of either."""
        value = s.value
        if s.op != "sum" or not held or not isinstance(value, Binary) or value.op != "mul" or repeated(value) is not None:
            return None
        order = self.ctx.order
        sides = [symbols(e) & set(order) for e in (value.a, value.b)]
        both = [a for a in order if a in sides[0] | sides[1]]
        if not all(sides) or both[-1] in held or not set(held) <= set(both):
            return None
        return value.a, value.b

    def products_added(self, a: View, b: View, left: tuple[Dim, ...], held: Sequence[str], dst: Tile | None) -> Tile:
        """The sum of ``a * b`` over ``held`` without a tile of all products."""
        ctx = self.ctx
        out = dst if dst is not None and dst.dims == left and dst not in (a.tile, b.tile) else ctx.tile("sum", left)
        ew.fill(ctx, out.view(), FloatConst(0.0))
        ew.add_products(ctx, out.view(), a, b, [(k, ctx.axis[k].cur) for k in held])
        ctx.drop(a.tile, b.tile)
        return out

    def power(self, view: View, count: IntExpr) -> Tile:
        """The product of ``count`` equal factors, one after another as the reference takes them."""
        ctx = self.ctx
        out = ctx.tile("power", self.lowering().dims(view))
        ew.copy(ctx, out.view(), view)
        with ctx.loop(ctx.fresh("factor"), 1, count):
            ew.binary(ctx, "Mul", out.view(), out.view(), view)
        ctx.drop(view.tile)
        return out

    def reduce_step(self, op: str, view: View, axis: str, dst: Tile | None) -> View:
        ctx = self.ctx
        low = self.lowering()
        dims = low.dims(view)
        left = tuple(d for d in dims if d.key != axis)
        out = dst if dst is not None and dst.dims == left else ctx.tile(op, left)
        if view.tile.last == axis:
            if op == "prod":
                raise Refusal("a product over the lanes of a tile")
            src = low.full(view, dims)
            reduce_last(ctx, op, src, out)
            spent = [src]
        else:
            reduce_rows(ctx, op, view, ctx.axis[axis], out)
            spent = []
        ctx.drop(*spent, view.tile)
        return out.view()

    def accumulator(self, s: Red) -> Tile:
        """A tile for the running value of a reduction over walked axes, at the identity."""
        dims = self.ctx.dims_of(b.name for b in s.axes)
        acc = self.ctx.tile(f"{s.op}Acc", dims, temporary=False)
        ew.fill(self.ctx, acc.view(), FloatConst(IDENTITY[s.op]))
        return acc

    def accumulate(self, s: Red, acc: Tile) -> None:
        part = self.reduced(s, None)
        ew.binary(self.ctx, COMBINE[s.op], acc.view(), acc.view(), part.view())
        self.ctx.drop(part)


class _ScopeGuard:
    """Opens a scope for the symbols one block introduces."""

    def __init__(self, builder: Body, symbols_: set[str]) -> None:
        self.builder, self.symbols = builder, symbols_

    def __enter__(self) -> _Scope:
        scope = _Scope(set(self.symbols))
        self.builder.scopes.append(scope)
        return scope

    def __exit__(self, *_: object) -> None:
        self.builder.scopes.pop()
