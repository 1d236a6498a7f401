#include "argosy/tf/session/replicated_step.h"

#include <optional>

#include "argosy/passes/extract.h"
#include "argosy/strategy/loss_seed.h"

namespace argosy::tf {

namespace {

Result<Endpoint> loss_of(ImportedGraph& graph, const StepValues& values) {
  std::vector<NodeId> run;
  for (const Value& v : values.targets) run.push_back(v.node());
  for (const Value& v : values.fetches) run.push_back(v.node());
  return find_loss(graph.graph(), run, [&](std::string_view name) -> std::optional<NodeId> {
    if (!graph.has(name)) return std::nullopt;
    const auto found = graph.value(str_cat("^", name));
    return found.ok() ? std::optional(found->node()) : std::nullopt;
  });
}

}  // namespace

Result<std::vector<bool>> feeds_of_batch(const Graph& graph, const std::vector<Value>& feeds,
                                         std::span<const Tensor> tensors) {
  std::vector<bool> batch(feeds.size());
  std::optional<std::size_t> first;
  std::string fixed;
  const auto take = [&](std::size_t i) {
    if (first && tensors[i].shape()[0] != tensors[*first].shape()[0]) {
      return invalid_argument("'", feeds[*first].name(), "' is fed ", tensors[*first].shape()[0], " rows and '",
                              feeds[i].name(), "' ", tensors[i].shape()[0]);
    }
    if (!first) first = i;
    batch[i] = true;
    return ok_status();
  };
  for (std::size_t i = 0; i < feeds.size(); ++i) {
    const PartialShape& shape = graph.shape(feeds[i].endpoint());
    if (!shape.has_rank() || shape.rank() == 0) continue;
    if (shape[0] < 0) ARGOSY_RETURN_IF_ERROR(take(i));
    if (shape[0] >= 0 && fixed.empty()) fixed = str_cat("'", feeds[i].name(), "' is ", shape);
  }
  for (std::size_t i = 0; i < feeds.size(); ++i) {
    if (graph.shape(feeds[i].endpoint()).has_rank() || tensors[i].shape().rank() == 0) continue;
    if (!first || tensors[i].shape()[0] == tensors[*first].shape()[0]) ARGOSY_RETURN_IF_ERROR(take(i));
  }
  if (first) return batch;
  return invalid_argument("nothing that is fed brings a batch of any size", fixed.empty() ? "" : ": ", fixed)
      .with_next("tf.placeholder(dtype, [None, …]) for what brings the batch");
}

Result<std::unique_ptr<ReplicatedStep>> ReplicatedStep::make(ImportedGraph& graph, const StepValues& values,
                                                             std::span<const Tensor> feeds,
                                                             const std::shared_ptr<Machine>& machine, bool optimize) {
  ARGOSY_ASSIGN_OR_RETURN(const Endpoint loss, loss_of(graph, values));
  ARGOSY_ASSIGN_OR_RETURN(const std::vector<bool> batch, feeds_of_batch(graph.graph(), values.feeds, feeds));
  StepSignature signature;
  for (std::size_t i = 0; i < values.feeds.size(); ++i) {
    PartialShape shape(feeds[i].shape());
    // What comes without a declared rank may have another first size next time, batch or not.
    if (batch[i] || (shape.rank() > 0 && !graph.graph().shape(values.feeds[i].endpoint()).has_rank())) {
      PartialShape::Sizes sizes = shape.sizes();
      sizes[0] = PartialShape::kUnknown;
      shape = PartialShape(std::move(sizes));
    }
    signature.feeds.push_back(values.feeds[i].endpoint());
    signature.feed_shapes.push_back(std::move(shape));
  }
  for (const Value& v : values.fetches) signature.fetches.push_back(v.endpoint());
  for (const Value& v : values.targets) signature.targets.push_back(v.node());
  signature.fetches.push_back(loss);
  ARGOSY_ASSIGN_OR_RETURN(StepGraph step, extract_step(graph.graph(), signature));

  DataParallelOptions options{.loss = step.graph.value(step.fetches.back())};
  step.fetches.pop_back();
  for (const DeviceSpec& spec : machine->specs()) {
    if (!spec.is_gpu()) continue;
    options.devices.push_back(spec.name.to_string());
    options.weights.push_back(spec.speed);
  }
  for (std::size_t i = 0; i < batch.size(); ++i) {
    if (batch[i]) options.batch_inputs.push_back(Value(&step.graph, step.feeds[i], 0));
  }
  for (const NodeId id : step.targets) options.train.push_back(Value(&step.graph, id, Value::kControl));
  for (const Endpoint e : step.fetches) options.train.push_back(Value(&step.graph, e.node, Value::kControl));
  ARGOSY_ASSIGN_OR_RETURN(DataParallel parallel, DataParallel::make(step.graph, options));

  std::unique_ptr<ReplicatedStep> made(new ReplicatedStep(std::move(parallel)));
  DataParallel& p = made->parallel_;
  std::vector<Value> fed, fetched, targets;
  for (const NodeId id : step.feeds) fed.push_back(p.input(Value(&step.graph, id, 0)));
  for (const Endpoint e : step.fetches) {
    ARGOSY_ASSIGN_OR_RETURN(fetched.emplace_back(), p.fetch(step.graph.value(e)));
  }
  for (const NodeId id : step.targets) targets.push_back(p.target(Value(&step.graph, id, Value::kControl)));
  ARGOSY_ASSIGN_OR_RETURN(const Value refresh, p.refresh_mirrors());
  // Copies are for the GPUs; what those cannot run is the CPU's, whatever the client asked for its own graph.
  made->session_ = std::make_unique<Session>(
      p.graph(),
      SessionOptions{.machine = machine, .allow_soft_placement = true, .optimize = optimize, .fetch_handles = true});
  ARGOSY_ASSIGN_OR_RETURN(made->refresh_, made->session_->prepare({}, {}, {refresh}));
  ARGOSY_ASSIGN_OR_RETURN(made->step_, made->session_->prepare(fed, fetched, targets));
  return made;
}

Status ReplicatedStep::refresh(const RunOptions& options) { return refresh_->run({}, {}, options); }

Status ReplicatedStep::run(std::span<const Tensor> feeds, std::span<Tensor> fetches, const RunOptions& options) {
  return step_->run(feeds, fetches, options);
}

}  // namespace argosy::tf
