// What a Matmul object does: operands taken, tiles computed, results written, traffic counted. Part of the runtime (runtime.cpp).
#pragma once
#include "cube_checks.h"
#include "cube_kernel.h"

namespace twin {

constexpr int64_t kPanelDepth = 512;  // k widened at a time, about

inline int64_t CeilDiv(int64_t value, int64_t unit) { return (value + unit - 1) / unit; }
inline int64_t CeilTo(int64_t value, int64_t unit) { return CeilDiv(value, unit) * unit; }
inline int64_t AtMost(int64_t value, int64_t most) { return value < most ? value : most; }

TWIN_FN CubeObject::CubeObject(const CubeTraits &types) : traits(types) {}
TWIN_FN CubeObject::~CubeObject() {}

TWIN_FN void CubeOperand::Point(const GlobalBytes &gm, bool transpose, Site where) {
  arg = gm.arg;
  base = gm.address;
  start = gm.start;
  limit = gm.Limit();
  local = taken = false;
  transposed = transpose;
  site = where;
}
TWIN_FN void CubeOperand::Point(const LocalBytes &ub, bool transpose, Site where) {
  tensor = ub;
  local = true;
  taken = false;
  transposed = transpose;
  site = where;
}

// --- operands ---------------------------------------------------------------------------------------------------------

TWIN_FN int64_t CubeObject::Matrix::Pitch() const { return columns; }

TWIN_FN CubeObject::Matrix CubeObject::Stored(bool left) const {
  if (left)
    return a.transposed ? Matrix{orgKa, orgM, singleK, singleM, &a, traits.a} : Matrix{orgM, orgKa, singleM, singleK, &a, traits.a};
  return b.transposed ? Matrix{orgN, orgKb, singleN, singleK, &b, traits.b} : Matrix{orgKb, orgN, singleK, singleN, &b, traits.b};
}

// On a cube core nothing but a barrier orders the pipe that writes C before the one that reads operands (facts C.3).
inline void CheckOwnResults(Instr &in, const GmAccess &access) {
  const GlobalLog &log = *in.core.globals;
  if (log.epoch != in.core.epoch) return;
  for (const GmAccess &old : log.results)
    if (RunsOverlap(access, old)) {
      in.core.Report(Law::kMissingSync, in.where, in.name,
                     "%s reads global memory that this cube core wrote before (line %d), with no PipeBarrier<PIPE_ALL> or SyncAll between", in.name,
                     old.site.line);
      return;
    }
}

// The operand's memory is read by the cube now: bounds, order, initialisation, races; a local operand is copied.
TWIN_FN bool CubeObject::Take(Instr &in, const char *name, CubeOperand &operand, const Matrix &m) {
  const int64_t size = CubeSize(m.type.dtype);
  GmAccess access{0, m.usedColumns * size, m.Pitch() * size, m.usedRows, in.where, in.name, -1, false, false, false, false};
  if (m.type.format == CubeFormat::NZ) {
    const int64_t fractal = m.Fractal();
    access.run = m.usedRows * kBlock;
    access.stride = CeilTo(m.rows, 16) * kBlock;
    access.count = CeilDiv(m.usedColumns, fractal);
  } else if (m.Pitch() == m.usedColumns) {
    access.run *= m.usedRows;
    access.count = 1;
  }
  if (!operand.local) {
    if (!Bound(in, name, operand.arg, operand.base, operand.limit, operand.start, access)) return false;
    TouchGlobal(in, access, true);
    CheckOwnResults(in, access);
    return true;
  }
  if (operand.taken) return true;
  const int64_t bytes = (access.count - 1) * access.stride + access.run;
  Instr copy(in.name, Pipe::MTE3, in.where);
  if (!copy.Place(operand.tensor, name, 0, bytes, kBlock)) {
    in.Refuse();
    return false;
  }
  copy.ReadBytes(name, operand.tensor.start, bytes);
  operand.copy.assign(copy.core.ub + operand.tensor.start, copy.core.ub + operand.tensor.start + bytes);
  operand.taken = true;
  for (int p = 0; p < kPipes; ++p) copy.core.Edge(Pipe::MTE3, static_cast<Pipe>(p));  // the call returns when the cube has its data
  if (!kIs3510) copy.core.globals->cube.systemWritten += RoundUp32(bytes);
  return true;
}

TWIN_FN bool CubeObject::TakeBias(Instr &in) {
  if (!biased) return true;
  const Matrix row{1, singleN, 1, singleN, &bias, traits.bias};
  return Take(in, "the bias", bias, row);
}

inline const uint8_t *OperandData(const CubeOperand &operand) { return operand.local ? operand.copy.data() : operand.base + operand.start; }

// Rows and columns of a stored operand as 32-bit numbers.
TWIN_FN void CubeObject::Widen(const Matrix &m, int64_t row, int64_t rows, int64_t column, int64_t columns, float *to, int64_t step) const {
  const int64_t size = CubeSize(m.type.dtype);
  const uint8_t *data = OperandData(*m.operand);
  const auto widen = Cube().widen;
  for (int64_t r = row; r < row + rows; ++r, to += step) {
    if (m.type.format != CubeFormat::NZ) {
      widen(m.type.dtype, data + (r * m.Pitch() + column) * size, columns, to, hf32);
      continue;
    }
    const int64_t fractal = m.Fractal(), tall = CeilTo(m.rows, 16);
    for (int64_t c = column; c < column + columns;) {
      const int64_t within = c % fractal, run = AtMost(fractal - within, column + columns - c);
      widen(m.type.dtype, data + ((c / fractal * tall + r) * fractal + within) * size, run, to + (c - column), hf32);
      c += run;
    }
  }
}

// The rows of a tile from k on, as stored: transposed or not.
TWIN_FN const float *CubeObject::LeftPanel(const Tile &t, int64_t k, int64_t depth, int64_t &rowStep, int64_t &depthStep) {
  const Matrix m = Stored(true);
  const int64_t first = t.row * tiling.baseM;
  const int64_t step = (a.transposed ? t.rows : depth) + 16;  // not a power of two, for the machine's caches
  rowStep = a.transposed ? 1 : step;
  depthStep = a.transposed ? step : 1;
  bool fresh = false;
  float *panel = panels->left.Get(t.row * (1ll << 32) + k, (a.transposed ? depth : t.rows) * step, fresh);
  if (fresh && a.transposed) Widen(m, k, depth, first, t.rows, panel, step);
  else if (fresh) Widen(m, first, t.rows, k, depth, panel, step);
  return panel;
}

// The columns of a tile from k on: panels of [depth][width], the last one narrower when its columns fit.
TWIN_FN const float *CubeObject::RightPanel(const Tile &t, int64_t k, int64_t depth) {
  const Matrix m = Stored(false);
  const int64_t first = t.column * tiling.baseN, width = Cube().width;
  bool fresh = false;
  float *panel = panels->right.Get(t.column * (1ll << 32) + k, CeilTo(t.columns, width) * depth, fresh);
  if (!fresh) return panel;
  const int64_t step = (b.transposed ? depth : CeilTo(t.columns, width)) + 16;
  std::vector<float> &rows = panels->rows;
  rows.assign(static_cast<size_t>((b.transposed ? width : 1) * step), 0.0f);
  if (!b.transposed) {
    for (int64_t d = 0; d < depth; ++d) {
      Widen(m, k + d, 1, first, t.columns, rows.data(), step);
      for (int64_t c = 0; c < t.columns; c += width) {
        const int64_t wide = t.columns - c <= Cube().narrow ? Cube().narrow : width;
        std::memcpy(panel + c * depth + d * wide, rows.data() + c, static_cast<size_t>(4 * wide));
      }
    }
    return panel;
  }
  for (int64_t c = 0; c < t.columns; c += width) {
    const int64_t used = AtMost(width, t.columns - c), wide = used <= Cube().narrow ? Cube().narrow : width;
    float *to = panel + c * depth;
    Widen(m, first + c, used, k, depth, rows.data(), step);
    std::memset(rows.data() + used * step, 0, static_cast<size_t>(4 * (width - used) * step));
    for (int64_t d = 0; d < depth; ++d)
      for (int64_t j = 0; j < wide; ++j) to[d * wide + j] = rows[static_cast<size_t>(j * step + d)];
  }
  return panel;
}

// --- tiles ------------------------------------------------------------------------------------------------------------

TWIN_FN CubeObject::Tile CubeObject::TileAt(int64_t number) const {
  Tile t;
  t.row = tiling.iterateOrder == 0 ? number % tilesM : number / tilesN;
  t.column = tiling.iterateOrder == 0 ? number / tilesM : number % tilesN;
  t.rows = AtMost(tiling.baseM, singleM - t.row * tiling.baseM);
  t.columns = AtMost(tiling.baseN, singleN - t.column * tiling.baseN);
  return t;
}

TWIN_FN void CubeObject::AddBias(const Tile &t) {
  std::vector<float> row(static_cast<size_t>(t.columns));
  const int64_t size = CubeSize(traits.bias.dtype);
  WidenAny(traits.bias.dtype == CubeDtype::kI32 ? CubeDtype::kF32 : traits.bias.dtype, OperandData(bias) + t.column * tiling.baseN * size, t.columns,
           row.data(), 0);
  for (int64_t r = 0; r < t.rows; ++r) std::memcpy(accumulator.data() + r * pitch, row.data(), static_cast<size_t>(4 * t.columns));
  Self().globals->cube.Add(bias, RoundUp32(t.columns * size));
}

TWIN_FN void CubeObject::Compute(const Tile &t, bool partial) {
  if (!panels) panels.reset(new CubePanels);
  const int64_t width = Cube().width;
  if (!partial) {
    pitch = CeilTo(t.columns, width);
    accumulator.assign(static_cast<size_t>(t.rows * pitch), 0.0f);
    if (biased) AddBias(t);
  }
  const bool integers = traits.a.dtype == CubeDtype::kI8;
  const int64_t chunk = tiling.baseK < kPanelDepth ? kPanelDepth / tiling.baseK * tiling.baseK : tiling.baseK;
  for (int64_t k = 0; k < singleK; k += chunk) {
    CubeArgs args;
    args.depth = AtMost(chunk, singleK - k);
    args.block = tiling.baseK;
    args.rows = t.rows;
    args.pitch = pitch;
    args.left = LeftPanel(t, k, args.depth, args.rowStep, args.depthStep);
    const float *right = RightPanel(t, k, args.depth);
    for (int64_t c = 0; c < t.columns; c += width) {
      args.right = right + c * args.depth;
      args.to = accumulator.data() + c;
      Cube().panel(args, integers, t.columns - c <= Cube().narrow);
    }
    Self().CheckStop();
  }
  CountLoads(t);
  Self().globals->cube.multiplyAdds += t.rows * t.columns * singleK;
}

// --- traffic ------------------------------------------------------------------------------------------------------------

// Bytes of the loads of base tiles `first` on, `count` of them along M or N, over the whole of K: one run for each base tile
// (NORM) or for each group that L1 holds (MDL), rounded up to 32 bytes.
TWIN_FN int64_t CubeObject::LoadBytes(const Matrix &m, bool left, int64_t first, int64_t count) const {
  const int64_t size = CubeSize(m.type.dtype), base = left ? tiling.baseM : tiling.baseN, single = left ? singleM : singleN;
  const int64_t outer = AtMost(count * base, single - first * base);
  const int64_t group = traits.config.doMultiDataLoad ? (left ? tiling.stepKa : tiling.stepKb) : 1;
  const int64_t along = traits.config.doMultiDataLoad ? base * count : base;
  const bool kInner = left != m.operand->transposed;  // k is the inner axis in memory
  const int64_t inner = kInner ? singleK : outer, piece = kInner ? tiling.baseK * group : along, runs = kInner ? outer : singleK;
  return runs * (inner / piece * RoundUp32(piece * size) + RoundUp32(inner % piece * size));
}

// What L1 does not hold is loaded: a group of step base tiles stays while K fits, everything else streams through for each tile.
TWIN_FN void CubeObject::CountLoads(const Tile &t) {
  const int64_t blocks = CeilDiv(singleK, tiling.baseK);
  CubeTraffic &count = Self().globals->cube;
  const bool holdsA = blocks <= tiling.stepKa, holdsB = blocks <= tiling.stepKb;
  const int64_t groupA = t.row / tiling.stepM, groupB = t.column / tiling.stepN;
  if (!holdsA) count.Add(a, LoadBytes(Stored(true), true, t.row, 1));
  else if (groupA != residentA) count.Add(a, LoadBytes(Stored(true), true, groupA * tiling.stepM, tiling.stepM));
  if (!holdsB) count.Add(b, LoadBytes(Stored(false), false, t.column, 1));
  else if (groupB != residentB) count.Add(b, LoadBytes(Stored(false), false, groupB * tiling.stepN, tiling.stepN));
  residentA = holdsA ? groupA : -1;
  residentB = holdsB ? groupB : -1;
}

TWIN_FN void CubeTraffic::Add(const CubeOperand &operand, int64_t bytes) {
  if (operand.local) {
    if (!kIs3510) systemRead += bytes;
  } else {
    readBytes[static_cast<size_t>(Self().launch->args[static_cast<size_t>(operand.arg)].position)] += bytes;
  }
}

// --- results --------------------------------------------------------------------------------------------------------------

// One row of the tile in the destination's type.
TWIN_FN void CubeObject::Convert(const Tile &t, int64_t row, uint8_t *to) const {
  const float *from = accumulator.data() + row * pitch;
  if (traits.c.dtype == CubeDtype::kF16 || traits.c.dtype == CubeDtype::kBf16) {
    for (int64_t i = 0; i < t.columns; ++i) {
      const uint16_t bits = traits.c.dtype == CubeDtype::kF16 ? FloatToHalfBits(from[i]) : FloatToBfloat16Bits(from[i]);
      std::memcpy(to + 2 * i, &bits, 2);
    }
  } else {
    std::memcpy(to, from, static_cast<size_t>(4 * t.columns));
  }
}

inline int32_t CubeAtomic(CubeDtype dtype) {
  return dtype == CubeDtype::kF16 ? kAtomicHalf : (dtype == CubeDtype::kBf16 ? kAtomicBf16 : (dtype == CubeDtype::kI32 ? kAtomicI32 : kAtomicFloat));
}

TWIN_FN bool CubeObject::StoreGlobal(Instr &in, const Tile &t, const GlobalBytes &gm, int64_t atomic, bool sequential, bool later) {
  const int64_t size = CubeSize(traits.c.dtype), row = orgKc > 0 ? orgKc : orgN;
  const int64_t width = sequential ? t.columns : row;
  const int64_t start = gm.start + (sequential ? 0 : (t.row * tiling.baseM * row + t.column * tiling.baseN) * size);
  GmAccess access{0, t.columns * size, width * size, t.rows, in.where, in.name, -1, true, atomic != 0, false, false};
  in.Require(Law::kMatmulShape, sequential || singleN <= row, "%s: rows of C are %lld apart, too close for N = %lld", in.name, static_cast<long long>(row),
             static_cast<long long>(singleN));
  if (!in.Ok() || !Bound(in, "C", gm.arg, gm.address, gm.Limit(), start, access)) return false;
  TouchGlobal(in, access, true);
  GlobalLog &log = *in.core.globals;
  if (later) log.inFlight.push_back(access);
  if (log.epoch != in.core.epoch) log.results.clear();
  log.epoch = in.core.epoch;
  if (traits.cubeOnly) log.results.push_back(access);
  Launch &launch = *in.core.launch;
  const GmArg &arg = launch.args[static_cast<size_t>(access.arg)];
  log.cube.writtenBytes[static_cast<size_t>(arg.position)] += access.count * RoundUp32(access.run);
  std::vector<uint8_t> line(static_cast<size_t>(access.run));
  for (int64_t r = 0; r < t.rows; ++r) {
    const int64_t offset = access.offset + r * access.stride;
    if (atomic == 0) {
      Convert(t, r, arg.base + offset);
      continue;
    }
    Convert(t, r, line.data());
    if (launch.blockDim == 1) AccumulateAs(arg.base + offset, line.data(), access.run, CubeAtomic(traits.c.dtype), static_cast<int>(atomic));
    else log.atomics.push_back(AtomicCopy{access.arg, offset, CubeAtomic(traits.c.dtype), static_cast<int32_t>(atomic), line});
  }
  return true;
}

// The present tile to the unified buffer: on 220 through the system workspace, all of `ub` at once.
TWIN_FN void CubeObject::StoreLocal(Instr &in, const LocalBytes &ub, bool sequential) {
  const int64_t size = CubeSize(traits.c.dtype), row = tile.columns * size, org = orgKc > 0 ? orgKc : orgN;
  int64_t step = traits.c.format == CubeFormat::ND_ALIGN ? RoundUp32(row) : row, from = 0;
  if (!sequential && org != tile.columns) {  // at its place in the whole of C
    step = org * size;
    from = (tile.row * tiling.baseM * org + tile.column * tiling.baseN) * size;
  } else if (!sequential) {
    from = tile.row * tiling.baseM * row;
  }
  const int64_t bytes = from + (tile.rows - 1) * step + row;
  in.Require(Law::kAlignment, !kIs3510 || step % kBlock == 0, "GetTensorC: rows of %lld bytes, on 3510 they must be multiples of 32", static_cast<long long>(step));
  in.Require(Law::kLocalBounds, kIs3510 || ub.length >= bytes, "GetTensorC: the tile takes %lld bytes, the tensor has %lld; as many as it has are copied",
             static_cast<long long>(bytes), static_cast<long long>(ub.length));
  Instr copy(in.name, Pipe::MTE2, in.where);
  const int64_t whole = kIs3510 || ub.length < bytes ? bytes : ub.length;
  if (!in.Ok() || !copy.Place(ub, "the tensor", 0, whole, kBlock)) return;
  copy.WriteBytes("the tensor", ub.start, whole, false);
  Core &core = in.core;
  std::memset(core.ub + ub.start, kPoison, static_cast<size_t>(whole));
  const bool dense = step == row;
  for (int64_t r = 0; r < tile.rows; ++r) Convert(tile, r, core.ub + ub.start + from + r * step);
  for (int64_t r = 0; r < (dense ? 1 : tile.rows); ++r) {
    Copy c = PlainCopy(dense ? row * tile.rows : row, 1, 0, 0, size);
    c.arg = -1;
    c.seq = copy.self;
    c.ub = ub.start + from + r * step;
    if (core.On(Law::kMissingSync)) core.pending->queue[0].push_back(c);
    else LandRead(core, c);
  }
  if (kIs3510) return;
  core.globals->cube.systemWritten += tile.rows * RoundUp32(row);
  core.globals->cube.systemRead += RoundUp32(whole);
}

// --- calls ----------------------------------------------------------------------------------------------------------------

// Makes a computation ready: everything is checked, the operands are taken. False: there is nothing to compute.
TWIN_FN bool CubeObject::Begin(Instr &in, bool partial) {
  Core &core = in.core;
  if (!Usable()) {
    core.Report(Law::kMatmulRegistration, in.where, in.name, "%s: the object was not registered by REGIST_MATMUL_OBJ with a tiling", in.name);
    core.Stop();
  }
  CheckCall(in, partial);
  if (begun) return in.Ok();
  CheckShape(in);
  CheckBias(in, partial);
  if (singleM <= 0 || singleN <= 0 || singleK <= 0 || !in.Ok()) return false;
  biased = biasGiven && !partial;
  a.given = b.given = biasGiven = biasDeclined = false;
  tilesM = CeilDiv(singleM, tiling.baseM);
  tilesN = CeilDiv(singleN, tiling.baseN);
  next = 0;
  residentA = residentB = -1;
  if (panels) {
    panels->left.Clear();
    panels->right.Clear();
  }
  if (!Take(in, "A", a, Stored(true)) || !Take(in, "B", b, Stored(false)) || !TakeBias(in)) return false;
  begun = true;
  core.cube.open[Record()] = in.where;
  return true;
}

TWIN_FN bool CubeObject::Iterate(bool partial, Site site) {
  Instr in("Iterate", Pipe::S, site);
  if (begun && next >= tilesM * tilesN) {
    begun = false;
    return false;
  }
  if (!Begin(in, partial)) return false;
  const Tile now = TileAt(next++);
  Compute(now, partial && held && now.rows == tile.rows && now.columns == tile.columns);
  tile = now;
  held = true;
  in.core.cube.unfetched[Record()] = site;
  return true;
}

TWIN_FN void CubeObject::Fetch(const GlobalBytes &gm, int64_t atomic, bool sequential, Site site) {
  Instr in("GetTensorC", Pipe::S, site);
  CheckFetch(in, atomic, false);
  if (in.Ok() && held) StoreGlobal(in, tile, gm, atomic, sequential);
  Fetched();
}
TWIN_FN void CubeObject::Fetch(const LocalBytes &ub, int64_t atomic, bool sequential, Site site) {
  Instr in("GetTensorC", Pipe::S, site);
  CheckFetch(in, atomic, true);
  if (in.Ok() && held) StoreLocal(in, ub, sequential);
  Fetched();
}
TWIN_FN void CubeObject::Fetched() {
  held = false;
  if (slot >= 0) Self().cube.unfetched[Record()] = Site{nullptr, 0};
}

TWIN_FN void CubeObject::All(const GlobalBytes &gm, int64_t atomic, bool sequential, bool sync, bool waits, Site site) {
  Instr in("IterateAll", Pipe::S, site);
  atomic = in.InRange("enAtomic", atomic, 0, 3);
  CheckResult(in, false);
  in.Require(Law::kUnsupported, sync || waits, "IterateAll<false>: without waitIterateAll and WaitIterateAll nothing orders its result");
  if (!Begin(in, false) || !in.Ok()) return;
  for (; next < tilesM * tilesN; ++next) {
    const Tile now = TileAt(next);
    Compute(now, false);
    if (!StoreGlobal(in, now, gm, atomic, sequential, !sync)) break;
  }
  waiting += sync ? 0 : 1;
  begun = false;
}

TWIN_FN bool CubeObject::IterateLater(bool partial, Site site) {
  Instr in("Iterate<false>", Pipe::S, site);
  if (laterTiles > 0 && !a.given && !b.given) {
    if (laterCounted == laterTiles) return false;
    ++laterCounted;
    return true;
  }
  in.Require(Law::kMatmulPartialSum, !partial, "Iterate<false>: no partial sums");
  in.Require(Law::kUnsupported, kIs3510 || traits.c.position == AscendC::TPosition::VECIN, "Iterate<false>: on 220 C is in VECIN");
  in.Require(Law::kMatmulOrder, space.arg >= 0, "Iterate<false>: SetWorkspace is missing");
  if (!Begin(in, false)) return false;
  for (; next < tilesM * tilesN; ++next) {
    const Tile now = TileAt(next);
    Compute(now, false);
    if (!StoreGlobal(in, now, Slot(next), 0, true, true)) break;
  }
  begun = false;
  laterTiles = next;
  laterCounted = 1;
  laterFetched = 0;
  in.core.cube.unfetched[Record()] = site;
  return laterTiles > 0;
}

// The workspace's place of a tile.
TWIN_FN GlobalBytes CubeObject::Slot(int64_t number) const {
  return space[number * tiling.baseM * tiling.baseN * CubeSize(traits.c.dtype)];
}

TWIN_FN GlobalBytes CubeObject::NextSlot(const char *api, int64_t atomic, Site site) {
  Core &core = Self();
  if (atomic != 0) core.Report(Law::kRange, site, api, "%s<false>: enAtomic is %lld, it must be 0", api, static_cast<long long>(atomic));
  if (laterFetched >= laterTiles) {
    core.Report(Law::kMatmulOrder, site, api, "%s<false>: Iterate<false> made %lld tiles, all were fetched", api, static_cast<long long>(laterTiles));
    return space;
  }
  std::vector<GmAccess> &flying = core.globals->inFlight;
  if (!flying.empty()) flying.erase(flying.begin());  // the oldest tile is there
  if (laterFetched + 1 == laterTiles) core.cube.unfetched[Record()] = Site{nullptr, 0};
  return Slot(laterFetched++);
}

TWIN_FN void CubeObject::FetchLater(const LocalBytes &ub, int64_t atomic, Site site) {
  const Tile now = laterFetched < laterTiles ? TileAt(laterFetched) : tile;
  const bool any = laterFetched < laterTiles;
  const GlobalBytes slot = NextSlot("GetTensorC", atomic, site);
  if (!any) return;
  const int64_t row = now.columns * CubeSize(traits.c.dtype);
  Instr copy("GetTensorC", Pipe::MTE2, site);
  copy.Require(Law::kLocalBounds, ub.length >= now.rows * row, "GetTensorC: the tile takes %lld bytes, the tensor has %lld", static_cast<long long>(now.rows * row),
               static_cast<long long>(ub.length));
  if (copy.Ok()) IssueRead(copy, ub, slot, PlainCopy(now.rows * row, 1, 0, 0, CubeSize(traits.c.dtype)));
}

TWIN_FN void CubeObject::WaitFetch() {
  for (int p = 0; p < kPipes; ++p) Self().Edge(Pipe::MTE2, static_cast<Pipe>(p));
}

}  // namespace twin
