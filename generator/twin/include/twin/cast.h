// Cast: conversion between dtypes, the pairs and rounding modes of each chip (facts B.3).
//
// Masks and repeats are counted in the wider type; the narrower operand's blocks hold as many lanes as its size allows.
#pragma once

#include "twin/rounding.h"
#include "twin/vector.h"

namespace twin {

constexpr uint32_t ModeBit(RoundMode mode) { return 1u << static_cast<uint32_t>(mode); }
constexpr uint32_t kNone = ModeBit(RoundMode::CAST_NONE);
constexpr uint32_t kRintToTrunc = ModeBit(RoundMode::CAST_RINT) | ModeBit(RoundMode::CAST_FLOOR) | ModeBit(RoundMode::CAST_CEIL) |
                                  ModeBit(RoundMode::CAST_ROUND) | ModeBit(RoundMode::CAST_TRUNC);
constexpr uint32_t kAnyMode = kNone | kRintToTrunc;
constexpr uint32_t kOdd = ModeBit(RoundMode::CAST_ODD);

struct CastRow {
  uint32_t from;  // sets of dtypes
  uint32_t to;
  uint32_t modes;
};

constexpr CastRow kCasts220[] = {
    {kI8 | kU8, kF16, kNone},
    {kI16, kF16, kAnyMode},
    {kI16, kF32, kNone},
    {kF16, kI8 | kU8, kAnyMode},
    {kF16, kI16 | kI32, kRintToTrunc},
    {kF16 | kBf16, kF32, kNone},
    {kBf16, kI32, kRintToTrunc},
    {kI32, kI16 | kI64, kNone},
    {kI32, kF32, kAnyMode},
    {kF32, kI16 | kI32 | kI64 | kBf16, kRintToTrunc},
    {kF32, kF16, kAnyMode | kOdd},
    {kF32, kF32, kRintToTrunc},
    {kI64, kI32, kNone},
    {kI64, kF32, kRintToTrunc},
};

constexpr CastRow kCastsMore[] = {
    {kI8 | kU8, kI16 | kU16 | kI32 | kU32, kNone},
    {kI16 | kU16 | kI32 | kU32, kU8 | kI16 | kU16 | kI32 | kU32, kNone},
    {kF16, kBf16, kRintToTrunc},
    {kBf16, kF16, kRintToTrunc},
};

// The rounding modes a pair has; 0 when the chip lacks the pair. `more` includes what only 3510 has.
template <typename D, typename S>
constexpr uint32_t CastModes(bool more) {
  for (const CastRow &row : kCasts220) {
    if ((row.from & DtypeBit<S>()) != 0 && (row.to & DtypeBit<D>()) != 0) return row.modes;
  }
  if (more && !std::is_same_v<D, S>) {
    for (const CastRow &row : kCastsMore) {
      if ((row.from & DtypeBit<S>()) != 0 && (row.to & DtypeBit<D>()) != 0) return row.modes;
    }
  }
  return 0;
}

template <typename D, typename S, RoundMode kMode>
void CastLanes(const VectorCall &call) {
  call.Apply([](int64_t n, uint8_t *const *at, const void *) {
    MapUnary<D, S>(n, at[1], at[0], [](S value) { return Convert<D, S, kMode>(value); });
  });
}

template <typename D, typename S>
void RunCast(VectorCall &call, RoundMode mode) {
  if (!call.Begin(OverlapRule::kNarrowing)) return;
  constexpr uint32_t kModes = CastModes<D, S>(true);
  if constexpr (kModes == kNone) {
    CastLanes<D, S, RoundMode::CAST_NONE>(call);
  } else if constexpr (kModes != 0) {
    switch (mode) {
      case RoundMode::CAST_FLOOR:
        return CastLanes<D, S, RoundMode::CAST_FLOOR>(call);
      case RoundMode::CAST_CEIL:
        return CastLanes<D, S, RoundMode::CAST_CEIL>(call);
      case RoundMode::CAST_ROUND:
        return CastLanes<D, S, RoundMode::CAST_ROUND>(call);
      case RoundMode::CAST_TRUNC:
        return CastLanes<D, S, RoundMode::CAST_TRUNC>(call);
      case RoundMode::CAST_ODD:
        return CastLanes<D, S, (kModes & kOdd) != 0 ? RoundMode::CAST_ODD : RoundMode::CAST_RINT>(call);
      default:
        return CastLanes<D, S, RoundMode::CAST_RINT>(call);
    }
  }
}

template <typename D, typename S, typename L>
void Cast(VectorCall &call, const AscendC::LocalTensor<D> &, const AscendC::LocalTensor<S> &, RoundMode mode, L lanes) {
  constexpr uint32_t kModes = CastModes<D, S>(kIs3510);
  if (!call.instr.Require(Law::kUnsupported, kModes != 0, "no conversion from %s to %s on this chip", DtypeName<S>(), DtypeName<D>()))
    return;
  static constexpr const char *kNames[] = {"CAST_NONE", "CAST_RINT", "CAST_FLOOR", "CAST_CEIL", "CAST_ROUND", "CAST_TRUNC", "CAST_ODD"};
  if (!call.instr.Require(Law::kUnsupported, kModes == 0 || (kModes & ModeBit(mode)) != 0, "%s from %s to %s is not supported on this chip",
                          kNames[static_cast<int>(mode)], DtypeName<S>(), DtypeName<D>()))
    return;
  lanes();
  RunCast<D, S>(call, mode);
}

template <typename D, typename S>
constexpr int64_t Wider() {
  return static_cast<int64_t>(sizeof(D) > sizeof(S) ? sizeof(D) : sizeof(S));
}

template <typename D, typename S, typename M>
void CastSliced(const AscendC::LocalTensor<D> &dst, const AscendC::LocalTensor<S> &src, RoundMode mode, M mask, int64_t repeat,
                const AscendC::UnaryRepeatParams &p, bool set_mask, Site site) {
  VectorCall call("Cast", site, Wider<D, S>());
  Cast(call, dst, src, mode, [&] {
    call.Slice(mask, repeat, set_mask);
    call.Read(src, "src", call.Strides("src", p.srcBlkStride, p.srcRepStride, 65535, 255));
    call.Write(dst, "dst", call.Strides("dst", p.dstBlkStride, p.dstRepStride, 65535, 255));
  });
}

}  // namespace twin

namespace AscendC {

template <typename D, typename S>
inline void Cast(const LocalTensor<D> &dst, const LocalTensor<S> &src, const RoundMode &roundMode, int64_t count,
                 twin::Site site = twin::Site::Here()) {
  twin::VectorCall call("Cast", site, twin::Wider<D, S>());
  twin::Cast(call, dst, src, roundMode, [&] {
    call.Count(count, true, 4294967295);
    call.Read(src, "src", call.Dense(sizeof(S)));
    call.Write(dst, "dst", call.Dense(sizeof(D)));
  });
}

template <typename D, typename S, bool isSetMask = true>
inline void Cast(const LocalTensor<D> &dst, const LocalTensor<S> &src, const RoundMode &roundMode, uint64_t mask, int64_t repeatTime,
                 const UnaryRepeatParams &repeatParams, twin::Site site = twin::Site::Here()) {
  twin::CastSliced(dst, src, roundMode, twin::Wide(mask), repeatTime, repeatParams, isSetMask, site);
}

template <typename D, typename S, bool isSetMask = true>
inline void Cast(const LocalTensor<D> &dst, const LocalTensor<S> &src, const RoundMode &roundMode, const uint64_t mask[],
                 int64_t repeatTime, const UnaryRepeatParams &repeatParams, twin::Site site = twin::Site::Here()) {
  twin::CastSliced(dst, src, roundMode, mask, repeatTime, repeatParams, isSetMask, site);
}

}  // namespace AscendC
