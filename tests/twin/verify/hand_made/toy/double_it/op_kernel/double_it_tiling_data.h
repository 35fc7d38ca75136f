#ifndef DOUBLE_IT_TILING_DATA_H
#define DOUBLE_IT_TILING_DATA_H

#include <cstdint>

struct DoubleItTilingData {
    int64_t total;
    int64_t share;  // elements of one core, a multiple of 8
    int64_t tile;   // elements of one tile, a multiple of 8
};

#endif
