#include "argosy/passes/merge_equal.h"

#include <algorithm>
#include <functional>
#include <unordered_map>

namespace argosy {

namespace {

constexpr std::size_t kMaxConstantBytes = 4096;  // comparing larger constants costs more than a copy saves

std::size_t combine(std::size_t seed, std::size_t value) {
  return seed ^ (value + 0x9e3779b97f4a7c15 + (seed << 6) + (seed >> 2));
}

std::size_t hash_attr(const AttrValue& value) {
  if (const auto* t = std::get_if<Tensor>(&value)) {
    std::size_t h = std::hash<std::string>()(t->shape().to_string());
    if (is_plain(t->dtype())) {
      h = combine(h, std::hash<std::string_view>()(
                         {static_cast<const char*>(t->raw()), std::min<std::size_t>(t->bytes(), 64)}));
    }
    return h;
  }
  if (const auto* i = std::get_if<std::int64_t>(&value)) return static_cast<std::size_t>(*i);
  if (const auto* b = std::get_if<bool>(&value)) return *b ? 1 : 2;
  if (const auto* d = std::get_if<DType>(&value)) return static_cast<std::size_t>(*d) + 16;
  return std::hash<std::string>()(attr_to_string(value));
}

std::size_t hash_node(const Node& n) {
  std::size_t h = std::hash<const void*>()(n.op);
  for (const Endpoint e : n.inputs) h = combine(h, std::hash<Endpoint>()(e));
  for (const NodeId c : n.controls) h = combine(h, static_cast<std::size_t>(c.index) + 7);
  for (const auto& [name, value] : n.attrs) h = combine(h, hash_attr(value));
  return combine(h, std::hash<std::string>()(n.device));
}

bool may_merge(const Node& n) {
  if (n.op->stateful || n.op->flow != Flow::kNone || n.op->async || n.op->has_ref_input() || n.output_dtypes.empty())
    return false;
  if (!n.output_refs.empty()) return false;
  const Tensor* constant = n.op->name == "Const" ? n.attrs.find_as<Tensor>("value") : nullptr;
  return constant == nullptr || (is_plain(constant->dtype()) && constant->bytes() <= kMaxConstantBytes);
}

bool equal(const Node& a, const Node& b) {
  return a.op == b.op && a.inputs == b.inputs && a.controls == b.controls && a.device == b.device && a.attrs == b.attrs;
}

// A read of a variable as a value may see another value than an earlier one.
bool reads_reference(const Graph& graph, const Node& n) {
  return std::any_of(n.inputs.begin(), n.inputs.end(),
                     [&](Endpoint e) { return graph.node(e.node).output_is_ref(e.index); });
}

}  // namespace

Result<int> merge_equal_nodes(StepGraph& step) {
  Graph& graph = step.graph;
  ARGOSY_ASSIGN_OR_RETURN(const auto order, graph.topological_order());
  const auto uses = graph.consumers();
  std::unordered_multimap<std::size_t, NodeId> seen;
  int merged = 0;
  for (const NodeId id : order) {
    const Node& n = graph.node(id);
    if (!may_merge(n) || reads_reference(graph, n)) continue;
    const std::size_t h = hash_node(n);
    const auto [first, last] = seen.equal_range(h);
    const auto twin = std::find_if(first, last, [&](const auto& entry) { return equal(graph.node(entry.second), n); });
    if (twin == last) {
      seen.emplace(h, id);
      continue;
    }
    const NodeId kept = twin->second;
    for (const Graph::Use& u : uses[id.index]) {
      if (u.input >= 0) {
        const Endpoint from = graph.node(u.node).inputs[u.input];
        if (from.node == id) graph.set_input(u.node, u.input, {kept, from.index});
      } else {
        graph.add_control_input(u.node, kept);
      }
    }
    for (Endpoint& fetch : step.fetches) {
      if (fetch.node == id) fetch.node = kept;
    }
    for (NodeId& target : step.targets) {
      if (target == id) target = kept;
    }
    ++merged;
  }
  return merged;
}

}  // namespace argosy
