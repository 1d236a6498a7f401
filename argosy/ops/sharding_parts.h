// Parts of sharding rules that depend on shapes, attributes or known integers: such a rule writes its text for the node.
//
//   Result<ShardingRule> transpose_rule(const ShapeContext& c) {
//     DimNames y;
//     for (int axis : perm) y.push_back(x[axis]);
//     return sharding_rule_from_text(joined(x) + ", . -> " + joined(y), c);
//   }
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "argosy/op/definition/shape_context.h"
#include "argosy/op/definition/sharding_text.h"

namespace argosy {

class OpRegistry;  // argosy/op/definition/registry.h

// One factor a dimension, in the notation of sharding_text.h; "1" where a dimension belongs to none.
using DimNames = std::vector<std::string>;
DimNames dim_names(int rank, std::string_view letter = "d");  // "d0", "d1", …
std::string joined(const DimNames& names);                    // "d0 1 d2"; "-" for a scalar

// The node is computed whole.
ShardingRule whole_because(std::string why);

// `axis` of a tensor of this rank, counted from the end where it is negative; none: not known, or out of range.
std::optional<int> axis_within(std::optional<std::int64_t> axis, int rank);
// The axes that integer input `i` names, of a tensor of this rank; none: not all are known, or one is out of range.
std::optional<std::vector<int>> axes_within(const ShapeContext& c, int i, int rank);

// Ops whose definitions are made in loops and tables: what they say of their sharding, by name.
struct ShardingRow {
  std::string_view op;
  std::string_view text = {};
  ShardingRuleFn rule = nullptr;
};
// Defines what `define` defines. An op that says nothing itself takes what its row says, or else `otherwise`.
// REQUIRES: every row names an op that `define` defines and that says nothing else itself.
void with_sharding(OpRegistry& ops, void (*define)(OpRegistry&), const std::vector<ShardingRow>& rows,
                   std::string_view otherwise = {});

}  // namespace argosy
