// A tensor between zeros (host.md section 3). Null on failure.
#pragma once
#include "opdev/op_executor.h"

namespace l0op {
// paddings: int32 or int64 on the host, (rank, 2): elements before and after each axis.
TWIN_ACL_API const aclTensor *Pad(const aclTensor *self, const aclTensor *paddings, aclOpExecutor *executor);
}  // namespace l0op
