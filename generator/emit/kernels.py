"""From a KernelPlan to the classes, tiling keys and tiling fields that op_kernel/ is made of.

Each alternative becomes one header: a class per stage and a function that runs the stages. Alternatives of different
dtype combinations whose text is the same up to element types share one header, templated over the element types.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from generator.emit.cpp import Method, StagePrinter, control, queue_type
from generator.emit.errors import EmitError
from generator.emit.hoist import hoist
from generator.emit.integers import integer
from generator.emit.names import camel, macro, method, snake
from generator.plan import tree

__all__ = ["Entry", "KernelClass", "KernelFiles", "Member", "StageClass", "host_fields", "kernel_files", "tiling_key"]

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
    """Everything the class template needs to print one stage."""

    name: str
    title: str
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


@dataclass(frozen=True)
class KernelClass:
    """One header: the stages of one alternative and the function that runs them."""

    name: str
    file: str
    notes: tuple[str, ...]
    templates: tuple[str, ...]  # template parameters over element types
    stages: tuple[StageClass, ...]
    parameters: tuple[str, ...]
    control: str


@dataclass(frozen=True)
class Entry:
    """One tiling key: which function runs, with which element types."""

    key: int
    macro: str
    kernel: int  # index in the plan
    alternative: int
    call: str
    about: str


@dataclass(frozen=True)
class KernelFiles:
    """op_kernel/ of one operator, ready for the templates."""

    op: str
    snake: str
    classes: tuple[KernelClass, ...]
    entries: tuple[Entry, ...]
    int_fields: tuple[str, ...]
    float_fields: tuple[str, ...]
    parameters: tuple[str, ...]
    unused: tuple[str, ...]
    syncs: bool


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
            identity = (printed.stages, printed.control, printed.templates)
            if identity not in classes:
                classes[identity] = (printed, k, a)
            entries.append(_entry(plan, kernel, alternative, k, a, sets.index(kernel.present), made))
            fields |= dict.fromkeys(made.ints)
            floats |= dict.fromkeys(f for s in printed.stages for f in s.floats)
    named = _named(plan, list(classes.values()), sets)
    finished = []
    for e, (made, printed) in zip(entries, prints, strict=True):
        name = named[(printed.stages, printed.control, printed.templates)].name
        finished.append(Entry(e.key, e.macro, e.kernel, e.alternative, made.call(name, printed), e.about))
    pointers = (*plan.inputs, *plan.outputs, "workspace")
    used = {p for c in named.values() for p in c.parameters}
    order = [*plan.int_fields, *_tile_names(plan)]
    return KernelFiles(
        op=plan.op,
        snake=snake(plan.op),
        classes=tuple(named.values()),
        entries=tuple(finished),
        int_fields=tuple(sorted(fields, key=lambda f: (order.index(f) if f in order else len(order), f))),
        float_fields=tuple(f for f in plan.float_fields if f in floats),
        parameters=pointers,
        unused=tuple(p for p in pointers if p not in used),
        syncs=any(a.syncs for k in plan.kernels for a in k.alternatives),
    )


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
        if taken[name] > 1:
            name = f"{name}{taken[name]}"
        stages = tuple(_rename(s, name, len(printed.stages)) for s in printed.stages)
        control_text = printed.control
        for old, new in zip(printed.stages, stages, strict=True):
            control_text = control_text.replace(f"@{old.name}@", new.name)
        key = (printed.stages, printed.control, printed.templates)
        named[key] = KernelClass(name, snake(name) + ".h", printed.notes, printed.templates, stages, printed.parameters, control_text)
    return named


def _rename(stage: StageClass, name: str, count: int) -> StageClass:
    values = {f: getattr(stage, f) for f in stage.__dataclass_fields__}
    values["name"] = name + "Stage" if count == 1 else name + stage.name
    return StageClass(**values)


class _Alternative:
    """Prints one alternative once; remembers which tiling fields its text reads."""

    def __init__(self, plan: tree.KernelPlan, kernel: tree.Kernel, alternative: tree.Alternative) -> None:
        self.plan, self.kernel, self.alternative = plan, kernel, alternative
        self.elements = [c for c in _ctypes(alternative) if c in _NARROW]
        spelled = ["Element"] if len(self.elements) == 1 else [f"Element{k}" for k in range(len(self.elements))]
        self.types: Mapping[str, str] = dict(zip(self.elements, spelled, strict=True))
        self.known = {
            *plan.int_fields,
            *plan.dims,
            *(t.name for s in alternative.stages for t in s.tiles),
            *(n for n, _ in alternative.fields),
            "coreNum",
        }
        self.ints: set[str] = {t.name for s in alternative.stages for t in s.tiles}

    def print(self) -> KernelClass:
        stages = tuple(self._stage(s, k) for k, s in enumerate(self.alternative.stages))
        text = control(self.alternative.body, lambda k: self._run(stages, k), lambda e: integer(e, self._control_name))
        parameters = self._ordered({p for s in stages for p in s.parameters})
        return KernelClass("", "", self.alternative.notes, tuple(self.types.values()), stages, parameters, text)

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
        template = f"<{', '.join(self.types.values())}>" if self.types else ""
        args = ", ".join((*s.parameters, "tiling", *s.args, "&pipe"))
        text = f"// {s.title}\nAscendC::TPipe pipe;\n@{s.name}@{template} stage;\nstage.Init({args});\nstage.Process();"
        return text if self.alternative.body == (tree.RunStage(k),) else f"{{\n{text}\n}}"

    def _stage(self, stage: tree.Stage, index: int) -> StageClass:
        stage, hoisted = hoist(stage, frozenset({*self.known, *stage.args}))
        used = {g.name for g in self.alternative.gm if g.name in _globals(stage.body)}
        gm = [g for g in self.alternative.gm if g.name in used]
        printer = StagePrinter(
            types=self.types,
            members=frozenset({*self.known, *stage.args, *(n for n, _ in hoisted), "blockIdx", "blockNum"}),
            queues={b.name: f"{b.name}{'Buf' if b.kind == 'calc' else 'Queue'}_" for b in stage.buffers},
            gms={g.name: f"{g.name}Gm_" for g in gm},
        )
        process = printer.process(stage.body)
        gms = tuple(self._gm(printer, g) for g in gm)
        buffers = tuple(self._member(printer, b) for b in stage.buffers)
        named = tuple((n, _bare(printer.int_text(e))) for n, e in hoisted)
        uses = printer.used
        ints = tuple(sorted(uses & self.known))
        self.ints |= set(ints)
        texts = [process, *(m.body for m in printer.methods)]
        return StageClass(
            name=method(stage.name) + (str(index) if [s.name for s in self.alternative.stages].count(stage.name) > 1 else ""),
            title=stage.title,
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


def _ctypes(value: object) -> list[str]:
    """Element types mentioned in an alternative, in order of first mention."""
    found: dict[str, None] = {}

    def visit(v: object) -> None:
        if isinstance(v, str):
            if v in _NARROW:
                found[v] = None
        elif isinstance(v, tuple):
            for x in v:
                visit(x)
        elif isinstance(v, tree.Call):
            visit(v.args)
            visit(v.template)
        elif hasattr(v, "__dataclass_fields__"):
            for f in v.__dataclass_fields__:
                visit(getattr(v, f))

    visit(value)
    return list(found)


def _bare(text: str) -> str:
    """A whole expression without the parentheses it needs as a part of another."""
    return text[1:-1] if text.startswith("(") else text


def _globals(value: object) -> set[str]:
    if isinstance(value, tree.Global):
        return {value.name}
    if isinstance(value, tuple):
        return {n for v in value for n in _globals(v)}
    if hasattr(value, "__dataclass_fields__"):
        return {n for f in value.__dataclass_fields__ for n in _globals(getattr(value, f))}
    return set()
