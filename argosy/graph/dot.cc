#include <map>

#include "argosy/graph/text.h"

namespace argosy {

namespace {

std::string dot_quote(std::string_view text) {
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') quoted += '\\';
    if (c == '\n') {
      quoted += "\\n";
    } else if (static_cast<unsigned char>(c) >= 0x20) {
      quoted += c;
    }
  }
  return quoted + '"';
}

std::string node_line(const Graph& graph, std::int32_t index) {
  const Node& n = graph.node({index});
  std::string label = str_cat(n.name, "\n", n.op->name);
  if (!n.output_dtypes.empty()) label += str_cat("\n", dtype_name(n.output_dtypes[0]), n.output_shapes[0]);
  const bool state = !n.output_refs.empty() || n.op->stateful;
  return str_cat("n", index, " [label=", dot_quote(label), state ? ", style=bold" : "", "];\n");
}

}  // namespace

std::string to_dot(const Graph& graph) {
  std::map<std::string, std::vector<std::int32_t>> by_device;
  for (std::int32_t i = 0; i < graph.size(); ++i) by_device[graph.node({i}).device].push_back(i);
  std::string out = "digraph argosy {\n  node [shape=box, fontname=monospace];\n";
  int cluster = 0;
  for (const auto& [device, nodes] : by_device) {
    if (!device.empty()) out += str_cat("  subgraph cluster_", cluster++, " {\n    label=", dot_quote(device), ";\n");
    for (const std::int32_t i : nodes) out += str_cat(device.empty() ? "  " : "    ", node_line(graph, i));
    if (!device.empty()) out += "  }\n";
  }
  for (std::int32_t i = 0; i < graph.size(); ++i) {
    const Node& n = graph.node({i});
    for (const Endpoint e : n.inputs) {
      out +=
          str_cat("  n", e.node.index, " -> n", i, e.index > 0 ? str_cat(" [taillabel=\"", e.index, "\"]") : "", ";\n");
    }
    for (const NodeId c : n.controls) out += str_cat("  n", c.index, " -> n", i, " [style=dashed];\n");
  }
  return out + "}\n";
}

}  // namespace argosy
