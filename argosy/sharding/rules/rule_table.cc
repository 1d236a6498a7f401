#include "argosy/sharding/rules/rule_table.h"

#include <unordered_map>

#include "argosy/op/definition/shape_context.h"

namespace argosy {

namespace {

void append(std::string& key, std::int64_t value) { key.append(reinterpret_cast<const char*>(&value), sizeof value); }

void append(std::string& key, const PartialShape& shape) {
  append(key, shape.rank());
  for (int d = 0; d < shape.rank(); ++d) append(key, shape[d]);
}

void append(std::string& key, const PartialInts* ints) {
  append(key, ints == nullptr ? -1 : std::ssize(*ints));
  if (ints == nullptr) return;
  for (const auto& value : *ints) {
    append(key, value ? 1 : 0);
    append(key, value.value_or(0));
  }
}

}  // namespace

Result<RuleTable> RuleTable::make(const Graph& graph, const Sizes& sizes, const RuleOf& rule_of) {
  RuleTable table;
  table.rule_of_.resize(static_cast<std::size_t>(graph.size()));
  std::unordered_map<std::string, std::size_t> known;
  std::string key;
  std::vector<DType> dtypes;
  std::vector<const PartialShape*> shapes;
  std::vector<const PartialInts*> ints;
  std::vector<const HandleFact*> handles;
  std::vector<PartialShape> outputs;
  for (std::int32_t i = 0; i < graph.size(); ++i) {
    const Node& n = graph.node(NodeId{i});
    key.clear(), dtypes.clear(), shapes.clear(), ints.clear(), handles.clear(), outputs.clear();
    append(key, static_cast<std::int64_t>(reinterpret_cast<std::intptr_t>(n.op)));
    // Nodes with equal attributes share them.
    append(key, n.attrs.size() == 0 ? 0 : static_cast<std::int64_t>(reinterpret_cast<std::intptr_t>(n.attrs.begin())));
    for (const Endpoint e : n.inputs) {
      dtypes.push_back(graph.dtype(e));
      shapes.push_back(&sizes.shape(e));
      ints.push_back(sizes.ints(e));
      handles.push_back(sizes.handle(e));
      append(key, *shapes.back());
      append(key, ints.back());
      if (handles.back() != nullptr) append(key, handles.back()->shape);
    }
    for (std::int32_t k = 0; k < std::ssize(n.output_dtypes); ++k) {
      outputs.push_back(sizes.shape({NodeId{i}, k}));
      append(key, outputs.back());
    }
    const auto [at, fresh] = known.try_emplace(key, table.rules_.size());
    table.rule_of_[static_cast<std::size_t>(i)] = at->second;
    if (!fresh) continue;
    if (passes_on(*n.op)) {
      table.rules_.push_back({.kind = ShardingRule::Kind::kWhole, .why = "it passes on what it gets"});
      continue;
    }
    auto rule = rule_of(ShapeContext(*n.op, n.attrs, dtypes, shapes, ints, outputs, handles));
    if (!rule.ok()) return std::move(rule).status().with_where(str_cat("node '", n.name, "' (", n.op->name, ")"));
    const bool covers = rule->kind != ShardingRule::Kind::kFactors ||
                        (rule->inputs.size() == n.inputs.size() && rule->outputs.size() == n.output_dtypes.size());
    if (!covers) {
      return internal_error("the sharding rule of '", n.name, "' (", n.op->name, ") has ", rule->inputs.size(),
                            " inputs and ", rule->outputs.size(), " outputs; the node has ", n.inputs.size(), " and ",
                            n.output_dtypes.size());
    }
    table.rules_.push_back(*std::move(rule));
  }
  return table;
}

bool passes_on(const OpDef& op) {
  switch (op.flow) {
    case Flow::kSwitch:
    case Flow::kMerge:
    case Flow::kEnter:
    case Flow::kExit:
    case Flow::kNextIteration: return true;
    default: return false;
  }
}

bool is_passed_on(const OpDef& op, int input) { return op.flow != Flow::kSwitch || input == 0; }

}  // namespace argosy
