// A box of a tensor (host.md section 3). Null on failure.
#pragma once
#include "opdev/op_executor.h"

namespace l0op {
TWIN_ACL_API const aclTensor *Slice(const aclTensor *x, const aclIntArray *offsets, const aclIntArray *size, aclOpExecutor *executor);
TWIN_ACL_API const aclTensor *Slice(const aclTensor *x, const aclTensor *y, const aclTensor *offset, const aclTensor *size, aclOpExecutor *executor);
}  // namespace l0op
