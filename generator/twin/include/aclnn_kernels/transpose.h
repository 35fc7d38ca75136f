// Permutation of axes (host.md section 3). Null on failure.
#pragma once
#include "opdev/op_executor.h"

namespace l0op {
// Axis i of the result is axis perm[i] of x.
TWIN_ACL_API const aclTensor *Transpose(const aclTensor *x, const aclIntArray *perm, aclOpExecutor *executor);
TWIN_ACL_API const aclTensor *Transpose(const aclTensor *x, const aclTensor *y, const aclTensor *perm, aclOpExecutor *executor);
}  // namespace l0op
