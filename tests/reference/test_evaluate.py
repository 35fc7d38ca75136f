"""The evaluator against the mathematics of small formulas, written directly in NumPy or by hand."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from generator.formula import ir
from generator.reference import pieces
from generator.reference.dtypes import to_hf32
from generator.reference.errors import EvaluationError, IndexOutOfRangeError, MissingValueError, ShapeError, UnknownNameError
from generator.reference.evaluate import run
from generator.reference.points import Points
from tests.reference.build import layout, program

RNG = np.random.default_rng(20)


def test_a_softmax_sums_to_one_and_matches_its_definition() -> None:
    p = program(
        "m[t] = max[k](x[t, k])\ne[t, k] = exp(x[t, k] - m[t])\ny[t, k] = e[t, k] / sum[j](e[t, j])",
        {"t": "T", "k": "n", "j": "n"}, x="in T,n", m="local T", e="local T,n", y="out T,n",
    )  # fmt: skip
    y = run(p, {"x": np.log([[1.0, 2.0, 5.0]])}, {"T": 1, "n": 3}, {})["y"]
    np.testing.assert_allclose(y, [[0.125, 0.25, 0.625]], rtol=1e-15)


def test_a_reduction_may_reuse_the_name_of_an_axis_on_the_left() -> None:
    p = program("y[k] = x[k] + sum[k](x[k])", {"k": "n"}, x="in n", y="out n")
    np.testing.assert_array_equal(run(p, {"x": np.array([1.0, 2.0, 4.0])}, {"n": 3}, {})["y"], [8.0, 9.0, 11.0])


def test_a_statement_reads_its_whole_right_side_before_it_writes() -> None:
    p = program("a[i, j] = x[i, j]\na[i, j] = a[j, i]\ny[i, j] = a[i, j]", {"i": "n", "j": "n"}, x="in n,n", a="local n,n", y="out n,n")
    x = RNG.normal(size=(5, 5))
    np.testing.assert_array_equal(run(p, {"x": x}, {"n": 5}, {})["y"], x.T)


def test_a_statement_cut_into_pieces_still_reads_before_it_writes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pieces, "CHUNK", 4)
    p = program("a[i, j] = x[i, j]\na[i, j] = a[j, i] + 1\ny[i, j] = a[i, j]", {"i": "n", "j": "n"}, x="in n,n", a="local n,n", y="out n,n")
    x = RNG.normal(size=(7, 7))
    np.testing.assert_array_equal(run(p, {"x": x}, {"n": 7}, {})["y"], x.T + 1)


def test_diagonals_reversals_strides_and_products_of_axes_are_read_as_written() -> None:
    p = program(
        "d[i] = x[i, i]\nr[i] = x[n - 1 - i, 0]\ns[h] = x[2*h, 1]\nv[i, j] = w[i*n + j]",
        {"i": "n", "j": "n", "h": "n // 2"}, x="in n,n", w="in n*n", d="out n", r="out n", s="out n // 2", v="out n,n",
    )  # fmt: skip
    x, w = RNG.normal(size=(6, 6)), RNG.normal(size=36)
    out = run(p, {"x": x, "w": w}, {"n": 6}, {})
    np.testing.assert_array_equal(out["d"], np.diag(x))
    np.testing.assert_array_equal(out["r"], x[::-1, 0])
    np.testing.assert_array_equal(out["s"], x[::2, 1])
    np.testing.assert_array_equal(out["v"], w.reshape(6, 6))


@pytest.mark.parametrize("pad", [0, 1, 2, 5])
def test_a_guarded_index_reads_zeros_outside_as_a_padded_convolution_does(pad: int) -> None:
    p = program(
        "y[t, o] = bias[o] + sum[k: K, c: C](x[t + k - pad, c] * w[k, c, o])",
        {"t": "H + 2*pad - K + 1", "o": "O", "k": "K", "c": "C"}, ints=("pad",), outside={"x": 0.0},
        x="in H,C", w="in K,C,O", bias="in O", y="out H + 2*pad - K + 1,O",
    )  # fmt: skip
    x, w, bias = RNG.normal(size=(9, 2)), RNG.normal(size=(4, 2, 3)), RNG.normal(size=3)
    wide = np.pad(x, ((pad, pad), (0, 0)))
    want = np.stack([bias + np.tensordot(wide[t : t + 4], w, 2) for t in range(9 + 2 * pad - 3)])
    for precision, tolerance in (("float64", 1e-14), ("float32", 1e-5)):
        y = run(p, {"x": x, "w": w, "bias": bias}, {"H": 9, "C": 2, "K": 4, "O": 3}, {"pad": pad}, precision=precision)["y"]  # type: ignore[arg-type]
        np.testing.assert_allclose(y, want, rtol=tolerance, atol=tolerance)


def test_outside_a_maximum_stands_minus_infinity_and_far_strides_use_a_table() -> None:
    p = program("y[i] = max[k: 3](x[100*i + k - 1])", {"i": "m"}, outside={"x": -math.inf}, x="in n", y="out m")
    x = RNG.normal(size=301)
    np.testing.assert_array_equal(
        run(p, {"x": x}, {"n": 301, "m": 4}, {})["y"], [max(x[max(0, c - 1) : c + 2]) for c in (0, 100, 200, 300)]
    )


def test_an_unguarded_index_that_leaves_its_tensor_is_an_error_with_the_value() -> None:
    p = program("y[i] = x[i + 1]", {"i": "n"}, x="in n", y="out n")
    with pytest.raises(IndexOutOfRangeError, match=r"index 0 of x takes the value 3, outside \[0, 3\)"):
        run(p, {"x": np.zeros(3)}, {"n": 3}, {})


def test_a_gather_reads_rows_by_index_and_refuses_rows_that_are_not_there() -> None:
    p = program("y[t, d] = table[idx[t], d]", {"t": "T", "d": "D"}, kinds={"idx": "int"}, table="in V,D", idx="in T", y="out T,D")
    table, idx = RNG.normal(size=(5, 3)), np.array([4, 0, 0, 2], np.int32)
    np.testing.assert_array_equal(run(p, {"table": table, "idx": idx}, {"T": 4, "V": 5, "D": 3}, {})["y"], table[idx])
    with pytest.raises(IndexOutOfRangeError, match="value -1"):
        run(p, {"table": table, "idx": np.array([0, -1, 0, 0])}, {"T": 4, "V": 5, "D": 3}, {})


VALUED = ("sum", "prod", "max", "min", "mean", "argmax", "argmin")


@pytest.mark.parametrize("precision", ["float64", "float32"])
def test_every_reduction_has_its_value_over_rows_and_over_everything(precision: Any) -> None:
    text = "".join(f"{op}_[t] = {op}[k](x[t, k])\n" for op in VALUED)
    text += "any_[t] = any[k](x[t, k] > 2)\nall_[t] = all[k](x[t, k] > 2)\n"
    text += "total = sum[t, k](x[t, k])\npart[t] = mean[k](x[t, k], divisor=m)"
    outs: dict[str, str] = {f"{op}_": "out T" for op in (*VALUED, "any", "all")}
    kinds: dict[str, ir.Kind] = {"argmax_": "int", "argmin_": "int", "any_": "bool", "all_": "bool"}
    p = program(text, {"t": "T", "k": "n", "m": "n - 1"}, kinds=kinds, x="in T,n", total="out", part="out T", **outs)
    out = run(p, {"x": np.array([[3.0, 1.0, 3.0, 1.0], [4.0, 4.0, 4.0, 4.0]])}, {"T": 2, "n": 4}, {"m": 3}, precision=precision)
    want = {"sum_": [8, 16], "prod_": [9, 256], "max_": [3, 4], "min_": [1, 4], "mean_": [2, 4], "argmax_": [0, 0], "argmin_": [1, 0]}
    want |= {"any_": [True, True], "all_": [False, True], "part": [8 / 3, 16 / 3]}
    for name, value in want.items():
        np.testing.assert_allclose(out[name], value, rtol=1e-6, err_msg=name)
    assert out["total"].shape == ()
    assert out["total"] == 24
    assert out["argmax_"].dtype == np.int64


def test_nan_wins_in_max_and_min_and_argmax() -> None:
    p = program(
        "a = max[k](x[k])\nb = min[k](x[k])\nc = argmax[k](x[k])\nd[k] = maximum(x[k], 0)",
        {"k": "n"},
        kinds={"c": "int"},
        x="in n",
        a="out",
        b="out",
        c="out",
        d="out n",
    )
    out = run(p, {"x": np.array([1.0, np.nan, np.inf])}, {"n": 3}, {})
    assert np.isnan(out["a"])
    assert np.isnan(out["b"])
    assert out["c"] == 1
    np.testing.assert_array_equal(out["d"], [1.0, np.nan, np.inf])


def test_reductions_over_nothing_give_their_identity_and_argmax_is_an_error() -> None:
    p = program(
        "a[t] = sum[k](x[t, k])\nb[t] = prod[k](x[t, k])\nc[t] = max[k](x[t, k])",
        {"t": "T", "k": "n"},
        x="in T,n",
        a="out T",
        b="out T",
        c="out T",
    )
    out = run(p, {"x": np.zeros((2, 0))}, {"T": 2, "n": 0}, {})
    assert [out[n].tolist() for n in "abc"] == [[0, 0], [1, 1], [-math.inf] * 2]
    q = program("a[t] = argmax[k](x[t, k])", {"t": "T", "k": "n"}, kinds={"a": "int"}, x="in T,n", a="out T")
    with pytest.raises(EvaluationError, match="no elements"):
        run(q, {"x": np.zeros((2, 0))}, {"T": 2, "n": 0}, {})


CONTRACTIONS = [
    ("y[t, k] = sum[c](x[t, c] * w[k, c])", "tc,kc->tk"),
    ("y[k, c] = sum[t](x[t, c] * z[t, k])", "tc,tk->kc"),
    ("y[t] = sum[c, k](x[t, c] * w[k, c] * z[t, k])", "tc,kc,tk->t"),
    ("y[t, c] = sum[k](z[t, k] * w[k, c] * x[t, c])", "tk,kc,tc->tc"),
    ("y[t, k, c] = sum[d](x[t, d] * w[k, d] * v[c])", "td,kd,c->tkc"),
    ("y[t] = -sum[c, k](-(x[t, c]) * z[t, k])", "tc,tk->t"),
    ("y[c] = sum[t, k: 2](x[t, c])", "tc,k->c"),
]


@pytest.mark.parametrize(("text", "spec"), CONTRACTIONS)
@pytest.mark.parametrize("chunk", [1 << 20, 7])
@pytest.mark.parametrize("precision", ["float64", "float32"])
def test_a_sum_of_products_is_the_contraction_it_looks_like(
    text: str, spec: str, chunk: int, precision: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pieces, "CHUNK", chunk)
    sizes = {"t": 3, "k": 2, "c": 5, "d": 5}
    tensors = {"x": "tc", "w": "kc", "z": "tk", "v": "c"}
    extents = {"t": "T", "k": "K", "c": "C", "d": "C"}
    arrays = {n: RNG.integers(-4, 5, [sizes[a] for a in axes]).astype(np.float64) for n, axes in tensors.items()}
    left = text[: text.index("=")]
    declared = {n: "in " + ",".join(extents[a] for a in axes) for n, axes in tensors.items()}
    declared["y"] = "out " + ",".join(extents[a] for a in left if a in extents)
    operands = {"tc,kc->tk": "xw", "tc,tk->kc": "xz", "tc,kc,tk->t": "xwz", "tk,kc,tc->tc": "zwx", "td,kd,c->tkc": "xwv", "tc,tk->t": "xz"}
    values = [arrays["x"], np.ones(2)] if spec == "tc,k->c" else [arrays[n] for n in operands[spec]]
    y = run(program(text, extents, **declared), arrays, {"T": 3, "K": 2, "C": 5}, {}, precision=precision)["y"]
    np.testing.assert_array_equal(y, np.einsum(spec, *values))


@pytest.mark.parametrize("shape", [(3, 1000), (40, 300), (1, 5000)])
@pytest.mark.parametrize("axis", [0, 1])
def test_float32_sums_run_strictly_from_left_to_right(shape: tuple[int, int], axis: int) -> None:
    text = "y[i] = sum[k](x[i, k])" if axis == 1 else "y[k] = sum[i](x[i, k])"
    p = program(text, {"i": "a", "k": "b"}, x="in a,b", y="out a" if axis == 1 else "out b")
    x = RNG.normal(size=shape).astype(np.float32)
    rows = x if axis == 1 else x.T
    want = []
    for row in rows.tolist():
        total = np.float32(row[0])
        for value in row[1:]:
            total = np.float32(total + np.float32(value))
        want.append(total)
    np.testing.assert_array_equal(
        run(p, {"x": x}, {"a": shape[0], "b": shape[1]}, {}, precision="float32")["y"], np.array(want, np.float32)
    )


def test_pieces_of_a_reduced_axis_do_not_change_the_order_of_a_float32_sum(monkeypatch: pytest.MonkeyPatch) -> None:
    p = program("y = sum[i, k](x[i, k] * x[i, k])", {"i": "a", "k": "b"}, x="in a,b", y="out")
    x = RNG.normal(size=(13, 17)).astype(np.float32)
    whole = run(p, {"x": x}, {"a": 13, "b": 17}, {}, precision="float32")["y"]
    monkeypatch.setattr(pieces, "CHUNK", 5)
    assert run(p, {"x": x}, {"a": 13, "b": 17}, {}, precision="float32")["y"] == whole


def test_a_sum_of_products_inside_another_sum_is_the_sum_over_both() -> None:
    p = program("y[t] = sum[i](x[t, i] * sum[k](x[t, i] * w[i, k]))", {"t": "T", "i": "n", "k": "n"}, x="in T,n", w="in n,n", y="out T")
    x, w = RNG.normal(size=(3, 4)), RNG.normal(size=(4, 4))
    np.testing.assert_allclose(run(p, {"x": x, "w": w}, {"T": 3, "n": 4}, {})["y"], np.einsum("ti,ti,ik->t", x, x, w), rtol=1e-13)


def test_bfloat16_computation_rounds_after_every_step() -> None:
    p = program("y = sum[k](x[k])", {"k": "n"}, x="in n", y="out")
    assert run(p, {"x": np.array([256.0, 1.0, 1.0, 1.0])}, {"n": 4}, {}, precision="bfloat16")["y"] == 256.0
    assert run(p, {"x": np.array([256.0, 1.0, 1.0, 1.0])}, {"n": 4}, {})["y"] == 259.0


def test_an_explicit_cast_rounds_even_in_float64_and_truncates_to_integers() -> None:
    p = program("y[k] = cast(x[k], bfloat16)\nz[k] = cast(x[k], int8)", {"k": "n"}, kinds={"z": "int"}, x="in n", y="out n", z="out n")
    out = run(p, {"x": np.array([1.00390625, 2.7, -2.7, 300.0, np.nan])}, {"n": 5}, {})
    np.testing.assert_array_equal(out["y"], [1.0, 2.703125, -2.703125, 300.0, np.nan])
    np.testing.assert_array_equal(out["z"], [1, 2, -2, 127, 0])


def test_a_flat_buffer_is_indexed_by_its_declared_order_and_the_rest_is_never_touched() -> None:
    order = layout({"r": "2", "t": "T"}, "rt", "2*8*T")
    p = program("c[0, t] = x[t]\nc[1, t] = 2*x[t]", {"t": "T"}, flat={"c": order}, x="in T", c="out")
    c = run(p, {"x": np.array([1.0, 2.0, 3.0])}, {"T": 3}, {})["c"]
    np.testing.assert_array_equal(c[:6], [1, 2, 3, 2, 4, 6])
    assert c.shape == (48,)
    assert np.isnan(c[6:]).all()
    swapped = program(
        "y[r, t] = c[r, t]", {"r": "2", "t": "T"}, flat={"c": layout({"r": "2", "t": "T"}, "tr", "2*8*T")}, c="in", y="out 2,T"
    )
    np.testing.assert_array_equal(run(swapped, {"c": c}, {"T": 3}, {})["y"], [[1, 3, 4], [2, 2, 6]])


def test_a_loop_carries_a_tensor_and_its_variable_indexes_and_counts_down() -> None:
    p = program(
        "a[i] = x[i]\nfor r in range(m - 1, 0, -1):\n    a[i] = a[i] * 10 + r\n    h[r, i] = a[i]\ny[i] = a[i]",
        {"i": "n"}, ints=("m", "r"), fill={"h": 0.0}, x="in n", a="local n", h="out m,n", y="out n",
    )  # fmt: skip
    out = run(ir.Program(p.body, p.tensors, ("n",), ("m",), ()), {"x": np.array([1.0, 2.0])}, {"n": 2}, {"m": 3})
    np.testing.assert_array_equal(out["y"], [121.0, 221.0])
    np.testing.assert_array_equal(out["h"], [[0, 0], [121, 221], [12, 22]])


def test_where_comparisons_logic_and_integers_used_as_values() -> None:
    p = program("y[i, j] = where(i < j and not (x[i, j] > 0), i, x[i, j] * j)", {"i": "n", "j": "n"}, x="in n,n", y="out n,n")
    x = np.array([[1.0, -1.0], [2.0, 3.0]])
    np.testing.assert_array_equal(run(p, {"x": x}, {"n": 2}, {})["y"], [[0.0, 0.0], [0.0, 3.0]])


def test_integer_tensors_stay_integers_and_divide_downwards() -> None:
    p = program(
        "y[i] = (x[i] + 1) // 2\nz[i] = x[i] % 3", {"i": "n"}, kinds={"x": "int", "y": "int", "z": "int"}, x="in n", y="out n", z="out n"
    )
    out = run(p, {"x": np.array([-4, 5, 2**40])}, {"n": 3}, {})
    assert out["y"].tolist() == [-2, 3, 2**39]
    assert out["z"].tolist() == [2, 2, 2**40 % 3]


def test_optional_inputs_stand_for_their_fill_and_absent_outputs_are_not_computed() -> None:
    p = program(
        "y[i] = x[i] * g[i]\nz[i] = x[i] * h[i]", {"i": "n"}, optional=("g", "h", "z"), fill={"g": 1.0},
        x="in n", g="in n", h="in n", y="out n", z="out n",
    )  # fmt: skip
    x = np.array([1.0, 2.0])
    out = run(p, {"x": x}, {"n": 2}, {}, present=set())
    assert list(out) == ["y"]
    np.testing.assert_array_equal(out["y"], x)
    with pytest.raises(MissingValueError, match="optional input h is absent"):
        run(p, {"x": x}, {"n": 2}, {})


def test_an_in_place_tensor_is_read_before_it_is_written_and_the_callers_array_is_kept() -> None:
    p = program("x[i] = x[i] + y[i]", {"i": "n"}, x="out n", y="in n")
    p = replace(p, tensors={**p.tensors, "x": replace(p.tensors["x"], inout=True)})
    x = np.array([1.0, 2.0], np.float32)
    np.testing.assert_array_equal(run(p, {"x": x, "y": x}, {"n": 2}, {})["x"], [2.0, 4.0])
    np.testing.assert_array_equal(x, [1.0, 2.0])


def test_names_and_shapes_that_do_not_belong_are_typed_errors() -> None:
    p = program("y[i] = x[i] * eps", {"i": "n"}, attrs=("eps",), x="in n", y="out n")
    x = np.ones(2)
    with pytest.raises(MissingValueError, match="no value was given for n"):
        run(p, {"x": x}, {}, {"eps": 1.0})
    with pytest.raises(MissingValueError, match="attribute eps"):
        run(p, {"x": x}, {"n": 2}, {})
    with pytest.raises(MissingValueError, match="input x"):
        run(p, {}, {"n": 2}, {"eps": 1.0})
    with pytest.raises(UnknownNameError, match="no input q"):
        run(p, {"x": x, "q": x}, {"n": 2}, {"eps": 1.0})
    with pytest.raises(ShapeError, match=r"x has the shape \(2,\), expected \(3,\)"):
        run(p, {"x": x}, {"n": 3}, {"eps": 1.0})
    with pytest.raises(ShapeError, match="expected an array of float"):
        run(p, {"x": np.ones(2, np.int64)}, {"n": 2}, {"eps": 1.0})


@pytest.mark.parametrize("points", [False, True])
def test_hf32_rounds_the_factors_of_summed_products_and_nothing_else(points: bool) -> None:
    p = program(
        "y[t] = sum[k: K](-x[t, k] * w[k] / 2)\nz[t] = sum[k: K](x[t, k])\nv[t] = x[t, 0] * w[0]",
        {"t": "T", "k": "K"}, x="in T,K", w="in K", y="out T", z="out T", v="out T",
    )  # fmt: skip
    x, w = (RNG.normal(size=s).astype(np.float32) for s in ((5, 40), 40))
    given = {"x": x, "w": w}, {"T": 5, "K": 40}, {}
    if points:
        some = Points(p, *given, dict.fromkeys("yzv", np.arange(5)))
        got, plain = some.evaluate("hf32"), some.evaluate("float32")
    else:
        got, plain = run(p, *given, precision="hf32"), run(p, *given, precision="float32")
    want = (-to_hf32(x).astype(np.float64) * to_hf32(w) / 2).sum(axis=1)
    np.testing.assert_allclose(got["y"], want, rtol=1e-5, atol=1e-5)
    assert np.abs(plain["y"] - want).max() > 1e-4
    np.testing.assert_array_equal(got["z"], plain["z"])
    np.testing.assert_array_equal(got["v"], plain["v"])
