// Reductions. p: call, form (0 count, 1 mask, 2 bits), dtype, count or mask or low bits, high bits, repeat, dst repeat stride,
// src block stride, src repeat stride, order or calIndex, offset of dst in elements, offset of src, 1: src is the result buffer,
// elements the temporary tensor is cut to.
#include "vector_frame.h"

template <typename T>
struct Operands {
  LocalTensor<T> dst, src, tmp;
};

#define WHOLE(CODE, NAME, ...)                                                \
  if (p[0] == CODE && p[1] == 1) NAME(dst, src, p[3], p[5], p[6], p[7], p[8] __VA_ARGS__); \
  if (p[0] == CODE && p[1] == 2) NAME(dst, src, bits, p[5], p[6], p[7], p[8] __VA_ARGS__);

#define BLOCK(CODE, NAME)                                                     \
  if (p[0] == CODE && p[1] == 1) NAME(dst, src, p[5], p[3], p[6], p[7], p[8]); \
  if (p[0] == CODE && p[1] == 2) NAME(dst, src, p[5], bits, p[6], p[7], p[8]);

#define EXTREME(CODE, NAME)                                                   \
  if (p[0] == CODE && p[1] == 0) NAME(dst, src, tmp, p[3], p[9] != 0);         \
  if (p[0] == CODE && p[1] == 1) NAME(dst, src, tmp, p[3], p[5], p[8], p[9] != 0); \
  if (p[0] == CODE && p[1] == 2) NAME(dst, src, tmp, bits, p[5], p[8], p[9] != 0);

template <typename T>
__aicore__ inline void Inside(const Operands<T> &with, const int64_t *p) {
  const uint64_t bits[2] = {static_cast<uint64_t>(p[3]), static_cast<uint64_t>(p[4])};
  const ReduceOrder order = static_cast<ReduceOrder>(p[9]);
  LocalTensor<T> dst = with.dst, src = with.src;
  WHOLE(1, WholeReduceSum)
  WHOLE(2, WholeReduceMax, , order)
  WHOLE(3, WholeReduceMin, , order)
  BLOCK(4, BlockReduceSum)
  BLOCK(5, BlockReduceMax)
  BLOCK(6, BlockReduceMin)
  BLOCK(7, PairReduceSum)
  if (p[0] == 8) RepeatReduceSum(dst, src, p[5], p[3], 1, p[7], p[6], p[8]);
}

template <typename T>
__aicore__ inline void All(const Operands<T> &with, const int64_t *p) {
  const uint64_t bits[2] = {static_cast<uint64_t>(p[3]), static_cast<uint64_t>(p[4])};
  LocalTensor<T> dst = with.dst, src = with.src, tmp = with.tmp;
  if (p[0] == 10 && p[1] == 0) ReduceSum(dst, src, tmp, p[3]);
  if (p[0] == 10 && p[1] == 1) ReduceSum(dst, src, tmp, p[3], p[5], p[8]);
  if (p[0] == 10 && p[1] == 2) ReduceSum(dst, src, tmp, bits, p[5], p[8]);
  EXTREME(11, ReduceMax)
  EXTREME(12, ReduceMin)
  if (p[0] == 13) {
    // The result is used at once by the vector unit and by the scalar unit: ReduceSum orders both.
    ReduceSum(dst, src, tmp, p[3]);
    const T scalar = dst.GetValue(0);
    PipeBarrier<PIPE_ALL>();
    Duplicate(dst[8], scalar, 8);
    PipeBarrier<PIPE_ALL>();
    dst.SetValue(16, GetAccVal<T>());
  }
  if (p[0] == 14) {
    ReduceMax(dst, src, tmp, p[3], true);
    PipeBarrier<PIPE_ALL>();
    T value, index;
    GetReduceMaxMinCount(value, index);
    dst.SetValue(8, value);
    dst.SetValue(9, index);
    GetReduceMaxMinCount(value);
    dst.SetValue(10, value);
  }
}

template <typename T>
__aicore__ inline void OfType(Frame &frame, const int64_t *p) {
  Operands<T> with;
  with.dst = frame.Result<T>()[p[10]];
  with.src = p[12] != 0 ? frame.Result<T>()[p[11]] : frame.Source<T>(0)[p[11]];
  with.tmp = frame.Source<T>(1)[p[13]];
  if (p[0] < 10) {
    Inside<T>(with, p);
  } else {
    All<T>(with, p);
  }
}

__aicore__ inline void Cases(Frame &frame, const int64_t *p) {
  if (p[2] == 0) OfType<float>(frame, p);
  if (p[2] == 1) OfType<half>(frame, p);
  if (p[2] == 2) OfType<int32_t>(frame, p);
}

extern "C" __global__ __aicore__ void vector_reduce(GM_ADDR x0, GM_ADDR x1, GM_ADDR x2, GM_ADDR old, GM_ADDR out, GM_ADDR workspace,
                                                    GM_ADDR tiling) {
  (void)workspace;
  VECTOR_BODY(Cases)
}
