#include "argosy/sharding/sizes/element_shape.h"

namespace argosy {

bool is_element_shape(const Graph& graph, Graph::Use use) {
  const auto& args = graph.node(use.node).op->input_args;
  const auto at = static_cast<std::size_t>(use.input);
  return at < args.size() && args[at].name == "element_shape";
}

std::optional<int> open_dim(const Graph& graph, NodeId id, const std::vector<Placement>& in,
                            const std::vector<Placement>& out) {
  const Node& n = graph.node(id);
  for (std::size_t i = 0; i < in.size(); ++i) {
    if (graph.dtype(n.inputs[i]) == DType::kVariant && in[i].is_shard()) return in[i].dim;
  }
  for (std::size_t k = 0; k < out.size(); ++k) {
    if (n.output_dtypes[k] == DType::kVariant && out[k].is_shard()) return out[k].dim;
  }
  return std::nullopt;
}

}  // namespace argosy
