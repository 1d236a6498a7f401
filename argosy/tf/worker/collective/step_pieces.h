// StepPieces: the pieces that collectives of this task offer to other members, by step and key, until they are taken.
// Independent of the transport. Thread-safe; callbacks are called with no lock held.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "argosy/base/mutex.h"
#include "argosy/base/status.h"

namespace argosy::tf {

class StepPieces {
 public:
  using Done = std::function<void(Status)>;
  // The bytes are valid during the call.
  using Taken = std::function<void(Result<std::span<const std::byte>>)>;

  // Offers a piece. `done` is called once it was taken; the bytes stay until then. INTERNAL where the key is offered
  // already.
  void offer(std::int64_t step_id, const std::string& key, std::span<const std::byte> bytes, Done done);
  // Takes a piece, now or when it is offered; the step need not have started here. Returns a number for
  // cancel_receive().
  std::int64_t take(std::int64_t step_id, const std::string& key, Taken taken);
  // Ends the wait for a piece; `taken` is not called any more.
  void cancel_receive(std::int64_t step_id, std::int64_t number);

  // Starts a step. Forgets the abort of an earlier step of the same number.
  void begin(std::int64_t step_id);
  // Ends all offers and waits of a step, also later ones, with the first such cause. True: this call was the first.
  bool abort(std::int64_t step_id, const Status& cause);
  // The cause of abort(); OK: it was not aborted.
  Status cause(std::int64_t step_id) const;
  // Ends a step. The cause of its abort is remembered for a while, for members that are late.
  void forget(std::int64_t step_id);
  void abort_all(const Status& cause);
  std::size_t size() const;  // steps with pieces

 private:
  struct Offer {
    std::span<const std::byte> bytes;
    Done done;
  };
  struct Waiting {
    std::int64_t number = 0;
    std::string key;
    Taken taken;
  };
  struct Step {
    std::map<std::string, Offer> offers;
    std::vector<Waiting> waiting;
  };
  static void end(Step step, const Status& cause);
  void remember(std::int64_t step_id, const Status& cause) ARGOSY_REQUIRES(mutex_);

  mutable Mutex mutex_;
  std::int64_t next_ ARGOSY_GUARDED_BY(mutex_) = 1;
  std::map<std::int64_t, Step> steps_ ARGOSY_GUARDED_BY(mutex_);
  std::map<std::int64_t, Status> aborted_ ARGOSY_GUARDED_BY(mutex_);
  std::deque<std::int64_t> aborted_order_ ARGOSY_GUARDED_BY(mutex_);  // the oldest first
};

}  // namespace argosy::tf
