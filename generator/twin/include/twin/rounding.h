// Conversions between dtypes under every rounding mode of Cast.
//
// To a float format: the value is rounded in the mode as if exponents had no end; what is then too large is infinity in every mode.
// To an integer: rounded, then saturated, NaN gives 0. CAST_NONE is exact where it can be and half-to-even where it cannot (facts B.3).
#pragma once

#include <stdint.h>

#include "twin/numerics.h"
#include "twin/vector_params.h"

namespace twin {

using AscendC::RoundMode;

// Rounds to an integral value. Exact for every float; |value| beyond 2^52 is integral already.
template <RoundMode kMode>
inline double RoundIntegral(double value) {
  if constexpr (kMode == RoundMode::CAST_FLOOR)
    return __builtin_floor(value);
  else if constexpr (kMode == RoundMode::CAST_CEIL)
    return __builtin_ceil(value);
  else if constexpr (kMode == RoundMode::CAST_TRUNC)
    return __builtin_trunc(value);
  else if constexpr (kMode == RoundMode::CAST_ROUND)
    return __builtin_round(value);
  else
    return __builtin_rint(value);
}

// The 16-bit or 32-bit pattern of a value rounded half to even, back to a number, and the mantissa's last bit.
template <typename T>
struct FloatFormat {
  static uint32_t Bits(T value) { return value.bits; }
  static T Of(uint32_t bits) { return T::FromBits(static_cast<uint16_t>(bits)); }
  static constexpr uint32_t kSign = 0x8000u;
};
template <>
struct FloatFormat<float> {
  static uint32_t Bits(float value) { return BitsOf(value); }
  static float Of(uint32_t bits) { return FloatOf(bits); }
  static constexpr uint32_t kSign = 0x80000000u;
};

// A type that holds every value of S exactly, so that a rounded value can be compared with what it came from.
template <typename S>
using Exact = std::conditional_t<sizeof(S) == 8, long double, double>;

// `nearest` is `exact` rounded half to even; moves it to the neighbour the mode wants. Neighbouring patterns differ by one.
template <RoundMode kMode, typename D, typename E>
inline D Directed(D nearest, E exact) {
  using Format = FloatFormat<D>;
  const E back = static_cast<E>(static_cast<float>(nearest));
  if (back == exact || exact != exact) return nearest;
  if (kIsHalf<D> && (exact >= 65536 || exact <= -65536)) return nearest;
  const uint32_t bits = Format::Bits(nearest);
  const uint32_t sign = bits & Format::kSign;
  const uint32_t size = bits & ~Format::kSign;
  const bool below = sign != 0 ? back > exact : back < exact;  // |nearest| < |exact|
  const uint32_t low = below ? size : size - 1;                // |low| < |exact| < |low + 1|
  const bool negative = exact < 0;
  uint32_t chosen = size;
  if constexpr (kMode == RoundMode::CAST_TRUNC) chosen = low;
  if constexpr (kMode == RoundMode::CAST_FLOOR) chosen = negative ? low + 1 : low;
  if constexpr (kMode == RoundMode::CAST_CEIL) chosen = negative ? low : low + 1;
  if constexpr (kMode == RoundMode::CAST_ODD) chosen = low | 1u;
  if constexpr (kMode == RoundMode::CAST_ROUND) {
    const E lower = static_cast<E>(static_cast<float>(Format::Of(sign | low)));
    const E upper = static_cast<E>(static_cast<float>(Format::Of(sign | (low + 1))));
    if (exact - lower == upper - exact) chosen = low + 1;
  }
  return Format::Of(sign | chosen);
}

template <typename D, typename S, RoundMode kMode>
inline D ConvertToFloat(S value) {
  if constexpr (std::is_same_v<D, float> && kIsFloating<S>) {
    const float single = Widen(value);
    if constexpr (std::is_same_v<S, float> && kMode != RoundMode::CAST_NONE)
      return static_cast<float>(RoundIntegral<kMode>(static_cast<double>(single)));
    else
      return single;
  } else if constexpr (kMode == RoundMode::CAST_NONE || kMode == RoundMode::CAST_RINT) {
    return Narrow<D>(static_cast<float>(value));
  } else {
    // Every integer Cast takes to a 16-bit float fits float's 24 bits, so rounding through float is single.
    return Directed<kMode, D, Exact<S>>(Narrow<D>(static_cast<float>(value)), static_cast<Exact<S>>(Widen(value)));
  }
}

template <typename D, typename S, RoundMode kMode>
inline D ConvertToInteger(S value) {
  using Limits = std::numeric_limits<D>;
  if constexpr (kIsFloating<S>) {
    const double rounded = RoundIntegral<kMode>(static_cast<double>(Widen(value)));
    constexpr double kLow = static_cast<double>(Limits::min());
    constexpr double kHigh = sizeof(D) == 8 ? 0x1p63 : static_cast<double>(Limits::max());
    if constexpr (sizeof(D) == 8) {
      if (rounded >= kHigh) return Limits::max();
      if (rounded <= kLow) return Limits::min();
      return rounded != rounded ? D{0} : static_cast<D>(rounded);
    } else {
      const double above = rounded != rounded ? 0.0 : (rounded < kLow ? kLow : rounded);
      return static_cast<D>(above > kHigh ? kHigh : above);
    }
  } else {
    const int64_t wide = static_cast<int64_t>(value);
    const int64_t low = sizeof(D) == 8 ? INT64_MIN : static_cast<int64_t>(Limits::min());
    const int64_t high = sizeof(D) == 8 ? INT64_MAX : static_cast<int64_t>(Limits::max());
    return static_cast<D>(wide < low ? low : (wide > high ? high : wide));
  }
}

template <typename D, typename S, RoundMode kMode>
inline D Convert(S value) {
  if constexpr (kIsFloating<D>)
    return ConvertToFloat<D, S, kMode>(value);
  else
    return ConvertToInteger<D, S, kMode>(value);
}

}  // namespace twin
