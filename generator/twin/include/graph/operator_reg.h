// The graph prototype of an operator (host.md section 6): what REG_OP declares, with values kept but no graph behind them.
#pragma once
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "../twin/host/types.h"
#include "../twin/host/shape.h"

namespace ge {

class TensorDesc {
 public:
  TensorDesc() = default;
  DataType GetDataType() const { return type; }
  void SetDataType(DataType value) { type = value; }
  Format GetFormat() const { return format; }
  void SetFormat(Format value) { format = value; }

 private:
  DataType type = DT_FLOAT;
  Format format = FORMAT_ND;
};

class Tensor {};
class NamedAttrs {};

// The dtypes a parameter accepts.
class TensorType {
 public:
  TensorType(DataType type) : types{type} {}
  TensorType(const std::initializer_list<DataType> &list) : types(list) {}
  static TensorType ALL() { return Up(DT_MAX); }
  static TensorType BasicType() { return NumberType(); }
  static TensorType NumberType() {
    return TensorType{DT_FLOAT, DT_FLOAT16, DT_INT8, DT_INT32, DT_UINT8, DT_INT16, DT_UINT16, DT_UINT32, DT_INT64, DT_UINT64, DT_DOUBLE,
                      DT_COMPLEX64, DT_COMPLEX128, DT_QINT8, DT_QINT32, DT_QUINT8};
  }
  static TensorType RealNumberType() {
    return TensorType{DT_FLOAT, DT_FLOAT16, DT_INT8, DT_INT32, DT_UINT8, DT_INT16, DT_UINT16, DT_UINT32, DT_INT64, DT_UINT64, DT_DOUBLE};
  }
  static TensorType FloatingDataType() { return TensorType{DT_DOUBLE, DT_FLOAT, DT_FLOAT16}; }
  static TensorType FLOAT() { return TensorType{DT_FLOAT, DT_FLOAT16}; }
  static TensorType IntegerDataType() { return TensorType{DT_INT8, DT_INT16, DT_INT32, DT_INT64, DT_UINT8, DT_UINT16, DT_UINT32, DT_UINT64}; }
  static TensorType IndexNumberType() { return TensorType{DT_INT32, DT_INT64}; }
  static TensorType UnaryDataType() { return TensorType{DT_COMPLEX128, DT_COMPLEX64, DT_DOUBLE, DT_FLOAT, DT_FLOAT16}; }
  static TensorType OrdinaryType() { return NumberType(); }
  static TensorType QuantifiedType() { return TensorType{DT_QINT16, DT_QINT32, DT_QINT8, DT_QUINT16, DT_QUINT8}; }
  static TensorType ComplexDataType() { return TensorType{DT_COMPLEX64, DT_COMPLEX128}; }
  std::vector<DataType> types;

 private:
  static TensorType Up(int end) {
    TensorType all{};
    for (int type = 0; type < end; ++type) all.types.push_back(static_cast<DataType>(type));
    return all;
  }
};

// A node of a graph: its descriptions and the order in which its parameters were declared.
class Operator {
 public:
  Operator() = default;
  explicit Operator(const std::string &text) : name(text) {}
  Operator(const char *text, const char *kind) : name(text), type(kind) {}
  const std::string &GetName() const { return name; }
  const std::string &GetOpType() const { return type; }
  TensorDesc GetInputDesc(const char *param) const { return Find(inputs, param); }
  TensorDesc GetOutputDesc(const char *param) const { return Find(outputs, param); }
  std::vector<std::string> declaredInputs, declaredOutputs, declaredAttrs;

 protected:
  static TensorDesc Find(const std::map<std::string, TensorDesc> &from, const std::string &param) {
    const auto found = from.find(param);
    return found == from.end() ? TensorDesc() : found->second;
  }
  static graphStatus Update(std::map<std::string, TensorDesc> &in, const std::string &param, const TensorDesc &desc) {
    const auto found = in.find(param);
    if (found == in.end()) return GRAPH_FAILED;
    found->second = desc;
    return GRAPH_SUCCESS;
  }
  static void Resize(std::map<std::string, TensorDesc> &in, const std::string &param, uint32_t number) {
    for (uint32_t i = 0; i < number; ++i) in[param + std::to_string(i)];
  }
  std::string name, type;
  std::map<std::string, TensorDesc> inputs, outputs;
};

// Types of attributes, and how a setter takes them.
namespace twin_attr {
using Int = int64_t;
using Float = float;
using Bool = bool;
using String = std::string;
using Type = DataType;
using ListInt = std::vector<int64_t>;
using ListFloat = std::vector<float>;
using ListBool = std::vector<bool>;
using ListString = std::vector<std::string>;
using ListTensor = std::vector<ge::Tensor>;
using ListType = std::vector<DataType>;
using ListListInt = std::vector<std::vector<int64_t>>;
using ListNamedAttrs = std::vector<ge::NamedAttrs>;
using Bytes = std::vector<uint8_t>;
using Tensor = ge::Tensor;
using NamedAttrs = ge::NamedAttrs;
// Starts and ends the statement between two links of a declaration.
struct Link {
  void End() const {}
};
}  // namespace twin_attr

class OperatorFactory {
 public:
  using Creator = std::function<Operator()>;
  static std::map<std::string, Creator> &Table() {
    static std::map<std::string, Creator> table;
    return table;
  }
};

class OperatorCreatorRegister {
 public:
  OperatorCreatorRegister(const char *type, const OperatorFactory::Creator &creator) { OperatorFactory::Table()[type] = creator; }
};

}  // namespace ge

// A declaration is a chain `.INPUT(..).ATTR(..)`: each link ends the function its predecessor opened and opens the next.
#define REG_OP(x)                                                                                    \
  namespace op {                                                                                     \
  class x : public ge::Operator {                                                                    \
    using TwinSelf = x;                                                                              \
                                                                                                     \
   public:                                                                                           \
    x() : ge::Operator(#x, #x) { TwinDeclare(); }                                                    \
    explicit x(const char *text) : ge::Operator(text, #x) { TwinDeclare(); }                         \
    explicit x(const std::string &text) : ge::Operator(text.c_str(), #x) { TwinDeclare(); }          \
    explicit x(const ge::AscendString &text) : ge::Operator(text.GetString(), #x) { TwinDeclare(); } \
                                                                                                     \
   private:                                                                                          \
    void TwinDeclare() {                                                                             \
      ge::twin_attr::Link()

#define INPUT(x, t)                                                                                            \
  End();                                                                                                       \
  Twin_input_##x();                                                                                            \
  }                                                                                                            \
                                                                                                               \
 public:                                                                                                       \
  TwinSelf &set_input_##x(ge::Operator &, const std::string & = "") { return *this; }                          \
  TwinSelf &set_input_##x(ge::Operator &, uint32_t) { return *this; }                                          \
  TwinSelf &set_input_##x##_by_name(ge::Operator &, const char *) { return *this; }                            \
  ge::TensorDesc get_input_desc_##x() const { return Find(inputs, #x); }                                       \
  ge::graphStatus update_input_desc_##x(const ge::TensorDesc &d) { return inputs[#x] = d, ge::GRAPH_SUCCESS; } \
                                                                                                               \
 private:                                                                                                      \
  void Twin_input_##x() {                                                                                      \
    static_cast<void>(ge::TensorType(t));                                                                      \
    declaredInputs.push_back(#x);                                                                              \
    ge::twin_attr::Link()

#define OPTIONAL_INPUT(x, t) INPUT(x, t)

#define DYNAMIC_INPUT(x, t)                                                                                             \
  End();                                                                                                                \
  Twin_input_##x();                                                                                                     \
  }                                                                                                                     \
                                                                                                                        \
 public:                                                                                                                \
  TwinSelf &create_dynamic_input_##x(uint32_t number) { return Resize(inputs, #x, number), *this; }                     \
  ge::TensorDesc get_dynamic_input_desc_##x(uint32_t i) const { return Find(inputs, std::string(#x) + std::to_string(i)); }\
  ge::graphStatus update_dynamic_input_desc_##x(uint32_t i, const ge::TensorDesc &d) { return Update(inputs, std::string(#x) + std::to_string(i), d); }\
                                                                                                                        \
 private:                                                                                                               \
  void Twin_input_##x() {                                                                                               \
    static_cast<void>(ge::TensorType(t));                                                                               \
    declaredInputs.push_back(#x);                                                                                       \
    ge::twin_attr::Link()

#define OUTPUT(x, t)                                                                                             \
  End();                                                                                                         \
  Twin_output_##x();                                                                                             \
  }                                                                                                              \
                                                                                                                 \
 public:                                                                                                         \
  ge::TensorDesc get_output_desc_##x() const { return Find(outputs, #x); }                                       \
  ge::graphStatus update_output_desc_##x(const ge::TensorDesc &d) { return outputs[#x] = d, ge::GRAPH_SUCCESS; } \
                                                                                                                 \
 private:                                                                                                        \
  void Twin_output_##x() {                                                                                       \
    static_cast<void>(ge::TensorType(t));                                                                        \
    declaredOutputs.push_back(#x);                                                                               \
    ge::twin_attr::Link()

#define DYNAMIC_OUTPUT(x, t)                                                                                            \
  End();                                                                                                                \
  Twin_output_##x();                                                                                                    \
  }                                                                                                                     \
                                                                                                                        \
 public:                                                                                                                \
  TwinSelf &create_dynamic_output_##x(uint32_t number) { return Resize(outputs, #x, number), *this; }                   \
  ge::TensorDesc get_dynamic_output_desc_##x(uint32_t i) const { return Find(outputs, std::string(#x) + std::to_string(i)); }\
  ge::graphStatus update_dynamic_output_desc_##x(uint32_t i, const ge::TensorDesc &d) { return Update(outputs, std::string(#x) + std::to_string(i), d); }\
                                                                                                                        \
 private:                                                                                                               \
  void Twin_output_##x() {                                                                                              \
    static_cast<void>(ge::TensorType(t));                                                                               \
    declaredOutputs.push_back(#x);                                                                                      \
    ge::twin_attr::Link()

#define ATTR(x, type, ...)                                                             \
  End();                                                                               \
  Twin_attr_##x();                                                                     \
  }                                                                                    \
                                                                                       \
 public:                                                                               \
                                    \
  TwinSelf &set_attr_##x(const ge::twin_attr::type &v) { return attr_##x = v, *this; } \
  ge::twin_attr::type get_attr_##x() const { return attr_##x; }                        \
                                                                                       \
 private:                                                                              \
  ge::twin_attr::type attr_##x = __VA_ARGS__;                                          \
  void Twin_attr_##x() {                                                               \
    declaredAttrs.push_back(#x);                                                       \
    ge::twin_attr::Link()

#define REQUIRED_ATTR(x, type)                                                         \
  End();                                                                               \
  Twin_attr_##x();                                                                     \
  }                                                                                    \
                                                                                       \
 public:                                                                               \
                                    \
  TwinSelf &set_attr_##x(const ge::twin_attr::type &v) { return attr_##x = v, *this; } \
  ge::twin_attr::type get_attr_##x() const { return attr_##x; }                        \
                                                                                       \
 private:                                                                              \
  ge::twin_attr::type attr_##x{};                                                      \
  void Twin_attr_##x() {                                                               \
    declaredAttrs.push_back(#x);                                                       \
    ge::twin_attr::Link()

#define OP_END_FACTORY_REG(x)                                                                      \
  End();                                                                                           \
  }                                                                                                \
  };                                                                                               \
  static const ge::OperatorCreatorRegister twinCreatorOf##x(#x, [] { return ge::Operator(x()); }); \
  }  // namespace op
