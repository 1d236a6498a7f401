#include "argosy/ops/list/list_cuda.h"

namespace argosy {

// Arrays of version 1, whose handles are references, stay on the CPU; stacks of version 1 do not.
void add_kernels_cuda_tensor_array(KernelRegistry& kernels) {
  for (const char* op : {"Stack", "StackPush", "StackPop", "StackClose", "StackV2", "StackPushV2", "StackPopV2",
                         "StackCloseV2", "TensorArrayV3", "TensorArrayGradV3", "TensorArrayGradWithShape",
                         "TensorArrayReadV3", "TensorArrayWriteV3", "TensorArrayGatherV3", "TensorArrayScatterV3",
                         "TensorArrayConcatV3", "TensorArraySplitV3", "TensorArraySizeV3", "TensorArrayCloseV3"}) {
    kernels.add(op, "cuda", cuda::make_with_elements);
  }
}

}  // namespace argosy
