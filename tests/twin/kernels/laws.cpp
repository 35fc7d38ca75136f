// One case per law, chosen by the tiling key: each breaks that law and no other.
#include "kernel_operator.h"

using namespace AscendC;

struct LawTiling {
  int64_t zero;
};
struct WideTiling {
  int64_t values[8];
};

namespace {

constexpr int64_t kCount = 64;

// Local memory filled from x, ready for every pipe.
struct Bench {
  TPipe pipe;
  GlobalTensor<float> x, y, w;
  TBuf<TPosition::VECIN> in;
  TBuf<TPosition::VECOUT> out;
  LocalTensor<float> a, b;

  __aicore__ inline Bench(GM_ADDR xs, GM_ADDR ys, GM_ADDR workspace) {
    x.SetGlobalBuffer((__gm__ float *)xs);
    y.SetGlobalBuffer((__gm__ float *)ys);
    w.SetGlobalBuffer((__gm__ float *)workspace);
    pipe.InitBuffer(in, 4 * kCount * sizeof(float));
    pipe.InitBuffer(out, 4 * kCount * sizeof(float));
    a = in.Get<float>();
    b = out.Get<float>();
  }
  __aicore__ inline void Load() {
    DataCopy(a, x, 4 * kCount);
    PipeBarrier<PIPE_ALL>();
  }
};

template <TPosition pos, int32_t depth>
__aicore__ inline void FillQueue(Bench &bench, TQue<pos, depth> &queue, int32_t number) {
  for (int32_t i = 0; i < number; ++i) {
    LocalTensor<float> t = queue.template AllocTensor<float>();
    DataCopy(t, bench.x, 8);
    queue.EnQue(t);
  }
  for (int32_t i = 0; i < number; ++i) {
    LocalTensor<float> t = queue.template DeQue<float>();
    queue.FreeTensor(t);
  }
}

__aicore__ inline void LocalCases(Bench &bench) {
  if (TILING_KEY_IS(1)) {  // alignment
    DataCopy(bench.a[3], bench.x, 8);
  } else if (TILING_KEY_IS(2)) {  // range: a count of 4098 would be kept as 2
    DataCopyPad(bench.a, bench.x, DataCopyExtParams{4098, 32, 0, 0, 0}, DataCopyPadExtParams<float>{false, 0, 0, 0});
  } else if (TILING_KEY_IS(3)) {  // ub-capacity
    TBuf<TPosition::VECCALC> big;
    bench.pipe.InitBuffer(big, 253952);
  } else if (TILING_KEY_IS(4)) {  // buffer-count: 65 with the bench's two
    TBuf<TPosition::VECCALC> many[63];
    for (TBuf<TPosition::VECCALC> &one : many) bench.pipe.InitBuffer(one, 32);
  } else if (TILING_KEY_IS(5)) {  // buffer-count: 9 event ids of MTE2_V
    TQue<TPosition::VECIN, 9> queue;
    bench.pipe.InitBuffer(queue, 9, 32);
    FillQueue(bench, queue, 9);
  } else if (TILING_KEY_IS(6)) {  // uninitialised
    Adds(bench.b, bench.a, 1.0f, kCount);
  } else if (TILING_KEY_IS(7)) {  // local-bounds
    bench.Load();
    Adds(bench.b, bench.in.Get<float>(8), 1.0f, kCount);
  } else if (TILING_KEY_IS(8)) {  // gm-bounds: past the end of the argument
    DataCopyPad(bench.a, bench.x[1020], DataCopyExtParams{1, 32, 0, 0, 0}, DataCopyPadExtParams<float>{false, 0, 0, 0});
  } else if (TILING_KEY_IS(9)) {  // gm-bounds: past the end of the GlobalTensor
    GlobalTensor<float> part;
    part.SetGlobalBuffer(bench.x.GetPhyAddr(), 512);
    DataCopy(bench.a, part[508], 8);
  } else if (TILING_KEY_IS(10)) {  // missing-sync: read after write, MTE2 then V
    DataCopy(bench.a, bench.x, kCount);
    Adds(bench.b, bench.a, 1.0f, kCount);
  } else if (TILING_KEY_IS(11)) {  // missing-sync: write after read, MTE3 then V
    bench.Load();
    DataCopy(bench.y, bench.a, kCount);
    Duplicate(bench.a, 0.0f, kCount);
  } else if (TILING_KEY_IS(12)) {  // missing-sync: two copies to one place
    DataCopy(bench.a, bench.x, kCount);
    DataCopy(bench.a, bench.x[kCount], kCount);
  } else if (TILING_KEY_IS(13)) {  // missing-sync: V then S
    Duplicate(bench.a, 0.0f, kCount);
    (void)bench.a.GetValue(0);
  } else if (TILING_KEY_IS(14)) {  // missing-sync through global memory: MTE3 then MTE2
    bench.Load();
    DataCopy(bench.y, bench.a, kCount);
    DataCopy(bench.b, bench.y, kCount);
  } else if (TILING_KEY_IS(15)) {  // vector-dependence: read after write
    bench.Load();
    Adds(bench.b, bench.a, 1.0f, kCount);
    Adds(bench.a, bench.b, 1.0f, kCount);
  } else if (TILING_KEY_IS(16)) {  // overlap
    bench.Load();
    DataCopy(bench.a[8], bench.a, 16);
  } else if (TILING_KEY_IS(17)) {  // pipe-type
    TBuf<TPosition::VECCALC> calc;
    bench.pipe.InitBuffer(calc, 256);
    DataCopy(calc.Get<float>(), bench.x, kCount);
  } else if (TILING_KEY_IS(18)) {  // pipe-type: an event of the cube core
    SetFlag<HardEvent::M_V>(EVENT_ID0);
  } else if (TILING_KEY_IS(19)) {  // unsupported
    SetAtomicAdd<int64_t>();
  } else if (TILING_KEY_IS(20)) {  // nop-count
    bench.Load();
    Adds(bench.b, bench.a, 1.0f, 0);
  } else if (TILING_KEY_IS(21)) {  // count
    bench.Load();
    Compare(bench.b.ReinterpretCast<uint8_t>(), bench.a, bench.a, CMPMODE::LT, 40);
  } else if (TILING_KEY_IS(22)) {  // atomic
    SetAtomicAdd<float>();
  } else if (TILING_KEY_IS(23)) {  // single-pipe
    TPipe second;
  }
}

__aicore__ inline void QueueCases(Bench &bench) {
  TQue<TPosition::VECIN, 1> queue, other;
  bench.pipe.InitBuffer(queue, 1, 256);
  bench.pipe.InitBuffer(other, 2, 256);
  if (TILING_KEY_IS(40)) {  // leak
    LocalTensor<float> t = queue.AllocTensor<float>();
    (void)t;
  } else if (TILING_KEY_IS(41)) {  // no buffer is free
    (void)queue.AllocTensor<float>();
    (void)queue.AllocTensor<float>();
  } else if (TILING_KEY_IS(42)) {  // the queue is empty
    (void)queue.DeQue<float>();
  } else if (TILING_KEY_IS(43)) {  // over depth
    FillQueue(bench, other, 2);
  } else if (TILING_KEY_IS(44)) {  // a foreign tensor
    LocalTensor<float> t = queue.AllocTensor<float>();
    other.FreeTensor(t);
    queue.FreeTensor(t);
  } else if (TILING_KEY_IS(45)) {  // used after FreeTensor
    LocalTensor<float> t = queue.AllocTensor<float>();
    Duplicate(t, 1.0f, kCount);
    queue.FreeTensor(t);
    PipeBarrier<PIPE_V>();
    Duplicate(t, 2.0f, kCount);
  } else if (TILING_KEY_IS(46)) {  // freed while in the queue
    LocalTensor<float> t = queue.AllocTensor<float>();
    queue.EnQue(t);
    queue.FreeTensor(t);
    t = queue.DeQue<float>();
    queue.FreeTensor(t);
  } else if (TILING_KEY_IS(48)) {  // sync-count: the queue is given an id that a flag uses
    LocalTensor<float> t = queue.AllocTensor<float>();
    SetFlag<HardEvent::MTE2_V>(EVENT_ID0);
    queue.EnQue(t);
    t = queue.DeQue<float>();
    WaitFlag<HardEvent::MTE2_V>(EVENT_ID0);
    queue.FreeTensor(t);
  } else if (TILING_KEY_IS(49)) {  // sync-count: a flag uses an id that the queue holds
    LocalTensor<float> t = queue.AllocTensor<float>();
    queue.EnQue(t);
    SetFlag<HardEvent::MTE2_V>(EVENT_ID0);
    WaitFlag<HardEvent::MTE2_V>(EVENT_ID0);
    t = queue.DeQue<float>();
    queue.FreeTensor(t);
  } else if (TILING_KEY_IS(47)) {  // freed twice
    LocalTensor<float> t = queue.AllocTensor<float>();
    queue.FreeTensor(t);
    queue.FreeTensor(t);
  } else if (TILING_KEY_IS(75)) {  // one breach fewer than stop a core, then one more found when the pipe ends
    for (int i = 1; i < 50; ++i) SetFlag<HardEvent::V_S>(8, twin::Site{"many", i});
    (void)queue.AllocTensor<float>();
  } else if (TILING_KEY_IS(73)) {  // filled by a copy and freed without EnQue and DeQue, though a later wait orders the copy
    LocalTensor<float> t = queue.AllocTensor<float>();
    DataCopy(t, bench.x, 8);
    SetFlag<HardEvent::MTE2_V>(EVENT_ID0);
    WaitFlag<HardEvent::MTE2_V>(EVENT_ID0);
    queue.FreeTensor(t);
  }
}

__aicore__ inline void GlobalCases(Bench &bench) {
  const bool first = GetBlockIdx() == 0;
  if (TILING_KEY_IS(60)) {  // workspace-uninitialised
    DataCopy(bench.a, bench.w, 8);
  } else if (TILING_KEY_IS(61)) {  // workspace-uninitialised: accumulates onto nothing
    bench.Load();
    SetAtomicAdd<float>();
    DataCopy(bench.y, bench.a, 8);
    SetAtomicNone();
  } else if (TILING_KEY_IS(62)) {  // core-race: both write
    bench.Load();
    DataCopy(bench.y, bench.a, 8);
  } else if (TILING_KEY_IS(63)) {  // core-race: one writes, one reads
    bench.Load();
    if (first) DataCopy(bench.w, bench.a, 8);
    else DataCopy(bench.b, bench.w, 8);
  } else if (TILING_KEY_IS(64)) {  // core-race: scalar writes into one 64-byte line
    bench.y.SetValue(GetBlockIdx(), 1.0f);
    DataCacheCleanAndInvalid<float, CacheLine::SINGLE_CACHE_LINE, DcciDst::CACHELINE_OUT>(bench.y);
  } else if (TILING_KEY_IS(65)) {  // data-cache
    bench.y.SetValue(0, 1.0f);
  } else if (TILING_KEY_IS(66)) {  // sync-count: one core does not come
    KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_MIX_AIV_1_0);
    if (first) SyncAll();
  } else if (TILING_KEY_IS(67)) {  // syncall-type
    SyncAll();
  } else if (TILING_KEY_IS(68)) {  // syncall-type: more blocks than cores
    KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_MIX_AIV_1_0);
    SyncAll();
  } else if (TILING_KEY_IS(69)) {  // sync-count: left set
    SetFlag<HardEvent::V_S>(EVENT_ID0);
  } else if (TILING_KEY_IS(70)) {  // sync-count: set twice
    SetFlag<HardEvent::V_S>(EVENT_ID0);
    SetFlag<HardEvent::V_S>(EVENT_ID0);
    WaitFlag<HardEvent::V_S>(EVENT_ID0);
  } else if (TILING_KEY_IS(71)) {  // sync-count: waited without set
    WaitFlag<HardEvent::V_S>(EVENT_ID0);
  } else if (TILING_KEY_IS(72)) {  // range: event id
    SetFlag<HardEvent::V_S>(8);
  } else if (TILING_KEY_IS(74)) {  // range: a reserved field
    DataCopyPad(bench.a, bench.x, DataCopyExtParams(1, 32, 0, 0, 1), DataCopyPadExtParams<float>(false, 0, 0, 0));
  }
}

}  // namespace

extern "C" __global__ __aicore__ void laws(GM_ADDR x, GM_ADDR y, GM_ADDR workspace, GM_ADDR tiling) {
  GET_TILING_DATA_WITH_STRUCT(LawTiling, t, tiling);
  if (TILING_KEY_IS(90)) {  // tiling-data
    GET_TILING_DATA_WITH_STRUCT(WideTiling, wide, tiling);
    (void)wide;
    return;
  }
  if (TILING_KEY_IS(91)) {  // fault
    volatile int64_t result = 100 / t.zero;
    (void)result;
    return;
  }
  Bench bench(x, y, workspace);
  if (TILING_KEY_IS(92)) {  // clean: nothing broken
    bench.Load();
    DataCopy(bench.y, bench.a, 4 * kCount);
    return;
  }
  LocalCases(bench);
  if ((twin::TilingKey() >= 40 && twin::TilingKey() < 50) || twin::TilingKey() == 73 || twin::TilingKey() == 75) QueueCases(bench);
  GlobalCases(bench);
}
