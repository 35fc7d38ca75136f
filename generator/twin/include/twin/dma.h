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

void Repeat(uint8_t *to, int64_t bytes, const uint8_t *value, int64_t size);

constexpr uint8_t kPoison = 0xFB;  // NaN in every float type

// Fills what surrounds `run` bytes of data in the block at `at`, up to 32 bytes.
void PadBlock(Core &core, const Copy &c, int64_t at, int64_t run);

// Global to local: each block is filled up to 32 bytes (facts B.3, DataCopyPad).
void LandRead(Core &core, const Copy &c);

enum AtomicType : int32_t { kAtomicI8 = 1, kAtomicI16, kAtomicI32, kAtomicHalf, kAtomicBf16, kAtomicFloat };

void AccumulateAs(uint8_t *to, const uint8_t *from, int64_t bytes, int type, int op);

void ApplyAtomic(uint8_t *to, const AtomicCopy &copy);

// Local to global: exact bytes.
void LandWrite(Core &core, const Copy &c);

inline const char *PositionName(AscendC::TPosition p) {
  static constexpr const char *kNames[] = {"GM", "A1", "A2", "B1", "B2", "C1", "C2", "CO1", "CO2", "VECIN", "VECOUT", "VECCALC", "LCM",
                                           "SPM", "SHM", "TSCM", "C2PIPE2GM", "C2PIPE2LOCAL", "MAX"};
  return kNames[static_cast<int>(p)];
}

using LocalBytes = AscendC::LocalTensor<uint8_t>;
using GlobalBytes = AscendC::GlobalTensor<uint8_t>;

// Checks the local side's footprint (without order): start alignment, bounds.
bool PlaceCopy(Instr &in, const LocalBytes &tensor, const char *operand, Copy &c, int64_t perBlock);

// Issues a copy from global to local memory. Strides, sizes and positions are already checked.
void IssueRead(Instr &in, const LocalBytes &dst, const GlobalBytes &src, Copy c);

void IssueWrite(Instr &in, const GlobalBytes &dst, const LocalBytes &src, Copy c);

template <typename T>
void GlobalAligned(Instr &in, const char *operand, const AscendC::GlobalTensor<T> &tensor) {
  if (tensor.arg < 0) return;
  const int64_t byte = tensor.address - in.core.launch->args[static_cast<size_t>(tensor.arg)].base + tensor.start;
  in.Require(Law::kAlignment, byte % static_cast<int64_t>(sizeof(T)) == 0, "%s: %s starts at byte %lld of its argument, not a multiple of %d", in.name,
             operand, static_cast<long long>(byte), static_cast<int>(sizeof(T)));
}

inline Copy PlainCopy(int64_t run, int64_t count, int64_t gmStride, int64_t ubStride, int64_t size) {
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
