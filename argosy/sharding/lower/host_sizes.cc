#include "argosy/sharding/lower/host_sizes.h"

#include <utility>

#include "argosy/ops/collective/shard_collectives.h"
#include "argosy/ops/constant/constant.h"

namespace argosy {

HostSizes::HostSizes(Graph& graph, Endpoint batch, std::vector<std::int64_t> weights)
    : graph_(graph), batch_node_(batch), weights_(std::move(weights)) {}

Value HostSizes::number(std::int64_t n) {
  Value& known = numbers_[n];
  if (known.valid()) return known;
  const auto on = graph_.device(kHost);
  return known = constant(graph_, Tensor::scalar(n), "sharding/size");
}

Value HostSizes::batch() {
  if (batch_.valid()) return batch_;
  const auto on = graph_.device(kHost);
  const Value shape =
      graph_.add("Shape", {graph_.value(batch_node_)}, {{"out_type", DType::kInt64}}, "sharding/batch_shape");
  const auto at = [&](std::int64_t i) { return constant(graph_, Tensor::vector<std::int64_t>({i}), "sharding/at"); };
  const Value first = graph_.add("Slice", {shape, at(0), at(1)}, {}, "sharding/first");
  return batch_ = graph_.add("Reshape", {first, constant(graph_, Tensor::vector<std::int32_t>({}), "sharding/scalar")},
                             {}, "sharding/batch");
}

Value HostSizes::times(Value v, std::int64_t by) {
  if (by == 1) return v;
  const auto on = graph_.device(kHost);
  return graph_.add("Mul", {v, number(by)}, {}, "sharding/times");
}

Value HostSizes::global(AffineSize size) {
  if (size.times == 0) return number(size.plus);
  Value& known = globals_[{size.times, size.plus}];
  if (known.valid()) return known;
  const Value grown = times(batch(), size.times);
  const auto on = graph_.device(kHost);
  return known = size.plus == 0 ? grown : graph_.add("AddV2", {grown, number(size.plus)}, {}, "sharding/global");
}

// Returns the number of items in a round: size / (rounds * unit). Shards are cut between items.
Value HostSizes::items(Value size, const Placement& p) {
  const std::int64_t together = p.rounds * p.unit;
  if (together == 1) return size;
  const auto on = graph_.device(kHost);
  return graph_.add("FloorDiv", {size, number(together)}, {}, "sharding/items");
}

Value HostSizes::local(Value size, const Placement& p, int d) {
  const std::int64_t together = p.rounds * p.unit;
  Value& shard = shards_[{size.endpoint(), together, d}];
  if (!shard.valid()) {
    const Value of = items(size, p);
    const auto on = graph_.device(kHost);
    shard = local_size(of, weights_, d, "sharding/shard");
  }
  return times(shard, together);
}

Value HostSizes::local(AffineSize size, const Placement& p, int d) { return local(global(size), p, d); }

Value HostSizes::begin(Value size, const Placement& p, int d) {
  local(size, p, d);
  return times(shards_[{size.endpoint(), p.rounds * p.unit, d}].output(1), p.unit);
}

Value HostSizes::pack(const std::vector<Value>& sizes, DType dtype) {
  const auto on = graph_.device(kHost);
  if (sizes.empty()) return constant(graph_, Tensor::zeros(dtype, Shape({0})), "sharding/sizes");
  const Value all = graph_.add("Pack", sizes, {{"axis", 0}}, "sharding/sizes");
  return dtype == DType::kInt64 ? all : graph_.add("Cast", {all}, {{"DstT", dtype}}, "sharding/sizes");
}

Value HostSizes::part(Value local, Value global, DType dtype) {
  const auto on = graph_.device(kHost);
  const auto real = [&](Value v) { return graph_.add("Cast", {v}, {{"DstT", DType::kFloat64}}, "sharding/count"); };
  const Value part = graph_.add("RealDiv", {real(local), real(global)}, {}, "sharding/part");
  return dtype == DType::kFloat64 ? part : graph_.add("Cast", {part}, {{"DstT", dtype}}, "sharding/part");
}

}  // namespace argosy
