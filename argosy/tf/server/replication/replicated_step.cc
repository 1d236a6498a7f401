#include "argosy/tf/server/replication/replicated_step.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <numeric>
#include <set>

#include "argosy/ops/constant/constant.h"
#include "argosy/ops/layout/layout.h"
#include "argosy/passes/functions/lower_functions.h"
#include "argosy/passes/simplify/prune.h"
#include "argosy/sharding/lower/regions.h"
#include "argosy/strategy/analysis/gradient_seeds.h"
#include "argosy/strategy/analysis/reachability.h"
#include "argosy/strategy/analysis/variable_nodes.h"
#include "argosy/tf/server/replication/batch_size_feeds.h"
#include "argosy/tf/server/replication/check/losses_of_every_run.h"
#include "argosy/tf/server/replication/once_per_step.h"
#include "argosy/tf/server/replication/step_rewrite.h"
#include "argosy/tf/server/replication/stream_places.h"

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

bool brings_batches(std::string_view op) {
  return op == "IteratorGetNext" || op.starts_with("QueueDequeueMany") || op.starts_with("QueueDequeueUpTo");
}

// A call of a function that trains, or the update that follows from one: of losses in functions the client's graph knows
// nothing. TensorFlow 1.x gives their gradients no names, so what they change by what is fed shows it. "": none.
std::string trained_in_calls(const Graph& graph, const StepSignature& signature) {
  auto part = prune_step(graph, signature);
  if (!part.ok()) return "";
  struct Call {
    std::string scope;
    bool of_function;  // no branch and no loop, where steps that do not train keep counts, too
  };
  std::vector<Call> calls;
  for (const Node& n : part->graph.nodes()) {
    const Calls kind = n.op->calls;
    if (kind == Calls::kNothing) continue;
    calls.push_back({str_cat(n.name, "/"), kind == Calls::kCall || kind == Calls::kCallOn});
  }
  if (calls.empty() || !lower_functions(*part).ok()) return "";
  const Graph& lowered = part->graph;
  std::vector<NodeId> batch = part->feeds;
  for (std::int32_t i = 0; i < lowered.size(); ++i) {
    if (brings_batches(lowered.node(NodeId{i}).op->name)) batch.push_back(NodeId{i});
  }
  const std::vector<char> of_batch = descendants(lowered, batch);
  for (std::int32_t i = 0; i < lowered.size(); ++i) {
    const Node& n = lowered.node(NodeId{i});
    const auto call = std::find_if(calls.begin(), calls.end(),
                                   [&](const Call& c) { return std::string_view(n.name).starts_with(c.scope); });
    const bool learns = writes_variable(lowered, n) && !moves_generator(lowered, n);
    const bool changes = of_batch[static_cast<std::size_t>(i)] != 0 && learns;
    if (call != calls.end() && ((changes && call->of_function) || belongs_to_gradient(n))) {
      return call->scope.substr(0, call->scope.size() - 1);
    }
    if (changes && n.op->update.has_value()) return std::string(n.name);
  }
  return "";
}

// True for noise with a static number of rows.
bool draws_rows(const Graph& graph, NodeId id) {
  const std::string_view op = graph.node(id).op->name;
  if (op != "RandomUniform" && op != "RandomStandardNormal" && op != "TruncatedNormal") return false;
  const PartialShape& shape = graph.shape({id, 0});
  return shape.is_full() && shape.rank() > 0 && shape[0] > 1;
}

// By node: in a branch or loop, or behind one. It may run in no step, or more than once.
std::vector<char> behind_control_flow(const Graph& graph) {
  std::vector<NodeId> flow;
  for (std::int32_t i = 0; i < graph.size(); ++i) {
    if (graph.node(NodeId{i}).op->flow != Flow::kNone) flow.push_back(NodeId{i});
  }
  std::vector<char> found = descendants(graph, flow);
  const auto order = graph.topological_order();
  if (!order.ok()) return std::vector<char>(found.size(), 1);
  const LoopRegions regions = find_regions(graph, *order);  // a branch may hold a node by a control edge alone
  for (std::size_t i = 0; i < found.size(); ++i) {
    if (!regions.always(NodeId{static_cast<std::int32_t>(i)})) found[i] = 1;
  }
  return found;
}

// True if a feed may bring a batch: it may have a first dimension.
bool is_fed_rows(const StepGraph& step) {
  return std::any_of(step.feeds.begin(), step.feeds.end(), [&](NodeId feed) {
    const PartialShape& shape = step.graph.shape({feed, 0});
    return !shape.has_rank() || shape.rank() > 0;
  });
}

// The step's nodes that are computed first. If no node brings a batch, noise may be the batch (a generator's input).
// Whether its rows are examples is then decided as for fed rows.
std::vector<NodeId> sources_of(const StepGraph& step, const std::vector<NodeId>& all) {
  std::vector<NodeId> found;
  const std::vector<char> depends = behind_control_flow(step.graph);
  for (const NodeId id : all) {
    const bool always = depends[static_cast<std::size_t>(id.index)] == 0;
    if (always && brings_batches(step.graph.node(id).op->name)) found.push_back(id);
  }
  if (!found.empty() || is_fed_rows(step)) return found;
  std::copy_if(all.begin(), all.end(), std::back_inserter(found),
               [&](NodeId id) { return draws_rows(step.graph, id); });
  return found;
}

// Why the step has no batch, if a branch or a loop brings it; "": nothing there does.
std::string batch_behind_control_flow(const Graph& graph) {
  const std::vector<char> depends = behind_control_flow(graph);
  for (std::int32_t i = 0; i < graph.size(); ++i) {
    const Node& n = graph.node(NodeId{i});
    if (depends[static_cast<std::size_t>(i)] == 0 || !brings_batches(n.op->name)) continue;
    return str_cat("'", n.name, "' (", n.op->name,
                   ") brings the batch in a branch or loop, so in no step or more than once");
  }
  return "";
}

std::optional<int> only_open_axis(const PartialShape& shape) {
  std::optional<int> open;
  for (int i = 0; shape.has_rank() && i < shape.rank(); ++i) {
    if (shape[i] < 0 && std::exchange(open, i)) return std::nullopt;
  }
  return open;
}

}  // namespace

namespace {

// The axis along which every feed brings a batch of any size, or -1: of so many rows as most feeds have, then of the
// next most. What has other rows (elements of sparse tensors, labels of two batches) is everybody's.
std::vector<std::vector<int>> open_axes(const Graph& graph, const std::vector<Value>& feeds,
                                        std::span<const Tensor> tensors) {
  std::vector<std::pair<std::int64_t, std::size_t>> rows;  // and how many feeds have them; in the feeds' order
  const auto count = [&](std::int64_t size) {
    const auto known = std::find_if(rows.begin(), rows.end(), [&](const auto& r) { return r.first == size; });
    if (known == rows.end()) {
      rows.emplace_back(size, 1);
    } else {
      ++known->second;
    }
  };
  const auto shape_of = [&](std::size_t i) -> const PartialShape& { return graph.shape(feeds[i].endpoint()); };
  const auto open_rows = [&](std::size_t i) { return shape_of(i).rank() > 0 && shape_of(i)[0] < 0; };
  const auto any_shape = [&](std::size_t i) { return !shape_of(i).has_rank() && tensors[i].shape().rank() > 0; };
  for (std::size_t i = 0; i < feeds.size(); ++i) {
    if (open_rows(i)) count(tensors[i].shape()[0]);
  }
  for (std::size_t i = 0; i < feeds.size() && rows.empty(); ++i) {
    if (any_shape(i)) count(tensors[i].shape()[0]);
  }
  const bool by_rows = !rows.empty();
  for (std::size_t i = 0; i < feeds.size() && !by_rows; ++i) {
    if (const auto axis = only_open_axis(shape_of(i))) count(tensors[i].shape()[*axis]);
  }
  if (!by_rows && rows.size() > 1) return {};  // columns of different lengths
  std::stable_sort(rows.begin(), rows.end(), [](const auto& a, const auto& b) { return a.second > b.second; });
  std::vector<std::vector<int>> found;
  for (const auto& [examples, times] : rows) {
    std::vector<int>& axes = found.emplace_back(feeds.size(), -1);
    for (std::size_t i = 0; i < feeds.size(); ++i) {
      const std::optional<int> axis = open_rows(i) || any_shape(i) ? 0 : only_open_axis(shape_of(i));
      if (axis && tensors[i].shape()[*axis] == examples) axes[i] = *axis;
    }
  }
  return found;
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

}  // namespace

Result<std::vector<std::vector<int>>> feeds_of_batch(const Graph& graph, const std::vector<Value>& feeds,
                                                     std::span<const Tensor> tensors) {
  std::vector<std::vector<int>> found = open_axes(graph, feeds, tensors);
  const auto by_rows = [](const std::vector<int>& axes) {
    return std::any_of(axes.begin(), axes.end(), [](int axis) { return axis == 0; });
  };
  if (std::any_of(found.begin(), found.end(), by_rows)) return found;
  const std::optional<FixedBatch> fixed = fixed_batch(graph, feeds);
  if (fixed) found.insert(fixed->is_said ? found.begin() : found.end(), fixed->axes);
  if (!found.empty()) return found;
  return invalid_argument("nothing that is fed brings a batch")
      .with_hint("tf.placeholder(dtype, [None, …]) for what brings the batch");
}

TrainingStep analyze_training_step(ImportedGraph& graph, const StepValues& values) {
  TrainingStep step;
  step.losses = losses_of(graph, values);
  // The step's own part of the graph: what lies before a feed is not.
  const auto part = prune_step(graph.graph(), signature_of(values));
  if (!part.ok()) {
    step.why = part.status().message();
    step.writes = true;  // for all that is known
    if (!step.losses.empty()) step.trains = graph.graph().node(step.losses[0].node).name;
    return step;
  }
  std::vector<NodeId> all;
  for (std::int32_t i = 0; i < part->graph.size(); ++i) all.push_back(NodeId{i});
  const bool hidden = functions_hold_variables(graph.graph());  // a dataset may write, in whatever step reads it
  step.writes = hidden || writes_variables(part->graph, all);
  const bool learns = writes_variables(part->graph, all, /*generators=*/false);
  if (!learns) {  // gradients that are looked at
    step.losses.clear();
  }
  if (!step.losses.empty()) {
    step.trains = graph.graph().node(step.losses[0].node).name;
  } else if (learns) {
    step.trains = trained_in_calls(graph.graph(), signature_of(values));
  }
  if (step.trains.empty()) return step;
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
  if (step.sources.empty()) {
    if (!is_fed_rows(*part)) step.why = batch_behind_control_flow(part->graph);
    return step;
  }
  const Result<std::string> twice =
      run_twice(graph.graph(), signature_of(values), std::vector<Endpoint>(sources.begin(), sources.end()));
  step.why = twice.ok() ? *twice : twice.status().message();
  step.sources_write = hidden || writes_variables(part->graph, sources_of(*part, all));
  return step;
}

Result<std::unique_ptr<ReplicatedStep>> ReplicatedStep::make(const Graph& graph, const StepValues& values,
                                                             const std::vector<Endpoint>& losses,
                                                             std::span<const Tensor> feeds, const Session& share_with,
                                                             const std::shared_ptr<DeviceSet>& device_set,
                                                             const ReplicationOptions& how) {
  ARGOSY_ASSIGN_OR_RETURN(const auto batches, feeds_of_batch(graph, values.feeds, feeds));
  auto made = make_with(graph, values, losses, feeds, batches[0], share_with, device_set, how);
  for (std::size_t i = 1; i < batches.size() && !made.ok(); ++i) {
    auto other = make_with(graph, values, losses, feeds, batches[i], share_with, device_set, how);
    if (other.ok()) return other;
  }
  return made;
}

Result<std::unique_ptr<ReplicatedStep>> ReplicatedStep::make_with(
    const Graph& graph, const StepValues& values, const std::vector<Endpoint>& losses, std::span<const Tensor> feeds,
    const std::vector<int>& batch, const Session& share_with, const std::shared_ptr<DeviceSet>& device_set,
    const ReplicationOptions& how) {
  const ReplicaDevices devices = replica_devices(*device_set, how.tasks.get(), how.most_gpus);
  ARGOSY_ASSIGN_OR_RETURN(StepRewrite rewrite, rewrite_step(graph, values, losses, feeds, batch, devices, how));
  std::unique_ptr<ReplicatedStep> made(new ReplicatedStep(std::move(rewrite.parallel)));
  DataParallel& p = made->parallel_;
  made->axes_ = batch;
  made->sizes_ = rewrite.sizes;
  made->fed_ = rewrite.fed;
  const std::vector<Value>&fed = rewrite.fed, &fetched = rewrite.fetched, &targets = rewrite.targets;
  std::vector<Value> with_losses = fetched;
  const auto compared = how.check > 0 ? losses_of_every_run(graph, values, losses) : std::vector<Endpoint>();
  for (std::size_t i = 0, k = 0; k < compared.size(); ++i) {
    if (losses[i] != compared[k]) continue;
    const Value& loss = rewrite.losses[i];
    made->losses_.push_back(loss.valid());
    if (loss.valid()) with_losses.push_back(loss);
    ++k;
  }
  ARGOSY_ASSIGN_OR_RETURN(const Value refresh, p.refresh_mirrors());
  if (devices.spans_tasks()) {
    ARGOSY_RETURN_IF_ERROR(tell_stream_places(p.graph(), device_set->device(0).spec().name.to_string()));
  }
  // Copies are for the GPUs; what those cannot run is the CPU's, whatever the client asked for its own graph.
  made->session_ = std::make_unique<Session>(p.graph(), SessionOptions{.device_set = device_set,
                                                                       .share_op_state_with = &share_with,
                                                                       .tasks = how.tasks,
                                                                       .allow_soft_placement = true,
                                                                       .optimize = how.optimize,
                                                                       .fetch_handles = true});
  ARGOSY_ASSIGN_OR_RETURN(made->refresh_, made->session_->prepare({}, {}, {refresh}));
  ARGOSY_ASSIGN_OR_RETURN(made->step_, made->session_->prepare(fed, fetched, targets));
  if (how.check > 0) {
    ARGOSY_ASSIGN_OR_RETURN(made->with_losses_, made->session_->prepare(fed, with_losses, targets));
  }
  if (!rewrite.columns.empty()) {
    ARGOSY_ASSIGN_OR_RETURN(made->transpose_, made->session_->prepare(rewrite.columns, rewrite.transposed));
  }
  for (const StepRewrite::Slot& slot : rewrite.slots) {
    made->slots_.push_back(slot.variable);
    ARGOSY_ASSIGN_OR_RETURN(made->write_slot_.emplace_back(), made->session_->prepare({slot.value}, {}, {slot.write}));
    ARGOSY_ASSIGN_OR_RETURN(made->read_slot_.emplace_back(), made->session_->prepare({}, {slot.read}));
  }
  made->fetched_ = fetched;
  made->targets_ = targets;
  // Where these can be sharded. Else the first that can be are compiled for, before they run.
  if (made->can_shard(feeds)) ARGOSY_RETURN_IF_ERROR(made->compile_for(feeds));
  return made;
}

// With examples along the first axis.
static Shape as_fed(const Shape& given, int axis) { return axis > 0 ? transposed_shape(given, axis) : given; }

// For the summary: micro-batches that do not run one after another, where the graph did not show that they cannot.
static std::string overlap_of(const PlacementReport& report, const std::string& summary) {
  if (summary.find("side by side") != std::string::npos) return "";
  for (const std::string& line : report.passes) {
    const bool mixed = line.starts_with("turns:") || line.find("; turns run side by side") != std::string::npos;
    if (mixed) return str_cat(", micro-batches overlap (", line, ")");
  }
  return "";
}

Status ReplicatedStep::compile_for(std::span<const Tensor> feeds) {
  std::vector<std::pair<Value, Shape>> shapes;
  for (std::size_t i = 0; i < fed_.size(); ++i) shapes.emplace_back(fed_[i], as_fed(feeds[i].shape(), axes_[i]));
  ARGOSY_ASSIGN_OR_RETURN(const PlacementReport report, session_->placement(shapes, fetched_, targets_));
  overlap_ = overlap_of(report, parallel_.summary());
  return ok_status();
}

Status ReplicatedStep::refresh(const RunOptions& options) { return refresh_->run({}, {}, options); }

Status ReplicatedStep::write_slots(const std::map<ResourceName, Tensor>& values) {
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    const auto found = values.find(slots_[i]);
    if (found == values.end()) continue;
    ARGOSY_RETURN_IF_ERROR(write_slot_[i]->run(std::span(&found->second, 1), {}));
  }
  return ok_status();
}

Result<Tensor> ReplicatedStep::read_slot(const ResourceName& name) {
  const auto found = std::find(slots_.begin(), slots_.end(), name);
  if (found == slots_.end()) return internal_error("no shards of '", name.second, "'");
  Tensor value;
  ARGOSY_RETURN_IF_ERROR(read_slot_[static_cast<std::size_t>(found - slots_.begin())]->run({}, std::span(&value, 1)));
  return value;
}

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

// By the axis of each feed; 0: feeds do not agree.
static std::int64_t examples_along(const std::vector<int>& axes, std::span<const Tensor> feeds) {
  std::optional<std::int64_t> examples;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    if (axes[i] < 0) continue;
    if (axes[i] >= feeds[i].shape().rank()) return 0;
    const std::int64_t own = feeds[i].shape()[axes[i]];
    if (examples.value_or(own) != own) return 0;
    examples = own;
  }
  return examples.value_or(0);
}

std::int64_t ReplicatedStep::examples(std::span<const Tensor> feeds) const { return examples_along(axes_, feeds); }

bool ReplicatedStep::can_shard(std::span<const Tensor> feeds) const {
  const std::int64_t batch = examples(feeds);
  if (batch == 0) return false;  // the step itself says so as TensorFlow does
  const std::vector<std::size_t> sizes = scalars_equal_to(feeds, batch);
  if (sizes != sizes_) return false;
  for (std::size_t i = 0; i < axes_.size(); ++i) {
    const Shape& given = feeds[i].shape();
    if (!parallel_.can_feed(fed_[i], as_fed(given, axes_[i]))) return false;
  }
  return parallel_.can_shard(batch);
}

}  // namespace argosy::tf
