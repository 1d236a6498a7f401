// Between devices, and between the host and asynchronous devices.
#include <cstring>

#include "argosy/base/guard.h"
#include "argosy/device/event.h"
#include "argosy/ops/collective/async_launch_kernel.h"
#include "argosy/runtime/execute/static_executor.h"
#include "argosy/runtime/machine/once_callback.h"

namespace argosy {

namespace {
constexpr std::size_t kInlineCopyBytes = 256 << 10;  // smaller copies are done at once, larger ones by the copy stream
}  // namespace

Status StaticExecutor::wait_for_event(std::int32_t p, LaunchQueue* queue) {
  const Event& event = state_.events[p];
  if (event.state() == nullptr) return ok_status();
  const Instruction& instruction = step_.instructions[p];
  const bool to_host = instruction.role == Role::kCopy && step_.slots[instruction.first_output].space == 0;
  if (queue != nullptr && !to_host) return queue->wait(event);
  event.state()->wait();
  return step_.device_set->device(instruction.device).launch_queue()->failure();
}

Status StaticExecutor::dereference(std::int32_t handle, std::int32_t value) {
  const Tensor& reference = state_.tensors[handle];
  if (reference.dtype() != DType::kResource || reference.elements() != 1) {
    return internal_error("a reference to a variable is missing").with_id("ARG-VAR-003");
  }
  const ResourceHandle& h = *reference.data<ResourceHandle>();
  const auto variable = std::dynamic_pointer_cast<Variable>(h.resource());
  if (!variable) return invalid_argument("a reference does not name a variable");
  ARGOSY_ASSIGN_OR_RETURN(Tensor read, variable->read(h.name()));
  const DType told = step_.slots[static_cast<std::size_t>(value)].dtype;
  if (read.dtype() != told) {
    return invalid_argument("variable \"", h.name(), "\" holds ", dtype_name(read.dtype()), ", the graph says ",
                            dtype_name(told))
        .with_id("ARG-VAR-003");
  }
  state_.tensors[value] = std::move(read);
  return ok_status();
}

Result<bool> StaticExecutor::run_region(int d, std::size_t region, GraphCapturer& capturer,
                                        KernelContext::Fields& fields) {
  LaunchQueue* const queue = fields.device->launch_queue();
  const auto let_go = [&](std::int32_t index) {
    for (const std::int32_t slot : step_.meta[index].releases) state_.tensors[slot] = Tensor();
  };
  const RegionCallbacks calls{.wait = [&](std::int32_t index) -> Status {
                                for (const std::int32_t p : step_.meta[index].waits) {
                                  wait_for(d, p);
                                  if (failed_.load(std::memory_order_acquire)) return cancelled("the run has failed");
                                  ARGOSY_RETURN_IF_ERROR(wait_for_event(p, queue));
                                }
                                return ok_status();
                              },
                              .run = [&](std::int32_t index) -> Status {
                                const Instruction& instruction = step_.instructions[index];
                                for (const auto& [handle, value] : step_.meta[index].derefs) {
                                  ARGOSY_RETURN_IF_ERROR(dereference(handle, value));
                                }
                                point_at(instruction, fields);
                                if (step_.meta[index].donates)
                                  fields.may_donate = step_.donates.get() + instruction.first_input;
                                KernelContext kernel_context(fields);
                                Status status = instruction.kernel->run(kernel_context);
                                fields.may_donate = nullptr;
                                let_go(index);
                                return status;
                              },
                              .let_go = let_go};
  ARGOSY_ASSIGN_OR_RETURN(const bool done, run_captured(step_, state_, d, region, capturer, calls));
  if (!done) return false;
  const std::int32_t last = step_.order[d][static_cast<std::size_t>(step_.capture_regions[d][region].end) - 1];
  if (step_.instructions[last].signals) {
    ARGOSY_ASSIGN_OR_RETURN(state_.events[last], queue->record());
    signal(last);
  }
  return true;
}

std::size_t StaticExecutor::next_region(int d, const GraphCapturer* capturer, std::size_t region) const {
  if (capturer == nullptr || region >= step_.capture_regions[d].size()) return SIZE_MAX;
  return static_cast<std::size_t>(step_.capture_regions[d][region].begin);
}

Status StaticExecutor::copy(std::int32_t index, const Instruction& instruction, KernelContext::Fields& fields,
                            std::atomic<int>&) {
  const Tensor& from = *state_.inputs[instruction.first_input];
  Tensor& to = state_.tensors[instruction.first_output];
  OutputSlot& slot = state_.outputs[instruction.first_output];
  if (!from.valid()) return internal_error("a copy has nothing to copy");
  if (!(slot.planned && to.shape() == from.shape())) {
    Allocator& where =
        step_.slots[instruction.first_output].space == 0 ? step_.device_set->device(0).allocator() : *fields.allocator;
    ARGOSY_ASSIGN_OR_RETURN(to, Tensor::allocate(from.dtype(), from.shape(), where));
    slot.planned = false;
  }
  Device& device = *fields.device;
  if (LaunchQueue* const queue = device.launch_queue(); queue != nullptr) {
    const Buffer source(from.buffer().owner(), from.raw(), from.bytes());
    const bool out = step_.slots[instruction.first_output].space == 0;
    ARGOSY_ASSIGN_OR_RETURN(state_.events[index],
                            out ? queue->copy_out(to.buffer(), source) : queue->copy_in(to.buffer(), source));
    if (out) state_.pending_host_copies[instruction.device].push_back(state_.events[index]);
  } else if (from.bytes() <= kInlineCopyBytes && device.spec().link_bytes_per_second == 0) {
    if (from.bytes() > 0) std::memcpy(to.raw(), from.raw(), from.bytes());
  } else {
    device.copies().copy(to.buffer(), Buffer::borrow(from.raw(), from.bytes()));
    ARGOSY_RETURN_IF_ERROR(device.copies().synchronize());
  }
  signal(index);
  return ok_status();
}

void StaticExecutor::start_async(std::int32_t index, const Instruction& instruction,
                                 const KernelContext::Fields& fields, std::atomic<int>& asyncs) {
  auto kernel_context = std::make_shared<KernelContext>(fields);
  const int d = instruction.device;
  auto tell = [this, index, d, gates = state_.gates, &asyncs](Status status) {
    if (!status.ok()) fail(name_node(std::move(status), step_, step_.instructions[index]));
    state_.done[index].store(state_.epoch, std::memory_order_release);
    for (const std::int32_t other : step_.meta[index].wakes) gates_[other].open();
    // The run may end with this: after it only the gates are sure to be there.
    asyncs.fetch_sub(1, std::memory_order_acq_rel);
    gates->of_device[static_cast<std::size_t>(d)].open();
  };
  // Where work is only started, so is this: who reads what it writes comes after it in stream order.
  auto* const async_launch =
      fields.device->launch_queue() != nullptr ? dynamic_cast<AsyncLaunchKernel*>(instruction.kernel) : nullptr;
  const auto told = std::make_shared<OnceCallback>(std::move(tell));
  asyncs.fetch_add(1, std::memory_order_relaxed);  // from here on it will be told, whatever is thrown
  const auto done = [told, kernel_context](Status status) { told->tell(std::move(status)); };
  try {
    if (async_launch == nullptr) return static_cast<AsyncKernel*>(instruction.kernel)->run_async(*kernel_context, done);
    async_launch->start(*kernel_context, [this, index, done](Result<Event> end) {
      if (end.ok()) state_.events[index] = *end;
      done(end.status());
    });
  } catch (...) {
    told->tell(status_of_exception());
  }
}

void StaticExecutor::signal(std::int32_t index) {
  state_.done[index].store(state_.epoch, std::memory_order_release);
  gates_[step_.instructions[index].device].open();
  for (const std::int32_t d : step_.meta[index].wakes) gates_[d].open();
}

}  // namespace argosy
