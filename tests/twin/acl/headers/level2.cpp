// Every check and macro of level-2 code, compiled as C++17 with and without GNU extensions.
#include "opdev/op_log.h"
#include "opdev/op_errno.h"
#include "opdev/op_dfx.h"
#include "opdev/op_def.h"
#include "opdev/common_types.h"
#include "opdev/data_type_utils.h"
#include "opdev/format_utils.h"
#include "opdev/shape_utils.h"
#include "opdev/tensor_view_utils.h"
#include "opdev/platform.h"
#include "opdev/op_executor.h"
#include "opdev/make_op_executor.h"
#include "aclnn_kernels/contiguous.h"
#include "aclnn_kernels/cast.h"
#include "aclnn_kernels/reshape.h"
#include "aclnn_kernels/transpose.h"
#include "aclnn_kernels/transdata.h"
#include "aclnn_kernels/slice.h"
#include "aclnn_kernels/pad.h"
#include "aclnn_kernels/common/op_error_check.h"
#include "aclnn/aclnn_base.h"
using namespace op;
namespace l0op {
OP_TYPE_REGISTER(Demo);
const aclTensor *Demo(const aclTensor *x, const aclTensor *opt, const aclIntArray *axes, float scale, aclOpExecutor *executor) {
  L0_DFX(Demo, x, axes, scale);
  auto out = executor->AllocTensor(x->GetViewShape(), x->GetDataType(), op::Format::FORMAT_ND);
  auto ret = ADD_TO_LAUNCHER_LIST_AICORE(Demo, OP_INPUT(x, opt), OP_OUTPUT(out), OP_ATTR(axes, scale, 1.5, int64_t(2), true, "abc", op::DataType::DT_FLOAT));
  OP_CHECK(ret == ACLNN_SUCCESS, OP_LOGE(ACLNN_ERR_INNER_NULLPTR, "launch failed"), return nullptr);
  ret = INFER_SHAPE(Demo, OP_INPUT(x, static_cast<const aclTensor *>(nullptr)), OP_OUTPUT(out), OP_ATTR(axes, scale));
  return ret == 0 ? out : nullptr;
} }
static const std::initializer_list<op::DataType> kTypes = {op::DataType::DT_FLOAT, op::DataType::DT_BF16};
static bool Check(const aclTensor *x, const aclTensor *y) {
  OP_CHECK_NULL(x, return false);
  OP_CHECK_DTYPE_NOT_SUPPORT(x, kTypes, return false);
  OP_CHECK_DTYPE_NOT_MATCH(x, ge::DT_FLOAT, return false);
  OP_CHECK_DTYPE_NOT_SAME(x, y, return false);
  OP_CHECK_SHAPE_NOT_EQUAL(x, y, return false);
  OP_CHECK_WRONG_DIMENSION(x, 2, return false);
  OP_CHECK_MAX_DIM(x, 8, return false);
  OP_CHECK_MIN_DIM(x, 1, return false);
  OP_CHECK_BROADCAST(x, y, return false);
  OP_CHECK_RESULT_DTYPE_CAST_FAILED(x->GetDataType(), y->GetDataType(), return false);
  return true;
}
extern "C" aclnnStatus aclnnDemoGetWorkspaceSize(const aclTensor *x, const aclIntArray *axes, double scale, const char *mode, aclTensor *y, uint64_t *workspaceSize, aclOpExecutor **executor) {
  L2_DFX_PHASE_1(aclnnDemo, DFX_IN(x, axes, scale, mode), DFX_OUT(y));
  auto uniqueExecutor = CREATE_EXECUTOR();
  CHECK_RET(uniqueExecutor.get() != nullptr, ACLNN_ERR_INNER_CREATE_EXECUTOR);
  CHECK_RET(Check(x, y), ACLNN_ERR_PARAM_INVALID);
  if (x->IsEmpty()) { *workspaceSize = 0; uniqueExecutor.ReleaseTo(executor); return ACLNN_SUCCESS; }
  auto xc = l0op::Contiguous(x, uniqueExecutor.get());              CHECK_RET(xc != nullptr, ACLNN_ERR_INNER_NULLPTR);
  auto r  = l0op::Demo(xc, nullptr, axes, static_cast<float>(scale), uniqueExecutor.get());      CHECK_RET(r != nullptr, ACLNN_ERR_INNER_NULLPTR);
  auto v  = l0op::ViewCopy(r, y, uniqueExecutor.get());             CHECK_RET(v != nullptr, ACLNN_ERR_INNER_NULLPTR);
  *workspaceSize = uniqueExecutor->GetWorkspaceSize();
  uniqueExecutor.ReleaseTo(executor);
  return ACLNN_SUCCESS;
}
extern "C" aclnnStatus aclnnDemo(void *workspace, uint64_t workspaceSize, aclOpExecutor *executor, aclrtStream stream) {
  L2_DFX_PHASE_2(aclnnDemo);
  return CommonOpExecutorRun(workspace, workspaceSize, executor, stream);
}
