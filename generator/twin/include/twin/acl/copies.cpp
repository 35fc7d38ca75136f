// Copies and fills, blocking and queued: both ends are checked, and what is not ordered on a device is told.
#include <cstring>

#include "state.h"

namespace twin {
namespace acl {
namespace {

// One end of a copy, as memory this process can touch.
struct End {
  uint8_t *data = nullptr;
  std::shared_ptr<Block> block;
};

aclError Resolve(const char *api, const char *what, const void *address, size_t bytes, bool device, End *end) {
  if (device) {
    std::string why;
    const Range range = Find(address, bytes, &why);
    if (!range) return Fail(ACL_ERROR_RT_PARAM_INVALID, "%s: %s %p, %zu bytes: %s", api, what, address, bytes, why.c_str());
    end->data = range.data;
    end->block = range.block;
    return 0;
  }
  const std::string why = HostFault(address, bytes);
  if (!why.empty()) return Fail(ACL_ERROR_RT_PARAM_INVALID, "%s: %s %p, %zu bytes: %s", api, what, address, bytes, why.c_str());
  end->data = static_cast<uint8_t *>(const_cast<void *>(address));
  return 0;
}

// Which ends are on the device, by kind; false for no kind.
bool Sides(aclrtMemcpyKind kind, const void *dst, const void *src, bool *toDevice, bool *fromDevice) {
  switch (kind) {
    case ACL_MEMCPY_HOST_TO_HOST: *toDevice = *fromDevice = false; return true;
    case ACL_MEMCPY_HOST_TO_DEVICE: *toDevice = true, *fromDevice = false; return true;
    case ACL_MEMCPY_DEVICE_TO_HOST: *toDevice = false, *fromDevice = true; return true;
    case ACL_MEMCPY_DEVICE_TO_DEVICE: *toDevice = *fromDevice = true; return true;
    case ACL_MEMCPY_DEFAULT: *toDevice = IsDevice(dst), *fromDevice = IsDevice(src); return true;
  }
  return false;
}

struct Copy {
  End to, from;
  size_t bytes = 0;
};

aclError Prepare(const char *api, void *dst, size_t destMax, const void *src, size_t count, aclrtMemcpyKind kind, Copy *copy) {
  if (dst == nullptr || src == nullptr) return Fail(ACL_ERROR_INVALID_PARAM, "%s: %s is null", api, dst == nullptr ? "dst" : "src");
  if (count > destMax) return Fail(ACL_ERROR_RT_PARAM_INVALID, "%s: count %zu is more than destMax %zu", api, count, destMax);
  bool toDevice = false, fromDevice = false;
  if (!Sides(kind, dst, src, &toDevice, &fromDevice))
    return Fail(ACL_ERROR_INVALID_PARAM, "%s: kind %d is not one of 0 to 4", api, static_cast<int>(kind));
  copy->bytes = count;
  const aclError bad = Resolve(api, "dst", dst, destMax, toDevice, &copy->to);
  return bad != 0 ? bad : Resolve(api, "src", src, count, fromDevice, &copy->from);
}

// A blocking call waits for the work that touches its memory, and says when a device would not have waited.
void AwaitUses(const char *api, const std::shared_ptr<Block> &block, bool write) {
  if (!block) return;
  for (const UseMark &use : UsesOf(block)) {
    if ((!use.write && !write) || Observed(use.mark)) continue;
    std::fprintf(stderr,
                 "%s: device buffer #%llu is %s by work that nobody has waited for; on a device the two are not ordered: call "
                 "aclrtSynchronizeStream first\n",
                 api, static_cast<unsigned long long>(block->number), use.write ? "written" : "read");
    for (const std::shared_ptr<Stream> &stream : StreamsOf(-1))
      if (stream->number == use.mark.stream) stream->Wait(-1);
  }
}

aclError Held(const char *api) {
  for (const std::shared_ptr<Stream> &stream : StreamsOf(CurrentDevice())) {
    const Failure failure = stream->Failed();
    if (failure.code != 0 && stream->Idle()) return Fail(failure.code, "%s: %s", api, failure.text.c_str());
  }
  return 0;
}

}  // namespace
}  // namespace acl
}  // namespace twin

using namespace twin::acl;

extern "C" {

TWIN_ACL_EXPORT aclError aclrtMemcpy(void *dst, size_t destMax, const void *src, size_t count, aclrtMemcpyKind kind) {
  aclError bad = NeedDevice("aclrtMemcpy");
  if (bad != 0) return bad;
  Copy copy;
  bad = Prepare("aclrtMemcpy", dst, destMax, src, count, kind, &copy);
  if (bad != 0) return bad;
  AwaitUses("aclrtMemcpy", copy.to.block, true);
  AwaitUses("aclrtMemcpy", copy.from.block, false);
  bad = Held("aclrtMemcpy");
  if (bad != 0) return bad;
  std::memmove(copy.to.data, copy.from.data, count);
  return 0;
}

TWIN_ACL_EXPORT aclError aclrtMemcpyAsync(void *dst, size_t destMax, const void *src, size_t count, aclrtMemcpyKind kind,
                                          aclrtStream stream) {
  const aclError unset = NeedDevice("aclrtMemcpyAsync");
  if (unset != 0) return unset;
  Copy copy;
  const aclError bad = Prepare("aclrtMemcpyAsync", dst, destMax, src, count, kind, &copy);
  if (bad != 0) return bad;
  std::vector<Use> uses;
  if (copy.to.block) uses.push_back(Use{copy.to.block, true});
  if (copy.from.block) uses.push_back(Use{copy.from.block, false});
  return Enqueue(stream, "aclrtMemcpyAsync", std::move(uses), [copy] {
    std::memmove(copy.to.data, copy.from.data, copy.bytes);
    return Failure();
  });
}

TWIN_ACL_EXPORT aclError aclrtMemset(void *devPtr, size_t maxCount, int32_t value, size_t count) {
  const aclError unset = NeedDevice("aclrtMemset");
  if (unset != 0) return unset;
  if (count > maxCount) return Fail(ACL_ERROR_RT_PARAM_INVALID, "aclrtMemset: count %zu is more than maxCount %zu", count, maxCount);
  End end;
  const aclError bad = Resolve("aclrtMemset", "devPtr", devPtr, maxCount, IsDevice(devPtr), &end);
  if (bad != 0) return bad;
  AwaitUses("aclrtMemset", end.block, true);
  std::memset(end.data, value, count);
  return 0;
}

TWIN_ACL_EXPORT aclError aclrtMemsetAsync(void *devPtr, size_t maxCount, int32_t value, size_t count, aclrtStream stream) {
  const aclError unset = NeedDevice("aclrtMemsetAsync");
  if (unset != 0) return unset;
  if (count > maxCount) return Fail(ACL_ERROR_RT_PARAM_INVALID, "aclrtMemsetAsync: count %zu is more than maxCount %zu", count, maxCount);
  End end;
  const aclError bad = Resolve("aclrtMemsetAsync", "devPtr", devPtr, maxCount, IsDevice(devPtr), &end);
  if (bad != 0) return bad;
  std::vector<Use> uses;
  if (end.block) uses.push_back(Use{end.block, true});
  return Enqueue(stream, "aclrtMemsetAsync", std::move(uses), [end, value, count] {
    std::memset(end.data, value, count);
    return Failure();
  });
}

TWIN_ACL_EXPORT aclError aclrtMemcpy2d(void *dst, size_t dpitch, const void *src, size_t spitch, size_t width, size_t height,
                                       aclrtMemcpyKind kind) {
  if (width > dpitch || width > spitch)
    return Fail(ACL_ERROR_RT_PARAM_INVALID, "aclrtMemcpy2d: width %zu is more than a pitch (%zu, %zu)", width, dpitch, spitch);
  for (size_t row = 0; row < height; ++row) {
    const aclError bad =
        aclrtMemcpy(static_cast<char *>(dst) + row * dpitch, width, static_cast<const char *>(src) + row * spitch, width, kind);
    if (bad != 0) return bad;
  }
  return 0;
}

}  // extern "C"
