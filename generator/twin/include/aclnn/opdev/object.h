// Base of the objects an executor owns.
#pragma once

#define TWIN_ACL_API __attribute__((visibility("default")))

namespace op {
class Object {};
}  // namespace op
