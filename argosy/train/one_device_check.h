// OneDeviceCheck: steps of a replicated program beside the same on one device, from the same variables.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "argosy/train/program.h"

namespace argosy {

class OneDeviceCheck {
 public:
  // Makes the program of one device, on a machine of its own.
  using MakeAlone = std::function<Result<std::unique_ptr<Program>>()>;
  // `program`, of so many devices, outlives it. `sync_batch_norm`: its statistics are the whole batch's.
  OneDeviceCheck(Program& program, std::size_t devices, bool sync_batch_norm, MakeAlone make)
      : program_(program), devices_(devices), sync_batch_norm_(sync_batch_norm), make_(std::move(make)) {}

  // Why steps cannot be compared: by design, or for want of memory; "" when they can. Known after before_step().
  const std::string& not_checked() const { return not_checked_; }

  // Runs the step on one device, from the variables as they are now.
  Status before_step(const std::vector<Tensor>& feeds, std::int64_t batch);
  // Compares what the replicated step has given: INTERNAL "ARG-CHECK-001" names the value. Where not_checked() is "".
  Status after_step(std::int64_t step, double loss);

 private:
  Status look(std::int64_t batch);

  Program& program_;
  const std::size_t devices_;
  const bool sync_batch_norm_;
  const MakeAlone make_;
  std::unique_ptr<Program> alone_;
  std::string not_checked_;
  DType computed_in_ = DType::kInvalid;
  std::vector<tf::NamedTensor> before_, nudged_before_, one_, nudged_;
  double loss_ = 0, nudged_loss_ = 0;
};

}  // namespace argosy
