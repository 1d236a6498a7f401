#include "argosy/runtime/execute/device_transfers.h"

#include <cstring>

#include "argosy/base/clock.h"
#include "argosy/base/guard.h"
#include "argosy/device/event.h"
#include "argosy/ops/collective/async_launch_kernel.h"
#include "argosy/runtime/device_set/once_callback.h"

namespace argosy {

namespace {
constexpr std::size_t kInlineCopyBytes = 256 << 10;  // smaller copies are done at once, larger ones by the copy stream
}  // namespace

Status start_copy(StaticRun& run, std::int32_t index, const Instruction& instruction,
                  const KernelContext::Fields& fields) {
  const Step& step = run.step();
  RunState& state = run.state();
  const Tensor& from = *state.inputs[instruction.first_input];
  Tensor& to = state.tensors[instruction.first_output];
  OutputSlot& slot = state.outputs[instruction.first_output];
  if (!from.valid()) return internal_error("a copy has nothing to copy");
  const bool to_host = step.slots[instruction.first_output].space == 0;
  if (!(slot.planned && to.shape() == from.shape())) {
    Allocator& where = to_host ? step.device_set->device(0).allocator() : *fields.allocator;
    ARGOSY_ASSIGN_OR_RETURN(to, Tensor::allocate(from.dtype(), from.shape(), where));
    slot.planned = false;
  }
  Device& device = *fields.device;
  if (LaunchQueue* const queue = device.launch_queue(); queue != nullptr) {
    const Buffer source(from.buffer().owner(), from.raw(), from.bytes());
    ARGOSY_ASSIGN_OR_RETURN(state.events[index],
                            to_host ? queue->copy_out(to.buffer(), source) : queue->copy_in(to.buffer(), source));
    if (to_host) state.pending_host_copies[instruction.device].push_back(state.events[index]);
  } else if (from.bytes() <= kInlineCopyBytes && device.spec().link_bytes_per_second == 0) {
    if (from.bytes() > 0) std::memcpy(to.raw(), from.raw(), from.bytes());
  } else {
    device.copies().copy(to.buffer(), Buffer::borrow(from.raw(), from.bytes()));
    ARGOSY_RETURN_IF_ERROR(device.copies().synchronize());
  }
  run.signal(index);
  return ok_status();
}

void start_async(StaticRun& run, std::int32_t index, const Instruction& instruction,
                 const KernelContext::Fields& fields, std::int64_t start, std::atomic<int>& asyncs) {
  auto kernel_context = std::make_shared<KernelContext>(fields);
  auto end = [&run, index, d = instruction.device, event_counts = run.state().event_counts, start,
              &asyncs](Status status) {
    const Step& step = run.step();
    StepStats* const stats = run.context().stats();
    if (!status.ok()) {
      run.fail(name_node(std::move(status), step, step.instructions[index]));
    } else if (stats != nullptr && stats->keep_outputs) {
      contained("the record of an op", [&] { run.list_op(*stats, step.instructions[index], start, now_nanos()); });
    }
    run.state().done[index].store(run.state().epoch, std::memory_order_release);
    for (const std::int32_t other : step.meta[index].wakes) event_counts->of_device[other].notify();
    // The run may end as soon as this is counted. After that only the event counts are known to exist.
    asyncs.fetch_sub(1, std::memory_order_acq_rel);
    event_counts->of_device[static_cast<std::size_t>(d)].notify();
  };
  // On an asynchronous device the kernel only enqueues its work. Readers of its outputs come later in stream order.
  auto* const async_launch =
      fields.device->launch_queue() != nullptr ? dynamic_cast<AsyncLaunchKernel*>(instruction.kernel) : nullptr;
  const auto once = std::make_shared<OnceCallback>(std::move(end));
  asyncs.fetch_add(1, std::memory_order_relaxed);  // from here on `end` is called, whatever is thrown
  const auto done = [once, kernel_context](Status status) { once->tell(std::move(status)); };
  try {
    if (async_launch == nullptr) return static_cast<AsyncKernel*>(instruction.kernel)->run_async(*kernel_context, done);
    async_launch->start(*kernel_context, [&run, index, done](Result<Event> event) {
      if (event.ok()) run.state().events[index] = *event;
      done(event.status());
    });
  } catch (...) {
    once->tell(status_of_exception());
  }
}

void finish_queue(StaticRun& run, int d) {
  RunContext& context = run.context();
  Device& device = run.step().device_set->device(d);
  StepStats* const stats = context.stats();
  const std::int64_t started = stats != nullptr ? now_nanos() : 0;
  Status status = device.launch_queue()->finish(&context.cancellation());
  // Kernels compute while the host waits here.
  if (stats != nullptr) stats->devices[static_cast<std::size_t>(d)].compute_nanos += now_nanos() - started;
  std::vector<Event>& pending_host_copies = run.state().pending_host_copies[d];
  if (status.ok()) {
    // Its copies to the host must have ended, too, before the run does.
    for (const Event& event : pending_host_copies) {
      if (event.state() != nullptr) event.state()->wait();
    }
  } else {
    run.fail(device_error(context, device, status));
  }
  pending_host_copies.clear();
}

}  // namespace argosy
