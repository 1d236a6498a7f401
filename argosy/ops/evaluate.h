// A plain evaluator: runs a small graph on the calling thread, node after node, in host memory. Constant folding and
// the op tests use it; sessions have the executor. Functional control flow is called as
// it stands; no dead values, frames, Send or Recv.
#pragma once

#include <unordered_map>
#include <vector>

#include "argosy/graph/graph.h"
#include "argosy/op/kernel/kernel.h"

namespace argosy {

struct EvaluateOptions {
  const KernelRegistry* kernels = nullptr;  // null: cpu_kernels()
  ResourceManager* resources = nullptr;     // null: a private one
  Allocator* memory = nullptr;              // the host's, of what ops give; null: host_allocator()
  bool reference = false;                   // the last kernel of each list instead of the first
};

// Values of `fetches` (no tensor for a control value: its node is run); `feeds` replace what an endpoint would compute.
// Errors name the node.
Result<std::vector<Tensor>> evaluate(const Graph& graph, const std::unordered_map<Endpoint, Tensor>& feeds,
                                     const std::vector<Endpoint>& fetches, const EvaluateOptions& options = {});

// One op on given inputs: what it outputs.
Result<std::vector<Tensor>> evaluate_op(const OpDef& op, AttrMap attrs, const std::vector<Tensor>& inputs,
                                        const EvaluateOptions& options = {});

}  // namespace argosy
