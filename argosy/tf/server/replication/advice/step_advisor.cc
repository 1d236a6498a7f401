#include "argosy/tf/server/replication/advice/step_advisor.h"

#include <algorithm>

#include "argosy/base/clock.h"
#include "argosy/planner/planner.h"

namespace argosy::tf {

namespace {

constexpr double kProbeSeconds = 0.3;  // for trial steps

}  // namespace

StepAdvisor::StepAdvisor(std::shared_ptr<DeviceSet> device_set, ReplicationOptions how)
    : device_set_(std::move(device_set)), how_(how) {
  for (const DeviceSpec& spec : device_set_->specs()) {
    const bool enough = how_.most_gpus > 0 && std::ssize(gpus_) >= how_.most_gpus;
    if (spec.is_gpu() && !enough) gpus_.push_back(spec);
  }
}

bool StepAdvisor::means_something(const DataParallel& replicated) const {
  const bool timed = std::any_of(gpus_.begin(), gpus_.end(), [](const DeviceSpec& spec) {
    return spec.kind == DeviceKind::kCuda || spec.link_bytes_per_second > 0;
  });
  return timed || replicated.gathers();
}

Advice StepAdvisor::ask(const Graph& graph, const ClientStep& step, const DataParallel& replicated) {
  if (!means_something(replicated)) return {};
  const std::int64_t began = now_nanos();
  auto told = predict(graph, step);
  Advice advice = told.ok() ? *std::move(told) : Advice{.times = {}, .why = told.status().message()};
  advice.seconds = seconds_since(began);
  return advice;
}

Result<Advice> StepAdvisor::predict(const Graph& graph, const ClientStep& step) {
  if (!rates_) {
    ARGOSY_ASSIGN_OR_RETURN(rates_, MachineRates::measure(device_set_, gpus_));
  }
  ClientStepSubject subject(graph, step, how_, device_set_);
  const PlanRequest request{.devices = gpus_,
                            .device_set = device_set_,
                            .strategy = {.automatic = true},
                            .all_or_one = true,
                            .rates = &*rates_};
  ARGOSY_ASSIGN_OR_RETURN(const Plan plan, make_plan(subject, request, {.probe_seconds = kProbeSeconds}));
  const bool one = plan.devices.size() == 1;
  const auto other = std::find_if(plan.alternatives.begin(), plan.alternatives.end(),
                                  [&](const Alternative& a) { return (a.devices == 1) != one && a.fits; });
  if (other == plan.alternatives.end()) {
    const std::string why = plan.alternatives.empty() ? "" : plan.alternatives[0].why;
    return Advice{.times = {}, .why = str_cat(one ? "the replicated step " : "one device alone ", why)};
  }
  const double here = plan.predicted.step_seconds;
  return Advice{.one_device = one,
                .times = StepTimes{.one_device = one ? here : other->step_seconds,
                                   .replicated = one ? other->step_seconds : here,
                                   .devices = static_cast<int>(gpus_.size())},
                .why = {}};
}

}  // namespace argosy::tf
