// Recording an operator's launch: its definition is checked, its tiling runs on the product's figures, its kernel is looked up.
#include <algorithm>
#include <cstring>

#include "../host/op_def.h"
#include "execution.h"
#include "kernel.h"
#include "opdev/data_type_utils.h"
#include "opdev/format_utils.h"
#include "opdev/make_op_executor.h"
#include "opdev/shape_utils.h"
#include "opdev/tensor_view_utils.h"

namespace twin {
namespace {

// What is known of an operator: its definition, when there is one, and its functions.
struct Known {
  std::unique_ptr<ops::OpDef> definition;
  gert::OpImplRegisterV2::Entry entry;
};

Known Look(const char *type, const Library &library) {
  Known known;
  const auto entry = library.implementations->find(type);
  if (entry != library.implementations->end()) known.entry = entry->second;
  const auto creator = library.definitions->find(type);
  if (creator == library.definitions->end()) return known;
  known.definition.reset(new ops::OpDef(creator->second(type)));
  if (known.entry.tiling == nullptr) known.entry.tiling = known.definition->core.tiling;
  if (known.entry.inferShape == nullptr) known.entry.inferShape = known.definition->inferShape;
  if (known.entry.inferDataType == nullptr) known.entry.inferDataType = known.definition->inferDataType;
  return known;
}

std::string NameOf(const std::vector<std::shared_ptr<ops::OpParamDef>> *params, size_t index, const char *side) {
  if (params != nullptr && index < params->size()) return (*params)[index]->name;
  return std::string(side) + " " + std::to_string(index);
}

// The definition of one side for a product: what its configuration declares replaces the rest.
std::vector<std::shared_ptr<ops::OpParamDef>> ParamsFor(const ops::OpParamTable &general, const ops::OpParamTable &special) {
  std::vector<std::shared_ptr<ops::OpParamDef>> params = general.params;
  for (std::shared_ptr<ops::OpParamDef> &param : params)
    for (const std::shared_ptr<ops::OpParamDef> &other : special.params)
      if (other->name == param->name) param = other;
  return params;
}

// The configuration of the definition for a product, or null.
const ops::OpAICoreConfig *ConfigFor(const ops::OpDef &definition, const acl::Product &product) {
  const std::string name = product.name;
  std::vector<const char *> socs;
  if (name.rfind("Ascend910B", 0) == 0)
    socs = {"ascend910b"};
  else if (name.rfind("Ascend910_93", 0) == 0)
    socs = {"ascend910_93"};
  else if (name.rfind("Ascend950", 0) == 0)
    socs = {"ascend950", "ascend910_95"};
  for (const char *soc : socs) {
    const auto found = definition.core.configs.find(soc);
    if (found != definition.core.configs.end()) return &found->second;
  }
  return nullptr;
}

using Params = std::vector<std::shared_ptr<ops::OpParamDef>>;

aclnnStatus CheckSide(const char *type, const char *side, const Params &params, const std::vector<LaunchTensor> &given) {
  if (given.size() != params.size()) {
    OP_LOGE(ACLNN_ERR_INNER, "%s: %zu %ss are launched, its definition has %zu", type, given.size(), side, params.size());
    return ACLNN_ERR_INNER;
  }
  for (size_t i = 0; i < given.size(); ++i) {
    if (given[i].isList || params[i]->option == ops::DYNAMIC) {
      OP_LOGE(ACLNN_ERR_INNER, "%s: %s: the twin's kernels take no tensor lists", type, params[i]->name.c_str());
      return ACLNN_ERR_INNER;
    }
    if (given[i].one == nullptr && params[i]->option == ops::REQUIRED) {
      OP_LOGE(ACLNN_ERR_INNER_NULLPTR, "%s: %s %s is required but null", type, side, params[i]->name.c_str());
      return ACLNN_ERR_INNER_NULLPTR;
    }
  }
  return 0;
}

// Whether one side's dtypes are those of column `column` of the definition.
bool Matches(const Params &params, const std::vector<LaunchTensor> &given, size_t column) {
  for (size_t i = 0; i < given.size(); ++i) {
    if (given[i].one == nullptr) continue;
    const op::DataType dtype = given[i].one->GetDataType();
    const ops::OpParamDef &param = *params[i];
    bool good = param.types.empty() && param.typeList.empty();
    for (const ge::DataType allowed : param.typeList) good = good || allowed == dtype;
    if (column < param.types.size()) good = good || param.types[column] == dtype;
    if (!good) return false;
  }
  return true;
}

std::string DtypesOf(const Params &params, const std::vector<LaunchTensor> &given) {
  std::string text;
  for (size_t i = 0; i < given.size(); ++i)
    if (given[i].one != nullptr)
      text += (text.empty() ? "" : ", ") + params[i]->name + " " + op::ToString(given[i].one->GetDataType()).GetString();
  return text;
}

aclnnStatus CheckDefinition(const char *type, const ops::OpDef &definition, const acl::Product &product, const LaunchArgs &args) {
  const ops::OpAICoreConfig *config = ConfigFor(definition, product);
  if (config == nullptr) {
    OP_LOGE(ACLNN_ERR_INNER_FIND_KERNEL_ERROR, "%s: its definition has no configuration for %s", type, product.soc);
    return ACLNN_ERR_INNER_FIND_KERNEL_ERROR;
  }
  const Params inputs = ParamsFor(definition.inputs, config->inputs), outputs = ParamsFor(definition.outputs, config->outputs);
  aclnnStatus bad = CheckSide(type, "input", inputs, args.inputs);
  if (bad == 0) bad = CheckSide(type, "output", outputs, args.outputs);
  if (bad != 0) return bad;
  size_t columns = 1;
  for (const Params *side : {&inputs, &outputs})
    for (const std::shared_ptr<ops::OpParamDef> &param : *side) columns = std::max(columns, param->types.size());
  for (size_t column = 0; column < columns; ++column)
    if (Matches(inputs, args.inputs, column) && Matches(outputs, args.outputs, column)) return 0;
  OP_LOGE(ACLNN_ERR_INNER_FIND_KERNEL_ERROR, "%s: no combination of its definition has %s; %s", type, DtypesOf(inputs, args.inputs).c_str(),
          DtypesOf(outputs, args.outputs).c_str());
  return ACLNN_ERR_INNER_FIND_KERNEL_ERROR;
}

// The attributes as the definition types them, defaults for those not given.
aclnnStatus ReadAttrs(const char *type, const ops::OpDef *definition, const std::vector<Attr> &given, gert::RuntimeAttrs *attrs) {
  attrs->values = given;
  if (definition == nullptr) return 0;
  if (given.size() > definition->attrs.size()) {
    OP_LOGE(ACLNN_ERR_INNER_ATTR_NUM_OUT_OF_BOUND, "%s: %zu attributes are launched, its definition has %zu", type, given.size(),
            definition->attrs.size());
    return ACLNN_ERR_INNER_ATTR_NUM_OUT_OF_BOUND;
  }
  for (size_t i = 0; i < definition->attrs.size(); ++i) {
    const ops::OpAttrDef &attr = *definition->attrs[i];
    if (i >= given.size()) {
      if (!attr.hasDefault) {
        OP_LOGE(ACLNN_ERR_INNER_WRONG_ATTR_INFO_SIZE, "%s: attribute %s is not given and has no default", type, attr.name.c_str());
        return ACLNN_ERR_INNER_WRONG_ATTR_INFO_SIZE;
      }
      attrs->values.push_back(std::make_shared<gert::RuntimeAttrs::Value>(attr.start));
      continue;
    }
    if (given[i]->kind == attr.start.kind) continue;
    OP_LOGE(ACLNN_ERR_INNER, "%s: attribute %s is of kind '%c' in its definition, '%c' is launched", type, attr.name.c_str(),
            attr.start.kind, given[i]->kind);
    return ACLNN_ERR_INNER;
  }
  return 0;
}

gert::Tensor TensorFor(const aclTensor &tensor) {
  gert::StorageShape shape;
  shape.MutableOriginShape() = tensor.GetOriginalShape();
  shape.MutableStorageShape() = tensor.GetStorageShape();
  void *data = tensor.GetPlacement() == gert::kOnHost ? tensor.GetData() : nullptr;
  return gert::Tensor(shape, gert::StorageFormat(tensor.GetOriginalFormat(), tensor.GetStorageFormat()), tensor.GetPlacement(),
                      tensor.GetDataType(), data);
}

std::vector<gert::Tensor> InstancesOf(const LaunchTensor &given) {
  std::vector<gert::Tensor> instances;
  if (given.one != nullptr) instances.push_back(TensorFor(*given.one));
  if (given.list != nullptr)
    for (uint64_t i = 0; i < given.list->Size(); ++i) instances.push_back(TensorFor(*(*given.list)[i]));
  return instances;
}

void Fill(gert::TwinNode *node, const char *type, const LaunchArgs &args) {
  node->type = node->name = type;
  for (const LaunchTensor &input : args.inputs) node->AddInput(InstancesOf(input));
  for (const LaunchTensor &output : args.outputs) node->AddOutput(InstancesOf(output));
}

// A kernel sees its tensors from their storage's start, row-major.
aclnnStatus CheckLayout(const char *type, const std::string &name, const aclTensor *tensor) {
  if (tensor == nullptr) return 0;
  if (op::IsContiguous(tensor) && (op::IsPrivateFormat(tensor->GetStorageFormat()) ||
                                   tensor->GetStorageShape().GetShapeSize() == tensor->GetViewShape().GetShapeSize()))
    return 0;
  OP_LOGE(ACLNN_ERR_INNER, "%s: %s is a view (%s of storage %s); make it contiguous first", type, name.c_str(),
          tensor->ToString().GetString(), op::ToString(tensor->GetStorageShape()).GetString());
  return ACLNN_ERR_INNER;
}

// Bytes every element of an output holds before the kernel runs.
std::vector<uint8_t> InitialValue(const ops::OpParamDef &param, op::DataType type) {
  std::vector<uint8_t> bytes;
  const int size = ge::GetSizeByDataType(type);
  if (param.initial.empty() || size < 1 || size > 16) return bytes;
  const double value = param.initial[0].value;
  const aclScalar scalar(&value, ge::DT_DOUBLE);
  bytes.assign(static_cast<size_t>(size), 0);
  const float real = scalar.ToFloat();
  const int64_t integer = scalar.ToInt64();
  const uint16_t half = scalar.ToFp16().val, brain = scalar.ToBf16().value;
  const void *from = type == ge::DT_FLOAT     ? static_cast<const void *>(&real)
                     : type == ge::DT_DOUBLE  ? static_cast<const void *>(&value)
                     : type == ge::DT_FLOAT16 ? static_cast<const void *>(&half)
                     : type == ge::DT_BF16    ? static_cast<const void *>(&brain)
                                              : static_cast<const void *>(&integer);
  std::memcpy(bytes.data(), from, std::min<size_t>(bytes.size(), 8));
  return bytes;
}

struct Slot {
  Operand operand;
  bool written;
  std::vector<uint8_t> initial;
};

Work Bind(const KernelLaunch &launch, const std::vector<Slot> &slots, const Run &run, std::vector<acl::Use> &uses) {
  static uint8_t nothing[kWorkspaceAlign];  // where empty tensors point
  std::vector<KernelArgument> arguments;
  std::vector<View> views;
  std::vector<std::string> names;
  for (const Slot &slot : slots) {
    KernelArgument argument;
    argument.name = slot.operand.name;
    argument.written = slot.written;
    if (slot.operand.tensor != nullptr) {
      const View view = Resolve(slot.operand, run, slot.written, uses);
      argument.bytes = view.first == nullptr ? 0 : view.Numel() * view.bytes;
      argument.data = view.first == nullptr ? nothing : view.first;
      views.push_back(view);
      names.push_back(slot.operand.name);
    }
    arguments.push_back(argument);
  }
  const std::string fault = FirstFault(launch.label, views, names);
  if (!fault.empty()) return [fault] { return acl::Failure{ACL_ERROR_RT_AICORE_EXCEPTION, fault}; };
  std::vector<std::vector<uint8_t>> initial;
  for (const Slot &slot : slots) initial.push_back(slot.initial);
  return [launch, arguments, views, initial] {  // the views keep the memory
    for (size_t i = 0; i < arguments.size(); ++i)
      for (int64_t at = 0; !initial[i].empty() && at < arguments[i].bytes; at += static_cast<int64_t>(initial[i].size()))
        std::memcpy(static_cast<uint8_t *>(arguments[i].data) + at, initial[i].data(), initial[i].size());
    return RunKernel(launch, arguments);
  };
}

}  // namespace

Attr MakeAttr(int kind, const void *data, uint64_t size) {
  auto value = std::make_shared<gert::RuntimeAttrs::Value>();
  value->kind = kind;
  if (data == nullptr) return value;
  switch (kind) {
    case 'i': value->integer = *static_cast<const int64_t *>(data); break;
    case 'f': value->real = *static_cast<const float *>(data); break;
    case 'b': value->flag = *static_cast<const bool *>(data); break;
    case 's': value->text = static_cast<const char *>(data); break;
    case 'I': value->integers.values.assign(static_cast<const int64_t *>(data), static_cast<const int64_t *>(data) + size); break;
    case 'F': value->reals.values.assign(static_cast<const float *>(data), static_cast<const float *>(data) + size); break;
    default: value->flags.values.assign(static_cast<const bool *>(data), static_cast<const bool *>(data) + size);
  }
  return value;
}

Attr ToAttr(const aclScalar *value) {
  if (value == nullptr) return MakeAttr('f', nullptr, 0);
  if (value->GetDataType() == ge::DT_BOOL) return ToAttr(value->ToBool());
  return op::IsFloatingType(value->GetDataType()) ? ToAttr(value->ToFloat()) : ToAttr(value->ToInt64());
}

aclnnStatus AddLaunch(const char *type, const Library &library, const LaunchArgs &args, aclOpExecutor *executor) {
  if (executor == nullptr) {
    OP_LOGE(ACLNN_ERR_INNER_NULLPTR, "%s: the executor is null", type);
    return ACLNN_ERR_INNER_NULLPTR;
  }
  if (args.unsupported != nullptr) {
    OP_LOGE(ACLNN_ERR_INNER, "%s: %s is not offered by this runtime", type, args.unsupported);
    return ACLNN_ERR_INNER;
  }
  const acl::Product &product = acl::CurrentProduct();
  const Known known = Look(type, library);
  aclnnStatus bad = known.definition == nullptr ? 0 : CheckDefinition(type, *known.definition, product, args);
  gert::TilingContext context;
  if (bad == 0) bad = ReadAttrs(type, known.definition.get(), args.attrs, &context.node.attrs);
  if (bad != 0) return bad;
  if (known.entry.tiling == nullptr) {
    OP_LOGE(ACLNN_ERR_INNER_TILING_ERROR, "%s: no tiling function is registered", type);
    return ACLNN_ERR_INNER_TILING_ERROR;
  }
  KernelLaunch launch;
  std::string why;
  launch.library = FindKernel(library, type, product, &why);
  if (launch.library == nullptr) {
    OP_LOGE(ACLNN_ERR_INNER_FIND_KERNEL_ERROR, "%s", why.c_str());
    return ACLNN_ERR_INNER_FIND_KERNEL_ERROR;
  }
  const size_t tensors = args.inputs.size() + args.outputs.size();
  if (static_cast<size_t>(Parameters(*launch.library)) != tensors + 2) {
    OP_LOGE(ACLNN_ERR_INNER, "%s: %zu tensors are launched, its kernel takes %d", type, tensors, Parameters(*launch.library) - 2);
    return ACLNN_ERR_INNER;
  }

  std::vector<Slot> slots;
  ExecutorState &state = *executor->state;
  for (int side = 0; side < 2; ++side) {
    const std::vector<LaunchTensor> &given = side == 0 ? args.inputs : args.outputs;
    const ops::OpParamTable *table =
        known.definition == nullptr ? nullptr : (side == 0 ? &known.definition->inputs : &known.definition->outputs);
    for (size_t i = 0; i < given.size(); ++i) {
      const std::string name = NameOf(table == nullptr ? nullptr : &table->params, i, side == 0 ? "input" : "output");
      bad = CheckLayout(type, name, given[i].one);
      if (bad != 0) return bad;
      Slot slot{state.Name(given[i].one, name), side == 1, {}};
      if (side == 1 && table != nullptr && given[i].one != nullptr)
        slot.initial = InitialValue(*table->params[i], given[i].one->GetDataType());
      slots.push_back(slot);
    }
  }

  Fill(&context.node, type, args);
  context.platform = acl::PlatformOf(product);
  context.data = gert::TilingData(known.entry.capacity);
  std::memset(context.data.GetData(), 0xFB, context.data.GetCapacity());  // the device's buffer is not cleared either
  const ge::graphStatus status = known.entry.tiling(&context);
  if (status != ge::GRAPH_SUCCESS) {
    OP_LOGE(ACLNN_ERR_INNER_TILING_ERROR, "%s: its tiling function refused the call (status %u)", type, status);
    return ACLNN_ERR_INNER_TILING_ERROR;
  }
  const int most = MostBlocks(*launch.library, context.key);
  if (context.block < 1 || context.block > static_cast<uint32_t>(most)) {
    OP_LOGE(ACLNN_ERR_INNER_STATIC_BLOCK_DIM_INVALID, "%s: its tiling function chose %u blocks, possible are 1 to %d", type, context.block,
            most);
    return ACLNN_ERR_INNER_STATIC_BLOCK_DIM_INVALID;
  }
  if (!context.atomic)
    for (Slot &slot : slots) slot.initial.clear();
  const uint8_t *bytes = static_cast<const uint8_t *>(context.data.GetData());
  launch.label = state.api + ": kernel of " + type;
  launch.product = product;
  launch.tiling.assign(bytes, bytes + std::min(context.data.GetDataSize(), context.data.GetCapacity()));
  launch.key = context.key;
  launch.blocks = context.block;
  launch.workspace = context.workspaces.empty() ? 0 : context.workspaces[0];

  Step step;
  step.name = type;
  step.workspace = launch.workspace;
  for (const Slot &slot : slots)
    if (slot.operand.tensor != nullptr) step.operands.push_back(slot.operand);
  step.bind = [launch, slots](const Run &run, std::vector<acl::Use> &uses) { return Bind(launch, slots, run, uses); };
  state.steps.push_back(std::move(step));
  return 0;
}

aclnnStatus InferShapes(const char *type, const Library &library, const LaunchArgs &args) {
  const Known known = Look(type, library);
  if (known.entry.inferShape == nullptr) {
    OP_LOGE(ACLNN_ERR_INNER_INFERSHAPE_ERROR, "%s: no shape inference is registered", type);
    return ACLNN_ERR_INNER_INFERSHAPE_ERROR;
  }
  gert::InferShapeContext context;
  const aclnnStatus bad = ReadAttrs(type, known.definition.get(), args.attrs, &context.node.attrs);
  if (bad != 0) return bad;
  Fill(&context.node, type, args);
  const ge::graphStatus status = known.entry.inferShape(&context);
  if (status != ge::GRAPH_SUCCESS) {
    OP_LOGE(ACLNN_ERR_INNER_INFERSHAPE_ERROR, "%s: its shape inference refused the call (status %u)", type, status);
    return ACLNN_ERR_INNER_INFERSHAPE_ERROR;
  }
  size_t index = 0;
  for (const LaunchTensor &output : args.outputs) {
    if (output.one == nullptr) continue;
    const gert::Shape &shape = *context.GetOutputShape(index++);
    for (size_t i = 0; i < shape.GetDimNum(); ++i) {
      if (shape.GetDim(i) >= 0) continue;
      OP_LOGE(ACLNN_ERR_INNER_INFERSHAPE_ERROR, "%s: output %zu is inferred as %s", type, index - 1, op::ToString(shape).GetString());
      return ACLNN_ERR_INNER_INFERSHAPE_ERROR;
    }
    if (output.one->GetViewShape() == shape) continue;
    const_cast<aclTensor *>(output.one)->SetViewShape(shape);
    output.one->SetStorageShape(shape);
    output.one->SetOriginalShape(shape);
  }
  return 0;
}

}  // namespace twin
