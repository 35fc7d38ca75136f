// Registration of an operator's host functions outside its definition, kept in a table of the library they are in.
#pragma once
#include <map>
#include <string>

#include "context.h"

#define TWIN_LOCAL __attribute__((visibility("hidden")))

namespace gert {

enum TilingPlacement { TILING_ON_HOST = 0, TILING_ON_AICPU = 1 };

class OpImplRegisterV2 {
 public:
  using TilingFunc = UINT32 (*)(TilingContext *);
  using InferShapeFunc = UINT32 (*)(InferShapeContext *);
  using InferDataTypeFunc = UINT32 (*)(InferDataTypeContext *);

  // What is known of one operator. `capacity` is in bytes.
  struct Entry {
    TilingFunc tiling = nullptr;
    size_t capacity = 2048;
    InferShapeFunc inferShape = nullptr;
    InferDataTypeFunc inferDataType = nullptr;
    bool sameTypeAsFirstInput = false;
    std::vector<int32_t> hostInputs;  // positions whose data the functions read
  };

  explicit OpImplRegisterV2(const char *name) : op(name) {}
  OpImplRegisterV2 &Tiling(TilingFunc function, size_t maxTilingDataSize = 2048) {
    Mine().tiling = function;
    Mine().capacity = maxTilingDataSize;
    return *this;
  }
  template <typename CompileInfo>
  OpImplRegisterV2 &TilingParse(UINT32 (*)(TilingParseContext *)) {
    return *this;
  }
  OpImplRegisterV2 &InferShape(InferShapeFunc function) { return Mine().inferShape = function, *this; }
  OpImplRegisterV2 &InferShapeRange(InferShapeFunc) { return *this; }
  OpImplRegisterV2 &InferDataType(InferDataTypeFunc function) { return Mine().inferDataType = function, *this; }
  OpImplRegisterV2 &InferOutDataTypeSameWithFirstInput() { return Mine().sameTypeAsFirstInput = true, *this; }
  OpImplRegisterV2 &InputsDataDependency(std::initializer_list<int32_t> inputs) { return OnHost(inputs); }
  OpImplRegisterV2 &TilingInputsDataDependency(std::initializer_list<int32_t> inputs) { return OnHost(inputs); }
  OpImplRegisterV2 &TilingInputsDataDependency(std::initializer_list<int32_t> inputs, std::initializer_list<TilingPlacement>) {
    return OnHost(inputs);
  }
  OpImplRegisterV2 &OutputShapeDependOnCompute(std::initializer_list<int32_t>) { return *this; }
  OpImplRegisterV2 &HostInputs(std::initializer_list<int32_t> inputs) { return OnHost(inputs); }
  OpImplRegisterV2 &PrivateAttr(const char *) { return *this; }
  template <typename T>
  OpImplRegisterV2 &PrivateAttr(const char *, const T &) {
    return *this;
  }

  // Every operator of this library.
  TWIN_LOCAL static std::map<std::string, Entry> &Table() {
    static std::map<std::string, Entry> table;
    return table;
  }

 private:
  Entry &Mine() { return Table()[op]; }
  OpImplRegisterV2 &OnHost(std::initializer_list<int32_t> inputs) {
    Mine().hostInputs.insert(Mine().hostInputs.end(), inputs.begin(), inputs.end());
    return *this;
  }
  std::string op;
};

}  // namespace gert

#define IMPL_OP_OPTILING(op) gert::OpImplRegisterV2 twinTilingOf##op = gert::OpImplRegisterV2(#op)
#define IMPL_OP_INFERSHAPE(op) gert::OpImplRegisterV2 twinShapeOf##op = gert::OpImplRegisterV2(#op)
#define IMPL_OP_DEFAULT() static gert::OpImplRegisterV2 twinImplDefault = gert::OpImplRegisterV2("")
#define IMPL_OP(op) static gert::OpImplRegisterV2 twinImplOf##op = gert::OpImplRegisterV2(#op)
