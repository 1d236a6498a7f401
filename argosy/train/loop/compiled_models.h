// The compiled models of one trainer: for training, for evaluation and for measurements. Internal to loop/.
//
//   training ──┐ one device set: equal names, so the same variables
//   evaluator ─┘
//   measured     device sets of their own: other variables
#pragma once

#include <memory>
#include <vector>

#include "argosy/train/loop/compiled_model.h"
#include "argosy/train/loop/evaluation.h"
#include "argosy/train/loop/trainer.h"

namespace argosy {

// Used by one thread.
class CompiledModels {
 public:
  // `options` outlive this object.
  CompiledModels(ModelBuilder builder, const TrainerOptions& options)
      : builder_(std::move(builder)), options_(options) {}

  // Chooses the devices and compiles the model for training. Call it first.
  Status open();

  // The devices that train, of all tasks.
  const std::vector<DeviceSpec>& devices() const { return devices_; }
  const std::shared_ptr<RunTasks>& tasks() const { return tasks_; }  // null: this process alone
  CompiledModel& training() const { return *training_; }
  // Compiled at the first call.
  Result<CompiledModel*> evaluator();
  // Compiles the model for training on some of the devices, with its own variables on `device_set`. Not traced.
  Result<std::unique_ptr<CompiledModel>> make_measured(const std::vector<DeviceSpec>& devices,
                                                       std::shared_ptr<DeviceSet> device_set) const;
  // Compiles the model for training on the first device, which computes the global batch at once: without a strategy.
  Result<std::unique_ptr<CompiledModel>> make_alone(std::shared_ptr<DeviceSet> device_set) const;

  // The metrics over all examples, each used once.
  Result<Evaluation> evaluate(const data::Dataset& test);
  // The forecast of the evaluation step; empty before the first evaluate().
  const std::vector<MemoryForecast>& evaluation_forecast() const { return evaluation_forecast_; }

 private:
  enum class Purpose : char { kTraining, kEvaluation, kMeasurement, kAlone };
  Result<std::unique_ptr<CompiledModel>> make(const std::vector<DeviceSpec>& devices, Purpose purpose,
                                              std::shared_ptr<DeviceSet> device_set) const;

  const ModelBuilder builder_;
  const TrainerOptions& options_;
  std::vector<DeviceSpec> devices_;
  std::shared_ptr<RunTasks> tasks_;
  std::shared_ptr<DeviceSet> device_set_;
  std::unique_ptr<CompiledModel> training_;
  std::unique_ptr<CompiledModel> evaluator_;
  std::int64_t evaluation_batch_ = 0;  // 0: not yet chosen
  std::vector<MemoryForecast> evaluation_forecast_;
};

}  // namespace argosy
