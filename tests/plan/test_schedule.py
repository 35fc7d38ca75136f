"""Which statements share a stage, what part axes play, and which alternatives a plan has."""

from __future__ import annotations

from pathlib import Path

import pytest

from generator.formula.checked import CheckedSpec, check, load
from generator.formula.ranges import bounds_of
from generator.plan import plan
from generator.plan.assemble import _alternatives, dtype_combinations, presence_sets
from generator.plan.bounds import Bounds
from generator.plan.memory import covers
from generator.plan.passes import levels
from generator.plan.tree import Alternative, Call, Loop, Node, RunStage, SyncAll
from generator.spec.integer import const, sym

HEAD = """\
name: Probe
family: probe
summary: {en: probe, zh: probe}
"""
DIMS = {"A": "{}", "B": "{}", "n": '{where: "n in {4, 6}"}'}


def spec(params: dict[str, tuple[str, str]], formula: str) -> CheckedSpec:
    used = {d for io, shape in params.values() if io == "in" for d in shape.split(", ")}
    lines = [HEAD, "dims:\n", *(f"  {d}: {text}\n" for d, text in DIMS.items() if d in used), "params:\n"]
    for name, (io, shape) in params.items():
        names = f"symbol: {name}, name: {name}, aclnn: {name}"
        lines.append(f"  - {{{names}, io: {io}, shape: [{shape}], dtype: float32, about: {{en: t, zh: t}}}}\n")
    lines.append("formula: |\n" + "".join(f"  {line}\n" for line in formula.strip().splitlines()))
    return check("".join(lines), Path("probe.yaml"))


def alternatives(params: dict[str, tuple[str, str]], formula: str) -> dict[str, Alternative]:
    return {a.name: a for a in plan(spec(params, formula)).kernels[0].alternatives}


def controls(nodes: tuple[Node, ...]) -> list[object]:
    out: list[object] = []
    for n in nodes:
        if isinstance(n, RunStage):
            out.append(n.index)
        elif isinstance(n, SyncAll):
            out.append("sync")
        elif isinstance(n, Loop):
            out.append(controls(n.body))
    return out


def test_a_row_wise_operator_is_one_stage_and_a_walked_one_for_rows_beyond_ub() -> None:
    made = alternatives({"x": ("in", "A, B"), "y": ("out", "A, B")}, "m[a] = max[b](x[a, b])\ny[a, b] = x[a, b] - m[a]")
    assert [len(a.stages) for a in made.values()] == [1, 1]
    assert list(made) == ["full", "walked"]
    assert not any(a.syncs for a in made.values())


def test_axes_proved_small_need_no_second_alternative() -> None:
    made = alternatives({"x": ("in", "A, n"), "y": ("out", "A, n")}, "m[a] = max[b](x[a, b])\ny[a, b] = x[a, b] - m[a]")
    assert list(made) == ["full"]


def test_an_elementwise_operator_tiles_its_lane_and_needs_no_second_alternative() -> None:
    made = alternatives({"x": ("in", "A, B"), "y": ("out", "A, B")}, "y[a, b] = exp(x[a, b])")
    assert list(made) == ["full"]
    assert len(made["full"].stages[0].tiles) == 2


def test_a_column_sum_over_an_unbounded_axis_is_split_over_cores_and_added_in_fixed_order() -> None:
    made = alternatives({"x": ("in", "A, B"), "y": ("out", "B")}, "y[b] = sum[a](x[a, b])")["walked"]
    assert made.syncs
    assert controls(made.body)[:3] == [0, "sync", 1]
    assert made.workspace != const(0)


def test_statements_without_a_common_axis_meet_through_workspace() -> None:
    text = "c[b] = sum[a](x[a, b])\nr[a] = sum[b](x[a, b])\ny[a, b] = c[b] * r[a]"
    made = alternatives({"x": ("in", "A, B"), "y": ("out", "A, B")}, text)
    assert made["full"].syncs
    assert len(made["full"].stages) >= 2


def test_a_loop_over_a_carried_tensor_stays_inside_one_stage() -> None:
    text = "h[b] = x[0, b] * 0.0\nfor t in range(A):\n    h[b] = h[b] * 0.5 + x[t, b]\n    y[t, b] = h[b]"
    made = alternatives({"x": ("in", "A, B"), "y": ("out", "A, B")}, text)
    assert list(made) == ["full"]
    assert controls(made["full"].body) == [0]


def test_a_loop_whose_body_mixes_axes_is_driven_from_the_kernel_with_syncs() -> None:
    body = ["c[b] = sum[a](h[a, b])", "r[a] = sum[b](h[a, b])", "h[a, b] = h[a, b] / (1.0 + c[b] * c[b] + r[a] * r[a])"]
    text = "\n".join(["h[a, b] = x[a, b]", "for t in range(3):", *(f"    {line}" for line in body), "y[a, b] = h[a, b]"])
    made = alternatives({"x": ("in", "A, B"), "y": ("out", "A, B")}, text)["full"]
    assert any(isinstance(c, list) and "sync" in c for c in controls(made.body))


def copies(nodes: tuple[Node, ...], depth: int = 0) -> list[tuple[str, int]]:
    """Tensors read from global memory, with how many loops stand around each read."""
    out = []
    for n in nodes:
        if isinstance(n, Call) and n.api == "DataCopyPad" and n.pipe == "MTE2":
            out.append((n.args[1].name, depth))  # type: ignore[union-attr]
        elif isinstance(n, Loop):
            out += copies(n.body, depth + 1)
    return out


def test_loads_that_no_loop_changes_stand_before_it() -> None:
    text = "h[b] = x[0, b]\nfor t in range(5):\n    h[b] = h[b] * w[b] + x[t, b]\ny[b] = h[b]"
    stage = alternatives({"x": ("in", "A, B"), "w": ("in", "B"), "y": ("out", "B")}, text.replace("range(5)", "range(A)"))["full"].stages[0]

    assert sorted(copies(stage.body)) == [("w", 1), ("x", 1), ("x", 2)]


def test_every_stage_frees_what_it_allocates_and_ends_no_queue_over_eight_buffers() -> None:
    from generator.formula.checked import load

    for path in sorted(Path("specs").rglob("*.yaml")):
        for kernel in plan(load(path)).kernels:
            for a in kernel.alternatives:
                for s in a.stages:
                    for kind in ("vecin", "vecout"):
                        assert sum(b.copies for b in s.buffers if b.kind == kind) <= 8
                    assert len(s.buffers) <= 64
                    text = repr(s.body)
                    assert text.count("Alloc(") == text.count("Free(")


def test_levels_count_the_reductions_a_value_waits_for() -> None:
    from generator.plan.normal import normalise

    text = "m[a] = max[b](x[a, b])\ns[a] = sum[b](exp(x[a, b] - m[a]))\ny[a, b] = exp(x[a, b] - m[a]) / s[a]"
    program = spec({"x": ("in", "A, B"), "y": ("out", "A, B")}, text).program
    assert list(levels(normalise(program, frozenset()).body, {"b"}).values()) == [0, 1, 2]


def test_equal_reductions_of_equal_values_are_computed_once() -> None:
    from generator.plan.normal import Red, normalise

    program = spec({"x": ("in", "A, B"), "y": ("out", "A, B")}, "y[a, b] = x[a, b] / sum[k](exp(x[a, k])) + sum[k](exp(x[a, k]))").program
    assert sum(isinstance(s, Red) for s in normalise(program, frozenset()).body) == 1


@pytest.mark.parametrize(
    ("step", "extent", "proved"),
    [
        (sym("D") * sym("n"), sym("D"), True),
        (sym("D"), sym("D"), True),
        (sym("T"), sym("D"), False),
        (sym("D") - 1, sym("D"), False),
        (sym("H") * 2, sym("H"), True),
        (const(8), const(4), True),
        (const(4), const(8), False),
        (sym("D") + 3, sym("D"), True),
    ],
)
def test_a_stride_covers_an_extent_only_when_that_is_proved(step: object, extent: object, proved: bool) -> None:
    assert covers(step, extent) is proved  # type: ignore[arg-type]


def test_more_inputs_than_event_ids_move_to_buffers_without_events() -> None:
    names = [f"x{k}" for k in range(9)]
    params = dict.fromkeys(names, ("in", "A, B")) | {"y": ("out", "A, B")}
    stage = alternatives(params, "y[a, b] = " + " + ".join(f"{x}[a, b]" for x in names))["full"].stages[0]
    assert sum(b.copies for b in stage.buffers if b.kind == "vecin") <= 8


def test_parts_of_one_tensor_are_written_without_a_barrier_between_them() -> None:
    checked = load(Path(__file__).resolve().parents[2] / "specs/mhc/mhc_pre_backward.yaml")  # dz is three segments
    sets, dtypes, bounds = presence_sets(checked), dtype_combinations(checked), Bounds(bounds_of(checked))
    made = _alternatives(checked, dtypes[0], sets[0], bounds, {})
    a = next(x for x in made if [s.title for s in x.stages].count("dz") == 2)
    order = controls(a.body)
    first, last = (k for k, s in enumerate(a.stages) if s.title == "dz")
    reader = next(k for k, s in enumerate(a.stages) if s.title == "dmix, sum_1_terms, drms, toward_x")
    assert "sync" not in order[order.index(first) : order.index(last)]
    assert "sync" in order[order.index(last) : order.index(reader)]


def test_sums_of_one_kind_are_split_over_cores_together() -> None:
    params = {"x": ("in", "A, B"), "w": ("in", "A"), "y": ("out", "B"), "z": ("out", "B")}
    made = alternatives(params, "y[b] = sum[a](x[a, b])\nz[b] = sum[a](x[a, b] * w[a])")["walked"]
    parts = [s for s in made.stages if "_part" in s.title]
    assert len(parts) == 1
    assert parts[0].title.count("_part") == 2
    assert [name for name, _ in copies(parts[0].body)].count("x") == 1  # for both


def test_sums_of_different_kinds_are_split_apart() -> None:
    params = {"x": ("in", "A, B"), "y": ("out", "B"), "z": ("out", "A")}
    made = alternatives(params, "y[b] = sum[a](x[a, b])\nz[a] = sum[b](x[a, b])")["walked"]
    assert max(s.title.count("_part") for s in made.stages) <= 1
