#include "argosy/passes/simplify/size_only_effects.h"

#include <algorithm>
#include <utility>

#include "argosy/graph/function_body.h"

namespace argosy {

namespace {

using IsRead = SizeOnlyEffects::IsRead;

bool is_effect(const Node& n) { return has_effect(n) || (n.op->async && !n.inputs.empty()); }

// By node: is it behind the roots, going along inputs that are read? Null: along all.
std::vector<char> behind(const Graph& graph, std::span<const NodeId> roots, const IsRead& is_read) {
  std::vector<char> seen(static_cast<std::size_t>(graph.size()), 0);
  std::vector<NodeId> open;
  const auto see = [&](NodeId id) {
    if (!std::exchange(seen[static_cast<std::size_t>(id.index)], 1)) open.push_back(id);
  };
  for (const NodeId root : roots) see(root);
  while (!open.empty()) {
    const NodeId id = open.back();
    open.pop_back();
    const Node& n = graph.node(id);
    for (const NodeId c : n.controls) see(c);
    for (int i = 0; i < std::ssize(n.inputs); ++i) {
      if (is_read == nullptr || is_read(id, i)) see(n.inputs[static_cast<std::size_t>(i)].node);
    }
  }
  return seen;
}

// Sizes that are not known before the step may not fit: they are the kernel's to refuse.
bool sizes_are_known(const Graph& graph, const Node& n) {
  return std::all_of(n.inputs.begin() + 1, n.inputs.end(), [&](Endpoint e) {
    const PartialInts* const sizes = graph.known_ints(e);
    return sizes != nullptr && std::find(sizes->begin(), sizes->end(), std::nullopt) == sizes->end();
  });
}

std::vector<NodeId> roots_of(const StepGraph& step) {
  std::vector<NodeId> roots = step.targets;
  for (const Endpoint e : step.fetches) roots.push_back(e.node);
  return roots;
}

}  // namespace

bool changes_nothing(const Graph& graph, const Node& n) {
  if (n.inputs.empty() || n.output_dtypes.size() != 1) return false;
  switch (n.op->identity_when) {
    case IdentityWhen::kNever: return false;
    case IdentityWhen::kNoAxes: {
      const Tensor* const axes = graph.constant(n.inputs[1]);
      return axes != nullptr && axes->elements() == 0;
    }
    case IdentityWhen::kSameShape: {
      const PartialShape& shape = n.output_shapes[0];
      return shape.is_full() && shape == graph.shape(n.inputs[0]) && sizes_are_known(graph, n);
    }
  }
  return false;
}

SizeOnlyEffects::SizeOnlyEffects(const Graph& graph, const std::vector<NodeId>& order, std::span<const NodeId> roots,
                                 const IsRead& is_read) {
  if (std::none_of(order.begin(), order.end(), [&](NodeId id) { return is_effect(graph.node(id)); })) return;
  const std::vector<char> read = behind(graph, roots, is_read), run = behind(graph, roots, nullptr);
  std::vector<char> lost(read.size(), 0);
  const auto at = [](NodeId id) { return static_cast<std::size_t>(id.index); };
  bool any = false;
  for (const NodeId id : order) {
    lost[at(id)] = run[at(id)] != 0 && read[at(id)] == 0 && is_effect(graph.node(id)) ? 1 : 0;
    any |= lost[at(id)] != 0;
  }
  if (!any) return;
  // More than once, as loops go back.
  for (bool changed = true; std::exchange(changed, false);) {
    for (const NodeId id : order) {
      const Node& n = graph.node(id);
      if (lost[at(id)] != 0) continue;
      if (std::any_of(n.inputs.begin(), n.inputs.end(), [&](Endpoint e) { return lost[at(e.node)] != 0; }) ||
          std::any_of(n.controls.begin(), n.controls.end(), [&](NodeId c) { return lost[at(c)] != 0; })) {
        lost[at(id)] = 1;
        changed = true;
      }
    }
  }
  lost_ = std::move(lost);
}

SizeOnlyEffects::SizeOnlyEffects(const StepGraph& step, const std::vector<NodeId>& order, const KnownValues& known)
    : SizeOnlyEffects(step.graph, order, roots_of(step), [&](NodeId id, int input) {
        if (known.follows_from_shapes(id)) return false;
        return input == 0 || !changes_nothing(step.graph, step.graph.node(id));
      }) {}

}  // namespace argosy
