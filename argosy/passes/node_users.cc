#include "argosy/passes/node_users.h"

namespace argosy {

PreservedNodes::PreservedNodes(const StepGraph& step) {
  const auto add = [&](NodeId id, Flag flag) {
    const auto i = static_cast<std::size_t>(id.index);
    if (i >= flags_.size()) flags_.resize(i + 1, 0);
    flags_[i] = static_cast<char>(flags_[i] | flag);
  };
  for (const Endpoint e : step.fetches) add(e.node, e.index == Value::kControl ? kControl : kFetched);
  for (const NodeId t : step.targets) add(t, kTarget);
}

NodeUsers::NodeUsers(const StepGraph& step) : graph_(step.graph), preserved_(step) { refresh(); }

void NodeUsers::refresh() {
  uses_ = graph_.consumers();
  nodes_ = static_cast<std::size_t>(graph_.size());
}

std::optional<NodeId> NodeUsers::single_user(NodeId id) const {
  if (static_cast<std::size_t>(id.index) >= nodes_) return std::nullopt;
  const auto uses = uses_[id.index];
  if (uses.size() != 1 || uses[0].input < 0 || preserved_.contains(id)) return std::nullopt;
  const NodeId user = uses[0].node;
  return graph_.node(user).device == graph_.node(id).device ? std::optional(user) : std::nullopt;
}

std::optional<NodeId> NodeUsers::absorbable_input(NodeId reader, int k, Opcode op) const {
  const NodeId from = graph_.node(reader).inputs[static_cast<std::size_t>(k)].node;
  const Node& n = graph_.node(from);
  if (n.op->opcode != op || !n.controls.empty() || !single_user(from)) return std::nullopt;
  return from;
}

}  // namespace argosy
