// Which lanes of which repeats an instruction works on: count form, mask count, mask bits, and the mask registers.
//
// One repeat is 8 blocks of 32 bytes, counted in the widest of the instruction's element types (facts B.2).
#pragma once

#include <stdint.h>

#include "twin/core.h"
#include "twin/vector_params.h"

namespace twin {

constexpr int64_t kRepeatBytes = 256;
constexpr int64_t kRepeatBlocks = 8;
constexpr int64_t kCountMax = 2147483647;

// Steps of one operand in 32-byte blocks: between the blocks of a repeat, and between repeats.
struct Stride {
  int64_t block = 1;
  int64_t repeat = kRepeatBlocks;
};

// Active lanes of one repeat as bits, lane 0 lowest; 256 lanes are enough for 8-bit elements.
struct LaneBits {
  uint64_t word[4] = {0, 0, 0, 0};

  static LaneBits First(int64_t lanes) {
    LaneBits bits;
    for (int64_t i = 0; i < 4; ++i) {
      const int64_t left = lanes - 64 * i;
      bits.word[i] = left >= 64 ? ~uint64_t{0} : (left > 0 ? (uint64_t{1} << left) - 1 : 0);
    }
    return bits;
  }

  bool Has(int64_t lane) const { return (word[lane >> 6] >> (lane & 63)) & 1u; }

  // Last lane below `width` whose bit is set, or -1.
  int64_t Last(int64_t width) const {
    for (int64_t i = 3; i >= 0; --i) {
      const int64_t keep = width - 64 * i;
      const uint64_t bits = keep >= 64 ? word[i] : (keep > 0 ? word[i] & ((uint64_t{1} << keep) - 1) : 0);
      if (bits != 0) return 64 * i + 63 - __builtin_clzll(bits);
    }
    return -1;
  }

  // First lane at or after `lane` whose bit equals `value`, or `width`.
  int64_t Next(int64_t lane, int64_t width, bool value) const {
    while (lane < width) {
      const uint64_t rest = (value ? word[lane >> 6] : ~word[lane >> 6]) >> (lane & 63);
      if (rest != 0) {
        const int64_t found = lane + __builtin_ctzll(rest);
        return found < width ? found : width;
      }
      lane = (lane | 63) + 1;
    }
    return width;
  }
};

// The lanes of a whole instruction. Every repeat but the last has the lanes `each`; the last one has `last`.
struct Lanes {
  int64_t width = 0;
  int64_t repeats = 0;
  LaneBits each;
  LaneBits last;
  bool full = false;  // `each` has all lanes and `last` is a prefix of `tail` lanes
  int64_t tail = 0;

  bool Empty() const { return repeats == 0; }
  int64_t Total() const { return repeats == 0 ? 0 : (repeats - 1) * width + tail; }
  const LaneBits &Of(int64_t repeat) const { return repeat + 1 == repeats ? last : each; }

  // `count` elements without gaps (the count form and counter mode).
  static Lanes Count(int64_t width, int64_t count) {
    Lanes lanes;
    lanes.width = width;
    lanes.repeats = (count + width - 1) / width;
    lanes.tail = count - (lanes.repeats - 1) * width;
    lanes.each = LaneBits::First(width);
    lanes.last = LaneBits::First(lanes.tail);
    lanes.full = true;
    return lanes;
  }

  // The first `active` lanes of each of `repeats` repeats.
  static Lanes First(int64_t width, int64_t active, int64_t repeats) {
    Lanes lanes;
    lanes.width = width;
    lanes.repeats = repeats;
    lanes.each = LaneBits::First(active);
    lanes.last = lanes.each;
    lanes.full = active == width;
    lanes.tail = active;
    return lanes;
  }

  // The lanes whose bit is set in low (0..63) and high (64..127).
  static Lanes Bits(int64_t width, uint64_t low, uint64_t high, int64_t repeats) {
    Lanes lanes = First(width, width, repeats);
    lanes.each.word[0] = width >= 64 ? low : low & ((uint64_t{1} << width) - 1);
    lanes.each.word[1] = width >= 128 ? high : 0;
    lanes.each.word[2] = lanes.each.word[3] = 0;
    lanes.last = lanes.each;
    lanes.full = lanes.each.Next(0, width, false) == width;
    return lanes;
  }
};

// Byte offset of a lane of an operand with elements of `size` bytes.
inline int64_t LaneOffset(const Stride &stride, int64_t size, int64_t repeat, int64_t lane) {
  const int64_t per_block = kBlock / size;
  return (repeat * stride.repeat + lane / per_block * stride.block) * kBlock + lane % per_block * size;
}

// True when a repeat of `width` lanes is one run of bytes, and when consecutive repeats adjoin.
inline bool RepeatContiguous(const Stride &stride) { return stride.block == 1; }
inline bool FullyContiguous(const Stride &stride, int64_t size, int64_t width) {
  return stride.block == 1 && stride.repeat * kBlock == width * size;
}

// Calls f(repeat, lane, count) for every run of active lanes. Runs end at multiples of `grain` lanes; with `joined` a full
// instruction is a single run.
template <typename F>
inline void ForEachRun(const Lanes &lanes, int64_t grain, bool joined, F f) {
  if (lanes.Empty()) return;
  if (joined && lanes.full) {
    f(int64_t{0}, int64_t{0}, lanes.Total());
    return;
  }
  for (int64_t repeat = 0; repeat < lanes.repeats; ++repeat) {
    const LaneBits &bits = lanes.Of(repeat);
    int64_t lane = bits.Next(0, lanes.width, true);
    while (lane < lanes.width) {
      const int64_t end = bits.Next(lane, lanes.width, false);
      while (lane < end) {
        const int64_t stop = lane / grain * grain + grain;
        const int64_t count = (stop < end ? stop : end) - lane;
        f(repeat, lane, count);
        lane += count;
      }
      lane = bits.Next(end, lanes.width, true);
    }
  }
}

}  // namespace twin
