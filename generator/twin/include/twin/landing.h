// Bodies of copies: checks of global memory, and how a copy takes effect. Part of the runtime (runtime.cpp).
#pragma once
#include "copy.h"

namespace twin {

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

TWIN_FN bool Known(const uint8_t *state, int64_t count, int me, bool atomic) {
  const uint8_t mine = WrittenBy(me), added = AddedBy(me);
  uint8_t bad = 0;
  if (atomic) {
    for (int64_t i = 0; i < count; ++i) bad = static_cast<uint8_t>(bad | ((state[i] <= kMaxCores) & (state[i] != mine)));
  } else {
    for (int64_t i = 0; i < count; ++i) bad = static_cast<uint8_t>(bad | ((state[i] != kDefined) & (state[i] != mine) & (state[i] != added)));
  }
  return bad == 0;
}

TWIN_FN void MarkWritten(uint8_t *state, int64_t count, int core, bool atomic, int cores) {
  const uint8_t mine = WrittenBy(core), added = AddedBy(core);
  if (cores == 1) {
    std::memset(state, kDefined, static_cast<size_t>(count));
  } else if (!atomic) {
    std::memset(state, mine, static_cast<size_t>(count));
  } else {
    for (int64_t i = 0; i < count; ++i) {
      if (state[i] == mine || state[i] == added) continue;
      state[i] = state[i] > kMaxCores && state[i] <= kAtomicMany ? kAtomicMany : added;
    }
  }
}

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

TWIN_FN void TouchGlobal(Instr &in, GmAccess &access, bool cube) {
  Core &core = in.core;
  Launch &launch = *core.launch;
  GlobalLog &log = *core.globals;
  GmArg &arg = launch.args[static_cast<size_t>(access.arg)];
  const bool single = launch.blockDim == 1;
  OrderGlobal(in, log.writes, log.writeCount, Pipe::MTE3, access, "writes");
  if (access.write) OrderGlobal(in, log.reads, log.readCount, Pipe::MTE2, access, "reads");
  for (const GmAccess &cube : log.inFlight)
    if (RunsOverlap(access, cube))
      core.Report(Law::kMissingSync, in.where, in.name, "%s touches global memory that IterateAll<false> (line %d) writes, before WaitIterateAll", in.name,
                  cube.site.line);
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
  if (!cube) (access.write ? log.writtenBytes : log.readBytes)[position] += access.count * RoundUp32(access.run);
  for (CachedLine &line : log.lines) {
    if ((in.unit == Pipe::S && !cube) || line.arg != access.arg) continue;
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

TWIN_FN Core::~Core() {
  std::free(ub);
  std::free(filled);
  for (int p = 0; p < kPipes; ++p) {
    std::free(written[p]);
    std::free(readBy[p]);
  }
  delete pending;
}

TWIN_FN void Core::StartCopies() {
  if (pending == nullptr) pending = new PendingCopies;
  for (int i = 0; i < 2; ++i) {
    pending->queue[i].clear();
    pending->head[i] = 0;
  }
}

TWIN_FN void Repeat(uint8_t *to, int64_t bytes, const uint8_t *value, int64_t size) {
  for (int64_t i = 0; i < bytes; ++i) to[i] = value[i % size];
}

TWIN_FN void PadBlock(Core &core, const Copy &c, int64_t at, int64_t run) {
  const int64_t whole = RoundUp32(c.left + run + c.right);
  uint8_t *to = core.ub + at;
  uint8_t poison[8];
  std::memset(poison, kPoison, sizeof poison);
  const uint8_t *value = c.fill == Fill::kValue ? c.value : (c.fill == Fill::kFirst ? to + c.left : poison);
  Repeat(to, c.left, value, c.size);
  Repeat(to + c.left + run, whole - c.left - run, value, c.size);
  if (c.fill == Fill::kGarbage) return;
  Instr::FillShadow(core, at, c.left, true);
  Instr::FillShadow(core, at + c.left + run, whole - c.left - run, true);
}

TWIN_FN void LandRead(Core &core, const Copy &c) {
  if (c.arg < 0) {  // the cube's result: it is there, and counts now
    Instr::FillShadow(core, c.ub, c.run, true);
    return;
  }
  const uint8_t *source = core.launch->args[static_cast<size_t>(c.arg)].base + c.gm;
  if (c.compact) {
    for (int64_t i = 0; i < c.count; ++i)
      std::memcpy(core.ub + c.ub + c.left + i * c.run, source + i * c.gmStride, static_cast<size_t>(c.run));
    Instr::FillShadow(core, c.ub + c.left, c.run * c.count, true);
    PadBlock(core, c, c.ub, c.run * c.count);
    return;
  }
  const int64_t body = c.left + c.run + c.right, whole = RoundUp32(body);
  const bool plain = c.left == 0 && c.right == 0 && whole == body;
  if (plain && c.gmStride == c.run && c.ubStride == c.run) {
    std::memcpy(core.ub + c.ub, source, static_cast<size_t>(c.run * c.count));
    Instr::FillShadow(core, c.ub, c.run * c.count, true);
    return;
  }
  for (int64_t i = 0; i < c.count; ++i) {
    uint8_t *to = core.ub + c.ub + i * c.ubStride;
    std::memcpy(to + c.left, source + i * c.gmStride, static_cast<size_t>(c.run));
    Instr::FillShadow(core, c.ub + i * c.ubStride + c.left, c.run, true);
    if (!plain) PadBlock(core, c, c.ub + i * c.ubStride, c.run);
  }
}

template <typename T>
void Accumulate(uint8_t *to, const uint8_t *from, int64_t bytes, int op) {
  for (int64_t i = 0; i + static_cast<int64_t>(sizeof(T)) <= bytes; i += static_cast<int64_t>(sizeof(T))) {
    T a, b, r;
    std::memcpy(&a, to + i, sizeof(T));
    std::memcpy(&b, from + i, sizeof(T));
    if (op == 1) {
      if constexpr (std::is_integral_v<T>) r = static_cast<T>(static_cast<uint64_t>(static_cast<int64_t>(a)) + static_cast<uint64_t>(static_cast<int64_t>(b)));
      else r = T(static_cast<float>(a) + static_cast<float>(b));
    } else if (op == 2) r = b > a ? b : a;
    else r = b < a ? b : a;
    std::memcpy(to + i, &r, sizeof(T));
  }
}

TWIN_FN void AccumulateAs(uint8_t *to, const uint8_t *from, int64_t bytes, int type, int op) {
  switch (type) {
    case kAtomicI8: return Accumulate<int8_t>(to, from, bytes, op);
    case kAtomicI16: return Accumulate<int16_t>(to, from, bytes, op);
    case kAtomicI32: return Accumulate<int32_t>(to, from, bytes, op);
    case kAtomicHalf: return Accumulate<half>(to, from, bytes, op);
    case kAtomicBf16: return Accumulate<bfloat16_t>(to, from, bytes, op);
    default: return Accumulate<float>(to, from, bytes, op);
  }
}

TWIN_FN void ApplyAtomic(uint8_t *to, const AtomicCopy &copy) {
  AccumulateAs(to, copy.data.data(), static_cast<int64_t>(copy.data.size()), copy.dtype, copy.op);
}

TWIN_FN void LandWrite(Core &core, const Copy &c) {
  uint8_t *to = core.launch->args[static_cast<size_t>(c.arg)].base + c.gm;
  for (int64_t i = 0; i < c.count; ++i) {
    const uint8_t *from = core.ub + c.ub + i * c.ubStride;
    if (c.atomicOp == 0) std::memcpy(to + i * c.gmStride, from, static_cast<size_t>(c.run));
    else if (core.launch->blockDim == 1) AccumulateAs(to + i * c.gmStride, from, c.run, c.atomicType, c.atomicOp);
    else core.globals->atomics.push_back(AtomicCopy{c.arg, c.gm + i * c.gmStride, c.atomicType, c.atomicOp, std::vector<uint8_t>(from, from + c.run)});
  }
}

TWIN_FN void Core::Land(int32_t mte2, int32_t mte3) {
  const int32_t upTo[2] = {mte2, mte3};
  for (int p = 1; p >= 0; --p) {  // writes first: a read that is ordered now may be of what they wrote
    if (upTo[p] <= landed[p]) continue;
    landed[p] = upTo[p];
    std::vector<Copy> &queue = pending->queue[p];
    size_t &head = pending->head[p];
    while (head < queue.size() && queue[head].seq <= upTo[p]) {
      if (p == 0) LandRead(*this, queue[head]);
      else LandWrite(*this, queue[head]);
      ++head;
    }
    if (head == queue.size()) {
      queue.clear();
      head = 0;
    }
  }
}

TWIN_FN bool PlaceCopy(Instr &in, const LocalBytes &tensor, const char *operand, Copy &c, int64_t perBlock) {
  if (c.count > 0 && c.run > 0 && !in.Place(tensor, operand, 0, (c.count - 1) * c.ubStride + perBlock, kBlock)) return false;
  c.ub = tensor.start;
  return in.Ok();
}

TWIN_FN void IssueRead(Instr &in, const LocalBytes &dst, const GlobalBytes &src, Copy c) {
  Core &core = in.core;
  const bool position = dst.position == AscendC::TPosition::VECIN || dst.position == AscendC::TPosition::VECOUT || (kIs3510 && dst.position == AscendC::TPosition::VECCALC);
  in.Require(Law::kPipeType, position || !dst.Allocated(), "%s: dst is in %s, global memory is copied to VECIN or VECOUT", in.name, PositionName(dst.position));
  if (c.run == 0 || c.count == 0) return;
  const int64_t whole = RoundUp32(c.left + (c.compact ? c.run * c.count : c.run) + c.right);
  if (!PlaceCopy(in, dst, "dst", c, c.compact ? whole - (c.count - 1) * c.ubStride : whole)) return;
  in.Require(Law::kOverlap, c.compact || c.count == 1 || c.ubStride >= whole, "%s: blocks of %lld bytes overlap in local memory", in.name, static_cast<long long>(whole));
  GmAccess access{0, c.run, c.gmStride, c.count, in.where, in.name, -1, false, false, false, false};
  if (!Bound(in, "src", src.arg, src.address, src.Limit(), src.start, access)) return;
  TouchGlobal(in, access);
  c.seq = in.self;
  c.arg = access.arg;
  c.gm = access.offset;
  const bool at_once = !core.On(Law::kMissingSync);
  if (c.compact) in.WriteBytes("dst", c.ub, whole, false);
  else if (c.ubStride == whole) in.WriteBytes("dst", c.ub, whole * c.count, false);
  else
    for (int64_t i = 0; i < c.count; ++i) in.WriteBytes("dst", c.ub + i * c.ubStride, whole, false);
  if (at_once) LandRead(core, c);
  else core.pending->queue[0].push_back(c);
}

TWIN_FN void IssueWrite(Instr &in, const GlobalBytes &dst, const LocalBytes &src, Copy c) {
  Core &core = in.core;
  const bool position = src.position == AscendC::TPosition::VECIN || src.position == AscendC::TPosition::VECOUT || (kIs3510 && src.position == AscendC::TPosition::VECCALC);
  in.Require(Law::kPipeType, position || !src.Allocated(), "%s: src is in %s, global memory is written from VECOUT (or VECIN)", in.name, PositionName(src.position));
  if (c.run == 0 || c.count == 0) return;
  if (!PlaceCopy(in, src, "src", c, c.run)) return;
  c.atomicOp = core.atomicOp;
  c.atomicType = core.atomicType;
  GmAccess access{0, c.run, c.gmStride, c.count, in.where, in.name, -1, true, c.atomicOp != 0, false, false};
  if (!Bound(in, "dst", dst.arg, dst.address, dst.Limit(), dst.start, access)) return;
  TouchGlobal(in, access);
  c.seq = in.self;
  c.arg = access.arg;
  c.gm = access.offset;
  if (c.ubStride == c.run) in.ReadBytes("src", c.ub, c.run * c.count);
  else
    for (int64_t i = 0; i < c.count; ++i) in.ReadBytes("src", c.ub + i * c.ubStride, c.run);
  if (!core.On(Law::kMissingSync)) LandWrite(core, c);
  else core.pending->queue[1].push_back(c);
}

}  // namespace twin
