// What Matmul's tiling, types and calls must satisfy. Part of the runtime (runtime.cpp).
#pragma once
#include "checks.h"
#include "cube.h"
#include "phases.h"

namespace twin {

constexpr const char *kRegist = "REGIST_MATMUL_OBJ";

TWIN_FN void BeginRegistration(Site site, const void *workspace) {
  Core &core = Self();
  const Launch &launch = *core.launch;
  const auto need = [&](bool condition, const char *what) {
    if (!condition) core.Report(Law::kMatmulRegistration, site, kRegist, "REGIST_MATMUL_OBJ: %s", what);
  };
  need(launch.cubes, "this tiling key's kernel type has no cube core, declare KERNEL_TYPE_MIX_AIC_1_2 (or _1_1)");
  need(!core.cube.registered, "it is called a second time; give all objects to one call");
  need(core.buffers.empty(), "InitBuffer was called before it");
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
  CheckTypes(site);
}

// The vector cores of a block share a cube core, which serves both until both have ended.
TWIN_FN void CheckPairs(Running &launch) {
  for (size_t i = 0; launch.ratio == 2 && i + 1 < launch.registered.size(); i += 2) {
    const Site &even = launch.registered[i], &odd = launch.registered[i + 1];
    if (even.line == -1 || odd.line == -1 || (even.line == 0) == (odd.line == 0)) continue;
    const GmAccess place{0, 0, 0, 0, even.line != 0 ? even : odd, kRegist, -1, false, false, false, false};
    char text[160];
    std::snprintf(text, sizeof text, "REGIST_MATMUL_OBJ: of vector cores %d and %d, which share a cube core, only one reaches it; the device would hang",
                  static_cast<int>(i), static_cast<int>(i + 1));
    launch.ReportAccess(place, Law::kMatmulRegistration, static_cast<int>(even.line != 0 ? i : i + 1), text);
  }
}
TWIN_FN void CubeObject::Init(const TCubeTiling *source, Site) {
  tiling = *source;
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
TWIN_FN void CubeObject::Restart(const char *, CubeOperand &operand, const CubeType &, Site) {
  operand.given = true;
  begun = false;
}
TWIN_FN void CubeObject::SetBias(Site) {
  biasGiven = true;
  biasDeclined = false;
}
TWIN_FN void CubeObject::NoBias() {
  biasGiven = false;
  biasDeclined = true;
}
TWIN_FN void CubeObject::CheckTypes(Site) {}
TWIN_FN void CubeObject::CheckTiling(Site) {}
TWIN_FN void CubeObject::CheckCapacity(Site) {}
TWIN_FN void CubeObject::CheckShape(Instr &) {}
TWIN_FN void CubeObject::CheckBias(Instr &, bool) {}
TWIN_FN void CubeObject::CheckCall(Instr &, bool) {}
TWIN_FN void CubeObject::CheckFetch(Instr &, int64_t) {}
TWIN_FN void CubeObject::End(Site) {}

}  // namespace twin
