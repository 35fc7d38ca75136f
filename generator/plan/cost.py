"""Cost figures for the choice between the vector unit and the cube, in cycles of one core.

Per core and cycle: 64 float32 lanes for Mul and for Add (facts.md E.1), 16 x 16 x 16 multiply-adds of 16-bit operands
and 16 x 16 x 4 of float32 ones on the cube (E.6), 20 bytes of global memory per vector core (E.5: 16.8 to 23). Two
vector cores belong to a cube core.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from generator.plan.contract import Contraction
from generator.plan.normal import Red
from generator.spec.integer import IntExpr, ceil_div, product, round_up, sym

__all__ = ["NEAR", "Near", "Work", "prefers_cube", "work_of"]

NEAR: Final = 128  # terms of a sum whose factors a stage may keep in UB for all its rows
LANES: Final = 64  # float32 elements of one vector instruction a cycle (facts.md E.1)
VECTOR_STEPS: Final = 2  # a multiplication and an addition an element
CUBE_MACS: Final = {2: 4096, 4: 1024}  # multiply-adds a cycle by operand bytes (facts.md E.6)
GM_BYTES: Final = 20  # bytes a cycle of one vector core (facts.md E.5)
START: Final = 8000  # cycles of a barrier of all cores and of filling the pipes (estimated)


@dataclass(frozen=True)
class Work:
    """One product: multiply-adds on the vector unit, on the cube (whole fractals), bytes moved only because the cube
    computes it (factors made, the result through workspace)."""

    vector: IntExpr
    cube: IntExpr
    extra_bytes: IntExpr
    width: int

    def vector_cycles(self) -> IntExpr:
        """Of all vector cores together, in units of one of them."""
        return ceil_div(self.vector * VECTOR_STEPS, LANES)

    def cube_cycles(self) -> IntExpr:
        """Cube and transfers, in the same units: a cube core's cycle counts as two of its vector cores'."""
        return ceil_div(self.cube, CUBE_MACS[self.width] // 2) + ceil_div(self.extra_bytes, GM_BYTES)

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


def work_of(s: Red, c: Contraction, width: int, made_bytes: IntExpr) -> Work:
    """The work of ``s`` computed as ``c`` with operands of ``width`` bytes, of which ``made_bytes`` are made for it."""
    result = product(x for x in (c.batch, c.rows.extent, c.columns.extent))
    vector = product(b.extent for b in (*s.axes, *s.reduced) if b.extent is not None)
    taps = product(b.extent for b in c.taps if b.extent is not None)
    cube = c.batch * round_up(c.rows.extent, 16) * round_up(c.columns.extent, 16) * round_up(c.inner.extent, 16) * taps
    return Work(vector, cube, made_bytes * 2 + result * 8, width)


def prefers_cube(w: Work, sizes: Mapping[str, int]) -> bool:
    """At typical sizes the cube is the faster one."""
    return w.vector_cycles().evaluate(sizes) > w.cube_cycles().evaluate(sizes)
