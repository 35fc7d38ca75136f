// Copies between global memory and the unified buffer. A copy takes effect only when something orders it.
#pragma once
#include "gm.h"
#include "half.h"

namespace AscendC {

// Fields are wide; each call checks them against the device's fields before they would be narrowed (law `range`).
struct DataCopyParams {
  DataCopyParams() = default;
  DataCopyParams(int64_t count, int64_t length, int64_t source, int64_t destination)
      : blockCount(count), blockLen(length), srcStride(source), dstStride(destination) {}
  int64_t blockCount = 1;  // u16, at most 4095
  int64_t blockLen = 0;    // u16: 32-byte blocks (DataCopy), bytes (DataCopyPad)
  union {
    int64_t srcStride = 0;  // u16: gap from the end of a block to the start of the next
    int64_t srcGap;
  };
  union {
    int64_t dstStride = 0;
    int64_t dstGap;
  };
};

struct DataCopyExtParams {
  DataCopyExtParams() = default;
  DataCopyExtParams(int64_t count, int64_t length, int64_t source, int64_t destination, int64_t reserved)
      : blockCount(count), blockLen(length), srcStride(source), dstStride(destination), rsv(reserved) {}
  int64_t blockCount = 1;  // u16, at most 4095
  int64_t blockLen = 0;    // u32: bytes, at most 2097151
  int64_t srcStride = 0;   // gap: bytes in global memory, 32-byte blocks in local memory
  int64_t dstStride = 0;
  int64_t rsv = 0;
};

struct DataCopyPadParams {
  DataCopyPadParams() = default;
  DataCopyPadParams(bool pad, int64_t left, int64_t right, uint64_t value) : isPad(pad), leftPadding(left), rightPadding(right), paddingValue(value) {}
  bool isPad = false;
  int64_t leftPadding = 0;   // u8, elements, at most 32 bytes
  int64_t rightPadding = 0;
  uint64_t paddingValue = 0;
};

template <typename T>
struct DataCopyPadExtParams {
  DataCopyPadExtParams() = default;
  DataCopyPadExtParams(bool pad, int64_t left, int64_t right, T value) : isPad(pad), leftPadding(left), rightPadding(right), paddingValue(value) {}
  bool isPad = false;
  int64_t leftPadding = 0;
  int64_t rightPadding = 0;
  T paddingValue = T(0);
};

enum class PaddingMode : uint8_t { Normal = 0, Compact = 1 };

}  // namespace AscendC

namespace twin {

enum class Fill : uint8_t { kNone, kValue, kFirst, kGarbage };

// One copy on MTE2 (global to local) or MTE3 (local to global), in bytes. Strides are from start to start of a block.
struct Copy {
  int32_t seq;
  int32_t arg;
  int64_t gm, gmStride;  // offset in the argument
  int64_t ub, ubStride;
  int64_t run, count;
  int64_t left, right;   // padding bytes
  Fill fill;
  bool compact;          // 3510: blocks lie packed in local memory and the whole is padded once
  uint8_t value[8];
  int32_t size;          // bytes of an element
  int32_t atomicOp, atomicType;
};

struct PendingCopies {
  std::vector<Copy> queue[2];  // MTE2, MTE3, in order of issue
  size_t head[2] = {0, 0};
};

TWIN_FN Core::~Core() {
  std::free(ub);
  std::free(filled);
  for (int p = 0; p < kPipes; ++p) {
    std::free(written[p]);
    std::free(readBy[p]);
  }
  delete pending;
}

TWIN_FN void Core::StartCopies() {
  if (pending == nullptr) pending = new PendingCopies;
  for (int i = 0; i < 2; ++i) {
    pending->queue[i].clear();
    pending->head[i] = 0;
  }
}

TWIN_FN void Repeat(uint8_t *to, int64_t bytes, const uint8_t *value, int64_t size) {
  for (int64_t i = 0; i < bytes; ++i) to[i] = value[i % size];
}

constexpr uint8_t kPoison = 0xFB;  // NaN in every float type

// Fills what surrounds `run` bytes of data in the block at `at`, up to 32 bytes.
TWIN_FN void PadBlock(Core &core, const Copy &c, int64_t at, int64_t run) {
  const int64_t whole = RoundUp32(c.left + run + c.right);
  uint8_t *to = core.ub + at;
  uint8_t poison[8];
  std::memset(poison, kPoison, sizeof poison);
  const uint8_t *value = c.fill == Fill::kValue ? c.value : (c.fill == Fill::kFirst ? to + c.left : poison);
  Repeat(to, c.left, value, c.size);
  Repeat(to + c.left + run, whole - c.left - run, value, c.size);
  if (c.fill == Fill::kGarbage) return;
  Instr::FillShadow(core, at, c.left, true);
  Instr::FillShadow(core, at + c.left + run, whole - c.left - run, true);
}

// Global to local: each block is filled up to 32 bytes (facts B.3, DataCopyPad).
TWIN_FN void LandRead(Core &core, const Copy &c) {
  const uint8_t *source = core.launch->args[static_cast<size_t>(c.arg)].base + c.gm;
  if (c.compact) {
    for (int64_t i = 0; i < c.count; ++i)
      std::memcpy(core.ub + c.ub + c.left + i * c.run, source + i * c.gmStride, static_cast<size_t>(c.run));
    Instr::FillShadow(core, c.ub + c.left, c.run * c.count, true);
    PadBlock(core, c, c.ub, c.run * c.count);
    return;
  }
  const int64_t body = c.left + c.run + c.right, whole = RoundUp32(body);
  const bool plain = c.left == 0 && c.right == 0 && whole == body;
  if (plain && c.gmStride == c.run && c.ubStride == c.run) {
    std::memcpy(core.ub + c.ub, source, static_cast<size_t>(c.run * c.count));
    Instr::FillShadow(core, c.ub, c.run * c.count, true);
    return;
  }
  for (int64_t i = 0; i < c.count; ++i) {
    uint8_t *to = core.ub + c.ub + i * c.ubStride;
    std::memcpy(to + c.left, source + i * c.gmStride, static_cast<size_t>(c.run));
    Instr::FillShadow(core, c.ub + i * c.ubStride + c.left, c.run, true);
    if (!plain) PadBlock(core, c, c.ub + i * c.ubStride, c.run);
  }
}

template <typename T>
void Accumulate(uint8_t *to, const uint8_t *from, int64_t bytes, int op) {
  for (int64_t i = 0; i + static_cast<int64_t>(sizeof(T)) <= bytes; i += static_cast<int64_t>(sizeof(T))) {
    T a, b, r;
    std::memcpy(&a, to + i, sizeof(T));
    std::memcpy(&b, from + i, sizeof(T));
    if (op == 1) {
      if constexpr (std::is_integral_v<T>) r = static_cast<T>(static_cast<uint64_t>(static_cast<int64_t>(a)) + static_cast<uint64_t>(static_cast<int64_t>(b)));
      else r = T(static_cast<float>(a) + static_cast<float>(b));
    } else if (op == 2) r = b > a ? b : a;
    else r = b < a ? b : a;
    std::memcpy(to + i, &r, sizeof(T));
  }
}

enum AtomicType : int32_t { kAtomicI8 = 1, kAtomicI16, kAtomicI32, kAtomicHalf, kAtomicBf16, kAtomicFloat };

TWIN_FN void AccumulateAs(uint8_t *to, const uint8_t *from, int64_t bytes, int type, int op) {
  switch (type) {
    case kAtomicI8: return Accumulate<int8_t>(to, from, bytes, op);
    case kAtomicI16: return Accumulate<int16_t>(to, from, bytes, op);
    case kAtomicI32: return Accumulate<int32_t>(to, from, bytes, op);
    case kAtomicHalf: return Accumulate<half>(to, from, bytes, op);
    case kAtomicBf16: return Accumulate<bfloat16_t>(to, from, bytes, op);
    default: return Accumulate<float>(to, from, bytes, op);
  }
}

TWIN_FN void ApplyAtomic(uint8_t *to, const AtomicCopy &copy) {
  AccumulateAs(to, copy.data.data(), static_cast<int64_t>(copy.data.size()), copy.dtype, copy.op);
}

// Local to global: exact bytes.
TWIN_FN void LandWrite(Core &core, const Copy &c) {
  uint8_t *to = core.launch->args[static_cast<size_t>(c.arg)].base + c.gm;
  for (int64_t i = 0; i < c.count; ++i) {
    const uint8_t *from = core.ub + c.ub + i * c.ubStride;
    if (c.atomicOp == 0) std::memcpy(to + i * c.gmStride, from, static_cast<size_t>(c.run));
    else if (core.launch->blockDim == 1) AccumulateAs(to + i * c.gmStride, from, c.run, c.atomicType, c.atomicOp);
    else core.globals->atomics.push_back(AtomicCopy{c.arg, c.gm + i * c.gmStride, c.atomicType, c.atomicOp, std::vector<uint8_t>(from, from + c.run)});
  }
}

TWIN_FN void Core::Land(int32_t mte2, int32_t mte3) {
  const int32_t upTo[2] = {mte2, mte3};
  for (int p = 1; p >= 0; --p) {  // writes first: a read that is ordered now may be of what they wrote
    if (upTo[p] <= landed[p]) continue;
    landed[p] = upTo[p];
    std::vector<Copy> &queue = pending->queue[p];
    size_t &head = pending->head[p];
    while (head < queue.size() && queue[head].seq <= upTo[p]) {
      if (p == 0) LandRead(*this, queue[head]);
      else LandWrite(*this, queue[head]);
      ++head;
    }
    if (head == queue.size()) {
      queue.clear();
      head = 0;
    }
  }
}

TWIN_FN const char *PositionName(AscendC::TPosition p) {
  static constexpr const char *kNames[] = {"GM", "A1", "A2", "B1", "B2", "C1", "C2", "CO1", "CO2", "VECIN", "VECOUT", "VECCALC", "LCM",
                                           "SPM", "SHM", "TSCM", "C2PIPE2GM", "C2PIPE2LOCAL", "MAX"};
  return kNames[static_cast<int>(p)];
}

using LocalBytes = AscendC::LocalTensor<uint8_t>;
using GlobalBytes = AscendC::GlobalTensor<uint8_t>;

// Checks the local side's footprint (without order): start alignment, bounds.
TWIN_FN bool PlaceCopy(Instr &in, const LocalBytes &tensor, const char *operand, Copy &c, int64_t perBlock) {
  if (c.count > 0 && c.run > 0 && !in.Place(tensor, operand, 0, (c.count - 1) * c.ubStride + perBlock, kBlock)) return false;
  c.ub = tensor.start;
  return in.Ok();
}

// Issues a copy from global to local memory. Strides, sizes and positions are already checked.
TWIN_FN void IssueRead(Instr &in, const LocalBytes &dst, const GlobalBytes &src, Copy c) {
  Core &core = in.core;
  const bool position = dst.position == AscendC::TPosition::VECIN || dst.position == AscendC::TPosition::VECOUT || (kIs3510 && dst.position == AscendC::TPosition::VECCALC);
  in.Require(Law::kPipeType, position || !dst.Allocated(), "%s: dst is in %s, global memory is copied to VECIN or VECOUT", in.name, PositionName(dst.position));
  if (c.run == 0 || c.count == 0) return;
  const int64_t whole = RoundUp32(c.left + (c.compact ? c.run * c.count : c.run) + c.right);
  if (!PlaceCopy(in, dst, "dst", c, c.compact ? whole - (c.count - 1) * c.ubStride : whole)) return;
  in.Require(Law::kOverlap, c.compact || c.count == 1 || c.ubStride >= whole, "%s: blocks of %lld bytes overlap in local memory", in.name, static_cast<long long>(whole));
  GmAccess access{0, c.run, c.gmStride, c.count, in.where, in.name, -1, false, false, false, false};
  if (!Bound(in, "src", src.arg, src.address, src.Limit(), src.start, access)) return;
  TouchGlobal(in, access);
  c.seq = in.self;
  c.arg = access.arg;
  c.gm = access.offset;
  const bool at_once = !core.On(Law::kMissingSync);
  if (c.compact) in.WriteBytes("dst", c.ub, whole, false);
  else if (c.ubStride == whole) in.WriteBytes("dst", c.ub, whole * c.count, false);
  else
    for (int64_t i = 0; i < c.count; ++i) in.WriteBytes("dst", c.ub + i * c.ubStride, whole, false);
  if (at_once) LandRead(core, c);
  else core.pending->queue[0].push_back(c);
}

TWIN_FN void IssueWrite(Instr &in, const GlobalBytes &dst, const LocalBytes &src, Copy c) {
  Core &core = in.core;
  const bool position = src.position == AscendC::TPosition::VECIN || src.position == AscendC::TPosition::VECOUT || (kIs3510 && src.position == AscendC::TPosition::VECCALC);
  in.Require(Law::kPipeType, position || !src.Allocated(), "%s: src is in %s, global memory is written from VECOUT (or VECIN)", in.name, PositionName(src.position));
  if (c.run == 0 || c.count == 0) return;
  if (!PlaceCopy(in, src, "src", c, c.run)) return;
  c.atomicOp = core.atomicOp;
  c.atomicType = core.atomicType;
  GmAccess access{0, c.run, c.gmStride, c.count, in.where, in.name, -1, true, c.atomicOp != 0, false, false};
  if (!Bound(in, "dst", dst.arg, dst.address, dst.Limit(), dst.start, access)) return;
  TouchGlobal(in, access);
  c.seq = in.self;
  c.arg = access.arg;
  c.gm = access.offset;
  if (c.ubStride == c.run) in.ReadBytes("src", c.ub, c.run * c.count);
  else
    for (int64_t i = 0; i < c.count; ++i) in.ReadBytes("src", c.ub + i * c.ubStride, c.run);
  if (!core.On(Law::kMissingSync)) LandWrite(core, c);
  else core.pending->queue[1].push_back(c);
}

template <typename T>
void GlobalAligned(Instr &in, const char *operand, const AscendC::GlobalTensor<T> &tensor) {
  if (tensor.arg < 0) return;
  const int64_t byte = tensor.address - in.core.launch->args[static_cast<size_t>(tensor.arg)].base + tensor.start;
  in.Require(Law::kAlignment, byte % static_cast<int64_t>(sizeof(T)) == 0, "%s: %s starts at byte %lld of its argument, not a multiple of %d", in.name,
             operand, static_cast<long long>(byte), static_cast<int>(sizeof(T)));
}

TWIN_FN Copy PlainCopy(int64_t run, int64_t count, int64_t gmStride, int64_t ubStride, int64_t size) {
  Copy c;
  std::memset(&c, 0, sizeof c);
  c.run = run;
  c.count = count;
  c.gmStride = gmStride;
  c.ubStride = ubStride;
  c.size = static_cast<int32_t>(size);
  return c;
}

}  // namespace twin

#include "copy.h"
