// The definition of Probe: an optional input between required ones, an optional output with a start value, every kind of attribute.
#include "register/op_def_registry.h"

namespace ops {

class Probe : public OpDef {
 public:
  explicit Probe(const char *name) : OpDef(name) {
    const std::vector<ge::DataType> types = {ge::DT_FLOAT, ge::DT_FLOAT16};
    const std::vector<ge::DataType> results = {ge::DT_FLOAT, ge::DT_FLOAT};
    const std::vector<ge::Format> formats = {ge::FORMAT_ND, ge::FORMAT_ND};
    this->Input("x").ParamType(REQUIRED).DataType(types).Format(formats);
    this->Input("bias").ParamType(OPTIONAL).DataType(types).Format(formats);
    this->Input("w").ParamType(REQUIRED).DataType(types).Format(formats);
    this->Output("y").ParamType(REQUIRED).DataType(results).Format(formats);
    this->Output("extra").ParamType(OPTIONAL).DataType(results).Format(formats).InitValue(ScalarVar(ScalarType::FLOAT32, 7.0f));
    this->Attr("mode").AttrType(REQUIRED).Int();
    this->Attr("axes").AttrType(REQUIRED).ListInt();
    this->Attr("text").AttrType(REQUIRED).String();
    this->Attr("weights").AttrType(OPTIONAL).ListFloat({0.25f, 0.5f});
    this->Attr("flag").AttrType(OPTIONAL).Bool(false);
    this->AICore().AddConfig("ascend910b");
  }
};

OP_ADD(Probe);

}  // namespace ops
