// Shapes, formats and tensors as host functions see them (host.md section 5).
#pragma once
#include <cstring>
#include <initializer_list>
#include <memory>
#include <vector>

#include "types.h"

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
  // Raises the number of dims to `index` only, as the interface does: call SetDimNum first.
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
  StorageFormat() = default;
  StorageFormat(ge::Format from, ge::Format to) : origin(from), storage(to) {}
  ge::Format GetOriginFormat() const { return origin; }
  ge::Format GetStorageFormat() const { return storage; }

 private:
  ge::Format origin = ge::FORMAT_ND, storage = ge::FORMAT_ND;
};

class CompileTimeTensorDesc {
 public:
  explicit CompileTimeTensorDesc(ge::DataType dtype = ge::DT_UNDEFINED, const StorageFormat &form = StorageFormat()) : type(dtype), format(form) {}
  ge::DataType GetDataType() const { return type; }
  ge::Format GetStorageFormat() const { return format.GetStorageFormat(); }
  ge::Format GetOriginFormat() const { return format.GetOriginFormat(); }
  const StorageFormat &GetFormat() const { return format; }

 private:
  ge::DataType type;
  StorageFormat format;
};

enum TensorPlacement { kOnDeviceHbm = 0, kOnHost = 1, kFollowing = 2, kTensorPlacementEnd };

// A tensor with its data's address, which host code may read when the placement is kOnHost.
class Tensor {
 public:
  Tensor() = default;
  Tensor(const StorageShape &dims, const StorageFormat &form, TensorPlacement where, ge::DataType dtype, void *data)
      : shape(dims), format(form), place(where), type(dtype), address(data) {}
  template <typename T>
  const T *GetData() const {
    return static_cast<const T *>(address);
  }
  template <typename T>
  T *GetData() {
    return static_cast<T *>(address);
  }
  int64_t GetShapeSize() const { return shape.GetStorageShape().GetShapeSize(); }
  const Shape &GetStorageShape() const { return shape.GetStorageShape(); }
  const Shape &GetOriginShape() const { return shape.GetOriginShape(); }
  const StorageShape &GetShape() const { return shape; }
  StorageShape &GetShape() { return shape; }
  ge::DataType GetDataType() const { return type; }
  ge::Format GetStorageFormat() const { return format.GetStorageFormat(); }
  ge::Format GetOriginFormat() const { return format.GetOriginFormat(); }
  const StorageFormat &GetFormat() const { return format; }
  TensorPlacement GetPlacement() const { return place; }
  const void *GetAddr() const { return address; }
  void *GetAddr() { return address; }
  size_t GetSize() const {
    const int64_t bytes = ge::GetSizeInBytes(GetShapeSize(), type);
    return bytes < 0 ? 0 : static_cast<size_t>(bytes);
  }

 private:
  StorageShape shape;
  StorageFormat format;
  TensorPlacement place = kOnDeviceHbm;
  ge::DataType type = ge::DT_UNDEFINED;
  void *address = nullptr;
};

}  // namespace gert
