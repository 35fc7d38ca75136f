// Inside the library of the two-phase interface: a kernel's shared library and a launch of it.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "../host/library.h"
#include "runtime.h"

namespace twin {

// The functions of a kernel's shared library.
struct KernelLibrary;

// The library <folder of the operators' library>/kernels/<architecture>/<type>.so, loaded once; null after filling `why`.
const KernelLibrary *FindKernel(const Library &library, const std::string &type, const acl::Product &product, std::string *why);
// Parameters of the kernel's entry, workspace and tiling included.
int Parameters(const KernelLibrary &library);
// Blocks a launch with this tiling key may have.
int MostBlocks(const KernelLibrary &library, uint64_t key);

struct KernelArgument {
  std::string name;
  void *data = nullptr;  // null: absent
  int64_t bytes = 0;
  bool written = false;
};

struct KernelLaunch {
  std::string label;
  const KernelLibrary *library = nullptr;
  acl::Product product{};
  std::vector<uint8_t> tiling;
  uint64_t key = 0;
  uint32_t blocks = 1;
  uint64_t workspace = 0;  // bytes, the system's part included
};

// Runs the kernel on virtual cores with every law on. One at a time in the process.
acl::Failure RunKernel(const KernelLaunch &launch, const std::vector<KernelArgument> &arguments);

}  // namespace twin
