// The tiling function of the kernel written by hand.
#include "register/op_impl_registry.h"
#include "tiling/platform/platform_ascendc.h"

#include "../op_kernel/double_it_tiling_data.h"

namespace optiling {

static ge::graphStatus DoubleItTiling(gert::TilingContext *context)
{
    const gert::StorageShape *x = context->GetRequiredInputShape(0);
    const gert::StorageShape *y = context->GetOutputShape(0);
    if (x == nullptr || y == nullptr || !(x->GetOriginShape() == y->GetOriginShape()) || x->GetOriginShape().GetDimNum() != 1) {
        return ge::GRAPH_FAILED;
    }
    if (context->GetRequiredInputDesc(0)->GetDataType() != ge::DT_FLOAT || context->GetOutputDesc(0)->GetDataType() != ge::DT_FLOAT) {
        return ge::GRAPH_FAILED;
    }
    const int64_t total = x->GetOriginShape().GetDim(0);
    if (total > 100000) {
        return ge::GRAPH_FAILED;
    }
    platform_ascendc::PlatformAscendC platform(context->GetPlatformInfo());
    const int64_t cores = platform.GetCoreNumAiv();
    const int64_t blocks = (total + 7) / 8;
    DoubleItTilingData *data = context->GetTilingData<DoubleItTilingData>();
    if (data == nullptr) {
        return ge::GRAPH_FAILED;
    }
    data->total = total;
    data->share = total == 0 ? 8 : (blocks + cores - 1) / cores * 8;
    data->tile = data->share < 1024 ? data->share : 1024;
    const int64_t used = (total + data->share - 1) / data->share;
    context->SetBlockDim(static_cast<uint32_t>(used > 0 ? used : 1));
    context->SetTilingKey(0);
    context->GetWorkspaceSizes(1)[0] = platform.GetLibApiWorkSpaceSize();
    return ge::GRAPH_SUCCESS;
}

IMPL_OP_OPTILING(DoubleIt).Tiling(DoubleItTiling);

}  // namespace optiling
