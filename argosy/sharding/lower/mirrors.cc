// Copies the nodes outside of the step that write variables (initialisers, restores), so that they write every mirror.
#include "argosy/sharding/lower/lower_state.h"

namespace argosy {

namespace {

// True if the node takes a reference or handle and changes the state behind it.
bool writes(const Graph& g, const Node& n) {
  if (n.inputs.empty() || n.op->flow != Flow::kNone || n.op->input_args.empty()) return false;
  if (n.op->input_args[0].is_ref) return n.output_is_ref(0);
  // Generators give numbers, and write where they are.
  const bool changes = n.output_dtypes.empty() || n.op->effect == Effect::kChanges;
  return g.dtype(n.inputs[0]) == DType::kResource && n.op->stateful && changes;
}

}  // namespace

Status write_mirrors(LowerState& s) {
  for (std::int32_t i = 0; i < s.base.size(); ++i) {
    const NodeId id{i};
    if (s.is_copied(id) || !writes(s.base, s.base.node(id))) continue;
    const auto variable = s.variable_behind(s.base.node(id).inputs[0]);
    if (!variable || !s.is_copied(*variable)) continue;
    std::vector<NodeId> made;
    for (int d = 1; d < s.size(); ++d) {
      if (!s.starts_device(d)) continue;
      const Node& n = s.graph.node(id);
      NodeSpec spec{.name = s.graph.unique_name(str_cat(n.name, "/replica_", made.size() + 1)),
                    .op = n.op->name,
                    .inputs = {n.inputs.begin(), n.inputs.end()},
                    .controls = {n.controls.begin(), n.controls.end()},
                    .attrs = n.attributes(),
                    .device = s.devices[static_cast<std::size_t>(d)]};
      spec.inputs[0] = {s.copies[static_cast<std::size_t>(d)][static_cast<std::size_t>(variable->index)], 0};
      ARGOSY_ASSIGN_OR_RETURN(made.emplace_back(), s.graph.add_node(std::move(spec)));
      s.graph.set_colocation(made.back(), {});
    }
    for (const NodeId copy : made) s.graph.add_control_input(id, copy);
  }
  return ok_status();
}

}  // namespace argosy
