// Global memory: the kernel's arguments, what each core read and wrote of them, and the races between cores.
#pragma once
#include <atomic>

#include "core.h"

namespace twin {

enum class Role : uint8_t { kInput, kOutput, kInOut, kWorkspace, kTiling };

// States of a byte of an output or of the workspace. 1 to kMaxCores: written in this phase by core state - 1; then as many for
// accumulated atomically by that core; the rest below.
constexpr int kMaxCores = 96;  // 32 blocks of a cube core and two vector cores
constexpr uint8_t kNever = 0, kAtomicMany = 2 * kMaxCores + 1, kNow = 254, kDefined = 255;
constexpr uint8_t WrittenBy(int core) { return static_cast<uint8_t>(core + 1); }
constexpr uint8_t AddedBy(int core) { return static_cast<uint8_t>(core + 1 + kMaxCores); }
constexpr int64_t kLine = 64;  // bytes of a data-cache line

struct GmArg {
  GmArg() = default;
  GmArg(GmArg &&other) noexcept  // only while the launch is prepared
      : base(other.base), bytes(other.bytes), role(other.role), position(other.position) {}
  uint8_t *base = nullptr;
  int64_t bytes = 0;
  Role role = Role::kInput;
  int position = 0;                       // kernel argument it is counted for
  std::atomic<uint8_t *> state{nullptr};  // one byte per byte; absent: all defined
  std::atomic<bool> touched{false};       // written in this phase
};

// A strided access: `count` runs of `run` bytes, `stride` bytes apart.
struct GmAccess {
  int64_t offset, run, stride, count;
  Site site;
  const char *api;
  int32_t arg;
  bool write, atomic, suspect, line;
};

// Data of an atomic copy, applied in core order when the phase ends (so that sums do not depend on the interleaving).
struct AtomicCopy {
  int32_t arg;
  int64_t offset;
  int32_t dtype, op;
  std::vector<uint8_t> data;
};

struct CachedLine {
  int32_t arg;
  int64_t line;
  bool dirty, stale;
  Site site;
};

constexpr int kWindow = 256;  // global accesses of the copy pipes kept to check their order

struct Recent {
  int64_t low, high;
  GmAccess access;
  int32_t seq;
};

struct CubeOperand;  // cube.h

// What the cube moved and computed for a vector core. Bytes per kernel argument, and of the system workspace, which values
// between the cube and the unified buffer pass on 220.
struct CubeTraffic {
  std::vector<int64_t> readBytes, writtenBytes;
  int64_t systemRead = 0, systemWritten = 0, multiplyAdds = 0;
  // A load of `bytes` of an operand.
  void Add(const CubeOperand &operand, int64_t bytes);
};

struct GlobalLog {
  std::vector<GmAccess> accesses;
  std::vector<AtomicCopy> atomics;
  std::vector<CachedLine> lines;
  std::vector<int64_t> readBytes, writtenBytes;  // per kernel argument, blocks rounded up to 32 bytes
  std::vector<GmAccess> inFlight;                // what the cube writes until WaitIterateAll
  std::vector<GmAccess> results;                 // what a cube core wrote since its last barrier of all pipes
  int64_t epoch = 0;                             // which barrier that was
  CubeTraffic cube;
  Recent reads[kWindow], writes[kWindow];        // MTE2 reads of writable arguments, MTE3 writes
  int readCount = 0, writeCount = 0;

  void Start(size_t arguments) {
    accesses.clear();
    atomics.clear();
    lines.clear();
    readBytes.assign(arguments, 0);
    writtenBytes.assign(arguments, 0);
    readCount = writeCount = 0;
    inFlight.clear();
    results.clear();
    cube = CubeTraffic{};
    cube.readBytes.assign(arguments, 0);
    cube.writtenBytes.assign(arguments, 0);
  }
  void Log(const GmAccess &a) {
    if (!accesses.empty()) {
      GmAccess &b = accesses.back();
      if (a.arg == b.arg && a.count == 1 && b.count == 1 && a.write == b.write && a.atomic == b.atomic && !a.line && !b.line &&
          a.suspect == b.suspect && a.offset == b.offset + b.run && a.site.line == b.site.line) {
        b.run += a.run;
        return;
      }
    }
    accesses.push_back(a);
  }
};

}  // namespace twin
