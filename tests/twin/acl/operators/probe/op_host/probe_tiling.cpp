// Tiling and inference of Probe, in C++11. The scale is made of every attribute, so that a result tells them all.
#include <cstring>

#include "../op_kernel/probe_tiling_data.h"
#include "register/op_impl_registry.h"
#include "tiling/platform/platform_ascendc.h"

namespace optiling {

static ge::graphStatus Tiling(gert::TilingContext *context) {
  const gert::RuntimeAttrs *attrs = context->GetAttrs();
  const int64_t *mode = attrs->GetInt(0);
  const gert::TypedContinuousVector<int64_t> *axes = attrs->GetListInt(1);
  const char *text = attrs->GetStr(2);
  const gert::TypedContinuousVector<float> *weights = attrs->GetListFloat(3);
  const bool *flag = attrs->GetBool(4);
  if (mode == nullptr || axes == nullptr || text == nullptr || weights == nullptr || flag == nullptr || attrs->GetAttrNum() != 5)
    return ge::GRAPH_FAILED;
  const gert::StorageShape *x = context->GetRequiredInputShape(0), *bias = context->GetOptionalInputShape(1),
                           *w = context->GetRequiredInputShape(2);
  if (x == nullptr || w == nullptr || *mode == 3) return ge::GRAPH_PARAM_INVALID;
  if (context->GetInputShape(1) != (bias == nullptr ? w : bias) || context->GetInputDesc(bias == nullptr ? 2 : 3) != nullptr)
    return ge::GRAPH_FAILED;
  if (context->GetComputeNodeInputNum() != (bias == nullptr ? 2u : 3u) || std::strcmp(context->GetNodeType(), "Probe") != 0)
    return ge::GRAPH_FAILED;
  platform_ascendc::PlatformAscendC platform(context->GetPlatformInfo());
  ProbeTilingData *data = context->GetTilingData<ProbeTilingData>();
  size_t *workspaces = context->GetWorkspaceSizes(1);
  if (data == nullptr || workspaces == nullptr) return ge::GRAPH_FAILED;
  *data = ProbeTilingData();
  data->total = x->GetStorageShape().GetShapeSize();
  for (size_t i = 0; i < axes->GetSize(); ++i) data->scale += static_cast<float>(axes->GetData()[i]);
  for (size_t i = 0; i < weights->GetSize(); ++i) data->scale += weights->GetData()[i];
  data->scale += static_cast<float>(std::strlen(text)) + (*flag ? 0.5f : 0.0f);
  data->mode = static_cast<int32_t>(*mode);
  data->hasBias = bias == nullptr ? 0 : 1;
  context->SetBlockDim(*mode == 4 ? 0 : (*mode == 5 ? 1000 : 1));
  context->SetNeedAtomic(*mode == 6);
  workspaces[0] = platform.GetLibApiWorkSpaceSize() + (*mode == 7 ? 1000 : 0);
  return ge::GRAPH_SUCCESS;
}

IMPL_OP_OPTILING(Probe).Tiling(Tiling);

}  // namespace optiling

namespace ge {

static graphStatus InferShape(gert::InferShapeContext *context) {
  const gert::Shape *x = context->GetInputShape(0);
  gert::Shape *y = context->GetOutputShape(0);
  if (x == nullptr || y == nullptr || x->GetDimNum() == 3) return GRAPH_FAILED;
  *y = *x;
  return GRAPH_SUCCESS;
}

IMPL_OP_INFERSHAPE(Probe).InferShape(InferShape);

}  // namespace ge
