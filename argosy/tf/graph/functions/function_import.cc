#include "argosy/tf/graph/functions/function_import.h"

#include <algorithm>

#include "argosy/formats/proto/graph.pb.h"
#include "argosy/formats/proto/tensor_proto.h"
#include "argosy/graph/function_body.h"
#include "argosy/graph/gradients.h"
#include "argosy/tf/graph/attr_proto.h"
#include "argosy/tf/graph/functions/body_names.h"
#include "argosy/tf/graph/graph_importer.h"

namespace argosy::tf {

namespace {

using tensorflow::FunctionDef;
using tensorflow::NodeDef;

class BodyReader {
 public:
  BodyReader(const OpRegistry& ops, const FunctionDef& def, const FunctionSignature& signature, int producer,
             const BuildContext& context)
      : def_(def),
        signature_(signature),
        producer_(producer),
        function_(std::make_shared<Function>(Function{.name = {}, .body = Graph(ops)})),
        nodes_(function_->body, context),
        functions_(context.functions) {}

  Result<std::shared_ptr<Function>> run() {
    ARGOSY_RETURN_IF_ERROR(add_parameters());
    ARGOSY_RETURN_IF_ERROR(add_nodes());
    ARGOSY_RETURN_IF_ERROR(convert());
    ARGOSY_RETURN_IF_ERROR(add_returns());
    add_effects();
    return function_;
  }

 private:
  Status add_parameters() {
    for (std::size_t i = 0; i < signature_.inputs.size(); ++i) {
      const FunctionSignature::Arg& arg = signature_.inputs[i];
      ARGOSY_RETURN_IF_ERROR(
          names_.add_parameter(arg.name, nodes_.size(), static_cast<std::int32_t>(arg.dtypes.size())));
      for (std::size_t k = 0; k < arg.dtypes.size(); ++k) {
        const auto index = static_cast<std::int64_t>(function_->args.size());
        AttrMap attrs = {{"T", arg.dtypes[k]}, {"index", index}, {"shape", PartialShape::unknown()}};
        if (!arg.is_list) ARGOSY_RETURN_IF_ERROR(describe_parameter(static_cast<int>(i), attrs));
        const std::string name = arg.is_list ? str_cat(arg.name, "_", k) : name_of(static_cast<int>(i), arg.name);
        ARGOSY_ASSIGN_OR_RETURN(
            const NodeId id, function_->body.add_node(
                                 {.name = function_->body.unique_name(name), .op = "_Arg", .attrs = std::move(attrs)}));
        function_->args.push_back(id);
        nodes_.add_converted(id);
      }
    }
    return ok_status();
  }

  const std::string& name_of(int i, const std::string& name) const {
    const auto said = def_.arg_attr().find(static_cast<std::uint32_t>(i));
    if (said == def_.arg_attr().end()) return name;
    const auto ours = said->second.attr().find(kNameAttr);
    return ours == said->second.attr().end() ? name : ours->second.s();
  }

  // Sets the attributes of a parameter: its shape; for a handle, the dtype and shape of the resource.
  Status describe_parameter(int i, AttrMap& attrs) const {
    if (const auto said = def_.arg_attr().find(static_cast<std::uint32_t>(i)); said != def_.arg_attr().end()) {
      const auto shapes = said->second.attr().find("_output_shapes");
      if (shapes != said->second.attr().end() && shapes->second.list().shape_size() == 1) {
        ARGOSY_ASSIGN_OR_RETURN(PartialShape shape, from_proto(shapes->second.list().shape(0)));
        attrs.set("shape", std::move(shape));
      }
    }
    const auto& handles = def_.signature().input_arg(i).handle_data();
    if (handles.size() != 1) return ok_status();
    const int dtype = handles[0].dtype();
    if (dtype <= 0 || dtype > static_cast<int>(DType::kUint64)) return ok_status();
    ARGOSY_ASSIGN_OR_RETURN(PartialShape shape, from_proto(handles[0].shape()));
    attrs.set("_handle_dtype", static_cast<DType>(dtype));
    attrs.set("_handle_shape", std::move(shape));
    return ok_status();
  }

  Status add_nodes() {
    first_node_ = nodes_.size();
    for (int i = 0; i < def_.node_def_size(); ++i) {
      ARGOSY_RETURN_IF_ERROR(names_.add_node(def_.node_def(i).name(), first_node_ + i));
    }
    std::vector<GraphImporter::Input> inputs;
    for (const NodeDef& node : def_.node_def()) {
      inputs.clear();
      for (const std::string& input : node.input()) {
        Status parsed = names_.parse(input, inputs);
        if (!parsed.ok()) return std::move(parsed).with_where(node_place(node));
      }
      nodes_.add({&node, producer_}, inputs);
    }
    return ok_status();
  }

  // True if a node of this op may have side effects.
  bool may_have_effects(const NodeDef& node) const {
    const OpDef* op = function_->body.ops().find(node.op());
    if (op != nullptr) return (op->stateful || op->has_ref_input()) && !op->forwards;
    if (const FunctionDef* callee = functions_.library().find(node.op())) return callee->signature().is_stateful();
    // A function with control returns lists all its effects. Without them a stateful function may mean this node.
    return def_.control_ret().empty() && def_.signature().is_stateful() && node.op() != "SymbolicGradient";
  }

  Status convert() {
    std::vector<GraphImporter::Input> wanted;
    std::vector<DType> dtypes;  // as said of them
    for (const auto& arg : signature_.outputs) {
      const auto ret = def_.ret().find(arg.name);
      if (ret == def_.ret().end()) {
        return invalid_argument("nothing is returned as \"", arg.name, "\"").with_id("ARG-IMPORT-012");
      }
      ARGOSY_RETURN_IF_ERROR(names_.parse(ret->second, wanted));
      dtypes.insert(dtypes.end(), arg.dtypes.begin(), arg.dtypes.end());
      dtypes.resize(wanted.size(), DType::kInvalid);  // add_returns() tells of what does not fit
    }
    for (const auto& [name, node] : def_.control_ret()) {
      std::vector<GraphImporter::Input> one;
      ARGOSY_RETURN_IF_ERROR(names_.parse(str_cat("^", node), one));
      if (!one.empty() && one[0].node >= first_node_) control_returns_.push_back(one[0].node);
    }
    std::sort(control_returns_.begin(), control_returns_.end());
    std::vector<std::int32_t> for_effects = control_returns_;
    for (int i = 0; i < def_.node_def_size(); ++i) {
      if (may_have_effects(def_.node_def(i))) for_effects.push_back(first_node_ + i);
    }
    std::vector<std::int32_t> roots = for_effects;
    for (const auto& input : wanted) roots.push_back(input.node);
    nodes_.convert(roots);
    for (std::size_t i = 0; i < wanted.size(); ++i) ARGOSY_RETURN_IF_ERROR(nodes_.provide(wanted[i], dtypes[i]));
    for (const std::int32_t node : for_effects) {
      ARGOSY_RETURN_IF_ERROR(nodes_.provide({node, GraphImporter::Input::kControl}, DType::kBool));
    }
    return ok_status();
  }

  Status add_returns() {
    for (const auto& arg : signature_.outputs) {
      std::vector<GraphImporter::Input> inputs;
      ARGOSY_RETURN_IF_ERROR(names_.parse(def_.ret().find(arg.name)->second, inputs));
      std::vector<Endpoint> values;
      for (const auto& input : inputs) ARGOSY_RETURN_IF_ERROR(nodes_.resolve(input, values));
      if (values.size() != arg.dtypes.size()) {
        return invalid_argument("\"", arg.name, "\" is ", arg.dtypes.size(), " values; ", values.size(),
                                " are returned")
            .with_id("ARG-IMPORT-012");
      }
      for (std::size_t i = 0; i < values.size(); ++i) {
        const DType dtype = function_->body.dtype(values[i]);
        if (dtype != arg.dtypes[i]) {
          return invalid_argument("\"", arg.name, "\" is ", dtype_name(arg.dtypes[i]), "; a ", dtype_name(dtype),
                                  " is returned")
              .with_id("ARG-IMPORT-012");
        }
        function_->returns.push_back(values[i]);
      }
    }
    return ok_status();
  }

  void add_effects() {
    std::vector<NodeId>& controls = function_->control_returns;
    for (const std::int32_t node : control_returns_) controls.push_back(nodes_.ordered(node));
    for (std::int32_t i = 0; i < function_->body.size(); ++i) {
      if (has_effect(function_->body.node({i}))) controls.push_back({i});
    }
    std::sort(controls.begin(), controls.end());
    controls.erase(std::unique(controls.begin(), controls.end()), controls.end());
  }

  const FunctionDef& def_;
  const FunctionSignature& signature_;
  const int producer_;
  std::shared_ptr<Function> function_;
  GraphImporter nodes_;
  const FunctionTable& functions_;
  BodyNames names_;
  std::int32_t first_node_ = 0;
  std::vector<std::int32_t> control_returns_;
};

}  // namespace

Result<std::shared_ptr<Function>> import_function(const OpRegistry& ops, const FunctionDef& def,
                                                  const FunctionSignature& signature, int producer,
                                                  const BuildContext& context) {
  return BodyReader(ops, def, signature, producer, context).run();
}

Result<std::shared_ptr<Function>> import_gradient(Graph& graph, const Function& function, const std::string& name) {
  FunctionBody body(graph, name);
  std::vector<Value> xs, dys;
  for (const NodeId arg : function.args) {
    const Endpoint e{arg, 0};
    xs.push_back(body.parameter(function.body.dtype(e), function.body.shape(e), function.body.handle(e)));
  }
  std::vector<DType> dtypes;
  for (const Endpoint e : function.returns) {
    dtypes.push_back(function.body.dtype(e));
    dys.push_back(body.parameter(dtypes.back(), function.body.shape(e)));
  }
  Graph& inside = body.graph();
  for (const auto& [callee, known] : graph.functions()) inside.add_function(known);
  std::vector<PartialShape> shapes;
  for (const Endpoint e : function.returns) shapes.push_back(function.body.shape(e));
  const Value call = inside.add("PartitionedCall", xs,
                                {{"f", FunctionRef{function.name}}, {"Tout", dtypes}, {"_output_shapes", shapes}});
  std::vector<Value> ys, grad_ys, sources;
  for (std::size_t i = 0; i < dtypes.size(); ++i) {
    if (!is_floating(dtypes[i]) && !is_complex(dtypes[i])) continue;
    ys.push_back(call.output(static_cast<int>(i)));
    grad_ys.push_back(dys[i]);
  }
  for (const Value& x : xs) {
    if (is_floating(x.dtype()) || is_complex(x.dtype())) sources.push_back(x);
  }
  const auto found = ys.empty() ? std::vector<Value>(sources.size())
                                : gradients(inside, ys, sources, {.grad_ys = grad_ys, .allow_unconnected = true});
  std::vector<Value> dxs;
  std::size_t next = 0;
  for (const Value& x : xs) {
    const bool is_source = is_floating(x.dtype()) || is_complex(x.dtype());
    const Value dx = is_source && next < found.size() ? found[next] : Value();
    if (is_source) ++next;
    dxs.push_back(dx.valid() || !inside.status().ok() ? dx : inside.add("ZerosLike", {x}));
  }
  auto made = body.finish(dxs);
  ARGOSY_RETURN_IF_ERROR(graph.status());
  return made;
}

}  // namespace argosy::tf
