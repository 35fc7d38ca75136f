// Shared by host and kernel.
#pragma once
#include <cstdint>

struct AddOneTilingData {
  int64_t total;
  int64_t perCore;
  float addend;
  int32_t hasBias;
};
