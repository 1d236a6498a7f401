#include "argosy/runtime/tasks/task_rendezvous.h"

#include <utility>
#include <vector>

namespace argosy {

namespace {

constexpr std::size_t kForgottenSteps = 4096;  // that are remembered

// Does the device's name begin with the task's, as a whole?
bool is_of(std::string_view device, std::string_view task) {
  return device.starts_with(task) && (device.size() == task.size() || device[task.size()] == '/');
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

std::shared_ptr<TaskRendezvous> StepRendezvous::find(std::int64_t step_id) {
  std::shared_ptr<TaskRendezvous> found;
  {
    MutexLock lock(mutex_);
    if (!forgotten_.contains(step_id)) {
      auto& step = steps_[step_id];
      if (step == nullptr) step = std::make_shared<TaskRendezvous>(task_, step_id, remote_);
      return step;
    }
    found = std::make_shared<TaskRendezvous>(task_, step_id, remote_);
  }
  found->abort(cancelled("step ", step_id, " is over").with_id("ARG-SEND-004"));
  return found;
}

void StepRendezvous::abort(std::int64_t step_id, const Status& cause) {
  std::shared_ptr<TaskRendezvous> step;
  {
    MutexLock lock(mutex_);
    const auto at = steps_.find(step_id);
    if (at == steps_.end()) return;
    step = at->second;
  }
  step->abort(cause);
}

void StepRendezvous::forget(std::int64_t step_id) {
  std::shared_ptr<TaskRendezvous> step;
  {
    MutexLock lock(mutex_);
    if (const auto at = steps_.find(step_id); at != steps_.end()) {
      step = std::move(at->second);
      steps_.erase(at);
    }
    if (forgotten_.insert(step_id).second) forgotten_order_.push_back(step_id);
    if (forgotten_order_.size() > kForgottenSteps) {
      forgotten_.erase(forgotten_order_.front());
      forgotten_order_.pop_front();
    }
  }
  if (step != nullptr) step->abort(cancelled("step ", step_id, " is over").with_id("ARG-SEND-004"));
}

void StepRendezvous::abort_all(const Status& cause) {
  std::vector<std::shared_ptr<TaskRendezvous>> steps;
  {
    MutexLock lock(mutex_);
    for (const auto& [id, step] : steps_) steps.push_back(step);
  }
  for (const auto& step : steps) step->abort(cause);
}

std::size_t StepRendezvous::size() {
  MutexLock lock(mutex_);
  return steps_.size();
}

}  // namespace argosy
