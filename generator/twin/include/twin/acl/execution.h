// Inside the library of the two-phase interface: what an executor records, and how it becomes work on a stream.
#pragma once
#include <functional>

#include "objects.h"
#include "opdev/op_dfx.h"
#include "opdev/op_executor.h"

namespace twin {

constexpr uint64_t kWorkspaceAlign = 512;  // bytes

// A tensor as a task uses it: everything copied, so that the client may destroy its objects after phase 2.
struct View {
  op::Shape shape;
  op::Strides strides;  // elements
  op::DataType type = ge::DT_UNDEFINED;
  int64_t bytes = 0;                           // of an element
  uint8_t *first = nullptr;                    // the element at index 0 of every axis
  std::shared_ptr<acl::Block> block;           // kept alive
  std::shared_ptr<std::vector<uint8_t>> host;  // or this
  std::string fault;                           // why the memory cannot be used; empty when it can
  int64_t Numel() const { return shape.GetShapeSize(); }
};

// The memory one run of an executor has.
struct Run {
  acl::Range workspace;
  std::string fault;  // why the workspace cannot be used
};

// A tensor of an executor's record. The client's own tensors are checked to be alive still.
struct Operand {
  const aclTensor *tensor = nullptr;
  uint64_t serial = 0;
  bool owned = false;  // by the executor
  std::string name;
};

using Work = std::function<acl::Failure()>;

// One entry of the launch list. `bind` makes it work on the memory of a run and names the memory it uses.
struct Step {
  std::string name;
  std::function<Work(const Run &, std::vector<acl::Use> &)> bind;
  std::vector<Operand> operands;
  uint64_t workspace = 0;  // bytes
};

struct ExecutorState {
  std::string api;
  std::vector<Argument> inputs, outputs;  // of the level-2 call
  std::vector<std::unique_ptr<aclTensor>> tensors;
  std::vector<std::unique_ptr<aclIntArray>> ints;
  std::vector<std::unique_ptr<aclFloatArray>> floats;
  std::vector<std::unique_ptr<aclBoolArray>> bools;
  std::vector<std::unique_ptr<aclScalar>> scalars;
  std::vector<std::unique_ptr<aclTensorList>> tensorLists;
  std::vector<std::unique_ptr<aclScalarList>> scalarLists;
  std::vector<Step> steps;
  aclrtStream stream = nullptr;
  bool repeatable = false, released = false;

  aclTensor *Own(std::unique_ptr<aclTensor> tensor);
  bool Owns(const aclTensor *tensor) const;
  Operand Name(const aclTensor *tensor, const std::string &name) const;
  // Lays workspace tensors out one behind the other, and after them the operators' own; the sum in bytes.
  uint64_t Layout() const;
};

// The memory of a tensor in a run. `write`: whether the task writes it.
View Resolve(const Operand &operand, const Run &run, bool write, std::vector<acl::Use> &uses);
// Why a task cannot run with these views; empty when it can.
std::string FirstFault(const std::string &step, const std::vector<View> &views, const std::vector<std::string> &names);

// Whether elements of this dtype can be converted.
bool Convertible(op::DataType type);
int64_t HostInteger(const uint8_t *at, op::DataType type);
aclnnStatus ConvertHost(const void *value, uint64_t size, op::DataType from, uint8_t *to, op::DataType type);

// Copies element by element between views of the same shape and dtype.
void CopyView(const View &from, const View &to);
// Records a copy between two tensors of the same number of dims.
bool AddCopy(const char *name, const aclTensor *from, const aclTensor *to, aclOpExecutor *executor);

}  // namespace twin
