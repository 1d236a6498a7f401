#include "argosy/train/report/step_cost.h"

#include "argosy/op/definition/shape_context.h"
#include "argosy/passes/simplify/prune.h"

namespace argosy {

Cost node_cost(const Graph& graph, const Node& n) {
  std::vector<DType> dtypes;
  std::vector<const PartialShape*> shapes;
  std::vector<const PartialInts*> ints;
  for (const Endpoint e : n.inputs) {
    dtypes.push_back(graph.dtype(e));
    shapes.push_back(&graph.shape(e));
    ints.push_back(graph.known_ints(e));
  }
  std::vector<PartialShape> outputs = n.output_shapes;
  const ShapeContext context(*n.op, n.attrs, dtypes, shapes, ints, outputs);
  return n.op->cost(context);
}

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
