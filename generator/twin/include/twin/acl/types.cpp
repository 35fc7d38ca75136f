// Questions about dtypes, formats, shapes and views, and the 16-bit floats of level-2 code.
#include <map>
#include <mutex>

#include "../half.h"
#include "opdev/data_type_utils.h"
#include "opdev/format_utils.h"
#include "opdev/op_def.h"
#include "opdev/platform.h"
#include "opdev/shape_utils.h"
#include "opdev/tensor_view_utils.h"
#include "runtime.h"

namespace op {
namespace {

struct TypeName {
  DataType type;
  const char *name;
  int rank;   // order of promotion within its kind
  char kind;  // 'b'ool, 'i'nteger, 'f'loat, 'c'omplex
};
constexpr TypeName kTypes[] = {
    {ge::DT_BOOL, "DT_BOOL", 0, 'b'},
    {ge::DT_UINT8, "DT_UINT8", 0, 'i'},
    {ge::DT_INT8, "DT_INT8", 1, 'i'},
    {ge::DT_UINT16, "DT_UINT16", 2, 'i'},
    {ge::DT_INT16, "DT_INT16", 3, 'i'},
    {ge::DT_UINT32, "DT_UINT32", 4, 'i'},
    {ge::DT_INT32, "DT_INT32", 5, 'i'},
    {ge::DT_UINT64, "DT_UINT64", 6, 'i'},
    {ge::DT_INT64, "DT_INT64", 7, 'i'},
    {ge::DT_FLOAT16, "DT_FLOAT16", 0, 'f'},
    {ge::DT_BF16, "DT_BF16", 1, 'f'},
    {ge::DT_FLOAT, "DT_FLOAT", 2, 'f'},
    {ge::DT_DOUBLE, "DT_DOUBLE", 3, 'f'},
    {ge::DT_COMPLEX32, "DT_COMPLEX32", 0, 'c'},
    {ge::DT_COMPLEX64, "DT_COMPLEX64", 1, 'c'},
    {ge::DT_COMPLEX128, "DT_COMPLEX128", 2, 'c'},
    {ge::DT_STRING, "DT_STRING", 0, 's'},
    {ge::DT_INT4, "DT_INT4", -1, 'q'},
    {ge::DT_UINT1, "DT_UINT1", -1, 'q'},
    {ge::DT_HIFLOAT8, "DT_HIFLOAT8", -1, 'q'},
    {ge::DT_FLOAT8_E5M2, "DT_FLOAT8_E5M2", -1, 'q'},
    {ge::DT_FLOAT8_E4M3FN, "DT_FLOAT8_E4M3FN", -1, 'q'},
    {ge::DT_UNDEFINED, "DT_UNDEFINED", -1, 'q'},
};
const TypeName *NameOf(DataType type) {
  for (const TypeName &entry : kTypes)
    if (entry.type == type) return &entry;
  return nullptr;
}
char KindOf(DataType type) { return NameOf(type) == nullptr ? 'q' : NameOf(type)->kind; }

template <typename Dims>
std::string Listed(const Dims &dims, size_t count) {
  std::string text = "[";
  for (size_t i = 0; i < count; ++i) text += (i == 0 ? "" : ", ") + std::to_string(dims[i]);
  return text + "]";
}

}  // namespace

fp16_t::fp16_t(float from) : val(twin::FloatToHalfBits(from)) {}
fp16_t::operator float() const { return twin::HalfBitsToFloat(val); }
bfloat16::bfloat16(float from) : value(twin::FloatToBfloat16Bits(from)) {}
bfloat16::operator float() const { return twin::Bfloat16BitsToFloat(value); }

uint32_t GenOpTypeId(const char *type) {
  uint32_t hash = 2166136261u;  // FNV-1a
  for (; *type != '\0'; ++type) hash = (hash ^ static_cast<uint8_t>(*type)) * 16777619u;
  return hash;
}

ge::AscendString ToString(DataType type) {
  const TypeName *found = NameOf(type);
  return found == nullptr ? ge::AscendString(("dtype " + std::to_string(static_cast<int>(type))).c_str()) : ge::AscendString(found->name);
}

ge::AscendString ToString(const std::initializer_list<DataType> &types) {
  std::string text = "[";
  for (const DataType type : types) text += (text.size() > 1 ? ", " : "") + std::string(ToString(type).GetString());
  return ge::AscendString((text + "]").c_str());
}

bool CheckType(DataType type, const std::initializer_list<DataType> &allowed) {
  for (const DataType one : allowed)
    if (one == type) return true;
  return false;
}

bool IsFloatingType(DataType type) { return KindOf(type) == 'f'; }
bool IsIntegralType(DataType type) { return KindOf(type) == 'i'; }
bool IsComplexType(DataType type) { return KindOf(type) == 'c'; }

DataType PromoteType(DataType a, DataType b) {
  if (a == b) return a;
  const TypeName *left = NameOf(a), *right = NameOf(b);
  const std::string order = "bifc";
  if (left == nullptr || right == nullptr || order.find(left->kind) == std::string::npos || order.find(right->kind) == std::string::npos)
    return ge::DT_UNDEFINED;
  if (left->kind != right->kind) return order.find(left->kind) > order.find(right->kind) ? a : b;
  if (CheckType(a, {ge::DT_FLOAT16, ge::DT_BF16}) && CheckType(b, {ge::DT_FLOAT16, ge::DT_BF16})) return ge::DT_FLOAT;
  if (CheckType(a, {ge::DT_UINT8, ge::DT_INT8}) && CheckType(b, {ge::DT_UINT8, ge::DT_INT8})) return ge::DT_INT16;
  return left->rank > right->rank ? a : b;
}

bool CanCast(DataType from, DataType to) {
  const std::string order = "bifc";
  const size_t source = order.find(KindOf(from)), target = order.find(KindOf(to));
  if (source == std::string::npos || target == std::string::npos) return from == to;
  return source <= target || (source == 3 && target == 3);
}

size_t TypeSize(DataType type) {
  const int size = ge::GetSizeByDataType(type);
  return size < 0 ? 0 : static_cast<size_t>(size);
}

DataType ToOpDataType(aclDataType type) { return type == ACL_DT_UNDEFINED ? ge::DT_UNDEFINED : static_cast<DataType>(type); }
aclDataType ToAclDataType(DataType type) { return type == ge::DT_UNDEFINED ? ACL_DT_UNDEFINED : static_cast<aclDataType>(type); }

int64_t CalcShapeBytes(int64_t size, DataType type, bool ceil) {
  const int64_t bytes = ge::GetSizeInBytes(size, type);
  return ceil && bytes > 0 ? (bytes + 31) / 32 * 32 + 32 : bytes;
}

ge::AscendString ToString(Format format) {
  switch (GetPrimaryFormat(format)) {
    case ge::FORMAT_NCHW: return "NCHW";
    case ge::FORMAT_NHWC: return "NHWC";
    case ge::FORMAT_ND: return "ND";
    case ge::FORMAT_NC1HWC0: return "NC1HWC0";
    case ge::FORMAT_FRACTAL_Z: return "FRACTAL_Z";
    case ge::FORMAT_HWCN: return "HWCN";
    case ge::FORMAT_NDHWC: return "NDHWC";
    case ge::FORMAT_FRACTAL_NZ: return "FRACTAL_NZ";
    case ge::FORMAT_NCDHW: return "NCDHW";
    case ge::FORMAT_NDC1HWC0: return "NDC1HWC0";
    case ge::FORMAT_FRACTAL_Z_3D: return "FRACTAL_Z_3D";
    case ge::FORMAT_NC: return "NC";
    case ge::FORMAT_NCL: return "NCL";
    default: return ge::AscendString(("format " + std::to_string(static_cast<int>(format))).c_str());
  }
}

Format ToOpFormat(aclFormat format) { return format == ACL_FORMAT_UNDEFINED ? ge::FORMAT_RESERVED : static_cast<Format>(format); }
aclFormat ToAclFormat(Format format) { return format == ge::FORMAT_RESERVED ? ACL_FORMAT_UNDEFINED : static_cast<aclFormat>(format); }

bool IsPrivateFormat(Format format) {
  switch (GetPrimaryFormat(format)) {
    case ge::FORMAT_NCHW:
    case ge::FORMAT_NHWC:
    case ge::FORMAT_ND:
    case ge::FORMAT_HWCN:
    case ge::FORMAT_NDHWC:
    case ge::FORMAT_NCDHW:
    case ge::FORMAT_DHWCN:
    case ge::FORMAT_CHWN:
    case ge::FORMAT_NCL:
    case ge::FORMAT_NC:
    case ge::FORMAT_CN: return false;
    default: return true;
  }
}

ge::AscendString ToString(const Shape &shape) { return ge::AscendString(Listed(shape, shape.GetDimNum()).c_str()); }
ge::AscendString ToString(const Strides &strides) { return ge::AscendString(Listed(strides, strides.size()).c_str()); }

void ToShape(const int64_t *dims, uint64_t number, Shape &shape) {
  shape.SetDimNum(0);
  for (uint64_t i = 0; i < number; ++i) shape.AppendDim(dims[i]);
}

ShapeVector ToShapeVector(const Shape &shape) {
  ShapeVector dims;
  for (size_t i = 0; i < shape.GetDimNum(); ++i) dims.push_back(shape.GetDim(i));
  return dims;
}

void ToContiguousStrides(const Shape &shape, Strides &strides) {
  strides.assign(shape.GetDimNum(), 1);
  for (size_t i = shape.GetDimNum(); i-- > 1;) {
    const int64_t extent = shape.GetDim(i) > 0 ? shape.GetDim(i) : 1;
    strides[i - 1] = static_cast<int64_t>(static_cast<uint64_t>(strides[i]) * static_cast<uint64_t>(extent));
  }
}

bool BroadcastInferShape(const Shape &a, const Shape &b, Shape &out) {
  const size_t rank = a.GetDimNum() > b.GetDimNum() ? a.GetDimNum() : b.GetDimNum();
  Shape result;
  for (size_t i = 0; i < rank; ++i) {
    const size_t skipA = rank - a.GetDimNum(), skipB = rank - b.GetDimNum();
    const int64_t m = i < skipA ? 1 : a.GetDim(i - skipA), n = i < skipB ? 1 : b.GetDim(i - skipB);
    if (m != n && m != 1 && n != 1) return false;
    result.AppendDim(m == 1 ? n : m);
  }
  out = result;
  return true;
}

bool CheckBroadcastShape(const Shape &a, const Shape &b) {
  Shape out;
  return BroadcastInferShape(a, b, out);
}

bool IsContiguous(const aclTensor *tensor) {
  if (tensor == nullptr) return false;
  const Shape &shape = tensor->GetViewShape();
  const Strides &strides = tensor->GetViewStrides();
  if (shape.GetDimNum() != strides.size()) return false;
  if (tensor->IsEmpty()) return true;
  int64_t expected = 1;
  for (size_t i = shape.GetDimNum(); i-- > 0;) {
    if (shape.GetDim(i) == 1) continue;
    if (strides[i] != expected || __builtin_mul_overflow(expected, shape.GetDim(i), &expected)) return false;
  }
  return true;
}

// --- platform ----------------------------------------------------------------------------------------------------------

namespace {

// The name and the figures of a product, kept for whoever holds a reference.
std::pair<std::string, fe::PlatFormInfos> &Named(const twin::acl::Product &product) {
  static std::mutex &guard = *new std::mutex;
  static auto &table = *new std::map<const twin::acl::Product *, std::pair<std::string, fe::PlatFormInfos>>;
  std::lock_guard<std::mutex> lock(guard);
  auto &entry = table[&product];
  if (entry.first.empty()) entry = {product.soc, twin::acl::PlatformOf(product)};
  return entry;
}

}  // namespace

SocVersion PlatformInfo::GetSocVersion() const {
  const std::string family = twin::acl::CurrentProduct().name;
  if (family.rfind("Ascend910B", 0) == 0) return SocVersion::ASCEND910B;
  if (family.rfind("Ascend910_93", 0) == 0) return SocVersion::ASCEND910_93;
  if (family.rfind("Ascend950", 0) == 0) return SocVersion::ASCEND910_95;
  return SocVersion::RESERVED_VERSION;
}
const std::string &PlatformInfo::GetSocLongVersion() const { return Named(twin::acl::CurrentProduct()).first; }
uint32_t PlatformInfo::GetCubeCoreNum() const { return twin::acl::CurrentProduct().aic; }
uint32_t PlatformInfo::GetVectorCoreNum() const { return twin::acl::CurrentProduct().aiv; }
int32_t PlatformInfo::GetDeviceId() const { return twin::acl::CurrentDevice(); }
fe::PlatFormInfos *PlatformInfo::GetPlatformInfos() const { return &Named(twin::acl::CurrentProduct()).second; }
const PlatformInfo &GetCurrentPlatformInfo() {
  static const PlatformInfo info;
  return info;
}

ge::AscendString ToString(SocVersion version) {
  switch (version) {
    case SocVersion::ASCEND910B: return "Ascend910B";
    case SocVersion::ASCEND910_93: return "Ascend910_93";
    case SocVersion::ASCEND910_95: return "Ascend910_95";
    default: return ge::AscendString(("SocVersion " + std::to_string(static_cast<int>(version))).c_str());
  }
}

}  // namespace op

extern "C" TWIN_ACL_EXPORT fe::PlatFormInfos *TwinCurrentPlatform() { return op::GetCurrentPlatformInfo().GetPlatformInfos(); }
