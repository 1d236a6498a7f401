#include "argosy/strategy/analysis/mean_gradients.h"

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

#include "argosy/ops/collective/collective.h"
#include "argosy/strategy/analysis/variable_nodes.h"

namespace argosy {

namespace {

std::optional<NodeId> mean_behind(const Graph& graph, std::string_view name) {
  constexpr std::string_view kSuffix = "_grad";
  name = name.substr(0, name.rfind('/'));
  if (!name.ends_with(kSuffix)) return std::nullopt;
  name.remove_suffix(kSuffix.size());
  for (std::size_t slash = name.find('/'); slash != std::string_view::npos; slash = name.find('/', slash + 1)) {
    const auto found = graph.find(name.substr(slash + 1));
    if (found && graph.node(*found).op->name == "Mean") return found;
  }
  return std::nullopt;
}

}  // namespace

std::map<NodeId, std::vector<NodeId>> divisions_of_means(const Graph& graph) {
  std::map<NodeId, std::vector<NodeId>> found;
  for (std::int32_t i = 0; i < graph.size(); ++i) {
    const Node& n = graph.node(NodeId{i});
    if (n.op->name != "RealDiv") continue;
    if (const auto mean = mean_behind(graph, n.name)) found[*mean].push_back(NodeId{i});
  }
  return found;
}

Result<Endpoint> scaled_by_part(Graph& graph, Endpoint e, NodeId batch_input) {
  const auto root = graph.name_scope("");
  const Value v = graph.value(e);
  const std::string name(graph.node(e.node).name);
  const Value x(&graph, batch_input, 0);
  const Value made =
      scale_nonempty(v, shard_weight(x, {1}, 0, v.dtype(), str_cat(name, "/part")), str_cat(name, "/of_batch"));
  if (!made.valid()) return graph.status();
  graph.set_device(made.node(), graph.node(e.node).device);
  return made.endpoint();
}

Status scale_divisions(Graph& graph, NodeId mean, NodeId batch_input) {
  const auto divisions = divisions_of_means(graph);
  const auto found = divisions.find(mean);
  if (found == divisions.end()) return ok_status();
  const auto uses = graph.consumers();
  for (const NodeId id : found->second) {
    ARGOSY_ASSIGN_OR_RETURN(const Endpoint part, scaled_by_part(graph, {id, 0}, batch_input));
    for (const Graph::Use& use : uses[id.index]) {
      if (use.input >= 0) graph.set_input(use.node, use.input, part);
    }
  }
  return ok_status();
}

std::vector<char> on_gradient_paths(const Graph& graph, const std::vector<NodeId>& order,
                                    const std::vector<NodeId>& losses) {
  std::vector<char> before(graph.size(), 0), both(graph.size(), 0);
  std::vector<NodeId> open = losses;
  while (!open.empty()) {
    const NodeId id = open.back();
    open.pop_back();
    if (std::exchange(before[id.index], 1)) continue;
    const Node& n = graph.node(id);
    for (const Endpoint e : n.inputs) {
      if (!n.op->blocks_gradient) open.push_back(e.node);
    }
  }
  for (const NodeId id : order) {
    const Node& n = graph.node(id);
    const auto is_behind = [&](Endpoint e) { return both[e.node.index] != 0; };
    const bool passes = !n.op->blocks_gradient && std::any_of(n.inputs.begin(), n.inputs.end(), is_behind);
    both[id.index] = before[id.index] && (is_variable(n) || passes);
  }
  return both;
}

}  // namespace argosy
