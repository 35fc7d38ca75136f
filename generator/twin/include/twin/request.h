// What the caller of a kernel's shared library passes to TwinRun and reads back.
#pragma once
#include <cstdint>

extern "C" {

struct TwinArray {
  void *data;  // null: an absent optional argument
  int64_t bytes;
  int32_t role;  // twin::Role
};

struct TwinLaunch {
  const TwinArray *arrays;
  int32_t count;
  int64_t workspace;
  const void *tiling;
  int64_t tilingBytes;
  uint64_t key;
  int32_t blockDim;
  int32_t cores;
  int64_t ub;
  const uint8_t *lawsOff;
  int32_t seconds;
  int64_t l1, l0a, l0b, l0c;  // bytes of a cube core's buffers
  int64_t system;             // of the workspace the host asked for, the system's share in bytes
  int32_t first, of;          // the blocks run are [first, first + blockDim) of so many; 0, 0: all there are
};

struct TwinBreach {
  const char *rule, *text, *file;
  int32_t line, core;
  int64_t times;
};

}  // extern "C"
