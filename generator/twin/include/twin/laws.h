// The laws the twin enforces: one table, read by the engine, by the documentation and by the tests.
#pragma once
#include <cstdint>

// X(enumerator, "name on the command line", "what it forbids")
// clang-format off
#define TWIN_LAWS(X)                                                                                                                    \
  X(kAlignment, "alignment", "a local or global address is not aligned as the call needs")                                              \
  X(kRange, "range", "a count, stride, mask, repeat or structure field is outside its documented range (checked before narrowing)")     \
  X(kUbCapacity, "ub-capacity", "buffers exceed the unified buffer, or its reserved part when a call uses it")                          \
  X(kBufferCount, "buffer-count", "more than 64 buffers in a kernel, or more than 8 live event ids of one event")                       \
  X(kQueue, "queue", "a queue's buffer breaks its life cycle: free, allocated, enqueued, dequeued, free")                               \
  X(kUninitialised, "uninitialised", "local memory is read that nothing wrote, or that only poison fills")                              \
  X(kLocalBounds, "local-bounds", "an access leaves its LocalTensor")                                                                   \
  X(kGmBounds, "gm-bounds", "an access leaves its kernel argument or its GlobalTensor")                                                 \
  X(kMissingSync, "missing-sync", "two pipes touch the same memory and nothing orders them")                                            \
  X(kVectorDependence, "vector-dependence", "a vector instruction depends on an earlier one without a barrier between (220)")           \
  X(kCoreRace, "core-race", "two cores touch the same global bytes, one of them writing, with no SyncAll between")                      \
  X(kGmUninitialised, "workspace-uninitialised", "workspace or output bytes are read that nothing wrote")                               \
  X(kDataCache, "data-cache", "a scalar write to global memory was not cleaned from the data cache, or a stale line is read")           \
  X(kSyncCount, "sync-count", "flags not paired: set twice, waited without set, left set; SyncAll not reached by all cores")            \
  X(kSyncAllType, "syncall-type", "SyncAll without kernel type MIX_AIV_1_0, or with more blocks than cores")                            \
  X(kOverlap, "overlap", "operands of one instruction overlap in a way the hardware does not define")                                   \
  X(kPipeType, "pipe-type", "an event, barrier or position is not legal for the call")                                                  \
  X(kUnsupported, "unsupported", "a dtype, mode or call the chip does not have")                                                        \
  X(kNopCount, "nop-count", "a count or repeat of 0, which 3510 does not promise to ignore")                                            \
  X(kCount, "count", "a count the call cannot compute completely")                                                                      \
  X(kSinglePipe, "single-pipe", "more than one TPipe alive")                                                                            \
  X(kAtomic, "atomic", "an atomic mode is left set at the end of the kernel")                                                           \
  X(kFault, "fault", "the scalar unit divides by zero or leaves memory; or the kernel does not end")                                     \
  X(kTilingData, "tiling-data", "the kernel's tiling structure is larger than the tiling data")                                          \
  X(kCubeCore, "cube-core", "vector work that a cube core runs too, or cube work on a vector core; ASCEND_IS_AIV and ASCEND_IS_AIC tell them apart")      \
  X(kMatmulRegistration, "matmul-registration", "REGIST_MATMUL_OBJ late, twice, too often, on some cores only or without its needs")     \
  X(kMatmulTiling, "matmul-tiling", "a field of TCubeTiling breaks a relation to the others or to the types")                           \
  X(kMatmulCapacity, "matmul-capacity", "the tiles of a TCubeTiling exceed L0A, L0B, L0C, L1 or the bias table")                        \
  X(kMatmulTranspose, "matmul-transpose", "a transposed operand whose MatmulType does not say so")                                      \
  X(kMatmulShape, "matmul-shape", "a size of 0, a size beyond the matrix's pitch, or an inner axis that needs intrinsicsCheck")         \
  X(kMatmulOrder, "matmul-order", "a Matmul call out of order: operands not set anew, a tile not fetched once, End missing")            \
  X(kMatmulPartialSum, "matmul-partial-sum", "Iterate(true) without a tile to add to, or over more than one tile")                      \
  X(kMatmulBias, "matmul-bias", "a bias that the tiling does not announce, or one announced and neither set nor declined")              \
  X(kMatmulHf32, "matmul-hf32", "SetHF32 without ASCENDC_CUBE_ONLY, or with a rounding it has not")                                     \
  X(kCrossCoreFlag, "cross-core-flag", "a cross-core flag whose id Matmul or SyncAll uses")
// clang-format on

// Functions of the runtime: their bodies are in checks.h, landing.h, phases.h and run.h. A kernel's own translation unit
// leaves those out (TWIN_SPLIT) and is linked with the runtime's object (runtime.cpp), compiled once per architecture.
#if defined(TWIN_RUNTIME_OBJECT)
#define TWIN_FN inline __attribute__((used))
#else
#define TWIN_FN inline
#endif

namespace twin {

enum class Law : uint8_t {
#define TWIN_LAW_ENUM(id, name, text) id,
  TWIN_LAWS(TWIN_LAW_ENUM)
#undef TWIN_LAW_ENUM
      kCountOfLaws
};

constexpr int kLaws = static_cast<int>(Law::kCountOfLaws);

inline const char *LawName(Law law) {
  static constexpr const char *kNames[] = {
#define TWIN_LAW_NAME(id, name, text) name,
      TWIN_LAWS(TWIN_LAW_NAME)
#undef TWIN_LAW_NAME
  };
  return kNames[static_cast<int>(law)];
}

}  // namespace twin
