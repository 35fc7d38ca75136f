"""What resolution infers: sizes, guards, kinds, products, segments, packs, flat buffers, and what it accepts as written."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from generator.formula.checked import CheckedSpec, check, load
from generator.formula.dims import sources
from generator.formula.infer import children
from generator.formula.ir import Assign, Expr, For, Gather, IntVal, Load, Program, Reduce, Stmt
from generator.formula.latex import latex
from generator.formula.link import bindings, link
from generator.formula.printer import text
from generator.formula.ranges import bounds_of
from generator.formula.validate import faults
from generator.spec.errors import SpecError
from generator.spec.integer import IntExpr, sym
from generator.symbolic.notation import Notation
from generator.symbolic.save import formula_of
from tests.formula.specs import attr, checked, complaints, tensor

SPECS = sorted((Path(__file__).parents[2] / "specs").glob("*/*.yaml"))


def statements(body: tuple[Stmt, ...]) -> Iterator[Assign]:
    for s in body:
        if isinstance(s, For):
            yield from statements(s.body)
        else:
            yield s


def loads(program: Program, name: str) -> list[Load]:
    def walk(e: Expr) -> Iterator[Load]:
        if isinstance(e, Load) and e.tensor == name:
            yield e
        for child in children(e):
            yield from walk(child)

    return [found for s in statements(program.body) for found in walk(s.value)]


def extents(spec: CheckedSpec, at: int = 0) -> dict[str, str]:
    stmt = list(statements(spec.program.body))[at]
    return {a.name: str(a.extent) for a in stmt.axes}


X_TD = [tensor("x", "in", "[T, D]"), tensor("y", "out", "[T, D]")]
X_T = [tensor("x", "in", "[T]"), tensor("y", "out", "[T]")]


@pytest.mark.parametrize("path", SPECS, ids=[p.stem for p in SPECS])
def test_every_spec_resolves_to_a_valid_program(path: Path) -> None:
    assert faults(load(path).program) == []


@pytest.mark.parametrize("path", SPECS, ids=[p.stem for p in SPECS])
def test_every_gradient_links_to_its_forward(path: Path) -> None:
    known = {s.spec.name: s for s in map(load, SPECS)}
    spec = load(path)
    forward = link(spec, known)
    assert (forward is None) == (spec.spec.forward is None)
    if forward is not None:
        assert set(bindings(spec, forward)) >= {p.symbol for p in spec.spec.params}


# --- axis sizes ----------------------------------------------------------------------------------------------------


def test_axes_take_the_sizes_of_the_dims_they_index() -> None:
    spec = checked("m[t] = max[d](x[t, d])\ny[t, d] = x[t, d] - m[t]", X_TD, "T, D")
    assert extents(spec, 0) == {"t": "T"}
    assert extents(spec, 1) == {"t": "T", "d": "D"}
    assert spec.program.tensors["m"].shape == (sym("T"),)


def test_a_reduction_may_hide_an_axis_of_the_left_side() -> None:
    spec = checked("y[t, d] = x[t, d] / sum[d](x[t, d])", X_TD, "T, D")
    (stmt,) = statements(spec.program.body)
    reduction = next(c for c in children(stmt.value) if isinstance(c, Reduce))
    assert [(b.name, str(b.extent)) for b in reduction.axes] == [("d", "D")]


def test_a_window_states_its_extent() -> None:
    params = [tensor("x", "in", "[H]"), attr("K", "int", "K >= 1"), attr("s", "int", "s >= 1"), tensor("y", "out", "[(H - K)//s + 1]")]
    spec = checked("y[t] = max[k: K](x[t*s + k])", params, "H")
    assert loads(spec.program, "x")[0].guarded == ()  # s*((H - K)//s) + K - 1 <= H - 1


def test_the_smallest_dim_sizes_an_axis_of_the_left_side() -> None:
    params = [tensor("x", "in", "[2*D]"), tensor("y", "out", "[D]")]
    assert extents(checked("y[j] = x[j] * x[j + D]", params, "D")) == {"j": "D"}
    back = [tensor("x", "in", "[D]"), tensor("y", "out", "[2*D]")]
    spec = checked("y[j] = x[j]\ny[j + D] = -x[j]", back, "D")
    assert [extents(spec, at) for at in (0, 1)] == [{"j": "D"}, {"j": "D"}]


def test_sizes_that_nothing_relates_do_not_agree() -> None:
    params = [tensor("x", "in", "[T]"), tensor("w", "in", "[D]"), tensor("y", "out", "[T]")]
    assert any("two sizes" in c and "T" in c and "D" in c for c in complaints("y[t] = x[t] + w[t]", params, "T, D"))
    assert any("two sizes" in c for c in complaints("y[t] = x[t] * sum[k](x[k] * w[k])", params, "T, D"))


def test_a_local_without_tensors_gets_its_extent_by_hand() -> None:
    formula = "s[d: D] = 0\nfor r in range(T):\n    s[d] = s[d] + x[r, d]\n    y[r, d] = s[d]"
    spec = checked(formula, X_TD, "T, D")
    assert spec.program.tensors["s"].shape == (sym("D"),)
    assert spec.program.tensors["s"].kind == "float"


# --- guards --------------------------------------------------------------------------------------------------------

CONV = [
    tensor("dy", "in", "[P, B, O]"),
    tensor("w", "in", "[K, C, O]"),
    tensor("x", "in", "[H, B, C]"),
    attr("pad", "int", "pad >= 0"),
    tensor("dx", "out", "[H, B, C]"),
]


def test_an_index_that_can_leave_under_a_sum_is_guarded_with_zero() -> None:
    spec = checked("dx[t, b, c] = sum[k, o](dy[t + pad - k, b, o] * w[k, c, o])", CONV, "H, B, C, K, O, P")
    assert [(e.guarded, e.outside) for e in loads(spec.program, "dy")] == [((0,), 0.0)]
    assert [(e.guarded, e.outside) for e in loads(spec.program, "w")] == [((), None)]


@pytest.mark.parametrize(("op", "outside"), [("max", float("-inf")), ("min", float("inf")), ("prod", 1.0), ("sum", 0.0)])
def test_what_stands_outside_is_neutral_for_the_reduction(op: str, outside: float) -> None:
    spec = checked(f"y[t] = {op}[k: 3](x[t + k - 1])", X_T, "T")
    assert loads(spec.program, "x")[0].outside == outside


def test_an_index_proved_inside_has_no_guard() -> None:
    params = [attr("m", "int", "1 <= m <= 9"), tensor("x", "in", "[2*m, T]"), tensor("y", "out", "[T]")]
    formula = "s[t: T] = 0\nfor r in range(m - 1, 0, -1):\n    s[t] = s[t] + x[2*r + 1, t] + x[2*r, t]\ny[t] = s[t] + x[0, t] + x[1, t]"
    spec = checked(formula, params, "T")
    assert all(e.guarded == () for e in loads(spec.program, "x"))


def test_a_loop_one_step_too_long_is_refused() -> None:
    params = [attr("m", "int", "1 <= m <= 9"), tensor("x", "in", "[2*m, T]"), tensor("y", "out", "[T]")]
    formula = "s[t: T] = 0\nfor r in range(m, 0, -1):\n    s[t] = s[t] + x[2*r + 1, t]\ny[t] = s[t]"
    assert any("2*r + 1" in c for c in complaints(formula, params, "T"))


def test_a_condition_guards_what_it_picks() -> None:
    spec = checked("y[t] = where(t > 0, x[t - 1], 0)", X_T, "T")
    assert loads(spec.program, "x")[0].guarded == (0,)
    assert complaints("y[t] = where(t >= 0, x[t - 1], 0)", X_T, "T") != []
    assert complaints("y[t] = where(t == 0, 0, x[t - 1])", X_T, "T") != []  # t != 0 is not used as a fact
    assert complaints("y[t] = where(t < 1, 0, x[t - 1])", X_T, "T") == []


def test_a_load_outside_any_reduction_must_stay_inside() -> None:
    assert any("not proved to stay inside" in c for c in complaints("y[t] = x[t + 1]", X_T, "T"))


def test_the_first_element_exists_unless_empty_tensors_are_computed() -> None:
    params = [tensor("x", "in", "[T]"), tensor("w", "in", "[D]"), tensor("y", "out", "[D]")]
    assert complaints("y[d] = w[d] * x[0]", params, "T, D") == []
    assert any("stay inside" in c for c in complaints("y[d] = w[d] * x[0]", params, "T, D", "policies: {empty: compute}"))


# --- indices -------------------------------------------------------------------------------------------------------


def test_a_product_is_row_major_and_splits_a_dim() -> None:
    spec = checked("y[i, d] = x[(i, d)]", [tensor("x", "in", "[N*D]"), tensor("y", "out", "[N, D]"), tensor("z", "in", "[D]")], "N, D")
    assert loads(spec.program, "x")[0].indices == (sym("i") * sym("D") + sym("d"),)


def test_a_product_sizes_its_last_unknown_part() -> None:
    params = [tensor("x", "in", "[N*D]"), tensor("w", "in", "[D]"), tensor("y", "out", "[N]")]
    spec = checked("s[i, d] = x[(i, d)] * w[d]\ny[i] = sum[d](s[i, d])", params, "N, D")
    assert extents(spec, 0) == {"i": "N", "d": "D"}


def test_a_product_of_another_size_is_refused() -> None:
    params = [tensor("x", "in", "[N*D]"), tensor("w", "in", "[D]"), tensor("v", "in", "[T]"), tensor("y", "out", "[T, D]")]
    assert any("product's size" in c for c in complaints("y[i, d] = x[(i, d)] * w[d] * v[i]", params, "N, D, T"))


SEGMENTED = "segments:\n  K: {pre: [n], res: [n, n]}"
SEG_PARAMS = [tensor("x", "in", "[T, K]"), tensor("u", "in", "[n]"), tensor("y", "out", "[T, K]")]


def test_a_segment_is_an_offset_into_its_axis() -> None:
    spec = checked("y[t, pre(i)] = x[t, pre(i)]\ny[t, res(i, j)] = x[t, res(i, j)] + u[i]", SEG_PARAMS, "T, n", SEGMENTED)
    first, second = (s.indices[1] for s in statements(spec.program.body))
    n, i, j = sym("n"), sym("i"), sym("j")
    assert (first, second) == (i, n + i * n + j)
    assert spec.program.tensors["y"].shape == (sym("T"), n + n * n)


def test_a_segmented_axis_runs_over_the_sum_of_its_segments() -> None:
    spec = checked("y[t, k] = x[t, k]", SEG_PARAMS, "T, n", SEGMENTED)
    assert extents(spec) == {"t": "T", "k": "n*n + n"}


def test_a_pack_is_one_flattened_axis() -> None:
    params = [tensor("x", "in", '["*b", D]'), tensor("y", "out", '["*b", D]')]
    spec = checked("y[*b, j] = x[*b, j] - mean[j](x[*b, j])", params, "D")
    assert extents(spec) == {"b": "numel_b", "j": "D"}
    assert spec.packs == ("b",)
    assert "numel_b" in spec.program.dims
    pack, last = sources(spec)
    assert (pack.dim, pack.pack, pack.at) == ("numel_b", True, 0)
    assert (last.dim, last.pack, last.from_end) == ("D", False, 1)


def test_a_dim_is_solved_from_a_multiple_of_it() -> None:
    params = [tensor("x", "in", "[2*D + 1]"), tensor("y", "out", "[D]")]
    (source,) = sources(checked("y[j] = x[j]", params, "D"))
    assert (source.dim, source.scale.value, source.offset.value) == ("D", 2, 1)


def test_a_gather_reads_an_integer_tensor() -> None:
    params = [tensor("x", "in", "[N, D]"), tensor("idx", "in", "[T]", "int32"), tensor("y", "out", "[T, D]")]
    spec = checked("y[t, d] = x[idx[t], d]", params, "T, N, D")
    assert isinstance(loads(spec.program, "x")[0].indices[0], Gather)


def test_a_flat_buffer_has_the_strides_of_its_order() -> None:
    spec = load(next(p for p in SPECS if p.stem.endswith("sinkhorn")))
    norm = spec.program.tensors["norm"]
    t, n = sym("T"), sym("n")
    assert norm.strides() == (n * n * t, IntExpr(()) + 1, n * t, t)  # order r, i, j, t; t fastest


# --- writes --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "formula",
    [
        "y[2*t] = x[t]\ny[2*t + 1] = -x[t]",
        "y[2*t + 1] = x[t]\ny[2*t] = -x[t]",
        "y[(t, k)] = x[t] + k * z[k]",
        "for r in range(T):\n    y[2*r] = x[r]\n    y[2*r + 1] = x[r]",
        "for r in range(T - 1, -1, -1):\n    y[2*r] = x[r]\n    y[2*r + 1] = x[r]",
        "y[0] = x[0]\ny[j + 1] = x[0] + w[j]",
    ],
)
def test_writes_that_tile_a_tensor_are_complete(formula: str) -> None:
    params = [tensor("x", "in", "[T]"), tensor("w", "in", "[2*T - 1]"), tensor("z", "in", "[2]"), tensor("y", "out", "[2*T]")]
    assert complaints(formula, params, "T") == []


@pytest.mark.parametrize(
    ("formula", "words"),
    [
        ("y[2*t] = x[t]", "only partly written"),
        ("y[2*t] = x[t]\ny[2*t] = x[t]", "written twice"),
        ("y[2*t] = x[t]\ny[t] = x[t]", "written twice"),
        ("y[t] = x[t]", "only partly written"),
        ("for r in range(1, T):\n    y[2*r] = x[r]\n    y[2*r + 1] = x[r]", "only partly written"),
        ("y[t + k] = x[t] * z[k]", "twice"),
        ("for r in range(T):\n    y[r + t] = x[t]", "twice"),
    ],
)
def test_holes_and_overlaps_are_found(formula: str, words: str) -> None:
    params = [tensor("x", "in", "[T]"), tensor("z", "in", "[T + 1]"), tensor("y", "out", "[2*T]")]
    assert any(words in c for c in complaints(formula, params, "T")), complaints(formula, params, "T")


def test_a_diagonal_needs_a_fill() -> None:
    x = tensor("x", "in", "[T]")
    assert any("partly written" in c for c in complaints("y[i, i] = x[i]", [x, tensor("y", "out", "[T, T]")], "T"))
    assert complaints("y[i, i] = x[i]", [x, tensor("y", "out", "[T, T]", extra="fill: 0")], "T") == []


def test_a_tensor_carried_by_a_loop_is_updated_before_in_and_after_it() -> None:
    formula = "a[t] = x[t]\na[t] = a[t] + 1\nfor r in range(3):\n    a[t] = a[t] * a[t]\na[t] = a[t] - 1\ny[t] = a[t]"
    assert complaints(formula, X_T, "T") == []
    assert any("written twice" in c for c in complaints("a[t] = x[t]\na[t] = a[t] + 1\ny[t] = a[t]", X_T, "T"))


def test_a_tensor_of_a_loop_that_may_not_run_is_not_read_after_it() -> None:
    params = [attr("m", "int", "m >= 0"), *X_T]
    formula = "for r in range(m):\n    a[t] = x[t] * r\ny[t] = a[t]"
    assert any("may not run" in c for c in complaints(formula, params, "T"))
    assert complaints(formula, [attr("m", "int", "m >= 1"), *X_T], "T") == []


def test_a_recurrence_writes_every_step_once() -> None:
    formula = "h[0, d] = x[0, d]\nfor r in range(1, T):\n    h[r, d] = h[r - 1, d] * 0.5 + x[r, d]\ny[t, d] = h[t, d]"
    spec = checked(formula, X_TD, "T, D")
    assert spec.program.tensors["h"].shape == (sym("T"), sym("D"))


# --- kinds ---------------------------------------------------------------------------------------------------------


def test_sizes_and_axes_become_floats_where_floats_are_wanted() -> None:
    spec = checked("y[t] = x[t] * (t + 1) / T", X_T, "T")
    assert spec.program.tensors["y"].kind == "float"


def test_integer_arithmetic_of_sizes_is_one_integer() -> None:
    (stmt,) = statements(checked("y[t] = 2 * (t + T) - T", X_T, "T").program.body)
    assert isinstance(stmt.value, IntVal)
    assert stmt.value.value == sym("t") * 2 + sym("T")


def test_argmax_gives_integers() -> None:
    params = [tensor("x", "in", "[T, D]"), tensor("y", "out", "[T]", "int32")]
    spec = checked("k[t] = argmax[d](x[t, d])\ny[t] = k[t]", params, "T, D")
    assert spec.program.tensors["k"].kind == "int"


@pytest.mark.parametrize(
    ("formula", "words"),
    [
        ("y[t] = q[t] * x[t]", "mixes an integer tensor with floats"),
        ("y[t] = q[t]", "holds float values"),
        ("y[t] = sqrt(q[t])", "integer tensor"),
        ("y[t] = x[t] // 2", "defined for integers"),
        ("y[t] = x[t] and x[t]", "needs a bool"),
    ],
)
def test_kinds_do_not_mix_silently(formula: str, words: str) -> None:
    params = [tensor("x", "in", "[T]"), tensor("q", "in", "[T]", "int32"), tensor("y", "out", "[T]")]
    assert any(words in c for c in complaints(formula, params, "T"))
    assert complaints("y[t] = cast(q[t], float32) * x[t]", params, "T") == []


# --- the rest ------------------------------------------------------------------------------------------------------


def test_bounds_come_from_conditions() -> None:
    params = [attr("m", "int", "1 <= m <= 9"), attr("q", "int"), tensor("w", "in", "[n]"), *X_T]
    spec = checked("y[t] = x[t] * m", params, "T, n: n in {4; 8}", "constraints:\n  - {that: 2 * T > 5}")
    assert bounds_of(spec) == {"T": (3, None), "n": (4, 8), "m": (1, 9), "q": (-(2**63), None)}


def test_latex_shows_fractions_sums_and_loops() -> None:
    spec = checked("s[d: D] = 0\nfor r in range(T):\n    s[d] = s[d] + x[r, d]\ny[t, d] = x[t, d] / sum[k](x[t, k])", X_TD, "T, D")
    said = latex(spec.program)
    assert r"\frac{x_{t, d}}{\sum_{0 \le k < D} x_{t, k}}" in said
    assert r"\textbf{for}\ r = 0, \ldots, T - 1" in said


@pytest.mark.parametrize("path", SPECS, ids=[p.stem for p in SPECS])
def test_a_resolved_program_prints_as_a_formula_with_the_same_meaning(path: Path) -> None:
    spec = load(path)
    head, rest = path.read_text(encoding="utf-8").split("\nformula: |\n", 1)
    lines = rest.split("\n")
    end = next(at for at, line in enumerate(lines) if line and not line.startswith(" "))
    written = formula_of(spec.program, Notation.of(spec), extents=True) if spec.spec.segments else text(spec.program)
    said = "".join(f"  {line}\n" for line in written.rstrip("\n").split("\n"))
    again = check(head + "\nformula: |\n" + said + "\n".join(lines[end:]), path)
    assert again.program == spec.program


def test_an_unknown_forward_is_located() -> None:
    path = next(p for p in SPECS if p.stem.endswith("backward"))
    with pytest.raises(SpecError) as caught:
        link(load(path), {})
    (problem,) = caught.value.problems
    line = path.read_text(encoding="utf-8").split("\n").index("forward: " + load(path).spec.forward) + 1  # type: ignore[operator]
    assert (problem.line, problem.column) == (line, 10)
