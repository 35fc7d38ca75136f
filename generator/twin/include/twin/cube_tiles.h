// What a Matmul object computes and writes: tiles, their traffic, results to global and local memory. Part of the runtime (runtime.cpp).
#pragma once
#include "cube_operands.h"

namespace twin {

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
  WidenAny(traits.bias.dtype == CubeDtype::kI32 ? CubeDtype::kF32 : traits.bias.dtype, OperandData(bias) + t.column * tiling.baseN * size,
           t.columns, row.data(), 0);
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
  if (!holdsA)
    count.Add(a, LoadBytes(Stored(true), true, t.row, 1));
  else if (groupA != residentA)
    count.Add(a, LoadBytes(Stored(true), true, groupA * tiling.stepM, tiling.stepM));
  if (!holdsB)
    count.Add(b, LoadBytes(Stored(false), false, t.column, 1));
  else if (groupB != residentB)
    count.Add(b, LoadBytes(Stored(false), false, groupB * tiling.stepN, tiling.stepN));
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
  return dtype == CubeDtype::kF16 ? kAtomicHalf
                                  : (dtype == CubeDtype::kBf16 ? kAtomicBf16 : (dtype == CubeDtype::kI32 ? kAtomicI32 : kAtomicFloat));
}

TWIN_FN bool CubeObject::StoreGlobal(Instr &in, const Tile &t, const GlobalBytes &gm, int64_t atomic, bool sequential, bool later) {
  const int64_t size = CubeSize(traits.c.dtype), row = orgKc > 0 ? orgKc : orgN;
  const int64_t width = sequential ? t.columns : row;
  const int64_t start = gm.start + (sequential ? 0 : (t.row * tiling.baseM * row + t.column * tiling.baseN) * size);
  GmAccess access{0, t.columns * size, width * size, t.rows, in.where, in.name, -1, true, atomic != 0, false, false};
  in.Require(Law::kMatmulShape, sequential || singleN <= row, "%s: rows of C are %lld apart, too close for N = %lld", in.name,
             static_cast<long long>(row), static_cast<long long>(singleN));
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
    if (launch.blockDim == 1)
      AccumulateAs(arg.base + offset, line.data(), access.run, CubeAtomic(traits.c.dtype), static_cast<int>(atomic));
    else
      log.atomics.push_back(AtomicCopy{access.arg, offset, CubeAtomic(traits.c.dtype), static_cast<int32_t>(atomic), line});
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
  in.Require(Law::kAlignment, !kIs3510 || step % kBlock == 0, "GetTensorC: rows of %lld bytes, on 3510 they must be multiples of 32",
             static_cast<long long>(step));
  in.Require(Law::kLocalBounds, kIs3510 || ub.length >= bytes,
             "GetTensorC: the tile takes %lld bytes, the tensor has %lld; as many as it has are copied", static_cast<long long>(bytes),
             static_cast<long long>(ub.length));
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
    if (core.On(Law::kMissingSync))
      core.pending->queue[0].push_back(c);
    else
      LandRead(core, c);
  }
  if (kIs3510) return;
  core.globals->cube.systemWritten += tile.rows * RoundUp32(row);
  core.globals->cube.systemRead += RoundUp32(whole);
}

}  // namespace twin
