// Runs kernels that were compiled for the host (on_host.h). The blocks of a grid run one after another on the calling
// thread. The threads of a block are fibers that switch at barriers and warp shuffles. A kernel without either costs a
// loop.
#pragma once

#include "argosy/base/status.h"
#include "argosy/device/cuda/fake/on_host.h"
#include "argosy/device/cuda/fake/watch.h"

namespace argosy::on_host {

// The options of a launch.
struct Ways {
  // 0: blocks and threads run in the order of their numbers. Else each seed gives another order of the blocks of the
  // grid, and of the threads of a block between barriers.
  std::uint64_t order = 0;
  // Receives the memory accesses of the threads, if the kernel's object is instrumented (watched.cc); null: none.
  Watch* watch = nullptr;
};

// Arguments as for cuLaunchKernel: a pointer to each parameter's value. INVALID_ARGUMENT when the grid or block is
// empty or beyond CUDA's limits; FAILED_PRECONDITION when threads of one block wait at different barriers for ever.
Status run(const Kernel& kernel, Dim3 grid, Dim3 block, void** arguments, const Ways& ways = {});

}  // namespace argosy::on_host
