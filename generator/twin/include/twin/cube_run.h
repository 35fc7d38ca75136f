// The calls of a Matmul object: what they begin, compute and leave behind. Part of the runtime (runtime.cpp).
#pragma once
#include "cube_tiles.h"

namespace twin {

// --- calls ----------------------------------------------------------------------------------------------------------------

// Operands taken from now on are rounded, those of tiles computed before keep theirs.
TWIN_FN void CubeObject::SetHf32(bool on, int32_t rounding, Site site) {
  if (!traits.cubeOnly)
    Self().Report(Law::kMatmulHf32, site, "SetHF32", "SetHF32: only kernels that define ASCENDC_CUBE_ONLY may call it");
  if (rounding != 0 && rounding != 1)
    Self().Report(Law::kMatmulHf32, site, "SetHF32", "SetHF32: transMode is %d, it is 0 (half to even) or 1 (half away from zero)",
                  static_cast<int>(rounding));
  hf32 = on ? 1 + (rounding == 1) : 0;
  if (panels) panels->left.Clear();
}

// Makes a computation ready: everything is checked, the operands are taken. False: there is nothing to compute.
TWIN_FN bool CubeObject::Begin(Instr &in, bool partial) {
  Core &core = in.core;
  if (!Usable()) {
    core.Report(Law::kMatmulRegistration, in.where, in.name, "%s: the object was not registered by REGIST_MATMUL_OBJ with a tiling",
                in.name);
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
  ++computation;
  if (panels) panels->left.Clear();
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
    core.Report(Law::kMatmulOrder, site, api, "%s<false>: Iterate<false> made %lld tiles, all were fetched", api,
                static_cast<long long>(laterTiles));
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
  copy.Require(Law::kLocalBounds, ub.length >= now.rows * row, "GetTensorC: the tile takes %lld bytes, the tensor has %lld",
               static_cast<long long>(now.rows * row), static_cast<long long>(ub.length));
  if (copy.Ok()) IssueRead(copy, ub, slot, PlainCopy(now.rows * row, 1, 0, 0, CubeSize(traits.c.dtype)));
}

TWIN_FN void CubeObject::WaitFetch() {
  for (int p = 0; p < kPipes; ++p) Self().Edge(Pipe::MTE2, static_cast<Pipe>(p));
}

}  // namespace twin
