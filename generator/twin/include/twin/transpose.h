// Transpose of 16 x 16 two-byte elements, and TransDataTo5HD: the block transpose over lists of 16 row addresses.
//
// A row is 32 bytes. With 2-byte elements row i of the result is column i of the source; with 4-byte elements (16 rows of 8) rows 2i and
// 2i+1 are the halves of column i; with 1-byte elements half a row takes part, chosen by the high-half flags.
#pragma once

#include "twin/vector.h"

namespace twin {

constexpr int kTransRows = 16;
constexpr uint32_t kTransDtypes = kBits16 | kBits32 | kI8 | kU8;

// One 16-row transpose between copies of the rows.
template <typename T>
void TransposeRows(const T (*src)[kBlock / sizeof(T)], T (*dst)[kBlock / sizeof(T)], bool dst_high, bool src_high) {
  if constexpr (sizeof(T) == 4) {
    (void)dst_high, (void)src_high;
    for (int row = 0; row < kTransRows; ++row)
      for (int k = 0; k < 8; ++k) dst[row][k] = src[row % 2 * 8 + k][row / 2];
  } else {
    const int from = sizeof(T) == 1 && src_high ? kTransRows : 0, to = sizeof(T) == 1 && dst_high ? kTransRows : 0;
    for (int row = 0; row < kTransRows; ++row)
      for (int k = 0; k < kTransRows; ++k) dst[row][to + k] = src[k][from + row];
  }
}

// `dst` and `src` are byte addresses in the unified buffer, 32-byte aligned.
template <typename T>
void TransposeList(Instr &in, const int64_t *dst, const int64_t *src, const AscendC::TransDataTo5HDParams &p) {
  const int64_t repeats = in.InRange("repeatTimes", p.repeatTimes, 0, 255);
  const int64_t dst_step = in.InRange("dstRepStride", p.dstRepStride, 0, 65535) * kBlock;
  const int64_t src_step = in.InRange("srcRepStride", p.srcRepStride, 0, 65535) * kBlock;
  in.Require(Law::kNopCount, repeats != 0 || !kIs3510, "repeatTimes is 0, which is not guaranteed to be ignored on this chip");
  const bool low_half = sizeof(T) == 1;
  for (int row = 0; row < kTransRows && repeats > 0; ++row) {
    const int64_t dst_end = dst[row] + (repeats - 1) * dst_step + kBlock, src_end = src[row] + (repeats - 1) * src_step + kBlock;
    in.Require(Law::kAlignment, dst[row] % kBlock == 0 && src[row] % kBlock == 0,
               "row %d: dst byte %lld or src byte %lld is not 32-byte aligned", row, static_cast<long long>(dst[row]),
               static_cast<long long>(src[row]));
    in.Require(Law::kLocalBounds, dst[row] >= 0 && src[row] >= 0 && dst_end <= in.core.ubBytes && src_end <= in.core.ubBytes,
               "row %d leaves the unified buffer", row);
    if (dst[row] < 0 || src[row] < 0 || dst_end > kArena || src_end > kArena) in.Refuse();
  }
  if (!in.Ok()) return;
  for (int64_t repeat = 0; repeat < repeats; ++repeat) {
    T from[kTransRows][kBlock / sizeof(T)], to[kTransRows][kBlock / sizeof(T)];
    const int64_t src_part = low_half && p.srcHighHalf ? kBlock / 2 : 0, dst_part = low_half && p.dstHighHalf ? kBlock / 2 : 0;
    const int64_t bytes = low_half ? kBlock / 2 : kBlock;
    for (int row = 0; row < kTransRows; ++row) {
      in.ReadBytes("src", src[row] + repeat * src_step + src_part, bytes);
      memcpy(from[row], in.core.ub + src[row] + repeat * src_step, kBlock);
    }
    for (int row = 0; row < kTransRows; ++row) memcpy(to[row], in.core.ub + dst[row] + repeat * dst_step, kBlock);
    TransposeRows<T>(from, to, p.dstHighHalf, p.srcHighHalf);
    for (int row = 0; row < kTransRows; ++row) {
      in.WriteBytes("dst", dst[row] + repeat * dst_step + dst_part, bytes);
      memcpy(in.core.ub + dst[row] + repeat * dst_step, to[row], kBlock);
    }
  }
}

}  // namespace twin

namespace AscendC {

constexpr int NCHW_CONV_ADDR_LIST_SIZE = 16;

template <typename T>
inline void TransDataTo5HD(uint64_t dstList[NCHW_CONV_ADDR_LIST_SIZE], uint64_t srcList[NCHW_CONV_ADDR_LIST_SIZE],
                           const TransDataTo5HDParams &nchwconvParams, twin::Site site = twin::Site::Here()) {
  twin::Instr in("TransDataTo5HD", twin::Pipe::V, site);
  in.Require(twin::Law::kUnsupported, twin::In<T>(twin::kTransDtypes), "dtype %s is not supported by this call", twin::DtypeName<T>());
  int64_t dst[twin::kTransRows], src[twin::kTransRows];
  for (int row = 0; row < twin::kTransRows; ++row) {
    dst[row] = twin::Wide(dstList[row]);
    src[row] = twin::Wide(srcList[row]);
  }
  if (in.Ok()) twin::TransposeList<T>(in, dst, src, nchwconvParams);
}

template <typename T>
inline void TransDataTo5HD(const LocalTensor<T> (&dstList)[NCHW_CONV_ADDR_LIST_SIZE],
                           const LocalTensor<T> (&srcList)[NCHW_CONV_ADDR_LIST_SIZE], const TransDataTo5HDParams &nchwconvParams,
                           twin::Site site = twin::Site::Here()) {
  twin::Instr in("TransDataTo5HD", twin::Pipe::V, site);
  in.Require(twin::Law::kUnsupported, twin::In<T>(twin::kTransDtypes), "dtype %s is not supported by this call", twin::DtypeName<T>());
  int64_t dst[twin::kTransRows], src[twin::kTransRows];
  for (int row = 0; row < twin::kTransRows && in.Ok(); ++row) {
    const int64_t more = nchwconvParams.repeatTimes > 1 ? nchwconvParams.repeatTimes - 1 : 0;
    in.Place(dstList[row], "dst", 0, more * nchwconvParams.dstRepStride * twin::kBlock + twin::kBlock, twin::kBlock);
    in.Place(srcList[row], "src", 0, more * nchwconvParams.srcRepStride * twin::kBlock + twin::kBlock, twin::kBlock);
    dst[row] = dstList[row].start;
    src[row] = srcList[row].start;
  }
  if (in.Ok()) twin::TransposeList<T>(in, dst, src, nchwconvParams);
}

// 16 x 16 elements of two bytes.
template <typename T>
inline void Transpose(const LocalTensor<T> &dst, const LocalTensor<T> &src, twin::Site site = twin::Site::Here()) {
  twin::Instr in("Transpose", twin::Pipe::V, site);
  in.Require(twin::Law::kUnsupported, twin::In<T>(twin::kF16 | twin::kI16 | twin::kU16, twin::kBf16),
             "dtype %s is not supported by this call", twin::DtypeName<T>());
  in.Require(twin::Law::kOverlap, dst.start == src.start || dst.start + 512 <= src.start || src.start + 512 <= dst.start,
             "dst and src overlap neither identically nor not at all");
  if constexpr (sizeof(T) == 2) {
    if (!in.Ok() || !in.Place(dst, "dst", 0, 512, twin::kBlock) || !in.Place(src, "src", 0, 512, twin::kBlock)) return;
    int64_t to[twin::kTransRows], from[twin::kTransRows];
    for (int row = 0; row < twin::kTransRows; ++row) {
      to[row] = dst.start + row * twin::kBlock;
      from[row] = src.start + row * twin::kBlock;
    }
    twin::TransposeList<T>(in, to, from, TransDataTo5HDParams(false, false, 1, 0, 0));
  }
}

}  // namespace AscendC
