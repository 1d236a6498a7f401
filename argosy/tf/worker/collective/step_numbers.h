// StepNumbers: the id of each graph's next step, where the steps of several tasks belong together and must have equal
// ids. The leader of collectives draws the first id. Each task then counts up, and asks the leader again after an
// error. Thread-safe.
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
  // Waits until no step of that graph is running on this task, and marks one as running. Returns the status of
  // `cancellation` if it is cancelled before.
  Status enter(std::int64_t graph, Cancellation& cancellation);
  // Marks the running step of that graph as ended.
  void leave(std::int64_t graph);

  // Returns the next step's number; nullopt: this task must ask the leader.
  std::optional<std::int64_t> known(std::int64_t graph) const;
  void learn(std::int64_t graph, std::int64_t number);
  // On the leader: returns the next step's number, and draws one if there is none. Of graphs that this task never ran,
  // the oldest are forgotten.
  std::int64_t known_or_new(std::int64_t graph);
  std::size_t size() const;
  // Ends the step of this number. `well`: the next number follows. Else the graph's number is forgotten.
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
