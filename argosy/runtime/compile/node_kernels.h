// NodeKernels: makes the kernels of a step's nodes, and runs those that find handles: what a name refers to does not
// change before a resource goes.
#pragma once

#include <memory>
#include <vector>

#include "argosy/op/kernel/function_call.h"
#include "argosy/op/kernel/workspace.h"
#include "argosy/runtime/step/step.h"

namespace argosy {

class NodeKernels {
 public:
  // All outlive it. Kernels go to Step::kernels.
  NodeKernels(const Graph& graph, const DevicePlacement& placement, const KernelRegistry& kernels, Step& step)
      : graph_(graph), placement_(placement), kernels_(kernels), step_(step) {}

  // The node's kernel on its device. UNIMPLEMENTED when every kernel declines.
  Result<Kernel*> make(NodeId id);
  // What a node without inputs refers to, which will be the constant of this slot. Adds to Step::handles what it finds by
  // name. The forecast counts a variable of known shape.
  Result<Tensor> handle(NodeId id, std::int32_t slot);

 private:
  // Adds the node's workspace to the forecast. A device's kernels run one after the other: the largest counts.
  void take_workspace(Workspace& says, const KernelInit& init, int device);
  const std::shared_ptr<FunctionCalls>& functions();

  const Graph& graph_;
  const DevicePlacement& placement_;
  const KernelRegistry& kernels_;
  Step& step_;
  std::vector<std::uint64_t> workspace_;  // by device: the largest so far
  std::shared_ptr<FunctionCalls> functions_;
};

}  // namespace argosy
