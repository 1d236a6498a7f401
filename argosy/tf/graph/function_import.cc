#include "argosy/tf/graph/function_import.h"

#include <algorithm>
#include <charconv>
#include <unordered_map>

#include "argosy/formats/proto/graph.pb.h"
#include "argosy/formats/proto/tensor_proto.h"
#include "argosy/graph/function_body.h"
#include "argosy/graph/gradients.h"
#include "argosy/tf/graph/attr_proto.h"
#include "argosy/tf/graph/graph_importer.h"

namespace argosy::tf {

namespace {

using tensorflow::FunctionDef;
using tensorflow::NodeDef;

constexpr std::int64_t kMostInList = 1 << 16;

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
  // What a name of the body is: nodes [first, first + count) of the set; more than one for a parameter that is a list.
  struct Named {
    std::int32_t first = 0, count = 1;
    bool is_list = false;
  };

  Status taken(std::string_view name) const {
    return invalid_argument("two parameters or nodes are called \"", name, "\"").with_id("ARG-GRAPH-003");
  }

  Status add_parameters() {
    for (std::size_t i = 0; i < signature_.inputs.size(); ++i) {
      const FunctionSignature::Arg& arg = signature_.inputs[i];
      const Named named{nodes_.size(), static_cast<std::int32_t>(arg.dtypes.size()), arg.is_list};
      if (!names_.emplace(arg.name, named).second) return taken(arg.name);
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

  // What is known of a parameter: its shape, and what a handle refers to.
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

  // "node:out:2", "node:out", "parameter", "list_parameter:2", "^node".
  Status parse(std::string_view text, std::vector<GraphImporter::Input>& inputs) const {
    const bool control = text.starts_with('^');
    std::string_view rest = control ? text.substr(1) : text;
    const std::string_view name = rest.substr(0, rest.find(':'));
    const auto found = names_.find(name);
    if (found == names_.end()) {
      return invalid_argument("Unknown input node '", text, "'").with_id("ARG-IMPORT-006");
    }
    rest.remove_prefix(std::min(rest.size(), name.size() + 1));
    const Named& named = found->second;
    if (control) {
      if (named.count > 0) inputs.push_back({named.first, GraphImporter::Input::kControl});
      return ok_status();
    }
    if (named.first < first_node_) return parse_parameter(text, rest, named, inputs);
    const std::string_view out = rest.substr(0, rest.find(':'));
    rest.remove_prefix(std::min(rest.size(), out.size() + 1));
    std::int32_t index = GraphImporter::Input::kWholeArg;
    if (!rest.empty()) ARGOSY_RETURN_IF_ERROR(number(text, rest, index));
    if (out.empty()) return invalid_argument("input \"", text, "\" names no output").with_id("ARG-IMPORT-006");
    inputs.push_back({named.first, index, out});
    return ok_status();
  }

  Status parse_parameter(std::string_view text, std::string_view rest, const Named& named,
                         std::vector<GraphImporter::Input>& inputs) const {
    if (rest.empty()) {
      for (std::int32_t k = 0; k < named.count; ++k) inputs.push_back({named.first + k, 0});
      return ok_status();
    }
    std::int32_t index = 0;
    ARGOSY_RETURN_IF_ERROR(number(text, rest, index));
    if (index >= named.count) {
      return invalid_argument("input \"", text, "\": the parameter has ", named.count, " values")
          .with_id("ARG-IMPORT-006");
    }
    inputs.push_back({named.first + index, 0});
    return ok_status();
  }

  static Status number(std::string_view text, std::string_view digits, std::int32_t& value) {
    const auto read = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    const bool all = read.ec == std::errc() && read.ptr == digits.data() + digits.size();
    if (all && value >= 0) return ok_status();
    return invalid_argument("input \"", text, "\" is not \"node:output:number\"").with_id("ARG-IMPORT-006");
  }

  Status add_nodes() {
    first_node_ = nodes_.size();
    for (int i = 0; i < def_.node_def_size(); ++i) {
      const std::string& name = def_.node_def(i).name();
      if (!names_.emplace(name, Named{first_node_ + i}).second) return taken(name);
    }
    std::vector<GraphImporter::Input> inputs;
    for (const NodeDef& node : def_.node_def()) {
      inputs.clear();
      for (const std::string& input : node.input()) {
        Status parsed = parse(input, inputs);
        if (!parsed.ok()) return std::move(parsed).with_where(node_place(node));
      }
      nodes_.add({&node, producer_}, inputs);
    }
    return ok_status();
  }

  // May a node of this op do something beside giving its outputs?
  bool may_have_effects(const NodeDef& node) const {
    const OpDef* op = function_->body.ops().find(node.op());
    if (op != nullptr) return (op->stateful || op->has_ref_input()) && !op->forwards;
    if (const FunctionDef* callee = functions_.find(node.op())) return callee->signature().is_stateful();
    // Functions that say what has effects say all of it; others might mean this node.
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
      ARGOSY_RETURN_IF_ERROR(parse(ret->second, wanted));
      dtypes.insert(dtypes.end(), arg.dtypes.begin(), arg.dtypes.end());
      dtypes.resize(wanted.size(), DType::kInvalid);  // add_returns() tells of what does not fit
    }
    for (const auto& [name, node] : def_.control_ret()) {
      std::vector<GraphImporter::Input> one;
      ARGOSY_RETURN_IF_ERROR(parse(str_cat("^", node), one));
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
      ARGOSY_RETURN_IF_ERROR(parse(def_.ret().find(arg.name)->second, inputs));
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
  std::unordered_map<std::string_view, Named> names_;
  std::int32_t first_node_ = 0;
  std::vector<std::int32_t> control_returns_;
};

Result<std::vector<DType>> dtypes_of(const tensorflow::OpDef::ArgDef& arg, const AttrBindings& bindings) {
  const auto value = [&](const std::string& attr, AttrKind kind) -> Result<AttrValue> {
    const auto found = bindings.find(attr);
    if (found == bindings.end()) {
      return invalid_argument("\"", arg.name(), "\" needs the function's attribute ", attr).with_id("ARG-IMPORT-011");
    }
    AttrDef wanted;
    wanted.kind = kind;
    auto converted = from_proto(found->second, &wanted, {});
    if (converted.ok() && converted->index() == static_cast<std::size_t>(kind) + 1) return converted;
    return invalid_argument("the function's attribute ", attr, " is not a ", kind_name(kind)).with_id("ARG-IMPORT-011");
  };
  if (!arg.type_list_attr().empty()) {
    ARGOSY_ASSIGN_OR_RETURN(AttrValue list, value(arg.type_list_attr(), AttrKind::kTypes));
    return std::get<std::vector<DType>>(std::move(list));
  }
  DType dtype = DType::kInvalid;
  if (!arg.type_attr().empty()) {
    ARGOSY_ASSIGN_OR_RETURN(const AttrValue type, value(arg.type_attr(), AttrKind::kType));
    dtype = std::get<DType>(type);
  } else if (arg.type() > 0 && arg.type() <= static_cast<int>(DType::kUint64)) {
    dtype = static_cast<DType>(arg.type());
  } else {
    return unimplemented("\"", arg.name(), "\" has type number ", static_cast<int>(arg.type()))
        .with_id("ARG-IMPORT-004");
  }
  if (arg.number_attr().empty()) return std::vector<DType>{dtype};
  ARGOSY_ASSIGN_OR_RETURN(const AttrValue number, value(arg.number_attr(), AttrKind::kInt));
  const auto count = std::get<std::int64_t>(number);
  if (count < 0 || count > kMostInList) {
    return invalid_argument("\"", arg.name(), "\" has ", count, " values").with_id("ARG-IMPORT-011");
  }
  return std::vector<DType>(static_cast<std::size_t>(count), dtype);
}

}  // namespace

Result<FunctionSignature> FunctionTable::signature(const FunctionDef& function, const AttrBindings& bindings) const {
  FunctionSignature signature;
  signature.is_stateful = function.signature().is_stateful();
  const auto read = [&](const auto& args, std::vector<FunctionSignature::Arg>& to) -> Status {
    for (const auto& arg : args) {
      ARGOSY_ASSIGN_OR_RETURN(auto dtypes, dtypes_of(arg, bindings));
      const bool list = !arg.number_attr().empty() || !arg.type_list_attr().empty();
      to.push_back({arg.name(), std::move(dtypes), list, arg.is_ref()});
    }
    return ok_status();
  };
  ARGOSY_RETURN_IF_ERROR(read(function.signature().input_arg(), signature.inputs));
  ARGOSY_RETURN_IF_ERROR(read(function.signature().output_arg(), signature.outputs));
  return signature;
}

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
