#include "argosy/strategy/loss_seed.h"

#include <optional>

#include "argosy/ops/collective/collective.h"
#include "argosy/strategy/ancestors.h"

namespace argosy {

namespace {

enum class Seed { kNone, kOurs, kTheirs };

Seed seed_kind(const Node& n) {
  const std::size_t slash = n.name.rfind('/');
  if (!std::string_view(n.name).substr(slash == std::string::npos ? 0 : slash + 1).starts_with("grad_ys")) {
    return Seed::kNone;
  }
  if (n.output_dtypes.size() != 1 || !is_floating(n.output_dtypes[0])) return Seed::kNone;
  if (n.op->name == "OnesLike") return Seed::kOurs;
  return n.op->name == "Fill" || n.op->name == "Const" ? Seed::kTheirs : Seed::kNone;
}

// "scope/grad_ys_0" is taken by "scope/loss/Mean_grad/…", which is there for "loss/Mean".
std::optional<Endpoint> loss_of_taker(const Graph& graph, std::string_view seed, std::string_view taker) {
  const std::size_t slash = seed.rfind('/');
  const std::string_view scope = slash == std::string_view::npos ? "" : seed.substr(0, slash + 1);
  if (!taker.starts_with(scope)) return std::nullopt;
  taker.remove_prefix(scope.size());
  constexpr std::string_view kSuffix = "_grad/";
  for (std::size_t at = taker.find(kSuffix); at != std::string_view::npos; at = taker.find(kSuffix, at + 1)) {
    const auto found = graph.find(taker.substr(0, at));
    if (!found) continue;
    const Node& n = graph.node(*found);
    if (!n.output_dtypes.empty() && is_floating(n.output_dtypes[0])) return Endpoint{*found, 0};
  }
  return std::nullopt;
}

}  // namespace

std::vector<NodeId> loss_seeds(const Graph& graph, Endpoint loss) {
  std::vector<NodeId> ours, theirs;
  for (std::int32_t i = 0; i < graph.size(); ++i) {
    const Seed kind = seed_kind(graph.node(NodeId{i}));
    if (kind == Seed::kOurs && graph.node(NodeId{i}).inputs[0] == loss) ours.push_back(NodeId{i});
    if (kind == Seed::kTheirs) theirs.push_back(NodeId{i});
  }
  if (ours.empty() && theirs.size() == 1) return theirs;
  return ours;
}

Result<Endpoint> find_loss(const Graph& graph, const std::vector<NodeId>& train) {
  const std::vector<char> used = ancestors(graph, train, true);
  std::optional<Endpoint> loss;
  const auto found = [&](Endpoint e) {
    const bool first = !loss || *loss == e;
    loss = e;
    return first;
  };
  const auto uses = graph.consumers();
  for (std::int32_t i = 0; i < graph.size(); ++i) {
    const Node& n = graph.node(NodeId{i});
    const Seed kind = used[i] ? seed_kind(n) : Seed::kNone;
    bool one = true;
    if (kind == Seed::kOurs) one = found(n.inputs[0]);
    for (const Graph::Use& use : uses[i]) {
      if (kind != Seed::kTheirs || use.input < 0 || !used[use.node.index]) continue;
      const auto of = loss_of_taker(graph, n.name, graph.node(use.node).name);
      if (of) one = found(*of) && one;
    }
    if (!one) return not_found("the step follows the gradients of several losses");
  }
  if (loss) return *loss;
  return not_found("the step follows no gradient of a loss");
}

Status scale_loss_seed(Graph& graph, NodeId seed, NodeId batch_input) {
  const auto uses = graph.consumers();
  const Value value(&graph, seed, 0);
  const Value factor =
      batch_factor(Value(&graph, batch_input, 0), {1}, 0, value.dtype(), str_cat(graph.node(seed).name, "/part"));
  const Value scaled = scale_or_zero(value, factor, str_cat(graph.node(seed).name, "/scaled"));
  if (!scaled.valid()) return graph.status();
  graph.set_device(scaled.node(), graph.node(seed).device);
  for (const Graph::Use& use : uses[seed.index]) {
    if (use.input >= 0) graph.set_input(use.node, use.input, scaled.endpoint());
  }
  return ok_status();
}

}  // namespace argosy
