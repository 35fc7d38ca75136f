// Between the cores of a launch: the barrier of all cores, the races between them, the collection of reports.
#pragma once
#include <sys/mman.h>

#include <condition_variable>
#include <mutex>

#include "checks.h"
#include "landing.h"

namespace twin {

// One barrier of many cores.
struct Gate {
  int running = 0, waiting = 0, left = 0, leftEarly = 0;
  int64_t generation = 0;
  bool broken = false;
};

// A launch under way, with what its threads share.
struct Running : Launch {
  std::vector<Breach> breaches;
  Counters counters;
  std::vector<int64_t> readBytes, writtenBytes;
  CubeTraffic cube;
  std::vector<Site> registered;  // per vector core: where it ran REGIST_MATMUL_OBJ
  std::mutex mutex;
  std::condition_variable arrived;
  Gate vectorGate, gate;  // SyncAll of the vector cores alone, and of all cores
  bool stuck = false;     // cores wait at different ones for ever
  std::vector<std::vector<GmAccess>> unjoined;  // per vector core: before a SyncAll of vector cores, since one of all cores

  void Collect(Core &core);
  void CollectBreaches(Core &core);
  void Release(Gate &which);
  void ReleaseStuck();
  void EndPhase(bool everyone);
  void CheckArgument(int index, bool everyone);
  void CheckKinds(int index);
  void Race(int core, GmAccess &access, const uint8_t *state, const uint8_t *at, int other);
  std::string CoreName(int core) const;
  void ReportAccess(const GmAccess &a, Law law, int core, const std::string &text);
};

// Zeros in address space: a page takes memory when it is first written.
inline void *ReserveMemory(int64_t bytes) {
  void *memory = mmap(nullptr, static_cast<size_t>(bytes > 0 ? bytes : 1), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) throw std::bad_alloc();
  return memory;
}
inline void ReleaseMemory(void *memory, int64_t bytes) {
  if (memory != nullptr) munmap(memory, static_cast<size_t>(bytes > 0 ? bytes : 1));
}

// The state of each byte of an argument, made when it is first needed.
static_assert(kNever == 0, "fresh memory is of bytes nobody wrote");
TWIN_FN uint8_t *StateOf(Launch &launch, GmArg &arg) {
  uint8_t *state = arg.state.load(std::memory_order_acquire);
  if (state != nullptr) return state;
  std::lock_guard<std::mutex> lock(static_cast<Running &>(launch).mutex);
  state = arg.state.load(std::memory_order_relaxed);
  if (state == nullptr) {
    const bool blank = arg.role == Role::kOutput || arg.role == Role::kWorkspace;
    state = static_cast<uint8_t *>(ReserveMemory(arg.bytes));
    if (!blank) std::memset(state, kDefined, static_cast<size_t>(arg.bytes));
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
  const uint8_t mine = WrittenBy(me), added = AddedBy(me), most = atomic ? kMaxCores + 1 : kNow;  // states from `most` on do not count
  const auto foreign = [=](uint8_t s) { return static_cast<uint8_t>((s != kNever) & (s != mine) & (s != added) & (s < most)); };
  uint8_t any = 0;
  for (int64_t i = 0; i < count; ++i) any = static_cast<uint8_t>(any | foreign(state[i]));
  for (int64_t i = 0; any != 0 && i < count; ++i) {
    const uint8_t s = state[i];
    if (!foreign(s)) continue;
    return s > kMaxCores ? (s == kAtomicMany ? kMaxCores : s - 1 - kMaxCores) : s - 1;
  }
  return -1;
}

TWIN_FN std::string Running::CoreName(int core) const {
  if (core >= blockDim) return "another core";
  return (!cubes ? "core " : (core < vectors ? "vector core " : "cube core ")) + std::to_string(core < vectors ? core : core - vectors);
}

TWIN_FN void Running::Race(int core, GmAccess &a, const uint8_t *state, const uint8_t *at, int other) {
  const bool mixed = (core < vectors) != (other < vectors);
  char text[256];
  std::snprintf(text, sizeof text, "%s on %s %s %s %lld of kernel argument %d that %s writes, with no SyncAll%s between", a.api, CoreName(core).c_str(),
                a.write ? "writes" : "reads", a.line ? "the 64-byte line at byte" : "bytes from", static_cast<long long>(at - state),
                args[static_cast<size_t>(a.arg)].position, CoreName(other).c_str(), mixed ? "<false>" : "");
  ReportAccess(a, Law::kCoreRace, core, text);
  a.suspect = false;
}

// Calls what(access, address) for each run of the accesses to one argument.
template <typename F>
void EachRun(std::vector<GmAccess> &accesses, int index, uint8_t *state, F what) {
  for (GmAccess &a : accesses)
    if (a.arg == index)
      for (int64_t i = 0; i < a.count; ++i) what(a, state + a.offset + i * a.stride);
}

// Compares the accesses of cores to one argument in the phase that ends: all cores', or the vector cores'. They stand still.
TWIN_FN void Running::CheckArgument(int index, bool everyone) {
  uint8_t *state = args[static_cast<size_t>(index)].state.load();
  const auto each = [&](const auto &what) {
    for (int core = 0; core < (everyone ? blockDim : vectors); ++core)
      EachRun(logs[static_cast<size_t>(core)]->accesses, index, state, [&](GmAccess &a, uint8_t *at) { what(core, a, at); });
  };
  each([](int, GmAccess &a, uint8_t *at) {
    if (a.write && !a.line)
      for (int64_t i = 0, count = a.run; i < count; ++i) at[i] = static_cast<uint8_t>(at[i] == kNever ? kNever : kNow);
  });
  each([&](int core, GmAccess &a, uint8_t *at) {
    if (!a.write || a.line) return;
    const int other = OtherWriter(at, a.run, core, a.atomic);
    if (other >= 0) Race(core, a, state, at, other);
    MarkWritten(at, a.run, core, a.atomic, blockDim);
  });
  each([&](int core, GmAccess &a, uint8_t *at) {
    if (a.write && !a.line && !a.suspect) return;
    const int other = OtherWriter(at, a.run, core, a.atomic);
    if (other >= 0) Race(core, a, state, at, other);
    else if (a.suspect) ReportAccess(a, Law::kGmUninitialised, core, std::string(a.api) + (a.write ? " accumulates onto" : " reads") +
                                     " bytes of kernel argument " + std::to_string(args[static_cast<size_t>(index)].position) +
                                     " that nothing wrote, from byte " + std::to_string(at - state) + " on");
  });
  each([](int, GmAccess &a, uint8_t *at) {
    if (a.write && !a.line) std::memset(at, kDefined, static_cast<size_t>(a.run));
  });
}

// Compares what vector cores did before a SyncAll of theirs with what cube cores do, when all cores stand still.
TWIN_FN void Running::CheckKinds(int index) {
  uint8_t *state = args[static_cast<size_t>(index)].state.load();
  const auto vectorRuns = [&](const auto &what) {
    for (int core = 0; core < vectors; ++core)
      EachRun(unjoined[static_cast<size_t>(core)], index, state, [&](GmAccess &a, uint8_t *at) { what(core, a, at); });
  };
  const auto cubeRuns = [&](const auto &what) {
    for (int core = vectors; core < blockDim; ++core)
      EachRun(logs[static_cast<size_t>(core)]->accesses, index, state, [&](GmAccess &a, uint8_t *at) { what(core, a, at); });
  };
  const auto compare = [&](int core, GmAccess &a, uint8_t *at) {
    if (a.line) return;
    const int other = OtherWriter(at, a.run, core, a.write && a.atomic);
    if (other >= 0 && (core < vectors) != (other < vectors)) Race(core, a, state, at, other);
  };
  const auto mark = [&](int core, GmAccess &a, uint8_t *at) {
    if (!a.write || a.line) return;
    std::memset(at, kNow, static_cast<size_t>(a.run));
    MarkWritten(at, a.run, core, a.atomic, blockDim);
  };
  const auto settle = [&](int, GmAccess &a, uint8_t *at) {
    if (a.write && !a.line) std::memset(at, kDefined, static_cast<size_t>(a.run));
  };
  vectorRuns(mark);
  cubeRuns(compare);
  vectorRuns(settle);
  cubeRuns(mark);
  vectorRuns([&](int core, GmAccess &a, uint8_t *at) {
    if (!a.write) compare(core, a, at);
  });
  cubeRuns(settle);
}

TWIN_FN void Running::EndPhase(bool everyone) {
  bool kinds = false;
  for (const auto &accesses : unjoined) kinds = kinds || !accesses.empty();
  for (size_t i = 0; blockDim > 1 && i < args.size(); ++i) {
    if (args[i].state.load() == nullptr) continue;
    if (everyone && kinds) CheckKinds(static_cast<int>(i));
    CheckArgument(static_cast<int>(i), everyone);
  }
  for (int core = 0; core < (everyone ? blockDim : vectors); ++core) {
    GlobalLog &log = *logs[static_cast<size_t>(core)];
    for (const AtomicCopy &copy : log.atomics) ApplyAtomic(args[static_cast<size_t>(copy.arg)].base + copy.offset, copy);
    log.atomics.clear();
    if (!everyone) {
      std::vector<GmAccess> &kept = unjoined[static_cast<size_t>(core)];
      kept.insert(kept.end(), log.accesses.begin(), log.accesses.end());
    }
    log.accesses.clear();
  }
  if (!everyone) return;
  for (GmArg &arg : args) arg.touched = false;
  for (auto &accesses : unjoined) accesses.clear();
}

// All cores of a gate that still run are at it (the mutex is held): the phase ends.
TWIN_FN void Running::Release(Gate &which) {
  which.broken = which.left > 0;
  if (!which.broken || !laws[static_cast<int>(Law::kSyncCount)]) EndPhase(&which == &gate);
  ++which.generation;
  which.waiting = 0;
  arrived.notify_all();
}

// Every core that still runs waits, some for vector cores, some for all: nobody will come.
TWIN_FN void Running::ReleaseStuck() {
  if (vectorGate.waiting == 0 || gate.waiting == 0 || vectorGate.waiting + gate.waiting < gate.running) return;
  stuck = true;
  for (Gate *which : {&vectorGate, &gate}) {
    which->broken = true;
    ++which->generation;
    which->waiting = 0;
  }
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

// False when the SyncAll cannot be one of this core: reported, and passed over.
TWIN_FN bool SyncAllLegal(Core &core, const Running &launch, bool hard, bool vectorsOnly, Site site) {
  const auto need = [&](bool condition, const char *format, auto... values) {
    if (!condition) core.Report(Law::kSyncAllType, site, "SyncAll", format, values...);
    return condition;
  };
  need(launch.vectors <= launch.physicalCores, "SyncAll with %d blocks on %d cores: the device would hang", launch.vectors, launch.physicalCores);
  if (!launch.cubes) {
    need(!hard || core.kernelType == static_cast<int>(KernelType::KERNEL_TYPE_MIX_AIV_1_0), "SyncAll needs KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_MIX_AIV_1_0)");
    need(vectorsOnly, "SyncAll<false> waits for cube cores, which this kernel does not have");
    return true;
  }
  if (core.cubeCore) return need(!vectorsOnly, "SyncAll<true> is for vector cores, on a cube core it is SyncAll<false>");
  return need(vectorsOnly || !core.cube.registered, "SyncAll<false> waits for cube cores, which serve the Matmul objects of vector cores");
}

TWIN_FN void SyncAllCores(bool hard, bool vectorsOnly, Site site) {
  Core &core = Self();
  Running &launch = static_cast<Running &>(*core.launch);
  ++core.counters.syncAlls;
  if (!SyncAllLegal(core, launch, hard, vectorsOnly, site)) return;
  core.BarrierAll();
  CloseLines(core, site);
  Gate &gate = launch.cubes && vectorsOnly ? launch.vectorGate : launch.gate;
  std::unique_lock<std::mutex> lock(launch.mutex);
  const int64_t mine = gate.generation;
  ++gate.waiting;
  if (gate.waiting == gate.running) launch.Release(gate);
  else launch.ReleaseStuck();
  launch.arrived.wait(lock, [&] { return gate.generation != mine || launch.stop; });
  if (!gate.broken && !launch.stop) return;
  const bool quiet = gate.leftEarly > 0 || launch.stop, stuck = launch.stuck;
  const int lost = gate.left, cores = gate.left + gate.running;
  lock.unlock();
  if (!quiet && stuck)
    core.Report(Law::kSyncCount, site, "SyncAll", "SyncAll%s: other cores wait at SyncAll%s, the device would hang", vectorsOnly ? "" : "<false>",
                vectorsOnly ? "<false>" : "");
  else if (!quiet)
    core.Report(Law::kSyncCount, site, "SyncAll", "SyncAll: %d of %d cores ended without reaching it, the device would hang", lost, cores);
  if (quiet || stuck || core.On(Law::kSyncCount)) core.Stop();
}

// A core that ends may leave others waiting at SyncAll for ever; they are released and report it.
TWIN_FN void LeaveSyncAll(Running &launch, bool vector, bool early) {
  std::lock_guard<std::mutex> lock(launch.mutex);
  for (Gate *gate : {&launch.vectorGate, &launch.gate}) {
    if (gate == &launch.vectorGate && !vector) continue;
    --gate->running;
    ++gate->left;
    if (early) ++gate->leftEarly;
    if (gate->waiting > 0 && gate->waiting == gate->running) launch.Release(*gate);
  }
  launch.ReleaseStuck();
}

}  // namespace twin
