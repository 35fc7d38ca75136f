// Compare, CompareScalar and Select: masks of bits, bit i of the little-endian mask standing for element i.
//
// Compare works on whole repeats of 256 bytes (law `count`); its bits are stored without gaps. Select takes src0 where the bit is 1 and
// uses the reserved part of the unified buffer on 220 (facts B.3, C.1).
#pragma once

#include "twin/vector.h"

namespace twin {

using AscendC::CMPMODE;
using AscendC::SELMODE;

constexpr uint32_t kCompareMore = kI8 | kU8 | kI16 | kU16 | kI32 | kU32 | kI64 | kU64 | kBf16;
constexpr uint32_t kSelectMore = kU8 | kI16 | kU16 | kBf16 | kI32 | kU32 | kI64;

template <typename T>
inline bool Holds(CMPMODE mode, T a, T b) {
  const auto x = Widen(a);
  const auto y = Widen(b);
  switch (mode) {
    case CMPMODE::LT:
      return x < y;
    case CMPMODE::GT:
      return x > y;
    case CMPMODE::EQ:
      return x == y;
    case CMPMODE::LE:
      return x <= y;
    case CMPMODE::GE:
      return x >= y;
    default:
      return x != y;
  }
}

// int32 compares only for equality on 220.
template <typename T>
bool Comparable(VectorCall &call, CMPMODE mode) {
  if (!call.Supports(In<T>(kFloats | kI32, kCompareMore), DtypeName<T>())) return false;
  return call.instr.Require(Law::kUnsupported, kIs3510 || !std::is_same_v<T, int32_t> || mode == CMPMODE::EQ,
                            "int32 can only be compared with EQ on this chip");
}

// Declares `bits` of the mask and sets them; `value(i)` says bit i. Whole bytes are written.
template <typename U, typename F>
void StoreBits(VectorCall &call, const AscendC::LocalTensor<U> &dst, int64_t bits, F value) {
  if (!call.instr.Place(dst, "dst", 0, (bits + 7) / 8, kBlock)) return;
  for (int i = 0; i < call.used; ++i) {
    const VectorOperand &src = call.operand[i];
    int64_t begin = INT64_MAX, end = 0;
    call.Extent(src.stride, src.size, &begin, &end);
    call.instr.Require(Law::kOverlap, dst.start + (bits + 7) / 8 <= src.offset + begin || src.offset + end <= dst.start,
                       "dst (UB byte %lld) overlaps %s (UB byte %lld)", static_cast<long long>(dst.start), src.name,
                       static_cast<long long>(src.offset));
  }
  if (!call.Begin()) return;
  call.instr.WriteBytes("dst", dst.start, (bits + 7) / 8);
  uint8_t *to = call.instr.core.ub + dst.start;
  for (int64_t byte = 0; byte < (bits + 7) / 8; ++byte) {
    uint32_t pattern = 0;
    for (int64_t k = 0; k < 8 && 8 * byte + k < bits; ++k) pattern |= static_cast<uint32_t>(value(8 * byte + k)) << k;
    to[byte] = static_cast<uint8_t>(pattern);
  }
}

template <typename T>
inline T LaneValue(const VectorCall &call, const VectorOperand &operand, int64_t element) {
  T value;
  memcpy(&value, operand.data + LaneOffset(operand.stride, sizeof(T), element / call.width, element % call.width), sizeof value);
  return value;
}

// The count form must be whole repeats; what is left over is not computed.
template <typename T>
void CompareLanes(VectorCall &call, int64_t count) {
  call.instr.Require(Law::kCount, count * static_cast<int64_t>(sizeof(T)) % kRepeatBytes == 0,
                     "count %lld is not a multiple of 256 bytes (%lld elements)", static_cast<long long>(count),
                     static_cast<long long>(call.width));
  call.Count(count / call.width * call.width, true, 4294967295);
}

template <typename T, typename U>
void RunCompare(VectorCall &call, const AscendC::LocalTensor<U> &dst, CMPMODE mode) {
  static_assert(sizeof(U) == 1, "the mask of Compare is a tensor of bytes");
  if (!call.instr.Ok() || call.lanes.Empty()) return;
  StoreBits(call, dst, call.lanes.repeats * call.width, [&](int64_t i) {
    return call.lanes.Of(i / call.width).Has(i % call.width) &&
           Holds(mode, LaneValue<T>(call, call.operand[0], i), LaneValue<T>(call, call.operand[1], i));
  });
}

template <typename T, typename U>
void RunCompareScalar(VectorCall &call, const AscendC::LocalTensor<U> &dst, T scalar, CMPMODE mode) {
  static_assert(sizeof(U) == 1, "the mask of CompareScalar is a tensor of bytes");
  if (!call.instr.Ok() || call.lanes.Empty()) return;
  StoreBits(call, dst, call.lanes.repeats * call.width, [&](int64_t i) {
    return call.lanes.Of(i / call.width).Has(i % call.width) && Holds(mode, LaneValue<T>(call, call.operand[0], i), scalar);
  });
}

// The sliced forms ignore the mask on 220: every lane of a repeat is compared.
template <typename M>
void CompareSlice(VectorCall &call, M mask, int64_t repeat, bool set_mask) {
  call.Slice(mask, repeat, set_mask);
  if (!kIs3510 && !call.lanes.Empty()) call.lanes = Lanes::First(call.width, call.width, call.lanes.repeats);
}

template <typename T, typename U, typename M>
void CompareSliced(const AscendC::LocalTensor<U> &dst, const AscendC::LocalTensor<T> &src0, const AscendC::LocalTensor<T> &src1,
                   CMPMODE mode, M mask, int64_t repeat, const AscendC::BinaryRepeatParams &p, bool set_mask, Site site) {
  VectorCall call("Compare", site, sizeof(T));
  if (!Comparable<T>(call, mode)) return;
  CompareSlice(call, mask, repeat, set_mask);
  call.Read(src0, "src0", call.Strides("src0", p.src0BlkStride, p.src0RepStride, 255, 255));
  call.Read(src1, "src1", call.Strides("src1", p.src1BlkStride, p.src1RepStride, 255, 255));
  RunCompare<T>(call, dst, mode);
}

template <typename T, typename U, typename M>
void CompareScalarSliced(const AscendC::LocalTensor<U> &dst, const AscendC::LocalTensor<T> &src, T scalar, CMPMODE mode, M mask,
                         int64_t repeat, const AscendC::UnaryRepeatParams &p, bool set_mask, Site site) {
  VectorCall call("CompareScalar", site, sizeof(T));
  if (!Comparable<T>(call, mode)) return;
  CompareSlice(call, mask, repeat, set_mask);
  call.Read(src, "src", call.Strides("src", p.srcBlkStride, p.srcRepStride, 65535, 255));
  RunCompareScalar<T>(call, dst, scalar, mode);
}

// One repeat compared into the mask register.
template <typename T, typename M>
void CompareRegister(const AscendC::LocalTensor<T> &src0, const AscendC::LocalTensor<T> &src1, CMPMODE mode, M mask,
                     const AscendC::BinaryRepeatParams &p, bool set_mask, Site site) {
  VectorCall call("Compare", site, sizeof(T));
  if (!Comparable<T>(call, mode)) return;
  call.Slice(mask, 1, set_mask);
  call.Read(src0, "src0", call.Strides("src0", p.src0BlkStride, p.src0RepStride, 255, 255));
  call.Read(src1, "src1", call.Strides("src1", p.src1BlkStride, p.src1RepStride, 255, 255));
  if (!call.Begin()) return;
  uint8_t *bits = call.instr.core.vector.compare;
  for (int64_t lane = 0; lane < call.width; ++lane) {
    if (!call.lanes.each.Has(lane)) continue;
    const bool set = Holds(mode, LaneValue<T>(call, call.operand[0], lane), LaneValue<T>(call, call.operand[1], lane));
    const uint32_t bit = 1u << (lane % 8);
    bits[lane / 8] = static_cast<uint8_t>(set ? bits[lane / 8] | bit : bits[lane / 8] & ~bit);
  }
}

// Where Select's bits come from: `repeated` starts again at bit 0 with every repeat (VSEL_CMPMASK_SPR).
struct SelectBits {
  const uint8_t *byte = nullptr;
  bool repeated = false;
  bool At(int64_t repeat, int64_t lane, int64_t width) const {
    const int64_t bit = repeated ? lane : repeat * width + lane;
    return (byte[bit / 8] >> (bit % 8)) & 1u;
  }
};

// Checks and declares the mask tensor, apart from the destination.
template <typename T, typename U>
bool OpenSelectMask(VectorCall &call, const AscendC::LocalTensor<T> &dst, const AscendC::LocalTensor<U> &mask, SELMODE mode,
                    SelectBits *bits) {
  if (!call.instr.Ok() || call.lanes.Empty()) return false;
  call.instr.core.UseReserved(call.instr.name, call.instr.where);
  bits->repeated = mode == SELMODE::VSEL_CMPMASK_SPR;
  const int64_t lanes = bits->repeated ? call.width : call.lanes.Total();
  const int64_t bytes = (lanes + 7) / 8;
  if (!call.instr.Place(mask, "selMask", 0, bytes, kBlock)) return false;
  int64_t begin = INT64_MAX, end = 0;
  const VectorOperand &out = call.operand[call.used - 1];
  call.Extent(out.stride, out.size, &begin, &end);
  call.instr.Require(Law::kOverlap, mask.start + bytes <= dst.start + begin || dst.start + end <= mask.start,
                     "dst (UB byte %lld) overlaps selMask (UB byte %lld)", static_cast<long long>(dst.start),
                     static_cast<long long>(mask.start));
  call.instr.ReadBytes("selMask", mask.start, bytes);
  bits->byte = call.instr.core.ub + mask.start;
  return call.instr.Ok();
}

// dst = bit ? operand 0 : (operand 1 or the scalar).
template <typename T>
void RunSelect(VectorCall &call, const SelectBits &bits, const T *scalar) {
  if (!call.Begin()) return;
  const VectorOperand &dst = call.operand[call.used - 1];
  ForEachRun(call.lanes, kBlock / dst.size, false, [&](int64_t repeat, int64_t lane, int64_t count) {
    for (int64_t k = lane; k < lane + count; ++k) {
      T value;
      const bool first = bits.At(repeat, k, call.width);
      const VectorOperand &from = call.operand[first ? 0 : 1];
      if (!first && scalar != nullptr)
        value = *scalar;
      else
        memcpy(&value, from.data + LaneOffset(from.stride, sizeof(T), repeat, k), sizeof value);
      memcpy(dst.data + LaneOffset(dst.stride, sizeof(T), repeat, k), &value, sizeof value);
    }
  });
}

template <typename T>
bool SelectMode(VectorCall &call, SELMODE mode, bool scalar) {
  if (!call.Supports(In<T>(kFloats, kSelectMore), DtypeName<T>())) return false;
  return call.instr.Require(Law::kUnsupported, scalar == (mode == SELMODE::VSEL_TENSOR_SCALAR_MODE),
                            scalar ? "a scalar src1 needs VSEL_TENSOR_SCALAR_MODE" : "VSEL_TENSOR_SCALAR_MODE needs a scalar src1");
}

template <typename T, typename U, typename L>
void SelectTensor(VectorCall &call, const AscendC::LocalTensor<T> &dst, const AscendC::LocalTensor<U> &mask,
                  const AscendC::LocalTensor<T> &src0, const AscendC::LocalTensor<T> &src1, SELMODE mode,
                  const AscendC::BinaryRepeatParams &p, L lanes) {
  if (!SelectMode<T>(call, mode, false)) return;
  lanes();
  SelectBits bits;
  call.Read(src0, "src0", call.Strides("src0", p.src0BlkStride, p.src0RepStride, 255, 255));
  call.Read(src1, "src1", call.Strides("src1", p.src1BlkStride, p.src1RepStride, 255, 255));
  call.Write(dst, "dst", call.Strides("dst", p.dstBlkStride, p.dstRepStride, 255, 255));
  if (OpenSelectMask(call, dst, mask, mode, &bits)) RunSelect<T>(call, bits, nullptr);
}

template <typename T, typename U, typename L>
void SelectScalar(VectorCall &call, const AscendC::LocalTensor<T> &dst, const AscendC::LocalTensor<U> &mask,
                  const AscendC::LocalTensor<T> &src0, T src1, SELMODE mode, const AscendC::BinaryRepeatParams &p, L lanes) {
  if (!SelectMode<T>(call, mode, true)) return;
  lanes();
  SelectBits bits;
  call.Read(src0, "src0", call.Strides("src0", p.src0BlkStride, p.src0RepStride, 255, 255));
  call.Write(dst, "dst", call.Strides("dst", p.dstBlkStride, p.dstRepStride, 255, 255));
  if (OpenSelectMask(call, dst, mask, mode, &bits)) RunSelect<T>(call, bits, &src1);
}

}  // namespace twin

namespace AscendC {

template <typename T, typename U>
inline void Compare(const LocalTensor<U> &dst, const LocalTensor<T> &src0, const LocalTensor<T> &src1, CMPMODE cmpMode, int64_t count,
                    twin::Site site = twin::Site::Here()) {
  twin::VectorCall call("Compare", site, sizeof(T));
  if (!twin::Comparable<T>(call, cmpMode)) return;
  twin::CompareLanes<T>(call, count);
  call.Read(src0, "src0");
  call.Read(src1, "src1");
  twin::RunCompare<T>(call, dst, cmpMode);
}

template <typename T, typename U, bool isSetMask = true>
inline void Compare(const LocalTensor<U> &dst, const LocalTensor<T> &src0, const LocalTensor<T> &src1, CMPMODE cmpMode, uint64_t mask,
                    int64_t repeatTime, const BinaryRepeatParams &repeatParams, twin::Site site = twin::Site::Here()) {
  twin::CompareSliced(dst, src0, src1, cmpMode, twin::Wide(mask), repeatTime, repeatParams, isSetMask, site);
}

template <typename T, typename U, bool isSetMask = true>
inline void Compare(const LocalTensor<U> &dst, const LocalTensor<T> &src0, const LocalTensor<T> &src1, CMPMODE cmpMode,
                    const uint64_t mask[], int64_t repeatTime, const BinaryRepeatParams &repeatParams,
                    twin::Site site = twin::Site::Here()) {
  twin::CompareSliced(dst, src0, src1, cmpMode, mask, repeatTime, repeatParams, isSetMask, site);
}

template <typename T, bool isSetMask = true>
inline void Compare(const LocalTensor<T> &src0, const LocalTensor<T> &src1, CMPMODE cmpMode, uint64_t mask,
                    const BinaryRepeatParams &repeatParams, twin::Site site = twin::Site::Here()) {
  twin::CompareRegister(src0, src1, cmpMode, twin::Wide(mask), repeatParams, isSetMask, site);
}

template <typename T, bool isSetMask = true>
inline void Compare(const LocalTensor<T> &src0, const LocalTensor<T> &src1, CMPMODE cmpMode, const uint64_t mask[],
                    const BinaryRepeatParams &repeatParams, twin::Site site = twin::Site::Here()) {
  twin::CompareRegister(src0, src1, cmpMode, mask, repeatParams, isSetMask, site);
}

#define TWIN_COMPARE_SCALAR(NAME)                                                                                                     \
  template <typename T, typename U>                                                                                                   \
  inline void NAME(const LocalTensor<U> &dst, const LocalTensor<T> &src0, const T src1Scalar, CMPMODE cmpMode, int64_t count,         \
                   twin::Site site = twin::Site::Here()) {                                                                            \
    twin::VectorCall call(#NAME, site, sizeof(T));                                                                                    \
    if (!twin::Comparable<T>(call, cmpMode)) return;                                                                                  \
    twin::CompareLanes<T>(call, count);                                                                                               \
    call.Read(src0, "src0");                                                                                                          \
    twin::RunCompareScalar<T>(call, dst, src1Scalar, cmpMode);                                                                        \
  }                                                                                                                                   \
  template <typename T, typename U, bool isSetMask = true>                                                                            \
  inline void NAME(const LocalTensor<U> &dst, const LocalTensor<T> &src0, const T src1Scalar, CMPMODE cmpMode, uint64_t mask,         \
                   int64_t repeatTime, const UnaryRepeatParams &repeatParams, twin::Site site = twin::Site::Here()) {                 \
    twin::CompareScalarSliced(dst, src0, src1Scalar, cmpMode, twin::Wide(mask), repeatTime, repeatParams, isSetMask, site);           \
  }                                                                                                                                   \
  template <typename T, typename U, bool isSetMask = true>                                                                            \
  inline void NAME(const LocalTensor<U> &dst, const LocalTensor<T> &src0, const T src1Scalar, CMPMODE cmpMode, const uint64_t mask[], \
                   int64_t repeatTime, const UnaryRepeatParams &repeatParams, twin::Site site = twin::Site::Here()) {                 \
    twin::CompareScalarSliced(dst, src0, src1Scalar, cmpMode, mask, repeatTime, repeatParams, isSetMask, site);                       \
  }

TWIN_COMPARE_SCALAR(CompareScalar)
TWIN_COMPARE_SCALAR(Compares)

#undef TWIN_COMPARE_SCALAR

// The 128 bits of the compare mask register to and from local memory.
template <typename T>
inline void GetCmpMask(const LocalTensor<T> &dst, twin::Site site = twin::Site::Here()) {
  twin::Instr in("GetCmpMask", twin::Pipe::V, site);
  T *to = in.Write(dst, "dst", 16 / static_cast<int64_t>(sizeof(T)), 16);
  if (to != nullptr && in.Ok()) memcpy(to, in.core.vector.compare, 16);
}

template <typename T>
inline void SetCmpMask(const LocalTensor<T> &src, twin::Site site = twin::Site::Here()) {
  twin::Instr in("SetCmpMask", twin::Pipe::V, site);
  const T *from = in.Read(src, "src", 16 / static_cast<int64_t>(sizeof(T)), 16);
  if (from != nullptr && in.Ok()) memcpy(in.core.vector.compare, from, 16);
}

template <typename T, typename U>
inline void Select(const LocalTensor<T> &dst, const LocalTensor<U> &selMask, const LocalTensor<T> &src0, const LocalTensor<T> &src1,
                   SELMODE selMode, int64_t count, twin::Site site = twin::Site::Here()) {
  twin::VectorCall call("Select", site, sizeof(T));
  twin::SelectTensor(call, dst, selMask, src0, src1, selMode, BinaryRepeatParams(), [&] { call.Count(count, true, 4294967295); });
}

template <typename T, typename U>
inline void Select(const LocalTensor<T> &dst, const LocalTensor<U> &selMask, const LocalTensor<T> &src0, T src1, SELMODE selMode,
                   int64_t count, twin::Site site = twin::Site::Here()) {
  twin::VectorCall call("Select", site, sizeof(T));
  twin::SelectScalar(call, dst, selMask, src0, src1, selMode, BinaryRepeatParams(), [&] { call.Count(count, true, 4294967295); });
}

#define TWIN_SELECT(SECOND, RUN, MASK, WIDE)                                                                                             \
  template <typename T, typename U, bool isSetMask = true>                                                                               \
  inline void Select(const LocalTensor<T> &dst, const LocalTensor<U> &selMask, const LocalTensor<T> &src0, SECOND src1, SELMODE selMode, \
                     MASK, int64_t repeatTime, const BinaryRepeatParams &repeatParams, twin::Site site = twin::Site::Here()) {           \
    twin::VectorCall call("Select", site, sizeof(T));                                                                                    \
    RUN(call, dst, selMask, src0, src1, selMode, repeatParams, [&] { call.Slice(WIDE, repeatTime, isSetMask); });                        \
  }

TWIN_SELECT(const LocalTensor<T> &, twin::SelectTensor, uint64_t mask, twin::Wide(mask))
TWIN_SELECT(const LocalTensor<T> &, twin::SelectTensor, const uint64_t mask[], mask)
TWIN_SELECT(T, twin::SelectScalar, uint64_t mask, twin::Wide(mask))
TWIN_SELECT(T, twin::SelectScalar, const uint64_t mask[], mask)

#undef TWIN_SELECT

// Selects by the compare mask register, the same bits for every repeat; the lanes come from the mask register.
template <typename T, SELMODE selMode>
inline void Select(const LocalTensor<T> &dst, const LocalTensor<T> &src0, const LocalTensor<T> &src1, int64_t repeatTime,
                   const BinaryRepeatParams &repeatParams, twin::Site site = twin::Site::Here()) {
  twin::VectorCall call("Select", site, sizeof(T));
  if (!call.Supports(twin::In<T>(twin::kFloats, twin::kSelectMore), twin::DtypeName<T>())) return;
  call.instr.Require(twin::Law::kUnsupported, selMode == SELMODE::VSEL_CMPMASK_SPR, "without a mask tensor only VSEL_CMPMASK_SPR selects");
  call.Slice(int64_t{0}, repeatTime, false);
  call.instr.core.UseReserved("Select", site);
  call.Read(src0, "src0", call.Strides("src0", repeatParams.src0BlkStride, repeatParams.src0RepStride, 255, 255));
  call.Read(src1, "src1", call.Strides("src1", repeatParams.src1BlkStride, repeatParams.src1RepStride, 255, 255));
  call.Write(dst, "dst", call.Strides("dst", repeatParams.dstBlkStride, repeatParams.dstRepStride, 255, 255));
  twin::RunSelect<T>(call, twin::SelectBits{call.instr.core.vector.compare, true}, nullptr);
}

}  // namespace AscendC
