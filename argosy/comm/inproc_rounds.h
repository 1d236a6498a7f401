// InprocRounds: which calls of an in-process group meet. Internal to InprocGroup.
//
// A round is one collective, or one message. It gathers calls until all are there. From then on it is out of reach of
// close(): it completes on every rank.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "argosy/base/mutex.h"
#include "argosy/base/threads/timers.h"
#include "argosy/comm/communicator.h"
#include "argosy/comm/group_backend.h"
#include "argosy/comm/shared_memory/shared_job.h"

namespace argosy {

struct InprocRound {
  // What a rank leaves besides its call.
  struct Entry {
    bool here = false;
    bool waits = false;  // a thread waits in a blocking call
    GroupBackend* backend = nullptr;
    Communicator::Done done;
  };
  enum Phase : int { kGathering, kSharing, kOver };  // kSharing: whoever can takes blocks of `job`

  int key = 0;  // calls of equal keys meet; 0 = of all ranks
  std::int64_t id = 0;
  std::size_t arrived = 0;
  std::vector<CollectiveCall> calls;  // by slot: by rank, or sender and receiver
  std::vector<Entry> entries;         // likewise
  std::vector<Timers::Token> timers;
  alignas(64) std::atomic<int> phase{kGathering};
  // Threads that may touch the round. The last to leave returns it for reuse.
  alignas(64) std::atomic<int> users{0};
  // Written by the last to come, before the phase says so.
  SharedJob job;
  double link_seconds = 0;  // the least that it takes
  std::int64_t start_nanos = 0;

  static std::size_t slot_of(const CollectiveCall& call);
  // The end, for every rank that is here. A device's stream that its link slows down says so itself.
  void finish(const Status& status);
  void finish_one(std::size_t slot, Result<Event> end);
};

// Thread-safe.
class InprocRounds {
 public:
  explicit InprocRounds(int size) : size_(size) {}

  struct Joined {
    InprocRound* round = nullptr;  // null: the rounds are closed, and `done` is where it was
    std::int64_t id = 0;
    bool complete = false;  // all calls are there; the caller is one more user
  };
  // `waits`: the caller is a user of the round, whatever else.
  Joined join(const CollectiveCall& call, GroupBackend* backend, Communicator::Done& done, bool waits);
  void leave(InprocRound& round);

  // False: the round does not gather any more.
  bool add_timer(std::int64_t id, Timers::Token token);
  // What the call of `slot` waits for in vain: "barrier: after 0.05 s rank 1 of 4 had not come". Empty: the round does not
  // gather any more.
  std::string late(std::int64_t id, std::size_t slot, std::chrono::nanoseconds timeout);

  // Every join() fails from now on. True: this was the first cause. `gathering`: the rounds that do not complete; the
  // caller is a user of each.
  bool close(const Status& cause, std::vector<InprocRound*>& gathering);
  bool closed() const { return closed_.load(std::memory_order_acquire); }
  Status cause();
  void open();
  // Until the time comes (now_nanos()), or close().
  void sleep_until(std::int64_t nanos);

 private:
  int key_of(const CollectiveCall& call) const;
  InprocRound* find(std::int64_t id) ARGOSY_REQUIRES(mutex_);
  InprocRound* open_round(int key) ARGOSY_REQUIRES(mutex_);

  const int size_;
  std::atomic<bool> closed_{false};
  Mutex mutex_;
  CondVar closed_changed_;
  Status cause_ ARGOSY_GUARDED_BY(mutex_);
  std::int64_t next_id_ ARGOSY_GUARDED_BY(mutex_) = 0;
  std::vector<std::unique_ptr<InprocRound>> all_ ARGOSY_GUARDED_BY(mutex_);
  std::vector<InprocRound*> gathering_ ARGOSY_GUARDED_BY(mutex_);  // in the order in which they were opened
  std::vector<InprocRound*> spare_ ARGOSY_GUARDED_BY(mutex_);
};

}  // namespace argosy
