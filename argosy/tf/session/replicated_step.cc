#include "argosy/tf/session/replicated_step.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <set>

#include "argosy/passes/extract.h"
#include "argosy/strategy/loss_seed.h"
#include "argosy/strategy/variables.h"

namespace argosy::tf {

namespace {

std::vector<NodeId> roots(const StepValues& values) {
  std::vector<NodeId> run;
  for (const Value& v : values.targets) run.push_back(v.node());
  for (const Value& v : values.fetches) run.push_back(v.node());
  return run;
}

std::vector<Endpoint> losses_of(ImportedGraph& graph, const StepValues& values) {
  return find_losses(graph.graph(), roots(values), [&](std::string_view name) -> std::optional<NodeId> {
    if (!graph.has(name)) return std::nullopt;
    const auto found = graph.value(str_cat("^", name));
    return found.ok() ? std::optional(found->node()) : std::nullopt;
  });
}

StepSignature signature_of(const StepValues& values) {
  StepSignature signature;
  for (const Value& v : values.feeds) signature.feeds.push_back(v.endpoint());
  signature.feed_shapes.assign(signature.feeds.size(), PartialShape::unknown());
  for (const Value& v : values.fetches) signature.fetches.push_back(v.endpoint());
  for (const Value& v : values.targets) signature.targets.push_back(v.node());
  return signature;
}

bool brings_batches(std::string_view op) {
  return op == "IteratorGetNext" || op.starts_with("QueueDequeueMany") || op.starts_with("QueueDequeueUpTo");
}

// Noise with rows, as many as the graph says.
bool draws_rows(const Graph& graph, NodeId id) {
  const std::string_view op = graph.node(id).op->name;
  if (op != "RandomUniform" && op != "RandomStandardNormal" && op != "TruncatedNormal") return false;
  const PartialShape& shape = graph.shape({id, 0});
  return shape.is_full() && shape.rank() > 0 && shape[0] > 1;
}

// Of the step's nodes those whose values are had first. Where nobody brings a batch, it may be drawn: a generator's
// noise. That its rows are examples is not taken for granted, but shown or refused as for rows that are fed.
std::vector<NodeId> sources_of(const StepGraph& step, const std::vector<NodeId>& all) {
  std::vector<NodeId> found;
  for (const NodeId id : all) {
    if (brings_batches(step.graph.node(id).op->name)) found.push_back(id);
  }
  const auto may_bring = [&](NodeId feed) {
    const PartialShape& shape = step.graph.shape({feed, 0});
    return !shape.has_rank() || shape.rank() > 0;
  };
  if (!found.empty() || std::any_of(step.feeds.begin(), step.feeds.end(), may_bring)) return found;
  std::copy_if(all.begin(), all.end(), std::back_inserter(found),
               [&](NodeId id) { return draws_rows(step.graph, id); });
  return found;
}

}  // namespace

Result<std::vector<bool>> feeds_of_batch(const Graph& graph, const std::vector<Value>& feeds,
                                         std::span<const Tensor> tensors) {
  std::vector<bool> batch(feeds.size());
  std::optional<std::size_t> first;
  const auto take = [&](std::size_t i) {
    if (first && tensors[i].shape()[0] != tensors[*first].shape()[0]) {
      return invalid_argument("'", feeds[*first].name(), "' is fed ", tensors[*first].shape()[0], " rows and '",
                              feeds[i].name(), "' ", tensors[i].shape()[0]);
    }
    if (!first) first = i;
    batch[i] = true;
    return ok_status();
  };
  std::map<std::int64_t, std::size_t> fixed;  // first sizes, and how many have them
  for (std::size_t i = 0; i < feeds.size(); ++i) {
    const PartialShape& shape = graph.shape(feeds[i].endpoint());
    if (!shape.has_rank() || shape.rank() == 0) continue;
    if (shape[0] < 0) ARGOSY_RETURN_IF_ERROR(take(i));
    if (shape[0] > 1) ++fixed[shape[0]];
  }
  for (std::size_t i = 0; i < feeds.size(); ++i) {
    if (graph.shape(feeds[i].endpoint()).has_rank() || tensors[i].shape().rank() == 0) continue;
    if (!first || tensors[i].shape()[0] == tensors[*first].shape()[0]) ARGOSY_RETURN_IF_ERROR(take(i));
  }
  if (first) return batch;
  if (fixed.empty()) {
    return invalid_argument("nothing that is fed brings a batch")
        .with_next("tf.placeholder(dtype, [None, …]) for what brings the batch");
  }
  // Written for one size of batch: the one that most of them have.
  const auto more = [](const auto& a, const auto& b) { return a.second < b.second; };
  const std::int64_t size = std::max_element(fixed.begin(), fixed.end(), more)->first;
  for (std::size_t i = 0; i < feeds.size(); ++i) {
    const PartialShape& shape = graph.shape(feeds[i].endpoint());
    batch[i] = shape.has_rank() && shape.rank() > 0 && shape[0] == size;
  }
  return batch;
}

TrainingStep look_at(ImportedGraph& graph, const StepValues& values) {
  TrainingStep step{.losses = losses_of(graph, values)};
  // The step's own part of the graph: what lies before a feed is not.
  const auto part = extract_step(graph.graph(), signature_of(values));
  if (!part.ok()) {
    step.why = part.status().message();
    step.writes = true;  // for all that is known
    return step;
  }
  std::vector<NodeId> all;
  for (std::int32_t i = 0; i < part->graph.size(); ++i) all.push_back(NodeId{i});
  step.writes = writes_variables(part->graph, all);
  if (!step.writes) {  // gradients that are looked at
    step.losses.clear();
  }
  if (step.losses.empty()) return step;
  const auto uses = part->graph.consumers();
  std::set<Endpoint> sources;
  for (const NodeId id : sources_of(*part, all)) {
    const auto original = graph.graph().find(part->graph.node(id).name);
    for (const Graph::Use& use : uses[id.index]) {
      if (original && use.input >= 0) {
        sources.insert({*original, part->graph.node(use.node).inputs[use.input].index});
      }
    }
  }
  for (const Endpoint e : sources) step.sources.push_back(graph.graph().value(e));
  return step;
}

Result<std::unique_ptr<ReplicatedStep>> ReplicatedStep::make(const Graph& graph, const StepValues& values,
                                                             const std::vector<Endpoint>& losses,
                                                             std::span<const Tensor> feeds, const Session& beside,
                                                             const std::shared_ptr<Machine>& machine, bool optimize) {
  ARGOSY_ASSIGN_OR_RETURN(const std::vector<bool> batch, feeds_of_batch(graph, values.feeds, feeds));
  StepSignature signature = signature_of(values);
  // Any sizes: a step is compiled for those of the feeds when they come.
  for (std::size_t i = 0; i < feeds.size(); ++i) {
    signature.feed_shapes[i] = PartialShape::unknown_of_rank(feeds[i].shape().rank());
  }
  signature.fetches.insert(signature.fetches.end(), losses.begin(), losses.end());
  ARGOSY_ASSIGN_OR_RETURN(StepGraph step, extract_step(graph, signature));

  DataParallelOptions options;
  for (std::size_t i = values.fetches.size(); i < step.fetches.size(); ++i) {
    options.losses.push_back(step.graph.value(step.fetches[i]));
  }
  step.fetches.resize(values.fetches.size());
  for (const DeviceSpec& spec : machine->specs()) {
    if (!spec.is_gpu()) continue;
    options.devices.push_back(spec.name.to_string());
    options.weights.push_back(spec.speed);
  }
  for (std::size_t i = 0; i < batch.size(); ++i) {
    const Value feed(&step.graph, step.feeds[i], 0);
    options.examples.emplace_back(feed, feeds[i].shape());
    if (batch[i]) options.batch_inputs.push_back(feed);
  }
  for (const NodeId id : step.targets) options.train.push_back(Value(&step.graph, id, Value::kControl));
  for (const Endpoint e : step.fetches) options.train.push_back(Value(&step.graph, e.node, Value::kControl));
  ARGOSY_ASSIGN_OR_RETURN(DataParallel parallel, DataParallel::make(step.graph, options));

  std::unique_ptr<ReplicatedStep> made(new ReplicatedStep(std::move(parallel)));
  made->batch_feed_ = static_cast<std::size_t>(std::find(batch.begin(), batch.end(), true) - batch.begin());
  DataParallel& p = made->parallel_;
  std::vector<Value> fed, fetched, targets;
  for (const NodeId id : step.feeds) fed.push_back(p.input(Value(&step.graph, id, 0)));
  for (const NodeId id : step.targets) targets.push_back(p.target(Value(&step.graph, id, Value::kControl)));
  for (const Endpoint e : step.fetches) {
    ARGOSY_ASSIGN_OR_RETURN(fetched.emplace_back(), p.fetch(step.graph.value(e)));
    const Value run = p.target(Value(&step.graph, e.node, Value::kControl));
    if (run.node() != e.node) targets.push_back(run);
  }
  ARGOSY_ASSIGN_OR_RETURN(const Value refresh, p.refresh_mirrors());
  // Copies are for the GPUs; what those cannot run is the CPU's, whatever the client asked for its own graph.
  made->session_ = std::make_unique<Session>(p.graph(), SessionOptions{.machine = machine,
                                                                       .beside = &beside,
                                                                       .allow_soft_placement = true,
                                                                       .optimize = optimize,
                                                                       .fetch_handles = true});
  ARGOSY_ASSIGN_OR_RETURN(made->refresh_, made->session_->prepare({}, {}, {refresh}));
  ARGOSY_ASSIGN_OR_RETURN(made->step_, made->session_->prepare(fed, fetched, targets));
  // Compiled now: what does not fit together, or into memory, is refused and not the client's error.
  std::vector<std::pair<Value, Shape>> shapes;
  for (std::size_t i = 0; i < fed.size(); ++i) shapes.emplace_back(fed[i], feeds[i].shape());
  ARGOSY_RETURN_IF_ERROR(made->session_->forecast(shapes, fetched, targets).status());
  return made;
}

Status ReplicatedStep::refresh(const RunOptions& options) { return refresh_->run({}, {}, options); }

Status ReplicatedStep::run(std::span<const Tensor> feeds, std::span<Tensor> fetches, const RunOptions& options) {
  return step_->run(feeds, fetches, options);
}

}  // namespace argosy::tf
