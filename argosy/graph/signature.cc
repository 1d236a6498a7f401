#include "argosy/graph/signature.h"

namespace argosy {

namespace {

// Calls each(argument, dtype) for every tensor of the arguments, lists expanded. False: an attribute is missing or out
// of range.
template <typename Each>
bool for_each_tensor(const std::vector<ArgDef>& args, const AttrMap& attrs, const Each& each) {
  for (const ArgDef& arg : args) {
    if (!arg.type_list_attr.empty()) {
      const auto* const list = attrs.find_as<std::vector<DType>>(arg.type_list_attr);
      if (list == nullptr) return false;
      for (const DType d : *list) each(arg, d);
      continue;
    }
    DType dtype = arg.dtype;
    if (dtype == DType::kInvalid) {
      const auto* const given = attrs.find_as<DType>(arg.type_attr);
      if (given == nullptr) return false;
      dtype = *given;
    }
    std::int64_t count = 1;
    if (!arg.number_attr.empty()) {
      const auto* const number = attrs.find_as<std::int64_t>(arg.number_attr);
      if (number == nullptr || *number < 0) return false;
      count = *number;
    }
    for (std::int64_t i = 0; i < count; ++i) each(arg, dtype);
  }
  return true;
}

Status wrong(const Node& node, const std::string& what) {
  return internal_error(node.op->name, ": ", what)
      .with_id("ARG-BUG-004")
      .with_where(str_cat("node '", node.name, "' (", node.op->name, ")"))
      .with_hint("please report this line, with the graph if it can be shared: it is a bug of ours");
}

Status wrong_dtype(const Node& node, const char* side, std::size_t at, const ArgDef& arg, DType says, DType is) {
  return wrong(node,
               str_cat(side, " ", at, " (", arg.name, ") is ", dtype_name(is), ", its op says ", dtype_name(says)));
}

}  // namespace

Status check_signature(const Graph& graph, const Node& node) {
  const OpDef& op = *node.op;
  std::size_t in = 0, out = 0;
  Status status;
  const bool takes = for_each_tensor(op.input_args, node.attrs, [&](const ArgDef& arg, DType says) {
    const std::size_t k = in++;
    if (k >= node.inputs.size() || !status.ok()) return;
    const Endpoint from = node.inputs[k];
    const Node& giver = graph.node(from.node);
    if (from.index < 0 || static_cast<std::size_t>(from.index) >= giver.output_dtypes.size()) {
      status = wrong(node, str_cat("input ", k, " (", arg.name, ") is output ", from.index, " of '", giver.name,
                                   "', which has ", giver.output_dtypes.size()));
    } else if (const DType is = giver.output_dtypes[static_cast<std::size_t>(from.index)]; is != says) {
      status = wrong_dtype(node, "input", k, arg, says, is);
    }
  });
  ARGOSY_RETURN_IF_ERROR(std::move(status));
  if (!takes || in != node.inputs.size()) {
    return wrong(node, str_cat("takes ", in, takes ? "" : " or more", " inputs, has ", node.inputs.size()));
  }
  const bool gives = for_each_tensor(op.output_args, node.attrs, [&](const ArgDef& arg, DType says) {
    const std::size_t k = out++;
    if (k >= node.output_dtypes.size() || !status.ok()) return;
    if (node.output_dtypes[k] != says) status = wrong_dtype(node, "output", k, arg, says, node.output_dtypes[k]);
  });
  ARGOSY_RETURN_IF_ERROR(std::move(status));
  if (!gives || out != node.output_dtypes.size()) {
    return wrong(node, str_cat("gives ", out, gives ? "" : " or more", " outputs, has ", node.output_dtypes.size()));
  }
  return ok_status();
}

Status check_signatures(const Graph& graph) {
  for (const Node& node : graph.nodes()) ARGOSY_RETURN_IF_ERROR(check_signature(graph, node));
  return ok_status();
}

}  // namespace argosy
