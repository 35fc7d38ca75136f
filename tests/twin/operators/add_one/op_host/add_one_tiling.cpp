// The tiling function of add_one, in plain C++11 against gert.
#include "register/op_impl_registry.h"
#include "tiling/platform/platform_ascendc.h"
#include "../op_kernel/add_one_tiling_data.h"

namespace optiling {

static ge::graphStatus Tiling(gert::TilingContext *context) {
  const gert::StorageShape *x = context->GetRequiredInputShape(0);
  const gert::CompileTimeTensorDesc *desc = context->GetInputDesc(0);
  if (x == nullptr || desc == nullptr || desc->GetDataType() != ge::DT_FLOAT) return ge::GRAPH_PARAM_INVALID;
  const float *addend = context->GetAttrs()->GetFloat(0);
  const int64_t *most = context->GetAttrs()->GetInt(1);
  const bool *negate = context->GetAttrs()->GetBool(2);
  if (addend == nullptr || most == nullptr || negate == nullptr) return ge::GRAPH_FAILED;
  platform_ascendc::PlatformAscendC platform(context->GetPlatformInfo());
  int64_t cores = platform.GetCoreNumAiv();
  if (*most > 0 && *most < cores) cores = *most;
  AddOneTilingData *data = context->GetTilingData<AddOneTilingData>();
  *data = AddOneTilingData{};
  data->total = x->GetStorageShape().GetShapeSize();
  data->perCore = (data->total + cores - 1) / cores;
  data->addend = *negate ? -*addend : *addend;
  data->hasBias = context->GetOptionalInputShape(1) != nullptr ? 1 : 0;
  context->SetBlockDim(static_cast<uint32_t>((data->total + data->perCore - 1) / data->perCore));
  context->SetTilingKey(7);
  context->SetScheduleMode(1);
  context->GetWorkspaceSizes(1)[0] = platform.GetLibApiWorkSpaceSize();
  return ge::GRAPH_SUCCESS;
}

struct CompileInfo {};
static ge::graphStatus Parse(gert::TilingParseContext *) { return ge::GRAPH_SUCCESS; }

IMPL_OP_OPTILING(AddOne).Tiling(Tiling).TilingParse<CompileInfo>(Parse);

}  // namespace optiling
