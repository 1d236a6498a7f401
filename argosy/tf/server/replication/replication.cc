#include "argosy/tf/server/replication/replication.h"

#include <algorithm>
#include <optional>

#include "argosy/base/log.h"
#include "argosy/planner/runners_up.h"
#include "argosy/strategy/analysis/variable_nodes.h"
#include "argosy/tf/server/replication/batch_size_feeds.h"
#include "argosy/tf/server/replication/check/losses_of_every_run.h"
#include "argosy/tf/server/replication/step_rewrite.h"

namespace argosy::tf {

namespace {

// Largest number of variants per step. With feeds of a further kind the step runs on one device.
constexpr std::size_t kMaxVariants = 16;
constexpr const char* kOtherSizes =
    "its shapes do not follow the batch: they are known for other sizes of its feeds alone (try: batches of one size, "
    "or tf.shape(x)[0] for it in the graph)";

// The kind of feeds: their ranks, which have equal numbers of rows, and which are such a number. Each kind may have
// another batch. (Numbers 0 and 1 prove little.)
std::string key_of(std::span<const Tensor> feeds) {
  std::string key;
  std::vector<std::int64_t> rows;
  for (const Tensor& t : feeds) {
    const std::int64_t own = t.shape().rank() > 0 ? t.shape()[0] : -1;
    const auto same = std::find(rows.begin(), rows.end(), own) - rows.begin();
    if (same == std::ssize(rows)) rows.push_back(own);
    key += str_cat(t.shape().rank(), ":", same, " ");
  }
  for (const std::int64_t size : rows) {
    if (size < 0) continue;
    for (const std::size_t i : scalars_equal_to(feeds, size)) key += str_cat(i, size < 2 ? "? " : " ");
    key += "/";
  }
  return key;
}

std::string sizes_of(std::span<const Tensor> feeds) {
  std::string key;
  for (const Tensor& t : feeds) key += str_cat(" ", t.shape());
  return key;
}

}  // namespace

Replication::Replication(Session& session, ImportedGraph& graph, std::shared_ptr<DeviceSet> device_set,
                         ReplicationOptions how, ReplicaCounter& counter)
    : session_(session),
      graph_(graph),
      device_set_(std::move(device_set)),
      how_(std::move(how)),
      counter_(counter),
      advisor_(device_set_, how_),
      slots_(device_set_) {
  devices_ = replica_devices(*device_set_, how_.tasks.get(), how_.most_gpus);
}

std::string Replication::devices_why_not() const {
  const std::size_t gpus = devices_.size();
  const std::size_t fewest = how_.strategy.accumulate > 1 ? 1 : 2;  // micro-batches save memory on one GPU, too
  if (gpus < fewest) return str_cat("its session has ", gpus, gpus == 1 ? " GPU" : " GPUs");
  if (!devices_.spans_tasks()) return "";
  // Variables, and streams of random numbers, are the master's.
  if (devices_.own == 0) return "all GPUs of its session are of other tasks than the session's own";
  if (how_.strategy.zero > 0 || how_.strategy.accumulate > 1) {
    return str_cat("--strategy ", how_.strategy.to_string(), " is for the GPUs of one task: leave it out");
  }
  return "";
}

void Replication::refuse(const OneDeviceReason& why) {
  if (counter_.met(why)) ARGOSY_LOG(kWarning, "a training step runs on one device: ", why.why);
}

Result<std::shared_ptr<StepReplicas>> Replication::look_up(ResolvedStep& step, const Cancellation* cancellation) {
  const InterruptScope interrupts(cancellation, /*between_blocks=*/false);
  InterruptibleLock lock(mutex_);
  if (closed_) return cancelled("the session was closed").with_id("ARG-RUN-002");
  if (step.replicas != nullptr) return step.replicas;
  auto known = std::make_shared<StepReplicas>();
  known->values = step.values();
  ARGOSY_RETURN_IF_ERROR(session_.mutate_graph([&] {
    known->step = analyze_training_step(graph_, known->values);
    return ok_status();
  }));
  if (how_.strategy.zero > 0) {
    ARGOSY_RETURN_IF_ERROR(session_.mutate_graph([&] {
      const auto part = prune_step(graph_.graph(), signature_of(known->values));
      if (!part.ok()) return ok_status();  // the step itself says why
      for (const Node& n : part->graph.nodes()) {
        if (is_variable(n)) known->variables.insert(resource_name(n));
      }
      return ok_status();
    }));
  }
  if (!known->step.why.empty()) {
    known->why_not = reason_of(invalid_argument(known->step.why));
  } else if (!known->step.trains.empty()) {
    known->why_not = {.why = devices_why_not(), .node = known->step.trains};
  }
  if (!known->why_not.why.empty()) refuse(known->why_not);
  if (known->may_replicate() && !known->step.sources.empty()) {
    ARGOSY_ASSIGN_OR_RETURN(known->bring,
                            session_.prepare(known->values.feeds, known->step.sources, {}, known->values.connections));
    auto& feeds = known->values.feeds;
    feeds.insert(feeds.end(), known->step.sources.begin(), known->step.sources.end());
    known->values.ran = known->step.sources;
    ARGOSY_ASSIGN_OR_RETURN(known->rest, session_.prepare(feeds, known->values.fetches, known->values.targets,
                                                          known->values.connections, known->values.ran));
  }
  if (known->may_replicate() && how_.check > 0) {
    std::vector<Value> with_losses = known->values.fetches;
    ARGOSY_RETURN_IF_ERROR(session_.mutate_graph([&] {
      Graph& graph = graph_.graph();
      const auto losses = losses_of_every_run(graph, known->values, known->step.losses);
      for (const Endpoint e : losses) with_losses.push_back(graph.value(e));
      known->check = std::make_unique<StepCheck>(graph, known->values, known->step.sources, losses);
      return ok_status();
    }));
    ARGOSY_ASSIGN_OR_RETURN(known->alone, session_.prepare(known->values.feeds, with_losses, known->values.targets,
                                                           known->values.connections, known->values.ran));
  }
  step.replicas = known;
  steps_.push_back(known);
  return known;
}

Result<StepReplicas::Variant*> Replication::variant(StepReplicas& step, std::span<const Tensor> feeds,
                                                    const Cancellation* cancellation) {
  const InterruptScope interrupts(cancellation, /*between_blocks=*/false);
  InterruptibleLock lock(mutex_);
  if (closed_) return cancelled("the session was closed").with_id("ARG-RUN-002");
  const auto of_kind = [&](const std::string& key) ARGOSY_REQUIRES(mutex_) -> Result<StepReplicas::Variant*> {
    auto found = step.by_feeds.find(key);
    if (found == step.by_feeds.end()) {
      if (step.by_feeds.size() >= kMaxVariants) return nullptr;
      ARGOSY_ASSIGN_OR_RETURN(StepReplicas::Variant made, make(step, feeds));
      found = step.by_feeds.emplace(key, std::move(made)).first;
    }
    return &found->second;
  };
  const std::string key = key_of(feeds);
  ARGOSY_ASSIGN_OR_RETURN(StepReplicas::Variant* const any, of_kind(key));
  const bool fits = any == nullptr || any->step == nullptr || any->step->can_shard(feeds);
  // One that was made for other sizes of these feeds, and for no others. One example is not sharded.
  if (fits || any->step->examples(feeds) < 2) return any;
  return of_kind(key + sizes_of(feeds));
}

Result<StepReplicas::Variant> Replication::make(const StepReplicas& step, std::span<const Tensor> feeds) {
  StepReplicas::Variant variant;
  const Status made = session_.mutate_graph([&]() -> Status {
    ARGOSY_ASSIGN_OR_RETURN(variant.step, ReplicatedStep::make(graph_.graph(), step.values, step.step.losses, feeds,
                                                               session_, device_set_, how_));
    return ok_status();
  });
  if (made.ok()) {
    variant.summary = variant.step->summary();
    ARGOSY_LOG(kInfo, "replicated: ", variant.summary);
  } else if (interrupted()) {
    return made;
  } else {
    variant.why_not = reason_of(made);
    refuse(variant.why_not);
  }
  return variant;
}

Status Replication::refresh(StepReplicas::Variant& variant, const RunOptions& options) {
  const std::int64_t written = written_.load(std::memory_order_acquire);
  if (variant.fresh == written) return ok_status();
  ARGOSY_RETURN_IF_ERROR(variant.step->refresh({.cancellation = options.cancellation}));
  variant.fresh = written;
  return ok_status();
}

void Replication::prepare(StepReplicas& known, StepReplicas::Variant& variant, std::span<const Tensor> feeds) {
  variant.compiled = true;
  if (how_.planned != nullptr) compare_with_plan(known, variant, feeds);
  if (const Status status = variant.step->compile_for(feeds); !status.ok()) {
    variant.stays = reason_of(status);
    refuse(variant.stays);
  } else if (how_.ask_cost_model && !devices_.spans_tasks()) {
    ask(known, variant, feeds);
  }
}

void Replication::compare_with_plan(const StepReplicas& known, StepReplicas::Variant& variant,
                                    std::span<const Tensor> feeds) {
  std::vector<std::string> nodes;
  (void)session_.mutate_graph([&] {
    for (const auto* values : {&known.values.targets, &known.values.fetches}) {
      for (const Value& value : *values) nodes.emplace_back(value.node_name());
    }
    return ok_status();
  });
  const std::string other = difference(*how_.planned, nodes, variant.step->examples(feeds));
  if (other.empty()) return;
  const std::string text = str_cat("the plan in ", how_.planned->file, " is for ", other);
  ARGOSY_LOG(kWarning, text);
  variant.summary += "; " + text;
}

void Replication::ask(const StepReplicas& known, StepReplicas::Variant& variant, std::span<const Tensor> feeds) {
  const ClientStep subject{.values = known.values,
                           .losses = known.step.losses,
                           .feeds = std::vector<Tensor>(feeds.begin(), feeds.end()),
                           .axes = variant.step->axes()};
  Advice advice;
  (void)session_.mutate_graph([&]() ARGOSY_REQUIRES(running_) {
    advice = advisor_.ask(graph_.graph(), subject, variant.step->parallel());
    return ok_status();
  });
  if (!advice.why.empty()) ARGOSY_LOG(kInfo, "not predicted whether one device is faster: ", advice.why);
  if (!advice.times) return;
  variant.times = advice.times;
  ARGOSY_LOG(kInfo, "predicted in ", format_seconds(advice.seconds), ": ", advice.times->to_string());
  if (!advice.one_device) return;
  variant.stays = {.why = str_cat("one device is faster: predicted ", advice.times->to_string(),
                                  " (try: --strategy dp, which always replicates)"),
                   .node = known.step.trains,
                   .times = advice.times};
  refuse(variant.stays);
}

Result<bool> Replication::run_replicated(StepReplicas& known, StepReplicas::Variant& variant,
                                         std::span<const Tensor> feeds, std::span<Tensor> fetches,
                                         const RunOptions& options, Status& no_mirrors) {
  CancellableMutex::Lock call_lock(call_mutex_);
  ARGOSY_RETURN_IF_ERROR(take(call_lock, options.cancellation));
  MutexLock lock(running_);
  if (!variant.compiled) prepare(known, variant, feeds);
  if (!variant.stays.why.empty()) return false;
  no_mirrors = refresh(variant, options);
  if (no_mirrors.ok()) no_mirrors = slots_.shard(*variant.step);
  if (!no_mirrors.ok()) return false;
  ++known.runs;
  bool done = false;
  if (variant.checked < how_.check) {
    ARGOSY_ASSIGN_OR_RETURN(done, run_checked(known, variant, feeds, fetches, options));
  }
  if (!done) {
    ARGOSY_RETURN_IF_ERROR(refresh(variant, options));
    Status status = variant.step->run(feeds, fetches, options);
    if (!status.ok()) {
      // An interrupted step may have changed some mirrors and not others.
      variables_written();
      return status;
    }
  }
  counter_.replicated(variant.summary, variant.times);
  return true;
}

Result<bool> Replication::run_checked(StepReplicas& known, StepReplicas::Variant& variant,
                                      std::span<const Tensor> feeds, std::span<Tensor> fetches,
                                      const RunOptions& options) {
  // Where others are always at work it is given up.
  constexpr int kTries = 10;
  if (++variant.tries >= std::int64_t{kTries} * how_.check) variant.checked = how_.check;
  const auto leave_out = [&](const OneDeviceReason& why) {
    if (counter_.not_checked(why)) ARGOSY_LOG(kWarning, "not checked: ", why.why);
    return false;
  };
  // Compiled first: what its ops keep is there then, to be saved.
  std::vector<std::pair<Value, Shape>> shapes;
  for (std::size_t i = 0; i < feeds.size(); ++i) shapes.emplace_back(known.values.feeds[i], feeds[i].shape());
  (void)session_.forecast(shapes, known.values.fetches, known.values.targets, known.values.connections);
  if (OneDeviceReason why = known.check->why_not(session_, variant.step->notes()); !why.why.empty()) {
    variant.checked = how_.check;  // it will not become another
    return leave_out(why);
  }
  std::optional<StepExclusion::Exclusive> exclusive = exclusion_.try_exclusive(known.check->uses_containers());
  if (!exclusive) {
    return leave_out({.why = "other steps of the session were under way", .node = known.step.trains});
  }
  const RunOptions plain{.cancellation = options.cancellation};
  const auto alone = [&](std::span<Tensor> values, StepStats*) { return known.alone->run(feeds, values, plain); };
  const auto replicated = [&](std::span<Tensor> values, StepStats* stats) ARGOSY_REQUIRES(running_) -> Status {
    variables_written();
    ARGOSY_RETURN_IF_ERROR(refresh(variant, options));
    RunOptions observed = plain;
    observed.stats = stats;
    stats->keep_outputs = options.stats != nullptr && options.stats->keep_outputs;
    Status status = variant.step->run_with_losses(feeds, values, observed);
    if (options.stats != nullptr) {
      const bool keep_ops = options.stats->keep_ops, keep_outputs = options.stats->keep_outputs;
      *options.stats = *stats;
      options.stats->keep_ops = keep_ops;
      options.stats->keep_outputs = keep_outputs;
      if (!keep_ops) options.stats->ops.clear();
    }
    return status;
  };
  std::vector<Tensor> values(known.check->names().size());
  auto outcome = known.check->run(session_, known.runs, alone, replicated, values);
  exclusive.reset();
  if (!outcome.ok()) {
    variables_written();
    if (outcome.status().id() == kOtherThanOneDevice) counter_.checked(false);
    return std::move(outcome).status();
  }
  ++variant.checked;
  if (!outcome->not_checked.why.empty()) (void)leave_out(outcome->not_checked);
  if (!outcome->ran) {
    variables_written();
    return false;
  }
  counter_.checked(true);
  std::move(values.begin(), values.begin() + std::ssize(fetches), fetches.begin());
  return true;
}

Status Replication::run(ResolvedStep& step, std::span<const Tensor> feeds, std::span<Tensor> fetches,
                        const RunOptions& options) {
  ARGOSY_ASSIGN_OR_RETURN(const auto known, look_up(step, options.cancellation));
  if (!known->may_replicate()) {
    ARGOSY_RETURN_IF_ERROR(run_alone(*known, step.callable(), feeds, fetches, options));
    if (!known->why_not.why.empty()) counter_.on_one_device(known->why_not);
    return ok_status();
  }
  std::vector<Tensor> all(feeds.begin(), feeds.end());
  if (known->bring != nullptr) {
    all.resize(known->values.feeds.size());
    Status brought =
        known->bring->run(feeds, std::span(all).subspan(feeds.size()), {.cancellation = options.cancellation});
    if (known->step.sources_write) variables_written();
    ARGOSY_RETURN_IF_ERROR(std::move(brought));
  }
  ARGOSY_ASSIGN_OR_RETURN(StepReplicas::Variant* const kind, variant(*known, all, options.cancellation));
  const bool made = kind != nullptr && kind->step != nullptr;
  const bool sharded = made && kind->step->can_shard(all);
  Status no_mirrors;
  if (sharded) {
    ARGOSY_ASSIGN_OR_RETURN(const bool done, run_replicated(*known, *kind, all, fetches, options, no_mirrors));
    if (done) return ok_status();
    // A variable without a value: the step itself says so as TensorFlow does.
  }
  ARGOSY_RETURN_IF_ERROR(
      run_alone(*known, known->rest != nullptr ? *known->rest : step.callable(), all, fetches, options));
  if (made && kind->step->examples(all) < 2) {
    counter_.small();
    return ok_status();
  }
  OneDeviceReason why;
  if (made && !sharded) {
    why = {.why = kOtherSizes, .node = known->step.trains};
  } else if (made && no_mirrors.ok()) {
    why = kind->stays;
  } else if (made) {
    why = reason_of(no_mirrors);
  } else if (kind != nullptr) {
    why = kind->why_not;
  } else {
    why = {
        .why = str_cat("its feeds come in more than ", kMaxVariants,
                       " kinds: ranks, and which have equal sizes (try: pad what is fed beside the batch to one size)"),
        .node = known->step.trains};
  }
  refuse(why);
  counter_.on_one_device(why);
  return ok_status();
}

void Replication::runs_partially(const StepValues& values) {
  OneDeviceReason why{.why = "a partial run (Session.partial_run) is not replicated"};
  (void)session_.mutate_graph([&] {
    const TrainingStep step = analyze_training_step(graph_, values);
    why.node = step.trains;
    return ok_status();
  });
  if (why.node.empty()) return;
  refuse(why);
  counter_.on_one_device(why);
}

Status Replication::run_alone(const StepReplicas& known, Session::Callable& step, std::span<const Tensor> feeds,
                              std::span<Tensor> fetches, const RunOptions& options) {
  std::optional<StepExclusion::Shared> shared;
  if (how_.check > 0) {
    ARGOSY_ASSIGN_OR_RETURN(StepExclusion::Shared entered, exclusion_.enter(known.step.writes, options.cancellation));
    shared.emplace(std::move(entered));
  }
  if (!known.variables.empty()) {
    // A step that uses slots has them gathered until it ends.
    CancellableMutex::Lock call_lock(call_mutex_);
    ARGOSY_RETURN_IF_ERROR(take(call_lock, options.cancellation));
    MutexLock lock(running_);
    if (slots_.ever_sharded(known.variables)) {
      ARGOSY_RETURN_IF_ERROR(slots_.gather(known.variables));
      Status status = step.run(feeds, fetches, options);
      if (known.step.writes) variables_written();
      return status;
    }
  }
  Status status = step.run(feeds, fetches, options);
  if (known.step.writes) variables_written();
  return status;
}

// A cancelled step stops waiting for the mutex.
Status Replication::take(CancellableMutex::Lock& call_lock, Cancellation* cancellation) {
  Cancellation never;
  return call_lock.acquire(cancellation != nullptr ? *cancellation : never);
}

Status Replication::gather_slots(Cancellation& cancellation) {
  if (how_.strategy.zero == 0) return ok_status();
  CancellableMutex::Lock call_lock(call_mutex_);
  ARGOSY_RETURN_IF_ERROR(take(call_lock, &cancellation));
  MutexLock lock(running_);
  return slots_.gather_all();
}

void Replication::begin_close() {
  closed_ = true;  // who comes after an analysis that is under way does not begin another
  InterruptibleLock lock(mutex_);
  for (const auto& step : steps_) {
    for (const auto& [key, variant] : step->by_feeds) {
      if (variant.step != nullptr) variant.step->begin_close();
    }
  }
}

// Whatever is stuck, the others are closed.
Status Replication::close() {
  begin_close();
  Status first;
  InterruptibleLock lock(mutex_);
  for (const auto& step : steps_) {
    for (const auto& [key, variant] : step->by_feeds) {
      Status closed = variant.step != nullptr ? variant.step->close() : ok_status();
      if (first.ok()) first = std::move(closed);
    }
  }
  return first;
}

}  // namespace argosy::tf
