"""Cube stages: one contraction through the Matmul interface, one base tile an item, items spread over the cube cores.

An item is a tile of the result no larger than one L0C tile, so that operand pairs (a window's taps) accumulate there
and the result is written once. Rows that some taps cannot reach, because a load would leave its tensor, are split off:
in the middle every tap is valid for whole tiles, at the edges an item is one step of the guarded axis. Where no pair
is valid the item multiplies zeros kept in workspace.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from generator.formula.ir import Bound
from generator.plan.contract import Chain, Contraction, Guard
from generator.plan.cost import CUBE_GM_BYTES, CUBE_MACS
from generator.plan.memory import GmRef
from generator.plan.normal import Red, extent_of
from generator.plan.stage import BuiltStage
from generator.plan.tiles import SIZES, Refusal
from generator.plan.tree import CUBE_FIELDS, Cond, Global, If, Int, Let, Loop, Matmul, MatmulCall, Node, Set, Stage, Var
from generator.spec.integer import IntExpr, ceil_div, const, floor_div, max_of, min_of, mod, round_up, sym

__all__ = ["MOST_RANGES", "ZEROS", "CubeStage", "Ranges", "build_cube", "range_length", "ranges_pay", "zeros_needed"]

FRACTAL: Final = 16  # rows and columns of one cube step (matmul.md, section 6)
BASE: Final = 256  # most rows of a base tile: two baseM x baseK buffers fill L0A (64 KiB)
BASE_K: Final = {2: 64, 4: 32}  # inner extent of a base tile by element bytes: the other half of the same bound
L0B_BUFFER: Final = 65536 // 2  # bytes of one of two buffers of L0B (64 KiB)
WIDE: Final = {size: L0B_BUFFER // (FRACTAL * size) for size in BASE_K}  # most columns by element bytes: a fractal deep, a buffer is full
ROWS: Final = 128  # rows beside which a tile of the usual width fills the smallest L0C
CUBES: Final = 18  # three quarters of the cube cores of most products (facts.md D)
LEAST_RANGE: Final = 1024  # elements of the inner axis that are worth an item of their own: some ten base tiles (estimated)
MOST_RANGES: Final = 64  # no product has more cube cores (facts.md D)
PART_STEPS: Final = 3  # a part of the result is written, read and written once more as the sum
SMALL_PART: Final = 64  # of the factors' bytes, the share that parts may cost
STEPS: Final = 4  # most base tiles of the inner axis per L1 load
L1: Final = 524288 - 1024  # bytes that two buffers of both operands may take (facts.md C.1; a mix kernel keeps some for itself)
HALF_EVEN: Final = 0  # SetHF32's rounding (matmul.md, section 3)
ZEROS: Final = {size: wide * FRACTAL for size, wide in WIDE.items()}  # elements of the zero operand by bytes: both of its matrices fit


@dataclass(frozen=True)
class Ranges:
    """The inner axis of a product in ranges of ``length`` elements, the last one shorter; their results lie along ``axis``."""

    axis: Bound
    length: IntExpr


@dataclass(frozen=True)
class CubeStage(BuiltStage):
    """A cube stage; ``cores`` are cube cores. ``counts`` must fit 32 bits: the Matmul interface takes them so."""

    counts: tuple[IntExpr, ...] = ()


def zeros_needed(c: Contraction) -> bool:
    """Some item may have no valid operand pair."""
    return bool(c.a.guards or c.b.guards)


def ranges_pay(c: Contraction, sizes: Mapping[str, int]) -> bool:
    """At these sizes the result is so few tiles that cores would be idle, and so small beside the factors that writing a part for
    each range, and adding the parts, is next to nothing."""
    m, n, k, pairs, tiles = (x.evaluate(sizes) for x in (c.rows.extent, c.columns.extent, c.inner.extent, c.pairs, _tiles(c)))
    return 2 * tiles <= CUBES and k >= 2 * LEAST_RANGE and PART_STEPS * m * n * SMALL_PART <= (m + n) * k * pairs


def _tiles(c: Contraction) -> IntExpr:
    """Tiles of the result where they are large."""
    return c.batch * ceil_div(c.rows.extent, ROWS) * ceil_div(c.columns.extent, BASE)


def range_length(c: Contraction) -> IntExpr:
    """Elements of a range, so that every core has one; whole loads to L1."""
    most = min_of(floor_div(sym("cubeNum"), _tiles(c)), floor_div(c.inner.extent, LEAST_RANGE))
    return round_up(ceil_div(c.inner.extent, max_of(min_of(most, MOST_RANGES), 1)), STEPS * max(BASE_K.values()))


def build_cube(
    name: str,
    title: str,
    s: Red,
    c: Contraction,
    gms: Mapping[str, GmRef],
    zeros: GmRef | None,
    number: int,
    args: tuple[str, ...],
    hf32: IntExpr | None = None,
    beside: IntExpr | None = None,
    ranges: Ranges | None = None,
) -> CubeStage:
    """The stage of one contraction, the ``number``-th of its alternative; ``zeros`` is a workspace tensor of
    :data:`ZEROS` zeros in the operands' type, ``hf32`` a tiling field that is not 0 where the operands, float32 then, are taken in HF32,
    ``beside`` the cycles that vector cores work at the same time, ``ranges`` the ranges of the inner axis that are items each."""
    return _Builder(name, s, c, gms, zeros, number, args, beside, ranges).build(title, hf32)


class _Builder:
    def __init__(
        self, name: str, s: Red, c: Contraction, gms: Mapping[str, GmRef], zeros: GmRef | None, number: int, args: tuple[str, ...],
        beside: IntExpr | None, ranges: Ranges | None,
    ) -> None:  # fmt: skip
        self.beside, self.ranges = beside, ranges
        self.name, self.s, self.c, self.gms, self.zeros, self.number, self.args = name, s, c, gms, zeros, number, args
        self.fields: list[tuple[str, IntExpr]] = []
        self.a, self.b, self.out = gms[c.a.tensor], gms[c.b.tensor], gms[s.target]
        if self.a.ctype != self.b.ctype:
            raise Refusal(f"the factors have types {self.a.ctype} and {self.b.ctype}", s.span)
        self.row_guards = self.guards_on(c.rows)
        self.inner_guards = self.guards_on(c.inner)
        held = {b.name for chain in (c.rows, c.columns, c.inner) for b in chain.axes}
        if any(len(g.index.free() & held) > 1 for g in self.guards) or self.guards_on(c.columns):
            raise Refusal("a guarded index moves along two axes of one product", s.span)

    @property
    def guards(self) -> tuple[Guard, ...]:
        return (*self.c.a.guards, *self.c.b.guards)

    def guards_on(self, chain: Chain) -> tuple[Guard, ...]:
        """Guards whose index moves along the chain."""
        names = {b.name for b in chain.axes}
        return tuple(g for g in self.guards if g.index.free() & names)

    def field(self, suffix: str, value: IntExpr) -> IntExpr:
        """A tiling field of this stage."""
        name = f"{self.name}{suffix}"
        self.fields.append((name, value))
        return sym(name)

    # tiling -----------------------------------------------------------------------------------------------------------------
    def tiling(self) -> None:
        """Base tiles: as wide as L0C takes beside all rows or 128 of them, unless that leaves cores idle; as high as it then takes."""
        c, element = self.c, SIZES[self.a.ctype]
        n, m, k = c.columns.extent, c.rows.extent, c.inner.extent
        room = sym("l0cFloats")
        widest = floor_div(floor_div(room, round_up(min_of(m, ROWS), FRACTAL)), FRACTAL) * FRACTAL
        fewest = ceil_div(n, min_of(widest, WIDE[element]))
        busy = self.busy(fewest)
        high = ceil_div(m, ROWS)
        wide = min_of(floor_div(n * high, m * fewest), 1)  # tiles are wider than high: columns are what is divided further
        more = min_of(ceil_div(busy, c.batch * high), ceil_div(n, FRACTAL))
        base_n = self.field("BaseN", round_up(ceil_div(n, max_of(fewest, more * wide)), FRACTAL))
        panels = self.field("Panels", ceil_div(n, base_n))
        share = max_of(ceil_div(m * c.batch * panels, busy), 1)
        most = min_of(floor_div(floor_div(room, base_n), FRACTAL) * FRACTAL, BASE)
        base_m = self.field("BaseM", min_of(most, round_up(min_of(share, m), FRACTAL)))
        deep = floor_div(floor_div(const(L0B_BUFFER // element), base_n), FRACTAL) * FRACTAL
        base_k = self.field("BaseK", min_of(min_of(BASE_K[element], deep), round_up(k, FRACTAL)))
        each = (base_m + base_n) * base_k * 2 * element
        steps = self.field("StepK", min_of(min_of(STEPS, floor_div(const(L1), each)), ceil_div(k, base_k)))
        self.field("L1", each * steps)
        a, b = c.a, c.b
        self.org = {
            "M": a.pitch if a.transposed else m,
            "N": n if b.transposed else b.pitch,
            "Ka": k if a.transposed else a.pitch,
            "Kb": b.pitch if b.transposed else k,
        }
        for suffix, value in self.org.items():
            self.field(suffix, value)
        self.field("SingleK", k)

    def busy(self, panels: IntExpr) -> IntExpr:
        """Cores that keep the stage short: as many as take all of the memory's rate (facts.md E.5, E.7), fewer where that many end
        before the vector cores do anyhow, because fewer read the left operand less often. ``panels``: the fewest of them."""
        c, element = self.c, SIZES[self.a.ctype]
        all_ = ceil_div(sym("cubeNum") * 3, 4)
        if self.beside is None:
            return all_
        n, m, k = c.columns.extent, c.rows.extent, c.inner.extent
        times = c.pairs * c.batch
        moved = ceil_div((n * ceil_div(m, ROWS) + m * panels) * k * times * element, CUBE_GM_BYTES)
        work = ceil_div(round_up(n, FRACTAL) * round_up(m, FRACTAL) * k * times, CUBE_MACS[element])
        time = self.field("Beside", max_of(self.beside, 1))
        return min_of(all_, max_of(ceil_div(moved, time), ceil_div(work, time)))

    def row_tiles(self) -> IntExpr:
        """Number of row tiles of one product."""
        if not self.row_guards:
            return self.field("RowTiles", ceil_div(self.c.rows.extent, sym(f"{self.name}BaseM")))
        t, inner = self.c.rows.axes[0], self.c.rows.inner
        low, high = self.interior(t)
        first = self.field("First", min_of(max_of(low, 0), extent_of(t)))
        last = self.field("Last", max_of(first, min_of(high, extent_of(t))))
        base = sym(f"{self.name}BaseM")
        steps = self.field("Steps", max_of(floor_div(base, inner), 1))
        middle = self.field("Middle", ceil_div(last - first, steps))
        parts = self.field("Parts", ceil_div(inner, base))
        return self.field("RowTiles", (first + middle + extent_of(t) - last) * parts)

    def interior(self, t: Bound) -> tuple[IntExpr, IntExpr]:
        """The range of ``t`` for which every operand pair is valid."""
        return _within(t, ((g, self.extreme(_rest(g, t), largest=False), self.extreme(_rest(g, t), largest=True)) for g in self.row_guards))

    def extreme(self, e: IntExpr, largest: bool) -> IntExpr:
        """``e`` at the ends of the items' and taps' axes."""
        for b in (*self.c.items, *self.c.taps):
            if b.name not in e.free():
                continue
            step = e.coefficient(b.name)
            signs = {k > 0 for _, k in step.terms}
            if len(signs) != 1:
                raise Refusal("a guarded index moves along an axis with a step of unknown sign", self.s.span)
            e = e.substitute({b.name: extent_of(b) - 1 if signs.pop() == largest else const(0)})
        return e

    # the stage ----------------------------------------------------------------------------------------------------------------
    def build(self, title: str, hf32: IntExpr | None) -> CubeStage:
        self.tiling()
        rows = self.row_tiles()
        c = self.c
        total = self.field("Work", c.batch * rows * sym(f"{self.name}Panels"))
        per = self.field("Per", ceil_div(total, sym("cubeNum")))
        cores = ceil_div(total, per)
        self.field("Cores", cores)
        item = sym("item")
        first = sym("blockIdx") * per
        loop = Loop("item", first, min_of(total, first + per), const(1), tuple(self.item(item, rows)))
        work: tuple[Node, ...] = (loop,)
        if hf32 is not None:
            on = MatmulCall("SetHF32", (Cond("!=", hf32, const(0)), Int(const(HALF_EVEN))))
            work = (on, loop, MatmulCall("SetHF32", (False, Int(const(HALF_EVEN)))))
        body = (MatmulCall("SetOrgShape", self.org_shape()), *work, MatmulCall("End", ()))
        prefix = f"mm{self.number}"
        self.fields += [(f"{prefix}{x}", sym(f"{self.name}{x}")) for x in CUBE_FIELDS]
        matmul = Matmul(self.a.ctype, self.b.ctype, self.out.ctype, c.a.transposed, c.b.transposed, prefix)
        stage = Stage(self.name, title, self.args, (), (), body, matmul=matmul)
        counts = (*(x for x in self.org.values() if x.value is None), c.pitch, c.inner.extent)
        return CubeStage(stage, tuple(self.fields), cores, counts)

    def org_shape(self) -> tuple[Int, ...]:
        """Row pitches of the operands and the result as SetOrgShape takes them."""
        return (*(Int(sym(f"{self.name}{x}")) for x in ("M", "N", "Ka", "Kb")), Int(self.c.pitch))

    def item(self, item: IntExpr, rows: IntExpr) -> list[Node]:
        """One tile of the result."""
        c, name = self.c, self.name
        panels, base_n = sym(f"{name}Panels"), sym(f"{name}BaseN")
        out: list[Node] = [Let("col", mod(item, panels) * base_n), Let("cols", min_of(base_n, c.columns.extent - sym("col")))]
        rest = floor_div(item, panels)
        out += self.rows(mod(rest, rows))
        rest = floor_div(rest, rows)
        for k, b in enumerate(reversed(c.items)):
            last = k == len(c.items) - 1
            out.append(Let(b.name, rest if last else mod(rest, extent_of(b))))
            rest = floor_div(rest, extent_of(b))
        out.append(Var("pairs", const(0)))
        out += self.pairs()
        if self.zeros is not None:
            out.append(If((Cond("==", sym("pairs"), const(0)),), tuple(self.zero_pair())))
        place = c.offset.substitute({**self.start(c.rows, sym("row")), **self.start(c.columns, sym("col"))})
        out.append(MatmulCall("GetTensorC", (Global(self.out.name, place), Int(const(0), "uint8_t")), ("true",)))
        return out

    def rows(self, tile: IntExpr) -> list[Node]:
        """``row`` and ``rows`` of the tile; with guards also ``step``, the guarded axis' first step, and ``steps``."""
        c, name = self.c, self.name
        base = sym(f"{name}BaseM")
        if not self.row_guards:
            return [Let("row", tile * base), Let("rows", min_of(base, c.rows.extent - sym("row")))]
        inner, parts = c.rows.inner, sym(f"{name}Parts")
        first, last, middle = sym(f"{name}First"), sym(f"{name}Last"), sym(f"{name}Middle")
        slot, step, steps = sym("slot"), sym("step"), sym("steps")
        many = sym(f"{name}Steps")
        return [
            Let("part", mod(tile, parts) * base),
            Let("slot", floor_div(tile, parts)),
            Var("step", slot),
            Var("steps", const(1)),
            If(
                (Cond(">=", slot, first + middle),),
                (Set("step", slot - first - middle + last),),
                (
                    If(
                        (Cond(">=", slot, first),),
                        (Set("step", first + (slot - first) * many), Set("steps", min_of(many, last - step))),
                    ),
                ),
            ),
            Let("row", step * inner + sym("part")),
            Let("rows", min_of(steps * inner - sym("part"), base)),
        ]

    @staticmethod
    def start(chain: Chain, first: IntExpr) -> dict[str, IntExpr]:
        """The chain's axes at its element ``first``: the innermost axis counts through."""
        return {b.name: first if k == len(chain.axes) - 1 else const(0) for k, b in enumerate(chain.axes)}

    def pairs(self) -> list[Node]:
        """The loops over operand pairs."""
        c = self.c
        nodes: list[Node] = []
        depth = c.inner.extent
        begin: IntExpr = const(0)
        conds: list[Cond] = []
        if self.inner_guards:
            nodes, begin, depth = self.inner_range()
        if self.ranges is not None:
            start = sym(self.ranges.axis.name) * self.ranges.length
            nodes.append(Let("rangeStart", max_of(begin, start)))
            nodes.append(Let("rangeCount", max_of(min_of(begin + depth, start + self.ranges.length) - sym("rangeStart"), 0)))
            begin, depth = sym("rangeStart"), sym("rangeCount")
        if self.inner_guards:
            conds.append(Cond(">", depth, const(0)))
        conds += self.valid()
        a = c.a.offset.substitute({**self.start(c.rows, sym("row")), **self.start(c.inner, begin)})
        b = c.b.offset.substitute({**self.start(c.columns, sym("col")), **self.start(c.inner, begin)})
        work = self.multiply(Global(self.a.name, a), Global(self.b.name, b), depth)
        body: tuple[Node, ...] = (*nodes, If(tuple(conds), tuple(work))) if conds else (*nodes, *work)
        for t in reversed(c.taps):
            body = (Loop(t.name, const(0), extent_of(t), const(1), body),)
        return list(body)

    def multiply(self, a: Global, b: Global, depth: IntExpr) -> list[Node]:
        c = self.c
        return [
            MatmulCall("SetSingleShape", (Int(sym("rows")), Int(sym("cols")), Int(depth))),
            MatmulCall("SetTensorA", (a, c.a.transposed)),
            MatmulCall("SetTensorB", (b, c.b.transposed)),
            MatmulCall("Iterate", (Cond("!=", sym("pairs"), const(0)),), ("true",)),
            Set("pairs", const(1)),
        ]

    def zero_pair(self) -> list[Node]:
        """A product of zeros, with rows of zeros a tile long; the views of the operands are restored."""
        assert self.zeros is not None
        zeros = Global(self.zeros.name, const(0))
        wide, deep = Int(const(WIDE[SIZES[self.a.ctype]])), Int(const(FRACTAL))
        first = MatmulCall("SetOrgShape", (wide, wide, deep, deep, Int(self.c.pitch)))
        back = MatmulCall("SetOrgShape", self.org_shape())
        return [first, *self.multiply(zeros, zeros, const(FRACTAL)), back]

    def valid(self) -> list[Cond]:
        """Conditions for an operand pair beside those on the inner axis."""
        out = []
        for g in self.guards:
            if g in self.inner_guards:
                continue
            low, high = g.index, g.index
            if g in self.row_guards:
                t = self.c.rows.axes[0].name
                low, high = low.substitute({t: sym("step")}), high.substitute({t: sym("step") + sym("steps") - 1})
            out += [Cond(">=", low, const(0)), Cond("<", high, g.extent)]
        return list(dict.fromkeys(out))

    def inner_range(self) -> tuple[list[Node], IntExpr, IntExpr]:
        """Locals for the valid range of the inner chain's outermost axis: (nodes, first element, element count)."""
        t, inner = self.c.inner.axes[0], self.c.inner.inner
        low, high = _within(t, ((g, _rest(g, t), _rest(g, t)) for g in self.inner_guards))
        nodes: list[Node] = [Let("from", low), Let("depth", max_of(high - sym("from"), 0) * inner)]
        return nodes, sym("from") * inner, sym("depth")


def _rest(g: Guard, t: Bound) -> IntExpr:
    """A guard's index without its part along ``t``."""
    return g.index.substitute({t.name: 0})


def _within(t: Bound, guards: Iterable[tuple[Guard, IntExpr, IntExpr]]) -> tuple[IntExpr, IntExpr]:
    """The range of ``t`` that every guard allows, given the least and the largest rest of its index."""
    low, high = const(0), extent_of(t)
    for g, least, largest in guards:
        step = g.index.coefficient(t.name)
        low = max_of(low, ceil_div(max_of(-least, 0), step))
        high = min_of(high, ceil_div(max_of(g.extent - largest, 0), step))
    return low, high
