"""From a checked spec to its KernelPlan: combinations, presence sets, alternatives, workspace and tiling fields.

For each dtype combination and presence set: the *full* alternative fuses all it can and keeps reduced axes whole in
UB; when that does not fit for every size, a *walked* alternative follows (groups that fit at every size as they are, fused
passes where they apply, otherwise one statement a stage), and when even its tiles may not fit, one statement a stage.
The host takes the first that fits. Where sums of products are worth the cube, alternatives with cube stages come first,
for the sizes at which they pay.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from itertools import combinations
from typing import Literal

from generator.formula.checked import CheckedSpec
from generator.formula.ir import Bound, Load, Tensor
from generator.formula.ranges import bounds_of
from generator.formula.walk import first_span, first_use, loads, loop_variables, symbols
from generator.plan.axes import extents_of, flat, unify
from generator.plan.bounds import Bounds
from generator.plan.coalesce import coalesced
from generator.plan.contract import Contraction, contraction
from generator.plan.cost import hf32_allowed, typical_sizes
from generator.plan.cube import MOST_RANGES, CubeStage, Ranges, build_cube, range_length, ranges_pay
from generator.plan.fits import fits_every_size, serves_every_size
from generator.plan.memory import CTYPES, GmRef
from generator.plan.normal import Map, NFor, Normal, Red, extent_of, normalise
from generator.plan.overlap import Overlap
from generator.plan.passes import levels
from generator.plan.products import Products, simplified, with_products
from generator.plan.roles import Roles, assign_roles, roles_key
from generator.plan.schedule import GM, Group, Item, LoopItem, exposed, groups_of, in_parts, outputs_of, partition, place
from generator.plan.stage import BuiltStage, build_stage, stage_ledger
from generator.plan.tiles import SIZES, Refusal
from generator.plan.tree import Alternative, Cond, GmTensor, Kernel, KernelPlan, Loop, Node, RunStage, Stage, SyncAll
from generator.spec.integer import IntExpr, ceil_div, const, max_of, min_of, product, round_up, sym

__all__ = ["plan", "presence_sets"]

IN_HF32 = "inHf32"  # the tiling field that is 1 where the cube takes float32 operands in HF32
INT32_MAX = 2**31 - 1  # the Matmul interface takes 32-bit sizes (matmul.md, section 3)
WORKSPACE_ALIGN = 512  # GM addresses on 512-byte lines copy at full rate (facts.md E.5)


def presence_sets(checked: CheckedSpec) -> list[frozenset[str]]:
    """Every set of optional tensors that may be given together: groups are all or none."""
    spec = checked.spec
    optional = [p.symbol for p in spec.params if p.optional and p.io != "attr"]
    units: list[tuple[str, ...]] = [tuple(m for m in g.members if m in optional) for g in spec.groups]
    grouped = {m for u in units for m in u}
    units += [(o,) for o in optional if o not in grouped]
    units = [u for u in units if u]
    out = []
    for n in range(len(units), -1, -1):
        out += [frozenset(m for u in chosen for m in u) for chosen in combinations(units, n)]
    return out


def dtype_combinations(checked: CheckedSpec) -> list[dict[str, str]]:
    """Per combination, the dtype of every tensor parameter by formula symbol."""
    spec = checked.spec
    tensors = [p for p in spec.params if p.io != "attr"]
    variables: list[Mapping[str, str]] = list(spec.dtypes) or [{}]
    return [{p.symbol: v.get(p.dtype or "", p.dtype or "float32") for p in tensors} for v in variables]


@dataclass(frozen=True)
class _Touched:
    """What a stage read and wrote in workspace; ``joined``: a barrier of the vector cores came after it."""

    cube: bool
    reads: frozenset[str]
    writes: frozenset[str]
    joined: bool = False

    def concerns(self, cube: bool, reads: set[str], writes: set[str], apart: Set[str]) -> bool:
        """A stage that reads and writes these must come after a barrier; writes of what is in ``apart`` never meet."""
        ordered = self.joined and not self.cube and not cube
        return not ordered and bool(reads & self.writes or writes & self.reads or (writes & self.writes) - apart)


@dataclass
class _Assembly:
    """One alternative under construction."""

    checked: CheckedSpec
    normal: Normal
    dtypes: Mapping[str, str]
    bounds: Bounds
    known: dict[object, BuiltStage]  # stages already built, by all that decides their text
    mode: Literal["full", "walked"]
    fuse: bool = True  # walked: keep together the statements that one set of passes serves
    products: Products | None = None  # what the cube computes
    empty: bool = False  # stepwise: serves tensors without elements too
    gms: dict[str, GmRef] = field(default_factory=dict)
    workspace: list[tuple[GmRef, IntExpr]] = field(default_factory=list)
    fields: list[tuple[str, IntExpr]] = field(default_factory=list)
    built: list[BuiltStage] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    syncs: bool = False
    touched: list[_Touched] = field(default_factory=list)  # by stages since a barrier of all cores
    shapes: dict[str, tuple[IntExpr, ...]] = field(default_factory=dict)
    apart: set[str] = field(default_factory=set)  # in workspace, written in parts that do not meet
    typical: Sequence[Mapping[str, int]] = ()  # sizes of the benchmarks
    zeros: dict[str, str] = field(default_factory=dict)  # per product, the tensor of zeros its stage reads too
    ranges: dict[str, Ranges] = field(default_factory=dict)  # per product of ranges

    def __post_init__(self) -> None:
        for t in self.normal.tensors.values():
            self.shapes[t.name] = t.shape
        straight = [s for s in self.normal.body if not isinstance(s, NFor)]
        looped = {s.target for n in self.normal.body if isinstance(n, NFor) for s in flat((n,))}
        self.apart = {t + GM for t in in_parts(straight, self.shapes) - looped}
        for t in self.normal.tensors.values():
            if t.role != "local":
                self.gms[t.name] = GmRef(t.name, CTYPES[self.dtypes[t.name]], t)
        if self.products is not None:
            self.notes += self.products.notes
            self.zeros |= self.products.zeros

    @property
    def overlap(self) -> Overlap:
        return Overlap(self.zeros)

    # workspace ------------------------------------------------------------------------------------------------------------
    def workspace_tensor(self, name: str, shape: tuple[IntExpr, ...]) -> None:
        if name in self.gms:
            return
        base = name.removesuffix(GM)
        ref = GmRef(f"{base}Ws", CTYPES[self.local_dtype(base)], Tensor(base, shape, "local"))
        self.gms[name] = ref
        size = round_up(max_of(product(shape), 1) * SIZES[ref.ctype], WORKSPACE_ALIGN)
        start = f"{base}WsStart"
        used = sym(self.workspace_end()) if self.workspace else const(0)
        self.fields.append((start, used))
        self.fields.append((f"{base}WsEnd", sym(start) + size))
        self.workspace.append((ref, sym(start)))

    def workspace_end(self) -> str:
        return self.workspace[-1][0].name + "End"

    # items ------------------------------------------------------------------------------------------------------------------
    def run(self) -> Alternative:
        items, crossing = place(self.parts(), self.normal, self.kept())
        if self.mode == "walked":
            items, crossing = self.refine()
        for t in crossing:
            self.workspace_tensor(t + GM, self.shapes[t])
        body = tuple(self.items(self.overlap.cubes_early(self.in_ranges(items)), ()))
        cores: IntExpr = const(1)
        for b in self.built:
            self.fields += list(b.fields)
            mine = ceil_div(b.cores, 2) if self.mixed and not isinstance(b, CubeStage) else b.cores
            cores = mine if cores == const(1) else max_of(cores, mine)
        gm = [GmTensor(g.name, g.ctype, self.elements(g.tensor), n, None) for n, g in self.gms.items() if not n.endswith(GM)]
        gm += [GmTensor(g.name, g.ctype, product(g.tensor.shape), None, start) for g, start in self.workspace]
        done = [s for g in groups_of(items) for s in flat(g.statements)]
        touched = {s.target for s in done} | {ld.tensor for s in done for ld in loads(s.value)}
        gm = [g for g in gm if g.param is None or g.param in touched]
        extents = {e for g in groups_of(items) for e in extents_of(g.statements).values()}
        applies = () if self.empty else tuple(Cond(">=", e, const(1)) for e in sorted(extents, key=str) if e.value is None)
        if self.products is not None:
            applies = (*applies, *self.pays())
        workspace = sym(self.workspace_end()) if self.workspace else const(0)
        kind = self.mode if self.fuse else "stepwise"
        name = kind if self.products is None else f"cube_{'near_' if self.products.near else ''}{kind}"
        return Alternative(
            name=name, gm=tuple(gm), stages=self.stages(), fields=tuple(self.fields), applies=applies,
            block_dim=cores, workspace=workspace, syncs=self.syncs, body=body, notes=tuple(self.notes),
        )  # fmt: skip

    @property
    def mixed(self) -> bool:
        """Launches count cube cores, of two vector cores each."""
        return self.products is not None

    def pays(self) -> tuple[Cond, ...]:
        """The cube alternative applies where it saves more vector cycles than it costs, and where its counts fit 32 bits."""
        assert self.products is not None
        saved, spent = const(0), const(0)
        for w in self.products.work:
            saved, spent = saved + w.vector_cycles(), spent + w.cube_cycles()
        near = [Cond(">=", n.transfer_cycles(), n.vector_cycles()) for n in self.products.near]
        most = const(INT32_MAX)
        counts = [e for b in self.built if isinstance(b, CubeStage) for e in b.counts]
        start = Cond(">=", saved, spent + sym("coreNum") * sym("cubeStart"))
        return (*near, start, *(Cond("<=", e, most) for e in dict.fromkeys(counts)))

    def stages(self) -> tuple[Stage, ...]:
        """The stages; all leave the reserved UB free when one uses it (facts.md C.1: the reserve is the kernel's)."""
        selects = any(b.stage.reserve_select for b in self.built)
        return tuple(replace(b.stage, reserve_select=selects) for b in self.built)

    @staticmethod
    def elements(t: Tensor) -> IntExpr:
        return t.flat.size if t.flat is not None else product(t.shape)

    def parts(self) -> tuple[Item, ...]:
        """The statements that share a stage."""
        pieces = outputs_of(self.normal) | (set(self.products.dtypes) if self.products is not None else set())
        return partition(self.normal.body, True, pieces, self.bounds.long, self.shapes)

    def kept(self) -> set[str]:
        """Tensors that only cube stages read beside their factors: zeros."""
        return set(self.products.zeros.values()) if self.products is not None else set()

    def refine(self) -> tuple[tuple[Item, ...], tuple[str, ...]]:
        """For every size: groups that passes can serve stay fused, the others become one statement a stage."""
        done = self._refine(self.parts())
        return place(done, self.normal, self.kept())

    def _refine(self, items: Iterable[Item]) -> tuple[Item, ...]:
        out: list[Item] = []
        for i in items:
            if isinstance(i, LoopItem):
                out.append(replace(i, items=self._refine(i.items)))
            elif self.fuse and (self.whole_serves(i) or self.passes_serve(i)):
                out.append(i)
            else:
                out += self.singles(i)
        return tuple(out)

    def in_ranges(self, items: Sequence[Item]) -> tuple[Item, ...]:
        """Long products of few tiles as products of equal ranges of the inner axis, added in fixed order just before they are needed."""
        out = list(items)
        for i in items:
            if not isinstance(i, Group) or not i.cube:
                continue
            (s,) = i.statements
            assert isinstance(s, Red)
            c = contraction(s, {t: r.tensor for t, r in self.gms.items()})
            if not isinstance(c, Contraction) or not any(ranges_pay(c, sizes) for sizes in self.typical):
                continue
            part, total = self.range_parts(s, c)
            at = out.index(i)
            out[at] = part
            at = next((k for k in range(at + 1, len(out)) if self.overlap.meet(out[k], i)), len(out))
            out.insert(at, total)
        return tuple(out)

    def range_parts(self, s: Red, c: Contraction) -> tuple[Group, Group]:
        """(the products of ranges, their sum)."""
        name = f"{s.target.removesuffix(GM)}_range"
        while name in self.shapes:
            name += "_"
        length, count, p = f"{name}_length", f"{name}_count", f"{name}_axis"
        self.fields.append((length, range_length(c)))
        self.fields.append((count, ceil_div(c.inner.extent, sym(length))))
        self.bounds = Bounds({**self.bounds.known, count: (1, MOST_RANGES)})
        axis = Bound(p, sym(count))
        self.shapes[name] = (sym(count), *(extent_of(b) for b in s.axes))
        self.workspace_tensor(name + GM, self.shapes[name])
        self.ranges[name + GM] = Ranges(axis, sym(length))
        zeros = self.zeros.get(s.target.removesuffix(GM))
        if zeros is not None:
            self.zeros[name] = zeros
        index = (sym(p), *(sym(b.name) for b in s.axes))
        part = replace(s, target=name + GM, index=index, axes=(axis, *s.axes))
        total = Red(s.target, s.index, s.axes, "sum", (axis,), Load(name + GM, index), s.span, s.origin)
        self.notes.append(f"{s.target.removesuffix(GM)}: in equal ranges of the inner axis over the cores, added in fixed order")
        return Group((part,), ()), Group((total,), tuple(b.name for b in s.axes))

    def adds_ranges(self, g: Group) -> bool:
        """The stage adds what :meth:`in_ranges` made: one result after another, because the host chooses how many there are."""
        axes = {r.axis for r in self.ranges.values()}
        return any(isinstance(s, Red) and axes & set(s.reduced) for s in g.statements)

    def singles(self, g: Group) -> tuple[Item, ...]:
        """One statement a stage, but reductions of one kind together where their ranges are split over cores anyhow."""
        out: list[Item] = []
        for i in partition(g.statements, False, outputs_of(self.normal)):
            for at in reversed(range(len(out) if self.fuse else 0)):
                both = self.joined(out[at], i)
                if both is not None:
                    out[at] = both
                    break
                if self.overlap.meet(out[at], i):
                    out.append(i)
                    break
            else:
                out.append(i)
        return tuple(out)

    def joined(self, a: Item, b: Item) -> Group | None:
        """Both stages in one whose reductions :meth:`split` takes together."""
        if isinstance(a, LoopItem) or isinstance(b, LoopItem) or a.cube or b.cube or self.overlap.meet(a, b):
            return None
        both = Group((*a.statements, *b.statements), tuple(x for x in a.grid if x in b.grid))
        reds = _alike(both)
        if not reds or not any(map(self.is_unbounded, reds[0].reduced)):
            return None
        try:
            roles = assign_roles(both, "passes", self.gms, self.bounds)
        except Refusal:
            return None
        return both if self.starved(both, roles) else None

    def away(self, t: str) -> GmRef:
        """A local tensor of another stage, before it has its place in workspace."""
        return GmRef(t, CTYPES[self.local_dtype(t)], Tensor(t, self.shapes[t], "local"))

    def local_dtype(self, t: str) -> str:
        return self.products.dtypes.get(t, "float32") if self.products is not None else "float32"

    def whole_serves(self, g: Group) -> bool:
        """At every size, the group fits UB with its reduced axes whole."""
        made = {s.target for s in flat(g.statements)}
        if g.cube or exposed(g.statements) & made:
            return False
        away = {ld.tensor for s in flat(g.statements) for ld in loads(s.value)} - made - set(self.gms)
        gms = {**self.gms, **{t: self.away(t) for t in away}}
        try:
            roles = assign_roles(g, "full", gms, self.bounds)
            buffers, tiles = stage_ledger(g, roles, gms, self.bounds, self.shapes)
        except Refusal:
            return False
        return bool(g.grid) and fits_every_size(buffers, tiles, self.bounds) and not self.starved(g, roles)

    def passes_serve(self, g: Group) -> bool:
        try:
            roles = assign_roles(g, "passes", self.gms, self.bounds)
        except Refusal:
            return False
        return bool(g.grid) and not self.starved(g, roles)

    def starved(self, g: Group, roles: Roles) -> bool:
        """A reduction over unbounded axes with nothing unbounded to spread over cores but the lane."""
        reduces = any(isinstance(s, Red) and any(map(self.is_unbounded, s.reduced)) for s in flat(g.statements))
        spread = [*roles.outer, *([roles.row] if roles.row is not None else [])]
        return reduces and not any(map(self.is_unbounded, spread))

    def is_unbounded(self, b: Bound) -> bool:
        """The spec puts no upper limit on the axis."""
        return b.extent is not None and self.bounds.upper(b.extent) is None

    def items(self, items: Sequence[Item], args: tuple[str, ...]) -> Iterator[Node]:
        for at, i in enumerate(items):
            if isinstance(i, LoopItem):
                self.touched.clear()
                body = list(self.items(i.items, (*args, i.loop.var)))
                body.append(self.barrier(True))
                yield self.barrier(True)
                yield Loop(i.loop.var, i.loop.start, i.loop.stop, const(i.loop.step), tuple(body))
                continue
            if i.cube:
                yield from self.cube_stage(i, args, self.overlap.beside(items, at))
            else:
                yield from self.group(i, args)

    def barrier(self, cube: bool) -> SyncAll:
        """A barrier of all cores, or of the vector cores alone, after which their earlier accesses are in order."""
        self.syncs = True
        cube = cube and self.products is not None
        self.touched = [] if cube else [replace(x, joined=True) for x in self.touched]
        return SyncAll(cube)

    def group(self, g: Group, args: tuple[str, ...]) -> Iterator[Node]:
        if self.mode == "walked":
            halves = self.split(g)
            if halves is not None:
                for part, roles in halves:
                    yield from self.stage(part, roles, args)
                return
        for t in sorted({ld.tensor for s in flat(g.statements) for ld in loads(s.value)} | {s.target for s in flat(g.statements)}):
            if t.endswith(GM) and t not in self.gms:
                self.workspace_tensor(t, self.shapes[t.removesuffix(GM).removesuffix("_next")])
        whole = (self.mode == "full" or (self.fuse and self.whole_serves(g))) and not self.adds_ranges(g)
        yield from self.stage(g, assign_roles(g, "full" if whole else "passes", self.gms, self.bounds), args)

    def split(self, g: Group) -> list[tuple[Group, Roles]] | None:
        """Reductions with too little to spread over cores: partial results of equal ranges, then their reduction."""
        reds = _alike(g)
        if not reds:
            return None
        roles = assign_roles(g, "passes", self.gms, self.bounds)
        axes = reds[0].axes
        k = next((b for b in reds[0].reduced if self.is_unbounded(b)), None)
        if k is None or not self.starved(g, roles):
            return None
        assert k.extent is not None
        names = []
        for s in reds:
            names.append(f"{s.target.removesuffix(GM)}_part")
            while names[-1] in self.shapes:
                names[-1] += "_"
        parts, length, p = f"{names[0]}_count", f"{names[0]}_length", f"{names[0]}_axis"
        self.fields.append((parts, max_of(min_of(sym("coreNum"), k.extent), 1)))
        self.fields.append((length, ceil_div(k.extent, sym(parts))))
        part_axis = Bound(p, sym(parts))
        shape = (sym(parts), *(b.extent for b in axes if b.extent is not None))
        for name in names:
            self.shapes[name] = shape
            self.workspace_tensor(name + GM, shape)
        index = (sym(p), *(sym(b.name) for b in axes))
        first = [Red(n + GM, index, (part_axis, *axes), s.op, s.reduced, s.value) for n, s in zip(names, reds, strict=True)]
        start = sym(p) * sym(length)
        ranged = {k.name: (start, min_of(k.extent, start + sym(length)))}
        first_roles = replace(roles, outer=(part_axis, *roles.outer), ranges=ranged, split=k.name)
        second = [Red(s.target, s.index, axes, s.op, (part_axis,), Load(n + GM, index)) for n, s in zip(names, reds, strict=True)]
        g2 = Group(tuple(second), tuple(b.name for b in axes))
        what = ", ".join(s.target.removesuffix(GM) for s in reds)
        self.notes.append(f"{what}: reduced in equal ranges of {k.name} over the cores, partial results added in fixed order")
        return [(Group(tuple(first), (p, *g.grid)), first_roles), (g2, assign_roles(g2, "passes", self.gms, self.bounds))]

    def stage(self, g: Group, roles: Roles, args: tuple[str, ...]) -> Iterator[Node]:
        index = len(self.built)
        used = {n for s in flat(g.statements) for n in _free(s)}
        own = tuple(a for a in args if a in used)
        title = ", ".join(dict.fromkeys(s.target.removesuffix(GM) for s in flat(g.statements)))
        if roles.walked:
            passes = 1 + max(levels(g.statements, set(roles.walked)).values())
            again = f"{passes} passes, each reading again what it needs" if passes > 1 else "one pass"
            self.notes.append(f"{title}: {' and '.join(roles.walked)} walked step by step or in chunks, in {again}")
        self.built.append(self.made(self.stage_name(g), title, g, roles, own))
        yield from self.run_stage(index, g, False)

    def made(self, name: str, title: str, g: Group, roles: Roles, args: tuple[str, ...]) -> BuiltStage:
        """The stage, built once for all alternatives and kernels that have it."""
        body = list(flat(g.statements))
        touched = {s.target for s in body} | {ld.tensor for s in body for ld in loads(s.value)}
        gms = {t: self.gms[t] for t in sorted(touched) if t in self.gms}
        shapes = {t: self.shapes[t] for t in sorted({s.target for s in body} - gms.keys())}
        comments = tuple(s.origin for s in body)
        key = (name, title, g, comments, roles_key(roles), tuple(gms.items()), tuple(shapes.items()), args)
        if key not in self.known:
            self.known[key] = build_stage(name, title, g, roles, gms, self.bounds, args, shapes)
        return self.known[key]

    def stage_name(self, g: Group) -> str:
        """The name of what the stage makes last, told apart from earlier stages of the name: prefix of its tiling fields."""
        words = [w for w in g_target(g).split("_") if w]
        base = words[0][0].lower() + words[0][1:] + "".join(w[0].upper() + w[1:] for w in words[1:])
        name, k = base, 1
        while any(b.stage.name == name for b in self.built):
            k += 1
            name = f"{base}Again{k}" if k > 2 else f"{base}Again"
        return name

    def run_stage(self, index: int, g: Group, cube: bool) -> Iterator[Node]:
        """The stage, after a barrier when it touches what other cores have touched."""
        reads, writes = ({t for t in touched if t.endswith(GM)} for touched in self.overlap.accesses(g))
        against = [x for x in self.touched if x.concerns(cube, reads, writes, self.apart)]
        if against:
            yield self.barrier(cube or any(x.cube for x in against))
        self.touched.append(_Touched(cube, frozenset(reads), frozenset(writes)))
        yield RunStage(index)

    def cube_stage(self, g: Group, args: tuple[str, ...], beside: IntExpr | None) -> Iterator[Node]:
        """One product on the cube, while vector cores work for ``beside`` cycles."""
        (s,) = g.statements
        assert self.products is not None
        assert isinstance(s, Red)
        tensors = {t: r.tensor for t, r in self.gms.items()}
        ranges = self.ranges.get(s.target)
        if ranges is not None:  # the product of one range, and how far apart their results lie
            whole = tensors[s.target]
            tensors[s.target] = replace(whole, shape=whole.shape[1:])
            c = contraction(replace(s, index=s.index[1:], axes=s.axes[1:]), tensors)
            assert isinstance(c, Contraction), c
            c = replace(c, items=(ranges.axis, *c.items), offset=c.offset + s.index[0] * product(whole.shape[1:]))
        else:
            c = contraction(s, tensors)
        assert isinstance(c, Contraction), c
        index = len(self.built)
        zeros = self.zeros.get(s.target.removesuffix(GM))
        own = tuple(a for a in args if a in _free(s))
        title = f"{s.target.removesuffix(GM)} (cube)"
        zero_ref = self.gms[zeros + GM] if zeros is not None else None
        number = sum(isinstance(b, CubeStage) for b in self.built)
        hf32 = self.hf32_field(self.gms[c.a.tensor].ctype)
        self.built.append(build_cube(self.stage_name(g), title, s, c, self.gms, zero_ref, number, own, hf32, beside, ranges))
        yield from self.run_stage(index, g, True)

    def hf32_field(self, operands: str) -> IntExpr | None:
        """The tiling field that says whether operands of this C++ type are taken in HF32; None where they never are."""
        if self.checked.spec.hf32 is None or operands != "float":
            return None
        field = (IN_HF32, hf32_allowed(self.checked.spec.hf32))
        self.fields += [field] if field not in self.fields else []
        return sym(IN_HF32)


def _alike(g: Group) -> list[Red]:
    """The statements of a stage that has nothing but reductions to values over the same axes; else none."""
    reds = [s for s in g.statements if isinstance(s, Red) and s.op not in ("argmax", "argmin")]
    alike = len(reds) == len(g.statements) and len({(s.axes, s.reduced) for s in reds}) == 1
    return reds if alike else []


def g_target(g: Group) -> str:
    """What a group makes last."""
    return list(flat(g.statements))[-1].target.removesuffix(GM)


def _free(s: Map | Red) -> set[str]:
    return {n for i in s.index for n in i.free()} | symbols(s.value)


def _alternatives(
    checked: CheckedSpec, dtypes: Mapping[str, str], present: frozenset[str], bounds: Bounds, known: dict[object, BuiltStage]
) -> tuple[Alternative, ...]:
    program = checked.program
    loops = loop_variables(program.body)
    taken = [*program.dims, *program.int_attrs, *program.float_attrs, *loops, *program.tensors, "coreNum", "blockIdx", IN_HF32]
    normal = unify(coalesced(normalise(program, present), bounds), taken)
    simple, sizes = unify(simplified(normal), taken), typical_sizes(checked, bounds)
    hf32 = hf32_allowed(checked.spec.hf32)
    products, near = (with_products(simple, dtypes, sizes[0], b, hf32) for b in (None, bounds))
    out: list[Alternative] = []
    refusals: list[Refusal] = []
    modes: tuple[tuple[Literal["full", "walked"], bool], ...] = (("full", True), ("walked", True), ("walked", False))
    for cubes in [p for p in (near if near is not None and near.near else None, products) if p is not None]:
        for mode, fuse in modes:
            try:
                assembly = _Assembly(checked, cubes.normal, dtypes, bounds, known, mode, fuse, cubes, typical=sizes)
                out.append(assembly.run())
            except Refusal:
                continue
            if serves_every_size(out[-1], assembly.bounds):
                break
    for mode, fuse in modes:
        try:
            out.append(_Assembly(checked, normal, dtypes, bounds, known, mode, fuse).run())
        except Refusal as r:
            refusals.append(r)
            continue
        if serves_every_size(out[-1], bounds):
            break
    if checked.spec.policies.empty == "compute":
        out = [a for a in out if a.name != "stepwise"]
        try:
            out.append(_Assembly(checked, normal, dtypes, bounds, known, "walked", False, empty=True).run())
        except Refusal as r:
            refusals.append(r)
    plain = [a for a in out if not a.mixed]
    if not plain or (len(plain) == 1 and plain[0].name == "full" and refusals):
        where = next((r.span for r in refusals if r.span is not None), first_span(program.body))
        raise Refusal("; ".join(dict.fromkeys(str(r) for r in refusals)), where)
    return tuple(out)


def _counting_cubes(a: Alternative) -> Alternative:
    """The alternative of an operator whose launches count cube cores, of two vector cores each."""
    return a if a.mixed else replace(a, block_dim=ceil_div(a.block_dim, 2))


def plan(checked: CheckedSpec) -> KernelPlan:
    """The KernelPlan of a checked spec; Refusal when the language has a construct the planner cannot serve."""
    program, spec = checked.program, checked.spec
    for p in spec.params:
        if p.io == "inout" or p.aliases or p.list_of or p.variants:
            what = "a tensor list" if p.list_of else "of a shape with variants" if p.variants else "computed in place"
            raise Refusal(f"the parameter '{p.symbol}' is {what}", first_use(program.body, p.symbol))
    for b in checked.broadcasts:
        tensor = next(p.symbol for p in spec.params if p.symbol in b.own)
        what = f"'*{b.name}' is broadcast: axes with strides of 0 are not planned; without 'broadcast:' all tensors have one shape"
        raise Refusal(what, first_use(program.body, tensor))
    bounds = Bounds(bounds_of(checked))
    kernels: list[Kernel] = []
    known: dict[object, BuiltStage] = {}
    for c, dtypes in enumerate(dtype_combinations(checked)):
        for present in presence_sets(checked):
            alternatives = _alternatives(checked, dtypes, present, bounds, known)
            kernels.append(Kernel(c, tuple(dtypes.items()), tuple(sorted(present)), alternatives))
    if any(a.mixed for k in kernels for a in k.alternatives):
        kernels = [replace(k, alternatives=tuple(map(_counting_cubes, k.alternatives))) for k in kernels]
    tensors = [p for p in spec.params if p.io != "attr"]
    return KernelPlan(
        op=spec.name,
        inputs=tuple(p.symbol for p in tensors if p.io in ("in", "inout")),
        outputs=tuple(p.symbol for p in tensors if p.io in ("out", "inout")),
        optional=tuple(p.symbol for p in tensors if p.optional),
        dims=program.dims,
        int_fields=(*program.dims, *program.int_attrs, *((spec.hf32.attr,) if spec.hf32 is not None else ())),
        float_fields=program.float_attrs,
        kernels=tuple(kernels),
    )
