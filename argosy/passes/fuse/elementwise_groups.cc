#include "argosy/passes/fuse/elementwise_groups.h"

#include <algorithm>
#include <utility>

#include "argosy/op/definition/opcode.h"
#include "argosy/ops/collective/turns.h"
#include "argosy/ops/elementwise/fused/fused.h"

namespace argosy {

namespace {

constexpr std::size_t kMostTried = 32;  // groups that are remembered to have been tried: longer lists cost more
constexpr int kMostVisits = 256;        // nodes looked at to see whether a merge would close a cycle

}  // namespace

ElementwiseGroups::ElementwiseGroups(const StepGraph& step)
    : graph_(step.graph),
      users_(step),
      hidden_(graph_),
      group_of_(static_cast<std::size_t>(graph_.size()), -1),
      seen_(static_cast<std::size_t>(graph_.size()), 0) {
  flow_ = std::any_of(graph_.nodes().begin(), graph_.nodes().end(),
                      [](const Node& n) { return n.op->flow != Flow::kNone; });
}

void ElementwiseGroups::add(NodeId id) {
  if (!may_join(id) || join_a_reader(id)) return;
  group_of_[id.index] = static_cast<int>(groups_.size());
  groups_.push_back({id});
}

Endpoint ElementwiseGroups::source(Endpoint e) const {
  const Node& n = graph_.node(e.node);
  if (flow_ || !n.controls.empty() || n.op->broadcasts == Broadcasts::kNone) return e;
  const bool first = n.op->broadcasts == Broadcasts::kFirst;
  const Endpoint number = n.inputs[first ? 0 : 1], size = n.inputs[first ? 1 : 0];
  if (graph_.constant(size) == nullptr) return e;  // a step may need its effects (simplify/size_only_effects.h)
  return graph_.shape(number).is_full() && graph_.shape(number).elements() == 1 && !is_ref(number) ? number : e;
}

bool ElementwiseGroups::may_join(NodeId id) const {
  const Node& n = graph_.node(id);
  const bool bias = n.op->opcode == Opcode::kBiasAdd && n.attrs.get_or<std::string>("data_format", "NHWC") == "NHWC";
  if ((!n.op->elementwise && !bias) || n.op->stateful || n.output_dtypes.size() != 1 || n.inputs.empty() ||
      n.inputs.size() > 3 || !n.controls.empty() || !n.output_refs.empty()) {
    return false;
  }
  const PartialShape& shape = n.output_shapes[0];
  if (!shape.is_full() || shape.elements() == 0) return false;
  SmallVector<DType, 4> dtypes;
  for (const Endpoint e : n.inputs) {
    if (is_ref(e) || !fused_operand(graph_.shape(e), shape)) return false;
    dtypes.push_back(graph_.dtype(e));
  }
  const auto uses = users_[id];
  return std::all_of(uses.begin(), uses.end(), [](const Graph::Use& u) { return u.input >= 0; }) &&
         fused_function(n.op->name, dtypes, n.output_dtypes[0]).has_value();
}

// The rest of it, which is asked when two are about to meet: attributes lie far away, and most nodes stay alone.
bool ElementwiseGroups::attrs_allow(NodeId id) const {
  const Node& n = graph_.node(id);
  return n.colocated_with.empty() && !n.attrs.get_or("Truncate", false) && !Turn::of(n.attrs).sum;
}

bool ElementwiseGroups::join_a_reader(NodeId id) {
  SmallVector<int, 8> tried;
  for (const Graph::Use& u : users_[id]) {
    const int g = group_of_[u.node.index];
    if (g < 0 || std::find(tried.begin(), tried.end(), g) != tried.end()) continue;
    if (tried.size() < kMostTried) tried.push_back(g);
    if (!fits(id, g)) continue;
    group_of_[id.index] = g;
    groups_[static_cast<std::size_t>(g)].push_back(id);
    return true;
  }
  return false;
}

bool ElementwiseGroups::fits(NodeId id, int g) {
  Members& members = groups_[static_cast<std::size_t>(g)];
  const Node &n = graph_.node(id), &first = graph_.node(members.front());
  if (n.device != first.device || !(n.output_shapes[0] == first.output_shapes[0])) return false;
  if (members.size() >= kMostSteps || !attrs_allow(id)) return false;
  if (members.size() == 1 && !attrs_allow(members.front())) return false;
  if (!(Turn::of(n.attrs) == Turn::of(first.attrs))) return false;  // the inputs of one would wait for the other
  const bool outside = seen_outside(id, g);
  if (outside && (flow_ || reaches(id, g))) return false;
  members.push_back(id);
  group_of_[id.index] = g;
  const bool small = inputs_of(members, g).size() <= kMostInputs && outputs_of(members, g).size() <= kMostOutputs;
  members.pop_back();
  group_of_[id.index] = -1;
  return small;
}

bool ElementwiseGroups::seen_outside(NodeId id, int g) const {
  const auto uses = users_[id];
  return users_.is_preserved(id) ||
         std::any_of(uses.begin(), uses.end(), [&](const Graph::Use& u) { return group_of_[u.node.index] != g; });
}

// Does `id` lead to the group by way of nodes outside? Groups count as one node each, as they will be.
bool ElementwiseGroups::reaches(NodeId id, int g) {
  ++visit_;
  int visits = 0;
  std::vector<NodeId> stack;
  const auto push = [&](NodeId from) {
    for (const Graph::Use& u : users_[from]) {
      if (seen_[u.node.index] == visit_) continue;
      seen_[u.node.index] = visit_;
      stack.push_back(u.node);
    }
  };
  for (const Graph::Use& u : users_[id]) {
    if (group_of_[u.node.index] == g || seen_[u.node.index] == visit_) continue;
    seen_[u.node.index] = visit_;
    stack.push_back(u.node);
  }
  while (!stack.empty()) {
    const NodeId at = stack.back();
    stack.pop_back();
    if (++visits > kMostVisits) return true;
    const int group = group_of_[at.index];
    if (group == g) return true;
    if (group < 0) {
      push(at);
      for (const NodeId waiting : hidden_.behind(at)) {
        if (std::exchange(seen_[waiting.index], visit_) != visit_) stack.push_back(waiting);
      }
    } else {
      for (const NodeId member : groups_[static_cast<std::size_t>(group)]) push(member);
    }
  }
  return false;
}

ElementwiseGroups::Inputs ElementwiseGroups::inputs_of(const Members& members, int g) const {
  Inputs inputs;
  for (const NodeId m : members) {
    for (const Endpoint e : graph_.node(m).inputs) {
      if (group(e.node) == g) continue;
      const Endpoint from = source(e);
      if (std::find(inputs.begin(), inputs.end(), from) == inputs.end()) inputs.push_back(from);
    }
  }
  return inputs;
}

ElementwiseGroups::Outputs ElementwiseGroups::outputs_of(const Members& members, int g) const {
  Outputs outputs;
  for (const NodeId m : members) {
    if (seen_outside(m, g)) outputs.push_back(m);
  }
  return outputs;
}

}  // namespace argosy
