// The kernel's side of its shared library: compiled with -DTWIN_SOURCE="<op>.cpp" -DTWIN_KERNEL=<entry>, linked with runtime.cpp.
#include <utility>

#include "kernel_operator.h"

#include TWIN_SOURCE

namespace twin {
namespace {

template <typename... Args, size_t... I>
void CallKernel(void (*entry)(Args...), uint8_t *const *pointers, std::index_sequence<I...>) {
  entry(pointers[I]...);
}
template <typename... Args>
constexpr size_t ParametersOf(void (*)(Args...)) {
  return sizeof...(Args);
}

}  // namespace
}  // namespace twin

extern "C" {

// Number of arguments of the kernel's entry, workspace and tiling included.
__attribute__((visibility("default"))) int32_t TwinParameters() { return static_cast<int32_t>(twin::ParametersOf(&::TWIN_KERNEL)); }

void TwinCall(uint8_t *const *pointers) {
  twin::CallKernel(&::TWIN_KERNEL, pointers, std::make_index_sequence<twin::ParametersOf(&::TWIN_KERNEL)>{});
}

}  // extern "C"
