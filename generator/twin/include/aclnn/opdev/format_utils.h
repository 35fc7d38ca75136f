// Questions about formats (host.md section 3).
#pragma once
#include "common_types.h"

namespace op {
TWIN_ACL_API ge::AscendString ToString(Format format);
TWIN_ACL_API Format ToOpFormat(aclFormat format);
TWIN_ACL_API aclFormat ToAclFormat(Format format);
TWIN_ACL_API bool IsPrivateFormat(Format format);
inline Format GetPrimaryFormat(Format format) { return static_cast<Format>(static_cast<uint32_t>(format) & 0xFFu); }
}  // namespace op
