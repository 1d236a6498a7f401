// What a device starts and does not run on its own thread: copies between memories, and asynchronous kernels. Both tell
// the other devices of the run when they are done.
#pragma once

#include <atomic>

#include "argosy/runtime/execute/static_run.h"

namespace argosy {

// A copy between memories. On an asynchronous device it is started, and RunState::events tells its end; elsewhere it is
// done when this returns.
Status start_copy(StaticRun& run, std::int32_t index, const Instruction& instruction,
                  const KernelContext::Fields& fields);

// An AsyncKernel: its end, from any thread, fails the run or signals the instruction, then counts `asyncs` down.
// `asyncs` must live until it is zero. `start`: now, where statistics are kept. Throws nothing.
void start_async(StaticRun& run, std::int32_t index, const Instruction& instruction,
                 const KernelContext::Fields& fields, std::int64_t start, std::atomic<int>& asyncs);

// Waits until the work of asynchronous device d is over, also after an error: the next step borrows its memory. An
// error of the device fails the run. REQUIRES: no asynchronous kernel that it started is under way.
void finish_queue(StaticRun& run, int d);

}  // namespace argosy
