// NodeKernels: makes the kernels of a step's nodes. Kernels that return resource handles also run here, at compile
// time: what a name refers to changes only when a resource is destroyed.
#pragma once

#include <memory>
#include <vector>

#include "argosy/op/kernel/function_call.h"
#include "argosy/op/kernel/workspace.h"
#include "argosy/runtime/step/step.h"

namespace argosy {

class NodeKernels {
 public:
  // All arguments must outlive this object. Kernels are added to Step::kernels.
  NodeKernels(const Graph& graph, const DevicePlacement& placement, const KernelRegistry& kernels, Step& step)
      : graph_(graph), placement_(placement), kernels_(kernels), step_(step) {}

  // The node's kernel on its device. UNIMPLEMENTED when every kernel declines.
  Result<Kernel*> make(NodeId id);
  // Runs the kernel of a node without inputs, and returns the handle that it gives. The handle will be the constant of
  // `slot`; if it was found by name, it is added to Step::handles, too. A variable of known shape is added to the
  // memory forecast.
  Result<Tensor> handle(NodeId id, std::int32_t slot);

 private:
  // Adds the kernel's workspace to the forecast of the device. A device's kernels run one after the other, so only the
  // largest counts.
  void take_workspace(Workspace& says, const KernelInit& init, int device);
  // The functions of the graph, made at the first call; null where it has none.
  const std::shared_ptr<FunctionCalls>& functions();

  const Graph& graph_;
  const DevicePlacement& placement_;
  const KernelRegistry& kernels_;
  Step& step_;
  std::vector<std::uint64_t> workspace_;  // by device: the largest so far
  std::shared_ptr<FunctionCalls> functions_;
};

}  // namespace argosy
