"""A small operator built by hand: y = exp(x) * scale over a flattened tensor, float16, bfloat16 and float32."""

from __future__ import annotations

from pathlib import Path

from generator.formula import ir
from generator.formula.checked import CheckedSpec
from generator.plan import tree as t
from generator.spec.integer import IntExpr, ceil_div, const, min_of, round_up, sym
from generator.spec.model import OpSpec

N, TILE, SHARE = sym("N"), sym("tile"), sym("share")


def spec() -> OpSpec:
    return OpSpec.model_validate(
        {
            "name": "ScaledExp",
            "family": "demo",
            "summary": {"en": "exp of x times scale", "zh": "指数"},
            "dims": {"N": {"about": {"en": "elements", "zh": "元素"}}},
            "params": [
                {"symbol": "x", "name": "x", "aclnn": "self", "io": "in", "shape": ["N"], "ranks": [[["A", "B"]]], "dtype": "X",
                 "about": {"en": "input", "zh": "输入"}},
                {"symbol": "scale", "name": "scale", "aclnn": "scale", "io": "attr", "type": "float", "default": 1.5,
                 "about": {"en": "factor", "zh": "系数"}},
                {"symbol": "y", "name": "y", "aclnn": "out", "io": "out", "shape": ["N"], "ranks": [[["A", "B"]]], "dtype": "X",
                 "about": {"en": "output", "zh": "输出"}},
            ],
            "dtypes": [{"X": "float16"}, {"X": "bfloat16"}, {"X": "float32"}],
            "formula": "y[i] = exp(x[i]) * scale\n",
        }
    )  # fmt: skip


def checked() -> CheckedSpec:
    axis = ir.Bound("i", N)
    value = ir.Binary("mul", ir.Call("exp", (ir.Load("x", (sym("i"),)),)), ir.Attr("scale"))
    tensors = {
        "x": ir.Tensor("x", (N,), "input", dtype="X"),
        "y": ir.Tensor("y", (N,), "output", dtype="X"),
    }
    program = ir.Program((ir.Assign("y", (sym("i"),), value, (axis,)),), tensors, ("N",), (), ("scale",))
    return CheckedSpec(Path("specs/demo/scaled_exp.yaml"), spec(), program, ())


def _copy(gm: str, local: t.Local, ctype: t.CType, size: int, out: bool) -> t.Call:
    none = (const(0), "uint32_t")
    fields = ((const(1), "uint16_t"), (sym("count") * size, "uint32_t"), none, none, none)
    params = t.Struct("DataCopyExtParams", fields)
    if out:
        return t.Call("DataCopyPad", (t.Global(gm, sym("at")), local, params), "MTE3")
    pad = t.Struct("DataCopyPadExtParams", ((False, "bool"), (const(0), "uint8_t"), (const(0), "uint8_t"), (const(0), ctype)), ctype)
    return t.Call("DataCopyPad", (local, t.Global(gm, sym("at")), params, pad), "MTE2")


def _compute(ctype: t.CType) -> tuple[t.Node, ...]:
    zero, count = const(0), t.Int(sym("count"))
    x = t.Local("x", zero, ctype, ctype)
    y = t.Local("y", zero, ctype, ctype)
    if ctype == "float":
        return (
            t.Call("Exp", (y, x, count), "V", comment="e = exp(x)"),
            t.Barrier("V"),
            t.Call("Muls", (y, y, t.Float(t.FloatField("scale")), count), "V"),
        )
    w = t.Local("w", zero, "float", "float")
    wide = t.Enum("RoundMode::CAST_NONE")
    return (
        t.Get("work", "w", "float"),
        t.Barrier("V"),  # the last tile's result has been read from the work buffer
        t.Call("Cast", (w, x, wide, count), "V"),
        t.Barrier("V"),
        t.Call("Exp", (w, w, count), "V", comment="e = exp(x)"),
        t.Barrier("V"),
        t.Call("Muls", (w, w, t.Float(t.FloatField("scale")), count), "V"),
        t.Barrier("V"),
        t.Call("Cast", (y, w, t.Enum("RoundMode::CAST_RINT"), count), "V"),
    )


def alternative(ctype: t.CType) -> t.Alternative:
    size = 4 if ctype == "float" else 2
    tile_bytes = round_up(TILE * size, 32)
    x, y = t.Local("x", const(0), ctype, ctype), t.Local("y", const(0), ctype, ctype)
    load = t.Block((t.Alloc("x", "x", ctype), _copy("x", x, ctype, size, False), t.EnQue("x", "x")), "copy in")
    work = t.Block(
        (t.DeQue("x", "x", ctype), t.Alloc("y", "y", ctype), *_compute(ctype), t.EnQue("y", "y"), t.Free("x", "x")), "compute"
    )
    store = t.Block((t.DeQue("y", "y", ctype), _copy("y", y, ctype, size, True), t.Free("y", "y")), "copy out")
    body: tuple[t.Node, ...] = (
        t.Let("first", sym("blockIdx") * SHARE),
        t.Let("last", min_of(sym("first") + SHARE, N)),
        t.Let("unused", N + 1),
        t.Loop("at", sym("first"), sym("last"), TILE, (t.Let("count", min_of(TILE, sym("last") - sym("at"))), load, work, store), "tiles"),
    )
    buffers = [t.Buffer("x", "vecin", tile_bytes, 2, "x"), t.Buffer("y", "vecout", tile_bytes, 2, "y")]
    if ctype != "float":
        buffers.append(t.Buffer("work", "calc", TILE * 4, 1, "x in float32"))
    per_core: IntExpr = round_up(ceil_div(N, sym("coreNum")), 64)
    tiles = (t.TileParam("tile", N, 64, ceil_div(N, sym("coreNum"))),)
    stage = t.Stage("rows", "scaled exponential of one tile", (), tuple(buffers), tiles, body)
    return t.Alternative(
        name="full",
        gm=(t.GmTensor("x", ctype, N, "x"), t.GmTensor("y", ctype, N, "y")),
        stages=(stage,),
        fields=(("share", per_core),),
        applies=(),
        block_dim=ceil_div(N, SHARE),
        workspace=const(0),
        syncs=False,
        body=(t.RunStage(0),),
    )


def plan(name: str = "ScaledExp") -> t.KernelPlan:
    ctypes: tuple[tuple[str, t.CType], ...] = (("float16", "half"), ("bfloat16", "bfloat16_t"), ("float32", "float"))
    kernels = tuple(t.Kernel(k, (("x", d), ("y", d)), (), (alternative(c),)) for k, (d, c) in enumerate(ctypes))
    return t.KernelPlan(name, ("x",), ("y",), (), ("N",), ("N",), ("scale",), kernels)
