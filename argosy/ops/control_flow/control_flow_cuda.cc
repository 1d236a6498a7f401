// Control flow on a GPU: it forwards tensors, wherever they are; predicates and indices are in host memory.
#include "argosy/ops/gpu_kernels.h"

namespace argosy {

void add_kernels_cuda_control_flow(KernelRegistry& kernels) {
  for (const char* op : {"Switch", "RefSwitch", "Merge", "RefMerge", "Enter", "RefEnter", "Exit", "RefExit",
                         "NextIteration", "RefNextIteration", "LoopCond", "ControlTrigger"}) {
    kernels.add(op, "cuda", cuda::make_on_host);
  }
}

}  // namespace argosy
