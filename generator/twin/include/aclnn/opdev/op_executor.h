// The executor: what one call will do, and the tensors it owns (host.md section 3).
#pragma once
#include "acl/acl.h"
#include "common_types.h"
#include "op_errno.h"

namespace twin {
struct ExecutorState;
}

struct TWIN_ACL_API aclOpExecutor : public op::Object {
 public:
  aclOpExecutor();
  ~aclOpExecutor();
  aclOpExecutor(const aclOpExecutor &) = delete;
  aclOpExecutor &operator=(const aclOpExecutor &) = delete;

  // Tensors in workspace. Null on failure.
  aclTensor *AllocTensor(const op::Shape &shape, op::DataType dataType, op::Format format = op::Format::FORMAT_ND);
  aclTensor *AllocTensor(const op::Shape &storageShape, const op::Shape &originShape, op::DataType dataType, op::Format storageFormat,
                         op::Format originFormat);
  aclTensor *AllocTensor(op::DataType dataType, op::Format storageFormat, op::Format originFormat);
  // Tensors whose data the host reads.
  aclTensor *AllocHostTensor(const op::Shape &shape, op::DataType dataType, op::Format format = op::Format::FORMAT_ND);
  aclTensor *AllocHostTensor(const op::Shape &storageShape, const op::Shape &originShape, op::DataType dataType, op::Format storageFormat,
                             op::Format originFormat);
  template <typename T>
  aclTensor *AllocHostTensor(const T *value, uint64_t size, op::DataType dataType) {
    return HostTensor(value, size, dataType, TypeOf(static_cast<const T *>(nullptr)));
  }
  // A contiguous view of `shape`, `offset` elements from the storage's start.
  aclTensor *CreateView(const aclTensor *tensor, const op::Shape &shape, int64_t offset);
  aclIntArray *AllocIntArray(const int64_t *value, uint64_t size);
  aclFloatArray *AllocFloatArray(const float *value, uint64_t size);
  aclBoolArray *AllocBoolArray(const bool *value, uint64_t size);
  aclTensorList *AllocTensorList(const aclTensor *const *tensors, uint64_t size);
  aclScalarList *AllocScalarList(const aclScalar *const *scalars, uint64_t size);
  template <typename T>
  aclScalar *AllocScalar(T value) {
    return AllocScalar(&value, TypeOf(static_cast<const T *>(nullptr)));
  }
  aclScalar *AllocScalar(const void *value, op::DataType dataType);
  const aclTensor *ConvertToTensor(const aclIntArray *value, op::DataType dataType);
  const aclTensor *ConvertToTensor(const aclBoolArray *value, op::DataType dataType);
  const aclTensor *ConvertToTensor(const aclFloatArray *value, op::DataType dataType);
  const aclTensor *ConvertToTensor(const aclScalar *value, op::DataType dataType);
  template <typename T>
  const aclTensor *ConvertToTensor(const T *value, uint64_t size, op::DataType dataType) {
    return AllocHostTensor(value, size, dataType);
  }

  uint64_t GetWorkspaceSize() const;
  aclrtStream GetStream() const;
  void AbandonCache(bool disableRepeat = false);
  aclnnStatus SetRepeatable();
  bool IsRepeatable() const;

  std::unique_ptr<twin::ExecutorState> state;

 private:
  aclTensor *HostTensor(const void *value, uint64_t size, op::DataType dataType, op::DataType from);
  static op::DataType TypeOf(const float *) { return ge::DT_FLOAT; }
  static op::DataType TypeOf(const double *) { return ge::DT_DOUBLE; }
  static op::DataType TypeOf(const int8_t *) { return ge::DT_INT8; }
  static op::DataType TypeOf(const char *) { return ge::DT_INT8; }
  static op::DataType TypeOf(const int16_t *) { return ge::DT_INT16; }
  static op::DataType TypeOf(const int32_t *) { return ge::DT_INT32; }
  static op::DataType TypeOf(const int64_t *) { return ge::DT_INT64; }
  static op::DataType TypeOf(const uint8_t *) { return ge::DT_UINT8; }
  static op::DataType TypeOf(const uint16_t *) { return ge::DT_UINT16; }
  static op::DataType TypeOf(const uint32_t *) { return ge::DT_UINT32; }
  static op::DataType TypeOf(const uint64_t *) { return ge::DT_UINT64; }
  static op::DataType TypeOf(const bool *) { return ge::DT_BOOL; }
  static op::DataType TypeOf(const op::fp16_t *) { return ge::DT_FLOAT16; }
  static op::DataType TypeOf(const op::bfloat16 *) { return ge::DT_BF16; }
};

// Owns an executor until it is released to the caller.
class TWIN_ACL_API UniqueExecutor : public op::Object {
 public:
  explicit UniqueExecutor(const char *function);
  ~UniqueExecutor();
  UniqueExecutor(const UniqueExecutor &) = delete;
  UniqueExecutor &operator=(const UniqueExecutor &) = delete;
  aclOpExecutor *get() const { return executor; }
  aclOpExecutor *operator->() { return executor; }
  void ReleaseTo(aclOpExecutor **to);

 private:
  const char *name;
  aclOpExecutor *executor;
};

#define CREATE_EXECUTOR() UniqueExecutor(__func__)

TWIN_ACL_API aclnnStatus CommonOpExecutorRun(void *workspace, uint64_t workspaceSize, aclOpExecutor *executor, aclrtStream stream);
