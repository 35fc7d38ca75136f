/* Level 2 of AddOne. */
#ifndef ACLNN_ADD_ONE_H
#define ACLNN_ADD_ONE_H

#include "aclnn/aclnn_base.h"

#ifdef __cplusplus
extern "C" {
#endif

__attribute__((visibility("default"))) aclnnStatus aclnnAddOneGetWorkspaceSize(const aclTensor *x, const aclTensor *biasOptional,
                                                                               double addend, aclTensor *y, uint64_t *workspaceSize,
                                                                               aclOpExecutor **executor);
__attribute__((visibility("default"))) aclnnStatus aclnnAddOne(void *workspace, uint64_t workspaceSize, aclOpExecutor *executor,
                                                               aclrtStream stream);

#ifdef __cplusplus
}
#endif

#endif /* ACLNN_ADD_ONE_H */
