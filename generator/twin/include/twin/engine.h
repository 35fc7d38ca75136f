// The law engine's inner parts: reports, the shadow of the unified buffer, the checks of one instruction.
#pragma once
#include "core.h"

namespace twin {

TWIN_FN Core::Core() {
  const size_t blocks = static_cast<size_t>(kArena / kBlock);
  ub = static_cast<uint8_t *>(std::aligned_alloc(512, static_cast<size_t>(kArena)));
  filled = static_cast<uint32_t *>(std::calloc(blocks, sizeof(uint32_t)));
  for (int p = 0; p < kPipes; ++p) {
    written[p] = static_cast<int32_t *>(std::calloc(blocks, sizeof(int32_t)));
    readBy[p] = static_cast<int32_t *>(std::calloc(blocks, sizeof(int32_t)));
  }
}

TWIN_FN void Core::Report(Law law, Site site, const char *api, const char *format, ...) {
  if (!On(law)) return;
  for (Breach &old : breaches) {
    if (old.law == law && old.site.line == site.line && old.site.file == site.file && std::strcmp(old.api, api) == 0) {
      ++old.times;
      return;
    }
  }
  char text[512];
  va_list args;
  va_start(args, format);
  std::vsnprintf(text, sizeof text, format, args);
  va_end(args);
  breaches.push_back(Breach{law, site, api, text, index, 1});
  if (static_cast<int>(breaches.size()) >= kMaxBreaches) Stop();
}

TWIN_FN void Instr::FillShadow(Core &core, int64_t offset, int64_t bytes, bool defined) {
  if (bytes <= 0) return;
  const int64_t first = offset / kBlock, last = (offset + bytes - 1) / kBlock;
  const uint32_t head = kAllBytes << (offset % kBlock);
  const uint32_t tail = kAllBytes >> (kBlock - 1 - (offset + bytes - 1) % kBlock);
  uint32_t *mark = core.filled;
  const auto put = [mark, defined](int64_t block, uint32_t mask) { mark[block] = defined ? mark[block] | mask : mark[block] & ~mask; };
  if (first == last) {
    put(first, head & tail);
    return;
  }
  put(first, head);
  const uint32_t whole = defined ? kAllBytes : 0u;
  for (int64_t b = first + 1; b < last; ++b) mark[b] = whole;
  put(last, tail);
}

TWIN_FN void Instr::Filled(const char *operand, int64_t offset, int64_t bytes) {
  const int64_t first = offset / kBlock, last = (offset + bytes - 1) / kBlock;
  const uint32_t head = kAllBytes << (offset % kBlock);
  const uint32_t tail = kAllBytes >> (kBlock - 1 - (offset + bytes - 1) % kBlock);
  const uint32_t *mark = core.filled;
  if (first == last) {
    const uint32_t want = head & tail;
    if (__builtin_expect((mark[first] & want) != want, 0)) Uninitialised(operand, first * kBlock, mark[first], want);
    return;
  }
  uint32_t all = (mark[first] | ~head) & (mark[last] | ~tail);
  for (int64_t b = first + 1; b < last; ++b) all &= mark[b];
  if (__builtin_expect(all == kAllBytes, 1)) return;
  for (int64_t b = first; b <= last; ++b) {
    const uint32_t want = b == first ? head : (b == last ? tail : kAllBytes);
    if ((mark[b] & want) != want) {
      Uninitialised(operand, b * kBlock, mark[b], want);
      break;
    }
  }
  if (core.On(Law::kUninitialised)) Fill(offset, bytes, true);  // said once; do not repeat it for all that follows
}

TWIN_FN void Instr::Uninitialised(const char *operand, int64_t offset, uint32_t have, uint32_t want) {
  const int byte = __builtin_ctz(want & ~have);
  core.Report(Law::kUninitialised, where, name, "%s reads %s where nothing was written: byte %lld of UB", name, operand,
              static_cast<long long>(offset + byte));
  if (core.On(Law::kUninitialised)) core.filled[offset / kBlock] |= want;
}

TWIN_FN void Instr::Order(const char *operand, bool write, int64_t first, int64_t last) {
  const int32_t *mine = core.know[static_cast<int>(unit)];
  bool bad = false;
  for (int q = 0; q < kPipes; ++q) {
    const bool own = q == static_cast<int>(unit);
    if (own && InOrder()) continue;
    const int32_t limit = mine[q];
    const int32_t except = own ? self : -1;
    if (core.lastWrite[q] > limit) {
      const int32_t *mark = core.written[q];
      int32_t any = 0;
      for (int64_t b = first; b <= last; ++b) any |= (mark[b] > limit) & (mark[b] != except);
      bad |= any != 0;
    }
    if (write && core.lastRead[q] > limit) {
      const int32_t *mark = core.readBy[q];
      int32_t any = 0;
      for (int64_t b = first; b <= last; ++b) any |= (mark[b] > limit) & (mark[b] != except);
      bad |= any != 0;
    }
  }
  if (__builtin_expect(bad, 0)) Unordered(operand, write, first, last);
}

// Finds the pipe and block at fault, reports it, and then treats the pipes as ordered so that the run can go on.
TWIN_FN void Instr::Unordered(const char *operand, bool write, int64_t first, int64_t last) {
  const int me = static_cast<int>(unit);
  for (int q = 0; q < kPipes; ++q) {
    const bool own = q == me;
    if (own && InOrder()) continue;
    const int32_t limit = core.know[me][q];
    for (int kind = 0; kind < (write ? 2 : 1); ++kind) {
      const int32_t *mark = kind == 0 ? core.written[q] : core.readBy[q];
      for (int64_t b = first; b <= last; ++b) {
        if (mark[b] <= limit || (own && mark[b] == self)) continue;
        const Pipe other = static_cast<Pipe>(q);
        const Law law = own && unit == Pipe::V ? Law::kVectorDependence : Law::kMissingSync;
        const char *hazard = kind == 1 ? "write after read" : (write ? "write after write" : "read after write");
        char remedy[48];
        if (own) std::snprintf(remedy, sizeof remedy, "PipeBarrier<PIPE_%s>", PipeName(unit));
        else std::snprintf(remedy, sizeof remedy, "%s_%s flag or a queue", PipeName(other), PipeName(unit));
        core.Report(law, where, name, "%s on pipe %s %s %s at byte %lld of UB that pipe %s %s before, with no %s between (%s)", name,
                    PipeName(unit), write ? "writes" : "reads", operand, static_cast<long long>(b * kBlock), PipeName(other),
                    kind == 1 ? "reads" : "writes", remedy, hazard);
        Clock heal;
        heal.of[q] = own ? self - 1 : core.seq[q];
        core.Merge(unit, heal);
        break;
      }
    }
  }
}

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
