#include "argosy/runtime/execute/region_runner.h"

#include "argosy/base/clock.h"
#include "argosy/device/event.h"
#include "argosy/runtime/execute/captured_region.h"

namespace argosy {

void RegionRunner::set_next() {
  if (capturer_ == nullptr) return;
  const auto& regions = run_.step().plan.capture_regions[d_];
  next_ = region_ < regions.size() ? static_cast<std::size_t>(regions[region_].begin) : SIZE_MAX;
}

Result<bool> RegionRunner::run(std::size_t& at, StepStats* stats) {
  const std::int64_t start = stats != nullptr ? now_nanos() : 0;
  ARGOSY_ASSIGN_OR_RETURN(const bool done, run_region());
  const CaptureRegion& region = run_.step().plan.capture_regions[d_][region_];
  if (done) {
    at = static_cast<std::size_t>(region.end) - 1;
    if (stats != nullptr) {
      StepStats::PerDevice& device = stats->devices[static_cast<std::size_t>(d_)];
      device.compute_nanos += now_nanos() - start;
      device.ops += region.end - region.begin;
    }
  }
  ++region_;
  set_next();
  return done;
}

Result<bool> RegionRunner::run_region() {
  const Step& step = run_.step();
  const RegionCallbacks calls{.wait = [this](std::int32_t index) { return wait(index); },
                              .run = [this](std::int32_t index) { return run_instruction(index); },
                              .release = [this](std::int32_t index) { release(index); }};
  ARGOSY_ASSIGN_OR_RETURN(const bool done, run_captured(step, run_.state(), d_, region_, *capturer_, calls));
  if (!done) return false;
  const std::int32_t last =
      step.plan.order[d_][static_cast<std::size_t>(step.plan.capture_regions[d_][region_].end) - 1];
  if (step.instructions[last].signals) {
    ARGOSY_ASSIGN_OR_RETURN(run_.state().events[last], fields_.device->launch_queue()->record());
    run_.signal(last);
  }
  return true;
}

Status RegionRunner::wait(std::int32_t index) {
  for (const std::int32_t p : run_.step().meta[index].waits) {
    run_.wait_for(d_, p);
    if (run_.failed()) return cancelled("the run has failed");
    ARGOSY_RETURN_IF_ERROR(run_.wait_for_event(p, fields_.device->launch_queue()));
  }
  return ok_status();
}

Status RegionRunner::run_instruction(std::int32_t index) {
  const Step& step = run_.step();
  const Instruction& instruction = step.instructions[index];
  const InstructionMeta& meta = step.meta[index];
  for (const auto& [handle, value] : meta.derefs) ARGOSY_RETURN_IF_ERROR(run_.dereference(handle, value));
  run_.point_at(instruction, fields_);
  // No input is donated: a buffer that is unshared now may be shared in a replay.
  KernelContext kernel_context(fields_);
  Status status = instruction.kernel->run(kernel_context);
  release(index);
  return status;
}

void RegionRunner::release(std::int32_t index) {
  for (const std::int32_t slot : run_.step().meta[index].releases) run_.state().tensors[slot] = Tensor();
}

}  // namespace argosy
