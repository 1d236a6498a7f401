// A plain evaluator: runs a small graph on the calling thread, node after node, in host memory. Constant folding and
// the op tests use it; sessions use an executor. Nodes of If, While and calls run their functions. It supports no dead
// values, frames, Send or Recv.
#pragma once

#include <unordered_map>
#include <vector>

#include "argosy/graph/graph.h"
#include "argosy/op/kernel/kernel.h"

namespace argosy {

struct EvaluateOptions {
  const KernelRegistry* kernels = nullptr;  // null: cpu_kernels()
  ResourceManager* resources = nullptr;     // null: a private one
  Allocator* memory = nullptr;              // host memory for outputs; null: host_allocator()
  bool reference = false;                   // use the reference kernel, the last of each op
};

// Returns the values of `fetches`: for a control value an invalid tensor, after its node has run. `feeds` replace the
// values of endpoints. A failing node's error names it.
Result<std::vector<Tensor>> evaluate(const Graph& graph, const std::unordered_map<Endpoint, Tensor>& feeds,
                                     const std::vector<Endpoint>& fetches, const EvaluateOptions& options = {});

// Runs one op on these inputs, and returns its outputs.
Result<std::vector<Tensor>> evaluate_op(const OpDef& op, AttrMap attrs, const std::vector<Tensor>& inputs,
                                        const EvaluateOptions& options = {});

}  // namespace argosy
