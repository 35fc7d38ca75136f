// How one instruction checks its operands: placement, bounds, alignment; the bodies that do not depend on types are in checks.h.
#pragma once
#include "core.h"

namespace twin {

template <typename T>
bool Instr::Place(const AscendC::LocalTensor<T> &tensor, const char *operand, int64_t begin, int64_t end, int64_t align) {
  if (__builtin_expect(!tensor.Allocated(), 0)) {
    core.Report(Law::kLocalBounds, where, name, "%s: %s is a LocalTensor that was never allocated", name, operand);
    ok = false;
    return false;
  }
  if (tensor.buffer >= 0 && core.buffers[static_cast<size_t>(tensor.buffer)].state == BufferState::kFree)
    Require(Law::kQueue, false, "%s: %s was given back to its queue by FreeTensor", name, operand);
  if (align > 1 && __builtin_expect((tensor.start + begin) % align != 0, 0))
    Require(Law::kAlignment, false, "%s: %s starts at byte %lld of UB, which is not a multiple of %lld", name, operand,
            static_cast<long long>(tensor.start + begin), static_cast<long long>(align));
  if (__builtin_expect(tensor.start + begin < tensor.low || tensor.start + end > tensor.limit, 0))
    Require(Law::kLocalBounds, false, "%s: %s covers bytes %lld to %lld of UB, its buffer is %lld to %lld", name, operand,
            static_cast<long long>(tensor.start + begin), static_cast<long long>(tensor.start + end), static_cast<long long>(tensor.low),
            static_cast<long long>(tensor.limit));
  if (tensor.start + begin < 0 || tensor.start + end > kArena) ok = false;
  return ok;
}

template <typename T>
const T *Instr::Read(const AscendC::LocalTensor<T> &tensor, const char *operand, int64_t elements, int64_t align) {
  if (elements < 0) elements = 0;
  if (!Place(tensor, operand, 0, elements * static_cast<int64_t>(sizeof(T)), align)) return nullptr;
  ReadBytes(operand, tensor.start, elements * static_cast<int64_t>(sizeof(T)));
  return reinterpret_cast<const T *>(core.ub + tensor.start);
}

template <typename T>
T *Instr::Write(const AscendC::LocalTensor<T> &tensor, const char *operand, int64_t elements, int64_t align) {
  if (elements < 0) elements = 0;
  if (!Place(tensor, operand, 0, elements * static_cast<int64_t>(sizeof(T)), align)) return nullptr;
  if (ok) WriteBytes(operand, tensor.start, elements * static_cast<int64_t>(sizeof(T)));
  return reinterpret_cast<T *>(core.ub + tensor.start);
}

// Bytes touched in each block of a repeat, the number of blocks, and the extent check of the whole operand.
template <typename T>
bool Instr::SlicePlace(const AscendC::LocalTensor<T> &tensor, const char *operand, const Slices &s, int64_t align, uint32_t *bytes,
                       int *blocks) {
  constexpr int kLanes = static_cast<int>(kBlock / sizeof(T));
  constexpr uint32_t kLane = sizeof(T) >= 4 ? (sizeof(T) == 8 ? 0xFFu : 0xFu) : (sizeof(T) == 2 ? 0x3u : 0x1u);
  int64_t last = -1;
  *blocks = 0;
  for (int block = 0; block < 128 / kLanes; ++block) {
    uint32_t touched = 0;
    for (int lane = 0; lane < kLanes; ++lane) {
      const int bit = block * kLanes + lane;
      if ((s.mask[bit / 64] >> (bit % 64)) & 1u) touched |= kLane << (lane * static_cast<int>(sizeof(T)));
    }
    bytes[block] = touched;
    if (touched == 0) continue;
    *blocks = block + 1;
    const int64_t top = block * s.blockStride * kBlock + 32 - __builtin_clz(touched);
    last = top > last ? top : last;
  }
  const bool any = s.repeat > 0 && *blocks > 0;
  if (!any) *blocks = 0;
  return Place(tensor, operand, 0, any ? (s.repeat - 1) * s.repeatStride * kBlock + last : 0, align);
}

template <typename T>
const T *Instr::Read(const AscendC::LocalTensor<T> &tensor, const char *operand, const Slices &slices, int64_t align) {
  uint32_t bytes[128];
  int blocks = 0;
  if (!SlicePlace(tensor, operand, slices, align, bytes, &blocks)) return nullptr;
  const int64_t base = tensor.start / kBlock;
  for (int64_t r = 0; r < slices.repeat; ++r)
    for (int block = 0; block < blocks; ++block)
      if (bytes[block] != 0) ReadBlock(operand, base + r * slices.repeatStride + block * slices.blockStride, bytes[block]);
  return reinterpret_cast<const T *>(core.ub + tensor.start);
}

template <typename T>
T *Instr::Write(const AscendC::LocalTensor<T> &tensor, const char *operand, const Slices &slices, int64_t align) {
  uint32_t bytes[128];
  int blocks = 0;
  if (!SlicePlace(tensor, operand, slices, align, bytes, &blocks)) return nullptr;
  const int64_t base = tensor.start / kBlock;
  for (int64_t r = 0; r < slices.repeat && ok; ++r)
    for (int block = 0; block < blocks; ++block)
      if (bytes[block] != 0) WriteBlock(operand, base + r * slices.repeatStride + block * slices.blockStride, bytes[block]);
  return reinterpret_cast<T *>(core.ub + tensor.start);
}

}  // namespace twin
