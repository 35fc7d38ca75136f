"""Cost figures for the choice between the vector unit and the cube, in cycles of one core.

Per core and cycle: 64 float32 lanes for Mul and for Add (facts.md E.1), 16 x 16 x 16 multiply-adds of 16-bit operands
on the cube, 16 x 16 x 4 of float32 ones and x 8 of those taken in HF32 (E.6), 20 bytes of global memory per vector core
(E.5: 16.8 to 23). Two vector cores belong to a cube core.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from generator.formula.checked import CheckedSpec
from generator.formula.ir import Binary, Call
from generator.formula.walk import symbols, walk
from generator.plan.axes import all_axes, flat
from generator.plan.bounds import Bounds
from generator.plan.contract import Contraction
from generator.plan.normal import NStmt, Red
from generator.spec.integer import IntExpr, Numel, ceil_div, const, max_of, min_of, product, round_up, sym
from generator.spec.model import Hf32

__all__ = ["NEAR", "Near", "Work", "arithmetic", "hf32_allowed", "prefers_cube", "typical_sizes", "work_of"]

NEAR: Final = 128  # terms of a sum whose factors a stage may keep in UB for all its rows
LANES: Final = 64  # float32 elements of one vector instruction a cycle (facts.md E.1)
VECTOR_STEPS: Final = 2  # a multiplication and an addition an element
CUBE_MACS: Final = {2: 4096, 4: 1024}  # multiply-adds a cycle by operand bytes (facts.md E.6)
HF32_BYTES: Final = 4  # of an operand that may be taken in HF32
HF32_MACS: Final = 2048  # multiply-adds a cycle of float32 operands taken in HF32 (facts.md E.6)
GM_BYTES: Final = 20  # bytes a cycle of one vector core (facts.md E.5)
CUBE_GM_BYTES: Final = 31  # bytes a cycle from global memory to one cube core at most (facts.md D, ddr_rate)
UNBOUNDED: Final = 4096  # assumed of a size without an upper limit when vector and cube are weighed
START: Final = 8000  # cycles of a barrier of all cores and of filling the pipes (estimated)


@dataclass(frozen=True)
class Work:
    """One product: multiply-adds on the vector unit, on the cube (whole fractals), bytes moved only because the cube
    computes it (factors made, the result through workspace). ``hf32`` is 1 where the operands are taken in HF32, else 0."""

    vector: IntExpr
    cube: IntExpr
    extra_bytes: IntExpr
    width: int
    hf32: IntExpr

    def vector_cycles(self) -> IntExpr:
        """Of all vector cores together, in units of one of them."""
        return ceil_div(self.vector * VECTOR_STEPS, LANES)

    def cube_cycles(self) -> IntExpr:
        """Cube and transfers, in the same units: a cube core's cycle counts as two of its vector cores'."""
        times = self.hf32 * (HF32_MACS // CUBE_MACS[HF32_BYTES] - 1) + 1  # the rate, in that of operands as they are
        return ceil_div(ceil_div(self.cube, CUBE_MACS[self.width] // 2), times) + ceil_div(self.extra_bytes, GM_BYTES)

    def reason(self, sizes: Mapping[str, int]) -> str:
        """The weighing in words, at ``sizes``."""
        v, c = self.vector_cycles().evaluate(sizes), self.cube_cycles().evaluate(sizes)
        return f"about {v} vector cycles against {c} for cube and transfers at typical sizes, summed over the cores"


@dataclass(frozen=True)
class Near:
    """A short sum of products computed on the vector unit inside the one stage that uses it: its multiply-adds, and the
    elements that then need not pass through global memory."""

    steps: IntExpr
    elements: IntExpr

    def vector_cycles(self) -> IntExpr:
        """Of all vector cores together; ``macCycles`` is the time of one multiply-add instruction's repeat (facts.md E.1, E.2)."""
        return ceil_div(self.steps * sym("macCycles"), LANES)

    def transfer_cycles(self) -> IntExpr:
        """What writing the result to global memory and reading it back would take, in the same units."""
        return ceil_div(self.elements * 8, GM_BYTES)


def arithmetic(body: Iterable[NStmt]) -> IntExpr:
    """Cycles of all vector cores together that the statements take at least: each operation once for every element of the axes
    it moves along, a product that is added up as one multiply-add."""
    total = const(0)
    for s in flat(body):
        extents = {b.name: b.extent for b in all_axes(s) if b.extent is not None}
        summed = isinstance(s, Red) and s.op == "sum" and isinstance(s.value, Binary) and s.value.op == "mul"
        for e in walk(s.value):
            if isinstance(e, Binary | Call):
                elements = product(x for a, x in extents.items() if a in symbols(e))
                total = total + (elements * sym("macCycles") if summed and e is s.value else elements)
        if isinstance(s, Red) and not summed:
            total = total + product(extents.values())
    return ceil_div(total, LANES)


def hf32_allowed(rule: Hf32 | None) -> IntExpr:
    """1 at the values of the rule's attribute at which float32 operands may be taken in HF32, 0 at all others."""
    total = const(0)
    if rule is None:
        return total
    for value in rule.values:
        near = min_of(max_of(sym(rule.attr), value - 1), value + 1)  # so that no difference overflows
        total = total + const(1) - max_of(near - value, const(value) - near)
    return total


def work_of(s: Red, c: Contraction, width: int, made_bytes: IntExpr, hf32: IntExpr) -> Work:
    """The work of ``s`` computed as ``c`` with operands of ``width`` bytes, of which ``made_bytes`` are made for it; ``hf32`` is
    :func:`hf32_allowed`."""
    result = product(x for x in (c.batch, c.rows.extent, c.columns.extent))
    vector = product(b.extent for b in (*s.axes, *s.reduced) if b.extent is not None)
    cube = c.batch * round_up(c.rows.extent, 16) * round_up(c.columns.extent, 16) * round_up(c.inner.extent, 16) * c.pairs
    return Work(vector, cube, made_bytes * 2 + result * 8, width, hf32 if width == HF32_BYTES else const(0))


def prefers_cube(w: Work, sizes: Mapping[str, int]) -> bool:
    """At typical sizes the cube is the faster one."""
    return w.vector_cycles().evaluate(sizes) > w.cube_cycles().evaluate(sizes)


def typical_sizes(checked: CheckedSpec, bounds: Bounds) -> tuple[dict[str, int], ...]:
    """Sizes at which vector and cube are weighed: those of each benchmark, else one with the largest up to 4096. What allows HF32
    has its default, else a value that does not: a caller who allows it is not presumed."""
    usual: dict[str, int] = {}
    for name, (low, high) in bounds.known.items():
        usual[name] = max(low, min(high if high is not None else UNBOUNDED, UNBOUNDED))
    if (rule := checked.spec.hf32) is not None:
        default = next(p.default for p in checked.spec.params if p.symbol == rule.attr)
        usual[rule.attr] = default if isinstance(default, int) else max(rule.values) + 1
    out = []
    for b in checked.spec.bench:
        out.append(usual | {n: v for n, v in (*b.sizes.items(), *b.attrs.items()) if isinstance(v, int)})
        for name, value in checked.derived:
            if name not in b.sizes and not any(isinstance(a, Numel) for a in value.atoms()):
                out[-1][name] = value.evaluate(out[-1])
    return tuple(out) or (usual,)
