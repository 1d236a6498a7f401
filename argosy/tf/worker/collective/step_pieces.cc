#include "argosy/tf/worker/collective/step_pieces.h"

#include <algorithm>
#include <utility>

namespace argosy::tf {

namespace {
constexpr std::size_t kRememberedCauses = 1024;
}

void StepPieces::offer(std::int64_t step_id, const std::string& key, std::span<const std::byte> bytes, Done done) {
  Status refused;
  Taken taken;
  {
    MutexLock lock(mutex_);
    if (const auto aborted = aborted_.find(step_id); aborted != aborted_.end()) {
      refused = aborted->second;
    } else {
      Step& step = steps_[step_id];
      const auto at = std::ranges::find(step.waiting, key, &Waiting::key);
      if (at != step.waiting.end()) {
        taken = std::move(at->taken);
        step.waiting.erase(at);
        if (step.waiting.empty() && step.offers.empty()) steps_.erase(step_id);
      } else if (!step.offers.try_emplace(key, Offer{bytes, done}).second) {
        refused = internal_error("BufRendezvous::ProvideBuf already called for key ", key).with_id("ARG-CLUSTER-103");
      }
    }
  }
  if (!refused.ok()) return done(std::move(refused));
  if (taken == nullptr) return;
  taken(bytes);
  done(ok_status());
}

std::int64_t StepPieces::take(std::int64_t step_id, const std::string& key, Taken taken) {
  Status refused;
  Offer offer;
  std::int64_t number = 0;
  {
    MutexLock lock(mutex_);
    number = next_++;
    if (const auto aborted = aborted_.find(step_id); aborted != aborted_.end()) {
      refused = aborted->second;
    } else {
      Step& step = steps_[step_id];
      const auto at = step.offers.find(key);
      if (at == step.offers.end()) {
        step.waiting.push_back({number, key, std::move(taken)});
        return number;
      }
      offer = std::move(at->second);
      step.offers.erase(at);
      if (step.waiting.empty() && step.offers.empty()) steps_.erase(step_id);
    }
  }
  if (!refused.ok()) {
    taken(std::move(refused));
    return number;
  }
  taken(offer.bytes);
  offer.done(ok_status());
  return number;
}

void StepPieces::cancel_receive(std::int64_t step_id, std::int64_t number) {
  MutexLock lock(mutex_);
  const auto step = steps_.find(step_id);
  if (step == steps_.end()) return;
  std::erase_if(step->second.waiting, [&](const Waiting& waiting) { return waiting.number == number; });
  if (step->second.waiting.empty() && step->second.offers.empty()) steps_.erase(step);
}

void StepPieces::begin(std::int64_t step_id) {
  MutexLock lock(mutex_);
  if (aborted_.erase(step_id) > 0) std::erase(aborted_order_, step_id);
}

void StepPieces::remember(std::int64_t step_id, const Status& cause) {
  aborted_.emplace(step_id, cause);
  aborted_order_.push_back(step_id);
  if (aborted_order_.size() <= kRememberedCauses) return;
  aborted_.erase(aborted_order_.front());
  aborted_order_.pop_front();
}

bool StepPieces::abort(std::int64_t step_id, const Status& cause) {
  Step step;
  {
    MutexLock lock(mutex_);
    if (aborted_.contains(step_id)) return false;
    remember(step_id, cause);
    if (const auto at = steps_.find(step_id); at != steps_.end()) {
      step = std::move(at->second);
      steps_.erase(at);
    }
  }
  end(std::move(step), cause);
  return true;
}

Status StepPieces::cause(std::int64_t step_id) const {
  MutexLock lock(mutex_);
  const auto at = aborted_.find(step_id);
  return at == aborted_.end() ? ok_status() : at->second;
}

void StepPieces::forget(std::int64_t step_id) {
  Step step;
  {
    MutexLock lock(mutex_);
    const auto at = steps_.find(step_id);
    if (at == steps_.end()) return;
    step = std::move(at->second);
    steps_.erase(at);
  }
  end(std::move(step), cancelled("step ", step_id, " is over").with_id("ARG-CLUSTER-104"));
}

void StepPieces::abort_all(const Status& cause) {
  std::map<std::int64_t, Step> steps;
  {
    MutexLock lock(mutex_);
    steps.swap(steps_);
    for (const auto& [id, step] : steps) remember(id, cause);
  }
  for (auto& [id, step] : steps) end(std::move(step), cause);
}

void StepPieces::end(Step step, const Status& cause) {
  for (const Waiting& waiting : step.waiting) waiting.taken(cause);
  for (const auto& [key, offer] : step.offers) offer.done(cause);
}

std::size_t StepPieces::size() const {
  MutexLock lock(mutex_);
  return steps_.size();
}

}  // namespace argosy::tf
