// One virtual AI core: its unified buffer and shadow, the clocks of its pipes, and the engine that reports breaches of law.
//
// How a vector instruction uses it (see Instr below for the details):
//
//   template <typename T>
//   void Add(const LocalTensor<T> &dst, const LocalTensor<T> &src0, const LocalTensor<T> &src1, const int64_t &count,
//            twin::Site site = twin::Site::Here()) {
//     twin::Instr in("Add", twin::Pipe::V, site);
//     if (!in.Require(twin::Law::kNopCount, count != 0 || !twin::kIs3510, "count is 0")) return;
//     const T *a = in.Read(src0, "src0", count);         // all reads before any write
//     const T *b = in.Read(src1, "src1", count);
//     T *d = in.Write(dst, "dst", count);
//     if (!in.Ok()) return;                               // a law made the instruction impossible: nothing is computed
//     for (...) d[i] = a[i] + b[i];
//   }
//
// Reports name the law, the call, the operand and its values, and file:line of the caller (`Site::Here()` as the last,
// defaulted argument of every public function keeps the signatures call-compatible with the real ones).
#pragma once
#include <atomic>
#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "laws.h"

#ifndef __NPU_ARCH__
#error "compile with -D__NPU_ARCH__=2201 or -D__NPU_ARCH__=3510"
#endif

namespace AscendC {
template <typename T>
class LocalTensor;
}

namespace twin {

constexpr bool kIs3510 = __NPU_ARCH__ == 3510;
constexpr int kMaxBreaches = 50;             // per core; then the core stops
constexpr int64_t kBlock = 32;               // bytes of a data block, the grain of the shadow
constexpr int64_t kArena = 1024 * 1024;      // bytes behind the unified buffer, so that an over-full one can still run
constexpr int64_t kReservedUb = 8 * 1024;    // used by Select and others on 220 (facts C.1)
constexpr int64_t kTopReserve = kIs3510 ? 0 : 256;
constexpr uint32_t kAllBytes = 0xFFFFFFFFu;

// Where a call was written. As a defaulted argument, `Site::Here()` is the line of the caller.
struct Site {
  const char *file;
  int line;
  static constexpr Site Here(const char *file = __builtin_FILE(), int line = __builtin_LINE()) { return Site{file, line}; }
};

enum class Pipe : uint8_t { S = 0, V = 1, MTE2 = 2, MTE3 = 3 };
constexpr int kPipes = 4;
inline const char *PipeName(Pipe pipe) {
  static constexpr const char *kNames[] = {"S", "V", "MTE2", "MTE3"};
  return kNames[static_cast<int>(pipe)];
}

struct Breach {
  Law law;
  Site site;
  const char *api;
  std::string text;
  int core;
  int64_t times;
};

// Thrown to end one virtual core early (too many breaches, or a state the device would hang in).
struct StopCore {};

// For each pipe, the sequence number up to which its instructions are known to be complete.
struct Clock {
  int32_t of[kPipes] = {0, 0, 0, 0};
};

// Registers of the vector unit that outlive an instruction. Reset when a core starts.
struct VectorState {
  uint64_t mask[2] = {~0ull, ~0ull};
  bool counter = false;      // SetMaskCount
  uint8_t compare[32] = {};  // the compare mask register, 256 bits
  uint64_t reduced = 0;      // GetReduceMaxMinSpr and friends
  bool saturate = true;
};

enum class BufferState : uint8_t { kFree, kOccupied, kQueued, kDequeued, kStatic };

// One buffer of a queue (or one TBuf) in the unified buffer.
struct Buffer {
  int64_t begin = 0;  // bytes
  int64_t end = 0;
  BufferState state = BufferState::kStatic;
  int owner = -1;  // serial number of the queue, -1 for a TBuf
  Clock ready;     // clock of the producer at EnQue
  Clock freed;     // clock of the consumer at FreeTensor
  int readyEvent = -1, freedEvent = -1;  // event ids held
  int32_t allocated = 0;                 // instructions the copying pipe had issued at AllocTensor
  Site touched{nullptr, 0};              // its last allocation
};

constexpr int kEvents = kPipes * kPipes;  // one event per ordered pair of pipes
constexpr int kEventIds = 8;

// The hardware flags of one event: set or not, with the clock they carry, and which ids are taken.
struct Flags {
  bool set[kEventIds] = {};
  Clock clock[kEventIds];
  Site site[kEventIds] = {};
  uint8_t reserved = 0;  // AllocEventID
  uint8_t queued = 0;    // held by queues
};

struct Counters {
  int64_t instructions[kPipes] = {0, 0, 0, 0};
  int64_t barriers = 0;
  int64_t flags = 0;
  int64_t syncAlls = 0;
};

// What a core's Matmul objects have to account for when the kernel ends.
struct CubeState {
  bool registered = false;
  int objects = 0;
  Site site{nullptr, 0};        // of REGIST_MATMUL_OBJ
  Site open[4] = {};            // per object: its last computation, until End
  Site unfetched[4] = {};       // per object: the Iterate whose tile GetTensorC has not fetched
};

struct Launch;         // launch.h
struct PendingCopies;  // dma.h
struct GlobalLog;      // memory.h

class Core {
 public:
  Core();
  ~Core();
  Core(const Core &) = delete;
  Core &operator=(const Core &) = delete;

  // Prepares the core for one block of a launch (launch.h).
  void Start(Launch *owner, int blockIndex);

  // --- law engine ---
  bool On(Law law) const { return lawOn[static_cast<int>(law)]; }
  // Records a breach (once per law, call and line; later ones are counted). Does nothing when the law is off.
  // printf-style. Throws StopCore when the core has kMaxBreaches.
  __attribute__((format(printf, 5, 6))) void Report(Law law, Site site, const char *api, const char *format, ...);
  // Ends this core: the device would hang here.
  [[noreturn]] void Stop() { throw StopCore{}; }
  // A cube core has come to work for a vector core: reported, and the end of what it runs.
  [[noreturn]] void StopCube(const char *api, Site site);
  // Ends it when the launch is being abandoned.
  void CheckStop() {
    if (__builtin_expect(stop->load(std::memory_order_relaxed), 0)) Stop();
  }

  // --- time order ---
  // The clock of everything `pipe` has issued or seen up to now.
  Clock Snapshot(Pipe pipe) const {
    Clock clock;
    for (int q = 0; q < kPipes; ++q) clock.of[q] = know[static_cast<int>(pipe)][q];
    clock.of[static_cast<int>(pipe)] = seq[static_cast<int>(pipe)];
    return clock;
  }
  // `pipe` waits for `clock`; copies that are thereby ordered take effect.
  void Merge(Pipe pipe, const Clock &clock) {
    int32_t *mine = know[static_cast<int>(pipe)];
    for (int q = 0; q < kPipes; ++q) mine[q] = clock.of[q] > mine[q] ? clock.of[q] : mine[q];
    if (mine[2] > landed[0] || mine[3] > landed[1]) Land(mine[2], mine[3]);
  }
  // One flag: `to` waits for all that `from` has issued (SetFlag and WaitFlag in one; also for syncs inside a call).
  void Edge(Pipe from, Pipe to) { Merge(to, Snapshot(from)); }
  // PipeBarrier<pipe>.
  void Barrier(Pipe pipe) { Edge(pipe, pipe); }
  void BarrierAll() {
    ++epoch;
    Clock all;
    for (int q = 0; q < kPipes; ++q) all.of[q] = seq[q];
    for (int p = 0; p < kPipes; ++p) Merge(static_cast<Pipe>(p), all);
  }
  // Makes copies up to these sequence numbers take effect (dma.h).
  void Land(int32_t mte2, int32_t mte3);
  void StartCopies();

  // --- the shadow of the unified buffer, one entry per 32-byte block ---
  uint8_t *ub = nullptr;                 // kArena bytes
  uint32_t *filled = nullptr;            // bit i: byte i of the block holds a defined value
  int32_t *written[kPipes] = {};         // sequence number of the pipe's last write
  int32_t *readBy[kPipes] = {};          // and of its last read
  int32_t lastWrite[kPipes] = {}, lastRead[kPipes] = {};  // the largest entry of each of those arrays
  int64_t epoch = 0;                     // barriers of all pipes
  int64_t highWater = 0;                 // bytes handed out by InitBuffer

  int32_t seq[kPipes] = {};              // instructions issued
  int32_t know[kPipes][kPipes] = {};     // know[p][q]: instructions of q that p's next one is ordered after
  int32_t landed[2] = {};                // MTE2 and MTE3 copies up to here have taken effect

  // --- buffers, flags, state ---
  int64_t ubBytes = 0;
  int index = 0;
  const std::atomic<bool> *stop = nullptr;  // the launch is being abandoned
  Launch *launch = nullptr;
  VectorState vector;
  std::vector<Buffer> buffers;
  int liveBuffers = 0;
  Flags flags[kEvents];
  void *pipe = nullptr;                  // the TPipe alive
  int queues = 0;
  int kernelType = 0;                    // KERNEL_TASK_TYPE, else KERNEL_TASK_TYPE_DEFAULT
  bool typeOfKey = false;                // it is of this tiling key alone
  bool cubeCore = false;                 // this is a cube core
  CubeState cube;
  int atomicOp = 0, atomicType = 0;      // SetAtomicAdd and friends (dma.h)
  Site atomicSite{nullptr, 0};
  uint8_t padValue[8] = {};              // SetPadValue
  bool padValueSet = false;
  std::vector<Breach> breaches;
  Counters counters;
  bool lawOn[kLaws] = {};
  Site reservedBy{nullptr, 0};           // the first call that used the reserved 8 KB of the unified buffer
  PendingCopies *pending = nullptr;
  GlobalLog *globals = nullptr;

  // A call that uses Ascend C's reserved 8 KB of UB on 220 (Select and others) says so here.
  void UseReserved(const char *api, Site site) {
    if (kIs3510) return;
    if (reservedBy.file == nullptr) reservedBy = site;
    if (highWater > ubBytes - kReservedUb)
      Report(Law::kUbCapacity, site, api, "%s uses the reserved 8 KB at the end of UB, but buffers take %lld of %lld bytes", api,
             static_cast<long long>(highWater), static_cast<long long>(ubBytes));
  }
};

inline thread_local Core *tlsCore = nullptr;
// The virtual core this thread runs.
inline Core &Self() { return *tlsCore; }
// This thread runs a cube core.
inline bool OnCube() { return Self().cubeCore; }

// Which lanes of which blocks a sliced instruction touches for one operand: `repeat` repeats, 8 blocks of 32 bytes each
// (fewer when the operand's type is narrower than the one the mask counts), strides in blocks, lane i of a repeat
// touched when bit i of mask is set (bit 64 + i is bit i of mask[1]).
struct Slices {
  int64_t repeat;
  int64_t blockStride;
  int64_t repeatStride;
  uint64_t mask[2];
};

// One instruction being issued on a pipe: takes its sequence number and checks each operand against the laws of bounds,
// alignment, initialisation and order. Declare the reads first, then the writes, then (if Ok()) compute.
class Instr {
 public:
  Instr(const char *api, Pipe pipe, Site site) : core(Self()), name(api), where(site), unit(pipe) {
    core.CheckStop();
    if (__builtin_expect(core.cubeCore && pipe != Pipe::S, 0)) core.StopCube(api, site);
    self = ++core.seq[static_cast<int>(pipe)];
    ++core.counters.instructions[static_cast<int>(pipe)];
  }

  bool Ok() const { return ok; }
  void Refuse() { ok = false; }

  // A law of this call: when it is on and the condition is false it is reported, the instruction is refused (Ok() turns
  // false) and false returned. When the law is off, the answer is true: carry on as well as possible.
  template <typename... Args>
  bool Require(Law law, bool condition, const char *format, Args... args) {
    if (__builtin_expect(condition, 1) || !core.On(law)) return true;
    core.Report(law, where, name, format, args...);
    ok = false;
    return false;
  }
  // Law `range`. Returns the value, or (law off) the value as the field of the hardware would keep it.
  int64_t InRange(const char *what, int64_t value, int64_t low, int64_t high) {
    if (__builtin_expect(value >= low && value <= high, 1)) return value;
    Require(Law::kRange, false, "%s is %lld, allowed are %lld to %lld", what, static_cast<long long>(value), static_cast<long long>(low),
            static_cast<long long>(high));
    const int64_t span = high + 1;
    return span > 0 ? ((value % span) + span) % span : low;
  }

  // `elements` contiguous elements from the tensor's start. nullptr (and Ok() false) when the range is not the tensor's.
  // `align` is the start address's alignment in bytes; `elements` 0 touches nothing.
  template <typename T>
  const T *Read(const AscendC::LocalTensor<T> &tensor, const char *operand, int64_t elements, int64_t align = kBlock);
  template <typename T>
  T *Write(const AscendC::LocalTensor<T> &tensor, const char *operand, int64_t elements, int64_t align = kBlock);
  // Sliced operands; the returned pointer is the tensor's start, to be indexed with the same strides.
  template <typename T>
  const T *Read(const AscendC::LocalTensor<T> &tensor, const char *operand, const Slices &slices, int64_t align = kBlock);
  template <typename T>
  T *Write(const AscendC::LocalTensor<T> &tensor, const char *operand, const Slices &slices, int64_t align = kBlock);

  // The same on raw byte ranges of the unified buffer (already known to be inside it).
  void ReadBytes(const char *operand, int64_t offset, int64_t bytes) {
    if (bytes <= 0) return;
    const int64_t first = offset / kBlock, last = (offset + bytes - 1) / kBlock;
    Order(operand, false, first, last);
    Filled(operand, offset, bytes);
    MarkRead(first, last);
  }
  void WriteBytes(const char *operand, int64_t offset, int64_t bytes, bool defined = true) {
    if (bytes <= 0) return;
    const int64_t first = offset / kBlock, last = (offset + bytes - 1) / kBlock;
    Order(operand, true, first, last);
    MarkWrite(first, last);
    Fill(offset, bytes, defined);
  }
  // One block, some of its bytes (bit i of `bytes` is byte i).
  void ReadBlock(const char *operand, int64_t block, uint32_t bytes) {
    Order(operand, false, block, block);
    if (__builtin_expect((core.filled[block] & bytes) != bytes, 0)) Uninitialised(operand, block * kBlock, core.filled[block], bytes);
    MarkRead(block, block);
  }
  void WriteBlock(const char *operand, int64_t block, uint32_t bytes) {
    Order(operand, true, block, block);
    MarkWrite(block, block);
    core.filled[block] |= bytes;
  }

  // Declares bytes defined or poison, without an access (a copy's destination between issue and landing).
  void Fill(int64_t offset, int64_t bytes, bool defined) { FillShadow(core, offset, bytes, defined); }
  static void FillShadow(Core &core, int64_t offset, int64_t bytes, bool defined);

  // Start alignment and extent of an operand, `begin`..`end` bytes from the tensor's start.
  template <typename T>
  bool Place(const AscendC::LocalTensor<T> &tensor, const char *operand, int64_t begin, int64_t end, int64_t align);

  Core &core;
  const char *name;
  Site where;
  Pipe unit;
  int32_t self;  // this instruction's sequence number
  bool ok = true;

 private:
  void Order(const char *operand, bool write, int64_t first, int64_t last);
  void Unordered(const char *operand, bool write, int64_t first, int64_t last);
  void Filled(const char *operand, int64_t offset, int64_t bytes);
  void Uninitialised(const char *operand, int64_t offset, uint32_t have, uint32_t want);
  void MarkRead(int64_t first, int64_t last) {
    int32_t *mark = core.readBy[static_cast<int>(unit)];
    for (int64_t b = first; b <= last; ++b) mark[b] = self;
    core.lastRead[static_cast<int>(unit)] = self;
  }
  void MarkWrite(int64_t first, int64_t last) {
    int32_t *mark = core.written[static_cast<int>(unit)];
    for (int64_t b = first; b <= last; ++b) mark[b] = self;
    core.lastWrite[static_cast<int>(unit)] = self;
  }
  bool InOrder() const { return unit == Pipe::S || (kIs3510 && unit == Pipe::V); }
  template <typename T>
  bool SlicePlace(const AscendC::LocalTensor<T> &tensor, const char *operand, const Slices &slices, int64_t align, uint32_t *bytes,
                  int *blocks);
};

}  // namespace twin

#include "engine.h"
#include "tensor.h"
