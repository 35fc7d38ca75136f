// Matmul of chosen types, one call sequence for each tiling key. C of core idx is block (idx % mBlocks, idx / mBlocks).
#include "kernel_operator.h"
#include "lib/matmul_intf.h"
#include "matmul_tiling_data.h"

#ifndef A_T
#define A_T half
#endif
#ifndef C_T
#define C_T float
#endif
#ifndef BIAS_T
#define BIAS_T float
#endif
#ifndef TRANS_A
#define TRANS_A false
#endif
#ifndef TRANS_B
#define TRANS_B false
#endif
#ifndef A_FORMAT
#define A_FORMAT ND
#endif
#ifndef B_FORMAT
#define B_FORMAT ND
#endif
#ifndef CONFIG
#define CONFIG CFG_NORM
#endif

using namespace AscendC;

using AType = MatmulType<TPosition::GM, CubeFormat::A_FORMAT, A_T, TRANS_A>;
using BType = MatmulType<TPosition::GM, CubeFormat::B_FORMAT, A_T, TRANS_B>;
using CType = MatmulType<TPosition::GM, CubeFormat::ND, C_T>;
using BiasType = MatmulType<TPosition::GM, CubeFormat::ND, BIAS_T>;

class MatmulTest {
 public:
  __aicore__ inline void Init(GM_ADDR a, GM_ADDR b, GM_ADDR bias, GM_ADDR c) {
    aGm.SetGlobalBuffer((__gm__ A_T *)a);
    bGm.SetGlobalBuffer((__gm__ A_T *)b);
    biasGm.SetGlobalBuffer((__gm__ BIAS_T *)bias);
    cGm.SetGlobalBuffer((__gm__ C_T *)c);
  }
  __aicore__ inline void Run(const MatmulTestTiling &t) {
    const int64_t idx = GetBlockIdx();
    if (idx >= t.mm.usedCoreNum) {
      return;
    }
    const int64_t mBlocks = (t.mm.M + t.mm.singleCoreM - 1) / t.mm.singleCoreM;
    const int64_t m0 = idx % mBlocks * t.mm.singleCoreM, n0 = idx / mBlocks * t.mm.singleCoreN;
    const int64_t m = t.mm.M - m0 < t.mm.singleCoreM ? t.mm.M - m0 : t.mm.singleCoreM;
    const int64_t n = t.mm.N - n0 < t.mm.singleCoreN ? t.mm.N - n0 : t.mm.singleCoreN;
    const int64_t pitchA = t.orgM == 0 ? (TRANS_A ? t.mm.M : t.mm.Ka) : (TRANS_A ? t.orgM : t.orgKa);
    const int64_t pitchB = t.orgM == 0 ? (TRANS_B ? t.mm.Kb : t.mm.N) : (TRANS_B ? t.orgKb : t.orgN);
    const int64_t pitchC = t.orgM == 0 ? t.mm.N : (t.orgKc > 0 ? t.orgKc : t.orgN);
    if (t.orgM != 0) {
      mm.SetOrgShape(t.orgM, t.orgN, t.orgKa, t.orgKb, t.orgKc);
    }
    mm.SetSingleShape(m, n, t.mm.singleCoreK);
    a = aGm[t.offsetA + (TRANS_A ? m0 : m0 * pitchA)];
    b = bGm[t.offsetB + (TRANS_B ? n0 * pitchB : n0)];
    c = cGm[t.offsetC + m0 * pitchC + n0];
    if (TILING_KEY_IS(5)) {
      mm.SetHF32(true, t.taps);
    }
    if (TILING_KEY_IS(3)) {
      Sum(t, m, n, pitchA, pitchB);
      return;
    }
    Set(t, n0);
    if (TILING_KEY_IS(2)) {
      Tiles(t, m, n);
    } else if (TILING_KEY_IS(4)) {
      mm.template IterateAll<false>(c, t.atomic, t.sequential != 0, true);
      mm.WaitIterateAll();
    } else {
      mm.IterateAll(c, t.atomic, t.sequential != 0);
    }
    mm.End();
  }

  Matmul<AType, BType, CType, BiasType, CONFIG> mm;

 private:
  __aicore__ inline void Set(const MatmulTestTiling &t, int64_t n0) {
    mm.SetTensorA(a, TRANS_A);
    mm.SetTensorB(b, TRANS_B);
    if (t.bias != 0) {
      mm.SetBias(biasGm[n0]);
    }
  }
  // Tile by tile; sequential: each where the one before ends.
  __aicore__ inline void Tiles(const MatmulTestTiling &t, int64_t m, int64_t n) {
    const int64_t tilesM = (m + t.mm.baseM - 1) / t.mm.baseM, tilesN = (n + t.mm.baseN - 1) / t.mm.baseN;
    int64_t number = 0, at = 0;
    while (mm.template Iterate<true>()) {
      const int64_t row = t.mm.iterateOrder == 0 ? number % tilesM : number / tilesN;
      const int64_t column = t.mm.iterateOrder == 0 ? number / tilesM : number % tilesN;
      const int64_t rows = m - row * t.mm.baseM < t.mm.baseM ? m - row * t.mm.baseM : t.mm.baseM;
      const int64_t columns = n - column * t.mm.baseN < t.mm.baseN ? n - column * t.mm.baseN : t.mm.baseN;
      mm.template GetTensorC<true>(c[at], t.atomic, t.sequential != 0);
      at += t.sequential != 0 ? rows * columns : 0;
      ++number;
    }
  }
  // Tile by tile, each the sum over `taps` parts of K.
  __aicore__ inline void Sum(const MatmulTestTiling &t, int64_t m, int64_t n, int64_t pitchA, int64_t pitchB) {
    const int64_t part = t.mm.singleCoreK / t.taps;
    for (int64_t r = 0; r < m; r += t.mm.baseM) {
      for (int64_t q = 0; q < n; q += t.mm.baseN) {
        mm.SetSingleShape(m - r < t.mm.baseM ? m - r : t.mm.baseM, n - q < t.mm.baseN ? n - q : t.mm.baseN, part);
        for (int64_t tap = 0; tap < t.taps; ++tap) {
          mm.SetTensorA(a[(TRANS_A ? r : r * pitchA) + tap * part * (TRANS_A ? pitchA : 1)], TRANS_A);
          mm.SetTensorB(b[(TRANS_B ? q * pitchB : q) + tap * part * (TRANS_B ? 1 : pitchB)], TRANS_B);
          if (t.bias != 0 && tap == 0) {
            mm.SetBias(biasGm[q]);
          }
          mm.template Iterate<true>(tap != 0);
        }
        mm.template GetTensorC<true>(c[r * (t.orgM == 0 ? t.mm.N : t.orgN) + q], t.atomic);
      }
    }
    mm.End();
  }

  GlobalTensor<A_T> aGm, bGm, a, b;
  GlobalTensor<BIAS_T> biasGm;
  GlobalTensor<C_T> cGm, c;
};

extern "C" __global__ __aicore__ void matmul_calls(GM_ADDR a, GM_ADDR b, GM_ADDR bias, GM_ADDR c, GM_ADDR workspace, GM_ADDR tiling) {
  KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_MIX_AIC_1_2);
  (void)workspace;
  REGISTER_TILING_DEFAULT(MatmulTestTiling);
  GET_TILING_DATA_WITH_STRUCT(MatmulTestTiling, data, tiling);
  TPipe pipe;
  MatmulTest op;
  op.Init(a, b, bias, c);
  REGIST_MATMUL_OBJ(&pipe, GetSysWorkSpacePtr(), op.mm, &data.mm);
  op.Run(data);
}
