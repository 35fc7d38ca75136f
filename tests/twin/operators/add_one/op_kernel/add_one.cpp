// y = x + bias + addend, bias optional.
#include "kernel_operator.h"
#include "add_one_tiling_data.h"

using namespace AscendC;

class AddOne {
 public:
  __aicore__ inline AddOne() {}
  __aicore__ inline void Run(GM_ADDR x, GM_ADDR bias, GM_ADDR y, const AddOneTilingData &tiling, TPipe *pipe) {
    const int64_t begin = GetBlockIdx() * tiling.perCore;
    const int64_t end = begin + tiling.perCore < tiling.total ? begin + tiling.perCore : tiling.total;
    xGm.SetGlobalBuffer((__gm__ float *)x, tiling.total);
    yGm.SetGlobalBuffer((__gm__ float *)y, tiling.total);
    if (tiling.hasBias != 0) biasGm.SetGlobalBuffer((__gm__ float *)bias, tiling.total);
    pipe->InitBuffer(in, 2, kTile * sizeof(float));
    pipe->InitBuffer(more, 2, kTile * sizeof(float));
    pipe->InitBuffer(out, 2, kTile * sizeof(float));
    for (int64_t i = begin; i < end; i += kTile) {
      const int64_t count = end - i < kTile ? end - i : kTile;
      const DataCopyExtParams ext{1, static_cast<uint32_t>(count * sizeof(float)), 0, 0, 0};
      const DataCopyPadExtParams<float> pad{false, 0, 0, 0.0f};
      LocalTensor<float> a = in.AllocTensor<float>();
      DataCopyPad(a, xGm[i], ext, pad);
      in.EnQue(a);
      a = in.DeQue<float>();
      LocalTensor<float> b = out.AllocTensor<float>();
      Adds(b, a, tiling.addend, static_cast<int32_t>(count));
      in.FreeTensor(a);
      if (tiling.hasBias != 0) {
        LocalTensor<float> c = more.AllocTensor<float>();
        DataCopyPad(c, biasGm[i], ext, pad);
        more.EnQue(c);
        c = more.DeQue<float>();
        PipeBarrier<PIPE_V>();
        Add(b, b, c, static_cast<int32_t>(count));
        more.FreeTensor(c);
      }
      out.EnQue(b);
      b = out.DeQue<float>();
      DataCopyPad(yGm[i], b, ext);
      out.FreeTensor(b);
    }
  }

 private:
  static constexpr int64_t kTile = 256;
  GlobalTensor<float> xGm, biasGm, yGm;
  TQue<TPosition::VECIN, 1> in, more;
  TQue<TPosition::VECOUT, 1> out;
};

extern "C" __global__ __aicore__ void add_one(GM_ADDR x, GM_ADDR bias, GM_ADDR y, GM_ADDR workspace, GM_ADDR tiling) {
  (void)workspace;
  REGISTER_TILING_DEFAULT(AddOneTilingData);
  GET_TILING_DATA_WITH_STRUCT(AddOneTilingData, data, tiling);
  TPipe pipe;
  AddOne kernel;
  kernel.Run(x, bias, y, data, &pipe);
}
