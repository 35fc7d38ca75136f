// op::fp16_t: storage and conversion of IEEE binary16.
#pragma once
#include <cstdint>

#include "object.h"

namespace op {
struct TWIN_ACL_API fp16_t {
  uint16_t val = 0;
  fp16_t() = default;
  fp16_t(float value);
  operator float() const;
};
}  // namespace op
