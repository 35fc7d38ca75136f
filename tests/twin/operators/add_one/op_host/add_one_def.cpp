// The definition of AddOne.
#include "register/op_def_registry.h"

namespace ops {

class AddOne : public OpDef {
 public:
  explicit AddOne(const char *name) : OpDef(name) {
    this->Input("x").ParamType(REQUIRED).DataType({ge::DT_FLOAT}).Format({ge::FORMAT_ND});
    this->Input("bias").ParamType(OPTIONAL).DataType({ge::DT_FLOAT}).Format({ge::FORMAT_ND});
    this->Output("y").ParamType(REQUIRED).DataType({ge::DT_FLOAT}).Format({ge::FORMAT_ND});
    this->Attr("addend").AttrType(REQUIRED).Float();
    this->Attr("most").AttrType(OPTIONAL).Int(0);
    this->Attr("negate").AttrType(OPTIONAL).Bool(false);
    OpAICoreConfig config;
    config.DynamicShapeSupportFlag(true);
    this->AICore().AddConfig("ascend910b").AddConfig("ascend910_95", config);
  }
};

OP_ADD(AddOne);

}  // namespace ops
