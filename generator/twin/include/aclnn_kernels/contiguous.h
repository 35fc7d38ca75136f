// Copies between views and contiguous tensors (host.md section 3). Null on failure.
#pragma once
#include "opdev/op_executor.h"

namespace l0op {
// The tensor itself or a view of it when it is contiguous, else a contiguous copy.
TWIN_ACL_API const aclTensor *Contiguous(const aclTensor *x, aclOpExecutor *executor);
TWIN_ACL_API const aclTensor *PickViewAsContiguous(const aclTensor *x, aclOpExecutor *executor);
// Writes x, contiguous, into the view y; returns y.
TWIN_ACL_API const aclTensor *ViewCopy(const aclTensor *x, const aclTensor *y, aclOpExecutor *executor);
TWIN_ACL_API const aclTensor *ReViewToOut(const aclTensor *x, const aclTensor *y, aclOpExecutor *executor);
}  // namespace l0op
