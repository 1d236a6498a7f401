#include "argosy/passes/functions/lower_calls.h"

namespace argosy::lowering {

Status lower_call(Caller& caller) { return lower_call_to(caller, caller.function("f"), caller.node.inputs); }

Status lower_call_on(Caller& caller) {
  const Tensor* const target = caller.graph.constant(caller.node.inputs[0]);
  if (target != nullptr && target->dtype() == DType::kString && target->elements() == 1) {
    caller.in.move_to(*target->data<std::string>());
  }
  return lower_call_to(caller, caller.function("f"), {caller.node.inputs.begin() + 1, caller.node.inputs.end()});
}

Status lower_call_to(Caller& caller, const std::string& name, std::vector<Endpoint> args) {
  NodeId entry;
  ARGOSY_ASSIGN_OR_RETURN(const NodeId gate, caller.in.gate_of(caller.node));
  if (!caller.node.controls.empty() || gate.index >= 0) {
    std::vector<NodeId> controls = caller.node.controls;
    if (gate.index >= 0) controls.push_back(gate);
    ARGOSY_ASSIGN_OR_RETURN(entry, caller.in.add("NoOp", {}, {}, "entry", controls));
  }
  if (!caller.node.controls.empty()) {
    for (Endpoint& arg : args) {
      ARGOSY_ASSIGN_OR_RETURN(const NodeId late, caller.in.add("Identity", {arg}, {}, "arg", {entry}));
      arg = {late, 0};
    }
  }
  ARGOSY_ASSIGN_OR_RETURN(
      const Body body, caller.in.inline_function(name, args, caller.node.output_dtypes, entry, "", entry.index >= 0));
  caller.finished = body.effects;
  if (entry.index >= 0) caller.finished.push_back(entry);
  caller.outputs = body.returns;
  for (Endpoint& output : caller.outputs) {
    if (body.effects.empty()) break;
    ARGOSY_ASSIGN_OR_RETURN(const NodeId last, caller.in.add("Identity", {output}, {}, "output", body.effects));
    output = {last, 0};
  }
  return ok_status();
}

}  // namespace argosy::lowering
