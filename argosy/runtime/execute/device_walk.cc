#include "argosy/runtime/execute/device_walk.h"

#include "argosy/base/clock.h"
#include "argosy/base/guard.h"
#include "argosy/base/threads/interrupt.h"
#include "argosy/base/threads/library_threads.h"
#include "argosy/device/event.h"
#include "argosy/runtime/execute/device_transfers.h"
#include "argosy/runtime/execute/inject_bit_flip.h"
#include "argosy/runtime/execute/region_runner.h"

namespace argosy {

DeviceWalk::DeviceWalk(StaticRun& run, int d)
    : run_(run),
      step_(run.step()),
      state_(run.state()),
      d_(d),
      device_(step_.device_set->device(d)),
      queue_(device_.launch_queue()),
      observer_(device_.observer()),
      stats_(run.context().stats()),
      fields_{.device = &device_,
              .allocator = &device_.allocator(),
              .host_allocator = queue_ != nullptr ? &step_.device_set->device(0).allocator() : nullptr,
              .resources = &step_.device_set->resources(d),
              .step = &run.context()},
      flow_(run),
      running_(state_.running[static_cast<std::size_t>(d)].instruction) {}

void DeviceWalk::drive(std::size_t from, std::size_t to) {
  try {
    drive_instructions(from, to);
  } catch (...) {
    run_.fail(status_of_exception());
  }
}

// Only GPUs have capture regions. With an observer, or statistics of every op, instructions are run one by one.
GraphCapturer* DeviceWalk::capturer() const {
  const bool one_by_one = observer_ != nullptr || (stats_ != nullptr && stats_->keep_ops);
  if (one_by_one || queue_ == nullptr || step_.plan.capture_regions.empty()) return nullptr;
  return dynamic_cast<GraphCapturer*>(queue_);
}

void DeviceWalk::drive_instructions(std::size_t from, std::size_t to) {
  const DeterministicScope deterministic(run_.context().deterministic());
  const bool plain = observer_ == nullptr && stats_ == nullptr;
  Cancellation& cancellation = run_.context().cancellation();
  const std::int32_t* const order = step_.plan.order[d_].data();
  RegionRunner regions(run_, d_, capturer(), fields_);
  const CheckScope checks;
  const InterruptScope interrupts(&cancellation);
  const Instruction* const instructions = step_.instructions.data();
  const OperandArrays operands(step_, state_);
  KernelContext plain_context(fields_);
  std::size_t at = from;
  try {
    for (; at < to; ++at) {
      if (at == regions.next()) [[unlikely]] {
        const Result<bool> done = regions.run(at, stats_);
        if (!done.ok()) {
          run_.fail(done.status());
          break;
        }
        if (*done) continue;
      }
      const std::int32_t index = order[at];
      const Instruction& instruction = instructions[index];
      if (cancellation.cancelled() || run_.failed()) [[unlikely]]
        break;
      Status status;
      if (plain && !instruction.special) [[likely]] {
        running_.store(index, std::memory_order_relaxed);
        operands.point_at(instruction, plain_context.fields_for_next_kernel());
        status = instruction.kernel->run(plain_context);
      } else {
        status = run_special(index, instruction, at);
      }
      if (!status.ok()) [[unlikely]] {
        run_.fail(name_node(std::move(status), step_, instruction));
        break;
      }
    }
  } catch (...) {  // costs nothing where nothing is thrown
    run_.fail(name_node(status_of_exception(), step_, step_.instructions[order[at]]));
  }
  running_.store(-1, std::memory_order_relaxed);
  if (queue_ != nullptr) {
    settle();
    finish_queue(run_, d_);
  }
  if (cancellation.cancelled()) run_.fail(cancellation.status());
}

Status DeviceWalk::run_special(std::int32_t index, const Instruction& instruction, std::size_t& at) {
  const InstructionMeta& meta = step_.meta[index];
  if (!meta.waits.empty()) {
    running_.store(-1, std::memory_order_relaxed);
    ARGOSY_RETURN_IF_ERROR(run_.wait_for_others(d_, meta, queue_));
    if (run_.failed()) return ok_status();  // the run has its error already
  }
  if (instruction.may_be_dead && instruction.role != Role::kMerge && flow_.note_dead(index, meta)) {
    flow_.skip_dead(index, instruction, meta);
    return ok_status();
  }
  // A Merge reads the variable of its live input alone: those of branches not taken have no handle.
  if (instruction.role != Role::kMerge) {
    for (const auto& [handle, value] : meta.derefs) ARGOSY_RETURN_IF_ERROR(run_.dereference(handle, value));
  }
  const std::int64_t start = observer_ != nullptr || stats_ != nullptr ? now_nanos() : 0;
  Status status;
  switch (instruction.role) {
    case Role::kLoopBegin: flow_.begin_loop(step_.plan.loops[meta.loop], meta.loop, at); return ok_status();
    case Role::kLoopEnd:
      if (flow_.start_next_iteration(step_.plan.loops[meta.loop], meta.loop, at)) return ok_status();
      break;
    case Role::kForward: flow_.forward_input(instruction, meta, 0, instruction.first_output); break;
    case Role::kSwitch: status = flow_.run_switch(instruction, meta, fields_); break;
    case Role::kMerge: status = flow_.run_merge(index, instruction, meta); break;
    case Role::kCopy: status = start_copy(run_, index, instruction, fields_); break;
    case Role::kKernel: status = run_kernel(index, instruction, meta, start); break;
  }
  if (!status.ok()) return status;
  if (stats_ != nullptr && instruction.role != Role::kLoopEnd) run_.note_op(*stats_, instruction, start);
  for (const std::int32_t slot : meta.releases) state_.tensors[slot] = Tensor();
  if (instruction.signals && !instruction.async && instruction.role != Role::kCopy) {
    if (queue_ != nullptr) {
      ARGOSY_ASSIGN_OR_RETURN(state_.events[index], queue_->record());
    }
    run_.signal(index);
  }
  return ok_status();
}

Status DeviceWalk::run_kernel(std::int32_t index, const Instruction& instruction, const InstructionMeta& meta,
                              std::int64_t start) {
  run_.point_at(instruction, fields_);
  Cancellation& cancellation = run_.context().cancellation();
  if (observer_ != nullptr) ARGOSY_RETURN_IF_ERROR(observer_->before(fields_.node, &cancellation));
  running_.store(index, std::memory_order_relaxed);
  Status status;
  if (instruction.async) {
    start_async(run_, index, instruction, fields_, start, asyncs_);
  } else {
    if (meta.donates) fields_.may_donate = step_.plan.donates.get() + instruction.first_input;
    KernelContext kernel_context(fields_);
    if (instruction.updates) {  // its effects outlive the run: it is not interrupted halfway
      const InterruptScope whole(&cancellation, false);
      status = instruction.kernel->run(kernel_context);
    } else {
      status = instruction.kernel->run(kernel_context);
    }
    fields_.may_donate = nullptr;
  }
  if (observer_ == nullptr) return status;
  observer_->after(fields_.node, now_nanos() - start);
  if (!status.ok() || instruction.async) return status;
  return inject_bit_flip_if_due(*observer_, device_, {fields_.inputs, static_cast<std::size_t>(instruction.num_inputs)},
                                {fields_.outputs, static_cast<std::size_t>(instruction.num_outputs)});
}

}  // namespace argosy
