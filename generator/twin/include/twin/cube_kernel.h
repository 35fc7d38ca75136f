// The cube's arithmetic: widened panels of both operands, multiplied by the widest vector instructions the machine has.
//
// Each element of C is the sum, over the baseK blocks in order, of the block's sum over k in order, every product and every
// sum rounded once; the same on every machine. Part of the runtime (runtime.cpp).
#pragma once
#include <array>
#include <map>

#include "cube.h"

namespace twin {

constexpr int kHf32Dropped = 13;  // bits of float's mantissa that HF32 does not have (10 stay; the format's width is not documented)

// C (rows x width of a panel, `pitch` apart) += left x right. left[i * rowStep + k * depthStep]; right: [depth][width].
struct CubeArgs {
  const void *left;
  const void *right;
  void *to;
  int64_t rowStep, depthStep, rows, depth, block, pitch;
};

#define TWIN_INLINE inline __attribute__((always_inline))

template <typename V, typename E, int kRows, int kWide>
TWIN_INLINE void CubeBlock(const E *left, int64_t rowStep, int64_t depthStep, const E *right, int64_t depth, E *to, int64_t pitch) {
  constexpr int kLanes = sizeof(V) / sizeof(E);
  V sum[kRows][kWide];
#pragma GCC unroll 16
  for (int i = 0; i < kRows; ++i)
#pragma GCC unroll 4
    for (int j = 0; j < kWide; ++j) sum[i][j] = V{};
  for (int64_t k = 0; k < depth; ++k) {
    V row[kWide];
#pragma GCC unroll 4
    for (int j = 0; j < kWide; ++j) __builtin_memcpy(&row[j], right + j * kLanes, sizeof(V));
#pragma GCC unroll 16
    for (int i = 0; i < kRows; ++i) {
      const E factor = left[i * rowStep];
#pragma GCC unroll 4
      for (int j = 0; j < kWide; ++j) sum[i][j] += row[j] * factor;
    }
    left += depthStep;
    right += kWide * kLanes;
  }
#pragma GCC unroll 16
  for (int i = 0; i < kRows; ++i)
#pragma GCC unroll 4
    for (int j = 0; j < kWide; ++j) {
      V old;
      __builtin_memcpy(&old, to + i * pitch + j * kLanes, sizeof(V));
      old += sum[i][j];
      __builtin_memcpy(to + i * pitch + j * kLanes, &old, sizeof(V));
    }
}

template <typename V, typename E, int kRows, int kWide>
TWIN_INLINE void CubePanel(const CubeArgs &c) {
  constexpr int64_t kWidth = kWide * static_cast<int64_t>(sizeof(V) / sizeof(E));
  const E *left = static_cast<const E *>(c.left), *right = static_cast<const E *>(c.right);
  E *to = static_cast<E *>(c.to);
  for (int64_t k = 0; k < c.depth; k += c.block) {
    const int64_t depth = c.depth - k < c.block ? c.depth - k : c.block;
    const E *l = left + k * c.depthStep, *r = right + k * kWidth;
    int64_t i = 0;
    for (; i + kRows <= c.rows; i += kRows)
      CubeBlock<V, E, kRows, kWide>(l + i * c.rowStep, c.rowStep, c.depthStep, r, depth, to + i * c.pitch, c.pitch);
    for (; i + 2 <= c.rows; i += 2)
      CubeBlock<V, E, 2, kWide>(l + i * c.rowStep, c.rowStep, c.depthStep, r, depth, to + i * c.pitch, c.pitch);
    for (; i < c.rows; ++i) CubeBlock<V, E, 1, kWide>(l + i * c.rowStep, c.rowStep, c.depthStep, r, depth, to + i * c.pitch, c.pitch);
  }
}

// One row of a stored operand, widened.
template <CubeDtype kDtype>
TWIN_INLINE void WidenAs(const uint8_t *from, int64_t count, float *to, int hf32) {
  for (int64_t i = 0; i < count; ++i) {
    if constexpr (kDtype == CubeDtype::kI8) {
      const int32_t value = static_cast<int8_t>(from[i]);
      __builtin_memcpy(to + i, &value, 4);
    } else if constexpr (kDtype == CubeDtype::kF32) {
      uint32_t bits;
      __builtin_memcpy(&bits, from + 4 * i, 4);
      const uint32_t tie = hf32 == 1 ? (bits >> kHf32Dropped & 1u) + (1u << (kHf32Dropped - 1)) - 1u : 1u << (kHf32Dropped - 1);
      const uint32_t rounded = (bits + tie) & ~((1u << kHf32Dropped) - 1u);
      const bool number = (bits & 0x7f800000u) != 0x7f800000u;
      to[i] = FloatOf(hf32 != 0 && number ? rounded : bits);
    } else {
      uint16_t bits;
      __builtin_memcpy(&bits, from + 2 * i, 2);
      to[i] = kDtype == CubeDtype::kF16 ? HalfBitsToFloat(bits) : Bfloat16BitsToFloat(bits);
    }
  }
}
TWIN_INLINE void WidenAny(CubeDtype dtype, const uint8_t *from, int64_t count, float *to, int hf32) {
  if (dtype == CubeDtype::kF16)
    WidenAs<CubeDtype::kF16>(from, count, to, hf32);
  else if (dtype == CubeDtype::kBf16)
    WidenAs<CubeDtype::kBf16>(from, count, to, hf32);
  else if (dtype == CubeDtype::kI8)
    WidenAs<CubeDtype::kI8>(from, count, to, hf32);
  else if (hf32 != 0)
    WidenAs<CubeDtype::kF32>(from, count, to, hf32);
  else
    __builtin_memcpy(to, from, static_cast<size_t>(4 * count));
}

// The same code for one instruction set: a full panel, a narrow one for a last panel of few columns, and widening.
struct CubeBackend {
  int64_t width, narrow;  // columns of the panels
  void (*panel)(const CubeArgs &, bool integers, bool narrow);
  void (*widen)(CubeDtype, const uint8_t *, int64_t, float *, int);
};

#define TWIN_CUBE_BACKEND(Name, Attribute, kBytes, kRows)                                                   \
  typedef float Name##Floats __attribute__((vector_size(kBytes)));                                          \
  typedef uint32_t Name##Words __attribute__((vector_size(kBytes)));                                        \
  Attribute inline void Name##Panel(const CubeArgs &c, bool integers, bool narrow) {                        \
    if (integers) {                                                                                         \
      if (narrow)                                                                                           \
        CubePanel<Name##Words, uint32_t, kRows, 1>(c);                                                      \
      else                                                                                                  \
        CubePanel<Name##Words, uint32_t, kRows, 2>(c);                                                      \
    } else {                                                                                                \
      if (narrow)                                                                                           \
        CubePanel<Name##Floats, float, kRows, 1>(c);                                                        \
      else                                                                                                  \
        CubePanel<Name##Floats, float, kRows, 2>(c);                                                        \
    }                                                                                                       \
  }                                                                                                         \
  Attribute inline void Name##Widen(CubeDtype dtype, const uint8_t *from, int64_t n, float *to, int hf32) { \
    WidenAny(dtype, from, n, to, hf32);                                                                     \
  }                                                                                                         \
  inline CubeBackend Name##Backend() { return {kBytes / 2, kBytes / 4, &Name##Panel, &Name##Widen}; }

TWIN_CUBE_BACKEND(Plain, , 16, 6)
#if defined(__x86_64__)
TWIN_CUBE_BACKEND(Avx2, __attribute__((target("avx2"))), 32, 6)
TWIN_CUBE_BACKEND(Avx512, __attribute__((target("avx512f,avx512bw,avx512vl"))), 64, 8)
#endif

inline const CubeBackend &Cube() {
  static const CubeBackend chosen = [] {
#if defined(__x86_64__)
    // AMD's halves of 512-bit instructions gain nothing over 256-bit ones.
    if (__builtin_cpu_is("intel") && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512vl"))
      return Avx512Backend();
    if (__builtin_cpu_supports("avx2")) return Avx2Backend();
#endif
    return PlainBackend();
  }();
  return chosen;
}

using PanelKey = std::array<int64_t, 6>;  // of which operand, from which tile and k on, how many columns, in which pitch

// Panels made before, up to a number of floats; then all are dropped.
class PanelCache {
 public:
  explicit PanelCache(int64_t most) : capacity(most) {}
  // The buffer for `key`; `fresh` when it is to be filled.
  float *Get(const PanelKey &key, int64_t floats, bool &fresh) {
    const auto found = slots.find(key);
    fresh = found == slots.end();
    if (!fresh) return found->second.data();
    if (used + floats > capacity) Clear();
    std::vector<float> buffer;
    if (!spare.empty()) {
      buffer.swap(spare.back());
      spare.pop_back();
    }
    buffer.resize(static_cast<size_t>(floats));
    used += floats;
    return slots.emplace(key, std::move(buffer)).first->second.data();
  }
  void Clear() {
    for (auto &slot : slots) spare.push_back(std::move(slot.second));
    slots.clear();
    used = 0;
  }

 private:
  std::map<PanelKey, std::vector<float>> slots;
  std::vector<std::vector<float>> spare;
  int64_t used = 0, capacity;
};

struct CubePanels {
  PanelCache left{1 << 19}, right{1 << 20};
  std::vector<float> rows;  // widened rows on their way into a right panel
};

}  // namespace twin
