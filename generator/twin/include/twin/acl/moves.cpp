// Level-0 operators of the interface itself: copies between views, conversion, permutation, slices, padding.
#include <cstring>

#include "aclnn_kernels/cast.h"
#include "aclnn_kernels/contiguous.h"
#include "aclnn_kernels/pad.h"
#include "aclnn_kernels/reshape.h"
#include "aclnn_kernels/slice.h"
#include "aclnn_kernels/transdata.h"
#include "aclnn_kernels/transpose.h"
#include "execution.h"
#include "opdev/data_type_utils.h"
#include "opdev/format_utils.h"
#include "opdev/shape_utils.h"
#include "opdev/tensor_view_utils.h"

namespace twin {
namespace {

// Calls `row(from, to)` with the byte offsets of every run along the last axis.
template <typename Row>
void Walk(const op::Shape &shape, const op::Strides &from, const op::Strides &to, const Row &row) {
  const size_t rank = shape.GetDimNum();
  const size_t outer = rank == 0 ? 0 : rank - 1;
  std::vector<int64_t> index(outer, 0);
  int64_t source = 0, target = 0;
  for (;;) {
    row(source, target);
    size_t axis = outer;
    while (axis-- > 0) {
      source += from[axis];
      target += to[axis];
      if (++index[axis] < shape.GetDim(axis)) break;
      source -= from[axis] * shape.GetDim(axis);
      target -= to[axis] * shape.GetDim(axis);
      index[axis] = 0;
    }
    if (axis == static_cast<size_t>(-1)) return;
  }
}

template <typename T>
void CopyRows(const View &from, const View &to) {
  const size_t rank = from.shape.GetDimNum();
  const int64_t length = rank == 0 ? 1 : from.shape.GetDim(rank - 1);
  const int64_t step = rank == 0 ? 1 : from.strides[rank - 1], stride = rank == 0 ? 1 : to.strides[rank - 1];
  const T *source = reinterpret_cast<const T *>(from.first);
  T *target = reinterpret_cast<T *>(to.first);
  Walk(from.shape, from.strides, to.strides, [&](int64_t a, int64_t b) {
    if (step == 1 && stride == 1)
      std::memmove(target + b, source + a, static_cast<size_t>(length) * sizeof(T));
    else
      for (int64_t i = 0; i < length; ++i) target[b + i * stride] = source[a + i * step];
  });
}

struct Wide {
  uint64_t part[2];
};

bool Null(const char *name, std::initializer_list<const void *> pointers) {
  for (const void *pointer : pointers) {
    if (pointer != nullptr) continue;
    OP_LOGE(ACLNN_ERR_INNER_NULLPTR, "l0op::%s: an argument is null", name);
    return true;
  }
  return false;
}

// Integers of a host tensor, as offsets, sizes, permutations and paddings are given.
bool HostInts(const char *name, const aclTensor *tensor, std::vector<int64_t> *values) {
  const bool known =
      tensor->GetPlacement() == gert::kOnHost && (tensor->GetDataType() == ge::DT_INT32 || tensor->GetDataType() == ge::DT_INT64);
  if (!known) {
    OP_LOGE(ACLNN_ERR_INNER, "l0op::%s: integers must be an int32 or int64 tensor on the host", name);
    return false;
  }
  const int64_t bytes = ge::GetSizeByDataType(tensor->GetDataType());
  for (int64_t i = 0; i < tensor->Numel(); ++i)
    values->push_back(HostInteger(static_cast<const uint8_t *>(tensor->GetData()) + i * bytes, tensor->GetDataType()));
  return true;
}

// A view of a tensor with axes and start of its own.
const aclTensor *SubView(const aclTensor *x, const op::Shape &shape, const op::Strides &strides, int64_t offset, aclOpExecutor *executor) {
  aclTensor *view = executor->CreateView(x, shape, offset);
  view->SetViewStrides(strides);
  return view;
}

}  // namespace

void CopyView(const View &from, const View &to) {
  if (from.Numel() == 0) return;
  switch (from.bytes) {
    case 1: return CopyRows<uint8_t>(from, to);
    case 2: return CopyRows<uint16_t>(from, to);
    case 4: return CopyRows<uint32_t>(from, to);
    case 8: return CopyRows<uint64_t>(from, to);
    default: return CopyRows<Wide>(from, to);
  }
}

bool AddCopy(const char *name, const aclTensor *from, const aclTensor *to, aclOpExecutor *executor) {
  if (from->GetViewShape() != to->GetViewShape() || from->GetDataType() != to->GetDataType()) {
    OP_LOGE(ACLNN_ERR_INNER, "l0op::%s: %s cannot be copied to %s", name, from->ToString().GetString(), to->ToString().GetString());
    return false;
  }
  Step step;
  step.name = name;
  step.operands = {executor->state->Name(from, "source"), executor->state->Name(to, "destination")};
  const std::vector<Operand> operands = step.operands;
  const std::string label = executor->state->api + ": " + name;
  step.bind = [operands, label](const Run &run, std::vector<acl::Use> &uses) -> Work {
    const View source = Resolve(operands[0], run, false, uses), target = Resolve(operands[1], run, true, uses);
    const std::string fault = FirstFault(label, {source, target}, {"source", "destination"});
    if (!fault.empty()) return [fault] { return acl::Failure{ACL_ERROR_RT_AICORE_EXCEPTION, fault}; };
    return [source, target] {
      CopyView(source, target);
      return acl::Failure();
    };
  };
  executor->state->steps.push_back(std::move(step));
  return true;
}

}  // namespace twin

namespace l0op {

using twin::Null;

const aclTensor *Contiguous(const aclTensor *x, aclOpExecutor *executor) {
  if (Null("Contiguous", {x, executor})) return nullptr;
  if (op::IsContiguous(x)) {
    if (x->GetViewOffset() == 0 && x->GetStorageShape() == x->GetViewShape()) return x;
    return executor->CreateView(x, x->GetViewShape(), x->GetViewOffset());
  }
  aclTensor *out = executor->AllocTensor(x->GetViewShape(), x->GetDataType(), x->GetViewFormat());
  return twin::AddCopy("Contiguous", x, out, executor) ? out : nullptr;
}

const aclTensor *PickViewAsContiguous(const aclTensor *x, aclOpExecutor *executor) { return Contiguous(x, executor); }

const aclTensor *ViewCopy(const aclTensor *x, const aclTensor *y, aclOpExecutor *executor) {
  if (Null("ViewCopy", {x, y, executor})) return nullptr;
  if (x == y) return y;
  const aclTensor *source = x;
  if (x->GetViewShape() != y->GetViewShape() && x->Numel() == y->Numel()) source = Reshape(x, y->GetViewShape(), executor);
  if (source == nullptr) return nullptr;
  return twin::AddCopy("ViewCopy", source, y, executor) ? y : nullptr;
}

const aclTensor *ReViewToOut(const aclTensor *x, const aclTensor *y, aclOpExecutor *executor) { return ViewCopy(x, y, executor); }

const aclTensor *Cast(const aclTensor *self, op::DataType dstDtype, aclOpExecutor *executor) {
  if (Null("Cast", {self, executor})) return nullptr;
  if (self->GetDataType() == dstDtype) return self;
  if (!twin::Convertible(self->GetDataType()) || !twin::Convertible(dstDtype)) {
    OP_LOGE(ACLNN_ERR_PARAM_INVALID, "l0op::Cast: %s to %s is not supported", op::ToString(self->GetDataType()).GetString(),
            op::ToString(dstDtype).GetString());
    return nullptr;
  }
  const aclTensor *source = Contiguous(self, executor);
  if (source == nullptr) return nullptr;
  const aclTensor *out = executor->AllocTensor(self->GetViewShape(), dstDtype, self->GetViewFormat());
  twin::Step step;
  step.name = "Cast";
  step.operands = {executor->state->Name(source, "source"), executor->state->Name(out, "destination")};
  const std::vector<twin::Operand> operands = step.operands;
  const std::string label = executor->state->api + ": Cast";
  step.bind = [operands, label](const twin::Run &run, std::vector<twin::acl::Use> &uses) -> twin::Work {
    const twin::View from = twin::Resolve(operands[0], run, false, uses), to = twin::Resolve(operands[1], run, true, uses);
    const std::string fault = twin::FirstFault(label, {from, to}, {"source", "destination"});
    if (!fault.empty()) return [fault] { return twin::acl::Failure{ACL_ERROR_RT_AICORE_EXCEPTION, fault}; };
    return [from, to] {
      twin::ConvertHost(from.first, static_cast<uint64_t>(from.Numel()), from.type, to.first, to.type);
      return twin::acl::Failure();
    };
  };
  executor->state->steps.push_back(std::move(step));
  return out;
}

const aclTensor *Reshape(const aclTensor *x, const op::Shape &shape, aclOpExecutor *executor) {
  if (Null("Reshape", {x, executor})) return nullptr;
  if (shape.GetShapeSize() != x->Numel()) {
    OP_LOGE(ACLNN_ERR_PARAM_INVALID, "l0op::Reshape: %s does not have the elements of %s", op::ToString(shape).GetString(),
            op::ToString(x->GetViewShape()).GetString());
    return nullptr;
  }
  const aclTensor *source = Contiguous(x, executor);
  return source == nullptr ? nullptr : executor->CreateView(source, shape, source->GetViewOffset());
}

const aclTensor *Reshape(const aclTensor *x, const aclIntArray *shape, aclOpExecutor *executor) {
  if (Null("Reshape", {x, shape, executor})) return nullptr;
  op::Shape dims;
  int64_t known = 1, open = -1;
  for (uint64_t i = 0; i < shape->Size(); ++i) {
    if ((*shape)[i] == -1 && open < 0)
      open = static_cast<int64_t>(i);
    else
      known *= (*shape)[i];
    dims.AppendDim((*shape)[i]);
  }
  if (open >= 0 && known > 0) dims[static_cast<size_t>(open)] = x->Numel() / known;
  return Reshape(x, dims, executor);
}

const aclTensor *Transpose(const aclTensor *x, const aclIntArray *perm, aclOpExecutor *executor) {
  if (Null("Transpose", {x, perm, executor})) return nullptr;
  const op::Shape &from = x->GetViewShape();
  op::Shape shape;
  op::Strides strides;
  std::vector<bool> used(from.GetDimNum(), false);
  bool good = perm->Size() == from.GetDimNum();
  for (uint64_t i = 0; good && i < perm->Size(); ++i) {
    const int64_t axis = (*perm)[i];
    good = axis >= 0 && axis < static_cast<int64_t>(used.size()) && !used[static_cast<size_t>(axis)];
    if (!good) break;
    used[static_cast<size_t>(axis)] = true;
    shape.AppendDim(from.GetDim(static_cast<size_t>(axis)));
    strides.push_back(x->GetViewStrides()[static_cast<size_t>(axis)]);
  }
  if (!good) {
    OP_LOGE(ACLNN_ERR_PARAM_INVALID, "l0op::Transpose: perm is not a permutation of the %zu axes of %s", from.GetDimNum(),
            op::ToString(from).GetString());
    return nullptr;
  }
  const aclTensor *view = twin::SubView(x, shape, strides, x->GetViewOffset(), executor);
  aclTensor *out = executor->AllocTensor(shape, x->GetDataType(), x->GetViewFormat());
  return twin::AddCopy("Transpose", view, out, executor) ? out : nullptr;
}

const aclTensor *Transpose(const aclTensor *x, const aclTensor *y, const aclTensor *perm, aclOpExecutor *executor) {
  std::vector<int64_t> axes;
  if (Null("Transpose", {x, y, perm, executor}) || !twin::HostInts("Transpose", perm, &axes)) return nullptr;
  const aclTensor *moved = Transpose(x, executor->AllocIntArray(axes.data(), axes.size()), executor);
  return moved == nullptr ? nullptr : ViewCopy(moved, y, executor);
}

const aclTensor *TransData(const aclTensor *x, op::Format dstPrimaryFormat, int64_t, aclOpExecutor *executor) {
  if (Null("TransData", {x, executor})) return nullptr;
  if (!op::IsPrivateFormat(x->GetStorageFormat()) && !op::IsPrivateFormat(dstPrimaryFormat)) return ReFormat(x, dstPrimaryFormat, executor);
  OP_LOGE(ACLNN_ERR_PARAM_INVALID, "l0op::TransData: %s to %s is not supported", op::ToString(x->GetStorageFormat()).GetString(),
          op::ToString(dstPrimaryFormat).GetString());
  return nullptr;
}
const aclTensor *TransDataSpecial(const aclTensor *x, op::Format dstPrimaryFormat, int64_t groups, aclOpExecutor *executor) {
  return TransData(x, dstPrimaryFormat, groups, executor);
}

const aclTensor *ReFormat(const aclTensor *x, const op::Format &format, aclOpExecutor *executor) {
  if (Null("ReFormat", {x})) return nullptr;
  const aclTensor *out = executor == nullptr ? x : twin::SubView(x, x->GetViewShape(), x->GetViewStrides(), x->GetViewOffset(), executor);
  out->SetStorageFormat(format);
  out->SetViewFormat(format);
  out->SetOriginalFormat(format);
  return out;
}

const aclTensor *Slice(const aclTensor *x, const aclIntArray *offsets, const aclIntArray *size, aclOpExecutor *executor) {
  if (Null("Slice", {x, offsets, size, executor})) return nullptr;
  const op::Shape &from = x->GetViewShape();
  op::Shape shape;
  int64_t start = x->GetViewOffset();
  bool good = offsets->Size() == from.GetDimNum() && size->Size() == from.GetDimNum();
  for (size_t i = 0; good && i < from.GetDimNum(); ++i) {
    const int64_t length = (*size)[i] == -1 ? from.GetDim(i) - (*offsets)[i] : (*size)[i];
    good = (*offsets)[i] >= 0 && length >= 0 && (*offsets)[i] <= from.GetDim(i) && length <= from.GetDim(i) - (*offsets)[i];
    shape.AppendDim(length);
    start += (*offsets)[i] * x->GetViewStrides()[i];
  }
  if (!good) {
    OP_LOGE(ACLNN_ERR_PARAM_INVALID, "l0op::Slice: offsets and size do not lie inside %s", op::ToString(from).GetString());
    return nullptr;
  }
  const aclTensor *view = twin::SubView(x, shape, x->GetViewStrides(), start, executor);
  aclTensor *out = executor->AllocTensor(shape, x->GetDataType(), x->GetViewFormat());
  return twin::AddCopy("Slice", view, out, executor) ? out : nullptr;
}

const aclTensor *Slice(const aclTensor *x, const aclTensor *y, const aclTensor *offset, const aclTensor *size, aclOpExecutor *executor) {
  std::vector<int64_t> starts, lengths;
  if (Null("Slice", {x, y, offset, size, executor}) || !twin::HostInts("Slice", offset, &starts) ||
      !twin::HostInts("Slice", size, &lengths))
    return nullptr;
  const aclTensor *box =
      Slice(x, executor->AllocIntArray(starts.data(), starts.size()), executor->AllocIntArray(lengths.data(), lengths.size()), executor);
  return box == nullptr ? nullptr : ViewCopy(box, y, executor);
}

const aclTensor *Pad(const aclTensor *self, const aclTensor *paddings, aclOpExecutor *executor) {
  std::vector<int64_t> pads;
  if (Null("Pad", {self, paddings, executor}) || !twin::HostInts("Pad", paddings, &pads)) return nullptr;
  const op::Shape &from = self->GetViewShape();
  op::Shape shape;
  bool good = pads.size() == 2 * from.GetDimNum();
  for (size_t i = 0; good && i < from.GetDimNum(); ++i) {
    good = pads[2 * i] >= 0 && pads[2 * i + 1] >= 0;
    shape.AppendDim(from.GetDim(i) + pads[2 * i] + pads[2 * i + 1]);
  }
  if (!good) {
    OP_LOGE(ACLNN_ERR_PARAM_INVALID, "l0op::Pad: paddings must be two numbers of 0 or more for each of the %zu axes", from.GetDimNum());
    return nullptr;
  }
  aclTensor *out = executor->AllocTensor(shape, self->GetDataType(), self->GetViewFormat());
  int64_t start = 0;
  for (size_t i = 0; i < from.GetDimNum(); ++i) start += pads[2 * i] * out->GetViewStrides()[i];
  twin::Step zero;
  zero.name = "Pad";
  zero.operands = {executor->state->Name(out, "destination")};
  const std::vector<twin::Operand> operands = zero.operands;
  zero.bind = [operands](const twin::Run &run, std::vector<twin::acl::Use> &uses) -> twin::Work {
    const twin::View to = twin::Resolve(operands[0], run, true, uses);
    const std::string fault = to.fault;
    if (!fault.empty()) return [fault] { return twin::acl::Failure{ACL_ERROR_RT_AICORE_EXCEPTION, fault}; };
    return [to] {
      if (to.first != nullptr) std::memset(to.first, 0, static_cast<size_t>(to.Numel() * to.bytes));
      return twin::acl::Failure();
    };
  };
  executor->state->steps.push_back(std::move(zero));
  const aclTensor *inner = twin::SubView(out, from, out->GetViewStrides(), start, executor);
  return twin::AddCopy("Pad", self, inner, executor) ? out : nullptr;
}

}  // namespace l0op
