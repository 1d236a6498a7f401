#include "argosy/tf/graph/graph_export.h"

#include <algorithm>
#include <climits>
#include <unordered_map>
#include <unordered_set>

#include "argosy/formats/proto/graph.pb.h"
#include "argosy/formats/proto/tensor_proto.h"
#include "argosy/tf/graph/attr_proto.h"
#include "argosy/tf/graph/functions/function_import.h"
#include "argosy/tf/graph/graph_file.h"

namespace argosy::tf {

namespace {

using tensorflow::FunctionDef;
using tensorflow::GraphDef;
using tensorflow::NodeDef;

constexpr std::size_t kMostPictured = 64;  // bytes of a constant in a picture
// Attributes of later versions are not used: TensorFlow 1.13's; but functions ask for a consumer that knows them.
constexpr int kProducer = 27;
constexpr int kFunctionsConsumer = 12;

Status in_node(Status error, const Node& node) {
  return std::move(error).with_where(str_cat("node '", node.name, "' (", node.op->name, ")"));
}

Status write_attr(const AttrValue& value, tensorflow::AttrValue* to, const ExportOptions& options) {
  const auto* tensor = std::get_if<Tensor>(&value);
  if (!options.picture || tensor == nullptr || tensor->bytes() <= kMostPictured) return to_proto(value, to);
  auto* picture = to->mutable_tensor();
  picture->set_dtype(static_cast<tensorflow::DataType>(tensor->dtype()));
  to_proto(PartialShape(tensor->shape()), picture->mutable_tensor_shape());
  return ok_status();
}

// Writes everything of a node but its inputs.
Status write_node(const Node& node, NodeDef* to, const ExportOptions& options) {
  to->set_name(node.name);
  to->set_op(node.op->name);
  to->set_device(node.device);
  auto& attrs = *to->mutable_attr();
  for (const auto& [name, value] : node.attributes()) {
    const AttrDef* def = node.op->attr(name);
    if (options.strip_defaults && def != nullptr && attr_equal(def->value, value)) continue;
    if (std::holds_alternative<std::monostate>(value)) continue;
    Status written = write_attr(value, &attrs[name], options);
    if (!written.ok()) return in_node(std::move(written), node);
  }
  if (options.picture)
    return to_proto(AttrValue(std::vector<PartialShape>(node.output_shapes)), &attrs["_output_shapes"]);
  return ok_status();
}

std::string input_name(const std::string& node, int index) { return index == 0 ? node : str_cat(node, ":", index); }

// Returns the name of an output as function bodies spell it: "node:argument:number".
Result<std::string> body_name(const Node& node, int index) {
  int first = 0;
  for (const ArgDef& arg : node.op->output_args) {
    int count = 1;
    if (!arg.type_list_attr.empty()) {
      count = static_cast<int>(node.attrs.get<std::vector<DType>>(arg.type_list_attr).size());
    } else if (!arg.number_attr.empty()) {
      count = static_cast<int>(node.attrs.get_int(arg.number_attr));
    }
    if (index < first + count) return str_cat(node.name, ":", arg.name, ":", index - first);
    first += count;
  }
  return in_node(internal_error("output ", index, " has no name"), node);
}

// Makes unique names for a function's signature: letters, digits and '_', beginning with a lower-case letter.
class SignatureNames {
 public:
  std::string make(std::string_view wanted) {
    std::string name;
    for (const char c : wanted) {
      const bool digit = c >= '0' && c <= '9';
      if ((c >= 'a' && c <= 'z') || digit) {
        name += c;
      } else {
        name += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : '_';
      }
    }
    if (name.empty() || name[0] < 'a' || name[0] > 'z') name = "a" + name;
    std::string candidate = name;
    for (int n = 1; !taken_.insert(candidate).second; ++n) candidate = str_cat(name, "_", n);
    return candidate;
  }
  void keep(const std::string& name) { taken_.insert(name); }

 private:
  std::unordered_set<std::string> taken_;
};

class FunctionWriter {
 public:
  FunctionWriter(const Function& function, FunctionDef* to, const ExportOptions& options)
      : function_(function), body_(function.body), to_(to), options_(options) {}

  Status run() {
    to_->mutable_signature()->set_name(function_.name);
    ARGOSY_RETURN_IF_ERROR(write_parameters());
    for (std::int32_t i = 0; i < body_.size(); ++i) {
      const Node& node = body_.node({i});
      if (args_.contains(i)) continue;
      NodeDef* def = to_->add_node_def();
      ARGOSY_RETURN_IF_ERROR(write_node(node, def, options_));
      for (const Endpoint e : node.inputs) {
        ARGOSY_ASSIGN_OR_RETURN(std::string name, name_of(e));
        def->add_input(std::move(name));
      }
      for (const NodeId c : node.controls) {
        if (!args_.contains(c.index)) def->add_input(str_cat("^", body_.node(c).name));
      }
      stateful_ = stateful_ || (node.op->stateful && node.op->name != "Placeholder");
    }
    return write_returns();
  }

 private:
  Result<std::string> name_of(Endpoint e) const {
    if (const auto arg = args_.find(e.node.index); arg != args_.end()) return arg->second;
    return body_name(body_.node(e.node), e.index);
  }

  Status write_parameters() {
    // Names of nodes and parameters are one space.
    for (const Node& node : body_.nodes()) {
      if (node.op->name != "_Arg") names_.keep(node.name);
    }
    for (const NodeId id : function_.args) {
      const Node& node = body_.node(id);
      auto* arg = to_->mutable_signature()->add_input_arg();
      arg->set_name(names_.make(node.name));
      arg->set_type(static_cast<tensorflow::DataType>(node.output_dtypes[0]));
      args_[id.index] = arg->name();
      if (const HandleFact* fact = body_.handle({id, 0}); fact != nullptr) {
        auto* handle = arg->add_handle_data();
        handle->set_dtype(static_cast<tensorflow::DataType>(fact->dtype));
        to_proto(fact->shape, handle->mutable_shape());
      }
      const bool renamed = arg->name() != node.name;
      if (!renamed && !node.output_shapes[0].has_rank()) continue;
      auto& attrs = *(*to_->mutable_arg_attr())[static_cast<std::uint32_t>(args_.size() - 1)].mutable_attr();
      if (renamed) attrs[kNameAttr].set_s(node.name);
      if (!node.output_shapes[0].has_rank()) continue;
      ARGOSY_RETURN_IF_ERROR(
          to_proto(AttrValue(std::vector<PartialShape>{node.output_shapes[0]}), &attrs["_output_shapes"]));
    }
    return ok_status();
  }

  Status write_returns() {
    auto* signature = to_->mutable_signature();
    for (const Endpoint e : function_.returns) {
      auto* arg = signature->add_output_arg();
      arg->set_name(names_.make(body_.node(e.node).name));
      arg->set_type(static_cast<tensorflow::DataType>(body_.dtype(e)));
      ARGOSY_ASSIGN_OR_RETURN((*to_->mutable_ret())[arg->name()], name_of(e));
    }
    for (const NodeId id : function_.control_returns) {
      if (args_.contains(id.index)) continue;
      const std::string& name = body_.node(id).name;
      signature->add_control_output(name);
      (*to_->mutable_control_ret())[name] = name;
    }
    signature->set_is_stateful(stateful_);
    return ok_status();
  }

  const Function& function_;
  const Graph& body_;
  FunctionDef* to_;
  const ExportOptions& options_;
  SignatureNames names_;
  std::unordered_map<std::int32_t, std::string> args_;  // by node: the parameter's name
  bool stateful_ = false;
};

}  // namespace

Status export_graph(const Graph& graph, GraphDef* def, const ExportOptions& options) {
  def->Clear();
  for (const Node& node : graph.nodes()) {
    NodeDef* to = def->add_node();
    ARGOSY_RETURN_IF_ERROR(write_node(node, to, options));
    for (const Endpoint e : node.inputs) to->add_input(input_name(graph.node(e.node).name, e.index));
    for (const NodeId c : node.controls) to->add_input(str_cat("^", graph.node(c).name));
  }
  for (const auto& [name, function] : graph.functions()) {
    if (options.picture) {
      def->mutable_library()->add_function()->mutable_signature()->set_name(name);
      continue;
    }
    Status written = FunctionWriter(*function, def->mutable_library()->add_function(), options).run();
    if (!written.ok()) return Status(written.code(), str_cat("function \"", name, "\": ", written.message()));
  }
  def->mutable_versions()->set_producer(kProducer);
  if (!graph.functions().empty()) def->mutable_versions()->set_min_consumer(kFunctionsConsumer);
  if (def->ByteSizeLong() > INT_MAX) {
    return resource_exhausted("a graph of ", graph.size(), " nodes exceeds protobuf's 2 GiB").with_id("ARG-PROTO-002");
  }
  return ok_status();
}

Result<std::string> export_graph(const Graph& graph, const ExportOptions& options) {
  GraphDef def;
  ARGOSY_RETURN_IF_ERROR(export_graph(graph, &def, options));
  return def.SerializeAsString();
}

Status save_graph(const std::string& path, const Graph& graph, const ExportOptions& options) {
  GraphDef def;
  ARGOSY_RETURN_IF_ERROR(export_graph(graph, &def, options));
  return write_graph_file(path, def);
}

}  // namespace argosy::tf
