// Building blocks for sharding rules that depend on shapes, attributes or known integers. Such a rule builds its text
// for each node:
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

// The name of each dimension's factor, in the notation of sharding_text.h; "1" for a dimension without a factor.
using DimNames = std::vector<std::string>;
DimNames dim_names(int rank, std::string_view letter = "d");  // "d0", "d1", …
std::string joined(const DimNames& names);                    // "d0 1 d2"; "-" for a scalar

// A rule that computes the node whole on every device, with the reason.
ShardingRule whole_because(std::string why);

// Returns `axis` of a tensor of this rank, counted from the end if negative; nullopt if it is unknown or out of range.
std::optional<int> axis_within(std::optional<std::int64_t> axis, int rank);
// Returns the axes that integer input `i` names, of a tensor of this rank; nullopt if one is unknown or out of range.
std::optional<std::vector<int>> axes_within(const ShapeContext& c, int i, int rank);

// The sharding rule of one op, by name, for ops that are defined in loops and tables.
struct ShardingRow {
  std::string_view op;
  std::string_view text = {};
  ShardingRuleFn rule = nullptr;
};
// Defines the ops of `define`. An op without a sharding rule of its own gets that of its row, or else `otherwise`; an
// elementwise op without a row keeps the elementwise rule. REQUIRES: every row names an op that `define` defines, and
// that has no other rule of its own.
void with_sharding(OpRegistry& ops, void (*define)(OpRegistry&), const std::vector<ShardingRow>& rows,
                   std::string_view otherwise = {});

}  // namespace argosy
