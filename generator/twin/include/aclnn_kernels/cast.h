// Conversion of a tensor to another dtype (host.md section 3). Null on failure.
#pragma once
#include "opdev/op_executor.h"

namespace l0op {
// Round to nearest even to floats, towards zero and saturating to integers.
TWIN_ACL_API const aclTensor *Cast(const aclTensor *self, op::DataType dstDtype, aclOpExecutor *executor);
}  // namespace l0op
