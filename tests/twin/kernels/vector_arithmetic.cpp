// p: call, form (0 count, 1 mask as number, 2 mask as bits, 3 mask register), count or mask or low bits, high bits, repeat, then
// block strides (dst, src0, src1), repeat strides (dst, src0, src1), scalar * 16, in-place selector (1 + operand that is the result).
#include "vector_frame.h"

#ifndef DTYPE
#define DTYPE float
#endif
using T = DTYPE;
#ifdef COUNT_ONLY
#define SLICED(...)
#else
#define SLICED(...) __VA_ARGS__
#endif

#define BINARY(CODE, NAME)                                                           \
  case CODE:                                                                         \
    if (form == 0) NAME(dst, a, b, p[2]);                                            \
    SLICED(if (form == 1) NAME(dst, a, b, static_cast<uint64_t>(p[2]), p[4], binary);)       \
    SLICED(if (form == 2) NAME(dst, a, b, bits, p[4], binary);)                              \
    SLICED(if (form == 3) NAME<T, false>(dst, a, b, MASK_PLACEHOLDER, p[4], binary);)        \
    break;
#define UNARY(CODE, NAME)                                                            \
  case CODE:                                                                         \
    if (form == 0) NAME(dst, a, p[2]);                                               \
    SLICED(if (form == 1) NAME(dst, a, static_cast<uint64_t>(p[2]), p[4], unary);)           \
    SLICED(if (form == 2) NAME(dst, a, bits, p[4], unary);)                                  \
    SLICED(if (form == 3) NAME<T, false>(dst, a, MASK_PLACEHOLDER, p[4], unary);)            \
    break;
#define SCALAR(CODE, NAME)                                                           \
  case CODE:                                                                         \
    if (form == 0) NAME(dst, a, scalar, p[2]);                                       \
    SLICED(if (form == 1) NAME(dst, a, scalar, static_cast<uint64_t>(p[2]), p[4], unary);)   \
    SLICED(if (form == 2) NAME(dst, a, scalar, bits, p[4], unary);)                          \
    SLICED(if (form == 3) NAME<T, false>(dst, a, scalar, MASK_PLACEHOLDER, p[4], unary);)    \
    break;

__aicore__ inline void Cases(Frame &frame, const int64_t *p) {
  const int64_t form = p[1];
  const uint64_t bits[2] = {static_cast<uint64_t>(p[2]), static_cast<uint64_t>(p[3])};
  const BinaryRepeatParams binary(p[5], p[6], p[7], p[8], p[9], p[10]);
  const UnaryRepeatParams unary(p[5], p[6], p[8], p[9]);
  const T scalar = static_cast<T>(static_cast<float>(p[11]) / 16.0f);
  LocalTensor<T> a = frame.Source<T>(0), b = frame.Source<T>(1), dst = frame.Result<T>();
  if (p[12] == 1) a = dst[p[13]];
  if (p[12] == 2) b = dst[p[13]];
  if (p[12] == 3) a = b = dst[p[13]];
  dst = dst[p[14]];
  if (form == 3) {
    if (p[15] == 1) {
      SetMaskCount();
      SetVectorMask<T, MaskMode::COUNTER>(p[2]);
    } else if (p[15] == 2) {
      SetVectorMask<T>(p[2]);
    } else {
      SetVectorMask<T>(bits[1], bits[0]);
    }
  }
  switch (p[0]) {
    BINARY(1, Add)
    BINARY(2, Sub)
    BINARY(3, Mul)
    BINARY(4, Div)
    BINARY(5, Max)
    BINARY(6, Min)
    UNARY(10, Abs)
    UNARY(11, Relu)
    UNARY(12, Reciprocal)
    SCALAR(20, Adds)
    SCALAR(21, Muls)
    SCALAR(22, Maxs)
    SCALAR(23, Mins)
#ifdef FLOATING
    UNARY(13, Exp)
    UNARY(14, Ln)
    UNARY(15, Sqrt)
    UNARY(16, Rsqrt)
    SCALAR(24, LeakyRelu)
    case 30:
      if (form == 0) MulAddDst(dst, a, b, p[2]);
      if (form == 1) MulAddDst(dst, a, b, static_cast<uint64_t>(p[2]), p[4], binary);
      if (form == 2) MulAddDst(dst, a, b, bits, p[4], binary);
      if (form == 3) MulAddDst<T, T, false>(dst, a, b, MASK_PLACEHOLDER, p[4], binary);
      break;
    BINARY(31, FusedMulAdd)
    case 32:
      if (form == 0) Axpy(dst, a, scalar, p[2]);
      if (form == 1) Axpy(dst, a, scalar, static_cast<uint64_t>(p[2]), p[4], unary);
      if (form == 2) Axpy(dst, a, scalar, bits, p[4], unary);
      break;
    case 33:
      if (form == 0) Axpy(frame.Result<float>(), frame.Source<half>(0), half(scalar), p[2]);
      if (form == 1) Axpy(frame.Result<float>(), frame.Source<half>(0), half(scalar), static_cast<uint64_t>(p[2]), p[4], unary);
      break;
    case 34:
      MulAddDst(frame.Result<float>(), frame.Source<half>(0), frame.Source<half>(1), p[2]);
      break;
#else
    BINARY(7, And)
    BINARY(8, Or)
    UNARY(17, Not)
    SCALAR(25, ShiftLeft)
    SCALAR(26, ShiftRight)
#endif
    default:
      break;
  }
  if (form == 3) {
    SetMaskNorm();
    ResetMask();
  }
}

extern "C" __global__ __aicore__ void vector_arithmetic(GM_ADDR x0, GM_ADDR x1, GM_ADDR x2, GM_ADDR old, GM_ADDR out, GM_ADDR workspace,
                                                        GM_ADDR tiling) {
  (void)workspace;
  VECTOR_BODY(Cases)
}
