#include "argosy/strategy/data_parallel/copies/turn_sums.h"

#include <utility>

#include "argosy/ops/collective/turns.h"
#include "argosy/ops/elementwise/elementwise.h"

namespace argosy {

int shards_per_sum(const ReplicaLayout& layout, DType dtype) {
  const bool rounds = dtype == DType::kFloat16 || dtype == DType::kBfloat16;
  return rounds ? 1 : layout.block;
}

// A binary counter, as in comm/combine.cc: shard i carries into level 0, and on as long as levels are taken.
Value sum_of_turns(ReplicaBuild& b, int first, int last, const std::function<Value(int shard)>& value,
                   std::string_view name) {
  const auto on = b.graph.device(b.layout.devices[b.layout.device_of[first]]);
  const auto sum = [&](const Value& earlier, const Value& later, int shard) {
    const auto scope = b.graph.name_scope(name);
    Value v = add(earlier, later);
    if (!v.valid()) return v;
    b.graph.set_attr(v.node(), kTurnSumAttr, std::int64_t{b.layout.turn_of(shard)});
    return v;
  };
  std::vector<Value> levels;  // [k]: a sum of 2^k shards, or none
  for (int s = first; s < last; ++s) {
    Value carry = value(s);
    std::size_t level = 0;
    for (; level < levels.size() && levels[level].valid(); ++level) {
      carry = sum(std::exchange(levels[level], Value()), carry, s);
    }
    if (level == levels.size()) levels.emplace_back();
    levels[level] = carry;
  }
  Value total;  // what is left of a number that is no power of two, from the small to the large
  for (const Value& part : levels) {
    if (part.valid()) total = total.valid() ? sum(part, total, last - 1) : part;
  }
  return total;
}

}  // namespace argosy
