// Executors: single use unless made repeatable, alive until their run or destruction, tolerant of being destroyed twice.
#include "execution.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "opdev/data_type_utils.h"
#include "opdev/shape_utils.h"
#include "opdev/tensor_view_utils.h"

namespace twin {
namespace {

Table<aclOpExecutor> &Executors() {
  static Table<aclOpExecutor> &table = *[] {
    acl::AtFinalize([] {
      std::vector<acl::Leak> leaks;
      if (Executors().Size() > 0) leaks.push_back(acl::Leak{"aclOpExecutor", Executors().Size(), ""});
      Executors().Clear();
      return leaks;
    });
    return new Table<aclOpExecutor>;
  }();
  return table;
}

thread_local const Phase *currentPhase = nullptr;

uint64_t Aligned(uint64_t bytes) { return (bytes + kWorkspaceAlign - 1) / kWorkspaceAlign * kWorkspaceAlign; }

aclnnStatus NoExecutor(const char *api, const aclOpExecutor *executor) {
  if (executor == nullptr) return acl::Fail(ACLNN_ERR_PARAM_NULLPTR, "%s: executor is null", api);
  return acl::Fail(ACLNN_ERR_PARAM_INVALID,
                   "%s: executor %p is not alive: an executor runs once, unless aclSetAclOpExecutorRepeatable was called", api,
                   static_cast<const void *>(executor));
}

// Whether a tensor of a record is still the one it was.
bool Alive(const Operand &operand) {
  return operand.owned || operand.tensor == nullptr ||
         (TheObjects().tensors.Has(operand.tensor) && operand.tensor->serial == operand.serial);
}

aclnnStatus SetAddress(const char *api, aclOpExecutor *executor, const std::vector<Argument> &arguments, size_t index, aclTensor *tensor,
                       void *addr) {
  if (!executor->state->repeatable) return acl::Fail(ACLNN_ERR_PARAM_INVALID, "%s: the executor is not repeatable", api);
  if (tensor == nullptr || addr == nullptr)
    return acl::Fail(ACLNN_ERR_PARAM_NULLPTR, "%s: %s is null", api, tensor == nullptr ? "tensor" : "addr");
  if (index >= arguments.size() || arguments[index].tensor == nullptr)
    return acl::Fail(ACLNN_ERR_PARAM_INVALID, "%s: index is %zu, the call has %zu tensors", api, index, arguments.size());
  const Argument &argument = arguments[index];
  tensor->SetStorageAddr(addr);
  if (argument.tensor != tensor) {
    if (!TheObjects().tensors.Has(argument.tensor) || argument.tensor->serial != argument.serial)
      return acl::Fail(ACLNN_ERR_PARAM_INVALID, "%s: the tensor of index %zu that the executor was made with was destroyed", api, index);
    argument.tensor->SetStorageAddr(addr);
  }
  return 0;
}

aclnnStatus SetListed(const char *api, aclOpExecutor *executor, const std::vector<Argument> &arguments, size_t index, size_t relative,
                      aclTensorList *list, void *addr) {
  if (list == nullptr || addr == nullptr)
    return acl::Fail(ACLNN_ERR_PARAM_NULLPTR, "%s: %s is null", api, list == nullptr ? "tensors" : "addr");
  if (!executor->state->repeatable) return acl::Fail(ACLNN_ERR_PARAM_INVALID, "%s: the executor is not repeatable", api);
  if (index >= arguments.size() || arguments[index].list == nullptr || relative >= list->Size())
    return acl::Fail(ACLNN_ERR_PARAM_INVALID, "%s: no tensor %zu of list %zu", api, relative, index);
  (*list)[relative]->SetStorageAddr(addr);
  return 0;
}

std::vector<Argument> AllArguments(const ExecutorState &state) {
  std::vector<Argument> all = state.inputs;
  all.insert(all.end(), state.outputs.begin(), state.outputs.end());
  return all;
}

// Where, relative to the element at index 0, the first and the last element of a view lie; false when that overflows.
bool Extent(const View &view, int64_t *low, int64_t *high) {
  *low = *high = 0;
  for (size_t i = 0; i < view.shape.GetDimNum(); ++i) {
    int64_t reach = 0;
    if (__builtin_mul_overflow(view.shape.GetDim(i) - 1, view.strides[i], &reach)) return false;
    if (__builtin_add_overflow(reach < 0 ? *low : *high, reach, reach < 0 ? low : high)) return false;
  }
  return true;
}

}  // namespace

// --- phases ------------------------------------------------------------------------------------------------------------

Phase::Phase(const char *api) : name(api), outer(currentPhase) {
  if (outer == nullptr) acl::ClearMessages();
  currentPhase = this;
}
Phase::~Phase() { currentPhase = outer; }
const Phase *Phase::Current() { return currentPhase; }

void Log(LogLevel level, bool report, int code, const char *file, int line, const char *format, ...) {
  std::va_list args;
  va_start(args, format);
  char text[2048];
  std::vsnprintf(text, sizeof text, format, args);
  va_end(args);
  static const int least = [] {
    const char *wanted = std::getenv("OPWRIGHT_LOG");
    return wanted == nullptr ? 99 : std::atoi(wanted);
  }();
  if (static_cast<int>(level) >= least) std::fprintf(stderr, "%s:%d: %s\n", file, line, text);
  if (!report) return;
  const char *tag = code / 100000 == 1 ? "EZ1001" : (code / 100000 == 3 ? "EZ9903" : "EZ9999");
  acl::AddMessage(std::string(tag) + ": " + text);
}

// --- state -------------------------------------------------------------------------------------------------------------

aclTensor *ExecutorState::Own(std::unique_ptr<aclTensor> tensor) {
  tensors.push_back(std::move(tensor));
  return tensors.back().get();
}

bool ExecutorState::Owns(const aclTensor *tensor) const {
  for (const std::unique_ptr<aclTensor> &mine : tensors)
    if (mine.get() == tensor) return true;
  return false;
}

Operand ExecutorState::Name(const aclTensor *tensor, const std::string &name) const {
  Operand operand;
  operand.tensor = tensor;
  operand.serial = tensor == nullptr ? 0 : tensor->serial;
  operand.owned = tensor != nullptr && Owns(tensor);
  operand.name = name;
  return operand;
}

uint64_t ExecutorState::Layout() const {
  uint64_t offset = 0;
  std::vector<const Storage *> placed;
  for (const std::unique_ptr<aclTensor> &tensor : tensors) {
    Storage &storage = *tensor->storage;
    if (storage.kind != Storage::Kind::kWorkspace) continue;
    bool seen = false;
    for (const Storage *other : placed) seen = seen || other == &storage;
    if (seen) continue;
    placed.push_back(&storage);
    const int64_t bytes = ge::GetSizeInBytes(tensor->GetStorageShape().GetShapeSize(), tensor->GetDataType());
    storage.offset = offset;
    offset += Aligned(bytes < 0 ? 0 : static_cast<uint64_t>(bytes));
  }
  for (const Step &step : steps) offset += Aligned(step.workspace);
  return offset;
}

View Resolve(const Operand &operand, const Run &run, bool write, std::vector<acl::Use> &uses) {
  const aclTensor &tensor = *operand.tensor;
  View view;
  view.shape = tensor.GetViewShape();
  view.strides = tensor.GetViewStrides();
  view.type = tensor.GetDataType();
  view.bytes = ge::GetSizeByDataType(view.type);
  if (tensor.IsEmpty()) return view;
  if (view.bytes < 1 || view.bytes > 16) {
    view.fault = std::string(op::ToString(view.type).GetString()) + " has no whole number of bytes";
    return view;
  }
  int64_t low = 0, high = 0;
  if (!Extent(view, &low, &high)) {
    view.fault = "its extent overflows";
    return view;
  }
  const int64_t start = tensor.GetViewOffset() + low, end = tensor.GetViewOffset() + high + 1;  // elements
  const Storage &storage = *tensor.storage;
  if (storage.kind == Storage::Kind::kHost) {
    view.host = storage.host;
    if (start < 0 || static_cast<uint64_t>(end * view.bytes) > storage.host->size())
      view.fault = "it leaves its storage";
    else
      view.first = storage.host->data() + tensor.GetViewOffset() * view.bytes;
    return view;
  }
  acl::Range range;
  if (storage.kind == Storage::Kind::kWorkspace) {
    if (!run.fault.empty())
      view.fault = run.fault;
    else
      range = run.workspace;
    if (range) view.first = range.data + storage.offset + static_cast<uint64_t>(tensor.GetViewOffset() * view.bytes);
  } else if (start < 0) {
    view.fault = "its first element is " + std::to_string(-start) + " elements before its storage";
  } else {
    const uint8_t *address = static_cast<const uint8_t *>(storage.address) + start * view.bytes;
    range = acl::Find(storage.address == nullptr ? nullptr : address, static_cast<size_t>((end - start) * view.bytes), &view.fault);
    if (range)
      view.first = range.data - low * view.bytes;
    else
      view.fault = "elements " + std::to_string(start) + " to " + std::to_string(end - 1) +
                   " of its storage are not in one device buffer: " + view.fault;
  }
  view.block = range.block;
  if (range) uses.push_back(acl::Use{range.block, write});
  return view;
}

std::string FirstFault(const std::string &step, const std::vector<View> &views, const std::vector<std::string> &names) {
  for (size_t i = 0; i < views.size(); ++i)
    if (!views[i].fault.empty()) return step + ": " + names[i] + ": " + views[i].fault;
  return "";
}

}  // namespace twin

using namespace twin;

aclOpExecutor::aclOpExecutor() : state(new ExecutorState) {}
aclOpExecutor::~aclOpExecutor() = default;

aclTensor *aclOpExecutor::AllocTensor(const op::Shape &storageShape, const op::Shape &originShape, op::DataType dataType,
                                      op::Format storageFormat, op::Format originFormat) {
  std::unique_ptr<aclTensor> tensor(new aclTensor(originShape, storageShape, dataType, originFormat, storageFormat));
  tensor->storage->kind = Storage::Kind::kWorkspace;
  return state->Own(std::move(tensor));
}
aclTensor *aclOpExecutor::AllocTensor(const op::Shape &shape, op::DataType dataType, op::Format format) {
  return AllocTensor(shape, shape, dataType, format, format);
}
aclTensor *aclOpExecutor::AllocTensor(op::DataType dataType, op::Format storageFormat, op::Format originFormat) {
  return AllocTensor(op::Shape{0}, op::Shape{0}, dataType, storageFormat, originFormat);
}

aclTensor *aclOpExecutor::AllocHostTensor(const op::Shape &storageShape, const op::Shape &originShape, op::DataType dataType,
                                          op::Format storageFormat, op::Format originFormat) {
  const int64_t bytes = ge::GetSizeInBytes(storageShape.GetShapeSize(), dataType);
  if (bytes < 0) return nullptr;
  std::unique_ptr<aclTensor> tensor(new aclTensor(originShape, storageShape, dataType, originFormat, storageFormat));
  tensor->storage->kind = Storage::Kind::kHost;
  tensor->storage->host = std::make_shared<std::vector<uint8_t>>(static_cast<size_t>(bytes));
  return state->Own(std::move(tensor));
}
aclTensor *aclOpExecutor::AllocHostTensor(const op::Shape &shape, op::DataType dataType, op::Format format) {
  return AllocHostTensor(shape, shape, dataType, format, format);
}

aclTensor *aclOpExecutor::CreateView(const aclTensor *tensor, const op::Shape &shape, int64_t offset) {
  if (tensor == nullptr) return nullptr;
  std::unique_ptr<aclTensor> view(new aclTensor(shape, shape, tensor->GetDataType(), tensor->GetViewFormat(), tensor->GetStorageFormat()));
  view->storage = tensor->storage;
  view->SetViewOffset(offset);
  return state->Own(std::move(view));
}

namespace {
template <typename Object, typename Item>
Object *Keep(std::vector<std::unique_ptr<Object>> &in, const Item *value, uint64_t size) {
  if (value == nullptr && size > 0) return nullptr;
  in.emplace_back(new Object(value, size));
  return in.back().get();
}
}  // namespace

aclIntArray *aclOpExecutor::AllocIntArray(const int64_t *value, uint64_t size) { return Keep(state->ints, value, size); }
aclFloatArray *aclOpExecutor::AllocFloatArray(const float *value, uint64_t size) { return Keep(state->floats, value, size); }
aclBoolArray *aclOpExecutor::AllocBoolArray(const bool *value, uint64_t size) { return Keep(state->bools, value, size); }
aclTensorList *aclOpExecutor::AllocTensorList(const aclTensor *const *tensors, uint64_t size) {
  return Keep(state->tensorLists, tensors, size);
}
aclScalarList *aclOpExecutor::AllocScalarList(const aclScalar *const *scalars, uint64_t size) {
  return Keep(state->scalarLists, scalars, size);
}
aclScalar *aclOpExecutor::AllocScalar(const void *value, op::DataType dataType) {
  if (value == nullptr) return nullptr;
  state->scalars.emplace_back(new aclScalar(value, dataType));
  return state->scalars.back().get();
}

const aclTensor *aclOpExecutor::ConvertToTensor(const aclIntArray *value, op::DataType dataType) {
  return value == nullptr ? nullptr : AllocHostTensor(value->GetData(), value->Size(), dataType);
}
const aclTensor *aclOpExecutor::ConvertToTensor(const aclBoolArray *value, op::DataType dataType) {
  return value == nullptr ? nullptr : AllocHostTensor(value->GetData(), value->Size(), dataType);
}
const aclTensor *aclOpExecutor::ConvertToTensor(const aclFloatArray *value, op::DataType dataType) {
  return value == nullptr ? nullptr : AllocHostTensor(value->GetData(), value->Size(), dataType);
}
const aclTensor *aclOpExecutor::ConvertToTensor(const aclScalar *value, op::DataType dataType) {
  if (value == nullptr) return nullptr;
  if (op::IsIntegralType(dataType) || dataType == ge::DT_BOOL) {
    const int64_t integer = value->ToInt64();
    return AllocHostTensor(&integer, 1, dataType);
  }
  const double real = value->ToDouble();
  return AllocHostTensor(&real, 1, dataType);
}

uint64_t aclOpExecutor::GetWorkspaceSize() const { return state->Layout(); }
aclrtStream aclOpExecutor::GetStream() const { return state->stream; }
void aclOpExecutor::AbandonCache(bool) {}
aclnnStatus aclOpExecutor::SetRepeatable() { return state->repeatable = true, 0; }
bool aclOpExecutor::IsRepeatable() const { return state->repeatable; }

UniqueExecutor::UniqueExecutor(const char *function) : name(function), executor(nullptr) {
  std::unique_ptr<aclOpExecutor> made(new aclOpExecutor);
  const Phase *phase = Phase::Current();
  made->state->api = phase == nullptr ? function : phase->name;
  if (phase != nullptr) {
    made->state->inputs = phase->inputs;
    made->state->outputs = phase->outputs;
  }
  executor = Executors().Add(std::move(made));
}
UniqueExecutor::~UniqueExecutor() {
  if (executor == nullptr) return;
  OP_LOGD("%s: the executor was not released to the caller (%d)", name, ACLNN_ERR_INNER_NOT_TRANS_EXECUTOR);
  executor->state.reset(new ExecutorState);
  Executors().Remove(executor, "UniqueExecutor");
}
void UniqueExecutor::ReleaseTo(aclOpExecutor **to) {
  if (to == nullptr || executor == nullptr) return;
  executor->state->released = true;
  *to = executor;
  executor = nullptr;
}

aclnnStatus CommonOpExecutorRun(void *workspace, uint64_t workspaceSize, aclOpExecutor *executor, aclrtStream stream) {
  const Phase *phase = Phase::Current();
  const char *api = phase == nullptr ? "CommonOpExecutorRun" : phase->name;
  if (executor == nullptr || !Executors().Has(executor)) return NoExecutor(api, executor);
  ExecutorState &state = *executor->state;
  const uint64_t need = state.Layout();
  if (need > 0 && workspace == nullptr)
    return acl::Fail(ACLNN_ERR_PARAM_NULLPTR, "%s: workspace is null, %llu bytes are needed", api, static_cast<unsigned long long>(need));
  if (workspaceSize < need)
    return acl::Fail(ACLNN_ERR_PARAM_INVALID, "%s: workspaceSize is %llu, %llu bytes are needed", api,
                     static_cast<unsigned long long>(workspaceSize), static_cast<unsigned long long>(need));
  for (const Step &step : state.steps)
    for (const Operand &operand : step.operands)
      if (!Alive(operand))
        return acl::Fail(ACLNN_ERR_RUNTIME_ERROR, "%s: tensor %s was destroyed between the two phases", api, operand.name.c_str());
  state.stream = stream;
  Run run;
  std::vector<acl::Use> uses;
  if (need > 0) {
    run.workspace = acl::Find(workspace, need, &run.fault);
    if (run.workspace)
      uses.push_back(acl::Use{run.workspace.block, true});
    else
      run.fault = "the workspace: " + run.fault;
  }
  std::vector<Work> work;
  if (!run.fault.empty()) {
    const std::string text = state.api + ": " + run.fault;
    work.push_back([text] { return acl::Failure{ACL_ERROR_RT_AICORE_EXCEPTION, text}; });
  } else {
    for (const Step &step : state.steps) work.push_back(step.bind(run, uses));
  }
  const aclError bad = acl::Enqueue(stream, api, std::move(uses), [work] {
    acl::Failure failure;
    for (const Work &one : work) {
      failure = one();
      if (failure.code != 0) break;
    }
    return failure;
  });
  if (bad != 0) return ACLNN_ERR_RUNTIME_ERROR;
  if (state.repeatable) return 0;
  executor->state.reset(new ExecutorState);
  Executors().Remove(executor, api);
  return 0;
}

extern "C" {

TWIN_ACL_API aclnnStatus aclSetAclOpExecutorRepeatable(aclOpExecutor *executor) {
  if (executor == nullptr || !Executors().Has(executor)) return NoExecutor("aclSetAclOpExecutorRepeatable", executor);
  return executor->SetRepeatable();
}

TWIN_ACL_API aclnnStatus aclDestroyAclOpExecutor(aclOpExecutor *executor) {
  if (executor != nullptr && Executors().Has(executor)) executor->state.reset(new ExecutorState);
  return Executors().Remove(executor, "aclDestroyAclOpExecutor");
}

#define TWIN_SET_ADDRESS(name, alias, arguments)                                                               \
  TWIN_ACL_API aclnnStatus name(aclOpExecutor *executor, const size_t index, aclTensor *tensor, void *addr) {  \
    if (executor == nullptr || !Executors().Has(executor)) return NoExecutor(#name, executor);                 \
    return SetAddress(#name, executor, arguments, index, tensor, addr);                                        \
  }                                                                                                            \
  TWIN_ACL_API aclnnStatus alias(aclOpExecutor *executor, const size_t index, aclTensor *tensor, void *addr) { \
    return name(executor, index, tensor, addr);                                                                \
  }
TWIN_SET_ADDRESS(aclSetTensorAddr, AclSetTensorAddr, AllArguments(*executor->state))
TWIN_SET_ADDRESS(aclSetInputTensorAddr, AclSetInputTensorAddr, executor->state->inputs)
TWIN_SET_ADDRESS(aclSetOutputTensorAddr, AclSetOutputTensorAddr, executor->state->outputs)

#define TWIN_SET_LISTED(name, alias, arguments)                                                                                            \
  TWIN_ACL_API aclnnStatus name(aclOpExecutor *executor, size_t irIndex, const size_t relativeIndex, aclTensorList *tensors, void *addr) { \
    if (executor == nullptr || !Executors().Has(executor)) return NoExecutor(#name, executor);                                             \
    return SetListed(#name, executor, arguments, irIndex, relativeIndex, tensors, addr);                                                   \
  }                                                                                                                                        \
  TWIN_ACL_API aclnnStatus alias(aclOpExecutor *executor, size_t irIndex, const size_t relativeIndex, aclTensorList *tensors,              \
                                 void *addr) {                                                                                             \
    return name(executor, irIndex, relativeIndex, tensors, addr);                                                                          \
  }
TWIN_SET_LISTED(aclSetDynamicTensorAddr, AclSetDynamicTensorAddr, AllArguments(*executor->state))
TWIN_SET_LISTED(aclSetDynamicInputTensorAddr, AclSetDynamicInputTensorAddr, executor->state->inputs)
TWIN_SET_LISTED(aclSetDynamicOutputTensorAddr, AclSetDynamicOutputTensorAddr, executor->state->outputs)

TWIN_ACL_API aclnnStatus aclnnInit(const char *configPath) { return acl::Initialized() ? 0 : aclInit(configPath); }
TWIN_ACL_API aclnnStatus aclnnFinalize(void) { return aclFinalize(); }

}  // extern "C"
