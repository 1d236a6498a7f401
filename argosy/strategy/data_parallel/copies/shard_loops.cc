#include "argosy/strategy/data_parallel/copies/shard_loops.h"

#include <map>

#include "argosy/strategy/analysis/dataflow_loops.h"
#include "argosy/strategy/analysis/tensor_arrays.h"
#include "argosy/strategy/analysis/variable_nodes.h"

namespace argosy {

namespace {

Status cannot_share(const Node& n, std::string_view why) {
  return unimplemented("'", n.name, "' (", n.op->name,
                       ") is in a loop, which several shards on one device repeat: ", why)
      .with_id("ARG-DP-003")
      .with_where(str_cat("node '", n.name, "' (", n.op->name, ")"))
      .with_hint("as many shards as devices: without --reproducible and accumulate");
}

class LoopKinds {
 public:
  LoopKinds(const Graph& graph, const ReplicationPlan& plan, const std::vector<NodeId>& order)
      : graph_(graph), plan_(plan), loops_(find_loops(graph, order)), kinds_(plan.replica_kinds) {}

  Result<std::vector<ReplicaKind>> run() {
    find_sharded_loops();
    for (std::int32_t i = 0; i < size(); ++i) {
      if (sharded_[outermost(loops_.of[i])] && kinds_[i] == ReplicaKind::kReplicated) kinds_[i] = ReplicaKind::kSharded;
    }
    copy_containers();
    copy_exits();
    ARGOSY_RETURN_IF_ERROR(check());
    return std::move(kinds_);
  }

 private:
  std::int32_t size() const { return static_cast<std::int32_t>(kinds_.size()); }
  int outermost(int loop) const {
    while (loops_.around[loop] != 0) loop = loops_.around[loop];
    return loop;
  }

  void find_sharded_loops() {
    sharded_.assign(loops_.around.size(), 0);
    for (std::int32_t i = 0; i < size(); ++i) {
      const int loop = outermost(loops_.of[i]);
      if (loop != 0 && kinds_[i] == ReplicaKind::kSharded) sharded_[loop] = 1;
    }
  }

  // A stack or TensorArray that a shard fills or reads is the shard's own, with all that works on it.
  void copy_containers() {
    const TensorArrays arrays(graph_);
    if (arrays.empty()) return;
    std::map<NodeId, std::vector<NodeId>> users;
    for (std::int32_t i = 0; i < size(); ++i) {
      if (const auto array = arrays.array_of(graph_.node(NodeId{i}))) users[*array].push_back(NodeId{i});
    }
    for (const auto& [array, nodes] : users) {
      const auto is_sharded = [&](NodeId id) { return kinds_[id.index] == ReplicaKind::kSharded; };
      if (std::none_of(nodes.begin(), nodes.end(), is_sharded)) continue;
      for (const NodeId id : nodes) {
        if (kinds_[id.index] == ReplicaKind::kReplicated) kinds_[id.index] = ReplicaKind::kSharded;
      }
      if (kinds_[array.index] == ReplicaKind::kReplicated) kinds_[array.index] = ReplicaKind::kSharded;
    }
  }

  // A shard's readers take the value from its own loop, and do not wait for another one.
  void copy_exits() {
    for (std::int32_t i = 0; i < size(); ++i) {
      const Node& n = graph_.node(NodeId{i});
      if (n.op->flow != Flow::kExit || kinds_[i] != ReplicaKind::kReplicated) continue;
      if (kinds_[n.inputs[0].node.index] == ReplicaKind::kSharded) kinds_[i] = ReplicaKind::kSharded;
    }
  }

  Status check() const {
    for (const CollectivePoint& c : plan_.collectives) {
      if (c.loop != 0) return cannot_share(graph_.node(c.value.node), "it is summed over shards there");
    }
    for (std::int32_t i = 0; i < size(); ++i) {
      const Node& n = graph_.node(NodeId{i});
      if (kinds_[i] == plan_.replica_kinds[i] || is_tensor_array_op(n)) continue;
      if (writes_variable(graph_, n)) return cannot_share(n, "every shard would write the variable");
      if (n.op->stateful && !is_variable(n) && !may_be_repeated(n)) return cannot_share(n, "it keeps state");
    }
    return ok_status();
  }

  const Graph& graph_;
  const ReplicationPlan& plan_;
  const Loops loops_;
  std::vector<ReplicaKind> kinds_;
  std::vector<char> sharded_;  // by outermost loop: a shard's values go through it
};

}  // namespace

Result<std::vector<ReplicaKind>> kinds_with_loops(const Graph& graph, const ReplicationPlan& plan,
                                                  const ReplicaLayout& layout) {
  if (!layout.has_turns()) return plan.replica_kinds;
  ARGOSY_ASSIGN_OR_RETURN(const auto order, graph.topological_order());
  return LoopKinds(graph, plan, order).run();
}

}  // namespace argosy
