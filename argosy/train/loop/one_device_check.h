// OneDeviceCheck: steps of a replicated program beside the same on one device, from the same variables.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "argosy/strategy/data_parallel/step_equivalence.h"
#include "argosy/train/loop/compiled_model.h"

namespace argosy {

class OneDeviceCheck {
 public:
  // Makes the program of one device, on a device set of its own.
  using MakeAlone = std::function<Result<std::unique_ptr<CompiledModel>>()>;
  // `program`, of so many devices, outlives it. `sync_batch_norm`: its statistics are the global batch's.
  OneDeviceCheck(CompiledModel& program, std::size_t devices, bool sync_batch_norm, MakeAlone make)
      : program_(program), devices_(devices), sync_batch_norm_(sync_batch_norm), make_(std::move(make)) {}

  // Why steps cannot be compared: by design, or for want of memory; "" when they can. Known after before_step().
  const std::string& not_checked() const { return not_checked_; }

  // Runs the step on one device, from the variables as they are now.
  Status before_step(const std::vector<Tensor>& feeds, std::int64_t batch);
  // Compares what the replicated step has made of the same feeds: INTERNAL "ARG-CHECK-001" names the value. Where
  // not_checked() is "".
  Status after_step(std::int64_t step, const std::vector<Tensor>& feeds, double loss);

 private:
  // Variables before a step and after it, in the order of the program.
  struct AloneRun {
    std::vector<tf::NamedTensor> before, after;
    double loss = 0;
  };
  Status look(std::int64_t batch);
  Result<AloneRun> run_from(std::vector<tf::NamedTensor> before, const std::vector<Tensor>& feeds);
  // From variables nudged for the k-th time.
  Result<AloneRun> run_nudged(const std::vector<Tensor>& feeds, int k);
  // What the replicated step gave and wrote, beside one device's.
  Result<std::vector<StepValue>> values(double loss) const;
  void add_noise(std::vector<StepValue>& values, const AloneRun& run) const;

  // Which variable this mirror is of.
  std::size_t mirrored_at(std::size_t mirror) const;

  CompiledModel& program_;
  const std::size_t devices_;
  const bool sync_batch_norm_;
  const MakeAlone make_;
  std::unique_ptr<CompiledModel> alone_;
  std::string not_checked_;
  DType computed_in_ = DType::kInvalid;
  AloneRun one_, nudged_;
};

}  // namespace argosy
