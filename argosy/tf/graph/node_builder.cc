#include "argosy/tf/graph/node_builder.h"

#include "argosy/formats/proto/graph.pb.h"
#include "argosy/formats/proto/tensor_proto.h"
#include "argosy/tf/graph/attr_proto.h"

namespace argosy::tf {

namespace {

using tensorflow::NodeDef;

// Before this producer version a Placeholder's empty shape meant an unknown shape.
constexpr int kScalarPlaceholders = 24;

// Limit on the outputs of one node: a few bytes must not ask for gigabytes.
constexpr std::int64_t kMostOutputs = 1 << 16;

// Not an op of ours: a call of the function that computes the gradient. It has the attributes of a call.
constexpr std::string_view kGradient = "SymbolicGradient";

std::string_view partitioned_call(bool stateful) { return stateful ? "StatefulPartitionedCall" : "PartitionedCall"; }

// Returns the value bound to a placeholder attribute; any other attribute unchanged.
const tensorflow::AttrValue& bound(const tensorflow::AttrValue& value, const AttrBindings* bindings) {
  if (bindings == nullptr || value.value_case() != tensorflow::AttrValue::kPlaceholder) return value;
  const auto found = bindings->find(value.placeholder());
  return found == bindings->end() ? value : found->second;
}

tensorflow::NameAttrList with_bindings(const tensorflow::NameAttrList& function, const AttrBindings* bindings) {
  tensorflow::NameAttrList full = function;
  for (auto& [name, value] : *full.mutable_attr()) value = tensorflow::AttrValue(bound(value, bindings));
  return full;
}

Status in_attr(Status error, std::string_view name) {
  return Status(error.code(), str_cat("attribute ", name, " ", error.message())).with_id(std::string(error.id()));
}

// Returns the name of our op for the op that a NodeDef names.
std::string_view our_op(const NodeDef& def) {
  if (def.op() == kGradient) return partitioned_call(false);
  if (def.op() == "_Retval") return "Identity";  // of a graph that was the body of a function; `index` is its own
  return def.op();
}

// Returns the node's attributes that the op defines, converted to the op's kinds, and those that begin with '_',
// unchanged. Others are dropped.
Result<AttrMap> attrs_of(const OpDef& op, const NodeDef& def, const BuildContext& context) {
  const bool gradient = def.op() == kGradient;
  const bool called = op.calls == Calls::kCall || op.calls == Calls::kCallOn;
  const bool chosen = context.chosen || (op.calls != Calls::kNothing && !called);
  const FunctionNamer namer = [&](const tensorflow::NameAttrList& function) -> Result<std::string> {
    const auto full = with_bindings(function, context.bindings);
    return gradient ? context.functions.use_gradient(full) : context.functions.use(full, chosen);
  };
  AttrMap attrs;
  for (const auto& [name, given] : def.attr()) {
    const AttrDef* wanted = op.attr(name);
    if (wanted == nullptr && !name.starts_with('_')) continue;
    if (wanted == nullptr && name == "_output_shapes" && op.calls == Calls::kNothing) continue;
    const tensorflow::AttrValue& value = bound(given, context.bindings);
    if (wanted == nullptr && value.value_case() == tensorflow::AttrValue::kFunc) continue;
    auto converted = from_proto(value, wanted, wanted != nullptr ? namer : FunctionNamer());
    if (!converted.ok()) {
      if (wanted == nullptr) continue;
      return in_attr(converted.status(), name);
    }
    if (!std::holds_alternative<std::monostate>(*converted)) attrs.set(name, *std::move(converted));
  }
  return attrs;
}

// Returns the op and attributes of the call that replaces a node whose op is a function.
Result<std::pair<std::string_view, AttrMap>> call_attrs(const NodeDef& def, const tensorflow::FunctionDef& function,
                                                        const BuildContext& context) {
  tensorflow::NameAttrList named;
  named.set_name(def.op());
  AttrBindings bindings;
  for (const auto& attr : function.signature().attr()) {
    const auto given = def.attr().find(attr.name());
    if (given == def.attr().end()) continue;
    (*named.mutable_attr())[attr.name()] = bound(given->second, context.bindings);
    bindings[attr.name()] = bound(given->second, context.bindings);
  }
  ARGOSY_ASSIGN_OR_RETURN(const FunctionSignature signature, function_signature(function, bindings));
  ARGOSY_ASSIGN_OR_RETURN(std::string name, context.functions.use(named, context.chosen));
  const auto dtypes = [](const std::vector<FunctionSignature::Arg>& args) {
    std::vector<DType> all;
    for (const auto& arg : args) all.insert(all.end(), arg.dtypes.begin(), arg.dtypes.end());
    return all;
  };
  AttrMap attrs = {
      {"f", FunctionRef{std::move(name)}}, {"Tin", dtypes(signature.inputs)}, {"Tout", dtypes(signature.outputs)}};
  for (const auto& [key, value] : def.attr()) {
    if (key != "_class" && key != "_output_shapes") continue;
    ARGOSY_ASSIGN_OR_RETURN(AttrValue converted, from_proto(value, nullptr, {}));
    attrs.set(key, std::move(converted));
  }
  return std::pair{partitioned_call(signature.is_stateful), std::move(attrs)};
}

// Refines the outputs' inferred shapes by the node's attributes for them.
Status refine_outputs(Graph& graph, NodeId id, const NodeDef& def) {
  const auto said = def.attr().find("_output_shapes");
  if (said == def.attr().end()) return ok_status();
  const auto& shapes = said->second.list().shape();
  const int outputs = static_cast<int>(graph.node(id).output_dtypes.size());
  for (int i = 0; i < std::min(outputs, shapes.size()); ++i) {
    // Of handles TensorFlow says at times what it says of references to strings.
    const DType dtype = graph.dtype({id, i});
    if (dtype == DType::kResource || dtype == DType::kVariant) continue;
    ARGOSY_ASSIGN_OR_RETURN(const PartialShape shape, from_proto(shapes[i]));
    const auto both = graph.shape({id, i}).merge(shape);
    if (!both.ok()) {
      return invalid_argument("output ", i, " has shape ", graph.shape({id, i}), "; its attribute _output_shapes says ",
                              shape)
          .with_id("ARG-IMPORT-005");
    }
    graph.refine_shape({id, i}, *both);
  }
  return ok_status();
}

Status check_arity(const OpDef& op, std::span<const DType> given, std::size_t missing, const AttrMap& attrs) {
  // complete_attrs() has checked the rest; only a Merge may lack inputs.
  if (missing == 0) return ok_status();
  const auto count = static_cast<std::size_t>(attrs.get_or<std::int64_t>("N", 0));
  if (given.size() == count) return ok_status();
  return invalid_argument(op.name, ": N is ", count, " for ", given.size(), " inputs").with_id("ARG-ATTR-002");
}

int offset_of(const std::vector<ArgDef>& args, const AttrMap& attrs, std::string_view out, int& count) {
  int first = 0;
  for (const ArgDef& arg : args) {
    count = 1;
    if (!arg.type_list_attr.empty()) {
      count = static_cast<int>(attrs.get<std::vector<DType>>(arg.type_list_attr).size());
    } else if (!arg.number_attr.empty()) {
      count = static_cast<int>(attrs.get_int(arg.number_attr));
    }
    if (arg.name == out) return first;
    first += count;
  }
  return -1;
}

}  // namespace

Status check_op(const OpRegistry& ops, const NodeDef& def, const BuildContext& context) {
  const std::string_view op = our_op(def);
  if (ops.find(op) != nullptr || context.functions.library().find(op) != nullptr) return ok_status();
  return not_found("Op type not registered '", op, "'")
      .with_id("ARG-IMPORT-001")
      .with_hint("argosy graph import FILE --report lists every op that is missing");
}

Result<NodeId> add_node_def(Graph& graph, const NodeSource& source, std::vector<Endpoint> inputs,
                            std::vector<NodeId> controls, int missing, const BuildContext& context) {
  const NodeDef& def = *source.def;
  ARGOSY_RETURN_IF_ERROR(check_op(graph.ops(), def, context));
  std::string_view op_name = our_op(def);
  AttrMap attrs;
  const OpDef* op = graph.ops().find(op_name);
  if (op == nullptr) {
    const tensorflow::FunctionDef* function = context.functions.library().find(op_name);
    ARGOSY_ASSIGN_OR_RETURN(auto call, call_attrs(def, *function, context));
    op_name = call.first;
    attrs = std::move(call.second);
    ARGOSY_ASSIGN_OR_RETURN(op, graph.ops().lookup(op_name));
  } else {
    ARGOSY_ASSIGN_OR_RETURN(attrs, attrs_of(*op, def, context));
  }
  if (op_name == "Placeholder" && source.producer < kScalarPlaceholders) {
    const auto* shape = attrs.find_as<PartialShape>("shape");
    if (shape != nullptr && shape->rank() == 0) attrs.set("shape", PartialShape::unknown());
  }

  std::vector<DType> dtypes;
  dtypes.reserve(inputs.size() + static_cast<std::size_t>(missing));
  for (const Endpoint e : inputs) dtypes.push_back(graph.dtype(e));
  for (int i = 0; i < missing; ++i) dtypes.push_back(attrs.get_or("T", DType::kInvalid));
  ARGOSY_RETURN_IF_ERROR(complete_attrs(*op, dtypes, attrs));
  for (const ArgDef& arg : op->output_args) {
    if (arg.number_attr.empty() || attrs.get_or<std::int64_t>(arg.number_attr, 0) <= kMostOutputs) continue;
    return invalid_argument("attribute ", arg.number_attr, " asks for ", attrs.get_int(arg.number_attr), " outputs; ",
                            kMostOutputs, " are allowed")
        .with_id("ARG-IMPORT-003");
  }
  ARGOSY_RETURN_IF_ERROR(check_arity(*op, dtypes, static_cast<std::size_t>(missing), attrs));
  NodeSpec spec{.name = def.name(),
                .op = std::string(op_name),
                .inputs = std::move(inputs),
                .controls = std::move(controls),
                .attrs = std::move(attrs),
                .device = def.device()};
  if (missing > 0) spec.shapes = {PartialShape::unknown(), PartialShape::scalar()};
  ARGOSY_ASSIGN_OR_RETURN(const NodeId id, graph.add_node(std::move(spec)));
  ARGOSY_RETURN_IF_ERROR(refine_outputs(graph, id, def));
  return id;
}

Result<std::pair<int, int>> outputs_of(const Graph& graph, NodeId id, std::string_view op, std::string_view out,
                                       const FunctionTable& functions) {
  const Node& node = graph.node(id);
  int count = 0;
  int first = -1;
  if (functions.library().find(op) == nullptr) {
    first = offset_of(node.op->output_args, node.attrs, out, count);
  } else {
    // A call of a function by its name: the function names its outputs. The length of a list needs the attributes,
    // which the call has resolved: a list gets the outputs that are left by those of fixed length.
    const auto& args = functions.library().find(op)->signature().output_arg();
    const int total = static_cast<int>(node.output_dtypes.size());
    const auto is_list = [](const auto& arg) { return !arg.number_attr().empty() || !arg.type_list_attr().empty(); };
    int lists = 0;
    for (const auto& arg : args) lists += is_list(arg) ? 1 : 0;
    int at = 0;
    for (const auto& arg : args) {
      count = is_list(arg) ? (total - (args.size() - lists)) / lists : 1;
      if (arg.name() == out) {
        first = at;
        break;
      }
      at += count;
    }
  }
  if (first >= 0) return std::pair{first, count};
  return invalid_argument("node '", node.name, "' (", op, ") has no output \"", out, "\"").with_id("ARG-IMPORT-002");
}

DType input_dtype(const OpRegistry& ops, const NodeDef& def, int position) {
  const OpDef* const op = ops.find(def.op());
  if (op == nullptr) return DType::kInvalid;
  const auto said = [&](const std::string& attr) -> AttrValue {
    const AttrDef* const wanted = op->attr(attr);
    const auto given = def.attr().find(attr);
    if (wanted == nullptr) return {};
    if (given == def.attr().end()) return wanted->value;
    auto value = from_proto(given->second, wanted, {});
    return value.ok() ? *std::move(value) : AttrValue();
  };
  for (const ArgDef& arg : op->input_args) {
    if (!arg.type_list_attr.empty()) {
      const AttrValue list = said(arg.type_list_attr);
      const auto* dtypes = std::get_if<std::vector<DType>>(&list);
      if (dtypes == nullptr) return DType::kInvalid;
      if (position < static_cast<int>(dtypes->size())) return (*dtypes)[static_cast<std::size_t>(position)];
      position -= static_cast<int>(dtypes->size());
      continue;
    }
    std::int64_t count = 1;
    if (!arg.number_attr.empty()) {
      const AttrValue number = said(arg.number_attr);
      const auto* n = std::get_if<std::int64_t>(&number);
      if (n == nullptr) return DType::kInvalid;
      count = *n;
    }
    if (position < count) {
      if (arg.type_attr.empty()) return arg.dtype;
      const AttrValue type = said(arg.type_attr);
      const auto* dtype = std::get_if<DType>(&type);
      return dtype == nullptr ? DType::kInvalid : *dtype;
    }
    position -= static_cast<int>(std::min<std::int64_t>(count, kMostOutputs));
  }
  return DType::kInvalid;
}

std::string node_place(const NodeDef& def) { return str_cat("node '", def.name(), "' (", def.op(), ")"); }

}  // namespace argosy::tf
