/* What every aclnn header includes (host.md section 2). C and C++. */
#ifndef ACLNN_BASE_H
#define ACLNN_BASE_H

#include "acl/acl.h"
#include "acl_meta.h"

#ifdef __cplusplus
extern "C" {
#endif

ACL_FUNC_VISIBILITY aclnnStatus aclnnInit(const char *configPath);
ACL_FUNC_VISIBILITY aclnnStatus aclnnFinalize(void);

#ifdef __cplusplus
}
#endif

#endif /* ACLNN_BASE_H */
