#include "argosy/strategy/data_parallel/planned_collectives.h"

#include <algorithm>

#include "argosy/strategy/analysis/reachability.h"
#include "argosy/strategy/sharding/recompute.h"

namespace argosy {

namespace {

class Teller {
 public:
  Teller(const Graph& graph, std::int32_t original, const ReplicationPlan& plan)
      : graph_(graph), original_(original), plan_(plan) {
    if (!plan.seeds.empty()) gradient_ = descendants(graph, plan.seeds);
  }

  PlannedCollective bucket(const std::vector<int>& members) const {
    PlannedCollective told{
        .op = "all-reduce", .value = name_of(members[0]), .values = static_cast<int>(members.size())};
    int gradients = 0, statistics = 0;
    for (const int k : members) {
      ++(is_gradient(k) ? gradients : statistics);
      add_bytes(told, k);
    }
    if (statistics == 0) {
      told.why =
          str_cat(gradients == 1 ? "gradient of a variable" : "gradients of variables", " that every device updates");
    } else if (gradients > 0) {
      told.why = "gradients of variables that every device updates, and values of the global batch";
    } else {
      told.why = str_cat("batch statistic", statistics == 1 ? "" : "s", " that every device needs of the global batch");
    }
    return told;
  }

  PlannedCollective scattered(const std::vector<int>& members) const {
    PlannedCollective told = bucket(members);
    told.op = "reduce-scatter";
    told.why = str_cat(members.size() == 1 ? "gradient of a variable" : "gradients of variables",
                       " of which each device updates its shard");
    return told;
  }

  PlannedCollective gathered(const std::vector<NodeId>& variables) const {
    PlannedCollective told{.op = "all-gather",
                           .value = std::string(origin(variables[0]).name),
                           .values = static_cast<int>(variables.size()),
                           .why = "each device has updated its shard, and the next step reads all of it"};
    for (const NodeId id : variables) {
      const HandleFact* behind = graph_.handle({id, 0});
      const PartialShape& shape = behind != nullptr ? behind->shape : graph_.shape({id, 0});
      const DType dtype = behind != nullptr ? behind->dtype : graph_.dtype({id, 0});
      const bool known = shape.is_full() && told.bytes >= 0;
      told.bytes = known ? told.bytes + shape.elements() * static_cast<std::int64_t>(element_bytes(dtype)) : -1;
    }
    return told;
  }

  PlannedCollective joined(int k) const {
    PlannedCollective told{.op = "all-gather",
                           .value = name_of(k),
                           .why = "an update takes the rows of all shards: it is no sum over the batch"};
    add_bytes(told, k);
    return told;
  }

  // The caller's node that an added one was made for.
  const Node& origin(NodeId id) const {
    while (id.index >= original_ && !graph_.node(id).inputs.empty()) id = graph_.node(id).inputs[0].node;
    return graph_.node(id);
  }

 private:
  const CollectivePoint& point(int k) const { return plan_.collectives[static_cast<std::size_t>(k)]; }
  std::string name_of(int k) const { return std::string(origin(point(k).value.node).name); }
  bool is_gradient(int k) const {
    return !gradient_.empty() && gradient_[static_cast<std::size_t>(point(k).value.node.index)] != 0;
  }
  void add_bytes(PlannedCollective& told, int k) const {
    const Endpoint value = point(k).value;
    const std::int64_t elements = plan_.axes.elements(value);
    const bool known = elements >= 0 && told.bytes >= 0;
    told.bytes = known ? told.bytes + elements * static_cast<std::int64_t>(element_bytes(graph_.dtype(value))) : -1;
  }

  const Graph& graph_;
  const std::int32_t original_;
  const ReplicationPlan& plan_;
  std::vector<char> gradient_;  // by node: computed from the seeds of the losses' gradients; empty: seeds not known
};

}  // namespace

std::vector<PlannedCollective> planned_collectives(const Graph& graph, std::int32_t original,
                                                   const ReplicationPlan& plan, const Replicas& replicas,
                                                   const ShardedUpdates* zero) {
  const Teller teller(graph, original, plan);
  std::vector<PlannedCollective> told;
  for (const std::vector<int>& members : replicas.buckets) told.push_back(teller.bucket(members));
  for (const std::vector<int>& members : zero != nullptr ? zero->scatters : std::vector<std::vector<int>>())
    told.push_back(teller.scattered(members));
  for (const std::vector<NodeId>& variables : zero != nullptr ? zero->gathers : std::vector<std::vector<NodeId>>())
    told.push_back(teller.gathered(variables));
  for (std::size_t k = 0; k < plan.collectives.size(); ++k) {
    if (plan.collectives[k].kind == PlacementKind::kShard) told.push_back(teller.joined(static_cast<int>(k)));
  }
  return told;
}

std::vector<PlannedWhole> planned_whole(const Graph& graph, std::int32_t original, const ReplicationPlan& plan) {
  std::vector<PlannedWhole> told;
  for (std::int32_t i = original; i < graph.size(); ++i) {
    const NodeId id{i};
    if (plan.replica_kinds[static_cast<std::size_t>(i)] != ReplicaKind::kReplicated) continue;
    if (!is_recomputed(graph, id, original)) continue;
    const Node& n = graph.node(id);
    // The copy's name is the original's and a suffix.
    std::string name(n.name.substr(0, n.name.rfind('/')));
    told.push_back({.node = std::move(name),
                    .op = n.op->name,
                    .why = "an update takes it of the global batch, while shards go on with their own"});
  }
  return told;
}

Result<NodeId> find_original(const Graph& graph, std::int32_t original, std::string_view name) {
  std::vector<std::string> names;
  for (std::int32_t i = 0; i < original; ++i) {
    const Node& n = graph.node(NodeId{i});
    if (n.name == name) return NodeId{i};
    names.emplace_back(n.name);
  }
  const std::string near = nearest_word(name, names);
  return not_found("the model has no node \"", name, "\"; it has ", original, " nodes")
      .with_id("ARG-SHARD-005")
      .with_hint(near.empty() ? std::string("a name from --log-device-placement") : near);
}

PlannedNode planned_node(const Graph& graph, const ReplicationPlan& plan, const ReplicaLayout& layout, NodeId id,
                         const BatchPlacement& placement) {
  const Node& n = graph.node(id);
  PlannedNode told{.node = std::string(n.name), .op = n.op->name, .copies = {}, .why = {}};
  const std::size_t devices = layout.devices.size();
  const auto each = [&] { return devices == 1 ? std::string("one") : str_cat("one on each of ", devices, " devices"); };
  const auto point = std::find_if(plan.collectives.begin(), plan.collectives.end(),
                                  [&](const CollectivePoint& c) { return c.value.node == id; });
  switch (plan.replica_kinds[static_cast<std::size_t>(id.index)]) {
    case ReplicaKind::kSingleton:
      told.copies = "once";
      told.why = std::find(plan.inputs.begin(), plan.inputs.end(), id) != plan.inputs.end()
                     ? "it is fed with the global batch, which is split along axis 0"
                     : "no step of training computes it from the batch, and no device needs its own";
      return told;
    case ReplicaKind::kReplicated:
      told.copies = devices == 1 ? each() : str_cat(each(), ", all equal");
      told.why = "every device needs it, and the batch does not reach it but through collectives";
      return told;
    case ReplicaKind::kSharded: break;
  }
  told.copies = static_cast<std::size_t>(layout.shards()) == devices
                    ? str_cat(each(), ", of the device's examples")
                    : str_cat(layout.shards(), ", of a shard's examples each");
  switch (placement.kind) {
    case PlacementKind::kShard: told.why = str_cat("its axis ", plan.axes.axis({id, 0}), " counts examples"); break;
    case PlacementKind::kPartialSum: told.why = "it is a sum over a shard's examples: a part of the global sum"; break;
    case PlacementKind::kPartialMean: told.why = "it is a mean over a shard's examples"; break;
    case PlacementKind::kPartialWeighted: told.why = "it is a weighted mean over a shard's examples"; break;
    case PlacementKind::kReplicate: told.why = "it is computed from the batch, and equal on all devices"; break;
    case PlacementKind::kUnknown:
      told.why = str_cat("it is computed from the batch; how it would combine is not known: ", placement.why);
      break;
  }
  if (point != plan.collectives.end()) {
    told.why += point->kind == PlacementKind::kShard ? "; the rows of all shards are joined behind it"
                                                     : "; an all-reduce adds it up over the devices";
  }
  return told;
}

}  // namespace argosy
