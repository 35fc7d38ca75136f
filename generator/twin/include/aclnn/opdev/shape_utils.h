// Questions about shapes (host.md section 3).
#pragma once
#include "common_types.h"

namespace op {
TWIN_ACL_API ge::AscendString ToString(const Shape &shape);
TWIN_ACL_API ge::AscendString ToString(const Strides &strides);
TWIN_ACL_API void ToShape(const int64_t *dims, uint64_t number, Shape &shape);
TWIN_ACL_API ShapeVector ToShapeVector(const Shape &shape);
TWIN_ACL_API void ToContiguousStrides(const Shape &shape, Strides &strides);
TWIN_ACL_API bool CheckBroadcastShape(const Shape &a, const Shape &b);
// False when the shapes do not broadcast; then `out` is unchanged.
TWIN_ACL_API bool BroadcastInferShape(const Shape &a, const Shape &b, Shape &out);
}  // namespace op
