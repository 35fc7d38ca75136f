// Copies of every form, with parameters from the tiling data; local memory is shown whole in the output.
#include "kernel_operator.h"

using namespace AscendC;

struct CopyTiling {
  int64_t count, length, from, to;  // blockCount, blockLen, srcStride, dstStride
  int64_t isPad, left, right, value;
  int64_t elements;                 // of the local tensor shown, and of the count forms
};

namespace {

template <typename T>
struct Copies {
  TPipe pipe;
  GlobalTensor<T> x, y;
  TBuf<TPosition::VECIN> buffer, second;
  LocalTensor<T> local;
  CopyTiling t;

  __aicore__ inline Copies(GM_ADDR xs, GM_ADDR ys, const CopyTiling &tiling) : t(tiling) {
    x.SetGlobalBuffer((__gm__ T *)xs);
    y.SetGlobalBuffer((__gm__ T *)ys);
    pipe.InitBuffer(buffer, 4096);
    pipe.InitBuffer(second, 4096);
    local = buffer.Get<T>();
  }
  // Local memory holds -1 everywhere (or x, for copies out).
  __aicore__ inline void Blank() {
    Duplicate(local, static_cast<T>(-1), 4096 / sizeof(T));
    Duplicate(second.Get<T>(), static_cast<T>(-1), 4096 / sizeof(T));
    PipeBarrier<PIPE_ALL>();
  }
  __aicore__ inline void Load() {
    DataCopy(local, x, 4096 / sizeof(T));
    PipeBarrier<PIPE_ALL>();
  }
  __aicore__ inline void Show(const LocalTensor<T> &tensor) {
    PipeBarrier<PIPE_ALL>();
    DataCopy(y, tensor, t.elements);
  }
  __aicore__ inline void Run() {
    const DataCopyExtParams ext{static_cast<uint16_t>(t.count), static_cast<uint32_t>(t.length), static_cast<uint32_t>(t.from),
                                static_cast<uint32_t>(t.to), 0};
    const DataCopyParams old(t.count, t.length, t.from, t.to);
    if (TILING_KEY_IS(1) || TILING_KEY_IS(11)) {
      Blank();
      DataCopyPad(local, x, ext,
                  DataCopyPadExtParams<T>{t.isPad != 0, static_cast<uint8_t>(t.left), static_cast<uint8_t>(t.right), static_cast<T>(t.value)});
      Show(local);
    } else if (TILING_KEY_IS(12)) {
      Blank();
      SetPadValue(static_cast<T>(9));
      DataCopyPad(local, x, ext, DataCopyPadExtParams<T>{false, static_cast<uint8_t>(t.left), static_cast<uint8_t>(t.right), static_cast<T>(0)});
      Show(local);
    } else if (TILING_KEY_IS(13)) {
      Blank();
      DataCopyPad<T, PaddingMode::Compact>(
          local, x, ext,
          DataCopyPadExtParams<T>{t.isPad != 0, static_cast<uint8_t>(t.left), static_cast<uint8_t>(t.right), static_cast<T>(t.value)});
      Show(local);
    } else if (TILING_KEY_IS(14)) {
      Load();
      DataCopyPad<T, PaddingMode::Compact>(y, local, ext);
    } else if (TILING_KEY_IS(2)) {
      Load();
      DataCopyPad(y, local, ext);
    } else if (TILING_KEY_IS(3)) {
      Blank();
      DataCopy(local, x, t.elements);
      t.elements = 64;
      Show(local);
    } else if (TILING_KEY_IS(4)) {
      Load();
      DataCopy(y, local, t.elements);
    } else if (TILING_KEY_IS(5)) {
      Blank();
      DataCopy(local, x, old);
      Show(local);
    } else if (TILING_KEY_IS(6)) {
      Load();
      DataCopy(y, local, old);
    } else if (TILING_KEY_IS(7)) {
      Blank();
      Load();
      DataCopy(second.Get<T>(), local, old);
      Show(second.Get<T>());
    } else if (TILING_KEY_IS(8)) {
      Blank();
      DataCopyPad(local, x, old, DataCopyPadParams{t.isPad != 0, t.left, t.right, static_cast<uint64_t>(t.value)});
      Show(local);
    } else if (TILING_KEY_IS(9)) {
      Load();
      DataCopyPad(y, local, old);
    } else if (TILING_KEY_IS(10)) {
      Blank();
      Load();
      DataCopy(second.Get<T>(), local, static_cast<int32_t>(t.count));
      Show(second.Get<T>());
    }
  }
};

}  // namespace

extern "C" __global__ __aicore__ void copies(GM_ADDR x, GM_ADDR y, GM_ADDR workspace, GM_ADDR tiling) {
  (void)workspace;
  REGISTER_TILING_DEFAULT(CopyTiling);
  GET_TILING_DATA(t, tiling);
  if (TILING_KEY_IS(11)) {
    Copies<int16_t>(x, y, t).Run();
  } else {
    Copies<float>(x, y, t).Run();
  }
}
