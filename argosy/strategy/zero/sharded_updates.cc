#include "argosy/strategy/zero/sharded_updates.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "argosy/ops/collective/collective.h"
#include "argosy/ops/optimizer/update_shard.h"
#include "argosy/ops/shape/shape.h"
#include "argosy/strategy/zero/sharded_slots.h"

namespace argosy {

namespace {

class UpdateSharder {
 public:
  UpdateSharder(const Graph& original, const ReplicationFacts& step, const ReplicaLayout& layout, ZeroPlan zero,
                Graph& graph, Replicas& replicas)
      : original_(original),
        step_(step),
        layout_(layout),
        zero_(std::move(zero)),
        graph_(graph),
        replicas_(replicas),
        weights_(layout.devices.size(), 1) {}

  Result<ShardedUpdates> run() {
    ShardedUpdates done{.is_sharded = std::vector<char>(step_.kinds.size(), 0), .kept = zero_.kept};
    if (zero_.updates.empty()) return done;
    scatter_sums(done);
    SlotSharder slots(graph_, replicas_, weights_);
    for (const ShardedUpdate& update : zero_.updates) {
      ++done.variables;
      for (const NodeId slot : update.slots) {
        ++done.slots;
        done.is_sharded[slot.index] = 1;
        ARGOSY_ASSIGN_OR_RETURN(const std::vector<Endpoint> shards, slots.shard(slot, update.elements));
        const auto position = std::find(update.slots.begin(), update.slots.end(), slot) - update.slots.begin() + 1;
        for (int d = 0; d < devices(); ++d) graph_.set_input(copy(update, d), static_cast<int>(position), shards[d]);
      }
      for (int d = 0; d < devices(); ++d) {
        const NodeId id = copy(update, d);
        graph_.set_input(id, original_.node(update.node).op->update->gradient, gradient(update, d));
        graph_.set_attr(id, kUpdateShardWeights, weights_);
        graph_.set_attr(id, kUpdateShardIndex, std::int64_t{d});
        for (const NodeId read : update.reads) read_before(id, read, d);
      }
    }
    gather_variables(done);
    ARGOSY_RETURN_IF_ERROR(graph_.status());
    ARGOSY_RETURN_IF_ERROR(graph_.topological_order().status());
    return done;
  }

 private:
  int devices() const { return static_cast<int>(layout_.devices.size()); }
  NodeId copy(const ShardedUpdate& update, int d) const { return replicas_.device[d][update.node.index]; }
  void read_before(NodeId update, NodeId read, int d) {
    if (step_.kinds[read.index] == ReplicaKind::kReplicated) {
      return graph_.add_control_input(update, replicas_.device[d][read.index]);
    }
    for (int s = 0; s < layout_.shards(); ++s) {
      if (layout_.device_of[s] == d) graph_.add_control_input(update, replicas_.shard[s][read.index]);
    }
  }
  Value flat(Endpoint e) { return reshape(graph_.value(e), {-1}, str_cat(graph_.node(e.node).name, "/elements")); }

  // --- gradients -----------------------------------------------------------------------------------------------------

  // Returns the device's elements of the summed gradient.
  Endpoint gradient(const ShardedUpdate& update, int d) {
    if (const auto part = parts_.find({update.collective, d}); part != parts_.end()) return part->second;
    const auto on = graph_.device(layout_.devices[d]);
    const Endpoint whole = graph_.node(copy(update, d)).inputs[original_.node(update.node).op->update->gradient];
    return shard_batch(flat(whole), weights_, d, str_cat(graph_.node(whole.node).name, "/zero_", d)).endpoint();
  }

  // Turns the sums of each bucket that only sharded updates read into a reduce-scatter. The others stay one all-reduce.
  void scatter_sums(ShardedUpdates& done) {
    std::set<int> wanted;
    for (const ShardedUpdate& update : zero_.updates) {
      if (update.collective >= 0) wanted.insert(update.collective);
    }
    std::map<NodeId, std::vector<int>> buckets;  // by the first rank's node: in starting order
    for (std::size_t k = 0; k < step_.points.size(); ++k) {
      const NodeId node = replicas_.sums[0][k].node;
      if (graph_.node(node).op->collective) buckets[node].push_back(static_cast<int>(k));
    }
    std::vector<std::size_t> left;
    std::vector<std::vector<int>> left_members;
    std::size_t at = 0;
    for (const auto& [node, members] : buckets) {
      const std::size_t all = at < replicas_.bucket_bytes.size() ? replicas_.bucket_bytes[at++] : 0;
      std::vector<int> scattered, whole;
      std::size_t bytes = 0;
      for (const int k : members) {
        (wanted.contains(k) ? scattered : whole).push_back(k);
        if (wanted.contains(k)) bytes += bytes_of(k);
      }
      if (!scattered.empty()) {
        scatter(scattered);
        done.scatter_bytes.push_back(bytes);
        done.scatters.push_back(scattered);
        done.sums += static_cast<int>(scattered.size());
        if (!whole.empty()) sum_anew(whole);
      }
      if (whole.empty()) continue;
      left.push_back(scattered.empty() ? all : all - std::min(all, bytes));
      left_members.push_back(std::move(whole));
    }
    replicas_.bucket_bytes = std::move(left);
    replicas_.buckets = std::move(left_members);
  }

  // Returns the bytes of the gradient at this point.
  std::size_t bytes_of(int point) const {
    const auto takes = [&](const ShardedUpdate& update) { return update.collective == point; };
    const auto update = std::find_if(zero_.updates.begin(), zero_.updates.end(), takes);
    return static_cast<std::size_t>(update->elements) * element_bytes(original_.dtype(step_.points[point]));
  }

  // Returns the inputs of rank d's all-reduce for these points: for each block of shards, one value per point.
  std::vector<Endpoint> brought(const std::vector<int>& points, int d) const {
    const Node& bucket = graph_.node(replicas_.sums[d][points[0]].node);
    const std::int64_t each = bucket.attrs.get_int("M");
    std::vector<Endpoint> values;
    for (std::int64_t first = 0; first < static_cast<std::int64_t>(bucket.inputs.size()); first += each) {
      for (const int k : points) values.push_back(bucket.inputs[first + replicas_.sums[d][k].index]);
    }
    return values;
  }

  void scatter(const std::vector<int>& points) {
    const std::string group = graph_.unique_name("data_parallel/reduce_scatter");
    for (int d = 0; d < devices(); ++d) {
      const auto on = graph_.device(layout_.devices[d]);
      const Node& bucket = graph_.node(replicas_.sums[d][points[0]].node);
      const Contributions from{bucket.attrs.get<std::vector<std::int64_t>>("shards"), bucket.attrs.get_int("total")};
      std::vector<Value> values;
      for (const Endpoint e : brought(points, d)) values.push_back(flat(e));
      const auto parts = reduce_scatter(values, {group, d, devices(), weights_}, from, 0, group);
      for (std::size_t i = 0; i < parts.size(); ++i) parts_[{points[i], d}] = parts[i].endpoint();
    }
  }

  void sum_anew(const std::vector<int>& points) {
    const std::string group = graph_.unique_name("data_parallel/all_reduce");
    for (int d = 0; d < devices(); ++d) {
      const auto on = graph_.device(layout_.devices[d]);
      const Node& bucket = graph_.node(replicas_.sums[d][points[0]].node);
      AllReduceSpec spec{group, d, devices(), bucket.attrs.get<std::vector<std::int64_t>>("shards"),
                         bucket.attrs.get_int("total")};
      std::vector<Value> values;
      for (const Endpoint e : brought(points, d)) values.push_back(graph_.value(e));
      const auto sums = all_reduce(values, spec, group);
      std::map<Endpoint, Endpoint> anew;
      for (std::size_t i = 0; i < sums.size(); ++i) anew[replicas_.sums[d][points[i]]] = sums[i].endpoint();
      const auto uses = graph_.consumers();
      for (const auto& [old, sum] : anew) {
        for (const Graph::Use& use : uses[old.node.index]) {
          if (use.input >= 0 && graph_.node(use.node).inputs[use.input] == old)
            graph_.set_input(use.node, use.input, sum);
        }
      }
      for (const int k : points) replicas_.sums[d][k] = anew[replicas_.sums[d][k]];
    }
  }

  // --- variables -----------------------------------------------------------------------------------------------------

  // Groups the updates whose variables share an all-gather: those of one bucket. An update that depends on another one
  // has a group of its own, so that no all-gather waits for itself.
  std::vector<std::vector<const ShardedUpdate*>> together() const {
    std::vector<char> after(static_cast<std::size_t>(original_.size()), 0);
    const auto uses = original_.consumers();
    std::vector<NodeId> stack;
    for (const ShardedUpdate& update : zero_.updates) stack.push_back(update.node);
    while (!stack.empty()) {
      const NodeId id = stack.back();
      stack.pop_back();
      for (const Graph::Use& use : uses[id.index]) {
        if (std::exchange(after[use.node.index], 1) == 0) stack.push_back(use.node);
      }
    }
    using Key = std::tuple<std::int32_t, DType, bool>;  // the bucket's node
    std::map<Key, std::vector<const ShardedUpdate*>> buckets;
    std::map<Key, std::size_t> bytes;
    std::vector<std::vector<const ShardedUpdate*>> groups;
    for (const ShardedUpdate& update : zero_.updates) {
      if (after[update.node.index] != 0) {
        groups.push_back({&update});
        continue;
      }
      const auto part = parts_.find({update.collective, 0});
      const Key key{part != parts_.end() ? part->second.node.index : -1, update.dtype,
                    original_.node(update.variable).output_is_ref(0)};
      buckets[key].push_back(&update);
      bytes[key] += static_cast<std::size_t>(update.elements) * element_bytes(update.dtype);
      if (bytes[key] < layout_.bucket_bytes) continue;
      groups.push_back(std::exchange(buckets[key], {}));
      bytes[key] = 0;
    }
    for (auto& [key, group] : buckets) {
      if (!group.empty()) groups.push_back(std::move(group));
    }
    return groups;
  }

  void gather_variables(ShardedUpdates& done) {
    const auto uses = graph_.consumers();
    for (const auto& updates : together()) {
      const std::string group = graph_.unique_name("data_parallel/all_gather");
      std::vector<NodeId>& gathered_here = done.gathers.emplace_back();
      for (const ShardedUpdate* const update : updates) gathered_here.push_back(update->variable);
      for (int d = 0; d < devices(); ++d) {
        const auto on = graph_.device(layout_.devices[d]);
        std::vector<Value> variables;
        for (const ShardedUpdate* const update : updates) {
          variables.push_back(graph_.value(Endpoint{replicas_.device[d][update->variable.index], 0}));
        }
        const Value gathered =
            all_gather_variables(variables, updates[0]->dtype, {group, d, devices(), weights_}, group);
        if (!gathered.valid()) return;
        // What waited for an update waits for the whole variable.
        for (const ShardedUpdate* const update : updates) {
          const NodeId id = copy(*update, d);
          for (const Graph::Use& use : uses[id.index]) graph_.add_control_input(use.node, gathered.node());
          graph_.add_control_input(gathered.node(), id);
        }
      }
    }
  }

  const Graph& original_;
  const ReplicationFacts& step_;
  const ReplicaLayout& layout_;
  const ZeroPlan zero_;
  Graph& graph_;
  Replicas& replicas_;
  const std::vector<std::int64_t> weights_;
  std::map<std::pair<int, int>, Endpoint> parts_;  // of scattered sums: by collective point and device
};

}  // namespace

Result<ShardedUpdates> shard_updates(const Graph& original, const ReplicationFacts& step, const ReplicaLayout& layout,
                                     const std::vector<NodeId>& targets, Graph& graph, Replicas& replicas) {
  if (layout.devices.size() < 2) return ShardedUpdates{.is_sharded = std::vector<char>(step.kinds.size(), 0)};
  ARGOSY_ASSIGN_OR_RETURN(ZeroPlan zero, plan_sharded_updates(original, step, targets));
  return UpdateSharder(original, step, layout, std::move(zero), graph, replicas).run();
}

std::string zero_text(const ShardedUpdates& zero, std::size_t devices) {
  std::string text = zero.slots == 0 ? std::string("no slots to shard (ZeRO-1)")
                                     : str_cat("slots sharded over ", devices, " devices (ZeRO-1): ", zero.slots,
                                               zero.slots == 1 ? " slot of " : " slots of ", zero.variables,
                                               zero.variables == 1 ? " variable" : " variables");
  if (!zero.kept.empty()) text += str_cat("; on every device: ", str_join(zero.kept, "; "));
  return text;
}

}  // namespace argosy
