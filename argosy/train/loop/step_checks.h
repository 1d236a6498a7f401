// The checks of one run: its first steps against one device (one_device_check.h), and its mirrors against each other
// (sdc_check.h). Internal to loop/.
#pragma once

#include <optional>
#include <vector>

#include "argosy/train/loop/compiled_models.h"
#include "argosy/train/loop/one_device_check.h"
#include "argosy/train/loop/sdc_check.h"

namespace argosy {

// Used by one thread.
class StepChecks {
 public:
  // All are borrowed. Sets report.not_checked now, and in after_step().
  StepChecks(const CompiledModels& models, const TrainerOptions& options, TrainReport& report);

  // Call them around every training step. The first options.check_steps steps also run on one device, and are compared.
  Status before_step(const std::vector<Tensor>& feeds, std::int64_t examples);
  Status after_step(std::int64_t step, const std::vector<Tensor>& feeds, double loss);

  // True if the mirrors are to be compared after this step (options.check_replicas_every).
  bool replicas_due(std::int64_t step) const;
  // Compares the mirrors, once per step.
  Status check_replicas(std::int64_t step);

 private:
  const TrainerOptions& options_;
  TrainReport& report_;
  std::optional<OneDeviceCheck> one_device_;  // empty: not requested, or done
  std::optional<SdcCheck> replicas_;          // empty: not requested
  std::int64_t replicas_checked_ = 0;         // the last step
  std::int64_t replicas_checked_at_ = 0;      // the time of that check
  std::int64_t replicas_check_nanos_ = 0;     // its duration
};

}  // namespace argosy
