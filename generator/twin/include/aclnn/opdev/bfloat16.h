// op::bfloat16: storage and conversion of bfloat16.
#pragma once
#include <cstdint>

#include "object.h"

namespace op {
struct TWIN_ACL_API bfloat16 {
  uint16_t value = 0;
  bfloat16() = default;
  bfloat16(float from);
  operator float() const;
};
}  // namespace op
