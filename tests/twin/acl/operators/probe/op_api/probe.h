// Level 0 of Probe.
#pragma once
#include "opdev/op_executor.h"

namespace l0op {
const aclTensor *Probe(const aclTensor *x, const aclTensor *bias, const aclTensor *w, const aclTensor *extra, int64_t mode,
                       const aclIntArray *axes, const char *text, aclOpExecutor *executor);
}  // namespace l0op
