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

// Computes `n` lanes at the operands' addresses; `scalar` is the instruction's scalar argument, if any.
using LaneLoop = void (*)(int64_t n, uint8_t *const *at, const void *scalar);

enum class OverlapRule { kStandard, kAccumulate, kDisjoint, kNarrowing };

class VectorCall {
 public:
  VectorCall(const char *api, Site site, int64_t widest) : instr(api, Pipe::V, site), width(kRepeatBytes / widest) {}

  // Law `unsupported`: the dtype is not in the chip's table for this call.
  bool Supports(bool legal, const char *dtype);

  // Lanes of the count form. Without set_mask the count comes from the mask register (counter mode).
  void Count(int64_t count, bool set_mask, int64_t largest = kCountMax);

  // Lanes of the sliced form, mask as a number of lanes.
  void Slice(int64_t mask, int64_t repeat, bool set_mask, int64_t largest = 255);

  // Lanes of the sliced form, mask as bits.
  void Slice(const uint64_t *mask, int64_t repeat, bool set_mask, int64_t largest = 255);

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

  Stride Strides(const char *operand, int64_t block, int64_t repeat, int64_t block_max, int64_t repeat_max);

  // Strides of an operand without gaps whose elements may be narrower than the widest type.
  Stride Dense(int64_t size) const { return Stride{1, width * size / kBlock}; }

  // Checks the overlap rule between the destination (the operand that is written) and each source, then the bytes. True: compute.
  bool Begin(OverlapRule rule = OverlapRule::kStandard);

  // Runs the loop over runs of lanes in which every operand is contiguous. `at[i]` belongs to operand i.
  void Apply(LaneLoop loop, const void *scalar = nullptr) const;

  // First byte and end of what the lanes touch, from the operand's start.
  void Extent(const Stride &stride, int64_t size, int64_t *begin, int64_t *end) const;

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

  void Registers(int64_t repeat);

  template <typename T>
  __attribute__((noinline)) void Add(const AscendC::LocalTensor<T> &tensor, const char *name, Stride stride, int64_t align, bool write) {
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

  void Declare(const VectorOperand &slot);

  void Overlap(const VectorOperand &dst, OverlapRule rule);
  bool Collides(const VectorOperand &dst, const VectorOperand &src, bool accumulates) const;
};

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

#ifndef TWIN_SPLIT
#include "twin/vector_checks.h"
#endif
