// Flags between pipes, barriers of one pipe, event ids, and the synchronisation of all cores.
#pragma once
#include "core.h"

// Pipes as the device compiler names them.
enum pipe_t { PIPE_S = 0, PIPE_V, PIPE_M, PIPE_MTE1, PIPE_MTE2, PIPE_MTE3, PIPE_ALL, PIPE_FIX };
enum event_t { EVENT_ID0 = 0, EVENT_ID1, EVENT_ID2, EVENT_ID3, EVENT_ID4, EVENT_ID5, EVENT_ID6, EVENT_ID7 };
using TEventID = int8_t;

namespace AscendC {

enum class HardEvent : uint8_t {
  // from pipe * 4 + to pipe for the pipes of a vector core
  S_S = 0, S_V, S_MTE2, S_MTE3, V_S, V_V, V_MTE2, V_MTE3, MTE2_S, MTE2_V, MTE2_MTE2, MTE2_MTE3, MTE3_S, MTE3_V, MTE3_MTE2, MTE3_MTE3,
  // events of the cube core, which this core does not have
  MTE2_MTE1, MTE1_MTE2, MTE1_M, M_MTE1, M_V, V_M, MTE3_MTE1, MTE1_MTE3, MTE1_V, V_MTE1, M_MTE2, MTE2_M, M_MTE3, MTE3_M, M_S, S_M,
  MTE1_S, S_MTE1, FIX_M, M_FIX, FIX_MTE2, MTE2_FIX, FIX_MTE3, MTE3_FIX, FIX_S, S_FIX, FIX_V, V_FIX, MAX
};

}  // namespace AscendC

namespace twin {

inline Pipe From(int event) { return static_cast<Pipe>(event / kPipes); }
inline Pipe To(int event) { return static_cast<Pipe>(event % kPipes); }
inline int EventOf(Pipe from, Pipe to) { return static_cast<int>(from) * kPipes + static_cast<int>(to); }

std::string EventName(int event);

// The lowest event id nobody holds, or -1.
int FreeEventId(const Flags &flags);

// A queue takes an event id, as EnQue and FreeTensor do on the device. -1 when there is none.
int TakeQueueEvent(Core &core, Pipe from, Pipe to, const char *api, Site site);
void DropQueueEvent(Core &core, Pipe from, Pipe to, int id);

// False when the event is not one of a vector core or the id is not 0..7.
bool EventLegal(Core &core, int event, int64_t id, const char *api, Site site);

// A legal event and id: SetFlag and WaitFlag.
void SetFlagOf(Core &core, int event, int id, Site site);
void WaitFlagOf(Core &core, int event, int id, Site site);
// Waits until every core of the launch, or every vector core, is here (phases.h). `hard`: not the version with workspaces.
void SyncAllCores(bool hard, bool vectorsOnly, Site site);
// Set when a kernel of this translation unit can call SyncAll: every core then needs a thread of its own.
inline bool usesSyncAll = false;
struct SyncAllUse {
  SyncAllUse() { usesSyncAll = true; }
};
template <bool>
struct SyncAllMark {
  static inline SyncAllUse use{};
};

// A flag between cores (cube_checks.h).
void CrossCoreFlag(const char *api, int64_t id, Site site);

}  // namespace twin

namespace AscendC {

template <uint8_t modeId, pipe_t pipe>
inline void CrossCoreSetFlag(int64_t flagId, twin::Site site = twin::Site::Here()) {
  twin::CrossCoreFlag("CrossCoreSetFlag", flagId, site);
}
template <uint8_t modeId = 0, pipe_t pipe = PIPE_S>
inline void CrossCoreWaitFlag(int64_t flagId, twin::Site site = twin::Site::Here()) {
  twin::CrossCoreFlag("CrossCoreWaitFlag", flagId, site);
}

template <HardEvent event>
inline void SetFlag(int64_t eventId, twin::Site site = twin::Site::Here()) {
  twin::Core &core = twin::Self();
  constexpr int kEvent = static_cast<int>(event);
  core.CheckStop();
  ++core.counters.flags;
  if (!twin::EventLegal(core, kEvent, eventId, "SetFlag", site)) return;
  if constexpr (kEvent < twin::kEvents) twin::SetFlagOf(core, kEvent, static_cast<int>(eventId), site);
}

template <HardEvent event>
inline void WaitFlag(int64_t eventId, twin::Site site = twin::Site::Here()) {
  twin::Core &core = twin::Self();
  constexpr int kEvent = static_cast<int>(event);
  if (!twin::EventLegal(core, kEvent, eventId, "WaitFlag", site)) return;
  if constexpr (kEvent < twin::kEvents) twin::WaitFlagOf(core, kEvent, static_cast<int>(eventId), site);
}

template <pipe_t pipe>
inline void PipeBarrier(twin::Site site = twin::Site::Here()) {
  twin::Core &core = twin::Self();
  core.CheckStop();
  ++core.counters.barriers;
  if constexpr (pipe == PIPE_ALL) core.BarrierAll();
  else if constexpr (pipe == PIPE_V) core.Barrier(twin::Pipe::V);
  else if constexpr (pipe == PIPE_MTE2) core.Barrier(twin::Pipe::MTE2);
  else if constexpr (pipe == PIPE_MTE3) core.Barrier(twin::Pipe::MTE3);
  else if constexpr (pipe == PIPE_S) core.Report(twin::Law::kPipeType, site, "PipeBarrier", "PipeBarrier<PIPE_S> does not exist");
}

template <bool isAIVOnly = true>
inline void SyncAll(twin::Site site = twin::Site::Here()) {
  (void)&twin::SyncAllMark<isAIVOnly>::use;
  twin::SyncAllCores(true, isAIVOnly, site);
}

inline int64_t GetBlockIdx();
inline int64_t GetBlockNum();

// Soft version: both workspaces at least 32 bytes per core; the global one zero.
template <bool isAIVOnly = true>
inline void SyncAll(const GlobalTensor<int32_t> &gmWorkspace, const LocalTensor<int32_t> &ubWorkspace, int32_t usedCores = 0,
                    twin::Site site = twin::Site::Here()) {
  (void)&twin::SyncAllMark<isAIVOnly>::use;
  twin::Core &core = twin::Self();
  const int64_t cores = usedCores > 0 ? usedCores : GetBlockNum();
  const int64_t bytes = cores * twin::kBlock;
  if (ubWorkspace.limit - ubWorkspace.start < bytes)
    core.Report(twin::Law::kLocalBounds, site, "SyncAll", "SyncAll: the local workspace has %lld bytes, %lld are needed (32 per core)",
                static_cast<long long>(ubWorkspace.limit - ubWorkspace.start), static_cast<long long>(bytes));
  int32_t zero = 0;
  if (core.index == 0 && twin::GlobalScalar("SyncAll", site, gmWorkspace.arg, gmWorkspace.address, gmWorkspace.Limit(),
                                            gmWorkspace.start + bytes - 4, 4, false))
    std::memcpy(&zero, gmWorkspace.address + gmWorkspace.start + bytes - 4, 4);
  if (zero != 0) core.Report(twin::Law::kGmUninitialised, site, "SyncAll", "SyncAll: the global workspace is not zero");
  twin::SyncAllCores(false, isAIVOnly, site);
}

}  // namespace AscendC
