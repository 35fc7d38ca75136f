// The macros every level-2 and level-0 function begins with: name checks, messages, the arguments' record (host.md section 3).
#pragma once
#include <tuple>

#include "op_executor.h"
#include "op_log.h"

namespace twin {

constexpr bool SameName(const char *a, const char *b) {
  while (*a != '\0' && *a == *b) {
    ++a;
    ++b;
  }
  return *a == *b;
}

// An argument of the call that has an address: a tensor or a list of them.
struct Argument {
  const aclTensor *tensor = nullptr;
  const aclTensorList *list = nullptr;
  uint64_t serial = 0;
};

// The call of one phase: forgets earlier messages, and keeps the tensors for the executor that is created within it.
class TWIN_ACL_API Phase {
 public:
  explicit Phase(const char *api);
  ~Phase();
  Phase(const Phase &) = delete;
  Phase &operator=(const Phase &) = delete;
  template <typename... In, typename... Out>
  Phase(const char *api, const std::tuple<In...> &in, const std::tuple<Out...> &out) : Phase(api) {
    std::apply([this](const auto &...each) { (Add(inputs, each), ...); }, in);
    std::apply([this](const auto &...each) { (Add(outputs, each), ...); }, out);
  }
  // The phase this thread is in, or null.
  static const Phase *Current();

  const char *name;
  std::vector<Argument> inputs, outputs;

 private:
  static void Add(std::vector<Argument> &to, const aclTensor *tensor) {
    Argument argument;
    argument.tensor = tensor;
    argument.serial = tensor == nullptr ? 0 : tensor->serial;
    to.push_back(argument);
  }
  static void Add(std::vector<Argument> &to, const aclTensorList *list) {
    Argument argument;
    argument.list = list;
    to.push_back(argument);
  }
  template <typename T>
  static void Add(std::vector<Argument> &, const T &) {}
  static void Add(std::vector<Argument> &to, aclTensor *tensor) { Add(to, static_cast<const aclTensor *>(tensor)); }
  static void Add(std::vector<Argument> &to, aclTensorList *list) { Add(to, static_cast<const aclTensorList *>(list)); }
  const Phase *outer;
};

}  // namespace twin

#define DFX_IN(args...) std::make_tuple(args)
#define DFX_OUT(args...) std::make_tuple(args)

#ifdef CFG_BUILD_DEBUG
#define TWIN_SAME_NAME(name)
#else
#define TWIN_SAME_NAME(name) static_assert(::twin::SameName(name, __func__), "Invalid DFX:" name)
#endif

#define L2_DFX_PHASE_1_WITHOUT_CACHE(api, in, out) \
  TWIN_SAME_NAME(#api "GetWorkspaceSize");         \
  ::twin::Phase opDfxGuard(#api, in, out)
#define L2_DFX_PHASE_1(api, in, out)                                                                         \
  L2_DFX_PHASE_1_WITHOUT_CACHE(api, in, out);                                                                \
  if (workspaceSize == nullptr || executor == nullptr) {                                                     \
    OP_LOGE(ACLNN_ERR_PARAM_NULLPTR, "%s is null", workspaceSize == nullptr ? "workspaceSize" : "executor"); \
    return ACLNN_ERR_PARAM_NULLPTR;                                                                          \
  }                                                                                                          \
  static_cast<void>(0)
#define L2_DFX_PHASE_2(api)       \
  TWIN_SAME_NAME(#api);           \
  ::twin::Phase opDfxGuard(#api); \
  static_cast<void>(executor)
#define L0_DFX(api, args...)                \
  TWIN_SAME_NAME(#api);                     \
  static_cast<void>(std::make_tuple(args)); \
  static_cast<void>(executor)
