// Levels 2 and 0 of AddOne.
#include "aclnn_add_one.h"

#include "aclnn_kernels/contiguous.h"
#include "opdev/make_op_executor.h"
#include "opdev/op_dfx.h"

namespace l0op {

OP_TYPE_REGISTER(AddOne);

static const aclTensor *AddOne(const aclTensor *x, const aclTensor *bias, double addend, aclOpExecutor *executor) {
  L0_DFX(AddOne, x, bias, addend);
  auto out = executor->AllocTensor(x->GetViewShape(), x->GetDataType(), op::Format::FORMAT_ND);
  auto ret = ADD_TO_LAUNCHER_LIST_AICORE(AddOne, OP_INPUT(x, bias), OP_OUTPUT(out), OP_ATTR(addend));
  OP_CHECK(ret == ACLNN_SUCCESS, OP_LOGE(ACLNN_ERR_INNER_NULLPTR, "AddOne: not launched"), return nullptr);
  return out;
}

}  // namespace l0op

extern "C" aclnnStatus aclnnAddOneGetWorkspaceSize(const aclTensor *x, const aclTensor *biasOptional, double addend, aclTensor *y,
                                                   uint64_t *workspaceSize, aclOpExecutor **executor) {
  L2_DFX_PHASE_1(aclnnAddOne, DFX_IN(x, biasOptional, addend), DFX_OUT(y));
  CHECK_COND(x != nullptr && y != nullptr, ACLNN_ERR_PARAM_NULLPTR, "aclnnAddOne: %s is null", x == nullptr ? "x" : "y");
  auto uniqueExecutor = CREATE_EXECUTOR();
  auto xc = l0op::Contiguous(x, uniqueExecutor.get());
  CHECK_RET(xc != nullptr, ACLNN_ERR_INNER_NULLPTR);
  auto sum = l0op::AddOne(xc, biasOptional, addend, uniqueExecutor.get());
  CHECK_RET(sum != nullptr && l0op::ViewCopy(sum, y, uniqueExecutor.get()) != nullptr, ACLNN_ERR_INNER_NULLPTR);
  *workspaceSize = uniqueExecutor->GetWorkspaceSize();
  uniqueExecutor.ReleaseTo(executor);
  return ACLNN_SUCCESS;
}

extern "C" aclnnStatus aclnnAddOne(void *workspace, uint64_t workspaceSize, aclOpExecutor *executor, aclrtStream stream) {
  L2_DFX_PHASE_2(aclnnAddOne);
  return CommonOpExecutorRun(workspace, workspaceSize, executor, stream);
}
