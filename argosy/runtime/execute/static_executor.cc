// The walk along each device's order.
#include "argosy/runtime/execute/static_executor.h"
#include "argosy/base/guard.h"
#include "argosy/base/threads/interrupt.h"
#include "argosy/base/threads/library_threads.h"
#include "argosy/base/threads/parallel.h"
#include "argosy/device/event.h"
#include "argosy/runtime/execute/inject_bit_flip.h"

namespace argosy {

Status StaticExecutor::run(std::span<const Tensor> feeds, std::span<Tensor> fetches) {
  ++state_.epoch;
  for (std::size_t i = 0; i < feeds.size(); ++i) state_.tensors[step_.feed_slots[i]] = feeds[i];
  StepStats* stats = context_.stats();
  if (stats != nullptr) {
    stats->start_nanos = now_nanos();
    stats->devices.assign(gates_.size(), {});
    for (std::size_t d = 0; d < gates_.size(); ++d)
      stats->devices[d].device = step_.device_set->device(static_cast<int>(d)).spec().name;
    stats->ops.clear();
  }
  // Other devices run on their own threads; the caller's is the host's.
  RunGates& gates = *state_.gates;
  gates.running.store(0, std::memory_order_relaxed);
  const bool two_phases = !step_.phase_one_size.empty();
  bool launched = launch(0, two_phases ? 1 : 2);
  if (!step_.order[0].empty() || two_phases) {
    const int cores = step_.device_set->device(0).spec().cores;
    if (!context_.keeps_thread_budget() && thread_budget() != cores) set_thread_budget(cores);
    std::atomic<int> asyncs{0};
    if (two_phases) {
      drive(0, 0, static_cast<std::size_t>(step_.phase_two_position), asyncs);
      if (wait_for_phase_two()) launched = launch(1, 2) || launched;
    }
    drive(0, two_phases ? static_cast<std::size_t>(step_.phase_two_position) : 0, step_.order[0].size(), asyncs);
    settle(0, asyncs);
  }
  if (launched) gates.end.wait([&gates] { return gates.running.load(std::memory_order_acquire) == 0; });
  if (stats != nullptr) stats->end_nanos = now_nanos();
  Status status = finish(fetches);
  for (const std::int32_t slot : step_.released_at_end) state_.tensors[slot] = Tensor();
  for (Event& event : state_.events) event = Event();
  return status;
}

bool StaticExecutor::launch(int from, int to) {
  const auto part = [&](std::size_t d, int k) {
    if (k == 0) return std::size_t{0};
    return k == 1 ? static_cast<std::size_t>(step_.phase_one_size[d]) : step_.order[d].size();
  };
  int count = 0;
  for (std::size_t d = 1; d < step_.order.size(); ++d) count += part(d, from) < part(d, to) ? 1 : 0;
  if (count == 0) return false;
  state_.gates->running.fetch_add(count, std::memory_order_relaxed);
  MutexLock lock(step_.device_set->launch());
  for (std::size_t d = 1; d < step_.order.size(); ++d) {
    const std::size_t begin = part(d, from), end = part(d, to);
    if (begin == end) continue;
    const int device = static_cast<int>(d);
    const auto leave = [gates = state_.gates] {
      if (gates->running.fetch_sub(1, std::memory_order_acq_rel) == 1) gates->end.open();
    };
    try {
      step_.device_set->device(device).compute().run([this, device, begin, end, leave] {
        std::atomic<int> asyncs{0};
        drive(device, begin, end, asyncs);
        settle(device, asyncs);
        // From here on the run may be over, and only the gates are sure to be there.
        leave();
      });
    } catch (...) {  // it was not started; those that were end by this, and are waited for
      fail(status_of_exception());
      leave();
    }
  }
  return true;
}

Status StaticExecutor::finish(std::span<Tensor> fetches) {
  if (context_.cancellation().cancelled()) fail(context_.cancellation().status());
  if (failed_.load(std::memory_order_acquire)) {
    MutexLock lock(mutex_);
    return copy_of(error_);
  }
  for (std::size_t i = 0; i < fetches.size(); ++i) {
    const std::int32_t slot = step_.fetch_slots[i];
    if (slot < 0) {
      fetches[i] = Tensor();
      continue;
    }
    if (!step_.fetch_dead_flags.empty() && is_dead(step_.fetch_dead_flags[i])) return no_value(i);
    ARGOSY_ASSIGN_OR_RETURN(fetches[i], take_fetch(step_, i, state_.tensors[slot], context_));
  }
  return ok_status();
}

void StaticExecutor::drive(int d, std::size_t from, std::size_t to, std::atomic<int>& asyncs) {
  try {
    drive_instructions(d, from, to, asyncs);
  } catch (...) {
    fail(status_of_exception());
  }
}

void StaticExecutor::drive_instructions(int d, std::size_t from, std::size_t to, std::atomic<int>& asyncs) {
  const DeterministicScope deterministic(context_.deterministic());
  Device& device = step_.device_set->device(d);
  LaunchQueue* const queue = device.launch_queue();
  KernelContext::Fields fields{.device = &device,
                               .allocator = &device.allocator(),
                               .host_allocator = queue != nullptr ? &step_.device_set->device(0).allocator() : nullptr,
                               .resources = &step_.device_set->resources(d),
                               .step = &context_};
  KernelObserver* const observer = device.observer();
  StepStats* const stats = context_.stats();
  const bool plain = observer == nullptr && stats == nullptr;
  Cancellation& cancellation = context_.cancellation();
  const std::int32_t* const order = step_.order[d].data();
  // Only GPUs have capture regions: for all others this is one comparison with a constant. Who wants to know of every op has
  // them started one by one.
  const bool one_by_one = observer != nullptr || (stats != nullptr && stats->keep_ops);
  GraphCapturer* const capturer =
      !one_by_one && queue != nullptr && !step_.capture_regions.empty() ? dynamic_cast<GraphCapturer*>(queue) : nullptr;
  std::size_t region = 0, region_at = next_region(d, capturer, region);
  const CheckScope checks;
  const InterruptScope interrupts(&cancellation);
  std::atomic<std::int32_t>& running = state_.running[static_cast<std::size_t>(d)].instruction;
  std::size_t at = from;
  try {
    for (; at < to; ++at) {
      if (at == region_at) [[unlikely]] {
        const std::int64_t start = stats != nullptr ? now_nanos() : 0;
        const Result<bool> done = run_region(d, region, *capturer, fields);
        if (stats != nullptr && done.ok() && *done) note_region(*stats, d, step_.capture_regions[d][region], start);
        if (!done.ok()) {
          fail(done.status());
          break;
        }
        if (*done) at = static_cast<std::size_t>(step_.capture_regions[d][region].end) - 1;
        region_at = next_region(d, capturer, ++region);
        if (*done) continue;
      }
      const std::int32_t index = order[at];
      const Instruction& instruction = step_.instructions[index];
      if (cancellation.cancelled() || failed_.load(std::memory_order_relaxed)) [[unlikely]]
        break;
      Status status;
      if (plain && !instruction.special) [[likely]] {
        running.store(index, std::memory_order_relaxed);
        point_at(instruction, fields);
        KernelContext kernel_context(fields);
        status = instruction.kernel->run(kernel_context);
      } else {
        status = run_special(index, instruction, fields, observer, stats, asyncs, running, at);
      }
      if (!status.ok()) [[unlikely]] {
        fail(name_node(std::move(status), step_, instruction));
        break;
      }
    }
  } catch (...) {  // costs nothing where nothing is thrown
    fail(name_node(status_of_exception(), step_, step_.instructions[order[at]]));
  }
  running.store(-1, std::memory_order_relaxed);
  // What was started is over when this is, also after an error: its memory is lent to the next step. What others start
  // here (collectives) is started by then.
  if (queue != nullptr) {
    settle(d, asyncs);
    const std::int64_t started = stats != nullptr ? now_nanos() : 0;
    Status status = queue->finish(&cancellation);
    // Kernels compute while the host waits here.
    if (stats != nullptr) stats->devices[static_cast<std::size_t>(d)].compute_nanos += now_nanos() - started;
    std::vector<Event>& pending_host_copies = state_.pending_host_copies[d];
    if (status.ok()) {
      // What it brought to the host's memory is there for who waits.
      for (const Event& event : pending_host_copies) {
        if (event.state() != nullptr) event.state()->wait();
      }
    } else {
      fail(Status(status.code(), str_cat("step ", context_.step_id(), ": ", status.message()))
               .with_id(std::string(status.id()))
               .with_where(device.spec().name.to_string())
               .with_hint(status.hint()));
    }
    pending_host_copies.clear();
  }
  if (cancellation.cancelled()) fail(cancellation.status());
}

Status StaticExecutor::run_special(std::int32_t index, const Instruction& instruction, KernelContext::Fields& fields,
                                   KernelObserver* observer, StepStats* stats, std::atomic<int>& asyncs,
                                   std::atomic<std::int32_t>& running, std::size_t& at) {
  const InstructionMeta& meta = step_.meta[index];
  if (!meta.waits.empty()) {
    running.store(-1, std::memory_order_relaxed);
    const std::int64_t before = stats != nullptr ? now_nanos() : 0;
    for (const std::int32_t p : meta.waits) {
      wait_for(instruction.device, p);
      if (failed_.load(std::memory_order_acquire)) return ok_status();  // told already
      if (!state_.events.empty()) ARGOSY_RETURN_IF_ERROR(wait_for_event(p, fields.device->launch_queue()));
      if (stats != nullptr) note_wait(stats->devices[instruction.device], step_.instructions[p], before);
    }
  }
  if (instruction.may_be_dead && instruction.role != Role::kMerge) {
    const bool dead = any_dead(meta.dead_flags);
    state_.dead[step_.slots.size() + static_cast<std::size_t>(index)] = dead ? 1 : 0;
    if (dead) {
      pass_over(index, instruction, meta);
      return ok_status();
    }
  }
  // A Merge reads the variable of its live input alone: those of branches not taken have no handle.
  if (instruction.role != Role::kMerge) {
    for (const auto& [handle, value] : meta.derefs) {
      ARGOSY_RETURN_IF_ERROR(dereference(handle, value));
    }
  }
  const std::int64_t start = observer != nullptr || stats != nullptr ? now_nanos() : 0;
  Status status;
  switch (instruction.role) {
    case Role::kLoopBegin: begin_loop(step_.loops[meta.loop], meta.loop, at); return ok_status();
    case Role::kLoopEnd:
      if (goes_on(step_.loops[meta.loop], meta.loop, at)) return ok_status();
      break;
    case Role::kForward: forward_input(instruction, meta, 0, instruction.first_output); break;
    case Role::kSwitch: status = run_switch(instruction, meta, fields); break;
    case Role::kMerge: status = run_merge(index, instruction, meta); break;
    case Role::kCopy: status = copy(index, instruction, fields, asyncs); break;
    case Role::kKernel: status = run_kernel(index, instruction, meta, fields, observer, start, asyncs, running); break;
  }
  if (!status.ok()) return status;
  if (stats != nullptr && instruction.role != Role::kLoopEnd) note_op(*stats, instruction, start);
  for (const std::int32_t slot : meta.releases) state_.tensors[slot] = Tensor();
  if (instruction.signals && !instruction.async && instruction.role != Role::kCopy) {
    if (LaunchQueue* const queue = fields.device->launch_queue(); queue != nullptr) {
      ARGOSY_ASSIGN_OR_RETURN(state_.events[index], queue->record());
    }
    signal(index);
  }
  return ok_status();
}

Status StaticExecutor::run_kernel(std::int32_t index, const Instruction& instruction, const InstructionMeta& meta,
                                  KernelContext::Fields& fields, KernelObserver* observer, std::int64_t start,
                                  std::atomic<int>& asyncs, std::atomic<std::int32_t>& running) {
  point_at(instruction, fields);
  if (observer != nullptr) ARGOSY_RETURN_IF_ERROR(observer->before(fields.node, &context_.cancellation()));
  running.store(index, std::memory_order_relaxed);
  Status status;
  if (instruction.async) {
    start_async(index, instruction, fields, asyncs);
  } else {
    if (meta.donates) fields.may_donate = step_.donates.get() + instruction.first_input;
    KernelContext kernel_context(fields);
    status = instruction.updates ? run_whole(instruction, kernel_context) : instruction.kernel->run(kernel_context);
    fields.may_donate = nullptr;
  }
  if (observer != nullptr) observer->after(fields.node, now_nanos() - start);
  if (observer != nullptr && status.ok() && !instruction.async) {
    return inject_bit_flip_if_due(*observer, *fields.device,
                                  {fields.inputs, static_cast<std::size_t>(instruction.num_inputs)},
                                  {fields.outputs, static_cast<std::size_t>(instruction.num_outputs)});
  }
  return status;
}

// What it changes outlives the run: its loops are not left halfway.
Status StaticExecutor::run_whole(const Instruction& instruction, KernelContext& kernel_context) {
  const InterruptScope whole(&context_.cancellation(), false);
  return instruction.kernel->run(kernel_context);
}

void StaticExecutor::fail(Status status) {
  {
    MutexLock lock(mutex_);
    if (error_.ok()) error_ = copy_of(status);
    failed_.store(true, std::memory_order_release);
  }
  context_.cancellation().cancel(copy_of(status));
  for (Gate& gate : gates_) gate.open();
}

void StaticExecutor::note_region(StepStats& stats, int d, const CaptureRegion& region, std::int64_t start) {
  StepStats::PerDevice& device = stats.devices[static_cast<std::size_t>(d)];
  device.compute_nanos += now_nanos() - start;
  device.ops += region.end - region.begin;
}

void StaticExecutor::note_op(StepStats& stats, const Instruction& instruction, std::int64_t start) {
  StepStats::PerDevice& device = stats.devices[instruction.device];
  const std::int64_t end = now_nanos();
  (instruction.kernel == nullptr ? device.copy_nanos : device.compute_nanos) += end - start;
  ++device.ops;
  if (!stats.keep_ops) return;
  const Step::NodeInfo& node = step_.nodes[instruction.node];
  MutexLock lock(mutex_);
  stats.ops.push_back({std::string(node.name), std::string(node.op), instruction.device, start, end});
}

Status run_static(const Step& step, RunState& state, std::span<const Tensor> feeds, std::span<Tensor> fetches,
                  RunContext& context) {
  return StaticExecutor(step, state, context).run(feeds, fetches);
}

}  // namespace argosy
