// The classes behind aclTensor, aclScalar, the arrays and the lists (host.md section 3).
#pragma once
#include <limits>
#include <memory>
#include <vector>

#include "aclnn/acl_meta.h"
#include "bfloat16.h"
#include "exe_graph/runtime/shape.h"
#include "exe_graph/runtime/tensor.h"
#include "fast_vector.h"
#include "fp16_t.h"
#include "object.h"

namespace op {
using Shape = gert::Shape;
using Strides = FVector<int64_t, 25>;
using ShapeVector = FVector<int64_t, 25>;
using Format = ge::Format;
using DataType = ge::DataType;
using Tensor = gert::Tensor;
using StorageShape = gert::StorageShape;
using StorageFormat = gert::StorageFormat;
using TensorPlacement = gert::TensorPlacement;
enum class OpImplMode : uint32_t { IMPL_MODE_DEFAULT = 0x1 };
}  // namespace op

namespace twin {
// Where a tensor's storage is. Views and workspace tensors get their address when the executor runs.
struct Storage {
  enum class Kind { kAddress, kWorkspace, kHost } kind = Kind::kAddress;
  void *address = nullptr;                     // kAddress: a device address
  uint64_t offset = 0;                         // kWorkspace: bytes from its start
  std::shared_ptr<std::vector<uint8_t>> host;  // kHost: the data
};
}  // namespace twin

struct TWIN_ACL_API aclTensor : public op::Object {
 public:
  aclTensor(const op::Shape &view, const op::Shape &storage, op::DataType type, op::Format viewFormat, op::Format storageFormat);

  const op::Shape &GetViewShape() const { return viewShape; }
  const op::Shape &GetStorageShape() const { return storageShape; }
  const op::Shape &GetOriginalShape() const { return originalShape; }
  void SetViewShape(const op::Shape &shape);
  void SetStorageShape(const op::Shape &shape) const { storageShape = shape; }
  void SetOriginalShape(const op::Shape &shape) const { originalShape = shape; }
  op::DataType GetDataType() const { return dataType; }
  void SetDataType(op::DataType type) { dataType = type; }
  op::Format GetStorageFormat() const { return storageFormat; }
  op::Format GetViewFormat() const { return viewFormat; }
  op::Format GetOriginalFormat() const { return originalFormat; }
  void SetStorageFormat(op::Format format) const { storageFormat = format; }
  void SetViewFormat(op::Format format) const { viewFormat = format; }
  void SetOriginalFormat(op::Format format) const { originalFormat = format; }
  const op::Strides &GetViewStrides() const { return viewStrides; }
  void SetViewStrides(const op::Strides &strides) { viewStrides = strides; }
  int64_t GetViewOffset() const { return viewOffset; }
  void SetViewOffset(int64_t offset) { viewOffset = offset; }
  int64_t GetStorageOffset() const { return storageOffset; }
  void SetStorageOffset(int64_t offset) { storageOffset = offset; }
  int64_t Size() const { return viewShape.GetShapeSize(); }
  int64_t Numel() const { return viewShape.GetShapeSize(); }
  bool IsEmpty() const;
  // The address of the view's first element, where it is known; null for a tensor in workspace.
  void *GetData() const;
  void *GetStorageAddr() const;
  void SetStorageAddr(void *address) const;
  op::Tensor *GetTensor() const;
  op::TensorPlacement GetPlacement() const { return storage->kind == twin::Storage::Kind::kHost ? gert::kOnHost : gert::kOnDeviceHbm; }
  bool IsFromWorkspace() const { return storage->kind == twin::Storage::Kind::kWorkspace; }
  ge::AscendString ToString() const;

  std::shared_ptr<twin::Storage> storage;  // shared by views of one tensor
  uint64_t serial = 0;                     // tells it from an earlier tensor at the same address

 private:
  op::Shape viewShape;
  mutable op::Shape storageShape, originalShape;
  op::Strides viewStrides;
  int64_t viewOffset = 0, storageOffset = 0;  // elements
  op::DataType dataType;
  mutable op::Format viewFormat, storageFormat, originalFormat;
  mutable std::unique_ptr<op::Tensor> tensor;
};

namespace twin {
template <typename T>
class Array : public op::Object {
 public:
  Array(const T *from, uint64_t size) : number(size), values(new T[size == 0 ? 1 : size]) {
    for (uint64_t i = 0; i < size; ++i) values[i] = from[i];
  }
  const T &operator[](uint64_t index) const { return values[index]; }
  uint64_t Size() const { return number; }
  const T *GetData() const { return values.get(); }

 private:
  uint64_t number;
  std::unique_ptr<T[]> values;
};

template <typename T>
class List : public op::Object {
 public:
  List(const T *const *from, uint64_t size) : values(from, from + size) {}
  const T *operator[](uint64_t index) const { return values[index]; }
  uint64_t Size() const { return values.size(); }
  const T *const *GetData() const { return values.data(); }

 private:
  std::vector<const T *> values;
};
}  // namespace twin

struct aclIntArray : public twin::Array<int64_t> {
  using Array::Array;
};
struct aclFloatArray : public twin::Array<float> {
  using Array::Array;
};
struct aclBoolArray : public twin::Array<bool> {
  using Array::Array;
};
struct aclFp16Array : public twin::Array<op::fp16_t> {
  using Array::Array;
};
struct aclBf16Array : public twin::Array<op::bfloat16> {
  using Array::Array;
};
struct aclTensorList : public twin::List<aclTensor> {
  using List::List;
};

struct TWIN_ACL_API aclScalar : public op::Object {
 public:
  aclScalar(const void *value, op::DataType type);
  op::DataType GetDataType() const { return dataType; }
  float ToFloat() const { return static_cast<float>(Real()); }
  double ToDouble() const { return Real(); }
  bool ToBool() const { return Real() != 0; }
  int8_t ToInt8() const { return static_cast<int8_t>(Integer()); }
  int16_t ToInt16() const { return static_cast<int16_t>(Integer()); }
  int32_t ToInt32() const { return static_cast<int32_t>(Integer()); }
  int64_t ToInt64() const { return Integer(); }
  uint8_t ToUint8() const { return static_cast<uint8_t>(Integer()); }
  uint16_t ToUint16() const { return static_cast<uint16_t>(Integer()); }
  uint32_t ToUint32() const { return static_cast<uint32_t>(Integer()); }
  uint64_t ToUint64() const { return static_cast<uint64_t>(Integer()); }
  op::fp16_t ToFp16() const { return op::fp16_t(ToFloat()); }
  op::bfloat16 ToBf16() const { return op::bfloat16(ToFloat()); }
  // Whether the value does not fit T.
  template <typename T>
  bool CheckOverflows() const {
    return Overflows(static_cast<double>(std::numeric_limits<T>::lowest()), static_cast<double>(std::numeric_limits<T>::max()),
                     std::numeric_limits<T>::is_integer);
  }

 private:
  double Real() const;
  int64_t Integer() const;
  bool Overflows(double low, double high, bool whole) const;
  op::DataType dataType;
  uint8_t bytes[16] = {};
};

struct aclScalarList : public twin::List<aclScalar> {
  using List::List;
};
