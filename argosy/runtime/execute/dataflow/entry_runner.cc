#include "argosy/runtime/execute/dataflow/entry_runner.h"

#include <algorithm>
#include <array>

#include "argosy/base/clock.h"
#include "argosy/base/guard.h"
#include "argosy/base/threads/interrupt.h"
#include "argosy/runtime/device_set/once_callback.h"
#include "argosy/runtime/execute/executor.h"
#include "argosy/runtime/execute/inject_bit_flip.h"

namespace argosy {

namespace {

// All inputs may be donated: a kernel overwrites an unshared one only, and every other reader of a value shares it.
constexpr auto kMayDonate = [] {
  std::array<bool, 64> all{};
  all.fill(true);
  return all;
}();

// Records the instruction whose kernel has the device's thread; none at the end, also if the kernel throws.
class NowRunning {
 public:
  NowRunning(std::atomic<std::int32_t>& running, std::int32_t index) : running_(running) {
    running_.store(index, std::memory_order_relaxed);
  }
  ~NowRunning() { running_.store(-1, std::memory_order_relaxed); }
  NowRunning(const NowRunning&) = delete;
  NowRunning& operator=(const NowRunning&) = delete;

 private:
  std::atomic<std::int32_t>& running_;
};

// The run's context for an entry in a loop: it also gives the frame and the iteration.
class ContextInLoop final : public StepContext {
 public:
  ContextInLoop(RunContext& context, FrameIteration place) : context_(context), place_(place) {}
  std::int64_t step_id() const override { return context_.step_id(); }
  Cancellation& cancellation() override { return context_.cancellation(); }
  const FilePolicy* files() const override { return context_.files(); }
  HostCallbacks* host_callbacks() const override { return context_.host_callbacks(); }
  Rendezvous* rendezvous() const override { return context_.rendezvous(); }
  FrameIteration frame_iteration() const override { return place_; }
  ResourceManager& step_resources() override { return context_.step_resources(); }

 private:
  RunContext& context_;
  const FrameIteration place_;
};

}  // namespace

bool EntryRunner::execute(RunningEntry& running) {
  const CheckScope checks;
  try {
    return execute_unguarded(running);
  } catch (...) {
    return complete(running, status_of_exception());
  }
}

bool EntryRunner::execute_unguarded(RunningEntry& running) {
  const Instruction& instruction = step_.instructions[running.entry.instruction];
  if (!running.refused.ok()) return complete(running, std::exchange(running.refused, ok_status()));
  running.outputs.assign(static_cast<std::size_t>(instruction.num_outputs), Tensor());
  running.start = 0;
  if (!running.runs) return true;
  running.slots.resize(running.outputs.size());
  for (std::size_t o = 0; o < running.outputs.size(); ++o) {
    running.slots[o] = {.tensor = &running.outputs[o],
                        .on_host = step_.slots[static_cast<std::size_t>(instruction.first_output) + o].space == 0};
  }
  Device& device = step_.device_set->device(instruction.device);
  KernelObserver* const observer = device.observer();
  if (observer != nullptr || context_.stats() != nullptr) running.start = now_nanos();
  Status status = running.entry.dead ? ok_status() : dereference(running);
  if (status.ok() && instruction.kernel == nullptr) return complete(running, devices_.copy(running));
  if (status.ok() && observer != nullptr) {
    status = observer->before(step_.info.nodes[instruction.node].name, &context_.cancellation());
  }
  if (!status.ok()) return complete(running, std::move(status));
  KernelContext kernel_context(fields_of(running, device));
  if (instruction.async) return start_async(running, device, kernel_context);
  return complete(running, run_kernel(running, device, kernel_context));
}

// Ends the entry: records its outputs, or fails the run. Always returns true.
bool EntryRunner::complete(RunningEntry& running, Status status) {
  if (const StepStats* const stats = context_.stats(); status.ok() && stats != nullptr && stats->keep_outputs) {
    status = guarded([&] { return record(running); });
  }
  running.inputs.clear();
  if (status.ok()) return true;
  queues_.fail(name_node(std::move(status), step_, step_.instructions[running.entry.instruction]));
  return true;
}

// REQUIRES: the entry's inputs are not cleared yet.
Status EntryRunner::record(RunningEntry& running) {
  const Instruction& instruction = step_.instructions[running.entry.instruction];
  std::vector<const Tensor*> inputs;
  for (const Tensor& input : running.inputs) inputs.push_back(&input);
  running.recorded.clear();
  for (int o = 0; o < instruction.num_outputs; ++o) {
    const Tensor& value = running.outputs[static_cast<std::size_t>(o)];
    if (value.valid()) running.recorded.push_back(record_of(step_, instruction, o, value, inputs));
  }
  return ok_status();
}

KernelContext::Fields EntryRunner::fields_of(RunningEntry& running, Device& device) {
  const Instruction& instruction = step_.instructions[running.entry.instruction];
  running.input_pointers.clear();
  for (int k = 0; k < instruction.num_inputs; ++k) running.input_pointers.push_back(&running.inputs[k]);
  return {.inputs = running.input_pointers.data(),
          .num_inputs = instruction.num_inputs,
          .outputs = running.slots.data(),
          .num_outputs = instruction.num_outputs,
          .output_dtypes = step_.output_dtypes.data() + instruction.first_dtype,
          .may_donate = instruction.num_inputs <= 64 ? kMayDonate.data() : nullptr,
          .node = step_.info.nodes[instruction.node].name,
          .device = &device,
          .allocator = &device.allocator(),
          .host_allocator = device.launch_queue() != nullptr ? &step_.device_set->device(0).allocator() : nullptr,
          .resources = &step_.device_set->resources(instruction.device),
          .step = step_context(running, instruction)};
}

// Returns the context of the entry. For one that sends, receives or is asynchronous in a loop, it gives frame and
// iteration.
StepContext* EntryRunner::step_context(RunningEntry& running, const Instruction& instruction) {
  if (running.place.frame == 0 || !(instruction.sends || instruction.receives || instruction.async)) return &context_;
  running.step = std::make_unique<ContextInLoop>(context_, running.place);
  return running.step.get();
}

Status EntryRunner::run_kernel(RunningEntry& running, Device& device, KernelContext& kernel_context) {
  const std::int32_t index = running.entry.instruction;
  const Instruction& instruction = step_.instructions[index];
  Status status;
  {
    const InterruptScope interrupts(&context_.cancellation(), !instruction.updates);
    const NowRunning now(state_.running[static_cast<std::size_t>(instruction.device)].instruction, index);
    status = instruction.kernel->run(kernel_context);
  }
  if (LaunchQueue* const queue = device.launch_queue(); queue != nullptr) {
    const bool leaves = devices_.note_started(index);
    if (status.ok() && leaves) status = queue->finish(&context_.cancellation());
  }
  if (KernelObserver* const observer = device.observer(); observer != nullptr) {
    observer->after(kernel_context.node(), now_nanos() - running.start);
    if (status.ok()) status = inject_bit_flip_if_due(*observer, device, running.input_pointers, running.slots);
  }
  return status;
}

bool EntryRunner::start_async(RunningEntry& running, Device& device, const KernelContext& kernel_context) {
  const Instruction& instruction = step_.instructions[running.entry.instruction];
  // An AsyncKernel may read its inputs on the host, so they must be ready.
  if (LaunchQueue* const queue = device.launch_queue(); queue != nullptr) {
    if (Status status = queue->finish(&context_.cancellation()); !status.ok())
      return complete(running, std::move(status));
  }
  auto kept = std::make_shared<KernelContext>(kernel_context);
  auto moved = std::make_shared<RunningEntry>(std::move(running));  // pointers in the context stay valid
  const auto once = std::make_shared<OnceCallback>([this, moved](Status done) {
    complete(*moved, std::move(done));
    queues_.settle_from_outside(*moved);
  });
  try {
    static_cast<AsyncKernel*>(instruction.kernel)->run_async(*kept, [once, kept](Status done) {
      once->tell(std::move(done));
    });
  } catch (...) {
    once->tell(status_of_exception());
  }
  return false;
}

// --- references ------------------------------------------------------------------------------------------------------

// Replaces references among the inputs by the values of their variables. The handles come after the inputs.
Status EntryRunner::dereference(RunningEntry& running) {
  const Instruction& instruction = step_.instructions[running.entry.instruction];
  const auto& derefs = step_.meta[running.entry.instruction].derefs;
  for (std::size_t d = 0; d < derefs.size(); ++d) {
    const Tensor& h = running.inputs[static_cast<std::size_t>(instruction.num_inputs) + d];
    // A Merge is run with its live input alone.
    if (instruction.flow == Flow::kMerge && !h.valid()) continue;
    if (!h.valid() || h.dtype() != DType::kResource) return invalid_argument("a reference is no handle");
    const ResourceHandle& handle = *h.data<ResourceHandle>();
    const auto variable = std::dynamic_pointer_cast<Variable>(handle.resource());
    if (!variable) return invalid_argument("a reference does not name a variable");
    ARGOSY_ASSIGN_OR_RETURN(const Tensor value, variable->read(handle.name()));
    if (const DType declared = step_.slots[derefs[d].second].dtype; value.dtype() != declared) {
      return invalid_argument("variable \"", handle.name(), "\" holds ", dtype_name(value.dtype()), ", the graph says ",
                              dtype_name(declared))
          .with_id("ARG-VAR-003");
    }
    for (int k = 0; k < instruction.num_inputs; ++k) {
      if (step_.input_slots[instruction.first_input + k] == derefs[d].second) running.inputs[k] = value;
    }
  }
  const auto live = running.inputs.begin() + instruction.num_inputs;
  if (instruction.flow == Flow::kMerge && !derefs.empty() &&
      std::none_of(running.inputs.begin(), live, [](const Tensor& t) { return t.valid(); })) {
    return internal_error("none of its inputs is live").with_id("ARG-VAR-003");
  }
  return ok_status();
}

}  // namespace argosy
