// The public copy calls: DataCopy, DataCopyPad, atomic modes, the data cache.
#pragma once
#include "dma.h"

namespace twin {

constexpr int64_t kMaxBlockCount = 4095, kMaxU16 = 65535, kMaxPadLen = 2097151, kMaxU32 = 4294967295ll;

template <template <typename> class Tensor, typename T>
Tensor<uint8_t> BytesOf(const Tensor<T> &tensor) {
  return tensor.template ReinterpretCast<uint8_t>();
}

// Count form: whole 32-byte blocks only, the rest is silently not copied.
template <typename T>
Copy CountCopy(Instr &in, int64_t count) {
  count = in.InRange("count", count, 0, kMaxU32);
  const int64_t bytes = count * static_cast<int64_t>(sizeof(T)) / kBlock * kBlock;
  return PlainCopy(bytes, 1, bytes, bytes, sizeof(T));
}

// Block form of DataCopy: lengths and gaps in 32-byte blocks.
template <typename T>
Copy BlockCopy(Instr &in, const AscendC::DataCopyParams &p, bool toLocal) {
  const int64_t count = in.InRange("blockCount", p.blockCount, 0, kMaxBlockCount);
  const int64_t run = in.InRange("blockLen", p.blockLen, 0, kMaxU16) * kBlock;
  const int64_t from = in.InRange("srcStride", p.srcStride, 0, kMaxU16) * kBlock, to = in.InRange("dstStride", p.dstStride, 0, kMaxU16) * kBlock;
  return PlainCopy(run, count, run + (toLocal ? from : to), run + (toLocal ? to : from), sizeof(T));
}

// DataCopyPad: lengths in bytes; gaps in bytes on the global side, in 32-byte blocks on the local side.
template <typename T>
Copy PadCopy(Instr &in, int64_t blockCount, int64_t blockLen, int64_t maxLen, int64_t globalGap, int64_t localGap, const char *globalName,
             const char *localName, int64_t maxGap, int64_t edge) {
  const int64_t count = in.InRange("blockCount", blockCount, 0, kMaxBlockCount);
  const int64_t run = in.InRange("blockLen", blockLen, 0, maxLen);
  in.Require(Law::kRange, run % static_cast<int64_t>(sizeof(T)) == 0, "%s: blockLen is %lld bytes, not a multiple of the element's %d", in.name,
             static_cast<long long>(run), static_cast<int>(sizeof(T)));
  const int64_t lowest = kIs3510 && maxGap > kMaxU16 ? -run : 0;
  const int64_t highest = kIs3510 && maxGap > kMaxU16 ? (1ll << 40) - 1 : maxGap;
  const int64_t global = in.InRange(globalName, globalGap, lowest, highest);
  const int64_t local = in.InRange(localName, localGap, 0, kIs3510 || maxGap <= kMaxU16 ? kMaxU16 : kMaxU32);
  return PlainCopy(run, count, run + global, RoundUp32(run + edge) + local * kBlock, sizeof(T));
}

template <typename T>
void Padding(Instr &in, Copy &c, bool isPad, int64_t left, int64_t right, const void *value, int64_t localGap) {
  const int64_t most = kBlock / static_cast<int64_t>(sizeof(T));
  c.left = in.InRange("leftPadding", left, 0, most) * static_cast<int64_t>(sizeof(T));
  c.right = in.InRange("rightPadding", right, 0, most) * static_cast<int64_t>(sizeof(T));
  const Core &core = in.core;
  c.fill = isPad || (core.padValueSet && c.left + c.right > 0) ? Fill::kValue : (c.left == 0 && c.right == 0 ? Fill::kFirst : Fill::kGarbage);
  std::memset(c.value, 0, sizeof c.value);
  std::memcpy(c.value, isPad ? value : core.padValue, sizeof(T));
  if (sizeof(T) == 8 && isPad) {
    bool zero = true;
    for (const uint8_t byte : c.value) zero = zero && byte == 0;
    in.Require(Law::kRange, zero, "%s: paddingValue of a 64-bit type must be 0", in.name);
  }
  c.ubStride = RoundUp32(c.left + c.run + c.right) + localGap * kBlock;
}

inline void Compact(Copy &c) {
  c.compact = true;
  c.ubStride = c.run;
}

template <typename T>
constexpr int32_t AtomicTypeOf() {
  if constexpr (std::is_same_v<T, int8_t>) return kAtomicI8;
  else if constexpr (std::is_same_v<T, int16_t>) return kAtomicI16;
  else if constexpr (std::is_same_v<T, int32_t>) return kAtomicI32;
  else if constexpr (std::is_same_v<T, half>) return kAtomicHalf;
  else if constexpr (std::is_same_v<T, bfloat16_t>) return kAtomicBf16;
  else if constexpr (std::is_same_v<T, float>) return kAtomicFloat;
  else return 0;
}

template <typename T>
void SetAtomic(const char *api, int op, Site site) {
  Core &core = Self();
  if (AtomicTypeOf<T>() == 0) {
    core.Report(Law::kUnsupported, site, api, "%s: the element type has no atomic copy", api);
    return;
  }
  core.atomicOp = op;
  core.atomicType = AtomicTypeOf<T>();
  core.atomicSite = site;
}

}  // namespace twin

namespace AscendC {

template <typename T>
void DataCopy(const LocalTensor<T> &dst, const GlobalTensor<T> &src, const int64_t &count, twin::Site site = twin::Site::Here()) {
  twin::Instr in("DataCopy", twin::Pipe::MTE2, site);
  twin::GlobalAligned(in, "src", src);
  const twin::Copy copy = twin::CountCopy<T>(in, count);
  if (in.Ok()) twin::IssueRead(in, twin::BytesOf(dst), twin::BytesOf(src), copy);
}

template <typename T>
void DataCopy(const GlobalTensor<T> &dst, const LocalTensor<T> &src, const int64_t &count, twin::Site site = twin::Site::Here()) {
  twin::Instr in("DataCopy", twin::Pipe::MTE3, site);
  twin::GlobalAligned(in, "dst", dst);
  const twin::Copy copy = twin::CountCopy<T>(in, count);
  if (in.Ok()) twin::IssueWrite(in, twin::BytesOf(dst), twin::BytesOf(src), copy);
}

template <typename T>
void DataCopy(const LocalTensor<T> &dst, const GlobalTensor<T> &src, const DataCopyParams &params, twin::Site site = twin::Site::Here()) {
  twin::Instr in("DataCopy", twin::Pipe::MTE2, site);
  twin::GlobalAligned(in, "src", src);
  const twin::Copy copy = twin::BlockCopy<T>(in, params, true);
  if (in.Ok()) twin::IssueRead(in, twin::BytesOf(dst), twin::BytesOf(src), copy);
}

template <typename T>
void DataCopy(const GlobalTensor<T> &dst, const LocalTensor<T> &src, const DataCopyParams &params, twin::Site site = twin::Site::Here()) {
  twin::Instr in("DataCopy", twin::Pipe::MTE3, site);
  twin::GlobalAligned(in, "dst", dst);
  const twin::Copy copy = twin::BlockCopy<T>(in, params, false);
  if (in.Ok()) twin::IssueWrite(in, twin::BytesOf(dst), twin::BytesOf(src), copy);
}

// Local to local, on the vector unit.
template <typename T>
void DataCopy(const LocalTensor<T> &dst, const LocalTensor<T> &src, const DataCopyParams &params, twin::Site site = twin::Site::Here()) {
  twin::Instr in("DataCopy", twin::Pipe::V, site);
  const twin::Copy c = twin::BlockCopy<T>(in, params, true);  // gmStride: source, ubStride: destination
  if (!in.Ok() || c.run == 0 || c.count == 0) return;
  if (!in.Place(src, "src", 0, (c.count - 1) * c.gmStride + c.run, twin::kBlock)) return;
  if (!in.Place(dst, "dst", 0, (c.count - 1) * c.ubStride + c.run, twin::kBlock)) return;
  const int64_t srcEnd = src.start + (c.count - 1) * c.gmStride + c.run, dstEnd = dst.start + (c.count - 1) * c.ubStride + c.run;
  const bool same = src.start == dst.start && c.gmStride == c.ubStride;
  if (!in.Require(twin::Law::kOverlap, same || srcEnd <= dst.start || dstEnd <= src.start, "DataCopy: src and dst overlap")) return;
  for (int64_t i = 0; i < c.count; ++i) in.ReadBytes("src", src.start + i * c.gmStride, c.run);
  for (int64_t i = 0; i < c.count; ++i) in.WriteBytes("dst", dst.start + i * c.ubStride, c.run);
  for (int64_t i = 0; i < c.count; ++i)
    std::memmove(in.core.ub + dst.start + i * c.ubStride, in.core.ub + src.start + i * c.gmStride, static_cast<size_t>(c.run));
}

template <typename T>
void DataCopy(const LocalTensor<T> &dst, const LocalTensor<T> &src, const int64_t &count, twin::Site site = twin::Site::Here()) {
  const int64_t blocks = count * static_cast<int64_t>(sizeof(T)) / twin::kBlock;
  DataCopy(dst, src, DataCopyParams(1, blocks, 0, 0), site);
}

template <typename T, PaddingMode mode = PaddingMode::Normal>
void DataCopyPad(const LocalTensor<T> &dst, const GlobalTensor<T> &src, const DataCopyExtParams &params, const DataCopyPadExtParams<T> &pad,
                 twin::Site site = twin::Site::Here()) {
  twin::Instr in("DataCopyPad", twin::Pipe::MTE2, site);
  in.Require(twin::Law::kUnsupported, mode == PaddingMode::Normal || twin::kIs3510, "DataCopyPad: PaddingMode::Compact exists on 3510 only");
  in.Require(twin::Law::kRange, params.rsv == 0, "DataCopyPad: rsv is %lld, the reserved field must be 0", static_cast<long long>(params.rsv));
  twin::Copy copy = twin::PadCopy<T>(in, params.blockCount, params.blockLen, twin::kMaxPadLen, params.srcStride, params.dstStride, "srcStride",
                                     "dstStride", twin::kMaxU32, 0);
  twin::Padding<T>(in, copy, pad.isPad, pad.leftPadding, pad.rightPadding, &pad.paddingValue, params.dstStride);
  if (mode == PaddingMode::Compact) twin::Compact(copy);
  if (in.Ok()) twin::IssueRead(in, twin::BytesOf(dst), twin::BytesOf(src), copy);
}

template <typename T>
void DataCopyPad(const LocalTensor<T> &dst, const GlobalTensor<T> &src, const DataCopyParams &params, const DataCopyPadParams &pad,
                 twin::Site site = twin::Site::Here()) {
  twin::Instr in("DataCopyPad", twin::Pipe::MTE2, site);
  twin::Copy copy = twin::PadCopy<T>(in, params.blockCount, params.blockLen, twin::kMaxU16, params.srcStride, params.dstStride, "srcStride",
                                     "dstStride", twin::kMaxU16, 0);
  twin::Padding<T>(in, copy, pad.isPad, pad.leftPadding, pad.rightPadding, &pad.paddingValue, params.dstStride);
  if (in.Ok()) twin::IssueRead(in, twin::BytesOf(dst), twin::BytesOf(src), copy);
}

template <typename T, PaddingMode mode = PaddingMode::Normal>
void DataCopyPad(const GlobalTensor<T> &dst, const LocalTensor<T> &src, const DataCopyExtParams &params, twin::Site site = twin::Site::Here()) {
  twin::Instr in("DataCopyPad", twin::Pipe::MTE3, site);
  in.Require(twin::Law::kUnsupported, mode == PaddingMode::Normal || twin::kIs3510, "DataCopyPad: PaddingMode::Compact exists on 3510 only");
  in.Require(twin::Law::kRange, params.rsv == 0, "DataCopyPad: rsv is %lld, the reserved field must be 0", static_cast<long long>(params.rsv));
  twin::Copy copy = twin::PadCopy<T>(in, params.blockCount, params.blockLen, twin::kMaxPadLen, params.dstStride, params.srcStride, "dstStride",
                                     "srcStride", twin::kMaxU32, 0);
  if (mode == PaddingMode::Compact) twin::Compact(copy);
  if (in.Ok()) twin::IssueWrite(in, twin::BytesOf(dst), twin::BytesOf(src), copy);
}

template <typename T>
void DataCopyPad(const GlobalTensor<T> &dst, const LocalTensor<T> &src, const DataCopyParams &params, twin::Site site = twin::Site::Here()) {
  twin::Instr in("DataCopyPad", twin::Pipe::MTE3, site);
  twin::Copy copy = twin::PadCopy<T>(in, params.blockCount, params.blockLen, twin::kMaxU16, params.dstStride, params.srcStride, "dstStride",
                                     "srcStride", twin::kMaxU16, 0);
  if (in.Ok()) twin::IssueWrite(in, twin::BytesOf(dst), twin::BytesOf(src), copy);
}

// What DataCopyPad fills its padding with when isPad is false.
template <typename T>
void SetPadValue(T value) {
  twin::Core &core = twin::Self();
  std::memset(core.padValue, 0, sizeof core.padValue);
  std::memcpy(core.padValue, &value, sizeof(T));
  core.padValueSet = true;
}

// Following copies to global memory accumulate.
template <typename T>
void SetAtomicAdd(twin::Site site = twin::Site::Here()) {
  twin::SetAtomic<T>("SetAtomicAdd", 1, site);
}
template <typename T>
void SetAtomicMax(twin::Site site = twin::Site::Here()) {
  twin::SetAtomic<T>("SetAtomicMax", 2, site);
}
template <typename T>
void SetAtomicMin(twin::Site site = twin::Site::Here()) {
  twin::SetAtomic<T>("SetAtomicMin", 3, site);
}
inline void SetAtomicNone() { twin::Self().atomicOp = 0; }
inline void DisableDmaAtomic() { twin::Self().atomicOp = 0; }

enum class CacheLine : uint64_t { SINGLE_CACHE_LINE = 0, ENTIRE_DATA_CACHE = 1 };
enum class DcciDst : uint64_t { CACHELINE_ALL = 0, CACHELINE_UB, CACHELINE_OUT, CACHELINE_ATOMIC };

// Writes the line (or all lines) back and drops it.
template <typename T, CacheLine entire = CacheLine::SINGLE_CACHE_LINE, DcciDst destination = DcciDst::CACHELINE_ALL>
void DataCacheCleanAndInvalid(const GlobalTensor<T> &tensor) {
  if (tensor.arg < 0) return;
  const int64_t byte = tensor.address - twin::Self().launch->args[static_cast<size_t>(tensor.arg)].base + tensor.start;
  twin::InvalidateLines(twin::Self(), tensor.arg, byte, entire == CacheLine::ENTIRE_DATA_CACHE);
}
template <typename T, CacheLine entire = CacheLine::SINGLE_CACHE_LINE>
void DataCacheCleanAndInvalid(const GlobalTensor<T> &tensor) {
  DataCacheCleanAndInvalid<T, entire, DcciDst::CACHELINE_ALL>(tensor);
}

}  // namespace AscendC
