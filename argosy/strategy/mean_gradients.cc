#include "argosy/strategy/mean_gradients.h"

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

#include "argosy/strategy/variables.h"

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
