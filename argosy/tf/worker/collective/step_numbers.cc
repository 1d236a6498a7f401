#include "argosy/tf/worker/collective/step_numbers.h"

#include <chrono>

#include "argosy/base/system/random_source.h"

namespace argosy::tf {

namespace {
constexpr std::uint64_t kMask = (std::uint64_t{1} << 57) - 1;  // the bits of TensorFlow's numbers of steps
constexpr std::chrono::milliseconds kBetweenLooks{50};
constexpr std::size_t kTold = 65536;  // graphs of others
}  // namespace

Status StepNumbers::enter(std::int64_t graph, Cancellation& cancellation) {
  MutexLock lock(mutex_);
  while (busy_[graph]) {
    if (cancellation.cancelled()) return cancellation.status();
    (void)changed_.wait_until(mutex_, std::chrono::steady_clock::now() + kBetweenLooks);
  }
  busy_[graph] = true;
  own_.insert(graph);
  return ok_status();
}

void StepNumbers::leave(std::int64_t graph) {
  MutexLock lock(mutex_);
  busy_.erase(graph);
  changed_.notify_all();
}

std::optional<std::int64_t> StepNumbers::known(std::int64_t graph) const {
  MutexLock lock(mutex_);
  const auto at = next_.find(graph);
  return at == next_.end() ? std::nullopt : std::optional(at->second);
}

void StepNumbers::learn(std::int64_t graph, std::int64_t number) {
  MutexLock lock(mutex_);
  next_[graph] = number;
}

std::int64_t StepNumbers::known_or_new(std::int64_t graph) {
  MutexLock lock(mutex_);
  const auto [at, fresh] = next_.try_emplace(graph, 0);
  if (!fresh) return at->second;
  const auto number = at->second = static_cast<std::int64_t>((system_random_source().next() & kMask) | 1);
  if (own_.contains(graph)) return number;
  told_order_.push_back(graph);
  if (told_order_.size() > kTold) {
    if (!own_.contains(told_order_.front())) next_.erase(told_order_.front());
    told_order_.pop_front();
  }
  return number;
}

std::size_t StepNumbers::size() const {
  MutexLock lock(mutex_);
  return next_.size();
}

void StepNumbers::retire(std::int64_t graph, std::int64_t number, bool well) {
  MutexLock lock(mutex_);
  const auto at = next_.find(graph);
  if (at == next_.end()) return;
  if (well && at->second == number) {
    at->second = static_cast<std::int64_t>((static_cast<std::uint64_t>(number) + 1) & kMask);
  } else {
    next_.erase(at);
  }
}

}  // namespace argosy::tf
