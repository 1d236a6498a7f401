// InprocRounds: matches the calls of an in-process group. Internal to InprocGroup.
//
// A round is one collective, or one message. It gathers calls until all have arrived. From then on close() does not
// affect it: it completes on every rank.
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
  // What the round keeps of a rank besides its call.
  struct Entry {
    bool here = false;
    bool waits = false;  // a thread waits in a blocking call, and `done` is empty
    GroupBackend* backend = nullptr;
    Communicator::Done done;
  };
  enum Phase : int { kGathering, kSharing, kOver };  // kSharing: any thread may take blocks of `job`

  int key = 0;  // calls of equal keys meet; 0 = of all ranks
  std::int64_t id = 0;
  std::size_t arrived = 0;
  std::vector<CollectiveCall> calls;  // by slot: by rank, or sender and receiver
  std::vector<Entry> entries;         // likewise
  std::vector<Timers::Token> timers;
  // The fields that waiting threads read, in one cache line. All but `phase` are written before `phase` changes.
  alignas(64) std::atomic<int> phase{kGathering};
  Status status;            // how it ended
  std::vector<Event> ends;  // from a backend: by slot
  double link_seconds = 0;  // the least time that the links allow
  std::int64_t start_nanos = 0;
  // Reference count: threads that may access the round; 1 while it gathers calls. 0: the round may be reused.
  alignas(64) std::atomic<int> users{0};
  SharedJob job;

  static std::size_t slot_of(const CollectiveCall& call) { return slot_of(call, call.rank); }
  static std::size_t slot_of(const CollectiveCall& call, int rank);
};

// A rank, its device, and the backend that carries out collectives on its memory.
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
    InprocRound* round = nullptr;  // null: the rounds are closed, and `done` was not moved from
    std::int64_t id = 0;
    bool complete = false;  // this was the last call
  };
  // Adds a call to its round. `ready` belongs to the call. `done` null: the caller will wait, and becomes a user of the
  // round. The caller whose call completes the round becomes a user, too.
  Joined join(const CollectiveCall& call, const InprocPlace& place, const Event& ready, Communicator::Done& done);
  // Ends the use of the round by one user.
  static void leave(InprocRound& round) { round.users.fetch_sub(1, std::memory_order_acq_rel); }

  // False: the round does not wait for calls any more.
  bool add_timer(std::int64_t id, Timers::Token token);
  // The message of the call of `slot` when its time is over: "barrier: after 0.05 s rank 1 of 4 had not come". Empty:
  // the round does not wait for calls any more.
  std::string late(std::int64_t id, std::size_t slot, std::chrono::nanoseconds timeout);

  // Makes every later join() fail. Returns true for the first cause. `gathering` gets the rounds that will not
  // complete; the caller becomes a user of each.
  bool close(const Status& cause, std::vector<InprocRound*>& gathering);
  bool closed() const { return closed_.load(std::memory_order_acquire); }
  Status cause();
  void open();
  // Sleeps until `nanos` of now_nanos(), or until close().
  void sleep_until(std::int64_t nanos);

 private:
  int key_of(const CollectiveCall& call, int rank) const;
  InprocRound* find(std::int64_t id) ARGOSY_REQUIRES(mutex_);
  InprocRound* open_round(int key) ARGOSY_REQUIRES(mutex_);
  // Sets the users of a round that stops gathering: all threads that wait in it, and `more`.
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
