// What the runtime's library offers to the library of the two-phase interface: messages, memory, streams, the product.
#pragma once
#include <cstdarg>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "../../acl/acl.h"
#include "../host/platform.h"

#define TWIN_ACL_EXPORT __attribute__((visibility("default")))

namespace twin {
namespace acl {

// --- messages, one list per thread ---

// Replaces the thread's messages by one; `code` is returned. printf-style.
TWIN_ACL_EXPORT __attribute__((format(printf, 2, 3))) aclError Fail(aclError code, const char *format, ...);
// Adds a message to those of the call that is under way.
TWIN_ACL_EXPORT void AddMessage(const std::string &text);
TWIN_ACL_EXPORT void ClearMessages();
std::string Format(const char *format, std::va_list args);

// Names what is left when the process is done: kind, number, detail. Asked at aclFinalize.
struct Leak {
  std::string kind;
  size_t number;
  std::string detail;
};
TWIN_ACL_EXPORT void AtFinalize(std::vector<Leak> (*report)());

// --- the process ---

TWIN_ACL_EXPORT bool Initialized();
// 0 when the thread has a device, else the code after its message.
TWIN_ACL_EXPORT aclError NeedDevice(const char *api);
TWIN_ACL_EXPORT int CurrentDevice();
// The product: `name` is what operators' definitions call its family of chips.
struct Product {
  const char *name;
  const char *soc;
  uint32_t arch;
  uint64_t ub;
  uint32_t aiv, aic, socVersion;
  uint64_t l1, l0a, l0b, l0c, l2, hbm;
};
TWIN_ACL_EXPORT const Product &CurrentProduct();
TWIN_ACL_EXPORT fe::PlatFormInfos PlatformOf(const Product &product);
// Seconds a kernel may run.
TWIN_ACL_EXPORT int KernelSeconds();

// --- memory ---

class Stream;

// One allocation of device memory. Its address is not one the host can access; `data` is.
struct Block {
  uint64_t address = 0;
  size_t size = 0;
  uint8_t *data = nullptr;
  uint64_t number = 0;  // of the allocation, from 1
  size_t mapped = 0;    // bytes of `data` when it is mapped page by page, else 0
  ~Block();
};

// Bytes of device memory, kept alive while somebody holds the range.
struct Range {
  std::shared_ptr<Block> block;
  uint8_t *data = nullptr;
  size_t bytes = 0;
  explicit operator bool() const { return block != nullptr; }
};
// The range at a device address. Empty when it is not inside one live allocation; then `why` says what is there.
TWIN_ACL_EXPORT Range Find(const void *address, size_t bytes, std::string *why);

// --- streams ---

struct Failure {
  aclError code = 0;
  std::string text;
};

// Memory a task touches; what a stream has not been waited for must not be freed.
struct Use {
  std::shared_ptr<Block> block;
  bool write;
};

// Queues work; null is the default stream of the thread's context. Returns at once; the task's failure is kept until somebody
// waits for the stream, and what is queued behind it does not run.
TWIN_ACL_EXPORT aclError Enqueue(aclrtStream stream, const char *api, std::vector<Use> uses, std::function<Failure()> task);

}  // namespace acl
}  // namespace twin
