// Frame of the vector instructions' test kernels: three sources, a destination with known old contents, integer parameters.
#pragma once
#include "kernel_operator.h"

using namespace AscendC;

constexpr int32_t BYTES = 16384;
constexpr int32_t PARAMS = 24;

struct VectorTilingData {
  int64_t p[PARAMS];
};

class Frame {
 public:
  __aicore__ inline Frame(TPipe &pipe, GM_ADDR x0, GM_ADDR x1, GM_ADDR x2, GM_ADDR old, GM_ADDR out) {
    GM_ADDR source[3] = {x0, x1, x2};
    GlobalTensor<uint8_t> from;
    for (int32_t i = 0; i < 3; ++i) {
      pipe.InitBuffer(buffer[i], BYTES);
      from.SetGlobalBuffer(source[i], BYTES);
      DataCopy(buffer[i].Get<uint8_t>(), from, BYTES);
    }
    pipe.InitBuffer(result, BYTES);
    from.SetGlobalBuffer(old, BYTES);
    DataCopy(result.Get<uint8_t>(), from, BYTES);
    output.SetGlobalBuffer(out, BYTES);
    PipeBarrier<PIPE_ALL>();
  }
  template <typename T>
  __aicore__ inline LocalTensor<T> Source(int32_t i) {
    return buffer[i].Get<T>();
  }
  template <typename T>
  __aicore__ inline LocalTensor<T> Result() {
    return result.Get<T>();
  }
  __aicore__ inline void Finish() {
    PipeBarrier<PIPE_ALL>();
    DataCopy(output, result.Get<uint8_t>(), BYTES);
  }

 private:
  TBuf<TPosition::VECIN> buffer[3];
  TBuf<TPosition::VECOUT> result;
  GlobalTensor<uint8_t> output;
};

// Body of a kernel with the arguments x0, x1, x2, old, out, workspace, tiling that runs CASES between the copies.
#define VECTOR_BODY(CASES)                                       \
  KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIV_ONLY);                \
  GET_TILING_DATA_WITH_STRUCT(VectorTilingData, data, tiling);   \
  TPipe pipe;                                                    \
  Frame frame(pipe, x0, x1, x2, old, out);                       \
  CASES(frame, data.p);                                          \
  frame.Finish();
