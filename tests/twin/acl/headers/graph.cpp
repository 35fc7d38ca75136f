// The prototype of a graph operator: every link of the chain, and what the class made of it offers.
#include "graph/operator_reg.h"
namespace ge {
REG_OP(Demo)
    .INPUT(x, TensorType({DT_FLOAT, DT_FLOAT16, DT_BF16})).OPTIONAL_INPUT(b, TensorType::ALL()).DYNAMIC_INPUT(d, TensorType({DT_FLOAT}))
    .OUTPUT(y, TensorType({DT_FLOAT, DT_FLOAT16})).DYNAMIC_OUTPUT(z, TensorType({DT_FLOAT}))
    .ATTR(scale, Float, 1.0).ATTR(mode, String, "a").ATTR(axes, ListInt, {}).ATTR(flag, Bool, false).ATTR(dt, Type, DT_FLOAT).REQUIRED_ATTR(n, Int)
    .ATTR(ax2, ListInt, {1, 2})
    .OP_END_FACTORY_REG(Demo)
}
int main() {
  ge::op::Demo demo("demo"), other(std::string("other")), third(ge::AscendString("third")), nameless;
  ge::Operator source;
  demo.set_input_x(source).set_input_b(source, 1u).set_input_x_by_name(source, "y").create_dynamic_input_d(2).create_dynamic_output_z(1);
  ge::TensorDesc desc;
  desc.SetDataType(ge::DT_BF16);
  if (demo.update_input_desc_x(desc) != ge::GRAPH_SUCCESS || demo.get_input_desc_x().GetDataType() != ge::DT_BF16) return 1;
  if (demo.update_dynamic_input_desc_d(1, desc) != ge::GRAPH_SUCCESS || demo.update_dynamic_input_desc_d(2, desc) == ge::GRAPH_SUCCESS) return 2;
  demo.set_attr_scale(2).set_attr_mode("b").set_attr_n(3).set_attr_axes({1, 2});
  if (demo.get_attr_scale() != 2 || demo.get_attr_mode() != "b" || demo.get_attr_n() != 3 || demo.get_attr_axes().size() != 2) return 3;
  if (other.get_attr_scale() != 1 || other.get_attr_mode() != "a" || other.get_attr_dt() != ge::DT_FLOAT || other.get_attr_ax2() != std::vector<int64_t>{1, 2}) return 4;
  if (demo.declaredInputs != std::vector<std::string>{"x", "b", "d"} || demo.declaredOutputs != std::vector<std::string>{"y", "z"}) return 5;
  return ge::OperatorFactory::Table().count("Demo") == 1 && third.GetName() == "third" && nameless.GetOpType() == "Demo" ? 0 : 6;
}
