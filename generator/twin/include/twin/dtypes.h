// Names of dtypes and the sets of dtypes a call accepts on each chip (facts A).
#pragma once

#include <stdint.h>

#include <type_traits>

#include "twin/core.h"
#include "twin/half.h"

namespace twin {

template <typename T>
constexpr const char *DtypeName() {
  if constexpr (std::is_same_v<T, float>)
    return "float32";
  else if constexpr (std::is_same_v<T, half>)
    return "float16";
  else if constexpr (std::is_same_v<T, bfloat16_t>)
    return "bfloat16";
  else if constexpr (std::is_same_v<T, int8_t>)
    return "int8";
  else if constexpr (std::is_same_v<T, uint8_t>)
    return "uint8";
  else if constexpr (std::is_same_v<T, int16_t>)
    return "int16";
  else if constexpr (std::is_same_v<T, uint16_t>)
    return "uint16";
  else if constexpr (std::is_same_v<T, int32_t>)
    return "int32";
  else if constexpr (std::is_same_v<T, uint32_t>)
    return "uint32";
  else if constexpr (std::is_same_v<T, int64_t>)
    return "int64";
  else if constexpr (std::is_same_v<T, uint64_t>)
    return "uint64";
  else
    return "unknown";
}

// One letter group for each dtype, as bits of a set.
enum : uint32_t {
  kF16 = 1,
  kF32 = 2,
  kBf16 = 4,
  kI8 = 8,
  kU8 = 16,
  kI16 = 32,
  kU16 = 64,
  kI32 = 128,
  kU32 = 256,
  kI64 = 512,
  kU64 = 1024,
  kFloats = kF16 | kF32,
  kCommon = kF16 | kF32 | kI16 | kI32,
  kBits16 = kF16 | kBf16 | kI16 | kU16,
  kBits32 = kF32 | kI32 | kU32,
  kIntegers = kI8 | kU8 | kI16 | kU16 | kI32 | kU32 | kI64 | kU64,
};

template <typename T>
constexpr uint32_t DtypeBit() {
  if constexpr (std::is_same_v<T, half>)
    return kF16;
  else if constexpr (std::is_same_v<T, float>)
    return kF32;
  else if constexpr (std::is_same_v<T, bfloat16_t>)
    return kBf16;
  else if constexpr (std::is_same_v<T, int8_t>)
    return kI8;
  else if constexpr (std::is_same_v<T, uint8_t>)
    return kU8;
  else if constexpr (std::is_same_v<T, int16_t>)
    return kI16;
  else if constexpr (std::is_same_v<T, uint16_t>)
    return kU16;
  else if constexpr (std::is_same_v<T, int32_t>)
    return kI32;
  else if constexpr (std::is_same_v<T, uint32_t>)
    return kU32;
  else if constexpr (std::is_same_v<T, int64_t>)
    return kI64;
  else if constexpr (std::is_same_v<T, uint64_t>)
    return kU64;
  else
    return 0;
}

// `on_220` on the architecture 220; on 3510 the same and `more`.
template <typename T>
constexpr bool In(uint32_t on_220, uint32_t more = 0) {
  return (DtypeBit<T>() & (on_220 | (kIs3510 ? more : 0u))) != 0;
}

// Dtypes for which Add, Sub, Mul, Max and Min may accumulate onto src1 (facts B.2).
template <typename T>
inline constexpr bool Accumulates = (DtypeBit<T>() & (kF16 | kF32 | kI32)) != 0;

// An unsigned argument of the interface as a wide signed value: values beyond are negative and thus out of every range.
inline int64_t Wide(uint64_t value) { return static_cast<int64_t>(value); }
inline const uint64_t *Wide(const uint64_t *bits) { return bits; }

}  // namespace twin
