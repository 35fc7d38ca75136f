// Shared by host and kernel.
#pragma once
#include <cstdint>

struct ProbeTilingData {
  int64_t total;
  float scale;
  int32_t mode;
  int32_t hasBias;
};
