// Bodies of the vector instructions' common path: lanes from counts and masks, extents, declared bytes, the overlap rule. Part of the
// runtime (runtime.cpp).
#pragma once

#include "twin/vector.h"

namespace twin {

TWIN_FN bool VectorCall::Supports(bool legal, const char *dtype) {
  return instr.Require(Law::kUnsupported, legal, "dtype %s is not supported by this call on this chip", dtype);
}

TWIN_FN void VectorCall::Count(int64_t count, bool set_mask, int64_t largest) {
  if (!set_mask) {
    Registers(1);
    return;
  }
  counted = true;
  count = instr.InRange("count", count, 0, largest);
  NotEmpty("count", count);
  lanes = count > 0 ? Lanes::Count(width, count) : Lanes{};
}

TWIN_FN void VectorCall::Slice(int64_t mask, int64_t repeat, bool set_mask, int64_t largest) {
  repeat = instr.InRange("repeatTime", repeat, 0, largest);
  NotEmpty("repeatTime", repeat);
  if (!set_mask) {
    Registers(repeat);
    return;
  }
  mask = instr.InRange("mask", mask, 0, width);
  lanes = Lanes::First(width, mask, repeat);
}

TWIN_FN void VectorCall::Slice(const uint64_t *mask, int64_t repeat, bool set_mask, int64_t largest) {
  repeat = instr.InRange("repeatTime", repeat, 0, largest);
  NotEmpty("repeatTime", repeat);
  if (!set_mask) {
    Registers(repeat);
    return;
  }
  lanes = Lanes::Bits(width, mask[0], width > 64 ? mask[1] : 0, repeat);
}

TWIN_FN Stride VectorCall::Strides(const char *operand, int64_t block, int64_t repeat, int64_t block_max, int64_t repeat_max) {
  (void)operand;
  return Stride{instr.InRange("block stride", block, 0, block_max), instr.InRange("repeat stride", repeat, 0, repeat_max)};
}

TWIN_FN bool VectorCall::Begin(OverlapRule rule) {
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

TWIN_FN void VectorCall::Apply(LaneLoop loop, const void *scalar) const {
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

TWIN_FN void VectorCall::Extent(const Stride &stride, int64_t size, int64_t *begin, int64_t *end) const {
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

TWIN_FN void VectorCall::Registers(int64_t repeat) {
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

TWIN_FN void VectorCall::Declare(const VectorOperand &slot) {
  const Stride &stride = slot.stride;
  const bool joined = FullyContiguous(stride, slot.size, width);
  // Full repeats of adjacent blocks that touch or overlap are one range; repeats on the same bytes are declared once.
  if (lanes.full && lanes.tail == width && stride.block == 1 && stride.repeat * kBlock <= width * slot.size) {
    const int64_t bytes = (lanes.repeats - 1) * stride.repeat * kBlock + width * slot.size;
    if (slot.write)
      instr.WriteBytes(slot.name, slot.offset, bytes);
    else
      instr.ReadBytes(slot.name, slot.offset, bytes);
    return;
  }
  if (lanes.full && lanes.tail == width && stride.block == 0 && stride.repeat <= 1) {  // one block for each repeat
    const int64_t bytes = ((lanes.repeats - 1) * stride.repeat + 1) * kBlock;
    if (slot.write)
      instr.WriteBytes(slot.name, slot.offset, bytes);
    else
      instr.ReadBytes(slot.name, slot.offset, bytes);
    return;
  }
  Lanes shown = lanes;
  if (stride.repeat == 0 && shown.repeats > 1) {
    shown.repeats = 1;
    shown.last = shown.each;
  }
  ForEachRun(shown, stride.block == 1 ? width : kBlock / slot.size, joined, [&](int64_t repeat, int64_t lane, int64_t count) {
    const int64_t at = slot.offset + LaneOffset(stride, slot.size, repeat, lane);
    if (slot.write)
      instr.WriteBytes(slot.name, at, count * slot.size);
    else
      instr.ReadBytes(slot.name, at, count * slot.size);
  });
}

// Facts B.2: inside one repeat source and destination are identical or disjoint; what repeat n writes, repeat n + 1 must not read,
// except when an accumulating instruction has dst == src1 and a repeat stride of 0 there.
TWIN_FN void VectorCall::Overlap(const VectorOperand &dst, OverlapRule rule) {
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
      const bool accumulates =
          rule == OverlapRule::kAccumulate && second && src.offset == dst.offset && (src.stride.repeat == 0 || dst.stride.repeat == 0);
      bad = Collides(dst, src, accumulates);
    }
    instr.Require(Law::kOverlap, !bad, "%s (UB byte %lld) overlaps %s (UB byte %lld) neither identically nor not at all", dst.name,
                  static_cast<long long>(dst.offset), src.name, static_cast<long long>(src.offset));
  }
}

// True when some repeat's written bytes overlap its own source otherwise than lane for lane, or the next repeat's source.
TWIN_FN bool VectorCall::Collides(const VectorOperand &dst, const VectorOperand &src, bool accumulates) const {
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

}  // namespace twin
