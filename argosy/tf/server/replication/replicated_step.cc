#include "argosy/tf/server/replication/replicated_step.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <numeric>
#include <set>

#include "argosy/ops/constant/constant.h"
#include "argosy/ops/layout/layout.h"
#include "argosy/passes/prune/prune.h"
#include "argosy/strategy/facts/gradient_seeds.h"
#include "argosy/strategy/facts/variable_nodes.h"
#include "argosy/tf/server/replication/batch_size_feeds.h"
#include "argosy/tf/server/replication/once_per_step.h"

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

// True for noise with a static number of rows.
bool draws_rows(const Graph& graph, NodeId id) {
  const std::string_view op = graph.node(id).op->name;
  if (op != "RandomUniform" && op != "RandomStandardNormal" && op != "TruncatedNormal") return false;
  const PartialShape& shape = graph.shape({id, 0});
  return shape.is_full() && shape.rank() > 0 && shape[0] > 1;
}

// The step's nodes that are computed first. If no node brings a batch, noise may be the batch (a generator's input).
// Whether its rows are examples is then decided as for fed rows.
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

std::optional<int> only_open_axis(const PartialShape& shape) {
  std::optional<int> open;
  for (int i = 0; shape.has_rank() && i < shape.rank(); ++i) {
    if (shape[i] < 0 && std::exchange(open, i)) return std::nullopt;
  }
  return open;
}

// Permutations that bring this axis to the front, and back.
std::vector<int> to_front(int axis, int rank) {
  std::vector<int> order(static_cast<std::size_t>(rank));
  std::iota(order.begin(), order.end(), 0);
  std::rotate(order.begin(), order.begin() + axis, order.begin() + axis + 1);
  return order;
}
std::vector<int> from_front(int axis, int rank) {
  std::vector<int> order(static_cast<std::size_t>(rank));
  for (int i = 0; i < rank; ++i) order[static_cast<std::size_t>(i)] = i == axis ? 0 : i < axis ? i + 1 : i;
  return order;
}

// A feed whose examples do not lie along the first axis. It is transposed before the step, and transposed back in every
// shard. The client's feed and its transposed value.
struct Transposed {
  Value given, transposed;
};

Result<Transposed> transpose_feed(StepGraph& step, std::size_t feed, int axis) {
  Graph& g = step.graph;
  const auto uses = g.consumers();
  const Value given(&g, step.feeds[feed], 0);
  const int rank = g.shape(given.endpoint()).rank();
  const auto root = g.name_scope("");
  const auto on = g.device("");
  const Transposed made{given, transpose(given, to_front(axis, rank))};
  const Value fed = placeholder(g, given.dtype(), PartialShape::unknown_of_rank(rank),
                                str_cat(g.node(given.node()).name, "/transposed"));
  const Value back = transpose(fed, from_front(axis, rank));
  if (!back.valid() || !made.transposed.valid()) return g.status();
  for (const Graph::Use& use : uses[given.node().index]) {
    if (use.input >= 0) g.set_input(use.node, use.input, back.endpoint());
  }
  step.feeds[feed] = fed.node();
  return made;
}

Shape transposed_shape(const Shape& shape, int axis) {
  std::vector<std::int64_t> sizes;
  for (const int i : to_front(axis, shape.rank())) sizes.push_back(shape[i]);
  return Shape(sizes);
}

}  // namespace

namespace {

// The axis along which every feed brings a batch of any size, or -1.
Result<std::vector<int>> open_axes(const Graph& graph, const std::vector<Value>& feeds,
                                   std::span<const Tensor> tensors) {
  std::vector<int> batch(feeds.size(), -1);
  std::optional<std::size_t> first;
  const auto examples = [&](std::size_t i) { return tensors[i].shape()[batch[i]]; };
  const auto take = [&](std::size_t i, int axis) {
    batch[i] = axis;
    if (!first) first = i;
    if (examples(i) == examples(*first)) return ok_status();
    return Status(invalid_argument("'", feeds[*first].name(), "' is fed ", examples(*first), " examples and '",
                                   feeds[i].name(), "' ", examples(i)));
  };
  for (std::size_t i = 0; i < feeds.size(); ++i) {
    const PartialShape& shape = graph.shape(feeds[i].endpoint());
    if (shape.has_rank() && shape.rank() > 0 && shape[0] < 0) ARGOSY_RETURN_IF_ERROR(take(i, 0));
  }
  for (std::size_t i = 0; i < feeds.size(); ++i) {
    if (graph.shape(feeds[i].endpoint()).has_rank() || tensors[i].shape().rank() == 0) continue;
    if (!first || tensors[i].shape()[0] == examples(*first)) ARGOSY_RETURN_IF_ERROR(take(i, 0));
  }
  const bool by_rows = first.has_value();
  for (std::size_t i = 0; i < feeds.size(); ++i) {
    const std::optional<int> axis = only_open_axis(graph.shape(feeds[i].endpoint()));
    if (!axis || *axis == 0) continue;
    if (!by_rows || tensors[i].shape()[*axis] == examples(*first)) ARGOSY_RETURN_IF_ERROR(take(i, *axis));
  }
  return batch;
}

// Written for one size of batch: the first one that most feeds have. None: no batch of more than one.
struct FixedBatch {
  std::vector<int> axes;
  bool is_said = false;  // by a feed of fixed sizes, and contradicted by none
};
std::optional<FixedBatch> fixed_batch(const Graph& graph, const std::vector<Value>& feeds) {
  std::map<std::int64_t, std::size_t> sizes;  // and how many have them
  const auto first_size = [&](const Value& feed) {
    const PartialShape& shape = graph.shape(feed.endpoint());
    return shape.has_rank() && shape.rank() > 0 ? shape[0] : 0;
  };
  for (const Value& feed : feeds) {
    if (const std::int64_t size = first_size(feed); size > 1) ++sizes[size];
  }
  if (sizes.empty()) return std::nullopt;
  const auto more = [](const auto& a, const auto& b) { return a.second < b.second; };
  const std::int64_t size = std::max_element(sizes.begin(), sizes.end(), more)->first;
  FixedBatch batch;
  for (const Value& feed : feeds) {
    batch.axes.push_back(first_size(feed) == size ? 0 : -1);
    batch.is_said = batch.is_said || (batch.axes.back() == 0 && graph.shape(feed.endpoint()).is_full());
  }
  batch.is_said = batch.is_said && sizes.size() == 1;
  return batch;
}

bool brings_one(const std::vector<int>& batch, int least) {
  return std::any_of(batch.begin(), batch.end(), [&](int axis) { return axis >= least; });
}

// The step on many devices, and the global values of its fetches.
Result<DataParallel> replicate(StepGraph& step, const DataParallelOptions& options, std::vector<Value>& fetched) {
  ARGOSY_ASSIGN_OR_RETURN(DataParallel parallel, DataParallel::make(step.graph, options));
  for (const Endpoint e : step.fetches) {
    ARGOSY_ASSIGN_OR_RETURN(fetched.emplace_back(), parallel.fetch(step.graph.value(e)));
  }
  return parallel;
}

}  // namespace

Result<std::vector<std::vector<int>>> feeds_of_batch(const Graph& graph, const std::vector<Value>& feeds,
                                                     std::span<const Tensor> tensors) {
  const Result<std::vector<int>> open = open_axes(graph, feeds, tensors);
  const bool open_ones = open.ok() && brings_one(*open, 0);
  const bool by_rows = open_ones && std::any_of(open->begin(), open->end(), [](int axis) { return axis == 0; });
  if (by_rows) return std::vector<std::vector<int>>{*open};
  const std::optional<FixedBatch> fixed = fixed_batch(graph, feeds);
  std::vector<std::vector<int>> found;
  if (open_ones) found.push_back(*open);
  if (fixed) found.insert(fixed->is_said ? found.begin() : found.end(), fixed->axes);
  if (!found.empty()) return found;
  ARGOSY_RETURN_IF_ERROR(open.status());
  return invalid_argument("nothing that is fed brings a batch")
      .with_hint("tf.placeholder(dtype, [None, …]) for what brings the batch");
}

TrainingStep analyze_training_step(ImportedGraph& graph, const StepValues& values) {
  TrainingStep step{.losses = losses_of(graph, values)};
  // The step's own part of the graph: what lies before a feed is not.
  const auto part = prune_step(graph.graph(), signature_of(values));
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
  // Fetches among them are computed once, too.
  for (const Value& v : values.fetches) {
    const auto gives = [&](Endpoint e) { return e.node == v.node(); };
    if (v.index() >= 0 && std::any_of(sources.begin(), sources.end(), gives)) sources.insert(v.endpoint());
  }
  for (const Endpoint e : sources) step.sources.push_back(graph.graph().value(e));
  if (step.sources.empty()) return step;
  const Result<std::string> twice =
      run_twice(graph.graph(), signature_of(values), std::vector<Endpoint>(sources.begin(), sources.end()));
  step.why = twice.ok() ? *twice : twice.status().message();
  return step;
}

Result<std::unique_ptr<ReplicatedStep>> ReplicatedStep::make(const Graph& graph, const StepValues& values,
                                                             const std::vector<Endpoint>& losses,
                                                             std::span<const Tensor> feeds, const Session& share_with,
                                                             const std::shared_ptr<DeviceSet>& device_set,
                                                             const ReplicationOptions& how) {
  ARGOSY_ASSIGN_OR_RETURN(const auto batches, feeds_of_batch(graph, values.feeds, feeds));
  auto made = make_with(graph, values, losses, feeds, batches[0], share_with, device_set, how);
  if (made.ok() || batches.size() == 1) return made;
  auto other = make_with(graph, values, losses, feeds, batches[1], share_with, device_set, how);
  return other.ok() ? std::move(other) : std::move(made);
}

Result<std::unique_ptr<ReplicatedStep>> ReplicatedStep::make_with(
    const Graph& graph, const StepValues& values, const std::vector<Endpoint>& losses, std::span<const Tensor> feeds,
    const std::vector<int>& batch, const Session& share_with, const std::shared_ptr<DeviceSet>& device_set,
    const ReplicationOptions& how) {
  StepSignature signature = signature_of(values);
  // Any sizes: a step is compiled for those of the feeds when they come.
  for (std::size_t i = 0; i < feeds.size(); ++i) {
    signature.feed_shapes[i] = PartialShape::unknown_of_rank(feeds[i].shape().rank());
  }
  signature.fetches.insert(signature.fetches.end(), losses.begin(), losses.end());
  ARGOSY_ASSIGN_OR_RETURN(StepGraph step, prune_step(graph, signature));

  DataParallelOptions options{.sync_batch_norm = how.sync_batch_norm};
  for (std::size_t i = values.fetches.size(); i < step.fetches.size(); ++i) {
    options.losses.push_back(step.graph.value(step.fetches[i]));
  }
  step.fetches.resize(values.fetches.size());
  for (const DeviceSpec& spec : device_set->specs()) {
    if (!spec.is_gpu()) continue;
    options.devices.push_back(spec.name.to_string());
    options.weights.push_back(spec.speed);
  }
  std::vector<Transposed> columns;
  std::vector<Shape> fed_shapes;
  for (std::size_t i = 0; i < batch.size(); ++i) {
    if (batch[i] > 0) {
      ARGOSY_ASSIGN_OR_RETURN(columns.emplace_back(), transpose_feed(step, i, batch[i]));
    }
    fed_shapes.push_back(batch[i] > 0 ? transposed_shape(feeds[i].shape(), batch[i]) : feeds[i].shape());
    const Value feed(&step.graph, step.feeds[i], 0);
    options.examples.emplace_back(feed, fed_shapes[i]);
    if (batch[i] >= 0) options.batch_inputs.push_back(feed);
  }
  const auto first = std::find_if(batch.begin(), batch.end(), [](int axis) { return axis >= 0; }) - batch.begin();
  const std::int64_t examples = fed_shapes[static_cast<std::size_t>(first)][0];
  const std::vector<std::size_t> sizes = scalars_equal_to(feeds, examples);
  for (const std::size_t i : sizes) {
    if (examples < 2) {  // 0 and 1 are as likely a switch
      return invalid_argument("'", values.feeds[i].name(), "' is fed ", examples,
                              ", which may be the batch's size: a batch of ", examples, " is not sharded then");
    }
    ARGOSY_RETURN_IF_ERROR(take_size_from_batch(step, i, static_cast<std::size_t>(first)));
  }
  for (const NodeId id : step.targets) options.train.push_back(Value(&step.graph, id, Value::kControl));
  for (const Endpoint e : step.fetches) options.train.push_back(Value(&step.graph, e.node, Value::kControl));
  std::vector<Value> fetched;
  ARGOSY_ASSIGN_OR_RETURN(DataParallel parallel, replicate(step, options, fetched));

  std::unique_ptr<ReplicatedStep> made(new ReplicatedStep(std::move(parallel)));
  made->axes_ = batch;
  made->sizes_ = sizes;
  DataParallel& p = made->parallel_;
  std::vector<Value> fed, targets;
  for (const NodeId id : step.feeds) fed.push_back(p.input(Value(&step.graph, id, 0)));
  made->fed_ = fed;
  for (const NodeId id : step.targets) targets.push_back(p.target(Value(&step.graph, id, Value::kControl)));
  for (const Endpoint e : step.fetches) {
    const Value run = p.target(Value(&step.graph, e.node, Value::kControl));
    if (run.node() != e.node) targets.push_back(run);
  }
  std::vector<Value> with_losses = fetched;
  for (const Value& loss : how.check > 0 ? options.losses : std::vector<Value>()) {
    const Result<Value> global = p.fetch(loss);
    made->losses_.push_back(global.ok());
    if (global.ok()) with_losses.push_back(*global);
  }
  ARGOSY_ASSIGN_OR_RETURN(const Value refresh, p.refresh_mirrors());
  // Copies are for the GPUs; what those cannot run is the CPU's, whatever the client asked for its own graph.
  made->session_ = std::make_unique<Session>(p.graph(), SessionOptions{.device_set = device_set,
                                                                       .share_op_state_with = &share_with,
                                                                       .allow_soft_placement = true,
                                                                       .optimize = how.optimize,
                                                                       .fetch_handles = true});
  ARGOSY_ASSIGN_OR_RETURN(made->refresh_, made->session_->prepare({}, {}, {refresh}));
  ARGOSY_ASSIGN_OR_RETURN(made->step_, made->session_->prepare(fed, fetched, targets));
  if (how.check > 0) {
    ARGOSY_ASSIGN_OR_RETURN(made->with_losses_, made->session_->prepare(fed, with_losses, targets));
  }
  if (!columns.empty()) {
    std::vector<Value> from, to;
    for (const Transposed& t : columns) {
      from.push_back(p.input(t.given));
      to.push_back(p.input(t.transposed));
    }
    ARGOSY_ASSIGN_OR_RETURN(made->transpose_, made->session_->prepare(from, to));
  }
  // Compiled now: what does not fit together, or into memory, is refused and not the client's error.
  std::vector<std::pair<Value, Shape>> shapes;
  for (std::size_t i = 0; i < fed.size(); ++i) shapes.emplace_back(fed[i], fed_shapes[i]);
  ARGOSY_RETURN_IF_ERROR(made->session_->forecast(shapes, fetched, targets).status());
  return made;
}

Status ReplicatedStep::refresh(const RunOptions& options) { return refresh_->run({}, {}, options); }

Status ReplicatedStep::run(std::span<const Tensor> feeds, std::span<Tensor> fetches, const RunOptions& options) {
  return run(*step_, feeds, fetches, options);
}

Status ReplicatedStep::run_with_losses(std::span<const Tensor> feeds, std::span<Tensor> fetches,
                                       const RunOptions& options) {
  const std::size_t plain = fetches.size() - losses_.size();
  std::vector<Tensor> known(plain + static_cast<std::size_t>(std::count(losses_.begin(), losses_.end(), true)));
  ARGOSY_RETURN_IF_ERROR(run(*with_losses_, feeds, known, options));
  std::size_t from = 0;
  for (std::size_t i = 0; i < fetches.size(); ++i) {
    if (i < plain || losses_[i - plain]) fetches[i] = std::move(known[from++]);
  }
  return ok_status();
}

Status ReplicatedStep::run(Session::Callable& step, std::span<const Tensor> feeds, std::span<Tensor> fetches,
                           const RunOptions& options) {
  if (transpose_ == nullptr) return step.run(feeds, fetches, options);
  std::vector<Tensor> all(feeds.begin(), feeds.end()), given;
  const auto is_transposed = [&](std::size_t i) { return axes_[i] > 0; };
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (is_transposed(i)) given.push_back(all[i]);
  }
  std::vector<Tensor> transposed(given.size());
  ARGOSY_RETURN_IF_ERROR(transpose_->run(given, transposed, {.cancellation = options.cancellation}));
  for (std::size_t i = 0, k = 0; i < all.size(); ++i) {
    if (is_transposed(i)) all[i] = std::move(transposed[k++]);
  }
  return step.run(all, fetches, options);
}

bool ReplicatedStep::can_shard(std::span<const Tensor> feeds) const {
  std::optional<std::int64_t> examples;
  for (std::size_t i = 0; i < axes_.size(); ++i) {
    if (axes_[i] < 0) continue;
    const std::int64_t own = feeds[i].shape()[axes_[i]];
    if (examples.value_or(own) != own) return false;  // the step itself says so as TensorFlow does
    examples = own;
  }
  const std::vector<std::size_t> sizes = scalars_equal_to(feeds, examples.value_or(0));
  if (sizes != sizes_) return false;
  for (std::size_t i = 0; i < axes_.size(); ++i) {
    const Shape& given = feeds[i].shape();
    if (axes_[i] > 0 && axes_[i] >= given.rank()) return false;
    const Shape shape = axes_[i] > 0 ? transposed_shape(given, axes_[i]) : given;
    if (!parallel_.can_feed(fed_[i], shape)) return false;
  }
  return parallel_.can_shard(examples.value_or(0));
}

}  // namespace argosy::tf
