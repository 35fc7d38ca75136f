// y = x * scale + w (+ bias), on one core; `mode` makes it break laws.
#include "kernel_operator.h"
#include "probe_tiling_data.h"

using namespace AscendC;

class Probe {
 public:
  __aicore__ inline Probe() {}
  __aicore__ inline void Load(LocalTensor<float> to, GM_ADDR from, int64_t first, int64_t count) {
    GlobalTensor<float> gm;
    gm.SetGlobalBuffer((__gm__ float *)from);
    const DataCopyExtParams ext{1, static_cast<uint32_t>(count * sizeof(float)), 0, 0, 0};
    const DataCopyPadExtParams<float> pad{false, 0, 0, 0.0f};
    DataCopyPad(to, gm[first], ext, pad);
  }
  __aicore__ inline void Run(GM_ADDR x, GM_ADDR bias, GM_ADDR w, GM_ADDR y, const ProbeTilingData &tiling, TPipe *pipe) {
    pipe->InitBuffer(in, 1, 3 * kTile * sizeof(float));
    pipe->InitBuffer(out, 1, kTile * sizeof(float));
    GlobalTensor<float> yGm;
    yGm.SetGlobalBuffer((__gm__ float *)y, tiling.total);
    for (int64_t i = 0; i < tiling.total; i += kTile) {
      const int64_t count = tiling.total - i < kTile ? tiling.total - i : kTile;
      LocalTensor<float> a = in.AllocTensor<float>();
      Load(a, x, tiling.mode == 1 ? i + 1 : i, count);
      Load(a[kTile], w, i, count);
      if (tiling.hasBias != 0) Load(a[2 * kTile], bias, i, count);
      in.EnQue(a);
      a = in.DeQue<float>();
      LocalTensor<float> b = out.AllocTensor<float>();
      Muls(b, a, tiling.scale, static_cast<int32_t>(count));
      PipeBarrier<PIPE_V>();
      while (tiling.mode == 2) {
        Muls(b, a, tiling.scale, static_cast<int32_t>(count));
        PipeBarrier<PIPE_V>();
      }
      Add(b, b, a[kTile], static_cast<int32_t>(count));
      if (tiling.hasBias != 0) {
        PipeBarrier<PIPE_V>();
        Add(b, b, a[2 * kTile], static_cast<int32_t>(count));
      }
      in.FreeTensor(a);
      out.EnQue(b);
      b = out.DeQue<float>();
      const DataCopyExtParams ext{1, static_cast<uint32_t>(count * sizeof(float)), 0, 0, 0};
      DataCopyPad(yGm[i], b, ext);
      out.FreeTensor(b);
    }
  }

 private:
  static constexpr int64_t kTile = 64;
  TQue<TPosition::VECIN, 1> in;
  TQue<TPosition::VECOUT, 1> out;
};

extern "C" __global__ __aicore__ void probe(GM_ADDR x, GM_ADDR bias, GM_ADDR w, GM_ADDR y, GM_ADDR extra, GM_ADDR workspace,
                                            GM_ADDR tiling) {
  (void)workspace;
  (void)extra;
  REGISTER_TILING_DEFAULT(ProbeTilingData);
  GET_TILING_DATA_WITH_STRUCT(ProbeTilingData, data, tiling);
  TPipe pipe;
  Probe kernel;
  kernel.Run(x, bias, w, y, data, &pipe);
}
