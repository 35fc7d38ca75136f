// The product the process runs on (host.md section 3).
#pragma once
#include <string>

#include "object.h"
#include "platform/platform_info.h"
#include "exe_graph/runtime/tensor.h"

namespace op {
enum class SocVersion {
  ASCEND910 = 0,
  ASCEND910B = 1,
  ASCEND910_93 = 2,
  ASCEND910_95 = 3,
  ASCEND910E = 4,
  ASCEND310 = 5,
  ASCEND310P = 6,
  ASCEND310B = 7,
  ASCEND310C = 8,
  ASCEND610LITE = 9,
  RESERVED_VERSION = 99999
};

class TWIN_ACL_API PlatformInfo {
 public:
  SocVersion GetSocVersion() const;
  const std::string &GetSocLongVersion() const;
  uint32_t GetCubeCoreNum() const;
  uint32_t GetVectorCoreNum() const;
  int64_t GetBlockSize() const { return 32; }
  int32_t GetDeviceId() const;
  fe::PlatFormInfos *GetPlatformInfos() const;

 private:
  PlatformInfo() = default;
  PlatformInfo(const PlatformInfo &) = delete;
  PlatformInfo &operator=(const PlatformInfo &) = delete;
  friend const PlatformInfo &GetCurrentPlatformInfo();
};

TWIN_ACL_API const PlatformInfo &GetCurrentPlatformInfo();
TWIN_ACL_API ge::AscendString ToString(SocVersion version);
}  // namespace op
