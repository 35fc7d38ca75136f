"""From a KernelPlan to the classes, tiling keys and tiling fields that op_kernel/ is made of.

A class per stage, in a header of the stage's name, and per alternative a function that runs its stages. Stages whose
text is the same up to element types share one class, templated over the element types, whichever dtype combinations,
optional parameters and alternatives they belong to.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Final

from generator.emit.cpp import Method, StagePrinter, control, queue_type
from generator.emit.errors import EmitError
from generator.emit.hoist import hoist
from generator.emit.integers import integer
from generator.emit.names import camel, macro, snake
from generator.emit.walk import visit
from generator.plan import tree
from generator.spec.integer import IntExpr

__all__ = ["Entry", "KernelClass", "KernelFiles", "Member", "StageClass", "StageFile", "host_fields", "kernel_files", "tiling_key"]

_NARROW = ("half", "bfloat16_t")  # element types that become template parameters


@dataclass(frozen=True)
class Member:
    """One UB buffer of a stage class: its member, C++ type and InitBuffer's arguments."""

    name: str
    type: str
    init: str
    holds: str


@dataclass(frozen=True)
class Gm:
    """One global tensor of a stage class."""

    member: str
    type: str
    source: str  # the pointer it is made from
    elements: str
    parameter: str


@dataclass(frozen=True)
class StageClass:
    """Everything the class template needs to print one stage. Without a name until equal ones are found."""

    name: str
    base: str  # the stage's name in the plan
    title: str
    templates: tuple[str, ...]  # template parameters over element types
    gms: tuple[Gm, ...]
    buffers: tuple[Member, ...]
    ints: tuple[str, ...]
    floats: tuple[str, ...]
    hoisted: tuple[tuple[str, str], ...]  # (member, expression), in order
    args: tuple[str, ...]
    parameters: tuple[str, ...]  # GM_ADDR parameters of Init, in order
    uses_block: bool
    uses_blocks: bool
    uses_pipe: bool
    process: str
    methods: tuple[Method, ...]
    matmul: str = ""  # the type of a cube stage's Matmul object


@dataclass(frozen=True)
class StageFile:
    """One header: the classes of the stages of one name."""

    file: str
    guard: str
    classes: tuple[StageClass, ...]


@dataclass(frozen=True)
class KernelClass:
    """The function that runs the stages of one alternative."""

    name: str
    notes: tuple[str, ...]
    templates: tuple[str, ...]
    stages: tuple[StageClass, ...]
    parameters: tuple[str, ...]
    control: str  # what every core runs, or the vector cores where there are cube stages
    cube: tuple[CubeObject, ...] = ()
    cube_control: str = ""  # what the cube cores run


@dataclass(frozen=True)
class CubeObject:
    """A cube stage's object on the cube cores, and the tiling member its Matmul is made from."""

    name: str
    type: str
    tiling: str


@dataclass(frozen=True)
class Entry:
    """One tiling key: which function runs, with which element types."""

    key: int
    macro: str
    kernel: int  # index in the plan
    alternative: int
    call: str
    about: str


DEFAULT_TILING: Final = 2048  # bytes of tiling data unless a registration asks for more (host.md, 4)
CUBE_TILING: Final = 200  # bytes of one TCubeTiling (matmul.md, 6)


@dataclass(frozen=True)
class KernelFiles:
    """op_kernel/ of one operator, ready for the templates."""

    op: str
    snake: str
    files: tuple[StageFile, ...]
    runs: tuple[KernelClass, ...]
    entries: tuple[Entry, ...]
    int_fields: tuple[str, ...]
    float_fields: tuple[str, ...]
    parameters: tuple[str, ...]
    unused: tuple[str, ...]
    syncs: bool
    mixed: bool  # launches have cube cores, each with two vector cores
    cube_tilings: tuple[str, ...]  # prefixes of the tiling data's TCubeTiling members

    @property
    def large_tiling(self) -> bool:
        """The tiling data takes more than a registration gives it by default."""
        floats = len(self.float_fields) + len(self.float_fields) % 2
        return 8 * len(self.int_fields) + 4 * floats + CUBE_TILING * len(self.cube_tilings) > DEFAULT_TILING


def tiling_key(kernel: tree.Kernel, presence: int, alternative: int) -> int:
    """The decimal key ``<combination + 1><presence, 2 digits><alternative, 2 digits>``."""
    return (kernel.combination + 1) * 10000 + presence * 100 + alternative


def presence_sets(plan: tree.KernelPlan) -> list[tuple[str, ...]]:
    """The distinct sets of present optional parameters, in the plan's order."""
    return list(dict.fromkeys(k.present for k in plan.kernels))


def host_fields(plan: tree.KernelPlan) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Names of the tiling data's int64 and float fields, in order; what ``explain`` and ``run`` decode it with."""
    files = kernel_files(plan)
    return files.int_fields, files.float_fields


def kernel_files(plan: tree.KernelPlan) -> KernelFiles:
    """Print every alternative of ``plan``; EmitError when the plan is inconsistent."""
    sets = presence_sets(plan)
    classes: dict[tuple[object, ...], tuple[KernelClass, int, int]] = {}
    prints: list[tuple[_Alternative, KernelClass]] = []
    entries: list[Entry] = []
    fields: dict[str, None] = {}
    floats: dict[str, None] = {}
    for k, kernel in enumerate(plan.kernels):
        for a, alternative in enumerate(kernel.alternatives):
            made = _Alternative(plan, kernel, alternative)
            printed = made.print()
            prints.append((made, printed))
            identity = _identity(printed)
            if identity not in classes:
                classes[identity] = (printed, k, a)
            entries.append(_entry(plan, kernel, alternative, k, a, sets.index(kernel.present), made))
            fields |= dict.fromkeys(made.ints)
            floats |= dict.fromkeys(f for s in printed.stages for f in s.floats)
    stage_names = _stage_names(plan, [s for _, c in prints for s in c.stages])
    named = {i: _resolved(c, stage_names) for i, c in _named(plan, list(classes.values()), sets).items()}
    finished = []
    for e, (made, printed) in zip(entries, prints, strict=True):
        name = named[_identity(printed)].name
        finished.append(Entry(e.key, e.macro, e.kernel, e.alternative, made.call(name, printed), e.about))
    pointers = (*plan.inputs, *plan.outputs, "workspace")
    used = {p for c in named.values() for p in c.parameters}
    order = [*plan.int_fields, *_tile_names(plan)]
    return KernelFiles(
        op=plan.op,
        snake=snake(plan.op),
        files=_files(plan, stage_names),
        runs=tuple(named.values()),
        entries=tuple(finished),
        int_fields=tuple(sorted(fields, key=lambda f: (order.index(f) if f in order else len(order), f))),
        float_fields=tuple(f for f in plan.float_fields if f in floats),
        parameters=pointers,
        unused=tuple(p for p in pointers if p not in used),
        syncs=any(a.syncs for k in plan.kernels for a in k.alternatives),
        mixed=plan.mixed,
        cube_tilings=tuple(sorted({s.matmul.prefix for k in plan.kernels for a in k.alternatives for s in a.stages if s.matmul})),
    )


def _identity(c: KernelClass) -> tuple[object, ...]:
    return (c.stages, c.control, c.templates, c.cube, c.cube_control)


def _tile_names(plan: tree.KernelPlan) -> Iterator[str]:
    names = dict.fromkeys(t.name for k in plan.kernels for a in k.alternatives for s in a.stages for t in s.tiles)
    fields = dict.fromkeys(n for k in plan.kernels for a in k.alternatives for n, _ in a.fields)
    yield from names | fields


def _entry(
    plan: tree.KernelPlan, kernel: tree.Kernel, alternative: tree.Alternative, k: int, a: int, presence: int, made: _Alternative
) -> Entry:
    words = [plan.op, "Key", alternative.name, *kernel.present, *_dtype_words(plan, kernel)]
    about = f"{alternative.name}; {', '.join(f'{s} {d}' for s, d in kernel.dtypes)}"
    if plan.optional:
        about += f"; given: {', '.join(kernel.present) or 'no optional parameter'}"
    return Entry(tiling_key(kernel, presence, a), macro(*words), k, a, "", about)


def _dtype_words(plan: tree.KernelPlan, kernel: tree.Kernel) -> tuple[str, ...]:
    """What tells this dtype combination from the others: its distinct dtypes, or its number where those are not enough."""
    combinations = {x.combination: tuple(dict.fromkeys(d for _, d in x.dtypes)) for x in plan.kernels}
    own = combinations[kernel.combination]
    if len(combinations) == 1:
        return ()
    return own if list(combinations.values()).count(own) == 1 else (*own, f"Combination{kernel.combination}")


def _named(
    plan: tree.KernelPlan, found: list[tuple[KernelClass, int, int]], sets: list[tuple[str, ...]]
) -> dict[tuple[object, ...], KernelClass]:
    """Names: operator, alternative, present optional parameters and dtypes, each only where it tells classes apart."""
    taken: dict[str, int] = {}
    named: dict[tuple[object, ...], KernelClass] = {}
    for printed, k, a in found:
        kernel = plan.kernels[k]
        alternative = kernel.alternatives[a].name
        peers = [(q, plan.kernels[j]) for q, j, b in found if plan.kernels[j].alternatives[b].name == alternative]
        words = [plan.op, alternative]
        if len({x.present for _, x in peers}) > 1 and kernel.present:
            words += ["With", *kernel.present]
        alike = [q for q, x in peers if x.present == kernel.present]
        if len(alike) > 1:
            words += ["Narrow"] if printed.templates else list(dict.fromkeys(camel(d) for _, d in kernel.dtypes))
        name = camel(words)
        taken[name] = taken.get(name, 0) + 1
        named[_identity(printed)] = replace(printed, name=f"{name}{taken[name]}" if taken[name] > 1 else name)
    return named


def _stage_names(plan: tree.KernelPlan, stages: list[StageClass]) -> dict[StageClass, str]:
    """A class name per distinct stage: operator, stage, and a number where stages of one name differ."""
    names: dict[StageClass, str] = {}
    taken: set[str] = set()
    for s in stages:
        if s in names:
            continue
        base = camel([plan.op, s.base])
        name, k = base, 1
        while name in taken:
            k += 1
            name = f"{base}Variant{k}"
        taken.add(name)
        names[s] = name
    return names


def _files(plan: tree.KernelPlan, names: Mapping[StageClass, str]) -> tuple[StageFile, ...]:
    """One header per stage name, in order of first use."""
    found: dict[str, list[StageClass]] = {}
    for s, name in names.items():
        found.setdefault(s.base, []).append(replace(s, name=name))
    op = snake(plan.op)
    return tuple(StageFile(f"{op}_{snake(base)}.h", macro(plan.op, base, "H"), tuple(classes)) for base, classes in found.items())


def _resolved(c: KernelClass, names: Mapping[StageClass, str]) -> KernelClass:
    """The function with its stages' class names in place of ``@index@``."""

    def text(t: str) -> str:
        return re.sub(r"@(\d+)@", lambda m: names[c.stages[int(m[1])]], t)

    return replace(c, control=text(c.control), cube=tuple(replace(o, type=text(o.type)) for o in c.cube), cube_control=text(c.cube_control))


class _Alternative:
    """Prints one alternative once; remembers which tiling fields its text reads."""

    def __init__(self, plan: tree.KernelPlan, kernel: tree.Kernel, alternative: tree.Alternative) -> None:
        self.plan, self.kernel, self.alternative = plan, kernel, alternative
        self.elements = [c for c in _ctypes(alternative) if c in _NARROW]
        spelled = ["Element"] if len(self.elements) == 1 else [f"Element{k}" for k in range(len(self.elements))]
        self.types: Mapping[str, str] = dict(zip(self.elements, spelled, strict=True))
        self.instances: list[str] = []  # template arguments of each stage
        self.known = {
            *plan.int_fields,
            *plan.dims,
            *(t.name for s in alternative.stages for t in s.tiles),
            *(n for n, _ in alternative.fields),
            "coreNum",
        }
        self.ints: set[str] = {t.name for s in alternative.stages for t in s.tiles}

    def print(self) -> KernelClass:
        stages = tuple(self._stage(s) for s in self.alternative.stages)
        parameters = self._ordered({p for s in stages for p in s.parameters})
        alternative = self.alternative

        def ints(e: IntExpr) -> str:
            return integer(e, self._control_name)

        if not alternative.mixed:
            text = control(alternative.body, lambda k: self._run(stages, k), ints)
            if self.plan.mixed:
                text = f"if ASCEND_IS_AIV {{\n{text}\n}}"
            return KernelClass("", alternative.notes, tuple(self.types.values()), stages, parameters, text)
        cube, vector = (core_control(alternative, alternative.body, on) for on in (True, False))
        return KernelClass(
            "", alternative.notes, tuple(self.types.values()), stages, parameters,
            control=control(vector, lambda k: self._run(stages, k), ints),
            cube=tuple(self._cube_object(k) for k, s in enumerate(alternative.stages) if s.matmul is not None),
            cube_control=control(cube, lambda k: self._run_cube(stages, k), ints),
        )  # fmt: skip

    def _cube_object(self, k: int) -> CubeObject:
        matmul = self.alternative.stages[k].matmul
        assert matmul is not None
        return CubeObject(f"{self.alternative.stages[k].name}Stage", f"@{k}@{self.instances[k]}", matmul.prefix)

    def _run_cube(self, stages: tuple[StageClass, ...], k: int) -> str:
        s, name = stages[k], f"{self.alternative.stages[k].name}Stage"
        args = ", ".join((*s.parameters, "tiling", *s.args))
        return f"// {s.title}\n{name}.Init({args});\n{name}.Process();"

    def call(self, name: str, printed: KernelClass) -> str:
        template = f"<{', '.join(self.elements)}>" if self.elements else ""
        return f"Run{name}{template}({', '.join((*printed.parameters, 'tilingData'))});"

    def _ordered(self, used: set[str]) -> tuple[str, ...]:
        return tuple(p for p in (*self.plan.inputs, *self.plan.outputs, "workspace") if p in used)

    def _control_name(self, name: str) -> str:
        if name in self.known:
            self.ints.add(name)
            return f"tiling.{name}"
        return name

    def _run(self, stages: tuple[StageClass, ...], k: int) -> str:
        if not 0 <= k < len(stages):
            raise EmitError(f"the plan runs stage {k}, but has {len(stages)}")
        s = stages[k]
        args = ", ".join((*s.parameters, "tiling", *s.args))
        return f"// {s.title}\nRun@{k}@Stage{self.instances[k]}({args});"

    def _stage(self, stage: tree.Stage) -> StageClass:
        named_gm = _globals(stage.body)
        used_gm = tuple(g for g in self.alternative.gm if g.name in named_gm)
        elements = [c for c in _ctypes((stage, used_gm)) if c in _NARROW]
        spelled = ["Element"] if len(elements) == 1 else [f"Element{k}" for k in range(len(elements))]
        types = dict(zip(elements, spelled, strict=True))
        self.instances.append(f"<{', '.join(self.types[c] for c in elements)}>" if elements else "")
        stage, hoisted = hoist(stage, frozenset({*self.known, *stage.args}))
        printer = StagePrinter(
            types=types,
            members=frozenset({*self.known, *stage.args, *(n for n, _ in hoisted), "blockIdx", "blockNum"}),
            queues={b.name: f"{b.name}{'Buf' if b.kind == 'calc' else 'Queue'}_" for b in stage.buffers},
            gms={g.name: f"{g.name}Gm_" for g in used_gm},
        )
        process = printer.process(stage.body)
        gms = tuple(self._gm(printer, g) for g in used_gm)
        buffers = tuple(self._member(printer, b) for b in stage.buffers)
        named = tuple((n, _bare(printer.int_text(e))) for n, e in hoisted)
        uses = printer.used
        ints = tuple(sorted(uses & self.known))
        self.ints |= set(ints)
        texts = [process, *(m.body for m in printer.methods)]
        return StageClass(
            name="",
            base=stage.name,
            title=stage.title,
            templates=tuple(types.values()),
            gms=gms,
            buffers=buffers,
            ints=ints,
            floats=tuple(sorted(printer.floats)),
            hoisted=named,
            args=stage.args,
            parameters=self._ordered({g.parameter for g in gms}),
            uses_block="blockIdx" in uses,
            uses_blocks="blockNum" in uses,
            uses_pipe=any("(pipe_)" in t for t in texts),
            process=process,
            methods=tuple(printer.methods),
            matmul="" if stage.matmul is None else _matmul_type(stage.matmul, printer.type),
        )

    def _gm(self, printer: StagePrinter, g: tree.GmTensor) -> Gm:
        ctype = printer.type(g.ctype)
        parameter = g.param if g.param is not None else "workspace"
        source = parameter
        if g.param is None and g.workspace_offset is not None and g.workspace_offset.value != 0:
            source = f"workspace + {printer.int_text(g.workspace_offset)}"
        return Gm(f"{g.name}Gm_", ctype, source, printer.int_text(g.elements), parameter)

    @staticmethod
    def _member(printer: StagePrinter, b: tree.Buffer) -> Member:
        name, length = printer.queues[b.name], printer.int_text(b.bytes)
        return Member(name, queue_type(b), f"{name}, {length}" if b.kind == "calc" else f"{name}, {b.copies}, {length}", b.holds)


def core_control(a: tree.Alternative, body: tuple[tree.Node, ...], cube: bool) -> tuple[tree.Node, ...]:
    """What the cube cores, or the vector cores, run of an alternative's body: their stages and the barriers they take part in."""
    out: list[tree.Node] = []
    for n in body:
        match n:
            case tree.RunStage():
                if (a.stages[n.index].matmul is not None) == cube:
                    out.append(n)
            case tree.SyncAll():
                if n.cube or not cube:
                    out.append(n)
            case tree.Loop() | tree.Block():
                inner = core_control(a, n.body, cube)
                out += [replace(n, body=inner)] if inner else []
            case tree.If():
                out.append(replace(n, then=core_control(a, n.then, cube), orelse=core_control(a, n.orelse, cube)))
            case _:
                out.append(n)
    return tuple(out)


def _matmul_type(m: tree.Matmul, spell: Callable[[str], str]) -> str:
    """The C++ type of a Matmul object with operands and result in global memory (matmul.md, section 1)."""

    def operand(ctype: str, transposed: bool | None) -> str:
        tail = "" if transposed is None else f", {'true' if transposed else 'false'}"
        return f"AscendC::MatmulType<AscendC::TPosition::GM, CubeFormat::ND, {spell(ctype)}{tail}>"

    types = (operand(m.a, m.transpose_a), operand(m.b, m.transpose_b), operand(m.c, None), operand("float", None))
    return f"AscendC::Matmul<{', '.join(types)}, CubeConfig>"


def _ctypes(value: object) -> list[str]:
    """Element types mentioned in an alternative, in order of first mention."""
    found: dict[str, None] = {}

    def see(v: object) -> None:
        if isinstance(v, str) and v in _NARROW:
            found[v] = None

    visit(value, see)
    return list(found)


def _bare(text: str) -> str:
    """A whole expression without the parentheses it needs as a part of another."""
    return text[1:-1] if text.startswith("(") else text


def _globals(value: object) -> set[str]:
    """Names of the global tensors an instruction tree touches."""
    found: set[str] = set()

    def see(v: object) -> None:
        if isinstance(v, tree.Global):
            found.add(v.name)

    visit(value, see)
    return found
