// Runs kernels that were compiled for the host (on_host.h): a grid's blocks one after another on the calling thread,
// the threads of a block as fibers that hand over at barriers and warp shuffles. A kernel without either costs a loop.
#pragma once

#include "argosy/base/status.h"
#include "argosy/device/cuda/fake/on_host.h"
#include "argosy/device/cuda/fake/watch.h"

namespace argosy::on_host {

// How a launch is run.
struct Ways {
  // 0: blocks and threads run in the order of their numbers. Else in an order of its own for each such seed: the blocks
  // of the grid, and the threads of a block from barrier to barrier.
  std::uint64_t order = 0;
  // Sees what the threads do to memory, if the kernel's object tells it (watched.cc); null: nobody.
  Watch* watch = nullptr;
};

// Arguments as for cuLaunchKernel: a pointer to each parameter's value. INVALID_ARGUMENT when the grid or block is
// empty or beyond CUDA's limits; FAILED_PRECONDITION when threads of one block wait at different barriers for ever.
Status run(const Kernel& kernel, Dim3 grid, Dim3 block, void** arguments, const Ways& ways = {});

}  // namespace argosy::on_host
