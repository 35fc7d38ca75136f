// Change of format; only between formats of the same layout (host.md section 3). Null on failure.
#pragma once
#include "opdev/op_executor.h"

namespace l0op {
TWIN_ACL_API const aclTensor *TransData(const aclTensor *x, op::Format dstPrimaryFormat, int64_t groups, aclOpExecutor *executor);
TWIN_ACL_API const aclTensor *TransDataSpecial(const aclTensor *x, op::Format dstPrimaryFormat, int64_t groups, aclOpExecutor *executor);
TWIN_ACL_API const aclTensor *ReFormat(const aclTensor *x, const op::Format &format, aclOpExecutor *executor = nullptr);
}  // namespace l0op
