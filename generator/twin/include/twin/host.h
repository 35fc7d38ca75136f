// Stand-ins for what a tiling function sees of the host: shapes, attributes, contexts, platform, registration.
#pragma once
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <initializer_list>
#include <map>
#include <memory>
#include <string>
#include <vector>

typedef unsigned int UINT32;

namespace ge {
using graphStatus = uint32_t;
constexpr graphStatus GRAPH_SUCCESS = 0;
constexpr graphStatus GRAPH_FAILED = 0xFFFFFFFFu;
constexpr graphStatus GRAPH_PARAM_INVALID = 50331649u;
constexpr graphStatus GRAPH_NULL_PTR = 50331538u;
constexpr graphStatus GRAPH_PARAM_OUT_OF_RANGE = 50331644u;
constexpr graphStatus GRAPH_NOT_CHANGED = 1343242304u;
constexpr int64_t UNKNOWN_DIM = -1;

enum DataType {
  DT_FLOAT = 0, DT_FLOAT16 = 1, DT_INT8 = 2, DT_INT32 = 3, DT_UINT8 = 4, DT_INT16 = 6, DT_UINT16 = 7, DT_UINT32 = 8, DT_INT64 = 9,
  DT_UINT64 = 10, DT_DOUBLE = 11, DT_BOOL = 12, DT_STRING = 13, DT_DUAL_SUB_INT8 = 14, DT_DUAL_SUB_UINT8 = 15, DT_COMPLEX64 = 16,
  DT_COMPLEX128 = 17, DT_QINT8 = 18, DT_QINT16 = 19, DT_QINT32 = 20, DT_QUINT8 = 21, DT_QUINT16 = 22, DT_RESOURCE = 23, DT_STRING_REF = 24,
  DT_DUAL = 25, DT_VARIANT = 26, DT_BF16 = 27, DT_UNDEFINED = 28, DT_INT4 = 29, DT_UINT1 = 30, DT_INT2 = 31, DT_UINT2 = 32,
  DT_COMPLEX32 = 33, DT_HIFLOAT8 = 34, DT_FLOAT8_E5M2 = 35, DT_FLOAT8_E4M3FN = 36, DT_FLOAT8_E8M0 = 37, DT_FLOAT6_E3M2 = 38,
  DT_FLOAT6_E2M3 = 39, DT_FLOAT4_E2M1 = 40, DT_FLOAT4_E1M2 = 41, DT_MAX = 42
};

enum Format { FORMAT_NCHW = 0, FORMAT_NHWC = 1, FORMAT_ND = 2, FORMAT_NC1HWC0 = 3, FORMAT_FRACTAL_Z = 4, FORMAT_HWCN = 16, FORMAT_NDHWC = 27,
              FORMAT_FRACTAL_NZ = 29, FORMAT_NCDHW = 30, FORMAT_NCL = 47, FORMAT_END = 50, FORMAT_MAX = 0xff };

// Bytes of an element; sub-byte types: 1000 + bits; -1 when it has none.
inline int GetSizeByDataType(DataType type) {
  switch (type) {
    case DT_INT8: case DT_UINT8: case DT_BOOL: case DT_HIFLOAT8: case DT_FLOAT8_E5M2: case DT_FLOAT8_E4M3FN: case DT_FLOAT8_E8M0: return 1;
    case DT_FLOAT16: case DT_BF16: case DT_INT16: case DT_UINT16: return 2;
    case DT_FLOAT: case DT_INT32: case DT_UINT32: case DT_COMPLEX32: return 4;
    case DT_INT64: case DT_UINT64: case DT_DOUBLE: case DT_COMPLEX64: return 8;
    case DT_COMPLEX128: return 16;
    case DT_INT4: return 1004;
    case DT_UINT1: return 1001;
    default: return -1;
  }
}
}  // namespace ge

namespace fe {
// Figures of the chip, as the platform files give them.
class PlatFormInfos {
 public:
  uint32_t aiv = 0, aic = 0, socVersion = 0;
  uint64_t ub = 0, l1 = 0, l0a = 0, l0b = 0, l0c = 0, l2 = 0, hbm = 0;
  uint32_t arch = 0;
  std::string soc;
  uint32_t GetCoreNum() const { return aiv; }
  bool GetPlatformRes(const std::string &label, const std::string &key, std::string &value) const {
    if (label == "SoCInfo" && key == "vector_core_cnt") value = std::to_string(aiv);
    else if (label == "SoCInfo" && key == "cube_core_cnt") value = std::to_string(aic);
    else if (label == "AICoreSpec" && key == "ub_size") value = std::to_string(ub);
    else if (label == "version" && key == "SoC_version") value = soc;
    else return false;
    return true;
  }
};
}  // namespace fe

namespace platform_ascendc {
enum class CoreMemType { L0_A = 0, L0_B = 1, L0_C = 2, L1 = 3, L2 = 4, UB = 5, HBM = 6, FB = 7, BT = 8, RESERVED };
enum class SocVersion { ASCEND910 = 0, ASCEND910B = 1, ASCEND310P = 2, ASCEND310B = 3, ASCEND950 = 4, ASCEND910_95 = 4, RESERVED_VERSION = 99999 };

class PlatformAscendC {
 public:
  explicit PlatformAscendC(fe::PlatFormInfos *platform) : info(platform) {}
  uint32_t GetCoreNum() const { return info->aiv; }
  uint32_t GetCoreNumAic() const { return info->aic; }
  uint32_t GetCoreNumAiv() const { return info->aiv; }
  uint32_t GetCoreNumVector() const { return 0; }
  uint32_t GetLibApiWorkSpaceSize() const { return 16u * 1024u * 1024u; }
  uint32_t GetResCubeGroupWorkSpaceSize() const { return 0; }
  uint32_t GetResGroupBarrierWorkSpaceSize() const { return 0; }
  uint32_t CalcTschBlockDim(uint32_t sliceNum, uint32_t aicCoreNum, uint32_t aivCoreNum) const {
    if (aicCoreNum == 0 || aivCoreNum == 0 || aicCoreNum > aivCoreNum) return sliceNum;
    const uint32_t ratio = aivCoreNum / aicCoreNum;
    return (sliceNum + ratio - 1) / ratio;
  }
  void GetCoreMemSize(const CoreMemType &type, uint64_t &size) const {
    switch (type) {
      case CoreMemType::UB: size = info->ub; break;
      case CoreMemType::L1: size = info->l1; break;
      case CoreMemType::L0_A: size = info->l0a; break;
      case CoreMemType::L0_B: size = info->l0b; break;
      case CoreMemType::L0_C: size = info->l0c; break;
      case CoreMemType::L2: size = info->l2; break;
      case CoreMemType::HBM: size = info->hbm; break;
      default: size = 0;
    }
  }
  void GetCoreMemBw(const CoreMemType &type, uint64_t &bandwidth) const { bandwidth = type == CoreMemType::L2 ? 110 : (type == CoreMemType::HBM ? 32 : 0); }
  SocVersion GetSocVersion() const { return static_cast<SocVersion>(info->socVersion); }

 private:
  fe::PlatFormInfos *info;
};
}  // namespace platform_ascendc

namespace gert {

class Shape {
 public:
  static constexpr size_t kMaxDimNum = 25;
  Shape() = default;
  Shape(const std::initializer_list<int64_t> &dims) {
    for (const int64_t dim : dims) AppendDim(dim);
  }
  bool operator==(const Shape &other) const {
    if (count != other.count) return false;
    for (size_t i = 0; i < count; ++i)
      if (values[i] != other.values[i]) return false;
    return true;
  }
  bool operator!=(const Shape &other) const { return !(*this == other); }
  size_t GetDimNum() const { return count; }
  void SetDimNum(size_t number) { count = number; }
  int64_t GetDim(size_t index) const { return index < kMaxDimNum ? values[index] : INT64_MIN; }
  int64_t operator[](size_t index) const { return GetDim(index); }
  int64_t &operator[](size_t index) { return values[index]; }
  void SetDim(size_t index, int64_t value) {
    if (index >= kMaxDimNum) return;
    values[index] = value;
    count = count < index ? index : count;
  }
  Shape &AppendDim(int64_t value) {
    if (count < kMaxDimNum) values[count++] = value;
    return *this;
  }
  int64_t GetShapeSize() const {
    int64_t size = 1;
    for (size_t i = 0; i < count; ++i)
      if (__builtin_mul_overflow(size, values[i], &size)) return INT64_MIN;
    return size;
  }
  bool IsScalar() const { return count == 0; }
  void SetScalar() { count = 0; }

 private:
  size_t count = 0;
  int64_t values[kMaxDimNum] = {};
};

class StorageShape {
 public:
  StorageShape() = default;
  StorageShape(const std::initializer_list<int64_t> &from, const std::initializer_list<int64_t> &to) : origin(from), storage(to) {}
  const Shape &GetOriginShape() const { return origin; }
  const Shape &GetStorageShape() const { return storage; }
  Shape &MutableOriginShape() { return origin; }
  Shape &MutableStorageShape() { return storage; }

 private:
  Shape origin, storage;
};

class StorageFormat {
 public:
  ge::Format GetOriginFormat() const { return ge::FORMAT_ND; }
  ge::Format GetStorageFormat() const { return ge::FORMAT_ND; }
};

class CompileTimeTensorDesc {
 public:
  explicit CompileTimeTensorDesc(ge::DataType dtype = ge::DT_UNDEFINED) : type(dtype) {}
  ge::DataType GetDataType() const { return type; }
  ge::Format GetStorageFormat() const { return ge::FORMAT_ND; }
  ge::Format GetOriginFormat() const { return ge::FORMAT_ND; }
  const StorageFormat &GetFormat() const { return format; }

 private:
  ge::DataType type;
  StorageFormat format;
};

template <typename T>
class TypedContinuousVector {
 public:
  std::vector<T> values;
  size_t GetSize() const { return values.size(); }
  const T *GetData() const { return values.data(); }
};

// Attributes in the order of the operator's definition.
class RuntimeAttrs {
 public:
  struct Value {
    int kind = 0;  // 'i' 'f' 'b' 's' 'I' 'F'
    int64_t integer = 0;
    float real = 0;
    bool flag = false;
    std::string text;
    TypedContinuousVector<int64_t> integers;
    TypedContinuousVector<float> reals;
  };
  std::vector<std::unique_ptr<Value>> values;

  template <typename T>
  const T *GetAttrPointer(size_t index) const {
    return static_cast<const T *>(Address(index));
  }
  const int64_t *GetInt(size_t index) const { return Is(index, 'i') ? &values[index]->integer : nullptr; }
  const float *GetFloat(size_t index) const { return Is(index, 'f') ? &values[index]->real : nullptr; }
  const bool *GetBool(size_t index) const { return Is(index, 'b') ? &values[index]->flag : nullptr; }
  const char *GetStr(size_t index) const { return Is(index, 's') ? values[index]->text.c_str() : nullptr; }
  const TypedContinuousVector<int64_t> *GetListInt(size_t index) const { return Is(index, 'I') ? &values[index]->integers : nullptr; }
  const TypedContinuousVector<float> *GetListFloat(size_t index) const { return Is(index, 'F') ? &values[index]->reals : nullptr; }
  size_t GetAttrNum() const { return values.size(); }

 private:
  bool Is(size_t index, int kind) const { return index < values.size() && values[index]->kind == kind; }
  const void *Address(size_t index) const {
    if (index >= values.size()) return nullptr;
    const Value &v = *values[index];
    switch (v.kind) {
      case 'i': return &v.integer;
      case 'f': return &v.real;
      case 'b': return &v.flag;
      case 's': return v.text.c_str();
      case 'I': return &v.integers;
      default: return &v.reals;
    }
  }
};

class TilingData {
 public:
  explicit TilingData(size_t size) : bytes(size) {}
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
    if (used + size > bytes.size()) return nullptr;
    used += size;
    return bytes.data() + used - size;
  }

 private:
  std::vector<uint8_t> bytes;
  size_t used = 0;
};

class TilingContext {
 public:
  struct Tensor {
    bool present = false;
    StorageShape shape;
    CompileTimeTensorDesc desc;
  };
  std::vector<Tensor> inputs, outputs;  // by position in the operator's definition
  RuntimeAttrs attrs;
  fe::PlatFormInfos platform;
  TilingData data{2048};
  std::string node = "node", type = "Op";
  uint64_t key = 0;
  uint32_t block = 0, schedule = 0;
  bool atomic = false;
  std::vector<size_t> workspaces;

  // Present instances only (host.md section 5): an absent optional input is not counted.
  const StorageShape *GetInputShape(size_t index) const { return ShapeOf(Instance(inputs, index)); }
  const StorageShape *GetOutputShape(size_t index) const { return ShapeOf(Instance(outputs, index)); }
  const CompileTimeTensorDesc *GetInputDesc(size_t index) const { return DescOf(Instance(inputs, index)); }
  const CompileTimeTensorDesc *GetOutputDesc(size_t index) const { return DescOf(Instance(outputs, index)); }
  // By position in the definition.
  const StorageShape *GetOptionalInputShape(size_t ir) const { return ShapeOf(Position(inputs, ir)); }
  const StorageShape *GetRequiredInputShape(size_t ir) const { return ShapeOf(Position(inputs, ir)); }
  const StorageShape *GetDynamicInputShape(size_t ir, size_t relative) const { return relative == 0 ? ShapeOf(Position(inputs, ir)) : nullptr; }
  const CompileTimeTensorDesc *GetOptionalInputDesc(size_t ir) const { return DescOf(Position(inputs, ir)); }
  const CompileTimeTensorDesc *GetRequiredInputDesc(size_t ir) const { return DescOf(Position(inputs, ir)); }
  const CompileTimeTensorDesc *GetDynamicInputDesc(size_t ir, size_t relative) const { return relative == 0 ? DescOf(Position(inputs, ir)) : nullptr; }
  size_t GetComputeNodeInputNum() const { return Present(inputs); }
  size_t GetComputeNodeOutputNum() const { return Present(outputs); }
  const RuntimeAttrs *GetAttrs() const { return &attrs; }
  const char *GetNodeName() const { return node.c_str(); }
  const char *GetNodeType() const { return type.c_str(); }
  fe::PlatFormInfos *GetPlatformInfo() const { return const_cast<fe::PlatFormInfos *>(&platform); }
  int32_t GetDeterministic() const { return 1; }

  ge::graphStatus SetBlockDim(uint32_t number) { return block = number, ge::GRAPH_SUCCESS; }
  ge::graphStatus SetTilingKey(uint64_t value) { return key = value, ge::GRAPH_SUCCESS; }
  ge::graphStatus SetScheduleMode(uint32_t mode) { return schedule = mode, ge::GRAPH_SUCCESS; }
  ge::graphStatus SetNeedAtomic(bool need) { return atomic = need, ge::GRAPH_SUCCESS; }
  ge::graphStatus SetTilingCond(int32_t) { return ge::GRAPH_SUCCESS; }
  ge::graphStatus SetLocalMemorySize(uint32_t) { return ge::GRAPH_SUCCESS; }
  uint32_t GetBlockDim() const { return block; }
  uint64_t GetTilingKey() const { return key; }
  uint32_t GetScheduleMode() const { return schedule; }
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
  static const Tensor *Position(const std::vector<Tensor> &tensors, size_t index) {
    return index < tensors.size() && tensors[index].present ? &tensors[index] : nullptr;
  }
  static const Tensor *Instance(const std::vector<Tensor> &tensors, size_t index) {
    for (const Tensor &tensor : tensors) {
      if (!tensor.present) continue;
      if (index == 0) return &tensor;
      --index;
    }
    return nullptr;
  }
  static size_t Present(const std::vector<Tensor> &tensors) {
    size_t number = 0;
    for (const Tensor &tensor : tensors) number += tensor.present ? 1 : 0;
    return number;
  }
  static const StorageShape *ShapeOf(const Tensor *tensor) { return tensor == nullptr ? nullptr : &tensor->shape; }
  static const CompileTimeTensorDesc *DescOf(const Tensor *tensor) { return tensor == nullptr ? nullptr : &tensor->desc; }
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

class InferShapeContext;
class InferDataTypeContext;

// Registration of an operator's host functions; only tiling is kept.
class OpImplRegisterV2 {
 public:
  using TilingFunc = UINT32 (*)(TilingContext *);
  explicit OpImplRegisterV2(const char *name) : op(name) {}
  OpImplRegisterV2 &Tiling(TilingFunc function, size_t maxTilingDataSize = 2048) {
    Table()[op] = Entry{function, maxTilingDataSize};
    return *this;
  }
  template <typename CompileInfo>
  OpImplRegisterV2 &TilingParse(UINT32 (*)(TilingParseContext *)) {
    return *this;
  }
  OpImplRegisterV2 &InferShape(UINT32 (*)(InferShapeContext *)) { return *this; }
  OpImplRegisterV2 &InferDataType(UINT32 (*)(InferDataTypeContext *)) { return *this; }
  OpImplRegisterV2 &InputsDataDependency(std::initializer_list<int32_t>) { return *this; }
  OpImplRegisterV2 &TilingInputsDataDependency(std::initializer_list<int32_t>) { return *this; }

  struct Entry {
    TilingFunc tiling;
    size_t capacity;
  };
  static std::map<std::string, Entry> &Table() {
    static std::map<std::string, Entry> table;
    return table;
  }

 private:
  std::string op;
};

}  // namespace gert

#define IMPL_OP_OPTILING(op) gert::OpImplRegisterV2 twinTilingOf##op = gert::OpImplRegisterV2(#op)
#define IMPL_OP_INFERSHAPE(op) gert::OpImplRegisterV2 twinShapeOf##op = gert::OpImplRegisterV2(#op)
#define IMPL_OP(op) static gert::OpImplRegisterV2 twinImplOf##op = gert::OpImplRegisterV2(#op)
