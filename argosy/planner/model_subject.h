// ModelSubject: a model of `argosy train` and its data, for the planner.
#pragma once

#include <memory>

#include "argosy/data/dataset.h"
#include "argosy/data/loader.h"
#include "argosy/planner/plan_subject.h"
#include "argosy/train/loop/compiled_models.h"

namespace argosy {

// The constructor's arguments are borrowed.
class ModelSubject final : public PlanSubject {
 public:
  ModelSubject(const ModelBuilder& model, const TrainerOptions& options, const data::Dataset& data);

  std::int64_t batch() const override { return batch_; }
  Result<std::unique_ptr<CompiledCandidate>> compile(const Candidate& candidate,
                                                     const std::shared_ptr<DeviceSet>& device_set) override;
  Result<std::unique_ptr<TrialSteps>> on_one_device(const DeviceSpec& spec) override;
  Result<double> input_seconds(double budget) override;

 private:
  const ModelBuilder& model_;
  const TrainerOptions& options_;
  const data::Dataset& data_;
  std::int64_t batch_ = 0;
};

}  // namespace argosy
