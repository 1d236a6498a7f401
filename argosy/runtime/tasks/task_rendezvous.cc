#include "argosy/runtime/tasks/task_rendezvous.h"

#include <utility>
#include <vector>

namespace argosy {

namespace {

constexpr std::size_t kForgottenSteps = 4096;  // that are remembered

// True if the device belongs to the task: its full name begins with the task's name.
bool is_of(std::string_view device, std::string_view task) {
  return device.starts_with(task) && (device.size() == task.size() || device[task.size()] == '/');
}

Status step_is_over(std::int64_t step_id) { return cancelled("step ", step_id, " is over").with_id("ARG-SEND-004"); }

Status too_early() {
  return resource_exhausted("more than ", StepRendezvous::kEarlyReceives,
                            " values are waited for of steps that have not begun on this task")
      .with_id("ARG-SEND-008")
      .with_hint("run the step again; some client asks for values of steps that it never starts");
}

}  // namespace

void TaskRendezvous::receive(const RendezvousKey& key, Done done) {
  if (is_of(key.send_device, task_)) return local_.receive(key, std::move(done));
  std::int64_t number = 0;
  Status cause;
  {
    MutexLock lock(mutex_);
    cause = cause_;
    number = next_++;
    if (cause.ok()) asked_.emplace(number, std::move(done));
  }
  if (!cause.ok()) return done(std::move(cause));
  remote_(step_id_, key, [self = weak_from_this(), number](Result<Received> answer) {
    const auto alive = self.lock();
    if (alive == nullptr) return;
    Done waiting;
    {
      MutexLock lock(alive->mutex_);
      const auto at = alive->asked_.find(number);
      if (at == alive->asked_.end()) return;  // aborted meanwhile
      waiting = std::move(at->second);
      alive->asked_.erase(at);
    }
    waiting(std::move(answer));
  });
}

void TaskRendezvous::abort(Status cause) {
  std::map<std::int64_t, Done> asked;
  {
    MutexLock lock(mutex_);
    if (!cause_.ok()) return;
    cause_ = cause;
    asked.swap(asked_);
  }
  local_.abort(cause);
  for (auto& [number, done] : asked) done(Status(cause));
}

Status TaskRendezvous::cause() {
  MutexLock lock(mutex_);
  return cause_;
}

// --- steps -----------------------------------------------------------------------------------------------------------

StepRendezvous::Entry& StepRendezvous::find_or_make(std::int64_t step_id) {
  const auto [at, fresh] = steps_.try_emplace(step_id);
  if (fresh) {
    at->second.step = std::make_shared<TaskRendezvous>(task_, step_id, remote_);
    at->second.place = next_++;
    early_.emplace(at->second.place, step_id);
  }
  return at->second;
}

std::shared_ptr<TaskRendezvous> StepRendezvous::erase(Entries::iterator at) {
  Entry entry = std::move(at->second);
  (entry.begun ? begun_ : early_).erase(entry.place);
  if (!entry.begun) early_receives_ -= entry.early;
  steps_.erase(at);
  return std::move(entry.step);
}

StepRendezvous::Steps StepRendezvous::drop_early() {
  Steps dropped;
  while (early_receives_ > kEarlyReceives) dropped.push_back(erase(steps_.find(early_.begin()->second)));
  return dropped;
}

// Drops the oldest steps above the limit, except those that a run holds. It looks at the oldest few: each call adds at
// most one step.
StepRendezvous::Steps StepRendezvous::drop_begun() {
  constexpr int kLooks = 16;
  Steps dropped;
  auto at = begun_.begin();
  for (int looks = 0; begun_.size() > kBegunSteps && looks < kLooks; ++looks) {
    const auto entry = steps_.find(at->second);
    ++at;
    if (entry->second.step.use_count() == 1) dropped.push_back(erase(entry));
  }
  return dropped;
}

std::shared_ptr<TaskRendezvous> StepRendezvous::find(std::int64_t step_id) {
  std::shared_ptr<TaskRendezvous> found;
  Steps dropped;
  bool over = false;
  {
    MutexLock lock(mutex_);
    over = forgotten_.contains(step_id);
    if (over) {
      found = std::make_shared<TaskRendezvous>(task_, step_id, remote_);
    } else {
      Entry& entry = find_or_make(step_id);
      if (!entry.begun) {
        early_.erase(entry.place);
        early_receives_ -= std::exchange(entry.early, 0);
        entry.begun = true;
        begun_.emplace(entry.place = next_++, step_id);
      }
      found = entry.step;
      dropped = drop_begun();
    }
  }
  if (over) found->abort(step_is_over(step_id));
  for (const auto& step : dropped) step->abort(step_is_over(step->step_id()));
  return found;
}

std::int64_t StepRendezvous::receive(std::int64_t step_id, const RendezvousKey& key, Rendezvous::Done done) {
  std::shared_ptr<TaskRendezvous> step;
  Steps dropped;
  {
    MutexLock lock(mutex_);
    if (!forgotten_.contains(step_id)) {
      Entry& entry = find_or_make(step_id);
      step = entry.step;
      if (!entry.begun) {
        ++entry.early;
        ++early_receives_;
        dropped = drop_early();  // `entry` may be gone
      }
    }
  }
  if (step == nullptr) {
    done(step_is_over(step_id));
    return 0;
  }
  for (const auto& early : dropped) early->abort(too_early());
  const std::int64_t number = step->receive_local(key, std::move(done));
  if (number == 0) uncount(step_id, step);
  return number;
}

void StepRendezvous::cancel_receive(std::int64_t step_id, const RendezvousKey& key, std::int64_t number) {
  std::shared_ptr<TaskRendezvous> step;
  {
    MutexLock lock(mutex_);
    const auto at = steps_.find(step_id);
    if (at == steps_.end()) return;
    step = at->second.step;
  }
  if (step->cancel_receive(key, number)) uncount(step_id, step);
}

void StepRendezvous::uncount(std::int64_t step_id, const std::shared_ptr<TaskRendezvous>& step) {
  MutexLock lock(mutex_);
  const auto at = steps_.find(step_id);
  if (at == steps_.end() || at->second.step != step || at->second.begun) return;
  --at->second.early;
  --early_receives_;
  if (at->second.early == 0) (void)erase(at);
}

void StepRendezvous::abort(std::int64_t step_id, const Status& cause) {
  std::shared_ptr<TaskRendezvous> step;
  {
    MutexLock lock(mutex_);
    const auto at = steps_.find(step_id);
    if (at == steps_.end()) return;
    step = at->second.step;
  }
  step->abort(cause);
}

void StepRendezvous::forget(std::int64_t step_id) {
  std::shared_ptr<TaskRendezvous> step;
  {
    MutexLock lock(mutex_);
    if (const auto at = steps_.find(step_id); at != steps_.end()) step = erase(at);
    if (forgotten_.insert(step_id).second) forgotten_order_.push_back(step_id);
    if (forgotten_order_.size() > kForgottenSteps) {
      forgotten_.erase(forgotten_order_.front());
      forgotten_order_.pop_front();
    }
  }
  if (step != nullptr) step->abort(step_is_over(step_id));
}

void StepRendezvous::abort_all(const Status& cause) {
  std::vector<std::shared_ptr<TaskRendezvous>> steps;
  {
    MutexLock lock(mutex_);
    for (const auto& [id, entry] : steps_) steps.push_back(entry.step);
  }
  for (const auto& step : steps) step->abort(cause);
}

std::size_t StepRendezvous::size() {
  MutexLock lock(mutex_);
  return steps_.size();
}

}  // namespace argosy
