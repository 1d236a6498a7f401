#include "argosy/train/loop/step_checks.h"

#include "argosy/base/clock.h"

namespace argosy {

namespace {

constexpr std::int64_t kCheckReplicasEvery = 100;
constexpr double kCheckReplicasShare = 0.01;  // of the time, at most

}  // namespace

StepChecks::StepChecks(const CompiledModels& models, const TrainerOptions& options, TrainReport& report)
    : options_(options), report_(report) {
  if (options.check_replicas_every != 0) replicas_.emplace(models.training(), models.devices(), options.devices);
  if (options.check_steps > 0 && models.devices().size() < 2 && options.strategy.accumulate < 2) {
    report_.not_checked = "there is one device: nothing to compare with it";
  } else if (options.check_steps > 0) {
    one_device_.emplace(models.training(), models.devices().size(),
                        [&models, &options]() -> Result<std::unique_ptr<CompiledModel>> {
                          ARGOSY_ASSIGN_OR_RETURN(auto device_set, DeviceSet::make(options.devices));
                          return models.make_alone(std::move(device_set));
                        });
  }
}

Status StepChecks::before_step(const std::vector<Tensor>& feeds, std::int64_t examples) {
  return one_device_ ? one_device_->before_step(feeds, examples) : ok_status();
}

Status StepChecks::after_step(std::int64_t step, const std::vector<Tensor>& feeds, double loss) {
  if (!one_device_) return ok_status();
  report_.not_checked = one_device_->not_checked();
  if (report_.not_checked.empty()) {
    const Status same = one_device_->after_step(step, feeds, loss);
    report_.largest_difference = one_device_->largest_difference();
    if (!same.ok()) return same;
    ++report_.checked_steps;
    if (report_.checked_steps < options_.check_steps) return ok_status();
  }
  one_device_.reset();
  return ok_status();
}

bool StepChecks::replicas_due(std::int64_t step) const {
  const std::int64_t every = options_.check_replicas_every;
  if (!replicas_ || step % (every > 0 ? every : kCheckReplicasEvery) != 0) return false;
  if (every > 0 || replicas_checked_at_ == 0) return true;
  return static_cast<double>(replicas_check_nanos_) <=
         kCheckReplicasShare * static_cast<double>(now_nanos() - replicas_checked_at_);
}

Status StepChecks::check_replicas(std::int64_t step) {
  if (!replicas_ || replicas_checked_ == step) return ok_status();
  replicas_checked_ = step;
  const std::int64_t start = now_nanos();
  Status status = replicas_->check();
  replicas_checked_at_ = now_nanos();
  replicas_check_nanos_ = replicas_checked_at_ - start;
  if (status.ok()) return status;
  return std::move(status).with_where(str_cat("step ", step));
}

}  // namespace argosy
