// Between devices, and between the host and devices whose kernels only start their work.
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

Status InOrder::wait_for_event(std::int32_t p, LaunchQueue* queue) {
  const Event& event = state_.events[p];
  if (event.state() == nullptr) return ok_status();
  const Item& item = step_.items[p];
  const bool to_host = item.role == Role::kCopy && step_.slots[item.first_output].space == 0;
  if (queue != nullptr && !to_host) return queue->wait(event);
  event.state()->wait();
  return step_.machine->device(item.device).launches()->failure();
}

Status InOrder::dereference(std::int32_t handle, std::int32_t value) {
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

Result<bool> InOrder::run_stretch(int d, std::size_t stretch, Recorder& recorder, KernelContext::Fields& fields) {
  LaunchQueue* const queue = fields.device->launches();
  const auto let_go = [&](std::int32_t index) {
    for (const std::int32_t slot : step_.extras[index].releases) state_.tensors[slot] = Tensor();
  };
  const StretchCalls calls{.wait = [&](std::int32_t index) -> Status {
                             for (const std::int32_t p : step_.extras[index].waits) {
                               wait_for(d, p);
                               if (failed_.load(std::memory_order_acquire)) return cancelled("the run has failed");
                               ARGOSY_RETURN_IF_ERROR(wait_for_event(p, queue));
                             }
                             return ok_status();
                           },
                           .run = [&](std::int32_t index) -> Status {
                             const Item& item = step_.items[index];
                             for (const auto& [handle, value] : step_.extras[index].derefs) {
                               ARGOSY_RETURN_IF_ERROR(dereference(handle, value));
                             }
                             point_at(item, fields);
                             if (step_.extras[index].donates)
                               fields.may_donate = step_.donates.get() + item.first_input;
                             KernelContext kernel_context(fields);
                             Status status = item.kernel->run(kernel_context);
                             fields.may_donate = nullptr;
                             let_go(index);
                             return status;
                           },
                           .let_go = let_go};
  ARGOSY_ASSIGN_OR_RETURN(const bool done, run_recorded(step_, state_, d, stretch, recorder, calls));
  if (!done) return false;
  const std::int32_t last = step_.order[d][static_cast<std::size_t>(step_.stretches[d][stretch].end) - 1];
  if (step_.items[last].signals) {
    ARGOSY_ASSIGN_OR_RETURN(state_.events[last], queue->record());
    signal(last);
  }
  return true;
}

std::size_t InOrder::next_stretch(int d, const Recorder* recorder, std::size_t stretch) const {
  if (recorder == nullptr || stretch >= step_.stretches[d].size()) return SIZE_MAX;
  return static_cast<std::size_t>(step_.stretches[d][stretch].begin);
}

Status InOrder::copy(std::int32_t index, const Item& item, KernelContext::Fields& fields, std::atomic<int>&) {
  const Tensor& from = *state_.inputs[item.first_input];
  Tensor& to = state_.tensors[item.first_output];
  OutputSlot& slot = state_.outputs[item.first_output];
  if (!from.valid()) return internal_error("a copy has nothing to copy");
  if (!(slot.planned && to.shape() == from.shape())) {
    Allocator& where =
        step_.slots[item.first_output].space == 0 ? step_.machine->device(0).allocator() : *fields.allocator;
    ARGOSY_ASSIGN_OR_RETURN(to, Tensor::allocate(from.dtype(), from.shape(), where));
    slot.planned = false;
  }
  Device& device = *fields.device;
  if (LaunchQueue* const queue = device.launches(); queue != nullptr) {
    const Buffer source(from.buffer().owner(), from.raw(), from.bytes());
    const bool out = step_.slots[item.first_output].space == 0;
    ARGOSY_ASSIGN_OR_RETURN(state_.events[index],
                            out ? queue->copy_out(to.buffer(), source) : queue->copy_in(to.buffer(), source));
    if (out) state_.landing[item.device].push_back(state_.events[index]);
  } else if (from.bytes() <= kInlineCopyBytes && device.spec().link_bytes_per_second == 0) {
    if (from.bytes() > 0) std::memcpy(to.raw(), from.raw(), from.bytes());
  } else {
    device.copies().copy(to.buffer(), Buffer::borrow(from.raw(), from.bytes()));
    ARGOSY_RETURN_IF_ERROR(device.copies().synchronize());
  }
  signal(index);
  return ok_status();
}

void InOrder::start_async(std::int32_t index, const Item& item, const KernelContext::Fields& fields,
                          std::atomic<int>& asyncs) {
  auto kernel_context = std::make_shared<KernelContext>(fields);
  const int d = item.device;
  auto tell = [this, index, d, gates = state_.gates, &asyncs](Status status) {
    if (!status.ok()) fail(name_node(std::move(status), step_, step_.items[index]));
    state_.done[index].store(state_.epoch, std::memory_order_release);
    for (const std::int32_t other : step_.extras[index].wakes) gates_[other].open();
    // The run may end with this: after it only the gates are sure to be there.
    asyncs.fetch_sub(1, std::memory_order_acq_rel);
    gates->of_device[static_cast<std::size_t>(d)].open();
  };
  // Where work is only started, so is this: who reads what it writes comes after it in stream order.
  auto* const starting = fields.device->launches() != nullptr ? dynamic_cast<StartingKernel*>(item.kernel) : nullptr;
  const auto told = std::make_shared<ToldOnce>(std::move(tell));
  asyncs.fetch_add(1, std::memory_order_relaxed);  // from here on it will be told, whatever is thrown
  const auto done = [told, kernel_context](Status status) { told->tell(std::move(status)); };
  try {
    if (starting == nullptr) return static_cast<AsyncKernel*>(item.kernel)->run_async(*kernel_context, done);
    starting->start(*kernel_context, [this, index, done](Result<Event> end) {
      if (end.ok()) state_.events[index] = *end;
      done(end.status());
    });
  } catch (...) {
    told->tell(status_of_exception());
  }
}

void InOrder::signal(std::int32_t index) {
  state_.done[index].store(state_.epoch, std::memory_order_release);
  gates_[step_.items[index].device].open();
  for (const std::int32_t d : step_.extras[index].wakes) gates_[d].open();
}

}  // namespace argosy
