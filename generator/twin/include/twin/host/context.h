// The contexts of tiling, shape inference and dtype inference: one node, its tensors and attributes (host.md section 5).
#pragma once
#include "attrs.h"
#include "platform.h"
#include "shape.h"

namespace gert {

// Which instances belong to one parameter of the definition: 0 or 1, for a dynamic one any number.
class AnchorInstanceInfo {
 public:
  AnchorInstanceInfo(size_t from = 0, size_t size = 0) : start(from), number(size) {}
  size_t GetInstanceNum() const { return number; }
  size_t GetInstanceStart() const { return start; }

 private:
  size_t start, number;
};

class ComputeNodeInfo {
 public:
  ComputeNodeInfo(size_t irs, size_t in, size_t out) : irInputs(irs), inputs(in), outputs(out) {}
  size_t GetIrInputsNum() const { return irInputs; }
  size_t GetInputsNum() const { return inputs; }
  size_t GetOutputsNum() const { return outputs; }

 private:
  size_t irInputs, inputs, outputs;
};

// One call of an operator as a context holds it, filled by whoever makes the call.
struct TwinNode {
  struct Instance {
    explicit Instance(const Tensor &value) : tensor(value), desc(value.GetDataType(), value.GetFormat()) {}
    Tensor tensor;
    CompileTimeTensorDesc desc;
  };
  std::string name = "node", type = "Op";
  std::vector<Instance> inputs, outputs;                // present instances, in order
  std::vector<AnchorInstanceInfo> irInputs, irOutputs;  // by position in the definition
  RuntimeAttrs attrs;

  void AddInput(const std::vector<Tensor> &instances) { Add(inputs, irInputs, instances); }
  void AddOutput(const std::vector<Tensor> &instances) { Add(outputs, irOutputs, instances); }

 private:
  static void Add(std::vector<Instance> &to, std::vector<AnchorInstanceInfo> &irs, const std::vector<Tensor> &instances) {
    irs.push_back(AnchorInstanceInfo(to.size(), instances.size()));
    for (const Tensor &tensor : instances) to.push_back(Instance(tensor));
  }
};

// `index` counts the instances that are present, `ir` the parameters of the definition. Null (DT_UNDEFINED) when absent.
class ExtendedKernelContext {
 public:
  TwinNode node;

  const CompileTimeTensorDesc *GetInputDesc(size_t index) const { return Desc(At(node.inputs, index)); }
  const CompileTimeTensorDesc *GetOptionalInputDesc(size_t ir) const { return Desc(InputAt(ir, 0)); }
  const CompileTimeTensorDesc *GetRequiredInputDesc(size_t ir) const { return Desc(InputAt(ir, 0)); }
  const CompileTimeTensorDesc *GetDynamicInputDesc(size_t ir, size_t relative) const { return Desc(InputAt(ir, relative)); }
  const CompileTimeTensorDesc *GetOutputDesc(size_t index) const { return Desc(At(node.outputs, index)); }
  const RuntimeAttrs *GetAttrs() const { return &node.attrs; }
  const char *GetNodeName() const { return node.name.c_str(); }
  const char *GetNodeType() const { return node.type.c_str(); }
  size_t GetComputeNodeInputNum() const { return node.inputs.size(); }
  size_t GetComputeNodeOutputNum() const { return node.outputs.size(); }
  const AnchorInstanceInfo *GetIrInputInstanceInfo(size_t ir) const { return ir < node.irInputs.size() ? &node.irInputs[ir] : nullptr; }
  const ComputeNodeInfo *GetComputeNodeInfo() const {
    counts = ComputeNodeInfo(node.irInputs.size(), node.inputs.size(), node.outputs.size());
    return &counts;
  }

 protected:
  using Instance = TwinNode::Instance;
  static const Instance *At(const std::vector<Instance> &from, size_t index) { return index < from.size() ? &from[index] : nullptr; }
  const Instance *InputAt(size_t ir, size_t relative) const {
    if (ir >= node.irInputs.size() || relative >= node.irInputs[ir].GetInstanceNum()) return nullptr;
    return At(node.inputs, node.irInputs[ir].GetInstanceStart() + relative);
  }
  static const CompileTimeTensorDesc *Desc(const Instance *instance) { return instance == nullptr ? nullptr : &instance->desc; }
  static const Tensor *TensorOf(const Instance *instance) { return instance == nullptr ? nullptr : &instance->tensor; }

 private:
  mutable ComputeNodeInfo counts{0, 0, 0};
};

class TilingData {
 public:
  explicit TilingData(size_t size = 2048) : bytes(size) {}
  // Room for `size` bytes of tiling data.
  static std::unique_ptr<uint8_t[]> CreateCap(size_t size) { return std::unique_ptr<uint8_t[]>(new uint8_t[size]()); }
  size_t GetCapacity() const { return bytes.size(); }
  size_t GetDataSize() const { return used; }
  void SetDataSize(size_t size) { used = size; }
  void *GetData() { return bytes.data(); }
  const void *GetData() const { return bytes.data(); }
  template <typename T>
  ge::graphStatus Append(const T &value) {
    return Append(&value, 1);
  }
  template <typename T>
  ge::graphStatus Append(const T *value, size_t number) {
    void *to = Expand(sizeof(T) * number);
    if (to == nullptr) return ge::GRAPH_FAILED;
    std::memcpy(to, value, sizeof(T) * number);
    return ge::GRAPH_SUCCESS;
  }
  void *Expand(size_t size) {
    if (used > bytes.size() || size > bytes.size() - used) return nullptr;
    used += size;
    return bytes.data() + used - size;
  }

 private:
  std::vector<uint8_t> bytes;
  size_t used = 0;
};

class TilingContext : public ExtendedKernelContext {
 public:
  fe::PlatFormInfos platform;
  TilingData data;
  uint64_t key = 0;
  uint32_t block = 0, schedule = 0, local = 0;
  int32_t condition = 0;
  bool atomic = false;
  std::vector<size_t> workspaces;

  const StorageShape *GetInputShape(size_t index) const { return ShapeOf(At(node.inputs, index)); }
  const StorageShape *GetOptionalInputShape(size_t ir) const { return ShapeOf(InputAt(ir, 0)); }
  const StorageShape *GetRequiredInputShape(size_t ir) const { return ShapeOf(InputAt(ir, 0)); }
  const StorageShape *GetDynamicInputShape(size_t ir, size_t relative) const { return ShapeOf(InputAt(ir, relative)); }
  const StorageShape *GetOutputShape(size_t index) const { return ShapeOf(At(node.outputs, index)); }
  const Tensor *GetInputTensor(size_t index) const { return TensorOf(At(node.inputs, index)); }
  const Tensor *GetOptionalInputTensor(size_t ir) const { return TensorOf(InputAt(ir, 0)); }
  const Tensor *GetRequiredInputTensor(size_t ir) const { return TensorOf(InputAt(ir, 0)); }
  const Tensor *GetDynamicInputTensor(size_t ir, size_t relative) const { return TensorOf(InputAt(ir, relative)); }
  fe::PlatFormInfos *GetPlatformInfo() const { return const_cast<fe::PlatFormInfos *>(&platform); }
  int32_t GetDeterministic() const { return 1; }

  ge::graphStatus SetBlockDim(uint32_t number) { return block = number, ge::GRAPH_SUCCESS; }
  ge::graphStatus SetTilingKey(uint64_t value) { return key = value, ge::GRAPH_SUCCESS; }
  ge::graphStatus SetScheduleMode(uint32_t mode) { return schedule = mode, ge::GRAPH_SUCCESS; }
  ge::graphStatus SetNeedAtomic(bool need) { return atomic = need, ge::GRAPH_SUCCESS; }
  ge::graphStatus SetTilingCond(int32_t value) { return condition = value, ge::GRAPH_SUCCESS; }
  ge::graphStatus SetLocalMemorySize(uint32_t size) { return local = size, ge::GRAPH_SUCCESS; }
  uint32_t GetBlockDim() const { return block; }
  uint64_t GetTilingKey() const { return key; }
  uint32_t GetScheduleMode() const { return schedule; }
  int32_t GetTilingCond() const { return condition; }
  uint32_t GetLocalMemorySize() const { return local; }
  bool NeedAtomic() const { return atomic; }
  size_t *GetWorkspaceSizes(size_t number) {
    if (number != 1) return nullptr;
    workspaces.resize(number);
    return workspaces.data();
  }
  size_t GetWorkspaceNum() const { return workspaces.size(); }
  TilingData *GetRawTilingData() { return &data; }
  // Null when the capacity is too small; sets the data size; does not clear the memory.
  template <typename T>
  T *GetTilingData() {
    if (data.GetCapacity() < sizeof(T)) return nullptr;
    data.SetDataSize(sizeof(T));
    return static_cast<T *>(data.GetData());
  }
  template <typename T>
  const T *GetCompileInfo() const {
    static const T info{};
    return &info;
  }

 private:
  static const StorageShape *ShapeOf(const Instance *instance) { return instance == nullptr ? nullptr : &instance->tensor.GetShape(); }
};

class TilingParseContext {
 public:
  template <typename T>
  T *GetCompiledInfo() {
    static T info{};
    return &info;
  }
  const char *GetCompiledJson() const { return "{}"; }
  fe::PlatFormInfos *GetPlatformInfo() const { return nullptr; }
};

class InferShapeContext : public ExtendedKernelContext {
 public:
  const Shape *GetInputShape(size_t index) const { return ShapeOf(At(node.inputs, index)); }
  const Shape *GetOptionalInputShape(size_t ir) const { return ShapeOf(InputAt(ir, 0)); }
  const Shape *GetRequiredInputShape(size_t ir) const { return ShapeOf(InputAt(ir, 0)); }
  const Shape *GetDynamicInputShape(size_t ir, size_t relative) const { return ShapeOf(InputAt(ir, relative)); }
  const Tensor *GetInputTensor(size_t index) const { return TensorOf(At(node.inputs, index)); }
  const Tensor *GetOptionalInputTensor(size_t ir) const { return TensorOf(InputAt(ir, 0)); }
  const Tensor *GetRequiredInputTensor(size_t ir) const { return TensorOf(InputAt(ir, 0)); }
  const Tensor *GetDynamicInputTensor(size_t ir, size_t relative) const { return TensorOf(InputAt(ir, relative)); }
  Shape *GetOutputShape(size_t index) {
    return index < node.outputs.size() ? &node.outputs[index].tensor.GetShape().MutableOriginShape() : nullptr;
  }

 private:
  static const Shape *ShapeOf(const Instance *instance) { return instance == nullptr ? nullptr : &instance->tensor.GetOriginShape(); }
};

class InferDataTypeContext : public ExtendedKernelContext {
 public:
  std::vector<ge::DataType> results;  // what was set, by output instance; made by the caller

  ge::DataType GetInputDataType(size_t index) const { return TypeOf(At(node.inputs, index)); }
  ge::DataType GetOptionalInputDataType(size_t ir) const { return TypeOf(InputAt(ir, 0)); }
  ge::DataType GetRequiredInputDataType(size_t ir) const { return TypeOf(InputAt(ir, 0)); }
  ge::DataType GetDynamicInputDataType(size_t ir, size_t relative) const { return TypeOf(InputAt(ir, relative)); }
  ge::DataType GetOutputDataType(size_t index) const { return index < results.size() ? results[index] : ge::DT_UNDEFINED; }
  ge::graphStatus SetOutputDataType(size_t index, ge::DataType type) {
    if (index >= node.outputs.size()) return ge::GRAPH_FAILED;
    if (results.size() < node.outputs.size()) results.resize(node.outputs.size(), ge::DT_UNDEFINED);
    results[index] = type;
    return ge::GRAPH_SUCCESS;
  }

 private:
  static ge::DataType TypeOf(const Instance *instance) { return instance == nullptr ? ge::DT_UNDEFINED : instance->desc.GetDataType(); }
};

}  // namespace gert
