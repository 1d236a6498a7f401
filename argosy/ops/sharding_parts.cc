#include "argosy/ops/sharding_parts.h"

#include <algorithm>
#include <cstdio>

#include "argosy/op/definition/registry.h"

namespace argosy {

DimNames dim_names(int rank, std::string_view letter) {
  DimNames names;
  for (int d = 0; d < rank; ++d) names.push_back(str_cat(letter, d));
  return names;
}

std::string joined(const DimNames& names) { return names.empty() ? "-" : str_join(names, " "); }

ShardingRule whole_because(std::string why) { return {.kind = ShardingRule::Kind::kWhole, .why = std::move(why)}; }

std::optional<int> axis_within(std::optional<std::int64_t> axis, int rank) {
  if (!axis || *axis < -rank || *axis >= rank) return std::nullopt;
  return static_cast<int>(*axis < 0 ? *axis + rank : *axis);
}

std::optional<std::vector<int>> axes_within(const ShapeContext& c, int i, int rank) {
  const PartialInts* const known = c.ints(i);
  if (known == nullptr) return std::nullopt;
  std::vector<int> axes;
  for (const auto& k : *known) {
    const auto axis = axis_within(k, rank);
    if (!axis) return std::nullopt;
    axes.push_back(*axis);
  }
  return axes;
}

void with_sharding(OpRegistry& ops, void (*define)(OpRegistry&), const std::vector<ShardingRow>& rows,
                   std::string_view otherwise) {
  OpRegistry own;
  define(own);
  for (const ShardingRow& row : rows) {
    if (own.find(row.op) == nullptr) {
      std::fprintf(stderr, "a sharding rule names %.*s, which is not defined there\n", static_cast<int>(row.op.size()),
                   row.op.data());
    }
    ARGOSY_CHECK(own.find(row.op) != nullptr);
  }
  for (std::unique_ptr<OpDef>& op : own.release()) {
    const auto row = std::find_if(rows.begin(), rows.end(), [&](const ShardingRow& r) { return r.op == op->name; });
    const bool says = !op->sharding.empty() || op->sharding_rule != nullptr;
    const bool alike = row == rows.end() || (op->sharding == row->text && op->sharding_rule == row->rule);
    if (says && !alike) std::fprintf(stderr, "op %s says in two ways how it is sharded\n", op->name.c_str());
    ARGOSY_CHECK(!says || alike);
    if (!says && row != rows.end()) {
      op->sharding = row->text;
      op->sharding_rule = row->rule;
    } else if (!says && !op->elementwise) {
      op->sharding = otherwise;
    }
    if (!says && !op->sharding.empty()) {
      const Status right = check_sharding_text(*op, op->sharding);
      if (!right.ok()) std::fprintf(stderr, "%s\n", right.to_string().c_str());
      ARGOSY_CHECK(right.ok());
    }
    ops.add(std::move(op));
  }
}

}  // namespace argosy
