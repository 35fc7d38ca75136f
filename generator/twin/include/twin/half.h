// Storage types half (IEEE binary16) and bfloat16_t with correctly rounded conversions.
//
// Arithmetic on them is done by the instructions in float and rounded once; the types themselves only store, convert and compare.
// Overflow gives infinity, denormals are kept (facts B.2: float results are in INF/NAN mode).
#pragma once

#include <stdint.h>
#include <string.h>

#include <type_traits>

namespace twin {

inline uint32_t BitsOf(float value) {
  uint32_t bits;
  memcpy(&bits, &value, sizeof bits);
  return bits;
}

inline float FloatOf(uint32_t bits) {
  float value;
  memcpy(&value, &bits, sizeof value);
  return value;
}

// binary16 -> binary32, exact. Scaling by 2^112 moves the exponent bias from 15 to 127 and normalises denormals.
inline float HalfBitsToFloat(uint16_t half_bits) {
  const uint32_t magnitude = half_bits & 0x7fffu;
  const uint32_t scaled = BitsOf(FloatOf(magnitude << 13) * 0x1p112f);
  const uint32_t special = magnitude >= 0x7c00u ? 0x7f800000u : 0u;
  return FloatOf(scaled | special | (static_cast<uint32_t>(half_bits & 0x8000u) << 16));
}

// binary32 -> binary16, round to nearest even. Below 2^-14 the addition of 0.5 (ulp 2^-24, the smallest half) does the rounding.
inline uint16_t FloatToHalfBits(float value) {
  const uint32_t bits = BitsOf(value);
  const uint32_t magnitude = bits & 0x7fffffffu;
  const uint32_t tiny = BitsOf(FloatOf(magnitude < 0x38800000u ? magnitude : 0u) + 0.5f) - 0x3f000000u;
  const uint32_t rounded = (magnitude + 0xfffu + ((magnitude >> 13) & 1u) - 0x38000000u) >> 13;
  const uint32_t finite = rounded < 0x7c00u ? rounded : 0x7c00u;
  const uint32_t number = magnitude < 0x38800000u ? tiny : (magnitude >= 0x47800000u ? 0x7c00u : finite);
  const uint32_t nan = 0x7e00u | ((magnitude >> 13) & 0x1ffu);
  return static_cast<uint16_t>((magnitude > 0x7f800000u ? nan : number) | ((bits >> 16) & 0x8000u));
}

inline float Bfloat16BitsToFloat(uint16_t bits) { return FloatOf(static_cast<uint32_t>(bits) << 16); }

// binary32 -> bfloat16, round to nearest even; a NaN keeps a set mantissa bit.
inline uint16_t FloatToBfloat16Bits(float value) {
  const uint32_t bits = BitsOf(value);
  const uint32_t rounded = (bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16;
  const uint32_t nan = (bits >> 16) | 0x40u;
  return static_cast<uint16_t>((bits & 0x7fffffffu) > 0x7f800000u ? nan : rounded);
}

}  // namespace twin

struct half {
  uint16_t bits;
  half() = default;
  template <typename N, typename = std::enable_if_t<std::is_arithmetic_v<N>>>
  half(N value) : bits(twin::FloatToHalfBits(static_cast<float>(value))) {}
  operator float() const { return twin::HalfBitsToFloat(bits); }
  static half FromBits(uint16_t raw) {
    half result;
    result.bits = raw;
    return result;
  }
};

struct bfloat16_t {
  uint16_t bits;
  bfloat16_t() = default;
  template <typename N, typename = std::enable_if_t<std::is_arithmetic_v<N>>>
  bfloat16_t(N value) : bits(twin::FloatToBfloat16Bits(static_cast<float>(value))) {}
  operator float() const { return twin::Bfloat16BitsToFloat(bits); }
  static bfloat16_t FromBits(uint16_t raw) {
    bfloat16_t result;
    result.bits = raw;
    return result;
  }
};

namespace AscendC {

inline float ToFloat(const bfloat16_t &value) { return value; }
inline bfloat16_t ToBfloat16(const float &value) { return bfloat16_t(value); }

}  // namespace AscendC

static_assert(sizeof(half) == 2 && sizeof(bfloat16_t) == 2, "16-bit storage types");
