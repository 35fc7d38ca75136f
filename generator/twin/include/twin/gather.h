// Gather (elements by byte offset), Gatherb (blocks by byte offset) and GatherMask (compaction by a pattern of bits).
#pragma once

#include <vector>

#include "twin/vector.h"

namespace twin {

constexpr uint32_t kGatherMore = kI8 | kU8;

// True when the tensor and the written bytes of the call's destination share none.
template <typename T>
bool ApartFrom(VectorCall &call, const VectorOperand &dst, const AscendC::LocalTensor<T> &src, int64_t bytes, const char *name) {
  int64_t begin = INT64_MAX, end = 0;
  call.Extent(dst.stride, dst.size, &begin, &end);
  return call.instr.Require(Law::kOverlap, src.start + bytes <= dst.offset + begin || dst.offset + end <= src.start,
                            "dst (UB byte %lld) overlaps %s (UB byte %lld)", static_cast<long long>(dst.offset), name,
                            static_cast<long long>(src.start));
}

// dst[lane] = the element at byte `base + offset[lane]` of src. Lanes count the offsets repeat after repeat.
template <typename T>
void RunGather(VectorCall &call, const AscendC::LocalTensor<T> &src, const AscendC::LocalTensor<uint32_t> &offsets, int64_t base) {
  constexpr int64_t kSize = sizeof(T);
  if (!call.instr.Ok() || call.lanes.Empty()) return;
  Instr &in = call.instr;
  base = in.InRange("srcBaseAddr", base, 0, 4294967295);
  const VectorOperand &dst = call.operand[0];
  const int64_t room = src.limit - src.start;
  const int64_t words = (call.lanes.repeats - 1) * call.width + call.lanes.Of(call.lanes.repeats - 1).Last(call.width) + 1;
  if (!in.Place(src, "src", 0, 0, kBlock) || !in.Place(offsets, "srcOffset", 0, 4 * words, kBlock)) return;
  if (!ApartFrom(call, dst, offsets, 4 * words, "srcOffset") || !ApartFrom(call, dst, src, room, "src")) return;
  const uint8_t *ub = in.core.ub;
  ForEachRun(call.lanes, kBlock / kSize, false, [&](int64_t repeat, int64_t lane, int64_t count) {
    in.ReadBytes("srcOffset", offsets.start + 4 * (repeat * call.width + lane), 4 * count);
  });
  if (!in.Ok()) return;
  std::vector<int64_t> places;
  ForEachRun(call.lanes, kBlock / kSize, false, [&](int64_t repeat, int64_t lane, int64_t count) {
    for (int64_t k = lane; k < lane + count; ++k) {
      uint32_t offset;
      memcpy(&offset, ub + offsets.start + 4 * (repeat * call.width + k), sizeof offset);
      const int64_t at = base + offset;
      const bool inside = at + kSize <= room;
      in.Require(Law::kAlignment, at % kSize == 0, "offset %lld of element %lld is not a multiple of %lld bytes",
                 static_cast<long long>(at), static_cast<long long>(repeat * call.width + k), static_cast<long long>(kSize));
      in.Require(Law::kLocalBounds, inside, "offset %lld of element %lld is beyond src, which has %lld bytes", static_cast<long long>(at),
                 static_cast<long long>(repeat * call.width + k), static_cast<long long>(room));
      if (inside) in.ReadBytes("src", src.start + at, kSize);
      places.push_back(inside ? src.start + at : src.start);
    }
  });
  if (!call.Begin()) return;
  size_t next = 0;
  ForEachRun(call.lanes, kBlock / kSize, false, [&](int64_t repeat, int64_t lane, int64_t count) {
    for (int64_t k = lane; k < lane + count; ++k) memcpy(dst.data + LaneOffset(dst.stride, kSize, repeat, k), ub + places[next++], kSize);
  });
}

template <typename T, typename M>
void GatherSliced(const AscendC::LocalTensor<T> &dst, const AscendC::LocalTensor<T> &src, const AscendC::LocalTensor<uint32_t> &offsets,
                  int64_t base, M mask, int64_t repeat, int64_t dst_rep, Site site) {
  VectorCall call("Gather", site, sizeof(T));
  if (!call.Supports(In<T>(kBits16 | kBits32, kGatherMore), DtypeName<T>())) return;
  call.Slice(mask, repeat, true);
  call.Write(dst, "dst", call.Strides("dst", 1, dst_rep, 1, 65535));
  RunGather(call, src, offsets, base);
}

// Which elements of a repeat a built-in pattern keeps: 1 even, 2 odd, 3 to 6 every fourth, 7 all.
inline bool PatternKeeps(int64_t pattern, int64_t element) {
  if (pattern == 7) return true;
  if (pattern <= 2) return element % 2 == pattern - 1;
  return element % 4 == pattern - 3;
}

// The source of GatherMask: `repeats` runs of `elements`, all of a repeat or (reduce mode) the first `mask` from each repeat's start.
struct MaskSource {
  int64_t repeats = 0;
  int64_t elements = 0;
  Stride stride;
};

template <typename T>
MaskSource OpenGatherMask(Instr &in, const AscendC::LocalTensor<T> &src, bool reduce_mode, int64_t mask,
                          const AscendC::GatherMaskParams &p) {
  constexpr int64_t kSize = sizeof(T);
  MaskSource source;
  in.Require(Law::kUnsupported, In<T>(kBits16 | kBits32, kGatherMore), "dtype %s is not supported by this call on this chip",
             DtypeName<T>());
  source.stride.block = in.InRange("src0BlockStride", p.src0BlockStride, 0, 255);
  source.stride.repeat = in.InRange("src0RepeatStride", p.src0RepeatStride, 0, 65535);
  in.InRange("src1RepeatStride", p.src1RepeatStride, 0, 255);
  source.repeats = in.InRange("repeatTimes", p.repeatTimes, 0, 65535);
  in.Require(Law::kNopCount, source.repeats != 0 || !kIs3510, "repeatTimes is 0, which is not guaranteed to be ignored on this chip");
  source.elements = reduce_mode ? in.InRange("mask", mask, 1, 4294967295) : kRepeatBytes / kSize;
  if (!in.Ok() || source.repeats == 0) return MaskSource{};
  const int64_t last = LaneOffset(source.stride, kSize, source.repeats - 1, source.elements - 1) + kSize;
  if (!in.Place(src, "src0", 0, last, kBlock)) return MaskSource{};
  const int64_t per_block = kBlock / kSize;
  for (int64_t repeat = 0; repeat < source.repeats; ++repeat) {
    if (source.stride.block == 1) {
      in.ReadBytes("src0", src.start + LaneOffset(source.stride, kSize, repeat, 0), source.elements * kSize);
      continue;
    }
    for (int64_t element = 0; element < source.elements; element += per_block) {
      const int64_t now = source.elements - element < per_block ? source.elements - element : per_block;
      in.ReadBytes("src0", src.start + LaneOffset(source.stride, kSize, repeat, element), now * kSize);
    }
  }
  return source;
}

// Compacts the kept elements; `keeps(repeat, element)` is the pattern. Returns their number.
template <typename T, typename F>
uint64_t RunGatherMask(Instr &in, const AscendC::LocalTensor<T> &dst, const AscendC::LocalTensor<T> &src, const MaskSource &source,
                       F keeps) {
  constexpr int64_t kSize = sizeof(T);
  if (!in.Ok() || source.repeats == 0) return 0;
  std::vector<T> kept;
  for (int64_t repeat = 0; repeat < source.repeats; ++repeat) {
    for (int64_t element = 0; element < source.elements; ++element) {
      if (!keeps(repeat, element)) continue;
      T value;
      memcpy(&value, in.core.ub + src.start + LaneOffset(source.stride, kSize, repeat, element), sizeof value);
      kept.push_back(value);
    }
  }
  const int64_t bytes = static_cast<int64_t>(kept.size()) * kSize;
  const int64_t end = src.start + LaneOffset(source.stride, kSize, source.repeats - 1, source.elements - 1) + kSize;
  if (!in.Place(dst, "dst", 0, bytes, kBlock)) return 0;
  in.Require(Law::kOverlap, dst.start + bytes <= src.start || end <= dst.start, "dst (UB byte %lld) overlaps src0 (UB byte %lld)",
             static_cast<long long>(dst.start), static_cast<long long>(src.start));
  if (!in.Ok()) return 0;
  in.WriteBytes("dst", dst.start, bytes);
  if (bytes > 0) memcpy(in.core.ub + dst.start, kept.data(), static_cast<size_t>(bytes));
  in.core.vector.reduced = kept.size();
  return kept.size();
}

}  // namespace twin

namespace AscendC {

enum class GatherMaskMode : uint8_t { VERSION_V1 = 0, VERSION_V2 = 1 };

template <typename T>
inline void Gather(const LocalTensor<T> &dst, const LocalTensor<T> &src, const LocalTensor<uint32_t> &srcOffset, int64_t srcBaseAddr,
                   int64_t count, twin::Site site = twin::Site::Here()) {
  twin::VectorCall call("Gather", site, sizeof(T));
  if (!call.Supports(twin::In<T>(twin::kBits16 | twin::kBits32, twin::kGatherMore), twin::DtypeName<T>())) return;
  call.Count(count, true, 4294967295);
  call.Write(dst, "dst");
  twin::RunGather(call, src, srcOffset, srcBaseAddr);
}

template <typename T>
inline void Gather(const LocalTensor<T> &dst, const LocalTensor<T> &src, const LocalTensor<uint32_t> &srcOffset, int64_t srcBaseAddr,
                   uint64_t mask, int64_t repeatTime, int64_t dstRepStride, twin::Site site = twin::Site::Here()) {
  twin::GatherSliced(dst, src, srcOffset, srcBaseAddr, twin::Wide(mask), repeatTime, dstRepStride, site);
}

template <typename T>
inline void Gather(const LocalTensor<T> &dst, const LocalTensor<T> &src, const LocalTensor<uint32_t> &srcOffset, int64_t srcBaseAddr,
                   const uint64_t mask[], int64_t repeatTime, int64_t dstRepStride, twin::Site site = twin::Site::Here()) {
  twin::GatherSliced(dst, src, srcOffset, srcBaseAddr, mask, repeatTime, dstRepStride, site);
}

// Each repeat reads 8 offsets and copies the 32-byte blocks there.
template <typename T>
inline void Gatherb(const LocalTensor<T> &dst, const LocalTensor<T> &src0, const LocalTensor<uint32_t> &offset, int64_t repeatTime,
                    const GatherRepeatParams &repeatParams, twin::Site site = twin::Site::Here()) {
  twin::VectorCall call("Gatherb", site, sizeof(T));
  if (!call.Supports(twin::In<T>(twin::kBits16 | twin::kBits32, twin::kGatherMore), twin::DtypeName<T>())) return;
  call.Slice(call.width, repeatTime, true);
  call.Write(dst, "dst", call.Strides("dst", repeatParams.dstBlkStride, repeatParams.dstRepStride, 255, 255));
  if (!call.instr.Ok() || call.lanes.Empty()) return;
  twin::Instr &in = call.instr;
  const twin::VectorOperand &out = call.operand[0];
  const int64_t blocks = 8 * call.lanes.repeats, room = src0.limit - src0.start;
  if (!in.Place(src0, "src0", 0, 0, twin::kBlock) || !in.Place(offset, "offset", 0, 4 * blocks, twin::kBlock)) return;
  if (!twin::ApartFrom(call, out, offset, 4 * blocks, "offset") || !twin::ApartFrom(call, out, src0, room, "src0")) return;
  in.ReadBytes("offset", offset.start, 4 * blocks);
  for (int64_t block = 0; block < blocks; ++block) {
    uint32_t at;
    memcpy(&at, in.core.ub + offset.start + 4 * block, sizeof at);
    in.Require(twin::Law::kAlignment, at % twin::kBlock == 0, "offset %u of block %lld is not a multiple of 32 bytes", at,
               static_cast<long long>(block));
    in.Require(twin::Law::kLocalBounds, at + twin::kBlock <= room, "offset %u of block %lld is beyond src0, which has %lld bytes", at,
               static_cast<long long>(block), static_cast<long long>(room));
    if (at + twin::kBlock <= room) in.ReadBytes("src0", src0.start + at, twin::kBlock);
  }
  if (!call.Begin()) return;
  for (int64_t block = 0; block < blocks; ++block) {
    uint32_t at;
    memcpy(&at, in.core.ub + offset.start + 4 * block, sizeof at);
    if (at + twin::kBlock > room) continue;
    memcpy(out.data + (block / 8 * out.stride.repeat + block % 8 * out.stride.block) * twin::kBlock, in.core.ub + src0.start + at,
           twin::kBlock);
  }
}

template <typename T, GatherMaskMode mode = GatherMaskMode::VERSION_V2>
inline void GatherMask(const LocalTensor<T> &dst, const LocalTensor<T> &src0, const uint8_t src1Pattern, const bool reduceMode,
                       int64_t mask, const GatherMaskParams &gatherMaskParams, uint64_t &rsvdCnt, twin::Site site = twin::Site::Here()) {
  twin::Instr in("GatherMask", twin::Pipe::V, site);
  const int64_t pattern = in.InRange("src1Pattern", src1Pattern, 1, 7);
  const twin::MaskSource source = twin::OpenGatherMask(in, src0, reduceMode, mask, gatherMaskParams);
  rsvdCnt =
      twin::RunGatherMask(in, dst, src0, source, [pattern](int64_t, int64_t element) { return twin::PatternKeeps(pattern, element); });
}

// The pattern is a tensor of bits, 16- or 32-bit words like the elements; each repeat starts src1RepeatStride blocks further.
template <typename T, typename U, GatherMaskMode mode = GatherMaskMode::VERSION_V2>
inline void GatherMask(const LocalTensor<T> &dst, const LocalTensor<T> &src0, const LocalTensor<U> &src1Pattern, const bool reduceMode,
                       int64_t mask, const GatherMaskParams &gatherMaskParams, uint64_t &rsvdCnt, twin::Site site = twin::Site::Here()) {
  static_assert(sizeof(U) == sizeof(T), "the pattern's words are as wide as the elements");
  rsvdCnt = 0;
  twin::Instr in("GatherMask", twin::Pipe::V, site);
  const twin::MaskSource source = twin::OpenGatherMask(in, src0, reduceMode, mask, gatherMaskParams);
  if (!in.Ok() || source.repeats == 0) return;
  const int64_t step = gatherMaskParams.src1RepeatStride * twin::kBlock, bytes = (source.elements + 7) / 8;
  if (!in.Place(src1Pattern, "src1Pattern", 0, (source.repeats - 1) * step + bytes, twin::kBlock)) return;
  for (int64_t repeat = 0; repeat < (step == 0 ? 1 : source.repeats); ++repeat)
    in.ReadBytes("src1Pattern", src1Pattern.start + repeat * step, bytes);
  const uint8_t *bits = in.core.ub + src1Pattern.start;
  rsvdCnt = twin::RunGatherMask(in, dst, src0, source, [bits, step](int64_t repeat, int64_t element) {
    return ((bits[repeat * step + element / 8] >> (element % 8)) & 1u) != 0;
  });
}

inline int64_t GetGatherMaskRemainCount() { return static_cast<int64_t>(twin::Self().vector.reduced); }

}  // namespace AscendC
