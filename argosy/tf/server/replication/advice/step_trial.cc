#include "argosy/tf/server/replication/advice/step_trial.h"

#include <algorithm>

#include "argosy/base/clock.h"
#include "argosy/base/str.h"
#include "argosy/ops/constant/constant.h"
#include "argosy/planner/compiled_step.h"
#include "argosy/runtime/device_set/device_set_view.h"
#include "argosy/runtime/session/session.h"
#include "argosy/strategy/analysis/variable_nodes.h"
#include "argosy/tf/server/replication/step_rewrite.h"
#include "argosy/train/report/memory_check.h"

namespace argosy::tf {

namespace {

// A number that no op stumbles over: neither 0, which divides, nor large.
Result<Tensor> small_number(DType dtype) {
  if (!is_floating(dtype)) return Tensor::zeros(dtype, {});
  Tensor number = Tensor::zeros(dtype, {});
  ARGOSY_RETURN_IF_ERROR(dispatch<FloatTypes>(dtype, "a variable", [&]<typename T>() {
    *number.data<T>() = static_cast<T>(0.01f);
    return ok_status();
  }));
  return number;
}

// Adds what gives every variable of the graph a value.
Result<std::vector<Value>> add_initializers(Graph& g) {
  std::vector<Value> run;
  const std::int32_t size = g.size();
  for (std::int32_t i = 0; i < size; ++i) {
    const Node& n = g.node(NodeId{i});
    if (!is_variable(n)) continue;
    const bool is_ref = n.output_is_ref(0);
    const DType dtype = n.attrs.get<DType>("dtype");
    const auto* const said = n.attrs.find_as<PartialShape>("shape");
    if (said == nullptr || !said->is_full()) {
      return invalid_argument("the shape of '", n.name, "' is not known before the step runs")
          .with_id("ARG-PLAN-048")
          .with_hint("--strategy dp (it asks no prediction)");
    }
    std::vector<std::int64_t> sizes(said->sizes().begin(), said->sizes().end());
    const auto root = g.name_scope("");
    const auto on = g.device(g.node(NodeId{i}).device);
    ARGOSY_ASSIGN_OR_RETURN(Tensor number, small_number(dtype));
    const Value value = g.add("Fill", {constant(g, Tensor::vector(sizes)), constant(g, std::move(number))});
    const Value variable(&g, NodeId{i}, 0);
    run.push_back(is_ref ? g.add("Assign", {variable, value}).control()
                         : g.add("AssignVariableOp", {variable, value}).control());
    ARGOSY_RETURN_IF_ERROR(Status(g.status()));
  }
  return run;
}

class StepTrial final : public TrialSteps {
 public:
  StepTrial(const ClientStep& step, std::shared_ptr<DeviceSet> devices, bool optimize)
      : given_(step), device_set_(std::move(devices)), optimize_(optimize) {}

  // For any batch where the step can be made so, else for its own one.
  Status open(const Graph& graph, const DeviceSpec& spec) {
    auto any = rewrite_step(graph, given_.values, given_.losses, given_.feeds, given_.axes,
                            replica_devices(std::span(&spec, 1)), {.optimize = optimize_});
    if (any.ok()) {
      rewrite_ = std::make_unique<StepRewrite>(*std::move(any));
      graph_ = &rewrite_->parallel.graph();
      fed_ = rewrite_->fed, fetched_ = rewrite_->fetched, targets_ = rewrite_->targets;
    } else {
      ARGOSY_ASSIGN_OR_RETURN(plain_, prune_step(graph, signature_of(given_.values)));
      graph_ = &plain_->graph;
      for (const NodeId id : plain_->feeds) fed_.push_back(Value(graph_, id, 0));
      for (const Endpoint e : plain_->fetches) fetched_.push_back(Value(graph_, e.node, e.index));
      for (const NodeId id : plain_->targets) targets_.push_back(Value(graph_, id, Value::kControl));
    }
    ARGOSY_ASSIGN_OR_RETURN(const std::vector<Value> first, add_initializers(*graph_));
    session_ = std::make_unique<Session>(*graph_, SessionOptions{.device_set = device_set_,
                                                                 .allow_soft_placement = true,
                                                                 .optimize = optimize_,
                                                                 .fetch_handles = true,
                                                                 .trace_path = ""});
    ARGOSY_RETURN_IF_ERROR(Status(session_->status()));
    if (!first.empty()) ARGOSY_RETURN_IF_ERROR(session_->run_targets(first));
    return bring_rows_first();
  }

  Status check(std::int64_t batch) override {
    const auto forecast = [&](std::int64_t examples) -> Result<std::vector<MemoryForecast>> {
      ARGOSY_ASSIGN_OR_RETURN(const auto step, look(examples));
      return step->info.forecast;
    };
    return check_memory(*device_set_, forecast, batch);
  }

  Status prepare(std::int64_t batch) override {
    feeds_ = rows_.size() == 0 ? std::vector<Tensor>() : rows_;
    for (std::size_t i = 0; i < feeds_.size(); ++i) {
      if (any_batch_ && given_.axes[i] >= 0) {
        feeds_[i] = feeds_[i].rows(0, std::min(batch, feeds_[i].shape()[0])).owned();
      }
    }
    if (step_ == nullptr) {
      ARGOSY_ASSIGN_OR_RETURN(step_, session_->prepare(fed_, fetched_, targets_));
      values_.resize(fetched_.size());
    }
    for (int i = 0; i < 2; ++i) ARGOSY_RETURN_IF_ERROR(step_->run(feeds_, values_));  // compiles, records
    return ok_status();
  }

  Result<double> step_seconds(StepStats* stats) override {
    const std::int64_t start = now_nanos();
    ARGOSY_RETURN_IF_ERROR(step_->run(feeds_, values_, {.stats = stats}));
    return seconds_since(start);
  }

  Result<std::shared_ptr<const Step>> look(std::int64_t batch) override {
    StepSignature signature;
    for (std::size_t i = 0; i < fed_.size(); ++i) {
      signature.feeds.push_back(fed_[i].endpoint());
      std::vector<std::int64_t> sizes(rows_[i].shape().sizes().begin(), rows_[i].shape().sizes().end());
      if (any_batch_ && given_.axes[i] >= 0) sizes[0] = std::min(batch, sizes[0]);
      signature.feed_shapes.emplace_back(Shape(std::span<const std::int64_t>(sizes)));
    }
    for (const Value& v : fetched_) signature.fetches.push_back(v.endpoint());
    for (const Value& v : targets_) signature.targets.push_back(v.node());
    return compile_to_look(*graph_, signature, device_set_, {.optimize = optimize_});
  }

 private:
  // The feeds, with examples along the first axis.
  Status bring_rows_first() {
    rows_ = given_.feeds;
    any_batch_ = rewrite_ != nullptr;
    for (std::size_t i = 0; i < fed_.size(); ++i) {
      const PartialShape& shape = graph_->shape(fed_[i].endpoint());
      if (given_.axes[i] >= 0 && shape.has_rank() && shape[0] >= 0) any_batch_ = false;
    }
    if (rewrite_ == nullptr || rewrite_->columns.empty()) return ok_status();
    std::vector<Tensor> columns, rows(rewrite_->columns.size());
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      if (given_.axes[i] > 0) columns.push_back(rows_[i]);
    }
    ARGOSY_ASSIGN_OR_RETURN(const auto turn, session_->prepare(rewrite_->columns, rewrite_->transposed));
    ARGOSY_RETURN_IF_ERROR(turn->run(columns, rows));
    for (std::size_t i = 0, k = 0; i < rows_.size(); ++i) {
      if (given_.axes[i] > 0) rows_[i] = rows[k++];
    }
    return ok_status();
  }

  const ClientStep& given_;
  const std::shared_ptr<DeviceSet> device_set_;
  const bool optimize_;
  std::unique_ptr<StepRewrite> rewrite_;  // null: the step as it is
  bool any_batch_ = false;                // else it is written for one size
  std::optional<StepGraph> plain_;
  Graph* graph_ = nullptr;
  std::vector<Value> fed_, fetched_, targets_;
  std::vector<Tensor> rows_, feeds_, values_;
  std::unique_ptr<Session> session_;
  std::unique_ptr<Session::Callable> step_;
};

}  // namespace

Result<std::unique_ptr<TrialSteps>> try_step(const Graph& graph, const ClientStep& step, const DeviceSpec& spec,
                                             const std::shared_ptr<DeviceSet>& device_set, bool optimize) {
  DeviceSetView view{.parts = {}, .own_resources = true};
  for (int d = 0; d < device_set->size(); ++d) view.parts.push_back({.device = d});
  ARGOSY_ASSIGN_OR_RETURN(auto devices, view_device_set(device_set, view));
  auto trial = std::make_unique<StepTrial>(step, std::move(devices), optimize);
  ARGOSY_RETURN_IF_ERROR(trial->open(graph, spec));
  return std::unique_ptr<TrialSteps>(std::move(trial));
}

Result<PlannedNode> node_of_one_device(const Graph& part, std::string_view node) {
  if (const auto id = part.find(node)) {
    return PlannedNode{.node = std::string(node),
                       .op = part.node(*id).op->name,
                       .copies = "once",
                       .why = "one device computes the whole step"};
  }
  std::vector<std::string> names;
  for (const Node& n : part.nodes()) names.emplace_back(n.name);
  return not_found("the step has no node '", node, "'").with_id("ARG-SHARD-005").with_hint(nearest_word(node, names));
}

}  // namespace argosy::tf
