// Level 2 of Probe. Mode 9 leaves out the contiguous copy that a view needs.
#include "aclnn_probe.h"

#include "aclnn_kernels/contiguous.h"
#include "aclnn_kernels/common/op_error_check.h"
#include "opdev/op_dfx.h"
#include "probe.h"

using namespace op;

static const std::initializer_list<op::DataType> kTypes = {op::DataType::DT_FLOAT, op::DataType::DT_FLOAT16};

static bool NotNull(const aclTensor *x, const aclTensor *w, const aclTensor *y) {
  OP_CHECK_NULL(x, return false);
  OP_CHECK_NULL(w, return false);
  OP_CHECK_NULL(y, return false);
  return true;
}

static bool Valid(const aclTensor *x, const aclTensor *w, const aclTensor *y) {
  OP_CHECK_DTYPE_NOT_SUPPORT(x, kTypes, return false);
  OP_CHECK_SHAPE_NOT_EQUAL(x, w, return false);
  OP_CHECK_SHAPE_NOT_EQUAL(x, y, return false);
  return true;
}

extern "C" aclnnStatus aclnnProbeGetWorkspaceSize(const aclTensor *x, const aclTensor *biasOptional, const aclTensor *w, int64_t mode,
                                                  const aclIntArray *axes, char *text, aclTensor *y, aclTensor *extraOptional,
                                                  uint64_t *workspaceSize, aclOpExecutor **executor) {
  L2_DFX_PHASE_1(aclnnProbe, DFX_IN(x, biasOptional, w, mode, axes, text), DFX_OUT(y, extraOptional));
  auto uniqueExecutor = CREATE_EXECUTOR();
  CHECK_RET(uniqueExecutor.get() != nullptr, ACLNN_ERR_INNER_CREATE_EXECUTOR);
  CHECK_RET(NotNull(x, w, y), ACLNN_ERR_PARAM_NULLPTR);
  CHECK_RET(Valid(x, w, y), ACLNN_ERR_PARAM_INVALID);
  if (x->IsEmpty()) {
    *workspaceSize = 0;
    uniqueExecutor.ReleaseTo(executor);
    return ACLNN_SUCCESS;
  }
  auto xc = mode == 9 ? x : l0op::Contiguous(x, uniqueExecutor.get());
  CHECK_RET(xc != nullptr, ACLNN_ERR_INNER_NULLPTR);
  auto wc = l0op::Contiguous(w, uniqueExecutor.get());
  CHECK_RET(wc != nullptr, ACLNN_ERR_INNER_NULLPTR);
  auto result = l0op::Probe(xc, biasOptional, wc, extraOptional, mode, axes, text, uniqueExecutor.get());
  CHECK_RET(result != nullptr, ACLNN_ERR_INNER_NULLPTR);
  auto copied = l0op::ViewCopy(result, y, uniqueExecutor.get());
  CHECK_RET(copied != nullptr, ACLNN_ERR_INNER_NULLPTR);
  *workspaceSize = uniqueExecutor->GetWorkspaceSize();
  uniqueExecutor.ReleaseTo(executor);
  return ACLNN_SUCCESS;
}

extern "C" aclnnStatus aclnnProbe(void *workspace, uint64_t workspaceSize, aclOpExecutor *executor, aclrtStream stream) {
  L2_DFX_PHASE_2(aclnnProbe);
  return CommonOpExecutorRun(workspace, workspaceSize, executor, stream);
}
