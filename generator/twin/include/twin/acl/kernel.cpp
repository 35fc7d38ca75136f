// Kernels: found beside the operators' library, run on virtual cores; a breach of law is the failure a device would report.
#include "kernel.h"

#include <dlfcn.h>

#include <map>
#include <mutex>

#include "../request.h"

namespace twin {

struct KernelLibrary {
  int32_t (*parameters)() = nullptr;
  void *(*run)(const TwinLaunch *) = nullptr;
  int32_t (*breaches)(const void *) = nullptr;
  void (*breachAt)(const void *, int32_t, TwinBreach *) = nullptr;
  void (*release)(void *) = nullptr;
  int32_t (*coresOfBlock)(uint64_t) = nullptr;  // virtual cores of a block; null: 1
};

namespace {

constexpr uint64_t kSystemWorkspace = 16u << 20;  // bytes, GetLibApiWorkSpaceSize()
constexpr int kMostCores = 96;                    // virtual cores of a launch
constexpr int kLawSwitches = 256;
constexpr int kShown = 5;  // breaches a message lists

template <typename T>
bool Symbol(void *handle, const char *name, T *to) {
  *reinterpret_cast<void **>(to) = dlsym(handle, name);
  return *to != nullptr;
}

std::string FolderOf(const Library &library) {
  Dl_info info;
  if (dladdr(const_cast<void *>(library.anchor), &info) == 0 || info.dli_fname == nullptr) return ".";
  const std::string path = info.dli_fname;
  const size_t slash = path.rfind('/');
  return slash == std::string::npos ? "." : path.substr(0, slash);
}

std::string Text(const TwinBreach &breach) {
  std::string text = std::string(breach.rule) + ": " + breach.text;
  if (*breach.file != '\0') text += " (" + std::string(breach.file) + ":" + std::to_string(breach.line) + ")";
  text += ", core " + std::to_string(breach.core);
  return breach.times > 1 ? text + ", " + std::to_string(breach.times) + " times" : text;
}

}  // namespace

const KernelLibrary *FindKernel(const Library &library, const std::string &type, const acl::Product &product, std::string *why) {
  static std::mutex &guard = *new std::mutex;
  static auto &known = *new std::map<std::string, KernelLibrary>;
  const std::string path = FolderOf(library) + "/kernels/" + std::to_string(product.arch) + "/" + type + ".so";
  std::lock_guard<std::mutex> lock(guard);
  const auto found = known.find(path);
  if (found != known.end()) return &found->second;
  void *handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    *why = "no kernel of " + type + " was built for " + product.soc + ": " + dlerror();
    return nullptr;
  }
  KernelLibrary kernel;
  if (!Symbol(handle, "TwinParameters", &kernel.parameters) || !Symbol(handle, "TwinRun", &kernel.run) ||
      !Symbol(handle, "TwinBreachCount", &kernel.breaches) || !Symbol(handle, "TwinBreachAt", &kernel.breachAt) ||
      !Symbol(handle, "TwinFree", &kernel.release)) {
    *why = path + " is not a kernel's library";
    return nullptr;
  }
  Symbol(handle, "TwinCoresPerBlock", &kernel.coresOfBlock);
  return &(known[path] = kernel);
}

int Parameters(const KernelLibrary &library) { return library.parameters(); }
int MostBlocks(const KernelLibrary &library, uint64_t key) {
  return kMostCores / (library.coresOfBlock == nullptr ? 1 : library.coresOfBlock(key));
}

acl::Failure RunKernel(const KernelLaunch &launch, const std::vector<KernelArgument> &arguments) {
  std::vector<TwinArray> arrays;
  for (const KernelArgument &argument : arguments) arrays.push_back(TwinArray{argument.data, argument.bytes, argument.written ? 1 : 0});
  const uint8_t lawsOff[kLawSwitches] = {};
  TwinLaunch request{};
  request.arrays = arrays.data();
  request.count = static_cast<int32_t>(arrays.size());
  request.workspace = static_cast<int64_t>(launch.workspace > kSystemWorkspace ? launch.workspace - kSystemWorkspace : 0);
  request.tiling = launch.tiling.data();
  request.tilingBytes = static_cast<int64_t>(launch.tiling.size());
  request.key = launch.key;
  request.blockDim = static_cast<int32_t>(launch.blocks);
  const bool mixed = launch.library->coresOfBlock != nullptr && launch.library->coresOfBlock(launch.key) > 1;
  const uint32_t paired = mixed ? 2 * launch.product.aic : 0;  // vector cores beside cube cores
  request.cores = static_cast<int32_t>(paired > launch.product.aiv ? paired : launch.product.aiv);
  request.ub = static_cast<int64_t>(launch.product.ub);
  request.l1 = static_cast<int64_t>(launch.product.l1);
  request.l0a = static_cast<int64_t>(launch.product.l0a);
  request.l0b = static_cast<int64_t>(launch.product.l0b);
  request.l0c = static_cast<int64_t>(launch.product.l0c);
  request.system = static_cast<int64_t>(launch.workspace < kSystemWorkspace ? launch.workspace : kSystemWorkspace);
  request.lawsOff = lawsOff;
  request.seconds = acl::KernelSeconds();
  static std::mutex &device = *new std::mutex;
  std::lock_guard<std::mutex> lock(device);
  void *result = launch.library->run(&request);
  const int32_t number = launch.library->breaches(result);
  acl::Failure failure;
  if (number > 0) {
    failure.code = ACL_ERROR_RT_AICORE_EXCEPTION;
    failure.text = launch.label + ": " + std::to_string(number) + (number == 1 ? " breach of law" : " breaches of law");
  }
  for (int32_t i = 0; i < number; ++i) {
    TwinBreach breach;
    launch.library->breachAt(result, i, &breach);
    if (i < kShown) failure.text += "\n  " + Text(breach);
    if (std::string(breach.text).rfind("the kernel did not end within", 0) == 0) failure.code = ACL_ERROR_RT_AICORE_TIMEOUT;
  }
  launch.library->release(result);
  return failure;
}

}  // namespace twin
