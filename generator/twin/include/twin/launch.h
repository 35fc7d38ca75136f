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
  int numBlocks = 1;  // as the host asked: cube cores when the kernel has cubes
  int firstBlock = 0;  // number of the first block that is run: what a core calls itself, while it is counted from 0 everywhere else
  int ratio = 1;      // vector cores of a block
  bool cubes = false;
  int vectors = 1;    // virtual vector cores, numbered from 0
  int blockDim = 1;   // virtual cores, the cube cores after the vector cores
  int physicalCores = 1;
  int64_t ubBytes = 0, l1Bytes = 0, l0aBytes = 0, l0bBytes = 0, l0cBytes = 0;
  int64_t systemBytes = 0;            // of the workspace the host asked for, the system's share
  uint8_t *systemSpace = nullptr, *userSpace = nullptr;
  int arguments = 0;  // kernel arguments that are counted, the workspace included
  bool laws[kLaws] = {};
  std::atomic<bool> stop{false};
  std::vector<GlobalLog *> logs;  // one per block
};

void CloseLines(Core &core, Site site);  // gm.h

int FindArg(const void *address);

inline uint64_t TilingKey() { return Self().launch->key; }

// Kernel types are properties of the compiled kernel: they are known before it runs, from marks that the declarations leave.
struct KernelTypeMark {
  bool everyKey;
  uint64_t key;
  KernelType type;
};
inline std::vector<KernelTypeMark> &KernelTypeMarks() {
  static std::vector<KernelTypeMark> marks;
  return marks;
}
struct KernelTypeUse {
  explicit KernelTypeUse(const KernelTypeMark &mark) { KernelTypeMarks().push_back(mark); }
};
template <KernelType type>
struct KernelTypeOfAll {
  static inline KernelTypeUse use{KernelTypeMark{true, 0, type}};
};
template <KernelType type, uint64_t key>
struct KernelTypeOfKey {
  static inline KernelTypeUse use{KernelTypeMark{false, key, type}};
};

template <KernelType type>
void DeclareKernelType() {
  (void)&KernelTypeOfAll<type>::use;
  if (!Self().typeOfKey) Self().kernelType = static_cast<int>(type);
}
template <KernelType type, uint64_t key>
void DeclareKernelType() {
  (void)&KernelTypeOfKey<type, key>::use;
  if (TilingKey() != key) return;
  Self().kernelType = static_cast<int>(type);
  Self().typeOfKey = true;
}

struct CoresOfBlock {
  int cubes, vectors;
};
// The cores of one block of a launch with this key.
inline CoresOfBlock CoresOf(uint64_t key) {
  KernelType type = KernelType::KERNEL_TYPE_AIV_ONLY;
  bool own = false;
  for (const KernelTypeMark &mark : KernelTypeMarks()) {
    if (own || (!mark.everyKey && mark.key != key)) continue;
    type = mark.type;
    own = !mark.everyKey;
  }
  if (type == KernelType::KERNEL_TYPE_MIX_AIC_1_2) return {1, 2};
  if (type == KernelType::KERNEL_TYPE_MIX_AIC_1_1) return {1, 1};
  if (type == KernelType::KERNEL_TYPE_MIX_AIC_1_0 || type == KernelType::KERNEL_TYPE_AIC_ONLY) return {1, 0};
  return {0, 1};
}

void CopyTiling(void *to, size_t bytes, const void *from, Site site);

}  // namespace twin

namespace AscendC {
// Vector cores count vector cores; cube cores count blocks.
inline int64_t GetBlockIdx() {
  const twin::Launch &launch = *twin::Self().launch;
  return twin::OnCube() ? twin::Self().index - launch.vectors + launch.firstBlock : twin::Self().index + launch.firstBlock * launch.ratio;
}
inline int64_t GetBlockNum() { return twin::Self().launch->numBlocks; }
inline int64_t GetSubBlockIdx() { return twin::OnCube() ? 0 : twin::Self().index % twin::Self().launch->ratio; }
inline int64_t GetSubBlockNum() { return twin::OnCube() ? 1 : twin::Self().launch->ratio; }
inline int64_t GetTaskRatio() { return GetSubBlockNum(); }
inline int64_t GetTaskRation() { return GetTaskRatio(); }
// The kernel's argument is the user's part of the workspace already; whatever it is given, the answer is that part.
inline GM_ADDR GetUserWorkspace(GM_ADDR) { return twin::Self().launch->userSpace; }
inline __gm__ uint8_t *GetSysWorkSpacePtr() { return twin::Self().launch->systemSpace; }
inline void SetSysWorkspace(GM_ADDR) {}
}  // namespace AscendC
