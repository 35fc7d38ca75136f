// The same elements in another shape (host.md section 3). Null on failure.
#pragma once
#include "opdev/op_executor.h"

namespace l0op {
TWIN_ACL_API const aclTensor *Reshape(const aclTensor *x, const op::Shape &shape, aclOpExecutor *executor);
// One extent may be -1.
TWIN_ACL_API const aclTensor *Reshape(const aclTensor *x, const aclIntArray *shape, aclOpExecutor *executor);
}  // namespace l0op
