// Questions about views (host.md section 3).
#pragma once
#include "common_types.h"

namespace op {
// Whether the elements are in row-major order without gaps; dims of extent 1 have any stride, an empty tensor is contiguous.
TWIN_ACL_API bool IsContiguous(const aclTensor *tensor);
}  // namespace op
