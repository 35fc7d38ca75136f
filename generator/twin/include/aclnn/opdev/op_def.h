// Names of operators in level-0 code (host.md section 3).
#pragma once
#include <cstdint>

#include "object.h"

namespace op {
// A number for an operator's type, the same for the same name.
TWIN_ACL_API uint32_t GenOpTypeId(const char *type);
}  // namespace op

#define OP_TYPE_REGISTER(type)                             \
  inline uint32_t type##OpTypeId() {                       \
    static const uint32_t id = ::op::GenOpTypeId(#type);   \
    return id;                                             \
  }
