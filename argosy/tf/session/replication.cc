#include "argosy/tf/session/replication.h"

#include <algorithm>

#include "argosy/base/log.h"
#include "argosy/strategy/variables.h"

namespace argosy::tf {

namespace {

// Feed shapes of one step that are replicated each for itself; beyond, the step runs as it is.
constexpr std::size_t kMaxVariants = 16;

// All but the number of rows, of which only counts which feeds have the same.
std::string key_of(std::span<const Tensor> feeds) {
  std::string key;
  std::vector<std::int64_t> rows;
  for (const Tensor& t : feeds) {
    key += '[';
    for (int i = 0; i < t.shape().rank(); ++i) {
      std::int64_t size = t.shape()[i];
      if (i == 0) {
        const auto same = std::find(rows.begin(), rows.end(), size) - rows.begin();
        if (same == std::ssize(rows)) rows.push_back(size);
        size = same;
      }
      key += str_cat(size, ",");
    }
    key += ']';
  }
  return key;
}

}  // namespace

StepReplicas::Variant Replication::make(PreparedStep& step, std::span<const Tensor> feeds) {
  StepReplicas::Variant variant;
  Status made = session_.grow([&]() -> Status {
    ARGOSY_ASSIGN_OR_RETURN(variant.step, ReplicatedStep::make(graph_, step.values(), feeds, machine_, optimize_));
    return ok_status();
  });
  if (made.ok()) {
    variant.summary = variant.step->summary();
    ARGOSY_LOG(kInfo, "replicated: ", variant.summary);
  } else if (made.code() != Code::kNotFound) {
    const bool helps = !made.next().empty() && !made.next().starts_with("train on one device");
    const std::string why = str_cat(made.message(), helps ? str_cat(" (try: ", made.next(), ")") : "");
    if (work_ != nullptr) work_->step_not_replicated(why);
    ARGOSY_LOG(kWarning, "a training step runs on one device: ", why);
  }
  return variant;
}

Result<Replication::Known> Replication::look_up(PreparedStep& step, std::span<const Tensor> feeds) {
  MutexLock lock(mutex_);
  if (closed_) return cancelled("the session was closed").with_id("ARG-RUN-002");
  if (step.replicas == nullptr) {
    auto known = std::make_shared<StepReplicas>();
    ARGOSY_RETURN_IF_ERROR(session_.grow([&] {
      std::vector<NodeId> run;
      for (const Value& v : step.values().targets) run.push_back(v.node());
      for (const Value& v : step.values().fetches) run.push_back(v.node());
      known->writes = writes_variables(graph_.graph(), run);
      return ok_status();
    }));
    step.replicas = std::move(known);
    steps_.push_back(step.replicas);
  }
  StepReplicas& replicas = *step.replicas;
  Known known{.writes = replicas.writes};
  // What writes nothing does not train.
  if (!known.writes || feeds.empty()) return known;
  const std::string key = key_of(feeds);
  auto found = replicas.by_feeds.find(key);
  if (found == replicas.by_feeds.end() && replicas.by_feeds.size() < kMaxVariants) {
    found = replicas.by_feeds.emplace(key, make(step, feeds)).first;
  }
  if (found != replicas.by_feeds.end() && found->second.step != nullptr) known.variant = &found->second;
  return known;
}

Status Replication::run(PreparedStep& step, std::span<const Tensor> feeds, std::span<Tensor> fetches,
                        const RunOptions& options) {
  ARGOSY_ASSIGN_OR_RETURN(const Known known, look_up(step, feeds));
  if (known.variant != nullptr) {
    StepReplicas::Variant& variant = *known.variant;
    MutexLock lock(running_);
    const std::int64_t written = written_.load(std::memory_order_acquire);
    Status ready = ok_status();
    if (variant.fresh != written) ready = variant.step->refresh({.cancellation = options.cancellation});
    if (ready.ok()) {
      variant.fresh = written;
      Status status = variant.step->run(feeds, fetches, options);
      // What was cut off halfway may have changed some mirrors and not others.
      if (!status.ok()) written_.fetch_add(1, std::memory_order_release);
      if (status.ok() && work_ != nullptr) work_->step_was_replicated(variant.summary);
      return status;
    }
    // A variable without a value: the step itself says so as TensorFlow does.
  }
  Status status = step.callable().run(feeds, fetches, options);
  if (known.writes) written_.fetch_add(1, std::memory_order_release);
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
