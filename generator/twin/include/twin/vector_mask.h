// The mask registers: SetMaskNorm, SetMaskCount, SetVectorMask, ResetMask, and the saturation flag.
//
// Instructions with isSetMask = false take their lanes from here: bits of every repeat, or (counter mode) a number of elements.
#pragma once

#include "twin/vector.h"

namespace AscendC {

inline void SetMaskNorm() { twin::Self().vector.counter = false; }
inline void SetMaskCount() { twin::Self().vector.counter = true; }

inline void ResetMask() {
  twin::Self().vector.mask[0] = ~uint64_t{0};
  twin::Self().vector.mask[1] = ~uint64_t{0};
}

// Bits of the lanes 64..127 and 0..63; in counter mode maskLow is the number of elements.
template <typename T, MaskMode mode = MaskMode::NORMAL>
inline void SetVectorMask(const uint64_t maskHigh, const uint64_t maskLow) {
  twin::Self().vector.mask[0] = maskLow;
  twin::Self().vector.mask[1] = maskHigh;
}

// The first `len` lanes of every repeat, or `len` elements in counter mode.
template <typename T, MaskMode mode = MaskMode::NORMAL>
inline void SetVectorMask(int64_t len, twin::Site site = twin::Site::Here()) {
  twin::Core &core = twin::Self();
  if constexpr (mode == MaskMode::COUNTER) {
    if (len < 0 || len > twin::kCountMax)
      core.Report(twin::Law::kRange, site, "SetVectorMask", "len is %lld, allowed are 0 to 2147483647", static_cast<long long>(len));
    core.vector.mask[0] = static_cast<uint64_t>(len) & 0xffffffffu;
    core.vector.mask[1] = 0;
  } else {
    const int64_t lanes = twin::kRepeatBytes / static_cast<int64_t>(sizeof(T));
    if (len < 0 || len > lanes)
      core.Report(twin::Law::kRange, site, "SetVectorMask", "len is %lld, allowed are 0 to %lld", static_cast<long long>(len),
                  static_cast<long long>(lanes));
    const twin::LaneBits bits = twin::LaneBits::First(len);
    core.vector.mask[0] = bits.word[0];
    core.vector.mask[1] = bits.word[1];
  }
}

}  // namespace AscendC
