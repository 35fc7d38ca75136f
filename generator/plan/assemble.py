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
from generator.formula.ir import Tensor
from generator.formula.ranges import bounds_of
from generator.formula.walk import first_span, first_use, loads, loop_variables, symbols
from generator.plan.axes import extents_of, flat, unify
from generator.plan.bounds import Bounds
from generator.plan.coalesce import coalesced
from generator.plan.contract import Contraction, contraction
from generator.plan.cost import hf32_allowed, typical_sizes
from generator.plan.cube import CubeStage, build_cube
from generator.plan.divide import Divided
from generator.plan.fits import fits_every_size, serves_every_size
from generator.plan.memory import CTYPES, GmRef
from generator.plan.normal import Map, NFor, Red, normalise
from generator.plan.passes import levels
from generator.plan.products import simplified, with_products
from generator.plan.roles import Roles, assign_roles, roles_key
from generator.plan.schedule import GM, Group, Item, LoopItem, exposed, groups_of, in_parts, outputs_of, partition, place
from generator.plan.stage import BuiltStage, build_stage, stage_ledger
from generator.plan.tiles import Refusal
from generator.plan.tree import Alternative, Cond, GmTensor, Kernel, KernelPlan, Loop, Node, RunStage, Stage, SyncAll
from generator.spec.integer import IntExpr, ceil_div, const, max_of, product, sym

__all__ = ["plan", "presence_sets"]

IN_HF32 = "inHf32"  # the tiling field that is 1 where the cube takes float32 operands in HF32
INT32_MAX = 2**31 - 1  # the Matmul interface takes 32-bit sizes (matmul.md, section 3)


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
class _Assembly(Divided):
    """One alternative under construction."""

    built: list[BuiltStage] = field(default_factory=list)
    syncs: bool = False
    touched: list[_Touched] = field(default_factory=list)  # by stages since a barrier of all cores
    apart: set[str] = field(default_factory=set)  # in workspace, written in parts that do not meet

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

    def away(self, t: str) -> GmRef:
        """A local tensor of another stage, before it has its place in workspace."""
        return GmRef(t, CTYPES[self.local_dtype(t)], Tensor(t, self.shapes[t], "local"))

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
