#include "argosy/ops/collective/async_launch_kernel.h"

#include "argosy/device/event.h"

namespace argosy {

void AsyncLaunchKernel::run_async(KernelContext& c, Done done) {
  start(c, [done = std::move(done), device = c.device()](Result<Event> end) {
    if (!end.ok()) return done(end.status());
    if (end->state() == nullptr) return done({});
    end->state()->wait();
    LaunchQueue* const queue = device != nullptr ? device->launch_queue() : nullptr;
    done(queue != nullptr ? queue->failure() : ok_status());
  });
}

}  // namespace argosy
