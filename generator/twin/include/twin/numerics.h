// Scalar arithmetic of the vector unit: what one lane computes for each dtype.
//
// Sums, differences and products are rounded once to nearest even. Exp, Ln, Sqrt and Div are faithful: the result is one of the two
// neighbours of the exact value (error below 1 ulp), a hash of the operands' bits decides which, so that exactly representable results
// (exp 0, x / 1, x / x, sqrt 4) stay exact and nothing downstream can rely on correct rounding (facts B.3). Rsqrt and Reciprocal carry
// a relative error of up to 2e-4 (float) or 2e-3 (half). Integers wrap; denormals are kept; NaN propagates through Max and Min.
#pragma once

#include <math.h>
#include <stdint.h>

#include <limits>
#include <type_traits>

#include "twin/dtypes.h"

namespace twin {

// The type a lane computes in: float for the 16-bit floats, unsigned for integers (wrapping is defined there), T itself for float.
template <typename T>
struct Lane {
  using type = T;
};
template <>
struct Lane<half> {
  using type = float;
};
template <>
struct Lane<bfloat16_t> {
  using type = float;
};
template <typename T>
using LaneType = typename Lane<T>::type;

template <typename T>
inline constexpr bool kIsHalf = std::is_same_v<T, half>;
template <typename T>
inline constexpr bool kIsBf16 = std::is_same_v<T, bfloat16_t>;
template <typename T>
inline constexpr bool kIsFloating = kIsHalf<T> || kIsBf16<T> || std::is_floating_point_v<T>;

template <typename T>
inline LaneType<T> Widen(T value) {
  return static_cast<LaneType<T>>(value);
}

// Rounds a lane's value to the stored type.
template <typename T, typename L>
inline T Narrow(L value) {
  if constexpr (kIsHalf<T>) {
    return half::FromBits(FloatToHalfBits(static_cast<float>(value)));
  } else if constexpr (kIsBf16<T>) {
    return bfloat16_t::FromBits(FloatToBfloat16Bits(static_cast<float>(value)));
  } else {
    return static_cast<T>(value);
  }
}

// Integer lanes compute in uint64_t, whose low bits are the wrapped result.
template <typename T>
inline uint64_t Wrap(T value) {
  return static_cast<uint64_t>(value);
}

inline uint32_t Mix(uint32_t bits) {
  bits ^= bits >> 16;
  bits *= 0x7feb352du;
  bits ^= bits >> 15;
  bits *= 0x846ca68bu;
  return bits ^ (bits >> 16);
}

inline uint32_t HashBits(float a) { return Mix(BitsOf(a)); }
inline uint32_t HashBits(float a, float b) { return Mix(BitsOf(a) * 0x9e3779b1u ^ Mix(BitsOf(b))); }

// One of the two values of type T around `exact`, chosen by the hash's lowest bit; zero, the infinities and NaN are kept as rounded.
template <typename T>
inline T Faithful(double exact, uint32_t hash) {
  if constexpr (std::is_same_v<T, float>) {
    const float nearest = static_cast<float>(exact);
    const uint32_t bits = BitsOf(nearest);
    const double back = static_cast<double>(nearest);
    const double size = exact < 0 ? -exact : exact;
    const double back_size = back < 0 ? -back : back;
    const bool movable = (hash & 1u) != 0 && size != back_size && (bits & 0x7fffffffu) - 1u < 0x7f7ffffeu;
    const uint32_t step = size > back_size ? 1u : 0xffffffffu;
    return FloatOf(movable ? bits + step : bits);
  } else {
    const float single = static_cast<float>(exact);
    const uint16_t bits = kIsHalf<T> ? FloatToHalfBits(single) : FloatToBfloat16Bits(single);
    const float back = kIsHalf<T> ? HalfBitsToFloat(bits) : Bfloat16BitsToFloat(bits);
    const uint32_t largest = kIsHalf<T> ? 0x7bffu : 0x7f7fu;
    const float size = single < 0 ? -single : single;
    const float back_size = back < 0 ? -back : back;
    const bool movable = (hash & 1u) != 0 && size != back_size && (bits & 0x7fffu) - 1u < largest - 1u;
    return T::FromBits(static_cast<uint16_t>(movable ? bits + (size > back_size ? 1u : 0xffffu) : bits));
  }
}

// exact * (1 + e) with |e| below 2e-4 for float and 2e-3 for the 16-bit floats (rounding included), e from the hash.
template <typename T>
inline T Approximate(double exact, uint32_t hash) {
  constexpr double kBound = std::is_same_v<T, float> ? 1.999e-4 : (kIsHalf<T> ? 1.5e-3 : 1e-4);
  const double unit = static_cast<double>(static_cast<int32_t>(hash)) * 0x1p-31;
  return Narrow<T>(static_cast<float>(exact * (1.0 + kBound * unit)));
}

struct AddOp {
  static constexpr const char *kName = "Add";
  static constexpr uint32_t k220 = kCommon, kMore = kI8 | kU8 | kU16 | kBf16 | kU32 | kI64;
  static constexpr bool kAccumulates = true;
  template <typename T>
  static T Lane(T a, T b) {
    if constexpr (kIsFloating<T>)
      return Narrow<T>(Widen(a) + Widen(b));
    else
      return static_cast<T>(Wrap(a) + Wrap(b));
  }
};

struct SubOp {
  static constexpr const char *kName = "Sub";
  static constexpr uint32_t k220 = kCommon, kMore = kI8 | kU8 | kU16 | kBf16 | kU32 | kI64;
  static constexpr bool kAccumulates = true;
  template <typename T>
  static T Lane(T a, T b) {
    if constexpr (kIsFloating<T>)
      return Narrow<T>(Widen(a) - Widen(b));
    else
      return static_cast<T>(Wrap(a) - Wrap(b));
  }
};

struct MulOp {
  static constexpr const char *kName = "Mul";
  static constexpr uint32_t k220 = kCommon, kMore = kU16 | kBf16 | kU32 | kI64;
  static constexpr bool kAccumulates = true;
  template <typename T>
  static T Lane(T a, T b) {
    if constexpr (kIsFloating<T>)
      return Narrow<T>(Widen(a) * Widen(b));
    else
      return static_cast<T>(Wrap(a) * Wrap(b));
  }
};

// Integer division truncates; by zero it gives all ones, and the most negative value by -1 wraps.
struct DivOp {
  static constexpr const char *kName = "Div";
  static constexpr uint32_t k220 = kFloats, kMore = kI16 | kU16 | kI32 | kU32 | kI64;
  static constexpr bool kAccumulates = false;
  template <typename T>
  static T Lane(T a, T b) {
    if constexpr (kIsFloating<T>) {
      const float x = Widen(a);
      const float y = Widen(b);
      return Faithful<T>(static_cast<double>(x) / static_cast<double>(y), HashBits(x, y));
    } else {
      if (b == 0) return static_cast<T>(~uint64_t{0});
      if constexpr (std::is_signed_v<T>) {
        if (b == static_cast<T>(-1)) return static_cast<T>(0 - Wrap(a));
      }
      return static_cast<T>(a / b);
    }
  }
};

struct MaxOp {
  static constexpr const char *kName = "Max";
  static constexpr uint32_t k220 = kCommon, kMore = kI8 | kU8 | kU16 | kBf16 | kU32 | kI64;
  static constexpr bool kAccumulates = true;
  template <typename T>
  static T Lane(T a, T b) {
    const auto x = Widen(a);
    const auto y = Widen(b);
    if constexpr (kIsFloating<T>)
      return x != x ? a : (y != y ? b : (x > y ? a : b));
    else
      return x > y ? a : b;
  }
};

struct MinOp {
  static constexpr const char *kName = "Min";
  static constexpr uint32_t k220 = kCommon, kMore = kI8 | kU8 | kU16 | kBf16 | kU32 | kI64;
  static constexpr bool kAccumulates = true;
  template <typename T>
  static T Lane(T a, T b) {
    const auto x = Widen(a);
    const auto y = Widen(b);
    if constexpr (kIsFloating<T>)
      return x != x ? a : (y != y ? b : (x < y ? a : b));
    else
      return x < y ? a : b;
  }
};

struct AndOp {
  static constexpr const char *kName = "And";
  static constexpr uint32_t k220 = kI16 | kU16, kMore = kIntegers;
  static constexpr bool kAccumulates = false;
  template <typename T>
  static T Lane(T a, T b) {
    return static_cast<T>(a & b);
  }
};

struct OrOp {
  static constexpr const char *kName = "Or";
  static constexpr uint32_t k220 = kI16 | kU16, kMore = kIntegers;
  static constexpr bool kAccumulates = false;
  template <typename T>
  static T Lane(T a, T b) {
    return static_cast<T>(a | b);
  }
};

struct NotOp {
  static constexpr const char *kName = "Not";
  static constexpr uint32_t k220 = kI16 | kU16, kMore = kIntegers;
  template <typename T>
  static T Lane(T a) {
    return static_cast<T>(~a);
  }
};

struct ExpOp {
  static constexpr const char *kName = "Exp";
  static constexpr uint32_t k220 = kFloats, kMore = 0;
  template <typename T>
  static T Lane(T a) {
    const float x = Widen(a);
    return Faithful<T>(exp(static_cast<double>(x)), HashBits(x));
  }
};

struct LnOp {
  static constexpr const char *kName = "Ln";
  static constexpr uint32_t k220 = kFloats, kMore = 0;
  template <typename T>
  static T Lane(T a) {
    const float x = Widen(a);
    return Faithful<T>(log(static_cast<double>(x)), HashBits(x) >> 1);
  }
};

struct SqrtOp {
  static constexpr const char *kName = "Sqrt";
  static constexpr uint32_t k220 = kFloats, kMore = 0;
  template <typename T>
  static T Lane(T a) {
    const float x = Widen(a);
    return Faithful<T>(__builtin_sqrt(static_cast<double>(x)), HashBits(x) >> 2);
  }
};

struct RsqrtOp {
  static constexpr const char *kName = "Rsqrt";
  static constexpr uint32_t k220 = kFloats, kMore = 0;
  template <typename T>
  static T Lane(T a) {
    const float x = Widen(a);
    return Approximate<T>(1.0 / __builtin_sqrt(static_cast<double>(x)), HashBits(x));
  }
};

struct ReciprocalOp {
  static constexpr const char *kName = "Reciprocal";
  static constexpr uint32_t k220 = kFloats, kMore = kI64;
  template <typename T>
  static T Lane(T a) {
    if constexpr (kIsFloating<T>) {
      const float x = Widen(a);
      return Approximate<T>(1.0 / static_cast<double>(x), Mix(BitsOf(x) + 0x51ed270bu));
    } else {
      return DivOp::Lane<T>(T{1}, a);
    }
  }
};

struct AbsOp {
  static constexpr const char *kName = "Abs";
  static constexpr uint32_t k220 = kFloats, kMore = kI8 | kI16 | kI32 | kI64;
  template <typename T>
  static T Lane(T a) {
    if constexpr (std::is_same_v<T, float>)
      return FloatOf(BitsOf(a) & 0x7fffffffu);
    else if constexpr (kIsFloating<T>)
      return T::FromBits(a.bits & 0x7fffu);
    else
      return a < 0 ? static_cast<T>(0 - Wrap(a)) : a;
  }
};

struct ReluOp {
  static constexpr const char *kName = "Relu";
  static constexpr uint32_t k220 = kFloats | kI32, kMore = kI64;
  template <typename T>
  static T Lane(T a) {
    const auto x = Widen(a);
    return x < 0 ? T{} : a;
  }
};

struct LeakyReluOp {
  static constexpr const char *kName = "LeakyRelu";
  static constexpr uint32_t k220 = kFloats, kMore = 0;
  static constexpr bool kShift = false;
  template <typename T>
  static T Lane(T a, T slope) {
    const float x = Widen(a);
    return x >= 0.0f ? a : Narrow<T>(x * Widen(slope));
  }
};

struct AddsOp : AddOp {
  static constexpr const char *kName = "Adds";
  static constexpr uint32_t k220 = kCommon, kMore = kBf16 | kI64;
  static constexpr bool kShift = false;
};
struct MulsOp : MulOp {
  static constexpr const char *kName = "Muls";
  static constexpr uint32_t k220 = kCommon, kMore = kBf16 | kI64;
  static constexpr bool kShift = false;
};
struct MaxsOp : MaxOp {
  static constexpr const char *kName = "Maxs";
  static constexpr uint32_t k220 = kCommon, kMore = kBf16 | kI64 | kI8 | kU8;
  static constexpr bool kShift = false;
};
struct MinsOp : MinOp {
  static constexpr const char *kName = "Mins";
  static constexpr uint32_t k220 = kCommon, kMore = kBf16 | kI64 | kI8 | kU8;
  static constexpr bool kShift = false;
};

// A shift by the width or more gives 0, or the sign for a signed right shift.
struct ShiftLeftOp {
  static constexpr const char *kName = "ShiftLeft";
  static constexpr uint32_t k220 = kI16 | kU16 | kI32 | kU32, kMore = kIntegers;
  static constexpr bool kShift = true;
  template <typename T>
  static T Lane(T a, T n) {
    const uint64_t by = Wrap(n);
    return by >= 8 * sizeof(T) ? T{0} : static_cast<T>(Wrap(a) << by);
  }
};

struct ShiftRightOp {
  static constexpr const char *kName = "ShiftRight";
  static constexpr uint32_t k220 = kI16 | kU16 | kI32 | kU32, kMore = kIntegers;
  static constexpr bool kShift = true;
  template <typename T>
  static T Lane(T a, T n) {
    const uint64_t by = Wrap(n);
    if constexpr (std::is_signed_v<T>)
      return static_cast<T>(a >> (by < 8 * sizeof(T) ? by : 8 * sizeof(T) - 1));
    else
      return by < 8 * sizeof(T) ? static_cast<T>(a >> by) : T{0};
  }
};

// dst = dst + a * b: a float product is rounded before the sum, a half product is exact in float and the sum is rounded once.
struct MulAddOp {
  static constexpr const char *kName = "MulAddDst";
  static constexpr uint32_t k220 = kFloats, kMore = kBf16 | kI64;
  template <typename T, typename U>
  static T Lane(T dst, U a, U b) {
    if constexpr (kIsFloating<T>)
      return Narrow<T>(Widen(dst) + static_cast<float>(Widen(a) * Widen(b)));
    else
      return static_cast<T>(Wrap(dst) + Wrap(a) * Wrap(b));
  }
};

// dst = a * dst + b with one rounding.
struct FusedMulAddOp {
  static constexpr const char *kName = "FusedMulAdd";
  static constexpr uint32_t k220 = kFloats, kMore = kBf16;
  template <typename T>
  static T Lane(T dst, T a, T b) {
    return Narrow<T>(fmaf(Widen(a), Widen(dst), Widen(b)));
  }
};

}  // namespace twin
