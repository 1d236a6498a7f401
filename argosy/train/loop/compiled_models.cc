#include "argosy/train/loop/compiled_models.h"

#include <algorithm>

#include "argosy/train/report/memory_check.h"
#include "argosy/train/tasks/run_tasks.h"

namespace argosy {

namespace {

constexpr int kLogicalShards = 8;  // of a reproducible run that asks for no number

}  // namespace

Status CompiledModels::open() {
  const StrategySpec& strategy = options_.strategy;
  if (strategy.automatic || !strategy.file.empty()) {
    return invalid_argument("the strategy \"", strategy.to_string(), "\" is not resolved: a planner chooses it first")
        .with_id("ARG-SHARD-001")
        .with_hint("strategy = make_plan(…)->strategy (argosy/planner/planner.h), or dp");
  }
  ARGOSY_ASSIGN_OR_RETURN(devices_, chosen_devices(options_.devices));
  ARGOSY_ASSIGN_OR_RETURN(device_set_, DeviceSet::make(options_.devices));
  if (options_.tasks != nullptr && options_.tasks->size() > 1) {
    ARGOSY_ASSIGN_OR_RETURN(tasks_, RunTasks::make(*options_.tasks, devices_));
    devices_ = tasks_->devices();
    ARGOSY_RETURN_IF_ERROR(tasks_->serve(*device_set_));
  }
  ARGOSY_RETURN_IF_ERROR(strategy.check(static_cast<int>(devices_.size())));
  ARGOSY_ASSIGN_OR_RETURN(training_, make(devices_, Purpose::kTraining, device_set_));
  return ok_status();
}

Result<std::unique_ptr<CompiledModel>> CompiledModels::make(const std::vector<DeviceSpec>& devices, Purpose purpose,
                                                            std::shared_ptr<DeviceSet> device_set) const {
  const bool for_training = purpose != Purpose::kEvaluation;
  LayersOptions layers{.seed = options_.seed, .dtype = options_.dtype, .compute = options_.compute};
  ARGOSY_ASSIGN_OR_RETURN(
      BuiltModel built, build_model(builder_, layers, for_training ? &options_.optimizer : nullptr, options_.minimize));
  CompiledModelOptions program{
      .devices = devices, .loss_placement = options_.loss_placement, .sync_batch_norm = options_.sync_batch_norm};
  if (!for_training) program.loss_placement.reset();
  if (for_training && purpose != Purpose::kAlone) {
    program.accumulate = options_.strategy.accumulate;
    program.zero = options_.strategy.zero;
  }
  if (purpose == Purpose::kTraining || purpose == Purpose::kEvaluation) program.tasks = tasks_;
  if (options_.reproducible) {
    program.shards = options_.shards > 0 ? options_.shards : std::max(kLogicalShards, static_cast<int>(devices.size()));
  }
  program.session.devices = options_.devices;
  // Only the steps of training are traced.
  if (purpose != Purpose::kTraining) {
    program.session.trace_path = "";
  } else if (!options_.trace_path.empty()) {
    program.session.trace_path = options_.trace_path;
  }
  program.session.device_set = std::move(device_set);
  program.session.reproducible = options_.reproducible;
  return CompiledModel::make(std::move(built), program);
}

Result<std::unique_ptr<CompiledModel>> CompiledModels::make_measured(const std::vector<DeviceSpec>& devices,
                                                                     std::shared_ptr<DeviceSet> device_set) const {
  return make(devices, Purpose::kMeasurement, std::move(device_set));
}

Result<std::unique_ptr<CompiledModel>> CompiledModels::make_alone(std::shared_ptr<DeviceSet> device_set) const {
  // The device's name in this process: devices_ has the names of all tasks' devices.
  ARGOSY_ASSIGN_OR_RETURN(const std::vector<DeviceSpec> own, chosen_devices(options_.devices));
  return make({own[0]}, Purpose::kAlone, std::move(device_set));
}

Result<CompiledModel*> CompiledModels::evaluator() {
  if (!evaluator_) {
    ARGOSY_ASSIGN_OR_RETURN(evaluator_, make(devices_, Purpose::kEvaluation, device_set_));
  }
  return evaluator_.get();
}

Result<Evaluation> CompiledModels::evaluate(const data::Dataset& test) {
  ARGOSY_ASSIGN_OR_RETURN(CompiledModel* const program, evaluator());
  if (evaluation_batch_ == 0) {
    ARGOSY_ASSIGN_OR_RETURN(evaluation_batch_, evaluation_batch(*program, training_.get(), options_.batch));
    if (tasks_ != nullptr) {
      ARGOSY_ASSIGN_OR_RETURN(evaluation_batch_, tasks_->smallest(evaluation_batch_));
    }
    ARGOSY_ASSIGN_OR_RETURN(evaluation_forecast_, program->forecast(evaluation_batch_));
  }
  return evaluate_all(*program, test, evaluation_batch_);
}

}  // namespace argosy
