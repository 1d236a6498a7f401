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
    bool waits = false;  // a thread waits in a blocking call: there is no `done`
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
  // What waiting threads look at, in one cache line. Written before the phase says so, but for the phase itself.
  alignas(64) std::atomic<int> phase{kGathering};
  Status status;            // how it ended
  std::vector<Event> ends;  // of a backend: by slot
  double link_seconds = 0;  // the least that it takes
  std::int64_t start_nanos = 0;
  // Threads that may touch the round; 1 while it gathers. 0: it may be used again.
  alignas(64) std::atomic<int> users{0};
  SharedJob job;

  static std::size_t slot_of(const CollectiveCall& call) { return slot_of(call, call.rank); }
  static std::size_t slot_of(const CollectiveCall& call, int rank);
};

// A rank's memory, and who does collectives on it.
struct InprocPlace {
  int rank = 0;
  Device* device = nullptr;
  GroupBackend* backend = nullptr;
};

// Thread-safe.
class InprocRounds {
 public:
  explicit InprocRounds(int size) : size_(size) {}

  struct Joined {
    InprocRound* round = nullptr;  // null: the rounds are closed, and `done` is where it was
    std::int64_t id = 0;
    bool complete = false;  // all calls are there
  };
  // `ready` is the call's. `done` null: the caller waits, and is a user of the round. So is whoever completes it.
  Joined join(const CollectiveCall& call, const InprocPlace& place, const Event& ready, Communicator::Done& done);
  // One user less.
  static void leave(InprocRound& round) { round.users.fetch_sub(1, std::memory_order_acq_rel); }

  // False: the round does not gather any more.
  bool add_timer(std::int64_t id, Timers::Token token);
  // What the call of `slot` waits for in vain: "barrier: after 0.05 s rank 1 of 4 had not come". Empty: the round does not
  // gather any more.
  std::string late(std::int64_t id, std::size_t slot, std::chrono::nanoseconds timeout);

  // Every join() fails from now on. True: this was the first cause. `gathering`: the rounds that do not complete; the
  // caller is one more user of each.
  bool close(const Status& cause, std::vector<InprocRound*>& gathering);
  bool closed() const { return closed_.load(std::memory_order_acquire); }
  Status cause();
  void open();
  // Until the time comes (now_nanos()), or close().
  void sleep_until(std::int64_t nanos);

 private:
  int key_of(const CollectiveCall& call, int rank) const;
  InprocRound* find(std::int64_t id) ARGOSY_REQUIRES(mutex_);
  InprocRound* open_round(int key) ARGOSY_REQUIRES(mutex_);
  // The round gathers no more. Its users: all that wait in it, and `more`.
  static void set_users(InprocRound& round, int more);

  const int size_;
  std::atomic<bool> closed_{false};
  Mutex mutex_;
  CondVar closed_changed_;
  Status cause_ ARGOSY_GUARDED_BY(mutex_);
  std::int64_t next_id_ ARGOSY_GUARDED_BY(mutex_) = 0;
  std::vector<std::unique_ptr<InprocRound>> all_ ARGOSY_GUARDED_BY(mutex_);
  std::vector<InprocRound*> gathering_ ARGOSY_GUARDED_BY(mutex_);  // in the order in which they were opened
};

}  // namespace argosy
