// What Matmul's tiling, types and calls must satisfy. Part of the runtime (runtime.cpp).
#pragma once
#include "checks.h"
#include "cube.h"
#include "phases.h"

namespace twin {

constexpr const char *kRegist = "REGIST_MATMUL_OBJ";

TWIN_FN void BeginRegistration(Site site, const void *workspace, bool cubeOnly) {
  Core &core = Self();
  const Launch &launch = *core.launch;
  const auto need = [&](bool condition, const char *what) {
    if (!condition) core.Report(Law::kMatmulRegistration, site, kRegist, "REGIST_MATMUL_OBJ: %s", what);
  };
  need(launch.cubes, "this tiling key's kernel type has no cube core, declare KERNEL_TYPE_MIX_AIC_1_2 (or _1_1)");
  need(!core.cube.registered, "it is called a second time; give all objects to one call");
  if (cubeOnly && !core.cubeCore) {
    core.Report(Law::kCubeCore, site, kRegist,
                "REGIST_MATMUL_OBJ: a vector core runs it, with ASCENDC_CUBE_ONLY it is for cube cores; guard it with if ASCEND_IS_AIC");
    core.Stop();
  }
  need(cubeOnly || core.buffers.empty(), "InitBuffer was called before it");
  need(workspace == launch.systemSpace, "the workspace is not GetSysWorkSpacePtr()");
  need(launch.systemBytes >= kSystemWorkspace, "the host asked for a workspace without GetLibApiWorkSpaceSize()");
  core.cube.registered = true;
  core.cube.site = site;
}

TWIN_FN void CubeObject::Register(int number, Site site) {
  if (number >= kCubeObjects)
    Self().Report(Law::kMatmulRegistration, site, kRegist, "REGIST_MATMUL_OBJ: more than %d objects", kCubeObjects);
  if (slot >= 0) Self().Report(Law::kMatmulRegistration, site, kRegist, "REGIST_MATMUL_OBJ: an object is given twice");
  slot = number;
  ++Self().cube.objects;
  CheckTypes(site);
}

// The vector cores of a block share a cube core, which serves both until both have ended.
TWIN_FN void CheckPairs(Running &launch) {
  for (size_t i = 0; launch.ratio == 2 && i < static_cast<size_t>(launch.vectors); i += 2) {
    const Site &even = launch.registered[i], &odd = launch.registered[i + 1];
    if (even.line == -1 || odd.line == -1 || (even.line == 0) == (odd.line == 0)) continue;
    const GmAccess place{0, 0, 0, 0, even.line != 0 ? even : odd, kRegist, -1, false, false, false, false};
    char text[160];
    std::snprintf(text, sizeof text,
                  "REGIST_MATMUL_OBJ: of vector cores %d and %d, which share a cube core, only one reaches it; the device would hang",
                  static_cast<int>(i), static_cast<int>(i + 1));
    launch.ReportAccess(place, Law::kMatmulRegistration, static_cast<int>(even.line != 0 ? i : i + 1), text);
  }
}
TWIN_FN void CubeObject::Init(const TCubeTiling *source, Site site) {
  if (source == nullptr) {
    Self().Report(Law::kMatmulTiling, site, "Init", "Matmul: the tiling is null, and its types carry none");
    Self().Stop();
  }
  tiling = *source;
  CheckTiling(site);
  CheckCapacity(site);
  for (int32_t *size : {&tiling.baseM, &tiling.baseN, &tiling.baseK}) *size = *size > 0 ? *size : 16;
  for (int32_t *step : {&tiling.stepM, &tiling.stepN, &tiling.stepKa, &tiling.stepKb}) *step = *step > 0 ? *step : 1;
  ready = true;
  SetOrg(tiling.M, tiling.N, tiling.Ka, tiling.Kb, 0);
  SetSingle(tiling.singleCoreM, tiling.singleCoreN, tiling.singleCoreK);
}
TWIN_FN void CubeObject::SetOrg(int64_t m, int64_t n, int64_t ka, int64_t kb, int64_t kc) {
  orgM = m;
  orgN = n;
  orgKa = ka;
  orgKb = kb;
  orgKc = kc;
}
TWIN_FN void CubeObject::SetSingle(int64_t m, int64_t n, int64_t k) {
  if (m != -1) singleM = m;
  if (n != -1) singleN = n;
  if (k != -1) singleK = k;
}

// --- types and tiling, once -------------------------------------------------------------------------------------------

// A and B, bias, C: the combinations of matmul.md section 5 that the twin computes.
inline bool CubeDtypesLegal(CubeDtype a, CubeDtype bias, CubeDtype c) {
  const bool floats = c == CubeDtype::kF32 || c == CubeDtype::kF16;
  if (a == CubeDtype::kI8) return bias == CubeDtype::kI32 && c == CubeDtype::kI32;
  if (a != CubeDtype::kF16 && a != CubeDtype::kBf16 && a != CubeDtype::kF32) return false;
  if (kIs3510 && bias == CubeDtype::kBf16) return floats || c == CubeDtype::kBf16;
  if (bias == CubeDtype::kF16) return floats || (c == CubeDtype::kBf16 && a != CubeDtype::kBf16);
  return bias == CubeDtype::kF32 && (floats || c == CubeDtype::kBf16);
}

TWIN_FN void CubeObject::CheckTypes(Site site) {
  Core &core = Self();
  const auto need = [&](bool condition, const char *what) {
    if (!condition) core.Report(Law::kUnsupported, site, kRegist, "Matmul: %s", what);
  };
  using AscendC::TPosition;
  need(!traits.cubeOnly || (traits.c.position == TPosition::GM && traits.a.position == TPosition::GM &&
                            traits.b.position == TPosition::GM && traits.bias.position == TPosition::GM),
       "with ASCENDC_CUBE_ONLY a cube core has no unified buffer, all of A, B, bias and C are in GM");
  const auto source = [](const CubeType &type) { return type.position == TPosition::GM || type.position == TPosition::VECOUT; };
  const auto plain = [](const CubeType &type) { return type.format == CubeFormat::ND || type.format == CubeFormat::NZ; };
  if (traits.a.dtype != traits.b.dtype || !CubeDtypesLegal(traits.a.dtype, traits.bias.dtype, traits.c.dtype))
    core.Report(Law::kUnsupported, site, kRegist,
                "Matmul: no product of %s and %s with a bias of %s and a result of %s (without a bias its type counts too)",
                CubeDtypeName(traits.a.dtype), CubeDtypeName(traits.b.dtype), CubeDtypeName(traits.bias.dtype),
                CubeDtypeName(traits.c.dtype));
  need(source(traits.a) && source(traits.b), "A and B are in GM or VECOUT (the twin has no TSCM)");
  need(plain(traits.a) && plain(traits.b), "A and B are ND or NZ (the twin has no other format)");
  need(source(traits.bias) && traits.bias.format == CubeFormat::ND, "the bias is ND, in GM or VECOUT (without a bias its type counts too)");
  need(traits.c.position == TPosition::GM || traits.c.position == TPosition::VECIN, "C is in GM or VECIN");
  need(traits.c.format == CubeFormat::ND || traits.c.format == CubeFormat::ND_ALIGN, "C is ND or ND_ALIGN (the twin has no other format)");
  const MatmulConfig &config = traits.config;
  need((config.doNorm || config.doMultiDataLoad) && !config.doBasicBlock && !config.doSpecialMDL && !config.doIBShareNorm &&
           !config.enableMixDualMaster && config.scheduleType == ScheduleType::INNER_PRODUCT,
       "the twin runs the NORM and MDL templates, each core's requests served by its cube core");
}

TWIN_FN void CubeObject::CheckTiling(Site site) {
  Core &core = Self();
  const TCubeTiling &t = tiling;
  const auto need = [&](bool condition, const char *format, auto... values) {
    if (!condition) core.Report(Law::kMatmulTiling, site, "Init", (std::string("TCubeTiling: ") + format).c_str(), values...);
  };
  const auto positive = [&](const char *name, int32_t value) { need(value > 0, "%s is %d, it must be positive", name, value); };
  const int most = traits.cubeOnly ? core.launch->physicalCores / 2 : core.launch->physicalCores;  // two vector cores share a cube core
  need(t.usedCoreNum >= 1 && t.usedCoreNum <= most, "usedCoreNum is %d, allowed are 1 to %d", t.usedCoreNum, most);
  positive("M", t.M), positive("N", t.N), positive("Ka", t.Ka), positive("Kb", t.Kb);
  positive("singleCoreM", t.singleCoreM), positive("singleCoreN", t.singleCoreN), positive("singleCoreK", t.singleCoreK);
  positive("baseM", t.baseM), positive("baseN", t.baseN), positive("baseK", t.baseK);
  positive("stepM", t.stepM), positive("stepN", t.stepN), positive("stepKa", t.stepKa), positive("stepKb", t.stepKb);
  const int unit = !traits.a.transposable && traits.b.transposable ? static_cast<int>(kBlock / CubeSize(traits.a.dtype)) : 16;
  need(t.baseM % 16 == 0, "baseM is %d, not a multiple of 16", t.baseM);
  need(t.baseN % 16 == 0, "baseN is %d, not a multiple of 16", t.baseN);
  need(t.baseK % unit == 0, "baseK is %d, not a multiple of %d", t.baseK, unit);
  const int heldA = t.stepM * t.stepKa, heldB = t.stepN * t.stepKb;
  need(t.depthA1 > 0 && (t.depthA1 == heldA || t.depthA1 == 2 * heldA), "depthA1 is %d, neither once nor twice stepM * stepKa = %d",
       t.depthA1, heldA);
  need(t.depthB1 > 0 && (t.depthB1 == heldB || t.depthB1 == 2 * heldB), "depthB1 is %d, neither once nor twice stepN * stepKb = %d",
       t.depthB1, heldB);
  for (const int32_t twice : {t.dbL0A, t.dbL0B, t.dbL0C})
    need(twice == 1 || twice == 2, "dbL0A, dbL0B or dbL0C is %d, allowed are 1 and 2", twice);
  need(t.isBias == 0 || t.isBias == 1, "isBias is %d, allowed are 0 and 1", t.isBias);
  need(t.iterateOrder == 0 || t.iterateOrder == 1, "iterateOrder is %d, allowed are 0 and 1", t.iterateOrder);
  need(t.shareMode == 0, "shareMode is %d, it must be 0", t.shareMode);
  if (t.baseK <= 0 || t.stepKa <= 0 || t.stepKb <= 0 || t.singleCoreK <= 0) return;
  need(t.shareL1Size >= L1Bytes(), "shareL1Size is %d, the tiles take %lld bytes", t.shareL1Size, static_cast<long long>(L1Bytes()));
  need(t.shareL0CSize >= 4ll * t.baseM * t.baseN, "shareL0CSize is %d, a tile takes %lld bytes", t.shareL0CSize, 4ll * t.baseM * t.baseN);
  if (!traits.config.doMultiDataLoad) return;
  const int blocks = (t.singleCoreK + t.baseK - 1) / t.baseK, groupsA = (blocks + t.stepKa - 1) / t.stepKa,
            groupsB = (blocks + t.stepKb - 1) / t.stepKb;
  need(blocks <= t.stepKa || t.stepM == 1, "MDL: stepM is %d, it must be 1 while K (%d blocks) is longer than stepKa (%d)", t.stepM, blocks,
       t.stepKa);
  need(blocks <= t.stepKb || t.stepN == 1, "MDL: stepN is %d, it must be 1 while K (%d blocks) is longer than stepKb (%d)", t.stepN, blocks,
       t.stepKb);
  need(groupsA % groupsB == 0 || groupsB % groupsA == 0,
       "MDL: K takes %d groups of stepKa and %d of stepKb; one must be a multiple of the other", groupsA, groupsB);
}

// Bytes of L1 that the tiling takes. A transposed, and B not transposed, are kept in whole fractals along M and N.
TWIN_FN int64_t CubeObject::L1Bytes() const {
  const TCubeTiling &t = tiling;
  const int64_t size = CubeSize(traits.a.dtype), fractal = kBlock / size;
  const auto up = [fractal](int64_t n) { return (n + fractal - 1) / fractal * fractal; };
  const int64_t m = traits.a.transposable ? up(t.baseM) : t.baseM, n = traits.b.transposable ? t.baseN : up(t.baseN);
  return size * t.baseK * (m * t.depthA1 + n * t.depthB1) + (t.isBias != 0 ? t.baseN * CubeSize(traits.bias.dtype) : 0);
}

TWIN_FN void CubeObject::CheckCapacity(Site site) {
  Core &core = Self();
  const Launch &launch = *core.launch;
  const TCubeTiling &t = tiling;
  const int64_t size = CubeSize(traits.a.dtype);
  const auto fits = [&](const char *what, const char *how, int64_t bytes, int64_t capacity) {
    if (bytes > capacity)
      core.Report(Law::kMatmulCapacity, site, "Init", "TCubeTiling: %s = %lld bytes, %s has %lld", how, static_cast<long long>(bytes), what,
                  static_cast<long long>(capacity));
  };
  fits("L0A", "baseM * baseK * dbL0A elements", size * t.baseM * t.baseK * t.dbL0A, launch.l0aBytes);
  fits("L0B", "baseN * baseK * dbL0B elements", size * t.baseN * t.baseK * t.dbL0B, launch.l0bBytes);
  fits("L0C", "baseM * baseN * 4 * dbL0C", 4ll * t.baseM * t.baseN * t.dbL0C, launch.l0cBytes);
  fits("L1", "the depthA1 and depthB1 tiles and the bias", L1Bytes(), launch.l1Bytes - kL1Lost);
  if (t.isBias != 0) fits("the bias table", "baseN of the bias", t.baseN * CubeSize(traits.bias.dtype), kBiasTable);
}

// --- each call ----------------------------------------------------------------------------------------------------------

TWIN_FN void CubeObject::Restart(const char *api, CubeOperand &operand, const CubeType &type, Site site) {
  Core &core = Self();
  if (operand.transposed && !type.transposable)
    core.Report(Law::kMatmulTranspose, site, api, "%s: transposed, but ISTRANS of its MatmulType is false", api);
  else if (!operand.transposed && type.transposable && CubeSize(type.dtype) != 2)
    core.Report(Law::kMatmulTranspose, site, api,
                "%s: not transposed, but ISTRANS of its MatmulType is true; only 16-bit types leave the choice", api);
  CheckPosition(api, operand, type, site);
  operand.given = true;
  begun = false;
}

TWIN_FN void CubeObject::CheckPosition(const char *api, const CubeOperand &operand, const CubeType &type, Site site) {
  if (operand.local != (type.position != AscendC::TPosition::GM))
    Self().Report(Law::kUnsupported, site, api, "%s: a tensor in %s memory, its MatmulType says %s", api,
                  operand.local ? "local" : "global", PositionName(type.position));
}

TWIN_FN void CubeObject::SetBias(Site site) {
  if (ready && tiling.isBias == 0) Self().Report(Law::kMatmulBias, site, "SetBias", "SetBias: isBias of the tiling is 0");
  CheckPosition("SetBias", bias, traits.bias, site);
  biasGiven = true;
  biasDeclined = false;
}
TWIN_FN void CubeObject::NoBias() {
  biasGiven = false;
  biasDeclined = true;
}

TWIN_FN void CrossCoreFlag(const char *api, int64_t id, Site site) {
  Core &core = Self();
  const int own = 2 * core.cube.objects;
  if (id < own || id > 15 || (id >= 11 && id <= 14))
    core.Report(Law::kCrossCoreFlag, site, api, "%s: flag %lld is not free, Matmul uses 0 to %d and SyncAll 11 to 14 of 0 to 15", api,
                static_cast<long long>(id), own - 1);
  else
    core.Report(Law::kUnsupported, site, api, "%s: the twin orders cores by SyncAll only", api);
}

// Before a computation: its operands are set anew, no other object is open, no tile lies unfetched.
TWIN_FN void CubeObject::CheckCall(Instr &in, bool partial) {
  Core &core = in.core;
  const auto need = [&](Law law, bool condition, const char *format, auto... values) {  // reported, and computed all the same
    if (!condition) core.Report(law, in.where, in.name, format, values...);
  };
  need(Law::kMatmulOrder, begun || (a.given && b.given), "%s: %s was not called since the last computation", in.name,
       a.given ? "SetTensorB" : "SetTensorA");
  for (int other = 0; other < kCubeObjects; ++other)
    need(Law::kMatmulOrder, other == Record() || core.cube.open[other].file == nullptr,
         "%s: another object computed (line %d) and was not ended by End", in.name, core.cube.open[other].line);
  need(Law::kMatmulOrder, partial || !held, "%s: the tile of the Iterate before (line %d) was not fetched by GetTensorC", in.name,
       core.cube.unfetched[Record()].line);
  need(Law::kMatmulOrder, laterFetched == laterTiles,
       "%s: %lld of the %lld tiles of the Iterate<false> before were fetched by GetTensorC<false>", in.name,
       static_cast<long long>(laterFetched), static_cast<long long>(laterTiles));
  need(Law::kMatmulOrder, waiting == 0, "%s: WaitIterateAll is missing after the IterateAll before", in.name);
  if (!begun) core.globals->inFlight.clear();  // said once
  if (!partial) return;
  need(Law::kMatmulPartialSum, held, "%s(true): there is no tile to add to, the first call of a sum must be Iterate(false)", in.name);
  need(Law::kMatmulPartialSum, singleM <= tiling.baseM && singleN <= tiling.baseN,
       "Iterate(true): %lld x %lld is more than one tile of %d x %d", static_cast<long long>(singleM), static_cast<long long>(singleN),
       tiling.baseM, tiling.baseN);
  need(Law::kMatmulPartialSum, !held || (singleM == tile.rows && singleN == tile.columns),
       "Iterate(true): %lld x %lld onto a tile of %lld x %lld", static_cast<long long>(singleM), static_cast<long long>(singleN),
       static_cast<long long>(tile.rows), static_cast<long long>(tile.columns));
}

TWIN_FN void CubeObject::CheckShape(Instr &in) {
  in.Require(Law::kMatmulShape, singleM > 0 && singleN > 0 && singleK > 0, "%s: M, N, K are %lld, %lld, %lld, all must be positive",
             in.name, static_cast<long long>(singleM), static_cast<long long>(singleN), static_cast<long long>(singleK));
  const auto operand = [&](const char *name, const Matrix &m) {
    const bool nz = m.type.format == CubeFormat::NZ;
    in.Require(Law::kMatmulShape, m.usedColumns <= m.Pitch() && m.Pitch() > 0,
               "%s: %s takes %lld elements of rows that are %lld apart (SetOrgShape)", in.name, name, static_cast<long long>(m.usedColumns),
               static_cast<long long>(m.Pitch()));
    in.Require(Law::kMatmulShape, !m.operand->local || nz || m.Pitch() == m.usedColumns,
               "%s: %s is local, its rows of %lld elements cannot be %lld apart", in.name, name, static_cast<long long>(m.usedColumns),
               static_cast<long long>(m.Pitch()));
    in.Require(Law::kMatmulShape, kIs3510 || nz || m.operand->local || m.Pitch() <= kLongAxis || traits.config.intrinsicsCheck,
               "%s: rows of %s are %lld elements apart, beyond 65535 the configuration needs intrinsicsCheck", in.name, name,
               static_cast<long long>(m.Pitch()));
    in.Require(Law::kMatmulShape, !nz || (m.rows % 16 == 0 && m.columns % m.Fractal() == 0),
               "%s: %s is NZ, %lld x %lld is not a multiple of 16 x %lld", in.name, name, static_cast<long long>(m.rows),
               static_cast<long long>(m.columns), static_cast<long long>(m.Fractal()));
  };
  operand("A", Stored(true));
  operand("B", Stored(false));
}

TWIN_FN void CubeObject::CheckBias(Instr &in, bool partial) {
  in.Require(Law::kMatmulBias, !partial || !biasGiven, "%s: SetBias before Iterate(true), which adds no bias", in.name);
  in.Require(Law::kMatmulBias, partial || tiling.isBias == 0 || biasGiven || biasDeclined,
             "%s: isBias of the tiling is 1, but SetBias was not called for this computation (nor DisableBias)", in.name);
}

TWIN_FN void CubeObject::CheckFetch(Instr &in, int64_t atomic, bool local) {
  in.InRange("enAtomic", atomic, 0, local ? 0 : 3);
  in.Require(Law::kMatmulOrder, held, "GetTensorC: no Iterate before it, or its tile was fetched already");
  CheckResult(in, local);
}
TWIN_FN void CubeObject::CheckResult(Instr &in, bool local) {
  in.Require(Law::kUnsupported, local == (traits.c.position != AscendC::TPosition::GM), "%s: C goes to %s memory, its MatmulType says %s",
             in.name, local ? "local" : "global", PositionName(traits.c.position));
}

TWIN_FN void CubeObject::WaitAll(Site site) {
  if (waiting == 0)
    Self().Report(Law::kMatmulOrder, site, "WaitIterateAll", "WaitIterateAll: no IterateAll<false> with waitIterateAll before it");
  waiting = 0;
  if (ready) Self().globals->inFlight.clear();
}

TWIN_FN void CubeObject::End(Site site) {
  Core &core = Self();
  if (slot < 0) return;
  if (waiting != 0) core.Report(Law::kMatmulOrder, site, "End", "End: WaitIterateAll is missing after IterateAll<false>");
  core.cube.open[Record()] = Site{nullptr, 0};
  begun = a.given = b.given = biasGiven = biasDeclined = false;
  laterTiles = laterCounted = laterFetched = 0;
  panels.reset();
}

// When the kernel ends: every object was ended, every tile fetched.
TWIN_FN void CheckObjects(Core &core) {
  for (int i = 0; i < kCubeObjects; ++i) {
    const Site open = core.cube.open[i], tile = core.cube.unfetched[i];
    if (open.file != nullptr) core.Report(Law::kMatmulOrder, open, "Matmul", "the object that computes here is not ended by End");
    if (tile.file != nullptr) core.Report(Law::kMatmulOrder, tile, "Iterate", "Iterate: its tile is never fetched by GetTensorC");
  }
}

}  // namespace twin
