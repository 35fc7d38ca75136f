// Own split: vector cores and cube cores run their own code and meet at SyncAll.
#define ASCENDC_CUBE_ONLY
#include "kernel_operator.h"
#include "lib/matmul_intf.h"
#include "matmul_tiling_data.h"

using namespace AscendC;

using GmHalf = MatmulType<TPosition::GM, CubeFormat::ND, half>;
using GmFloat = MatmulType<TPosition::GM, CubeFormat::ND, float>;
using Product = Matmul<GmHalf, GmHalf, GmFloat, GmFloat>;

struct Stage {
  GlobalTensor<half> a, b, doubled;
  GlobalTensor<float> c, product;
  int64_t rows, columns, depth;

  __aicore__ inline Stage(GM_ADDR as, GM_ADDR bs, GM_ADDR cs, GM_ADDR workspace, const TCubeTiling &t) : rows(t.M), columns(t.N), depth(t.Ka) {
    a.SetGlobalBuffer((__gm__ half *)as);
    b.SetGlobalBuffer((__gm__ half *)bs);
    c.SetGlobalBuffer((__gm__ float *)cs);
    doubled.SetGlobalBuffer((__gm__ half *)workspace);
    product.SetGlobalBuffer((__gm__ float *)(workspace + 65536));
  }
  // Rows idx, idx + step, ... of A, doubled, to the workspace. `depth` is a multiple of 16.
  __aicore__ inline void Double(TPipe &pipe, int64_t idx, int64_t step) {
    TQue<TPosition::VECIN, 1> in;
    TQue<TPosition::VECOUT, 1> out;
    pipe.InitBuffer(in, 1, depth * sizeof(half));
    pipe.InitBuffer(out, 1, depth * sizeof(half));
    for (int64_t r = idx; r < rows; r += step) {
      LocalTensor<half> x = in.AllocTensor<half>(), y = out.AllocTensor<half>();
      DataCopy(x, a[r * depth], depth);
      in.EnQue(x);
      x = in.DeQue<half>();
      Muls(y, x, half(2.0f), depth);
      in.FreeTensor(x);
      out.EnQue(y);
      y = out.DeQue<half>();
      DataCopy(doubled[r * depth], y, depth);
      out.FreeTensor(y);
    }
  }
  // Rows of 16 of the product, added up over `taps` halves of K.
  __aicore__ inline void Multiply(Product &mm, int64_t idx, int64_t step, int64_t taps, const GlobalTensor<half> &left) {
    const int64_t part = depth / taps;
    mm.SetOrgShape(rows, columns, depth, depth, columns);
    for (int64_t r = idx * 16; r < rows; r += step * 16) {
      const int64_t m = rows - r < 16 ? rows - r : 16;
      mm.SetSingleShape(m, columns, part);
      for (int64_t tap = 0; tap < taps; ++tap) {
        mm.SetTensorA(left[r * depth + tap * part]);
        mm.SetTensorB(b[tap * part * columns]);
        mm.Iterate(tap != 0);
      }
      mm.GetTensorC(product[r * columns]);
    }
    mm.End();
  }
  // Rows of the product plus one. `columns` is a multiple of 8.
  __aicore__ inline void AddOne(TPipe &pipe, int64_t idx, int64_t step) {
    TQue<TPosition::VECIN, 1> in;
    TQue<TPosition::VECOUT, 1> out;
    pipe.InitBuffer(in, 1, columns * sizeof(float));
    pipe.InitBuffer(out, 1, columns * sizeof(float));
    for (int64_t r = idx; r < rows; r += step) {
      LocalTensor<float> x = in.AllocTensor<float>(), y = out.AllocTensor<float>();
      DataCopy(x, product[r * columns], columns);
      in.EnQue(x);
      x = in.DeQue<float>();
      Adds(y, x, 1.0f, columns);
      in.FreeTensor(x);
      out.EnQue(y);
      y = out.DeQue<float>();
      DataCopy(c[r * columns], y, columns);
      out.FreeTensor(y);
    }
  }
};

extern "C" __global__ __aicore__ void matmul_split(GM_ADDR a, GM_ADDR b, GM_ADDR c, GM_ADDR workspace, GM_ADDR tiling) {
  KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_MIX_AIC_1_2);
  KERNEL_TASK_TYPE(7, KERNEL_TYPE_AIC_ONLY);
  KERNEL_TASK_TYPE(9, KERNEL_TYPE_AIC_ONLY);
  KERNEL_TASK_TYPE(10, KERNEL_TYPE_AIC_ONLY);
  KERNEL_TASK_TYPE(11, KERNEL_TYPE_AIC_ONLY);
  GET_TILING_DATA_WITH_STRUCT(MatmulTestTiling, data, tiling);
  Stage stage(a, b, c, workspace, data.mm);
  // 1: lawful; 2: the cube does not wait; 3: vector cores do not wait; 4: a SyncAll of vector cores is not enough;
  // 5: one vector core waits with the cube cores, the others among themselves; 6: cube work on a vector core; 7: cubes alone
  // 8: as 4, the other way round: what the cube wrote is read after a SyncAll of vector cores
  if (TILING_KEY_IS(6)) {
    TPipe pipe;
    Product mm;
    REGIST_MATMUL_OBJ(&pipe, GetSysWorkSpacePtr(), mm, &data.mm);
    return;
  }
  if ASCEND_IS_AIC {
    TPipe pipe;
    Product mm;
    REGIST_MATMUL_OBJ(&pipe, GetSysWorkSpacePtr(), mm, &data.mm);
    if (TILING_KEY_IS(7) || TILING_KEY_IS(9) || TILING_KEY_IS(10) || TILING_KEY_IS(11)) {
      if (TILING_KEY_IS(10) || TILING_KEY_IS(11)) {  // lawful with a rounding; matmul-hf32: with one it has not
        mm.SetHF32(true, TILING_KEY_IS(10) ? 1 : 2);
      }
      stage.product = stage.c;
      stage.Multiply(mm, GetBlockIdx(), GetBlockNum(), data.taps, stage.a);
      if (TILING_KEY_IS(9)) {  // missing-sync: reads its own result
        stage.a.SetGlobalBuffer((__gm__ half *)c);
        stage.product.SetGlobalBuffer((__gm__ float *)workspace);
        stage.Multiply(mm, GetBlockIdx(), GetBlockNum(), data.taps, stage.a);
      }
      return;
    }
    if (!TILING_KEY_IS(2) && !TILING_KEY_IS(4)) {
      SyncAll<false>();
    }
    stage.Multiply(mm, GetBlockIdx(), GetBlockNum(), data.taps, stage.doubled);
    if (TILING_KEY_IS(2) || TILING_KEY_IS(4)) {
      SyncAll<false>();
    }
    if (!TILING_KEY_IS(3) && !TILING_KEY_IS(8)) {
      SyncAll<false>();
    }
  }
  if ASCEND_IS_AIV {
    const int64_t idx = GetBlockIdx(), step = 2 * GetBlockNum();
    {
      TPipe pipe;
      stage.Double(pipe, idx, step);
    }
    if (TILING_KEY_IS(4)) {
      SyncAll();
    }
    if (!TILING_KEY_IS(5) || idx == 0) {
      SyncAll<false>();
    }
    if (TILING_KEY_IS(5) || TILING_KEY_IS(8)) {
      SyncAll();
    }
    if (!TILING_KEY_IS(3) && !TILING_KEY_IS(8)) {
      SyncAll<false>();
    }
    TPipe pipe;
    stage.AddOne(pipe, idx, step);
  }
}
