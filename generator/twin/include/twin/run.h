// Running a launch: blocks on threads, faults of the scalar unit caught, a kernel that does not end abandoned.
#pragma once
#include <setjmp.h>
#include <signal.h>

#include <chrono>
#include <memory>
#include <thread>

#include "cube_run.h"

namespace twin {

TWIN_FN void Core::Start(Launch *owner, int blockIndex) {
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
  typeOfKey = false;
  cubeCore = blockIndex >= owner->vectors;
  cube = CubeState{};
  for (Flags &flag : flags) flag = Flags{};
  pipe = nullptr;
  padValueSet = false;
  counters = Counters{};
  reservedBy = atomicSite = Site{nullptr, 0};
  StartCopies();
  globals->Start(static_cast<size_t>(owner->arguments));
}

// What must hold when a kernel ends; then its copies take effect.
inline void Finish(Core &core) {
  CheckLeaks(core);
  CheckObjects(core);
  for (int event = 0; event < kEvents; ++event)
    for (int id = 0; id < kEventIds; ++id)
      if (core.flags[event].set[id])
        core.Report(Law::kSyncCount, core.flags[event].site[id], "SetFlag", "SetFlag<%s>(%d): nothing waits for this flag",
                    EventName(event).c_str(), id);
  if (core.atomicOp != 0) core.Report(Law::kAtomic, core.atomicSite, "SetAtomic", "the atomic mode is still set at the end of the kernel");
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

using Kernel = void (*)(uint8_t *const *);

// Runs the kernel on this thread's core, as the core was started. True when it ended early. `kernel` is called with the
// launch's argument pointers.
inline bool RunKernel(Core &core, Kernel kernel, uint8_t *const *pointers) {
  sigjmp_buf escape;
  volatile bool early = false;
  tlsEscape = &escape;
  if (sigsetjmp(escape, 1) == 0) {
    try {
      kernel(pointers);
      tlsEscape = nullptr;
      Finish(core);
    } catch (const StopCore &) {
      early = true;
    } catch (const std::exception &problem) {
      early = true;
      core.breaches.push_back(Breach{Law::kFault, Site{"", 0}, "kernel", problem.what(), core.index, 1});
    }
  } else {
    early = true;
    const char *what = tlsSignal == SIGFPE ? "an integer division by zero" : "a scalar access outside memory";
    if (core.On(Law::kFault))
      core.breaches.push_back(Breach{Law::kFault, Site{"", 0}, "kernel", std::string("the kernel stopped at ") + what, core.index, 1});
  }
  tlsEscape = nullptr;
  return early;
}

// Runs one virtual core of the launch on this thread's core.
inline void RunBlock(Running &launch, Core &core, int block, Kernel kernel, uint8_t *const *pointers) {
  tlsCore = &core;
  core.Start(&launch, block);
  bool early = RunKernel(core, kernel, pointers);
  if (early) launch.registered[static_cast<size_t>(block)] = Site{nullptr, -1};
  else if (core.cube.registered) launch.registered[static_cast<size_t>(block)] = core.cube.site;
  core.pipe = nullptr;
  try {
    core.BarrierAll();  // what is still under way lands now
    CloseLines(core, Site{"", 0});
  } catch (const StopCore &) {
    early = true;
  }
  LeaveSyncAll(launch, !core.cubeCore, early);
}

// Runs all blocks; `seconds` bounds the wall-clock time of a kernel that does not end.
inline void RunLaunch(Running &launch, int seconds, Kernel kernel, uint8_t *const *pointers) {
  static std::vector<std::unique_ptr<Core>> pool;
  const int hardware = static_cast<int>(std::thread::hardware_concurrency());
  const int workers = usesSyncAll ? launch.blockDim : (hardware > 0 && hardware < launch.blockDim ? hardware : launch.blockDim);
  while (static_cast<int>(pool.size()) < launch.blockDim) pool.push_back(nullptr);
  launch.gate.running = launch.blockDim;
  launch.vectorGate.running = launch.vectors;
  launch.unjoined.resize(static_cast<size_t>(launch.vectors));
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
        RunBlock(launch, *core, block, kernel, pointers);
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
  CheckPairs(launch);
  launch.EndPhase(true);
}

}  // namespace twin
