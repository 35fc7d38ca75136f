// Tiling data of the Matmul test kernels.
#pragma once
#include <cstdint>

#include "kernel_tiling/kernel_tiling.h"

struct MatmulTestTiling {
  int32_t orgM, orgN, orgKa, orgKb, orgKc;  // 0 in orgM: SetOrgShape is not called
  int32_t offsetA, offsetB, offsetC;        // elements
  int32_t atomic, sequential, bias, taps;
  TCubeTiling mm;
};
