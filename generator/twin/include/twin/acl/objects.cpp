// Tensors, scalars, arrays and lists as a client makes and destroys them.
#include "objects.h"

#include <atomic>
#include <cmath>
#include <cstring>

#include "../half.h"
#include "opdev/data_type_utils.h"
#include "opdev/format_utils.h"
#include "opdev/shape_utils.h"

aclTensor::aclTensor(const op::Shape &view, const op::Shape &physical, op::DataType type, op::Format viewForm, op::Format storageForm)
    : storage(std::make_shared<twin::Storage>()),
      serial(twin::NextSerial()),
      viewShape(view),
      storageShape(physical),
      originalShape(view),
      dataType(type),
      viewFormat(viewForm),
      storageFormat(storageForm),
      originalFormat(viewForm) {
  op::ToContiguousStrides(view, viewStrides);
}

void aclTensor::SetViewShape(const op::Shape &shape) {
  viewShape = shape;
  op::ToContiguousStrides(shape, viewStrides);
}

bool aclTensor::IsEmpty() const {
  for (size_t i = 0; i < viewShape.GetDimNum(); ++i)
    if (viewShape.GetDim(i) == 0) return true;
  return false;
}

void *aclTensor::GetStorageAddr() const {
  switch (storage->kind) {
    case twin::Storage::Kind::kAddress: return storage->address;
    case twin::Storage::Kind::kHost: return storage->host->data();
    default: return nullptr;
  }
}

void *aclTensor::GetData() const {
  void *base = GetStorageAddr();
  const int64_t bytes = ge::GetSizeInBytes(viewOffset < 0 ? 0 : viewOffset, dataType);
  return base == nullptr || bytes < 0 ? base : static_cast<char *>(base) + bytes;
}

void aclTensor::SetStorageAddr(void *address) const {
  storage->kind = twin::Storage::Kind::kAddress;
  storage->address = address;
}

op::Tensor *aclTensor::GetTensor() const {
  op::StorageShape shape;
  shape.MutableOriginShape() = originalShape;
  shape.MutableStorageShape() = storageShape;
  tensor.reset(new op::Tensor(shape, op::StorageFormat(originalFormat, storageFormat), GetPlacement(), dataType, GetData()));
  return tensor.get();
}

ge::AscendString aclTensor::ToString() const {
  const std::string text = std::string(op::ToString(dataType).GetString()) + op::ToString(viewShape).GetString() + " strides " +
                           op::ToString(viewStrides).GetString() + " offset " + std::to_string(viewOffset) + " " +
                           op::ToString(viewFormat).GetString();
  return ge::AscendString(text.c_str());
}

aclScalar::aclScalar(const void *value, op::DataType type) : dataType(type) {
  const int size = ge::GetSizeByDataType(type);
  if (value != nullptr && size > 0 && size <= static_cast<int>(sizeof bytes)) std::memcpy(bytes, value, static_cast<size_t>(size));
}

namespace {
template <typename T>
T As(const uint8_t *bytes) {
  T value;
  std::memcpy(&value, bytes, sizeof value);
  return value;
}

bool IsReal(op::DataType type) { return op::IsFloatingType(type) || op::IsComplexType(type); }

// A float as an integer: towards zero, saturating.
int64_t Truncated(double value) {
  if (std::isnan(value)) return 0;
  if (value >= 9223372036854775808.0) return INT64_MAX;
  if (value <= -9223372036854775808.0) return INT64_MIN;
  return static_cast<int64_t>(value);
}
}  // namespace

double aclScalar::Real() const {
  switch (dataType) {
    case ge::DT_FLOAT:
    case ge::DT_COMPLEX64: return As<float>(bytes);
    case ge::DT_DOUBLE:
    case ge::DT_COMPLEX128: return As<double>(bytes);
    case ge::DT_FLOAT16:
    case ge::DT_COMPLEX32: return twin::HalfBitsToFloat(As<uint16_t>(bytes));
    case ge::DT_BF16: return twin::Bfloat16BitsToFloat(As<uint16_t>(bytes));
    case ge::DT_UINT64: return static_cast<double>(As<uint64_t>(bytes));
    default: return static_cast<double>(Integer());
  }
}

int64_t aclScalar::Integer() const {
  switch (dataType) {
    case ge::DT_INT8: return As<int8_t>(bytes);
    case ge::DT_INT16: return As<int16_t>(bytes);
    case ge::DT_INT32: return As<int32_t>(bytes);
    case ge::DT_INT64: return As<int64_t>(bytes);
    case ge::DT_UINT8: return As<uint8_t>(bytes);
    case ge::DT_UINT16: return As<uint16_t>(bytes);
    case ge::DT_UINT32: return As<uint32_t>(bytes);
    case ge::DT_UINT64: return static_cast<int64_t>(As<uint64_t>(bytes));
    case ge::DT_BOOL: return bytes[0] != 0;
    default: return IsReal(dataType) ? Truncated(Real()) : 0;
  }
}

bool aclScalar::Overflows(double low, double high, bool whole) const {
  const double value = Real();
  if (std::isnan(value)) return whole;
  if (std::isinf(value)) return whole;
  return value < low || value > high;
}

namespace twin {
namespace {

std::vector<acl::Leak> Leaks() {
  Objects &objects = TheObjects();
  std::vector<acl::Leak> leaks;
  const auto add = [&leaks](const char *kind, size_t number) {
    if (number > 0) leaks.push_back(acl::Leak{kind, number, ""});
  };
  add("aclTensor", objects.tensors.Size());
  add("aclScalar", objects.scalars.Size());
  add("aclIntArray", objects.ints.Size());
  add("aclFloatArray", objects.floats.Size());
  add("aclBoolArray", objects.bools.Size());
  add("aclTensorList", objects.tensorLists.Size());
  add("aclScalarList", objects.scalarLists.Size());
  objects.tensors.Clear();
  objects.scalars.Clear();
  objects.ints.Clear();
  objects.floats.Clear();
  objects.bools.Clear();
  objects.tensorLists.Clear();
  objects.scalarLists.Clear();
  return leaks;
}

struct Shapes {
  op::Shape view, storage;
  op::Strides strides;
};

bool Read(const char *api, const char *what, const int64_t *dims, uint64_t number, op::Shape *shape) {
  if (number > op::Shape::kMaxDimNum) {
    acl::Fail(ACLNN_ERR_PARAM_INVALID, "%s: %s has %llu dims, at most %zu are possible", api, what, static_cast<unsigned long long>(number),
              op::Shape::kMaxDimNum);
    return false;
  }
  if (dims == nullptr && number > 0) {
    acl::Fail(ACLNN_ERR_PARAM_NULLPTR, "%s: %s is null", api, what);
    return false;
  }
  for (uint64_t i = 0; i < number; ++i) {
    if (dims[i] < 0) {
      acl::Fail(ACLNN_ERR_PARAM_INVALID, "%s: %s[%llu] is %lld, expected 0 or more", api, what, static_cast<unsigned long long>(i),
                static_cast<long long>(dims[i]));
      return false;
    }
  }
  op::ToShape(dims, number, *shape);
  return true;
}

std::unique_ptr<aclTensor> Make(const char *api, const int64_t *viewDims, uint64_t viewDimsNum, aclDataType dataType, const int64_t *stride,
                                int64_t offset, aclFormat format, const int64_t *storageDims, uint64_t storageDimsNum, void *data) {
  Shapes shapes;
  if (!Read(api, "viewDims", viewDims, viewDimsNum, &shapes.view) ||
      !Read(api, "storageDims", storageDims, storageDimsNum, &shapes.storage))
    return nullptr;
  const op::Format form = op::ToOpFormat(format);
  std::unique_ptr<aclTensor> tensor(new aclTensor(shapes.view, shapes.storage, op::ToOpDataType(dataType), form, form));
  if (stride != nullptr) tensor->SetViewStrides(op::Strides(stride, stride + viewDimsNum));
  tensor->SetViewOffset(offset);
  tensor->storage->address = data;
  return tensor;
}

aclnnStatus Copied(const char *api, const int64_t *from, size_t size, int64_t **to, uint64_t *number) {
  if (to == nullptr || number == nullptr) return acl::Fail(ACLNN_ERR_PARAM_NULLPTR, "%s: an output pointer is null", api);
  *to = new int64_t[size == 0 ? 1 : size];
  for (size_t i = 0; i < size; ++i) (*to)[i] = from[i];
  *number = size;
  return 0;
}

template <typename T>
aclnnStatus SizeOf(const char *api, const T *object, uint64_t *size) {
  if (object == nullptr || size == nullptr)
    return acl::Fail(ACLNN_ERR_PARAM_NULLPTR, "%s: %s is null", api, object == nullptr ? "the array" : "size");
  *size = object->Size();
  return 0;
}

template <typename Object, typename Item>
Object *Hold(const char *api, Table<Object> &table, const Item *value, uint64_t size) {
  if (value == nullptr && size > 0) {
    acl::Fail(ACLNN_ERR_PARAM_NULLPTR, "%s: value is null", api);
    return nullptr;
  }
  return table.Add(std::unique_ptr<Object>(new Object(value, size)));
}

}  // namespace

Objects &TheObjects() {
  static Objects &objects = *[] {
    acl::AtFinalize(&Leaks);
    return new Objects;
  }();
  return objects;
}

uint64_t NextSerial() {
  static std::atomic<uint64_t> serial{0};
  return ++serial;
}

}  // namespace twin

using twin::TheObjects;

extern "C" {

TWIN_ACL_API aclTensor *aclCreateTensor(const int64_t *viewDims, uint64_t viewDimsNum, aclDataType dataType, const int64_t *stride,
                                        int64_t offset, aclFormat format, const int64_t *storageDims, uint64_t storageDimsNum,
                                        void *tensorData) {
  auto tensor =
      twin::Make("aclCreateTensor", viewDims, viewDimsNum, dataType, stride, offset, format, storageDims, storageDimsNum, tensorData);
  return tensor == nullptr ? nullptr : TheObjects().tensors.Add(std::move(tensor));
}

TWIN_ACL_API aclnnStatus aclInitTensor(aclTensor *tensor, const int64_t *viewDims, uint64_t viewDimsNum, aclDataType dataType,
                                       const int64_t *stride, int64_t offset, aclFormat format, const int64_t *storageDims,
                                       uint64_t storageDimsNum, void *tensorDataAddr) {
  if (tensor == nullptr) return twin::acl::Fail(ACLNN_ERR_PARAM_NULLPTR, "aclInitTensor: tensor is null");
  auto made =
      twin::Make("aclInitTensor", viewDims, viewDimsNum, dataType, stride, offset, format, storageDims, storageDimsNum, tensorDataAddr);
  if (made == nullptr) return ACLNN_ERR_PARAM_INVALID;
  const uint64_t serial = tensor->serial;
  *tensor = std::move(*made);
  tensor->serial = serial;
  return 0;
}

TWIN_ACL_API aclScalar *aclCreateScalar(void *value, aclDataType dataType) {
  if (value == nullptr || aclDataTypeSize(dataType) == 0) {
    twin::acl::Fail(value == nullptr ? ACLNN_ERR_PARAM_NULLPTR : ACLNN_ERR_PARAM_INVALID, "aclCreateScalar: %s",
                    value == nullptr ? "value is null" : "the dtype has no size");
    return nullptr;
  }
  return TheObjects().scalars.Add(std::unique_ptr<aclScalar>(new aclScalar(value, op::ToOpDataType(dataType))));
}

TWIN_ACL_API aclIntArray *aclCreateIntArray(const int64_t *value, uint64_t size) {
  return twin::Hold("aclCreateIntArray", TheObjects().ints, value, size);
}
TWIN_ACL_API aclFloatArray *aclCreateFloatArray(const float *value, uint64_t size) {
  return twin::Hold("aclCreateFloatArray", TheObjects().floats, value, size);
}
TWIN_ACL_API aclBoolArray *aclCreateBoolArray(const bool *value, uint64_t size) {
  return twin::Hold("aclCreateBoolArray", TheObjects().bools, value, size);
}
TWIN_ACL_API aclTensorList *aclCreateTensorList(const aclTensor *const *value, uint64_t size) {
  return twin::Hold("aclCreateTensorList", TheObjects().tensorLists, value, size);
}
TWIN_ACL_API aclScalarList *aclCreateScalarList(const aclScalar *const *value, uint64_t size) {
  return twin::Hold("aclCreateScalarList", TheObjects().scalarLists, value, size);
}

TWIN_ACL_API aclnnStatus aclDestroyTensor(const aclTensor *tensor) { return TheObjects().tensors.Remove(tensor, "aclDestroyTensor"); }
TWIN_ACL_API aclnnStatus aclDestroyScalar(const aclScalar *scalar) { return TheObjects().scalars.Remove(scalar, "aclDestroyScalar"); }
TWIN_ACL_API aclnnStatus aclDestroyIntArray(const aclIntArray *array) { return TheObjects().ints.Remove(array, "aclDestroyIntArray"); }
TWIN_ACL_API aclnnStatus aclDestroyFloatArray(const aclFloatArray *array) {
  return TheObjects().floats.Remove(array, "aclDestroyFloatArray");
}
TWIN_ACL_API aclnnStatus aclDestroyBoolArray(const aclBoolArray *array) { return TheObjects().bools.Remove(array, "aclDestroyBoolArray"); }

TWIN_ACL_API aclnnStatus aclDestroyTensorList(const aclTensorList *list) {
  if (list != nullptr && TheObjects().tensorLists.Has(list))
    for (uint64_t i = 0; i < list->Size(); ++i) aclDestroyTensor((*list)[i]);
  return TheObjects().tensorLists.Remove(list, "aclDestroyTensorList");
}
TWIN_ACL_API aclnnStatus aclDestroyScalarList(const aclScalarList *list) {
  if (list != nullptr && TheObjects().scalarLists.Has(list))
    for (uint64_t i = 0; i < list->Size(); ++i) aclDestroyScalar((*list)[i]);
  return TheObjects().scalarLists.Remove(list, "aclDestroyScalarList");
}

#define TWIN_NEED_TENSOR(api) \
  if (tensor == nullptr) return twin::acl::Fail(ACLNN_ERR_PARAM_NULLPTR, api ": tensor is null")

TWIN_ACL_API aclnnStatus aclGetViewShape(const aclTensor *tensor, int64_t **viewDims, uint64_t *viewDimsNum) {
  TWIN_NEED_TENSOR("aclGetViewShape");
  const op::ShapeVector dims = op::ToShapeVector(tensor->GetViewShape());
  return twin::Copied("aclGetViewShape", dims.data(), dims.size(), viewDims, viewDimsNum);
}
TWIN_ACL_API aclnnStatus aclGetStorageShape(const aclTensor *tensor, int64_t **storageDims, uint64_t *storageDimsNum) {
  TWIN_NEED_TENSOR("aclGetStorageShape");
  const op::ShapeVector dims = op::ToShapeVector(tensor->GetStorageShape());
  return twin::Copied("aclGetStorageShape", dims.data(), dims.size(), storageDims, storageDimsNum);
}
TWIN_ACL_API aclnnStatus aclGetViewStrides(const aclTensor *tensor, int64_t **strides, uint64_t *stridesNum) {
  TWIN_NEED_TENSOR("aclGetViewStrides");
  return twin::Copied("aclGetViewStrides", tensor->GetViewStrides().data(), tensor->GetViewStrides().size(), strides, stridesNum);
}
TWIN_ACL_API aclnnStatus aclGetViewOffset(const aclTensor *tensor, int64_t *offset) {
  TWIN_NEED_TENSOR("aclGetViewOffset");
  if (offset == nullptr) return twin::acl::Fail(ACLNN_ERR_PARAM_NULLPTR, "aclGetViewOffset: offset is null");
  *offset = tensor->GetViewOffset();
  return 0;
}
TWIN_ACL_API aclnnStatus aclGetFormat(const aclTensor *tensor, aclFormat *format) {
  TWIN_NEED_TENSOR("aclGetFormat");
  if (format == nullptr) return twin::acl::Fail(ACLNN_ERR_PARAM_NULLPTR, "aclGetFormat: format is null");
  *format = op::ToAclFormat(tensor->GetViewFormat());
  return 0;
}
TWIN_ACL_API aclnnStatus aclGetDataType(const aclTensor *tensor, aclDataType *dataType) {
  TWIN_NEED_TENSOR("aclGetDataType");
  if (dataType == nullptr) return twin::acl::Fail(ACLNN_ERR_PARAM_NULLPTR, "aclGetDataType: dataType is null");
  *dataType = op::ToAclDataType(tensor->GetDataType());
  return 0;
}
TWIN_ACL_API aclnnStatus aclSetRawTensorAddr(aclTensor *tensor, void *addr) {
  TWIN_NEED_TENSOR("aclSetRawTensorAddr");
  tensor->SetStorageAddr(addr);
  return 0;
}
TWIN_ACL_API aclnnStatus aclGetRawTensorAddr(const aclTensor *tensor, void **addr) {
  TWIN_NEED_TENSOR("aclGetRawTensorAddr");
  if (addr == nullptr) return twin::acl::Fail(ACLNN_ERR_PARAM_NULLPTR, "aclGetRawTensorAddr: addr is null");
  *addr = tensor->GetStorageAddr();
  return 0;
}

TWIN_ACL_API aclnnStatus aclGetIntArraySize(const aclIntArray *array, uint64_t *size) {
  return twin::SizeOf("aclGetIntArraySize", array, size);
}
TWIN_ACL_API aclnnStatus aclGetFloatArraySize(const aclFloatArray *array, uint64_t *size) {
  return twin::SizeOf("aclGetFloatArraySize", array, size);
}
TWIN_ACL_API aclnnStatus aclGetBoolArraySize(const aclBoolArray *array, uint64_t *size) {
  return twin::SizeOf("aclGetBoolArraySize", array, size);
}
TWIN_ACL_API aclnnStatus aclGetTensorListSize(const aclTensorList *list, uint64_t *size) {
  return twin::SizeOf("aclGetTensorListSize", list, size);
}
TWIN_ACL_API aclnnStatus aclGetScalarListSize(const aclScalarList *list, uint64_t *size) {
  return twin::SizeOf("aclGetScalarListSize", list, size);
}

}  // extern "C"
