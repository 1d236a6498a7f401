#include "argosy/passes/fuse/relu_before_pool.h"

#include "argosy/op/definition/opcode.h"
#include "argosy/passes/has_op.h"
#include "argosy/passes/node_users.h"

namespace argosy {

namespace {

// True if the pooled image that the gradient reads is the MaxPool of its own image and windows.
bool is_of_its_pooling(const Graph& graph, const Node& gradient) {
  const Node& pool = graph.node(gradient.inputs[1].node);
  if (pool.op->opcode != Opcode::kMaxPool || pool.inputs[0] != gradient.inputs[0]) return false;
  const auto same = [&](const char* name) {
    const AttrValue *const a = pool.attrs.find(name), *const b = gradient.attrs.find(name);
    return a != nullptr && b != nullptr && attr_equal(*a, *b);
  };
  return same("ksize") && same("strides") && same("padding") && same("explicit_paddings") && same("data_format");
}

}  // namespace

Result<int> relu_before_pool(StepGraph& step) {
  Graph& graph = step.graph;
  if (!has_op(graph, [](const OpDef& op) { return op.opcode == Opcode::kMaxPoolGrad; })) return 0;
  const NodeUsers users(step);
  int swapped = 0;
  const int size = graph.size();
  for (int i = 0; i < size; ++i) {
    const NodeId relu{i};
    if (graph.node(relu).op->opcode != Opcode::kReluGrad || !graph.node(relu).controls.empty() ||
        users.is_preserved(relu)) {
      continue;
    }
    const Endpoint gradient = graph.node(relu).inputs[0], features = graph.node(relu).inputs[1];
    const NodeId pool = gradient.node;
    if (graph.node(pool).op->opcode != Opcode::kMaxPoolGrad || graph.node(pool).inputs[0] != features ||
        !is_of_its_pooling(graph, graph.node(pool)) || !users.single_user(pool)) {
      continue;
    }
    const auto readers = users[relu];
    bool waited_for = false;
    for (const Graph::Use& u : readers) waited_for |= u.input < 0;
    if (waited_for) continue;
    const Node& old = graph.node(relu);
    NodeSpec spec{.name = graph.unique_name(str_cat(old.name, "/pooled")),
                  .op = old.op->name,
                  .inputs = {graph.node(pool).inputs[2], graph.node(pool).inputs[1]},
                  .attrs = old.attributes(),
                  .device = old.device};
    ARGOSY_ASSIGN_OR_RETURN(const NodeId before, graph.add_node(std::move(spec)));
    graph.set_input(pool, 2, {before, 0});
    for (const Graph::Use& u : readers) graph.set_input(u.node, u.input, {pool, 0});
    ++swapped;
  }
  return swapped;
}

}  // namespace argosy
