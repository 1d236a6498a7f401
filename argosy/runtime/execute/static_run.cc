#include "argosy/runtime/execute/static_run.h"

#include "argosy/base/clock.h"
#include "argosy/base/guard.h"
#include "argosy/device/event.h"

namespace argosy {

void StaticRun::fail(Status status) {
  {
    MutexLock lock(mutex_);
    if (error_.ok()) error_ = copy_of(status);
    failed_.store(true, std::memory_order_release);
  }
  context_.cancellation().cancel(copy_of(status));
  for (EventCount& event_count : event_counts_) event_count.notify();
}

Status StaticRun::error() {
  MutexLock lock(mutex_);
  return copy_of(error_);
}

Status StaticRun::wait_for_event(std::int32_t p, LaunchQueue* queue) {
  const Event& event = state_.events[p];
  if (event.state() == nullptr) return ok_status();
  const Instruction& instruction = step_.instructions[p];
  const bool to_host = instruction.role == Role::kCopy && step_.slots[instruction.first_output].space == 0;
  if (queue != nullptr && !to_host) return queue->wait(event);
  event.state()->wait();
  return step_.device_set->device(instruction.device).launch_queue()->failure();
}

Status StaticRun::dereference(std::int32_t handle, std::int32_t value) {
  const Tensor& reference = state_.tensors[handle];
  if (reference.dtype() != DType::kResource || reference.elements() != 1) {
    return internal_error("a reference to a variable is missing").with_id("ARG-VAR-003");
  }
  const ResourceHandle& h = *reference.data<ResourceHandle>();
  const auto variable = std::dynamic_pointer_cast<Variable>(h.resource());
  if (!variable) return invalid_argument("a reference does not name a variable");
  ARGOSY_ASSIGN_OR_RETURN(Tensor read, variable->read(h.name()));
  const DType declared = step_.slots[static_cast<std::size_t>(value)].dtype;
  if (read.dtype() != declared) {
    return invalid_argument("variable \"", h.name(), "\" holds ", dtype_name(read.dtype()), ", the graph says ",
                            dtype_name(declared))
        .with_id("ARG-VAR-003");
  }
  state_.tensors[value] = std::move(read);
  return ok_status();
}

Status StaticRun::wait_for_others(int d, const InstructionMeta& meta, LaunchQueue* queue) {
  StepStats* const stats = context_.stats();
  std::int64_t since = stats != nullptr ? now_nanos() : 0;
  for (const std::int32_t p : meta.waits) {
    wait_for(d, p);
    if (failed()) return ok_status();
    if (!state_.events.empty()) ARGOSY_RETURN_IF_ERROR(wait_for_event(p, queue));
    if (stats == nullptr) continue;
    StepStats::PerDevice& device = stats->devices[static_cast<std::size_t>(d)];
    const Instruction& before = step_.instructions[p];
    const std::int64_t now = now_nanos();
    (before.async && before.kernel != nullptr ? device.collective_nanos : device.copy_nanos) += now - since;
    since = now;
  }
  return ok_status();
}

void StaticRun::note_op(StepStats& stats, const Instruction& instruction, std::int64_t start) {
  const std::int64_t end = now_nanos();
  note_time(stats, instruction, start, end);
  if (!instruction.async || !stats.keep_outputs) list_op(stats, instruction, start, end);
}

void StaticRun::list_op(StepStats& stats, const Instruction& instruction, std::int64_t start, std::int64_t end) {
  if (!stats.keep_ops) return;
  std::vector<OutputRecord> outputs;
  if (stats.keep_outputs) outputs = outputs_of(instruction);
  MutexLock lock(mutex_);
  argosy::note_op(stats, step_, instruction, start, end, std::move(outputs));
}

// Describes the outputs of an instruction. Dead ones are left out: their slots still hold earlier values.
std::vector<OutputRecord> StaticRun::outputs_of(const Instruction& instruction) const {
  const std::span inputs(state_.inputs.data() + instruction.first_input,
                         static_cast<std::size_t>(instruction.num_inputs));
  const auto index = static_cast<std::size_t>(&instruction - step_.instructions.data());
  const bool merges = instruction.role == Role::kMerge;
  std::vector<OutputRecord> outputs;
  if (merges && instruction.may_be_dead && state_.dead[step_.slots.size() + index] != 0) return outputs;
  for (int o = 0; o < instruction.num_outputs; ++o) {
    const auto slot = static_cast<std::size_t>(instruction.first_output + o);
    const Tensor& value = state_.tensors[slot];
    if (!value.valid() || (merges && o > 0 && !step_.meta[index].wants_index)) continue;
    if (instruction.role == Role::kSwitch && state_.dead[slot] != 0) continue;
    outputs.push_back(record_of(step_, instruction, o, value, inputs));
  }
  return outputs;
}

}  // namespace argosy
