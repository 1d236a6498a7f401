#include "argosy/train/report/step_cost.h"

#include "argosy/graph/node_context.h"
#include "argosy/passes/simplify/prune.h"

namespace argosy {

Cost node_cost(const Graph& graph, const Node& n) { return ask_op(graph, n, n.op->cost); }

Result<Cost> step_cost(CompiledModel& program, std::int64_t batch) {
  const auto signature = program.signature(batch);
  ARGOSY_ASSIGN_OR_RETURN(const StepGraph step, prune_step(program.replicated_graph(), signature));
  Cost total;
  for (const Node& n : step.graph.nodes()) {
    const Cost c = node_cost(step.graph, n);
    total.flops += c.flops;
    total.bytes += c.bytes;
  }
  return total;
}

}  // namespace argosy
