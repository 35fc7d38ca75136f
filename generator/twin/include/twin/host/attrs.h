// Attributes of a node as host functions read them (host.md section 5).
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "types.h"

namespace gert {

template <typename T>
class TypedContinuousVector {
 public:
  std::vector<T> values;
  size_t GetSize() const { return values.size(); }
  const T *GetData() const { return values.data(); }
};

class ContinuousVectorVector {
 public:
  std::vector<TypedContinuousVector<int64_t>> values;
  size_t GetSize() const { return values.size(); }
  const TypedContinuousVector<int64_t> *Get(size_t index) const { return index < values.size() ? &values[index] : nullptr; }
};

// Attributes in the order of the operator's definition.
class RuntimeAttrs {
 public:
  struct Value {
    int kind = 0;  // 'i' 'f' 'b' 's' 'I' 'F' 'B' 'L': int, float, bool, string, and lists of ints, floats, bools, lists of ints
    int64_t integer = 0;
    float real = 0;
    bool flag = false;
    std::string text;
    TypedContinuousVector<int64_t> integers;
    TypedContinuousVector<float> reals;
    TypedContinuousVector<uint8_t> flags;
    ContinuousVectorVector lists;
  };
  std::vector<std::shared_ptr<Value>> values;

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
  const ContinuousVectorVector *GetListListInt(size_t index) const { return Is(index, 'L') ? &values[index]->lists : nullptr; }
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
      case 'B': return &v.flags;
      case 'L': return &v.lists;
      default: return &v.reals;
    }
  }
};

}  // namespace gert
