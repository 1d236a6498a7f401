#include "argosy/runtime/execute/executor.h"

#include <algorithm>

#include "argosy/base/clock.h"

namespace argosy {

Status name_node(Status status, const Step& step, const Instruction& instruction) {
  const StepInfo::NodeInfo& node = step.info.nodes[instruction.node];
  try {
    return std::move(status).with_where(str_cat("node '", node.name, "' (", node.op, ") on ",
                                                step.device_set->device(instruction.device).spec().name.to_string()));
  } catch (const std::bad_alloc&) {  // rather the error alone than none
    return status;
  }
}

Result<Tensor> take_fetch(const Step& step, std::size_t fetch, const Tensor& slot, const RunContext& context) {
  const std::string& ref = step.fetched_refs[fetch];
  const bool read = !ref.empty() || !context.fetch_handles();
  if (read && slot.dtype() == DType::kResource && slot.elements() == 1) {
    const ResourceHandle& handle = *slot.data<ResourceHandle>();
    if (const auto variable = std::dynamic_pointer_cast<Variable>(handle.resource())) {
      auto value = variable->read_to_host(handle.name());
      if (value.ok()) return value;
      return std::move(value).status().with_where(str_cat("node '", ref.empty() ? handle.name() : ref, "', fetched"));
    }
  }
  return slot.owned();
}

Status device_error(const RunContext& context, const Device& device, const Status& status) {
  return Status(status.code(), str_cat("step ", context.step_id(), ": ", status.message()))
      .with_id(std::string(status.id()))
      .with_where(device.spec().name.to_string())
      .with_hint(status.hint());
}

void start_stats(StepStats& stats, const Step& step) {
  stats.start_nanos = now_nanos();
  stats.devices.assign(static_cast<std::size_t>(step.device_set->size()), {});
  for (int d = 0; d < step.device_set->size(); ++d)
    stats.devices[static_cast<std::size_t>(d)].device = step.device_set->device(d).spec().name;
  stats.ops.clear();
}

void note_time(StepStats& stats, const Instruction& instruction, std::int64_t start, std::int64_t end) {
  StepStats::PerDevice& device = stats.devices[instruction.device];
  (instruction.kernel == nullptr ? device.copy_nanos : device.compute_nanos) += end - start;
  ++device.ops;
}

void note_op(StepStats& stats, const Step& step, const Instruction& instruction, std::int64_t start, std::int64_t end,
             std::vector<OutputRecord> outputs) {
  if (!stats.keep_ops) return;
  const StepInfo::NodeInfo& node = step.info.nodes[instruction.node];
  stats.ops.push_back(
      {std::string(node.name), std::string(node.op), instruction.device, start, end, std::move(outputs)});
}

OutputRecord record_of(const Step& step, const Instruction& instruction, int output, const Tensor& value,
                       std::span<const Tensor* const> inputs) {
  const int space = step.slots[static_cast<std::size_t>(instruction.first_output + output)].space;
  const auto address = reinterpret_cast<std::uintptr_t>(value.raw());
  const auto holds = [&](const Tensor* input) {
    const auto begin = reinterpret_cast<std::uintptr_t>(input->raw());
    return input->valid() && begin <= address && address + value.bytes() <= begin + input->bytes();
  };
  // Without a kernel the executor only forwards values, but for copies.
  const bool forwards = instruction.kernel == nullptr && instruction.role != Role::kCopy;
  const bool passes_on = forwards || instruction.role == Role::kSwitch || instruction.role == Role::kMerge;
  // An owned buffer with another holder is a variable's, or one that a kernel keeps. Planned memory has no owner, and
  // is the op's.
  const bool held_by_others = value.buffer().owned() && !value.unique();
  return {.index = output,
          .dtype = value.dtype(),
          .shape = value.shape(),
          .bytes = value.bytes(),
          .buffer_bytes = value.buffer().bytes(),
          .address = address,
          .allocator = space == 0 ? "cpu" : str_cat("GPU_", step.device_set->device(space).spec().name.id.value_or(0)),
          .shares = passes_on || held_by_others || std::any_of(inputs.begin(), inputs.end(), holds)};
}

Status no_value(std::size_t fetch) {
  return invalid_argument("fetch ", fetch, " does not have a value: it is on a branch that was not taken")
      .with_id("ARG-RUN-003");
}

}  // namespace argosy
