// Checks of level-2 functions. Bare `if` statements: brace what is around them (host.md section 3).
#pragma once
#include "opdev/data_type_utils.h"
#include "opdev/op_log.h"
#include "opdev/shape_utils.h"
#include "opdev/tensor_view_utils.h"

#define OP_CHECK_NULL(param, retExpr)                                      \
  if ((param) == nullptr) {                                                \
    OP_LOGE(ACLNN_ERR_PARAM_NULLPTR, "expected %s not to be null", #param); \
    retExpr;                                                               \
  }
#define OP_CHECK_DTYPE_NOT_SUPPORT(tensor, supportList, retExpr)                                                                        \
  if (!CheckType((tensor)->GetDataType(), supportList)) {                                                                               \
    OP_LOGE(ACLNN_ERR_PARAM_INVALID, "tensor %s has dtype %s, supported are %s", #tensor, op::ToString((tensor)->GetDataType()).GetString(), \
            op::ToString(supportList).GetString());                                                                                     \
    retExpr;                                                                                                                            \
  }
#define OP_CHECK_DTYPE_NOT_MATCH(tensor, expectedDtype, retExpr)                                                                \
  if ((tensor)->GetDataType() != (expectedDtype)) {                                                                             \
    OP_LOGE(ACLNN_ERR_PARAM_INVALID, "tensor %s has dtype %s, expected %s", #tensor, op::ToString((tensor)->GetDataType()).GetString(), \
            op::ToString(expectedDtype).GetString());                                                                           \
    retExpr;                                                                                                                    \
  }
#define OP_CHECK_DTYPE_NOT_SAME(tensor1, tensor2, retExpr)                                                                           \
  if ((tensor1)->GetDataType() != (tensor2)->GetDataType()) {                                                                        \
    OP_LOGE(ACLNN_ERR_PARAM_INVALID, "dtypes of %s (%s) and %s (%s) differ", #tensor1, op::ToString((tensor1)->GetDataType()).GetString(), \
            #tensor2, op::ToString((tensor2)->GetDataType()).GetString());                                                           \
    retExpr;                                                                                                                         \
  }
#define OP_CHECK_SHAPE_NOT_EQUAL(tensor1, tensor2, retExpr)                                                                             \
  if ((tensor1)->GetViewShape() != (tensor2)->GetViewShape()) {                                                                         \
    OP_LOGE(ACLNN_ERR_PARAM_INVALID, "shapes of %s %s and %s %s differ", #tensor1, op::ToString((tensor1)->GetViewShape()).GetString(), \
            #tensor2, op::ToString((tensor2)->GetViewShape()).GetString());                                                             \
    retExpr;                                                                                                                            \
  }
#define OP_CHECK_SHAPE_NOT_EQUAL_WITH_EXPECTED_SIZE(tensor, expectedShape, retExpr)                                                \
  if ((tensor)->GetViewShape() != (expectedShape)) {                                                                               \
    OP_LOGE(ACLNN_ERR_PARAM_INVALID, "tensor %s has shape %s, expected %s", #tensor, op::ToString((tensor)->GetViewShape()).GetString(), \
            op::ToString(expectedShape).GetString());                                                                              \
    retExpr;                                                                                                                       \
  }
#define TWIN_CHECK_DIMS(tensor, cond, limit, what, retExpr)                                                                              \
  if (cond) {                                                                                                                            \
    OP_LOGE(ACLNN_ERR_PARAM_INVALID, "tensor %s has %zu dims %s, expected " what " %zu", #tensor, (tensor)->GetViewShape().GetDimNum(), \
            op::ToString((tensor)->GetViewShape()).GetString(), static_cast<size_t>(limit));                                             \
    retExpr;                                                                                                                             \
  }
#define OP_CHECK_WRONG_DIMENSION(tensor, expectedDimNum, retExpr) \
  TWIN_CHECK_DIMS(tensor, (tensor)->GetViewShape().GetDimNum() != static_cast<size_t>(expectedDimNum), expectedDimNum, "exactly", retExpr)
#define OP_CHECK_MAX_DIM(tensor, maxDimNum, retExpr) \
  TWIN_CHECK_DIMS(tensor, (tensor)->GetViewShape().GetDimNum() > static_cast<size_t>(maxDimNum), maxDimNum, "at most", retExpr)
#define OP_CHECK_MIN_DIM(tensor, minDimNum, retExpr) \
  TWIN_CHECK_DIMS(tensor, (tensor)->GetViewShape().GetDimNum() < static_cast<size_t>(minDimNum), minDimNum, "at least", retExpr)
#define OP_CHECK_BROADCAST(tensor1, tensor2, retExpr)                                                                                 \
  if (!CheckBroadcastShape((tensor1)->GetViewShape(), (tensor2)->GetViewShape())) {                                                   \
    OP_LOGE(ACLNN_ERR_PARAM_INVALID, "%s %s and %s %s do not broadcast", #tensor1, op::ToString((tensor1)->GetViewShape()).GetString(), \
            #tensor2, op::ToString((tensor2)->GetViewShape()).GetString());                                                           \
    retExpr;                                                                                                                          \
  }
#define OP_CHECK_BROADCAST_WITH_SHAPE(tensor, shape, retExpr)                                                                          \
  if (!CheckBroadcastShape((tensor)->GetViewShape(), shape)) {                                                                         \
    OP_LOGE(ACLNN_ERR_PARAM_INVALID, "%s %s does not broadcast with %s", #tensor, op::ToString((tensor)->GetViewShape()).GetString(), \
            op::ToString(shape).GetString());                                                                                          \
    retExpr;                                                                                                                           \
  }
#define OP_CHECK_BROADCAST_AND_INFER_SHAPE(tensor1, tensor2, shapeOut, retExpr)                                                       \
  if (!BroadcastInferShape((tensor1)->GetViewShape(), (tensor2)->GetViewShape(), shapeOut)) {                                         \
    OP_LOGE(ACLNN_ERR_PARAM_INVALID, "%s %s and %s %s do not broadcast", #tensor1, op::ToString((tensor1)->GetViewShape()).GetString(), \
            #tensor2, op::ToString((tensor2)->GetViewShape()).GetString());                                                           \
    retExpr;                                                                                                                          \
  }
#define OP_CHECK_RESULT_DTYPE_CAST_FAILED(from, to, retExpr)                                                              \
  ;                                                                                                                       \
  if (!CanCast(from, to)) {                                                                                               \
    OP_LOGE(ACLNN_ERR_PARAM_INVALID, "dtype %s cannot be cast to %s", op::ToString(from).GetString(), op::ToString(to).GetString()); \
    retExpr;                                                                                                              \
  }
#define OP_CHECK_COMM_INPUT(workspaceSize, executor)                                  \
  if ((workspaceSize) == nullptr || (executor) == nullptr) {                          \
    OP_LOGE(ACLNN_ERR_PARAM_NULLPTR, "expected workspaceSize and executor not to be null"); \
    return ACLNN_ERR_PARAM_NULLPTR;                                                   \
  }
#define OP_CHECK_INFERSHAPE(failCond, retExpr, fmt, args...) \
  if (failCond) {                                            \
    OP_LOGE(ACLNN_ERR_INNER_INFERSHAPE_ERROR, fmt, ##args);  \
    retExpr;                                                 \
  }
#define OP_CHECK_ADD_TO_LAUNCHER_LIST_AICORE(failCond, retExpr, fmt, args...) \
  if (failCond) {                                                             \
    OP_LOGE(ACLNN_ERR_INNER_STATIC_WORKSPACE_INVALID, fmt, ##args);           \
    retExpr;                                                                  \
  }
