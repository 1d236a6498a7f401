// StepNumbers: which number the next step of a graph has, where tasks' steps belong together. The leader of collectives
// draws the first one. Each task counts on by itself, and asks the leader again after an error. Thread-safe.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>

#include "argosy/base/mutex.h"
#include "argosy/base/threads/cancellation.h"

namespace argosy::tf {

class StepNumbers {
 public:
  // Waits until no step of that graph is under way on this task; then one is. Ends with the reason of `cancellation`.
  Status enter(std::int64_t graph, Cancellation& cancellation);
  // No step of it is under way any more.
  void leave(std::int64_t graph);

  // What this task knows. Unset: it must ask.
  std::optional<std::int64_t> known(std::int64_t graph) const;
  void learn(std::int64_t graph, std::int64_t number);
  // As a leader: what is told. Drawn where there is none. Of graphs that this task never ran, the oldest are forgotten.
  std::int64_t known_or_new(std::int64_t graph);
  std::size_t size() const;
  // The step of this number has ended well: the next one follows. Else the number is not known any more.
  void retire(std::int64_t graph, std::int64_t number, bool well);

 private:
  mutable Mutex mutex_;
  CondVar changed_;
  std::map<std::int64_t, bool> busy_ ARGOSY_GUARDED_BY(mutex_);
  std::map<std::int64_t, std::int64_t> next_ ARGOSY_GUARDED_BY(mutex_);
  std::set<std::int64_t> own_ ARGOSY_GUARDED_BY(mutex_);           // graphs that this task ran
  std::deque<std::int64_t> told_order_ ARGOSY_GUARDED_BY(mutex_);  // drawn for others; some may be gone, or own
};

}  // namespace argosy::tf
