#include "argosy/strategy/data_parallel/replicas.h"

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>

#include "argosy/device/name.h"
#include "argosy/ops/collective/collective.h"
#include "argosy/ops/collective/reduction_chunks.h"
#include "argosy/ops/constant/constant.h"
#include "argosy/ops/random/random_shard.h"
#include "argosy/strategy/analysis/variable_nodes.h"

namespace argosy {

namespace {

constexpr const char* kHost = "/device:CPU:0";

// The device type and number a node was pinned to by hand, if it was.
DeviceName pinned(const std::string& device) {
  DeviceName found;
  for (const std::string& part : str_split(device, ';')) {
    auto name = DeviceName::parse(part);
    if (name.ok()) found = name->filled_from(found);
  }
  return found;
}

// Another seed for every shard. (The constant is the golden ratio times 2^64.)
std::int64_t seed_of_shard(std::int64_t seed, int shard) {
  std::uint64_t mixed = static_cast<std::uint64_t>(seed) + static_cast<std::uint64_t>(shard) * 0x9E3779B97F4A7C15u;
  mixed ^= mixed >> 31;
  return static_cast<std::int64_t>(mixed >> 1);
}

class Replicator {
 public:
  Replicator(Graph& graph, const ReplicationPlan& plan, const ReplicaLayout& layout)
      : graph_(graph), plan_(plan), layout_(layout), size_(static_cast<std::int32_t>(plan.replica_kinds.size())) {}

  Result<Replicas> run() {
    ARGOSY_RETURN_IF_ERROR(check_pins());
    ARGOSY_RETURN_IF_ERROR(check_loops());
    for (std::size_t k = 0; k < plan_.collectives.size(); ++k)
      collective_of_[plan_.collectives[k].value] = static_cast<int>(k);
    if (layout_.chunks > 0) set_chunk_attrs();
    ARGOSY_RETURN_IF_ERROR(copy_nodes());
    shard_inputs();
    add_all_reduces();
    join_rows();
    ARGOSY_RETURN_IF_ERROR(graph_.status());
    for (std::int32_t i = 0; i < size_; ++i) connect(NodeId{i});
    ARGOSY_RETURN_IF_ERROR(mirror_initializers());
    // A sum that another member of its bucket is computed from would wait for itself.
    ARGOSY_RETURN_IF_ERROR(graph_.topological_order().status());
    return std::move(replicas_);
  }

 private:
  int devices() const { return static_cast<int>(layout_.devices.size()); }
  ReplicaKind replica_kind(NodeId id) const {
    return id.index < size_ ? plan_.replica_kinds[id.index] : ReplicaKind::kSingleton;
  }

  Status check_pins() const {
    std::optional<int> first;
    for (std::int32_t i = 0; i < size_; ++i) {
      const Node& n = graph_.node(NodeId{i});
      const DeviceName pin = pinned(n.device);
      if (replica_kind(NodeId{i}) == ReplicaKind::kSingleton || pin.type != "GPU" || !pin.id) continue;
      if (first.value_or(*pin.id) != *pin.id) {
        return invalid_argument("the graph is split over devices by hand: '", n.name, "' is pinned to gpu:", *pin.id,
                                ", others to gpu:", *first)
            .with_id("ARG-DP-005")
            .with_hint("leave the device scopes out, or run it as it is, without data parallelism");
      }
      first = pin.id;
    }
    return ok_status();
  }

  // A loop's predicate exists once per device and its loop-carried values once per shard. They share one frame.
  Status check_loops() const {
    for (std::int32_t i = 0; i < size_ && layout_.shards() != devices(); ++i) {
      const Node& n = graph_.node(NodeId{i});
      if (n.op->flow != Flow::kEnter || replica_kind(NodeId{i}) == ReplicaKind::kSingleton) continue;
      return unimplemented("'", n.name, "' begins a loop, which several shards on one device cannot share")
          .with_id("ARG-DP-003")
          .with_hint("as many shards as devices: without --reproducible");
    }
    return ok_status();
  }

  // Products and sums learn over what they add: the batch, or values of one example.
  void set_chunk_attrs() {
    for (std::int32_t i = 0; i < size_; ++i) {
      const NodeId id{i};
      const Node& n = graph_.node(id);
      if (replica_kind(id) != ReplicaKind::kSharded || n.op->linear != Linear::kEach || n.op->elementwise) continue;
      const int axis = plan_.axes.axis({id, 0});
      if (axis < BatchAxes::kNone) continue;
      graph_.set_attr(id, axis == BatchAxes::kNone ? kReduceChunksAttr : kRowChunksAttr, std::int64_t{layout_.chunks});
    }
  }

  // --- copies --------------------------------------------------------------------------------------------------------

  Status copy_nodes() {
    replicas_.shard.assign(layout_.shards(), std::vector<NodeId>(size_));
    replicas_.device.assign(layout_.devices.size(), std::vector<NodeId>(size_));
    for (std::int32_t i = 0; i < size_; ++i) {
      const NodeId id{i};
      replicas_.shard[0][i] = replicas_.device[0][i] = id;
      const bool shards = replica_kind(id) == ReplicaKind::kSharded;
      if (replica_kind(id) == ReplicaKind::kSingleton) continue;
      if (draws_by_rows(id)) {
        for (int s = 0; s < layout_.shards(); ++s) {
          ARGOSY_ASSIGN_OR_RETURN(replicas_.shard[s][i], random_shard(id, s));
        }
        continue;
      }
      for (int k = 1; k < (shards ? layout_.shards() : devices()); ++k) {
        const int d = shards ? layout_.device_of[k] : k;
        ARGOSY_ASSIGN_OR_RETURN((shards ? replicas_.shard : replicas_.device)[k][i], copy(id, k, shards ? k : 0, d));
      }
      settle(id, 0, 0);
    }
    return ok_status();
  }

  // Added with the original's inputs, whose shapes are the same; connect() sets the copy's own inputs.
  Result<NodeId> copy(NodeId id, int replica, int shard, int device) {
    const Node& n = graph_.node(id);
    NodeSpec spec{.name = graph_.unique_name(str_cat(n.name, "/replica_", replica)),
                  .op = n.op->name,
                  .inputs = n.inputs,
                  .attrs = n.attributes(),
                  .device = n.device};
    const auto* shared = n.attrs.find_as<std::string>("shared_name");
    if (shared != nullptr && !shared->empty()) {
      spec.attrs.set("shared_name", str_cat(*shared, "/replica_", replica));
    }
    // Every copy of a loop iterates by itself.
    if (const auto* frame = n.attrs.find_as<std::string>("frame_name"); frame != nullptr) {
      spec.attrs.set("frame_name", str_cat(*frame, "/replica_", replica));
    }
    ARGOSY_ASSIGN_OR_RETURN(const NodeId made, graph_.add_node(std::move(spec)));
    settle(made, shard, device);
    return made;
  }

  // Random numbers with rows of examples: each shard draws its elements of one global stream, the same on any number of
  // devices. Unseeded ops stay as they are: every device's stream differs.
  bool draws_by_rows(NodeId id) const {
    const Node& n = graph_.node(id);
    if (layout_.shards() == 1 || replica_kind(id) != ReplicaKind::kSharded || n.output_dtypes.size() != 1) return false;
    const bool chance =
        n.attrs.find("seed") != nullptr && n.attrs.get_int("seed") == 0 && n.attrs.get_int("seed2") == 0;
    return !chance && plan_.axes.repeats({id, 0}) > 0 && plan_.axes.rows_per_example({id, 0}) > 0 &&
           graph_.ops().find(kShardPrefix + n.op->name) != nullptr;
  }

  Result<NodeId> random_shard(NodeId id, int shard) {
    const Node& n = graph_.node(id);
    NodeSpec spec{.name = graph_.unique_name(str_cat(n.name, "/shard_", shard)),
                  .op = kShardPrefix + n.op->name,
                  .inputs = n.inputs,
                  .attrs = n.attributes(),
                  .device = n.device};
    spec.inputs.push_back({plan_.inputs[0], 0});
    spec.attrs.set("B", graph_.dtype(spec.inputs.back()));
    spec.attrs.set("rows", plan_.axes.rows_per_example({id, 0}));
    spec.attrs.set("axis", std::int64_t{plan_.axes.axis({id, 0})});
    spec.attrs.set("repeats", plan_.axes.repeats({id, 0}));
    spec.attrs.set("weights", layout_.weights);
    spec.attrs.set("index", std::int64_t{shard});
    spec.attrs.set("stream", std::string(n.name));
    ARGOSY_ASSIGN_OR_RETURN(const NodeId made, graph_.add_node(std::move(spec)));
    place(made, layout_.device_of[shard]);
    return made;
  }

  void place(NodeId id, int device) {
    const Node& n = graph_.node(id);
    if (pinned(n.device).type != "CPU") graph_.set_device(id, layout_.devices[device]);
    // The device is enough; a colocation group that reaches out of the replica would contradict it.
    graph_.set_colocation(id, {});
  }

  // Sets the attributes that depend on the shard and the device.
  void settle(NodeId id, int shard, int device) {
    place(id, device);
    const Node& n = graph_.node(id);
    if (n.op->name == "_ShardWeight") {
      graph_.set_attr(id, "weights", layout_.weights);
      graph_.set_attr(id, "index", std::int64_t{shard});
    }
    const auto *seed = n.attrs.find_as<std::int64_t>("seed"), *seed2 = n.attrs.find_as<std::int64_t>("seed2");
    if (shard > 0 && !n.op->draws_whole_stream && seed != nullptr && seed2 != nullptr && (*seed != 0 || *seed2 != 0)) {
      graph_.set_attr(id, "seed2", seed_of_shard(*seed2, shard));
    }
  }

  void shard_inputs() {
    if (layout_.shards() == 1) return;
    const auto on = graph_.device(kHost);
    for (const NodeId x : plan_.inputs) {
      for (int s = 0; s < layout_.shards(); ++s) {
        input_shards_[x].push_back(
            shard_batch(Value(&graph_, x, 0), layout_.weights, s, str_cat(graph_.node(x).name, "/shard_", s)));
      }
    }
  }

  // --- sums over shards ----------------------------------------------------------------------------------------------

  void add_all_reduces() {
    replicas_.sums.assign(layout_.devices.size(), std::vector<Endpoint>(plan_.collectives.size()));
    if (layout_.shards() == 1) {
      for (std::size_t k = 0; k < plan_.collectives.size(); ++k) replicas_.sums[0][k] = plan_.collectives[k].value;
      return;
    }
    // Buckets of one dtype, depth, branch and loop, filled in the order in which the values are computed.
    using Key = std::tuple<int, DType, int, int>;
    std::map<Key, std::vector<int>> open;
    std::map<Key, std::size_t> bytes;
    std::size_t limit = layout_.first_bucket_bytes;
    const auto close = [&](const Key& key) {
      if (open[key].empty()) return;
      sum_bucket(open[key]);
      replicas_.bucket_bytes.push_back(bytes[key]);
      replicas_.buckets.push_back(open[key]);
      open[key].clear();
      bytes[key] = 0;
    };
    for (std::size_t k = 0; k < plan_.collectives.size(); ++k) {
      const CollectivePoint& c = plan_.collectives[k];
      if (c.kind == PlacementKind::kShard) continue;
      const DType dtype = graph_.dtype(c.value);
      const Key key{c.depth, dtype, c.branch, c.loop};
      const std::int64_t elements = std::max<std::int64_t>(plan_.axes.elements(c.value), 0);
      open[key].push_back(static_cast<int>(k));
      bytes[key] += static_cast<std::size_t>(elements) * element_bytes(dtype);
      if (bytes[key] < limit) continue;
      close(key);
      limit = layout_.bucket_bytes;
    }
    for (auto& [key, members] : open) close(key);
  }

  void sum_bucket(const std::vector<int>& members) {
    const std::string group = graph_.unique_name("data_parallel/all_reduce");
    std::vector<std::vector<Value>> values(layout_.devices.size());
    std::vector<std::vector<std::int64_t>> shards(layout_.devices.size());
    for (int s = 0; s < layout_.shards(); ++s) {
      const int d = layout_.device_of[s];
      shards[d].push_back(s);
      for (const int k : members) values[d].push_back(shard_value(plan_.collectives[k], s));
    }
    for (int d = 0; d < devices(); ++d) {
      const auto on = graph_.device(layout_.devices[d]);
      const auto sums = all_reduce(
          values[d], {.group = group, .rank = d, .size = devices(), .shards = shards[d], .total = layout_.shards()},
          group);
      for (std::size_t m = 0; m < sums.size(); ++m) replicas_.sums[d][members[m]] = sums[m].endpoint();
    }
  }

  // Every device gets the rows of all shards, in the order of the batch: each copies what it lacks.
  void join_rows() {
    for (std::size_t k = 0; k < plan_.collectives.size() && layout_.shards() > 1; ++k) {
      const CollectivePoint& c = plan_.collectives[k];
      if (c.kind != PlacementKind::kShard) continue;
      for (int d = 0; d < devices(); ++d) {
        const auto on = graph_.device(layout_.devices[d]);
        std::vector<Value> parts;
        for (const auto& copies : replicas_.shard)
          parts.push_back({&graph_, copies[c.value.node.index], c.value.index});
        parts.push_back(constant(graph_, std::int32_t{plan_.axes.axis(c.value)}));
        const Value joined = graph_.add("ConcatV2", parts, {}, str_cat(graph_.node(c.value.node).name, "/joined"));
        replicas_.sums[d][k] = joined.endpoint();
      }
      ++replicas_.joined;
    }
  }

  Value shard_value(const CollectivePoint& c, int s) {
    const Value v(&graph_, replicas_.shard[s][c.value.node.index], c.value.index);
    const std::string_view name = graph_.node(c.value.node).name;
    if (c.kind == PlacementKind::kPartialSum) {
      if (!plan_.has_shard_means || !is_floating(v.dtype())) return v;
      return scaled(v, s, true, str_cat(name, "/of_examples_", s));
    }
    return scaled(v, s, false, str_cat(name, "/weighted_", s));
  }

  // Scales by the shard's weight or, with `only_nonempty`, by 1. An empty shard scales by 0.
  Value scaled(Value v, int s, bool only_nonempty, std::string name) {
    const DType dtype = v.dtype();
    std::optional<Value>& factor = factors_[{s, dtype, only_nonempty}];
    if (!factor) {
      const auto on = graph_.device(kHost);
      factor = shard_weight(Value(&graph_, plan_.inputs[0], 0), layout_.weights, s, dtype,
                            str_cat("data_parallel/", only_nonempty ? "of_examples_" : "part_", s));
      if (only_nonempty) factor = graph_.add("Ceil", {*factor});
    }
    const auto on = graph_.device(layout_.devices[layout_.device_of[s]]);
    return scale_nonempty(v, *factor, std::move(name));
  }

  // --- edges ---------------------------------------------------------------------------------------------------------

  // The endpoint that replaces an original one for a node of shard s (s >= 0), or for a device's own node (s < 0).
  Endpoint resolve(Endpoint e, int s, int d) const {
    if (const auto point = collective_of_.find(e); point != collective_of_.end())
      return replicas_.sums[d][point->second];
    const int shard = s >= 0 ? s : layout_.first_shard(d);
    if (const auto input_shard = input_shards_.find(e.node); input_shard != input_shards_.end())
      return input_shard->second[shard].endpoint();
    switch (replica_kind(e.node)) {
      case ReplicaKind::kSharded: return {replicas_.shard[shard][e.node.index], e.index};
      case ReplicaKind::kReplicated: return {replicas_.device[d][e.node.index], e.index};
      case ReplicaKind::kSingleton: return e;
    }
    return e;
  }

  void connect(NodeId id) {
    const std::vector<Endpoint> inputs = graph_.node(id).inputs;
    const std::vector<NodeId> controls = graph_.node(id).controls;
    const auto link = [&](NodeId to, int s, int d) {
      const bool asks_global = graph_.node(to).op->name == "_ShardWeight";  // it asks the global batch
      for (std::size_t i = 0; i < inputs.size() && !asks_global; ++i) {
        graph_.set_input(to, static_cast<int>(i), resolve(inputs[i], s, d));
      }
      for (const NodeId c : controls) follow(to, c, s, d);
    };
    switch (replica_kind(id)) {
      case ReplicaKind::kSingleton:
        for (std::size_t i = 0; i < inputs.size(); ++i) {
          if (collective_of_.contains(inputs[i])) graph_.set_input(id, static_cast<int>(i), resolve(inputs[i], -1, 0));
        }
        for (const NodeId c : controls) {
          for (int d = 0; d < devices(); ++d) follow(id, c, -1, d);
        }
        return;
      case ReplicaKind::kReplicated:
        for (int d = 0; d < devices(); ++d) link(replicas_.device[d][id.index], -1, d);
        return;
      case ReplicaKind::kSharded:
        for (int s = 0; s < layout_.shards(); ++s) link(replicas_.shard[s][id.index], s, layout_.device_of[s]);
        return;
    }
  }

  // Adds control inputs: `to` waits for the copies of `from`. A device's own node waits for every shard of the device.
  void follow(NodeId to, NodeId from, int s, int d) {
    if (replica_kind(from) == ReplicaKind::kReplicated)
      return graph_.add_control_input(to, replicas_.device[d][from.index]);
    if (replica_kind(from) == ReplicaKind::kSingleton) return graph_.add_control_input(to, from);
    for (int k = 0; k < layout_.shards(); ++k) {
      if (k == s || (s < 0 && layout_.device_of[k] == d)) {
        graph_.add_control_input(to, replicas_.shard[k][from.index]);
      }
    }
  }

  // Writes of a mirrored variable from outside the step (initialiser, restore) write every mirror.
  Status mirror_initializers() {
    for (std::int32_t i = 0; i < size_; ++i) {
      const NodeId id{i};
      if (replica_kind(id) != ReplicaKind::kSingleton || !writes_variable(graph_, graph_.node(id))) continue;
      const auto variable = variable_behind(graph_, graph_.node(id).inputs[0]);
      if (!variable || replica_kind(*variable) != ReplicaKind::kReplicated) continue;
      for (int d = 1; d < devices(); ++d) {
        ARGOSY_ASSIGN_OR_RETURN(const NodeId made, copy(id, d, 0, d));
        graph_.set_input(made, 0, {replicas_.device[d][variable->index], 0});
        for (const NodeId c : graph_.node(id).controls) graph_.add_control_input(made, c);
      }
      for (int d = 1; d < devices(); ++d) {
        graph_.add_control_input(id, NodeId{graph_.size() - d});
      }
    }
    return ok_status();
  }

  Graph& graph_;
  const ReplicationPlan& plan_;
  const ReplicaLayout& layout_;
  const std::int32_t size_;  // of the original; everything after it is new
  Replicas replicas_;
  std::map<Endpoint, int> collective_of_;
  std::map<NodeId, std::vector<Value>> input_shards_;
  std::map<std::tuple<int, DType, bool>, std::optional<Value>> factors_;
};

}  // namespace

int ReplicaLayout::first_shard(int device) const {
  return static_cast<int>(std::find(device_of.begin(), device_of.end(), device) - device_of.begin());
}

Result<Replicas> replicate(Graph& graph, const ReplicationPlan& plan, const ReplicaLayout& layout) {
  return Replicator(graph, plan, layout).run();
}

}  // namespace argosy
