// The runtime's side of a kernel's shared library, the same for all kernels of an architecture; called from Python.
#define TWIN_RUNTIME_OBJECT
#include "kernel_operator.h"
#include <unistd.h>

#include "request.h"
#include "run.h"

namespace twin {
namespace {

constexpr int64_t kGuard = 4096;             // bytes around a small argument, so that a stray base address hits nothing
constexpr int64_t kSmall = 1024 * 1024;      // arguments below this are copied between guards
constexpr uint8_t kFreshMemory = 0xFB;       // pattern of memory nobody wrote

struct Guarded {
  explicit Guarded(int64_t bytes) : size(bytes) {
    const int64_t whole = (bytes + 2 * kGuard + 511) / 512 * 512;
    memory = static_cast<uint8_t *>(std::aligned_alloc(512, static_cast<size_t>(whole)));
    std::memset(memory, kFreshMemory, static_cast<size_t>(whole));
  }
  ~Guarded() { std::free(memory); }
  Guarded(const Guarded &) = delete;
  Guarded &operator=(const Guarded &) = delete;
  uint8_t *Data() const { return memory + kGuard; }
  uint8_t *memory = nullptr;
  int64_t size;
};

// The workspace: the system's share, never touched, and the user's between guards, filled with the pattern. Beyond a chunk it
// is mapped from one file of that pattern, so that only pages that are used take memory.
class Workspace {
 public:
  explicit Workspace(int64_t user) : whole((kSystemWorkspace + user + 2 * kGuard + kChunk - 1) / kChunk * kChunk) {
    base = static_cast<uint8_t *>(ReserveMemory(whole));
    constexpr int kHow = MAP_PRIVATE | MAP_NORESERVE | MAP_FIXED;
    const int64_t used = user + 2 * kGuard;
    const int file = used > kChunk ? memfd_create("pattern", MFD_CLOEXEC) : -1;
    if (file >= 0) {
      const std::vector<uint8_t> pattern(static_cast<size_t>(kChunk), kFreshMemory);
      bool good = write(file, pattern.data(), pattern.size()) == static_cast<ssize_t>(kChunk);
      for (int64_t at = kSystemWorkspace; good && at < whole; at += kChunk)
        good = mmap(base + at, static_cast<size_t>(kChunk), PROT_READ | PROT_WRITE, kHow, file, 0) != MAP_FAILED;
      close(file);
      if (good) return;
    }
    std::memset(base + kSystemWorkspace, kFreshMemory, static_cast<size_t>(used));
  }
  ~Workspace() { ReleaseMemory(base, whole); }
  Workspace(const Workspace &) = delete;
  Workspace &operator=(const Workspace &) = delete;
  uint8_t *System() const { return base; }
  uint8_t *User() const { return base + kSystemWorkspace + kGuard; }

 private:
  static constexpr int64_t kChunk = 16 * 1024 * 1024;
  int64_t whole;
  uint8_t *base = nullptr;
};

struct Result {
  std::vector<Breach> breaches;
  Counters counters;
  std::vector<int64_t> readBytes, writtenBytes;
  CubeTraffic cube;
};

}  // namespace
}  // namespace twin

extern "C" {

#define TWIN_EXPORT __attribute__((visibility("default")))

void TwinCall(uint8_t *const *pointers);  // harness.cpp

// Runs the kernel over all blocks. Returns a result to be read by the functions below and given to TwinFree.
TWIN_EXPORT __attribute__((cold)) void *TwinRun(const TwinLaunch *request) {
  using namespace twin;
  static std::mutex one;
  std::lock_guard<std::mutex> lock(one);
  Running launch;
  std::vector<std::unique_ptr<Guarded>> copies;
  std::vector<std::pair<int, int>> copied;  // argument, array
  std::vector<uint8_t *> pointers;
  for (int i = 0; i < request->count; ++i) {
    const TwinArray &array = request->arrays[i];
    if (array.data == nullptr) {
      pointers.push_back(nullptr);
      continue;
    }
    int same = -1;
    for (int j = 0; j < i; ++j)
      if (request->arrays[j].data == array.data) same = j;
    if (same >= 0) {
      pointers.push_back(pointers[static_cast<size_t>(same)]);
      for (GmArg &arg : launch.args)
        if (arg.base == pointers.back()) arg.role = Role::kInOut;
      continue;
    }
    uint8_t *base = static_cast<uint8_t *>(array.data);
    if (array.bytes < kSmall) {
      copies.emplace_back(new Guarded(array.bytes));
      base = copies.back()->Data();
      std::memcpy(base, array.data, static_cast<size_t>(array.bytes));
      copied.emplace_back(static_cast<int>(launch.args.size()), i);
    }
    launch.args.emplace_back();
    GmArg &arg = launch.args.back();
    arg.base = base;
    arg.bytes = array.bytes;
    arg.role = static_cast<Role>(array.role);
    arg.position = i;
    pointers.push_back(base);
  }
  Workspace workspace(request->workspace);
  launch.args.emplace_back();
  launch.args.back().base = workspace.User();
  launch.args.back().bytes = request->workspace;
  launch.args.back().role = Role::kWorkspace;
  launch.args.back().position = request->count;
  pointers.push_back(workspace.User());
  std::vector<uint64_t> tiling(static_cast<size_t>(request->tilingBytes / 8 + 1));
  if (request->tilingBytes > 0) std::memcpy(tiling.data(), request->tiling, static_cast<size_t>(request->tilingBytes));
  launch.tiling = reinterpret_cast<const uint8_t *>(tiling.data());
  launch.tilingBytes = request->tilingBytes;
  pointers.push_back(reinterpret_cast<uint8_t *>(tiling.data()));
  launch.key = request->key;
  const CoresOfBlock block = CoresOf(request->key);
  launch.cubes = block.cubes > 0;
  launch.ratio = block.vectors;
  launch.numBlocks = request->of > 0 ? request->of : request->blockDim;
  launch.firstBlock = request->first;
  launch.vectors = request->blockDim * block.vectors;
  launch.blockDim = request->blockDim * (block.cubes + block.vectors);
  launch.registered.assign(static_cast<size_t>(launch.blockDim), Site{nullptr, 0});
  launch.physicalCores = request->cores;
  launch.ubBytes = request->ub;
  launch.l1Bytes = request->l1;
  launch.l0aBytes = request->l0a;
  launch.l0bBytes = request->l0b;
  launch.l0cBytes = request->l0c;
  launch.systemBytes = request->system;
  launch.systemSpace = workspace.System();
  launch.userSpace = workspace.User();
  for (int law = 0; law < kLaws; ++law) launch.laws[law] = request->lawsOff[law] == 0;
  launch.arguments = request->count + 1;
  launch.readBytes.assign(static_cast<size_t>(request->count) + 1, 0);
  launch.writtenBytes.assign(static_cast<size_t>(request->count) + 1, 0);
  launch.cube.readBytes = launch.cube.writtenBytes = launch.readBytes;
  RunLaunch(launch, request->seconds, &TwinCall, pointers.data());
  for (size_t i = 0; i < copied.size(); ++i) {
    const GmArg &arg = launch.args[static_cast<size_t>(copied[i].first)];
    if (arg.role != Role::kInput || arg.state.load() != nullptr)
      std::memcpy(request->arrays[copied[i].second].data, arg.base, static_cast<size_t>(arg.bytes));
  }
  for (GmArg &arg : launch.args) ReleaseMemory(arg.state.load(), arg.bytes);
  return new Result{launch.breaches, launch.counters, launch.readBytes, launch.writtenBytes, launch.cube};
}

TWIN_EXPORT int32_t TwinBreachCount(const void *result) { return static_cast<int32_t>(static_cast<const twin::Result *>(result)->breaches.size()); }

TWIN_EXPORT void TwinBreachAt(const void *result, int32_t index, TwinBreach *out) {
  const twin::Breach &b = static_cast<const twin::Result *>(result)->breaches[static_cast<size_t>(index)];
  *out = TwinBreach{twin::LawName(b.law), b.text.c_str(), b.site.file == nullptr ? "" : b.site.file, b.site.line, b.core, b.times};
}

// Instructions on S, V, MTE2, MTE3, barriers, flags, SyncAlls; then read and written bytes per argument, the workspace last.
TWIN_EXPORT void TwinCounters(const void *result, int64_t *counters, int64_t *readBytes, int64_t *writtenBytes) {
  const twin::Result &r = *static_cast<const twin::Result *>(result);
  for (int p = 0; p < twin::kPipes; ++p) counters[p] = r.counters.instructions[p];
  counters[4] = r.counters.barriers;
  counters[5] = r.counters.flags;
  counters[6] = r.counters.syncAlls;
  for (size_t i = 0; i < r.readBytes.size(); ++i) {
    readBytes[i] = r.readBytes[i];
    writtenBytes[i] = r.writtenBytes[i];
  }
}

// What the cube did: multiply-adds, bytes of the system workspace read and written; then bytes per argument, as above.
TWIN_EXPORT void TwinCube(const void *result, int64_t *work, int64_t *readBytes, int64_t *writtenBytes) {
  const twin::CubeTraffic &cube = static_cast<const twin::Result *>(result)->cube;
  work[0] = cube.multiplyAdds;
  work[1] = cube.systemRead;
  work[2] = cube.systemWritten;
  for (size_t i = 0; i < cube.readBytes.size(); ++i) {
    readBytes[i] = cube.readBytes[i];
    writtenBytes[i] = cube.writtenBytes[i];
  }
}

// Virtual cores of one block of a launch with this tiling key.
TWIN_EXPORT int32_t TwinCoresPerBlock(uint64_t key) { return twin::CoresOf(key).cubes + twin::CoresOf(key).vectors; }

TWIN_EXPORT void TwinFree(void *result) { delete static_cast<twin::Result *>(result); }

}  // extern "C"
