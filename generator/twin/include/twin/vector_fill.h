// Calls that make values or repeat them: Duplicate, CreateVecIndex, Brcb, and the masked Copy inside the unified buffer.
#pragma once

#include "twin/vector.h"

namespace twin {

constexpr uint32_t kDuplicate220 = kF16 | kF32 | kBf16 | kI16 | kU16 | kI32 | kU32, kDuplicateMore = kI8 | kU8 | kI64 | kU64;

template <typename T>
void RunDuplicate(VectorCall &call, T value) {
  if (!call.Begin()) return;
  Chunk<T> filled;
  for (T &lane : filled.lane) lane = value;
  const auto loop = [](int64_t n, uint8_t *const *at, const void *argument) {
    constexpr int64_t kLanes = Chunk<T>::kLanes, kSize = sizeof(T);
    Chunk<T> lanes;
    memcpy(lanes.lane, argument, sizeof lanes.lane);
    int64_t i = 0;
    for (; i + kLanes <= n; i += kLanes) lanes.Store(at[0] + i * kSize);
    if (i < n) lanes.Store(at[0] + i * kSize, n - i);
  };
  call.Apply(loop, filled.lane);
}

// value_k = first + k over the active order of lanes, repeat after repeat; halves count in float and are rounded once.
template <typename T>
void RunIndex(VectorCall &call, T first) {
  if (!call.Begin()) return;
  const VectorOperand &dst = call.operand[0];
  ForEachRun(call.lanes, kBlock / dst.size, false, [&](int64_t repeat, int64_t lane, int64_t count) {
    for (int64_t k = 0; k < count; ++k) {
      const int64_t index = repeat * call.width + lane + k;
      T value;
      if constexpr (kIsFloating<T>)
        value = Narrow<T>(Widen(first) + static_cast<float>(index));
      else
        value = static_cast<T>(Wrap(first) + static_cast<uint64_t>(index));
      memcpy(dst.data + LaneOffset(dst.stride, dst.size, repeat, lane + k), &value, sizeof value);
    }
  });
}

template <typename T, typename M>
void CopySliced(const AscendC::LocalTensor<T> &dst, const AscendC::LocalTensor<T> &src, M mask, int64_t repeat,
                const AscendC::CopyRepeatParams &p, bool set_mask, Site site) {
  VectorCall call("Copy", site, sizeof(T));
  if (!call.Supports(In<T>(kBits16 | kBits32, kI8 | kU8 | kI64 | kU64), DtypeName<T>())) return;
  call.Slice(mask, repeat, set_mask);
  call.Read(src, "src", call.Strides("src", p.srcStride, p.srcRepeatSize, 65535, 4095));
  call.Write(dst, "dst", call.Strides("dst", p.dstStride, p.dstRepeatSize, 65535, 4095));
  if (!call.Begin()) return;
  call.Apply([](int64_t n, uint8_t *const *at, const void *) { memmove(at[1], at[0], static_cast<size_t>(n) * sizeof(T)); });
}

}  // namespace twin

namespace AscendC {

template <typename T>
inline void Duplicate(const LocalTensor<T> &dst, const T &scalarValue, int64_t count, twin::Site site = twin::Site::Here()) {
  twin::VectorCall call("Duplicate", site, sizeof(T));
  if (!call.Supports(twin::In<T>(twin::kDuplicate220, twin::kDuplicateMore), twin::DtypeName<T>())) return;
  call.Count(count, true);
  call.Write(dst, "dst");
  twin::RunDuplicate(call, scalarValue);
}

template <typename T, bool isSetMask = true>
inline void Duplicate(const LocalTensor<T> &dst, const T &scalarValue, uint64_t mask, int64_t repeatTime, int64_t dstBlockStride,
                      int64_t dstRepeatStride, twin::Site site = twin::Site::Here()) {
  twin::VectorCall call("Duplicate", site, sizeof(T));
  if (!call.Supports(twin::In<T>(twin::kDuplicate220, twin::kDuplicateMore), twin::DtypeName<T>())) return;
  call.Slice(twin::Wide(mask), repeatTime, isSetMask);
  call.Write(dst, "dst", call.Strides("dst", dstBlockStride, dstRepeatStride, 65535, 255));
  twin::RunDuplicate(call, scalarValue);
}

template <typename T, bool isSetMask = true>
inline void Duplicate(const LocalTensor<T> &dst, const T &scalarValue, const uint64_t mask[], int64_t repeatTime, int64_t dstBlockStride,
                      int64_t dstRepeatStride, twin::Site site = twin::Site::Here()) {
  twin::VectorCall call("Duplicate", site, sizeof(T));
  if (!call.Supports(twin::In<T>(twin::kDuplicate220, twin::kDuplicateMore), twin::DtypeName<T>())) return;
  call.Slice(mask, repeatTime, isSetMask);
  call.Write(dst, "dst", call.Strides("dst", dstBlockStride, dstRepeatStride, 65535, 255));
  twin::RunDuplicate(call, scalarValue);
}

template <typename T>
inline void CreateVecIndex(const LocalTensor<T> &dst, const T &firstValue, int64_t count, twin::Site site = twin::Site::Here()) {
  twin::VectorCall call("CreateVecIndex", site, sizeof(T));
  if (!call.Supports(twin::In<T>(twin::kCommon, twin::kI8 | twin::kI64), twin::DtypeName<T>())) return;
  call.Count(count, true);
  call.Write(dst, "dst");
  twin::RunIndex(call, firstValue);
}

template <typename T>
inline void CreateVecIndex(const LocalTensor<T> &dst, const T &firstValue, uint64_t mask, int64_t repeatTime, int64_t dstBlkStride,
                           int64_t dstRepStride, twin::Site site = twin::Site::Here()) {
  twin::VectorCall call("CreateVecIndex", site, sizeof(T));
  if (!call.Supports(twin::In<T>(twin::kCommon, twin::kI8 | twin::kI64), twin::DtypeName<T>())) return;
  call.Slice(twin::Wide(mask), repeatTime, true);
  call.Write(dst, "dst", call.Strides("dst", dstBlkStride, dstRepStride, 65535, 255));
  twin::RunIndex(call, firstValue);
}

template <typename T>
inline void CreateVecIndex(const LocalTensor<T> &dst, const T &firstValue, const uint64_t mask[], int64_t repeatTime, int64_t dstBlkStride,
                           int64_t dstRepStride, twin::Site site = twin::Site::Here()) {
  twin::VectorCall call("CreateVecIndex", site, sizeof(T));
  if (!call.Supports(twin::In<T>(twin::kCommon, twin::kI8 | twin::kI64), twin::DtypeName<T>())) return;
  call.Slice(mask, repeatTime, true);
  call.Write(dst, "dst", call.Strides("dst", dstBlkStride, dstRepStride, 65535, 255));
  twin::RunIndex(call, firstValue);
}

template <typename T, bool isSetMask = true>
inline void Copy(const LocalTensor<T> &dst, const LocalTensor<T> &src, uint64_t mask, int64_t repeatTime,
                 const CopyRepeatParams &repeatParams, twin::Site site = twin::Site::Here()) {
  twin::CopySliced(dst, src, twin::Wide(mask), repeatTime, repeatParams, isSetMask, site);
}

template <typename T, bool isSetMask = true>
inline void Copy(const LocalTensor<T> &dst, const LocalTensor<T> &src, const uint64_t mask[], int64_t repeatTime,
                 const CopyRepeatParams &repeatParams, twin::Site site = twin::Site::Here()) {
  twin::CopySliced(dst, src, mask, repeatTime, repeatParams, isSetMask, site);
}

// Each repeat reads 8 elements and fills 8 blocks, block k with element k. Block stride 0 counts as undefined like elsewhere.
template <typename T>
inline void Brcb(const LocalTensor<T> &dst, const LocalTensor<T> &src0, int64_t repeatTime, const BrcbRepeatParams &repeatParams,
                 twin::Site site = twin::Site::Here()) {
  twin::VectorCall call("Brcb", site, sizeof(T));
  if (!call.Supports(twin::In<T>(twin::kBits16 | twin::kBits32), twin::DtypeName<T>())) return;
  call.Slice(call.width, repeatTime, true);
  const twin::Stride stride = call.Strides("dst", repeatParams.dstBlkStride, repeatParams.dstRepStride, 65535, 65535);
  call.Write(dst, "dst", stride);
  if (!call.instr.Ok() || call.lanes.Empty()) return;
  const int64_t repeats = call.lanes.repeats, bytes = 8 * repeats * static_cast<int64_t>(sizeof(T));
  if (!call.instr.Place(src0, "src0", 0, bytes, twin::kBlock)) return;
  const twin::VectorOperand &out = call.operand[0];
  const int64_t reach = ((repeats - 1) * stride.repeat + 7 * stride.block + 1) * twin::kBlock;
  call.instr.Require(twin::Law::kOverlap, src0.start + bytes <= out.offset || out.offset + reach <= src0.start,
                     "dst (UB byte %lld) overlaps src0 (UB byte %lld)", static_cast<long long>(out.offset),
                     static_cast<long long>(src0.start));
  call.instr.ReadBytes("src0", src0.start, bytes);
  if (!call.Begin()) return;
  for (int64_t repeat = 0; repeat < repeats; ++repeat) {
    T element[8];
    memcpy(element, call.instr.core.ub + src0.start + repeat * static_cast<int64_t>(sizeof element), sizeof element);
    for (int64_t k = 0; k < 8; ++k) {
      T block[twin::kBlock / sizeof(T)];
      for (T &lane : block) lane = element[k];
      memcpy(out.data + (repeat * stride.repeat + k * stride.block) * twin::kBlock, block, sizeof block);
    }
  }
}

}  // namespace AscendC
