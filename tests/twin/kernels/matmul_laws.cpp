// One case per law of Matmul, chosen by the tiling key: each breaks that law and no other.
#include "kernel_operator.h"
#include "lib/matmul_intf.h"
#include "matmul_tiling_data.h"

using namespace AscendC;

namespace {

using GmHalf = MatmulType<TPosition::GM, CubeFormat::ND, half>;
using GmFloat = MatmulType<TPosition::GM, CubeFormat::ND, float>;
using Product = Matmul<GmHalf, GmHalf, GmFloat, GmFloat>;

struct Bench {
  GlobalTensor<half> a, b;
  GlobalTensor<float> c, w;
  Product mm;

  __aicore__ inline Bench(GM_ADDR as, GM_ADDR bs, GM_ADDR cs, GM_ADDR workspace) {
    a.SetGlobalBuffer((__gm__ half *)as);
    b.SetGlobalBuffer((__gm__ half *)bs);
    c.SetGlobalBuffer((__gm__ float *)cs);
    w.SetGlobalBuffer((__gm__ float *)workspace);
  }
  __aicore__ inline void Multiply() {
    mm.SetTensorA(a);
    mm.SetTensorB(b);
    mm.IterateAll(c);
    mm.End();
  }
};

}  // namespace

extern "C" __global__ __aicore__ void matmul_laws(GM_ADDR a, GM_ADDR b, GM_ADDR c, GM_ADDR workspace, GM_ADDR tiling) {
  KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_MIX_AIC_1_2);
  KERNEL_TASK_TYPE(2, KERNEL_TYPE_AIV_ONLY);
  GET_TILING_DATA_WITH_STRUCT(MatmulTestTiling, data, tiling);
  TPipe pipe;
  Bench bench(a, b, c, workspace);
  TBuf<TPosition::VECIN> in;
  const bool first = GetBlockIdx() == 0;
  if (TILING_KEY_IS(1)) {  // cube-core: vector work that both kinds of core run
    PipeBarrier<PIPE_V>();
    if ASCEND_IS_AIC {
      LocalTensor<float> nothing;
      Duplicate(nothing, 1.0f, 8);
    }
  }
  if (TILING_KEY_IS(3)) {  // matmul-registration: after InitBuffer
    pipe.InitBuffer(in, 32);
  }
  if (TILING_KEY_IS(4) && !first) {  // matmul-registration: one core of two
    return;
  }
  if (TILING_KEY_IS(5)) {  // matmul-registration: five objects
    Product one, two, three, four;
    REGIST_MATMUL_OBJ(&pipe, GetSysWorkSpacePtr(), bench.mm, &data.mm, one, &data.mm, two, &data.mm, three, &data.mm, four, &data.mm);
    return;
  }
  REGIST_MATMUL_OBJ(&pipe, GetSysWorkSpacePtr(), bench.mm, &data.mm);
  if (TILING_KEY_IS(6)) {  // matmul-registration: twice
    Product again;
    REGIST_MATMUL_OBJ(&pipe, GetSysWorkSpacePtr(), again, &data.mm);
  }
  if (first) {
    bench.Multiply();
  }
}
