// One launch as a kernel sees it: its arguments, tiling data, key and cores.
#pragma once
#include "macros.h"
#include "memory.h"
#include "queue.h"

namespace twin {

struct Launch {
  std::vector<GmArg> args;  // kernel arguments with distinct memory; the workspace last
  const uint8_t *tiling = nullptr;
  int64_t tilingBytes = 0;
  uint64_t key = 0;
  int blockDim = 1;
  int physicalCores = 1;
  int64_t ubBytes = 0;
  int arguments = 0;  // kernel arguments that are counted, the workspace included
  bool laws[kLaws] = {};
  std::atomic<bool> stop{false};
  std::vector<GlobalLog *> logs;  // one per block
};

void CloseLines(Core &core, Site site);  // gm.h

int FindArg(const void *address);

inline uint64_t TilingKey() { return Self().launch->key; }
inline void DeclareKernelType(KernelType type) { Self().kernelType = static_cast<int>(type); }

void CopyTiling(void *to, size_t bytes, const void *from, Site site);

}  // namespace twin

namespace AscendC {
inline int64_t GetBlockIdx() { return twin::Self().index; }
inline int64_t GetBlockNum() { return twin::Self().launch->blockDim; }
inline int64_t GetSubBlockIdx() { return 0; }
inline int64_t GetSubBlockNum() { return 1; }
inline int64_t GetTaskRation() { return 1; }
inline int64_t GetTaskRatio() { return 1; }
inline GM_ADDR GetUserWorkspace(GM_ADDR workspace) { return workspace; }
inline void SetSysWorkspace(GM_ADDR) {}
}  // namespace AscendC
