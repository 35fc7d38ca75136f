// Cast. p: destination dtype, source dtype, rounding mode, form (0 count, 1 mask, 2 bits), count or mask or low bits, high bits,
// repeat, block strides and repeat strides (dst, src), 1: the source is the result buffer from element p[12] on.
#include "vector_frame.h"

template <typename D, typename S>
__aicore__ inline void Convert(Frame &frame, const int64_t *p) {
  const RoundMode mode = static_cast<RoundMode>(p[2]);
  const UnaryRepeatParams unary(p[7], p[8], p[9], p[10]);
  const uint64_t bits[2] = {static_cast<uint64_t>(p[4]), static_cast<uint64_t>(p[5])};
  LocalTensor<D> dst = frame.Result<D>();
  LocalTensor<S> src = frame.Source<S>(0);
  if (p[11] != 0) src = frame.Result<S>()[p[12]];
  if (p[3] == 0) Cast(dst, src, mode, p[4]);
  if constexpr (sizeof(S) + sizeof(D) == 6 && std::is_same<S, half>::value != std::is_same<D, half>::value) {
    if (p[3] == 1) Cast(dst, src, mode, static_cast<uint64_t>(p[4]), p[6], unary);
    if (p[3] == 2) Cast(dst, src, mode, bits, p[6], unary);
  }
}

template <typename D>
__aicore__ inline void From(Frame &frame, const int64_t *p) {
  if (p[1] == 0) Convert<D, float>(frame, p);
  if (p[1] == 1) Convert<D, half>(frame, p);
  if (p[1] == 2) Convert<D, bfloat16_t>(frame, p);
  if (p[1] == 3) Convert<D, int8_t>(frame, p);
  if (p[1] == 4) Convert<D, uint8_t>(frame, p);
  if (p[1] == 5) Convert<D, int16_t>(frame, p);
  if (p[1] == 6) Convert<D, int32_t>(frame, p);
  if (p[1] == 7) Convert<D, int64_t>(frame, p);
}

__aicore__ inline void Cases(Frame &frame, const int64_t *p) {
  if (p[0] == 0) From<float>(frame, p);
  if (p[0] == 1) From<half>(frame, p);
  if (p[0] == 2) From<bfloat16_t>(frame, p);
  if (p[0] == 3) From<int8_t>(frame, p);
  if (p[0] == 4) From<uint8_t>(frame, p);
  if (p[0] == 5) From<int16_t>(frame, p);
  if (p[0] == 6) From<int32_t>(frame, p);
  if (p[0] == 7) From<int64_t>(frame, p);
}

extern "C" __global__ __aicore__ void vector_cast(GM_ADDR x0, GM_ADDR x1, GM_ADDR x2, GM_ADDR old, GM_ADDR out, GM_ADDR workspace,
                                                  GM_ADDR tiling) {
  (void)workspace;
  VECTOR_BODY(Cases)
}
