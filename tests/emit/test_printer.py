"""The C++ printer: spelling of scalars, integers, statements and functions."""

from __future__ import annotations

import math
import shutil
import struct
import subprocess
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from generator.emit.cpp import StagePrinter, scalar
from generator.emit.errors import EmitError
from generator.emit.hoist import hoist
from generator.emit.integers import integer
from generator.emit.kernels import kernel_files
from generator.emit.render import format_cpp, render_sources
from generator.plan import tree as t
from generator.spec.integer import IntExpr, ceil_div, const, floor_div, max_of, min_of, mod, round_up, sym
from tests.emit import handmade


def printed(expr: IntExpr) -> str:
    return integer(expr, lambda n: n)


def printer(**types: str) -> StagePrinter:
    return StagePrinter(types, frozenset({"n", "tile", "blockIdx"}), {"x": "xQueue_", "w": "wBuf_"}, {"x": "xGm_"})


def local(name: str = "w", offset: IntExpr | int = 0, ctype: t.CType = "float", declared: t.CType = "float") -> t.Local:
    return t.Local(name, offset if isinstance(offset, IntExpr) else const(offset), ctype, declared)


W = t.Get("w", "w", "float")
A, B = sym("a"), sym("b")


@pytest.mark.parametrize(
    ("expr", "text"),
    [
        (ceil_div(A, 8), "CeilDiv(a, 8)"),
        (round_up(A, 8), "RoundUp(a, 8)"),
        (round_up(A, 8) * B, "RoundUp(a, 8) * b"),
        (ceil_div(A, B), "CeilDiv(a, b)"),
        (floor_div(A, B), "(a / b)"),
        (floor_div(A + 1, B), "((a + 1) / b)"),
        (mod(A * 2, 8), "((a * 2) % 8)"),
        (min_of(A, B) - max_of(A, B), "MinOf(a, b) - MaxOf(a, b)"),
        (A * A - B * 3 - 1, "a * a - b * 3 - 1"),
        (const(0), "0"),
        (-A, "-a"),
    ],
)
def test_integers_are_spelled_as_a_person_would(expr: IntExpr, text: str) -> None:
    assert printed(expr) == text


def expressions() -> st.SearchStrategy[IntExpr]:
    leaves = st.one_of(st.sampled_from([sym("a"), sym("b"), sym("c")]), st.integers(0, 9).map(const))
    positive = st.sampled_from([const(1), const(2), const(8), const(32), sym("b") + 1, sym("c") + 2])
    return st.recursive(
        leaves,
        lambda inner: st.one_of(
            st.builds(lambda x, y: x + y, inner, inner),
            st.builds(lambda x, y: x * y, inner, inner),
            st.builds(min_of, inner, inner),
            st.builds(max_of, inner, inner),
            st.builds(ceil_div, inner, positive),
            st.builds(floor_div, inner, positive),
            st.builds(mod, inner, positive),
            inner.map(lambda x: round_up(x, 32)),
        ),
        max_leaves=6,
    )


HELPERS = {
    "CeilDiv": lambda x, y: -(-x // y),
    "RoundUp": lambda x, y: -(-x // y) * y,
    "MinOf": min,
    "MaxOf": max,
}


@settings(max_examples=300, deadline=None)
@given(expressions(), st.tuples(st.integers(0, 50), st.integers(0, 50), st.integers(0, 50)))
def test_printed_integers_have_the_expressions_value(expr: IntExpr, values: tuple[int, int, int]) -> None:
    env = dict(zip("abc", values, strict=True))
    text = printed(expr).replace("/", "//")  # operands are non-negative: C++ and Python divide alike
    assert eval(text, {**HELPERS, **env}) == expr.evaluate(env)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0.0f"),
        (-0.0, "-0.0f"),
        (1.0, "1.0f"),
        (0.1, "0.1f"),
        (1e-6, "1e-06f"),
        (1e300, "FloatFromBits(0x7F800000U)"),
        (math.inf, "FloatFromBits(0x7F800000U)"),
        (-math.inf, "FloatFromBits(0xFF800000U)"),
        (math.nan, "FloatFromBits(0x7FC00000U)"),
    ],
)
def test_float_literals_are_short_and_exact(value: float, text: str) -> None:
    assert scalar(t.FloatConst(value), printed, lambda n: n) == text


@given(st.floats(width=32, allow_nan=False, allow_infinity=False))
def test_every_float32_reads_back_from_its_literal(value: float) -> None:
    text = scalar(t.FloatConst(value), printed, lambda n: n)
    assert text.endswith("f")
    assert struct.pack("<f", float(text[:-1])) == struct.pack("<f", value)


def test_scalar_arithmetic_keeps_its_parentheses() -> None:
    value = t.FloatOp("/", t.FloatConst(1.0), t.FloatOp("+", t.FloatField("eps"), t.FloatOfInt(A + 1)))
    assert scalar(value, printed, lambda n: n + "_") == "(1.0f / (eps_ + static_cast<float>(a + 1)))"


def test_counts_are_passed_unnarrowed_and_element_scalars_are_converted() -> None:
    call = t.Call("Duplicate", (local(ctype="int32_t", declared="int32_t"), t.Int(const(3), "int32_t"), t.Int(sym("n"))), "V")
    body = (t.Get("w", "w", "int32_t"), call)
    assert printer().process(body).splitlines()[-1] == "AscendC::Duplicate(w, static_cast<int32_t>(3), n_);"


def test_structures_are_constructed_without_narrowing() -> None:
    params = t.Struct("DataCopyExtParams", ((const(1), "uint16_t"), (sym("n") * 4, "uint32_t")))
    call = t.Call("DataCopyPad", (t.Global("x", sym("blockIdx")), local(), params), "MTE3")
    assert printer().process((W, call)).splitlines()[-1] == (
        "AscendC::DataCopyPad(xGm_[blockIdx_], w, AscendC::DataCopyExtParams(1, n_ * 4));"
    )


def test_a_view_of_another_type_is_reinterpreted_then_offset() -> None:
    call = t.Call("Abs", (local(offset=sym("n"), ctype="int32_t"), local(), t.Int(const(8))), "V")
    assert "w.ReinterpretCast<int32_t>()[n_]" in printer().process((W, call))


def test_a_view_of_a_template_parameters_type_is_a_dependent_call() -> None:
    body = (t.Get("w", "w", "half"), t.Call("Abs", (local(declared="half"), local(declared="half"), t.Int(const(8))), "V"))
    assert "w.template ReinterpretCast<float>()" in printer(half="Element").process(body)


@pytest.mark.parametrize(
    ("step", "head"),
    [
        (const(1), "for (int64_t i = 0; i < n_; ++i)"),
        (sym("tile"), "for (int64_t i = 0; i < n_; i += tile_)"),
        (const(-1), "for (int64_t i = 0; i > n_; --i)"),
        (const(-2), "for (int64_t i = 0; i > n_; i -= 2)"),
    ],
)
def test_loops_run_in_the_direction_of_their_step(step: IntExpr, head: str) -> None:
    assert printer().process((t.Loop("i", const(0), sym("n"), step, (t.Barrier("V"),)),)).startswith(head)


def test_barriers_and_flags_are_spelled_for_both_architectures() -> None:
    text = printer().process((t.Barrier("V"), t.Barrier("MTE3"), t.FlagPair("V", "S"), t.SyncAll()))
    assert text.splitlines() == [
        "VectorBarrier();",
        "AscendC::PipeBarrier<PIPE_MTE3>();",
        "Order<AscendC::HardEvent::V_S>(pipe_);",
        "AscendC::SyncAll();",
    ]


def test_a_second_dequeue_into_a_name_assigns() -> None:
    body = (t.DeQue("x", "v", "float"), t.Free("x", "v"), t.DeQue("x", "v", "float"), t.Free("x", "v"))
    assert "\nv = xQueue_.DeQue<float>();" in printer().process(body)


def test_a_titled_block_becomes_a_member_function_of_what_it_reads() -> None:
    work = t.Block((t.Set("sum", sym("sum") + sym("i")), *(t.Call("Abs", (local(), local(), t.Int(sym("i"))), "V"),) * 2), "add row i")
    p = printer()
    text = p.process((W, t.Var("sum", const(0)), t.Loop("i", const(0), sym("n"), const(1), (work,))))
    assert "AddRowI(sum, i, w);" in text
    assert p.methods[0].parameters == "int64_t &sum, int64_t i, AscendC::LocalTensor<float> &w"


def test_equal_blocks_share_one_member_function_and_others_are_numbered() -> None:
    def block(n: int) -> t.Block:
        return t.Block((t.Barrier("V"), t.Barrier("V"), *(t.Barrier("MTE2"),) * n), "wait")

    p = printer()
    assert p.process((block(1), block(1), block(2))).splitlines() == ["Wait();", "Wait();", "Wait2();"]


def test_constants_nobody_reads_are_not_printed() -> None:
    body = (t.Let("a", const(1)), t.Let("b", sym("a") + 1), t.Loop("i", const(0), sym("n"), const(1), (t.Barrier("V"),)))
    assert "int64_t a" not in printer().process(body)


@pytest.mark.parametrize(
    "body",
    [
        (t.Let("a", sym("nowhere")), t.Loop("i", const(0), sym("a"), const(1), (t.Barrier("V"),))),
        (t.Call("Abs", (local("gone"), local("gone"), t.Int(const(1))), "V"),),
        (t.Call("DataCopy", (t.Global("gone", const(0)), local(), t.Int(const(1))), "MTE3"), W),
        (t.Get("gone", "w", "float"), t.Call("Abs", (local(), local(), t.Int(const(1))), "V")),
        (t.RunStage(0),),
    ],
)
def test_a_name_the_plan_never_made_is_an_error_that_says_so(body: tuple[t.Node, ...]) -> None:
    with pytest.raises(EmitError):
        printer().process(body)


def test_dtypes_that_differ_only_in_the_element_type_share_one_class_template() -> None:
    files = kernel_files(handmade.plan())
    assert [(c.name, c.templates) for c in files.runs] == [("ScaledExpFullNarrow", ("Element",)), ("ScaledExpFullFloat32", ())]
    stages = [(s.name, s.templates) for f in files.files for s in f.classes]
    assert stages == [("ScaledExpRows", ("Element",)), ("ScaledExpRowsVariant2", ())]
    assert [e.key for e in files.entries] == [10000, 20000, 30000]
    assert "Narrow<half>" in files.entries[0].call
    assert "Narrow<bfloat16_t>" in files.entries[1].call


def test_tiling_data_is_a_multiple_of_eight_bytes_with_integers_first() -> None:
    text = next(v for k, v in render_sources(handmade.checked(), handmade.plan()).items() if k.endswith("tiling_data.h"))
    fields = [line.split("//")[0].split() for line in text.splitlines() if line.startswith("    ")]
    assert [f[0] for f in fields] == ["int64_t"] * 3 + ["float"] * 2


def test_rendering_twice_gives_the_same_bytes() -> None:
    assert render_sources(handmade.checked(), handmade.plan()) == render_sources(handmade.checked(), handmade.plan())


def test_formatting_again_changes_nothing() -> None:
    files = {k: v for k, v in render_sources(handmade.checked(), handmade.plan()).items() if k.endswith((".h", ".cpp"))}
    assert files
    assert format_cpp(files) == files


def test_every_file_names_its_spec_and_the_generator_first() -> None:
    for name, text in render_sources(handmade.checked(), handmade.plan()).items():
        comment = "#" if name.endswith(".txt") else "//"
        assert text.splitlines()[0] == f"{comment} Generated by opwright 0.1.0 from specs/demo/scaled_exp.yaml. Do not edit."


SOLVE = """
#include "op_host/scaled_exp_tiling.h"
#include <cstdio>
#include <cstdlib>
int main(int argc, char **argv)
{
    using namespace optiling::scaled_exp_tiling;
    for (int i = 1; i + 2 < argc; i += 3) {
        Sizes s;
        s.N = Checked(std::atoll(argv[i]));
        s.scale = 2.0f;
        Choice c = Choice();
        Chip chip = {std::atoll(argv[i + 1]), std::atoll(argv[i + 2])};
        const bool ok = Choose(s, chip, 2, 0, c);
        ScaledExpTilingData d;
        Fill(s, d);
        std::printf("%d %lld %lld %lld\\n", ok, (long long)d.tile, (long long)d.share, (long long)c.blockDim);
    }
}
"""


@pytest.mark.skipif(shutil.which("g++") is None, reason="no C++ compiler")
def test_the_tiling_header_finds_the_largest_tile_that_fits(tmp_path: Path) -> None:
    for name, text in render_sources(handmade.checked(), handmade.plan()).items():
        path = tmp_path / name.removeprefix("demo/scaled_exp/")
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
    (tmp_path / "solve.cpp").write_text(SOLVE, encoding="utf-8")
    flags = ["-std=c++11", "-Wall", "-Wextra", "-Werror", f"-I{tmp_path}"]
    subprocess.run(["g++", *flags, str(tmp_path / "solve.cpp"), "-o", str(tmp_path / "solve")], check=True)
    cases = [(n, cores, ub) for n in (1, 7, 64, 1000, 10**6, 10**9, 2**62) for cores, ub in ((40, 196608), (48, 196608), (64, 253952))]
    args = [str(v) for c in cases for v in c]
    lines = subprocess.run([str(tmp_path / "solve"), *args], capture_output=True, text=True, check=True).stdout.splitlines()
    for (n, cores, ub), line in zip(cases, lines, strict=True):
        usable = ub - 256 if ub == 196608 else ub
        # Two queues of two float32 buffers: 16 bytes an element, whole multiples of 64 elements, no more than a core's share.
        share = -(-n // cores)
        largest = min(n, usable // 16)
        tile = min(largest, share)
        up = -(-tile // 64) * 64
        tile = up if up * 16 <= usable else tile // 64 * 64
        per_core = -(-share // 64) * 64
        assert line == f"1 {tile} {per_core} {-(-n // per_core)}", (n, cores, ub)


@pytest.mark.skipif(shutil.which("g++") is None, reason="no C++ compiler")
def test_overflowing_sizes_are_refused_not_wrapped(tmp_path: Path) -> None:
    for name, text in render_sources(handmade.checked(), handmade.plan()).items():
        path = tmp_path / name.removeprefix("demo/scaled_exp/")
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
    source = """
#include "op_host/scaled_exp_tiling.h"
using namespace optiling::scaled_exp_tiling;
int main()
{
    const int64_t big = INT64_MAX;
    const Checked over = Checked(big) + 1, product = Checked(big / 2) * 3, low = Checked(-big) - 2, none = Checked(1) / 0;
    const bool wrapped = over.valid || product.valid || low.valid || none.valid || (Checked(1) % 0).valid;
    const bool compared = over == over || over < Checked(1) || Checked(1) < over || over != Checked(1);
    const bool wrong = !(Checked(-7) / 2 == -4) || !(Checked(-7) % 2 == 1) || !(CeilDiv(7, 2) == 4) || !(RoundUp(7, 4) == 8);
    return (wrapped || compared || wrong) ? 1 : 0;
}
"""
    (tmp_path / "over.cpp").write_text(source, encoding="utf-8")
    subprocess.run(["g++", "-std=c++11", "-Wall", f"-I{tmp_path}", str(tmp_path / "over.cpp"), "-o", str(tmp_path / "over")], check=True)
    assert subprocess.run([str(tmp_path / "over")], check=False).returncode == 0


def test_functions_of_tiling_fields_used_twice_are_computed_once() -> None:
    text = next(v for k, v in render_sources(handmade.checked(), handmade.plan()).items() if k.endswith("_rows.h"))
    assert "ceil2TileBy32_ = CeilDiv(tile_ * 2, 32);" in text
    assert text.count("CeilDiv(tile_") + text.count("RoundUp(tile_") == text.count("class ")


@settings(max_examples=200, deadline=None)
@given(st.lists(expressions(), min_size=1, max_size=4), st.tuples(st.integers(0, 50), st.integers(0, 50), st.integers(0, 50)))
def test_hoisting_keeps_every_value(exprs: list[IntExpr], values: tuple[int, int, int]) -> None:
    env = dict(zip("abc", values, strict=True))
    body = tuple(t.Set("x", e) for e in (*exprs, *exprs))
    stage = t.Stage("s", "s", (), (), (), body)
    mapped, named = hoist(stage, frozenset("ab"))
    for name, expr in named:
        env[name] = expr.evaluate(env)
    assert [n.value.evaluate(env) for n in mapped.body if isinstance(n, t.Set)] == [e.evaluate(env) for e in (*exprs, *exprs)]
