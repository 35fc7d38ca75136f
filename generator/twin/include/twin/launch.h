// One launch: arguments, virtual cores in threads, the barrier of all cores, and the check of global memory between phases.
#pragma once
#include <setjmp.h>
#include <signal.h>

#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <thread>

#include "macros.h"
#include "memory.h"
#include "queue.h"

namespace twin {

struct Launch {
  std::vector<GmArg> args;  // kernel arguments with distinct memory; the workspace last
  const uint8_t *tiling = nullptr;
  int64_t tilingBytes = 0;
  uint64_t key = 0;
  int blockDim = 1;
  int physicalCores = 1;
  int64_t ubBytes = 0;
  int kernelArguments = 0;
  bool laws[kLaws] = {};


  std::vector<Breach> breaches;
  Counters counters;
  std::vector<int64_t> readBytes, writtenBytes;
  std::atomic<bool> stop{false};

  std::mutex mutex;
  std::condition_variable arrived;
  int running = 0, waiting = 0, left = 0, leftEarly = 0;
  int64_t generation = 0;
  bool broken = false;

  std::vector<GlobalLog *> logs;  // one per block

  void Collect(Core &core);
  void EndPhase();
  void Release();
  void CheckArgument(int index);

};

void CloseLines(Core &core, Site site);  // gm.h

// All cores that still run are at SyncAll (the mutex is held): the phase ends.
inline void Launch::Release() {
  broken = left > 0;
  if (!broken || !laws[static_cast<int>(Law::kSyncCount)]) EndPhase();
  ++generation;
  waiting = 0;
  arrived.notify_all();
}

inline int FindArg(const void *address) {
  const uint8_t *p = static_cast<const uint8_t *>(address);
  Launch &launch = *Self().launch;
  for (size_t i = 0; i < launch.args.size(); ++i) {
    const GmArg &arg = launch.args[i];
    if (p >= arg.base && (p < arg.base + arg.bytes || (p == arg.base && arg.bytes == 0))) return static_cast<int>(i);
  }
  return -1;
}

inline uint64_t TilingKey() { return Self().launch->key; }
inline void DeclareKernelType(KernelType type) { Self().kernelType = static_cast<int>(type); }

inline void CopyTiling(void *to, size_t bytes, const void *from, Site site) {
  Launch &launch = *Self().launch;
  const int64_t want = static_cast<int64_t>(bytes);
  std::memset(to, 0, bytes);
  if (from != launch.tiling || want > launch.tilingBytes) {
    Self().Report(Law::kTilingData, site, "GET_TILING_DATA", "the tiling structure has %lld bytes, the host wrote %lld",
                  static_cast<long long>(want), static_cast<long long>(launch.tilingBytes));
    if (from != launch.tiling) Self().Stop();
  }
  std::memcpy(to, from, static_cast<size_t>(want < launch.tilingBytes ? want : launch.tilingBytes));
}

inline void Core::Start(Launch *owner, int blockIndex) {
  launch = owner;
  index = blockIndex;
  stop = &owner->stop;
  ubBytes = owner->ubBytes;
  std::memcpy(lawOn, owner->laws, sizeof lawOn);
  const bool strays = !On(Law::kLocalBounds) || !On(Law::kUbCapacity);
  std::memset(filled, 0, static_cast<size_t>(strays ? kArena / kBlock : (ubBytes + kReservedUb) / kBlock) * sizeof(uint32_t));
  if (seq[0] > (1 << 29) || seq[1] > (1 << 29) || seq[2] > (1 << 29) || seq[3] > (1 << 29)) {
    for (int p = 0; p < kPipes; ++p) {
      std::memset(written[p], 0, static_cast<size_t>(kArena / kBlock) * sizeof(int32_t));
      std::memset(readBy[p], 0, static_cast<size_t>(kArena / kBlock) * sizeof(int32_t));
      lastWrite[p] = lastRead[p] = seq[p] = 0;
    }
  }
  for (int p = 0; p < kPipes; ++p)  // what an earlier block did is over
    for (int q = 0; q < kPipes; ++q) know[p][q] = seq[q];
  landed[0] = seq[2];
  landed[1] = seq[3];
  highWater = 0;
  vector = VectorState{};
  buffers.clear();
  breaches.clear();
  liveBuffers = queues = kernelType = atomicOp = atomicType = 0;
  for (Flags &flag : flags) flag = Flags{};
  pipe = nullptr;
  counters = Counters{};
  reservedBy = atomicSite = Site{nullptr, 0};
  StartCopies();
  globals->Start(owner->readBytes.size());
}

// What must hold when a kernel ends; then its copies take effect.
inline void Finish(Core &core) {
  CheckLeaks(core);
  for (int event = 0; event < kEvents; ++event)
    for (int id = 0; id < kEventIds; ++id)
      if (core.flags[event].set[id])
        core.Report(Law::kSyncCount, core.flags[event].site[id], "SetFlag", "SetFlag<%s>(%d): nothing waits for this flag",
                    EventName(event).c_str(), id);
  if (core.atomicOp != 0) core.Report(Law::kAtomic, core.atomicSite, "SetAtomic", "the atomic mode is still set at the end of the kernel");
}

inline void Launch::Collect(Core &core) {
  for (Breach &breach : core.breaches) {
    bool known = false;
    for (Breach &old : breaches) {
      if (old.law != breach.law || old.site.line != breach.site.line || old.site.file != breach.site.file ||
          std::strcmp(old.api, breach.api) != 0)
        continue;
      old.times += breach.times;
      if (breach.core < old.core) {
        old.core = breach.core;
        old.text = breach.text;
      }
      known = true;
      break;
    }
    if (!known) breaches.push_back(breach);
  }
  core.breaches.clear();
  for (int p = 0; p < kPipes; ++p) counters.instructions[p] += core.counters.instructions[p];
  counters.barriers += core.counters.barriers;
  counters.flags += core.counters.flags;
  counters.syncAlls += core.counters.syncAlls;
  for (size_t i = 0; i < readBytes.size(); ++i) {
    readBytes[i] += core.globals->readBytes[i];
    writtenBytes[i] += core.globals->writtenBytes[i];
  }
}

inline void SyncAllCores(bool hard, Site site) {
  Core &core = Self();
  Launch &launch = *core.launch;
  ++core.counters.syncAlls;
  if (hard && core.kernelType != static_cast<int>(KernelType::KERNEL_TYPE_MIX_AIV_1_0))
    core.Report(Law::kSyncAllType, site, "SyncAll", "SyncAll needs KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_MIX_AIV_1_0)");
  if (launch.blockDim > launch.physicalCores)
    core.Report(Law::kSyncAllType, site, "SyncAll", "SyncAll with %d blocks on %d cores: the device would hang", launch.blockDim,
                launch.physicalCores);
  core.BarrierAll();
  CloseLines(core, site);
  std::unique_lock<std::mutex> lock(launch.mutex);
  const int64_t mine = launch.generation;
  ++launch.waiting;
  const auto complete = [&launch] { return launch.waiting == launch.running; };
  if (complete()) {
    launch.Release();
  } else {
    launch.arrived.wait(lock, [&] { return launch.generation != mine || launch.stop; });
  }
  if (launch.broken || launch.stop) {
    const bool quiet = launch.leftEarly > 0 || launch.stop;
    const int lost = launch.left;
    lock.unlock();
    if (!quiet)
      core.Report(Law::kSyncCount, site, "SyncAll", "SyncAll: %d of %d cores ended without reaching it, the device would hang", lost,
                  launch.blockDim);
    if (quiet || core.On(Law::kSyncCount)) core.Stop();
  }
}

// A core that ends may leave others waiting at SyncAll for ever; they are released and report it.
inline void LeaveSyncAll(Launch &launch, bool early) {
  std::lock_guard<std::mutex> lock(launch.mutex);
  --launch.running;
  ++launch.left;
  if (early) ++launch.leftEarly;
  if (launch.waiting > 0 && launch.waiting == launch.running) launch.Release();
}

// --- faults of the scalar unit -----------------------------------------------------------------------------------------

inline thread_local sigjmp_buf *tlsEscape = nullptr;
inline thread_local int tlsSignal = 0;
inline struct sigaction oldHandlers[3];
constexpr int kSignals[3] = {SIGFPE, SIGSEGV, SIGBUS};

inline void OnFault(int signal, siginfo_t *, void *) {
  if (tlsEscape == nullptr) {  // not ours
    ::signal(signal, SIG_DFL);
    return;
  }
  tlsSignal = signal;
  siglongjmp(*tlsEscape, 1);
}
inline void CatchFaults() {
  struct sigaction action;
  std::memset(&action, 0, sizeof action);
  action.sa_sigaction = OnFault;
  action.sa_flags = SA_SIGINFO | SA_NODEFER;
  for (int i = 0; i < 3; ++i) sigaction(kSignals[i], &action, &oldHandlers[i]);
}
inline void RestoreFaults() {
  for (int i = 0; i < 3; ++i) sigaction(kSignals[i], &oldHandlers[i], nullptr);
}

// Runs one block on this thread's core. `kernel` is called with the launch's argument pointers.
template <typename Kernel>
void RunBlock(Launch &launch, Core &core, int block, const Kernel &kernel) {
  tlsCore = &core;
  core.Start(&launch, block);
  sigjmp_buf escape;
  volatile bool early = false;
  tlsEscape = &escape;
  if (sigsetjmp(escape, 1) == 0) {
    try {
      kernel();
      tlsEscape = nullptr;
      Finish(core);
    } catch (const StopCore &) {
      early = true;
    } catch (const std::exception &problem) {
      early = true;
      core.breaches.push_back(Breach{Law::kFault, Site{"", 0}, "kernel", problem.what(), block, 1});
    }
  } else {
    early = true;
    const char *what = tlsSignal == SIGFPE ? "an integer division by zero" : "a scalar access outside memory";
    if (core.On(Law::kFault))
      core.breaches.push_back(Breach{Law::kFault, Site{"", 0}, "kernel", std::string("the kernel stopped at ") + what, block, 1});
  }
  tlsEscape = nullptr;
  core.pipe = nullptr;
  try {
    core.BarrierAll();  // what is still under way lands now
    CloseLines(core, Site{"", 0});
  } catch (const StopCore &) {
    early = true;
  }
  LeaveSyncAll(launch, early);
}

// Runs all blocks; `seconds` bounds the wall-clock time of a kernel that does not end.
template <typename Kernel>
__attribute__((cold)) void RunLaunch(Launch &launch, int seconds, const Kernel &kernel) {
  static std::vector<std::unique_ptr<Core>> pool;
  const int hardware = static_cast<int>(std::thread::hardware_concurrency());
  const int workers = usesSyncAll ? launch.blockDim : (hardware > 0 && hardware < launch.blockDim ? hardware : launch.blockDim);
  while (static_cast<int>(pool.size()) < launch.blockDim) pool.push_back(nullptr);
  launch.running = launch.blockDim;
  std::atomic<int> next{0}, finished{0};
  std::mutex collect;
  std::condition_variable done;
  CatchFaults();
  // Without SyncAll a worker's core serves several blocks; logs of global memory are kept apart, one per block.
  std::vector<std::unique_ptr<GlobalLog>> logs(static_cast<size_t>(launch.blockDim));
  for (auto &log : logs) log.reset(new GlobalLog);
  launch.logs.clear();
  for (auto &log : logs) launch.logs.push_back(log.get());
  std::vector<std::thread> threads;
  for (int w = 0; w < workers; ++w) {
    if (!pool[static_cast<size_t>(w)]) pool[static_cast<size_t>(w)].reset(new Core);
    Core *core = pool[static_cast<size_t>(w)].get();
    threads.emplace_back([&, core] {
      for (;;) {
        const int block = next.fetch_add(1);
        if (block >= launch.blockDim) break;
        core->globals = logs[static_cast<size_t>(block)].get();
        RunBlock(launch, *core, block, kernel);
        std::lock_guard<std::mutex> lock(collect);
        launch.Collect(*core);
        if (finished.fetch_add(1) + 1 == launch.blockDim) done.notify_all();
      }
      tlsCore = nullptr;
    });
  }
  {
    std::unique_lock<std::mutex> lock(collect);
    const auto ended = [&] { return finished.load() == launch.blockDim; };
    if (!done.wait_for(lock, std::chrono::seconds(seconds), ended)) {
      if (launch.laws[static_cast<int>(Law::kFault)])
        launch.breaches.push_back(Breach{Law::kFault, Site{"", 0}, "kernel", "the kernel did not end within " + std::to_string(seconds) + " s", 0, 1});
      launch.stop = true;
      launch.arrived.notify_all();
    }
  }
  for (std::thread &thread : threads) thread.join();
  RestoreFaults();
  launch.EndPhase();
}

}  // namespace twin

namespace AscendC {
inline int64_t GetBlockIdx() { return twin::Self().index; }
inline int64_t GetBlockNum() { return twin::Self().launch->blockDim; }
inline int64_t GetSubBlockIdx() { return 0; }
inline int64_t GetSubBlockNum() { return 1; }
inline int64_t GetTaskRation() { return 1; }
inline int64_t GetTaskRatio() { return 1; }
inline GM_ADDR GetUserWorkspace(GM_ADDR workspace) { return workspace; }
inline void SetSysWorkspace(GM_ADDR) {}
}  // namespace AscendC
