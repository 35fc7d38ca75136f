// Reductions of a whole tensor: ReduceSum, ReduceMax and ReduceMin, and the registers they leave behind.
//
// ReduceSum, count form, on 220: a tree inside each repeat, the repeats added one after the other, the result stored by the scalar
// unit between V_S, S_V and S_MTE3 flags; the temporary tensor is not used. On 3510: trees everywhere, up to 1024 bytes the repeats are
// first added lane by lane. The sliced form and the maxima go through the temporary tensor in rounds (facts B.3, Reductions).
#pragma once

#include <vector>

#include "twin/reduce.h"

namespace twin {

constexpr uint32_t kReduceAllMore = kI32 | kU32 | kI64;
constexpr uint32_t kReduceAllMaxMore = kI16 | kU16 | kI32 | kU32 | kI64;

inline int64_t RoundUp(int64_t value, int64_t unit) { return (value + unit - 1) / unit * unit; }

// Reads a source of the count form.
template <typename T>
bool BeginAll(VectorCall &call, const AscendC::LocalTensor<T> &src) {
  if (!call.instr.Ok() || call.lanes.Empty()) return false;
  call.Read(src, "src");
  return call.Begin();
}

template <typename T>
std::vector<T> RepeatSums(const VectorCall &call) {
  std::vector<T> sums;
  sums.reserve(static_cast<size_t>(call.lanes.repeats));
  for (int64_t repeat = 0; repeat < call.lanes.repeats; ++repeat) {
    T lane[kRepeatBytes / sizeof(T)];
    LoadRepeat(call, call.operand[0], repeat, T{}, lane);
    sums.push_back(Tree<SumReduce>(lane, call.width));
  }
  return sums;
}

// Sums in rounds: every `width` neighbours by a tree, until one is left.
template <typename T>
T TreeOfTrees(std::vector<T> values, int64_t width) {
  while (values.size() > 1) {
    std::vector<T> next;
    for (size_t i = 0; i < values.size(); i += static_cast<size_t>(width)) {
      T lane[kRepeatBytes / sizeof(T)] = {};
      for (size_t k = 0; k < static_cast<size_t>(width) && i + k < values.size(); ++k) lane[k] = values[i + k];
      next.push_back(Tree<SumReduce>(lane, width));
    }
    values.swap(next);
  }
  return values[0];
}

template <typename T>
T SumSequential(const VectorCall &call) {
  T total{};
  for (int64_t repeat = 0; repeat < call.lanes.repeats; ++repeat) {
    T lane[kRepeatBytes / sizeof(T)];
    LoadRepeat(call, call.operand[0], repeat, T{}, lane);
    const T sum = Tree<SumReduce>(lane, call.width);
    total = repeat == 0 ? sum : AddOp::Lane(total, sum);
  }
  return total;
}

// 3510: repeats of up to 1024 bytes are added lane by lane, then one tree.
template <typename T>
T SumTrees(const VectorCall &call) {
  if (call.lanes.Total() * static_cast<int64_t>(sizeof(T)) > 1024) return TreeOfTrees(RepeatSums<T>(call), call.width);
  T total[kRepeatBytes / sizeof(T)];
  LoadRepeat(call, call.operand[0], 0, T{}, total);
  for (int64_t repeat = 1; repeat < call.lanes.repeats; ++repeat) {
    T lane[kRepeatBytes / sizeof(T)];
    LoadRepeat(call, call.operand[0], repeat, T{}, lane);
    for (int64_t k = 0; k < call.width; ++k) total[k] = AddOp::Lane(total[k], lane[k]);
  }
  return Tree<SumReduce>(total, call.width);
}

template <typename T>
inline uint64_t PackBits(const T &value) {
  uint64_t bits = 0;
  memcpy(&bits, &value, sizeof value);
  return bits;
}

// Stores a result with the scalar unit, ordered after the vector unit and before what follows on V and MTE3.
template <typename T>
void StoreByScalar(const char *api, Site site, const AscendC::LocalTensor<T> &dst, const T &value) {
  Core &core = Self();
  core.Edge(Pipe::V, Pipe::S);
  Instr store(api, Pipe::S, site);
  T *to = store.Write(dst, "dst", 1, sizeof(T));
  if (to != nullptr && store.Ok()) memcpy(to, &value, sizeof value);
  core.Edge(Pipe::S, Pipe::V);
  core.Edge(Pipe::S, Pipe::MTE3);
}

template <typename T>
void StoreByVector(VectorCall &call, const AscendC::LocalTensor<T> &dst, const void *value, int64_t elements, int64_t align) {
  T *to = call.instr.Write(dst, "dst", elements, align);
  if (to != nullptr && call.instr.Ok()) memcpy(to, value, static_cast<size_t>(elements) * sizeof(T));
}

// The temporary tensor: `elements` are overwritten with values nobody may rely on.
template <typename T>
bool UseTemporary(VectorCall &call, const AscendC::LocalTensor<T> &tmp, int64_t elements) {
  const int64_t bytes = elements * static_cast<int64_t>(sizeof(T));
  if (!call.instr.Place(tmp, "sharedTmpBuffer", 0, bytes, kBlock)) return false;
  call.instr.WriteBytes("sharedTmpBuffer", tmp.start, bytes, false);
  return call.instr.Ok();
}

template <typename T>
void ReduceSumCount(VectorCall &call, const AscendC::LocalTensor<T> &dst, const AscendC::LocalTensor<T> &src, int64_t count, bool set_mask,
                    Site site) {
  if (!call.Supports(In<T>(kFloats, kReduceAllMore), DtypeName<T>())) return;
  if constexpr (IsReducible<T>(kReduceAllMore)) {
    call.Count(count, set_mask);
    if (!BeginAll(call, src)) return;
    const T total = kIs3510 ? SumTrees<T>(call) : SumSequential<T>(call);
    call.instr.core.vector.reduced = PackBits(total);
    if (kIs3510)
      StoreByVector(call, dst, &total, 1, sizeof(T));
    else
      StoreByScalar("ReduceSum", site, dst, total);
  }
}

template <typename T, typename M>
void ReduceSumSliced(VectorCall &call, const AscendC::LocalTensor<T> &dst, const AscendC::LocalTensor<T> &src,
                     const AscendC::LocalTensor<T> &tmp, M mask, int64_t repeat, int64_t src_rep) {
  if (!call.Supports(In<T>(kFloats, kReduceAllMore), DtypeName<T>())) return;
  if constexpr (IsReducible<T>(kReduceAllMore)) {
    call.Slice(mask, repeat, true, kCountMax);
    call.Read(src, "src", call.Strides("src", 1, src_rep, 1, 65535));
    if (!call.Begin()) return;
    const T total = TreeOfTrees(RepeatSums<T>(call), call.width);
    if (!kIs3510 && !UseTemporary(call, tmp, RoundUp(call.lanes.repeats, kBlock / static_cast<int64_t>(sizeof(T))))) return;
    call.instr.core.vector.reduced = PackBits(total);
    StoreByVector(call, dst, &total, 1, sizeof(T));
  }
}

// Elements of the temporary tensor on 220: one round without index, all rounds down to one pair with it.
template <typename T>
int64_t ExtremeTemporary(int64_t repeats, bool with_index) {
  constexpr int64_t kSize = sizeof(T), kPerBlock = kBlock / kSize, kPerRepeat = kRepeatBytes / kSize;
  int64_t out = 2 * (repeats > 1 ? repeats : 1);
  int64_t total = RoundUp(out, kPerBlock);
  while (with_index && out > 2) {
    out = RoundUp(out, kPerRepeat) / kPerRepeat * 2;
    total += RoundUp(out, kPerBlock);
  }
  return total;
}

// Value and smallest index over all repeats; the index counts lanes of the source, repeat after repeat.
template <typename R, typename T>
void ReduceExtreme(VectorCall &call, const AscendC::LocalTensor<T> &dst, const AscendC::LocalTensor<T> &tmp, bool with_index,
                   int64_t tmp_repeats) {
  T result[2];
  uint32_t index = 0;
  Best<R>(call, call.operand[0], 0, &result[0], &index);
  for (int64_t repeat = 1; repeat < call.lanes.repeats; ++repeat) {
    T value;
    uint32_t lane;
    Best<R>(call, call.operand[0], repeat, &value, &lane);
    if (!R::Better(result[0], value)) continue;
    result[0] = value;
    index = static_cast<uint32_t>(repeat * call.width) + lane;
  }
  memcpy(&result[1], &index, sizeof(T) < sizeof index ? sizeof(T) : sizeof index);
  if (!kIs3510 && !UseTemporary(call, tmp, ExtremeTemporary<T>(tmp_repeats, with_index))) return;
  call.instr.core.vector.reduced = PackBits(result[0]) | static_cast<uint64_t>(index) << 32;
  StoreByVector(call, dst, result, with_index ? 2 : 1, 2 * static_cast<int64_t>(sizeof(T)));
}

template <typename R, typename T>
void ReduceExtremeCount(VectorCall &call, const AscendC::LocalTensor<T> &dst, const AscendC::LocalTensor<T> &src,
                        const AscendC::LocalTensor<T> &tmp, int64_t count, bool with_index) {
  if (!call.Supports(In<T>(kFloats, kReduceAllMaxMore), DtypeName<T>())) return;
  if constexpr (IsReducible<T>(kReduceAllMaxMore)) {
    call.Count(count, true);
    if (!BeginAll(call, src)) return;
    ReduceExtreme<R>(call, dst, tmp, with_index, call.lanes.Total() / call.width);
  }
}

template <typename R, typename T, typename M>
void ReduceExtremeSliced(VectorCall &call, const AscendC::LocalTensor<T> &dst, const AscendC::LocalTensor<T> &src,
                         const AscendC::LocalTensor<T> &tmp, M mask, int64_t repeat, int64_t src_rep, bool with_index) {
  if (!call.Supports(In<T>(kFloats, kReduceAllMaxMore), DtypeName<T>())) return;
  if constexpr (IsReducible<T>(kReduceAllMaxMore)) {
    call.Slice(mask, repeat, true, kCountMax);
    call.Read(src, "src", call.Strides("src", 1, src_rep, 1, 65535));
    if (!call.Begin()) return;
    ReduceExtreme<R>(call, dst, tmp, with_index, call.lanes.repeats);
  }
}

}  // namespace twin

namespace AscendC {

template <typename T, bool isSetMask = true>
inline void ReduceSum(const LocalTensor<T> &dst, const LocalTensor<T> &src, const LocalTensor<T> &, int64_t count,
                      twin::Site site = twin::Site::Here()) {
  twin::VectorCall call("ReduceSum", site, sizeof(T));
  twin::ReduceSumCount(call, dst, src, count, isSetMask, site);
}

template <typename T>
inline void ReduceSum(const LocalTensor<T> &dst, const LocalTensor<T> &src, const LocalTensor<T> &sharedTmpBuffer, int64_t mask,
                      int64_t repeatTime, int64_t srcRepStride, twin::Site site = twin::Site::Here()) {
  twin::VectorCall call("ReduceSum", site, sizeof(T));
  twin::ReduceSumSliced(call, dst, src, sharedTmpBuffer, mask, repeatTime, srcRepStride);
}

template <typename T>
inline void ReduceSum(const LocalTensor<T> &dst, const LocalTensor<T> &src, const LocalTensor<T> &sharedTmpBuffer, const uint64_t mask[],
                      int64_t repeatTime, int64_t srcRepStride, twin::Site site = twin::Site::Here()) {
  twin::VectorCall call("ReduceSum", site, sizeof(T));
  twin::ReduceSumSliced(call, dst, src, sharedTmpBuffer, mask, repeatTime, srcRepStride);
}

#define TWIN_REDUCE_EXTREME(NAME, KIND)                                                                                                \
  template <typename T>                                                                                                                \
  inline void NAME(const LocalTensor<T> &dst, const LocalTensor<T> &src, const LocalTensor<T> &sharedTmpBuffer, int64_t count,         \
                   bool calIndex = false, twin::Site site = twin::Site::Here()) {                                                      \
    twin::VectorCall call(#NAME, site, sizeof(T));                                                                                     \
    twin::ReduceExtremeCount<twin::KIND>(call, dst, src, sharedTmpBuffer, count, calIndex);                                            \
  }                                                                                                                                    \
  template <typename T>                                                                                                                \
  inline void NAME(const LocalTensor<T> &dst, const LocalTensor<T> &src, const LocalTensor<T> &sharedTmpBuffer, int64_t mask,          \
                   int64_t repeatTime, int64_t srcRepStride, bool calIndex = false, twin::Site site = twin::Site::Here()) {            \
    twin::VectorCall call(#NAME, site, sizeof(T));                                                                                     \
    twin::ReduceExtremeSliced<twin::KIND>(call, dst, src, sharedTmpBuffer, mask, repeatTime, srcRepStride, calIndex);                  \
  }                                                                                                                                    \
  template <typename T>                                                                                                                \
  inline void NAME(const LocalTensor<T> &dst, const LocalTensor<T> &src, const LocalTensor<T> &sharedTmpBuffer, const uint64_t mask[], \
                   int64_t repeatTime, int64_t srcRepStride, bool calIndex = false, twin::Site site = twin::Site::Here()) {            \
    twin::VectorCall call(#NAME, site, sizeof(T));                                                                                     \
    twin::ReduceExtremeSliced<twin::KIND>(call, dst, src, sharedTmpBuffer, mask, repeatTime, srcRepStride, calIndex);                  \
  }

TWIN_REDUCE_EXTREME(ReduceMax, MaxReduce)
TWIN_REDUCE_EXTREME(ReduceMin, MinReduce)

#undef TWIN_REDUCE_EXTREME

// The registers of the last reduction; the caller orders S after V.
template <typename T>
inline void GetReduceMaxMinCount(T &maxMinValue, T &maxMinIndex) {
  const uint64_t bits = twin::Self().vector.reduced;
  const uint32_t index = static_cast<uint32_t>(bits >> 32);
  memcpy(&maxMinValue, &bits, sizeof(T));
  memcpy(&maxMinIndex, &index, sizeof(T) < sizeof index ? sizeof(T) : sizeof index);
}

template <typename T>
inline void GetReduceMaxMinCount(T &maxMinValue) {
  const uint64_t bits = twin::Self().vector.reduced;
  memcpy(&maxMinValue, &bits, sizeof(T));
}

template <typename T>
inline T GetAccVal() {
  T value;
  const uint64_t bits = twin::Self().vector.reduced;
  memcpy(&value, &bits, sizeof(T));
  return value;
}

}  // namespace AscendC
