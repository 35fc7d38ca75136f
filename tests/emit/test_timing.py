"""The model of a plan's times: bytes against what the formula needs, cube cycles against multiply-adds, loops against their turns."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest

from generator.emit.solve import Solved, choose, solve
from generator.emit.timing import StageTime, bytes_needed, stage_times
from generator.formula import checked
from generator.formula.checked import CheckedSpec
from generator.plan import plan
from generator.plan import tree as t
from generator.plan.tree import Alternative, KernelPlan
from generator.spec.integer import const, sym

SPECS = Path(__file__).resolve().parents[2] / "specs"
UB = 196608


@cache
def planned(path: str) -> tuple[CheckedSpec, KernelPlan]:
    spec = checked.load(SPECS / path)
    return spec, plan(spec)


def timed(path: str, sizes: dict[str, int], cores: int = 40) -> tuple[list[StageTime], Solved, int]:
    spec, made = planned(path)
    kernel = made.kernels[0]
    solved, _ = choose(kernel.alternatives, sizes, cores, UB)
    assert solved is not None
    return stage_times(kernel.alternatives[solved.index], solved, sizes, cores, UB), solved, bytes_needed(spec, kernel, sizes)


def test_rows_that_fit_move_each_byte_once() -> None:
    (time,), _, needed = timed("nn/softmax.yaml", {"numel_b": 4096, "D": 1024})
    assert needed == 2 * 4096 * 1024 * 4  # float32, in and out
    assert time.bytes == pytest.approx(needed, rel=0.01)  # the last tile is shorter than the others
    assert time.cube == 0


def test_rows_beyond_ub_are_read_again() -> None:
    times, solved, needed = timed("nn/softmax.yaml", {"numel_b": 64, "D": 100000})
    assert solved.alternative == "walked"
    assert sum(x.bytes for x in times) == pytest.approx(2 * needed, rel=0.01)  # three passes read, one writes


def cube_of(path: str, sizes: dict[str, int], cores: int) -> StageTime:
    _, made = planned(path)
    alternative = next(a for a in made.kernels[0].alternatives if a.mixed)
    solved = solve(alternative, sizes, cores, UB)
    assert isinstance(solved, Solved), solved
    times = stage_times(alternative, solved, sizes, cores, UB)
    return next(x for x, s in zip(times, alternative.stages, strict=True) if s.matmul is not None)


def test_cube_cycles_are_the_fractals_of_one_cores_items() -> None:
    spec, _ = planned("nn/batch_matmul.yaml")
    sizes = dict.fromkeys([*spec.program.dims, *spec.program.int_attrs], 512)
    sizes |= {n: 1 for n in sizes if n.startswith("numel")}
    one = cube_of("nn/batch_matmul.yaml", sizes, 2)  # one cube core
    assert one.cube == pytest.approx(512**3 / 4096)  # 16 x 16 x 16 multiply-adds a cycle
    assert one.vector == 0


def test_operands_in_hf32_are_multiplied_twice_as_fast() -> None:
    sizes = {"H_in": 512, "N": 8, "C_in": 256, "K": 1, "C_out": 512, "pad": 0}
    times = [cube_of("conv/conv_tbc.yaml", {**sizes, "cubeMathType": value}, 2) for value in range(4)]
    whole = 512 * 8 * 256 * 512
    assert [t.cube for t in times] == pytest.approx([whole / macs for macs in (1024, 2048, 1024, 2048)])  # facts.md E.6
    assert len({t.bytes for t in times}) == 1


def stage(body: tuple[t.Node, ...]) -> list[StageTime]:
    made = t.Stage("s", "probe", (), (), (), body)
    alternative = Alternative("full", (), (made,), (), (), const(1), const(0), False, (t.RunStage(0),))
    solved = Solved("full", 0, (), {}, 1, 0)
    return stage_times(alternative, solved, {"n": 9}, 1, UB)


def adds(count: t.IntExpr) -> t.Call:
    x = t.Local("x", const(0), "float", "float")
    return t.Call("Add", (x, x, x, t.Int(count)), "V")


def test_a_vector_instruction_starts_and_takes_a_cycle_a_repeat() -> None:
    (time,) = stage((adds(const(640)),))
    assert time.vector == 26 + 10
    assert time.transfer == 0


def test_a_loop_is_its_turns_however_many() -> None:
    body = t.Loop("k", const(0), sym("n"), const(1), (adds((sym("k") + 1) * 64),))
    (time,) = stage((body,))
    assert time.vector == sum(26 + k + 1 for k in range(9))


def test_a_branch_is_the_side_taken() -> None:
    branch = t.If((t.Cond(">", sym("n"), const(8)),), (adds(const(64)),), (adds(const(6400)),))
    (time,) = stage((branch,))
    assert time.vector == 27


def test_a_transfer_moves_whole_blocks_of_32_bytes() -> None:
    x = t.Local("x", const(0), "float", "float")
    fields = tuple((const(v), "uint32_t") for v in (3, 33, 0, 0, 0))
    copy = t.Call("DataCopyPad", (x, t.Global("g", const(0)), t.Struct("DataCopyExtParams", fields)), "MTE2")
    (time,) = stage((copy,))
    assert time.bytes == 3 * 64
    assert time.transfer == pytest.approx(21 + 192 / 20)
