"""Algebra on sums of products, and what of them the cube computes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from generator.formula import checked as formula
from generator.formula.checked import CheckedSpec, check
from generator.formula.ir import Cast, Program
from generator.formula.ranges import bounds_of
from generator.formula.walk import loads, walk
from generator.plan import plan
from generator.plan.assemble import presence_sets
from generator.plan.axes import flat, unify
from generator.plan.bounds import Bounds
from generator.plan.cost import hf32_allowed, prefers_cube, typical_sizes
from generator.plan.normal import Map, Normal, Red, normalise
from generator.plan.products import Products, simplified, with_products
from generator.plan.tree import MatmulCall
from generator.reference import evaluate
from generator.spec.integer import const
from generator.spec.model import Hf32

HEAD = """\
name: Probe
family: probe
summary: {en: probe, zh: probe}
"""
LARGE = {"M": 512, "N": 512, "K": 512, "T": 512}


def spec(tensors: dict[str, tuple[str, str]], formula: str) -> CheckedSpec:
    """Inputs first; the last tensors named y... are outputs. A tensor is (shape, dtype)."""
    dims = sorted({d for shape, _ in tensors.values() for d in shape.split(", ") if d.isalpha()})
    lines = [HEAD, "dims:\n", *(f"  {d}: {{}}\n" for d in dims), "params:\n"]
    for name, (shape, dtype) in tensors.items():
        io = "out" if name.startswith("y") else "in"
        names = f"symbol: {name}, name: {name}, aclnn: {name}"
        lines.append(f"  - {{{names}, io: {io}, shape: [{shape}], dtype: {dtype}, about: {{en: t, zh: t}}}}\n")
    lines.append("formula: |\n" + "".join(f"  {line}\n" for line in formula.strip().splitlines()))
    return check("".join(lines), Path("probe.yaml"))


def normal_of(checked: CheckedSpec) -> Normal:
    program = checked.program
    return unify(normalise(program, presence_sets(checked)[0]), [*program.dims, *program.tensors])


def products_of(checked: CheckedSpec, typical: dict[str, int] | None = None) -> Products | None:
    dtypes = {p.symbol: p.dtype or "float32" for p in checked.spec.params if p.io != "attr"}
    return with_products(normal_of(checked), dtypes, typical or LARGE)


def sums(normal: Normal) -> list[Red]:
    return [s for s in flat(normal.body) if isinstance(s, Red)]


F, H, B = "float32", "float16", "bfloat16"


def test_a_factor_that_does_not_move_along_the_sum_leaves_it() -> None:
    checked = spec({"p": ("M, K", F), "q": ("K, N", F), "r": ("M", F), "y": ("M, N", F)}, "y[m, n] = sum[k](r[m] * p[m, k] * q[k, n])")
    (red,) = sums(simplified(normal_of(checked)))
    assert {ld.tensor for ld in loads(red.value)} == {"p", "q"}


def test_sums_are_exchanged_where_that_shares_a_product() -> None:
    checked = spec(
        {"d": ("T, K", F), "p": ("K, N", F), "x": ("T, N", F), "y1": ("K, N", F), "y2": ("N", F)},
        "g[t, n] = sum[k](d[t, k] * p[k, n])\ny1[k, n] = sum[t](d[t, k] * x[t, n])\ny2[n] = sum[t](g[t, n] * x[t, n])",
    )
    made = sums(simplified(normal_of(checked)))
    assert len(made) == 2  # g is needed no more
    assert {ld.tensor for ld in loads(made[-1].value)} == {"p", made[0].target}


def test_equal_sums_are_computed_once() -> None:
    checked = spec(
        {"p": ("M, K", F), "q": ("K, N", F), "y1": ("M, N", F), "y2": ("M, N", F)},
        "a[m, n] = sum[k](p[m, k] * q[k, n])\nb[m, n] = sum[k](p[m, k] * q[k, n])\ny1[m, n] = exp(a[m, n])\ny2[m, n] = b[m, n] + 1",
    )
    assert len(sums(simplified(normal_of(checked)))) == 1


def test_a_product_whose_only_use_is_an_output_is_written_there() -> None:
    made = products_of(spec({"p": ("M, K", H), "q": ("K, N", H), "y": ("M, N", H)}, "y[m, n] = sum[k](p[m, k] * q[k, n])"))
    assert made is not None
    (red,) = sums(made.normal)
    assert (red.target, red.cube) == ("y", True)


def test_a_result_rounded_to_another_type_passes_through_workspace() -> None:
    made = products_of(spec({"p": ("M, K", H), "q": ("K, N", H), "y": ("M, N", B)}, "y[m, n] = sum[k](p[m, k] * q[k, n])"))
    assert made is not None
    assert sums(made.normal)[0].target != "y"


def test_a_float32_factor_beside_a_bfloat16_tensor_is_split_into_three_terms() -> None:
    made = products_of(spec({"p": ("M, K", B), "q": ("K, N", F), "y": ("M, N", F)}, "y[m, n] = sum[k](p[m, k] * q[k, n])"))
    assert made is not None
    (red,) = sums(made.normal)
    assert "p" in {ld.tensor for ld in loads(red.value)}
    (terms,) = [t for t, dtype in made.dtypes.items() if dtype == "bfloat16"]
    written = [s for s in flat(made.normal.body) if isinstance(s, Map) and s.target == terms]
    assert len(written) == 3
    assert sum(isinstance(n, Cast) for n in walk(written[2].value)) == 3


def test_three_bfloat16_terms_hold_a_float32_value() -> None:
    rng = np.random.default_rng(7)
    value = (rng.standard_normal(10000) * 10.0 ** rng.integers(-20, 20, 10000)).astype(np.float32)

    def rounded(x: np.ndarray) -> np.ndarray:  # to nearest even, by the upper 16 bits
        bits = x.astype(np.float32).view(np.uint32).astype(np.uint64)
        up = ((bits >> 16) & 1) + 0x7FFF
        return (((bits + up) >> 16 << 16).astype(np.uint32)).view(np.float32)

    left, total = value.copy(), np.zeros_like(value, dtype=np.float64)
    for _ in range(3):
        term = rounded(left)
        total += term.astype(np.float64)
        left = left - term
    assert np.array_equal(total.astype(np.float32), value)


def test_a_float16_tensor_beside_a_float32_factor_is_converted() -> None:
    made = products_of(spec({"p": ("M, K", H), "q": ("K, N", F), "y": ("M, N", F)}, "y[m, n] = sum[k](p[m, k] * q[k, n])"))
    assert made is not None
    (red,) = sums(made.normal)
    assert "q" in {ld.tensor for ld in loads(red.value)}
    assert "p" not in {ld.tensor for ld in loads(red.value)}


def test_a_scale_along_the_sum_joins_the_smaller_factor() -> None:
    made = products_of(
        spec({"p": ("M, K", F), "g": ("K", F), "q": ("K, N", F), "y": ("M, N", F)}, "y[m, n] = sum[k](p[m, k] * g[k] * q[k, n])"),
        {"M": 4096, "N": 32, "K": 512},
    )
    assert made is not None
    (factor,) = [s for s in flat(made.normal.body) if isinstance(s, Map) and s.target.endswith("_factor")]
    assert {ld.tensor for ld in loads(factor.value)} == {"g", "q"}


@pytest.mark.parametrize(("size", "cube"), [(4, False), (512, True)])
def test_a_cost_figure_decides(size: int, cube: bool) -> None:
    checked = spec({"p": ("T, M, K", F), "q": ("T, K, N", F), "y": ("T, M, N", F)}, "y[t, m, n] = sum[k](p[t, m, k] * q[t, k, n])")
    made = products_of(checked, {"T": 512, "M": size, "N": size, "K": size})
    assert (made is not None) == cube
    if made is not None:
        assert all(prefers_cube(w, {"T": 512, "M": size, "N": size, "K": size}) for w in made.work)


def test_an_operator_without_products_has_no_cube_alternative() -> None:
    made = plan(spec({"p": ("M, K", F), "y": ("M", F)}, "y[m] = sum[k](p[m, k])"))
    assert not made.mixed


def test_the_cube_comes_first_and_the_vector_unit_serves_every_size() -> None:
    made = plan(spec({"p": ("M, K", F), "q": ("K, N", F), "y": ("M, N", F)}, "y[m, n] = sum[k](p[m, k] * q[k, n])"))
    kinds = [a.mixed for a in made.kernels[0].alternatives]
    assert kinds == sorted(kinds, reverse=True)
    assert kinds[0]
    assert not kinds[-1]


def test_simplifying_keeps_every_value() -> None:
    checked = spec(
        {"d": ("T, K", F), "p": ("K, N", F), "x": ("T, N", F), "y1": ("K, N", F), "y2": ("N", F)},
        "g[t, n] = sum[k](d[t, k] * p[k, n])\ny1[k, n] = sum[t](d[t, k] * x[t, n]) * 3\ny2[n] = sum[t](g[t, n] * x[t, n])",
    )
    rng = np.random.default_rng(3)
    sizes = {"T": 5, "K": 3, "N": 4}
    values = {"d": rng.standard_normal((5, 3)), "p": rng.standard_normal((3, 4)), "x": rng.standard_normal((5, 4))}
    want = evaluate.run(checked.program, values, sizes, {}, precision="float64", present=set())
    env: dict[str, np.ndarray] = dict(values)
    done = simplified(normal_of(checked))
    for s in done.body:
        assert isinstance(s, Map | Red)
        env[s.target] = _run(s, env, done, sizes, checked.program)
    for name in ("y1", "y2"):
        np.testing.assert_allclose(env[name], want[name], rtol=1e-12)


def _run(s: Map | Red, env: dict[str, np.ndarray], normal: Normal, sizes: dict[str, int], program: Program) -> np.ndarray:
    """One statement, element by element."""
    from itertools import product as each

    from generator.formula.ir import Binary, Bound, Expr, Load, Num
    from generator.plan.normal import extent_of

    def value(e: Expr, at: dict[str, int]) -> float:
        if isinstance(e, Num):
            return float(e.value)
        if isinstance(e, Load):
            index = tuple(i.evaluate({**sizes, **at}) for i in e.indices)  # type: ignore[union-attr]
            return float(env[e.tensor][index])
        assert isinstance(e, Binary)
        a, b = value(e.a, at), value(e.b, at)
        return {"mul": a * b, "add": a + b, "sub": a - b}[e.op]

    shape = tuple(e.evaluate(sizes) for e in normal.tensors[s.target].shape)
    out = env.get(s.target, np.zeros(shape))
    reduced = s.reduced if isinstance(s, Red) else ()

    def spread(axes: tuple[Bound, ...]) -> list[dict[str, int]]:
        extents = [extent_of(b).evaluate(sizes) for b in axes]
        return [dict(zip((b.name for b in axes), p, strict=True)) for p in each(*(range(n) for n in extents))]

    for at in spread(s.axes):
        index = tuple(i.evaluate({**sizes, **at}) for i in s.index)
        out[index] = sum(value(s.value, {**at, **r}) for r in spread(reduced))
    return out


SHORT = "c[t, d] = sum[i](a[t, i] * b[i, d])\n"


def near_of(formula: str, most: str) -> tuple[Products | None, Products | None]:
    """Products with the choice to leave short sums to their stage, and without; ``n`` has the range ``most``."""
    text = [HEAD, "dims:\n", *(f"  {d}: {{}}\n" for d in "TD"), f'  n: {{where: "{most}"}}\n', "params:\n"]
    for name, (shape, dtype) in {"a": ("T, n", F), "b": ("n, D", F), "x": ("T, D", F), "g": ("D, D", F), "y": ("T, D", F)}.items():
        io = "out" if name == "y" else "in"
        names = f"symbol: {name}, name: {name}, aclnn: {name}"
        text.append(f"  - {{{names}, io: {io}, shape: [{shape}], dtype: {dtype}, about: {{en: t, zh: t}}}}\n")
    checked = check("".join(text) + "formula: |\n" + "".join(f"  {line}\n" for line in formula.splitlines()), Path("probe.yaml"))
    bounds = Bounds(bounds_of(checked))
    dtypes = {p.symbol: p.dtype or "float32" for p in checked.spec.params}
    typical = {"T": 4096, "D": 4096, "n": 96}
    return with_products(normal_of(checked), dtypes, typical, bounds), with_products(normal_of(checked), dtypes, typical)


def test_a_short_sum_may_stay_in_the_stage_that_uses_it() -> None:
    near, cube = near_of(SHORT + "y[t, d] = c[t, d] * x[t, d] + sum[e](x[t, e] * g[e, d])", "n in {64, 96}")
    assert near is not None
    assert cube is not None
    (kept,) = near.near
    sizes = {"T": 10, "D": 100, "n": 64, "macCycles": 2}
    assert kept.vector_cycles().evaluate(sizes) == 10 * 100 * 64 * 2 // 64
    assert kept.transfer_cycles().evaluate(sizes) == 10 * 100 * 8 // 20
    assert not cube.near
    assert len(near.work) == len(cube.work) - 1


@pytest.mark.parametrize(
    ("formula", "most"),
    [
        (SHORT + "y[t, d] = c[t, d] * x[t, d]", "n >= 1"),  # not proved short
        (SHORT + "y[t, d] = c[T - 1 - t, d] * x[t, d]", "n in {64, 96}"),  # used at another element
        (SHORT + "m[t] = max[d](c[t, d])\ny[t, d] = c[t, d] * m[t]", "n in {64, 96}"),  # used along an axis, too
    ],
)
def test_other_sums_do_not_stay(formula: str, most: str) -> None:
    near, cube = near_of(formula, most)
    assert near is not None
    assert cube is not None
    assert not near.near
    assert near.work == cube.work


@pytest.mark.parametrize("values", [[1], [1, 3], [0, -2]])
def test_hf32_is_allowed_at_its_values_alone(values: list[int]) -> None:
    allowed = hf32_allowed(Hf32(attr="mode", values=values))
    for mode in (-(2**63), -3, -2, -1, 0, 1, 2, 3, 4, 2**63 - 1):
        assert allowed.evaluate({"mode": mode}) == (mode in values)
    assert hf32_allowed(None) == const(0)


def test_only_products_of_float32_are_taken_in_hf32() -> None:
    checked = formula.load(Path(__file__).resolve().parents[2] / "specs/conv/conv_tbc.yaml")
    for kernel in plan(checked).kernels:
        stages = [s for a in kernel.alternatives for s in a.stages if s.matmul is not None]
        assert stages
        for s in stages:
            calls = [n for n in s.body if isinstance(n, MatmulCall) and n.method == "SetHF32"]
            assert len(calls) == (2 if dict(kernel.dtypes)["x"] == "float32" else 0)
            assert not calls or s.body.index(calls[1]) == len(s.body) - 2, "the mode is left before End"


def test_typical_sizes_are_those_of_each_benchmark_and_what_follows_from_them() -> None:
    checked = formula.load(Path(__file__).resolve().parents[2] / "specs/conv/conv_tbc_backward.yaml")
    found = typical_sizes(checked, Bounds(bounds_of(checked)))
    assert len(found) == len(checked.spec.bench)
    for sizes in found:
        assert sizes["H_out"] == sizes["H_in"] + 2 * sizes["pad"] - sizes["K"] + 1


def test_a_kernel_has_no_more_products_on_the_cube_than_matmul_objects() -> None:
    names = [f"w{k}" for k in range(6)]
    tensors = {"x": ("T, K", "float16"), **{n: ("K, N" if n != "w2" else "K, M", "float16") for n in names}}
    tensors |= {f"y{k}": ("T, N" if k != 2 else "T, M", "float16") for k in range(6)}
    text = "\n".join(f"y{k}[t, n] = sum[i](x[t, i] * w{k}[i, n])" for k in range(6))
    found = [[s.title for s in a.stages if s.matmul is not None] for a in plan(spec(tensors, text)).kernels[0].alternatives]
    assert max(map(len, found)) == 4
    made = products_of(spec(tensors, text), {"T": 4096, "K": 4096, "N": 4096, "M": 64})
    assert made is not None
    assert len(made.work) == 4
    assert any(n.startswith("sum_3: on the vector unit") for n in made.notes)  # the least of them
