// Gather, Gatherb, GatherMask, TransDataTo5HD and Transpose. p: call, form (0 count, 1 mask, 2 bits), dtype (0 float, 1 half, 2 uint8),
// count or mask or low bits, high bits, repeat, then the call's own numbers; p[14] is 1 when the source is the result buffer.
#include "vector_frame.h"

template <typename T>
struct PatternOf {
  using type = uint32_t;
};
template <>
struct PatternOf<half> {
  using type = uint16_t;
};

template <typename T>
__aicore__ inline void GatherAll(Frame &frame, const int64_t *p) {
  const uint64_t bits[2] = {static_cast<uint64_t>(p[3]), static_cast<uint64_t>(p[4])};
  LocalTensor<T> dst = frame.Result<T>(), src = p[14] != 0 ? frame.Result<T>() : frame.Source<T>(0);
  LocalTensor<uint32_t> offsets = frame.Source<uint32_t>(1);
  if (p[0] == 1) {
    if (p[1] == 0) Gather(dst, src, offsets, p[6], p[3]);
    if (p[1] == 1) Gather(dst, src, offsets, p[6], static_cast<uint64_t>(p[3]), p[5], p[7]);
    if (p[1] == 2) Gather(dst, src, offsets, p[6], bits, p[5], p[7]);
  }
  if (p[0] == 2) Gatherb(dst, src, offsets, p[5], GatherRepeatParams(p[6], p[7]));
}

template <typename T>
__aicore__ inline void Compact(Frame &frame, const int64_t *p) {
  using U = typename PatternOf<T>::type;
  LocalTensor<T> dst = frame.Result<T>(), src = p[14] != 0 ? frame.Result<T>() : frame.Source<T>(0);
  const GatherMaskParams params(p[8], p[5], p[9], p[10]);
  uint64_t kept = 0;
  if (p[1] == 0) GatherMask(dst, src, static_cast<uint8_t>(p[6]), p[7] != 0, p[3], params, kept);
  if (p[1] == 1) GatherMask(dst, src, frame.Source<U>(1), p[7] != 0, p[3], params, kept);
  PipeBarrier<PIPE_ALL>();
  LocalTensor<int64_t> number = frame.Result<int64_t>()[BYTES / 8 - 4];
  number.SetValue(0, static_cast<int64_t>(kept));
  number.SetValue(1, GetGatherMaskRemainCount());
}

template <typename T>
__aicore__ inline void Turn(Frame &frame, const int64_t *p) {
  const int32_t row = 32 / sizeof(T);
  LocalTensor<T> dst = frame.Result<T>(), src = frame.Source<T>(0);
  const TransDataTo5HDParams params(p[6] != 0, p[7] != 0, p[5], p[8], p[9]);
  if (p[1] == 0) {
    LocalTensor<T> to[16], from[16];
    for (int32_t i = 0; i < 16; ++i) {
      to[i] = dst[i * row + p[10]];
      from[i] = src[i * row];
    }
    TransDataTo5HD<T>(to, from, params);
  } else {
    uint64_t to[16], from[16];
    for (int32_t i = 0; i < 16; ++i) {
      to[i] = static_cast<uint64_t>(dst[i * row + p[10]].GetPhyAddr());
      from[i] = static_cast<uint64_t>(src[i * row].GetPhyAddr());
    }
    TransDataTo5HD<T>(to, from, params);
  }
}

__aicore__ inline void Cases(Frame &frame, const int64_t *p) {
  if (p[0] <= 2 && p[2] == 0) GatherAll<float>(frame, p);
  if (p[0] <= 2 && p[2] == 1) GatherAll<half>(frame, p);
  if (p[0] == 3 && p[2] == 0) Compact<float>(frame, p);
  if (p[0] == 3 && p[2] == 1) Compact<half>(frame, p);
  if (p[0] == 4 && p[2] == 0) Turn<float>(frame, p);
  if (p[0] == 4 && p[2] == 1) Turn<half>(frame, p);
  if (p[0] == 4 && p[2] == 2) Turn<uint8_t>(frame, p);
  if (p[0] == 5 && p[2] == 0) Transpose(frame.Result<float>(), frame.Source<float>(0));
  if (p[0] == 5 && p[2] == 1) Transpose(frame.Result<half>()[p[6]], frame.Source<half>(0));
}

extern "C" __global__ __aicore__ void vector_gather(GM_ADDR x0, GM_ADDR x1, GM_ADDR x2, GM_ADDR old, GM_ADDR out, GM_ADDR workspace,
                                                    GM_ADDR tiling) {
  (void)workspace;
  VECTOR_BODY(Cases)
}
