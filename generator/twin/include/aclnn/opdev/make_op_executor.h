// Recording the launch of an operator in an executor (host.md section 3).
#pragma once
#include <string>
#include <tuple>
#include <type_traits>

#include "op_def.h"
#include "op_executor.h"
#include "op_log.h"
#include "register/op_impl_registry.h"

namespace twin {

// An argument of OP_INPUT or OP_OUTPUT: a tensor, null for an absent one, or a list.
struct LaunchTensor {
  LaunchTensor(const aclTensor *tensor) : one(tensor) {}
  LaunchTensor(const aclTensorList *tensors) : list(tensors), isList(true) {}
  const aclTensor *one = nullptr;
  const aclTensorList *list = nullptr;
  bool isList = false;
};

using Attr = std::shared_ptr<gert::RuntimeAttrs::Value>;
TWIN_ACL_API Attr MakeAttr(int kind, const void *data, uint64_t size);
inline Attr ToAttr(bool value) { return MakeAttr('b', &value, 1); }
inline Attr ToAttr(const char *value) { return MakeAttr('s', value, 1); }
inline Attr ToAttr(const std::string &value) { return MakeAttr('s', value.c_str(), 1); }
inline Attr ToAttr(const aclIntArray *value) {
  return MakeAttr('I', value == nullptr ? nullptr : value->GetData(), value == nullptr ? 0 : value->Size());
}
inline Attr ToAttr(const aclFloatArray *value) {
  return MakeAttr('F', value == nullptr ? nullptr : value->GetData(), value == nullptr ? 0 : value->Size());
}
inline Attr ToAttr(const aclBoolArray *value) {
  return MakeAttr('B', value == nullptr ? nullptr : value->GetData(), value == nullptr ? 0 : value->Size());
}
TWIN_ACL_API Attr ToAttr(const aclScalar *value);
template <typename T, typename = std::enable_if_t<std::is_arithmetic<T>::value || std::is_enum<T>::value>>
Attr ToAttr(T value) {
  if (std::is_floating_point<T>::value) {
    const float real = static_cast<float>(value);
    return MakeAttr('f', &real, 1);
  }
  const int64_t integer = static_cast<int64_t>(value);
  return MakeAttr('i', &integer, 1);
}

struct Inputs {
  std::vector<LaunchTensor> tensors;
};
struct Outputs {
  std::vector<LaunchTensor> tensors;
};
struct Attrs {
  std::vector<Attr> values;
};
struct Ignored {};
struct Unsupported {
  const char *name;
};

struct LaunchArgs {
  std::vector<LaunchTensor> inputs, outputs;
  std::vector<Attr> attrs;
  const char *unsupported = nullptr;
  void Take(const Inputs &part) { inputs = part.tensors; }
  void Take(const Outputs &part) { outputs = part.tensors; }
  void Take(const Attrs &part) { attrs = part.values; }
  void Take(const Ignored &) {}
  void Take(const Unsupported &part) { unsupported = part.name; }
};

template <typename... Parts>
LaunchArgs Gather(const Parts &...parts) {
  LaunchArgs args;
  (args.Take(parts), ...);
  return args;
}
template <typename... T>
Inputs MakeInputs(T... tensors) {
  return Inputs{{LaunchTensor(tensors)...}};
}
template <typename... T>
Outputs MakeOutputs(T... tensors) {
  return Outputs{{LaunchTensor(tensors)...}};
}
template <typename... T>
Attrs MakeAttrs(const T &...values) {
  return Attrs{{ToAttr(values)...}};
}

// Checks the call against the operator's definition, runs its tiling and records the launch.
TWIN_ACL_API aclnnStatus AddLaunch(const char *type, const Library &library, const LaunchArgs &args, aclOpExecutor *executor);
// Runs the operator's shape inference and writes the output tensors' shapes.
TWIN_ACL_API aclnnStatus InferShapes(const char *type, const Library &library, const LaunchArgs &args);

}  // namespace twin

#define OP_INPUT(args...) ::twin::MakeInputs(args)
#define OP_OUTPUT(args...) ::twin::MakeOutputs(args)
#define OP_ATTR(args...) ::twin::MakeAttrs(args)
#define OP_WORKSPACE(args...) ::twin::Unsupported{"OP_WORKSPACE"}
#define OP_OUTSHAPE(args...) ::twin::Unsupported{"OP_OUTSHAPE"}
#define OP_OPTION(args...) \
  ::twin::Ignored {}
#define OP_MODE(args...) \
  ::twin::Ignored {}
#define OP_EMPTY_ARG \
  ::twin::Ignored {}

#define ADD_TO_LAUNCHER_LIST_AICORE(type, args...) \
  (static_cast<void>(type##OpTypeId()), ::twin::AddLaunch(#type, ::twin::ThisLibrary(), ::twin::Gather(args), executor))
#define INFER_SHAPE(type, args...) \
  (static_cast<void>(type##OpTypeId()), ::twin::InferShapes(#type, ::twin::ThisLibrary(), ::twin::Gather(args)))
