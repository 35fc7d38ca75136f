/* A plain C program calls an operator: y = x + 1.5. */
#include <stdio.h>

#include "acl/acl.h"
#include "aclnn_add_one.h"

#define CHECK(call)                                                                        \
  do {                                                                                     \
    const int code = (call);                                                               \
    if (code != ACL_SUCCESS) {                                                             \
      const char *message = aclGetRecentErrMsg();                                          \
      printf("%s: %d %s\n", #call, code, message == NULL ? "" : message);                  \
      return 1;                                                                            \
    }                                                                                      \
  } while (0)

int main(void) {
  float host[3] = {1, 2, 3};
  const int64_t shape[1] = {3}, strides[1] = {1};
  void *in = NULL, *out = NULL, *workspace = NULL;
  aclrtStream stream = NULL;
  uint64_t size = 0;
  aclOpExecutor *executor = NULL;
  CHECK(aclInit(NULL));
  CHECK(aclrtSetDevice(0));
  CHECK(aclrtCreateStream(&stream));
  CHECK(aclrtMalloc(&in, sizeof host, ACL_MEM_MALLOC_HUGE_FIRST));
  CHECK(aclrtMalloc(&out, sizeof host, ACL_MEM_MALLOC_HUGE_FIRST));
  CHECK(aclrtMemcpy(in, sizeof host, host, sizeof host, ACL_MEMCPY_HOST_TO_DEVICE));
  aclTensor *x = aclCreateTensor(shape, 1, ACL_FLOAT, strides, 0, ACL_FORMAT_ND, shape, 1, in);
  aclTensor *y = aclCreateTensor(shape, 1, ACL_FLOAT, strides, 0, ACL_FORMAT_ND, shape, 1, out);
  CHECK(aclnnAddOneGetWorkspaceSize(x, NULL, 1.5, y, &size, &executor));
  CHECK(aclrtMalloc(&workspace, size, ACL_MEM_MALLOC_HUGE_FIRST));
  CHECK(aclnnAddOne(workspace, size, executor, stream));
  CHECK(aclrtSynchronizeStream(stream));
  CHECK(aclrtMemcpy(host, sizeof host, out, sizeof host, ACL_MEMCPY_DEVICE_TO_HOST));
  aclDestroyTensor(x);
  aclDestroyTensor(y);
  CHECK(aclrtFree(in));
  CHECK(aclrtFree(out));
  CHECK(aclrtFree(workspace));
  CHECK(aclrtDestroyStream(stream));
  CHECK(aclrtResetDevice(0));
  CHECK(aclFinalize());
  printf("%g %g %g\n", (double)host[0], (double)host[1], (double)host[2]);
  return 0;
}
