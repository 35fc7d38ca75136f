// Reductions inside repeats and blocks: WholeReduce, BlockReduce, PairReduceSum and RepeatReduceSum.
//
// Sums are binary trees of neighbours, (0+1), (2+3), then pairs of pairs, each addition rounded to the dtype; lanes without mask bit
// count as the identity (facts B.3, Reductions). Maxima and minima keep the smallest index on ties; a NaN wins over numbers.
#pragma once

#include "twin/vector.h"

namespace twin {

using AscendC::ReduceOrder;

constexpr uint32_t kReduceMore = kI32 | kU32;                   // WholeReduceSum on 3510
constexpr uint32_t kReduceMaxMore = kI16 | kU16 | kI32 | kU32;  // WholeReduceMax and Min on 3510

struct SumReduce {
  template <typename T>
  static T Identity() {
    return T{};
  }
  template <typename T>
  static T Join(T a, T b) {
    return AddOp::Lane(a, b);
  }
};

struct MaxReduce {
  template <typename T>
  static T Identity() {
    if constexpr (kIsHalf<T>)
      return half::FromBits(0xfc00u);
    else if constexpr (std::is_same_v<T, float>)
      return -std::numeric_limits<float>::infinity();
    else
      return std::numeric_limits<T>::min();
  }
  template <typename T>
  static T Join(T a, T b) {
    return MaxOp::Lane(a, b);
  }
  // Whether b replaces a, which stands before it.
  template <typename T>
  static bool Better(T a, T b) {
    const auto x = Widen(a);
    const auto y = Widen(b);
    return x == x && (y != y || y > x);
  }
};

struct MinReduce {
  template <typename T>
  static T Identity() {
    if constexpr (kIsHalf<T>)
      return half::FromBits(0x7c00u);
    else if constexpr (std::is_same_v<T, float>)
      return std::numeric_limits<float>::infinity();
    else
      return std::numeric_limits<T>::max();
  }
  template <typename T>
  static T Join(T a, T b) {
    return MinOp::Lane(a, b);
  }
  template <typename T>
  static bool Better(T a, T b) {
    const auto x = Widen(a);
    const auto y = Widen(b);
    return x == x && (y != y || y < x);
  }
};

// Joins neighbours until one value is left; `count` is a power of two and the array is used up.
template <typename R, typename T>
inline T Tree(T *value, int64_t count) {
  for (int64_t half_count = count / 2; half_count > 0; half_count /= 2) {
    for (int64_t i = 0; i < half_count; ++i) value[i] = R::Join(value[2 * i], value[2 * i + 1]);
  }
  return value[0];
}

// All lanes of one repeat of a source, inactive ones replaced.
template <typename T>
inline void LoadRepeat(const VectorCall &call, const VectorOperand &src, int64_t repeat, T replacement, T *to) {
  constexpr int64_t kSize = sizeof(T), kPerBlock = kBlock / kSize;
  const LaneBits &bits = call.lanes.Of(repeat);
  const bool full = bits.Next(0, call.width, false) == call.width;
  for (int64_t block = 0; block < call.width / kPerBlock; ++block) {
    const int64_t lane = block * kPerBlock;
    const bool any = full || bits.Next(lane, lane + kPerBlock, true) < lane + kPerBlock;
    if (any) memcpy(to + lane, src.data + LaneOffset(src.stride, kSize, repeat, lane), kBlock);
    for (int64_t k = lane; !full && k < lane + kPerBlock; ++k) {
      if (!bits.Has(k)) to[k] = replacement;
    }
  }
}

// Best value and its smallest lane among the active lanes of a repeat.
template <typename R, typename T>
inline void Best(const VectorCall &call, const VectorOperand &src, int64_t repeat, T *value, uint32_t *index) {
  T lane[kRepeatBytes / sizeof(T)];
  LoadRepeat(call, src, repeat, R::template Identity<T>(), lane);
  const LaneBits &bits = call.lanes.Of(repeat);
  int64_t best = bits.Next(0, call.width, true);
  if (best == call.width) best = 0;
  for (int64_t k = bits.Next(best + 1, call.width, true); k < call.width; k = bits.Next(k + 1, call.width, true)) {
    if (R::Better(lane[best], lane[k])) best = k;
  }
  *value = lane[best];
  *index = static_cast<uint32_t>(best);
}

// The destination of a reduction: `bytes` per repeat, `step` bytes from one repeat's result to the next one's.
struct ReduceResult {
  int64_t bytes;
  int64_t step;
  int64_t align;
};

// Checks and declares source and destination; the facts' overlap rule holds between results and the blocks of this and the next repeat.
template <typename T>
bool BeginReduce(VectorCall &call, const AscendC::LocalTensor<T> &dst, const AscendC::LocalTensor<T> &src, Stride stride,
                 const ReduceResult &result, const char *dst_name = "dst") {
  if (!call.instr.Ok() || call.lanes.Empty()) return false;
  call.Read(src, "src", stride);
  const int64_t repeats = call.lanes.repeats;
  if (!call.instr.Place(dst, dst_name, 0, (repeats - 1) * result.step + result.bytes, result.align)) return false;
  if (!call.instr.Ok()) return false;
  const VectorOperand &from = call.operand[0];
  const int64_t end = dst.start + (repeats - 1) * result.step + result.bytes;
  int64_t src_begin = INT64_MAX, src_end = 0;
  call.Extent(from.stride, from.size, &src_begin, &src_end);
  bool bad = false;
  if (from.offset + src_begin < end && dst.start < from.offset + src_end) {
    ForEachRun(call.lanes, kBlock / from.size, false, [&](int64_t repeat, int64_t lane, int64_t count) {
      const int64_t low = from.offset + LaneOffset(from.stride, from.size, repeat, lane);
      for (int64_t writer = repeat > 0 ? repeat - 1 : 0; writer <= repeat; ++writer) {
        const int64_t at = dst.start + writer * result.step;
        bad = bad || (at < low + count * from.size && low < at + result.bytes);
      }
    });
  }
  call.instr.Require(Law::kOverlap, !bad, "%s (UB byte %lld) overlaps src (UB byte %lld) in one repeat or the next", dst_name,
                     static_cast<long long>(dst.start), static_cast<long long>(from.offset));
  return call.Begin();
}

template <typename R, typename T>
void WholeReduceValue(VectorCall &call, const AscendC::LocalTensor<T> &dst, const AscendC::LocalTensor<T> &src, int64_t dst_step,
                      Stride stride) {
  if (!BeginReduce(call, dst, src, stride, ReduceResult{sizeof(T), dst_step * static_cast<int64_t>(sizeof(T)), sizeof(T)})) return;
  if (dst_step == 1) call.instr.WriteBytes("dst", dst.start, call.lanes.repeats * static_cast<int64_t>(sizeof(T)));
  for (int64_t repeat = 0; repeat < call.lanes.repeats; ++repeat) {
    T lane[kRepeatBytes / sizeof(T)];
    LoadRepeat(call, call.operand[0], repeat, R::template Identity<T>(), lane);
    const T value = Tree<R>(lane, call.width);
    const int64_t at = repeat * dst_step * static_cast<int64_t>(sizeof(T));
    if (dst_step != 1) call.instr.WriteBytes("dst", dst.start + at, sizeof(T));
    memcpy(call.instr.core.ub + dst.start + at, &value, sizeof value);
  }
}

// Value and index of each repeat in the order asked for; an index is stored in the bits of T, alone in 4 bytes.
template <typename R, typename T>
void WholeReduceIndex(VectorCall &call, const AscendC::LocalTensor<T> &dst, const AscendC::LocalTensor<T> &src, int64_t dst_step,
                      Stride stride, ReduceOrder order) {
  constexpr int64_t kSize = sizeof(T);
  const bool only_value = order == ReduceOrder::ORDER_ONLY_VALUE, only_index = order == ReduceOrder::ORDER_ONLY_INDEX;
  const int64_t unit = only_value ? kSize : (only_index ? 4 : 2 * kSize);
  if (!BeginReduce(call, dst, src, stride, ReduceResult{unit, dst_step * unit, unit})) return;
  for (int64_t repeat = 0; repeat < call.lanes.repeats; ++repeat) {
    T value;
    uint32_t index;
    Best<R>(call, call.operand[0], repeat, &value, &index);
    uint8_t out[8] = {};
    const bool index_first = order == ReduceOrder::ORDER_INDEX_VALUE;
    if (only_index) {
      memcpy(out, &index, 4);
    } else {
      memcpy(out + (index_first ? kSize : 0), &value, kSize);
      if (!only_value) memcpy(out + (index_first ? 0 : kSize), &index, kSize);
    }
    call.instr.WriteBytes("dst", dst.start + repeat * dst_step * unit, unit);
    memcpy(call.instr.core.ub + dst.start + repeat * dst_step * unit, out, static_cast<size_t>(unit));
  }
}

// One result per 32-byte block, 8 per repeat. A block without active lane: kept on 220, the identity on 3510.
template <typename R, typename T>
void BlockReduceLanes(VectorCall &call, const AscendC::LocalTensor<T> &dst, const AscendC::LocalTensor<T> &src, int64_t dst_step,
                      Stride stride) {
  constexpr int64_t kSize = sizeof(T), kPerBlock = kBlock / kSize, kResult = kRepeatBlocks * kSize;
  if (!BeginReduce(call, dst, src, stride, ReduceResult{kResult, dst_step * kResult, kResult})) return;
  for (int64_t repeat = 0; repeat < call.lanes.repeats; ++repeat) {
    T lane[kRepeatBytes / sizeof(T)];
    LoadRepeat(call, call.operand[0], repeat, R::template Identity<T>(), lane);
    const LaneBits &bits = call.lanes.Of(repeat);
    const bool all = kIs3510 || bits.Next(0, call.width, false) == call.width;
    if (all) call.instr.WriteBytes("dst", dst.start + repeat * dst_step * kResult, kResult);
    for (int64_t block = 0; block < kRepeatBlocks; ++block) {
      const int64_t first = block * kPerBlock;
      if (!all && bits.Next(first, first + kPerBlock, true) == first + kPerBlock) continue;
      const T value = Tree<R>(lane + first, kPerBlock);
      const int64_t at = dst.start + repeat * dst_step * kResult + block * kSize;
      if (!all) call.instr.WriteBytes("dst", at, kSize);
      memcpy(call.instr.core.ub + at, &value, sizeof value);
    }
  }
}

// One sum per pair of neighbours, 128 bytes per repeat; a pair without active lane keeps the destination.
template <typename T>
void PairReduceLanes(VectorCall &call, const AscendC::LocalTensor<T> &dst, const AscendC::LocalTensor<T> &src, int64_t dst_step,
                     Stride stride) {
  constexpr int64_t kSize = sizeof(T), kResult = kRepeatBytes / 2;
  if (!BeginReduce(call, dst, src, stride, ReduceResult{kResult, dst_step * kResult, kBlock})) return;
  for (int64_t repeat = 0; repeat < call.lanes.repeats; ++repeat) {
    T lane[kRepeatBytes / sizeof(T)];
    LoadRepeat(call, call.operand[0], repeat, T{}, lane);
    const LaneBits &bits = call.lanes.Of(repeat);
    for (int64_t pair = 0; pair < call.width / 2; ++pair) {
      if (!bits.Has(2 * pair) && !bits.Has(2 * pair + 1)) continue;
      const T value = AddOp::Lane(lane[2 * pair], lane[2 * pair + 1]);
      const int64_t at = dst.start + repeat * dst_step * kResult + pair * kSize;
      call.instr.WriteBytes("dst", at, kSize);
      memcpy(call.instr.core.ub + at, &value, sizeof value);
    }
  }
}

template <typename T>
constexpr bool IsReducible(uint32_t more) {
  return (DtypeBit<T>() & (kFloats | more)) != 0;
}

// The prologue all reductions share; `run(dst_step, stride)` computes.
template <typename T, typename M, typename F>
void Reduction(VectorCall &call, M mask, int64_t repeat, int64_t dst_rep, int64_t src_blk, int64_t src_rep, bool set_mask, uint32_t more,
               F run) {
  if (!call.Supports(In<T>(kFloats, more), DtypeName<T>())) return;
  call.Slice(mask, repeat, set_mask);
  const int64_t step = call.instr.InRange("dstRepStride", dst_rep, 0, 65535);
  run(step, call.Strides("src", src_blk, src_rep, 65535, 65535));
}

}  // namespace twin

namespace AscendC {

#define TWIN_BLOCK_REDUCE(NAME, RUN)                                                                                                      \
  template <typename T, bool isSetMask = true>                                                                                            \
  inline void NAME(const LocalTensor<T> &dst, const LocalTensor<T> &src, int64_t repeatTime, int64_t mask, int64_t dstRepStride,          \
                   int64_t srcBlkStride, int64_t srcRepStride, twin::Site site = twin::Site::Here()) {                                    \
    twin::VectorCall call(#NAME, site, sizeof(T));                                                                                        \
    twin::Reduction<T>(call, mask, repeatTime, dstRepStride, srcBlkStride, srcRepStride, isSetMask, 0,                                    \
                       [&](int64_t step, twin::Stride stride) {                                                                           \
                         if constexpr (twin::IsReducible<T>(0)) RUN(call, dst, src, step, stride);                                        \
                       });                                                                                                                \
  }                                                                                                                                       \
  template <typename T, bool isSetMask = true>                                                                                            \
  inline void NAME(const LocalTensor<T> &dst, const LocalTensor<T> &src, int64_t repeatTime, const uint64_t mask[], int64_t dstRepStride, \
                   int64_t srcBlkStride, int64_t srcRepStride, twin::Site site = twin::Site::Here()) {                                    \
    twin::VectorCall call(#NAME, site, sizeof(T));                                                                                        \
    twin::Reduction<T>(call, mask, repeatTime, dstRepStride, srcBlkStride, srcRepStride, isSetMask, 0,                                    \
                       [&](int64_t step, twin::Stride stride) {                                                                           \
                         if constexpr (twin::IsReducible<T>(0)) RUN(call, dst, src, step, stride);                                        \
                       });                                                                                                                \
  }

TWIN_BLOCK_REDUCE(BlockReduceSum, twin::BlockReduceLanes<twin::SumReduce>)
TWIN_BLOCK_REDUCE(BlockReduceMax, twin::BlockReduceLanes<twin::MaxReduce>)
TWIN_BLOCK_REDUCE(BlockReduceMin, twin::BlockReduceLanes<twin::MinReduce>)
TWIN_BLOCK_REDUCE(PairReduceSum, twin::PairReduceLanes)

#undef TWIN_BLOCK_REDUCE

#define TWIN_WHOLE_SUM(MASK)                                                                                                       \
  template <typename T, bool isSetMask = true>                                                                                     \
  inline void WholeReduceSum(const LocalTensor<T> &dst, const LocalTensor<T> &src, MASK, int64_t repeatTime, int64_t dstRepStride, \
                             int64_t srcBlkStride, int64_t srcRepStride, twin::Site site = twin::Site::Here()) {                   \
    twin::VectorCall call("WholeReduceSum", site, sizeof(T));                                                                      \
    twin::Reduction<T>(call, mask, repeatTime, dstRepStride, srcBlkStride, srcRepStride, isSetMask, twin::kReduceMore,             \
                       [&](int64_t step, twin::Stride stride) {                                                                    \
                         if constexpr (twin::IsReducible<T>(twin::kReduceMore))                                                    \
                           twin::WholeReduceValue<twin::SumReduce>(call, dst, src, step, stride);                                  \
                       });                                                                                                         \
  }

#define TWIN_WHOLE_INDEX(NAME, KIND, MASK)                                                                                \
  template <typename T, bool isSetMask = true>                                                                            \
  inline void NAME(const LocalTensor<T> &dst, const LocalTensor<T> &src, MASK, int64_t repeatTime, int64_t dstRepStride,  \
                   int64_t srcBlkStride, int64_t srcRepStride, ReduceOrder order = ReduceOrder::ORDER_VALUE_INDEX,        \
                   twin::Site site = twin::Site::Here()) {                                                                \
    twin::VectorCall call(#NAME, site, sizeof(T));                                                                        \
    twin::Reduction<T>(call, mask, repeatTime, dstRepStride, srcBlkStride, srcRepStride, isSetMask, twin::kReduceMaxMore, \
                       [&](int64_t step, twin::Stride stride) {                                                           \
                         if constexpr (twin::IsReducible<T>(twin::kReduceMaxMore))                                        \
                           twin::WholeReduceIndex<twin::KIND>(call, dst, src, step, stride, order);                       \
                       });                                                                                                \
  }

TWIN_WHOLE_SUM(int64_t mask)
TWIN_WHOLE_SUM(const uint64_t mask[])
TWIN_WHOLE_INDEX(WholeReduceMax, MaxReduce, int64_t mask)
TWIN_WHOLE_INDEX(WholeReduceMax, MaxReduce, const uint64_t mask[])
TWIN_WHOLE_INDEX(WholeReduceMin, MinReduce, int64_t mask)
TWIN_WHOLE_INDEX(WholeReduceMin, MinReduce, const uint64_t mask[])

#undef TWIN_WHOLE_SUM
#undef TWIN_WHOLE_INDEX

// As WholeReduceSum with the older order of arguments; dstBlkStride has no effect.
template <typename T, bool isSetMask = true>
inline void RepeatReduceSum(const LocalTensor<T> &dst, const LocalTensor<T> &src, int64_t repeatTime, int64_t mask, int64_t dstBlkStride,
                            int64_t srcBlkStride, int64_t dstRepStride, int64_t srcRepStride, twin::Site site = twin::Site::Here()) {
  twin::VectorCall call("RepeatReduceSum", site, sizeof(T));
  call.instr.InRange("dstBlkStride", dstBlkStride, 0, 65535);
  twin::Reduction<T>(call, mask, repeatTime, dstRepStride, srcBlkStride, srcRepStride, isSetMask, 0,
                     [&](int64_t step, twin::Stride stride) {
                       if constexpr (twin::IsReducible<T>(0)) twin::WholeReduceValue<twin::SumReduce>(call, dst, src, step, stride);
                     });
}

}  // namespace AscendC
