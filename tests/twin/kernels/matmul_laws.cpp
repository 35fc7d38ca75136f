// One case per law of Matmul, chosen by the tiling key: each breaks that law and no other.
#include "kernel_operator.h"
#include "lib/matmul_intf.h"
#include "matmul_tiling_data.h"

using namespace AscendC;

namespace {

using GmHalf = MatmulType<TPosition::GM, CubeFormat::ND, half>;
using GmFloat = MatmulType<TPosition::GM, CubeFormat::ND, float>;
using GmTransposed = MatmulType<TPosition::GM, CubeFormat::ND, float, true>;
using GmBf16 = MatmulType<TPosition::GM, CubeFormat::ND, bfloat16_t>;
using UbFloat = MatmulType<TPosition::VECIN, CubeFormat::ND, float>;
using Product = Matmul<GmHalf, GmHalf, GmFloat, GmFloat>;
using Tiles = Matmul<GmHalf, GmHalf, UbFloat, GmFloat>;
using Wide = Matmul<GmTransposed, GmFloat, GmFloat, GmFloat>;
using Bf16Bias = Matmul<GmHalf, GmHalf, GmFloat, GmBf16>;

struct Bench {
  GlobalTensor<half> a, b, w;
  GlobalTensor<float> c, bias;
  TBuf<TPosition::VECIN> in;
  TBuf<TPosition::VECOUT> out;
  Product mm;

  __aicore__ inline Bench(GM_ADDR as, GM_ADDR bs, GM_ADDR cs, GM_ADDR workspace) {
    a.SetGlobalBuffer((__gm__ half *)as);
    b.SetGlobalBuffer((__gm__ half *)bs);
    c.SetGlobalBuffer((__gm__ float *)cs);
    bias.SetGlobalBuffer((__gm__ float *)bs);
    w.SetGlobalBuffer((__gm__ half *)workspace);
  }
  __aicore__ inline void Set() {
    mm.SetTensorA(a);
    mm.SetTensorB(b);
  }
  __aicore__ inline void Multiply(const GlobalTensor<half> &left) {
    mm.SetTensorA(left);
    mm.SetTensorB(b);
    mm.IterateAll(c);
    mm.End();
  }
  // 2048 ones in the workspace, ordered before this core's copies out only.
  __aicore__ inline void Ones(TPipe &pipe) {
    pipe.InitBuffer(out, 4096);
    Fill(1.0f);
  }
  __aicore__ inline void Fill(float value) {
    LocalTensor<half> ones = out.Get<half>();
    Duplicate(ones, half(value), 2048);
    SetFlag<HardEvent::V_MTE3>(EVENT_ID0);
    WaitFlag<HardEvent::V_MTE3>(EVENT_ID0);
    DataCopy(w, ones, 2048);
  }
};

__aicore__ inline void ShapeCases(Bench &bench) {
  if (TILING_KEY_IS(10)) {  // matmul-transpose
    bench.mm.SetTensorA(bench.a, true);
    bench.mm.SetTensorB(bench.b);
    bench.mm.IterateAll(bench.c);
  } else if (TILING_KEY_IS(12)) {  // matmul-shape: nothing to compute
    bench.mm.SetSingleShape(0, 48, 40);
    bench.Set();
    bench.mm.IterateAll(bench.c);
  } else if (TILING_KEY_IS(13)) {  // matmul-shape: rows of A overlap
    bench.mm.SetOrgShape(32, 48, 20, 40);
    bench.Set();
    bench.mm.IterateAll(bench.c);
  } else if (TILING_KEY_IS(14)) {  // matmul-shape: rows of C overlap
    bench.mm.SetOrgShape(32, 48, 40, 40, 20);
    bench.Set();
    bench.mm.IterateAll(bench.c);
  } else if (TILING_KEY_IS(15)) {  // matmul-shape (220): a long inner axis
    bench.mm.SetOrgShape(32, 48, 70000, 40);
    bench.mm.SetSingleShape(1, 48, 40);
    bench.Set();
    bench.mm.IterateAll(bench.c);
  } else if (TILING_KEY_IS(16)) {  // gm-bounds
    bench.mm.SetTensorA(bench.a[4000]);
    bench.mm.SetTensorB(bench.b);
    bench.mm.IterateAll(bench.c);
  } else if (TILING_KEY_IS(17)) {  // gm-bounds: C
    bench.Set();
    bench.mm.IterateAll(bench.c[4000]);
  } else if (TILING_KEY_IS(19)) {  // cross-core-flag
    CrossCoreSetFlag<1, PIPE_MTE3>(1);
  } else if (TILING_KEY_IS(18)) {  // range: enAtomic
    bench.Set();
    bench.mm.IterateAll(bench.c, 4);
  }
  bench.mm.End();
}

__aicore__ inline void OrderCases(Bench &bench) {
  if (TILING_KEY_IS(20)) {  // matmul-order: operands are not set anew
    bench.Set();
    bench.mm.IterateAll(bench.c);
    bench.mm.IterateAll(bench.c);
  } else if (TILING_KEY_IS(21)) {  // matmul-order: B is not set anew
    bench.Set();
    bench.mm.IterateAll(bench.c);
    bench.mm.SetTensorA(bench.a);
    bench.mm.IterateAll(bench.c);
  } else if (TILING_KEY_IS(22)) {  // matmul-order: no Iterate
    bench.mm.GetTensorC(bench.c);
  } else if (TILING_KEY_IS(23)) {  // matmul-order: fetched twice
    bench.Set();
    bench.mm.Iterate();
    bench.mm.GetTensorC(bench.c);
    bench.mm.GetTensorC(bench.c);
  } else if (TILING_KEY_IS(24)) {  // matmul-order: not fetched
    bench.Set();
    bench.mm.Iterate();
    bench.Set();
    bench.mm.Iterate();
    bench.mm.GetTensorC(bench.c);
  } else if (TILING_KEY_IS(25)) {  // matmul-order: never fetched
    bench.Set();
    bench.mm.Iterate();
  } else if (TILING_KEY_IS(27)) {  // matmul-order: WaitIterateAll is missing
    bench.Set();
    bench.mm.IterateAll<false>(bench.c, 0, false, true);
  } else if (TILING_KEY_IS(28)) {  // matmul-order: nothing to wait for
    bench.mm.WaitIterateAll();
  } else if (TILING_KEY_IS(30)) {  // matmul-partial-sum: no tile
    bench.Set();
    bench.mm.Iterate(true);
    bench.mm.GetTensorC(bench.c);
  } else if (TILING_KEY_IS(31)) {  // matmul-partial-sum: another size
    bench.Set();
    bench.mm.Iterate();
    bench.mm.SetSingleShape(16, 48, 40);
    bench.Set();
    bench.mm.Iterate(true);
    bench.mm.GetTensorC(bench.c);
  } else if (TILING_KEY_IS(32)) {  // matmul-partial-sum, with baseM 16: more than one tile
    bench.Set();
    bench.mm.Iterate();
    bench.Set();
    bench.mm.Iterate(true);
    bench.mm.GetTensorC(bench.c);
  } else if (TILING_KEY_IS(33)) {  // matmul-bias: with isBias 0
    bench.Set();
    bench.mm.SetBias(bench.bias);
    bench.mm.IterateAll(bench.c);
  } else if (TILING_KEY_IS(34)) {  // matmul-bias: with isBias 1, not set again
    bench.Set();
    bench.mm.SetBias(bench.bias);
    bench.mm.IterateAll(bench.c);
    bench.Set();
    bench.mm.IterateAll(bench.c);
  } else if (TILING_KEY_IS(35)) {  // matmul-bias: with isBias 1, in the middle of a sum
    bench.Set();
    bench.mm.SetBias(bench.bias);
    bench.mm.Iterate();
    bench.Set();
    bench.mm.SetBias(bench.bias);
    bench.mm.Iterate(true);
    bench.mm.GetTensorC(bench.c);
  } else if (TILING_KEY_IS(37)) {  // matmul-hf32: in a kernel that is not cube-only
    bench.mm.SetHF32(true);
    bench.Set();
    bench.mm.IterateAll(bench.c);
  } else if (TILING_KEY_IS(36)) {  // lawful with isBias 1
    bench.Set();
    bench.mm.SetBias(bench.bias);
    bench.mm.IterateAll(bench.c);
    bench.Set();
    bench.mm.DisableBias();
    bench.mm.IterateAll(bench.c);
  }
  if (!TILING_KEY_IS(26)) {
    bench.mm.End();
    return;
  }
  bench.Set();  // matmul-order: no End
  bench.mm.IterateAll(bench.c);
}

__aicore__ inline void MemoryCases(Bench &bench, TPipe &pipe) {
  if (TILING_KEY_IS(40)) {  // workspace-uninitialised: an operand
    bench.Multiply(bench.w);
  } else if (TILING_KEY_IS(41)) {  // workspace-uninitialised: accumulates onto nothing
    bench.Set();
    bench.mm.IterateAll(bench.c, 1);
    bench.mm.End();
  } else if (TILING_KEY_IS(42)) {  // missing-sync: the copy is not ordered before the scalar unit, which asks
    bench.Ones(pipe);
    bench.Multiply(bench.w);
  } else if (TILING_KEY_IS(43)) {  // lawful
    bench.Ones(pipe);
    SetFlag<HardEvent::MTE3_S>(EVENT_ID0);
    WaitFlag<HardEvent::MTE3_S>(EVENT_ID0);
    bench.Multiply(bench.w);
  } else if (TILING_KEY_IS(44)) {  // missing-sync: C is still read by a copy
    pipe.InitBuffer(bench.in, 4096);
    bench.Multiply(bench.a);
    DataCopy(bench.in.Get<float>(), bench.c, 1024);
    bench.Multiply(bench.a);
  } else if (TILING_KEY_IS(45)) {  // missing-sync: C is read before WaitIterateAll
    pipe.InitBuffer(bench.in, 4096);
    bench.Set();
    bench.mm.IterateAll<false>(bench.c, 0, false, true);
    DataCopy(bench.in.Get<float>(), bench.c, 1024);
    bench.mm.WaitIterateAll();
    bench.mm.End();
  } else if (TILING_KEY_IS(47)) {  // lawful: B changes between two products
    pipe.InitBuffer(bench.out, 4096);
    for (int32_t i = 1; i <= 2; ++i) {
      bench.Fill(static_cast<float>(i));
      PipeBarrier<PIPE_ALL>();
      bench.mm.SetTensorA(bench.a);
      bench.mm.SetTensorB(bench.w);
      bench.mm.IterateAll(bench.c);
    }
    bench.mm.End();
  } else if (TILING_KEY_IS(46)) {  // data-cache: a scalar write that is not cleaned
    bench.Ones(pipe);
    PipeBarrier<PIPE_ALL>();
    bench.w.SetValue(0, half(2.0f));
    bench.Multiply(bench.w);
    DataCacheCleanAndInvalid<half, CacheLine::SINGLE_CACHE_LINE, DcciDst::CACHELINE_OUT>(bench.w);
  }
}

// Both vector cores of the block.
__aicore__ inline void PairCases(Bench &bench, TPipe &pipe) {
  const bool first = GetBlockIdx() == 0;
  if (TILING_KEY_IS(50)) {  // core-race: both write C
    bench.Multiply(bench.a);
  } else if (TILING_KEY_IS(51)) {  // core-race: one core copies out, the other's cube reads it
    if (first) {
      bench.Ones(pipe);
    }
    if (!first) {
      bench.Multiply(bench.w);
    }
  } else if (TILING_KEY_IS(52)) {  // lawful: with SyncAll between
    if (first) {
      bench.Ones(pipe);
    }
    SyncAll();
    if (!first) {
      bench.Multiply(bench.w);
    }
  } else if (TILING_KEY_IS(53)) {  // syncall-type: the cube cores do not come
    SyncAll<false>();
  }
}

}  // namespace

extern "C" __global__ __aicore__ void matmul_laws(GM_ADDR a, GM_ADDR b, GM_ADDR c, GM_ADDR workspace, GM_ADDR tiling) {
  KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_MIX_AIC_1_2);
  KERNEL_TASK_TYPE(2, KERNEL_TYPE_AIV_ONLY);
  GET_TILING_DATA_WITH_STRUCT(MatmulTestTiling, data, tiling);
  TPipe pipe;
  Bench bench(a, b, c, workspace);
  const bool first = GetBlockIdx() == 0;
  if (TILING_KEY_IS(1)) {  // cube-core: vector work that both kinds of core run
    if ASCEND_IS_AIC {
      LocalTensor<float> nothing;
      Duplicate(nothing, 1.0f, 8);
    }
  }
  if (TILING_KEY_IS(3)) {  // matmul-registration: after InitBuffer
    pipe.InitBuffer(bench.in, 32);
  }
  if (TILING_KEY_IS(4) && !first) {  // matmul-registration: one core of two
    return;
  }
  if (TILING_KEY_IS(5)) {  // matmul-registration: five objects
    Product one, two, three, four;
    REGIST_MATMUL_OBJ(&pipe, GetSysWorkSpacePtr(), bench.mm, &data.mm, one, &data.mm, two, &data.mm, three, &data.mm, four, &data.mm);
    return;
  }
  if (TILING_KEY_IS(7)) {  // matmul-order: two objects, the first not ended before the second computes
    Product other;
    REGIST_MATMUL_OBJ(&pipe, GetSysWorkSpacePtr(), bench.mm, &data.mm, other, &data.mm);
    if (first) {
      bench.Set();
      bench.mm.IterateAll(bench.c);
      other.SetTensorA(bench.a);
      other.SetTensorB(bench.b);
      other.IterateAll(bench.c);
      other.End();
      bench.mm.End();
    }
    return;
  }
  if (TILING_KEY_IS(8)) {  // unsupported (220): a bias of bfloat16_t, even when there is none
    Bf16Bias other;
    REGIST_MATMUL_OBJ(&pipe, GetSysWorkSpacePtr(), other, &data.mm);
    return;
  }
  if (TILING_KEY_IS(11)) {  // matmul-transpose: float needs the flag to say what ISTRANS says
    Wide other;
    REGIST_MATMUL_OBJ(&pipe, GetSysWorkSpacePtr(), other, &data.mm);
    other.SetTensorA(bench.bias, false);
    return;
  }
  if (TILING_KEY_IS(60) || TILING_KEY_IS(61) || TILING_KEY_IS(62)) {
    Tiles tiles;
    REGIST_MATMUL_OBJ(&pipe, GetSysWorkSpacePtr(), tiles, &data.mm);
    if (!first) {
      return;
    }
    pipe.InitBuffer(bench.in, 6144);
    pipe.InitBuffer(bench.out, 6144);
    LocalTensor<float> t = bench.in.Get<float>(), u = bench.out.Get<float>();
    tiles.SetTensorA(bench.a);
    tiles.SetTensorB(bench.b);
    tiles.Iterate();
    if (TILING_KEY_IS(60)) {  // missing-sync: the tile is used before its copy is there
      tiles.GetTensorC(t, 0, true);
      Adds(u, t, 1.0f, 1536);
    } else if (TILING_KEY_IS(61)) {  // local-bounds: too small a tensor
      tiles.GetTensorC(bench.in.Get<float>(1024), 0, true);
    } else {  // range: no atomics in local memory
      tiles.GetTensorC(t, 1, true);
    }
    tiles.End();
    return;
  }
  REGIST_MATMUL_OBJ(&pipe, GetSysWorkSpacePtr(), bench.mm, &data.mm);
  if (TILING_KEY_IS(6)) {  // matmul-registration: twice
    Product again;
    REGIST_MATMUL_OBJ(&pipe, GetSysWorkSpacePtr(), again, &data.mm);
  }
  const uint64_t key = twin::TilingKey();
  if (key >= 50) {
    PairCases(bench, pipe);
  } else if (!first) {
    return;
  } else if (key >= 40) {
    MemoryCases(bench, pipe);
  } else if (key >= 20) {
    OrderCases(bench);
  } else if (key >= 10) {
    ShapeCases(bench);
  } else {
    bench.Multiply(bench.a);
  }
}
