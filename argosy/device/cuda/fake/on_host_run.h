// Runs kernels that were compiled for the host (on_host.h): a grid's blocks one after another on the calling thread,
// the threads of a block as fibers that hand over at barriers and warp shuffles. A kernel without either costs a loop.
#pragma once

#include "argosy/base/status.h"
#include "argosy/device/cuda/fake/on_host.h"

namespace argosy::on_host {

// Arguments as for cuLaunchKernel: a pointer to each parameter's value. INVALID_ARGUMENT when the grid or block is
// empty or beyond CUDA's limits; FAILED_PRECONDITION when threads of one block wait at different barriers for ever.
Status run(const Kernel& kernel, Dim3 grid, Dim3 block, void** arguments);

}  // namespace argosy::on_host
