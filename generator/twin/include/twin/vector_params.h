// Parameter structures and enumerations of the vector instructions, under Ascend C's names.
//
// Every field is a wide signed integer: the instruction checks it against the device's field before it would be narrowed (law `range`).
#pragma once

#include <stdint.h>

namespace AscendC {

constexpr uint64_t MASK_PLACEHOLDER = 0;
constexpr uint64_t MASK_PLACEHOLDER_LIST[2] = {0, 0};
constexpr int32_t DEFAULT_BLK_STRIDE = 1;
constexpr int32_t DEFAULT_REPEAT_STRIDE = 8;
constexpr int32_t HALF_DEFAULT_REPEAT_STRIDE = 4;

enum class MaskMode : uint8_t { NORMAL = 0, COUNTER = 1 };

enum class RoundMode { CAST_NONE = 0, CAST_RINT, CAST_FLOOR, CAST_CEIL, CAST_ROUND, CAST_TRUNC, CAST_ODD };

enum class CMPMODE { LT = 0, GT, EQ, LE, GE, NE };

enum class SELMODE : uint8_t { VSEL_CMPMASK_SPR = 0, VSEL_TENSOR_SCALAR_MODE, VSEL_TENSOR_TENSOR_MODE };

enum class ReduceOrder { ORDER_VALUE_INDEX = 0, ORDER_INDEX_VALUE, ORDER_ONLY_VALUE, ORDER_ONLY_INDEX };

// Strides in 32-byte blocks, all u8 on the device.
struct BinaryRepeatParams {
  BinaryRepeatParams() = default;
  BinaryRepeatParams(int64_t dst_blk, int64_t src0_blk, int64_t src1_blk, int64_t dst_rep, int64_t src0_rep, int64_t src1_rep)
      : dstBlkStride(dst_blk),
        src0BlkStride(src0_blk),
        src1BlkStride(src1_blk),
        dstRepStride(dst_rep),
        src0RepStride(src0_rep),
        src1RepStride(src1_rep) {}
  int64_t dstBlkStride = 1;
  int64_t src0BlkStride = 1;
  int64_t src1BlkStride = 1;
  int64_t dstRepStride = 8;
  int64_t src0RepStride = 8;
  int64_t src1RepStride = 8;
};

// Block strides u16, repeat strides u8 on the device.
struct UnaryRepeatParams {
  UnaryRepeatParams() = default;
  UnaryRepeatParams(int64_t dst_blk, int64_t src_blk, int64_t dst_rep, int64_t src_rep)
      : dstBlkStride(dst_blk), srcBlkStride(src_blk), dstRepStride(dst_rep), srcRepStride(src_rep) {}
  int64_t dstBlkStride = 1;
  int64_t srcBlkStride = 1;
  int64_t dstRepStride = 8;
  int64_t srcRepStride = 8;
};

// Strides between blocks and repeats, u16 on the device; the repeat sizes are at most 4095.
struct CopyRepeatParams {
  CopyRepeatParams() = default;
  CopyRepeatParams(int64_t dst_stride, int64_t src_stride, int64_t dst_repeat, int64_t src_repeat)
      : dstStride(dst_stride), srcStride(src_stride), dstRepeatSize(dst_repeat), srcRepeatSize(src_repeat) {}
  int64_t dstStride = 1;
  int64_t srcStride = 1;
  int64_t dstRepeatSize = 8;
  int64_t srcRepeatSize = 8;
};

struct BrcbRepeatParams {
  BrcbRepeatParams() = default;
  BrcbRepeatParams(int64_t dst_blk, int64_t dst_rep) : dstBlkStride(dst_blk), dstRepStride(dst_rep) {}
  int64_t dstBlkStride = 1;
  int64_t dstRepStride = 8;
};

struct GatherRepeatParams {
  GatherRepeatParams() = default;
  GatherRepeatParams(int64_t dst_blk, int64_t dst_rep) : dstBlkStride(dst_blk), dstRepStride(dst_rep) {}
  int64_t dstBlkStride = 1;
  int64_t dstRepStride = 8;
};

// Source block stride u8, repeat u16, source repeat strides u16 and u8 (pattern) on the device.
struct GatherMaskParams {
  GatherMaskParams() = default;
  GatherMaskParams(int64_t src0_blk, int64_t repeat, int64_t src0_rep, int64_t src1_rep)
      : src0BlockStride(src0_blk), repeatTimes(repeat), src0RepeatStride(src0_rep), src1RepeatStride(src1_rep) {}
  int64_t src0BlockStride = 1;
  int64_t repeatTimes = 0;
  int64_t src0RepeatStride = 0;
  int64_t src1RepeatStride = 0;
};

// Repeat strides in blocks (u16); the half-block flags choose the upper half of a 32-byte row for 8-bit elements.
struct TransDataTo5HDParams {
  TransDataTo5HDParams() = default;
  TransDataTo5HDParams(bool dst_high, bool src_high, int64_t repeat, int64_t dst_rep, int64_t src_rep)
      : dstHighHalf(dst_high), srcHighHalf(src_high), repeatTimes(repeat), dstRepStride(dst_rep), srcRepStride(src_rep) {}
  bool dstHighHalf = false;
  bool srcHighHalf = false;
  int64_t repeatTimes = 1;
  int64_t dstRepStride = 0;
  int64_t srcRepStride = 0;
};

}  // namespace AscendC
