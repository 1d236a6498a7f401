#include "argosy/strategy/data_parallel/copies/shard_sums.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "argosy/ops/collective/collective.h"
#include "argosy/ops/collective/turns.h"
#include "argosy/strategy/data_parallel/copies/turn_sums.h"

namespace argosy {

namespace {

constexpr const char* kHost = "/device:CPU:0";

// Scales by the shard's weight or, with `only_nonempty`, by 1. An empty shard scales by 0.
Value scaled(ReplicaBuild& b, Value v, int s, bool only_nonempty, std::string name) {
  const DType dtype = v.dtype();
  std::optional<Value>& factor = b.factors[{s, dtype, only_nonempty}];
  if (!factor) {
    const auto on = b.graph.device(kHost);
    factor = shard_weight(Value(&b.graph, b.plan.inputs[0], 0), b.layout.weights, s, dtype,
                          str_cat("data_parallel/", only_nonempty ? "of_examples_" : "part_", s));
    if (only_nonempty) factor = b.graph.add("Ceil", {*factor});
  }
  const auto on = b.graph.device(b.layout.devices[b.layout.device_of[s]]);
  const Value term = scale_nonempty(v, *factor, std::move(name));
  if (term.valid() && b.layout.has_turns()) {
    b.graph.set_attr(term.node(), kTurnAttr, std::int64_t{b.layout.turn_of(s)});
  }
  return term;
}

Value shard_value(ReplicaBuild& b, const CollectivePoint& c, int s) {
  const Value v(&b.graph, b.replicas.shard[s][c.value.node.index], c.value.index);
  const std::string_view name = b.graph.node(c.value.node).name;
  if (c.kind == PlacementKind::kPartialSum) {
    if (!b.plan.has_shard_means || !is_floating(v.dtype())) return v;
    return scaled(b, v, s, true, str_cat(name, "/of_examples_", s));
  }
  return scaled(b, v, s, false, str_cat(name, "/weighted_", s));
}

// What the shards of block `k` give, added up on their device.
Value block_sum(ReplicaBuild& b, const CollectivePoint& c, int k, int block) {
  const int first = k * block, last = std::min(first + block, b.layout.shards());
  return sum_of_turns(
      b, first, last, [&](int s) { return shard_value(b, c, s); }, str_cat(b.graph.node(c.value.node).name, "/turns"));
}

void sum_bucket(ReplicaBuild& b, const std::vector<int>& members, int block) {
  const std::string group = b.graph.unique_name("data_parallel/all_reduce");
  std::vector<std::vector<Value>> values(b.layout.devices.size());
  std::vector<std::vector<std::int64_t>> blocks(b.layout.devices.size());
  const int total = (b.layout.shards() + block - 1) / block;
  for (int k = 0; k < total; ++k) {
    const int d = b.layout.device_of[k * block];
    blocks[d].push_back(k);
    for (const int m : members) values[d].push_back(block_sum(b, b.plan.collectives[m], k, block));
  }
  for (int d = 0; d < b.devices(); ++d) {
    const auto on = b.graph.device(b.layout.devices[d]);
    const auto sums = all_reduce(
        values[d], {.group = group, .rank = d, .size = b.devices(), .shards = blocks[d], .total = total}, group);
    for (std::size_t m = 0; m < sums.size(); ++m) b.replicas.sums[d][members[m]] = sums[m].endpoint();
  }
}

}  // namespace

void add_all_reduces(ReplicaBuild& b) {
  b.replicas.sums.assign(b.layout.devices.size(), std::vector<Endpoint>(b.plan.collectives.size()));
  if (b.layout.shards() == 1) {
    for (std::size_t k = 0; k < b.plan.collectives.size(); ++k) b.replicas.sums[0][k] = b.plan.collectives[k].value;
    return;
  }
  // Buckets of one dtype, depth, branch and loop, filled in the order in which the values are computed.
  using Key = std::tuple<int, DType, int, int>;
  std::map<Key, std::vector<int>> open;
  std::map<Key, std::size_t> bytes;
  std::size_t limit = b.layout.first_bucket_bytes;
  const auto close = [&](const Key& key) {
    if (open[key].empty()) return;
    sum_bucket(b, open[key], shards_per_sum(b.layout, std::get<DType>(key)));
    b.replicas.bucket_bytes.push_back(bytes[key]);
    b.replicas.buckets.push_back(open[key]);
    open[key].clear();
    bytes[key] = 0;
  };
  for (std::size_t k = 0; k < b.plan.collectives.size(); ++k) {
    const CollectivePoint& c = b.plan.collectives[k];
    if (c.kind == PlacementKind::kShard) continue;
    const DType dtype = b.graph.dtype(c.value);
    if (const int block = shards_per_sum(b.layout, dtype); block >= b.layout.shards()) {
      b.replicas.sums[0][k] = block_sum(b, c, 0, block).endpoint();  // the only device's
      continue;
    }
    const Key key{c.depth, dtype, c.branch, c.loop};
    const std::int64_t elements = std::max<std::int64_t>(b.plan.axes.elements(c.value), 0);
    open[key].push_back(static_cast<int>(k));
    bytes[key] += static_cast<std::size_t>(elements) * element_bytes(dtype);
    if (bytes[key] < limit) continue;
    close(key);
    limit = b.layout.bucket_bytes;
  }
  for (auto& [key, members] : open) close(key);
}

}  // namespace argosy
