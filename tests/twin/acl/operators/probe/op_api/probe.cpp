// Level 0 of Probe: the output's shape is inferred, the last two attributes keep their defaults, except in mode 8; modes 10 and 11 launch what the definition does not say.
#include "probe.h"

#include "opdev/make_op_executor.h"
#include "opdev/op_dfx.h"

namespace l0op {

OP_TYPE_REGISTER(Probe);

const aclTensor *Probe(const aclTensor *x, const aclTensor *bias, const aclTensor *w, const aclTensor *extra, int64_t mode,
                       const aclIntArray *axes, const char *text, aclOpExecutor *executor) {
  L0_DFX(Probe, x, bias, w, mode, axes, text);
  const aclTensor *out = executor->AllocTensor(op::DataType::DT_FLOAT, op::Format::FORMAT_ND, op::Format::FORMAT_ND);
  auto ret = INFER_SHAPE(Probe, OP_INPUT(x, bias, w), OP_OUTPUT(out, extra), OP_ATTR(mode, axes, text));
  OP_CHECK(ret == ACLNN_SUCCESS, OP_LOGE(ret, "Probe: no shape"), return nullptr);
  if (mode == 8) {
    const float weight = 1.5f;
    const aclFloatArray *weights = executor->AllocFloatArray(&weight, 1);
    ret = ADD_TO_LAUNCHER_LIST_AICORE(Probe, OP_ATTR(mode, axes, std::string(text), weights, true), OP_OUTPUT(out, extra),
                                      OP_INPUT(x, bias, w));
  } else if (mode == 10) {
    ret = ADD_TO_LAUNCHER_LIST_AICORE(Probe, OP_INPUT(x, bias, w), OP_OUTPUT(out, extra), OP_ATTR(mode, axes, text, 1.5f));
  } else if (mode == 11) {
    ret = ADD_TO_LAUNCHER_LIST_AICORE(Probe, OP_INPUT(x, w), OP_OUTPUT(out, extra), OP_ATTR(mode, axes, text));
  } else {
    ret = ADD_TO_LAUNCHER_LIST_AICORE(Probe, OP_INPUT(x, bias, w), OP_OUTPUT(out, extra), OP_ATTR(mode, axes, text));
  }
  OP_CHECK(ret == ACLNN_SUCCESS, OP_LOGE(ACLNN_ERR_INNER_NULLPTR, "Probe: not launched"), return nullptr);
  return out;
}

}  // namespace l0op
