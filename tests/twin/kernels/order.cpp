// Queues, flags, cores, atomics and scalars used as they should be, chosen by the tiling key.
#include "kernel_operator.h"

using namespace AscendC;

namespace {

constexpr int64_t kTile = 64;

struct Program {
  TPipe pipe;
  GlobalTensor<float> x, y, w;

  __aicore__ inline Program(GM_ADDR xs, GM_ADDR ys, GM_ADDR workspace) {
    x.SetGlobalBuffer((__gm__ float *)xs, 1024);
    y.SetGlobalBuffer((__gm__ float *)ys, 1024);
    w.SetGlobalBuffer((__gm__ float *)workspace);
  }

  // y = x + 1, double buffered, tiles of 64.
  __aicore__ inline void Queues() {
    TQue<TPosition::VECIN, 1> in;
    TQue<TPosition::VECOUT, 1> out;
    pipe.InitBuffer(in, 2, kTile * sizeof(float));
    pipe.InitBuffer(out, 2, kTile * sizeof(float));
    for (int64_t i = 0; i < 1024; i += kTile) {
      LocalTensor<float> a = in.AllocTensor<float>();
      DataCopy(a, x[i], kTile);
      in.EnQue(a);
      a = in.DeQue<float>();
      LocalTensor<float> b = out.AllocTensor<float>();
      Adds(b, a, 1.0f, kTile);
      out.EnQue<float>(b);
      in.FreeTensor(a);
      b = out.DeQue<float>();
      DataCopy(y[i], b, kTile);
      out.FreeTensor(b);
    }
  }
  // The same with copies issued ahead: two tensors wait in a queue of depth 2.
  __aicore__ inline void Ahead() {
    TQue<TPosition::VECIN, 2> in;
    TQue<TPosition::VECOUT, 1> out;
    pipe.InitBuffer(in, 2, kTile * sizeof(float));
    pipe.InitBuffer(out, 1, kTile * sizeof(float));
    for (int64_t i = 0; i < 1024; i += 2 * kTile) {
      for (int64_t k = 0; k < 2; ++k) {
        LocalTensor<float> a;
        in.AllocTensor<float>(a);
        DataCopy(a, x[i + k * kTile], kTile);
        in.EnQue(a);
      }
      for (int64_t k = 0; k < 2; ++k) {
        LocalTensor<float> a;
        in.DeQue<float>(a);
        LocalTensor<float> b = out.AllocTensor<float>();
        Adds(b, a, 1.0f, kTile);
        in.FreeTensor(a);
        out.EnQue(b);
        b = out.DeQue<float>();
        DataCopy(y[i + k * kTile], b, kTile);
        out.FreeTensor(b);
      }
    }
  }
  __aicore__ inline void Bind() {
    TQueBind<TPosition::VECIN, TPosition::VECOUT, 1> through;
    pipe.InitBuffer(through, 2, kTile * sizeof(float));
    for (int64_t i = 0; i < 1024; i += kTile) {
      LocalTensor<float> a = through.AllocTensor<float>();
      DataCopy(a, x[i], kTile);
      through.EnQue(a);
      a = through.DeQue<float>();
      DataCopy(y[i], a, kTile);
      through.FreeTensor(a);
    }
  }
  // TBufs ordered by flags; the sum of the first tile goes through the scalar unit.
  __aicore__ inline void Flags() {
    TBuf<TPosition::VECIN> in;
    TBuf<TPosition::VECOUT> out;
    pipe.InitBuffer(in, kTile * sizeof(float));
    pipe.InitBuffer(out, kTile * sizeof(float));
    LocalTensor<float> a = in.Get<float>(), b = out.Get<float>(kTile);
    const TEventID loaded = pipe.AllocEventID<HardEvent::MTE2_V>();
    const TEventID done = GetTPipePtr()->FetchEventID(HardEvent::V_MTE3);
    const TEventID stored = pipe.FetchEventID<HardEvent::MTE3_V>();
    SetFlag<HardEvent::V_MTE2>(EVENT_ID3);
    SetFlag<HardEvent::MTE3_V>(stored);
    for (int64_t i = 0; i < 1024; i += kTile) {
      WaitFlag<HardEvent::V_MTE2>(EVENT_ID3);
      DataCopy(a, x[i], kTile);
      SetFlag<HardEvent::MTE2_V>(loaded);
      WaitFlag<HardEvent::MTE2_V>(loaded);
      WaitFlag<HardEvent::MTE3_V>(stored);
      Adds(b, a, 1.0f, kTile);
      SetFlag<HardEvent::V_MTE2>(EVENT_ID3);
      SetFlag<HardEvent::V_MTE3>(done);
      WaitFlag<HardEvent::V_MTE3>(done);
      DataCopy(y[i], b, kTile);
      SetFlag<HardEvent::MTE3_V>(stored);
    }
    WaitFlag<HardEvent::V_MTE2>(EVENT_ID3);
    WaitFlag<HardEvent::MTE3_V>(stored);
    pipe.ReleaseEventID<HardEvent::MTE2_V>(loaded);
  }
  // y[0..8) = x[3] by scalar access to local memory.
  __aicore__ inline void Scalars() {
    TBuf<TPosition::VECIN> in;
    pipe.InitBuffer(in, 64);
    LocalTensor<float> a = in.GetWithOffset<float>(8, 32);
    DataCopy(a, x, 8);
    SetFlag<HardEvent::MTE2_S>(EVENT_ID0);
    WaitFlag<HardEvent::MTE2_S>(EVENT_ID0);
    const float value = a.GetValue(3);
    for (int32_t i = 0; i < 8; ++i) a.SetValue(i, value);
    SetFlag<HardEvent::S_MTE3>(EVENT_ID0);
    WaitFlag<HardEvent::S_MTE3>(EVENT_ID0);
    DataCopy(y, a, 8);
  }
  __aicore__ inline void GlobalScalars() {
    const float value = x.GetValue(GetBlockIdx());
    const int64_t line = GetBlockIdx() * 16;
    y.SetValue(line, value * 2.0f);
    DataCacheCleanAndInvalid<float, CacheLine::SINGLE_CACHE_LINE, DcciDst::CACHELINE_OUT>(y[line]);
  }
  // Each core publishes a tile, all wait, each reads its neighbour's.
  __aicore__ inline void Neighbours() {
    TBuf<TPosition::VECIN> in;
    pipe.InitBuffer(in, 32);
    LocalTensor<float> a = in.Get<float>();
    const int64_t me = GetBlockIdx(), next = (me + 1) % GetBlockNum();
    for (int64_t round = 0; round < 3; ++round) {
      DataCopy(a, round == 0 ? x[me * 8] : w[((round - 1) * GetBlockNum() + next) * 8], 8);
      SetFlag<HardEvent::MTE2_MTE3>(EVENT_ID0);
      WaitFlag<HardEvent::MTE2_MTE3>(EVENT_ID0);
      DataCopy(round == 2 ? y[me * 8] : w[(round * GetBlockNum() + me) * 8], a, 8);
      SyncAll();
    }
  }
  // y += x[core], accumulated over the cores; core 0 clears y first.
  __aicore__ inline void Accumulate() {
    TBuf<TPosition::VECIN> in;
    pipe.InitBuffer(in, 64);
    LocalTensor<float> a = in.Get<float>();
    if (GetBlockIdx() == 0) {
      Duplicate(a, 0.0f, 8);
      PipeBarrier<PIPE_ALL>();
      DataCopy(y, a, 8);
    }
    SyncAll();
    DataCopy(a, x[GetBlockIdx() * 8], 8);
    SetFlag<HardEvent::MTE2_MTE3>(EVENT_ID0);
    WaitFlag<HardEvent::MTE2_MTE3>(EVENT_ID0);
    SetAtomicAdd<float>();
    DataCopy(y, a, 8);
    SetAtomicNone();
  }
  __aicore__ inline void Forever() {
    for (volatile int64_t i = 0; i >= 0; i = i & 1) PipeBarrier<PIPE_ALL>();
  }
};

}  // namespace

extern "C" __global__ __aicore__ void order(GM_ADDR x, GM_ADDR y, GM_ADDR workspace, GM_ADDR tiling) {
  (void)tiling;
  KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_MIX_AIV_1_0);
  Program program(x, y, workspace);
  if (TILING_KEY_IS(1)) program.Queues();
  else if (TILING_KEY_IS(2)) program.Ahead();
  else if (TILING_KEY_IS(3)) program.Bind();
  else if (TILING_KEY_IS(4)) program.Flags();
  else if (TILING_KEY_IS(5)) program.Scalars();
  else if (TILING_KEY_IS(6)) program.GlobalScalars();
  else if (TILING_KEY_IS(7)) program.Neighbours();
  else if (TILING_KEY_IS(8)) program.Accumulate();
  else if (TILING_KEY_IS(9)) program.Forever();
}
