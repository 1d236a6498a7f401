#include "argosy/sharding/lower/shard_sizes.h"

#include <algorithm>

#include "argosy/ops/constant/constant.h"
#include "argosy/sharding/sizes/element_shape.h"

namespace argosy {

namespace {

class LocalSizes {
 public:
  explicit LocalSizes(LowerState& s) : s_(s) {}

  Result<Endpoint> local(int d, Graph::Use use, Endpoint from) {
    const Node& n = s_.base.node(use.node);
    const NodeSharding& sharding = s_.sharding(use.node);
    const OperandRule& o = s_.rule(use.node).inputs[static_cast<std::size_t>(use.input)];
    if (sharding.kind != NodeSharding::Kind::kFactor || s_.size() == 1) return from;
    const Endpoint sized{use.node, o.of}, given = n.inputs[static_cast<std::size_t>(use.input)];
    const PartialShape& shape = s_.sizes.shape(given);
    const PartialInts* const ints = s_.sizes.ints(given);
    std::int64_t count = std::ssize(o.dims);
    if (ints != nullptr) count = std::ssize(*ints);
    if (ints == nullptr && shape.rank() == 1 && shape[0] >= 0) count = shape[0];
    const bool of_dim = s_.sizes.shape(sized).has_rank() && s_.sizes.shape(sized).rank() == count;
    const bool sharded = s_.layout(sized).is_shard();
    std::vector<Value> sizes;
    std::vector<int> kept;  // in a loop: elements that only an iteration knows
    bool changed = false;
    for (int k = 0; k < count; ++k) {
      const auto part = k < std::ssize(o.dims) ? part_of(use.node, o.dims[static_cast<std::size_t>(k)]) : std::nullopt;
      auto f = s_.sizes.element(given, k);
      // -1 beside a shard without rows says nothing.
      if (f && f->times == 0 && f->plus < 0 && of_dim && (part || sharded)) f = s_.sizes.dim(sized, k).value_or(*f);
      changed = changed || part || (f && sharded);
      if (f && f->times == 0 && f->plus < 0) {  // what is left of a shard is the shard's
        sizes.push_back(s_.host->number(f->plus));
      } else if (f) {
        sizes.push_back(part ? s_.host->local(*f, *part, d) : s_.host->global(*f));
      } else if (s_.in_loop(use.node)) {
        if (part) {
          return cannot_lower(n, str_cat("size ", k, " of its output is not known, in a loop"), kSizeBeforeLoop);
        }
        kept.push_back(k);
        sizes.push_back(s_.host->number(0));
      } else {
        const Value size = element(from, k, shape.rank() == 0);
        sizes.push_back(part ? local_or_open(size, *part, d) : size);
      }
    }
    if (!changed) return from;
    Value all = s_.host->pack(sizes, s_.base.dtype(given));
    if (shape.rank() == 0) {
      const auto on = s_.graph.device(kHost);
      all = s_.graph.add("Reshape", {all, constant(s_.graph, Tensor::vector<std::int32_t>({}))}, {}, "sharding/size");
    }
    Value near = s_.near(all, use.node, d);
    near = kept.empty() ? s_.dead_with(near, from.node, use.node) : with_kept(near, from, kept, count, {use.node, d});
    near = s_.after_effects(near, given.node, d);
    return near.valid() ? Result<Endpoint>(near.endpoint()) : s_.graph.status();
  }

 private:
  // Returns `sizes`, with the elements at positions `kept` taken from `from`.
  Value with_kept(Value sizes, Endpoint from, const std::vector<int>& kept, std::int64_t count,
                  std::pair<NodeId, int> at) {
    Tensor known = Tensor::zeros(DType::kBool, {count});
    for (std::int64_t k = 0; k < count; ++k)
      known.data<bool>()[k] = std::find(kept.begin(), kept.end(), k) == kept.end();
    const auto on = s_.graph.device(kHost);
    const Value mask = s_.near(constant(s_.graph, known, "sharding/known"), at.first, at.second);
    return s_.graph.add("Select", {mask, sizes, s_.graph.value(from)}, {}, "sharding/sizes");
  }

  // Returns how a size that is a product of these factors is cut; nullopt: the node is sharded along none of them.
  std::optional<Placement> part_of(NodeId id, const FactorsOfDim& dim) const {
    const NodeSharding& sharding = s_.sharding(id);
    std::int64_t outer = 1, inner = 1;
    bool found = false;
    for (const std::int8_t f : dim) {
      if (f == sharding.index) {
        found = true;
        continue;
      }
      (found ? inner : outer) *= s_.rule(id).factors[static_cast<std::size_t>(f)].size;
    }
    if (!found) return std::nullopt;
    return Placement::shard(0, outer * sharding.rounds, inner * sharding.unit);
  }

  // Returns element k of an integer vector whose value is known at run time only, as an int64 scalar.
  Value element(Endpoint from, int k, bool scalar) {
    const auto on = s_.graph.device(kHost);
    const auto at = [&](std::int64_t i) {
      return constant(s_.graph, Tensor::vector<std::int64_t>({i}), "sharding/at");
    };
    Value size = s_.graph.value(from);
    if (!scalar) size = s_.graph.add("Slice", {size, at(k), at(1)}, {}, "sharding/element");
    size = s_.graph.add("Cast", {size}, {{"DstT", DType::kInt64}}, "sharding/element");
    return s_.graph.add("Reshape", {size, constant(s_.graph, Tensor::vector<std::int32_t>({}))}, {},
                        "sharding/element");
  }

  // Returns the size for shard d. -1 stays -1: the op infers it from the shard.
  Value local_or_open(Value size, const Placement& part, int d) {
    const Value local = s_.host->local(size, part, d);
    const auto on = s_.graph.device(kHost);
    const Value open = s_.graph.add("Less", {size, s_.host->number(0)}, {}, "sharding/open");
    return s_.graph.add("Select", {open, size, local}, {}, "sharding/element");
  }

  LowerState& s_;
};

// Returns `from` with -1 at position `dim`. A scalar, the shape of unknown rank, stays as it is.
Result<Endpoint> opened(LowerState& s, int d, Graph::Use use, Endpoint from, int dim) {
  const Endpoint given = s.base.node(use.node).inputs[static_cast<std::size_t>(use.input)];
  const PartialShape& shape = s.sizes.shape(given);
  if (shape.has_rank() && shape.rank() == 0) return from;
  const PartialInts* const ints = s.sizes.ints(given);
  if (ints != nullptr && dim < std::ssize(*ints) && (*ints)[static_cast<std::size_t>(dim)] == -1) return from;
  if (shape.rank() != 1 || shape[0] <= dim) {
    return cannot_lower(s.base.node(use.node), "the rank of its elements is not known, and they are sharded",
                        "say the shape of its elements, [None, 8]");
  }
  Tensor mask = Tensor::zeros(DType::kBool, {shape[0]});
  mask.data<bool>()[dim] = true;
  const auto on = s.graph.device(kHost);
  const Value open = s.graph.add("Cast", {constant(s.graph, Tensor::vector(std::vector<std::int64_t>(shape[0], -1)))},
                                 {{"DstT", s.base.dtype(given)}}, "sharding/open");
  const Value all = s.near(open, use.node, d), where = s.near(constant(s.graph, mask, "sharding/open"), use.node, d);
  const Value opened = s.graph.add("Select", {where, all, s.graph.value(from)}, {}, "sharding/open");
  return opened.valid() ? Result<Endpoint>(opened.endpoint()) : s.graph.status();
}

}  // namespace

Result<Endpoint> local_sizes(LowerState& s, int d, Graph::Use use, Endpoint from) {
  return LocalSizes(s).local(d, use, from);
}

std::optional<Result<Endpoint>> open_element_shape(LowerState& s, int d, Graph::Use use, Endpoint from) {
  if (!is_element_shape(s.base, use)) return std::nullopt;
  const Node& n = s.base.node(use.node);
  std::vector<Placement> in, out;
  for (int i = 0; i < std::ssize(n.inputs); ++i) in.push_back(s.arrives({use.node, i}));
  for (std::int32_t k = 0; k < std::ssize(n.output_dtypes); ++k) out.push_back(s.layout({use.node, k}));
  const auto dim = open_dim(s.base, use.node, in, out);
  if (!dim) return std::nullopt;
  return opened(s, d, use, from, *dim);
}

}  // namespace argosy
