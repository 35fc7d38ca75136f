// The process, its devices and contexts, the product it stands in for.
#include <cstdlib>
#include <cstring>

#include "state.h"

namespace twin {
namespace acl {
namespace {

// Written by the build from the twin's table of products; the first is the one used when nobody chooses.
constexpr Product kProducts[] = {
#include TWIN_PRODUCTS
};

// The product OPWRIGHT_SOC names, or the first; null when it names none.
const Product *Chosen() {
  const char *wanted = std::getenv("OPWRIGHT_SOC");
  if (wanted == nullptr || *wanted == '\0') return &kProducts[0];
  for (const Product &product : kProducts)
    if (std::strcmp(wanted, product.name) == 0 || std::strcmp(wanted, product.soc) == 0) return &product;
  return nullptr;
}

std::string KnownProducts() {
  std::string names;
  for (const Product &product : kProducts) names += (names.empty() ? "" : ", ") + std::string(product.name);
  return names;
}

int DeviceCount() {
  const char *number = std::getenv("OPWRIGHT_DEVICES");
  const int count = number == nullptr ? 1 : std::atoi(number);
  return count > 0 ? count : 1;
}

bool Known(int32_t device) { return device >= 0 && device < DeviceCount(); }

aclError Ready(const char *api) { return Initialized() ? 0 : Fail(ACL_ERROR_UNINITIALIZE, "%s: aclInit has not been called", api); }

std::vector<Leak> LeaksNow() {
  Process &process = TheProcess();
  std::vector<Leak> leaks = MemoryLeaks();
  std::vector<std::vector<Leak> (*)()> reports;
  {
    std::lock_guard<std::mutex> lock(process.guard);
    reports = process.reports;
    if (!process.streams.empty()) leaks.push_back(Leak{"stream", process.streams.size(), ""});
    if (!process.events.empty()) leaks.push_back(Leak{"event", process.events.size(), ""});
    if (!process.contexts.empty()) leaks.push_back(Leak{"context", process.contexts.size(), ""});
  }
  for (const auto report : reports)
    for (const Leak &leak : report()) leaks.push_back(leak);
  return leaks;
}

}  // namespace

Process &TheProcess() {
  static Process &process = *new Process;
  return process;
}

ThreadState &TheThread() {
  static thread_local ThreadState state;
  return state;
}

bool Initialized() {
  Process &process = TheProcess();
  std::lock_guard<std::mutex> lock(process.guard);
  return process.ready;
}

aclError NeedDevice(const char *api) {
  const aclError bad = Ready(api);
  if (bad != 0) return bad;
  if (TheThread().context == nullptr)
    return Fail(ACL_ERROR_RT_CONTEXT_NULL, "%s: this thread has no device; call aclrtSetDevice or aclrtSetCurrentContext", api);
  return 0;
}

int CurrentDevice() { return TheThread().context == nullptr ? -1 : TheThread().context->device; }

const Product &CurrentProduct() {
  Process &process = TheProcess();
  std::lock_guard<std::mutex> lock(process.guard);
  if (process.product == nullptr) process.product = Chosen();
  return process.product == nullptr ? kProducts[0] : *process.product;
}

fe::PlatFormInfos PlatformOf(const Product &product) {
  fe::PlatFormInfos infos;
  infos.aiv = product.aiv;
  infos.aic = product.aic;
  infos.socVersion = product.socVersion;
  infos.arch = product.arch;
  infos.ub = product.ub;
  infos.l1 = product.l1;
  infos.l0a = product.l0a;
  infos.l0b = product.l0b;
  infos.l0c = product.l0c;
  infos.l2 = product.l2;
  infos.hbm = product.hbm;
  infos.soc = product.soc;
  return infos;
}

int KernelSeconds() {
  Process &process = TheProcess();
  std::lock_guard<std::mutex> lock(process.guard);
  return process.kernelSeconds;
}

void AtFinalize(std::vector<Leak> (*report)()) {
  Process &process = TheProcess();
  std::lock_guard<std::mutex> lock(process.guard);
  process.reports.push_back(report);
}

}  // namespace acl
}  // namespace twin

using namespace twin::acl;

extern "C" {

TWIN_ACL_EXPORT aclError aclInit(const char *) {
  Process &process = TheProcess();
  if (Chosen() == nullptr)
    return Fail(ACL_ERROR_INVALID_PARAM, "aclInit: OPWRIGHT_SOC is %s, known products are %s", std::getenv("OPWRIGHT_SOC"),
                KnownProducts().c_str());
  {
    std::lock_guard<std::mutex> lock(process.guard);
    if (!process.ready) {
      process.ready = process.wasReady = true;
      process.product = Chosen();
      return 0;
    }
  }
  return Fail(ACL_ERROR_REPEAT_INITIALIZE, "aclInit: it has been called before");
}

TWIN_ACL_EXPORT aclError aclFinalize(void) {
  Process &process = TheProcess();
  {
    std::lock_guard<std::mutex> lock(process.guard);
    if (!process.ready)
      return Fail(process.wasReady ? ACL_ERROR_REPEAT_FINALIZE : ACL_ERROR_UNINITIALIZE, "aclFinalize: aclInit has not been called");
  }
  const std::vector<Leak> leaks = LeaksNow();
  std::string text;
  for (const Leak &leak : leaks)
    text += (text.empty() ? "" : "; ") + std::to_string(leak.number) + " " + leak.kind + (leak.number == 1 ? "" : "s") + leak.detail;
  if (!text.empty()) std::fprintf(stderr, "aclFinalize: never released: %s\n", text.c_str());
  std::map<void *, std::shared_ptr<Stream>> streams;
  std::map<int, std::pair<std::shared_ptr<Context>, int>> devices;
  std::map<void *, std::shared_ptr<Context>> contexts;
  {
    std::lock_guard<std::mutex> lock(process.guard);
    process.ready = false;
    streams.swap(process.streams);
    devices.swap(process.devices);
    contexts.swap(process.contexts);
    process.events.clear();
  }
  TheThread().context = nullptr;
  streams.clear();
  devices.clear();
  contexts.clear();
  ReleaseMemory();
  const char *strict = std::getenv("OPWRIGHT_LEAKS");
  if (!text.empty() && strict != nullptr && std::strcmp(strict, "fail") == 0)
    return Fail(ACL_ERROR_FAILURE, "aclFinalize: never released: %s", text.c_str());
  return 0;
}

TWIN_ACL_EXPORT aclError aclrtGetVersion(int32_t *major, int32_t *minor, int32_t *patch) {
  if (major == nullptr || minor == nullptr || patch == nullptr) return Fail(ACL_ERROR_INVALID_PARAM, "aclrtGetVersion: a pointer is null");
  *major = 1;
  *minor = 13;
  *patch = 0;
  return 0;
}

TWIN_ACL_EXPORT const char *aclrtGetSocName(void) { return CurrentProduct().soc; }

TWIN_ACL_EXPORT aclError aclGetDeviceCapability(uint32_t deviceId, aclDeviceInfo info, int64_t *value) {
  if (value == nullptr) return Fail(ACL_ERROR_INVALID_PARAM, "aclGetDeviceCapability: value is null");
  if (!Known(static_cast<int32_t>(deviceId)))
    return Fail(ACL_ERROR_RT_INVALID_DEVICEID, "aclGetDeviceCapability: device %u, there are %d", deviceId, DeviceCount());
  const Product &product = CurrentProduct();
  switch (info) {
    case ACL_DEVICE_INFO_AI_CORE_NUM: *value = product.aic; return 0;
    case ACL_DEVICE_INFO_VECTOR_CORE_NUM: *value = product.aiv; return 0;
    case ACL_DEVICE_INFO_L2_SIZE: *value = static_cast<int64_t>(product.l2); return 0;
  }
  return Fail(ACL_ERROR_INVALID_PARAM, "aclGetDeviceCapability: info is %d, expected 0 to 2", static_cast<int>(info));
}

TWIN_ACL_EXPORT aclError aclrtSetDevice(int32_t deviceId) {
  const aclError bad = Ready("aclrtSetDevice");
  if (bad != 0) return bad;
  if (!Known(deviceId))
    return Fail(ACL_ERROR_RT_INVALID_DEVICEID, "aclrtSetDevice: device %d, there are %d (from 0)", deviceId, DeviceCount());
  Process &process = TheProcess();
  std::lock_guard<std::mutex> lock(process.guard);
  auto &entry = process.devices[deviceId];
  if (entry.first == nullptr) {
    entry.first = std::make_shared<Context>();
    entry.first->device = deviceId;
    entry.first->main = std::make_shared<Stream>(deviceId);
  }
  ++entry.second;
  TheThread().context = entry.first;
  return 0;
}

static aclError Reset(const char *api, int32_t deviceId, bool force) {
  const aclError bad = Ready(api);
  if (bad != 0) return bad;
  if (!Known(deviceId)) return Fail(ACL_ERROR_RT_INVALID_DEVICEID, "%s: device %d, there are %d (from 0)", api, deviceId, DeviceCount());
  Process &process = TheProcess();
  std::shared_ptr<Context> gone;
  {
    std::lock_guard<std::mutex> lock(process.guard);
    const auto found = process.devices.find(deviceId);
    if (found == process.devices.end()) return Fail(ACL_ERROR_RT_CONTEXT_NULL, "%s: device %d was not set", api, deviceId);
    if (force || --found->second.second == 0) {
      gone = found->second.first;
      process.devices.erase(found);
    }
  }
  if (gone != nullptr) {
    gone->main->Wait(-1);
    if (TheThread().context == gone) TheThread().context = nullptr;
  }
  return 0;
}

TWIN_ACL_EXPORT aclError aclrtResetDevice(int32_t deviceId) { return Reset("aclrtResetDevice", deviceId, false); }
TWIN_ACL_EXPORT aclError aclrtResetDeviceForce(int32_t deviceId) { return Reset("aclrtResetDeviceForce", deviceId, true); }

TWIN_ACL_EXPORT aclError aclrtGetDevice(int32_t *deviceId) {
  const aclError bad = NeedDevice("aclrtGetDevice");
  if (bad != 0) return bad;
  if (deviceId == nullptr) return Fail(ACL_ERROR_INVALID_PARAM, "aclrtGetDevice: deviceId is null");
  *deviceId = CurrentDevice();
  return 0;
}

TWIN_ACL_EXPORT aclError aclrtGetDeviceCount(uint32_t *count) {
  if (count == nullptr) return Fail(ACL_ERROR_INVALID_PARAM, "aclrtGetDeviceCount: count is null");
  *count = static_cast<uint32_t>(DeviceCount());
  return 0;
}

TWIN_ACL_EXPORT aclError aclrtGetRunMode(aclrtRunMode *runMode) {
  if (runMode == nullptr) return Fail(ACL_ERROR_INVALID_PARAM, "aclrtGetRunMode: runMode is null");
  *runMode = ACL_HOST;
  return 0;
}

TWIN_ACL_EXPORT aclError aclrtCreateContext(aclrtContext *context, int32_t deviceId) {
  const aclError bad = Ready("aclrtCreateContext");
  if (bad != 0) return bad;
  if (context == nullptr) return Fail(ACL_ERROR_INVALID_PARAM, "aclrtCreateContext: context is null");
  if (!Known(deviceId))
    return Fail(ACL_ERROR_RT_INVALID_DEVICEID, "aclrtCreateContext: device %d, there are %d (from 0)", deviceId, DeviceCount());
  auto made = std::make_shared<Context>();
  made->device = deviceId;
  made->main = std::make_shared<Stream>(deviceId);
  Process &process = TheProcess();
  std::lock_guard<std::mutex> lock(process.guard);
  process.contexts[made.get()] = made;
  TheThread().context = made;
  *context = made.get();
  return 0;
}

TWIN_ACL_EXPORT aclError aclrtDestroyContext(aclrtContext context) {
  const aclError bad = Ready("aclrtDestroyContext");
  if (bad != 0) return bad;
  Process &process = TheProcess();
  std::shared_ptr<Context> gone;
  {
    std::lock_guard<std::mutex> lock(process.guard);
    const auto found = process.contexts.find(context);
    if (found == process.contexts.end())
      return Fail(ACL_ERROR_RT_INVALID_HANDLE, "aclrtDestroyContext: %p is not a context made by aclrtCreateContext", context);
    gone = found->second;
    process.contexts.erase(found);
  }
  gone->main->Wait(-1);
  if (TheThread().context == gone) TheThread().context = nullptr;
  return 0;
}

TWIN_ACL_EXPORT aclError aclrtSetCurrentContext(aclrtContext context) {
  const aclError bad = Ready("aclrtSetCurrentContext");
  if (bad != 0) return bad;
  Process &process = TheProcess();
  std::lock_guard<std::mutex> lock(process.guard);
  const auto found = process.contexts.find(context);
  if (found != process.contexts.end()) return TheThread().context = found->second, 0;
  for (const auto &entry : process.devices)
    if (entry.second.first.get() == context) return TheThread().context = entry.second.first, 0;
  return Fail(ACL_ERROR_RT_INVALID_HANDLE, "aclrtSetCurrentContext: %p is not a context", context);
}

TWIN_ACL_EXPORT aclError aclrtGetCurrentContext(aclrtContext *context) {
  const aclError bad = NeedDevice("aclrtGetCurrentContext");
  if (bad != 0) return bad;
  if (context == nullptr) return Fail(ACL_ERROR_INVALID_PARAM, "aclrtGetCurrentContext: context is null");
  *context = TheThread().context.get();
  return 0;
}

TWIN_ACL_EXPORT aclError aclrtSetOpExecuteTimeOut(uint32_t timeout) {
  Process &process = TheProcess();
  std::lock_guard<std::mutex> lock(process.guard);
  process.kernelSeconds = timeout == 0 ? 600 : static_cast<int>(timeout);
  return 0;
}

TWIN_ACL_EXPORT aclError aclrtSetOpWaitTimeout(uint32_t) { return 0; }
TWIN_ACL_EXPORT aclError aclrtSetSysParamOpt(aclSysParamOpt, int64_t) { return 0; }
TWIN_ACL_EXPORT aclError aclrtCtxSetSysParamOpt(aclSysParamOpt, int64_t) { return NeedDevice("aclrtCtxSetSysParamOpt"); }
TWIN_ACL_EXPORT aclError aclrtSetExceptionInfoCallback(aclrtExceptionInfoCallback callback) {
  TheProcess().onException = callback;
  return 0;
}
TWIN_ACL_EXPORT aclError aclrtLaunchKernel(aclrtFuncHandle, uint32_t, const void *, size_t, aclrtStream) {
  return Fail(ACL_ERROR_RT_FEATURE_NOT_SUPPORT, "aclrtLaunchKernel: a kernel is launched through its aclnn functions here");
}

}  // extern "C"
