// OneDeviceCheck: runs steps of a replicated model on one device, too, from equal variables, and compares (--check).
// With several tasks the first one does, and the others send it the parts of variables that they own. Every task makes
// every call.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "argosy/strategy/data_parallel/step_equivalence.h"
#include "argosy/train/loop/compiled_model.h"
#include "argosy/train/loop/step_difference.h"

namespace argosy {

class OneDeviceCheck {
 public:
  // Compiles the model for one device, on a new device set.
  using MakeAlone = std::function<Result<std::unique_ptr<CompiledModel>>()>;
  // `program` uses `devices` devices and outlives this object.
  OneDeviceCheck(CompiledModel& program, std::size_t devices, MakeAlone make)
      : program_(program), devices_(devices), make_(std::move(make)) {}

  // Why steps cannot be compared: by design, or for lack of memory. "" if they can. Known after before_step().
  const std::string& not_checked() const { return not_checked_; }

  // Runs the step on one device, from the present values of the variables.
  Status before_step(const std::vector<Tensor>& feeds, std::int64_t batch);
  // Compares the replicated step with the run of before_step(). INTERNAL "ARG-CHECK-001" names the value that differs.
  // REQUIRES: not_checked() is "".
  Status after_step(std::int64_t step, const std::vector<Tensor>& feeds, double loss);
  // The largest difference in all steps that were compared.
  const StepDifference& largest_difference() const { return largest_difference_; }

 private:
  // A run on one device: the variables before and after the step, in the model's order.
  struct SingleDeviceRun {
    std::vector<tf::NamedTensor> before, after;
    double loss = 0;
  };
  Status look(std::int64_t batch);
  // On the task that compares: makes the model for one device, or sets not_checked_.
  Status make_single_device(std::int64_t batch);
  bool compares() const;
  Result<SingleDeviceRun> run_from(std::vector<tf::NamedTensor> before, const std::vector<Tensor>& feeds);
  // Runs the step from perturbed variables, for the k-th time.
  Result<SingleDeviceRun> run_perturbed(const std::vector<Tensor>& feeds, int k);
  // The values that the replicated step returned and wrote, each with one device's.
  Result<std::vector<StepValue>> values(double loss) const;
  void add_noise(std::vector<StepValue>& values, const SingleDeviceRun& run) const;

  // Returns the index of the variable that this mirror belongs to.
  std::size_t mirrored_at(std::size_t mirror) const;

  CompiledModel& program_;
  const std::size_t devices_;
  const MakeAlone make_;
  bool looked_ = false;
  std::unique_ptr<CompiledModel> single_device_;  // null on tasks that do not compare
  std::string not_checked_;
  DType computed_in_ = DType::kInvalid;
  SingleDeviceRun one_, perturbed_;
  StepDifference largest_difference_;
};

}  // namespace argosy
