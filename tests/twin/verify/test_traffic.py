"""Elements a formula touches, counted by hand for small programs."""

from __future__ import annotations

import numpy as np
import pytest

from generator.formula.ir import Assign, Binary, Bound, FlatLayout, For, Gather, Load, Program, Reduce, Tensor
from generator.spec.integer import IntExpr, const, floor_div, sym
from generator.twin.verify.traffic import touched
from generator.twin.verify.work import points


def tensor(name: str, role: str, *shape: IntExpr, **more: object) -> Tensor:
    return Tensor(name, shape, role, dtype="float32", **more)  # type: ignore[arg-type]


def program(body: list[Assign | For], *tensors: Tensor) -> Program:
    return Program(tuple(body), {t.name: t for t in tensors}, ("n", "m"), (), ())


def copy(source: Load, *axes: str) -> Assign:
    """``y[axes...] = source`` with every axis of extent n."""
    return Assign("y", tuple(sym(a) for a in axes), source, tuple(Bound(a, sym("n")) for a in axes))


def test_a_plain_copy_touches_everything_once() -> None:
    n = sym("n")
    p = program([copy(Load("x", (sym("i"),)), "i")], tensor("x", "input", n), tensor("y", "output", n))
    marks = touched(p, {"n": 5})
    assert marks.reads["x"].all()
    assert marks.writes["y"].all()
    assert marks.reads["x"].size == 5


def test_the_diagonal_of_a_matrix_touches_n_of_n_squared_elements() -> None:
    n = sym("n")
    p = program([copy(Load("x", (sym("i"), sym("i"))), "i")], tensor("x", "input", n, n), tensor("y", "output", n))
    assert np.flatnonzero(touched(p, {"n": 4}).reads["x"]).tolist() == [0, 5, 10, 15]


def test_reversed_and_strided_indices_are_followed() -> None:
    n = sym("n")
    backwards = Load("x", (2 * n - 1 - 2 * sym("i"),))
    p = program([copy(backwards, "i")], tensor("x", "input", 2 * n), tensor("y", "output", n))
    assert np.flatnonzero(touched(p, {"n": 3}).reads["x"]).tolist() == [1, 3, 5]


def test_a_guarded_index_counts_only_what_lies_inside() -> None:
    n = sym("n")
    body = Load("x", (sym("i") + sym("k") - 2,), guarded=(0,), outside=0.0)
    windows = Assign("y", (sym("i"),), Reduce("sum", (Bound("k", const(2)),), body), (Bound("i", n),))
    p = program([windows], tensor("x", "input", n), tensor("y", "output", n))
    assert np.flatnonzero(touched(p, {"n": 5}).reads["x"]).tolist() == [0, 1, 2, 3]


def test_a_guarded_index_in_two_dims_that_share_an_axis_is_followed_point_by_point() -> None:
    n = sym("n")
    body = Load("x", (sym("i") - 1, sym("i") + 1), guarded=(0, 1), outside=0.0)
    p = program([copy(body, "i")], tensor("x", "input", n, n), tensor("y", "output", n))
    assert np.flatnonzero(touched(p, {"n": 4}).reads["x"]).tolist() == [0 * 4 + 2, 1 * 4 + 3]


def test_an_index_with_a_division_is_followed() -> None:
    n = sym("n")
    p = program([copy(Load("x", (floor_div(sym("i"), 3),)), "i")], tensor("x", "input", n), tensor("y", "output", n))
    assert np.flatnonzero(touched(p, {"n": 7}).reads["x"]).tolist() == [0, 1, 2]


def test_a_gather_counts_the_rows_its_indices_name() -> None:
    n = sym("n")
    load = Load("table", (Gather(Load("idx", (sym("i"),))), sym("j")))
    p = program(
        [copy(load, "i", "j")],
        tensor("table", "input", sym("m"), n),
        Tensor("idx", (n,), "input", kind="int", dtype="int32"),
        tensor("y", "output", n, n),
    )
    marks = touched(p, {"n": 3, "m": 10}, values={"idx": np.array([7, 2, 7])})
    assert np.flatnonzero(marks.reads["table"].reshape(10, 3).any(axis=1)).tolist() == [2, 7]
    assert marks.reads["table"].sum() == 6
    assert marks.reads["idx"].all()
    assert touched(p, {"n": 3, "m": 10}).reads["table"].all()


def test_a_loop_over_a_flat_buffer_touches_only_what_its_order_maps() -> None:
    n, m = sym("n"), sym("m")
    flat = FlatLayout(("r", "i"), (m, n), ("r", "i"), 3 * m * n)
    x = Tensor("x", (m, n), "input", dtype="float32", flat=flat)
    step = Assign("y", (sym("i"),), Load("x", (sym("r"), sym("i"))), (Bound("i", n),))
    p = program([For("r", m - 1, const(0), -1, (step,))], x, tensor("y", "output", n))
    marks = touched(p, {"n": 2, "m": 4})
    assert marks.reads["x"].size == 24
    assert np.flatnonzero(marks.reads["x"]).tolist() == [2, 3, 4, 5, 6, 7]


def test_absent_tensors_are_not_counted_and_filled_outputs_are_written_whole() -> None:
    n = sym("n")
    first = Assign("y", (const(0),), Load("x", (const(0),)), ())
    p = program([first], tensor("x", "input", n, optional=True), tensor("y", "output", n, fill=0.0))
    marks = touched(p, {"n": 4}, {"x"})
    assert "x" not in marks.reads
    assert marks.writes["y"].all()


def test_an_index_that_leaves_its_buffer_is_an_error() -> None:
    n = sym("n")
    p = program([copy(Load("x", (sym("i") + 1,)), "i")], tensor("x", "input", n), tensor("y", "output", n))
    with pytest.raises(IndexError, match="leaves a buffer of 3"):
        touched(p, {"n": 3})


def test_no_extent_no_elements() -> None:
    n = sym("n")
    p = program([copy(Load("x", (sym("i") + 1,)), "i")], tensor("x", "input", n), tensor("y", "output", n))
    assert touched(p, {"n": 0}).reads["x"].size == 0


def test_points_are_those_of_axes_and_reductions_times_trips() -> None:
    n, m = sym("n"), sym("m")
    total = Reduce("sum", (Bound("k", m),), Binary("mul", Load("x", (sym("i"), sym("k"))), Load("x", (sym("i"), sym("k")))))
    step = Assign("y", (sym("i"),), total, (Bound("i", n),))
    p = program([step, For("r", const(1), const(4), 1, (step,))], tensor("x", "input", n, m), tensor("y", "output", n))
    assert points(p, {"n": 5, "m": 7}) == (5 + 5 * 7) * (1 + 3)


def test_a_reduction_whose_body_hides_the_outer_axis_is_counted_once() -> None:
    n = sym("n")
    total = Reduce("sum", (Bound("i", n),), Load("x", (sym("i"),)))
    p = program([Assign("y", (sym("i"),), total, (Bound("i", n),))], tensor("x", "input", n), tensor("y", "output", n))
    assert points(p, {"n": 100}) == 100 + 100
