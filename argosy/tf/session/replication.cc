#include "argosy/tf/session/replication.h"

#include <algorithm>

#include "argosy/base/log.h"
#include "argosy/tf/session/fed_sizes.h"

namespace argosy::tf {

namespace {

// Kinds of feeds of one step that are replicated each for itself; beyond, the step runs as it is.
constexpr std::size_t kMaxVariants = 16;

// Ranks, which feeds have equally many rows, and which are that number: others may be the batch then. (Of 0 and 1
// that says little.)
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
    for (const std::size_t i : numbers_equal_to(feeds, size)) key += str_cat(i, size < 2 ? "? " : " ");
    key += "/";
  }
  return key;
}

}  // namespace

void Replication::refuse(const std::string& why) {
  if (work_ != nullptr) work_->step_not_replicated(why);
  ARGOSY_LOG(kWarning, "a training step runs on one device: ", why);
}

Result<std::shared_ptr<StepReplicas>> Replication::look_up(PreparedStep& step) {
  MutexLock lock(mutex_);
  if (closed_) return cancelled("the session was closed").with_id("ARG-RUN-002");
  if (step.replicas != nullptr) return step.replicas;
  auto known = std::make_shared<StepReplicas>();
  known->values = step.values();
  ARGOSY_RETURN_IF_ERROR(session_.grow([&] {
    known->step = look_at(graph_, known->values);
    return ok_status();
  }));
  if (!known->step.why.empty()) {
    refuse(known->step.why);
    known->step.losses.clear();
  }
  if (!known->step.losses.empty() && !known->step.sources.empty()) {
    ARGOSY_ASSIGN_OR_RETURN(known->bring, session_.prepare(known->values.feeds, known->step.sources));
    auto& feeds = known->values.feeds;
    feeds.insert(feeds.end(), known->step.sources.begin(), known->step.sources.end());
    ARGOSY_ASSIGN_OR_RETURN(known->rest, session_.prepare(feeds, known->values.fetches, known->values.targets));
  }
  step.replicas = known;
  steps_.push_back(known);
  return known;
}

Result<StepReplicas::Variant*> Replication::variant(StepReplicas& step, std::span<const Tensor> feeds) {
  MutexLock lock(mutex_);
  if (closed_) return cancelled("the session was closed").with_id("ARG-RUN-002");
  const std::string key = key_of(feeds);
  auto found = step.by_feeds.find(key);
  if (found == step.by_feeds.end()) {
    if (step.by_feeds.size() >= kMaxVariants) return nullptr;
    found = step.by_feeds.emplace(key, make(step, feeds)).first;
  }
  return found->second.step != nullptr ? &found->second : nullptr;
}

StepReplicas::Variant Replication::make(const StepReplicas& step, std::span<const Tensor> feeds) {
  StepReplicas::Variant variant;
  const Status made = session_.grow([&]() -> Status {
    ARGOSY_ASSIGN_OR_RETURN(variant.step, ReplicatedStep::make(graph_.graph(), step.values, step.step.losses, feeds,
                                                               session_, machine_, how_));
    return ok_status();
  });
  if (made.ok()) {
    variant.summary = variant.step->summary();
    ARGOSY_LOG(kInfo, "replicated: ", variant.summary);
  } else {
    // It runs on one device anyway, and there is no flag to type here.
    const std::string& next = made.next();
    const bool helps = !next.empty() && !next.starts_with("train on one device") && !next.starts_with("--");
    refuse(str_cat(made.message(), helps ? str_cat(" (try: ", next, ")") : ""));
  }
  return variant;
}

Result<bool> Replication::run_shared(StepReplicas::Variant& variant, std::span<const Tensor> feeds,
                                     std::span<Tensor> fetches, const RunOptions& options) {
  MutexLock lock(running_);
  const std::int64_t written = written_.load(std::memory_order_acquire);
  if (variant.fresh != written && !variant.step->refresh({.cancellation = options.cancellation}).ok()) return false;
  variant.fresh = written;
  Status status = variant.step->run(feeds, fetches, options);
  if (!status.ok()) {
    // What was cut off halfway may have changed some mirrors and not others.
    variables_written();
    return status;
  }
  if (work_ != nullptr) work_->step_was_replicated(variant.summary);
  return true;
}

Status Replication::run(PreparedStep& step, std::span<const Tensor> feeds, std::span<Tensor> fetches,
                        const RunOptions& options) {
  ARGOSY_ASSIGN_OR_RETURN(const auto known, look_up(step));
  if (known->step.losses.empty()) return run_alone(*known, step.callable(), feeds, fetches, options);
  std::vector<Tensor> all(feeds.begin(), feeds.end());
  if (known->bring != nullptr) {
    all.resize(known->values.feeds.size());
    ARGOSY_RETURN_IF_ERROR(
        known->bring->run(feeds, std::span(all).subspan(feeds.size()), {.cancellation = options.cancellation}));
  }
  ARGOSY_ASSIGN_OR_RETURN(StepReplicas::Variant* const shared, variant(*known, all));
  if (shared != nullptr && shared->step->may_share(all)) {
    ARGOSY_ASSIGN_OR_RETURN(const bool done, run_shared(*shared, all, fetches, options));
    if (done) return ok_status();
    // A variable without a value: the step itself says so as TensorFlow does.
  }
  const Status done = run_alone(*known, known->rest != nullptr ? *known->rest : step.callable(), all, fetches, options);
  if (done.ok() && shared != nullptr && work_ != nullptr && !shared->step->may_share(all)) work_->step_was_small();
  return done;
}

Status Replication::run_alone(const StepReplicas& known, Session::Callable& step, std::span<const Tensor> feeds,
                              std::span<Tensor> fetches, const RunOptions& options) {
  Status status = step.run(feeds, fetches, options);
  if (known.step.writes) variables_written();
  return status;
}

Status Replication::close() {
  MutexLock lock(mutex_);
  closed_ = true;
  for (const auto& step : steps_) {
    for (const auto& [key, variant] : step->by_feeds) {
      if (variant.step != nullptr) ARGOSY_RETURN_IF_ERROR(variant.step->close());
    }
  }
  return ok_status();
}

}  // namespace argosy::tf
