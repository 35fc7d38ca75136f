// The common path of every vector instruction: lanes from counts or masks, operands, laws, then the lanes' arithmetic in chunks.
//
// An instruction declares its operands with strides; `Begin` checks start alignment, extents, overlap, and tells the core which
// bytes are read and written. Then `Apply` runs over contiguous runs of lanes. Lanes without mask bit keep the destination's value.
#pragma once

#include <stdint.h>
#include <string.h>

#include "twin/core.h"
#include "twin/lanes.h"
#include "twin/numerics.h"

namespace twin {

struct VectorOperand {
  const char *name = "";
  uint8_t *data = nullptr;
  int64_t offset = 0;  // byte address in the unified buffer
  int64_t size = 1;    // bytes of an element
  Stride stride;
  bool write = false;
};

// Checks run once per instruction: kept out of line, so that a kernel with many calls compiles quickly.
#define TWIN_COLD __attribute__((noinline))

// Computes `n` lanes at the operands' addresses; `scalar` is the instruction's scalar argument, if any.
using LaneLoop = void (*)(int64_t n, uint8_t *const *at, const void *scalar);

enum class OverlapRule { kStandard, kAccumulate, kDisjoint, kNarrowing };

class VectorCall {
 public:
  VectorCall(const char *api, Site site, int64_t widest) : instr(api, Pipe::V, site), width(kRepeatBytes / widest) {}

  // Law `unsupported`: the dtype is not in the chip's table for this call.
  TWIN_COLD bool Supports(bool legal, const char *dtype) {
    return instr.Require(Law::kUnsupported, legal, "dtype %s is not supported by this call on this chip", dtype);
  }

  // Lanes of the count form. Without set_mask the count comes from the mask register (counter mode).
  TWIN_COLD void Count(int64_t count, bool set_mask, int64_t largest = kCountMax) {
    if (!set_mask) {
      Registers(1);
      return;
    }
    counted = true;
    count = instr.InRange("count", count, 0, largest);
    NotEmpty("count", count);
    lanes = count > 0 ? Lanes::Count(width, count) : Lanes{};
  }

  // Lanes of the sliced form, mask as a number of lanes.
  TWIN_COLD void Slice(int64_t mask, int64_t repeat, bool set_mask, int64_t largest = 255) {
    repeat = instr.InRange("repeatTime", repeat, 0, largest);
    NotEmpty("repeatTime", repeat);
    if (!set_mask) {
      Registers(repeat);
      return;
    }
    mask = instr.InRange("mask", mask, 0, width);
    lanes = Lanes::First(width, mask, repeat);
  }

  // Lanes of the sliced form, mask as bits.
  TWIN_COLD void Slice(const uint64_t *mask, int64_t repeat, bool set_mask, int64_t largest = 255) {
    repeat = instr.InRange("repeatTime", repeat, 0, largest);
    NotEmpty("repeatTime", repeat);
    if (!set_mask) {
      Registers(repeat);
      return;
    }
    lanes = Lanes::Bits(width, mask[0], width > 64 ? mask[1] : 0, repeat);
  }

  template <typename T>
  void Read(const AscendC::LocalTensor<T> &tensor, const char *name, Stride stride = {}, int64_t align = kBlock) {
    Add(tensor, name, stride, align, false);
  }
  template <typename T>
  void Write(const AscendC::LocalTensor<T> &tensor, const char *name, Stride stride = {}, int64_t align = kBlock) {
    instr.Require(Law::kRange, stride.block != 0 || lanes.width * static_cast<int64_t>(sizeof(T)) <= kBlock,
                  "%s: a block stride of 0 is undefined for a destination", name);
    Add(tensor, name, stride, align, true);
  }

  TWIN_COLD Stride Strides(const char *operand, int64_t block, int64_t repeat, int64_t block_max, int64_t repeat_max) {
    (void)operand;
    return Stride{instr.InRange("block stride", block, 0, block_max), instr.InRange("repeat stride", repeat, 0, repeat_max)};
  }

  // Strides of an operand without gaps whose elements may be narrower than the widest type.
  Stride Dense(int64_t size) const { return Stride{1, width * size / kBlock}; }

  // Checks the overlap rule between the destination (the operand that is written) and each source, then the bytes. True: compute.
  TWIN_COLD bool Begin(OverlapRule rule = OverlapRule::kStandard) {
    if (!instr.Ok() || lanes.Empty()) return false;
    for (int i = 0; i < used; ++i) {
      if (operand[i].write) Overlap(operand[i], rule);
    }
    for (int i = 0; i < used; ++i) {
      if (!operand[i].write) Declare(operand[i]);
    }
    for (int i = 0; i < used; ++i) {
      if (operand[i].write) Declare(operand[i]);
    }
    return instr.Ok();
  }

  // Runs the loop over runs of lanes in which every operand is contiguous. `at[i]` belongs to operand i.
  TWIN_COLD void Apply(LaneLoop loop, const void *scalar = nullptr) const {
    bool joined = true;
    bool whole = true;
    for (int i = 0; i < used; ++i) {
      joined = joined && FullyContiguous(operand[i].stride, operand[i].size, width);
      whole = whole && RepeatContiguous(operand[i].stride);
    }
    ForEachRun(lanes, whole ? width : width / kRepeatBlocks, joined, [&](int64_t repeat, int64_t lane, int64_t count) {
      uint8_t *at[kMaxOperands];
      for (int i = 0; i < used; ++i) at[i] = operand[i].data + LaneOffset(operand[i].stride, operand[i].size, repeat, lane);
      loop(count, at, scalar);
    });
  }

  // First byte and end of what the lanes touch, from the operand's start.
  TWIN_COLD void Extent(const Stride &stride, int64_t size, int64_t *begin, int64_t *end) const {
    if (lanes.full && FullyContiguous(stride, size, width)) {
      *begin = 0;
      *end = lanes.Total() * size;
      return;
    }
    // Strides are not negative: the first repeat begins, one of the last two ends.
    const auto reach = [&](const LaneBits &bits, int64_t repeat) {
      const int64_t first = bits.Next(0, width, true), last = bits.Last(width);
      if (last < 0) return;
      const int64_t from = LaneOffset(stride, size, repeat, first), to = LaneOffset(stride, size, repeat, last) + size;
      *begin = from < *begin ? from : *begin;
      *end = to > *end ? to : *end;
    };
    reach(lanes.Of(0), 0);
    if (lanes.repeats > 1) reach(lanes.each, lanes.repeats - 2);
    reach(lanes.last, lanes.repeats - 1);
  }

  static constexpr int kMaxOperands = 4;
  Instr instr;
  int64_t width;
  Lanes lanes;
  bool counted = false;  // count form: one contiguous run, whose operands are identical or disjoint as a whole
  VectorOperand operand[kMaxOperands];
  int used = 0;

 private:
  void NotEmpty(const char *what, int64_t value) {
    instr.Require(Law::kNopCount, value != 0 || !kIs3510, "%s is 0, which is not guaranteed to be ignored on this chip", what);
  }

  TWIN_COLD void Registers(int64_t repeat) {
    const VectorState &state = instr.core.vector;
    if (repeat == 0) {
      lanes = Lanes{};
    } else if (state.counter) {
      const int64_t count = static_cast<int64_t>(state.mask[0] & 0xffffffffu);
      lanes = count > 0 ? Lanes::Count(width, count) : Lanes{};
    } else {
      lanes = Lanes::Bits(width, state.mask[0], state.mask[1], repeat);
    }
  }

  template <typename T>
  TWIN_COLD void Add(const AscendC::LocalTensor<T> &tensor, const char *name, Stride stride, int64_t align, bool write) {
    if (lanes.Empty() || !instr.Ok()) return;
    int64_t begin = INT64_MAX;
    int64_t end = 0;
    Extent(stride, sizeof(T), &begin, &end);
    if (!instr.Place(tensor, name, 0, end, align)) {
      instr.Refuse();
      return;
    }
    using AscendC::TPosition;
    const bool vector = tensor.position == TPosition::VECIN || tensor.position == TPosition::VECOUT ||
                        tensor.position == TPosition::VECCALC || tensor.position == TPosition::LCM;
    instr.Require(Law::kPipeType, vector, "%s is not in VECIN, VECOUT or VECCALC", name);
    VectorOperand &slot = operand[used++];
    slot.name = name;
    slot.offset = tensor.start;
    slot.data = instr.core.ub + tensor.start;
    slot.size = sizeof(T);
    slot.stride = stride;
    slot.write = write;
  }

  TWIN_COLD void Declare(const VectorOperand &slot) {
    const Stride &stride = slot.stride;
    const bool joined = FullyContiguous(stride, slot.size, width);
    // Full repeats of adjacent blocks that touch or overlap are one range; repeats on the same bytes are declared once.
    if (lanes.full && lanes.tail == width && stride.block == 1 && stride.repeat * kBlock <= width * slot.size) {
      const int64_t bytes = (lanes.repeats - 1) * stride.repeat * kBlock + width * slot.size;
      if (slot.write) instr.WriteBytes(slot.name, slot.offset, bytes);
      else instr.ReadBytes(slot.name, slot.offset, bytes);
      return;
    }
    if (lanes.full && lanes.tail == width && stride.block == 0 && stride.repeat <= 1) {  // one block for each repeat
      const int64_t bytes = ((lanes.repeats - 1) * stride.repeat + 1) * kBlock;
      if (slot.write) instr.WriteBytes(slot.name, slot.offset, bytes);
      else instr.ReadBytes(slot.name, slot.offset, bytes);
      return;
    }
    Lanes shown = lanes;
    if (stride.repeat == 0 && shown.repeats > 1) {
      shown.repeats = 1;
      shown.last = shown.each;
    }
    ForEachRun(shown, stride.block == 1 ? width : kBlock / slot.size, joined, [&](int64_t repeat, int64_t lane, int64_t count) {
      const int64_t at = slot.offset + LaneOffset(stride, slot.size, repeat, lane);
      if (slot.write) instr.WriteBytes(slot.name, at, count * slot.size);
      else instr.ReadBytes(slot.name, at, count * slot.size);
    });
  }

  void Overlap(const VectorOperand &dst, OverlapRule rule);
  bool Collides(const VectorOperand &dst, const VectorOperand &src, bool accumulates) const;
};

// Facts B.2: inside one repeat source and destination are identical or disjoint; what repeat n writes, repeat n + 1 must not read,
// except when an accumulating instruction has dst == src1 and a repeat stride of 0 there.
inline void VectorCall::Overlap(const VectorOperand &dst, OverlapRule rule) {
  int64_t dst_begin = INT64_MAX, dst_end = 0;
  Extent(dst.stride, dst.size, &dst_begin, &dst_end);
  for (int i = 0; i < used; ++i) {
    const VectorOperand &src = operand[i];
    if (src.write) continue;
    int64_t begin = INT64_MAX, end = 0;
    Extent(src.stride, src.size, &begin, &end);
    if (src.offset + end <= dst.offset + dst_begin || dst.offset + dst_end <= src.offset + begin) continue;
    bool bad;
    if (rule == OverlapRule::kDisjoint) {
      bad = true;
    } else if (rule == OverlapRule::kNarrowing && src.size != dst.size) {
      bad = src.offset != dst.offset || src.size < dst.size || !FullyContiguous(src.stride, src.size, width) ||
            !FullyContiguous(dst.stride, dst.size, width);
    } else if (counted && FullyContiguous(src.stride, src.size, width) && FullyContiguous(dst.stride, dst.size, width)) {
      bad = src.offset != dst.offset;
    } else {
      const bool second = i == used - 2;
      const bool accumulates = rule == OverlapRule::kAccumulate && second && src.offset == dst.offset &&
                               (src.stride.repeat == 0 || dst.stride.repeat == 0);
      bad = Collides(dst, src, accumulates);
    }
    instr.Require(Law::kOverlap, !bad, "%s (UB byte %lld) overlaps %s (UB byte %lld) neither identically nor not at all", dst.name,
                  static_cast<long long>(dst.offset), src.name, static_cast<long long>(src.offset));
  }
}

// True when some repeat's written bytes overlap its own source otherwise than lane for lane, or the next repeat's source.
inline bool VectorCall::Collides(const VectorOperand &dst, const VectorOperand &src, bool accumulates) const {
  const bool alike = dst.offset == src.offset && dst.size == src.size && dst.stride.block == src.stride.block &&
                     dst.stride.repeat == src.stride.repeat && dst.stride.block > 0;
  if (alike && (accumulates || dst.stride.repeat * kBlock >= (kRepeatBlocks - 1) * dst.stride.block * kBlock + kBlock)) return false;
  const int64_t grain = width / kRepeatBlocks;
  const int64_t dst_bytes = grain * dst.size, src_bytes = grain * src.size;
  for (int64_t repeat = 0; repeat < lanes.repeats; ++repeat) {
    const int64_t ahead = repeat + 1 < lanes.repeats && !accumulates ? 1 : 0;
    for (int64_t a = 0; a < width; a += grain) {
      if (lanes.Of(repeat).Next(a, a + grain, true) == a + grain) continue;
      const int64_t at = dst.offset + LaneOffset(dst.stride, dst.size, repeat, a);
      for (int64_t step = 0; step <= ahead; ++step) {
        for (int64_t b = 0; b < width; b += grain) {
          if (lanes.Of(repeat + step).Next(b, b + grain, true) == b + grain) continue;
          const int64_t from = src.offset + LaneOffset(src.stride, src.size, repeat + step, b);
          const bool apart = from + src_bytes <= at || at + dst_bytes <= from;
          const bool same = step == 0 && a == b && from == at && src_bytes == dst_bytes;
          if (!apart && !same) return true;
        }
      }
    }
  }
  return false;
}

// Arithmetic over n contiguous lanes, 16 at a time in local arrays, so that the compiler vectorises and operands may coincide.
constexpr int64_t kChunk = 16, kShort = 8;

template <typename T>
struct Chunk {
  static constexpr int64_t kLanes = kChunk;
  T lane[kLanes];
  void Load(const uint8_t *from) { memcpy(lane, from, sizeof lane); }
  void Load(const uint8_t *from, int64_t n) { memcpy(lane, from, static_cast<size_t>(n) * sizeof(T)); }
  void Store(uint8_t *to) const { memcpy(to, lane, sizeof lane); }
  void Store(uint8_t *to, int64_t n) const { memcpy(to, lane, static_cast<size_t>(n) * sizeof(T)); }
};

template <int64_t kLanes, typename D, typename S, typename F>
inline void StepUnary(int64_t i, uint8_t *dst, const uint8_t *src, F f) {
  D d[kLanes];
  S s[kLanes];
  memcpy(s, src + i * static_cast<int64_t>(sizeof(S)), sizeof s);
  for (int64_t k = 0; k < kLanes; ++k) d[k] = f(s[k]);
  memcpy(dst + i * static_cast<int64_t>(sizeof(D)), d, sizeof d);
}

template <typename D, typename S, typename F>
inline void MapUnary(int64_t n, uint8_t *dst, const uint8_t *src, F f) {
  int64_t i = 0;
  for (; i + kChunk <= n; i += kChunk) StepUnary<kChunk, D, S>(i, dst, src, f);
  for (; i + kShort <= n; i += kShort) StepUnary<kShort, D, S>(i, dst, src, f);
  for (; i < n; ++i) StepUnary<1, D, S>(i, dst, src, f);
}

template <int64_t kLanes, typename D, typename A, typename B, typename F>
inline void StepBinary(int64_t i, uint8_t *dst, const uint8_t *src0, const uint8_t *src1, F f) {
  D d[kLanes];
  A a[kLanes];
  B b[kLanes];
  memcpy(a, src0 + i * static_cast<int64_t>(sizeof(A)), sizeof a);
  memcpy(b, src1 + i * static_cast<int64_t>(sizeof(B)), sizeof b);
  for (int64_t k = 0; k < kLanes; ++k) d[k] = f(a[k], b[k]);
  memcpy(dst + i * static_cast<int64_t>(sizeof(D)), d, sizeof d);
}

template <typename D, typename A, typename B, typename F>
inline void MapBinary(int64_t n, uint8_t *dst, const uint8_t *src0, const uint8_t *src1, F f) {
  int64_t i = 0;
  for (; i + kChunk <= n; i += kChunk) StepBinary<kChunk, D, A, B>(i, dst, src0, src1, f);
  for (; i + kShort <= n; i += kShort) StepBinary<kShort, D, A, B>(i, dst, src0, src1, f);
  for (; i < n; ++i) StepBinary<1, D, A, B>(i, dst, src0, src1, f);
}

template <typename D, typename A, typename B, typename F>
inline void MapInto(int64_t n, uint8_t *dst, const uint8_t *src0, const uint8_t *src1, F f) {
  Chunk<D> d;
  Chunk<A> a;
  Chunk<B> b;
  for (int64_t i = 0; i < n; i += Chunk<D>::kLanes) {
    const int64_t now = n - i < Chunk<D>::kLanes ? n - i : Chunk<D>::kLanes;
    d.Load(dst + i * static_cast<int64_t>(sizeof(D)), now);
    a.Load(src0 + i * static_cast<int64_t>(sizeof(A)), now);
    b.Load(src1 + i * static_cast<int64_t>(sizeof(B)), now);
    for (int64_t k = 0; k < now; ++k) d.lane[k] = f(d.lane[k], a.lane[k], b.lane[k]);
    d.Store(dst + i * static_cast<int64_t>(sizeof(D)), now);
  }
}

}  // namespace twin
