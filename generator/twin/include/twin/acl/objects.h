// Inside the library of the two-phase interface: tables of the objects a client holds.
#pragma once
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "opdev/common_types.h"
#include "opdev/op_log.h"
#include "runtime.h"

namespace twin {

// Objects handed to the client. A destroyed one keeps its address for a while, so that destroying it again is harmless.
template <typename T>
class Table {
 public:
  T *Add(std::unique_ptr<T> object) {
    std::lock_guard<std::mutex> lock(guard);
    T *raw = object.get();
    live[raw] = std::move(object);
    return raw;
  }
  bool Has(const T *object) {
    std::lock_guard<std::mutex> lock(guard);
    return live.count(object) != 0;
  }
  // 0, also for one destroyed before; the code after its message for a pointer that never was one.
  aclnnStatus Remove(const T *object, const char *api) {
    if (object == nullptr) return 0;
    std::lock_guard<std::mutex> lock(guard);
    const auto found = live.find(object);
    if (found != live.end()) {
      gone.push_back(std::move(found->second));
      live.erase(found);
      if (gone.size() > kKept) gone.pop_front();
      return 0;
    }
    for (const std::unique_ptr<T> &dead : gone)
      if (dead.get() == object) return 0;
    return acl::Fail(ACLNN_ERR_PARAM_INVALID, "%s: %p is not one that is alive", api, static_cast<const void *>(object));
  }
  size_t Size() {
    std::lock_guard<std::mutex> lock(guard);
    return live.size();
  }
  void Clear() {
    std::lock_guard<std::mutex> lock(guard);
    for (auto &entry : live) gone.push_back(std::move(entry.second));
    live.clear();
    while (gone.size() > kKept) gone.pop_front();
  }

 private:
  static constexpr size_t kKept = 4096;
  std::mutex guard;
  std::map<const T *, std::unique_ptr<T>> live;
  std::deque<std::unique_ptr<T>> gone;
};

struct Objects {
  Table<aclTensor> tensors;
  Table<aclScalar> scalars;
  Table<aclIntArray> ints;
  Table<aclFloatArray> floats;
  Table<aclBoolArray> bools;
  Table<aclTensorList> tensorLists;
  Table<aclScalarList> scalarLists;
};
Objects &TheObjects();
uint64_t NextSerial();

}  // namespace twin
