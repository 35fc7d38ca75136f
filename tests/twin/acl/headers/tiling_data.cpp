// Tiling data declared by macros has the layout of the C structure the kernel reads.
#include <cstddef>
#include <cstdio>
#include <cstring>

#include "register/tilingdata_base.h"

namespace optiling {
BEGIN_TILING_DATA_DEF(Inner)
TILING_DATA_FIELD_DEF(uint8_t, small);
TILING_DATA_FIELD_DEF(float, real);
END_TILING_DATA_DEF;
REGISTER_TILING_DATA_CLASS(InnerOp, Inner)

BEGIN_TILING_DATA_DEF(Outer)
TILING_DATA_FIELD_DEF(uint16_t, first);
TILING_DATA_FIELD_DEF_STRUCT(Inner, in);
TILING_DATA_FIELD_DEF_ARR(int32_t, 3, row);
TILING_DATA_FIELD_DEF(int64_t, last);
TILING_DATA_FIELD_DEF(uint8_t, tail);
END_TILING_DATA_DEF;
REGISTER_TILING_DATA_CLASS(Demo, Outer)
}  // namespace optiling

struct alignas(8) InnerC {
  uint8_t small;
  float real;
};
struct OuterC {
  uint16_t first;
  InnerC in;
  int32_t row[3];
  int64_t last;
  uint8_t tail;
};

int main() {
  optiling::Outer made;
  int32_t row[] = {1, -2, 3};
  made.set_first(65535);
  made.in.set_small(7);
  made.in.set_real(-1.5f);
  made.set_row(row);
  made.set_last(int64_t{1} << 40);
  made.set_tail(9);
  const optiling::Outer copy = made;
  OuterC read;
  std::memset(&read, 0xFF, sizeof read);
  if (made.GetDataSize() != sizeof read) return 1;
  copy.SaveToBuffer(&read, sizeof read - 1);
  if (read.first != 0xFFFF || read.tail != 0xFF) return 2;  // too small: nothing is written
  copy.SaveToBuffer(&read, sizeof read);
  if (read.first != 65535 || read.in.small != 7 || read.in.real != -1.5f || read.row[1] != -2 || read.last != int64_t{1} << 40 || read.tail != 9) return 3;
  OuterC there{};
  made.SetDataPtr(&there);
  made.set_last(5);
  made.in.set_real(2.5f);
  if (there.last != 5 || there.in.real != 2.5f || made.get_last() != 5 || made.get_row()[1] != 0) return 4;
  return std::strcmp(made.GetTilingClassName(), "Outer") == 0 && made.GetFieldInfo().size() == 5 ? 0 : 5;
}
