#include "argosy/graph/text.h"

#include "argosy/graph/text_values.h"

namespace argosy {

namespace {

using text::name_text;

std::string endpoint_text(const Graph& graph, Endpoint e) {
  const std::string name = name_text(graph.node(e.node).name);
  if (e.index == Value::kControl) return "^" + name;
  return e.index == 0 ? name : str_cat(name, ":", e.index);
}

std::string attrs_text(const Node& node, const TextOptions& options) {
  std::string text;
  for (const auto& [name, value] : node.attributes()) {
    const AttrDef* def = node.op->attr(name);
    const bool is_default = def != nullptr && attr_equal(def->value, value);
    if (is_default && !options.all_attrs) continue;
    text += str_cat(text.empty() ? " [" : ", ", name_text(name), "=", text::value_text(value, options.max_values));
  }
  return text.empty() ? text : text + "]";
}

std::string device_text(const std::string& device) {
  if (device.empty()) return "";
  const bool plain = device.find_first_of(" \t\r\n\"#") == std::string::npos;
  return " @" + (plain ? device : text::quote(device));
}

std::string shapes_text(const Node& node) {
  std::vector<std::string> outputs;
  for (std::size_t i = 0; i < node.output_dtypes.size(); ++i) {
    const PartialShape& shape = node.output_shapes[i];
    outputs.push_back(str_cat(node.output_is_ref(static_cast<int>(i)) ? "&" : "", dtype_name(node.output_dtypes[i]),
                              shape.has_rank() ? shape.to_string() : "[...]"));
  }
  return outputs.empty() ? "" : "    # " + str_join(outputs);
}

void append_nodes(std::string& out, const Graph& graph, const TextOptions& options, std::string_view indent) {
  for (const Node& node : graph.nodes()) {
    std::vector<std::string> inputs;
    for (const Endpoint e : node.inputs) inputs.push_back(endpoint_text(graph, e));
    for (const NodeId c : node.controls) inputs.push_back(endpoint_text(graph, {c, Value::kControl}));
    out += str_cat(indent, name_text(node.name), " = ", node.op->name);
    if (!inputs.empty()) out += str_cat("(", str_join(inputs), ")");
    out += attrs_text(node, options);
    out += device_text(node.device);
    if (options.shapes) out += shapes_text(node);
    out += '\n';
  }
}

}  // namespace

std::string to_text(const Graph& graph, const TextOptions& options) {
  std::string out;
  append_nodes(out, graph, options, "");
  for (const auto& [name, function] : graph.functions()) {
    std::vector<std::string> args, returns;
    for (const NodeId id : function->args) args.push_back(name_text(function->body.node(id).name));
    for (const Endpoint e : function->returns) returns.push_back(endpoint_text(function->body, e));
    for (const NodeId id : function->control_returns) {
      returns.push_back(endpoint_text(function->body, {id, Value::kControl}));
    }
    out += str_cat("\nfunction ", name_text(name), "(", str_join(args), ") -> (", str_join(returns), ") {\n");
    append_nodes(out, function->body, options, "  ");
    out += "}\n";
  }
  return out;
}

}  // namespace argosy
