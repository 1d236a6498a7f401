#include "argosy/passes/extract.h"

#include <algorithm>
#include <string>
#include <unordered_map>

#include "argosy/passes/follow_forward.h"

namespace argosy {

namespace {

// Nodes reachable backwards from the roots without passing through a fed endpoint.
std::vector<char> needed_nodes(const Graph& graph, const StepSignature& signature,
                               const std::unordered_map<Endpoint, std::size_t>& feed_index,
                               const std::unordered_map<NodeId, NodeId>& replaced) {
  std::vector<char> needed(static_cast<std::size_t>(graph.size()), 0);
  std::vector<NodeId> stack;
  const auto need = [&](NodeId id) {
    if (!needed[id.index]) {
      needed[id.index] = 1;
      stack.push_back(id);
    }
  };
  for (const Endpoint e : signature.fetches) {
    if (e.index == Value::kControl || !feed_index.contains(e)) need(e.node);
  }
  for (const NodeId t : signature.targets) need(t);
  // A node all of whose outputs are fed does not run: waiting for it is waiting for nothing.
  const auto all_fed = [&](NodeId id) {
    const int outputs = static_cast<int>(graph.node(id).output_dtypes.size());
    for (int i = 0; i < outputs; ++i) {
      if (!feed_index.contains({id, i})) return false;
    }
    return outputs > 0;
  };
  // A collective ends only when all of its group take part, whoever asked for it.
  std::unordered_map<std::string, std::vector<NodeId>> groups;
  const auto need_group = [&](NodeId id) {
    if (groups.empty()) {
      for (std::int32_t i = 0; i < graph.size(); ++i) {
        const Node& n = graph.node(NodeId{i});
        if (n.op->collective) groups[n.attrs.get_or<std::string>("group", "")].push_back(NodeId{i});
      }
    }
    const auto group = graph.node(id).attrs.get_or<std::string>("group", "");
    if (group.empty()) return;  // on its own
    for (const NodeId member : groups[group]) need(member);
  };
  while (!stack.empty()) {
    const NodeId id = stack.back();
    stack.pop_back();
    if (graph.node(id).op->collective) need_group(id);
    for (const Endpoint e : graph.node(id).inputs) {
      if (feed_index.empty() || !feed_index.contains(e)) need(e.node);
    }
    for (const NodeId c : graph.node(id).controls) {
      if (!replaced.empty() && replaced.contains(c)) {
        need(replaced.at(c));
      } else if (feed_index.empty() || !all_fed(c)) {
        need(c);
      }
    }
  }
  return needed;
}

class Copier {
 public:
  Copier(const Graph& from, StepGraph& to) : from_(from), to_(to), copies_(static_cast<std::size_t>(from.size())) {}

  Status add_feeds(const StepSignature& signature) {
    for (std::size_t i = 0; i < signature.feeds.size(); ++i) {
      const Endpoint e = signature.feeds[i];
      const Node& fed = from_.node(e.node);
      const auto merged = from_.shape(e).merge(signature.feed_shapes[i]);
      if (!merged.ok()) {
        return invalid_argument("Cannot feed a value of shape ", signature.feed_shapes[i], " for '", fed.name, ":",
                                e.index, "', which has shape ", from_.shape(e))
            .with_id("ARG-FEED-002");
      }
      NodeSpec spec{.name = to_.graph.unique_name(e.index == 0 ? str_cat("_feed/", fed.name)
                                                               : str_cat("_feed/", fed.name, "_", e.index)),
                    .op = "_Arg",
                    .attrs = {{"T", from_.dtype(e)}, {"index", i}, {"shape", *merged}}};
      ARGOSY_ASSIGN_OR_RETURN(const NodeId id, to_.graph.add_node(std::move(spec)));
      to_.feeds.push_back(id);
      replaced_[e] = {id, 0};
    }
    return ok_status();
  }

  Status copy(NodeId id) {
    const Node& n = from_.node(id);
    std::vector<Endpoint> inputs, back_edges;
    std::vector<NodeId> controls;
    inputs.reserve(n.inputs.size());
    for (const Endpoint e : n.inputs) {
      const Endpoint input = map(e);
      (input.node.index < 0 ? back_edges : inputs).push_back(input.node.index < 0 ? e : input);
    }
    for (const NodeId c : n.controls) {
      if (copies_[c.index].index >= 0) controls.push_back(copies_[c.index]);
    }
    // The shape of a loop's Merge was settled when the loop was built: its back edge is not there yet.
    auto added = to_.graph.add_copy(n, std::move(inputs), std::move(controls), !back_edges.empty());
    if (!added.ok()) return std::move(added).status().with_where(str_cat("node '", n.name, "' (", n.op->name, ")"));
    copies_[id.index] = *added;
    if (const std::string_view request = forward_request(from_, n); !request.empty()) {
      to_.graph.set_device(*added, std::string(request));
      to_.graph.set_attr(*added, kFollowsForward, true);
    }
    for (const Endpoint e : back_edges) open_.push_back({*added, e});
    return ok_status();
  }

  Status close_loops() {
    for (const auto& [merge, from] : open_) {
      const Endpoint input = map(from);
      if (input.node.index < 0) return internal_error("a loop's back edge was not copied");
      to_.graph.add_input(merge, input);
    }
    return ok_status();
  }

  Endpoint map(Endpoint e) const {
    if (!replaced_.empty()) {
      if (const auto found = replaced_.find(e); found != replaced_.end()) return found->second;
    }
    return {copies_[e.node.index], e.index};
  }
  NodeId map(NodeId id) const { return copies_[id.index]; }

 private:
  const Graph& from_;
  StepGraph& to_;
  std::vector<NodeId> copies_;
  std::unordered_map<Endpoint, Endpoint> replaced_;
  std::vector<std::pair<NodeId, Endpoint>> open_;
};

}  // namespace

Result<StepGraph> extract_step(const Graph& graph, const StepSignature& signature) {
  StepGraph step{Graph(graph.ops()), {}, {}, {}};
  std::unordered_map<Endpoint, std::size_t> feed_index;
  for (std::size_t i = 0; i < signature.feeds.size(); ++i) feed_index.emplace(signature.feeds[i], i);
  const std::vector<char> needed = needed_nodes(graph, signature, feed_index, {});
  ARGOSY_ASSIGN_OR_RETURN(const auto order, graph.topological_order());
  for (const auto& [name, function] : graph.functions()) step.graph.add_function(function);
  Copier copier(graph, step);
  ARGOSY_RETURN_IF_ERROR(copier.add_feeds(signature));
  for (const NodeId id : order) {
    if (needed[id.index]) ARGOSY_RETURN_IF_ERROR(copier.copy(id));
  }
  ARGOSY_RETURN_IF_ERROR(copier.close_loops());
  for (const Endpoint e : signature.fetches) {
    step.fetches.push_back(e.index == Value::kControl ? Endpoint{copier.map(e.node), e.index} : copier.map(e));
  }
  for (const NodeId t : signature.targets) step.targets.push_back(copier.map(t));
  return step;
}

Status drop_dead_nodes(StepGraph& step) {
  StepSignature signature{.fetches = step.fetches, .targets = step.targets};
  // The feeds stay even when nothing reads them: they are the step's parameters.
  signature.targets.insert(signature.targets.end(), step.feeds.begin(), step.feeds.end());
  const std::vector<char> needed =
      needed_nodes(step.graph, signature, {}, {step.replaced.begin(), step.replaced.end()});
  step.replaced.clear();
  ARGOSY_ASSIGN_OR_RETURN(auto order, step.graph.topological_order());
  std::erase_if(order, [&](NodeId id) { return !needed[id.index]; });
  ARGOSY_ASSIGN_OR_RETURN(const auto moved, step.graph.keep(order));
  for (NodeId& feed : step.feeds) feed = moved[feed.index];
  for (NodeId& target : step.targets) target = moved[target.index];
  for (Endpoint& fetch : step.fetches) fetch.node = moved[fetch.node.index];
  return ok_status();
}

}  // namespace argosy
