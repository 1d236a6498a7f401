#include "argosy/runtime/tasks/partitioned_step.h"

#include <chrono>
#include <utility>

#include "argosy/base/clock.h"
#include "argosy/base/threads/cancel_link.h"
#include "argosy/runtime/tasks/remote_run.h"

namespace argosy {

// The state of registration, by part. Shared with the callbacks of tasks that have not answered yet.
struct PartitionedStep::Registration {
  enum class State : char { kNone, kAsked, kThere };
  Mutex mutex;
  CondVar changed;
  std::vector<State> states ARGOSY_GUARDED_BY(mutex);
  std::vector<std::string> handles ARGOSY_GUARDED_BY(mutex);
  Status error ARGOSY_GUARDED_BY(mutex);  // of the last attempt
  bool gone ARGOSY_GUARDED_BY(mutex) = false;
};

PartitionedStep::PartitionedStep(std::shared_ptr<RemoteTasks> tasks, Positions own, const TaskGraphOptions& options)
    : tasks_(std::move(tasks)),
      own_(std::move(own)),
      options_(options),
      registration_(std::make_shared<Registration>()) {}

Result<std::unique_ptr<PartitionedStep>> PartitionedStep::make(std::shared_ptr<RemoteTasks> tasks, Positions own,
                                                               std::vector<Partition> others,
                                                               const TaskGraphOptions& options) {
  std::unique_ptr<PartitionedStep> step(new PartitionedStep(std::move(tasks), std::move(own), options));
  for (Partition& p : others) {
    ARGOSY_ASSIGN_OR_RETURN(const DeviceName name, DeviceName::parse(p.task));
    RemoteTask* const task = step->tasks_->task(name);
    if (task == nullptr) return not_found("there is no task ", p.task, " any more").with_id("ARG-TASK-003");
    step->parts_.push_back({task, std::move(p.task), std::move(p.step), {std::move(p.feeds), std::move(p.fetches)}});
  }
  MutexLock lock(step->registration_->mutex);
  step->registration_->states.assign(step->parts_.size(), Registration::State::kNone);
  step->registration_->handles.resize(step->parts_.size());
  return step;
}

PartitionedStep::~PartitionedStep() {
  std::vector<std::string> handles;
  {
    MutexLock lock(registration_->mutex);
    registration_->gone = true;
    handles = registration_->handles;
    // Tasks may still be reading the graphs, which this object owns: waits for their answers.
    for (auto& state : registration_->states) {
      while (state == Registration::State::kAsked) registration_->changed.wait(registration_->mutex);
    }
  }
  for (std::size_t i = 0; i < parts_.size(); ++i) {
    if (!handles[i].empty()) parts_[i].task->deregister_graph(handles[i]);
  }
}

// Registers the graphs with all tasks. Every run that comes meanwhile waits for it; a run that is cancelled stops
// waiting.
Status PartitionedStep::register_graphs(Cancellation& cancellation) {
  using State = Registration::State;
  constexpr std::chrono::milliseconds kBetweenLooks(50);
  std::vector<std::size_t> missing;
  {
    MutexLock lock(registration_->mutex);
    for (std::size_t i = 0; i < parts_.size(); ++i) {
      State& state = registration_->states[i];
      if (state != State::kNone) continue;
      state = State::kAsked;
      missing.push_back(i);
    }
    if (!missing.empty()) registration_->error = ok_status();
  }
  for (const std::size_t i : missing) {
    parts_[i].task->register_graph(
        parts_[i].graph, options_,
        [registration = registration_, i, name = parts_[i].name](Result<std::string> handle) {
          MutexLock there(registration->mutex);
          registration->states[i] = handle.ok() ? State::kThere : State::kNone;
          if (handle.ok()) {
            registration->handles[i] = *std::move(handle);
          } else if (registration->error.ok()) {
            registration->error = std::move(handle).status().with_where(name);
          }
          registration->changed.notify_all();
        });
  }
  MutexLock lock(registration_->mutex);
  const auto count = [&](State wanted) ARGOSY_REQUIRES(registration_->mutex) {
    std::size_t n = 0;
    for (const State state : registration_->states) n += state == wanted ? 1 : 0;
    return n;
  };
  while (count(State::kAsked) > 0 && !cancellation.cancelled()) {
    (void)registration_->changed.wait_until(registration_->mutex, std::chrono::steady_clock::now() + kBetweenLooks);
  }
  if (cancellation.cancelled()) return cancellation.status();
  if (count(State::kThere) < parts_.size()) {
    if (registration_->error.ok()) return aborted("a task was started anew while its graph was registered");
    return registration_->error;
  }
  registered_.store(true, std::memory_order_release);
  return ok_status();
}

std::vector<std::string> PartitionedStep::handles() {
  MutexLock lock(registration_->mutex);
  return registration_->handles;
}

void PartitionedStep::forget_handle(std::size_t part, const std::string& handle) {
  MutexLock lock(registration_->mutex);
  if (registration_->handles[part] != handle) return;
  registration_->handles[part].clear();
  registration_->states[part] = Registration::State::kNone;
  registered_.store(false, std::memory_order_release);
}

namespace {

// Appends the devices and ops of another task to those of this one.
void add_stats(StepStats& part, StepStats& to) {
  const int first = static_cast<int>(to.devices.size());
  for (StepStats::PerDevice& device : part.devices) to.devices.push_back(std::move(device));
  for (OpRecord& op : part.ops) {
    op.device += first;
    to.ops.push_back(std::move(op));
  }
}

}  // namespace

Status PartitionedStep::run(std::span<const Tensor> feeds, std::span<Tensor> fetches, RunContext& context,
                            const OwnRun& own) {
  if (!registered_.load(std::memory_order_acquire)) ARGOSY_RETURN_IF_ERROR(register_graphs(context.cancellation()));
  const std::vector<std::string> handles = this->handles();
  const std::shared_ptr<TaskRendezvous> rendezvous = tasks_->rendezvous(context.step_id());
  context.set_rendezvous(rendezvous);
  std::vector<RemoteTask*> tasks;
  for (const Part& part : parts_) tasks.push_back(part.task);
  RemoteRun run(context, *rendezvous, std::move(tasks));
  const std::int64_t start = context.stats() != nullptr ? now_nanos() : 0;
  {
    const CancelLink link(&context.cancellation(), [&] { run.fail(context.cancellation().status()); });
    if (link.too_late()) run.fail(context.cancellation().status());
    for (std::size_t i = 0; i < parts_.size() && !run.failed(); ++i) {
      TaskRun part{.handle = handles[i],
                   .step_id = context.step_id(),
                   .feeds = {},
                   .stats = context.stats() != nullptr ? &run.part(i).stats : nullptr};
      if (part.stats != nullptr) {
        part.stats->keep_ops = context.stats()->keep_ops;
        part.stats->keep_outputs = context.stats()->keep_outputs;
      }
      for (const int f : parts_[i].positions.feeds) part.feeds.push_back(feeds[static_cast<std::size_t>(f)].owned());
      run.start(i, std::move(part));
    }
    run.run_own([&]() -> Status {
      std::vector<Tensor> own_feeds, own_fetches(own_.fetches.size());
      for (const int f : own_.feeds) own_feeds.push_back(feeds[static_cast<std::size_t>(f)]);
      ARGOSY_RETURN_IF_ERROR(own(own_feeds, own_fetches, context));
      for (std::size_t i = 0; i < own_.fetches.size(); ++i)
        fetches[static_cast<std::size_t>(own_.fetches[i])] = std::move(own_fetches[i]);
      return ok_status();
    });
    run.wait();
  }
  if (StepStats* const stats = context.stats()) {  // those of the own part are shorter
    stats->start_nanos = start;
    stats->end_nanos = now_nanos();
  }
  tasks_->forget(context.step_id());
  for (std::size_t i = 0; i < parts_.size(); ++i) {
    auto& part = run.part(i);
    if (context.stats() != nullptr) add_stats(part.stats, *context.stats());
    if (part.unknown_handle) forget_handle(i, handles[i]);
    for (std::size_t f = 0; f < part.fetches.size(); ++f)
      fetches[static_cast<std::size_t>(parts_[i].positions.fetches[f])] = std::move(part.fetches[f]);
  }
  return run.status();
}

}  // namespace argosy
