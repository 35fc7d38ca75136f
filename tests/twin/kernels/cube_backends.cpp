// The cube's arithmetic by each instruction set this machine has: out[i] = left x right by set i, else by the plainest.
#include "kernel_operator.h"
#include "lib/matmul_intf.h"
#include "twin/cube_kernel.h"

namespace {

constexpr int64_t kRows = 29, kColumns = 70, kDepth = 150, kBase = 48;

template <typename E>
void Multiply(const twin::CubeBackend &by, const uint8_t *left, const uint8_t *right, uint8_t *out, bool transposed) {
  const int64_t width = by.width, pitch = (kColumns + width - 1) / width * width;
  std::vector<E> panels(static_cast<size_t>(pitch * kDepth)), sum(static_cast<size_t>(kRows * pitch));
  const E *a = reinterpret_cast<const E *>(left), *b = reinterpret_cast<const E *>(right);
  for (int64_t c = 0; c < kColumns; c += width) {
    const int64_t wide = kColumns - c <= by.narrow ? by.narrow : width;
    for (int64_t k = 0; k < kDepth; ++k)
      for (int64_t j = 0; j < wide && c + j < kColumns; ++j) panels[static_cast<size_t>(c * kDepth + k * wide + j)] = b[k * kColumns + c + j];
    twin::CubeArgs args;
    args.left = a;
    args.right = panels.data() + c * kDepth;
    args.to = sum.data() + c;
    args.rowStep = transposed ? 1 : kDepth;
    args.depthStep = transposed ? kRows : 1;
    args.rows = kRows;
    args.depth = kDepth;
    args.block = kBase;
    args.pitch = pitch;
    by.panel(args, !std::is_same_v<E, float>, wide == by.narrow);
  }
  for (int64_t r = 0; r < kRows; ++r)
    std::memcpy(out + r * kColumns * 4, sum.data() + r * pitch, static_cast<size_t>(kColumns * 4));
}

}  // namespace

extern "C" __global__ __aicore__ void cube_backends(GM_ADDR left, GM_ADDR right, GM_ADDR plain, GM_ADDR avx2, GM_ADDR avx512, GM_ADDR workspace,
                                                    GM_ADDR tiling) {
  KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIV_ONLY);
  (void)workspace;
  (void)tiling;
  const bool integers = TILING_KEY_IS(2), transposed = TILING_KEY_IS(3);
  twin::CubeBackend backends[3] = {twin::PlainBackend(), twin::PlainBackend(), twin::PlainBackend()};
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx2")) backends[1] = twin::Avx2Backend();
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl")) backends[2] = twin::Avx512Backend();
#endif
  uint8_t *const outs[3] = {plain, avx2, avx512};
  for (int i = 0; i < 3; ++i) {
    if (integers) Multiply<uint32_t>(backends[i], left, right, outs[i], false);
    else Multiply<float>(backends[i], left, right, outs[i], transposed);
  }
}
