/* Level 2 of Probe. */
#ifndef ACLNN_PROBE_H
#define ACLNN_PROBE_H

#include "aclnn/aclnn_base.h"

#ifdef __cplusplus
extern "C" {
#endif

__attribute__((visibility("default"))) aclnnStatus aclnnProbeGetWorkspaceSize(const aclTensor *x, const aclTensor *biasOptional,
                                                                              const aclTensor *w, int64_t mode, const aclIntArray *axes,
                                                                              char *text, aclTensor *y, aclTensor *extraOptional,
                                                                              uint64_t *workspaceSize, aclOpExecutor **executor);
__attribute__((visibility("default"))) aclnnStatus aclnnProbe(void *workspace, uint64_t workspaceSize, aclOpExecutor *executor,
                                                              aclrtStream stream);

#ifdef __cplusplus
}
#endif

#endif /* ACLNN_PROBE_H */
