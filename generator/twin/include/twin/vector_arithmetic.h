// Element-wise calls: Add to Or on two tensors, Exp to Not on one, Adds to ShiftRight with a scalar, and the multiply-adds.
//
// Each has a count form and a sliced form with a mask as a number of lanes or as bits (facts B.2, B.3); dtypes per chip from facts A.
#pragma once

#include "twin/vector.h"

namespace twin {

// Whether the twin can compute the call in this dtype at all (on some chip); otherwise it only reports it.
template <typename Op, typename T>
constexpr bool Computes() {
  return (DtypeBit<T>() & (Op::k220 | Op::kMore)) != 0;
}

// The multiply-adds take sources of the destination's dtype, or half sources into float.
template <typename Op, typename T, typename U>
constexpr bool InInto() {
  return In<T>(Op::k220, Op::kMore) && (std::is_same_v<T, U> || (std::is_same_v<T, float> && std::is_same_v<U, half>));
}

template <typename Op, typename T>
void RunBinary(VectorCall &call, OverlapRule rule) {
  if (!call.Begin(rule)) return;
  if constexpr (Computes<Op, T>()) {
    call.Apply([](int64_t n, uint8_t *const *at, const void *) {
      MapBinary<T, T, T>(n, at[2], at[0], at[1], [](T a, T b) { return Op::Lane(a, b); });
    });
  }
}

template <typename Op, typename T>
constexpr OverlapRule BinaryRule() {
  return Op::kAccumulates && Accumulates<T> ? OverlapRule::kAccumulate : OverlapRule::kStandard;
}

template <typename Op, typename T, bool kSetMask>
void BinaryCount(const AscendC::LocalTensor<T> &dst, const AscendC::LocalTensor<T> &src0, const AscendC::LocalTensor<T> &src1,
                 int64_t count, Site site) {
  VectorCall call(Op::kName, site, sizeof(T));
  if (!call.Supports(In<T>(Op::k220, Op::kMore), DtypeName<T>())) return;
  call.Count(count, kSetMask);
  call.Read(src0, "src0");
  call.Read(src1, "src1");
  call.Write(dst, "dst");
  RunBinary<Op, T>(call, BinaryRule<Op, T>());
}

template <typename Op, typename T, bool kSetMask, typename M>
void BinarySliced(const AscendC::LocalTensor<T> &dst, const AscendC::LocalTensor<T> &src0, const AscendC::LocalTensor<T> &src1, M mask,
                  int64_t repeat, const AscendC::BinaryRepeatParams &p, Site site) {
  VectorCall call(Op::kName, site, sizeof(T));
  if (!call.Supports(In<T>(Op::k220, Op::kMore), DtypeName<T>())) return;
  call.Slice(mask, repeat, kSetMask);
  call.Read(src0, "src0", call.Strides("src0", p.src0BlkStride, p.src0RepStride, 255, 255));
  call.Read(src1, "src1", call.Strides("src1", p.src1BlkStride, p.src1RepStride, 255, 255));
  call.Write(dst, "dst", call.Strides("dst", p.dstBlkStride, p.dstRepStride, 255, 255));
  RunBinary<Op, T>(call, BinaryRule<Op, T>());
}

template <typename Op, typename T>
void RunUnary(VectorCall &call) {
  if (!call.Begin()) return;
  if constexpr (Computes<Op, T>()) {
    call.Apply([](int64_t n, uint8_t *const *at, const void *) { MapUnary<T, T>(n, at[1], at[0], [](T a) { return Op::Lane(a); }); });
  }
}

template <typename Op, typename T, bool kSetMask>
void UnaryCount(const AscendC::LocalTensor<T> &dst, const AscendC::LocalTensor<T> &src, int64_t count, Site site) {
  VectorCall call(Op::kName, site, sizeof(T));
  if (!call.Supports(In<T>(Op::k220, Op::kMore), DtypeName<T>())) return;
  call.Count(count, kSetMask);
  call.Read(src, "src");
  call.Write(dst, "dst");
  RunUnary<Op, T>(call);
}

template <typename Op, typename T, bool kSetMask, typename M>
void UnarySliced(const AscendC::LocalTensor<T> &dst, const AscendC::LocalTensor<T> &src, M mask, int64_t repeat,
                 const AscendC::UnaryRepeatParams &p, Site site) {
  VectorCall call(Op::kName, site, sizeof(T));
  if (!call.Supports(In<T>(Op::k220, Op::kMore), DtypeName<T>())) return;
  call.Slice(mask, repeat, kSetMask);
  call.Read(src, "src", call.Strides("src", p.srcBlkStride, p.srcRepStride, 65535, 255));
  call.Write(dst, "dst", call.Strides("dst", p.dstBlkStride, p.dstRepStride, 65535, 255));
  RunUnary<Op, T>(call);
}

template <typename Op, typename T>
void RunScalar(VectorCall &call, T scalar) {
  if (!call.Begin()) return;
  if constexpr (Computes<Op, T>()) {
    const auto loop = [](int64_t n, uint8_t *const *at, const void *argument) {
      T value;
      memcpy(&value, argument, sizeof value);
      MapUnary<T, T>(n, at[1], at[0], [value](T a) { return Op::Lane(a, value); });
    };
    call.Apply(loop, &scalar);
  }
}

template <typename Op, typename T>
void CheckScalar(VectorCall &call, T scalar) {
  if constexpr (Op::kShift && std::is_integral_v<T>)
    call.instr.InRange("shift", static_cast<int64_t>(scalar), 0, 8 * static_cast<int64_t>(sizeof(T)));
  else
    (void)call, (void)scalar;
}

template <typename Op, typename T, bool kSetMask>
void ScalarCount(const AscendC::LocalTensor<T> &dst, const AscendC::LocalTensor<T> &src, T scalar, int64_t count, Site site) {
  VectorCall call(Op::kName, site, sizeof(T));
  if (!call.Supports(In<T>(Op::k220, Op::kMore), DtypeName<T>())) return;
  CheckScalar<Op>(call, scalar);
  call.Count(count, kSetMask);
  call.Read(src, "src");
  call.Write(dst, "dst");
  RunScalar<Op, T>(call, scalar);
}

template <typename Op, typename T, bool kSetMask, typename M>
void ScalarSliced(const AscendC::LocalTensor<T> &dst, const AscendC::LocalTensor<T> &src, T scalar, M mask, int64_t repeat,
                  const AscendC::UnaryRepeatParams &p, Site site) {
  VectorCall call(Op::kName, site, sizeof(T));
  if (!call.Supports(In<T>(Op::k220, Op::kMore), DtypeName<T>())) return;
  CheckScalar<Op>(call, scalar);
  call.Slice(mask, repeat, kSetMask);
  call.Read(src, "src", call.Strides("src", p.srcBlkStride, p.srcRepStride, 65535, 255));
  call.Write(dst, "dst", call.Strides("dst", p.dstBlkStride, p.dstRepStride, 65535, 255));
  RunScalar<Op, T>(call, scalar);
}

// dst = op(dst, a, b): the destination is also a source.
template <typename Op, typename T, typename U>
void RunInto(VectorCall &call) {
  if (!call.Begin()) return;
  if constexpr (Computes<Op, T>() && Computes<Op, U>()) {
    call.Apply([](int64_t n, uint8_t *const *at, const void *) {
      MapInto<T, U, U>(n, at[3], at[0], at[1], [](T d, U a, U b) { return Op::Lane(d, a, b); });
    });
  }
}

template <typename Op, typename T, typename U, bool kSetMask>
void IntoCount(const AscendC::LocalTensor<T> &dst, const AscendC::LocalTensor<U> &src0, const AscendC::LocalTensor<U> &src1, int64_t count,
               Site site) {
  VectorCall call(Op::kName, site, sizeof(T));
  if (!call.Supports(InInto<Op, T, U>(), DtypeName<T>())) return;
  call.Count(count, kSetMask);
  call.Read(src0, "src0", call.Dense(sizeof(U)));
  call.Read(src1, "src1", call.Dense(sizeof(U)));
  call.Read(dst, "dst");
  call.Write(dst, "dst");
  RunInto<Op, T, U>(call);
}

template <typename Op, typename T, typename U, bool kSetMask, typename M>
void IntoSliced(const AscendC::LocalTensor<T> &dst, const AscendC::LocalTensor<U> &src0, const AscendC::LocalTensor<U> &src1, M mask,
                int64_t repeat, const AscendC::BinaryRepeatParams &p, Site site) {
  VectorCall call(Op::kName, site, sizeof(T));
  if (!call.Supports(InInto<Op, T, U>(), DtypeName<T>())) return;
  call.Slice(mask, repeat, kSetMask);
  call.Read(src0, "src0", call.Strides("src0", p.src0BlkStride, p.src0RepStride, 255, 255));
  call.Read(src1, "src1", call.Strides("src1", p.src1BlkStride, p.src1RepStride, 255, 255));
  const Stride own = call.Strides("dst", p.dstBlkStride, p.dstRepStride, 255, 255);
  call.Read(dst, "dst", own);
  call.Write(dst, "dst", own);
  RunInto<Op, T, U>(call);
}

template <typename T, typename U>
void RunAxpy(VectorCall &call, U scalar) {
  if (!call.Begin()) return;
  if constexpr (Computes<MulAddOp, T>() && Computes<MulAddOp, U>()) {
    const auto loop = [](int64_t n, uint8_t *const *at, const void *argument) {
      U value;
      memcpy(&value, argument, sizeof value);
      MapBinary<T, T, U>(n, at[2], at[1], at[0], [value](T d, U a) { return MulAddOp::Lane(d, a, value); });
    };
    call.Apply(loop, &scalar);
  }
}

template <typename T, typename U, typename Lanes>
void Axpy(VectorCall &call, const AscendC::LocalTensor<T> &dst, const AscendC::LocalTensor<U> &src, U scalar,
          const AscendC::UnaryRepeatParams &p, Lanes lanes) {
  if (!call.Supports(InInto<MulAddOp, T, U>(), DtypeName<T>())) return;
  lanes();
  const Stride own = call.Strides("dst", p.dstBlkStride, p.dstRepStride, 65535, 255);
  call.Read(src, "src", call.Strides("src", p.srcBlkStride, p.srcRepStride, 65535, 255));
  call.Read(dst, "dst", own);
  call.Write(dst, "dst", own);
  RunAxpy<T, U>(call, scalar);
}

}  // namespace twin

namespace AscendC {

#define TWIN_BINARY(NAME)                                                                                                                \
  template <typename T, bool isSetMask = true>                                                                                           \
  inline void NAME(const LocalTensor<T> &dst, const LocalTensor<T> &src0, const LocalTensor<T> &src1, int64_t count,                     \
                   twin::Site site = twin::Site::Here()) {                                                                               \
    twin::BinaryCount<twin::NAME##Op, T, isSetMask>(dst, src0, src1, count, site);                                                       \
  }                                                                                                                                      \
  template <typename T, bool isSetMask = true>                                                                                           \
  inline void NAME(const LocalTensor<T> &dst, const LocalTensor<T> &src0, const LocalTensor<T> &src1, uint64_t mask, int64_t repeatTime, \
                   const BinaryRepeatParams &repeatParams, twin::Site site = twin::Site::Here()) {                                       \
    twin::BinarySliced<twin::NAME##Op, T, isSetMask>(dst, src0, src1, twin::Wide(mask), repeatTime, repeatParams, site);                 \
  }                                                                                                                                      \
  template <typename T, bool isSetMask = true>                                                                                           \
  inline void NAME(const LocalTensor<T> &dst, const LocalTensor<T> &src0, const LocalTensor<T> &src1, const uint64_t mask[],             \
                   int64_t repeatTime, const BinaryRepeatParams &repeatParams, twin::Site site = twin::Site::Here()) {                   \
    twin::BinarySliced<twin::NAME##Op, T, isSetMask>(dst, src0, src1, mask, repeatTime, repeatParams, site);                             \
  }

#define TWIN_UNARY(NAME)                                                                                                        \
  template <typename T, bool isSetMask = true>                                                                                  \
  inline void NAME(const LocalTensor<T> &dst, const LocalTensor<T> &src, int64_t count, twin::Site site = twin::Site::Here()) { \
    twin::UnaryCount<twin::NAME##Op, T, isSetMask>(dst, src, count, site);                                                      \
  }                                                                                                                             \
  template <typename T, bool isSetMask = true>                                                                                  \
  inline void NAME(const LocalTensor<T> &dst, const LocalTensor<T> &src, uint64_t mask, int64_t repeatTime,                     \
                   const UnaryRepeatParams &repeatParams, twin::Site site = twin::Site::Here()) {                               \
    twin::UnarySliced<twin::NAME##Op, T, isSetMask>(dst, src, twin::Wide(mask), repeatTime, repeatParams, site);                \
  }                                                                                                                             \
  template <typename T, bool isSetMask = true>                                                                                  \
  inline void NAME(const LocalTensor<T> &dst, const LocalTensor<T> &src, const uint64_t mask[], int64_t repeatTime,             \
                   const UnaryRepeatParams &repeatParams, twin::Site site = twin::Site::Here()) {                               \
    twin::UnarySliced<twin::NAME##Op, T, isSetMask>(dst, src, mask, repeatTime, repeatParams, site);                            \
  }

#define TWIN_SCALAR(NAME)                                                                                                                 \
  template <typename T, bool isSetMask = true>                                                                                            \
  inline void NAME(const LocalTensor<T> &dst, const LocalTensor<T> &src, const T &scalarValue, int64_t count,                             \
                   twin::Site site = twin::Site::Here()) {                                                                                \
    twin::ScalarCount<twin::NAME##Op, T, isSetMask>(dst, src, scalarValue, count, site);                                                  \
  }                                                                                                                                       \
  template <typename T, bool isSetMask = true>                                                                                            \
  inline void NAME(const LocalTensor<T> &dst, const LocalTensor<T> &src, const T &scalarValue, uint64_t mask, int64_t repeatTime,         \
                   const UnaryRepeatParams &repeatParams, twin::Site site = twin::Site::Here()) {                                         \
    twin::ScalarSliced<twin::NAME##Op, T, isSetMask>(dst, src, scalarValue, twin::Wide(mask), repeatTime, repeatParams, site);            \
  }                                                                                                                                       \
  template <typename T, bool isSetMask = true>                                                                                            \
  inline void NAME(const LocalTensor<T> &dst, const LocalTensor<T> &src, const T &scalarValue, const uint64_t mask[], int64_t repeatTime, \
                   const UnaryRepeatParams &repeatParams, twin::Site site = twin::Site::Here()) {                                         \
    twin::ScalarSliced<twin::NAME##Op, T, isSetMask>(dst, src, scalarValue, mask, repeatTime, repeatParams, site);                        \
  }

#define TWIN_INTO(NAME, OP, U_IS, ...)                                                                                             \
  template <__VA_ARGS__, bool isSetMask = true>                                                                                    \
  inline void NAME(const LocalTensor<T> &dst, const LocalTensor<U_IS> &src0, const LocalTensor<U_IS> &src1, int64_t count,         \
                   twin::Site site = twin::Site::Here()) {                                                                         \
    twin::IntoCount<twin::OP, T, U_IS, isSetMask>(dst, src0, src1, count, site);                                                   \
  }                                                                                                                                \
  template <__VA_ARGS__, bool isSetMask = true>                                                                                    \
  inline void NAME(const LocalTensor<T> &dst, const LocalTensor<U_IS> &src0, const LocalTensor<U_IS> &src1, uint64_t mask,         \
                   int64_t repeatTime, const BinaryRepeatParams &repeatParams, twin::Site site = twin::Site::Here()) {             \
    twin::IntoSliced<twin::OP, T, U_IS, isSetMask>(dst, src0, src1, twin::Wide(mask), repeatTime, repeatParams, site);             \
  }                                                                                                                                \
  template <__VA_ARGS__, bool isSetMask = true>                                                                                    \
  inline void NAME(const LocalTensor<T> &dst, const LocalTensor<U_IS> &src0, const LocalTensor<U_IS> &src1, const uint64_t mask[], \
                   int64_t repeatTime, const BinaryRepeatParams &repeatParams, twin::Site site = twin::Site::Here()) {             \
    twin::IntoSliced<twin::OP, T, U_IS, isSetMask>(dst, src0, src1, mask, repeatTime, repeatParams, site);                         \
  }

TWIN_BINARY(Add)
TWIN_BINARY(Sub)
TWIN_BINARY(Mul)
TWIN_BINARY(Div)
TWIN_BINARY(Max)
TWIN_BINARY(Min)
TWIN_BINARY(And)
TWIN_BINARY(Or)

TWIN_UNARY(Exp)
TWIN_UNARY(Ln)
TWIN_UNARY(Abs)
TWIN_UNARY(Sqrt)
TWIN_UNARY(Rsqrt)
TWIN_UNARY(Reciprocal)
TWIN_UNARY(Relu)
TWIN_UNARY(Not)

TWIN_SCALAR(Adds)
TWIN_SCALAR(Muls)
TWIN_SCALAR(Maxs)
TWIN_SCALAR(Mins)
TWIN_SCALAR(LeakyRelu)
TWIN_SCALAR(ShiftLeft)
TWIN_SCALAR(ShiftRight)

TWIN_INTO(MulAddDst, MulAddOp, U, typename T, typename U)
TWIN_INTO(FusedMulAdd, FusedMulAddOp, T, typename T)

#undef TWIN_BINARY
#undef TWIN_UNARY
#undef TWIN_SCALAR
#undef TWIN_INTO

template <typename T, typename U, bool isSetMask = true>
inline void Axpy(const LocalTensor<T> &dst, const LocalTensor<U> &src, const U &scalarValue, int64_t count,
                 twin::Site site = twin::Site::Here()) {
  twin::VectorCall call("Axpy", site, sizeof(T));
  const UnaryRepeatParams plain(1, 1, 8, call.Dense(sizeof(U)).repeat);
  twin::Axpy(call, dst, src, scalarValue, plain, [&] { call.Count(count, isSetMask); });
}

template <typename T, typename U, bool isSetMask = true>
inline void Axpy(const LocalTensor<T> &dst, const LocalTensor<U> &src, const U &scalarValue, uint64_t mask, int64_t repeatTime,
                 const UnaryRepeatParams &repeatParams, twin::Site site = twin::Site::Here()) {
  twin::VectorCall call("Axpy", site, sizeof(T));
  twin::Axpy(call, dst, src, scalarValue, repeatParams, [&] { call.Slice(twin::Wide(mask), repeatTime, isSetMask); });
}

template <typename T, typename U, bool isSetMask = true>
inline void Axpy(const LocalTensor<T> &dst, const LocalTensor<U> &src, const U &scalarValue, const uint64_t mask[], int64_t repeatTime,
                 const UnaryRepeatParams &repeatParams, twin::Site site = twin::Site::Here()) {
  twin::VectorCall call("Axpy", site, sizeof(T));
  twin::Axpy(call, dst, src, scalarValue, repeatParams, [&] { call.Slice(mask, repeatTime, isSetMask); });
}

}  // namespace AscendC
