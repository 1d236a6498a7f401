#include "argosy/strategy/analysis/gradient_seeds.h"

#include <algorithm>
#include <span>
#include <string>

#include "argosy/strategy/analysis/reachability.h"

namespace argosy {

namespace {

enum class Seed { kNone, kOurs, kTheirs };

bool named_grad_ys(const Node& n) {
  const std::size_t slash = n.name.rfind('/');
  return std::string_view(n.name).substr(slash == std::string::npos ? 0 : slash + 1).starts_with("grad_ys");
}

// The seed of tf.gradients is a Fill. TensorFlow 2 names the Fill "grad_ys". TensorFlow 1 gives that name to the
// constant with which "gradients/Fill" is filled.
bool is_fill(const Node& n) { return n.op->name == "Fill"; }
bool is_filled_with_grad_ys(const Graph& graph, const Node& n) {
  return is_fill(n) && named_grad_ys(graph.node(n.inputs[1].node));
}

Seed seed_kind(const Graph& graph, const Node& n, std::span<const Graph::Use> uses) {
  if (n.output_dtypes.size() != 1 || !is_floating(n.output_dtypes[0])) return Seed::kNone;
  if (is_filled_with_grad_ys(graph, n)) return Seed::kTheirs;
  if (!named_grad_ys(n)) return Seed::kNone;
  if (n.op->name == "OnesLike") return Seed::kOurs;
  if (is_fill(n)) return Seed::kTheirs;
  const bool fills = std::any_of(uses.begin(), uses.end(), [&](const Graph::Use& use) {
    return use.input >= 0 && is_filled_with_grad_ys(graph, graph.node(use.node));
  });
  return n.op->name == "Const" && !fills ? Seed::kTheirs : Seed::kNone;
}

// Returns the names that the loss may have, by the name of a consumer of the seed. The consumer
// "scope/loss/Mean_grad/…" of "scope/grad_ys_0" gives "loss/Mean". A name may contain "_grad/", so there may be
// several; the shortest is first.
std::vector<std::string> names_in_taker(std::string_view seed, std::string_view taker) {
  const std::size_t slash = seed.rfind('/');
  const std::string_view scope = slash == std::string_view::npos ? "" : seed.substr(0, slash + 1);
  std::vector<std::string> names;
  if (!taker.starts_with(scope)) return names;
  taker.remove_prefix(scope.size());
  constexpr std::string_view kSuffix = "_grad/";
  for (std::size_t at = taker.find(kSuffix); at != std::string_view::npos; at = taker.find(kSuffix, at + 1)) {
    names.emplace_back(taker.substr(0, at));
  }
  return names;
}

// Returns the first floating-point output: the first outputs of a loop are its counters.
std::optional<Endpoint> loss_of(const Graph& graph, NodeId id) {
  const Node& n = graph.node(id);
  for (std::int32_t k = 0; k < std::ssize(n.output_dtypes); ++k) {
    if (is_floating(n.output_dtypes[static_cast<std::size_t>(k)])) return Endpoint{id, k};
  }
  return std::nullopt;
}

}  // namespace

bool belongs_to_gradient(const Node& n) {
  return named_grad_ys(n) || std::string_view(n.name).find("gradient_tape/") != std::string_view::npos;
}

std::vector<Endpoint> find_losses(const Graph& graph, const std::vector<NodeId>& train, const FindNode& find_node) {
  const std::vector<char> used = ancestors(graph, train, true);
  const auto uses = graph.consumers();
  std::vector<Endpoint> losses;
  const auto add = [&](Endpoint e) {
    if (std::find(losses.begin(), losses.end(), e) == losses.end()) losses.push_back(e);
  };
  std::vector<std::vector<std::string>> named;  // by seed and taker; looked up later, for that may change the graph
  for (std::int32_t i = 0; i < graph.size(); ++i) {
    const Node& n = graph.node(NodeId{i});
    const Seed kind = used[i] ? seed_kind(graph, n, uses[i]) : Seed::kNone;
    if (kind == Seed::kOurs) add(n.inputs[0]);
    if (kind != Seed::kTheirs) continue;
    for (const Graph::Use& use : uses[i]) {
      if (use.input < 0 || !used[use.node.index]) continue;
      named.push_back(names_in_taker(n.name, graph.node(use.node).name));
    }
  }
  for (const auto& names : named) {
    for (const std::string& name : names) {
      const auto id = find_node(name);
      const auto loss = id ? loss_of(graph, *id) : std::nullopt;
      if (!loss) continue;
      add(*loss);
      break;
    }
  }
  return losses;
}

}  // namespace argosy
