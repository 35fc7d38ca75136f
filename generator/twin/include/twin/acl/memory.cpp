// Device and host memory: addresses the host cannot use, fresh memory full of a pattern, every access inside one allocation.
#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>

#include "state.h"

namespace twin {
namespace acl {
namespace {

constexpr uint64_t kAlign = 512;         // of device addresses, bytes
constexpr uint8_t kFreshMemory = 0xFB;   // what memory holds that nobody wrote
constexpr uint64_t kSpace = 1ull << 36;  // bytes of device addresses

struct HostBlock {
  size_t size;
  uint64_t number;
};

// The table of allocations. Addresses are handed out in turn, so that a freed one does not soon name other memory.
struct Memory {
  std::mutex guard;
  uint64_t base = 0, next = 0, live = 0, count = 0;
  std::map<uint64_t, std::shared_ptr<Block>> blocks;      // by address
  std::map<uint64_t, std::vector<UseMark>> uses;          // by address
  std::map<uint64_t, std::pair<uint64_t, size_t>> freed;  // recently: address, its number and size
  std::map<uint64_t, HostBlock> host;
};
Memory &TheMemory() {
  static Memory &memory = *new Memory;
  return memory;
}

constexpr size_t kChunk = 16u << 20;  // from four of these on, memory is mapped from one file of the pattern

uint64_t RoundUp(uint64_t value) { return (value + kAlign - 1) / kAlign * kAlign; }

// Reserves the addresses, which nothing can read or write.
bool Reserve(Memory &memory) {
  if (memory.base != 0) return true;
  void *space = mmap(nullptr, kSpace, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (space == MAP_FAILED) return false;
  memory.base = RoundUp(reinterpret_cast<uint64_t>(space));
  memory.next = memory.base;
  return true;
}

// The first free run of addresses from `next` on, with a gap behind it; 0 when there is none.
uint64_t Place(Memory &memory, uint64_t size) {
  const uint64_t end = memory.base + kSpace - kAlign, need = RoundUp(size) + kAlign;
  for (int pass = 0; pass < 2; ++pass) {
    uint64_t at = pass == 0 ? memory.next : memory.base;
    auto block = memory.blocks.lower_bound(at);
    for (; block != memory.blocks.end() && block->first - at < need; ++block) at = block->first + RoundUp(block->second->size) + kAlign;
    if (at <= end && end - at >= need) return at;
  }
  return 0;
}

std::string Describe(Memory &memory, uint64_t address) {
  const auto late = memory.freed.upper_bound(address);
  if (late != memory.freed.begin()) {
    const auto &entry = *std::prev(late);
    if (address - entry.first < RoundUp(entry.second.second))
      return "device buffer #" + std::to_string(entry.second.first) + " of " + std::to_string(entry.second.second) + " bytes was freed";
  }
  if (memory.base != 0 && address >= memory.base && address - memory.base < kSpace) return "no device buffer is there";
  return "it is not an address of device memory";
}

// The live block an address is in, or null.
std::shared_ptr<Block> BlockAt(Memory &memory, uint64_t address) {
  const auto after = memory.blocks.upper_bound(address);
  if (after == memory.blocks.begin()) return nullptr;
  const std::shared_ptr<Block> &block = std::prev(after)->second;
  return address - block->address < RoundUp(block->size) ? block : nullptr;
}

// Memory in which only pages that are used take room; null when it cannot be had.
uint8_t *MapPattern(size_t bytes) {
  const int how = MAP_PRIVATE | MAP_NORESERVE;
  void *memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, how | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return nullptr;
  uint8_t *base = static_cast<uint8_t *>(memory);
  const int file = memfd_create("pattern", MFD_CLOEXEC);
  const std::vector<uint8_t> pattern(kChunk, kFreshMemory);
  bool good = file >= 0 && write(file, pattern.data(), kChunk) == static_cast<ssize_t>(kChunk);
  for (size_t at = 0; good && at < bytes; at += kChunk)
    good = mmap(base + at, kChunk, PROT_READ | PROT_WRITE, how | MAP_FIXED, file, 0) != MAP_FAILED;
  if (file >= 0) close(file);
  if (good) return base;
  munmap(base, bytes);
  return nullptr;
}

// The memory behind a block, full of the pattern.
bool Back(Block *block, size_t size) {
  if (size >= 4 * kChunk) {
    block->mapped = (size + kChunk - 1) / kChunk * kChunk;
    block->data = MapPattern(block->mapped);
    return block->data != nullptr;
  }
  block->data = static_cast<uint8_t *>(std::aligned_alloc(kAlign, RoundUp(size)));
  if (block->data != nullptr) std::memset(block->data, kFreshMemory, RoundUp(size));
  return block->data != nullptr;
}

aclError Allocate(const char *api, void **devPtr, size_t size) {
  const aclError bad = NeedDevice(api);
  if (bad != 0) return bad;
  if (devPtr == nullptr) return Fail(ACL_ERROR_INVALID_PARAM, "%s: devPtr is null", api);
  if (size == 0) return Fail(ACL_ERROR_INVALID_PARAM, "%s: size is 0", api);
  const uint64_t capacity = CurrentProduct().hbm;
  Memory &memory = TheMemory();
  std::lock_guard<std::mutex> lock(memory.guard);
  if (size > capacity || memory.live > capacity - size)
    return Fail(ACL_ERROR_RT_DEVICE_OOM, "%s: %zu bytes: %llu of %llu bytes of device memory are in use", api, size,
                static_cast<unsigned long long>(memory.live), static_cast<unsigned long long>(capacity));
  const uint64_t address = Reserve(memory) ? Place(memory, size) : 0;
  auto block = std::make_shared<Block>();
  if (address == 0 || !Back(block.get(), size))
    return Fail(ACL_ERROR_RT_MEMORY_ALLOCATION, "%s: %zu bytes: this machine has no memory for them", api, size);
  block->address = address;
  block->size = size;
  block->number = ++memory.count;
  memory.blocks[address] = block;
  memory.next = address + RoundUp(size) + kAlign;
  memory.live += size;
  *devPtr = reinterpret_cast<void *>(address);
  return 0;
}

}  // namespace

bool IsDevice(const void *address) {
  Memory &memory = TheMemory();
  std::lock_guard<std::mutex> lock(memory.guard);
  const uint64_t at = reinterpret_cast<uint64_t>(address);
  return memory.base != 0 && at >= memory.base && at - memory.base < kSpace;
}

std::string HostFault(const void *address, size_t bytes) {
  if (address == nullptr) return "it is null";
  if (IsDevice(address)) return "it is an address of device memory, which the host cannot access";
  Memory &memory = TheMemory();
  std::lock_guard<std::mutex> lock(memory.guard);
  const uint64_t at = reinterpret_cast<uint64_t>(address);
  const auto after = memory.host.upper_bound(at);
  if (after == memory.host.begin()) return "";
  const auto &block = *std::prev(after);
  const uint64_t offset = at - block.first;
  if (offset >= block.second.size || bytes <= block.second.size - offset) return "";
  return "host buffer #" + std::to_string(block.second.number) + " has " + std::to_string(block.second.size) + " bytes, " +
         std::to_string(block.second.size - offset) + " from there on";
}

std::vector<UseMark> UsesOf(const std::shared_ptr<Block> &block) {
  Memory &memory = TheMemory();
  std::lock_guard<std::mutex> lock(memory.guard);
  const auto found = memory.uses.find(block->address);
  return found == memory.uses.end() ? std::vector<UseMark>() : found->second;
}

Block::~Block() {
  if (mapped == 0) std::free(data);
  else if (data != nullptr) munmap(data, mapped);
}

Range Find(const void *address, size_t bytes, std::string *why) {
  Memory &memory = TheMemory();
  std::lock_guard<std::mutex> lock(memory.guard);
  const uint64_t at = reinterpret_cast<uint64_t>(address);
  const std::shared_ptr<Block> block = BlockAt(memory, at);
  if (!block) {
    *why = address == nullptr ? "it is null" : Describe(memory, at);
    return Range();
  }
  const uint64_t offset = at - block->address;
  if (offset > block->size || bytes > block->size - offset) {
    *why = "device buffer #" + std::to_string(block->number) + " has " + std::to_string(block->size) + " bytes, " +
           std::to_string(offset > block->size ? 0 : block->size - offset) + " from there on";
    return Range();
  }
  Range range;
  range.block = block;
  range.data = block->data + offset;
  range.bytes = bytes;
  return range;
}

void Remember(const std::shared_ptr<Block> &block, const Mark &mark, bool write) {
  Memory &memory = TheMemory();
  std::lock_guard<std::mutex> lock(memory.guard);
  for (UseMark &use : memory.uses[block->address]) {
    if (use.mark.stream != mark.stream || use.write != write) continue;
    use.mark = mark;
    return;
  }
  memory.uses[block->address].push_back(UseMark{mark, write});
}

std::vector<Leak> MemoryLeaks() {
  Memory &memory = TheMemory();
  std::lock_guard<std::mutex> lock(memory.guard);
  std::vector<Leak> leaks;
  const auto add = [&leaks](const char *kind, size_t number, const std::string &detail) {
    if (number > 0) leaks.push_back(Leak{kind, number, detail});
  };
  std::string device, host;
  for (const auto &entry : memory.blocks)
    device += " #" + std::to_string(entry.second->number) + " (" + std::to_string(entry.second->size) + " bytes)";
  for (const auto &entry : memory.host)
    host += " #" + std::to_string(entry.second.number) + " (" + std::to_string(entry.second.size) + " bytes)";
  add("device buffer", memory.blocks.size(), device);
  add("host buffer", memory.host.size(), host);
  return leaks;
}

void ReleaseMemory() {
  Memory &memory = TheMemory();
  std::lock_guard<std::mutex> lock(memory.guard);
  for (const auto &entry : memory.host) std::free(reinterpret_cast<void *>(entry.first));
  memory.blocks.clear();
  memory.uses.clear();
  memory.freed.clear();
  memory.host.clear();
  memory.live = memory.count = 0;
}

}  // namespace acl
}  // namespace twin

using namespace twin::acl;

extern "C" {

TWIN_ACL_EXPORT aclError aclrtMalloc(void **devPtr, size_t size, aclrtMemMallocPolicy) { return Allocate("aclrtMalloc", devPtr, size); }
TWIN_ACL_EXPORT aclError aclrtMallocAlign32(void **devPtr, size_t size, aclrtMemMallocPolicy) {
  return Allocate("aclrtMallocAlign32", devPtr, size);
}
TWIN_ACL_EXPORT aclError aclrtMallocCached(void **devPtr, size_t size, aclrtMemMallocPolicy) {
  return Allocate("aclrtMallocCached", devPtr, size);
}

TWIN_ACL_EXPORT aclError aclrtFree(void *devPtr) {
  const aclError bad = NeedDevice("aclrtFree");
  if (bad != 0) return bad;
  if (devPtr == nullptr) return Fail(ACL_ERROR_INVALID_PARAM, "aclrtFree: devPtr is null");
  std::vector<UseMark> marks;
  std::shared_ptr<Block> block;
  {
    Memory &memory = TheMemory();
    std::lock_guard<std::mutex> lock(memory.guard);
    const uint64_t address = reinterpret_cast<uint64_t>(devPtr);
    const auto found = memory.blocks.find(address);
    if (found == memory.blocks.end()) {
      const std::shared_ptr<Block> inside = BlockAt(memory, address);
      const std::string why = inside ? "it is inside device buffer #" + std::to_string(inside->number) : Describe(memory, address);
      return Fail(ACL_ERROR_RT_PARAM_INVALID, "aclrtFree: %p was not allocated: %s", devPtr, why.c_str());
    }
    block = found->second;
    marks.swap(memory.uses[address]);
    memory.uses.erase(address);
    memory.blocks.erase(found);
    memory.live -= block->size;
    if (memory.freed.size() > 4096) memory.freed.clear();
    memory.freed[address] = {block->number, block->size};
  }
  for (const UseMark &use : marks) {
    if (Observed(use.mark)) continue;
    for (const std::shared_ptr<Stream> &stream : StreamsOf(-1))
      if (stream->number == use.mark.stream)
        stream->SetFailure(Failure{ACL_ERROR_RT_AICORE_EXCEPTION, "device buffer #" + std::to_string(block->number) + " of " +
                                                                      std::to_string(block->size) +
                                                                      " bytes was freed before anybody waited for the work that " +
                                                                      (use.write ? "writes" : "reads") + " it"});
  }
  return 0;
}

TWIN_ACL_EXPORT aclError aclrtMallocHost(void **hostPtr, size_t size) {
  if (hostPtr == nullptr || size == 0)
    return Fail(ACL_ERROR_INVALID_PARAM, "aclrtMallocHost: %s", hostPtr == nullptr ? "hostPtr is null" : "size is 0");
  void *data = size > SIZE_MAX - kAlign ? nullptr : std::aligned_alloc(64, (size + 63) / 64 * 64);
  if (data == nullptr) return Fail(ACL_ERROR_BAD_ALLOC, "aclrtMallocHost: %zu bytes: this machine has no memory for them", size);
  std::memset(data, kFreshMemory, size);
  Memory &memory = TheMemory();
  std::lock_guard<std::mutex> lock(memory.guard);
  memory.host[reinterpret_cast<uint64_t>(data)] = HostBlock{size, ++memory.count};
  *hostPtr = data;
  return 0;
}

TWIN_ACL_EXPORT aclError aclrtFreeHost(void *hostPtr) {
  Memory &memory = TheMemory();
  {
    std::lock_guard<std::mutex> lock(memory.guard);
    if (memory.host.erase(reinterpret_cast<uint64_t>(hostPtr)) == 1) {
      std::free(hostPtr);
      return 0;
    }
  }
  return Fail(ACL_ERROR_RT_PARAM_INVALID, "aclrtFreeHost: %p was not allocated by aclrtMallocHost", hostPtr);
}

TWIN_ACL_EXPORT aclError aclrtGetMemInfo(aclrtMemAttr attr, size_t *free, size_t *total) {
  const aclError bad = NeedDevice("aclrtGetMemInfo");
  if (bad != 0) return bad;
  if (free == nullptr || total == nullptr)
    return Fail(ACL_ERROR_INVALID_PARAM, "aclrtGetMemInfo: %s is null", free == nullptr ? "free" : "total");
  if (attr != ACL_HBM_MEM)
    return Fail(ACL_ERROR_RT_FEATURE_NOT_SUPPORT, "aclrtGetMemInfo: attr is %d, this product has ACL_HBM_MEM only", attr);
  Memory &memory = TheMemory();
  std::lock_guard<std::mutex> lock(memory.guard);
  *total = CurrentProduct().hbm;
  *free = *total - memory.live;
  return 0;
}

}  // extern "C"
