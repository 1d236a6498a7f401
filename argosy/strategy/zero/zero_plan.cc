#include "argosy/strategy/zero/zero_plan.h"

#include <algorithm>
#include <set>
#include <utility>

#include "argosy/sharding/lower/regions.h"
#include "argosy/strategy/analysis/reachability.h"
#include "argosy/strategy/analysis/variable_nodes.h"

namespace argosy {

namespace {

const PartialShape& shape_of(const Node& variable) { return variable.attrs.get<PartialShape>("shape"); }

class Planner {
 public:
  Planner(const Graph& graph, const ReplicationFacts& step, const std::vector<NodeId>& targets)
      : graph_(graph), step_(step), targets_(targets), uses_(graph.consumers()) {}

  Result<ZeroPlan> run() {
    ARGOSY_ASSIGN_OR_RETURN(const std::vector<NodeId> order, graph_.topological_order());
    regions_ = find_regions(graph_, order);
    ZeroPlan found;
    std::set<NodeId> taken;  // variables and slots that an update has
    for (std::int32_t i = 0; i < graph_.size(); ++i) {
      const Node& n = graph_.node(NodeId{i});
      if (!n.op->update || n.op->update->variables < 2 || step_.kinds[i] != ReplicaKind::kReplicated) continue;
      ShardedUpdate update{.node = NodeId{i}, .variable = {}, .slots = {}, .gradient = {}};
      bool small = false;
      std::string why = why_not(update, small);
      if (small) continue;
      for (const NodeId slot : update.slots) {
        if (why.empty() && !taken.insert(slot).second) why = "another update has its slots, too";
      }
      if (why.empty()) {
        found.updates.push_back(std::move(update));
      } else {
        found.kept.push_back(str_cat("'", n.name, "' (", n.op->name, "): ", why));
      }
    }
    keep_whole_where_unordered(found);
    for (ShardedUpdate& update : found.updates) update.collective = sum_of_its_own(update, found.updates);
    return found;
  }

 private:
  // Fills in the update. Returns "" if it may run on shards, else the reason. `small`: the variable is too small.
  std::string why_not(ShardedUpdate& update, bool& small) const {
    const Node& n = graph_.node(update.node);
    const ElementwiseUpdate& rule = *n.op->update;
    for (int v = 0; v < rule.variables; ++v) {
      const Endpoint e = n.inputs[v];
      const Node& variable = graph_.node(e.node);
      if (!is_variable(variable)) return str_cat("'", variable.name, "' stands between it and a variable");
      if (v == 0) {
        update.variable = e.node;
      } else {
        update.slots.push_back(e.node);
      }
    }
    const Node& variable = graph_.node(update.variable);
    update.dtype = variable.attrs.get<DType>("dtype");
    update.gradient = n.inputs[rule.gradient];
    const PartialShape& shape = shape_of(variable);
    if (!shape.is_full()) return str_cat("the shape of '", variable.name, "' is not known");
    update.elements = shape.elements();
    small = update.elements * static_cast<std::int64_t>(element_bytes(update.dtype)) < kLeastShardedBytes;
    if (small) return "";
    if (regions_.conditional[update.node.index] != 0) return "it runs in a branch of a conditional";
    if (regions_.frame[update.node.index] != 0) return "it runs in a loop";
    if (std::find(targets_.begin(), targets_.end(), update.node) != targets_.end()) return "a step runs it by its name";
    for (const Graph::Use& use : uses_[update.node.index]) {
      if (use.input >= 0) return str_cat("'", graph_.node(use.node).name, "' reads its result");
    }
    for (const NodeId slot : update.slots) {
      const Node& s = graph_.node(slot);
      if (s.attrs.get<DType>("dtype") != update.dtype || shape_of(s) != shape) {
        return str_cat("its slot '", s.name, "' is ", dtype_name(s.attrs.get<DType>("dtype")), shape_of(s), ", not ",
                       dtype_name(update.dtype), shape);
      }
      if (std::string why = why_not_slot(slot, update.node); !why.empty()) return why;
    }
    return "";
  }

  std::string why_not_slot(NodeId slot, NodeId update) const {
    int own = 0;
    for (const Graph::Use& use : uses_[slot.index]) {
      const Node& user = graph_.node(use.node);
      if (use.node == update) {
        if (++own > 1) return str_cat("it has the slot '", graph_.node(slot).name, "' twice");
        continue;
      }
      if (use.input < 0) continue;
      const bool outside = step_.kinds[use.node.index] == ReplicaKind::kSingleton;
      if (outside && slot_use(graph_, slot, use) != SlotUse::kUnknown && !result_is_read(use)) continue;
      return str_cat("'", user.name, "' (", user.op->name, ") uses its slot '", graph_.node(slot).name, "'");
    }
    return "";
  }

  // True if the user is a write and a node reads its output, a reference.
  bool result_is_read(const Graph::Use& use) const {
    if (!writes_variable(graph_, graph_.node(use.node))) return false;
    const auto readers = uses_[use.node.index];
    return std::any_of(readers.begin(), readers.end(), [](const Graph::Use& u) { return u.input >= 0; });
  }

  // Returns flags by node: not 0 if it depends on `id`, also by control edges.
  std::vector<char> after(NodeId id) const {
    std::vector<char> reached(static_cast<std::size_t>(graph_.size()), 0);
    std::vector<NodeId> stack = {id};
    while (!stack.empty()) {
      const NodeId at = stack.back();
      stack.pop_back();
      for (const Graph::Use& use : uses_[at.index]) {
        if (std::exchange(reached[use.node.index], 1) == 0) stack.push_back(use.node);
      }
    }
    return reached;
  }

  // A whole update is atomic; a sharded one ends with an all-gather. So every user of the variable must be ordered
  // before or after it. Removes updates for which this does not hold.
  void keep_whole_where_unordered(ZeroPlan& found) const {
    std::vector<std::vector<char>> later;
    std::vector<char> after_any(static_cast<std::size_t>(graph_.size()), 0);
    for (const ShardedUpdate& update : found.updates) {
      later.push_back(after(update.node));
      for (std::size_t i = 0; i < after_any.size(); ++i) after_any[i] = after_any[i] | later.back()[i];
    }
    const std::vector<char> of_step = ancestors(graph_, targets_, true);
    std::vector<ShardedUpdate> ordered;
    for (std::size_t k = 0; k < found.updates.size(); ++k) {
      ShardedUpdate update = std::move(found.updates[k]);
      std::string why;
      for (const Graph::Use& use : uses_[update.variable.index]) {
        const Node& user = graph_.node(use.node);
        const auto at = static_cast<std::size_t>(use.node.index);
        if (use.input < 0 || use.node == update.node || later[k][at] != 0) continue;
        if (step_.kinds[at] == ReplicaKind::kSingleton) continue;
        if (writes_variable(graph_, user) || user.op->update) {
          if (after(use.node)[static_cast<std::size_t>(update.node.index)] != 0) continue;
          why = str_cat("'", user.name, "' writes '", graph_.node(update.variable).name, "' in no order to it");
        } else if (after_any[at] != 0) {
          why = str_cat("'", user.name, "' reads '", graph_.node(update.variable).name, "' after other updates");
        } else if (user.inputs.size() == 1 || of_step[at] != 0) {
          update.reads.push_back(use.node);
        } else {
          why = str_cat("'", user.name, "' reads '", graph_.node(update.variable).name, "' in no order to it");
        }
      }
      if (why.empty()) {
        ordered.push_back(std::move(update));
      } else {
        const Node& n = graph_.node(update.node);
        found.kept.push_back(str_cat("'", n.name, "' (", n.op->name, "): ", why));
      }
    }
    found.updates = std::move(ordered);
  }

  int sum_of_its_own(const ShardedUpdate& update, const std::vector<ShardedUpdate>& all) const {
    for (std::size_t k = 0; k < step_.points.size(); ++k) {
      const Endpoint point = step_.points[k];
      if (point != update.gradient) continue;
      for (const Graph::Use& use : uses_[point.node.index]) {
        if (use.input < 0 || graph_.node(use.node).inputs[use.input] != point) continue;
        const auto same = [&](const ShardedUpdate& u) { return u.node == use.node && u.elements == update.elements; };
        if (std::none_of(all.begin(), all.end(), same)) return -1;
      }
      return static_cast<int>(k);
    }
    return -1;
  }

  const Graph& graph_;
  const ReplicationFacts& step_;
  const std::vector<NodeId>& targets_;
  const Graph::Uses uses_;
  LoopRegions regions_;
};

}  // namespace

SlotUse slot_use(const Graph& graph, NodeId variable, const Graph::Use& use) {
  const Node& user = graph.node(use.node);
  const PartialShape& shape = shape_of(graph.node(variable));
  if (use.input == 0 && writes_variable(graph, user)) {
    const bool whole =
        user.inputs.size() == 2 && graph.shape(user.inputs[1]).is_full() && graph.shape(user.inputs[1]) == shape;
    return whole ? SlotUse::kWrite : SlotUse::kUnknown;
  }
  const bool one_answer = user.inputs.size() == 1 && user.output_dtypes.size() == 1;
  if (one_answer && user.output_dtypes[0] == DType::kBool) return SlotUse::kAsk;
  const bool by_reference = graph.node(variable).output_is_ref(0);
  if (by_reference) return user.op->has_ref_input() ? SlotUse::kUnknown : SlotUse::kRead;
  const bool gives_value = one_answer && user.output_dtypes[0] == graph.node(variable).attrs.get<DType>("dtype") &&
                           graph.shape({use.node, 0}) == shape;
  return gives_value ? SlotUse::kRead : SlotUse::kUnknown;
}

Result<ZeroPlan> plan_sharded_updates(const Graph& graph, const ReplicationFacts& step,
                                      const std::vector<NodeId>& targets) {
  return Planner(graph, step, targets).run();
}

}  // namespace argosy
