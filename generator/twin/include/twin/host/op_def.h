// The definition of an operator: parameters, attributes, products (host.md section 4).
#pragma once
#include "library.h"

namespace ops {

enum Option { IGNORE = 0, OPTIONAL = 1, REQUIRED = 2, DYNAMIC = 3, VIRTUAL = 4 };
enum class DependScope : uint32_t { ALL = 0, TILING = 1 };
enum class FollowType : uint32_t { ALL = 0, DTYPE = 1, FORMAT = 2, SHAPE = 3 };
enum class FormatCheckOption : uint32_t { DEFAULT = 0, STRICT = 1 };
enum class CommentSection : uint32_t { CATEGORY = 0, BRIEF = 1, CONSTRAINTS = 2, RESTRICTIONS = 3, SEE = 4, THIRDPARTYFWKCOMPAT = 5 };
enum class ScalarType : uint32_t {
  UINT64 = 0,
  INT64 = 1,
  UINT32 = 2,
  INT32 = 3,
  UINT16 = 4,
  INT16 = 5,
  UINT8 = 6,
  INT8 = 7,
  FLOAT32 = 8,
  FLOAT16 = 9
};

struct ScalarVar {
  ScalarVar() = default;
  template <typename T>
  ScalarVar(ScalarType kind, T number) : type(kind), value(static_cast<double>(number)) {}
  ScalarType type = ScalarType::UINT64;
  double value = 0;
};

class OpParamDef {
 public:
  explicit OpParamDef(const char *text) : name(text) {}
  OpParamDef &ParamType(Option value) { return option = value, *this; }
  OpParamDef &DataType(std::vector<ge::DataType> values) { return types = values, *this; }
  OpParamDef &DataTypeList(std::vector<ge::DataType> values) { return typeList = values, *this; }
  OpParamDef &Format(std::vector<ge::Format> values) { return formats = values, *this; }
  OpParamDef &FormatList(std::vector<ge::Format> values) { return formatList = values, *this; }
  OpParamDef &DataTypeForBinQuery(std::vector<ge::DataType>) { return *this; }
  OpParamDef &FormatForBinQuery(std::vector<ge::Format>) { return *this; }
  OpParamDef &UnknownShapeFormat(std::vector<ge::Format>) { return *this; }
  OpParamDef &ValueDepend(Option) { return onHost = true, *this; }
  OpParamDef &ValueDepend(Option, DependScope) { return onHost = true, *this; }
  OpParamDef &AutoContiguous() { return *this; }
  OpParamDef &IgnoreContiguous() { return *this; }
  OpParamDef &Scalar() { return *this; }
  OpParamDef &ScalarList() { return *this; }
  OpParamDef &To(ge::DataType) { return *this; }
  OpParamDef &To(const char *) { return *this; }
  OpParamDef &Version(uint32_t) { return *this; }
  OpParamDef &InitValue(uint64_t value) { return InitValue(ScalarVar(ScalarType::UINT64, value)); }
  OpParamDef &InitValue(const ScalarVar &value) { return InitValue(std::vector<ScalarVar>{value}); }
  OpParamDef &InitValue(const std::vector<ScalarVar> &values) { return initial = values, *this; }
  OpParamDef &OutputShapeDependOnCompute() { return *this; }
  OpParamDef &Follow(const char *) { return *this; }
  OpParamDef &Follow(const char *, FollowType) { return *this; }
  OpParamDef &Comment(const char *) { return *this; }

  std::string name;
  Option option = REQUIRED;
  std::vector<ge::DataType> types, typeList;  // one per combination; or any of these
  std::vector<ge::Format> formats, formatList;
  std::vector<ScalarVar> initial;
  bool onHost = false;
};

class OpAttrDef {
 public:
  explicit OpAttrDef(const char *text) : name(text) {}
  OpAttrDef &AttrType(Option value) { return option = value, *this; }
  OpAttrDef &Bool() { return Is('b'); }
  OpAttrDef &Bool(bool value) { return start.flag = value, Default('b'); }
  OpAttrDef &Float() { return Is('f'); }
  OpAttrDef &Float(float value) { return start.real = value, Default('f'); }
  OpAttrDef &Int() { return Is('i'); }
  OpAttrDef &Int(int64_t value) { return start.integer = value, Default('i'); }
  OpAttrDef &String() { return Is('s'); }
  OpAttrDef &String(const char *value) { return start.text = value, Default('s'); }
  OpAttrDef &ListBool() { return Is('B'); }
  OpAttrDef &ListBool(std::vector<bool> value) { return start.flags.values.assign(value.begin(), value.end()), Default('B'); }
  OpAttrDef &ListFloat() { return Is('F'); }
  OpAttrDef &ListFloat(std::vector<float> value) { return start.reals.values = value, Default('F'); }
  OpAttrDef &ListInt() { return Is('I'); }
  OpAttrDef &ListInt(std::vector<int64_t> value) { return start.integers.values = value, Default('I'); }
  OpAttrDef &ListListInt() { return Is('L'); }
  OpAttrDef &ListListInt(std::vector<std::vector<int64_t>> value) {
    for (const std::vector<int64_t> &row : value) {
      start.lists.values.emplace_back();
      start.lists.values.back().values = row;
    }
    return Default('L');
  }
  OpAttrDef &Version(uint32_t) { return *this; }
  OpAttrDef &Comment(const char *) { return *this; }

  std::string name;
  Option option = REQUIRED;
  bool hasDefault = false;
  gert::RuntimeAttrs::Value start;  // kind, and the default

 private:
  OpAttrDef &Is(int kind) { return start.kind = kind, *this; }
  OpAttrDef &Default(int kind) { return hasDefault = true, Is(kind); }
};

// Parameters by name, in the order they are declared. References stay valid.
class OpParamTable {
 public:
  OpParamDef &Named(const char *name) {
    for (const std::shared_ptr<OpParamDef> &param : params)
      if (param->name == name) return *param;
    params.push_back(std::make_shared<OpParamDef>(name));
    return *params.back();
  }
  std::vector<std::shared_ptr<OpParamDef>> params;
};

class OpAICoreConfig {
 public:
  OpParamDef &Input(const char *name) { return inputs.Named(name); }
  OpParamDef &Output(const char *name) { return outputs.Named(name); }
  OpAICoreConfig &DynamicCompileStaticFlag(bool) { return *this; }
  OpAICoreConfig &DynamicFormatFlag(bool) { return *this; }
  OpAICoreConfig &DynamicRankSupportFlag(bool) { return *this; }
  OpAICoreConfig &DynamicShapeSupportFlag(bool) { return *this; }
  OpAICoreConfig &NeedCheckSupportFlag(bool) { return *this; }
  OpAICoreConfig &PrecisionReduceFlag(bool) { return *this; }
  OpAICoreConfig &ExtendCfgInfo(const char *, const char *) { return *this; }

  OpParamTable inputs, outputs;
};

class OpAICoreDef {
 public:
  using CheckFunc = ge::graphStatus (*)(const ge::Operator &, ge::AscendString &);
  OpAICoreDef &SetTiling(gert::OpImplRegisterV2::TilingFunc function) { return tiling = function, *this; }
  OpAICoreDef &SetCheckSupport(CheckFunc) { return *this; }
  OpAICoreDef &SetOpSelectFormat(CheckFunc) { return *this; }
  OpAICoreDef &SetOpSupportInfo(CheckFunc) { return *this; }
  OpAICoreDef &SetOpSpecInfo(CheckFunc) { return *this; }
  OpAICoreDef &AddConfig(const char *soc) { return configs[soc], *this; }
  OpAICoreDef &AddConfig(const char *soc, OpAICoreConfig &config) { return configs[soc] = config, *this; }

  gert::OpImplRegisterV2::TilingFunc tiling = nullptr;
  std::map<std::string, OpAICoreConfig> configs;
};

class OpMC2Def {
 public:
  OpMC2Def &HcclGroup(const char *) { return *this; }
  OpMC2Def &HcclGroup(std::vector<const char *>) { return *this; }
};

class OpDef {
 public:
  explicit OpDef(const char *type) : name(type) {}
  OpParamDef &Input(const char *text) { return inputs.Named(text); }
  OpParamDef &Output(const char *text) { return outputs.Named(text); }
  OpAttrDef &Attr(const char *text) {
    for (const std::shared_ptr<OpAttrDef> &attr : attrs)
      if (attr->name == text) return *attr;
    attrs.push_back(std::make_shared<OpAttrDef>(text));
    return *attrs.back();
  }
  OpDef &SetInferShape(gert::OpImplRegisterV2::InferShapeFunc function) { return inferShape = function, *this; }
  OpDef &SetInferShapeRange(gert::OpImplRegisterV2::InferShapeFunc) { return *this; }
  OpDef &SetInferDataType(gert::OpImplRegisterV2::InferDataTypeFunc function) { return inferDataType = function, *this; }
  OpAICoreDef &AICore() { return core; }
  OpMC2Def &MC2() { return mc2; }
  OpDef &Comment(CommentSection, const char *) { return *this; }
  OpDef &FormatMatchMode(FormatCheckOption) { return *this; }
  OpDef &EnableFallBack() { return *this; }

  std::string name;
  OpParamTable inputs, outputs;
  std::vector<std::shared_ptr<OpAttrDef>> attrs;
  gert::OpImplRegisterV2::InferShapeFunc inferShape = nullptr;
  gert::OpImplRegisterV2::InferDataTypeFunc inferDataType = nullptr;
  OpAICoreDef core;
  OpMC2Def mc2;
};

class OpDefFactory {
 public:
  static int OpDefRegister(const char *name, twin::OpDefCreator creator) {
    twin::Definitions()[name] = creator;
    return 0;
  }
};

}  // namespace ops

// One file is compiled in three ways: for shape inference, for tiling, and for whoever reads the definition.
#if defined(OP_PROTO_LIB)
#define OP_ADD(opType)                                                                                                \
  static gert::OpImplRegisterV2 twinProtoOf##opType = [] {                                                            \
    const opType definition(#opType);                                                                                 \
    return gert::OpImplRegisterV2(#opType).InferShape(definition.inferShape).InferDataType(definition.inferDataType); \
  }()
#elif defined(OP_TILING_LIB)
#define OP_ADD(opType)                                                         \
  static gert::OpImplRegisterV2 twinTilingDefOf##opType = [] {                 \
    opType definition(#opType);                                                \
    return gert::OpImplRegisterV2(#opType).Tiling(definition.AICore().tiling); \
  }()
#else
#define OP_ADD(opType)                                                            \
  static ops::OpDef twinCreate##opType(const char *name) { return opType(name); } \
  static const int twinAdded##opType = ops::OpDefFactory::OpDefRegister(#opType, twinCreate##opType)
#endif
