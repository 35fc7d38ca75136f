// Between the cores of a launch: the barrier of all cores, the races between them, the collection of reports.
#pragma once
#include <condition_variable>
#include <mutex>

#include "checks.h"
#include "landing.h"

namespace twin {

// A launch under way, with what its threads share.
struct Running : Launch {
  std::vector<Breach> breaches;
  Counters counters;
  std::vector<int64_t> readBytes, writtenBytes;
  CubeTraffic cube;
  std::vector<Site> registered;  // per vector core: where it ran REGIST_MATMUL_OBJ
  std::mutex mutex;
  std::condition_variable arrived;
  int running = 0, waiting = 0, left = 0, leftEarly = 0;
  int64_t generation = 0;
  bool broken = false;

  void Collect(Core &core);
  void CollectBreaches(Core &core);
  void Release();
  void EndPhase();
  void CheckArgument(int index);
  void ReportAccess(const GmAccess &a, Law law, int core, const std::string &text);
};

// The state of each byte of an argument, made when it is first needed.
TWIN_FN uint8_t *StateOf(Launch &launch, GmArg &arg) {
  uint8_t *state = arg.state.load(std::memory_order_acquire);
  if (state != nullptr) return state;
  std::lock_guard<std::mutex> lock(static_cast<Running &>(launch).mutex);
  state = arg.state.load(std::memory_order_relaxed);
  if (state == nullptr) {
    const bool blank = arg.role == Role::kOutput || arg.role == Role::kWorkspace;
    state = static_cast<uint8_t *>(std::malloc(static_cast<size_t>(arg.bytes > 0 ? arg.bytes : 1)));
    std::memset(state, blank ? kNever : kDefined, static_cast<size_t>(arg.bytes));
    arg.state.store(state, std::memory_order_release);
  }
  return state;
}

// --- between phases -------------------------------------------------------------------------------------------------

TWIN_FN void Running::ReportAccess(const GmAccess &a, Law law, int core, const std::string &text) {
  if (!laws[static_cast<int>(law)]) return;
  for (Breach &old : breaches) {
    if (old.law == law && old.site.line == a.site.line && old.site.file == a.site.file && std::strcmp(old.api, a.api) == 0) {
      ++old.times;
      return;
    }
  }
  breaches.push_back(Breach{law, a.site, a.api, text, core, 1});
}

// The first core (other than `me`) that wrote one of these bytes in this phase, or -1. `atomic`: accumulating itself.
TWIN_FN int OtherWriter(const uint8_t *state, int64_t count, int me, bool atomic) {
  const uint8_t mine = static_cast<uint8_t>(me + 1), added = static_cast<uint8_t>(me + 65);
  for (int64_t i = 0; i < count; ++i) {
    const uint8_t s = state[i];
    if (s == kNever || s == mine || s == added || s >= kNow) continue;
    if (atomic && s >= 65) continue;
    return s >= 65 ? (s == kAtomicMany ? kMaxCores : s - 65) : s - 1;
  }
  return -1;
}

// Compares the accesses of all cores to one argument in the phase that ends. All cores stand still.
TWIN_FN void Running::CheckArgument(int index) {
  GmArg &arg = args[static_cast<size_t>(index)];
  uint8_t *state = arg.state.load();
  const auto each = [&](const auto &what) {
    for (size_t core = 0; core < logs.size(); ++core)
      for (const GmAccess &a : logs[core]->accesses)
        if (a.arg == index)
          for (int64_t i = 0; i < a.count; ++i) what(static_cast<int>(core), a, state + a.offset + i * a.stride);
  };
  const auto race = [&](int core, const GmAccess &a, const uint8_t *at, int other) {
    char text[256];
    std::snprintf(text, sizeof text, "%s on core %d %s %s %lld of kernel argument %d that core %d writes, with no SyncAll between", a.api, core,
                  a.write ? "writes" : "reads", a.line ? "the 64-byte line at byte" : "bytes from", static_cast<long long>(at - state), arg.position,
                  other);
    ReportAccess(a, Law::kCoreRace, core, text);
  };
  each([](int, const GmAccess &a, uint8_t *at) {
    if (a.write && !a.line)
      for (int64_t i = 0; i < a.run; ++i) at[i] = at[i] == kNever ? kNever : kNow;
  });
  each([&](int core, const GmAccess &a, uint8_t *at) {
    if (!a.write || a.line) return;
    const int other = OtherWriter(at, a.run, core, a.atomic);
    if (other >= 0) race(core, a, at, other);
    MarkWritten(at, a.run, core, a.atomic, blockDim);
  });
  each([&](int core, const GmAccess &a, uint8_t *at) {
    if (a.write && !a.line && !a.suspect) return;
    const int other = OtherWriter(at, a.run, core, a.atomic);
    if (other >= 0) race(core, a, at, other);
    else if (a.suspect) ReportAccess(a, Law::kGmUninitialised, core, std::string(a.api) + (a.write ? " accumulates onto" : " reads") +
                                     " bytes of kernel argument " + std::to_string(arg.position) + " that nothing wrote, from byte " +
                                     std::to_string(at - state) + " on");
  });
  each([](int, const GmAccess &a, uint8_t *at) {
    if (a.write && !a.line) std::memset(at, kDefined, static_cast<size_t>(a.run));
  });
}

TWIN_FN void Running::EndPhase() {
  if (blockDim > 1)
    for (size_t i = 0; i < args.size(); ++i)
      if (args[i].state.load() != nullptr) CheckArgument(static_cast<int>(i));
  for (GmArg &arg : args) arg.touched = false;
  for (GlobalLog *log : logs) {
    for (const AtomicCopy &copy : log->atomics) ApplyAtomic(args[static_cast<size_t>(copy.arg)].base + copy.offset, copy);
    log->atomics.clear();
    log->accesses.clear();
  }
}

// All cores that still run are at SyncAll (the mutex is held): the phase ends.
TWIN_FN void Running::Release() {
  broken = left > 0;
  if (!broken || !laws[static_cast<int>(Law::kSyncCount)]) EndPhase();
  ++generation;
  waiting = 0;
  arrived.notify_all();
}

TWIN_FN void Running::CollectBreaches(Core &core) {
  std::lock_guard<std::mutex> lock(mutex);
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
}

TWIN_FN void Running::Collect(Core &core) {
  CollectBreaches(core);
  for (int p = 0; p < kPipes; ++p) counters.instructions[p] += core.counters.instructions[p];
  counters.barriers += core.counters.barriers;
  counters.flags += core.counters.flags;
  counters.syncAlls += core.counters.syncAlls;
  for (size_t i = 0; i < readBytes.size(); ++i) {
    readBytes[i] += core.globals->readBytes[i];
    writtenBytes[i] += core.globals->writtenBytes[i];
    cube.readBytes[i] += core.globals->cube.readBytes[i];
    cube.writtenBytes[i] += core.globals->cube.writtenBytes[i];
  }
  cube.systemRead += core.globals->cube.systemRead;
  cube.systemWritten += core.globals->cube.systemWritten;
  cube.multiplyAdds += core.globals->cube.multiplyAdds;
}

TWIN_FN void SyncAllCores(bool hard, Site site) {
  Core &core = Self();
  if (core.cubeCore) core.StopCube("SyncAll", site);
  Running &launch = static_cast<Running &>(*core.launch);
  ++core.counters.syncAlls;
  if (hard && !launch.cubes && core.kernelType != static_cast<int>(KernelType::KERNEL_TYPE_MIX_AIV_1_0))
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
TWIN_FN void LeaveSyncAll(Running &launch, bool early) {
  std::lock_guard<std::mutex> lock(launch.mutex);
  --launch.running;
  ++launch.left;
  if (early) ++launch.leftEarly;
  if (launch.waiting > 0 && launch.waiting == launch.running) launch.Release();
}

}  // namespace twin
