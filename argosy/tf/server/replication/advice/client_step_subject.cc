#include "argosy/tf/server/replication/advice/client_step_subject.h"

#include <algorithm>

#include "argosy/planner/compiled_step.h"
#include "argosy/strategy/analysis/variable_nodes.h"
#include "argosy/tf/server/replication/advice/step_trial.h"
#include "argosy/tf/server/replication/step_rewrite.h"
#include "argosy/train/report/memory_check.h"

namespace argosy::tf {

namespace {

// What is fed stands for its node under another name (prune_step).
template <typename Find>
Result<PlannedNode> find_fed_too(std::string_view node, Find&& find) {
  Result<PlannedNode> told = find(node);
  if (told.ok()) return told;
  Result<PlannedNode> fed = find(str_cat("_feed/", node));
  if (!fed.ok()) return told;
  fed->node = std::string(node);
  return fed;
}

// The step on one device, as the client wrote it.
class PlainStep final : public CompiledCandidate {
 public:
  PlainStep(const Graph& graph, const ClientStep& step, std::int64_t batch, const ReplicationOptions& how,
            std::shared_ptr<DeviceSet> device_set)
      : graph_(graph), step_(step), batch_(batch), how_(how), device_set_(std::move(device_set)) {}

  const DataParallel* parallel() const override { return nullptr; }
  Result<std::shared_ptr<const Step>> look() override {
    if (looked_ == nullptr) {
      ARGOSY_ASSIGN_OR_RETURN(looked_, look_at(batch_));
    }
    return looked_;
  }
  Result<std::vector<MemoryForecast>> forecast() override {
    ARGOSY_ASSIGN_OR_RETURN(const auto step, look());
    return step->info.forecast;
  }
  // A graph may be written for one size of batch: then no other is proposed.
  Status check_memory() override {
    const auto forecast_of = [&](std::int64_t batch) -> Result<std::vector<MemoryForecast>> {
      const auto step = look_at(batch);
      if (!step.ok()) return forecast();
      return (*step)->info.forecast;
    };
    return argosy::check_memory(*device_set_, forecast_of, batch_);
  }
  Result<PlannedNode> planned(std::string_view node) override {
    ARGOSY_ASSIGN_OR_RETURN(const StepGraph part, prune_step(graph_, signature_of(step_.values)));
    return find_fed_too(node, [&](std::string_view name) { return node_of_one_device(part.graph, name); });
  }

 private:
  Result<std::shared_ptr<const Step>> look_at(std::int64_t batch) {
    StepSignature signature = signature_of(step_.values);
    for (std::size_t i = 0; i < step_.feeds.size(); ++i) {
      const Shape& shape = step_.feeds[i].shape();
      std::vector<std::int64_t> sizes(shape.sizes().begin(), shape.sizes().end());
      if (step_.axes[i] >= 0) sizes[static_cast<std::size_t>(step_.axes[i])] = batch;
      signature.feed_shapes[i] = Shape(std::span<const std::int64_t>(sizes));
    }
    return compile_to_look(graph_, signature, device_set_, {.optimize = how_.optimize});
  }

  const Graph& graph_;
  const ClientStep& step_;
  const std::int64_t batch_;
  const ReplicationOptions& how_;
  const std::shared_ptr<DeviceSet> device_set_;
  std::shared_ptr<const Step> looked_;
};

class RewrittenStep final : public CompiledCandidate {
 public:
  RewrittenStep(StepRewrite rewrite, const ReplicationOptions& how, std::shared_ptr<DeviceSet> device_set)
      : rewrite_(std::move(rewrite)), how_(how), device_set_(std::move(device_set)) {}

  const DataParallel* parallel() const override { return &rewrite_.parallel; }
  Result<std::shared_ptr<const Step>> look() override {
    if (looked_ != nullptr) return looked_;
    ARGOSY_ASSIGN_OR_RETURN(looked_, compile_to_look(rewrite_.parallel.graph(), rewrite_.signature(rewrite_.examples()),
                                                     device_set_, {.optimize = how_.optimize}));
    return looked_;
  }
  Result<std::vector<MemoryForecast>> forecast() override {
    ARGOSY_ASSIGN_OR_RETURN(const auto step, look());
    return step->info.forecast;
  }
  Status check_memory() override {
    const auto forecast = [&](std::int64_t batch) -> Result<std::vector<MemoryForecast>> {
      ARGOSY_ASSIGN_OR_RETURN(const auto step, compile_to_look(rewrite_.parallel.graph(), rewrite_.signature(batch),
                                                               device_set_, {.optimize = how_.optimize}));
      return step->info.forecast;
    };
    return argosy::check_memory(*device_set_, forecast, rewrite_.examples());
  }
  Result<PlannedNode> planned(std::string_view node) override {
    return find_fed_too(node, [&](std::string_view name) { return rewrite_.parallel.planned(name); });
  }

 private:
  StepRewrite rewrite_;
  const ReplicationOptions& how_;
  const std::shared_ptr<DeviceSet> device_set_;
  std::shared_ptr<const Step> looked_;
};

}  // namespace

// Random numbers come from streams of the trial's own; variables are its own, too.
std::string not_for_trial(const StepGraph& step) {
  const Graph& part = step.graph;
  for (std::int32_t i = 0; i < part.size(); ++i) {
    const Node& n = part.node(NodeId{i});
    if (std::find(step.feeds.begin(), step.feeds.end(), NodeId{i}) != step.feeds.end()) continue;
    if (!n.op->stateful || n.op->flow != Flow::kNone || n.op->step_state || is_variable(n)) continue;
    const bool of_variable = !n.inputs.empty() && variable_behind(part, n.inputs[0]).has_value();
    if (of_variable && (writes_variable(part, n) || may_be_repeated(n))) continue;
    const bool says_nothing = only_looks(n) && n.output_dtypes.empty() && n.op->input_args.size() > 1;  // an assertion
    if (says_nothing || n.op->random) continue;
    return str_cat("'", n.name, "' (", n.op->name, ") has effects beyond the step's variables");
  }
  return "";
}

ClientStepSubject::ClientStepSubject(const Graph& graph, const ClientStep& step, const ReplicationOptions& how,
                                     std::shared_ptr<DeviceSet> device_set)
    : graph_(graph), step_(step), how_(how), device_set_(std::move(device_set)) {
  for (std::size_t i = 0; i < step.axes.size(); ++i) {
    if (step.axes[i] >= 0) batch_ = step.feeds[i].shape()[step.axes[i]];
  }
}

Result<std::unique_ptr<CompiledCandidate>> ClientStepSubject::compile(const Candidate& candidate,
                                                                      const std::shared_ptr<DeviceSet>& device_set) {
  if (candidate.devices.size() == 1 && candidate.strategy.accumulate == 1) {
    return std::unique_ptr<CompiledCandidate>(new PlainStep(graph_, step_, batch_, how_, device_set));
  }
  ReplicationOptions how = how_;
  how.strategy = candidate.strategy;
  ARGOSY_ASSIGN_OR_RETURN(StepRewrite rewrite, rewrite_step(graph_, step_.values, step_.losses, step_.feeds, step_.axes,
                                                            replica_devices(candidate.devices), how));
  return std::unique_ptr<CompiledCandidate>(new RewrittenStep(std::move(rewrite), how_, device_set));
}

Result<std::unique_ptr<TrialSteps>> ClientStepSubject::on_one_device(const DeviceSpec& spec) {
  ARGOSY_ASSIGN_OR_RETURN(const StepGraph part, prune_step(graph_, signature_of(step_.values)));
  if (const std::string why = not_for_trial(part); !why.empty()) {
    return failed_precondition("the step is not tried out: ", why)
        .with_id("ARG-PLAN-047")
        .with_hint("--strategy dp (it asks no prediction)");
  }
  return try_step(graph_, step_, spec, device_set_, how_.optimize);
}

}  // namespace argosy::tf
