// Every name of an operator's definition, its functions and contexts; compiled in C++11 in each of the three ways.
#include "exe_graph/runtime/infer_datatype_context.h"
#include "exe_graph/runtime/infer_shape_context.h"
#include "exe_graph/runtime/tiling_context.h"
#include "platform/platform_info.h"
#include "register/op_def_registry.h"
#include "register/op_impl_registry.h"
#include "register/tilingdata_base.h"
#include "tiling/platform/platform_ascendc.h"

namespace optiling {

struct CompileInfo {
  int64_t cores = 0;
};

static ge::graphStatus Parse(gert::TilingParseContext *context) {
  CompileInfo *info = context->GetCompiledInfo<CompileInfo>();
  return info == nullptr || context->GetCompiledJson() == nullptr ? ge::GRAPH_FAILED : ge::GRAPH_SUCCESS;
}

static ge::graphStatus Tile(gert::TilingContext *context) {
  platform_ascendc::PlatformAscendC platform(context->GetPlatformInfo());
  uint64_t bytes = platform.GetCoreNumAic() + platform.GetCoreNumAiv() + platform.GetCoreNumVector() + platform.GetLibApiWorkSpaceSize();
  platform.GetCoreMemSize(platform_ascendc::CoreMemType::UB, bytes);
  platform.GetCoreMemBw(platform_ascendc::CoreMemType::L2, bytes);
  bytes += platform_ascendc::PlatformAscendCManager::GetInstance() == nullptr ? 0 : 1;
  std::string value;
  const bool known = context->GetPlatformInfo()->GetPlatformRes("AICoreSpec", "ub_size", value);
  const gert::Tensor *tensor = context->GetOptionalInputTensor(1);
  const int64_t first = tensor == nullptr ? 0 : *tensor->GetData<int64_t>();
  const gert::AnchorInstanceInfo *instances = context->GetIrInputInstanceInfo(0);
  const gert::ContinuousVectorVector *lists = context->GetAttrs()->GetListListInt(1);
  if (instances == nullptr || instances->GetInstanceNum() != 1 || context->GetComputeNodeInfo()->GetIrInputsNum() == 0) return ge::GRAPH_FAILED;
  context->SetTilingKey(static_cast<uint64_t>(first) + (known ? bytes : 0) + (lists == nullptr ? 0 : lists->Get(0)->GetSize()));
  context->SetScheduleMode(1);
  context->SetNeedAtomic(true);
  context->SetTilingCond(0);
  context->SetLocalMemorySize(0);
  return context->GetRawTilingData()->Append<int32_t>(1);
}

}  // namespace optiling

namespace ge {

static graphStatus Shape(gert::InferShapeContext *context) {
  const gert::Shape *x = context->GetRequiredInputShape(0);
  gert::Shape *y = context->GetOutputShape(0);
  if (x == nullptr || y == nullptr || context->GetOptionalInputShape(1) == x || context->GetDynamicInputShape(2, 0) == x) return GRAPH_NULL_PTR;
  y->SetDimNum(x->GetDimNum());
  for (size_t i = 0; i < x->GetDimNum(); ++i) y->SetDim(i, x->GetDim(i));
  return GRAPH_SUCCESS;
}

static graphStatus Types(gert::InferDataTypeContext *context) {
  if (context->GetOptionalInputDataType(1) == DT_BF16 || context->GetDynamicInputDataType(2, 1) == DT_BOOL) return GRAPH_PARAM_INVALID;
  return context->SetOutputDataType(0, context->GetRequiredInputDataType(0));
}

}  // namespace ge

namespace ops {

class Demo : public OpDef {
 public:
  explicit Demo(const char *name) : OpDef(name) {
    this->Comment(CommentSection::BRIEF, "a demonstration").FormatMatchMode(FormatCheckOption::STRICT).EnableFallBack();
    this->Input("x")
        .ParamType(REQUIRED)
        .DataType({ge::DT_FLOAT, ge::DT_BF16})
        .Format({ge::FORMAT_ND, ge::FORMAT_ND})
        .UnknownShapeFormat({ge::FORMAT_ND, ge::FORMAT_ND})
        .AutoContiguous()
        .Comment("x");
    this->Input("n").ParamType(OPTIONAL).DataTypeList({ge::DT_INT64}).FormatList({ge::FORMAT_ND}).ValueDepend(OPTIONAL, DependScope::TILING);
    this->Input("list").ParamType(DYNAMIC).DataType({ge::DT_FLOAT, ge::DT_BF16}).Format({ge::FORMAT_ND, ge::FORMAT_ND}).IgnoreContiguous();
    this->Output("y").ParamType(REQUIRED).DataType({ge::DT_FLOAT, ge::DT_BF16}).Format({ge::FORMAT_ND, ge::FORMAT_ND}).InitValue(0).Follow("x");
    this->Output("z").ParamType(REQUIRED).Follow("x", FollowType::SHAPE).InitValue({ScalarVar(ScalarType::FLOAT32, 1.5f)}).Version(1);
    this->Attr("eps").AttrType(OPTIONAL).Float(1e-6f);
    this->Attr("lists").AttrType(OPTIONAL).ListListInt({{1, 2}, {3}});
    this->Attr("flags").AttrType(OPTIONAL).ListBool({true, false});
    this->Attr("reals").AttrType(REQUIRED).ListFloat();
    this->Attr("text").AttrType(OPTIONAL).String("a").Comment("text").Version(1);
    this->SetInferShape(ge::Shape).SetInferShapeRange(ge::Shape).SetInferDataType(ge::Types);
    this->AICore().SetTiling(optiling::Tile);
    OpAICoreConfig config;
    config.DynamicCompileStaticFlag(true)
        .DynamicFormatFlag(true)
        .DynamicRankSupportFlag(true)
        .DynamicShapeSupportFlag(true)
        .NeedCheckSupportFlag(false)
        .PrecisionReduceFlag(true)
        .ExtendCfgInfo("opFile.value", "demo");
    config.Input("x").ParamType(REQUIRED).DataType({ge::DT_FLOAT}).Format({ge::FORMAT_ND});
    this->AICore().AddConfig("ascend910b").AddConfig("ascend910_95", config);
    this->MC2().HcclGroup("group");
  }
};

OP_ADD(Demo);

}  // namespace ops

namespace optiling {
IMPL_OP_OPTILING(Other).Tiling(Tile, 4096).TilingParse<CompileInfo>(Parse).TilingInputsDataDependency({1}, {gert::TILING_ON_HOST});
IMPL_OP_INFERSHAPE(Other).InferShape(ge::Shape).InferDataType(ge::Types).InputsDataDependency({1}).OutputShapeDependOnCompute({0});
IMPL_OP(Third).InferOutDataTypeSameWithFirstInput().PrivateAttr("a").PrivateAttr("b", int64_t(1)).HostInputs({0});
}  // namespace optiling
