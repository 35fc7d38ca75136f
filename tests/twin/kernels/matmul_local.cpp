// Matmul with operands and results in the unified buffer: C = A B + 1, tile by tile through vector work.
#include "kernel_operator.h"
#include "lib/matmul_intf.h"
#include "matmul_tiling_data.h"

#ifndef C_FORMAT
#define C_FORMAT ND
#endif

using namespace AscendC;

using LocalHalf = MatmulType<TPosition::VECOUT, CubeFormat::ND, half>;
using GmHalf = MatmulType<TPosition::GM, CubeFormat::ND, half>;
using GmFloat = MatmulType<TPosition::GM, CubeFormat::ND, float>;
using UbFloat = MatmulType<TPosition::VECIN, CubeFormat::C_FORMAT, float>;

extern "C" __global__ __aicore__ void matmul_local(GM_ADDR a, GM_ADDR b, GM_ADDR c, GM_ADDR workspace, GM_ADDR tiling) {
  KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_MIX_AIC_1_1);
  GET_TILING_DATA_WITH_STRUCT(MatmulTestTiling, data, tiling);
  TPipe pipe;
  Matmul<LocalHalf, GmHalf, UbFloat, GmFloat> mm;
  REGIST_MATMUL_OBJ(&pipe, GetSysWorkSpacePtr(), mm, &data.mm);
  const TCubeTiling &t = data.mm;
  GlobalTensor<half> aGm, bGm;
  GlobalTensor<float> cGm;
  aGm.SetGlobalBuffer((__gm__ half *)a);
  bGm.SetGlobalBuffer((__gm__ half *)b);
  cGm.SetGlobalBuffer((__gm__ float *)c);
  TBuf<TPosition::VECOUT> left;
  TQue<TPosition::VECIN, 1> in;
  TQue<TPosition::VECOUT, 1> out;
  pipe.InitBuffer(left, t.M * t.Ka * sizeof(half));
  pipe.InitBuffer(in, 1, t.baseM * t.baseN * sizeof(float));
  pipe.InitBuffer(out, 1, t.baseM * t.baseN * sizeof(float));
  LocalTensor<half> lefts = left.Get<half>();
  DataCopy(lefts, aGm, t.M * t.Ka);
  PipeBarrier<PIPE_ALL>();
  // 1: each tile in turn; 2: all at once to the workspace, then copied; 3: the same, copied by the kernel; 4: one tile fetched too few
  const bool later = !TILING_KEY_IS(1);
  GlobalTensor<float> space;
  space.SetGlobalBuffer((__gm__ float *)workspace, (workspace == nullptr ? 0 : data.taps));
  if (later) mm.SetWorkspace(space);
  for (int64_t turn = 0; turn < 2; ++turn) {
    mm.SetTensorA(lefts);
    mm.SetTensorB(bGm);
    const int64_t tilesM = (t.M + t.baseM - 1) / t.baseM;
    for (int64_t number = 0; later ? mm.Iterate<false>() : mm.Iterate(); ++number) {
      if (TILING_KEY_IS(4) && number == 1) {
        break;
      }
      const int64_t row = number % tilesM * t.baseM, column = number / tilesM * t.baseN;
      const int64_t rows = t.M - row < t.baseM ? t.M - row : t.baseM, columns = t.N - column < t.baseN ? t.N - column : t.baseN;
      const int64_t pitch = CubeFormat::C_FORMAT == CubeFormat::ND ? columns : (columns + 7) / 8 * 8;
      LocalTensor<float> x = in.AllocTensor<float>(), y = out.AllocTensor<float>();
      x.SetSize(rows * pitch);
      if (TILING_KEY_IS(3)) {
        const GlobalTensor<float> tile = mm.GetTensorC<false>();
        DataCopy(x, tile, rows * pitch);
      } else if (later) {
        mm.GetTensorC<false>(x);
        mm.WaitGetTensorC();
      } else {
        mm.GetTensorC(x, 0, true);
      }
      in.EnQue(x);
      x = in.DeQue<float>();
      for (int64_t r = 0; r < rows; ++r) Adds(y[r * ((columns + 7) / 8 * 8)], x[r * pitch], 1.0f, columns);
      in.FreeTensor(x);
      out.EnQue(y);
      y = out.DeQue<float>();
      const DataCopyExtParams params(rows, columns * sizeof(float), 0, (t.N - columns) * sizeof(float), 0);
      DataCopyPad(cGm[row * t.N + column], y, params);
      out.FreeTensor(y);
    }
  }
  mm.End();
}
