// Starts work that does not run on the device's own thread: copies between memories, and asynchronous kernels. Other
// devices of the run are woken when it is done. A copy of an asynchronous device wakes them when it is enqueued, and
// RunState::events tells its end.
#pragma once

#include <atomic>

#include "argosy/runtime/execute/static_run.h"

namespace argosy {

// Copies between memories, and signals the instruction. On an asynchronous device the copy is only enqueued, and
// RunState::events tells its end. Elsewhere it has ended when this returns.
Status start_copy(StaticRun& run, std::int32_t index, const Instruction& instruction,
                  const KernelContext::Fields& fields);

// Starts an AsyncKernel. Its end, on any thread, fails the run if it is an error, signals the instruction, then counts
// `asyncs` down. `asyncs` must live until it is zero. `start`: the time now in nanoseconds, where statistics are kept.
// Throws nothing.
void start_async(StaticRun& run, std::int32_t index, const Instruction& instruction,
                 const KernelContext::Fields& fields, std::int64_t start, std::atomic<int>& asyncs);

// Waits until the work of asynchronous device d has ended, after an error, too: the next step uses the same memory. An
// error of the device fails the run. REQUIRES: no asynchronous kernel that it started is under way.
void finish_queue(StaticRun& run, int d);

}  // namespace argosy
