// Bodies of the law engine: reports, the shadow of the unified buffer, event ids, buffers. Part of the runtime (runtime.cpp).
#pragma once
#include "copy.h"

namespace twin {

TWIN_FN Core::Core() {
  const size_t blocks = static_cast<size_t>(kArena / kBlock);
  ub = static_cast<uint8_t *>(std::aligned_alloc(512, static_cast<size_t>(kArena)));
  filled = static_cast<uint32_t *>(std::calloc(blocks, sizeof(uint32_t)));
  for (int p = 0; p < kPipes; ++p) {
    written[p] = static_cast<int32_t *>(std::calloc(blocks, sizeof(int32_t)));
    readBy[p] = static_cast<int32_t *>(std::calloc(blocks, sizeof(int32_t)));
  }
}

TWIN_FN void Core::Report(Law law, Site site, const char *api, const char *format, ...) {
  if (!On(law)) return;
  for (Breach &old : breaches) {
    if (old.law == law && old.site.line == site.line && old.site.file == site.file && std::strcmp(old.api, api) == 0) {
      ++old.times;
      return;
    }
  }
  char text[512];
  va_list args;
  va_start(args, format);
  std::vsnprintf(text, sizeof text, format, args);
  va_end(args);
  breaches.push_back(Breach{law, site, api, text, index, 1});
  if (static_cast<int>(breaches.size()) >= kMaxBreaches) Stop();
}

TWIN_FN void Core::StopCube(const char *api, Site site) {
  Report(Law::kCubeCore, site, api, "%s is work of a vector core, and a cube core runs it too; guard it with if ASCEND_IS_AIV", api);
  Stop();
}

TWIN_FN void Instr::FillShadow(Core &core, int64_t offset, int64_t bytes, bool defined) {
  if (bytes <= 0) return;
  const int64_t first = offset / kBlock, last = (offset + bytes - 1) / kBlock;
  const uint32_t head = kAllBytes << (offset % kBlock);
  const uint32_t tail = kAllBytes >> (kBlock - 1 - (offset + bytes - 1) % kBlock);
  uint32_t *mark = core.filled;
  const auto put = [mark, defined](int64_t block, uint32_t mask) { mark[block] = defined ? mark[block] | mask : mark[block] & ~mask; };
  if (first == last) {
    put(first, head & tail);
    return;
  }
  put(first, head);
  const uint32_t whole = defined ? kAllBytes : 0u;
  for (int64_t b = first + 1; b < last; ++b) mark[b] = whole;
  put(last, tail);
}

TWIN_FN void Instr::Filled(const char *operand, int64_t offset, int64_t bytes) {
  const int64_t first = offset / kBlock, last = (offset + bytes - 1) / kBlock;
  const uint32_t head = kAllBytes << (offset % kBlock);
  const uint32_t tail = kAllBytes >> (kBlock - 1 - (offset + bytes - 1) % kBlock);
  const uint32_t *mark = core.filled;
  if (first == last) {
    const uint32_t want = head & tail;
    if (__builtin_expect((mark[first] & want) != want, 0)) Uninitialised(operand, first * kBlock, mark[first], want);
    return;
  }
  uint32_t all = (mark[first] | ~head) & (mark[last] | ~tail);
  for (int64_t b = first + 1; b < last; ++b) all &= mark[b];
  if (__builtin_expect(all == kAllBytes, 1)) return;
  for (int64_t b = first; b <= last; ++b) {
    const uint32_t want = b == first ? head : (b == last ? tail : kAllBytes);
    if ((mark[b] & want) != want) {
      Uninitialised(operand, b * kBlock, mark[b], want);
      break;
    }
  }
  if (core.On(Law::kUninitialised)) Fill(offset, bytes, true);  // said once; do not repeat it for all that follows
}

TWIN_FN void Instr::Uninitialised(const char *operand, int64_t offset, uint32_t have, uint32_t want) {
  const int byte = __builtin_ctz(want & ~have);
  core.Report(Law::kUninitialised, where, name, "%s reads %s where nothing was written: byte %lld of UB", name, operand,
              static_cast<long long>(offset + byte));
  if (core.On(Law::kUninitialised)) core.filled[offset / kBlock] |= want;
}

TWIN_FN void Instr::Order(const char *operand, bool write, int64_t first, int64_t last) {
  const int32_t *mine = core.know[static_cast<int>(unit)];
  bool bad = false;
  for (int q = 0; q < kPipes; ++q) {
    const bool own = q == static_cast<int>(unit);
    if (own && InOrder()) continue;
    const int32_t limit = mine[q];
    const int32_t except = own ? self : -1;
    if (core.lastWrite[q] > limit) {
      const int32_t *mark = core.written[q];
      int32_t any = 0;
      for (int64_t b = first; b <= last; ++b) any |= (mark[b] > limit) & (mark[b] != except);
      bad |= any != 0;
    }
    if (write && core.lastRead[q] > limit) {
      const int32_t *mark = core.readBy[q];
      int32_t any = 0;
      for (int64_t b = first; b <= last; ++b) any |= (mark[b] > limit) & (mark[b] != except);
      bad |= any != 0;
    }
  }
  if (__builtin_expect(bad, 0)) Unordered(operand, write, first, last);
}

// Finds the pipe and block at fault, reports it, and then treats the pipes as ordered so that the run can go on.
TWIN_FN void Instr::Unordered(const char *operand, bool write, int64_t first, int64_t last) {
  const int me = static_cast<int>(unit);
  for (int q = 0; q < kPipes; ++q) {
    const bool own = q == me;
    if (own && InOrder()) continue;
    const int32_t limit = core.know[me][q];
    for (int kind = 0; kind < (write ? 2 : 1); ++kind) {
      const int32_t *mark = kind == 0 ? core.written[q] : core.readBy[q];
      for (int64_t b = first; b <= last; ++b) {
        if (mark[b] <= limit || (own && mark[b] == self)) continue;
        const Pipe other = static_cast<Pipe>(q);
        const Law law = own && unit == Pipe::V ? Law::kVectorDependence : Law::kMissingSync;
        const char *hazard = kind == 1 ? "write after read" : (write ? "write after write" : "read after write");
        char remedy[48];
        if (own) std::snprintf(remedy, sizeof remedy, "PipeBarrier<PIPE_%s>", PipeName(unit));
        else std::snprintf(remedy, sizeof remedy, "%s_%s flag or a queue", PipeName(other), PipeName(unit));
        core.Report(law, where, name, "%s on pipe %s %s %s at byte %lld of UB that pipe %s %s before, with no %s between (%s)", name,
                    PipeName(unit), write ? "writes" : "reads", operand, static_cast<long long>(b * kBlock), PipeName(other),
                    kind == 1 ? "reads" : "writes", remedy, hazard);
        Clock heal;
        heal.of[q] = own ? self - 1 : core.seq[q];
        core.Merge(unit, heal);
        break;
      }
    }
  }
}

TWIN_FN std::string EventName(int event) { return std::string(PipeName(From(event))) + "_" + PipeName(To(event)); }

TWIN_FN int FreeEventId(const Flags &flags) {
  for (int id = 0; id < kEventIds; ++id)
    if (((flags.reserved | flags.queued) >> id & 1) == 0) return id;
  return -1;
}

TWIN_FN int TakeQueueEvent(Core &core, Pipe from, Pipe to, const char *api, Site site) {
  if (from == to) return -1;
  Flags &flags = core.flags[EventOf(from, to)];
  const int id = FreeEventId(flags);
  if (id < 0) {
    core.Report(Law::kBufferCount, site, api, "%s needs an event id of %s, but all %d are held by buffers in flight", api,
                EventName(EventOf(from, to)).c_str(), kEventIds);
    return -1;
  }
  if (flags.set[id])
    core.Report(Law::kSyncCount, site, api, "%s takes event id %d of %s, which SetFlag (line %d) set without reserving it", api, id,
                EventName(EventOf(from, to)).c_str(), flags.site[id].line);
  flags.queued = static_cast<uint8_t>(flags.queued | 1u << id);
  return id;
}

TWIN_FN void DropQueueEvent(Core &core, Pipe from, Pipe to, int id) {
  if (id < 0) return;
  Flags &flags = core.flags[EventOf(from, to)];
  flags.queued = static_cast<uint8_t>(flags.queued & ~(1u << id));
}

TWIN_FN bool EventLegal(Core &core, int event, int64_t id, const char *api, Site site) {
  if (event >= kEvents || From(event) == To(event)) {
    core.Report(Law::kPipeType, site, api, "%s: event %d joins no two different pipes of a vector core", api, event);
    return false;
  }
  if (id < 0 || id >= kEventIds) {
    core.Report(Law::kRange, site, api, "%s<%s>: event id is %lld, allowed are 0 to 7", api, EventName(event).c_str(),
                static_cast<long long>(id));
    return false;
  }
  return true;
}

TWIN_FN int TakeBuffer(Core &core, int64_t bytes, BufferState state, int owner, Site site) {
  if (bytes <= 0) {
    core.Report(Law::kRange, site, "InitBuffer", "InitBuffer: the length is %lld bytes", static_cast<long long>(bytes));
    bytes = kBlock;
  }
  Buffer buffer;
  buffer.begin = core.highWater;
  buffer.end = buffer.begin + (bytes + kBlock - 1) / kBlock * kBlock;
  buffer.state = state;
  buffer.owner = owner;
  buffer.touched = site;
  core.highWater = buffer.end;
  const int64_t capacity = core.ubBytes - (core.reservedBy.file != nullptr ? kReservedUb : kTopReserve);
  if (buffer.end > capacity)
    core.Report(Law::kUbCapacity, site, "InitBuffer", "InitBuffer: buffers take %lld bytes, %lld of UB's %lld can be used",
                static_cast<long long>(buffer.end), static_cast<long long>(capacity), static_cast<long long>(core.ubBytes));
  if (buffer.end > kArena) core.Stop();
  if (++core.liveBuffers > kMaxBuffers)
    core.Report(Law::kBufferCount, site, "InitBuffer", "InitBuffer: more than %d buffers in one kernel", kMaxBuffers);
  core.buffers.push_back(buffer);
  return static_cast<int>(core.buffers.size()) - 1;
}

TWIN_FN void CheckLeaks(Core &core) {
  static constexpr const char *kStates[] = {"free", "allocated", "enqueued", "dequeued", ""};
  for (Buffer &buffer : core.buffers) {
    if (buffer.state == BufferState::kStatic || buffer.state == BufferState::kFree) continue;
    core.Report(Law::kQueue, buffer.touched, "AllocTensor", "the buffer allocated here is still %s at the end: FreeTensor is missing",
                kStates[static_cast<int>(buffer.state)]);
    buffer.state = BufferState::kFree;
  }
}

TWIN_FN int FindArg(const void *address) {
  const uint8_t *p = static_cast<const uint8_t *>(address);
  Launch &launch = *Self().launch;
  for (size_t i = 0; i < launch.args.size(); ++i) {
    const GmArg &arg = launch.args[i];
    if (p >= arg.base && (p < arg.base + arg.bytes || (p == arg.base && arg.bytes == 0))) return static_cast<int>(i);
  }
  return -1;
}

TWIN_FN void CopyTiling(void *to, size_t bytes, const void *from, Site site) {
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

TWIN_FN void SetFlagOf(Core &core, int event, int id, Site site) {
  Flags &flags = core.flags[event];
  if (flags.queued >> id & 1)
    core.Report(Law::kSyncCount, site, "SetFlag", "SetFlag<%s>(%d): a queue holds this event id; take one from AllocEventID or FetchEventID",
                EventName(event).c_str(), id);
  if (flags.set[id])
    core.Report(Law::kSyncCount, site, "SetFlag", "SetFlag<%s>(%d): it is already set and nothing waited for it",
                EventName(event).c_str(), id);
  flags.set[id] = true;
  flags.site[id] = site;
  flags.clock[id] = core.Snapshot(From(event));
}

TWIN_FN void WaitFlagOf(Core &core, int event, int id, Site site) {
  Flags &flags = core.flags[event];
  if (!flags.set[id]) {
    core.Report(Law::kSyncCount, site, "WaitFlag", "WaitFlag<%s>(%d): the flag is not set, the device would hang",
                EventName(event).c_str(), id);
    core.Edge(From(event), To(event));
    return;
  }
  flags.set[id] = false;
  core.Merge(To(event), flags.clock[id]);
}

}  // namespace twin
