"""Modelled times of a plan's stages at given sizes: vector, cube and transfers of the busiest core, from its instructions.

The bodies are walked with the host's tiling values, long loops by their first, middle and last turn. Costs are those of
facts.md E: 26 cycles to start a vector instruction and a repeat a cycle (two for Exp, Ln, Sqrt and Div of float32), 21 cycles
to start a transfer and 20 bytes a cycle of one vector core, 16 x 16 x 16 multiply-adds a cycle for 16-bit operands (x 4 for
float32, x 8 in HF32). A model, not a measurement: overlap within a stage is taken to be perfect.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from generator.emit.solve import Solved, chip_figures
from generator.formula.checked import CheckedSpec
from generator.plan import tree
from generator.plan.cost import CUBE_MACS, GM_BYTES, HF32_BYTES, HF32_MACS
from generator.plan.tiles import SIZES
from generator.reference.dtypes import STORAGE
from generator.spec.integer import IntExpr

__all__ = ["StageTime", "bytes_needed", "stage_times"]

_START: Final = 26  # cycles before a vector instruction's first repeat (facts.md E.3, derived there)
_COPY_START: Final = 21  # cycles of a transfer of little (facts.md E.5)
_LANES: Final = 64  # float32 lanes a cycle (facts.md E.1)
_TWICE: Final = dict.fromkeys(("Exp", "Ln", "Sqrt", "Div"), 2.0)
_SLOW: Final = {**_TWICE, "Gather": 12.8, "WholeReduceSum": 7.0, "WholeReduceMax": 7.0}
_TURNS: Final = 4  # loops of at most so many turns are walked whole
_FRACTAL: Final = 16


@dataclass(frozen=True)
class StageTime:
    """Cycles of the core with most of each: vector instructions, cube, transfers to and from global memory; bytes of all cores."""

    name: str
    vector: float
    cube: float
    transfer: float
    bytes: float

    @property
    def bound(self) -> str:
        """What takes longest."""
        return max((self.vector, "vector"), (self.cube, "cube"), (self.transfer, "transfers"))[1]


@dataclass
class _Sum:
    vector: float = 0.0
    cube: float = 0.0
    transfer: float = 0.0
    bytes: float = 0.0

    def add(self, other: _Sum, times: float = 1.0) -> None:
        self.vector += other.vector * times
        self.cube += other.cube * times
        self.transfer += other.transfer * times
        self.bytes += other.bytes * times


class _Walker:
    """Adds up one core's instructions."""

    def __init__(self, stage: tree.Stage, sizes: dict[str, int]) -> None:
        self.stage, self.env = stage, sizes
        self.shape = (0, 0, 0)
        self.hf32 = False

    def body(self, nodes: tuple[tree.Node, ...]) -> _Sum:
        total = _Sum()
        for n in nodes:
            total.add(self.node(n))
        return total

    def value(self, e: IntExpr) -> int:
        return e.evaluate(self.env)

    def node(self, n: tree.Node) -> _Sum:
        match n:
            case tree.Let() | tree.Var() | tree.Set():
                self.env[n.name] = self.value(n.value)
            case tree.GetValue():
                self.env[n.name] = 0
            case tree.Loop():
                return self.loop(n)
            case tree.If():
                return self.body(n.then if all(self.holds(c) for c in n.conds) else n.orelse)
            case tree.Block():
                return self.body(n.body)
            case tree.Call():
                return self.call(n)
            case tree.MatmulCall():
                return self.matmul(n)
            case _:
                pass
        return _Sum()

    def holds(self, c: tree.Cond) -> bool:
        a, b = self.value(c.a), self.value(c.b)
        return {"<": a < b, "<=": a <= b, ">": a > b, ">=": a >= b, "==": a == b, "!=": a != b}[c.op]

    def loop(self, n: tree.Loop) -> _Sum:
        start, stop, step = self.value(n.start), self.value(n.stop), self.value(n.step)
        turns = max(0, -(-(stop - start) // step)) if step > 0 else max(0, -(-(start - stop) // -step))
        chosen = range(turns) if turns <= _TURNS else (0, turns // 2, turns - 1)
        weights = [1.0] * turns if turns <= _TURNS else [1.0, turns - 2.0, 1.0]
        total = _Sum()
        for k, w in zip(chosen, weights, strict=True):
            self.env[n.var] = start + k * step
            total.add(self.body(n.body), w)
        return total

    def call(self, n: tree.Call) -> _Sum:
        if n.pipe in ("MTE2", "MTE3"):
            return self.copy(n)
        if n.pipe != "V":
            return _Sum()
        ints = [a for a in n.args if isinstance(a, tree.Int)]
        if any(isinstance(a, tree.Struct) for a in n.args) and len(ints) >= 2:
            repeats = self.value(ints[1].value)
        elif n.api.startswith("BlockReduce") and ints:
            repeats = self.value(ints[0].value)
        else:
            repeats = -(-self.value(ints[-1].value) // _LANES) if ints else 1
        each = self.env["macCycles"] if n.api == "MulAddDst" else _SLOW.get(n.api, 1.0)
        return _Sum(vector=_START + repeats * each)

    def copy(self, n: tree.Call) -> _Sum:
        fields = next((a.fields for a in n.args if isinstance(a, tree.Struct) and a.type == "DataCopyExtParams"), None)
        if fields is not None:
            count, length = (self.value(v) for v, _ in fields[:2] if isinstance(v, IntExpr))
            moved = count * (-(-length // 32) * 32)
        else:
            local = next(a for a in n.args if isinstance(a, tree.Local))
            moved = self.value(next(a for a in n.args if isinstance(a, tree.Int)).value) * SIZES[local.ctype]
        return _Sum(transfer=_COPY_START + moved / GM_BYTES, bytes=moved)

    def matmul(self, n: tree.MatmulCall) -> _Sum:
        m = self.stage.matmul
        assert m is not None
        if n.method == "SetHF32":
            self.hf32 = any(self.holds(a) for a in n.args if isinstance(a, tree.Cond))
            return _Sum()
        ints = [self.value(a.value) for a in n.args if isinstance(a, tree.Int)]
        if n.method == "SetSingleShape":
            self.shape = (ints[0], ints[1], ints[2])
            return _Sum()
        rows, cols, depth = self.shape
        width = SIZES[m.a]
        if n.method == "Iterate":
            whole = [-(-x // _FRACTAL) * _FRACTAL for x in self.shape]
            moved = (rows + cols) * depth * width
            macs = HF32_MACS if self.hf32 and width == HF32_BYTES else CUBE_MACS[width]
            return _Sum(cube=whole[0] * whole[1] * whole[2] / macs, transfer=moved / (2 * GM_BYTES), bytes=moved)
        if n.method == "GetTensorC":
            moved = rows * cols * SIZES[m.c]
            return _Sum(transfer=moved / (2 * GM_BYTES), bytes=moved)
        return _Sum()


def stage_times(alternative: tree.Alternative, solved: Solved, sizes: Mapping[str, int], cores: int, ub: int) -> list[StageTime]:
    """Each stage's times on the core that takes longest, and the bytes of all cores together. ``sizes`` are dims and int
    attributes, ``cores`` the vector cores, ``ub`` the bytes of unified buffer, which tell the architecture."""
    cubes = max(1, cores // 2)
    known = {**sizes, **solved.fields, "coreNum": cores, "cubeNum": cubes, **chip_figures(ub)}
    for s in solved.stages:
        known |= s.tiles
    out = []
    for stage in alternative.stages:
        fixed = {**known, "blockNum": solved.block_dim, **dict.fromkeys(stage.args, 0)}
        busy = range(min(cores if stage.matmul is None else cubes, known.get(f"{stage.name}Work", cores)))
        each = [_Walker(stage, {**fixed, "blockIdx": k}).body(stage.body) for k in busy] or [_Sum()]
        most = [max(getattr(c, what) for c in each) for what in ("vector", "cube", "transfer")]
        out.append(StageTime(stage.name, most[0], most[1], most[2], sum(c.bytes for c in each)))
    return out


def bytes_needed(checked: CheckedSpec, kernel: tree.Kernel, sizes: Mapping[str, int]) -> int:
    """The fewest bytes any kernel moves: every input the formula reads and every output, once. Buffers indexed in part count
    by what their order maps, so this is a lower bound when all of it is used."""
    dtypes = dict(kernel.dtypes)
    absent = {p.symbol for p in checked.spec.params if p.optional} - set(kernel.present)
    total = 0
    for t in checked.program.tensors.values():
        if t.role == "local" or t.name in absent:
            continue
        elements = 1
        for e in t.shape:
            elements *= e.evaluate(sizes)
        total += elements * int(STORAGE[dtypes[t.name]].itemsize)
    return total
