// Checks of one access to global memory: bounds, order against other pipes, initialisation, cache lines, traffic.
#pragma once
#include "launch.h"

namespace twin {

inline int64_t RoundUp32(int64_t bytes) { return (bytes + kBlock - 1) / kBlock * kBlock; }

// The state of each byte of an argument, made when it is first needed (phases.h).
uint8_t *StateOf(Launch &launch, GmArg &arg);

bool RunsOverlap(const GmAccess &a, const GmAccess &b);

inline void Remember(Recent *window, int &count, const GmAccess &a, int32_t seq) {
  const int64_t far = a.offset + (a.count - 1) * a.stride;
  window[count++ % kWindow] = Recent{a.offset < far ? a.offset : far, (a.offset < far ? far : a.offset) + a.run, a, seq};
}

// Looks for an earlier access of pipe `other` to the same bytes that this instruction is not ordered after.
void OrderGlobal(Instr &in, const Recent *window, int count, Pipe other, const GmAccess &a, const char *did);

// Whether core `me` may rely on these bytes: defined before this phase, or by itself. Bytes that any core accumulates
// onto were judged when it began to.
bool Known(const uint8_t *state, int64_t count, int me, bool atomic);

// Marks bytes written by `core` in this phase.
void MarkWritten(uint8_t *state, int64_t count, int core, bool atomic, int cores);

// Bounds of an access of `count` runs. `start` is in bytes from the tensor's base address. On success `access` is filled.
bool Bound(Instr &in, const char *operand, int arg, const uint8_t *base, int64_t limit, int64_t start, GmAccess &access);

// A legal access takes place: order, initialisation, race log, traffic.
// `cube`: the cube's own access, counted by what its tiles load rather than here.
void TouchGlobal(Instr &in, GmAccess &access, bool cube = false);

bool GlobalScalar(const char *api, Site site, int arg, const uint8_t *base, int64_t limit, int64_t byte, int64_t size, bool write);

// At SyncAll and at the end no scalar write may be left in the data cache; lines others may have changed are stale.
void CloseLines(Core &core, Site);

void InvalidateLines(Core &core, int arg, int64_t byte, bool all);

}  // namespace twin
