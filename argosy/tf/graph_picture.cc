#include "argosy/tf/graph_picture.h"

#include "argosy/tf/graph.pb.h"
#include "argosy/tf/tensor_proto.h"

namespace argosy::tf {

namespace {

constexpr std::size_t kMostConstantBytes = 64;
constexpr std::size_t kMostBytes = (std::size_t{1} << 31) - 1;

tensorflow::DataType number(DType dtype) { return static_cast<tensorflow::DataType>(dtype); }

void picture_tensor(const Tensor& tensor, tensorflow::TensorProto* proto) {
  proto->set_dtype(number(tensor.dtype()));
  to_proto(PartialShape(tensor.shape()), proto->mutable_tensor_shape());
  if (is_plain(tensor.dtype()) && tensor.bytes() <= kMostConstantBytes) {
    proto->set_tensor_content(tensor.raw_as<const char>(), tensor.bytes());
  }
}

struct AttrWriter {
  tensorflow::AttrValue* to;

  void operator()(std::monostate) const {}
  void operator()(std::int64_t v) const { to->set_i(v); }
  void operator()(float v) const { to->set_f(v); }
  void operator()(bool v) const { to->set_b(v); }
  void operator()(const std::string& v) const { to->set_s(v); }
  void operator()(DType v) const { to->set_type(number(v)); }
  void operator()(const PartialShape& v) const { to_proto(v, to->mutable_shape()); }
  void operator()(const Tensor& v) const { picture_tensor(v, to->mutable_tensor()); }
  void operator()(const FunctionRef& v) const { to->mutable_func()->set_name(v.name); }
  template <typename T>
  void operator()(const std::vector<T>& values) const {
    auto* list = to->mutable_list();  // present even when it is empty
    for (const auto& v : values) add(list, v);
  }

 private:
  using List = tensorflow::AttrValue::ListValue;
  static void add(List* list, std::int64_t v) { list->add_i(v); }
  static void add(List* list, float v) { list->add_f(v); }
  static void add(List* list, bool v) { list->add_b(v); }
  static void add(List* list, const std::string& v) { list->add_s(v); }
  static void add(List* list, DType v) { list->add_type(number(v)); }
  static void add(List* list, const PartialShape& v) { to_proto(v, list->add_shape()); }
  static void add(List* list, const Tensor& v) { picture_tensor(v, list->add_tensor()); }
  static void add(List* list, const FunctionRef& v) { list->add_func()->set_name(v.name); }
};

}  // namespace

Result<std::string> graph_picture(const Graph& graph) {
  tensorflow::GraphDef def;
  for (const Node& node : graph.nodes()) {
    tensorflow::NodeDef* to = def.add_node();
    to->set_name(node.name);
    to->set_op(node.op->name);
    to->set_device(node.device);
    for (const Endpoint& input : node.inputs) {
      const std::string& name = graph.node(input.node).name;
      to->add_input(input.index == 0 ? name : str_cat(name, ":", input.index));
    }
    for (const NodeId control : node.controls) to->add_input(str_cat("^", graph.node(control).name));
    auto& attrs = *to->mutable_attr();
    for (const auto& [name, value] : node.attrs) std::visit(AttrWriter{&attrs[name]}, value);
    AttrWriter{&attrs["_output_shapes"]}(node.output_shapes);
  }
  def.mutable_versions()->set_producer(27);  // TensorFlow 1.13's: attributes of later versions are not used
  if (def.ByteSizeLong() > kMostBytes) {
    return resource_exhausted("a graph of ", graph.size(), " nodes exceeds protobuf's 2 GiB").with_id("ARG-PROTO-002");
  }
  return def.SerializeAsString();
}

}  // namespace argosy::tf
