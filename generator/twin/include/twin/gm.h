// Checks of one access to global memory: bounds, order against other pipes, initialisation, cache lines, traffic.
#pragma once
#include "launch.h"

namespace twin {

TWIN_FN int64_t RoundUp32(int64_t bytes) { return (bytes + kBlock - 1) / kBlock * kBlock; }

// The state of each byte of an argument, made when it is first needed (phases.h).
uint8_t *StateOf(Launch &launch, GmArg &arg);

TWIN_FN bool RunsOverlap(const GmAccess &a, const GmAccess &b) {
  if (a.arg != b.arg) return false;
  const GmAccess &x = a.count <= b.count ? a : b, &y = a.count <= b.count ? b : a;
  for (int64_t i = 0; i < x.count; ++i) {
    const int64_t low = x.offset + i * x.stride, high = low + x.run;
    if (y.count == 1 || y.stride == 0) {
      if (low < y.offset + y.run && y.offset < high) return true;
      continue;
    }
    const int64_t step = y.stride > 0 ? y.stride : -y.stride;
    const int64_t base = y.stride > 0 ? y.offset : y.offset + (y.count - 1) * y.stride;
    int64_t k = (low - base - y.run) / step;  // runs before k end before `low`
    for (k = k > 0 ? k : 0; k < y.count && base + k * step < high; ++k)
      if (base + k * step + y.run > low) return true;
  }
  return false;
}

TWIN_FN void Remember(Recent *window, int &count, const GmAccess &a, int32_t seq) {
  const int64_t far = a.offset + (a.count - 1) * a.stride;
  window[count++ % kWindow] = Recent{a.offset < far ? a.offset : far, (a.offset < far ? far : a.offset) + a.run, a, seq};
}

// Looks for an earlier access of pipe `other` to the same bytes that this instruction is not ordered after.
TWIN_FN void OrderGlobal(Instr &in, const Recent *window, int count, Pipe other, const GmAccess &a, const char *did) {
  Core &core = in.core;
  const int me = static_cast<int>(in.unit), it = static_cast<int>(other);
  const int64_t far = a.offset + (a.count - 1) * a.stride;
  const int64_t low = a.offset < far ? a.offset : far, high = (a.offset < far ? far : a.offset) + a.run;
  for (int i = count - 1; i >= 0 && i >= count - kWindow; --i) {
    const Recent &old = window[i % kWindow];
    if (old.seq <= core.know[me][it]) return;
    if (old.seq == in.self && me == it) continue;
    if (old.access.arg != a.arg || old.low >= high || low >= old.high) continue;
    if (a.atomic && old.access.atomic) continue;
    if (!RunsOverlap(a, old.access)) continue;
    core.Report(Law::kMissingSync, in.where, in.name, "%s on pipe %s %s global memory (argument %d, byte %lld) that pipe %s %s before (line %d), with no %s between",
                in.name, PipeName(in.unit), a.write ? "writes" : "reads", core.launch->args[static_cast<size_t>(a.arg)].position,
                static_cast<long long>(low), PipeName(other), did, old.access.site.line,
                me == it ? "PipeBarrier" : (std::string(PipeName(other)) + "_" + PipeName(in.unit) + " flag").c_str());
    Clock heal;
    heal.of[it] = me == it ? in.self - 1 : core.seq[it];
    core.Merge(in.unit, heal);
    return;
  }
}

// Whether core `me` may rely on these bytes: defined before this phase, or by itself. Bytes that any core accumulates
// onto were judged when it began to.
TWIN_FN bool Known(const uint8_t *state, int64_t count, int me, bool atomic) {
  const uint8_t mine = static_cast<uint8_t>(me + 1), added = static_cast<uint8_t>(me + 65);
  uint8_t bad = 0;
  if (atomic) {
    for (int64_t i = 0; i < count; ++i) bad = static_cast<uint8_t>(bad | ((state[i] < 65) & (state[i] != mine)));
  } else {
    for (int64_t i = 0; i < count; ++i) bad = static_cast<uint8_t>(bad | ((state[i] != kDefined) & (state[i] != mine) & (state[i] != added)));
  }
  return bad == 0;
}

// Marks bytes written by `core` in this phase.
TWIN_FN void MarkWritten(uint8_t *state, int64_t count, int core, bool atomic, int cores) {
  const uint8_t mine = static_cast<uint8_t>(core + 1), added = static_cast<uint8_t>(core + 65);
  if (cores == 1) {
    std::memset(state, kDefined, static_cast<size_t>(count));
  } else if (!atomic) {
    std::memset(state, mine, static_cast<size_t>(count));
  } else {
    for (int64_t i = 0; i < count; ++i) {
      if (state[i] == mine || state[i] == added) continue;
      state[i] = state[i] >= 65 && state[i] <= kAtomicMany ? kAtomicMany : added;
    }
  }
}

// Bounds of an access of `count` runs. `start` is in bytes from the tensor's base address. On success `access` is filled.
TWIN_FN bool Bound(Instr &in, const char *operand, int arg, const uint8_t *base, int64_t limit, int64_t start, GmAccess &access) {
  Core &core = in.core;
  const int64_t far = start + (access.count - 1) * access.stride;
  const int64_t low = start < far ? start : far, high = (start < far ? far : start) + access.run;
  if (arg < 0) {
    in.Require(Law::kGmBounds, false, "%s: %s is not memory of a kernel argument (SetGlobalBuffer missing, or its address is outside)", in.name,
               operand);
    in.Refuse();
    return false;
  }
  GmArg &memory = core.launch->args[static_cast<size_t>(arg)];
  const int64_t shift = base - memory.base;
  if (limit >= 0 && (low < 0 || high > limit))
    in.Require(Law::kGmBounds, false, "%s: %s covers bytes %lld to %lld of a GlobalTensor of %lld bytes", in.name, operand,
               static_cast<long long>(low), static_cast<long long>(high), static_cast<long long>(limit));
  if (low + shift < 0 || high + shift > memory.bytes) {
    in.Require(Law::kGmBounds, false, "%s: %s covers bytes %lld to %lld of kernel argument %d, which has %lld", in.name, operand,
               static_cast<long long>(low + shift), static_cast<long long>(high + shift), memory.position,
               static_cast<long long>(memory.bytes));
    in.Refuse();
  }
  access.offset = start + shift;
  access.arg = arg;
  access.site = in.where;
  access.api = in.name;
  return in.Ok();
}

// A legal access takes place: order, initialisation, race log, traffic.
TWIN_FN void TouchGlobal(Instr &in, GmAccess &access) {
  Core &core = in.core;
  Launch &launch = *core.launch;
  GlobalLog &log = *core.globals;
  GmArg &arg = launch.args[static_cast<size_t>(access.arg)];
  const bool single = launch.blockDim == 1;
  OrderGlobal(in, log.writes, log.writeCount, Pipe::MTE3, access, "writes");
  if (access.write) OrderGlobal(in, log.reads, log.readCount, Pipe::MTE2, access, "reads");
  const bool blank = arg.role == Role::kOutput || arg.role == Role::kWorkspace;
  uint8_t *state = access.write || blank ? StateOf(launch, arg) : arg.state.load(std::memory_order_acquire);
  if (state != nullptr && (!access.write || access.atomic)) {
    bool known = true;
    for (int64_t i = 0; i < access.count && known; ++i) known = Known(state + access.offset + i * access.stride, access.run, core.index, access.atomic);
    access.suspect = !known;
    if (!known && single)
      core.Report(Law::kGmUninitialised, in.where, in.name, "%s %s bytes of kernel argument %d that nothing wrote, from byte %lld on", in.name,
                  access.write ? "accumulates onto" : "reads", arg.position, static_cast<long long>(access.offset));
  }
  if (access.write) {
    if (!arg.touched.load(std::memory_order_relaxed)) arg.touched.store(true, std::memory_order_relaxed);
    for (int64_t i = 0; i < access.count; ++i)
      MarkWritten(state + access.offset + i * access.stride, access.run, core.index, access.atomic, launch.blockDim);
    if (in.unit == Pipe::MTE3) Remember(log.writes, log.writeCount, access, in.self);
  } else if (in.unit == Pipe::MTE2 && (arg.role != Role::kInput || state != nullptr)) {
    Remember(log.reads, log.readCount, access, in.self);
  }
  if (!single) log.Log(access);
  const size_t position = static_cast<size_t>(arg.position);
  (access.write ? log.writtenBytes : log.readBytes)[position] += access.count * RoundUp32(access.run);
  for (CachedLine &line : log.lines) {
    if (in.unit == Pipe::S || line.arg != access.arg) continue;
    const GmAccess cached{line.line * kLine, kLine, 0, 1, line.site, "", line.arg, false, false, false, true};
    if (!RunsOverlap(access, cached)) continue;
    if (line.dirty)
      core.Report(Law::kDataCache, in.where, in.name, "%s touches global memory whose scalar write (line %d) is still in the data cache", in.name,
                  line.site.line);
    if (access.write) line.stale = true;
  }
}

TWIN_FN bool GlobalScalar(const char *api, Site site, int arg, const uint8_t *base, int64_t limit, int64_t byte, int64_t size, bool write) {
  Instr in(api, Pipe::S, site);
  GmAccess access{0, size, 0, 1, site, api, -1, write, false, false, false};
  if (!Bound(in, "the tensor", arg, base, limit, byte, access)) return false;
  TouchGlobal(in, access);
  GlobalLog &log = *in.core.globals;
  const int64_t line = access.offset / kLine;
  CachedLine *mine = nullptr;
  for (CachedLine &cached : log.lines)
    if (cached.arg == arg && cached.line == line) mine = &cached;
  if (mine != nullptr && mine->stale && !write) {
    in.core.Report(Law::kDataCache, site, api, "%s reads a data-cache line that was written behind the cache; DataCacheCleanAndInvalid is missing",
                   api);
    mine->stale = false;
  }
  const bool readOnly = in.core.launch->args[static_cast<size_t>(arg)].role == Role::kInput && !write;
  if (mine == nullptr && !readOnly) log.lines.push_back(CachedLine{arg, line, write, false, site});
  else if (mine != nullptr && write) mine->dirty = true, mine->site = site;
  if (write && in.core.launch->blockDim > 1) {
    GmAccess whole = access;
    whole.offset = line * kLine;
    whole.run = kLine;
    const int64_t bytes = in.core.launch->args[static_cast<size_t>(arg)].bytes;
    if (whole.offset + whole.run > bytes) whole.run = bytes - whole.offset;
    whole.line = true;
    log.Log(whole);
  }
  return true;
}

// At SyncAll and at the end no scalar write may be left in the data cache; lines others may have changed are stale.
TWIN_FN void CloseLines(Core &core, Site) {
  for (CachedLine &line : core.globals->lines) {
    if (line.dirty)
      core.Report(Law::kDataCache, line.site, "SetValue", "SetValue: the scalar write is never cleaned from the data cache (DataCacheCleanAndInvalid)");
    line.dirty = false;
    line.stale = true;
  }
}

TWIN_FN void InvalidateLines(Core &core, int arg, int64_t byte, bool all) {
  std::vector<CachedLine> &lines = core.globals->lines;
  size_t kept = 0;
  for (size_t i = 0; i < lines.size(); ++i)
    if (!all && (lines[i].arg != arg || lines[i].line != byte / kLine)) lines[kept++] = lines[i];
  lines.resize(kept);
}

}  // namespace twin
